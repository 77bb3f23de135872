"""What `sounding agree` does: read the judgments, study them, write tables, judgments and charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from sounding.agree import sentences, tables
from sounding.agree.charts import charts_of
from sounding.agree.combining import (
    COMBINATIONS,
    CORRELATION,
    OVERLAPS,
    adjudication_list,
    combine,
    secondary_pool,
    simulate_assessors,
)
from sounding.agree.command import AgreeOptions
from sounding.agree.panel import Panel
from sounding.agree.reading import read_panel
from sounding.agree.resampling import TOP
from sounding.agree.result import Study
from sounding.agree.study import DEFAULT_MEASURES, agree
from sounding.core.files import write_file
from sounding.core.policies import Policies
from sounding.data.finding import find_runs
from sounding.data.writing import write_qrels
from sounding.render.save import require_suffix, save, together
from sounding.render.style import require_charts
from sounding.statistics.rank_correlation import find_coefficient
from sounding.terminal.declare import spelling, typed
from sounding.terminal.options import NO_NOTES, policies_of, progress_bar, remark, write_tables

OF_RUNS = (
    "measures", "tau", "samples", "run_format", "jobs", "ties", "unjudged", "missing", "duplicates", "compat",
    "depth",
)  # options that change nothing without runs  # fmt: skip
OF_POOLS = ("pool_relevant", "pool_nonrelevant")
OF_SEVERAL = ("runs", "combinations", "adjudicate", "chart", "output", "sections", "everything")


def run(options: AgreeOptions) -> None:
    """Study the assessors, and write all that was asked for."""
    policies = policies_of(options)
    _check_options(options)
    _check_idle(options)
    files = find_runs(options.runs) if options.runs else []
    _check_files(options, files)
    if options.chart is not None:
        require_suffix(options.chart)
        require_charts("altair", "drawing a chart")
    panel = _panel(options, policies)
    primary = panel.place(options.primary) if options.primary else 0
    if options.secondary_pool is not None:
        _write_secondary_pool(panel, primary, options.secondary_pool, options)
        if len(panel.assessors) == 1 and not any(getattr(options, name) for name in OF_SEVERAL):
            return
    if len(panel.assessors) == 1:
        raise click.UsageError(
            f"one assessor ({panel.assessors[0]}); give the judgments of another, or --simulated, or"
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
    _write_tables(study, options)
    if options.chart is not None:
        save(together(charts_of(study)), options.chart)


# -- what is asked for -----------------------------------------------------------------------------


def _check_options(options: AgreeOptions) -> None:
    """Refuse what would change nothing, or cannot be."""
    find_coefficient(options.tau)
    if options.overlaps and not options.simulated:
        raise click.UsageError("--overlaps changes nothing without --simulated")
    for how, _ in options.combinations:
        if how not in COMBINATIONS:
            raise click.UsageError(f"--combine {how!r}; expected one of {', '.join(COMBINATIONS)}")
    if options.priority and "priority" not in dict(options.combinations):
        raise click.UsageError("--priority changes nothing without --combine priority FILE")
    if options.everything and options.sections:
        raise click.UsageError("--all and --section do not go together; give one")
    if options.format_name in NO_NOTES and (len(options.sections) > 1 or options.everything):
        raise click.UsageError(f"{options.format_name} holds one table; give one --section, or use json")
    for section in options.sections:
        if section in tables.OF_RUNS and not options.runs:
            raise click.UsageError(f"--section {section} is about systems; give --runs as well")


def _check_idle(options: AgreeOptions) -> None:
    """Refuse options that were typed and would change nothing."""
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
    """Refuse to write over what is read, and to write two things to one file."""
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
            raise click.UsageError(f"{option} {file} would overwrite what is read; name another file")
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
            raise click.UsageError(f"--word {text!r}: expected a word and its grade, as relevant=1")
    return labels


def _overlaps(text: str | None) -> tuple[float, ...]:
    if text is None:
        return OVERLAPS
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError as error:
        raise click.UsageError(f"--overlaps {text!r}: expected numbers, such as 0.421,0.494") from error


def _panel(options: AgreeOptions, policies: Policies) -> Panel:
    """Read the judgments; add simulated assessors where that is asked for."""
    panel = read_panel(
        options.qrels, by=options.assessors, repeated=options.repeated, labels=_labels(options.words),
        policies=policies, format=options.qrels_format,
    )  # fmt: skip
    if not options.simulated:
        return panel
    if len(panel.assessors) > 1:
        raise click.UsageError("--simulated adds to one assessor; give the judgments of one")
    return simulate_assessors(
        panel.qrels_of(0), overlaps=_overlaps(options.overlaps), level=options.level, seed=options.seed,
        correlation=CORRELATION if options.simulated == "correlated" else 0.0,
    )  # fmt: skip


# -- what is written -------------------------------------------------------------------------------


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    write_file(path, "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))


def _write_secondary_pool(panel: Panel, primary: int, path: Path, options: AgreeOptions) -> None:
    pool = secondary_pool(
        panel.qrels_of(primary), relevant=options.pool_relevant, nonrelevant=options.pool_nonrelevant,
        level=options.level, seed=options.seed,
    )  # fmt: skip
    frame = pool.frame
    _write_lines(path, ["topic\tdoc", *map("\t".join, zip(frame["topic"], frame["doc"], strict=True))])
    text = f"{path}: {frame.height:,} documents of {len(pool.topics)} topics to judge"
    remark(text, quiet=options.quiet)


def _write_judgments(study: Study, options: AgreeOptions) -> None:
    """Write the combined qrels and the list for adjudication, where they were asked for."""
    panel = study.panel
    for how, file in options.combinations:
        write_qrels(combine(panel, how, priority=options.priority), file)
        remark(f"{file}: {how} of {len(panel.assessors)} assessors", quiet=options.quiet)
    if options.adjudicate is None:
        return
    rows = adjudication_list(panel, level=options.level)
    lines = ["\t".join(["topic", "doc", *panel.assessors, "gap", "differ_on"])]
    for one in rows:
        grades = ["" if grade != grade else f"{grade:g}" for grade in one.grades]
        kind = "relevance" if one.relevance else "grade"
        lines.append("\t".join([one.topic, one.doc, *grades, f"{one.gap:g}", kind]))
    _write_lines(options.adjudicate, lines)
    remark(f"{options.adjudicate}: {len(rows):,} documents on which assessors differ", quiet=options.quiet)


def _write_tables(study: Study, options: AgreeOptions) -> None:
    form, top, wanted = options.format_name, options.top, options.sections
    possible = tables.possible_sections(study)
    if form in NO_NOTES:
        made = [tables.tidy_section(study, wanted[0] if wanted else "pairs", top)]
    elif form == "json":
        made = [replace(tables.tidy_section(study, "pairs"), facts=tables.facts(study))]
    else:
        shown = [name for name in tables.FIRST if name in possible]
        made = tables.people_tables(study, possible if options.everything else wanted or shown, top)
    write_tables(made, form, options.output)
    if form in NO_NOTES:
        for note in sentences.notes(study):
            remark(note, quiet=options.quiet)
