"""Panel: what several assessors said of the same documents, as one table of grades."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sounding.arrays import NDArray
from sounding.assessors.log import LogCounts
from sounding.data.tables import Places, Qrels
from sounding.data.tokens import Tokens
from sounding.errors import DataError, UnknownNameError
from sounding.wording import plural

Marks = NDArray[np.bool_]
Outside = Literal["common", "primary", "nonrelevant"]

MOST_GRADES = 50  # beyond so many different ones they are measurements, not grades


def everyone(marks: Marks) -> Marks:
    """(row,): where a mark (row, assessor) is set for all."""
    return np.logical_and.reduce(marks, axis=1)


def anyone(marks: Marks) -> Marks:
    """(row,): where a mark (row, assessor) is set for at least one."""
    return np.logical_or.reduce(marks, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """What one assessor said more than once, and what was made of it."""

    assessor: str
    pairs: int  # documents of a topic that are listed more than once
    rows: int  # rows beyond the first of each
    contradictory: int  # of these documents, those with different grades
    policy: str
    example: str  # the first contradiction, or else the first repeat

    def __str__(self) -> str:
        told = (
            f"{self.assessor}: {plural(self.pairs, 'document')} listed more than once"
            f" ({plural(self.rows, 'further row')})"
        )
        if not self.contradictory:
            return f"{told}, always with the same grade, counted once; first {self.example}"
        return (
            f"{told}, {self.contradictory:,} with different grades, settled by `{self.policy}`;"
            f" first {self.example}"
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Panel:
    """Grades by document and assessor: the documents of topic t are rows starts[t] to starts[t + 1].

    A document is there if anybody judged it. Within a topic documents stand in the byte order of their ids.
    """

    assessors: tuple[str, ...]
    topics: tuple[str, ...]  # in byte order
    starts: Places  # (topic + 1,)
    docs: Tokens  # (row,)
    grades: NDArray[np.float64]  # (row, assessor) at least 0; NaN: not judged
    repeats: tuple[Repeats, ...] = ()
    logs: tuple[LogCounts, ...] = ()  # of every judgment log that was read
    filled: tuple[int, ...] = ()  # (assessor,) grades that came from `fill_outside`, where it was used

    @property
    def topic(self) -> Places:
        """The topic of every row."""
        return np.repeat(np.arange(len(self.topics)), np.diff(self.starts))

    @property
    def judged(self) -> Marks:
        """(row, assessor): who judged what."""
        return ~np.isnan(self.grades)

    def relevant(self, level: float = 1) -> Marks:
        """(row, assessor): who found what relevant; a document that was not judged is not."""
        return self.grades >= level

    def count(self, rows: Marks) -> Places:
        """(topic, ...): how many rows of each topic are true."""
        sums = np.concatenate([np.zeros((1, *rows.shape[1:]), np.int64), np.cumsum(rows, axis=0)])
        return sums[self.starts[1:]] - sums[self.starts[:-1]]

    def scale(self) -> NDArray[np.float64]:
        """Every grade that anybody gave, ascending."""
        found = np.unique(self.grades[self.judged])
        if len(found) > MOST_GRADES:
            raise DataError(
                f"{len(found)} different grades; agreement is defined for at most {MOST_GRADES}:"
                " round them, or settle repeated rows by majority"
            )
        return found

    def place(self, assessor: str) -> int:
        """The column of an assessor."""
        if assessor not in self.assessors:
            raise UnknownNameError("assessor", assessor, self.assessors)
        return self.assessors.index(assessor)

    def qrels_of(self, assessor: int) -> Qrels:
        """One assessor's judgments; all topics stay, those without any are empty."""
        return self.as_qrels(self.grades[:, assessor], self.assessors[assessor])

    def as_qrels(self, grades: NDArray[np.float64], source: str) -> Qrels:
        """A column of grades for these documents as judgments, on the scale of all; NaN: not judged."""
        whole = Qrels(
            source=source, topics=self.topics, starts=self.starts, docs=self.docs, grades=grades,
            highest=float(np.nanmax(self.grades)),
        )  # fmt: skip
        return whole.keep(~np.isnan(grades))


def fill_outside(panel: Panel, how: Outside, *, primary: int = 0, level: float = 1) -> Panel:
    """The panel with a grade for documents that an assessor of the topic was not shown.

    `common`: they stay unjudged, and pairs of assessors are compared on what both judged. `primary`: what the
    primary assessor found relevant counts as relevant for the others too (Voorhees 2002, Table 1).
    `nonrelevant`: whatever an assessor did not judge in a topic of theirs has grade 0.
    """
    if how == "common":
        return panel
    open_to = ~panel.judged & (panel.count(panel.judged) > 0)[panel.topic]
    if how == "primary":
        theirs = panel.grades[:, [primary]]
        taken = open_to & (theirs >= level)
        grades = np.where(taken, theirs, panel.grades)
    else:
        taken = open_to
        grades = np.where(taken, 0.0, panel.grades)
    return replace(panel, grades=grades, filled=tuple(np.count_nonzero(taken, axis=0).tolist()))
