"""Sentences about a pool, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sounding.core.policies import Policies
from sounding.core.text import first_few, judging_time, plural, whole_percent
from sounding.pool.foresight import NEAR, POOR, Foresight
from sounding.pool.result import DEPTH, Pooling
from sounding.selection.strategies import Replay

NAMED = 5  # runs named in a sentence
RIVALS = 2  # strategies named in a headline in addition to the best
MOST_FOUND = 0.9  # the share of the relevant documents that a replay should find
POLICIES = ("ties", "compat", "duplicates")

LEARNS = "{name} learns from judgments: judge these documents, then run the command again with --qrels."
MAKE_QRELS = "After judging, add --qrels JUDGED --simulate -o FILE.tsv to this command to get the qrels."
FILL_IN = "The file is a qrels template: replace each -1 with a grade."
APPEND = "The file is a qrels template: replace each -1 with a grade, then append the lines to {qrels}."
FOUND = "Each column: share of the pool's relevant documents that the strategy found."
ENDED = "A dash: the strategy had judged all its documents before."
IN_POOL = '"in pool@k": the share of the run\'s top k that the pool contains, averaged over topics.'
WOULD_ADD = '"would add": the documents that the pool gains if the run is pooled too.'
FOR_UNJUDGED = "hours: for the documents that are not judged yet."


# -- headlines -------------------------------------------------------------------------------------


def headline(result: Pooling, seconds: float) -> str:
    """Say how many documents to judge, for how many topics, and how long it takes."""
    (kind,), picked, left = result.kinds, len(result.picks), result.size - result.judged
    frame = _frame(result) + ("" if kind.name == "depth" else f", strategy {kind.name}")
    topics = plural(len({pick.topic for pick in result.picks}), "topic")
    if picked == left:
        what = f"{plural(picked, 'document')} to judge"
    else:
        what = f"{'A sample of ' * kind.sampled}{picked:,} of the {left:,} documents left to judge,"
    return f"{what} for {topics} ({frame}): {judging_time(picked, seconds)}{_judged_already(result)}."


def summary_headline(result: Pooling, foresight: Foresight, seconds: float) -> str:
    """Say what the pool costs, and how many runs it covers poorly."""
    left, runs = result.size - result.judged, len(foresight.runs)
    cost = (
        f"{plural(left, 'document')} to judge for {plural(foresight.topics, 'topic')} ({_frame(result)}):"
        f" {judging_time(left, seconds)}{_judged_already(result)}."
    )
    if poor := len(foresight.poor):
        have = "have" if poor > 1 else "has"
        return (
            f"{cost} {poor} of {plural(runs, 'run')} {have} less than {whole_percent(POOR)} of the top {NEAR}"
            " in the pool."
        )
    return f"{cost} Every run has at least {whole_percent(POOR)} of its top {NEAR} in the pool."


def _frame(result: Pooling) -> str:
    """Return the depth of the pool and how many runs contribute to it."""
    contributing, runs = len(result.pool.runs), len(result.contributors.contributing)
    of_runs = plural(runs, "run") if contributing == runs else f"{contributing:,} of {plural(runs, 'run')}"
    return f"depth {result.depth:,}, {of_runs}"


def _judged_already(result: Pooling) -> str:
    judged = result.judged
    return f"; {judged:,} {'is' if judged == 1 else 'are'} judged already" if judged else ""


def residual_headline(foresight: Foresight, most: float, seconds: float) -> str:
    """Say how deep the pool must be for the residual, or that no depth is enough."""
    depth = foresight.depth_for_residual(most)
    frame = (
        f"RBP, p = {foresight.p:g}, {plural(len(foresight.runs), 'run')}, {plural(foresight.topics, 'topic')}"
    )
    if depth is None:
        return (
            f"No pool depth brings the mean residual down to {most:g} ({frame}). Judging everything these"
            f" runs retrieved leaves {least_residual(foresight):.3g}."
        )
    size = foresight.documents_at(depth)
    return (
        f"A pool of depth {depth:,} brings the mean residual down to {foresight.mean_residual(depth):.3g}"
        f" ({frame}): {plural(size, 'document')}, {judging_time(size, seconds)}."
    )


def least_residual(foresight: Foresight) -> float:
    """Return the mean residual if everything that the contributing runs retrieved is judged."""
    return float(foresight.residuals.mean(axis=0)[-1])


def replay_headline(replays: Mapping[str, Replay], size: int) -> str:
    """Say which strategy finds most of the relevant documents soonest, or what each found in its budget."""
    (relevant, level), *_ = {(one.relevant, one.level) for one in replays.values()}
    if not relevant:
        return f"No judged document of the pool is relevant (grade {level:g} or more): there is none to find."
    goal = f"{whole_percent(MOST_FOUND)} of the {plural(relevant, 'relevant document')}"
    needed = judgments_needed(replays)
    if not needed:
        shares = {name: one.found_at(len(one.picks)) for name, one in replays.items()}
        best = max(shares, key=lambda name: shares[name])
        rest = [
            f"{name} {whole_percent(share)} after {len(replays[name].picks):,}"
            for name, share in shares.items()
            if name != best
        ]
        others = f"; {first_few(rest, RIVALS)}" if rest else ""
        return (
            f"{best} finds {whole_percent(shares[best])} of the {plural(relevant, 'relevant document')} with"
            f" {plural(len(replays[best].picks), 'judgment')} of a pool of {size:,}{others}."
        )
    (best, count), *others_needed = sorted(needed.items(), key=lambda item: item[1])
    rest = [f"{name} after {number:,}" for name, number in others_needed]
    rest += [f"{name} does not" for name in replays if name not in needed]
    others = f"; {first_few(rest, RIVALS)}" if rest else ""
    return f"{best} finds {goal} after {count:,} of {plural(size, 'judgment')}{others}."


def judgments_needed(replays: Mapping[str, Replay]) -> dict[str, int]:
    """Return how many judgments each strategy needs to find nine tenths; without those that never do."""
    needed = {}
    for name, one in replays.items():
        enough = (one.found >= MOST_FOUND * one.relevant).nonzero()[0]
        if len(enough) and one.relevant:
            needed[name] = int(enough[0]) + 1
    return needed


# -- notes -----------------------------------------------------------------------------------------


def pool_notes(result: Pooling, *, asked: int | None, all_notes: bool) -> list[str]:
    """Return remarks about the pool; `asked` is the depth that was typed."""
    notes = [f"{text[:1].upper()}{text[1:]}." for text in result.contributors.remarks]
    notes += [] if result.cut is None else [f"{result.cut[:1].upper()}{result.cut[1:].rstrip('.')}."]
    longest = int(result.pool.lengths.max(initial=0))
    if asked is None and result.depth > DEPTH:
        notes.append(
            f"The pool of depth {DEPTH} has too few unjudged documents: this one has depth {result.depth:,}."
        )
    elif 0 < longest < result.depth:
        notes.append(f"The longest run ends at rank {longest:,}: a depth of {result.depth:,} adds nothing.")
    contributing, runs = len(result.pool.runs), len(result.contributors.contributing)
    if all_notes:
        notes.append(f"{contributing} of {plural(runs, 'run')} contribute ({result.contributors.how}).")
    if changed := _ranking_policies(result).changed():
        notes.append(f"Policies: {changed}.")
    if all_notes:
        topics = int((result.pool.lengths.max(axis=0) > 0).sum())
        most = max(result.depth * contributing * topics, 1)
        notes.append(
            f"The pool has {plural(result.size, 'document')}, {whole_percent(result.size / most)} of"
            f" depth x runs x topics ({most:,})."
        )
        policies = ", ".join(f"{name} {getattr(result.policies, name)}" for name in POLICIES)
        notes.append(f"All policies: {policies}.")
    return notes


def _ranking_policies(result: Pooling) -> Policies:
    """Return the policies that a person can set for a pool; the others have their defaults."""
    given = result.policies
    return Policies(ties=given.ties, compat=given.compat, duplicates=given.duplicates)


def unknown_notes(replays: Mapping[str, Replay], *, documents: bool) -> list[str]:
    """Say how many replayed documents nobody judged; `documents`: the output lists them with grade -1."""
    lacking = max(one.unknown for one in replays.values())
    if not lacking:
        return []
    longest = max(len(one.picks) for one in replays.values())
    grade = ", and are listed with grade -1" if documents else ""
    return [
        f"{lacking:,} of {plural(longest, 'document')} have no judgment: they count as not relevant{grade}."
    ]


def sample_notes(sample: Replay, judgments: int) -> list[str]:
    """Count sampled documents without a judgment, and judgments outside the sample."""
    size, known = len(sample.picks), len(sample.picks) - sample.unknown
    notes = []
    if known < size:
        what = (
            "they are left out, and the probabilities of the others of their topic lowered to match"
            if any(pick.stratum is None for pick in sample.picks)
            else "they count as not drawn"
        )
        notes.append(
            f"{size - known:,} of the {plural(size, 'document')} in the sample are unjudged: {what}."
            " Estimates are right only if chance left them unjudged."
        )
    judged = {
        pick.topic for pick, lacks in zip(sample.picks, np.isnan(sample.grades), strict=True) if not lacks
    }
    if lost := len({pick.topic for pick in sample.picks}) - len(judged):
        notes.append(f"{plural(lost, 'topic')} of the sample without a judgment: no estimate there.")
    if others := judgments - known:
        notes.append(
            f"{plural(others, 'judged document')} {'are' if others > 1 else 'is'} not in this sample and left"
            " out. Check seed, rate, depth and runs, unless more than the sample was judged."
        )
    return notes


def coverage_notes(foresight: Foresight, seconds: float) -> list[str]:
    """Name the runs that the pool covers poorly, and say what it costs to cover them."""
    poor = foresight.poor.tolist()
    if not poor:
        return []
    names = first_few([foresight.runs[run] for run in poor], NAMED)
    every, near = foresight.to_cover
    deeper = (
        f" Pooling them to depth {foresight.depth} adds {every:,} ({judging_time(every, seconds)})."
        if foresight.depth > NEAR
        else ""
    )
    them = "them" if len(poor) > 1 else "it"
    return [
        f"Poorly covered: {names}. Pooling the top {NEAR} of {them} too adds {plural(near, 'document')}"
        f" ({judging_time(near, seconds)}).{deeper}"
    ]


def overlap_note(foresight: Foresight, shown: int, groups: int) -> str:
    """Say how many groups are shown, and what two runs share; empty if all are and nothing is known."""
    medians = [
        f"two runs of {whose} share {whole_percent(value)} of their documents"
        for value, whose in zip(foresight.pair_overlap(), ("one group", "different groups"), strict=True)
        if not np.isnan(value)
    ]
    rest = f"{shown} of {groups} groups are shown. " if shown < groups else ""
    return rest + (f"In the median pair, {', and '.join(medians)}." if medians else "")
