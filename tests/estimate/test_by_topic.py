"""Estimates from topics judged whole: against enumeration, Monte Carlo, and complete judgments."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import special
from tests.e2e.calling import caller
from tests.estimate.replays import replay_topics, topic_values

import sounding
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.estimate import by_topic
from sounding.estimate.by_topic import (
    equal_topics,
    estimate_topics,
    largest_t,
    pair_variances,
    shrunken_coefficients,
    varies,
)
from sounding.statistics.pairwise import Procedure

Floats = NDArray[np.float64]
RNG = np.random.default_rng(5)
TRUE = RNG.random((3, 7))
LABELED = np.stack([TRUE + RNG.normal(0, 0.2, TRUE.shape) + 0.3, RNG.random((3, 7))])


def test_without_labels_a_row_by_hand() -> None:
    # Topics 1 and 3 of 4 with values 0.2 and 0.6: mean 0.4, variance (1 - 2/4) * 0.08 / 2.
    own = estimate_topics(np.zeros((0, 1, 4)), np.array([1, 3]), np.array([[0.2, 0.6]]))
    assert own.means == pytest.approx([0.4])
    assert own.covariance() == pytest.approx(np.array([[0.02]]))
    assert own.topics_covariance() == pytest.approx(np.array([[0.02 + 0.08 / 4]]))  # = 0.08 / 2
    assert own.values() == pytest.approx(np.array([[0.4, 0.0, 0.4, 0.8]]))


def test_the_estimate_is_unbiased_over_all_samples_of_topics() -> None:
    """People's values of 4 of 7 topics; the errors of labels are as they are."""
    for labeled in (LABELED, LABELED[:1], LABELED[:0]):
        found = [
            estimate_topics(labeled, np.array(chosen), TRUE[:, chosen])
            for chosen in combinations(range(7), 4)
        ]
        assert np.mean([one.means for one in found], axis=0) == pytest.approx(TRUE.mean(axis=1))
        for one in found:
            assert one.values().mean(axis=1) == pytest.approx(one.means)
    means = np.array([one.means for one in found])  # without labels, the variance is unbiased as well
    assert np.mean([one.covariance() for one in found], axis=0) == pytest.approx(np.cov(means.T, bias=True))


def test_no_topic_helps_to_predict_itself() -> None:
    judged = np.array([0, 2, 3, 4, 6])
    own = estimate_topics(LABELED, judged, TRUE[:, judged])
    changed = TRUE.copy()
    changed[:, 3] += 5
    again = estimate_topics(LABELED, judged, changed[:, judged])
    assert again.predicted[:, 3] == pytest.approx(own.predicted[:, 3])
    assert np.abs(again.predicted[:, 1] - own.predicted[:, 1]).max() > 0.01


def test_all_topics_judged_is_the_value_itself() -> None:
    own = estimate_topics(LABELED, np.arange(7), TRUE)
    assert own.means == pytest.approx(TRUE.mean(axis=1))
    assert own.values() == pytest.approx(TRUE)
    assert (own.covariance() == 0).all()


def test_nothing_is_predicted_where_all_topics_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(by_topic, "shrunken_coefficients")  # one fit for each topic: slow for many
    assert estimate_topics(LABELED, np.arange(7), TRUE).predicted == pytest.approx(TRUE)


def test_coefficients_are_shrunken_by_their_errors() -> None:
    x = np.array([[[1.0, -1, 2, -2, 0, 3, -3]]])
    assert shrunken_coefficients(x, 0.5 * x[0]) == pytest.approx([0.5])
    noise = np.array([[0.3, 0.4, -0.5, -0.2, 0.1, 0.2, -0.3]])
    # By hand: the slope is xy / xx, its variance the mean square of the rest over xx.
    xx, xy = float((x**2).sum()), float((x[0] * noise).sum())
    rest = float(((noise - xy / xx * x[0]) ** 2).sum()) / (7 - 2)
    expected = xy / xx * max(0.0, 1 - rest / xx / (xy / xx) ** 2)
    assert shrunken_coefficients(x, noise) == pytest.approx([expected])


