"""The work of `sounding agree`: read the judgments, study them, write tables, qrels and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from sounding.agree import pair_tables, sentences, tables
from sounding.agree.assessors import read_panel
from sounding.agree.charts import FIGURES, figures
from sounding.agree.combining import (
    COMBINATIONS,
    CORRELATION,
    OVERLAPS,
    adjudication_list,
    combine,
    secondary_pool,
    simulate_assessors,
)
from sounding.agree.command import OF_PREFERENCES, AgreeOptions
from sounding.agree.compared_pairs import agree_preferences, is_preferences
from sounding.agree.panel import Panel
from sounding.agree.resampling import TOP
from sounding.agree.result import Study
from sounding.agree.study import DEFAULT_MEASURES, agree
from sounding.core.files import write_file
from sounding.core.policies import Policies
from sounding.data.finding import find_runs
from sounding.data.sources import Content, read_content
from sounding.data.writing import write_qrels
from sounding.render.save import require_suffix, save, together
from sounding.render.style import require_charts
from sounding.render.tables import Answer
from sounding.statistics.rank_correlation import find_coefficient
from sounding.terminal.declare import spelling, typed
from sounding.terminal.options import NO_NOTES, policies_of, progress_bar, remark, suggest, write_answer

OF_RUNS = (
    "measures", "tau", "samples", "run_format", "jobs", "ties", "unjudged", "missing", "duplicates", "compat",
    "depth",
)  # options that have no effect without runs  # fmt: skip
OF_POOLS = ("pool_relevant", "pool_nonrelevant")
OF_SEVERAL = ("runs", "combinations", "adjudicate", "chart", "output", "sections", "everything")
OF_READING = (
    "level",
    "assessors",
    "words",
    "repeated",
    "qrels_format",
    "policy",
)  # a next command repeats these
FOR_PREFERENCES = (
    "qrels", "qrels_format", "sections", "everything", "resamples", "alpha", "seed", "top", "format_name",
    "output", "quiet", "notes",
)  # fmt: skip
DISAGREEMENTS, SECOND = "disagreements.tsv", "to-judge.tsv"  # files that a next command writes


def run(options: AgreeOptions) -> None:
    """Study the assessors, and write the tables and files that the options ask for."""
    sources = [read_content(source) if Path(source).is_file() else source for source in options.qrels]
    if _of_preferences(sources, options):
        return _run_on_preferences(sources, options)
    policies = policies_of(options)
    _check_options(options)
    _check_idle(options)
    files = find_runs(options.runs) if options.runs else []
    _check_files(options, files)
    if options.chart is not None:
        require_suffix(options.chart)
        require_charts("altair", "drawing a chart")
    panel = _panel(sources, options, policies)
    primary = panel.place(options.primary) if options.primary else 0
    if options.secondary_pool is not None:
        _write_secondary_pool(panel, primary, options.secondary_pool, options)
        if len(panel.assessors) == 1 and not any(getattr(options, name) for name in OF_SEVERAL):
            return None
    if len(panel.assessors) == 1:
        raise click.UsageError(
            f"only one assessor ({panel.assessors[0]}); add the judgments of another, or use --simulated or"
            " --secondary-pool"
        )
    measures = options.measures or DEFAULT_MEASURES
    steps = len(files) + options.samples * len(measures) if files else 0
    with progress_bar(steps, quiet=options.quiet, label="runs and qrels") as progress:
        study = agree(
            panel, files or None, measures, level=options.level, primary=panel.assessors[primary],
            outside=options.outside, samples=options.samples, coefficient=options.tau,
            resamples=options.resamples, alpha=options.alpha, top=options.top or TOP, policies=policies,
            run_format=options.run_format, jobs=options.jobs, progress=progress,
        )  # fmt: skip
    _write_judgments(study, options)
    _write_answer(study, options)
    if options.chart is not None:
        _draw(study, options.chart, options)
    return None


# -- preferences -----------------------------------------------------------------------------------


def _of_preferences(sources: Sequence[str | Content], options: AgreeOptions) -> bool:
    """Return whether the files hold preferences; refuse a mixture."""
    if options.qrels_format is not None:
        return options.qrels_format == "prefs"
    found = [is_preferences(source) for source in sources if isinstance(source, Content)]
    if any(found) and not (all(found) and len(found) == len(options.qrels)):
        other = options.qrels[found.index(False)] if False in found else options.qrels[-1]
        raise click.UsageError(f"{other} holds no preferences, but another file does; compare them apart")
    return any(found)


def _run_on_preferences(sources: Sequence[str | Content], options: AgreeOptions) -> None:
    """Study preferences, and write the tables that the options ask for."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in FOR_PREFERENCES and typed(name):
            raise click.UsageError(f"{parameter.opts[-1]} changes nothing for preferences; leave it out")
    if strange := [name for name in options.sections if name not in pair_tables.SECTIONS]:
        expected = ", ".join(pair_tables.SECTIONS)
        raise click.UsageError(f"--section {strange[0]} is about grades; preferences have {expected}")
    form, top = options.format_name, options.top
    if form in NO_NOTES and (len(options.sections) > 1 or options.everything):
        raise click.UsageError(f"{form} holds one table; give one --section, or use json")
    study = agree_preferences(sources, resamples=options.resamples, alpha=options.alpha, seed=options.seed)
    shown = list(options.sections) or list(pair_tables.SECTIONS[: None if options.everything else 2])
    notes: list[str] = []
    if form in NO_NOTES:
        made = [pair_tables.tidy_section(study, shown[0], top)]
    elif form == "json":
        pairs = pair_tables.tidy_section(study, "pairs", None)
        made = [replace(pairs, facts=pair_tables.facts(study))]
    else:
        made = pair_tables.people_tables(study, shown, top)
        if not options.sections and not options.everything:
            notes.append(
                sentences.more_sections([name for name in pair_tables.SECTIONS if name not in shown])
            )
    write_answer(Answer(pair_tables.headline(study), made, notes), options)


