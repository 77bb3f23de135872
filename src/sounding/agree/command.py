"""`sounding agree`: how far several assessors agree, and what that does to the ranking of systems."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sounding.terminal.options import (
    NO_NOTES,
    Options,
    format_options,
    output_options,
    policy_options,
    progress_bar,
    remark,
    taken_policies,
    worker_options,
    write_tables,
)

if TYPE_CHECKING:
    from sounding.agree.panel import Panel
    from sounding.agree.study import Study
    from sounding.core.policies import Policies

SECTIONS = ("pairs", "grades", "confusions", "rejected", "bias", "topics", "taus", "systems", "swaps", "top")
OF_SYSTEMS = ("taus", "systems", "swaps", "top")
OUTSIDE = ("common", "primary", "nonrelevant")
REPEATED = ("error", "first", "last", "highest", "lowest", "majority", "mean")
COMBINATIONS = ("union", "intersection", "majority", "mean", "priority")
OF_RUNS = (
    "measures",
    "tau",
    "samples",
    "run_format",
    "jobs",
    "ties",
    "unjudged",
    "missing",
    "duplicates",
    "compat",
    "depth",
)  # options that change nothing without runs
OF_SEVERAL = ("runs", "combinations", "adjudicate", "chart", "output", "sections", "everything")
OF_POOLS = ("pool_relevant", "pool_nonrelevant")
# Policies of bounds and expected values, which give no single ranking; and two that have fewer choices here.
OTHERWISE = ("universe", "at_most", "prior", "moments", "draws", "unjudged", "missing")
FILE = click.Path(dir_okay=False, path_type=Path)


def _refuse_no_runs(taken: int | None, context: click.Context) -> None:
    if taken == 0:
        raise click.UsageError("--runs without runs; name files, folders or globs behind it", context)


class SeveralRuns(click.Command):
    """A command whose option --runs takes all words up to the next option, as a shell spells a glob."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line, with --runs repeated before each of its words."""
        spelled: list[str] = []
        taken: int | None = None  # words of the --runs that is being read; None: it is another option
        for word in args:
            if taken is not None and (word == "-" or not word.startswith("-")):
                spelled += ["--runs", word]
                taken += 1
                continue
            _refuse_no_runs(taken, ctx)
            taken = 0 if word == "--runs" else None
            spelled += [] if word == "--runs" else [word]
        _refuse_no_runs(taken, ctx)
        try:
            return super().parse_args(ctx, list(spelled))  # which is emptied
        except click.MissingParameter as error:
            if "--runs" not in spelled or error.param is None or error.param.name != "qrels":
                raise
            raise click.UsageError(
                "no QRELS: --runs took all words behind it; give QRELS before --runs, or behind --", ctx
            ) from None


@click.command("agree", cls=SeveralRuns, short_help="How far several assessors agree, and what it does.")
@click.argument("qrels", nargs=-1, required=True, metavar="QRELS...")
@click.option("--runs", multiple=True, metavar="RUN...", help="Runs to rank: files, folders or globs.")
@click.option("-m", "--measure", "measures", multiple=True, metavar="M", help="A measure; default: AP.")
@click.option("--level", type=float, default=1, show_default=True, help="Lowest grade that is relevant.")
@click.option("--primary", metavar="NAME", help="Whose judgments are the original ones; default: the first.")
@click.option("--outside", type=click.Choice(OUTSIDE), default="common", show_default=True,
              help="What an assessor was not shown: not compared, relevant where the primary says so,"
              " or grade 0.")  # fmt: skip
@click.option("--by", type=click.Choice(("file", "column")),
              help="A file is one assessor's, or a column names them; default: as it looks.")  # fmt: skip
@click.option("--label", "labels", multiple=True, metavar="WORD=G",
              help="The grade of a word, as relevant=1.")  # fmt: skip
@click.option("--repeated", type=click.Choice(REPEATED), default="error", show_default=True,
              help="What counts where an assessor graded a document several times,"
              " and not the same.")  # fmt: skip
@click.option("--samples", type=click.IntRange(1), default=100_000, show_default=True,
              help="Qrels that pick an assessor for each topic.")  # fmt: skip
