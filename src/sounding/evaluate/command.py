"""`sounding evaluate`: values of measures for runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding.core.errors import DataError, SoundingError
from sounding.terminal.options import (
    NO_NOTES,
    PEOPLE,
    Options,
    format_options,
    output_options,
    policy_options,
    pool_options,
    progress_bar,
    remark,
    taken_info,
    taken_judgments,
    taken_policies,
    worker_options,
    write_tables,
    write_text,
)

if TYPE_CHECKING:
    from sounding.core.policies import Policies
    from sounding.evaluate.result import Scores
    from sounding.evaluate.tables import Layout
    from sounding.measures import Measure


@click.command("evaluate", short_help="Values of measures for runs.")
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="M", help="A measure: nDCG@10, P.5,10, map."
)
@click.option("-q", "--per-topic", is_flag=True, help="The value of every topic as well.")
@click.option(
    "-l",
    "--level",
    type=float,
    default=1,
    show_default=True,
    help="Lowest relevant grade, where a measure names no other.",
)
@click.option("--residual", metavar="QRELS", help="Drop documents judged in this earlier round.")
@click.option("--groups", is_flag=True, help="Mean over judgment groups (second column of the qrels).")
@click.option("--z-scores", metavar="FILE", help="Standardise by this file: topic measure mean deviation.")
@click.option(
    "--by", metavar="FILE", help="One table for each value of a topic attribute: topic <TAB> value."
)
@click.option("--stats", is_flag=True, help="Deviation, errors and geometric mean as well.")
@click.option("--top", type=click.IntRange(1), help="Only the best so many runs.")
@format_options
@click.option(
    "--into", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep what each run gives as a Parquet file there; what is there already is not done again.",
)  # fmt: skip
@worker_options
@pool_options
@policy_options
@output_options("trec")
def command(qrels: str, runs: tuple[str, ...], **options: Any) -> None:
    """Score RUNs against QRELS.

    Values are trec_eval's, means over all judged topics (`trec_eval -c`), with the share of judged
    documents beside each. A RUN is a file, a folder, a glob, or - for standard input; most formats
    are recognised (TREC, CSV, JSON, Parquet; compressed or not).

    \b
    sounding evaluate qrels.txt bm25.txt dense.txt -m AP -m nDCG@20 -m 'RBP(p=0.8)'
    sounding evaluate qrels.txt runs/ -m official --per-topic --format trec
    """  # noqa: D301 - click wants the control character
    import numpy as np

    from sounding.evaluate import tables as score_tables
    from sounding.evaluate.evaluation import DEFAULT_MEASURES
    from sounding.measures import parse_measures

    policies = taken_policies(options)
    _refuse_together(options, policies.unjudged)
    default = ("official",) if options["format_name"] == "trec" else DEFAULT_MEASURES
    measures = parse_measures(options["measures"] or default, level=options["level"])
    references = None
    if options["z_scores"] is not None:
        from sounding.evaluate.standardized import read_references, standardised

        references = read_references(options["z_scores"])
    scores, failures = _evaluated(qrels, runs, measures, policies, options)
    if references is not None:
        # A sampling error is one of the value, not of its z-score.
        unknown = np.full_like(scores.sampling_errors, np.nan)
        scores = replace(standardised(scores, references, level=options["level"]), sampling_errors=unknown)
    layout = score_tables.Layout(
        per_topic=options["per_topic"], stats=options["stats"], level=options["level"],
        groups=options["groups"], standardised=references is not None,
        names=_typed_names(options["measures"], options["level"]), of_runs=len(scores.runs),
    )  # fmt: skip
    if options["top"]:
        scores = scores.of_runs(scores.order(score_tables.leading_order(scores))[: options["top"]])
    _write(scores, layout, options)
    for text in _beside(scores, policies, options):
        remark(text, quiet=options["quiet"])
    if failures:
        _tell(failures)
        click.get_current_context().exit(1)


def _typed_names(texts: Sequence[str], level: float) -> dict[Measure, str]:
    """Return trec_eval's names of the measures whose parameters were typed in its way."""
    from sounding.measures import parse_measures
    from sounding.measures.trec import typed_name

    typed = {text: name for text in texts if (name := typed_name(text.strip()))}
    return {parse_measures([text], level=level)[0]: name for text, name in typed.items()}


