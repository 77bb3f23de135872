"""Small random pools that hurt: ties, short and missing lists, shared documents, topics of one document."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from sounding.data.tables import Run
from sounding.runs.ranking import Values
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.strategies import Pick, Strategy

Lists = dict[str, list[list[str]]]  # topic -> the list of every run


def draw_lists(seed: int) -> Lists:
    """Lists of one to five runs for one to four topics; some are empty, some end early."""
    rng = np.random.default_rng(seed)
    runs, topics = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    lists: Lists = {}
    for topic in range(topics):
        docs = [f"d{number}" for number in rng.permutation(int(rng.integers(1, 12))).tolist()]
        order = np.arange(len(docs))
        lists[str(9 + topic)] = [
            [docs[place] for place in np.argsort(order + rng.normal(0, 4, len(docs)))[: rng.integers(0, 9)]]
            for _ in range(runs)
        ]
    if not any(own for rows in lists.values() for own in rows):
        lists["9"][0] = ["d0"]
    return lists


def pool_of(lists: Lists, depth: int | None = None) -> Retrieved:
    """The lists as runs; scores fall by one from rank to rank."""
    count = len(next(iter(lists.values())))
    runs = [
        Run.from_dict(
            {
                topic: {doc: -float(rank) for rank, doc in enumerate(rows[number])}
                for topic, rows in lists.items()
            },
            name=f"run{number}",
        )
        for number in range(count)
    ]
    return read_retrieved(runs, depth=depth, topics=list(lists))


def draw_grades(pool: Retrieved, seed: int) -> Values:
    """Grades 0 to 2 of most documents, NaN for the others; those of a topic do not depend on the rest."""
    choices = [0.0, 0.0, 0.0, 1.0, 2.0, np.nan]
    topic = pool.topic.tolist()
    texts = [f"{pool.topics[topic[row]]} {doc} {seed}" for row, doc in enumerate(pool.docs.texts())]
    return np.array([choices[zlib.crc32(text.encode()) // 7 % len(choices)] for text in texts])


def members(pool: Retrieved) -> list[int]:
    """The documents that some run has."""
    return pool.best_ranks().nonzero()[0].tolist()


def names(pool: Retrieved, picks: Sequence[Pick]) -> list[str]:
    """topic:doc of every pick."""
    return [f"{pool.topics[pick.topic]}:{pool.docs.text(pick.document)}" for pick in picks]


def run_out(strategy: Strategy, grades: Values, topics: Sequence[int] | None = None) -> list[Pick]:
    """All that a strategy gives when every document is judged as soon as it comes; NaN: it cannot be."""
    picks = []
    while due := strategy.next(topics):
        picks += due
        grade = float(grades[due[0].document])
        strategy.judge(due[0].document, None if np.isnan(grade) else grade)
    return picks
