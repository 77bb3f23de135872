"""Tie-averaged values against the plain kernels, over every order of tied documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from sounding.ranking import Judgments, Ranking, TieBlocks

Grade = float | None  # None: not judged
Block = tuple[Grade, ...]  # documents that share a score

HIGHEST = 3


@dataclass(frozen=True)
class Topic:
    """One topic: what was retrieved, block after block, and the grades of what was judged and not retrieved."""

    blocks: tuple[Block, ...]
    elsewhere: tuple[float, ...] = ()

    @property
    def documents(self) -> list[Grade]:
        return [grade for block in self.blocks for grade in block]

    def orders(self) -> Iterator[Topic]:
        """Every order that differs, as topics without ties; all are equally likely."""
        arrangements = (sorted(set(itertools.permutations(block)), key=str) for block in self.blocks)
        for chosen in itertools.product(*arrangements):
            flat = itertools.chain.from_iterable(chosen)
            yield Topic(tuple((grade,) for grade in flat), self.elsewhere)


def ranking_of(topics: Sequence[Topic], *, ties: bool) -> Ranking:
    """A ranking of these topics."""
    grades: list[list[float]] = []
    table: list[tuple[int, int, float, int, int]] = []
    for number, topic in enumerate(topics):
        judged = [grade for grade in topic.documents if grade is not None]
        grades.append(sorted([*judged, *topic.elsewhere], reverse=True))
        first = 1
        for block in topic.blocks:
            for rank, grade in enumerate(block, first):
                if grade is not None:
                    table.append((number, rank, grade, first, len(block)))
            first += len(block)
    columns = np.array(table, np.float64).reshape(-1, 5).T
    counts = columns[[0, 1, 3, 4]].astype(np.int64)
    flat = np.array([grade for row in grades for grade in row], np.float64)
    none = np.empty(0, np.int64)
    return Ranking(
        run="run",
        judgments=Judgments(
            topics=tuple(f"{number:06}" for number in range(len(topics))),
            starts=np.cumsum([0, *map(len, grades)]),
            grades=flat,
            pool_ranks=1 + 7 * np.arange(len(flat)) % 9,
            pooled=np.zeros(len(topics), np.int64),
            highest=HIGHEST,
        ),
        topic=counts[0], rank=counts[1], grade=columns[2],
        retrieved=np.array([len(topic.documents) for topic in topics], np.int64),
        missing=np.array([not topic.documents for topic in topics]),
        pooled_topic=none, pooled_rank=none,
        ties=TieBlocks(counts[2], counts[3]) if ties else None,
    )  # fmt: skip
