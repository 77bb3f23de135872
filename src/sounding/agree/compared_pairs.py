"""Agreement on preferences: pairs of documents, contradictions within one person, and Bradley-Terry ranks.

A judgment group of a preference file is one assessor. Within a subgroup, or a group without any, documents
of different levels are compared, and those of one level are equally good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, shortest_path
from scipy.stats import chi2, norm

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, FormatError
from sounding.data.assembly import checked_grades
from sounding.data.columns import line_numbers
from sounding.data.formats import detect
from sounding.data.problems import Problems
from sounding.data.sources import Content, plain_name, read_content
from sounding.data.tables import byte_order
from sounding.data.trec_text import read_preferences
from sounding.statistics.assessor_agreement import RESAMPLES, Bootstrap, Estimate, beyond_chance, ratio

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

PREFS = ".prefs"  # left out of the names of files
NO_PAIR = "no pair of documents was compared by both"
NO_STRICT = "in no common pair did both prefer one document"
ALL_EQUAL = "both found all common pairs equal, so agreement beyond chance is undefined"
MOST_STEPS = 100  # of Newton's method
CLOSE = 1e-7  # a step after which the next would change nothing that is shown
RIDGE = 1e-6  # keeps the limit of a likelihood without a maximum finite


@dataclass(frozen=True, slots=True, eq=False)
class TopicPreferences:
    """What one assessor said about the pairs of a topic."""

    topic: str
    assessor: str
    docs: tuple[str, ...]  # that this assessor compared, sorted
    better: Flags  # (document, document) the first was preferred
    equal: Flags  # (document, document) both were of one level

    def outcomes(self, docs: Sequence[str]) -> Floats:
        """(pair,): Return 1 (the first is better), 0 or -1 for the pairs; NaN: not compared, or both ways."""
        at = np.searchsorted(docs, self.docs)
        upper = np.triu_indices(len(docs), 1)
        found = []
        for table in (self.better, self.better.T, self.equal):
            whole = np.zeros((len(docs), len(docs)), np.bool_)
            whole[np.ix_(at, at)] = table
            found.append(whole[upper].astype(np.float64))
        better, worse, equal = found
        return np.where(better + worse + equal == 1, better - worse, np.nan)


class Contradictions(NamedTuple):
    """How far what one assessor said about a topic is transitive."""

    topic: str
    assessor: str
    pairs: int  # compared
    triples: int  # of documents, all three pairs compared
    violations: int  # of these: a is better than b, b at least as good as c, but a not better than c
    documents: int  # in circles of any length
    circle: tuple[str, ...]  # the shortest: each is at least as good as the next, one better; empty: none


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferenceAgreement:
    """How far two assessors agree on the pairs that both compared."""

    first: str
    second: str
    topics: int
    pairs: int
    same: Estimate  # share with the same outcome: one better, the other better, or equal
    strict: Estimate  # share with the same document, where both preferred one
    kappa: Estimate  # agreement beyond chance, whichever document is named first


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedDocument:
    """The place of a document by the Bradley-Terry model, from the preferences of all assessors."""

    topic: str
    doc: str
    wins: float  # comparisons won, with ties as half
    comparisons: int
    strength: float  # log odds against a document of mean strength; NaN: not identified
    low: float
    high: float
    best_rank: int  # number of documents that are better for sure, and 1
    worst_rank: int
    reason: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class PreferenceStudy:
    """The result of `agree` on preferences."""

    given: tuple[TopicPreferences, ...]
    assessors: tuple[str, ...]
    topics: tuple[str, ...]
    alpha: float
    bootstrap: Bootstrap = field(repr=False)

    @cached_property
    def agreements(self) -> list[PreferenceAgreement]:
        """Return the agreement of each pair of assessors."""
        return [_agreement(self, first, second) for first, second in combinations(self.assessors, 2)]

    @cached_property
    def contradictions(self) -> list[Contradictions]:
        """Return how transitive each assessor is in each topic, the worst first."""
        found = [contradictions_of(one) for one in self.given]
        return sorted(found, key=lambda one: (-one.violations, -one.documents))

    @cached_property
    def ranks(self) -> list[RankedDocument]:
        """Return the places of the documents of each topic."""
        return [
            ranked
            for topic in self.topics
            for ranked in rank_documents([one for one in self.given if one.topic == topic], self.alpha)
        ]


def agree_preferences(
    sources: Sequence[str | Path | Content], *, resamples: int = RESAMPLES, alpha: float = 0.05, seed: int = 0
) -> PreferenceStudy:
    """Study how far assessors agree in files of preferences, whose groups are the assessors.

    In several files the same name means different people, so the name of the file stands before it.
    """
    if not 0 < alpha < 1:
        raise DataError(f"alpha is {alpha}; give a number between 0 and 1, such as 0.05")
    if not sources:
        raise DataError("no preferences; give at least one file")
    several = len(sources) > 1
    given = [
        one
        for source in sources
        for one in _preferences(source if isinstance(source, Content) else read_content(source), several)
    ]
    names = tuple(dict.fromkeys(one.assessor for one in given))
    topics = tuple(sorted({one.topic for one in given}, key=byte_order))
    return PreferenceStudy(
        given=tuple(given), assessors=names, topics=topics, alpha=alpha,
        bootstrap=Bootstrap(resamples, alpha, seed),
    )  # fmt: skip


def is_preferences(content: Content) -> bool:
    """Return whether a file holds preferences."""
    return detect(content, content.source) == "prefs"


def _preferences(content: Content, several: bool) -> list[TopicPreferences]:
    """Return what each assessor of a file said about each topic; of several, the file's name is in theirs."""
    prefix = f"{plain_name(content.source).removesuffix(PREFS)}/" if several else ""
    problems = Problems(content.source)
    records = read_preferences(content, problems)
    levels = checked_grades(records.columns["grade"], records.lines, "accept", problems)
    problems.refuse()
    columns = [records.columns[name].texts() for name in ("topic", "group", "part", "doc")]
    if not columns[0]:
        raise FormatError(content.source, None, "no preferences; expected at least one line")
    said: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for row, (topic, who, part, doc) in enumerate(zip(*columns, strict=True)):
        level = float(levels[row])
        own = said.setdefault((topic, prefix + who), {}).setdefault(part, {})
        if own.get(doc, level) != level:
            problem = f"document {doc!r} has another level in this group and subgroup already"
            raise FormatError(content.source, int(line_numbers(records.lines, np.array([row]))[0]), problem)
        own[doc] = level
    return [_compared(topic, who, list(parts.values())) for (topic, who), parts in said.items()]


