"""Collections whose truth is known: simulated topics, systems, rankings, and the pool that was judged.

The model, topic by topic. Some documents are relevant: how many follows a log-normal law over topics,
so that some topics have very few. Every relevant document has a latent relevance around 1 (all others
0), and its grade is that latent value in steps. A system scores every document by

    quality x ease of the topic x latent relevance
    + noise that all systems share + noise that the systems of its group share + noise of its own

and retrieves the best. The shared noise is the consensus: documents that look right to every automatic
system. The noise of a group makes related systems retrieve alike and miss alike. The weights of the
noises have squares that sum to 1, so quality is the distance between relevant and other documents in
standard deviations. Systems of manual groups are better and follow the consensus less: they find
relevant documents that no automatic system brings up.

The pool is exact: the first `pool_depth` documents of every contributing run, in the order that
trec_eval gives them (score, then document id, both descending).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from sounding.data.tables import Qrels, Run, byte_order
from sounding.data.tokens import Tokens
from sounding.errors import DataError

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

FIRST_TOPIC = 51  # 51, 52, ... 100, 101: ids of unequal length, whose byte order is not their number's
POINTS = 10_000  # scores are whole multiples of 1 / POINTS: short in a file, and exact in 32 bits
COLLECTION_SHARE = 3  # the collection has so many times the documents that can come up for one topic

SPREAD_OF_RELEVANT = 0.95  # standard deviation over topics of the log of the number of relevant documents
SPREAD_OF_EASE = 0.3  # the same for the factor that makes a topic easy
SPREAD_OF_FIT = 0.2  # standard deviation of a group's own luck with a topic, as a share of its quality
SPREAD_OF_LATENT = 0.25  # standard deviation of the latent relevance of relevant documents

BEST_AUTOMATIC = 2.6
BEST_MANUAL = 3.6
GROUP_GAMMA = (0.8, 0.5)
SPREAD_IN_GROUP = 0.1

SOURCES = ("WIRE3-", "HERALD94-", "GAZ", "PATENT-", "TIDE911-", "LOG-2000-")
GROUPS = (
    "albatross", "auk", "bittern", "coot", "cormorant", "curlew", "dipper", "diver", "dunlin", "eider",
    "fulmar", "gannet", "goldeneye", "grebe", "guillemot", "gull", "heron", "ibis", "kestrel", "kingfisher",
    "kittiwake", "knot", "lapwing", "mallard", "merganser", "osprey", "oystercatcher", "pelican", "petrel",
    "plover", "puffin", "rail", "razorbill", "redshank", "sanderling", "shearwater", "skua", "spoonbill",
    "teal", "tern",
)  # fmt: skip


class Noise(NamedTuple):
    """How much of a system's error it shares; the squares sum to 1."""

    everyone: float
    group: float
    own: float


AUTOMATIC = Noise(everyone=0.72, group=0.55, own=0.42)
MANUAL = Noise(everyone=0.40, group=0.76, own=0.51)


