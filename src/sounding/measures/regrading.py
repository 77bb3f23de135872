"""Runs and judgments under one numbering of documents: read once, regraded as often as needed.

Removing or replacing judgments changes grades by document number. Every run can then be regraded with any
measure, without being read or ordered again. The scale of the grades remains that of the qrels, even if few
judgments are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies, check_policies
from sounding.core.workers import Progress
from sounding.data.formats import read_qrels
from sounding.data.reading import check_topics_had
from sounding.data.tables import Qrels
from sounding.measures import Measure
from sounding.measures.summaries import summaries
from sounding.runs.align import hold_judgments, prepare, treat_unjudged
from sounding.runs.ranking import Counts, Judgments, Ranking, Values
from sounding.runs.retrieved import NONE, Numbers, Retrieved, read_retrieved

GONE, POOLED, JUDGED = 0, 1, 2  # states of a judgment: never pooled, pooled but not judged, kept
States = NDArray[np.int8]  # (qrels row,)
Flags = NDArray[np.bool_]

LEAST_RELEVANT = 1  # judgments of a topic that every random subset keeps, if there are that many
LEAST_OTHERS = 10

CELLS_AT_ONCE = 2**23  # places in lists that are graded at a time

# These do not depend on which documents were judged not relevant, so those need not be processed.
BY_RELEVANT_ALONE = frozenset(
    {
        "P", "R", "RelP", "F", "Success", "RR", "AP", "GMAP", "Rprec", "nDCG", "DCG", "Q", "RBP", "ERR",
        "SDCG", "SetP", "SetR", "SetF", "SetAP", "INSQ",
    }
)  # fmt: skip


def by_relevant_alone(measure: Measure) -> bool:
    """Return whether documents judged not relevant count like unjudged ones: grade 0 is nothing to it."""
    if measure.name not in BY_RELEVANT_ALONE or measure.get("judged_only") or measure.get("assessed"):
        return False
    level, gains = measure.get("rel"), measure.get("gains")
    return (level is None or level > 0) and (gains is None or 0 not in dict(gains))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class View:
    """Some topics, with the grades of their documents."""

    topics: Counts  # (topic,) ascending, among those of the collection
    judgments: Judgments  # of these topics
    states: States  # (document + 1,) NONE refers to the last place
    grades: Values  # (document,) NaN: not judged
    among: Flags | None = None  # (document,) no other can be relevant in views like this; None: in the qrels

    @property
    def judged(self) -> Flags:
        """(document + 1,): whether it is judged."""
        return self.states == JUDGED


class _Listed(NamedTuple):
    """Where some documents stand in the lists: run by run, topic by topic, best rank first."""

    run: Numbers
    topic: Numbers
    rank: Numbers  # from 1
    document: Counts


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Regrading:
    """The documents that several runs retrieved, and their judgments."""

    qrels: Qrels
    retrieved: Retrieved  # its topics are those of the qrels
    judgments: Judgments  # all of them
    rows: Counts  # (qrels row,) all rows, by topic and best grade first
    row_topic: Counts  # (row,)
    row_grade: Values  # (row,) at least 0; 0 if a document was pooled but not judged
    row_document: Counts  # (row,) number of the document; NONE: no run has it
    full: States  # (row,) as in the qrels: POOLED or JUDGED
    policies: Policies
    _known: dict[str, tuple[Retrieved, Any, Any]] = field(default_factory=dict, repr=False)

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return self.retrieved.runs

    @property
    def topics(self) -> tuple[str, ...]:
        """The judged topics, in byte order."""
        return self.judgments.topics

    @property
    def document(self) -> Counts:
        """(judgment,): the number of the judged document; NONE if no run has it."""
        return self.row_document[self.rows[self.full[self.rows] == JUDGED]]

    def grades(self) -> Values:
        """(document,): Return its grade; NaN if not judged."""
        return self.view().grades

    def with_pool_ranks(self, contributing: Flags) -> Self:
        """Add the best rank that a contributing run gives each judged document; 0 if none has it."""
        best = np.append(self.retrieved.pick(contributing).best_ranks(), 0)
        ranks = best[self.row_document]
        judgments = replace(
            self.judgments, pool_ranks=ranks[self.rows[self.full[self.rows] == JUDGED]], _known={}
        )
        qrels = replace(self.qrels, pool_ranks=ranks)
        hold_judgments(qrels, like=self.qrels)
        return replace(self, qrels=qrels, judgments=judgments)

    # -- other judgments ---------------------------------------------------------------------------

    def view(self, lost: Flags | None = None, topics: Counts | None = None) -> View:
        """Return all judgments, or those without the documents `lost`; of all topics, or some."""
        if lost is None:
            return self.under(self.full, topics)
        gone = np.append(lost, False)[self.row_document] & (self.full == JUDGED)
        return self.under(np.where(gone, GONE, self.full).astype(np.int8), topics)

    def under(self, states: States, topics: Counts | None = None) -> View:
        """Return the judgments when each qrels row is in one of the three states."""
        chosen = np.arange(len(self.topics)) if topics is None else topics
        place = np.full(len(self.topics), -1)
        place[chosen] = np.arange(len(chosen))
        topic = place[self.row_topic]
        rows = self.rows[(states[self.rows] == JUDGED) & (topic[self.rows] >= 0)]
        ranks = self.qrels.pool_ranks
        judgments = Judgments(
            topics=tuple(self.topics[number] for number in chosen.tolist()),
            starts=_starts(topic[rows], len(chosen)),
            grades=self.row_grade[rows],
            pool_ranks=None if ranks is None else ranks[rows],
            pooled=np.bincount(topic[(states == POOLED) & (topic >= 0)], minlength=len(chosen)),
            highest=self.judgments.highest,
        )
        known = self.row_document != NONE
        found = np.full(len(self.retrieved.docs) + 1, GONE, np.int8)
        found[self.row_document[known]] = states[known]
        grades = np.full(len(self.retrieved.docs), np.nan)
        seen = known & (states == JUDGED)
        grades[self.row_document[seen]] = self.row_grade[seen]
        return View(topics=chosen, judgments=judgments, states=found, grades=grades)

    def pretend(self, relevant: Flags, among: Flags | None = None) -> View:
        """Return the view in which exactly these documents were judged, all relevant.

        `among` are the documents that all views of a kind take them from, which are looked up once.
        """
        topic = self.retrieved.topic[relevant]
        judgments = Judgments(
            topics=self.topics, starts=_starts(topic, len(self.topics)), grades=np.ones(len(topic)),
            pool_ranks=None, pooled=np.zeros_like(self.judgments.pooled), highest=1.0,
        )  # fmt: skip
        return View(
            topics=np.arange(len(self.topics)), judgments=judgments,
            states=np.append(np.where(relevant, JUDGED, GONE), GONE).astype(np.int8),
            grades=np.where(relevant, 1.0, np.nan), among=relevant if among is None else among,
        )  # fmt: skip

    # -- values ------------------------------------------------------------------------------------

    def ranking(self, run: int, view: View) -> Ranking:
        """Return one run as the measures see it, graded by a view."""
        lists, averaged = self.retrieved.lists[run][view.topics], self.policies.ties == "average"
        states = view.states[lists]  # small enough to stay in the cache
        topic, place = (states == JUDGED).nonzero()
        retrieved = np.count_nonzero(lists != NONE, axis=1)
        pooled_topic = pooled_place = np.empty(0, np.int64)
        if view.judgments.pooled.any():
            pooled_topic, pooled_place = (states == POOLED).nonzero()
        ranking = Ranking(
            run=self.runs[run], judgments=view.judgments, topic=topic, rank=place + 1,
            grade=view.grades[lists[topic, place]], retrieved=retrieved, missing=retrieved == 0,
            pooled_topic=pooled_topic, pooled_rank=pooled_place + 1,
            ties=self.retrieved.tie_blocks(run, view.topics, topic, place) if averaged else None,
            old_recall_points=self.policies.compat == "trec_eval-9",
        )  # fmt: skip
        if self.policies.depth is not None:
            ranking = ranking.cut(self.policies.depth)
        return treat_unjudged(ranking, self.policies)

    def values(self, measures: Sequence[Measure], view: View, runs: Iterable[int] | None = None) -> Values:
        """(run, measure, topic): Evaluate all runs, or some, under a view; NaN if a topic is skipped."""
        chosen = np.array(range(len(self.runs)) if runs is None else list(runs), np.int64)
        values = np.full((len(chosen), len(measures), len(view.topics)), np.nan)
        plain = self.policies.unjudged == "nonrelevant" and self.policies.ties != "average"
        together = [n for n, measure in enumerate(measures) if plain and by_relevant_alone(measure)]
        single = [n for n in range(len(measures)) if n not in together]
        if together and len(chosen):
            values[:, together] = self._values([measures[n] for n in together], view, chosen)
        for row, run in enumerate(chosen.tolist() if single else ()):
            ranking = self.ranking(run, view)
            for number in single:
                values[row, number] = measures[number](ranking)
        if self.policies.missing == "skip":
            values.swapaxes(0, 1)[:, self._lengths()[chosen][:, view.topics] == 0] = np.nan
        return values

    def _values(self, measures: Sequence[Measure], view: View, runs: Counts) -> Values:
        """(run, measure, topic): Evaluate measures that see relevant documents alone, many runs at a time."""
        topics, judgments = len(view.topics), view.judgments.relevant_only()
        cells = max(1, len(view.topics) * self.retrieved.depth, len(judgments.grades))
        step = max(1, CELLS_AT_ONCE // cells)
        values = np.empty((len(runs), len(measures), topics))
        none = np.empty(0, np.int64)
        for begin in range(0, len(runs), step):
            chosen = runs[begin : begin + step]
            row, topic, rank, document = self._relevant(view, chosen)
            length = self._lengths()[chosen][:, view.topics].ravel()
            ranking = Ranking(
                run="", judgments=judgments.copied(len(chosen)), topic=row * topics + topic, rank=rank,
                grade=view.grades[document], retrieved=length, missing=length == 0, pooled_topic=none,
                pooled_rank=none, old_recall_points=self.policies.compat == "trec_eval-9",
            )  # fmt: skip
            if self.policies.depth is not None:
                ranking = ranking.cut(self.policies.depth)
            for number, measure in enumerate(measures):
                values[begin : begin + step, number] = measure(ranking).reshape(len(chosen), topics)
        return values

    def _relevant(self, view: View, runs: Counts) -> tuple[Counts, Counts, Counts, Counts]:
        """Return the relevant documents that runs have: places of run and topic, rank, and number."""
        relevant, among = view.grades > 0, view.among
        if among is None:
            among = self._remember("ever relevant", self._ever_relevant)
        listed = self._remember("places", lambda: self._places(among), among)
        chosen = relevant[listed.document]
        if len(view.topics) < len(self.topics):
            of_view = np.zeros(len(self.topics), np.bool_)
            of_view[view.topics] = True
            chosen &= of_view[listed.topic]
        if np.array_equal(runs, np.arange(len(self.runs))):
            rows = chosen.nonzero()[0]
            row = listed.run[rows].astype(np.int64)
        else:
            ends = np.searchsorted(listed.run, np.array([runs, runs + 1])).T.tolist()
            parts = [begin + chosen[begin:end].nonzero()[0] for begin, end in ends]
            rows = np.concatenate(parts)
            row = np.repeat(np.arange(len(runs)), [len(part) for part in parts])
        place = np.full(len(self.topics), -1)
        place[view.topics] = np.arange(len(view.topics))
        return row, place[listed.topic[rows]], listed.rank[rows].astype(np.int64), listed.document[rows]

    def _places(self, among: Flags) -> _Listed:
        """Return where some documents stand in the lists, run by run."""
        flags, lists = np.append(among, False), self.retrieved.lists
        topics, depth = lists.shape[1:]
        step = max(1, CELLS_AT_ONCE // max(lists[0].size, 1))
        parts = [
            flags[lists[begin : begin + step]].ravel().nonzero()[0] + begin * lists[0].size
            for begin in range(0, len(lists), step)
        ]
        where = np.concatenate(parts)
        line, rank = np.divmod(where, max(depth, 1))
        run, topic = np.divmod(line, max(topics, 1))
        return _Listed(
            run.astype(np.int32), topic.astype(np.int32), (rank + 1).astype(np.int32),
            lists.ravel()[where].astype(np.int64),
        )  # fmt: skip

    def _ever_relevant(self) -> Flags:
        """(document,): Return whether it is relevant in the qrels."""
        flags = np.zeros(len(self.retrieved.docs), np.bool_)
        flags[self.row_document[(self.row_grade > 0) & (self.row_document != NONE)]] = True
        return flags

    def _lengths(self) -> Counts:
        """(run, topic): Return the lengths of the lists."""
        return self._remember("lengths", lambda: self.retrieved.lengths)

    def _remember(self, key: str, compute: Callable[[], Any], of: Any = None) -> Any:
        """Return compute(), computed once for these lists and what it is the result `of`."""
        retrieved, origin, found = self._known.get(key, (None, None, None))
        if retrieved is not self.retrieved or origin is not of:
            found = compute()
            self._known[key] = self.retrieved, of, found
        return found

    def means(self, measures: Sequence[Measure], view: View) -> Values:
        """(run, measure): Summarize each measure over topics under a view."""
        return summaries(self.values(measures, view), measures)


def _starts(topic: Counts, topics: int) -> Counts:
    return np.concatenate([[0], np.cumsum(np.bincount(topic, minlength=topics))])


def read_regrading(
    qrels: Any,
    runs: Any,
    *,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Regrading:
    """Read judgments and runs, each once: files, tables, dicts or frames, as for `evaluate`.

    Runs may also be the result of an earlier reading, with all their documents.
    """
    refuse_intervals(policies)
    judgments = read_qrels(
        qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    if isinstance(runs, Retrieved):
        for name, lengths in zip(runs.runs, runs.lengths.tolist(), strict=True):
            had = [topic for topic, length in zip(runs.topics, lengths, strict=True) if length]
            check_topics_had(name, had, judgments.topics, policies)
        retrieved = runs.narrowed(topics=judgments.topics)
    else:
        retrieved = read_retrieved(
            runs, topics=judgments.topics, judged=True, policies=policies, run_format=run_format, jobs=jobs,
            progress=progress,
        )  # fmt: skip
    return regrade(judgments, retrieved, policies)


def regrade(qrels: Qrels, retrieved: Retrieved, policies: Policies = DEFAULT_POLICIES) -> Regrading:
    """Combine judgments with what runs retrieved for their topics, both already read."""
    refuse_intervals(policies)
    judged = prepare(qrels, policies)
    here, there = retrieved.find(judged)
    document = np.full(len(judged.grades), NONE)
    document[there] = here
    return Regrading(
        qrels=qrels, retrieved=retrieved, judgments=replace(judged.judgments, sampling=None, intents=None),
        rows=np.lexsort((-judged.grades, judged.topic)), row_topic=judged.topic,
        row_grade=np.maximum(judged.grades, 0.0), row_document=document,
        full=np.where(judged.grades >= 0, JUDGED, POOLED).astype(np.int8), policies=policies,
    )  # fmt: skip


def refuse_intervals(policies: Policies) -> None:
    """Refuse policies under which a value is not a single number."""
    check_policies(policies)
    if policies.unjudged in ("bounds", "expected"):
        raise DataError(
            f"unjudged {policies.unjudged}: new judgments can only be simulated"
            " with unjudged nonrelevant or condensed"
        )


# -- random parts of the judgments -----------------------------------------------------------------

# As in Buckley & Voorhees (2004): for every topic the relevant and the other judged documents are each put in
# random order, and a share of both is kept from the front. So a smaller subset is part of every larger one of
# the same draw.


def part_of_judgments(regrading: Regrading, share: float, seed: Sequence[int], *, level: float = 1) -> States:
    """Return the state of every judgment when a random share of them is kept."""
    sizes = PartSizes.of(regrading, level)
    stays = random_places(regrading, level, seed) < sizes.kept(share)[sizes.group]
    return np.where(stays, regrading.full, POOLED).astype(np.int8)


@dataclass(frozen=True, slots=True, eq=False)
class PartSizes:
    """The number of judgments of each kind: group 2t + 1 are the relevant ones of topic t, 2t the others."""

    group: NDArray[np.int64]  # (qrels row,)
    total: NDArray[np.int64]  # (group,)
    least: NDArray[np.int64]  # (group,) kept whatever the share

    @staticmethod
    def of(regrading: Regrading, level: float) -> PartSizes:
        """Count the judgments of a collection."""
        group = _kinds(regrading, level)
        total = np.bincount(group[regrading.full == JUDGED], minlength=2 * len(regrading.topics))
        return PartSizes(group, total, np.tile([LEAST_OTHERS, LEAST_RELEVANT], len(regrading.topics)))

    def kept(self, share: float) -> NDArray[np.int64]:
        """(group,): Return how many are kept, to the nearest whole number."""
        return np.minimum(
            self.total, np.maximum(self.least, np.floor(share * self.total + 0.5).astype(np.int64))
        )


def _kinds(regrading: Regrading, level: float) -> NDArray[np.int64]:
    return regrading.row_topic * 2 + (regrading.row_grade >= level)


def random_places(regrading: Regrading, level: float, seed: Sequence[int]) -> NDArray[np.int64]:
    """(qrels row,): Return its place, from 0, in a random order of the judgments of its topic and kind.

    Documents that were pooled but not judged come last, because they have no judgment to lose.
    """
    rng = np.random.default_rng(seed)
    group = _kinds(regrading, level)
    chance = np.where(regrading.full == JUDGED, rng.random(len(group)), 2.0)
    order = np.lexsort((chance, group))
    starts = np.searchsorted(group[order], np.arange(2 * len(regrading.topics)))
    place = np.empty(len(group), np.int64)
    place[order] = np.arange(len(group)) - starts[group[order]]
    return place
