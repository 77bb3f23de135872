"""Simulate topics, systems, rankings and a judged pool, so that the relevance of every document is known.

Each topic is simulated as follows. The number of relevant documents is log-normal over topics, so that some
topics have very few. A relevant document has a latent relevance around 1 (all others have 0), which is
rounded to its grade. A system scores every document by

    quality x ease of the topic x latent relevance
    + noise that all systems share + noise that the systems of its group share + noise of its own

and retrieves the best. The noise that all share models documents that look relevant to every automatic
system. The noise of a group makes its systems retrieve, and miss, the same documents. The squared weights
of the noises sum to 1, so quality is the distance between relevant and other documents in standard
deviations. Some relevant documents are hidden: automatic systems see only a small part of their latent
relevance. Systems of manual groups see all of it and have less shared noise, so they find relevant
documents that no automatic system retrieves; their quality is on another scale.

The pool is exact: the first `pool_depth` documents of every contributing run, in the order that
trec_eval gives them (score, then document id, both descending).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.data.fast.tokens import Tokens
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run, byte_order
from sounding.sample.parameters import DEFAULTS, CollectionParameters
from sounding.sample.result import Collection

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Flags = NDArray[np.bool_]

FIRST_TOPIC = 51  # ids such as 99 and 100, whose byte order differs from their numeric order
POINTS = 10_000  # scores are whole multiples of 1 / POINTS: short in a file, and exact in 32 bits
COLLECTION_FACTOR = 3  # documents in the collection per candidate document of a topic

# Chosen so that a collection resembles TREC-8; docs/sample.md compares the figures.
SPREAD_OF_RELEVANT = 0.95  # standard deviation over topics of the log of the number of relevant documents
SPREAD_OF_EASE = 0.35  # the same for the factor that makes a topic easy
SPREAD_OF_FIT = 0.15  # standard deviation of a group's luck with a topic, as a share of its quality
SPREAD_OF_LATENT = 0.25  # standard deviation of the latent relevance of relevant documents
HIDDEN_SHARE = 0.35  # share of the relevant documents that automatic systems hardly recognize
HIDDEN_LATENT = np.float32(0.2)  # the part of a hidden document's latent relevance that they see
BEST_AUTOMATIC, BEST_MANUAL = 2.25, 2.3  # about the best quality of each kind
GAP_SHAPE, GAP_SCALE = 0.5, 0.7  # gamma distribution of how far a group is below the best
SPREAD_IN_GROUP = 0.1  # standard deviation of quality among the systems of a group
FINEST_STEP, COARSEST_STEP = 0.001, 0.3  # steps to which tied scores are rounded, in units of the noise
SHORTEST, LONGEST = 0.02, 0.2  # the length of a short run, as a share of the usual one

SOURCES = ("WIRE3-", "HERALD94-", "GAZ", "PATENT-", "TIDE911-", "LOG-2000-")
GROUPS = (
    "albatross", "auk", "bittern", "coot", "cormorant", "curlew", "dipper", "diver", "dunlin", "eider",
    "fulmar", "gannet", "goldeneye", "grebe", "guillemot", "gull", "heron", "ibis", "kestrel", "kingfisher",
    "kittiwake", "knot", "lapwing", "mallard", "merganser", "osprey", "oystercatcher", "pelican", "petrel",
    "plover", "puffin", "rail", "razorbill", "redshank", "sanderling", "shearwater", "skua", "spoonbill",
    "teal", "tern",
)  # fmt: skip


class Noise(NamedTuple):
    """The parts of a system's error that others share; the rest, up to a variance of 1, is its own."""

    everyone: float
    group: float

    @property
    def own(self) -> float:
        """Return the weight of the noise that no other system shares."""
        return math.sqrt(1 - self.everyone**2 - self.group**2)


AUTOMATIC = Noise(everyone=0.82, group=0.48)
MANUAL = Noise(everyone=0.35, group=0.80)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Systems:
    """All systems, with one entry for each."""

    info: tuple[RunInfo, ...]
    group: Places  # number of its group
    by_hand: Flags
    quality: Floats
    noise: Floats  # (3, system) weights of the noise of all, of the group and of the system
    short: Flags
    factor: Places  # points of score per unit of noise
    offset: Places  # points added to every score
    step: Places  # step, in points, to which scores are rounded; 0: no ties


@dataclass(frozen=True, slots=True, eq=False)
class _SimulatedTopic:
    """One topic: its documents with their true relevance, and what every system retrieved."""

    docs: Places  # (document,) numbers in the collection
    grades: Places  # (document,)
    pool_ranks: Places  # (document,) 0: not pooled
    retrieved: tuple[Places, ...]  # by system: numbers in the collection, best first
    points: tuple[Places, ...]  # by system: their scores


