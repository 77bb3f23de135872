"""Claims asked where judgments are hidden: counted anew by plain evaluation and scipy."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import polars
import pytest
from scipy.stats import ttest_rel
from tests.measures.regrading_data import draw_qrels, draw_runs

from sounding.calibrate.calibrating import calibrate
from sounding.calibrate.claims import CLAIMS
from sounding.calibrate.hiding import hide, parse_scenario
from sounding.calibrate.result import COLUMNS, Calibration
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.executors import run_on
from sounding.core.policies import Policies
from sounding.estimate.estimating import estimate
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse_measures
from sounding.measures.regrading import JUDGED, read_regrading
from sounding.runs.pool import parse_until
from sounding.sample.simulation import sample

MADE = sample(topics=15, groups=6, systems=2, documents=300, length=60, pool_depth=30, seed=4)
INFO = {one.run: one for one in MADE.info}


def calibrated(**options: Any) -> Calibration:
    chosen: dict[str, Any] = {
        "scenarios": ["pool:3", "sample:0.2"], "until": "pool:30", "info": INFO, "draws": 20, "repeats": 2,
        "resamples": 20,
    }  # fmt: skip
    measures = options.pop("measures", ["AP", "P@10"])
    return calibrate(MADE.qrels, MADE.runs, measures, **(chosen | options))


@pytest.fixture(scope="module")
def found() -> Calibration:
    return calibrated()


def row(
    found: Calibration, scenario: str, claim: str, measure: str = "AP", part: str = "all"
) -> dict[str, Any]:
    frame = found.frame.filter(
        (polars.col("scenario") == scenario) & (polars.col("claim") == claim)
        & (polars.col("measure") == measure) & (polars.col("part") == part)
    )  # fmt: skip
    assert frame.height == 1
    return frame.row(0, named=True)


def plain_conclusions(depth: int | None, measure: str) -> tuple[list[int], list[float], list[float]]:
    """Of every pair of runs: better, worse or neither by scipy; the difference; and p."""
    ranks = np.asarray(MADE.qrels.pool_ranks)
    qrels = MADE.qrels if depth is None else MADE.qrels.keep((ranks > 0) & (ranks <= depth))
    values = evaluate(qrels, MADE.runs, [measure]).values[:, 0]
    tests = [ttest_rel(values[a], values[b]) for a in range(len(values)) for b in range(a + 1, len(values))]
    gaps = [
        float((values[a] - values[b]).mean()) for a in range(len(values)) for b in range(a + 1, len(values))
    ]
    sides = [int(np.sign(test.statistic)) if test.pvalue <= 0.05 else 0 for test in tests]
    return sides, gaps, [float(test.pvalue) for test in tests]


@pytest.mark.parametrize("measure", ["AP", "P@10"])
def test_what_holds_is_counted_as_scipy_counts_it(found: Calibration, measure: str) -> None:
    (now, gaps, p), (there, truth, _) = plain_conclusions(3, measure), plain_conclusions(None, measure)
    same = np.array(now) == np.array(there)
    ahead = np.sign(np.round(gaps, 12)) == np.sign(np.round(truth, 12))
    for claim in ("holds", "draws", "margin", "strong"):
        one = row(found, "pool:3", claim, measure)
        assert one["pairs"] == 66
        assert one["right"] == pytest.approx(same.mean())
    for claim in ("sign", "p-value", "settled"):
        assert row(found, "pool:3", claim, measure)["right"] == pytest.approx(ahead.mean())
    claimed = 1 - np.array(p) >= 0.95
    values = row(found, "pool:3", "p-value", measure)
    assert values["share_claimed"] == pytest.approx(claimed.mean())
    assert values["share_right"] == pytest.approx(ahead[claimed].mean())
    assert values["brier"] == pytest.approx(np.mean((1 - np.array(p) - ahead) ** 2))


def test_the_columns_are_those_promised_and_the_others_after_them(found: Calibration) -> None:
    assert found.frame.columns[: len(COLUMNS)] == list(COLUMNS)
    assert set(found.frame["scenario"]) == {"pool:3", "sample:0.2"}


def test_every_claim_is_asked(found: Calibration) -> None:
    asked = {name.removesuffix(" interval") for name in found.frame["claim"]}
    assert asked == set(CLAIMS) - {"estimate"}  # which needs judgments drawn with known chances


def noisy_labels() -> dict[str, dict[str, float]]:
    """A machine's labels of all judged documents: people's grades, up to one off."""
    rng, labels = np.random.default_rng(6), {}
    for topic, begin, end in zip(MADE.qrels.topics, MADE.qrels.starts, MADE.qrels.starts[1:], strict=False):
        grades = np.clip(MADE.qrels.grades[begin:end] + rng.integers(-1, 2, end - begin), 0, 2)
        labels[topic] = dict(zip(MADE.qrels.docs[begin:end].texts(), grades.tolist(), strict=True))
    return labels


LABELS = noisy_labels()


@pytest.mark.parametrize("labels", [None, LABELS])
def test_estimates_are_those_of_estimate(labels: Any) -> None:
    """The same judgments as prels with their probabilities, given to `estimate`."""
    regrading = read_regrading(MADE.qrels, MADE.runs)
    measures = list(parse_measures(["P@10", "ERR"]))
    contributing = np.ones(len(MADE.runs), np.bool_)
    hidden = hide(
        regrading, parse_scenario("draw:120"), pooled=contributing, groups=["a"] * len(MADE.runs),
        until=parse_until("pool:30"), seed=(0, 0), measures=measures,
    )  # fmt: skip
    drawn = hidden.states == JUDGED
    assert 95 < drawn.sum() < 145
    probabilities = np.asarray(hidden.chances)
    prels = replace(MADE.qrels, probabilities=probabilities, pool_ranks=None).keep(drawn)
    machines = None if labels is None else {"m": labels}
    own = estimate(prels, MADE.runs, measures, labels=machines)
    found = calibrated(
        scenarios=["draw:120"], claims=["estimate"], repeats=1, labels=machines, measures=measures
    )
    values = evaluate(MADE.qrels, MADE.runs, measures).values.mean(axis=2)
    a, b = np.triu_indices(len(MADE.runs), 1)
    for number, (measure, one) in enumerate(zip(measures, own.estimates, strict=True)):
        truth = values[:, number]
        inside = (one.low - 1e-9 <= truth) & (truth <= one.high + 1e-9)
        difference = truth[a] - truth[b]
        pairs = (one.pair_low - 1e-9 <= difference) & (difference <= one.pair_high + 1e-9)
        each = row(found, "draw:120", "estimate interval", str(measure))
        assert (each["pairs"], each["right"]) == (len(truth), pytest.approx(inside.mean()))
        both = row(found, "draw:120", "estimate", str(measure))
        assert (both["pairs"], both["share_claimed"], both["right"]) == (66, 1, pytest.approx(pairs.mean()))


def test_intervals_of_estimates_are_right_as_often_as_they_say() -> None:
    found = calibrated(
        scenarios=["draw:150"], claims=["estimate"], repeats=60, labels={"m": LABELS}, measures=["P@10"]
    )
    assert 0.93 < row(found, "draw:150", "estimate", "P@10")["right"] < 0.97
    assert 0.93 < row(found, "draw:150", "estimate interval", "P@10")["right"] < 0.98


def test_estimates_need_judgments_that_were_drawn_and_a_measure_that_can_be_estimated() -> None:
    with pytest.raises(DataError, match="draw:300"):
        calibrated(claims=["estimate"])
    with pytest.raises(DataError, match="judge at least 20 topics whole"):
        calibrated(claims=["estimate"], scenarios=["draw:100"], measures=["AP"])
    with pytest.raises(DataError, match="draw needs all judgments"):
        calibrated(scenarios=["pool:10+draw:100"])


def test_budgets_are_the_judgments_that_are_left(found: Calibration) -> None:
    ranks = np.asarray(MADE.qrels.pool_ranks)
    assert row(found, "pool:3", "holds")["budget"] == np.count_nonzero((ranks > 0) & (ranks <= 3))
    assert row(found, "sample:0.2", "holds")["budget"] == pytest.approx(len(ranks) / 5, rel=0.2)


def test_scenarios_with_chance_are_repeated_and_their_pairs_counted_together(found: Calibration) -> None:
    assert dict(found.repeats) == {"pool:3": 1, "sample:0.2": 2}
    assert row(found, "sample:0.2", "holds")["pairs"] == 2 * 66
    once = calibrated(scenarios=["sample:0.2"], claims=["margin"], repeats=1)
    assert row(once, "sample:0.2", "margin")["auc"] != row(found, "sample:0.2", "margin")["auc"]


def test_pairs_are_told_apart_by_whether_both_runs_contributed(found: Calibration) -> None:
    pooled = sum(one.pooled for one in MADE.info)
    both = pooled * (pooled - 1) // 2
    assert row(found, "pool:3", "holds", part="pooled")["pairs"] == both
    assert row(found, "pool:3", "holds", part="unpooled")["pairs"] == 66 - both


def test_bounds_hold_and_what_is_settled_stays_so(found: Calibration) -> None:
    for scenario in ("pool:3", "sample:0.2"):
        for measure in ("AP", "P@10"):
            assert row(found, scenario, "bounds", measure)["share_right"] == 1
            settled = row(found, scenario, "settled", measure)
            assert settled["share_claimed"] == 0 or settled["share_right"] == 1
    deeper = calibrated(scenarios=["pool:10"], claims=["settled"])
    settled = row(deeper, "pool:10", "settled", "P@10")
    assert settled["share_claimed"] > 0
    assert settled["share_right"] == 1


@pytest.mark.parametrize("measure", ["AP", "AP@60", "nDCG@5"])
def test_confidence_is_about_the_measure_cut_to_the_depth_that_is_considered(measure: str) -> None:
    """Where all that counts is judged, expected values are the values, and every order is right."""
    ranks = np.asarray(MADE.qrels.pool_ranks)
    near = MADE.qrels.keep((ranks > 0) & (ranks <= 20))
    pooled = [run for run, one in zip(MADE.runs, MADE.info, strict=True) if one.pooled]
    found = calibrate(
        near,
        pooled,
        [measure],
        info=INFO,
        until="pool:20",
        scenarios=["pool:20"],
        claims=["mtc"],
        resamples=0,
    )
    assert row(found, "pool:20", "mtc interval", measure)["share_right"] == 1
    assert row(found, "pool:20", "mtc", measure)["right"] == 1


def test_the_chance_of_holding_tells_more_than_the_margin_and_the_label() -> None:
    large = sample(topics=25, groups=12, documents=1000, length=200, pool_depth=50, seed=7)
    made = calibrate(
        large.qrels, large.runs, ["AP"], info={one.run: one for one in large.info}, until="pool:50",
        scenarios=["pool:5", "pool:5+groups:0.5"], claims=["holds", "margin", "strong"], resamples=0,
    )  # fmt: skip
    for scenario in made.repeats:
        areas = [row(made, scenario, claim)["auc"] for claim in ("holds", "margin", "strong")]
        assert areas[0] > 0.95 > max(areas[1:])


def test_nothing_hidden_is_certain_and_right() -> None:
    made = calibrated(scenarios=["pool:30"], claims=["holds", "sign"])
    for claim in ("holds", "sign"):
        assert row(made, "pool:30", claim)["share_right"] == 1
        assert row(made, "pool:30", claim)["share_claimed"] == 1


def test_bins_of_the_diagram_hold_all_pairs(found: Calibration) -> None:
    frame = found.reliability_frame.filter(
        (polars.col("scenario") == "pool:3") & (polars.col("claim") == "holds")
        & (polars.col("measure") == "AP") & (polars.col("part") == "all")
    )  # fmt: skip
    assert frame["pairs"].sum() == 66
    one = row(found, "pool:3", "holds")
    assert (frame["pairs"] * (frame["chance"] - frame["right"]).abs()).sum() / 66 == pytest.approx(one["ece"])


@pytest.mark.parametrize(
    "asked",
    [
        {"claims": ["holds"]},
        {"claims": ["mtc"], "scenarios": ["mtc:40", "mtc:40+groups:0.5"]},
        {"claims": ["holds"], "scenarios": ["mtc:40"]},
    ],
    ids=str,
)
def test_processes_change_nothing_and_seeds_do(asked: dict[str, Any]) -> None:
    one, same, other = (
        calibrated(jobs=jobs, policies=Policies(seed=seed), **asked)
        for jobs, seed in ((1, 0), (2, 0), (1, 1))
    )
    assert one.frame.equals(same.frame, null_equal=True)
    assert not one.frame.equals(other.frame)


def test_an_executor_changes_nothing() -> None:
    here = calibrated(claims=["holds", "mtc"])
    with run_on(ThreadPoolExecutor(2)):
        there = calibrated(claims=["holds", "mtc"])
    assert here.frame.equals(there.frame, null_equal=True)


def test_a_notebook_shows_the_tables_and_the_diagram(found: Calibration) -> None:
    shown = found._repr_html_()
    assert shown.count("<table>") == 4  # two measures, two scenarios
    assert shown.count("<svg") == 1
    assert "share that came true" in shown


def test_claims_are_asked_of_data_that_hurt() -> None:
    made = calibrate(
        draw_qrels(2), draw_runs(2), ["AP", "nDCG@5", "Bpref"], scenarios=["sample:0.5", "runs:4"],
        until="runs:20", draws=5, repeats=1, resamples=5, policies=Policies(missing="skip"),
    )  # fmt: skip
    assert set(made.frame["measure"]) == {"AP", "nDCG@5", "Bpref"}
    for name in ("auc", "ece", "brier", "share_right", "share_claimed"):
        known = made.frame[name].drop_nans()
        assert ((known >= 0) & (known <= 1)).all()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"repeats": 0}, "repeats is 0; give a whole number from 1"),
        ({"draws": 1}, "draws is 1; give a whole number from 2"),
        ({"resamples": -1}, "resamples is -1; give a whole number from 0"),
        ({"until": "pool"}, "until 'pool'; expected pool:D or runs:D with a depth from 1, such as pool:100"),
    ],
)
def test_choices_that_are_none_are_refused_in_one_line(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(DataError) as caught:
        calibrated(**options)
    assert str(caught.value) == problem


def test_an_unknown_claim_gets_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown claim 'hold'; did you mean holds\?$"):
        calibrated(claims=["hold"])


def test_one_run_makes_no_pair() -> None:
    with pytest.raises(DataError, match=r"^1 run makes no pair; give at least 2$"):
        calibrate(MADE.qrels, MADE.runs[:1], ["AP"], info=INFO)