@click.option("--tau", default="tau_b", show_default=True, metavar="T", help="How rankings are compared.")
@click.option("--resamples", type=click.IntRange(2), default=2000, show_default=True,
              help="Resamples of topics, for intervals.")  # fmt: skip
@click.option("--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05,
              show_default=True, help="Intervals are of 1 - alpha.")  # fmt: skip
@click.option("--top", type=click.IntRange(1), help="Rows of long tables; best systems that are looked at.")
@click.option("--section", "sections", multiple=True, type=click.Choice(SECTIONS), help="Only this table.")
@click.option("--all", "everything", is_flag=True, help="Every table.")
@click.option("--combine", "combinations", nargs=2, multiple=True, metavar="HOW FILE",
              help=f"Write one set of qrels: {', '.join(COMBINATIONS)}.")  # fmt: skip
@click.option("--priority", multiple=True, metavar="NAME", help="Whose word counts first; may be repeated.")
@click.option("--adjudicate", type=FILE, metavar="FILE",
              help="Write the documents on which assessors differ.")  # fmt: skip
@click.option("--secondary-pool", type=FILE, metavar="FILE", help="Write what to show a second assessor.")
@click.option("--pool-relevant", type=click.IntRange(0), default=200, show_default=True,
              help="Relevant documents of a topic in it, at most.")  # fmt: skip
@click.option("--pool-nonrelevant", type=click.IntRange(0), default=200, show_default=True,
              help="Other documents of a topic in it, at most.")  # fmt: skip
@click.option("--simulate", type=click.Choice(("independent", "correlated")),
              help="Add two simulated assessors to the one of QRELS.")  # fmt: skip
@click.option("--overlaps", metavar="O,O", help="Overlap of each with the primary; default: 0.421,0.494.")
@click.option("--chart", type=FILE, metavar="FILE", help="Draw: .html, .svg, .png or .pdf.")
@format_options
@worker_options
@partial(policy_options, without=OTHERWISE)
@click.option("--unjudged", type=click.Choice(("nonrelevant", "condensed")), default="nonrelevant",
              show_default=True, help="What an unjudged document counts; condensed: removed.")  # fmt: skip
@click.option("--missing", type=click.Choice(("zero", "error")), default="zero", show_default=True,
              help="What a judged topic counts that a run lacks.")  # fmt: skip
@output_options()
def command(qrels: tuple[str, ...], **options: Any) -> None:
    """How far the assessors of QRELS agree, and how much the ranking of runs depends on them.

    Overlap, kappa and alpha with intervals; topics to talk about first; with runs, their values and ranks
    under very many qrels that pick an assessor for each topic.

    \b
    sounding agree first.qrels second.qrels
    sounding agree votes.csv --repeated majority --section bias
    sounding agree first.qrels second.qrels third.qrels --runs runs/* -m AP -m P@10
    sounding agree first.qrels second.qrels --combine union union.qrels --adjudicate differ.tsv
    sounding agree first.qrels --secondary-pool to-judge.tsv
    """  # noqa: D301 - click wants the control character
    policies = taken_policies(options)
    _check(options)
    _check_idle(options)
    _check_files(qrels, options)
    if options["chart"] is not None:
        _check_chart(options["chart"])
    panel = _panel(qrels, policies, options)
    primary = panel.place(options["primary"]) if options["primary"] else 0
    if options["secondary_pool"] is not None:
        _write_secondary_pool(panel, primary, policies, options)
        if len(panel.assessors) == 1 and not any(options[name] for name in OF_SEVERAL):
            return
    if len(panel.assessors) == 1:
        raise click.UsageError(
            f"one assessor ({panel.assessors[0]}); give the judgments of another, or --simulate, or"
            " --secondary-pool"
        )
    study = _study(panel, primary, policies, options)
    _write_judgments(study, options)
    _write(study, options)
    if options["chart"] is not None:
        _draw(study, options["chart"])


# -- what is asked for -----------------------------------------------------------------------------


