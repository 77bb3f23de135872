"""The statements that `calibrate` checks: made with some judgments hidden, compared with all judgments.

Every claim is about an event. That the *conclusion* holds: better, worse or not distinguished by the test is
the same with all judgments. That the *sign* holds: the same run is ahead. That a value or a difference with
all judgments lies *within* limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sounding.calibrate.hiding import Hidden
from sounding.calibrate.sampling import estimate_drawn
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, UnknownNameError
from sounding.measures import Measure
from sounding.measures.assessed import assessment_depth, assessment_measure
from sounding.measures.bounds.order import has_bounds, own_bounds, pair_bounds
from sounding.measures.completions import draw_completions
from sounding.measures.forms import form_of
from sounding.measures.listings import Listings
from sounding.measures.regrading import Regrading, View
from sounding.runs.pairs import Pairs, all_pairs
from sounding.runs.pool import Flags, Until
from sounding.runs.ranking import Values
from sounding.selection.mtc.session import Session
from sounding.statistics.cases import decide
from sounding.statistics.conclusions import Statistics, borders, chance_of_conclusion, chance_of_sign
from sounding.statistics.forecasts import SURE, Forecasts
from sounding.statistics.pairwise import PairTests, Procedure
from sounding.statistics.testing import NORMAL_95

Floats = NDArray[np.float64]

INTERVAL = " interval"  # suffix of the names of these claims about each run
WITH_INTERVAL = ("mtc", "mtc-0.5", "estimate")


class WholeTruth:
    """The values of all runs with all judgments, computed once per measure."""

    def __init__(self, regrading: Regrading) -> None:
        """Compute nothing yet: values are computed when they are first needed."""
        self._regrading, self._view = regrading, regrading.view()
        self._values: dict[str, Floats] = {}

    def values(self, measure: Measure) -> Floats:
        """(run, topic): Return the values of one measure."""
        if str(measure) not in self._values:
            self._values[str(measure)] = self._regrading.values([measure], self._view)[:, 0]
        return self._values[str(measure)]


@dataclass(frozen=True, eq=False, kw_only=True)
class ClaimSituation:
    """One scenario as a claim sees it: the judgments that are left, and values of one measure."""

    hidden: Hidden
    whole: WholeTruth  # of all runs
    until: Until
    procedure: Procedure
    measure: Measure
    values: Floats  # (run, topic) with the judgments that are left
    drawn: Floats  # (run, draw, topic) with drawn ones; no draws where no claim needs them
    seed: int
    labels: Floats  # (judge, row of the qrels) by machines

    @property
    def regrading(self) -> Regrading:
        """The runs that are left."""
        return self.hidden.regrading

    @property
    def truth(self) -> Floats:
        """(run, topic): The values with all judgments."""
        return self.whole.values(self.measure)[self.hidden.runs]

    @cached_property
    def view(self) -> View:
        """The judgments that are left."""
        return self.regrading.under(self.hidden.states)

    @cached_property
    def pairs(self) -> Pairs:
        """Return all pairs of runs."""
        return all_pairs(len(self.regrading.runs))

    @cached_property
    def tests(self) -> PairTests:
        """The test of every pair with the judgments that are left."""
        return self.procedure.apply(self.values, self.pairs)

    @cached_property
    def tests_in_truth(self) -> PairTests:
        """The tests of the same pairs with all judgments."""
        return self.procedure.apply(self.truth, self.pairs)

    @cached_property
    def statistics(self) -> Statistics:
        """Statistics of every pair on the judgments that are left."""
        return Statistics(self.values, self.pairs)

    @cached_property
    def drawn_statistics(self) -> list[Statistics]:
        """The same of every draw."""
        return [Statistics(self.drawn[:, draw], self.pairs) for draw in range(self.drawn.shape[1])]

    @cached_property
    def concluded(self) -> NDArray[np.int8]:
        """(pair,): 1: the first run is better, -1: worse, 0: not distinguished."""
        return conclusions(self.tests)

    @cached_property
    def conclusion_holds(self) -> Flags:
        """(pair,): the same is concluded with all judgments."""
        return self.concluded == conclusions(self.tests_in_truth)

    @cached_property
    def sign_holds(self) -> Flags:
        """(pair,): the same run is ahead with all judgments, or neither is, as before."""
        return np.sign(self.tests.difference) == np.sign(self.tests_in_truth.difference)

    def of_pairs(
        self,
        claim: str,
        score: Values,
        right: Flags,
        *,
        sure: Flags | None = None,
        chances: bool = True,
        units: Pairs | None = None,
    ) -> Forecasts:
        """Return the claims about all pairs, or about `units`, without pairs that could not be tested."""
        a, b = (self.pairs if units is None else units).T
        hidden = self.hidden
        return Forecasts(
            claim=claim, measure=str(self.measure), probability=chances, score=score,
            claimed=score >= SURE if sure is None else sure, right=right,
            first=hidden.runs[a], second=hidden.runs[b],
            unpooled=~(hidden.contributing[a] & hidden.contributing[b]),
        ).pick(np.isfinite(score))  # fmt: skip

    def of_runs(self, claim: str, chance: float, right: Flags) -> Forecasts:
        """Return the claims about every run, with one chance for all."""
        each = np.arange(len(right))
        return self.of_pairs(claim, np.full(len(right), chance), right, units=np.stack([each, each], axis=1))


def conclusions(tests: PairTests) -> NDArray[np.int8]:
    """(pair,): 1 where the first run is significantly better, -1 where it is worse, otherwise 0."""
    return np.where(tests.significant_alone, np.sign(tests.difference), 0).astype(np.int8)


# -- claims ----------------------------------------------------------------------------------------


def conclusion_chance(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The chance that the conclusion holds, as `compare --holds` gives it."""
    drawn = np.array([one.t for one in seen.drawn_statistics])
    border = borders(seen.statistics.topics, seen.procedure.alpha)
    yield seen.of_pairs("holds", chance_of_conclusion(seen.concluded, drawn, border), seen.conclusion_holds)


