"""Simulate full judging: draw complete judgments many times, and evaluate every run under each.

The relevance of an unjudged document is drawn from the run-weighted model of `sounding.relevance.model`,
fitted to the judgments. The model's weights are drawn too, so errors about documents of one run, or of one
topic, are correlated. The grade of a relevant document depends on its topic and on how likely it was to be
relevant. Some relevant documents are in none of the runs; their number varies with that of the drawn ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.workers import Progress, map_items
from sounding.measures import Measure
from sounding.measures.forms import drawn_relevance, new_elsewhere
from sounding.measures.regrading import Regrading, View, by_relevant_alone
from sounding.relevance.basis import Basis
from sounding.relevance.grades import DrawnGrades
from sounding.relevance.model import Evidence, Features, RunWeights, generator
from sounding.runs.align import treat_unjudged
from sounding.runs.ranking import Counts, Judgments, Ranking, Values
from sounding.runs.retrieved import NONE
from sounding.runs.topic_lists import TopicLists, topic_lists

Flags = NDArray[np.bool_]
GradeNumbers = NDArray[np.uint8]  # (draw, document) index of its grade on the scale; 0: not relevant

DRAWS = 100
MOST_CELLS = 300_000_000  # cells of the model's table of documents by runs; more would not fit in memory
_BLOCK = 20_000_000  # drawn grades processed at a time

POOL_NORMS = (
    ("AP", "c"),
    ("Q", "c"),
    ("nDCG", "b"),
)  # relevant documents in the pool, as Lu et al. count them


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Completions:
    """Complete judgments of the documents that count, drawn several times."""

    regrading: Regrading
    documents: Counts  # (column,) those that are judged or would be, by topic
    starts: Counts  # (topic + 1,) the columns of topic t are starts[t] to starts[t + 1]
    scale: Values  # the existing grades, from 0 upwards
    grades: GradeNumbers  # (draw, column)
    elsewhere: Counts  # (draw, topic, grade) documents that no run has: judged ones, and drawn relevant ones
    unseen: Counts  # (draw, topic) the drawn ones of these

    @property
    def draws(self) -> int:
        """The number of draws."""
        return len(self.grades)

    def values(
        self, measures: Sequence[Measure], *, processes: int = 1, progress: Progress | None = None
    ) -> NDArray[np.float64]:
        """(run, measure, draw, topic): Evaluate all runs in every draw; NaN if a topic is skipped."""
        _refuse_pools(measures)
        runs = range(len(self.regrading.runs))
        parts = [
            _DrawPart(self, slice(begin, begin + self._step), measures)
            for begin in range(0, self.draws, self._step)
        ]

        def work(run: int) -> NDArray[np.float64]:
            return np.concatenate([part.values(run, measures) for part in parts], axis=1)

        return np.array(map_items(work, runs, processes=processes, progress=progress))

    def narrowed(self, view: View, kept: Flags) -> Completions:
        """Leave unjudged what is not kept, (document,): the outcome of judging fewer documents.

        `view` are the judgments that the draws complete. Of the relevant documents that no run has, those
        stay that come with the relevant ones that stay.
        """
        drawn = np.isnan(view.grades[self.documents])
        stays = ~drawn | kept[self.documents]
        topic = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        shape = len(self.grades), len(self.starts) - 1
        found, left = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for count, those in ((found, drawn), (left, drawn & stays)):
            draw, column = (self.grades[:, those] > 0).nonzero()
            np.add.at(count, (draw, topic[those][column]), 1)
        share = np.divide(left, found, out=np.zeros(shape), where=found > 0)
        unseen = np.rint(self.unseen * share).astype(np.int64)
        elsewhere = self.elsewhere.copy()
        elsewhere[:, :, 1] += unseen - self.unseen
        return replace(
            self, documents=self.documents[stays], grades=self.grades[:, stays], unseen=unseen,
            starts=np.searchsorted(topic[stays], np.arange(len(self.starts))), elsewhere=elsewhere,
        )  # fmt: skip

    @property
    def _step(self) -> int:
        """Draws processed at a time."""
        return max(1, _BLOCK // max(len(self.documents), 1))


def _refuse_pools(measures: Sequence[Measure]) -> None:
    """Refuse measures that need pool ranks, which drawn judgments do not have."""
    for measure in measures:
        if (measure.name, measure.get("norm")) in POOL_NORMS or measure.get("ideal") == "ii":
            raise DataError(
                f"{measure} needs the pool depth of each judgment, which drawn judgments do not have;"
                " use norm='a', or do not ask whether conclusions hold"
            )


class _DrawPart:
    """Some of the draws, each treated as a separate set of topics."""

    def __init__(self, whole: Completions, draws: slice, measures: Sequence[Measure]) -> None:
        regrading = whole.regrading
        self.regrading, self.scale, self.grades = regrading, whole.scale, whole.grades[draws]
        self.elsewhere = whole.elsewhere[draws]
        self.topics = len(regrading.topics)
        self.judgments = {
            every: self._judgments(whole, every) for every in {self._every(measure) for measure in measures}
        }
        self.column = np.full(len(regrading.retrieved.docs) + 1, NONE)
        self.column[whole.documents] = np.arange(len(whole.documents))
        self.relevant = np.append(self.grades.any(axis=0), False)  # NONE refers to the last place

    def values(self, run: int, measures: Sequence[Measure]) -> NDArray[np.float64]:
        """Return the values, (measure, draw, topic)."""
        policies = self.regrading.policies
        needed = {self._every(measure) for measure in measures}
        rankings = {every: treat_unjudged(self._ranking(run, every), policies) for every in needed}
        values = np.array([measure(rankings[self._every(measure)]) for measure in measures])
        if policies.missing == "skip":
            values[:, next(iter(rankings.values())).missing] = np.nan
        return values.reshape(len(measures), len(self.grades), self.topics)

    def _every(self, measure: Measure) -> bool:
        """Return whether documents that are not relevant must be processed."""
        return not by_relevant_alone(measure) or self.regrading.policies.unjudged == "condensed"

    def _judgments(self, whole: Completions, every: bool) -> Judgments:
        """Return the judgments of each draw's topics; `every`: with documents that are not relevant."""
        draws, levels = len(self.grades), len(self.scale)
        counts = np.zeros((draws, self.topics, levels), np.int64)
        for level in range(0 if every else 1, levels):
            found = np.zeros((draws, len(whole.documents) + 1), np.int64)
            np.cumsum(self.grades == level, axis=1, out=found[:, 1:])
            counts[:, :, level] = np.diff(found[:, whole.starts], axis=1) + self.elsewhere[:, :, level]
        best_first = counts[:, :, ::-1]
        return Judgments(
            topics=self.regrading.topics * draws,
            starts=np.concatenate([[0], np.cumsum(counts.sum(axis=2).ravel())]),
            grades=np.repeat(np.tile(self.scale[::-1], draws * self.topics), best_first.ravel()),
            pool_ranks=None, pooled=np.zeros(draws * self.topics, np.int64),
            highest=self.regrading.judgments.highest,
        )  # fmt: skip

    def _ranking(self, run: int, every: bool) -> Ranking:
        lists = self.regrading.retrieved.lists[run]
        column = self.column[lists]
        (listed,) = ((column != NONE) & (every | self.relevant[column])).ravel().nonzero()
        topic, place = np.divmod(listed, max(lists.shape[1], 1))
        drawn = self.grades.take(column.ravel()[listed], axis=1)
        # NumPy is several times slower along two axes.
        chosen = np.ones_like(drawn, np.bool_) if every else drawn != 0
        (at,) = chosen.ravel().nonzero()
        grade = drawn.ravel().take(at)
        draw = np.repeat(np.arange(len(drawn)), np.count_nonzero(chosen, axis=1))
        at -= draw * len(listed)
        length = np.tile(np.count_nonzero(lists != NONE, axis=1), len(self.grades))
        none = np.empty(0, np.int64)
        ranking = Ranking(
            run=self.regrading.runs[run], judgments=self.judgments[every],
            topic=draw * self.topics + topic.take(at), rank=(place + 1).take(at),
            grade=self.scale.take(grade), retrieved=length, missing=length == 0,
            pooled_topic=none, pooled_rank=none,
            old_recall_points=self.regrading.policies.compat == "trec_eval-9",
        )  # fmt: skip
        depth = self.regrading.policies.depth
        return ranking if depth is None else ranking.cut(depth)


