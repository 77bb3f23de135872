"""Judge pairs of documents: which of two is better, and which pair comes next.

A pair is named by its two documents as they stood on the page, `LEFT RIGHT`: ids have no blanks, so in log,
leases and requests a pair takes the place of a document, with the preference as its grade. Which of the two
stands left is drawn by the project's seed, for each assessor anew.

Each assessor sorts the documents of a topic by merging: pairs of documents, then pairs of sorted lists. All
that is known about a sort is in its answers, so the next pairs are a pure function of the log. Everybody
begins with the same pairs, so that assessors can be compared. A document that was bad in a pair is below
all that were good in one, without another question. After a pair that cannot be judged, its documents leave
the sort; if the assessor could judge one of them in other pairs, only the other one leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sounding.core.errors import DataError
from sounding.data.judgment_log import StandingJudgments
from sounding.judge.records import Event
from sounding.runs.retrieved import Retrieved

# The scale; A stands left. None: the pair cannot be judged.
BOTH_BAD, LEFT, RIGHT, EQUAL = 0.0, 1.0, 2.0, 3.0
# The levels of both documents in a file of preferences. A pair that cannot be judged says nothing.
LEVELS: dict[float | None, tuple[int, int]] = {LEFT: (2, 1), RIGHT: (1, 2), EQUAL: (1, 1), BOTH_BAD: (0, 0)}
FIRST, SECOND = -1, 1  # which of two documents is better, as a comparison has it; 0: neither
CANNOT = 2  # a comparison that the assessor could not make

Compare = Callable[[str, str], int | None]  # None: not known yet
Answers = dict[tuple[str, str], float | None]  # by pair in the order of its ids, seen from there


class Sides(NamedTuple):
    """The documents of a pair as they stand on the page."""

    left: str
    right: str


class Preference(NamedTuple):
    """A judgment of a pair, seen from the lower id: LEFT means that `first` is better."""

    first: str
    second: str
    grade: float | None


class Sort(NamedTuple):
    """How far a sort has come."""

    order: list[str] | None  # best first, once it is finished
    open: list[tuple[str, str]]  # pairs to judge now
    left: int  # pairs still to judge, at most
    used: set[tuple[str, str]]  # pairs that decided the order, by id

    @property
    def finished(self) -> bool:
        """Return whether the order of all documents is known."""
        return self.order is not None


def sides_of(pair: str) -> Sides | None:
    """Return the documents of a pair; None if the text names no pair."""
    left, blank, right = pair.partition(" ")
    good = blank and left and right and " " not in right and left != right
    return Sides(left, right) if good else None


def preference_of(pair: str, grade: float | None) -> Preference | None:
    """Return a judgment as seen from the lower id; None if the text names no pair."""
    sides = sides_of(pair)
    if sides is None:
        return None
    if sides.left < sides.right:
        return Preference(sides.left, sides.right, grade)
    turned = {LEFT: RIGHT, RIGHT: LEFT}.get(-1.0 if grade is None else grade, grade)
    return Preference(sides.right, sides.left, turned)


def pair_for(seed: int, assessor: str, topic: str, one: str, other: str) -> str:
    """Return the name of a pair for an assessor: the seed decides which document stands left."""
    first, second = sorted((one, other))
    lot = _lot(seed, assessor, topic, first, second)[0] & 1
    return f"{second} {first}" if lot else f"{first} {second}"


def _lot(seed: int, *words: str) -> bytes:
    text = "\0".join((str(seed), *words))
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=8).digest()


def start_of(lists: Retrieved, topic: str, groups: Sequence[int], seed: int) -> list[str]:
    """Return the documents of a topic in the order in which their sort begins.

    It is random, but documents of later runs come last, so that their arrival leaves earlier merges alone.
    """
    if topic not in lists.topics:
        return []
    alone = lists.of_topics([lists.topics.index(topic)])
    docs = alone.docs.texts()
    group: dict[str, int] = {}
    for run, own in enumerate(alone.lists[:, 0]):
        for number in own[own >= 0].tolist():
            group[docs[number]] = min(groups[run], group.get(docs[number], groups[run]))
    return sorted(group, key=lambda doc: (group[doc], _lot(seed, topic, doc), doc))


def compare_by(answers: Answers) -> Compare:
    """Return what the answers say about two documents.

    A bad document is below every one that was better than another, or as good; all bad ones are equal.
    """
    bad, good = bad_in(answers), _good_in(answers)

    def compare(one: str, other: str) -> int | None:
        if one in bad and other in bad:
            return 0
        pair = (one, other) if one < other else (other, one)
        grade = answers.get(pair)
        if grade is None:
            if (one in bad and other in good) or (other in bad and one in good):
                return SECOND if one in bad else FIRST
            return CANNOT if pair in answers else None
        if grade not in (LEFT, RIGHT):
            return 0
        return FIRST if (grade == LEFT) == (pair[0] == one) else SECOND

    return compare


def bad_in(answers: Answers) -> set[str]:
    """Return the documents of pairs that were both bad."""
    return {doc for pair, grade in answers.items() if grade == BOTH_BAD for doc in pair}


def _good_in(answers: Answers) -> set[str]:
    """Return the documents that were better than another one, or as good."""
    better = {pair[grade == RIGHT] for pair, grade in answers.items() if grade in (LEFT, RIGHT)}
    return better | {doc for pair, grade in answers.items() if grade == EQUAL for doc in pair}


def judged_in(answers: Answers) -> set[str]:
    """Return the documents of pairs that could be judged."""
    return {doc for pair, grade in answers.items() if grade is not None for doc in pair}


def sort(documents: Sequence[str], answers: Answers) -> Sort:
    """Sort documents by merging, as far as the answers go; those that cannot be judged are left out."""
    compare, judged = compare_by(answers), judged_in(answers)
    state = Sort(None, [], 0, set())
    blocks: list[tuple[list[str] | None, int]] = [([doc], 1) for doc in documents]
    left = 0
    while len(blocks) > 1:
        merged = []
        for (one, size), (other, more) in zip(blocks[::2], blocks[1::2], strict=False):
            whole, missing = _merge(one, other, size + more, compare, judged, state)
            left += missing
            merged.append((whole, size + more))
        blocks = merged + (blocks[-1:] if len(blocks) % 2 else [])
    order = blocks[0][0] if blocks else []
    return state._replace(order=order, left=left)


def _merge(
    one: list[str] | None,
    other: list[str] | None,
    size: int,
    compare: Compare,
    judged: set[str],
    state: Sort,
) -> tuple[list[str] | None, int]:
    """Return two sorted lists as one, or None; and how many comparisons this still takes at most."""
    if one is None or other is None:
        return None, size - 1
    merged: list[str] = []
    i = j = 0
    while i < len(one) and j < len(other):
        better = compare(one[i], other[j])
        if better is None:
            state.open.append((one[i], other[j]))
            return None, len(one) + len(other) - i - j - 1
        if better == CANNOT:
            can = one[i] in judged, other[j] in judged
            leave_both = can[0] == can[1]
            i += leave_both or not can[0]
            j += leave_both or not can[1]
            continue
        state.used.add((min(one[i], other[j]), max(one[i], other[j])))
        if better <= 0:
            merged.append(one[i])
            i += 1
        else:
            merged.append(other[j])
            j += 1
    return merged + one[i:] + other[j:], 0


def levels(sorted_docs: Sequence[str], answers: Answers) -> dict[str, int]:
    """Return a level for each document of a finished sort: 0 from the first bad one on, the others from 1 up.

    Neighbors that are equally good have the same level. A merge sort has compared all neighbors, except where
    a document left that stood between them: then they are equal if both were as good as that one. A document
    that was in no pair that could be judged has no level.
    """
    compare, bad, judged = compare_by(answers), bad_in(answers), judged_in(answers)
    equals = _equals_in(answers)
    docs = [doc for doc in sorted_docs if doc in judged]
    end = next((place for place, doc in enumerate(docs) if doc in bad), len(docs))
    found = dict.fromkeys(docs, 0)
    level = 0
    for place in reversed(range(end)):
        level += place == end - 1 or not _are_equal(docs[place], docs[place + 1], compare, equals)
        found[docs[place]] = level
    return found


def _are_equal(one: str, other: str, compare: Compare, equals: Mapping[str, set[str]]) -> bool:
    better = compare(one, other)
    return other in equals.get(one, ()) if better in (None, CANNOT) else better == 0


def _equals_in(answers: Answers) -> dict[str, set[str]]:
    """Return for each document those that are as good, by answers about them or about others between them."""
    groups: dict[str, set[str]] = {}
    for pair, grade in answers.items():
        if grade == EQUAL:
            whole = groups.get(pair[0], {pair[0]}) | groups.get(pair[1], {pair[1]})
            groups.update(dict.fromkeys(whole, whole))
    return groups


def sound_answers(answers: Answers, state: Sort) -> Answers:
    """Return the answers without pairs that cannot be judged, and without contradictions.

    Answers contradict each other if they go round in a circle: after a change, the sort may no longer use
    an earlier answer. Of those in a circle, the ones count that the sort uses; they agree with its order.
    """
    compare = compare_by(answers)
    seen = {LEFT: FIRST, RIGHT: SECOND}
    strict = [pair[:: 1 if grade == LEFT else -1] for pair, grade in answers.items() if grade in seen]
    circle = _circles(strict)
    return {
        pair: grade
        for pair, grade in answers.items()
        if grade in (EQUAL, BOTH_BAD)
        or (grade is not None and circle[pair[0]] != circle[pair[1]])
        or (grade is not None and pair in state.used and compare(*pair) == seen[grade])
    }


def _circles(pairs: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return a number for each document of these pairs (better, worse): the same for those of one circle."""
    place = {doc: number for number, doc in enumerate({doc: None for pair in pairs for doc in pair})}
    better, worse = ([place[pair[side]] for pair in pairs] for side in (0, 1))
    graph = coo_array((np.ones(len(pairs)), (better, worse)), shape=(len(place), len(place)))
    numbers = connected_components(graph, connection="strong")[1] if pairs else ()
    return dict(zip(place, map(int, numbers), strict=True))


