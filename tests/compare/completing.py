"""Small collections of three runs with shared, unjudged and graded documents, and all their completions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.data.tables import Qrels, Run
from sounding.measures.listings import Listings
from sounding.measures.regrading import read_regrading
from sounding.runs.align import Judged, align, prepare
from sounding.runs.ranking import Ranking

Grades = dict[str, dict[str, float]]
HIGHEST = 2.0


def listings_of(runs: Sequence[Run], qrels: Qrels, policies: Policies = DEFAULT_POLICIES) -> Listings:
    return Listings.of(read_regrading(qrels, runs, policies=policies))


@dataclass(frozen=True, eq=False)
class Collection:
    """Runs, and judgments in which grade -1 marks a document that was pooled and not judged."""

    lists: list[dict[str, list[str]]]  # (run,) topic -> docs, best first
    grades: Grades

    @cached_property
    def runs(self) -> list[Run]:
        return [
            Run.from_dict(
                {
                    topic: {doc: -float(rank) for rank, doc in enumerate(docs)}
                    for topic, docs in lists.items()
                },
                name=f"run{number}",
            )
            for number, lists in enumerate(self.lists)
        ]

    def judged(self, grades: Grades | None = None, policies: Policies = DEFAULT_POLICIES) -> Judged:
        return prepare(Qrels.from_dict(self.grades if grades is None else grades), policies)

    def listings(self, policies: Policies = DEFAULT_POLICIES, grades: Grades | None = None) -> Listings:
        return listings_of(self.runs, Qrels.from_dict(self.grades if grades is None else grades), policies)

    def open_docs(self, topic: str) -> list[str]:
        """Unjudged documents of a topic that some run has."""
        listed = {doc for lists in self.lists for doc in lists.get(topic, [])}
        return sorted(doc for doc in listed if self.grades[topic].get(doc, -1) < 0)

    def completions(self, options: Sequence[float], at_most: int = 99) -> Iterator[Grades]:
        """Judgments that between them complete every topic in every way; topics do not depend on another."""
        by_topic = {
            topic: [
                dict(zip(docs, chosen, strict=True))
                for chosen in itertools.product(options, repeat=len(docs))
                if sum(grade > 0 for grade in chosen) <= at_most
            ]
            for topic in self.grades
            for docs in [self.open_docs(topic)]
        }
        for number in range(max(map(len, by_topic.values()))):
            yield {
                topic: self.grades[topic] | ways[min(number, len(ways) - 1)]
                for topic, ways in by_topic.items()
            }

    def rankings(self, grades: Grades, policies: Policies = DEFAULT_POLICIES) -> list[Ranking]:
        """The runs under judgments."""
        judged = self.judged(grades, policies)
        return [align(run, judged, policies) for run in self.runs]


def draw_collection(seed: int, *, open_docs: int = 4, length: int = 5, topics: int = 2) -> Collection:
    """Three runs over few documents, so that they share many; each topic has a relevant document nowhere."""
    rng = np.random.default_rng(seed)
    grades: Grades = {}
    lists: list[dict[str, list[str]]] = [{}, {}, {}]
    for number in range(topics):
        docs = [f"d{doc}" for doc in range(open_docs + 4)]
        seen = docs[open_docs:]
        grades[f"t{number}"] = {doc: float(rng.integers(0, 3)) for doc in seen} | {"nowhere": HIGHEST}
        if rng.random() < 0.5:
            grades[f"t{number}"]["d0"] = -1.0
        for lists_of_run in lists:
            size = int(rng.integers(1, length + 1))
            lists_of_run[f"t{number}"] = rng.permutation(docs)[:size].tolist()
    return Collection(lists, grades)
