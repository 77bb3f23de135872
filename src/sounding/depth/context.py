"""What stands beside the measures: the pool, the order of the runs, the tie rule, unjudged documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sounding.agreement import MostPlaces, most_places, rank_agreement
from sounding.bounds.unjudged import holes
from sounding.compare.cases import FIRST_UNJUDGED
from sounding.compare.procedure import Procedure
from sounding.compare.scenarios import Pool, find_pool
from sounding.data.run_info import RunInfo
from sounding.depth.findings import Unjudged
from sounding.depth.over_depth import OverDepth
from sounding.depth.rankings import Rankings
from sounding.depth.ratios import is_quick
from sounding.measures import parse
from sounding.ranking import padded
from sounding.scores import FEW_TOPICS, mean_over_topics
from sounding.wording import plural

EARLY = 10  # where Baillie et al. put the runs in order, by AP


def pool_of(rankings: Rankings, info: Mapping[str, RunInfo] | None) -> Pool:
    """Which runs contributed and how deep: as listed, or guessed from what is judged."""
    first = np.array([FIRST_UNJUDGED(ranking) for ranking in rankings.plain])
    names = list(zip(rankings.runs, rankings.tags, strict=True))
    lengths = np.array([ranking.retrieved for ranking in rankings.plain])
    judged = padded([ranking.judged_by_rank() for ranking in rankings.plain])
    return find_pool(first, judged, lengths, names, info)


def order_of_runs(rankings: Rankings) -> tuple[int, ...]:
    """The runs by AP@10 of whole lists, best first; equal ones by name."""
    values = rankings.values(parse(f"AP@{EARLY}"), np.array([EARLY]), rankings.plain)
    means = np.nan_to_num(mean_over_topics(values)[0], nan=-np.inf)
    return tuple(sorted(range(len(means)), key=lambda run: (-means[run], rankings.runs[run])))


def tie_moves(rankings: Rankings, measures: Sequence[OverDepth]) -> dict[str, tuple[float, MostPlaces]]:
    """By measure, cut at its reference depth: tau between the two tie rules, and who moves furthest."""
    sides = [rankings.seen(), rankings.seen(rankings.other_ties)]
    found = {}
    for one in measures:
        k = np.array([one.reference_depth])
        ordered, other = (mean_over_topics(rankings.values(one.measure, k, side))[0] for side in sides)
        tau = rank_agreement(ordered, other, "tau_b").value
        found[f"{one.name}@{one.reference_depth}"] = (tau, most_places(ordered, other))
    return found


def unpooled(rankings: Rankings, pool: Pool, depth: int) -> Iterator[Unjudged]:
    """The unjudged documents down to a depth of the runs that did not contribute to the pool."""
    if not pool.contributing.any():
        return
    for run in (~pool.contributing).nonzero()[0].tolist():
        ranking = rankings.plain[run]
        found = holes(ranking, depth)
        first = found.rank[found.nth == 1]
        listed = int(np.minimum(ranking.retrieved, depth).sum())
        yield Unjudged(
            run=rankings.runs[run], number=len(found.rank), share=len(found.rank) / max(listed, 1),
            first=float(np.median(first)) if len(first) else np.nan,
            middle=float(np.median(found.rank)) if len(found.rank) else np.nan,
        )  # fmt: skip


def notes_on(
    rankings: Rankings, procedure: Procedure, depths: Sequence[int], measures: Sequence[OverDepth]
) -> Iterator[str]:
    """What a reader should be warned of."""
    topics = len(rankings.judgments.topics)
    if topics < FEW_TOPICS:
        seen = f"{plural(topics, 'topic')}"
        yield f"Only {seen}, fewer than {FEW_TOPICS}: differences may well be chance."
    lacking = sum(bool(ranking.missing.any()) for ranking in rankings.plain)
    if lacking:
        count = "are left out" if rankings.policies.missing == "skip" else "count as 0"
        yield f"{lacking} run{'s lack' if lacking > 1 else ' lacks'} judged topics, which {count}."
    if rankings.policies.unjudged == "condensed":
        lengths = np.concatenate([ranking.retrieved for ranking in rankings.seen()])
        yield (
            f"Condensed lists have {lengths.mean():.1f} documents on average, {lengths.max()} at most: deeper"
            " k adds nothing to them."
        )
    if not is_quick(procedure):
        yield f"The test {procedure.test} was made at the chosen depths only."
    yield from _beyond_the_lists(rankings.deepest, depths, measures)
    for one in measures:
        yield from _not_tested(one, depths)


def _beyond_the_lists(deepest: int, depths: Sequence[int], measures: Sequence[OverDepth]) -> Iterator[str]:
    """Which depths no list reaches."""
    beyond = [f"k = {k:,}" for k in depths if k > deepest]
    beyond += dict.fromkeys(
        f"reference {one.reference_name}" for one in measures if one.reference_depth > deepest
    )
    if beyond:
        yield f"{', '.join(beyond)}: deeper than every list; the longest has {deepest:,} documents."


def _not_tested(one: OverDepth, depths: Sequence[int]) -> Iterator[str]:
    """How many pairs differ by the same on every topic, at the chosen depths."""
    counts = {k: int(one.separation.constant[one.separation.ks.index(k)]) for k in depths}
    told = [f"{count:,} at {k}" for k, count in counts.items() if count]
    if told:
        yield (
            f"{one.name}: a difference that is the same on every topic leaves no error to test against. Pairs"
            f" with one, of {one.separation.order.shape[1]:,}: {', '.join(told)}. They are not tested, nor"
            " counted in apart and p; --test randomisation tests them."
        )