def draw_completions(
    regrading: Regrading,
    view: View,
    considered: Flags,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    unseen: bool = True,
) -> Completions:
    """Draw the outcome of full judging: keep the judgments of a view, draw the considered documents.

    All other documents stay unjudged. A document is relevant if its grade is above 0. `unseen`: also draw
    relevant documents that no run has.
    """
    refuse_samples(regrading)
    held = regrading.retrieved.holders() > 0
    judged = np.isfinite(view.grades)
    lists = topic_lists(regrading.retrieved, chosen=held & (judged | considered))
    documents = np.concatenate([np.empty(0, np.int64), *(topic.documents for topic in lists)])
    if len(documents) * (len(regrading.runs) + 2) > MOST_CELLS:
        raise DataError(
            f"judging {len(documents):,} documents of {len(regrading.runs)} runs does not fit into memory;"
            " give a smaller --until"
        )
    known = view.grades[documents]
    scale = _scale(view.judgments.grades, regrading.judgments.highest)
    grades = np.zeros((draws, len(documents)), np.uint8)
    seen = np.isfinite(known)
    grades[:, seen] = np.searchsorted(scale, known[seen])
    topic = np.repeat(np.arange(len(lists)), [one.size for one in lists])
    starts = np.searchsorted(topic, np.arange(len(lists) + 1))
    elsewhere = np.repeat(_elsewhere(view, known[seen], topic[seen], scale)[np.newaxis], draws, axis=0)
    more = np.zeros((draws, len(lists)), np.int64)
    if not seen.all():
        found = _draw(grades, elsewhere.shape[2] - 1, lists, seen, seed)
        more = found if unseen else more
        elsewhere[:, :, 1] += more
    return Completions(
        regrading=regrading, documents=documents, starts=starts, scale=scale, grades=grades,
        elsewhere=elsewhere, unseen=more,
    )  # fmt: skip


