"""Small collections that hurt: ties, grades, unjudged and pooled documents, missing topics, short lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run

Judged = dict[str, dict[str, int]]
Ranked = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Trial:
    """Judgments and runs as dicts, with who submitted them."""

    judged: Judged
    ranked: dict[str, Ranked]
    info: dict[str, RunInfo]

    @property
    def qrels(self) -> Qrels:
        return Qrels.from_dict(self.judged)

    @property
    def runs(self) -> list[Run]:
        return [Run.from_dict(ranked, name=name) for name, ranked in self.ranked.items()]

    def order(self, run: str, topic: str) -> list[str]:
        """The documents by score, then by id, both descending."""
        docs = self.ranked[run].get(topic, {})
        return sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True)

    def without(self, lost: set[tuple[str, str]]) -> Qrels:
        """The judgments that are left without these (topic, doc) pairs; topics stay."""
        topics, docs, grades = [], [], []
        for topic, own in self.judged.items():
            for doc, grade in own.items():
                topics.append(topic)
                docs.append(doc)
                grades.append(grade)
        qrels = Qrels.from_columns(topics, docs, grades)
        order = [
            (topic, doc)
            for topic, begin, end in zip(qrels.topics, qrels.starts[:-1], qrels.starts[1:], strict=True)
            for doc in qrels.docs[slice(int(begin), int(end))].texts()
        ]
        return qrels.keep(np.array([pair not in lost for pair in order], np.bool_))


def trial(seed: int, *, runs: int = 6, topics: int = 4, depth: int = 3, grades: int = 2) -> Trial:
    """A collection whose pool is exactly the first `depth` documents of the pooled runs."""
    rng = np.random.default_rng(seed)
    ranked: dict[str, Ranked] = {}
    for number in range(runs):
        lists: Ranked = {}
        for topic in range(topics):
            if number and rng.random() < 0.1:
                continue  # a topic that this run lacks
            size = int(rng.integers(depth, 13))
            docs = rng.choice(20, size, replace=False)
            lists[str(9 + topic)] = {f"d{doc}": float(rng.integers(0, 5)) for doc in docs}
        ranked[f"run{number}"] = lists
    info = {
        f"run{number}": RunInfo(
            run=f"run{number}", group=f"group{number // 2}", priority=1, pooled=number < runs - 1,
            kind="manual" if number % 3 == 1 else "automatic",
        )
        for number in range(runs)
    }  # fmt: skip
    built = Trial({}, ranked, info)
    judged: Judged = {}
    for name in (str(9 + number) for number in range(topics)):
        pool = {doc for run, row in info.items() if row.pooled for doc in built.order(run, name)[:depth]}
        judged[name] = {doc: int(rng.integers(0, grades + 1)) for doc in sorted(pool)}
        judged[name]["unseen"] = 1  # judged, and in no run
    return Trial(judged, ranked, info)
