"""Run `sounding audit`: read the files, compute the parts that are asked for, write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import numpy as np

from sounding.audit import fitness_tables, tables
from sounding.audit.auditing import DEFAULT_MEASURES, audit
from sounding.audit.beyond import depths_beyond
from sounding.audit.charts import audit_charts
from sounding.audit.command import CHART_FORMATS, AuditOptions
from sounding.audit.fitness import DEFAULT_MEASURES as FITNESS_MEASURES
from sounding.audit.fitness import audit_labels
from sounding.audit.parts import PartOf, part_of
from sounding.audit.result import Audit
from sounding.audit.tables import SHOWN, AuditSection, Extras
from sounding.audit.verdict import Statement
from sounding.core.policies import Policies
from sounding.data.finding import find_runs
from sounding.measures import parse_measures
from sounding.render.save import save
from sounding.render.tables import Answer, Table, render
from sounding.terminal.declare import POLICIES, spelling, typed
from sounding.terminal.options import (
    PEOPLE,
    options_refused,
    plain_policies_of,
    progress_bar,
    prose_width,
    read_info,
    remark,
    suggest,
    uses_color,
    write_answer,
    write_text,
)

IDLE_ELSEWHERE = {
    "measures": ("runs", "topics", "leave-out", "beyond"), "remove": ("topics", "leave-out"),
    "unique_among": ("topics", "unique", "leave-out"),
    "unjudged": ("runs", "topics", "leave-out", "ties", "assessment"),
    "missing": ("runs", "topics", "leave-out", "ties", "assessment"),
}  # the sections that an option changes  # fmt: skip


def run(options: AuditOptions) -> None:
    """Audit the collection; print the verdict or the sections, and draw the charts."""
    if options.labels or options.judges:
        _run_labels(options)
        return
    _check(options)
    part = None if options.parts is None else part_of(options.parts)  # refused before files are read
    policies = plain_policies_of(options)
    found = _audited(
        options.qrels, options.runs, options.info, "reading runs", policies, options, options.new,
        options.pool_depth, options.only,
    )  # fmt: skip
    extras = _extras(found, part, policies, options)
    wanted = _wanted(found, extras, options)
    _compute(found, extras, wanted, options)
    _write(found, extras, wanted, options)
    if options.chart is not None:
        _draw(found, extras, options.chart, options)


IDLE_WITH_LABELS = (
    "new", "remove", "unique_among", "chosen", "first_depth", "every", "parts", "topics", "corpus",
    "collections",
    "collection_info", "draws", "chart", "chart_format", "info", "only", "pool_depth",
)  # fmt: skip


def _run_labels(options: AuditOptions) -> None:
    """Check whether labels are fit for use, and write the answer."""
    if not options.labels:
        raise click.UsageError("--judge names the machine of --labels FILE; add the file")
    for name in IDLE_WITH_LABELS:
        if typed(name):
            raise click.UsageError(f"{spelling(name)} does not go with --labels; leave one out")
    policies = plain_policies_of(options)
    with options_refused():  # before files are read
        measures = parse_measures(options.measures or FITNESS_MEASURES, level=options.level)
    files = find_runs(options.runs)
    with progress_bar(len(files), quiet=options.quiet, label="reading runs") as progress:
        found = audit_labels(
            options.qrels, files, list(options.labels), measures, judges=options.judges, level=options.level,
            seed=options.seed, policies=policies, qrels_format=options.qrels_format,
            run_format=options.run_format, jobs=options.jobs, progress=progress,
        )  # fmt: skip
    if options.format_name in PEOPLE:
        shown = fitness_tables.fitness_tables(found, options.top)
    else:
        shown = [fitness_tables.tidy(found)]
    # With complete judgments nothing is left to estimate.
    following = (
        suggest("estimate", keep=("labels", "judges", "level", "measures", "qrels_format", "run_format"))
        if found.sampled
        else None
    )
    answer = Answer(fitness_tables.headline(found), shown, fitness_tables.notes(found), following)
    write_answer(answer, options)


# -- what is asked for -----------------------------------------------------------------------------


def _check(options: AuditOptions) -> None:
    """Refuse before files are read what could not be shown."""
    if options.every and options.chosen:
        raise click.UsageError("--all shows every section; leave --section out")
    if (options.topics is None) != (not options.corpus):
        raise click.UsageError("--topics and --corpus belong together: give both, for title bias")
    if "titles" in options.chosen and options.topics is None:
        raise click.UsageError("--section titles needs --topics and --corpus")
    if "parts" in options.chosen and options.parts is None:
        raise click.UsageError("--section parts needs --parts, such as --parts prefix:2")
    strangers = {name for name, _ in options.collection_info} - {one[0] for one in options.collections}
    if strangers:
        raise click.UsageError(
            f"--collection-info {min(strangers)}: no --collection has that name; give one that does"
        )
    _check_idle(options)
    several = len(options.sections) > 1 and not options.every
    if several and options.format_name not in PEOPLE:
        raise click.UsageError(
            f"{options.format_name} holds one section, and {', '.join(options.sections)} are asked for;"
            " ask for one, or --all"
        )


def _check_idle(options: AuditOptions) -> None:
    """Refuse options that would change nothing for want of another."""
    shown, drawn = options.every or bool(options.sections), options.chart is not None
    assessed = options.every or drawn or "assessment" in options.sections
    chosen = [] if options.every or drawn else options.sections
    for name, concerned in IDLE_ELSEWHERE.items():
        if typed(name) and chosen and not set(chosen) & set(concerned):
            raise click.UsageError(
                f"{spelling(name if name in POLICIES else name.removesuffix('s'))} changes nothing in section"
                f" {', '.join(chosen)}; it is for the verdict and --section {', '.join(concerned)}"
            )
    for name, used, needed in (
        ("top", shown, "a section: --section or --all"),
        ("draws", assessed, "--section assessment, --all or --chart"),
        ("seed", assessed, "--section assessment, --all or --chart"),
        ("chart_format", drawn, "--chart DIR"),
    ):
        if typed(name) and not used:
            raise click.UsageError(f"--{name.replace('_', '-')} changes nothing without {needed}")
    suffix = "" if options.chart is None else options.chart.suffix.lower().removeprefix(".")
    if suffix in CHART_FORMATS:
        raise click.UsageError(
            f"--chart {options.chart}: expected a folder, because there are several charts; set the format"
            f" with --chart-format {suffix}"
        )


def _audited(
    qrels: str, runs: Sequence[str], info: Sequence[str], label: str, policies: Policies,
    options: AuditOptions, new: Sequence[str] = (), pool_depth: int | None = None, only: Sequence[str] = (),
) -> Audit:  # fmt: skip
    """The audit of this collection, or of another."""
    files = find_runs(runs)
    with progress_bar(len(files), quiet=options.quiet, label=label) as progress:
        return audit(
            qrels, files, options.measures or DEFAULT_MEASURES, new=find_runs(new) if new else (),
            info=read_info(info, only), only=only, pool_depth=pool_depth, level=options.level,
            remove=options.remove, unique_among=options.unique_among, draws=options.draws, policies=policies,
            qrels_format=options.qrels_format, run_format=options.run_format, jobs=options.jobs,
            progress=progress,
        )  # fmt: skip


def _extras(found: Audit, part: PartOf | None, policies: Policies, options: AuditOptions) -> Extras:
    """Parts, titles and other collections, where they are asked for."""
    others = []
    for name, qrels, runs in options.collections:
        info = [file for own, file in options.collection_info if own == name]
        others.append((name, _audited(qrels, [runs], info, f"reading {name}", policies, options)))
    return Extras(
        parts=None if part is None else found.parts(part),
        titles=None if options.topics is None else found.title_bias(options.topics, options.corpus),
        others=others,
        first_depth=options.first_depth,
    )


def _wanted(found: Audit, extras: Extras, options: AuditOptions) -> list[str]:
    """The sections to show; those that need a pool are refused where none is known."""
    known = list(tables.sections(found, extras))
    if options.every:
        return known
    for name in options.sections:
        if name not in known:
            raise click.ClickException(
                f"section {name}: none of these runs is known to have contributed to the judgments;"
                " list those that did with --info"
            )
    return options.sections


def _compute(found: Audit, extras: Extras, wanted: Sequence[str], options: AuditOptions) -> None:
    """Compute the slow parts in advance, each with a progress bar."""
    quiet, drawn = options.quiet, options.chart is not None
    verdict = not wanted or options.every
    if found.has_pool and (verdict or drawn or {"leave-out", "topics"} & set(wanted)):
        units = len(found.unique("group").names)
        with progress_bar(units, quiet=quiet, label="leaving out groups") as progress:
            found.leave_out("group", progress, jobs=options.jobs)
    usable = found.has_pool and not (found.sampled or found.strangers)
    if verdict and usable and (depths := depths_beyond(found.runs)):
        pooled = int(np.count_nonzero(found.runs.contributing))
        with progress_bar(pooled, quiet=quiet, label="drawing judgments") as progress:
            found.beyond(depths[-1], found.measures[:1], progress)  # the verdict asks for it
    if "leave-out" in wanted:
        with progress_bar(len(found.runs.runs), quiet=quiet, label="leaving out runs") as progress:
            found.leave_out("run", progress, jobs=options.jobs)
    if "assessment" in wanted or drawn:
        for one in (found, *(other for _, other in extras.others)):
            with progress_bar(options.draws, quiet=quiet, label="drawing judgments") as progress:
                one.pseudo(progress, jobs=options.jobs)


# -- what is shown ---------------------------------------------------------------------------------


def _write(found: Audit, extras: Extras, wanted: Sequence[str], options: AuditOptions) -> None:
    format_name, output = options.format_name, options.output
    builders = tables.sections(found, extras)
    made = {name: builders[name](found, extras, options.top or SHOWN) for name in wanted}
    statements = found.verdict() if not wanted or options.every else []
    several = bool(statements) or len(made) > 1
    shown = [table for one in made.values() for table in (one.with_headline() if several else one.tables)]
    following = _next_command(found, statements, options)
    if format_name == "table" and statements:
        width = prose_width(output)
        marks = uses_color(output)
        text = tables.verdict_text(found, statements, width, every=options.notes, bold=marks)
        if shown:
            text += "\n" + render(shown, "table", width=width, marks=marks)
        write_text(f"{text}\nNext: {following}\n", output)
        return
    headline = tables.headline(statements) if statements else next(iter(made.values())).headline
    if format_name in PEOPLE:
        shown = [tables.verdict_table(found, statements, rounded=True), *shown] if statements else shown
    else:
        shown = [_tidy(found, made, statements, options)]
    answer = Answer(headline, shown, tables.notes_on_reading(found), following)
    write_answer(answer, replace(options, notes=options.notes or options.every))


KEPT = (  # options of this command that the next one repeats
    "measures", "info", "only", "pool_depth", "policy", "unjudged", "qrels_format", "run_format",
)  # fmt: skip
SECTION_OF = {  # the sections to look at if a claim does not hold
    "pooled runs": "pool", "deeper than the pool": "beyond", "below the pool": "runs", "recall": "growth",
    "runs like the pooled ones": "leave-out",
}  # fmt: skip


def _next_command(found: Audit, statements: Sequence[Statement], options: AuditOptions) -> str:
    """Return what to type next: list the pooled runs, look at what limits the answer, or compare the runs."""
    if found.strangers:
        return suggest("check")
    if not found.has_pool:
        return suggest("compare", keep=KEPT) if options.info else suggest("check", "--write-info", "info.tsv")
    for one in () if options.every else statements:
        if one.answer not in ("yes", "note") and one.about in SECTION_OF:
            section = SECTION_OF[one.about]
            idle = IDLE_ELSEWHERE | {"policy": IDLE_ELSEWHERE["missing"]}
            kept = [name for name in KEPT if section in idle.get(name, (section,))]
            return suggest("audit", "--section", section, keep=[*kept, "new"])
    return suggest("compare", keep=KEPT)


def _tidy(
    found: Audit, made: dict[str, AuditSection], statements: Sequence[Statement], options: AuditOptions
) -> Table:
    """Return one table for a file: the verdict, one section, or all sections in long form."""
    if not statements:
        return tables.tidy_section(next(iter(made.values())), found)
    verdict = tables.verdict_table(found, statements)
    if not made:
        return verdict
    if options.format_name == "json":
        rows = {name: tables.tidy_section(one, found).rows() for name, one in made.items()}
        more = {key: value for one in made.values() for key, value in one.facts.items()}
        return replace(verdict, facts={**verdict.facts, **more, "sections": rows})
    return tables.tidy_sections(made, verdict)


def _draw(found: Audit, extras: Extras, folder: Path, options: AuditOptions) -> None:
    """Write every chart that has something to show as a file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, make in audit_charts(found, extras):
        path = folder / f"{name}.{options.chart_format}"
        save(make(), path)
        drawn.append(path.name)
    remark(f"charts in {folder}: {', '.join(drawn)}", quiet=options.quiet)
