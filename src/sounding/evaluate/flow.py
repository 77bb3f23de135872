"""Run `sounding evaluate`: read the files, compute the values, write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from sounding.core.errors import DataError, SoundingError
from sounding.core.policies import Policies
from sounding.core.text import plural
from sounding.data.finding import RunIndex, find_runs
from sounding.data.formats import Place
from sounding.data.large_files import steps_to_read
from sounding.data.reading import Reading, hold_runs
from sounding.data.run_info import RunInfo, reported_runs
from sounding.data.sources import STDIN, some_may_be_large
from sounding.data.tables import Qrels, Run
from sounding.evaluate import sentences, tables
from sounding.evaluate.command import EvaluateOptions
from sounding.evaluate.evaluation import DEFAULT_MEASURES, evaluate
from sounding.evaluate.result import Scores
from sounding.evaluate.tables import Layout
from sounding.evaluate.topic_files import read_references, slices, standardize
from sounding.measures import Measure, parse_measures
from sounding.measures.summaries import needs_pool_ranks
from sounding.measures.trec import typed_name
from sounding.render.tables import Answer, shown_notes
from sounding.runs.align import hold_judgments, hold_order
from sounding.terminal.declare import spelling
from sounding.terminal.options import (
    PEOPLE,
    check_only,
    options_refused,
    policies_of,
    pooled_judgments,
    progress_bar,
    read_info,
    remark,
    suggest,
    write_answer,
    write_text,
)

if TYPE_CHECKING:
    from sounding.evaluate.baseline import BaselineTests


Info = Mapping[str, RunInfo] | None  # the rows of --info


def run(options: EvaluateOptions) -> None:
    """Evaluate the runs, print the values, and exit with 1 where a run could not be evaluated."""
    policies = policies_of(options)
    default = ("official",) if options.format_name == "trec" else DEFAULT_MEASURES
    measures = parse_measures(options.measures or default, level=options.level)
    with options_refused():
        _refuse_together(options, policies.unjudged, measures)
    references = None
    if options.z_scores is not None:
        references = read_references(options.z_scores)
    if options.chart is not None:
        # Altair and Polars, which an evaluation without a chart does without.
        from sounding.render.save import require_suffix
        from sounding.render.style import require_charts

        require_suffix(options.chart)
        require_charts("altair", "drawing a chart")
    info = read_info(options.info, options.only)
    scores, failures = _evaluate(measures, policies, options, info)
    if references is not None:
        # A sampling error is one of the value, not of its z-score.
        unknown = np.full_like(scores.sampling_errors, np.nan)
        scores = replace(standardize(scores, references, level=options.level), sampling_errors=unknown)
    reported = reported_runs(scores.runs, scores.tags, info, options.only, _baseline(scores, options))
    if reported is not None:
        scores = scores.of_runs(reported.nonzero()[0].tolist())
    layout = tables.Layout(
        per_topic=options.per_topic, stats=options.stats, level=options.level,
        groups=options.judgment_groups, standardized=references is not None,
        names=_typed_names(options.measures, options.level), of_runs=len(scores.runs),
    )  # fmt: skip
    tests = None
    if options.baseline is not None:
        # The tests and SciPy, half as long again as the start of an evaluation.
        from sounding.evaluate.baseline import compare_with_baseline

        with options_refused():
            tests = compare_with_baseline(scores, options.baseline)
    _write(scores, layout, tests, options, failed=bool(failures))
    _write_files(scores, options, info)
    if failures:
        _print_failures(failures)
        click.get_current_context().exit(1)


def _baseline(scores: Scores, options: EvaluateOptions) -> list[int]:
    """Return the place of the baseline, which every table shows, if there is one."""
    if options.baseline is None:
        return []
    with options_refused():
        return [RunIndex(scores.runs, scores.tags).place(options.baseline)]


def _typed_names(texts: Sequence[str], level: float) -> dict[Measure, str]:
    """Return trec_eval's names of the measures whose parameters were typed in its way."""
    typed = {text: name for text in texts if (name := typed_name(text.strip()))}
    return {parse_measures([text], level=level)[0]: name for text, name in typed.items()}


