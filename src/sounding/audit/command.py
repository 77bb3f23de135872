"""`sounding audit`: can this collection judge these runs, and this new one."""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sounding.terminal.options import (
    NO_NOTES,
    PEOPLE,
    Options,
    PlainPolicyOptions,
    format_options,
    output_options,
    plain_policies,
    plain_policies_of,
    pool_options,
    progress_bar,
    remark,
    table_width,
    taken_info,
    worker_options,
    write_tables,
    write_text,
)

if TYPE_CHECKING:
    from sounding.audit.auditing import Audit
    from sounding.audit.parts import PartOf
    from sounding.audit.pseudo import Pseudo
    from sounding.audit.section import Extras, Section
    from sounding.core.policies import Policies
    from sounding.render.tables import Table

CHART_FORMATS = ("html", "svg", "png", "pdf")
SECTIONS = (
    "pool", "runs", "topics", "growth", "unique", "leave-out", "reinforcement", "ties", "assessment", "parts",
    "titles",
)  # fmt: skip
IDLE_ELSEWHERE = {
    "measures": ("runs", "topics", "leave-out"), "remove": ("topics", "leave-out"),
    "unique_among": ("topics", "unique", "leave-out"),
    "unjudged": ("runs", "topics", "leave-out", "ties", "assessment"),
    "missing": ("runs", "topics", "leave-out", "ties", "assessment"),
}  # the sections that an option changes  # fmt: skip

TAKEN = (
    "pool_depth",
    "level",
    "remove",
    "unique_among",
    "draws",
    "qrels_format",
    "run_format",
    "jobs",
)  # as they are given