def common_levels(given: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return one level for each document from those of several people.

    A document is at 0 if most found it bad. The others are ordered by the mean share of documents below
    them, ties counted by half, and have levels from 1 up; with one person these are that person's. Means are
    over the people whose order has the document: some could not judge it.
    """
    docs = sorted({doc for own in given.values() for doc in own})
    table = np.array([[own.get(doc, np.nan) for doc in docs] for own in given.values()])
    one, other = table[:, :, None], table[:, None, :]
    below = (one > other).sum(axis=2) + (one == other).sum(axis=2) / 2
    known = ~np.isnan(table)
    shares = below / np.maximum(known.sum(axis=1, keepdims=True), 1)
    good = (table == 0).sum(axis=0) / known.sum(axis=0) <= 0.5
    mean = shares.sum(axis=0) / known.sum(axis=0)
    found = np.zeros(len(docs), np.int64)
    found[good] = np.unique(mean[good].round(9), return_inverse=True)[1] + 1
    return dict(zip(docs, found.tolist(), strict=True))


class Preferences:
    """The preferences that stand after the events so far, by assessor and topic."""

    def __init__(self) -> None:
        self.groups: list[int] = []  # (run,) runs that were added before anybody judged on are one group
        self._judged = False
        self._given: dict[tuple[str, str], StandingJudgments[tuple[str, str], Preference]] = {}

    def take(self, event: Event) -> None:
        """Process a run, a judgment or its withdrawal."""
        if event.kind == "run":
            last = self.groups[-1] if self.groups else 0
            self.groups.append(last + self._judged)
            self._judged = False
            return
        preference = preference_of(event.doc or "", event.grade)
        if preference is not None and event.kind in ("judge", "withdraw"):
            own = self._given.setdefault((event.assessor or "", event.topic or ""), StandingJudgments())
            own.follow(preference[:2], event.kind, preference, undoes=event.undoes is not None)
            self._judged = True

    def answers(self, assessor: str, topic: str) -> Answers:
        """Return what an assessor has said about the pairs of a topic."""
        own = self._given.get((assessor, topic), StandingJudgments())
        return {pair: history[-1].grade for pair, history in own.items()}

    def assessors(self, topic: str) -> list[str]:
        """Return who has given preferences for a topic."""
        return sorted(who for (who, about), own in self._given.items() if about == topic and own)

    def topics(self) -> set[str]:
        """Return the topics with preferences."""
        return {topic for (_, topic), own in self._given.items() if own}

    def grades(self, topic: str) -> Iterable[float | None]:
        """Yield all preferences for a topic, by all assessors."""
        for who in self.assessors(topic):
            yield from self.answers(who, topic).values()


def check_docs(docs: Iterable[str], most: int) -> None:
    """Refuse ids that are too long for two of them to be the name of a pair."""
    for doc in docs:
        if 2 * len(doc.encode("utf-8", "surrogateescape")) + 1 > most:
            raise DataError(
                f"doc id {doc[:40]!r}... has more than {(most - 1) // 2} bytes; pairs of such documents"
                " cannot be judged"
            )