def _evaluate(
    measures: Sequence[Measure], policies: Policies, options: EvaluateOptions, info: Info
) -> tuple[Scores, list[str]]:
    """The values of all runs that could be evaluated, and what is wrong with the others."""
    files = find_runs(options.runs)
    judgments: Any = options.qrels
    runs: Sequence[str | Place] = files
    cut = None
    if options.pool_depth is not None or (info is not None and needs_pool_ranks(measures)):
        judgments, runs, cut = _cut_to_pool(files, policies, options, info)
    failures: list[str] = []
    try:
        with progress_bar(_steps(files, options), quiet=options.quiet, label="evaluating runs") as progress:
            scores = evaluate(
                judgments, runs, measures, policies=policies, residual=options.residual,
                groups=options.judgment_groups, qrels_format=options.qrels_format,
                run_format=options.run_format, jobs=options.jobs, progress=progress,
                on_failure=lambda run, error: failures.append(_failure(run, error)), results=options.into,
            )  # fmt: skip
    except SoundingError as error:
        # The first is the one that is raised; what is wrong with all alike is said once.
        raised = " ".join(str(error).splitlines())
        _print_failures([failure for failure in failures[1:] if not failure.endswith(raised)])
        raise
    return scores if cut is None else replace(scores, remarks=(cut, *scores.remarks)), failures


def _cut_to_pool(
    files: Sequence[str], policies: Policies, options: EvaluateOptions, info: Info
) -> tuple[Qrels, Sequence[str | Place], str | None]:
    """The judgments of the wanted pool, or with its ranks; the runs, in memory if possible; what was cut."""
    qrels = Reading(qrels_format=options.qrels_format).judgments(options.qrels, policies)
    hold_judgments(qrels)
    runs: Sequence[str | Place] = files
    # Pool ranks need no runs to be cut by; results are kept of files only; large files are read in parts.
    if qrels.pool_ranks is None and options.into is None and not some_may_be_large(files):
        runs = places = hold_runs([Place(file, None) for file in files], policies, options.run_format)
        for place in places:
            if isinstance(place.source, Run):
                hold_order(place.source, policies)
    if options.pool_depth is None:
        ranked = qrels if qrels.pool_ranks is not None else _ranked(qrels, runs, policies, options, info)
        return ranked, runs, None
    kept, cut, _ = pooled_judgments(qrels, runs, options, policies, info)
    return kept, runs, cut


def _ranked(
    qrels: Qrels, runs: Sequence[str | Place], policies: Policies, options: EvaluateOptions, info: Info
) -> Qrels:
    """Return the judgments with the ranks at which the pooled runs have their documents."""
    # As in `pooled_judgments`: few evaluations need them.
    from sounding.runs.pool import with_pool_ranks
    from sounding.runs.retrieved import read_retrieved

    with progress_bar(len(runs), quiet=options.quiet, label="ranking the pool") as progress:
        retrieved = read_retrieved(
            runs, topics=qrels.topics, policies=replace(policies, depth=None), run_format=options.run_format,
            jobs=options.jobs, progress=progress,
        )  # fmt: skip
    return with_pool_ranks(qrels, retrieved, info, policies)


def _write_files(scores: Scores, options: EvaluateOptions, info: Info) -> None:
    """Write the chart and the files for participants, where they are asked for."""
    if options.chart is not None:
        # Altair and Polars, as above.
        from sounding.evaluate.charts import chart_of
        from sounding.render.save import save

        save(chart_of(scores, options.baseline), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)
    if options.participant_files is not None:
        from sounding.evaluate.participants import write_participant_files  # few evaluations need it

        paths = write_participant_files(scores, options.participant_files, info)
        remark(
            f"{plural(len(paths), 'participant file')} in {options.participant_files}", quiet=options.quiet
        )


def _write(
    scores: Scores, layout: Layout, tests: BaselineTests | None, options: EvaluateOptions, *, failed: bool
) -> None:
    """Print or write the values: in trec_eval's layout, or with a headline, notes and the next command."""
    layout = layout._replace(measures=tuple(scores.leading_order()), tests=tests)
    shown = scores
    if options.top:
        chosen = scores.order(layout.measures)[: options.top]
        if tests is not None:
            chosen += [tests.baseline] if tests.baseline not in chosen else []
            layout = layout._replace(tests=tests.of_runs(chosen))
        shown = scores.of_runs(chosen)
    if options.format_name == "trec":
        write_text(tables.trec_text(shown, layout), options.output)
        for text in _trec_remarks(scores, shown, options):
            remark(text, quiet=options.quiet)
        return
    parts = [(None, shown)] if options.by is None else slices(shown, options.by)
    make = tables.wide_table if options.format_name in PEOPLE else tables.tidy_table
    first, *others = [make(part, layout, label) for label, part in parts]
    whole = replace(shown, remarks=parts[0][1].remarks)
    notes = sentences.notes_on(replace(scores, remarks=whole.remarks), every=options.notes)
    sliced = [] if options.by is None else [part for _, part in parts]
    answer = Answer(
        sentences.headline(scores, standardized=layout.standardized, parts=sliced, tests=tests),
        [replace(first, facts={**first.facts, **tables.facts(whole)}), *others],
        [*notes, *([sentences.all_policies(whole)] if options.notes else [])],
        _next_command(scores, options, failed=failed),
    )
    write_answer(answer, options)