def _check(options: Options) -> None:
    """Refuse what would change nothing, or cannot be."""
    from sounding.statistics.rankings import find_coefficient

    find_coefficient(options["tau"])
    if options["overlaps"] and not options["simulate"]:
        raise click.UsageError("--overlaps changes nothing without --simulate")
    for how, _ in options["combinations"]:
        if how not in COMBINATIONS:
            raise click.UsageError(f"--combine {how!r}; expected one of {', '.join(COMBINATIONS)}")
    if options["priority"] and "priority" not in dict(options["combinations"]):
        raise click.UsageError("--priority changes nothing without --combine priority FILE")
    wanted = options["sections"]
    if options["everything"] and wanted:
        raise click.UsageError("--all and --section do not go together; give one")
    if options["format_name"] in NO_NOTES and (len(wanted) > 1 or options["everything"]):
        raise click.UsageError(f"{options['format_name']} holds one table; give one --section, or use json")
    for section in wanted:
        if section in OF_SYSTEMS and not options["runs"]:
            raise click.UsageError(f"--section {section} is about systems; give --runs as well")


def _check_idle(options: Options) -> None:
    """Refuse options that were typed and would change nothing."""
    context = click.get_current_context()
    spelled = {parameter.name: parameter.opts[-1] for parameter in context.command.params}
    for names, needed, given in (
        (OF_RUNS, "--runs", bool(options["runs"])),
        (OF_POOLS, "--secondary-pool", options["secondary_pool"] is not None),
    ):
        for name in names:
            if not given and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise click.UsageError(f"{spelled[name]} changes nothing without {needed}")


def _check_files(qrels: tuple[str, ...], options: Options) -> None:
    """Refuse to write over what is read, and to write two things to one file."""
    from sounding.data.finding import find_runs

    runs = find_runs(options["runs"]) if options["runs"] else []
    read = {Path(file).resolve() for file in (*qrels, *runs)}
    taken: dict[Path, str] = {}
    outputs = [(f"--combine {how}", Path(file)) for how, file in options["combinations"]]
    outputs += [
        (option, options[name])
        for option, name in (
            ("--output", "output"), ("--adjudicate", "adjudicate"), ("--secondary-pool", "secondary_pool"),
            ("--chart", "chart"),
        )
        if options[name] is not None
    ]  # fmt: skip
    for option, file in outputs:
        place = file.resolve()
        if place in read:
            raise click.UsageError(f"{option} {file} would overwrite what is read; name another file")
        if place in taken:
            raise click.UsageError(f"{taken[place]} and {option} both write {file}; name two files")
        taken[place] = option


def _labels(texts: tuple[str, ...]) -> dict[str, float]:
    labels = {}
    for text in texts:
        word, equals, grade = text.rpartition("=")
        try:
            labels[word] = float(grade)
        except ValueError:
            equals = ""
        if not equals or not word:
            raise click.UsageError(f"--label {text!r}: expected a word and its grade, as relevant=1")
    return labels