def _evaluated(
    qrels: str, runs: Sequence[str], measures: Sequence[Measure], policies: Policies, options: Options
) -> tuple[Scores, list[str]]:
    """The values of all runs that could be evaluated, and what is wrong with the others."""
    from sounding.data.finding import find_runs
    from sounding.evaluate.evaluation import evaluate

    files = find_runs(runs)
    judgments, cut, _ = taken_judgments(qrels, files, options, policies, taken_info(options))
    failures: list[str] = []
    try:
        with progress_bar(
            _steps(files, options), quiet=options["quiet"], label="evaluating runs"
        ) as progress:
            scores = evaluate(
                judgments, files, measures, policies=policies, residual=options["residual"],
                groups=options["groups"], qrels_format=options["qrels_format"],
                run_format=options["run_format"], jobs=options["jobs"], progress=progress,
                on_failure=lambda run, error: failures.append(_told(run, error)), results=options["into"],
            )  # fmt: skip
    except SoundingError as error:
        # The first is the one that is raised; what is wrong with all alike is said once.
        raised = " ".join(str(error).splitlines())
        _tell([failure for failure in failures[1:] if not failure.endswith(raised)])
        raise
    return scores if cut is None else replace(scores, remarks=(cut, *scores.remarks)), failures


def _write(scores: Scores, layout: Layout, options: Options) -> None:
    """Print or write the values: in trec_eval's layout, or as a table for each value of an attribute."""
    from sounding.evaluate import tables as score_tables

    if options["format_name"] == "trec":
        write_text(score_tables.trec_text(scores, layout), options["output"])
        return
    slices = [(None, scores)] if options["by"] is None else score_tables.slices(scores, options["by"])
    make = score_tables.wide_table if options["format_name"] in PEOPLE else score_tables.tidy_table
    first, *others = [make(part, layout, label) for label, part in slices]
    whole = replace(scores, remarks=slices[0][1].remarks)
    tables = [replace(first, facts=score_tables.facts(whole)), *others]
    write_tables(tables, options["format_name"], options["output"])


def _beside(scores: Scores, policies: Policies, options: Options) -> Iterator[str]:
    """What formats without notes leave out."""
    from sounding.evaluate.notes import warnings

    if options["format_name"] in ("trec", *NO_NOTES):
        yield "; ".join([f"policies: {policies.describe()}", *scores.remarks])
        yield from warnings(scores)
    named = "RunID" in {measure.name for measure in scores.measures}
    if options["format_name"] == "trec" and len(scores.runs) > 1 and not named:
        yield f"runs, in this order: {', '.join(scores.runs)}"


def _steps(files: Sequence[str], options: Options) -> int:
    """In how many steps progress is told: a run is one, unless it is large."""
    from sounding.data.sources import some_may_be_large

    if not some_may_be_large(files):
        return len(files)
    from sounding.data.large_files import steps_to_read

    return sum(steps_to_read(file, options["run_format"]) for file in files)


def _tell(failures: Sequence[str]) -> None:
    for failure in failures:
        click.echo(f"Error: {failure}", err=True)


def _told(run: str, error: SoundingError) -> str:
    """What is wrong with a run, with its name in front."""
    text = " ".join(str(error).splitlines())
    return text if text.startswith(run) else f"{run}: {text}"


def _refuse_together(options: Options, unjudged: str) -> None:
    """Options that have no place in the same output."""
    if options["info"] and options["pool_depth"] is None:
        raise click.UsageError("--info changes nothing here without --pool-depth")
    if options["groups"] and options["pool_depth"] is not None:
        raise click.UsageError("--pool-depth and --groups do not go together; give one")
    for name in ("by", "stats"):
        if options[name] and options["format_name"] == "trec":
            raise DataError(f"--{name} has no place in trec_eval's layout; use another --format")
    if unjudged in ("bounds", "expected"):
        if options["format_name"] == "trec":
            raise DataError(f"--unjudged {unjudged} has no place in trec_eval's layout; use another --format")
        for name in ("stats", "z_scores"):
            if options[name]:
                option = "--" + name.replace("_", "-")
                raise DataError(f"{option} and --unjudged {unjudged} do not fit one output; leave one out")
    if options["stats"] and options["per_topic"] and options["format_name"] in PEOPLE:
        raise DataError("--stats and --per-topic do not fit one table; leave one out, or use --format csv")