def _compared(topic: str, who: str, parts: Sequence[Mapping[str, float]]) -> TopicPreferences:
    docs = tuple(sorted({doc for part in parts for doc, level in part.items() if level >= 0}))
    place = {doc: number for number, doc in enumerate(docs)}
    better, equal = np.zeros((2, len(docs), len(docs)), np.bool_)
    for part in parts:
        kept = {doc: level for doc, level in part.items() if level >= 0}
        at, levels = np.array([place[doc] for doc in kept], np.int64), np.array([*kept.values()])
        better[np.ix_(at, at)] |= levels[:, None] > levels
        equal[np.ix_(at, at)] |= levels[:, None] == levels
    np.fill_diagonal(equal, False)
    return TopicPreferences(topic, who, docs, better, equal)


# -- agreement -------------------------------------------------------------------------------------


def _agreement(study: PreferenceStudy, first: str, second: str) -> PreferenceAgreement:
    """Compare two assessors by a table for each topic: (outcome of one, outcome of the other)."""
    own = {(one.assessor, one.topic): one for one in study.given}
    tables = np.zeros((len(study.topics), 3, 3))
    for number, topic in enumerate(study.topics):
        if (first, topic) in own and (second, topic) in own:
            docs = sorted({*own[first, topic].docs, *own[second, topic].docs})
            left, right = (own[who, topic].outcomes(docs) for who in (first, second))
            both = ~np.isnan(left) & ~np.isnan(right)
            np.add.at(tables[number], (left[both].astype(int) + 1, right[both].astype(int) + 1), 1)
    used = tables.sum(axis=(1, 2)) > 0
    values: dict[str, Estimate] = {
        name: study.bootstrap.estimate(tables, value, used, reason)
        for name, value, reason in (
            ("same", _same, NO_PAIR), ("strict", _strict, NO_STRICT), ("kappa", _kappa, ALL_EQUAL),
        )
    }  # fmt: skip
    if not used.any():
        values = dict.fromkeys(values, Estimate(value=np.nan, reason=NO_PAIR))
    return PreferenceAgreement(
        first=first, second=second, topics=int(used.sum()), pairs=int(tables.sum()), **values
    )


def _same(tables: Floats) -> Floats:
    return ratio(np.trace(tables, axis1=1, axis2=2), tables.sum(axis=(1, 2)))