def test_rows_whose_values_hardly_vary() -> None:
    rows = np.array([[1, 1, 1, 1, 0.5, 0.2], [1, 1, 1, 0.5, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]])
    assert varies(rows).tolist() == [False, True, True]


def near(hits: Floats) -> bool:
    """Whether the coverage can be between .935 and .965, by its 99% Monte Carlo interval."""
    reach = 2.58 * hits.std(ddof=1) / np.sqrt(len(hits))
    return bool(hits.mean() + reach > 0.935 and hits.mean() - reach < 0.965)


@pytest.mark.parametrize("measure", ["nDCG@10", "P(rel=2)@10", "ERR@20"])
@pytest.mark.parametrize("size", [8, 15])
def test_intervals_on_these_topics_cover(measure: str, size: int) -> None:
    covered = replay_topics(*topic_values(measure, "gpt-4.umbrela"), size, 100)
    assert near(covered.runs)
    assert near(covered.pairs)


def test_labels_help_and_labels_that_mean_nothing_cost_nothing() -> None:
    truth, labeled = topic_values("nDCG@10", "gpt-4.umbrela")
    helped = replay_topics(truth, labeled, 10, 100)
    assert helped.error < 0.72 * helped.alone
    nothing = replay_topics(truth, labeled, 10, 100, shuffle=True)
    assert nothing.error < 1.03 * nothing.alone


def test_people_alone_need_as_many_more_topics_as_the_labels_are_worth() -> None:
    # Variances of samples without replacement: (1/8 - 1/27) .4 = 1/n - 1/27.
    assert equal_topics(8, 27, 0.4) == pytest.approx(1 / (0.4 / 8 + 0.6 / 27))
    truth, labeled = topic_values("nDCG@10", "gpt-4.umbrela")
    helped = replay_topics(truth, labeled, 8, 200)
    enough = equal_topics(8, truth.shape[1], (helped.error / helped.alone) ** 2)
    assert 13 < enough < 15
    assert replay_topics(truth, labeled, 14, 200).alone == pytest.approx(helped.error, rel=0.08)


def test_average_precision_of_many_topics_with_wrong_labels() -> None:
    """Skewed values of 60 simulated topics, 15 judged; the machine inflates every value and two runs more."""
    rng = np.random.default_rng(23)
    truth = np.clip(rng.beta(0.8, 2.4, 60) + rng.normal(0, 0.1, (12, 60)), 0, 1)
    labeled = np.clip(0.7 * truth + 0.25 + rng.normal(0, 0.05, truth.shape), 0, 1)
    labeled[:2] += 0.2
    covered = replay_topics(truth, labeled, 15, 300)
    assert near(covered.runs)
    assert near(covered.pairs)
    assert covered.error < 0.9 * covered.alone


def test_topics_like_these_on_simulated_topics() -> None:
    """New topics each time; runs 0 and 1 are equally good, and the machine favors run 0.

    No pair's difference may be taken for another one in more than 5% of the collections.
    """
    rng = np.random.default_rng(29)
    hits, false, draws = [], 0, 400
    for _ in range(draws):
        truth = 0.4 + rng.normal(0, 0.15, 40) + rng.normal(0, 0.1, (3, 40)) + [[0], [0], [0.1]]
        labeled = truth + rng.normal(0, 0.08, truth.shape) + [[0.15], [0], [0]]
        judged = np.sort(rng.choice(40, 12, replace=False))
        own = estimate_topics(labeled[None], judged, truth[:, judged])
        reach = special.stdtrit(11, 0.975) * np.sqrt(np.diag(own.topics_covariance()))
        hits.append((np.abs(own.means - [0.4, 0.4, 0.5]) <= reach).mean())
        error = np.sqrt(pair_variances(own.topics_covariance()))
        gaps = own.means[[0, 0, 1]] - own.means[[1, 2, 2]]
        p = largest_t(own, (gaps - [0, -0.1, -0.1]) / error, Procedure(permutations=200))
        false += int((p <= 0.05).any())
    assert near(np.array(hits))
    assert false / draws < 0.05 + 2.58 * np.sqrt(0.05 * 0.95 / draws)


# -- the command -------------------------------------------------------------------------------------