class Choices(TypedDict, total=False):
    """What `simulate_collection` takes; the defaults are those of Parameters."""

    topics: int
    groups: int
    systems: int
    documents: int
    prevalence: float
    grades: int
    length: int
    short: float
    ties: float
    pool_depth: int
    contributors: int | None
    pooled_runs: int
    manual: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """What a simulated collection is made from."""

    topics: int = 50
    groups: int = 20
    systems: int = 3  # systems of each group
    documents: int = 6000  # documents that can come up for one topic
    prevalence: float = 0.02  # the mean share of them that is relevant
    grades: int = 1  # the best grade; 1: relevance is binary
    length: int = 1000  # documents that a run retrieves for a topic
    short: float = 0.05  # share of the runs that stop much earlier
    ties: float = 0.2  # share of the runs whose scores are rounded
    pool_depth: int = 100
    contributors: int | None = None  # groups whose runs were pooled; None: four of five
    pooled_runs: int = 2  # runs that each of them had pooled, its first ones
    manual: float = 0.15  # share of the groups that search by hand
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (
            ("topics", 1), ("groups", 1), ("systems", 1), ("documents", 1), ("grades", 1), ("length", 1),
            ("pool_depth", 1), ("pooled_runs", 1), ("seed", 0),
        ):  # fmt: skip
            _refuse_below(name, getattr(self, name), least)
        for name in ("short", "ties", "manual"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise DataError(f"{name} is {share!r}; give a share from 0 to 1")
        if not 0 < self.prevalence < 1:
            raise DataError(f"prevalence is {self.prevalence!r}; give a share above 0 and below 1")
        if self.length > self.documents:
            raise DataError(
                f"length is {self.length} and a topic has {self.documents} documents;"
                f" give a length up to {self.documents}, or more documents"
            )
        if self.contributors is not None and not 1 <= self.contributors <= self.groups:
            raise DataError(
                f"contributors is {self.contributors!r}; give a whole number from 1 to {self.groups},"
                " the number of groups"
            )

    @property
    def pooled_groups(self) -> int:
        """How many groups contribute to the pool."""
        return max(1, self.groups * 4 // 5) if self.contributors is None else self.contributors


def _refuse_below(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise DataError(f"{name} is {value!r}; give a whole number from {least}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """Who submitted a run and whether it was pooled: one row of an info file."""

    run: str
    group: str
    kind: str  # automatic or manual
    priority: int  # 1 is the run that its group wanted judged first
    pooled: bool


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Collection:
    """Runs, what the pool judged of them, and the truth about every document."""

    runs: tuple[Run, ...]
    qrels: Qrels  # the pooled documents, with pool_ranks
    truth: Qrels  # every document that can come up; pool_ranks 0: it was not pooled
    info: tuple[RunInfo, ...]  # in the order of the runs
    quality: Mapping[str, float]  # by run: what the simulation gave the system
    parameters: Parameters


@dataclass(frozen=True, slots=True, eq=False)
class _Systems:
    """The cast: one entry a system."""

    info: tuple[RunInfo, ...]
    group: Places  # number of its group
    quality: Floats
    noise: Floats  # (3, system): weights of the noises of everyone, the group and the system
    length: Places  # documents that it retrieves for a topic, before the luck of a short run
    short: NDArray[np.bool_]
    factor: Places  # points that one unit of the system's own scale gets
    offset: Places  # points that every score gets on top
    step: Places  # points that scores are rounded to; 0: no two documents tie


@dataclass(frozen=True, slots=True, eq=False)
class _Topic:
    """One topic: its documents with the truth about them, and what every system retrieved."""

    docs: Places  # (document,) number in the collection
    grades: Places  # (document,)
    pool_ranks: Places  # (document,) 0: not pooled
    retrieved: tuple[Places, ...]  # by system: numbers in the collection, best first
    points: tuple[Places, ...]  # by system: the scores


def simulate_collection(**choices: Unpack[Choices]) -> Collection:
    """A collection made from a seed: the same choices give the same collection, byte for byte.

    Adding topics leaves the topics that were there as they are. Every topic has at least one relevant
    document, and every system retrieves at least one document for it; the pool may still miss all
    relevant documents of a topic.
    """
    parameters = Parameters(**choices)
    root, *topic_seeds = np.random.SeedSequence(parameters.seed).spawn(1 + parameters.topics)
    rng = np.random.default_rng(root)
    systems = _cast(parameters, rng)
    ids = _document_ids(COLLECTION_SHARE * parameters.documents, rng)
    place_of_id = _places_in_byte_order(ids)
    simulated = [
        _simulate_topic(parameters, systems, place_of_id, np.random.default_rng(seed)) for seed in topic_seeds
    ]
    names = tuple(str(FIRST_TOPIC + number) for number in range(parameters.topics))
    documents = Tokens.from_strings(ids)
    truth, pooled = _truth(names, simulated, documents)
    return Collection(
        runs=tuple(
            _run(info.run, number, names, simulated, documents) for number, info in enumerate(systems.info)
        ),
        qrels=replace(truth.keep(pooled), source="qrels"),
        truth=truth,
        info=systems.info,
        quality={info.run: float(q) for info, q in zip(systems.info, systems.quality, strict=True)},
        parameters=parameters,
    )


def _cast(parameters: Parameters, rng: np.random.Generator) -> _Systems:
    """The groups and their systems: kind, quality, noise, who is pooled, how scores look."""
    groups, each = parameters.groups, parameters.systems
    count = groups * each
    group = np.repeat(np.arange(groups), each)
    by_hand = np.zeros(groups, np.bool_)
    by_hand[rng.permutation(groups)[: round(parameters.manual * groups)]] = True
    contributes = np.zeros(groups, np.bool_)
    contributes[rng.permutation(groups)[: parameters.pooled_groups]] = True
    priority = np.concatenate([1 + rng.permutation(each) for _ in range(groups)])
    pooled = contributes[group] & (priority <= parameters.pooled_runs)
    short = _some(parameters.short, count, rng)
    factor = rng.integers(POINTS // 5, 10 * POINTS, count)
    coarseness = np.exp(rng.uniform(np.log(0.01), np.log(0.5), count))
    return _Systems(
        info=tuple(
            RunInfo(
                run=f"{_group_name(owner)}-{1 + number % each}",
                group=_group_name(owner),
                kind="manual" if by_hand[owner] else "automatic",
                priority=int(priority[number]),
                pooled=bool(pooled[number]),
            )
            for number, owner in enumerate(group.tolist())
        ),
        group=group,
        quality=_qualities(by_hand, each, rng),
        noise=np.where(by_hand[group], np.array([MANUAL]).T, np.array([AUTOMATIC]).T).astype(np.float32),
        length=np.full(count, parameters.length),
        short=short,
        factor=factor,
        offset=rng.integers(-20 * POINTS, 20 * POINTS, count),
        step=np.where(
            _some(parameters.ties, count, rng), np.maximum(1, factor * coarseness).astype(np.int64), 0
        ),
    )


def _some(share: float, count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which of `count` things, drawn at random, make up the share."""
    chosen = np.zeros(count, np.bool_)
    chosen[rng.permutation(count)[: round(share * count)]] = True
    return chosen


def _group_name(number: int) -> str:
    again, place = divmod(number, len(GROUPS))
    return GROUPS[place] + (str(again + 1) if again else "")


def _qualities(by_hand: NDArray[np.bool_], each: int, rng: np.random.Generator) -> Floats:
    """One quality a system: most groups are near the best, some far behind, and relatives are alike."""
    best = np.where(by_hand, BEST_MANUAL, BEST_AUTOMATIC)
    group = best - rng.gamma(GROUP_GAMMA[0], GROUP_GAMMA[1], len(by_hand))
    quality = np.repeat(group, each) + rng.normal(0, SPREAD_IN_GROUP, len(by_hand) * each)
    return np.maximum(quality, 0).astype(np.float32)


def _document_ids(count: int, rng: np.random.Generator) -> list[str]:
    """Ids of several sources, numbered within each, in an order that tells nothing."""
    source = rng.integers(0, len(SOURCES), count).tolist()
    return [f"{SOURCES[which]}{number}" for number, which in zip(rng.permutation(9 * count)[:count].tolist(), source, strict=True)]


def _places_in_byte_order(ids: list[str]) -> Places:
    """The place of every id when all are sorted by their bytes."""
    places = np.empty(len(ids), np.int64)
    places[sorted(range(len(ids)), key=lambda number: byte_order(ids[number]))] = np.arange(len(ids))
    return places


def _simulate_topic(
    parameters: Parameters, systems: _Systems, place_of_id: Places, rng: np.random.Generator
) -> _Topic:
    """The truth of one topic, what every system retrieves, and the best rank of each pooled document."""
    docs = rng.permutation(len(place_of_id))[: parameters.documents]
    latent, grades = _relevance(parameters, rng)
    seen = _as_systems_see_it(systems, latent, rng)
    retrieved, points = [], []
    pool_ranks = np.zeros(len(docs), np.int64)
    best = np.argpartition(-seen, parameters.length - 1, axis=1)[:, : parameters.length]
    order = np.argsort(-np.take_along_axis(seen, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    values = np.take_along_axis(seen, best, axis=1)
    lengths = _lengths(systems, rng)
    given = _points(systems, values)
    for number, length in enumerate(lengths.tolist()):
        retrieved.append(docs[best[number, :length]])
        points.append(given[number, :length])
    for number, info in enumerate(systems.info):
        if info.pooled:
            key = points[number] * len(place_of_id) + place_of_id[retrieved[number]]
            first = best[number, np.argsort(-key)[: parameters.pool_depth]]
            ranks = np.arange(1, len(first) + 1)
            known = pool_ranks[first]
            pool_ranks[first] = np.where((known > 0) & (known < ranks), known, ranks)
    return _Topic(docs, grades, pool_ranks, tuple(retrieved), tuple(points))


def _relevance(parameters: Parameters, rng: np.random.Generator) -> tuple[Floats, Places]:
    """Latent relevance and grade of every document of a topic."""
    spread = SPREAD_OF_RELEVANT
    expected = parameters.prevalence * parameters.documents
    drawn = expected * np.exp(rng.normal(-spread * spread / 2, spread))
    count = int(np.clip(round(drawn), 1, max(1, parameters.documents // 2)))
    relevant = rng.permutation(parameters.documents)[:count]
    value = rng.normal(1, SPREAD_OF_LATENT, count)
    latent = np.zeros(parameters.documents, np.float32)
    latent[relevant] = value
    grades = np.zeros(parameters.documents, np.int64)
    cuts = 1 + SPREAD_OF_LATENT * np.linspace(0, 1.5, parameters.grades)[1:]
    grades[relevant] = 1 + np.searchsorted(cuts, value)
    return latent, grades


def _as_systems_see_it(systems: _Systems, latent: Floats, rng: np.random.Generator) -> Floats:
    """(system, document): how good each document looks to each system."""
    groups = int(systems.group[-1]) + 1
    ease = np.exp(rng.normal(0, SPREAD_OF_EASE))
    fit = np.maximum(0, rng.normal(1, SPREAD_OF_FIT, groups))
    strength = (systems.quality * ease * fit[systems.group]).astype(np.float32)
    everyone = rng.standard_normal(len(latent), np.float32)
    of_group = rng.standard_normal((groups, len(latent)), np.float32)
    seen = rng.standard_normal((len(systems.group), len(latent)), np.float32)
    seen *= systems.noise[2][:, np.newaxis]
    seen += systems.noise[1][:, np.newaxis] * of_group[systems.group]
    seen += systems.noise[0][:, np.newaxis] * everyone
    seen += strength[:, np.newaxis] * latent
    return seen


def _lengths(systems: _Systems, rng: np.random.Generator) -> Places:
    share = np.where(systems.short, rng.uniform(0.02, 0.2, len(systems.short)), 1)
    return np.maximum(1, systems.length * share).astype(np.int64)


def _points(systems: _Systems, values: Floats) -> Places:
    """Scores as whole points: rounded where a system ties documents, else strictly falling."""
    points = np.rint(values * systems.factor[:, np.newaxis]).astype(np.int64)
    rank = np.arange(values.shape[1])
    distinct = np.minimum.accumulate(points + rank, axis=1) - rank
    step = np.maximum(systems.step, 1)[:, np.newaxis]
    tied = step * np.floor_divide(points, step)
    return np.where(systems.step[:, np.newaxis] > 0, tied, distinct) + systems.offset[:, np.newaxis]


def _run(name: str, system: int, topics: tuple[str, ...], simulated: list[_Topic], documents: Tokens) -> Run:
    """What one system retrieved for all topics."""
    rows = [topic.retrieved[system] for topic in simulated]
    return Run(
        name=name,
        tag=name,
        source=name,
        topics=topics,
        starts=np.cumsum([0, *map(len, rows)]),
        docs=documents[np.concatenate(rows)],
        scores=np.concatenate([topic.points[system] for topic in simulated]) / POINTS,
    )


def _truth(
    topics: tuple[str, ...], simulated: list[_Topic], documents: Tokens
) -> tuple[Qrels, NDArray[np.bool_]]:
    """Every document of every topic with its grade, and which rows were pooled."""
    order = sorted(range(len(topics)), key=lambda number: byte_order(topics[number]))
    chosen = [simulated[number] for number in order]
    ranks = np.concatenate([topic.pool_ranks for topic in chosen])
    truth = Qrels(
        source="truth",
        topics=tuple(topics[number] for number in order),
        starts=np.cumsum([0, *(len(topic.docs) for topic in chosen)]),
        docs=documents[np.concatenate([topic.docs for topic in chosen])],
        grades=np.concatenate([topic.grades for topic in chosen]).astype(np.float64),
        pool_ranks=ranks,
    )
    return truth, ranks > 0