def sample(
    *,
    topics: int = DEFAULTS.topics,
    groups: int = DEFAULTS.groups,
    systems: int = DEFAULTS.systems,
    documents: int = DEFAULTS.documents,
    prevalence: float = DEFAULTS.prevalence,
    grades: int = DEFAULTS.grades,
    length: int = DEFAULTS.length,
    short: float = DEFAULTS.short,
    ties: float = DEFAULTS.ties,
    pool_depth: int = DEFAULTS.pool_depth,
    contributors: int | None = DEFAULTS.contributors,
    pooled_runs: int = DEFAULTS.pooled_runs,
    manual: float = DEFAULTS.manual,
    seed: int = DEFAULTS.seed,
) -> Collection:
    """Simulate a collection; the same parameters and seed give the same collection, byte for byte.

    Adding topics does not change the others. Every topic has at least one relevant
    document, and every system retrieves at least one document for it; the pool may still miss all
    relevant documents of a topic.
    """
    parameters = CollectionParameters(
        topics=topics, groups=groups, systems=systems, documents=documents, prevalence=prevalence,
        grades=grades, length=length, short=short, ties=ties, pool_depth=pool_depth,
        contributors=contributors, pooled_runs=pooled_runs, manual=manual, seed=seed,
    )  # fmt: skip
    root, *topic_seeds = np.random.SeedSequence(parameters.seed).spawn(1 + parameters.topics)
    rng = np.random.default_rng(root)
    cast = _cast(parameters, rng)
    ids = _document_ids(COLLECTION_FACTOR * parameters.documents, rng)
    place_of_id = _places_in_byte_order(ids)
    simulated = [
        _simulate_topic(parameters, cast, place_of_id, np.random.default_rng(seed)) for seed in topic_seeds
    ]
    names = tuple(str(FIRST_TOPIC + number) for number in range(parameters.topics))
    docs = Tokens.from_strings(ids)
    truth, pooled = _truth(names, simulated, docs)
    return Collection(
        runs=tuple(_run(info.run, number, names, simulated, docs) for number, info in enumerate(cast.info)),
        qrels=replace(truth.keep(pooled), source="qrels"),
        truth=truth,
        info=cast.info,
        quality={info.run: float(q) for info, q in zip(cast.info, cast.quality, strict=True)},
        parameters=parameters,
    )


def _cast(parameters: CollectionParameters, rng: np.random.Generator) -> _Systems:
    """Draw the groups and their systems: kind, quality, noise, pooling, and the form of scores."""
    groups, each = parameters.groups, parameters.systems
    count = groups * each
    group = np.repeat(np.arange(groups), each)
    by_hand = _some(round(parameters.manual * groups), groups, rng)
    contributes = _some(parameters.pooled_groups, groups, rng)
    priority = np.concatenate([1 + rng.permutation(each) for _ in range(groups)])
    pooled = contributes[group] & (priority <= parameters.pooled_runs)
    factor = rng.integers(POINTS // 5, 10 * POINTS, count)
    coarseness = np.exp(rng.uniform(math.log(FINEST_STEP), math.log(COARSEST_STEP), count))
    tied = _some(round(parameters.ties * count), count, rng)
    weights = [(noise.everyone, noise.group, noise.own) for noise in (AUTOMATIC, MANUAL)]
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
        by_hand=by_hand[group],
        quality=_qualities(by_hand, each, rng),
        noise=np.array(weights, np.float32)[by_hand[group].astype(np.int64)].T,
        short=_some(round(parameters.short * count), count, rng),
        factor=factor,
        offset=rng.integers(-20 * POINTS, 20 * POINTS, count),
        step=np.where(tied, np.maximum(1, factor * coarseness), 0).astype(np.int64),
    )


def _some(chosen: int, count: int, rng: np.random.Generator) -> Flags:
    """Mark `chosen` of `count` things at random."""
    flags = np.zeros(count, np.bool_)
    flags[rng.permutation(count)[:chosen]] = True
    return flags


def _group_name(number: int) -> str:
    again, place = divmod(number, len(GROUPS))
    return GROUPS[place] + (str(again + 1) if again else "")


def _qualities(by_hand: Flags, each: int, rng: np.random.Generator) -> Floats:
    """Draw a quality for each system: most groups are near the best, and systems of a group are similar."""
    group = np.where(by_hand, BEST_MANUAL, BEST_AUTOMATIC) - rng.gamma(GAP_SHAPE, GAP_SCALE, len(by_hand))
    quality = np.repeat(group, each) + rng.normal(0, SPREAD_IN_GROUP, len(by_hand) * each)
    return np.maximum(quality, 0).astype(np.float32)


def _document_ids(count: int, rng: np.random.Generator) -> list[str]:
    """Return ids of several sources in random order."""
    sources = rng.integers(0, len(SOURCES), count).tolist()
    # Numbers have gaps and one digit or more, as in real collections.
    numbers = rng.permutation(9 * count)[:count].tolist()
    return [f"{SOURCES[source]}{number}" for source, number in zip(sources, numbers, strict=True)]


def _places_in_byte_order(ids: list[str]) -> Places:
    """Return the place of every id in byte order."""
    places = np.empty(len(ids), np.int64)
    places[sorted(range(len(ids)), key=lambda number: byte_order(ids[number]))] = np.arange(len(ids))
    return places


