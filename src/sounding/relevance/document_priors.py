"""The chance that an unjudged document is relevant, by name: for all documents of all runs at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.policies import Policies
from sounding.relevance.model import Belief, DocumentPrior, DrawnOdds, Evidence, Features, RunWeights
from sounding.relevance.priors import (
    SMOOTHING,
    Constant,
    never_rising,
    rank_bin,
    read_probabilities,
    smoothed_rates,
)
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import Retrieved
from sounding.runs.topic_lists import TopicLists

DEFAULT = "runs"


def document_prior(text: str, retrieved: Retrieved, lists: Sequence[TopicLists]) -> DocumentPrior:
    """The prior of this name: a number from 0 to 1, `rate`, `rank`, `runs`, or a file of probabilities."""
    topic = np.repeat(np.arange(len(lists)), [one.size for one in lists])
    if text == DEFAULT:
        return RunWeights(Features.of(lists))
    if text == "rate":
        return _RateSoFar(topic, len(lists))
    if text == "rank":
        best = [_best_ranks(one) for one in lists]
        return _RateByBestRank(rank_bin(np.concatenate(best)))
    try:
        chance = Constant(float(text)).probability
    except ValueError:
        return _Fixed(text, _listed(text, retrieved, lists))
    return _Fixed(text, np.full(len(topic), chance))


@dataclass(frozen=True, slots=True, eq=False)
class Independent:
    """Chances that are known as such: draws differ in what they make of them, not in the chances."""

    probability: Values

    def drawn(self, draws: int, seed: Sequence[int]) -> DrawnOdds:
        """The same for all draws."""
        with np.errstate(divide="ignore"):
            odds = np.log(self.probability) - np.log1p(-self.probability)
        return _SameOdds(odds.astype(np.float32), draws)

    def wider(self, judgments: int) -> float:
        """Chances are what they are said to be."""
        return 1.0

    def level_precision(self, topic: int) -> float:
        """Nothing is left to learn of a level."""
        return math.inf


@dataclass(frozen=True, slots=True, eq=False)
class _SameOdds:
    odds: NDArray[np.float32]
    draws: int

    def of_topic(self, documents: slice, topic: int) -> NDArray[np.float32]:
        return np.repeat(self.odds[documents][:, np.newaxis], self.draws, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Fixed:
    """Chances that judgments do not change: one number, or those of a file."""

    name: str
    probability: Values
    learns: bool = False

    def fitted(self, evidence: Evidence) -> Belief:
        return Independent(self.probability)


@dataclass(frozen=True, slots=True, eq=False)
class _RateSoFar:
    """The rate of relevance among the judged documents of the topic, drawn towards that of all."""

    topic: Counts
    topics: int
    name: str = "rate"
    learns: bool = True

    def fitted(self, evidence: Evidence) -> Belief:
        topic = self.topic[evidence.documents]
        judged = np.bincount(topic, minlength=self.topics)
        relevant = np.bincount(topic[evidence.relevant], minlength=self.topics)
        return Independent(smoothed_rates(relevant, judged)[self.topic])


@dataclass(frozen=True, slots=True, eq=False)
class _RateByBestRank:
    """The rate of relevance of judged documents whose best rank in any run is about the same."""

    bins: Counts  # (document,)
    name: str = "rank"
    learns: bool = True

    def fitted(self, evidence: Evidence) -> Belief:
        number = int(self.bins.max(initial=0)) + 1
        bins = self.bins[evidence.documents]
        judged = np.bincount(bins, minlength=number)
        relevant = np.bincount(bins[evidence.relevant], minlength=number)
        rates = never_rising(smoothed_rates(relevant, judged), judged + SMOOTHING)
        return Independent(rates[self.bins])


def _best_ranks(lists: TopicLists) -> Counts:
    """(document,) the best rank that any run gives it, from 1."""
    best = np.zeros(lists.size + 1, np.int64)
    for rank in range(lists.places.shape[1], 0, -1):
        best[lists.places[:, rank - 1]] = rank
    return best[:-1]


def _listed(source: str, retrieved: Retrieved, lists: Sequence[TopicLists]) -> Values:
    """(document,) the probabilities of a file, where `*` stands for all other documents, or topics."""
    if not Path(source).is_file():
        raise UnknownNameError(
            "prior", source, ["a number from 0 to 1", "rate", "rank", DEFAULT, "a file of probabilities"]
        )
    listed = read_probabilities(source)
    topic_of = np.repeat(np.arange(len(listed.topics)), listed.sizes)
    others = {
        listed.topics[topic_of[row]]: float(listed.grades[row])
        for row in (listed.docs.length == 1).nonzero()[0]
        if listed.docs.text(int(row)) == "*"
    }
    chance = retrieved.grades(listed, Policies(fractional="accept"))
    parts = []
    for topic, one in zip(retrieved.topics, lists, strict=True):
        own = chance[one.documents]
        own[np.isnan(own)] = others.get(topic, others.get("*", np.nan))
        if np.isnan(own).any():
            document = retrieved.docs.text(int(one.documents[np.isnan(own).argmax()]))
            raise DataError(
                f"{source}: no probability for document {document!r} of topic {topic};"
                " list it, or say what all others have in a line such as '* * 0.01'"
            )
        parts.append(own)
    return np.concatenate(parts)