# -- options ---------------------------------------------------------------------------------------


def _check_options(options: AgreeOptions) -> None:
    """Refuse options that contradict each other or change nothing."""
    find_coefficient(options.tau)
    if options.overlaps and not options.simulated:
        raise click.UsageError("--overlaps changes nothing without --simulated")
    for how, _ in options.combinations:
        if how not in COMBINATIONS:
            raise click.UsageError(f"--combine {how!r}; expected one of {', '.join(COMBINATIONS)}")
    if options.priority and "priority" not in dict(options.combinations):
        raise click.UsageError("--priority changes nothing without --combine priority FILE")
    if options.everything and options.sections:
        raise click.UsageError("--all already shows every section; leave out --section")
    if options.format_name in NO_NOTES and (len(options.sections) > 1 or options.everything):
        raise click.UsageError(f"{options.format_name} holds one table; give one --section, or use json")
    for section in options.sections:
        if section in OF_PREFERENCES:
            raise click.UsageError(f"--section {section} is about preferences; these are grades")
        if section in tables.OF_RUNS and not options.runs:
            raise click.UsageError(f"--section {section} is about systems; add --runs")


def _check_idle(options: AgreeOptions) -> None:
    """Refuse options that have no effect without another one."""
    context = click.get_current_context()
    spelled = {parameter.name: parameter.opts[-1] for parameter in context.command.params}
    for names, needed, given in (
        (OF_RUNS, "--runs", bool(options.runs)),
        (OF_POOLS, "--secondary-pool", options.secondary_pool is not None),
    ):
        for name in names:
            if not given and typed(name):
                option = spelled.get(name, spelling(name))
                raise click.UsageError(f"{option} changes nothing without {needed}")


def _check_files(options: AgreeOptions, runs: Sequence[str]) -> None:
    """Refuse to overwrite an input, or to write two outputs to one file."""
    read = {Path(file).resolve() for file in (*options.qrels, *runs)}
    written: dict[Path, str] = {}
    outputs: list[tuple[str, Path | None]] = [
        *((f"--combine {how}", Path(file)) for how, file in options.combinations),
        ("--output", options.output), ("--adjudicate", options.adjudicate),
        ("--secondary-pool", options.secondary_pool), ("--chart", options.chart),
    ]  # fmt: skip
    for option, file in outputs:
        if file is None:
            continue
        place = file.resolve()
        if place in read:
            raise click.UsageError(f"{option} {file} would overwrite an input file; name another file")
        if place in written:
            raise click.UsageError(f"{written[place]} and {option} both write {file}; name two files")
        written[place] = option


def _labels(texts: tuple[str, ...]) -> dict[str, float]:
    labels = {}
    for text in texts:
        word, equals, grade = text.rpartition("=")
        try:
            labels[word] = float(grade)
        except ValueError:
            equals = ""
        if not equals or not word:
            raise click.UsageError(f"--word {text!r}: expected a word and its grade, such as relevant=1")
    return labels


def _overlaps(text: str | None) -> tuple[float, ...]:
    if text is None:
        return OVERLAPS
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError as error:
        raise click.UsageError(f"--overlaps {text!r}: expected numbers, such as 0.421,0.494") from error