def _simulate_topic(
    parameters: CollectionParameters, systems: _Systems, place_of_id: Places, rng: np.random.Generator
) -> _SimulatedTopic:
    """Simulate one topic: relevance, what every system retrieves, and the pool."""
    docs = rng.permutation(len(place_of_id))[: parameters.documents]
    latent, grades = _relevance(parameters, rng)
    seen = _as_systems_see_it(systems, latent, rng)
    best = np.argpartition(-seen, parameters.length - 1, axis=1)[:, : parameters.length]
    order = np.argsort(-np.take_along_axis(seen, best, axis=1), axis=1, kind="stable")
    best = np.take_along_axis(best, order, axis=1)
    points = _points(systems, np.take_along_axis(seen, best, axis=1))
    lengths = _lengths(parameters.length, systems.short, rng).tolist()
    found = [row[:length] for row, length in zip(best, lengths, strict=True)]
    scores = [row[:length] for row, length in zip(points, lengths, strict=True)]
    firsts = []
    for number, info in enumerate(systems.info):
        if info.pooled:
            # A larger key ranks higher: more points or, with equal points, a later id.
            key = scores[number] * len(place_of_id) + place_of_id[docs[found[number]]]
            firsts.append(found[number][np.argsort(-key)[: parameters.pool_depth]])
    pool_ranks = _best_ranks(firsts, len(docs))
    return _SimulatedTopic(docs, grades, pool_ranks, tuple(docs[row] for row in found), tuple(scores))


def _best_ranks(rankings: list[Places], documents: int) -> Places:
    """Return (document,): the best rank in any of the rankings, from 1; 0 if none has the document."""
    best = np.zeros(documents, np.int64)
    for ranked in rankings:
        rank = np.arange(1, len(ranked) + 1)
        known = best[ranked]
        best[ranked] = np.where(known > 0, np.minimum(known, rank), rank)
    return best


def _relevance(parameters: CollectionParameters, rng: np.random.Generator) -> tuple[Floats, Places]:
    """Draw the latent relevance and the grade of every document of a topic."""
    expected = parameters.prevalence * parameters.documents
    # Subtracting half the variance gives the log-normal distribution the wanted mean.
    drawn = expected * np.exp(rng.normal(-(SPREAD_OF_RELEVANT**2) / 2, SPREAD_OF_RELEVANT))
    count = int(np.clip(round(drawn), 1, max(1, parameters.documents // 2)))
    relevant = rng.permutation(parameters.documents)[:count]
    value = rng.normal(1, SPREAD_OF_LATENT, count)
    latent = np.zeros(parameters.documents, np.float32)
    latent[relevant] = value
    law = NormalDist(1, SPREAD_OF_LATENT)
    # The power makes each grade rarer than the one below it.
    cuts = [law.inv_cdf(1 - (1 - grade / parameters.grades) ** 1.5) for grade in range(1, parameters.grades)]
    grades = np.zeros(parameters.documents, np.int64)
    grades[relevant] = 1 + np.searchsorted(cuts, value)
    return latent, grades


def _as_systems_see_it(systems: _Systems, latent: Floats, rng: np.random.Generator) -> Floats:
    """Return (system, document): the relevance that a system sees in a document."""
    groups = int(systems.group[-1]) + 1
    ease = np.exp(rng.normal(0, SPREAD_OF_EASE))
    fit = np.maximum(0, rng.normal(1, SPREAD_OF_FIT, groups))
    strength = (systems.quality * ease * fit[systems.group]).astype(np.float32)
    hidden = rng.random(len(latent)) < HIDDEN_SHARE
    at_first_sight = np.where(hidden, HIDDEN_LATENT * latent, latent)
    everyone, of_group, own = systems.noise[:, :, np.newaxis]
    seen = rng.standard_normal((len(systems.group), len(latent)), np.float32)
    seen *= own
    seen += of_group * rng.standard_normal((groups, len(latent)), np.float32)[systems.group]
    seen += everyone * rng.standard_normal(len(latent), np.float32)
    seen += strength[:, np.newaxis] * np.where(systems.by_hand[:, np.newaxis], latent, at_first_sight)
    return seen


def _lengths(length: int, short: Flags, rng: np.random.Generator) -> Places:
    """Return how many documents each system retrieves for a topic."""
    share = np.where(short, rng.uniform(SHORTEST, LONGEST, len(short)), 1)
    return np.maximum(1, length * share).astype(np.int64)


def _points(systems: _Systems, values: Floats) -> Places:
    """Return scores in points: rounded down to a step if the system has ties, otherwise strictly falling."""
    points = np.rint(values * systems.factor[:, np.newaxis]).astype(np.int64)
    place = np.arange(values.shape[1])
    falling = np.minimum.accumulate(points + place, axis=1) - place
    step = systems.step[:, np.newaxis]
    return np.where(step > 0, points - points % np.maximum(step, 1), falling) + systems.offset[:, np.newaxis]


def _run(
    name: str, system: int, topics: tuple[str, ...], simulated: list[_SimulatedTopic], documents: Tokens
) -> Run:
    """Return what one system retrieved for all topics."""
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
    topics: tuple[str, ...], simulated: list[_SimulatedTopic], documents: Tokens
) -> tuple[Qrels, Flags]:
    """Return the true grade of every document of every topic, and which rows were pooled."""
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
