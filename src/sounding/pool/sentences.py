"""Sentences about a pool, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sounding.core.text import first_few, hours, plural, whole_percent
from sounding.pool.foresight import NEAR, POOR, Foresight
from sounding.pool.result import Pooling
from sounding.selection.strategies import Replay

NAMED = 5  # runs that a sentence names
POLICIES = ("ties", "compat", "duplicates")

COME_BACK = "{name} follows the judgments: judge these, and come back with --qrels"
MAKE_QRELS = "when they are judged, this command with --qrels JUDGED --simulate -o FILE.tsv makes the qrels"
FILL_IN = "qrels to fill in: put the grade of each document in place of -1"
FOUND = "Share of the relevant documents of the pool that were found."
ENDED = "A dash: all that the strategy chose was judged before."
IN_POOL = "In the pool: share of the first documents retrieved that would be judged, mean over topics."
FOR_UNJUDGED = "Hours: for what is not judged yet."


def contributing_runs(contributing: int, runs: int, how: str) -> str:
    """How many runs contribute, and how they were chosen."""
    return f"{contributing} of {runs} runs contribute ({how})"


def pool_remarks(result: Pooling, seconds: float, judged: int = 0) -> list[str]:
    """How large the pool is, and what it costs to judge what is not judged yet."""
    pool, size, depth = result.pool, result.size, result.depth
    topics = int((pool.lengths.max(axis=0) > 0).sum())
    share = size / max(depth * len(pool.runs) * topics, 1)
    longest = int(pool.lengths.max(initial=0))
    remarks = [
        f"pool: {plural(size, 'document')}, {whole_percent(share)} of {depth} x"
        f" {plural(len(pool.runs), 'run')} x {plural(topics, 'topic')};"
        f" {hours(size - judged, seconds):,.1f} hours at {seconds:g} s a document"
        f"{f', {size - judged:,} left to judge' if judged else ''}"
    ]
    if 0 < longest < depth:
        remarks.append(f"the longest list ends at {longest:,}: a depth of {depth:,} brings no more")
    policies = ", ".join(f"{name} {getattr(result.policies, name)}" for name in POLICIES)
    return [*remarks, f"policies: {policies}"]


def next_remarks(result: Pooling, seconds: float, *, given: bool, blank: bool) -> list[str]:
    """How much there is to judge now, how much is done, and what to do with what is listed.

    `given`: judgments were; `blank`: what is written are qrels to fill in.
    """
    (kind,), picked, judged = result.kinds, len(result.picks), result.judged
    remarks = [f"judged already: {plural(judged, 'document')} of the pool"] if given else []
    if judged or picked < result.size:
        remarks.append(f"to judge now: {plural(picked, 'document')}, {hours(picked, seconds):,.1f} hours")
    remarks += [COME_BACK.format(name=kind.name)] if kind.adaptive and picked else []
    remarks += [MAKE_QRELS] if kind.sampled and judged == 0 else []
    return [*remarks, FILL_IN] if blank else remarks


def unknown_remarks(replays: Mapping[str, Replay]) -> list[str]:
    """How many documents were judged by nobody, and what they count for."""
    lacking, judged = most_unknown(replays), max(len(one.picks) for one in replays.values())
    if not lacking:
        return []
    grade = f"; {'it has' if lacking == 1 else 'they have'} grade -1" if len(replays) == 1 else ""
    return [
        f"{lacking:,} of {plural(judged, 'document')} not in the judgments: counted as not relevant{grade}"
    ]


def sample_remarks(sample: Replay, judgments: int) -> list[str]:
    """What a sample and the judgments do not share: judged in vain, or drawn otherwise."""
    size, known = len(sample.picks), len(sample.picks) - sample.unknown
    remarks = []
    if known < size:
        what = (
            "left out, with the chances of the others of their topic lowered to match"
            if any(pick.stratum is None for pick in sample.picks)
            else "counted as not drawn"
        )
        remarks.append(
            f"{size - known:,} of the {plural(size, 'document')} of the sample are unjudged: they are {what};"
            " estimates are right only if chance left them unjudged"
        )
    judged = {
        pick.topic for pick, lacks in zip(sample.picks, np.isnan(sample.grades), strict=True) if not lacks
    }
    if lost := len({pick.topic for pick in sample.picks}) - len(judged):
        remarks.append(
            f"{plural(lost, 'topic')} of the sample without a judgment: no estimate for"
            f" {'them' if lost > 1 else 'it'}"
        )
    if others := judgments - known:
        remarks.append(
            f"{plural(others, 'judged document')} {'are' if others > 1 else 'is'} not of this sample and left"
            " out: another seed, rate, depth or runs? (Right where more than the sample was judged.)"
        )
    return remarks


def unknown_notes(replays: Mapping[str, Replay]) -> list[str]:
    """The same for a table."""
    lacking = most_unknown(replays)
    note = f"Not in the judgments, and counted as not relevant: {plural(lacking, 'document')}."
    return [note] if lacking else []


def most_unknown(replays: Mapping[str, Replay]) -> int:
    """How many documents are not in the judgments: of the replay that has most of them."""
    return max(one.unknown for one in replays.values())


def coverage_notes(foresight: Foresight, seconds: float, shown: int) -> list[str]:
    """How many of the runs are shown, which of them are poorly covered, and what it would take."""
    runs, poor = len(foresight.runs), foresight.poor.tolist()
    rest = f"{shown} of {runs} runs, the least covered first; csv has all. " if shown < runs else ""
    if not poor:
        covered = f"Every run has at least {whole_percent(POOR)} of its first {NEAR} documents in the pool."
        return [rest + IN_POOL, covered]
    names = first_few([foresight.runs[run] for run in poor], NAMED)
    have = "runs have" if len(poor) > 1 else "run has"
    every, near = foresight.to_cover
    deeper = (
        f"; pooling them down to depth {foresight.depth} adds {every:,} ({hours(every, seconds):,.1f} hours)"
        if foresight.depth > NEAR
        else ""
    )
    return [
        rest + IN_POOL,
        f"{len(poor)} {have} less than {whole_percent(POOR)} of the first {NEAR} documents in the pool:"
        f" {names}.",
        f"Pooling the first {NEAR} of {'each' if len(poor) > 1 else 'it'} as well adds"
        f" {plural(near, 'document')} ({hours(near, seconds):,.1f} hours){deeper}.",
    ]


def overlap_note(foresight: Foresight, shown: int, groups: int) -> str:
    """How many of the groups are shown, and what two runs share; empty: all, and nothing is known."""
    medians = [
        f"{whole_percent(value)} {where}"
        for value, where in zip(foresight.pair_overlap(), ("in one group", "between groups"), strict=True)
        if not np.isnan(value)
    ]
    rest = f"{shown} of {groups} groups. " if shown < groups else ""
    return rest + (f"Documents that two runs share, median pair: {', '.join(medians)}." if medians else "")


def residual_notes(foresight: Foresight, depth: int | None, least: float) -> list[str]:
    """What the residual is a mean of, and that no depth is enough where none is."""
    runs, topics = plural(len(foresight.runs), "run"), plural(foresight.topics, "topic")
    notes = [f"Mean over {runs} and {topics}, p = {foresight.p:g}."]
    if depth is None:
        notes.append(f"No depth is enough: with all that these runs retrieved judged it is {least:.3g}.")
    return notes
