"""Run `sounding track`: add the values of runs to a history, and write how they changed."""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path

import click

from sounding.data.finding import find_runs
from sounding.data.large_files import steps_to_read
from sounding.measures import parse_measures
from sounding.render.save import require_suffix, save
from sounding.render.style import require_charts
from sounding.render.tables import Answer
from sounding.statistics.pairwise import Procedure
from sounding.terminal.declare import PlainPolicyOptions, spelling, typed
from sounding.terminal.options import (
    PEOPLE,
    options_refused,
    plain_policies_of,
    progress_bar,
    remark,
    suggest,
    write_answer,
)
from sounding.track import charts, sentences, tables
from sounding.track.command import TrackOptions
from sounding.track.history import check_name
from sounding.track.result import History
from sounding.track.tracking import track

# Options that have an effect only while values are added.
POLICIES = tuple(field.name for field in fields(PlainPolicyOptions))
OF_ADDING = ("commit", "time", "qrels_format", "run_format", *POLICIES)


def run(options: TrackOptions) -> None:
    """Add the values, if runs are given, and write the history."""
    _check(options)
    with options_refused():  # before files are read
        procedure = Procedure(alpha=options.alpha, seed=options.seed)
        parse_measures(options.measures)
    history = _history(options)
    with options_refused():  # the name of a commit
        found = history.changes(options.since, procedure)
    make = tables.change_table if options.format_name in PEOPLE else tables.value_table
    answer = Answer(
        sentences.headline(history, found, options.alpha),
        [make(history, found, procedure)],
        sentences.notes(history, found, options.alpha),
        _next_command(history, options),
    )
    write_answer(answer, options)
    if options.chart is not None:
        save(charts.chart_of(history, found, options.since), options.chart)
        remark(f"chart: {options.chart}", quiet=options.quiet)


def _check(options: TrackOptions) -> None:
    """Refuse options that do not go together, before files are read."""
    check_name(Path(options.history))
    if options.qrels is not None and not options.runs:
        raise click.UsageError(f"{options.qrels} is QRELS; name the RUNs after it, or leave it out to read")
    idle = [name for name in OF_ADDING if options.qrels is None and typed(name)]
    if idle:
        raise click.UsageError(f"{spelling(idle[0])} changes nothing without QRELS and RUNs")
    if options.chart is not None:
        require_suffix(options.chart)
        require_charts("altair", "drawing a chart")


def _history(options: TrackOptions) -> History:
    measures = options.measures or None
    if options.qrels is None:
        return track(options.history, measures=measures)
    files = find_runs(options.runs)
    steps = sum(steps_to_read(file, options.run_format) for file in files)
    bar = progress_bar(steps, quiet=options.quiet, label="evaluating runs")
    with bar as progress:
        return track(
            options.history, options.qrels, files, measures, commit=options.commit, time=options.time,
            policies=plain_policies_of(options), qrels_format=options.qrels_format,
            run_format=options.run_format, jobs=None, progress=progress,
        )  # fmt: skip


def _next_command(history: History, options: TrackOptions) -> str | None:
    if options.chart is not None or len(history.commits) < 2:
        return None
    if options.qrels is not None and (broken := sentences.breaks(history)):
        return suggest("track", "--commit", history.commits[broken[-1] - 1].name, keep=("measures",))
    return shlex.join(["sounding", "track", options.history, "--chart", "history.html"])