def sign_chance(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The chance that the sign holds, as `compare --holds` gives it."""
    drawn = np.array([one.difference for one in seen.drawn_statistics])
    yield seen.of_pairs("sign", chance_of_sign(seen.statistics.difference, drawn), seen.sign_holds)


def share_of_draws(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The share of draws with the same conclusion, taken as the chance that it holds."""
    border = borders(seen.statistics.topics, seen.procedure.alpha)
    t = np.array([one.t for one in seen.drawn_statistics])
    same = np.where(t >= border, 1, np.where(t <= -border, -1, 0)) == seen.concluded
    share = np.where(np.isnan(border), np.nan, same.mean(axis=0))
    yield seen.of_pairs("draws", share, seen.conclusion_holds)


def margin(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The distance of t from its critical value, which orders pairs by how likely the conclusion holds."""
    distance = np.abs(np.abs(seen.statistics.t) - borders(seen.statistics.topics, seen.procedure.alpha))
    nothing = np.zeros(len(distance), np.bool_)
    yield seen.of_pairs("margin", distance, seen.conclusion_holds, sure=nothing, chances=False)


def strong_label(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The label `strong` of the decision matrix, as a sign that the conclusion holds."""
    depth = assessment_depth(seen.measure) or max(1, int(seen.regrading.retrieved.lengths.max(initial=1)))
    assessed = seen.regrading.values([assessment_measure(depth)], seen.view)[:, 0]
    cases = decide(seen.tests, seen.procedure.apply(assessed, seen.pairs), alone=True)
    strong = (cases == 1) | (cases == 3)
    score = np.where(cases == 0, np.nan, strong.astype(np.float64))
    yield seen.of_pairs("strong", score, seen.conclusion_holds, sure=strong, chances=False)


def one_minus_p(seen: ClaimSituation) -> Iterator[Forecasts]:
    """1 - p, read as the chance that the sign holds, which is a common mistake."""
    yield seen.of_pairs("p-value", 1 - seen.tests.p_alone, seen.sign_holds)


def settled_order(seen: ClaimSituation) -> Iterator[Forecasts]:
    """Pairs whose order no further judgment of a retrieved document can reverse."""
    try:
        found = pair_bounds(seen.measure, Listings.of(seen.regrading, seen.view), seen.pairs)
    except DataError:
        return  # no bounds are known of this measure
    score = np.where(found.known, found.settled, np.nan)
    yield seen.of_pairs("settled", score, seen.sign_holds, sure=found.settled, chances=False)


def bounds_of_means(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The lowest and highest possible mean of a run, over all documents that the runs retrieved."""
    listings = Listings.of(seen.regrading, seen.view)
    if not has_bounds(seen.measure, listings):
        return
    low, high = (np.nanmean(side, axis=1) for side in own_bounds(seen.measure, listings))
    mean = np.nanmean(seen.truth, axis=1)
    yield seen.of_runs("bounds", 1.0, (low <= mean + 1e-12) & (mean <= high + 1e-12))


def interval_of_differences(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The t interval of a difference, read as an interval for the difference with all judgments."""
    tests, there = seen.tests, seen.tests_in_truth.difference
    inside = (tests.ci_low <= there) & (there <= tests.ci_high)
    chance = np.where(np.isnan(tests.p), np.nan, 1 - seen.procedure.alpha)
    yield seen.of_pairs("t-interval", chance, inside)


def model_confidence(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The confidence of `plan` and `judge` in the order of two runs, and 95% intervals of expected values."""
    yield from _mtc(seen, "mtc", "runs")


def neutral_confidence(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The same with the paper's chance of 0.5 for every unjudged document."""
    yield from _mtc(seen, "mtc-0.5", "0.5")


def _mtc(seen: ClaimSituation, name: str, prior: str) -> Iterator[Forecasts]:
    """Yield forecasts for measures that sum over documents or pairs of them, cut to the depth considered."""
    depth = seen.until.depth
    deeper = seen.measure.k is None or seen.measure.k > depth
    measure = seen.measure.replace(k=depth) if deeper and seen.measure.definition.takes("k") else seen.measure
    try:
        form = form_of(measure, depth, seen.regrading.retrieved.lists.shape[2])
    except DataError:
        return  # no such sum
    retrieved = seen.regrading.retrieved.cut(depth)
    counting, grades = retrieved.best_ranks() > 0, seen.view.grades
    given = (counting & np.isfinite(grades)).nonzero()[0]
    relevant = given[grades[given] >= form.level]
    elsewhere = seen.view.judgments.relevant(form.level) - np.bincount(
        retrieved.topic[relevant], minlength=len(retrieved.topics)
    )
    session = Session(
        retrieved, seed=seen.seed, given=[(int(one), float(grades[one])) for one in given],
        elsewhere=elsewhere.tolist(), measure=str(measure), depth=depth, prior=prior,
    )  # fmt: skip
    confidence = session.confidence()
    first, second = seen.pairs.T
    truth = np.nanmean(seen.whole.values(measure)[seen.hidden.runs], axis=1)
    right = np.sign(confidence.values[first] - confidence.values[second]) == np.sign(
        np.round(truth[first] - truth[second], 12)
    )
    yield seen.of_pairs(name, confidence.of_pairs()[first, second], right)
    reach = NORMAL_95 * confidence.deviations + 1e-6  # drawn values are in single precision
    yield seen.of_runs(f"{name}{INTERVAL}", SURE, np.abs(truth - confidence.values) <= reach)


def interval_of_estimates(seen: ClaimSituation) -> Iterator[Forecasts]:
    """The 95% intervals of `estimate` on these topics, for the differences of all pairs and for each run."""
    hidden = seen.hidden
    if hidden.chances is None:
        return
    found = estimate_drawn(seen.regrading, hidden.states, hidden.chances, seen.labels, seen.measure, SURE)
    if found is None:
        return
    truth = seen.truth.mean(axis=1)
    first, second = seen.pairs.T
    difference, little = truth[first] - truth[second], 1e-9
    inside = (found.pair_low - little <= difference) & (difference <= found.pair_high + little)
    yield seen.of_pairs("estimate", np.full(len(seen.pairs), SURE), inside)
    inside = (found.low - little <= truth) & (truth <= found.high + little)
    yield seen.of_runs(f"estimate{INTERVAL}", SURE, inside)


Ask = Callable[[ClaimSituation], Iterator[Forecasts]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A kind of statement that is checked, by its name."""

    name: str
    ask: Ask
    needs_draws: bool = False

    @property
    def title(self) -> str:
        """The claim in words: the first line of its docstring."""
        return (self.ask.__doc__ or "").splitlines()[0].rstrip(".")


CLAIMS = {
    claim.name: claim
    for claim in (
        Claim("holds", conclusion_chance, needs_draws=True),
        Claim("sign", sign_chance, needs_draws=True),
        Claim("draws", share_of_draws, needs_draws=True),
        Claim("margin", margin),
        Claim("strong", strong_label),
        Claim("p-value", one_minus_p),
        Claim("settled", settled_order),
        Claim("bounds", bounds_of_means),
        Claim("t-interval", interval_of_differences),
        Claim("mtc", model_confidence),
        Claim("mtc-0.5", neutral_confidence),
        Claim("estimate", interval_of_estimates),
    )
}


def find_claim(name: str) -> Claim:
    """The claim of that name, or that gives it beside its own; an error with the nearest names otherwise."""
    own = name.removesuffix(INTERVAL) if name in (f"{one}{INTERVAL}" for one in WITH_INTERVAL) else name
    if own not in CLAIMS:
        raise UnknownNameError("claim", name, CLAIMS)
    return CLAIMS[own]


def situations(
    hidden: Hidden,
    whole: WholeTruth,
    measures: Sequence[Measure],
    until: Until,
    procedure: Procedure,
    *,
    draws: int,
    seed: int,
    labels: Floats,
) -> Iterator[ClaimSituation]:
    """Return one situation per measure, about which claims are made; `draws` 0: no claim needs any."""
    regrading = hidden.regrading
    view = regrading.under(hidden.states)
    values = regrading.values(measures, view)
    drawn = np.empty((len(regrading.runs), len(measures), 0, len(regrading.topics)))
    if draws:
        considered = until.considered(regrading.retrieved, hidden.pooled)
        drawn = draw_completions(regrading, view, considered, draws=draws, seed=seed).values(measures)
    for number, measure in enumerate(measures):
        yield ClaimSituation(
            hidden=hidden, whole=whole, until=until, procedure=procedure, measure=measure,
            values=values[:, number], drawn=drawn[:, number], seed=seed, labels=labels,
        )  # fmt: skip