def _strict(tables: Floats) -> Floats:
    corners = tables[:, ::2, ::2]
    return ratio(np.trace(corners, axis1=1, axis2=2), corners.sum(axis=(1, 2)))


def _kappa(tables: Floats) -> Floats:
    """Return Cohen's kappa of tables to which every pair is added both ways round."""
    total = tables.sum(axis=(1, 2))
    one, other = (ratio(tables.sum(axis=axis)[:, 1], total) for axis in (2, 1))
    chance = one * other + (1 - one) * (1 - other) / 2
    return beyond_chance(_same(tables), chance)


# -- contradictions --------------------------------------------------------------------------------


def contradictions_of(given: TopicPreferences) -> Contradictions:
    """Count what is not transitive, in triples of documents and in circles of any length."""
    one_way = given.better & ~given.better.T & ~given.equal
    tied = given.equal & ~given.better & ~given.better.T
    better, equal = one_way.astype(np.float64), tied.astype(np.float64)
    known = given.better | given.better.T | given.equal
    compared = better + better.T + equal
    # Each triple of three pairs is six closed walks; each bad one is found from each of its better pairs.
    triples = round(float(np.trace(compared @ compared @ compared)) / 6)
    circle, inside = _circles(given.better, given.better | given.equal)
    return Contradictions(
        given.topic, given.assessor, int(np.triu(known, 1).sum()), triples,
        _bad_triples(better, equal), inside, tuple(given.docs[place] for place in circle),
    )  # fmt: skip


def _bad_triples(better: Floats, equal: Floats) -> int:
    """Return the number of triples a, b, c with a better than b, b at least as good as c, and c as a.

    A circle of three better pairs is found from each of them.
    """
    three = float(np.trace(better @ better @ better)) / 3
    two = float(np.trace(better @ better @ equal))
    one = float(np.trace(better @ equal @ equal))
    return round(three + two + one)


def _circles(better: Flags, least: Flags) -> tuple[list[int], int]:
    """Return the shortest circle with a better pair in it, and the number of documents in any."""
    if not better.any():
        return [], 0
    links: Floats = least.astype(np.float64)
    _, part = connected_components(csr_array(links), directed=True, connection="strong")
    first, second = (better & (part[:, None] == part)).nonzero()
    if not len(first):
        return [], 0
    inside = int(np.isin(part, part[first]).sum())
    steps, before = shortest_path(
        csr_array(links), unweighted=True, return_predecessors=True, indices=np.unique(second)
    )
    row = np.searchsorted(np.unique(second), second)
    nearest = int(np.argmin(steps[row, first]))
    path, place = [int(first[nearest])], int(first[nearest])
    while place != second[nearest]:
        place = int(before[row[nearest], place])
        path.append(place)
    return [path[0], *reversed(path[1:])], inside


# -- ranks -----------------------------------------------------------------------------------------


def rank_documents(given: Sequence[TopicPreferences], alpha: float) -> list[RankedDocument]:
    """Return the documents of a topic by the Bradley-Terry model of all preferences, best first.

    A tie is half a win for both. Strengths exist if no documents always win against the rest (Ford 1957).
    Ranks come from likelihood-ratio tests of every two documents, which need no strengths.
    """
    docs = sorted({doc for one in given for doc in one.docs})
    wins = np.zeros((len(docs), len(docs)))
    for one in given:
        at = np.searchsorted(docs, one.docs)
        wins[np.ix_(at, at)] += one.better + one.equal / 2
    played = wins + wins.T
    parts, _ = connected_components(csr_array(wins), directed=True, connection="strong")
    strength, error = np.full((2, len(docs)), np.nan)
    if parts == 1 and len(docs) > 1:
        strength, error = _fitted(wins)
    width = norm.ppf(1 - alpha / 2) * error
    surely = _surely_better(wins, alpha)
    scores = wins.sum(axis=1)
    shares = ratio(scores, played.sum(axis=1))
    order = np.lexsort([docs, -scores, -np.nan_to_num(shares, nan=-1), -np.nan_to_num(strength)])
    why = "" if parts == 1 and len(docs) > 1 else _why_not_identified(wins, docs)
    return [
        RankedDocument(
            topic=given[0].topic, doc=docs[place], wins=float(scores[place]),
            comparisons=int(played[place].sum()), strength=float(strength[place]),
            low=float(strength[place] - width[place]), high=float(strength[place] + width[place]),
            best_rank=1 + int(surely[:, place].sum()), worst_rank=len(docs) - int(surely[place].sum()),
            reason=why,
        )
        for place in order.tolist()
    ]  # fmt: skip