@click.command("audit", short_help="Can this collection judge these runs.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("-m", "--measure", "measures", multiple=True, metavar="M", help="A measure: AP, nDCG@10.")
@click.option("--new", multiple=True, metavar="RUN", help="A run that had no part in the judgments.")
@click.option("-l", "--level", type=float, default=1, show_default=True, help="Lowest relevant grade.")
@pool_options
@click.option(
    "--remove", type=click.Choice(("relevant", "judgments")), default="relevant", show_default=True,
    help="What leaving out takes: unique relevant documents, or all unique judgments.",
)  # fmt: skip
@click.option(
    "--unique-among", type=click.Choice(("pooled", "all")), default="pooled", show_default=True,
    help="Count a document as unique if no other pooled run (or no other run) has it.",
)  # fmt: skip
@click.option("--section", "chosen", multiple=True, type=click.Choice(SECTIONS), help="Details; repeatable.")
@click.option("--all", "every", is_flag=True, help="The verdict and every section.")
@click.option("--top", type=click.IntRange(1), help="Rows that people see of a section.  [default: 20]")
@click.option("--parts", metavar="P", help="prefix:N, a regular expression, or a file of doc and part.")
@click.option("--topics", metavar="FILE", help="Topics with titles; with --corpus: title bias.")
@click.option("--corpus", multiple=True, metavar="FILE", help="Documents: TREC SGML or JSON lines.")
@click.option(
    "--collection", "collections", nargs=3, multiple=True, metavar="NAME QRELS RUNS",
    help="Another collection, for tau with assessment side by side; may be repeated.",
)  # fmt: skip
@click.option(
    "--collection-info", "collection_info", nargs=2, multiple=True, metavar="NAME FILE",
    help="Which runs of such a collection were pooled; may be repeated.",
)  # fmt: skip
@click.option("--draws", type=click.IntRange(1), default=50, show_default=True, help="Pseudo-judgments.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the draws.")
@click.option("--chart", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="All charts.")
@click.option(
    "--chart-format", type=click.Choice(CHART_FORMATS), default="html", show_default=True,
    help="Of the files in DIR.",
)  # fmt: skip
@format_options
@worker_options
@plain_policies
@output_options()
def command(qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Say what QRELS are fit for: to compare the RUNs that were pooled, and new ones.

    First a verdict with the figure behind every statement. Details by --section: what the pool was, how
    much of each run was judged, growth, unique relevant documents, leaving out runs and groups, ties,
    rankings that need no judgments.

    \b
    sounding audit qrels.txt runs/ --info info.tsv
    sounding audit qrels.txt runs/ --info info.tsv --new mine.txt
    sounding audit qrels.txt runs/ --info info.tsv --section leave-out --top 50
    """  # noqa: D301 - click wants the control character
    from sounding.audit.auditing import DEFAULT_MEASURES, audit
    from sounding.audit.parts import part_of
    from sounding.data.finding import find_runs

    _check(options)
    part = None if options["parts"] is None else part_of(options["parts"])
    policies = plain_policies_of(
        PlainPolicyOptions(**{field.name: options[field.name] for field in fields(PlainPolicyOptions)})
    )
    files = find_runs(runs)
    with progress_bar(len(files), quiet=options["quiet"], label="reading runs") as progress:
        found = audit(
            qrels, files, options["measures"] or DEFAULT_MEASURES,
            new=find_runs(options["new"]) if options["new"] else (), info=taken_info(options),
            policies=policies, progress=progress, **{name: options[name] for name in TAKEN},
        )  # fmt: skip
    extras = _extras(found, part, policies, options)
    wanted = _wanted(found, extras, options)
    _compute(found, wanted, options)
    _write(found, extras, wanted, options)
    if options["format_name"] in NO_NOTES:
        _say(found, options)
    if options["chart"] is not None:
        _draw(found, extras, options)


# -- what is asked for -----------------------------------------------------------------------------


def _check(options: Options) -> None:
    """Refuse before files are read what could not be shown."""
    if options["every"] and options["chosen"]:
        raise click.UsageError("--all shows every section; leave --section out")
    if (options["topics"] is None) != (not options["corpus"]):
        raise click.UsageError("--topics and --corpus belong together: give both, for title bias")
    if "titles" in options["chosen"] and options["topics"] is None:
        raise click.UsageError("--section titles needs --topics and --corpus")
    if "parts" in options["chosen"] and options["parts"] is None:
        raise click.UsageError("--section parts needs --parts, such as --parts prefix:2")
    strangers = {name for name, _ in options["collection_info"]} - {one[0] for one in options["collections"]}
    if strangers:
        raise click.UsageError(
            f"--collection-info {min(strangers)}: no --collection has that name; give one that does"
        )
    _check_idle(options)
    several = len(_chosen(options)) > 1 and not options["every"]
    if several and options["format_name"] not in PEOPLE:
        raise click.UsageError(
            f"{options['format_name']} holds one section, and {', '.join(_chosen(options))} are asked for;"
            " ask for one, or --all"
        )


def _check_idle(options: Options) -> None:
    """Refuse options that would change nothing for want of another."""
    context = click.get_current_context()
    shown, drawn = options["every"] or bool(_chosen(options)), options["chart"] is not None
    assessed = options["every"] or drawn or "assessment" in _chosen(options)
    chosen = () if options["every"] or drawn else _chosen(options)
    for name, concerned in IDLE_ELSEWHERE.items():
        typed = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if typed and chosen and not set(chosen) & set(concerned):
            raise click.UsageError(
                f"--{name.removesuffix('s').replace('_', '-')} changes nothing in section"
                f" {', '.join(chosen)}; it is for the verdict and --section {', '.join(concerned)}"
            )
    for name, used, needed in (
        ("top", shown, "a section: --section or --all"),
        ("draws", assessed, "--section assessment, --all or --chart"),
        ("seed", assessed, "--section assessment, --all or --chart"),
        ("chart_format", drawn, "--chart DIR"),
    ):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE and not used:
            raise click.UsageError(f"--{name.replace('_', '-')} changes nothing without {needed}")
    if drawn and options["chart"].suffix.lower().removeprefix(".") in CHART_FORMATS:
        suffix = options["chart"].suffix.lower().removeprefix(".")
        raise click.UsageError(
            f"--chart {options['chart']}: expected a folder, for there are several charts; the format is"
            f" --chart-format {suffix}"
        )


def _chosen(options: Options) -> list[str]:
    """The sections that are asked for, by name or by what only they show."""
    asked = {
        "parts": options["parts"] is not None,
        "titles": options["topics"] is not None,
        "assessment": bool(options["collections"]),
    }
    return list(dict.fromkeys([*options["chosen"], *(name for name, own in asked.items() if own)]))


def _extras(found: Audit, part: PartOf | None, policies: Policies, options: Options) -> Extras:
    """Parts, titles and other collections, where they are asked for."""
    from sounding.audit.parts import parts_of_collection
    from sounding.audit.section import Extras
    from sounding.audit.title_bias import title_bias
    from sounding.data.topics import read_topics

    parts = None if part is None else parts_of_collection(found.runs, part)
    titles = None
    if options["topics"] is not None:
        titles = title_bias(found.runs, read_topics(options["topics"]), options["corpus"])
    others = [_other(name, qrels, runs, policies, options) for name, qrels, runs in options["collections"]]
    return Extras(parts=parts, titles=titles, others=others)


def _other(name: str, qrels: str, runs: str, policies: Policies, options: Options) -> tuple[str, Pseudo]:
    from sounding.audit.judged_runs import read_judged_runs
    from sounding.audit.pseudo import rankings_without_judgments
    from sounding.data.finding import find_runs

    files = find_runs(runs)
    info = taken_info({"info": [file for own, file in options["collection_info"] if own == name]})
    with progress_bar(len(files), quiet=options["quiet"], label=f"reading {name}") as progress:
        judged = read_judged_runs(
            qrels, files, info=info, level=options["level"], policies=policies,
            qrels_format=options["qrels_format"], run_format=options["run_format"], jobs=options["jobs"],
            progress=progress,
        )  # fmt: skip
    return name, rankings_without_judgments(judged, draws=options["draws"], seed=options["seed"])


def _wanted(found: Audit, extras: Extras, options: Options) -> list[str]:
    """The sections to show; those that need a pool are refused where none is known."""
    from sounding.audit.tables import sections

    known = list(sections(found, extras))
    if options["every"]:
        return known
    chosen = _chosen(options)
    for name in chosen:
        if name not in known:
            raise click.ClickException(
                f"section {name}: none of these runs is known to have contributed to the judgments;"
                " list those that did with --info"
            )
    return chosen


def _compute(found: Audit, wanted: list[str], options: Options) -> None:
    """What takes long, each with a bar of its own."""
    quiet = options["quiet"]
    count = len(found.runs.runs)
    verdict = not wanted or options["every"]
    drawn = options["chart"] is not None
    if found.has_pool and (verdict or drawn or {"leave-out", "topics"} & set(wanted)):
        units = len(found.unique("group").names)
        with progress_bar(units, quiet=quiet, label="leaving out groups") as progress:
            found.leave_out("group", progress)
    if "leave-out" in wanted:
        with progress_bar(count, quiet=quiet, label="leaving out runs") as progress:
            found.leave_out("run", progress)
    if "assessment" in wanted or drawn:
        with progress_bar(options["draws"], quiet=quiet, label="drawing judgments") as progress:
            found.pseudo(progress)
    if "ties" in wanted or verdict:
        with progress_bar(count, quiet=quiet, label="reading scores") as progress:
            found.ties(progress)


# -- what is shown ---------------------------------------------------------------------------------


def _write(found: Audit, extras: Extras, wanted: list[str], options: Options) -> None:
    from sounding.audit import tables
    from sounding.audit.verdict import verdict

    format_name, output = options["format_name"], options["output"]
    made = _made(found, extras, wanted, options)
    statements = verdict(found) if not wanted or options["every"] else []
    shown = [table for one in made.values() for table in one.tables]
    if format_name == "table" and statements:
        from sounding.render.tables import render

        terminal = output is None and sys.stdout.isatty()
        width = table_width(output)
        text = tables.verdict_text(found, statements, width)
        if shown:
            text += "\n" + render(shown, "table", width=width, marks=terminal)
        write_text(text, output)
    elif format_name in PEOPLE:
        top = [tables.verdict_table(found, statements, rounded=True)] if statements else []
        write_tables(tables.with_policies([*top, *shown], found), format_name, output)
    else:
        write_tables([_tidy(found, made, statements, options)], format_name, output)


def _made(found: Audit, extras: Extras, wanted: list[str], options: Options) -> dict[str, Section]:
    from sounding.audit.section import SHOWN
    from sounding.audit.tables import sections

    builders = sections(found, extras)
    return {name: builders[name](found, extras, options["top"] or SHOWN) for name in wanted}


def _tidy(found: Audit, made: dict[str, Section], statements: list[Any], options: Options) -> Table:
    """One table for programs: the verdict, one section, or all of them in long form."""
    from dataclasses import replace

    from sounding.audit import tables

    verdict = tables.verdict_table(found, statements) if statements else None
    if verdict is not None and not made:
        return verdict
    if verdict is None:
        return tables.tidy_section(next(iter(made.values())), found)
    if options["format_name"] == "json":
        rows = {name: tables.tidy_section(one, found).rows() for name, one in made.items()}
        told = {key: value for one in made.values() for key, value in one.facts.items()}
        return replace(verdict, facts={**tables.facts(found), **told, "sections": rows})
    return tables.tidy_sections(made, verdict)


def _say(found: Audit, options: Options) -> None:
    """What is not known of runs, and the policies, beside formats that have no room for them."""
    for text in (*found.runs.remarks, f"policies: {found.runs.policies.describe()}"):
        remark(text, quiet=options["quiet"])


def _draw(found: Audit, extras: Extras, options: Options) -> None:
    from sounding.audit.drawings import audit_charts
    from sounding.render.save import save

    folder: Path = options["chart"]
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, make in audit_charts(found, extras):
        path = folder / f"{name}.{options['chart_format']}"
        save(make(), path)
        drawn.append(path.name)
    remark(f"charts in {folder}: {', '.join(drawn)}", quiet=options["quiet"])
