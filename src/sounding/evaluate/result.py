"""Values of runs by measure and topic, the columns beside them, and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.display import Displayed
from sounding.core.lazy import polars
from sounding.core.policies import Policies
from sounding.data.fast.tokens import refuse_stray_bytes
from sounding.measures.paired import preferences
from sounding.measures.registry import Measure
from sounding.measures.summaries import GEOMETRIC_FLOOR, mean_over_topics, summaries
from sounding.runs.pairs import Pairs

BOUNDS = ("lower", "upper", "residual_unjudged", "residual_tail")  # arrays of ValueBounds
RUN, MEASURE, TOPIC = 0, 1, 2  # axes of the arrays
NOISE = 1e-12  # rounding error of bounds that meet
FEW_TOPICS = 25  # Voorhees (2002): fewer topics do not carry a comparison
FEW_RUNS = 5  # with fewer, tau between two orders of the runs says nothing: of two it is 1 or -1


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Scores(Displayed):
    """The value of every measure for every run and topic, with what was counted on the way."""

    runs: tuple[str, ...]
    tags: tuple[str, ...]  # the tag of each run
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]  # the judged topics, in byte order
    values: NDArray[np.float64]  # (run, measure, topic); NaN: not defined, or the topic is skipped
    texts: Mapping[Measure, NDArray[np.object_]]  # (run, topic) for measures that give text
    judged: NDArray[np.float64]  # (run, measure, topic): share judged down to the measure's depth; NaN: empty
    lengths: NDArray[np.int64]  # (run, topic): documents that count, after depth and condensation
    missing: NDArray[np.bool_]  # (run, topic): the run lacks the topic
    ignored: tuple[int, ...]  # (run,): topics of the run that nobody judged
    without_relevant: tuple[str, ...]  # topics that have no relevant document: none of grade `level`
    level: float  # the highest level of relevance among the measures
    policies: Policies
    remarks: tuple[str, ...]  # other changes of the values: residual collection, groups, z-scores
    sampling_errors: NDArray[np.float64]  # (run, measure, topic) of estimates from a sample; NaN: none
    only_relevant: bool = False  # the qrels list relevant documents alone: nobody knows what else was judged
    sampled: bool = False  # the judgments are a sample: probabilities or strata
    judged_by_rank: NDArray[np.int64] | None = None  # (run, rank) over all topics, beside FirstUnjudged
    bounds: ValueBounds | None = None  # where the policy for unjudged documents asks for bounds
    expected: ExpectedValues | None = None  # where it asks for expected values
    # (run, topic) ranks of relevant documents, for measures that compare two runs; their `values` are the
    # mean preferences over all other runs that were evaluated.
    ranks: Mapping[Measure, NDArray[np.object_]] = field(default_factory=dict)

    def preferences(self, measure: Measure, pairs: Pairs) -> NDArray[np.float64] | None:
        """(pair, topic): by how much a measure that compares runs prefers the first of each pair.

        NaN where one of the two has no value; None: the measure does not compare runs.
        """
        if measure not in self.ranks:
            return None
        values = self.values[:, self.measures.index(measure)][pairs.T]
        return np.where(
            np.isnan(values).any(axis=0), np.nan, preferences(measure, self.ranks[measure], pairs)
        )

    def mean(self) -> NDArray[np.float64]:
        """(run, measure): each measure's own summary over topics (mean, sum, geometric mean); NaN: none."""
        return summaries(self.values, self.measures)

    def judged_share(self) -> NDArray[np.float64]:
        """(run, measure): mean share of judged documents down to the measure's depth, where there are any."""
        return mean_over_topics(self.judged)

    def beside(self) -> dict[str, NDArray[np.float64]]:
        """Return the columns beside every value, by name: (run, measure, topic) each; NaN: not known."""
        if self.bounds is not None:
            return {name: getattr(self.bounds, name) for name in BOUNDS}
        if self.expected is not None:
            known = self.expected
            return {"expected": known.mean, "deviation": known.deviation, "error": known.error}
        return {}

    def beside_mean(self) -> dict[str, NDArray[np.float64]]:
        """Return the columns beside every mean over topics: (run, measure) each."""
        whole = replace(
            self,
            bounds=None if self.bounds is None else self.bounds.over_topics(self.measures),
            expected=None if self.expected is None else self.expected.over_topics(self.measures),
        )
        return whole.beside()

    def counted(self) -> NDArray[np.int64]:
        """(run, measure): over how many topics each summary is taken."""
        return np.count_nonzero(~np.isnan(self.values), axis=2)

    def deviation(self) -> NDArray[np.float64]:
        """(run, measure): standard deviation over topics (n - 1); NaN for fewer than two."""
        counted = self.counted()
        centered = self.values - mean_over_topics(self.values)[..., np.newaxis]
        squares = np.nansum(centered**2, axis=2)
        return np.sqrt(np.divide(squares, counted - 1, out=np.full(squares.shape, np.nan), where=counted > 1))

    def standard_error(self) -> NDArray[np.float64]:
        """(run, measure): standard error of the mean, or sum, over topics; NaN for fewer than two."""
        counted = np.maximum(self.counted(), 1)
        return self.deviation() / np.sqrt(counted) * np.where(self._summed(), counted, 1)

    def _summed(self) -> NDArray[np.bool_]:
        """(measure,): whose summary is the sum over topics."""
        return np.array([measure.definition.aggregate == "sum" for measure in self.measures])

    def sampling_error(self) -> NDArray[np.float64]:
        """(run, measure): standard error of the summary from judging a sample only; NaN: no such error."""
        known = np.count_nonzero(~np.isnan(self.sampling_errors), axis=-1)
        total = np.sqrt(np.nansum(self.sampling_errors**2, axis=-1))
        share = np.where(self._summed(), 1, known)
        return np.divide(total, share, out=np.full(total.shape, np.nan), where=known > 0)

    def geometric_mean(self) -> NDArray[np.float64]:
        """(run, measure): geometric mean over topics; below 1e-5 counts as 1e-5 (trec_eval's rule)."""
        return np.exp(mean_over_topics(np.log(np.maximum(self.values, GEOMETRIC_FLOOR))))

    def __repr__(self) -> str:
        measures = ", ".join(map(str, self.measures[:5])) + (", ..." if len(self.measures) > 5 else "")
        return f"<Scores of {len(self.runs)} runs on {len(self.topics)} topics: {measures}>"

    def order(self, measures: Sequence[int] | None = None) -> list[int]:
        """Return the runs from best to worst by the measure that ranks them; equal ones by name.

        `measures` gives the places of the measures in the order in which they count.
        """
        number = self._ranking_measure(range(len(self.measures)) if measures is None else measures)
        if number is None:
            return list(range(len(self.runs)))
        leading = np.nan_to_num(self.mean()[:, number], nan=-np.inf)
        return sorted(range(len(self.runs)), key=lambda run: (-leading[run], self.runs[run]))

    def silent_bounds(self) -> list[tuple[int, float, float]]:
        """Return recall measures whose bounds separate no runs: (measure, mean width, largest difference)."""
        if self.bounds is None or len(self.runs) < 2:
            return []
        means, bounds = self.mean(), self.bounds.over_topics(self.measures)
        found = []
        for number, measure in enumerate(self.measures):
            lower, upper = bounds.lower[:, number], bounds.upper[:, number]
            informed = measure.definition.basis == "recall" and self.bounds.kinds[number] != "none"
            if informed and lower.max() <= upper.min():
                found.append((number, float(np.mean(upper - lower)), float(np.ptp(means[:, number]))))
        return found

    def leading_order(self) -> list[int]:
        """Return the measures in the order in which tables show them; silent bounds put a measure last."""
        silent = {number for number, _, _ in self.silent_bounds()}
        return sorted(range(len(self.measures)), key=lambda number: number in silent)

    def leading_measure(self) -> int | None:
        """Return the measure that ranks the runs in tables; None: all measures give text."""
        return self._ranking_measure(self.leading_order())

    def _ranking_measure(self, places: Sequence[int]) -> int | None:
        """Return the first measure that says how good a run is, or else the first count."""
        numeric = [n for n in places if self.measures[n].definition.aggregate != "text"]
        graded = [n for n in numeric if self.measures[n].definition.basis != "count"]
        return next(iter([*graded, *numeric]), None)

    def open_pairs(self) -> list[tuple[int, OpenPairs]]:
        """Return measures by which some pairs are open, without those that separate no two runs."""
        if self.bounds is None:
            return []
        means, bounds = self.mean(), self.bounds.over_topics(self.measures)
        most = bounds.upper + np.nan_to_num(bounds.residual_tail)
        silent = {number for number, _, _ in self.silent_bounds()}
        found = [
            (number, count_open_pairs(means[:, number], bounds.lower[:, number], most[:, number]))
            for number, measure in enumerate(self.measures)
            if number not in silent
            and measure.definition.basis != "count"
            and self.bounds.kinds[number] != "none"
        ]
        return [(number, counted) for number, counted in found if counted.pairs]

    def of_runs(self, chosen: Sequence[int]) -> Scores:
        """The scores of some runs, in the given order."""
        rows = list(chosen)
        return replace(
            self._pick(RUN, rows),
            runs=tuple(self.runs[row] for row in rows),
            tags=tuple(self.tags[row] for row in rows),
            ignored=tuple(self.ignored[row] for row in rows),
            judged_by_rank=None if self.judged_by_rank is None else self.judged_by_rank[rows],
        )

    def of_measures(self, chosen: Sequence[Measure]) -> Scores:
        """The scores by some of the measures, in the given order."""
        picked = self._pick(MEASURE, [self.measures.index(measure) for measure in chosen])
        texts = {measure: texts for measure, texts in self.texts.items() if measure in chosen}
        return replace(picked, measures=tuple(chosen), texts=texts)

    def of_topics(self, chosen: Sequence[str]) -> Scores:
        """The scores over some topics."""
        wanted = set(chosen)
        return replace(
            self._pick(TOPIC, [place for place, topic in enumerate(self.topics) if topic in wanted]),
            topics=tuple(topic for topic in self.topics if topic in wanted),
            without_relevant=tuple(topic for topic in self.without_relevant if topic in wanted),
            judged_by_rank=None,  # counted over all topics
        )

    def _pick(self, axis: int, places: list[int]) -> Scores:
        """Take some runs, measures or topics from all arrays that have these."""

        def without_measures(table: NDArray[Any]) -> NDArray[Any]:  # (run, topic)
            return table if axis == MEASURE else _along(table, 0 if axis == RUN else 1, places)

        return replace(
            self,
            values=_along(self.values, axis, places),
            judged=_along(self.judged, axis, places),
            sampling_errors=_along(self.sampling_errors, axis, places),
            lengths=without_measures(self.lengths),
            missing=without_measures(self.missing),
            texts={measure: without_measures(texts) for measure, texts in self.texts.items()},
            ranks={measure: without_measures(ranks) for measure, ranks in self.ranks.items()},
            bounds=None if self.bounds is None else self.bounds.pick(axis, places),
            expected=None if self.expected is None else self.expected.pick(axis, places),
        )

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, measure, topic, value (and bounds or expected): one row a value, no summaries."""
        refuse_stray_bytes(self.runs, "run")
        refuse_stray_bytes(self.topics, "topic")
        runs, measures, topics = len(self.runs), len(self.measures), len(self.topics)
        return polars.DataFrame(
            {
                "run": [name for name in self.runs for _ in range(measures * topics)],
                "measure": [str(m) for m in self.measures for _ in range(topics)] * runs,
                "topic": list(self.topics) * (runs * measures),
                "value": self.values.ravel(),
            }
            | {name: table.ravel() for name, table in self.beside().items()},
            schema_overrides={"run": polars.String, "measure": polars.String, "topic": polars.String},
        )


def _along(table: NDArray[Any], axis: int, places: list[int]) -> NDArray[Any]:
    # Not `take`: it lays the array out anew, and sums over topics would differ in their last bits.
    return table[(slice(None),) * axis + (places,)]


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ValueBounds:
    """The least and the most that every value can be, whatever the unjudged documents are."""

    lower: NDArray[np.float64]  # (run, measure, topic)
    upper: NDArray[np.float64]  # (run, measure, topic)
    residual_unjudged: NDArray[np.float64]  # (run, measure, topic) what unjudged documents add; NaN: no such
    residual_tail: NDArray[np.float64]  # (run, measure, topic) what lies beyond the ranking can add
    kinds: tuple[str, ...]  # (measure,) exact, contains, or none: nothing but the measure's range

    def over_topics(self, measures: Sequence[Measure]) -> ValueBounds:
        """The bounds of each measure's own summary over topics: (run, measure)."""
        tables: dict[str, Any] = {name: summaries(getattr(self, name), measures) for name in BOUNDS}
        return replace(self, **tables)

    def pick(self, axis: int, places: list[int]) -> ValueBounds:
        """Return the result for some runs, measures or topics."""
        kinds = tuple(self.kinds[place] for place in places) if axis == MEASURE else self.kinds
        return replace(
            self, kinds=kinds, **{name: _along(getattr(self, name), axis, places) for name in BOUNDS}
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ExpectedValues:
    """Mean and standard deviation of every value when relevance of the unjudged is a matter of chance."""

    mean: NDArray[np.float64]  # (run, measure, topic)
    deviation: NDArray[np.float64]  # (run, measure, topic)
    error: NDArray[np.float64]  # (run, measure, topic) of the mean, where it was drawn; 0: exact
    methods: tuple[str, ...]  # (measure,)
    # (run, measure) deviation and error of the value over all topics; None: topics are independent
    overall: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    def over_topics(self, measures: Sequence[Measure]) -> ExpectedValues:
        """The same for each measure's mean or sum over topics: (run, measure).

        NaN for geometric means: what is expected of them does not follow from the topics' means.
        """
        counted = np.maximum(np.count_nonzero(~np.isnan(self.mean), axis=-1), 1)
        kinds = [measure.definition.aggregate for measure in measures]
        share = np.where(np.array(kinds) == "sum", 1, counted)
        blank = np.where(np.isin(kinds, ("geometric", "text")), np.nan, 0.0)
        deviation, error = self.overall or (
            np.sqrt(np.nansum(each**2, axis=-1)) / share for each in (self.deviation, self.error)
        )
        return replace(
            self,
            mean=np.nansum(self.mean, axis=-1) / share + blank,
            deviation=deviation + blank, error=error + blank, overall=None,
        )  # fmt: skip

    def pick(self, axis: int, places: list[int]) -> ExpectedValues:
        """Return the result for some runs, measures or topics."""
        names = ("mean", "deviation", "error")
        methods = tuple(self.methods[place] for place in places) if axis == MEASURE else self.methods
        overall = self.overall
        if overall is not None:  # of other topics it is not known
            first, second = (
                np.full_like(one, np.nan) if axis == TOPIC else _along(one, axis, places) for one in overall
            )
            overall = first, second
        return replace(
            self, methods=methods, overall=overall,
            **{name: _along(getattr(self, name), axis, places) for name in names},
        )  # fmt: skip


class OpenPairs(NamedTuple):
    """Pairs of runs whose order is open: the worse can be worth more than the least that the better is."""

    pairs: int
    of_pairs: int
    neighbors: int  # those that stand one below the other
    of_neighbors: int


def count_open_pairs(
    value: NDArray[np.float64], lower: NDArray[np.float64], upper: NDArray[np.float64]
) -> OpenPairs:
    """Return how many pairs of runs have bounds that overlap; of equal ones, which need not stay so."""
    order = np.argsort(-value, kind="stable")
    order = order[~np.isnan(value[order])]
    value, lower, upper = value[order], lower[order], upper[order]
    better, worse = np.triu_indices(len(order), 1)
    passes = upper[worse] - lower[better] > NOISE
    passes |= (value[worse] == value[better]) & (upper[better] - lower[worse] > NOISE)
    neighbors = passes[worse == better + 1]
    return OpenPairs(
        int(np.count_nonzero(passes)), len(passes), int(np.count_nonzero(neighbors)), len(neighbors)
    )
