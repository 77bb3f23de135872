"""stability(): whether the outcome of an evaluation depends on how deep it looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sounding.agreement import MostPlaces, agreement_matrix, most_places, rank_agreement
from sounding.bounds.unjudged import holes
from sounding.collection.contributors import contributing_runs, judgments_at_depth
from sounding.compare.cases import FIRST_UNJUDGED, assessment_measure
from sounding.compare.pairs import all_pairs
from sounding.compare.plan import Plan
from sounding.compare.procedure import Procedure
from sounding.compare.requests import check_choices
from sounding.compare.runs import Reading
from sounding.compare.scenarios import Pool, find_pool
from sounding.data.formats import read_qrels, run_sources
from sounding.data.simulation import RunInfo
from sounding.data.sources import STDIN
from sounding.data.tables import Qrels
from sounding.depth import findings as guidelines
from sounding.depth.curves import families, name_of, rank_weights, residuals_at_every_k
from sounding.depth.findings import Finding, Unjudged
from sounding.depth.intervals import Intervals, PairOverDepth, comparison_intervals, pair_over_depth
from sounding.depth.pools import EACH_PAIR_ALONE
from sounding.depth.rankings import Rankings, other_tie_rule, read_one, read_rankings
from sounding.depth.ratios import Separation, coverage, inversions, is_quick, joined, separate
from sounding.depth.volatility import Volatility, volatility
from sounding.errors import DataError, UnknownNameError
from sounding.measures import Measure, parse
from sounding.policies import DEFAULT_POLICIES, Policies
from sounding.ranking import Ranking
from sounding.retrieved import read_retrieved
from sounding.scores import FEW_TOPICS, mean_over_topics

if TYPE_CHECKING:
    import polars

Floats = NDArray[np.float64]

DEFAULT_MEASURES = ("AP", "RBP(p=0.95)")
DEFAULT_DEPTHS = (5, 10, 30, 100, 500, 1000)
EVERY_K = 1000  # down to here every k is looked at, and beyond it FURTHER of them, evenly on a log scale
FURTHER = 100
EARLY = 10  # where Baillie et al. put the runs in order, by AP
AT_ONCE = 16_000_000  # values that are held at once: 128 MB
# By column; with ties so that identical orderings give 1.
COEFFICIENTS = {"tau": "tau_b", "tau_ap": "tau_ap_b", "rbo": "rbo_b", "pearson": "pearson", "rmse": "rmse"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OverDepth:
    """One measure at every depth that is looked at."""

    measure: Measure  # cut at 1
    name: str
    reference: Measure  # what its outcome at every depth is held against
    means: Floats  # (k, run)
    plain_means: Floats | None  # (k, run) with unjudged documents, where these are removed; else None
    residual_unjudged: Floats | None  # (k, run) mean over topics; None: the measure has no residual
    residual_tail: Floats | None
    separation: Separation  # at the depths that were tested
    reference_separates: int  # pairs
    coverage: Floats  # (tested k,) NaN: the reference separates no pair
    inversion: Floats  # (tested k,)
    agreement: Mapping[str, Floats]  # (k,) by name: of the ordering of the runs with that of the reference
    intervals: Intervals  # at the chosen depths
    volatility: Volatility  # of the orderings of the runs at all depths


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stability:
    """What becomes of an evaluation as it looks deeper."""

    rankings: Rankings
    ks: NDArray[np.int64]  # the depths that are looked at, ascending from 1
    depths: tuple[int, ...]  # those that were chosen
    measures: tuple[OverDepth, ...]
    assessment: Floats  # (k, run) mean A_p
    assessment_intervals: Intervals
    order: tuple[int, ...]  # the runs by AP@10, best first
    tie_moves: Mapping[str, tuple[float, MostPlaces]]  # by measure cut at its reference depth
    unpooled: tuple[Unjudged, ...]  # of runs that did not contribute, down to `reference_depth`
    reference_depth: int
    pool: Pool
    notes: tuple[str, ...]
    procedure: Procedure
    policies: Policies

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return self.rankings.runs

    def find(self, name: str) -> int:
        """The place of a run, by its name or by a tag that only it has."""
        if name in self.runs:
            return self.runs.index(name)
        if self.rankings.tags.count(name) == 1:
            return self.rankings.tags.index(name)
        raise UnknownNameError("run", name, self.runs)

    def place(self, k: int) -> int:
        """Where a depth stands among those that are looked at."""
        return int(np.searchsorted(self.ks, k))

    def reference_measures(self) -> tuple[Measure, ...]:
        """Every measure cut at the depth of its reference."""
        return tuple(one.measure.replace(k=_cut(one.reference)) for one in self.measures)

    def ks_to_draw(self) -> list[int]:
        """Every depth to 20, beyond it a few dozen evenly on a log scale, and the chosen ones."""
        far = np.geomspace(1, self.ks[-1], 60).round().astype(np.int64)
        wanted = np.unique(np.concatenate([np.arange(1, 21), far, np.array(self.depths)]))
        return np.intersect1d(wanted, self.ks).tolist()

    def findings(
        self, *, plan: Plan | None = None, deviations: Sequence[str] = (), command: str | None = None
    ) -> tuple[Finding, ...]:
        """What the guidelines of Lu et al. ask to be heeded here; `command` is repeated as it was typed."""
        measures = [one.measure for one in self.measures]
        spread = {one.name: _range(self._discrimination(one)) for one in self.measures}
        early, deep = min(EARLY, self.depths[-1]), self.depths[-1]
        first = self.measures[0]
        return (
            guidelines.standard_depths(self.depths),
            guidelines.fixed_beforehand(
                measures, spread, None if plan is None else f"plan {plan.source}", deviations
            ),
            guidelines.exact_form(measures, command),
            guidelines.own_order(
                self.policies.ties, other_tie_rule(self.policies.ties), self.tie_moves, self.runs
            ),
            guidelines.extended_evaluation(self.depths, self.pool, self._least_covered()),
            guidelines.utility_beside_recall(measures),
            guidelines.unpooled_runs(self.unpooled, self.pool, self.reference_depth),
            guidelines.early_leaders(
                self.runs, first.name, (early, first.means[self.place(early)]),
                (deep, first.means[self.place(deep)]), self.assessment[self.place(deep)],
            ),
        )  # fmt: skip

    def _discrimination(self, one: OverDepth) -> Floats:
        """At the chosen depths."""
        ratios = dict(zip(one.separation.ks, one.separation.discrimination().tolist(), strict=True))
        return np.array([ratios[k] for k in self.depths])

    def _least_covered(self) -> dict[int, tuple[str, float, float]]:
        """By depth, the measure that confirms least of its reference; its coverage and inversions."""
        found = {}
        for k in self.depths:
            rows = [
                (float(one.coverage[place]), float(one.inversion[place]), one.name)
                for one in self.measures
                for place in [one.separation.ks.index(k)]
            ]
            least = min(rows, key=lambda row: np.nan_to_num(row[0], nan=2.0))
            found[k] = (least[2], least[0], least[1])
        return found

    def pair(self, names: tuple[str, str]) -> tuple[PairOverDepth, ...]:
        """Two runs over depth, by every measure: at the chosen depths and a few dozen between them."""
        a, b = (self.find(name) for name in names)
        if a == b:
            raise DataError(f"run {names[0]!r} against itself: name two different runs")
        between = np.geomspace(1, self.ks[-1], 30).round().astype(np.int64)
        ks = np.unique(np.concatenate([between, np.array(self.depths)]))
        seen = list(self.rankings.seen())
        assessed = self.rankings.values(
            assessment_measure(1), ks, [self.rankings.plain[run] for run in (a, b)]
        )
        return tuple(
            pair_over_depth(
                (self.runs[a], self.runs[b]), one.name,
                self.rankings.values(one.measure, ks, [seen[a], seen[b]]), assessed, ks.tolist(),
                self.procedure,
            )
            for one in self.measures
        )  # fmt: skip

    def columns(self, *, every_k: bool = False) -> dict[str, list[Any]]:
        """One row a measure and depth: the chosen depths, or every one that was tested."""
        found: dict[str, list[Any]] = {}
        for one in self.measures:
            ks = one.separation.ks if every_k else self.depths
            rows = np.array([self.place(k) for k in ks])
            tested = np.array([one.separation.ks.index(k) for k in ks])
            columns: dict[str, Sequence[Any]] = {
                "measure": [one.name] * len(ks),
                "k": list(ks),
                "reference": [str(one.reference)] * len(ks),
                "mean": one.means[rows].mean(axis=1),
                "lowest": one.means[rows].min(axis=1),
                "highest": one.means[rows].max(axis=1),
                "discrimination": one.separation.discrimination()[tested],
                "median_p": one.separation.median_p[tested],
                "coverage": one.coverage[tested],
                "inversion": one.inversion[tested],
            }
            columns |= {name: values[rows] for name, values in one.agreement.items()}
            for name, residual in (
                ("residual_unjudged", one.residual_unjudged), ("residual_tail", one.residual_tail),
            ):  # fmt: skip
                columns[name] = [None] * len(ks) if residual is None else residual[rows].mean(axis=1)
            columns["assessment"] = self.assessment[rows].mean(axis=1)
            for name, cells in columns.items():
                found.setdefault(name, []).extend(cells.tolist() if isinstance(cells, np.ndarray) else cells)
        return found

    # -- frames, as tables for programs and charts read them ---------------------------------------

    @property
    def frame(self) -> polars.DataFrame:
        """One row a measure and tested depth: see `columns`."""
        import polars

        texts = {"measure": polars.String, "reference": polars.String}
        residuals = {"residual_unjudged": polars.Float64, "residual_tail": polars.Float64}
        return polars.DataFrame(self.columns(every_k=True), schema_overrides={**texts, **residuals})

    @property
    def values_frame(self) -> polars.DataFrame:
        """Columns run, measure, k, value, form (plain or condensed): the mean of every run at every depth."""
        import polars

        form = "condensed" if self.policies.unjudged == "condensed" else "plain"
        parts = [(one.name, "plain", one.plain_means) for one in self.measures if one.plain_means is not None]
        parts += [(one.name, form, one.means) for one in self.measures]
        return polars.concat(
            self._by_run(name, "value", means).with_columns(form=polars.lit(form))
            for name, form, means in parts
        )

    @property
    def residual_frame(self) -> polars.DataFrame | None:
        """Columns run, measure, k, residual: both parts together; None: no measure has one."""
        import polars

        parts = [
            self._by_run(one.name, "residual", one.residual_unjudged + one.residual_tail)
            for one in self.measures
            if one.residual_unjudged is not None and one.residual_tail is not None
        ]
        return polars.concat(parts) if parts else None

    def _by_run(self, measure: str, name: str, table: Floats) -> polars.DataFrame:
        import polars

        return polars.DataFrame(
            {
                "run": list(self.runs) * len(self.ks),
                "measure": [measure] * table.size,
                "k": np.repeat(self.ks, len(self.runs)),
                name: table.ravel(),
            },
            schema_overrides={"run": polars.String, "measure": polars.String},
        )

    @property
    def weights_frame(self) -> polars.DataFrame | None:
        """Columns measure, k, rank, weight at the chosen depths; None: ranks have none by any measure."""
        import polars

        parts = [
            polars.DataFrame(
                {"measure": [one.name] * k, "k": [k] * k, "rank": np.arange(1, k + 1), "weight": weights}
            )
            for one in self.measures
            for k in self.depths
            if (weights := rank_weights(one.measure, k)) is not None
        ]
        return polars.concat(parts) if parts else None

    @property
    def interval_frame(self) -> polars.DataFrame:
        """Columns run, measure, k, mean, lower, upper: performance, then assessment, by AP@10."""
        import polars

        tables = [(one.name, one.intervals) for one in self.measures]
        tables.append(("A_p", self.assessment_intervals))
        order = np.array(self.order)
        return polars.concat(
            polars.DataFrame(
                {
                    "run": [self.runs[run] for run in self.order] * len(self.depths),
                    "measure": [name] * (len(order) * len(self.depths)),
                    "k": np.repeat(np.array(self.depths), len(order)),
                    "mean": found.means[:, order].ravel(),
                    "lower": found.lower[:, order].ravel(),
                    "upper": found.upper[:, order].ravel(),
                },
                schema_overrides={"run": polars.String, "measure": polars.String},
            )
            for name, found in tables
        )


def _range(values: Floats) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def stability(
    qrels: Any,
    runs: Any,
    measures: Sequence[str | Measure] = DEFAULT_MEASURES,
    *,
    depths: Sequence[int] | None = None,
    reference: str | int | None = None,
    procedure: Procedure = EACH_PAIR_ALONE,
    info: Mapping[str, RunInfo] | None = None,
    pool_depth: int | None = None,
    policies: Policies = DEFAULT_POLICIES,
    reading: Reading | None = None,
) -> Stability:
    """Measures at every depth: which pairs of runs they tell apart, and how that fits a reference.

    The reference is a depth, at which every measure is held against itself, or one measure with its depth,
    as `AP@100`; without it the pool depth as far as it is known, and else the deepest of the depths.
    `pool_depth` cuts the judgments to a shallower pool first. Paired t tests are made at every depth, other
    tests at the chosen ones. Runs and qrels as for `evaluate`.
    """
    wanted = chosen_measures(measures, policies)
    asked = parsed_reference(reference)
    files = Reading() if reading is None else reading
    sources = kept_sources(runs, policies, files)
    judgments = read_qrels(
        qrels, format=files.qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    notes = []
    if pool_depth is not None:
        judgments, told = judgments_at_depth(
            judgments, sources, pool_depth, info=info, policies=policies, run_format=files.run_format,
            jobs=files.jobs,
        )  # fmt: skip
        notes.append(f"{told[0].upper()}{told[1:]}.")
    if judgments.pool_ranks is None and any(map(_needs_pool_ranks, wanted)):
        judgments = _with_pool_ranks(judgments, sources, info, policies, files)
    rankings = read_rankings(judgments, sources, policies, files)
    pool = _pool(rankings, info)
    chosen = _depths(depths, rankings.deepest)
    targets = _references(wanted, asked, pool, chosen, rankings.deepest)
    ks = depths_to_look_at(max(*chosen, *(_cut(target) for target in targets)), chosen)
    found = _Work(rankings, ks, chosen, procedure)
    over = tuple(found.over_depth(one, target) for one, target in zip(wanted, targets, strict=True))
    assessed = assessment_measure(1)
    plain = rankings.plain
    return Stability(
        rankings=rankings, ks=ks, depths=chosen, measures=over,
        assessment=found.means(assessed, plain),
        assessment_intervals=found.intervals(assessed, plain),
        order=_order(rankings), tie_moves=_tie_moves(rankings, wanted, targets),
        unpooled=tuple(_unpooled(rankings, pool, _cut(targets[0]))), reference_depth=_cut(targets[0]),
        pool=pool, notes=(*notes, *_notes(rankings, procedure)), procedure=procedure, policies=policies,
    )  # fmt: skip


# -- what is asked for -----------------------------------------------------------------------------


def kept_sources(runs: Any, policies: Policies, reading: Reading) -> Any:
    """The runs as they are; standard input, which can be read only once, as a table."""
    if isinstance(runs, Mapping):
        return runs
    return [
        read_one((source, name), policies, reading) if source == STDIN else source
        for source, name in run_sources(runs)
    ]


def chosen_measures(measures: Sequence[str | Measure], policies: Policies) -> tuple[Measure, ...]:
    """The measures, each cut at 1; an error where they, or the policies, have no values over depth."""
    wanted = families(measures)
    check_choices(wanted, policies)
    if policies.ties == "average":
        raise DataError(
            "values over depth need one order of the documents, and ties are averaged; use ties trec"
        )
    if policies.unjudged == "bounds":
        raise DataError(
            "unjudged bounds: residuals stand beside the values anyway; use unjudged nonrelevant or condensed"
        )
    return wanted


def parsed_reference(asked: str | int | None) -> Measure | int | None:
    """A measure with its depth, or a depth, from what was typed."""
    wanted = "expected a depth from 1, as 100, or a measure with one, as AP@100"
    if isinstance(asked, str) and not asked.isdecimal():
        target = parse(asked)
        if target.definition.at != "k" or "@" not in asked:
            raise DataError(f"reference {asked}: {wanted}")
        return target
    if asked is not None and int(asked) < 1:
        raise DataError(f"reference {asked}: {wanted}")
    return None if asked is None else int(asked)


def _depths(asked: Sequence[int] | None, deepest: int) -> tuple[int, ...]:
    """The depths to show: as asked for, or the usual ones down to the deepest list."""
    if asked is None:
        shown = [k for k in DEFAULT_DEPTHS if k <= deepest]
        return tuple(shown or [deepest])
    if not asked or min(asked) < 1:
        raise DataError(f"depths {', '.join(map(str, asked)) or 'none'}: expected whole numbers from 1")
    return tuple(sorted(set(asked)))


def depths_to_look_at(deepest: int, chosen: Sequence[int] = ()) -> NDArray[np.int64]:
    """Every k down to a thousand, beyond it a hundred more evenly on a log scale; and the chosen ones."""
    near = np.arange(1, min(deepest, EVERY_K) + 1)
    far = np.geomspace(EVERY_K, deepest, FURTHER).round() if deepest > EVERY_K else near[-1:]
    return np.unique(np.concatenate([near, far, np.asarray(chosen, np.int64)])).astype(np.int64)


def _references(
    measures: Sequence[Measure],
    asked: Measure | int | None,
    pool: Pool,
    depths: Sequence[int],
    deepest: int,
) -> list[Measure]:
    """(measure,): what each is held against."""
    if isinstance(asked, Measure):
        return [asked] * len(measures)
    if asked is None:
        asked = pool.depth if 0 < pool.depth <= deepest else depths[-1]
    return [measure.replace(k=asked) for measure in measures]


def _cut(measure: Measure) -> int:
    return measure.k or 1


def _needs_pool_ranks(measure: Measure) -> bool:
    norm = measure.get("norm")
    return norm == "c" or (measure.name == "nDCG" and norm == "b") or measure.get("ideal") == "ii"


def _with_pool_ranks(
    qrels: Qrels, runs: Any, info: Mapping[str, RunInfo] | None, policies: Policies, reading: Reading
) -> Qrels:
    """The qrels with the rank at which each document was pooled, from the runs that contributed."""
    retrieved = read_retrieved(
        runs, topics=qrels.topics, policies=policies, run_format=reading.run_format, jobs=reading.jobs
    )
    pool = contributing_runs(retrieved, retrieved.grades(qrels, policies), info)
    if not pool.contributing.any():
        raise DataError(
            "norm 'c' and its like look at pools of every depth, and no run is known to have contributed;"
            " list the runs with --info, or give qrels with pool ranks"
        )
    return replace(qrels, pool_ranks=retrieved.pick(pool.contributing).pool_ranks(qrels))


# -- what is worked out ----------------------------------------------------------------------------


def _pool(rankings: Rankings, info: Mapping[str, RunInfo] | None) -> Pool:
    first = np.array([FIRST_UNJUDGED(ranking) for ranking in rankings.plain])
    names = list(zip(rankings.runs, rankings.tags, strict=True))
    return find_pool(first, names, info, deepest=rankings.deepest)


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """The rankings with what all measures share."""

    rankings: Rankings
    ks: NDArray[np.int64]
    depths: tuple[int, ...]
    procedure: Procedure

    def means(self, measure: Measure, rankings: Sequence[Ranking]) -> Floats:
        """(k, run): over topics."""
        return np.concatenate([mean_over_topics(values) for _, values in self._parts(measure, rankings)])

    def intervals(self, measure: Measure, rankings: Sequence[Ranking]) -> Intervals:
        """At the chosen depths."""
        values = self.rankings.values(measure, np.array(self.depths), rankings)
        blocks = self.procedure.test == "anova2"
        return comparison_intervals(values, self.depths, alpha=self.procedure.alpha, topics_as_blocks=blocks)

    def _parts(
        self, measure: Measure, rankings: Sequence[Ranking]
    ) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """Groups of depths with the values there, so that few enough are held at once."""
        width = len(rankings) * len(self.rankings.judgments.topics)
        count = max(1, -(-len(self.ks) * width // AT_ONCE))
        for ks in np.array_split(self.ks, count):
            yield ks, self.rankings.values(measure, ks, rankings)

    def over_depth(self, measure: Measure, reference: Measure) -> OverDepth:
        """All that is said of one measure."""
        seen = list(self.rankings.seen())
        pairs = all_pairs(len(seen))
        means, tests = [], []
        for ks, values in self._parts(measure, seen):
            means.append(mean_over_topics(values))
            tested = np.ones(len(ks), np.bool_) if is_quick(self.procedure) else np.isin(ks, self.depths)
            if tested.any():
                tests.append(separate(values[tested], ks[tested].tolist(), pairs, self.procedure))
        separation, table = joined(tests), np.concatenate(means)
        target = self.rankings.values(reference, np.array([_cut(reference)]), seen)
        signs = separate(target, [_cut(reference)], pairs, self.procedure).at(_cut(reference))
        ordering = mean_over_topics(target)
        residuals = self._residuals(measure)
        condensed = self.rankings.policies.unjudged == "condensed"
        return OverDepth(
            measure=measure, name=name_of(measure), reference=reference, means=table,
            plain_means=self.means(measure, self.rankings.plain) if condensed else None,
            residual_unjudged=residuals[0], residual_tail=residuals[1],
            separation=separation, reference_separates=int(np.count_nonzero(signs)),
            coverage=coverage(separation, signs), inversion=inversions(separation, signs),
            agreement={
                name: agreement_matrix(ordering, table, coefficient)[0]
                for name, coefficient in COEFFICIENTS.items()
            },
            intervals=self.intervals(measure, seen),
            volatility=volatility(table, self.ks.tolist(), measure=name_of(measure)),
        )  # fmt: skip

    def _residuals(self, measure: Measure) -> tuple[Floats | None, Floats | None]:
        """(k, run) each: mean over topics; none without the unjudged documents."""
        if self.rankings.policies.unjudged == "condensed":
            return None, None
        parts = []
        for ranking in self.rankings.plain:
            found = residuals_at_every_k(measure, ranking, int(self.ks[-1]))
            if found is None:
                return None, None
            counted = ~ranking.missing if self.rankings.policies.missing == "skip" else slice(None)
            parts.append(
                [side[self.ks - 1][:, counted].mean(axis=1) for side in (found.unjudged, found.tail)]
            )
        return np.stack([part[0] for part in parts], axis=1), np.stack([part[1] for part in parts], axis=1)


def _order(rankings: Rankings) -> tuple[int, ...]:
    """The runs by AP@10 of whole lists, best first; equal ones by name."""
    values = rankings.values(parse(f"AP@{EARLY}"), np.array([EARLY]), rankings.plain)
    means = np.nan_to_num(mean_over_topics(values)[0], nan=-np.inf)
    return tuple(sorted(range(len(means)), key=lambda run: (-means[run], rankings.runs[run])))


def _tie_moves(
    rankings: Rankings, measures: Sequence[Measure], references: Sequence[Measure]
) -> dict[str, tuple[float, MostPlaces]]:
    """By measure, cut at its reference depth: tau between the two tie rules, and who moves furthest."""
    found = {}
    for measure, reference in zip(measures, references, strict=True):
        cut = measure.replace(k=_cut(reference))
        ordered, other = (
            mean_over_topics(np.array([cut(ranking) for ranking in rankings.seen(other_ties=side)]))
            for side in (False, True)
        )
        tau = rank_agreement(ordered, other, "tau_b").value
        found[str(cut)] = (tau, most_places(ordered, other))
    return found


def _unpooled(rankings: Rankings, pool: Pool, depth: int) -> Iterator[Unjudged]:
    """The unjudged documents down to a depth of the runs that did not contribute to the pool."""
    if not pool.contributing.any():
        return
    for run in (~pool.contributing).nonzero()[0].tolist():
        ranking = rankings.plain[run]
        found = holes(ranking, depth)
        first = found.rank[found.nth == 1]
        listed = int(np.minimum(ranking.retrieved, depth).sum())
        yield Unjudged(
            run=rankings.runs[run], number=len(found.rank), share=len(found.rank) / max(listed, 1),
            first=float(np.median(first)) if len(first) else np.nan,
            middle=float(np.median(found.rank)) if len(found.rank) else np.nan,
        )  # fmt: skip


def _notes(rankings: Rankings, procedure: Procedure) -> Iterator[str]:
    """What a reader should be warned of."""
    topics = len(rankings.judgments.topics)
    if topics < FEW_TOPICS:
        seen = f"{topics} topic{'s' * (topics != 1)}"
        yield f"Only {seen}, fewer than {FEW_TOPICS}: differences may well be chance."
    lacking = sum(bool(ranking.missing.any()) for ranking in rankings.plain)
    if lacking:
        count = "are left out" if rankings.policies.missing == "skip" else "count as 0"
        yield f"{lacking} run{'s lack' if lacking > 1 else ' lacks'} judged topics, which {count}."
    if rankings.policies.unjudged == "condensed":
        lengths = np.concatenate([ranking.retrieved for ranking in rankings.seen()])
        yield (
            f"Condensed lists have {lengths.mean():.1f} documents on average, {lengths.max()} at most: deeper"
            " k adds nothing to them."
        )
    if not is_quick(procedure):
        yield f"The test {procedure.test} was made at the chosen depths only."