def _overlaps(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError as error:
        raise click.UsageError(f"--overlaps {text!r}: expected numbers, such as 0.421,0.494") from error


def _panel(qrels: tuple[str, ...], policies: Policies, options: Options) -> Panel:
    from sounding.agree.combining import CORRELATION, OVERLAPS, simulate_assessors
    from sounding.agree.reading import read_panel

    panel = read_panel(
        qrels, by=options["by"], repeated=options["repeated"], labels=_labels(options["labels"]),
        policies=policies, format=options["qrels_format"],
    )  # fmt: skip
    if not options["simulate"]:
        return panel
    if len(panel.assessors) > 1:
        raise click.UsageError("--simulate adds to one assessor; give the judgments of one")
    return simulate_assessors(
        panel.qrels_of(0), overlaps=_overlaps(options["overlaps"]) or OVERLAPS, level=options["level"],
        correlation=CORRELATION if options["simulate"] == "correlated" else 0.0, seed=policies.seed,
    )  # fmt: skip


def _study(panel: Panel, primary: int, policies: Policies, options: Options) -> Study:
    from sounding.agree.bias import TOP
    from sounding.agree.study import DEFAULT_MEASURES, Choices, study_assessors
    from sounding.data.finding import find_runs

    choices = Choices(
        level=options["level"], primary=primary, outside=options["outside"], resamples=options["resamples"],
        alpha=options["alpha"], samples=options["samples"], coefficient=options["tau"],
        top=options["top"] or TOP, seed=policies.seed,
    )  # fmt: skip
    measures = options["measures"] or DEFAULT_MEASURES
    files = find_runs(options["runs"]) if options["runs"] else None
    quiet = options["quiet"]
    total = choices.samples * len(measures) if files else 0
    with progress_bar(len(files or ()) + total, quiet=quiet, label="runs and qrels") as progress:
        return study_assessors(
            panel, files, measures, choices=choices, policies=policies, run_format=options["run_format"],
            jobs=options["jobs"], progress=progress,
        )  # fmt: skip


# -- what is written -------------------------------------------------------------------------------


def _write_secondary_pool(panel: Panel, primary: int, policies: Policies, options: Options) -> None:
    from sounding.agree.combining import secondary_pool
    from sounding.core.files import write_whole

    pool = secondary_pool(
        panel.qrels_of(primary), relevant=options["pool_relevant"], nonrelevant=options["pool_nonrelevant"],
        level=options["level"], seed=policies.seed,
    )  # fmt: skip
    frame = pool.frame
    lines = [f"{topic}\t{doc}\n" for topic, doc in zip(frame["topic"], frame["doc"], strict=True)]
    path = options["secondary_pool"]
    write_whole(path, "".join(["topic\tdoc\n", *lines]).encode("utf-8", "surrogateescape"))
    remark(f"{path}: {len(lines):,} documents of {len(pool.topics)} topics to judge", quiet=options["quiet"])


def _write_judgments(study: Study, options: Options) -> None:
    """The combined qrels and the list for adjudication, where they were asked for."""
    from sounding.agree.combining import adjudication_list, combine
    from sounding.core.files import write_whole
    from sounding.data.writing import write_qrels

    for how, file in options["combinations"]:
        made = combine(study.panel, how, priority=options["priority"])
        write_qrels(made, file)
        remark(f"{file}: {how} of {len(study.panel.assessors)} assessors", quiet=options["quiet"])
    path = options["adjudicate"]
    if path is None:
        return
    rows = adjudication_list(study.panel, level=options["level"])
    header = "\t".join(["topic", "doc", *study.panel.assessors, "gap", "differ_on"])
    lines = [
        "\t".join(
            [one.topic, one.doc, *("" if grade != grade else f"{grade:g}" for grade in one.grades),
             f"{one.gap:g}", "relevance" if one.relevance else "grade"]
        )
        for one in rows
    ]  # fmt: skip
    write_whole(path, ("\n".join([header, *lines]) + "\n").encode("utf-8", "surrogateescape"))
    remark(f"{path}: {len(rows):,} documents on which assessors differ", quiet=options["quiet"])


def _write(study: Study, options: Options) -> None:
    from sounding.agree import tables
    from sounding.agree.notes import notes

    form, top = options["format_name"], options["top"]
    possible = [name for name in SECTIONS if study.effects or name not in OF_SYSTEMS]
    wanted = list(options["sections"])
    if form in NO_NOTES:
        made = [tables.tidy_section(study, wanted[0] if wanted else "pairs", top)]
    elif form == "json":
        made = [replace(tables.tidy_section(study, "pairs"), facts=tables.facts(study))]
    else:
        shown = possible if options["everything"] else wanted or [n for n in tables.FIRST if n in possible]
        made = tables.people_tables(study, shown, top)
    write_tables(made, form, options["output"])
    if form in NO_NOTES:
        for note in notes(study):
            remark(note, quiet=options["quiet"])


def _check_chart(path: Path) -> None:
    """Refuse before the work what could not be drawn after it."""
    from sounding.render.save import require_suffix
    from sounding.render.style import require_charts

    require_suffix(path)
    require_charts("altair", "drawing a chart")


def _draw(study: Study, path: Path) -> None:
    from sounding.agree.charts import charts_of
    from sounding.render.save import save, together

    save(together(charts_of(study)), path)
