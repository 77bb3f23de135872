"""The report where labels are given: estimates in the leaderboard, and whether the labels can be trusted."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sounding.audit import fitness_tables
from sounding.core.text import percent, plural
from sounding.estimate import sentences as estimate_sentences
from sounding.estimate import tables as estimate_tables
from sounding.estimate.result import Estimation, MeasureEstimate
from sounding.render.tables import Table
from sounding.report import sentences
from sounding.report.first_screen import (
    ON_PHONE,
    SHOWN,
    Fact,
    FirstScreen,
    LeaderboardRow,
    NextStep,
    RunOutlook,
    bracket_lanes,
    tied_groups,
)
from sounding.report.result import MissingPart, Report

ROLES = ("judgments", "run", "labels by machines")  # of files


def estimated_screens(report: Report, estimation: Estimation) -> list[FirstScreen]:
    """Return a first screen for every measure, with estimates in place of values by people alone."""
    return [_screen(report, estimation, number) for number in range(len(estimation.estimates))]


def _screen(report: Report, estimation: Estimation, number: int) -> FirstScreen:
    one = estimation.estimates[number]
    order = estimation.order(one)
    differ = _differing(estimation, one)
    tied = [run for run in order[1:] if not differ(order[0], run)]
    fitness = report.fitness
    caution = (
        sentences.fitness_unknown(fitness.reason)
        if isinstance(fitness, MissingPart)
        else fitness_tables.headline(fitness)
    )
    tests = "" if one.tests is None else sentences.how_to_read_estimates(len(estimation.pairs))
    return FirstScreen(
        measure=str(one.measure), topics=len(estimation.topics),
        answer=sentences.estimated_best(estimation.runs[order[0]], one.means[order[0]], one.measure),
        reason=sentences.estimated_lead(len(tied), len(order) - 1, tested=one.tests is not None),
        caution=caution, tone="sure" if not tied and len(order) > 1 else "likely",
        standings=tuple(_standings(report, estimation, number, order, differ)),
        facts=tuple(_facts(estimation, one)), next_step=_next_step(report), note=tests,
    )  # fmt: skip


def _differing(estimation: Estimation, one: MeasureEstimate) -> Callable[[int, int], bool]:
    """Return a function that says whether two runs differ significantly."""
    runs = len(estimation.runs)
    table = np.zeros((runs, runs), np.bool_)
    if one.tests is not None:
        a, b = estimation.pairs[one.tests.p_adjusted <= estimation.procedure.alpha].T
        table[a, b] = table[b, a] = True
    return lambda a, b: bool(table[a, b])


def _standings(
    report: Report, estimation: Estimation, number: int, order: Sequence[int], differ: Callable[..., bool]
) -> list[LeaderboardRow]:
    one = estimation.estimates[number]
    groups = tied_groups(len(order), lambda a, b: differ(order[a], order[b]))
    groups = groups if one.tests is not None else []
    lanes = bracket_lanes(groups)
    judged = report.scores.judged_share()[:, number] * len(report.scores.topics) / len(estimation.topics)
    return [
        LeaderboardRow(
            run=estimation.runs[run], value=float(one.means[run]), low=float(one.low[run]),
            high=float(one.high[run]), best=0, worst=0, judged=float(judged[run]),
            outlook=RunOutlook(stand=0, of=0), against="", is_reference=False, lanes=lanes[place],
            brackets=tuple(name for name, group in enumerate(groups, 1) if place in group),
            shown=place < SHOWN, on_phone=place < ON_PHONE,
        )
        for place, run in enumerate(order)
    ]  # fmt: skip


def _facts(estimation: Estimation, one: MeasureEstimate) -> list[Fact]:
    """Return what the estimates rest on."""
    share = estimation.machine_share
    topics = f"{len(estimation.topics):,}"
    if estimation.whole is not None and estimation.whole < len(estimation.topics):
        topics = f"{topics}, {estimation.whole:,} judged whole"
    return [
        Fact(label="seen by machines only", value=percent(share), share=share),
        Fact(label="judged by people", value=plural(estimation.judged, "document")),
        Fact(label="labels are worth", value=plural(max(0, round(one.worth)), "judgment")),
        Fact(label="labels at face value", value=f"{np.mean(one.machine - one.means):+.3f}"),
        Fact(label="topics", value=topics),
    ]


def _next_step(report: Report) -> NextStep:
    """Ask for the pairs; the command is left out where the inputs are not files."""
    request = report.request
    named = {role: [one.name for one in report.inputs if one.role == role] for role in ROLES}
    files = [Path(name) for names in named.values() for name in names]
    if not all(file.is_file() for file in files):
        return NextStep(head=sentences.SEE_PAIRS, why=sentences.WHY_PAIRS)
    runs = [Path(name) for name in named["run"]]
    folder = runs[0].parent
    whole = sorted(runs) == sorted(one for one in folder.iterdir() if one.is_file())
    words = ["sounding", "estimate", *named["judgments"], *([str(folder)] if whole else map(str, runs))]
    for option, values in (("--labels", named["labels by machines"]), ("--judge", request.judges)):
        words += [word for value in values for word in (option, value)]
    words += ["-m", str(report.leading), "--all-pairs"]
    return NextStep(head=sentences.SEE_PAIRS, why=sentences.WHY_PAIRS, command=shlex.join(words))


def label_sentences(report: Report) -> list[str]:
    """Return what a reader should know about estimates and labels."""
    made = [] if report.estimation is None else estimate_sentences.notes(report.estimation)
    if not isinstance(report.fitness, MissingPart):
        made += [*fitness_tables.headline(report.fitness).splitlines(), *fitness_tables.notes(report.fitness)]
    return made


def label_tables(report: Report) -> list[tuple[str, Table, Table]]:
    """Return the name, the table for people and the rows for programs of each table about labels."""
    made: list[tuple[str, Table, Table]] = []
    if report.estimation is not None:
        data = estimate_tables.tidy_runs(report.estimation)
        made += [
            (f"estimates-{one.measure}", table, data)
            for one, table in zip(
                report.estimation.estimates, estimate_tables.run_tables(report.estimation), strict=True
            )
        ]
    if not isinstance(report.fitness, MissingPart):
        shown = fitness_tables.fitness_tables(report.fitness, None)
        made += [(f"fitness-{number}", table, table) for number, table in enumerate(shown, 1)]
    return made
