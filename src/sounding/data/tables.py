"""The tables Run and Qrels: retrieved and judged documents as columns grouped by topic.

Every reader, dict and frame ends in one of these two tables. Documents keep the order of their file; only
`sounding.runs.align` decides in which order they count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, expect
from sounding.core.lazy import polars
from sounding.core.text import plural, quote, shorten
from sounding.data.fast.keys import pair_keys, repeated_rows
from sounding.data.fast.tokens import Tokens, Words, digests, refuse_stray_bytes

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]

LEAST_LISTED = 20  # judgments; if fewer are all relevant, that may be chance

# odd, so that a group's digest does not cancel that of a document id
_GROUP_FACTOR = np.uint64(0xD6E8FEB86659FD93)
_PART_FACTOR = np.uint64(0xA0761D6478BD642F)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False, kw_only=True)
class Run:
    """The documents that a system retrieved; those of topic t are rows starts[t] to starts[t + 1]."""

    name: str  # unique among the runs of one evaluation
    tag: str  # the run's own name; several files may share one
    source: str  # the file, for messages
    topics: tuple[str, ...]  # in order of first appearance
    starts: Places  # (topic + 1,)
    docs: Tokens  # (row,)
    scores: Numbers  # (row,)
    ranks: Numbers | None = None  # the rank column; read only on request
    lines: Places | None = None  # the line of each row; None: row i is line i + 1
    keys: Words | None = None  # see sounding.data.fast.keys; kept if the reader needed them
    words: Words | None = None  # words of the docs, likewise; dropped when a run stays in memory

    def __repr__(self) -> str:
        place = "" if self.source == self.name else f" from {self.source}"
        size = f"{plural(len(self.topics), 'topic')}, {plural(len(self.docs), 'document')}"
        return f"<Run {quote(self.name)}{place}: {size}>"

    @property
    def sizes(self) -> Places:
        """The number of documents of each topic."""
        return np.diff(self.starts)

    def pair_keys(self) -> Words:
        """Return the key of each (topic, doc) pair."""
        return pair_keys(self.topics, self.sizes, self.docs.words()) if self.keys is None else self.keys

    @property
    def frame(self) -> polars.DataFrame:
        """The run as a data frame with columns topic, doc and score, in file order."""
        return _frame(self, {"score": self.scores})

    def keep(self, rows: NDArray[np.bool_]) -> Run:
        """Return the run with only these rows; topics without rows stay, empty."""
        kept = np.concatenate([[0], np.cumsum(rows)])
        return replace(
            self,
            starts=kept[self.starts], docs=self.docs[rows], scores=self.scores[rows],
            ranks=None if self.ranks is None else self.ranks[rows],
            lines=rows.nonzero()[0] + 1 if self.lines is None else self.lines[rows],
            keys=None if self.keys is None else self.keys[rows], words=None,
        )  # fmt: skip

    @staticmethod
    def from_columns(
        topics: Sequence[str],
        docs: Sequence[str],
        scores: Iterable[float],
        *,
        name: str,
        tag: str | None = None,
    ) -> Run:
        """Build a run from three columns of equal length."""
        order, values, shared = _group_rows(topics, docs, scores, f"run {name!r}", "score")
        run = Run(name=name, tag=tag or name, source=name, scores=values, lines=order + 1, **shared)
        keys = run.pair_keys()
        _refuse_repeats(run, keys, f"run {name!r}")
        return replace(run, keys=keys)

    @staticmethod
    def from_dict(ranking: Mapping[str, Mapping[str, float]], *, name: str) -> Run:
        """Build a run from {topic: {doc: score}}, the shape that pytrec_eval and ranx use."""
        return Run.from_columns(*_flatten(ranking, f"run {name!r}", "score"), name=name)


class IntentGrades(NamedTuple):
    """The grades of documents for single intents (subtopics) of their topics."""

    starts: Places  # (row + 1,) the entries of the document in row r are starts[r] to starts[r + 1]
    intent: Places  # (entry,) numbered from 0 through all topics
    grades: Numbers  # (entry,)
    part: Places | None = None  # (entry,) subgroup in which documents were compared (preferences)
    names: Tokens | None = None  # (intent,) None: they have none

    def keep(self, rows: NDArray[np.bool_]) -> IntentGrades:
        """Return the entries of only these rows."""
        size = np.diff(self.starts)
        entries = np.repeat(rows, size)
        starts = np.concatenate([[0], np.cumsum(size[rows])])
        part = None if self.part is None else self.part[entries]
        return IntentGrades(starts, self.intent[entries], self.grades[entries], part, self.names)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False, kw_only=True)
class Qrels:
    """The judgments; those of topic t are rows starts[t] to starts[t + 1].

    A grade below 0 marks a document that was pooled but not judged, unless the policy for negative grades
    says otherwise.
    """

    source: str
    topics: tuple[str, ...]  # in byte order
    starts: Places  # (topic + 1,)
    docs: Tokens  # (row,)
    grades: Numbers  # (row,) whole numbers unless fractional grades were accepted
    groups: Tokens | None = None  # the second column: assessor or judgment group, if it varies
    parts: Tokens | None = None  # subgroup of a group, in which documents were compared (preferences)
    pool_ranks: Places | None = None  # best rank in a run that contributed to the pool; 0: unknown
    probabilities: Numbers | None = None  # probability of being selected for judging (prels)
    methods: Places | None = None  # sampling method that selected the document (prels)
    strata: Places | None = None  # part of the pool from which the document was sampled
    lines: Places | None = None  # the line of each row
    # highest grade of the scale, if judgments were removed; None: the highest here
    highest: float | None = None
    intents: IntentGrades | None = None  # of which `grades` has the best of each document

    def __repr__(self) -> str:
        relevant = int(np.count_nonzero(self.grades >= 1))
        size = f"{plural(len(self.topics), 'topic')}, {plural(len(self.docs), 'judgment')}"
        return f"<Qrels from {self.source}: {size}, {relevant:,} relevant>"

    @property
    def sizes(self) -> Places:
        """The number of judged documents of each topic."""
        return np.diff(self.starts)

    @property
    def lists_only_relevant(self) -> bool:
        """Return whether all judged documents are relevant, and more of them than could be so by chance.

        What else was judged is not known then: the judged share of a ranking is that of relevant documents.
        """
        return len(self.grades) >= LEAST_LISTED and bool((self.grades > 0).all())

    @property
    def best_grade(self) -> float:
        """The highest grade of the scale: at least 1, even if few judgments are left."""
        return max(1.0, float(self.grades.max(initial=0.0)), self.highest or 0.0)

    @property
    def frame(self) -> polars.DataFrame:
        """The judgments as a data frame with columns topic, doc, grade and whatever else is known."""
        groups = {} if self.groups is None else {"group": self.groups.texts()}
        return _frame(self, {"grade": self.grades, **groups, **self.sampling})

    @property
    def sampling(self) -> dict[str, Numbers | Places]:
        """Return what is known about how documents were selected for judging, by column name."""
        columns = {
            "pool_rank": self.pool_ranks, "probability": self.probabilities, "method": self.methods,
            "stratum": self.strata,
        }  # fmt: skip
        return {name: column for name, column in columns.items() if column is not None}

    def pair_keys(self) -> Words:
        """Return the key of each (topic, doc) pair."""
        return pair_keys(self.topics, self.sizes, self.docs.words())

    def keys_of_judgments(self) -> Words:
        """Return the key of each judgment; with groups, a document may be judged once in each group."""
        keys = self.pair_keys()
        if self.parts is not None:
            keys = keys ^ digests(self.parts.words()) * _PART_FACTOR
        return keys if self.groups is None else keys ^ digests(self.groups.words()) * _GROUP_FACTOR

    def without_empty_topics(self) -> Qrels:
        """Return the judgments without the topics that have none."""
        full = self.sizes > 0
        return replace(
            self,
            topics=tuple(topic for topic, some in zip(self.topics, full.tolist(), strict=True) if some),
            starts=np.concatenate([[0], self.starts[1:][full]]),
        )

    def of_topics(self, topics: Iterable[str]) -> Qrels:
        """Return only the judgments of these topics, on the same scale of grades."""
        wanted = set(topics)
        rows = np.repeat(np.array([topic in wanted for topic in self.topics], np.bool_), self.sizes)
        return replace(self.keep(rows).without_empty_topics(), highest=self.best_grade)

    def keep(self, rows: NDArray[np.bool_]) -> Qrels:
        """Return the judgments with only these rows; topics without rows stay, empty."""
        kept = np.concatenate([[0], np.cumsum(rows)])
        chosen: dict[str, Any] = {
            name: None if column is None else column[rows]
            for name, column in (
                ("docs", self.docs), ("grades", self.grades), ("groups", self.groups),
                ("parts", self.parts), ("pool_ranks", self.pool_ranks), ("probabilities", self.probabilities),
                ("methods", self.methods), ("strata", self.strata), ("lines", self.lines),
            )
        }  # fmt: skip
        intents = None if self.intents is None else self.intents.keep(rows)
        return replace(self, starts=kept[self.starts], intents=intents, **chosen)

    def united(self) -> Qrels:
        """Return the judgments of all groups as one set; where they differ, the best grade."""
        later, earlier = repeated_rows(self.pair_keys(), self.docs)
        keep = np.ones(len(self.docs), np.bool_)
        keep[later] = False
        return self._united(keep, later, earlier)

    def _united(self, keep: NDArray[np.bool_], later: Places, earlier: Places) -> Qrels:
        """Return the first row of each document, with the best grade of all of its rows."""
        grades = self.grades.copy()
        with np.errstate(invalid="ignore"):  # a grade that is no number has been reported
            np.maximum.at(grades, earlier, self.grades[later])
        return replace(self, grades=grades, groups=None, parts=None).keep(keep)

    def by_intent(self) -> Qrels:
        """Return one judgment of each document, with its best grade, and its grade for each intent.

        The intents are the groups; without groups, each topic is one intent.
        """
        if self.intents is not None:
            return self
        topic = np.repeat(np.arange(len(self.topics)), self.sizes)
        if self.groups is None:
            rows = np.arange(len(topic) + 1)
            return replace(self, intents=IntentGrades(rows, topic, self.grades))
        name = _codes(self.groups)
        code = topic * (int(name.max(initial=0)) + 1) + name
        _, first, intent = np.unique(code, return_index=True, return_inverse=True)
        later, earlier = repeated_rows(self.pair_keys(), self.docs)
        keep = np.ones(len(self.docs), np.bool_)
        keep[later] = False
        place = np.cumsum(keep) - 1  # of a document among all
        place[later] = place[earlier]
        order = np.argsort(place, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(place))])
        part = None if self.parts is None else _codes(self.parts)[order]
        united = self._united(keep, later, earlier)
        entries = (starts, intent[order], self.grades[order], part)
        return replace(united, intents=IntentGrades(*entries, self.groups[first]))

    @staticmethod
    def from_columns(
        topics: Sequence[str],
        docs: Sequence[str],
        grades: Iterable[float],
        *,
        source: str = "qrels",
        groups: Sequence[str] | None = None,
        pool_ranks: Iterable[int] | None = None,
        strata: Iterable[int] | None = None,
        probabilities: Iterable[float] | None = None,
    ) -> Qrels:
        """Build judgments from columns of equal length."""
        order, values, shared = _group_rows(topics, docs, grades, source, "grade", in_byte_order=True)
        qrels = Qrels(
            source=source,
            grades=values,
            groups=None if groups is None else Tokens.from_strings(groups)[order],
            pool_ranks=None if pool_ranks is None else np.array(list(pool_ranks), np.int64)[order],
            strata=None if strata is None else np.array(list(strata), np.int64)[order],
            probabilities=None if probabilities is None else np.array(list(probabilities))[order],
            lines=order + 1,
            **shared,
        )
        _refuse_repeats(qrels, qrels.keys_of_judgments(), source)
        return qrels

    @staticmethod
    def from_dict(judgments: Mapping[str, Mapping[str, float]], *, source: str = "qrels") -> Qrels:
        """Build judgments from {topic: {doc: grade}}."""
        return Qrels.from_columns(*_flatten(judgments, source, "grade"), source=source)


def _codes(texts: Tokens) -> Places:
    """Number different texts; of a stretch of equal ones, only the first is looked at."""
    digest = digests(texts.words())
    new = np.ones(len(digest), np.bool_)
    np.not_equal(digest[1:], digest[:-1], out=new[1:])
    _, codes = np.unique(digest[new], return_inverse=True)
    return codes[np.cumsum(new) - 1]


def _frame(table: Run | Qrels, columns: Mapping[str, Any]) -> polars.DataFrame:
    """Build a data frame with topic, document and more columns; refuse texts that are not UTF-8."""
    docs = table.docs.texts()
    for what, texts in (("topic", table.topics), ("document", docs), ("group", columns.get("group", ()))):
        refuse_stray_bytes(texts, f"{table.source}: {what}")
    topics = np.repeat(np.array(table.topics, dtype=object), table.sizes).tolist()
    data = {"topic": topics, "doc": docs, **columns}
    kinds: dict[str, Any] = {name: polars.String for name in ("topic", "doc", "group") if name in data}
    return polars.DataFrame(data, schema_overrides=kinds)


def _group_rows(
    topics: Sequence[str],
    docs: Sequence[str],
    numbers: Iterable[float],
    source: str,
    what: str,
    *,
    in_byte_order: bool = False,
) -> tuple[Places, Numbers, dict[str, Any]]:
    """Return the row order that groups topics, the numbers in it, and the columns that all tables share."""
    order, names, starts = group_by_topic(topics, in_byte_order=in_byte_order)
    values = np.array(list(numbers), np.float64)
    if not len(topics) == len(docs) == len(values):
        raise DataError(
            f"{source}: {len(topics)} topics, {len(docs)} documents and {len(values)} {what}s;"
            " the three columns must be equally long"
        )
    _refuse_infinite(values, topics, docs, source, what)
    shared = {"topics": names, "starts": starts, "docs": Tokens.from_strings(docs)[order]}
    return order, values[order], shared


def _flatten(
    given: Mapping[str, Mapping[str, float]], source: str, value: str
) -> tuple[list[str], list[str], list[float]]:
    """Return the topic, document and number of each row of {topic: {doc: number}}; refuse other shapes."""
    expected = f"{{topic: {{doc: {value}}}}}"
    expect(given, Mapping, source, expected)
    for docs in given.values():
        expect(docs, Mapping, source, expected)
        for number in docs.values():
            expect(number, Real, source, expected)
    return (
        [topic for topic, docs in given.items() for _ in docs],
        [doc for docs in given.values() for doc in docs],
        [number for docs in given.values() for number in docs.values()],
    )


def _refuse_infinite(
    values: Numbers, topics: Sequence[str], docs: Sequence[str], source: str, what: str
) -> None:
    """Raise an error for the first value that is not finite."""
    bad = (~np.isfinite(values)).nonzero()[0]
    if len(bad):
        row = int(bad[0])
        raise DataError(
            f"{source}: topic {shorten(topics[row])} gives document {quote(docs[row])}"
            f" the {what} {values[row]}; expected a finite number"
        )


def _refuse_repeats(table: Run | Qrels, keys: Words, source: str) -> None:
    """Raise an error if a topic lists a document twice."""
    later, _ = repeated_rows(keys, table.docs)
    if len(later):
        row = int(later[0])
        topic = table.topics[int(np.searchsorted(table.starts, row, side="right")) - 1]
        raise DataError(
            f"{source}: topic {shorten(topic)} lists document {quote(table.docs.text(row))} twice;"
            " expected it once"
        )


def single_precision(scores: Numbers) -> NDArray[np.float32]:
    """Return scores in the precision of trec_eval 9; too large ones become infinite."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32)


def byte_order(text: str) -> bytes:
    """Return the sort key of an id: its bytes, as strcmp compares them."""
    return text.encode("utf-8", "surrogateescape")


def group_by_topic(
    topics: Sequence[str], *, in_byte_order: bool = False
) -> tuple[Places, tuple[str, ...], Places]:
    """Return a stable row order that groups topics, the topics, and where each starts."""
    seen: dict[str, int] = {}
    codes = np.fromiter((seen.setdefault(topic, len(seen)) for topic in topics), np.int64, len(topics))
    names = list(seen)
    if in_byte_order:
        names.sort(key=byte_order)
        place = {name: number for number, name in enumerate(names)}
        codes = np.array([place[name] for name in seen], np.int64)[codes] if len(codes) else codes
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(names)))]).astype(np.int64)
    return order, tuple(names), starts