TOPICS, DOCS = 20, 12
GRADES = {
    f"t{t:02}": {f"d{d:02}": int(RNG.random() < 0.6 / (1 + d / 4)) for d in range(DOCS)}
    for t in range(TOPICS)
}
RUNS = {
    name: {t: {d: float(-n + RNG.normal() * noise) for n, d in enumerate(docs)} for t, docs in GRADES.items()}
    for name, noise in (("good", 2.0), ("poor", 20.0))
}
LABELS = {t: {d: int(g or RNG.random() < 0.2) for d, g in docs.items()} for t, docs in GRADES.items()}


def judged(count: int) -> dict[str, dict[str, int]]:
    return dict(list(GRADES.items())[:count])


def test_any_measure_from_topics_judged_whole() -> None:
    labels = {"m": LABELS}
    own = sounding.estimate(judged(10), RUNS, ["nDCG@5", "RR"], labels=labels)
    assert own.whole == 10
    assert len(own.topics) == TOPICS
    one = own.estimates[0]
    assert (one.low < one.means).all()
    assert (one.means < one.high).all()
    assert (one.topics_low < one.low).all()
    assert one.tests is not None
    assert 0 < one.tests.p[0] <= one.tests.p_adjusted[0] <= 1
    people = sounding.evaluate(judged(10), RUNS, ["nDCG@5"]).values[:, 0].mean(axis=1)
    assert one.people == pytest.approx(people)
    machine = sounding.evaluate(LABELS, RUNS, ["nDCG@5"]).values[:, 0].mean(axis=1)
    assert one.machine == pytest.approx(machine)
    every = sounding.estimate(GRADES, RUNS, ["AP"], labels=labels).estimates[0]
    assert every.means == pytest.approx(sounding.evaluate(GRADES, RUNS, ["AP"]).mean()[:, 0])
    assert (every.low == every.high).all()


def test_too_few_topics_and_topics_judged_in_part_are_refused() -> None:
    labels = {"m": LABELS}
    with pytest.raises(DataError, match=r"5 of 20 .* at least 8 \(about 36 more judgments\)"):
        sounding.estimate(judged(5), RUNS, ["nDCG@5"], labels=labels)
    with pytest.raises(DataError, match=r"10 of 20 .* judge all 20 \(about 120 more"):
        sounding.estimate(judged(10), RUNS, ["AP"], labels=labels)
    with pytest.raises(DataError, match="mean"):
        sounding.estimate(judged(10), RUNS, ["NumRelRet"], labels=labels)
    part = judged(10)
    part["t03"] = dict(list(part["t03"].items())[:7])
    with pytest.raises(DataError, match=r"topic t03: 7 of 12 documents"):
        sounding.estimate(part, RUNS, ["nDCG@5"], labels=labels)


def test_values_that_hardly_vary_have_no_interval() -> None:
    sure = {t: {**docs, "d00": 1} for t, docs in GRADES.items()}
    runs = {"sure": {t: {"d00": 1.0} for t in GRADES}, "good": RUNS["good"]}
    own = sounding.estimate(dict(list(sure.items())[:9]), runs, ["RR"], labels={"m": LABELS}).estimates[0]
    assert np.isnan(own.low[0])
    assert own.low[1] < own.high[1]


def test_the_command_says_what_the_estimates_rest_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels.txt").write_text(
        "".join(f"{t} 0 {d} {g}\n" for t, docs in judged(9).items() for d, g in docs.items())
    )
    (tmp_path / "labels.txt").write_text(
        "".join(f"{t} 0 {d} {g}\n" for t, docs in LABELS.items() for d, g in docs.items())
    )
    for name, ranking in RUNS.items():
        sounding.write_run(sounding.read_run(ranking, name=name), tmp_path / f"{name}.run")
    arguments = [str(tmp_path / name) for name in ("qrels.txt", "good.run", "poor.run")]
    arguments += ["--labels", str(tmp_path / "labels.txt"), "--judge", "m", "-m", "nDCG@5"]
    call = caller(capsys, "estimate")
    answer = json.loads(call(*arguments, "--format", "json")[1])
    assert answer["judged_topics"] == 9
    assert answer["judged"] == 9 * DOCS
    text = call(*arguments, "--notes")[1]
    assert "9 of 20 topics" in text
    assert "chance" in text