def _trec_remarks(scores: Scores, shown: Scores, options: EvaluateOptions) -> Iterator[str]:
    """Yield what trec_eval's layout has no room for; not all runs may be shown."""
    yield from shown_notes(sentences.notes_on(scores, every=options.notes), all_notes=options.notes)
    named = "RunID" in {measure.name for measure in scores.measures}
    if len(shown.runs) > 1 and not named:
        yield f"runs, in this order: {', '.join(shown.runs)}"


def _next_command(scores: Scores, options: EvaluateOptions, *, failed: bool) -> str | None:
    """Return what to type next: check bad files, estimate from a sample, test the differences, or report."""
    number = scores.leading_measure()
    if STDIN in (options.qrels, *options.runs) or number is None or len(scores.topics) < 2:
        return None
    if failed:
        return suggest("check")
    if scores.sampled:
        return suggest("estimate", keep=("qrels_format", "run_format"))
    keep = ["info", "only", "pool_depth", "qrels_format", "run_format"]
    plain = all(measure.definition.aggregate == "mean" for measure in scores.measures) and options.level == 1
    words = []
    if plain:
        keep.append("measures")
    elif scores.measures[number].definition.aggregate == "mean":
        words = ["-m", str(scores.measures[number])]
    alone = len(scores.runs) == 1
    # A report needs one order of the documents; neither command takes expected values.
    if options.unjudged != "expected" and not (alone and options.ties == "average"):
        keep.append("policy")
    if alone:
        return suggest("report", *words, "-o", "report.html", keep=keep)
    if options.unjudged != "expected":
        keep += ["unjudged", "depth", "universe", "at_most"]
    return suggest("compare", *words, keep=[*keep, "baseline"])


def _steps(files: Sequence[str], options: EvaluateOptions) -> int:
    """Return the number of steps of the progress bar: one for each run, more for a large one."""
    if not some_may_be_large(files):
        return len(files)
    return sum(steps_to_read(file, options.run_format) for file in files)


def _print_failures(failures: Sequence[str]) -> None:
    for failure in failures:
        click.echo(f"Error: {failure}", err=True)


def _failure(run: str, error: SoundingError) -> str:
    """Return what is wrong with a run, with its name in front."""
    text = " ".join(str(error).splitlines())
    return text if text.startswith(run) else f"{run}: {text}"


def _refuse_together(options: EvaluateOptions, unjudged: str, measures: Sequence[Measure]) -> None:
    """Options that have no place in the same output."""
    check_only(options.info, options.only)
    if (
        options.info
        and options.pool_depth is None
        and options.participant_files is None
        and not (options.only or needs_pool_ranks(measures))
    ):
        raise click.UsageError(
            "--info changes nothing here without --pool-depth, --participant-files, --only or a measure of"
            " the pool, such as AP(norm='c')@10"
        )
    for name in ("by", "stats", "per_topic", "z_scores"):
        if options.baseline and getattr(options, name):
            raise click.UsageError(f"{spelling(name)} and --baseline do not fit one table; give one")
    if options.only and options.participant_files is not None:
        raise click.UsageError("--only and --participant-files do not go together: every group gets a file")
    if options.baseline and options.format_name == "trec":
        raise DataError("--baseline has no place in trec_eval's layout; use another --format")
    if options.judgment_groups and options.pool_depth is not None:
        raise click.UsageError("--pool-depth and --judgment-groups do not go together; give one")
    for name in ("by", "stats"):
        if getattr(options, name) and options.format_name == "trec":
            raise DataError(f"--{name} has no place in trec_eval's layout; use another --format")
    if unjudged in ("bounds", "expected"):
        if options.format_name == "trec":
            raise DataError(f"--unjudged {unjudged} has no place in trec_eval's layout; use another --format")
        for name in ("stats", "z_scores"):
            if getattr(options, name):
                option = "--" + name.replace("_", "-")
                raise DataError(f"{option} and --unjudged {unjudged} do not fit one output; leave one out")
    if options.stats and options.per_topic and options.format_name in PEOPLE:
        raise DataError("--stats and --per-topic do not fit one table; leave one out, or use --format csv")
