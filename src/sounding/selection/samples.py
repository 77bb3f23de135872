"""Random samples of the pool with known selection probabilities, to estimate measures.

A sample must be judged completely, or its probabilities are not those recorded here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import ChoiceError, DataError
from sounding.core.limits import check_count
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import Retrieved
from sounding.runs.topic_lists import TopicLists
from sounding.selection.orders import FixedQueue
from sounding.selection.strategies import State, TopicQueues, find_strategy, judge_all, register

DEFAULT_STRATA = "10:1,30:0.2,100:0.05"
LEAST = 2  # documents of a stratum, if it has that many: one shows no spread


class SampleQueue(FixedQueue):
    """The drawn documents in random order, with the design of the sample."""

    def __init__(self, drawn: Sequence[int], strata: Counts | None, chances: Values) -> None:
        super().__init__(drawn)
        self.drawn, self.strata, self.chances = drawn, strata, chances  # the last two by position

    def design(self, position: int) -> tuple[int | None, float | None]:
        """Return the stratum of a document of the pool, drawn or not, and its selection probability."""
        stratum = None if self.strata is None else int(self.strata[position])
        return stratum, float(self.chances[position])


def _restored(pool: Retrieved, state: State) -> TopicQueues:
    strategy = make_sample(
        state["strategy"], pool, draws=state.get("draws", {}), seed=state["seed"], **state["parameters"]
    )
    judge_all(strategy, state["judgments"])
    return strategy


@register("uniform-sample", sampled=True, restored=_restored)
def uniform_sample(pool: TopicLists, rng: np.random.Generator, *, rate: float = 0.1) -> SampleQueue:
    """A simple random sample of each topic's pool; for infAP, xinfAP and statAP.

    A simple random sample of rate x size documents, rounded; at least two.
    """
    check_rate(rate)
    return _stratified(np.zeros(pool.size, np.int64), [rate], rng)


@register("stratified-sample", sampled=True, restored=_restored)
def stratified_sample(
    pool: TopicLists, rng: np.random.Generator, *, strata: str = DEFAULT_STRATA
) -> SampleQueue:
    """A random sample of each stratum of the pool, at its own rate; for xinfAP, infNDCG and statAP.

    Strata are stretches of pool ranks: `10:1,30:0.2` judges all that some run has in its first ten, and a
    fifth of what comes up in ranks 11 to 30. Each is a simple random sample; at least two are drawn.
    """
    ends, rates = parse_strata(strata)
    stratum = np.searchsorted(ends, pool.best)
    if pool.size and int(pool.best.max()) > ends[-1]:
        raise DataError(
            f"strata {strata!r} end at rank {ends[-1]}, and the pool at {int(pool.best.max())};"
            f" cut the pool to a depth of {ends[-1]}, or add a stratum"
        )
    return _stratified(stratum, rates, rng)


@register("weighted-sample", sampled=True, restored=_restored)
def weighted_sample(pool: TopicLists, rng: np.random.Generator, *, rate: float = 0.1) -> SampleQueue:
    """A random sample that favors the documents on which AP depends most; for statAP.

    The chance is proportional to the mean over the runs of 1 + 1/r + 1/(r+1) + ... + 1/depth: the sum of
    precisions is one over pairs of ranks, each with 1 / the deeper of the two, and this is the part of the
    pairs that hold r. It is no more than 1, and in sum rate x size. How many are drawn is left to chance.
    """
    check_rate(rate)
    # Lists of other topics may be longer.
    deepest = int(np.nonzero(pool.places < pool.size)[1].max(initial=-1)) + 1
    inverse = 1 / np.arange(1, deepest + 1)
    weights = np.zeros(pool.places.shape[1])
    weights[:deepest] = 1 + np.cumsum(inverse[::-1])[::-1]
    chances = capped_chances(pool.sums(weights), rate * pool.size)
    drawn = (rng.random(pool.size) < chances).nonzero()[0]
    return SampleQueue(rng.permutation(drawn).tolist(), None, chances)


def drawn_in_turn(
    maker: Callable[..., SampleQueue],
    ends: Sequence[int],
    pool: TopicLists,
    rng: np.random.Generator,
    **parameters: Any,
) -> SampleQueue:
    """Draw a sample of a topic whose runs arrived in several steps; earlier draws stay.

    `ends` are the numbers of runs at the end of each draw but the last. Each draw uses the same parameters on
    the documents that its runs are the first to bring, with its own probabilities and strata: later runs do
    not change whether a document was drawn.
    """
    strata, chances, order = np.zeros(pool.size, np.int64), np.zeros(pool.size), []
    old = np.zeros(pool.size, np.bool_)
    stratified = False
    bounds = pairwise([0, *ends, len(pool.places)])
    for (first, last), own in zip(bounds, [rng, *rng.spawn(len(ends))], strict=True):
        part, new = pool.new_from(first, last, old)
        queue = maker(part, own, **parameters)
        order += new[queue.drawn].tolist()
        chances[new] = queue.chances
        if queue.strata is not None and len(new):
            strata[new] = queue.strata + strata.max()
            stratified = True
        old[new] = True
    return SampleQueue(order, strata if stratified else None, chances)


def make_sample(
    name: str,
    pool: Retrieved,
    *,
    draws: Mapping[str, Sequence[int]],
    seed: int = 0,
    where_possible: bool = False,
    **parameters: Any,
) -> TopicQueues:
    """Make a sample of a pool whose runs arrived one after the other; earlier draws stay.

    `draws` has, by topic, the numbers of runs at the end of each draw but the last; other topics are drawn at
    once. Without it, the result is that of `make_strategy`. A topic that cannot be sampled is refused, or has
    nothing drawn (`where_possible`).
    """
    kind = find_strategy(name)

    def draw(lists: TopicLists, rng: np.random.Generator, **given: Any) -> SampleQueue:
        try:
            return drawn_in_turn(kind.function, draws.get(lists.topic, ()), lists, rng, **given)
        except DataError:
            if where_possible:
                return SampleQueue([], None, np.zeros(lists.size))
            raise

    ends = {topic: list(each) for topic, each in draws.items() if each}
    more = {"draws": ends} if ends else None
    return TopicQueues(kind.name, pool, seed, kind.complete(parameters), draw, more)


def parse_strata(text: str) -> tuple[list[int], list[float]]:
    """Parse last ranks and rates of strata such as `10:1,30:0.2`."""
    ends, rates = [], []
    for part in text.split(","):
        end, _, rate = part.strip().partition(":")
        try:
            ends.append(int(end))
            rates.append(float(rate))
        except ValueError:
            raise ChoiceError(
                f"strata {text!r}: {part!r} is none; expected last rank:rate, such as 10:1"
            ) from None
    if ends != sorted(set(ends)) or ends[0] < 1:
        raise ChoiceError(f"strata {text!r}: last ranks must grow from 1")
    check_count("the last rank of strata", ends[-1], 1)
    for each in rates:
        check_rate(each)
    return ends, rates


def capped_chances(weights: Values, total: float) -> Values:
    """Return probabilities proportional to weights, none above 1, that sum to `total` if possible."""
    chances = np.zeros(len(weights))
    certain: NDArray[np.bool_] = np.zeros(len(weights), np.bool_)
    while True:
        left, rest = total - np.count_nonzero(certain), weights[~certain].sum()
        chances[certain] = 1.0
        chances[~certain] = weights[~certain] * (left / rest) if rest > 0 else 0.0
        over = (chances > 1) & ~certain
        if not over.any():
            return chances
        certain |= over


def judged_chances(drawn: Values, topic: Counts, judged: NDArray[np.bool_]) -> Values:
    """(document,): Return the probability of having been drawn and judged, for drawn documents.

    A random part of what was drawn of each topic is assumed to have been judged; 0: nothing of the topic was.
    """
    known = np.bincount(topic[judged], minlength=int(topic.max(initial=0)) + 1)
    return drawn * (known[topic] / np.bincount(topic)[topic]) if len(topic) else drawn


def _stratified(stratum: Counts, rates: Sequence[float], rng: np.random.Generator) -> SampleQueue:
    """Draw simple random samples of the strata."""
    chances = np.zeros(len(stratum))
    drawn = []
    for number, rate in enumerate(rates):
        members = (stratum == number).nonzero()[0]
        size = min(len(members), max(LEAST, round(rate * len(members))))
        drawn.append(rng.permutation(members)[:size])
        chances[members] = size / max(len(members), 1)
    return SampleQueue(rng.permutation(np.concatenate(drawn)).tolist(), stratum + 1, chances)


def check_rate(rate: float) -> None:
    """Raise an error if a rate is not a share."""
    if not 0 < rate <= 1:
        raise ChoiceError(f"a sampling rate of {rate}; expected more than 0 and at most 1")