def _why_not_identified(wins: Floats, docs: Sequence[str]) -> str:
    links, _ = connected_components(csr_array(wins), directed=False)
    if links > 1:
        return "some documents are not compared with the rest, not even through others"
    never = (wins.sum(axis=0) == 0).nonzero()[0]
    if len(never):
        return f"{docs[int(never[0])]} never lost, so nothing limits its strength"
    return "some documents never lost to any of the rest, so nothing limits their strength"


def _fitted(wins: Floats) -> tuple[Floats, Floats]:
    """Return the strengths (mean 0) and their standard errors by maximum likelihood."""
    strength = _newton(wins[np.newaxis], 0.0)[0]
    information = _information((wins + wins.T)[np.newaxis], _chances(strength[np.newaxis]))[0]
    return strength, np.sqrt(np.diag(np.linalg.pinv(information)))


def _chances(strength: Floats) -> Floats:
    """(problem, document, document): Return the chance that the first beats the second."""
    return 1 / (1 + np.exp(strength[:, None, :] - strength[:, :, None]))


def _information(played: Floats, chance: Floats) -> Floats:
    weight = played * chance * (1 - chance)
    return np.eye(weight.shape[1]) * weight.sum(axis=2)[:, :, None] - weight


def _newton(wins: Floats, ridge: float, start: Floats | None = None) -> Floats:
    """(problem, document): Return the strengths, with mean 0, that maximize each likelihood."""
    size = wins.shape[1]
    strength = np.zeros(wins.shape[:2]) if start is None else start
    played, won = wins + wins.transpose(0, 2, 1), wins.sum(axis=2)
    whole = np.full((size, size), 1 / size) + ridge * np.eye(size)  # only differences matter
    left = np.arange(len(wins))
    for _ in range(MOST_STEPS):
        chance = _chances(strength[left])
        slope = won[left] - (played[left] * chance).sum(axis=2) - ridge * strength[left]
        information = _information(played[left], chance) + whole
        step = np.linalg.solve(information, slope[:, :, None])[:, :, 0]
        largest = np.abs(step).max(axis=1)
        strength[left] += step / np.maximum(1, largest)[:, None]  # of at most 1
        left = left[largest > CLOSE]
        if not len(left):
            break
    return strength - strength.mean(axis=1, keepdims=True)


def _log_likelihood(strength: Floats, wins: Floats) -> Floats:
    gap = strength[:, None, :] - strength[:, :, None]
    return -(wins * np.logaddexp(0, gap)).sum(axis=(1, 2))


def _surely_better(wins: Floats, alpha: float) -> Flags:
    """(document, document): Return whether the first is better than the second, each pair by itself.

    The likelihood of all preferences is compared with that if both were equally strong.
    """
    size = len(wins)
    found = np.zeros((size, size), np.bool_)
    first, second = np.triu_indices(size, 1)
    if not len(first):
        return found
    free = _newton(wins[np.newaxis], RIDGE)
    most = _log_likelihood(free, wins[np.newaxis])[0]
    for some in np.array_split(np.arange(len(first)), 1 + len(first) * size**2 // 4_000_000):
        one, other = first[some], second[some]
        merged = _merged(wins, one, other)
        start = np.repeat(free, len(some), axis=0)
        start[np.arange(len(some)), one] = (free[0][one] + free[0][other]) / 2
        start[np.arange(len(some)), other] = 0
        held = _log_likelihood(_newton(merged, RIDGE, start), merged)
        between = (wins[one, other] + wins[other, one]) * np.log(2)  # their own pairs are even
        sure = 2 * (most - held + between) > chi2.ppf(1 - alpha, 1)
        better = free[0][one] > free[0][other]
        found[one[sure & better], other[sure & better]] = True
        found[other[sure & ~better], one[sure & ~better]] = True
    return found


def _merged(wins: Floats, one: NDArray[np.int64], other: NDArray[np.int64]) -> Floats:
    """(problem, document, document): Return the wins with two documents as one; the second has none."""
    merged = np.repeat(wins[np.newaxis], len(one), axis=0)
    number = np.arange(len(one))
    merged[number, one] += merged[number, other]
    merged[number, other] = 0
    merged[number, :, one] += merged[number, :, other]
    merged[number, :, other] = 0
    merged[number, one, one] = 0
    return merged
