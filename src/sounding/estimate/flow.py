"""Run `sounding estimate`: read judgments, labels and runs, and write the estimates."""

from __future__ import annotations

from sounding.data.finding import find_runs
from sounding.estimate import sentences, tables
from sounding.estimate.command import EstimateOptions
from sounding.estimate.estimating import DEFAULT_MEASURES, estimate
from sounding.measures import parse_measures
from sounding.render.tables import Answer
from sounding.statistics.pairwise import Procedure
from sounding.terminal.options import (
    PEOPLE,
    options_refused,
    progress_bar,
    suggest,
    write_answer,
)


def run(options: EstimateOptions) -> None:
    """Estimate the values and write them with their intervals."""
    measures = options.measures or DEFAULT_MEASURES
    with options_refused():  # before files are read
        parse_measures(measures, level=options.level)
        procedure = Procedure(alpha=options.alpha, seed=options.seed)
    files = find_runs(options.runs)
    bar = progress_bar(len(files), quiet=options.quiet, label="reading runs")
    with bar as progress:
        estimation = estimate(
            options.qrels, files, measures, labels=list(options.labels) or None, judges=options.judges,
            level=options.level, policies=options.policies(), procedure=procedure,
            confidence=1 - options.alpha, qrels_format=options.qrels_format, run_format=options.run_format,
            jobs=options.jobs, progress=progress,
        )  # fmt: skip
    if options.format_name in PEOPLE:
        make = tables.pair_tables if options.all_pairs else tables.run_tables
        shown = make(estimation)
    else:
        shown = [tables.tidy_pairs(estimation) if options.all_pairs else tables.tidy_runs(estimation)]
    following = (
        None
        if options.all_pairs
        else suggest(
            "estimate",
            "--all-pairs",
            keep=("labels", "judges", "measures", "level", "alpha", "policy", "qrels_format", "run_format"),
        )
    )
    write_answer(
        Answer(sentences.headline(estimation), shown, sentences.notes(estimation), following), options
    )
