"""What follows from preferences between documents: contradictions, grades, and what is still to compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.text import quote, shorten
from sounding.data.fast.keys import repeated_rows
from sounding.data.fast.tokens import digests
from sounding.data.problems import Problems
from sounding.data.tables import Numbers, Places, Qrels

Flags = NDArray[np.bool_]


class Opinion(NamedTuple):
    """What one person prefers among the documents of one topic."""

    topic: int
    person: str
    rows: Places  # of the table: a level in a comparison each
    docs: Places  # (document,) the first row of the topic with the document
    doc: Places  # (row,) places in `docs`
    direct: Flags  # (document, document) the first had a higher level in some comparison
    preferred: Flags  # the same, with all that follows: a > b and b > c give a > c
    equal: Flags  # (document, document) both had the same level in some comparison
    compared_once: bool  # all of the documents in one comparison

    def grades(self, levels: Numbers) -> Numbers:
        """(document,): Return levels if there is one comparison, otherwise grades with the same preferences.

        A document has one grade more than the best that it is preferred to, and at least 1 unless all of
        its levels are 0 or less.
        """
        best = np.full(len(self.docs), -np.inf)
        np.maximum.at(best, self.doc, levels)
        return best if self.compared_once else chain_grades(self.preferred, best)


def opinions(qrels: Qrels) -> Iterator[Opinion]:
    """Yield what every person prefers, topic by topic; levels below 0 are not judged."""
    topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
    if qrels.groups is None or qrels.parts is None:
        return
    person, part = (
        np.unique(digests(column.words()), return_inverse=True)[1] for column in (qrels.groups, qrels.parts)
    )
    later, earlier = repeated_rows(qrels.pair_keys(), qrels.docs)
    first = np.arange(len(topic))
    first[later] = earlier
    order = np.lexsort((person, topic))
    new = (np.diff(topic[order], prepend=-1) != 0) | (np.diff(person[order], prepend=-1) != 0)
    for rows in np.split(order, new.nonzero()[0][1:]) if len(order) else []:
        docs, doc = np.unique(first[rows], return_inverse=True)
        level, own = qrels.grades[rows], part[rows]
        judged = level >= 0
        together = (own[:, None] == own) & judged[:, None] & judged
        direct, equal = np.zeros((2, len(docs), len(docs)), np.bool_)
        better, worse = (together & (level[:, None] > level)).nonzero()
        direct[doc[better], doc[worse]] = True
        one, other = (together & (level[:, None] == level)).nonzero()
        equal[doc[one], doc[other]] = True
        once = bool((own == own[0]).all())
        yield Opinion(
            int(topic[rows[0]]), qrels.groups.text(int(rows[0])), rows, docs, doc, direct,
            direct if once else closed(direct), equal, once,
        )  # fmt: skip


def closed(preferred: Flags) -> Flags:
    """Return the preferences with all that follow from them."""
    reached = preferred
    while True:
        numbers = reached.astype(np.float32)
        step = reached | ((numbers @ numbers) > 0)
        if (step == reached).all():
            return reached
        reached = step


def chain_grades(preferred: Flags, levels: Numbers) -> Numbers:
    """(document,): Return one grade more than the best document below has; at least 1 above level 0.

    `preferred` has all that follows. Documents of a circle are equal.
    """
    preferred = preferred & ~preferred.T
    grades = np.where(levels > 0, 1.0, levels)
    while True:
        below = np.where(preferred, grades, -1.0).max(axis=1, initial=-1.0)
        raised = np.where(preferred.any(axis=1), np.maximum(grades, below + 1), grades)
        if (raised == grades).all():
            return grades
        grades = raised


def note_contradictions(qrels: Qrels, problems: Problems) -> None:
    """Report every person and topic whose preferences form a circle, with the circle."""
    for one in opinions(qrels):
        turning = one.preferred.diagonal().nonzero()[0]
        if len(turning):
            circle = " > ".join(quote(qrels.docs.text(int(one.docs[doc]))) for doc in _circle(one, turning))
            line = one.rows[0] + 1 if qrels.lines is None else qrels.lines[one.rows].min()
            problems.note(
                int(line),
                f"topic {shorten(qrels.topics[one.topic])}: the preferences of {quote(one.person)} contradict"
                f" each other: {circle}; remove one, or put them into different groups (second field)",
            )


def _circle(one: Opinion, turning: Places) -> list[int]:
    """Return documents of a shortest circle of preferences, the first once more at the end."""
    best: list[int] = []
    for start in turning.tolist():
        paths = {start: [start]}
        frontier = [start]
        while frontier and (not best or len(paths[frontier[0]]) < len(best) - 1):
            reached = []
            for doc in frontier:
                for following in one.direct[doc].nonzero()[0].tolist():
                    if following == start:
                        if not best or len(paths[doc]) + 1 < len(best):
                            best = [*paths[doc], start]
                    elif following not in paths:
                        paths[following] = [*paths[doc], following]
                        reached.append(following)
            frontier = reached
    return best


def united_preferences(qrels: Qrels) -> Qrels:
    """Return one judgment of each document, with a grade that follows from the preferences of all persons.

    If several persons compared the documents of a topic, the majority decides each pair, and documents that
    beat each other in a circle are equal.
    """
    united = qrels.by_intent()
    grades = np.full(len(qrels.docs), -np.inf)  # at the first row of each document
    everyone: dict[int, list[Opinion]] = {}
    for one in opinions(qrels):
        everyone.setdefault(one.topic, []).append(one)
    for own in everyone.values():
        if len(own) == 1:
            grades[own[0].docs] = own[0].grades(qrels.grades[own[0].rows])
            continue
        docs = np.unique(np.concatenate([one.docs for one in own]))
        votes, levels = np.zeros((len(docs), len(docs))), np.full(len(docs), -np.inf)
        for one in own:
            place = np.searchsorted(docs, one.docs)
            votes[np.ix_(place, place)] += one.preferred
            np.maximum.at(levels, place[one.doc], qrels.grades[one.rows])
        grades[docs] = chain_grades(closed(votes > votes.T), levels)
    return replace(united, grades=grades[np.isfinite(grades)])


def graded(qrels: Qrels) -> tuple[Qrels, int]:
    """Return a grade of each document by each person, and the pairs in whose order alone no preference is.

    All preferences of a person follow from the grades. If not all documents were compared, the grades order
    some more pairs.
    """
    topics: list[str] = []
    docs: list[str] = []
    groups: list[str] = []
    grades: list[float] = []
    added = 0
    for one in opinions(qrels):
        own = one.grades(qrels.grades[one.rows])
        topics += [qrels.topics[one.topic]] * len(own)
        docs += qrels.docs[one.docs].texts()
        groups += [one.person] * len(own)
        grades += own.tolist()
        added += int(((own[:, None] > own) & (own >= 0) & ~one.preferred).sum())
    return Qrels.from_columns(topics, docs, grades, source=qrels.source, groups=groups), added


class Undecided(NamedTuple):
    """How far a person and topic are from a best document."""

    topic: str
    person: str
    documents: int
    missing: int  # further comparisons that it takes, and that always suffice, to be sure of the best
    uncompared: int  # pairs of documents whose order does not follow


def undecided(qrels: Qrels) -> list[Undecided]:
    """Return how many comparisons are missing to know the best document, for every person and topic.

    Only documents to which none is preferred can be the best. A comparison leaves one of two out, or says
    that both are equally good; so of n such documents, n - 1 comparisons are needed and are enough.
    """
    found = []
    for one in opinions(qrels):
        judged = one.equal.diagonal().nonzero()[0]
        as_good = closed(one.direct | one.equal)
        better, equal = closed(as_good @ one.direct @ as_good), closed(one.equal)
        top = judged[~better[:, judged].any(axis=0)]
        best = len(np.unique(equal[np.ix_(top, top)], axis=0))  # documents that are equal count once
        known = (better | better.T | equal)[np.ix_(judged, judged)]
        found.append(
            Undecided(
                topic=qrels.topics[one.topic], person=one.person, documents=len(judged),
                missing=max(best - 1, 0), uncompared=int(np.count_nonzero(np.triu(~known, 1))),
            )
        )  # fmt: skip
    return found