def _panel(sources: Sequence[str | Content], options: AgreeOptions, policies: Policies) -> Panel:
    """Read the judgments, and add simulated assessors if --simulated asks for them."""
    panel = read_panel(
        sources, by=options.assessors, repeated=options.repeated, labels=_labels(options.words),
        policies=policies, format=options.qrels_format,
    )  # fmt: skip
    if not options.simulated:
        return panel
    if len(panel.assessors) > 1:
        raise click.UsageError("--simulated needs the judgments of exactly one assessor")
    return simulate_assessors(
        panel.qrels_of(0), overlaps=_overlaps(options.overlaps), level=options.level, seed=options.seed,
        correlation=CORRELATION if options.simulated == "correlated" else 0.0,
    )  # fmt: skip


# -- output ----------------------------------------------------------------------------------------


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    write_file(path, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))


def _write_secondary_pool(panel: Panel, primary: int, path: Path, options: AgreeOptions) -> None:
    pool = secondary_pool(
        panel.qrels_of(primary), relevant=options.pool_relevant, nonrelevant=options.pool_nonrelevant,
        level=options.level, seed=options.seed,
    )  # fmt: skip
    frame = pool.frame
    _write_lines(path, ["topic\tdoc", *map("\t".join, zip(frame["topic"], frame["doc"], strict=True))])
    text = f"{path}: {frame.height:,} documents of {len(pool.topics)} topics for a second assessor to judge"
    remark(text, quiet=options.quiet)


def _write_judgments(study: Study, options: AgreeOptions) -> None:
    """Write the combined qrels and the documents to adjudicate, if the options ask for them."""
    panel = study.panel
    for how, file in options.combinations:
        write_qrels(combine(panel, how, priority=options.priority), file)
        remark(f"{file}: {how} of {len(panel.assessors)} assessors", quiet=options.quiet)
    if options.adjudicate is None:
        return
    rows = adjudication_list(panel, level=options.level)
    lines = ["\t".join(["topic", "doc", *panel.assessors, "gap", "differ_on"])]
    for row in rows:
        grades = ["" if grade != grade else f"{grade:g}" for grade in row.grades]
        kind = "relevance" if row.relevance else "grade"
        lines.append("\t".join([row.topic, row.doc, *grades, f"{row.gap:g}", kind]))
    _write_lines(options.adjudicate, lines)
    remark(f"{options.adjudicate}: {len(rows):,} documents on which assessors disagree", quiet=options.quiet)


def _write_answer(study: Study, options: AgreeOptions) -> None:
    form, top, wanted = options.format_name, options.top, options.sections
    possible = tables.possible_sections(study)
    shown = list(wanted) or list(possible if options.everything else tables.default_sections(study))
    notes = sentences.notes(study, policies=options.notes)
    if form in NO_NOTES:
        made = [tables.tidy_section(study, wanted[0] if wanted else "pairs", top)]
    elif form == "json":
        made = [replace(tables.tidy_section(study, "pairs"), facts=tables.facts(study))]
    else:
        made = tables.people_tables(study, shown, top)
        if not wanted and not options.everything:
            notes.append(sentences.more_sections([name for name in possible if name not in shown]))
    write_answer(Answer(sentences.headline(study), made, notes, _next_command(study, options)), options)


def _next_command(study: Study, options: AgreeOptions) -> str | None:
    """Return the command that acts on the answer: list the disagreements, or have documents judged again."""
    if options.simulated:
        return suggest("agree", "--secondary-pool", SECOND, keep=OF_READING)
    if options.adjudicate is None and any(topic.contested for topic in study.agreements.topics):
        return suggest("agree", "--adjudicate", DISAGREEMENTS, keep=OF_READING)
    return None


def _draw(study: Study, path: Path, options: AgreeOptions) -> None:
    """Draw the chosen sections; by default the systems, or the pairs of assessors if there are no runs."""
    possible = [name for name in tables.possible_sections(study) if name in FIGURES]
    if options.everything or options.sections:
        chosen = [name for name in options.sections if name in FIGURES] or possible
        drawn = [figure for name in chosen for figure in figures(study, name, options.top)]
    else:
        chosen = ["systems" if study.effects else "pairs"]
        drawn = figures(study, chosen[0], options.top)[:1]
    drawn = drawn or figures(study, "pairs")
    save(together(drawn) if len(drawn) > 1 else drawn[0], path)
    others = [name for name in possible if name not in chosen]
    more = f"; for the others add --section {', '.join(others)}, or --all" if others else ""
    remark(f"chart: {path} ({', '.join(chosen)}{more})", quiet=options.quiet)