def basis_of(regrading: Regrading, view: View, considered: Flags) -> Basis:
    """Return what a probability would rest on if `considered` documents were judged."""
    ranks, judged = regrading.retrieved.best_ranks(), np.isfinite(view.grades)
    seen = judged & (ranks > 0)
    return Basis.of(
        len(regrading.runs), ranks[seen], view.grades[seen] > 0,
        int(np.count_nonzero(considered & (ranks > 0) & ~judged)),
    )  # fmt: skip


def refuse_samples(regrading: Regrading) -> None:
    """Refuse judgments that are a sample with known probabilities."""
    qrels = regrading.qrels
    if qrels.strata is not None or qrels.probabilities is not None:
        raise DataError(
            f"{qrels.source}: these judgments are a random sample; to estimate the values under full judging,"
            " use measures such as xinfAP"
        )


def _draw(grades: GradeNumbers, levels: int, lists: Sequence[TopicLists], seen: Flags, seed: int) -> Counts:
    """Fill in the grades of unjudged documents; return how many relevant ones no run has, (draw, topic).

    `levels` is the number of relevant grades.
    """
    draws, judged = len(grades), seen.nonzero()[0]
    number = grades[0, judged].astype(np.int64)
    features = Features.of(lists)
    belief = RunWeights(features).fitted(Evidence(judged, number > 0))
    odds, shape = belief.drawn(draws, (seed,)), (len(lists), levels)
    better = DrawnGrades.of(number, judged, belief.log_odds, features.topic, shape, draws, (seed,))
    unseen = np.zeros((draws, len(lists)), np.int64)
    for topic, own in enumerate(features.places()):
        relevant = drawn_relevance(odds.of_topic(own, topic), seed, topic).T
        relevant[:, seen[own]] = False
        draw, place = relevant.nonzero()
        rng = generator("relevance", seed, topic, 1)
        grades[draw, own.start + place] = better.of_topic(topic, own.start + place, draw, rng)
        unseen[:, topic] = new_elsewhere(odds, topic, np.bincount(draw, minlength=draws))
    return unseen


def _scale(grades: Values, highest: float) -> Values:
    """Return the existing grades from 0."""
    relevant = np.unique(grades[grades > 0])
    return np.concatenate([[0.0], relevant if len(relevant) else [highest]])


def _elsewhere(view: View, known: Values, topic: Counts, scale: Values) -> Counts:
    """(topic, grade): Count the judged documents that are in no list."""
    shape = (len(view.judgments.topics), len(scale))
    total = _count_grades(view.judgments.topic, view.judgments.grades, scale, shape)
    return total - _count_grades(topic, known, scale, shape)


def _count_grades(topic: Counts, grades: Values, scale: Values, shape: tuple[int, int]) -> Counts:
    place = topic * shape[1] + np.searchsorted(scale, grades)
    return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape)
