"""Random parts of the judgments: what they hold, and their values against evaluating each part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.measures.regrading_data import draw_qrels, draw_runs

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.tables import Qrels, Run
from sounding.depth.fewer_judgments import SUBSET_COEFFICIENTS, judgment_subsets
from sounding.evaluate.evaluation import evaluate
from sounding.measures.regrading import (
    JUDGED,
    POOLED,
    PartSizes,
    Regrading,
    View,
    random_places,
    read_regrading,
)
from sounding.statistics.rank_correlation import rank_agreement

MEASURES = ("AP", "bpref", "P@3", "infAP", "nDCG", "Compat", "NumUnjudgedNotRet")


def spied_states(monkeypatch: pytest.MonkeyPatch) -> list[NDArray[np.int8]]:
    """The states of the judgments in every part that is evaluated, in order."""
    seen: list[NDArray[np.int8]] = []
    original = Regrading.under

    def under(self: Regrading, states: NDArray[np.int8], topics: Any = None) -> View:
        seen.append(states)
        return original(self, states, topics)

    monkeypatch.setattr(Regrading, "under", under)
    return seen


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("policies", [Policies(), Policies(unjudged="condensed"), Policies(missing="skip")])
def test_values_are_those_of_qrels_whose_other_judgments_are_taken_back(
    seed: int, policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, runs = draw_qrels(seed, documents=60), draw_runs(seed, documents=60)
    seen = spied_states(monkeypatch)
    found = judgment_subsets(
        read_regrading(qrels, runs, policies=policies), MEASURES, shares=[0.5, 0.1], draws=2
    )
    for number, states in enumerate(seen[:4]):
        part = replace(qrels, grades=np.where(states == POOLED, -1, qrels.grades))
        expected = evaluate(part, runs, MEASURES, policies=policies).mean()
        np.testing.assert_allclose(found.means[number // 2, number % 2], expected, atol=1e-12)
        assert found.judgments[number // 2, number % 2] == np.count_nonzero(part.grades >= 0)
        assert found.relevant[number // 2, number % 2] == np.count_nonzero(part.grades >= 1)
    np.testing.assert_allclose(found.full, evaluate(qrels, runs, MEASURES, policies=policies).mean())


def many_judgments() -> tuple[Qrels, list[Run]]:
    """Topics with 3, 20 and 100 relevant documents among 12, 120 and 400 judged ones."""
    judgments = {
        topic: {f"d{doc}": float(doc < relevant) for doc in range(judged)}
        for topic, relevant, judged in (("1", 3, 12), ("2", 20, 120), ("3", 100, 400))
    }
    return Qrels.from_dict(judgments), draw_runs(1, runs=2, topics=1)


@pytest.mark.parametrize(
    ("share", "relevant", "others"),
    [
        # 9, 100 and 300 others: at least 10 of them, or all there are.
        (1.0, (3, 20, 100), (9, 100, 300)),
        (0.5, (2, 10, 50), (9, 50, 150)),  # half of 3 is rounded up
        (0.1, (1, 2, 10), (9, 10, 30)),  # a tenth of 3 would be none
        (0.01, (1, 1, 1), (9, 10, 10)),
    ],
)
def test_a_share_of_the_relevant_and_of_the_others_stays_for_every_topic(
    share: float, relevant: tuple[int, ...], others: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    qrels, _ = many_judgments()
    runs = [Run.from_dict({"1": {"d1": 1.0, "d4": 0.5}}, name=name) for name in "ab"]
    seen = spied_states(monkeypatch)
    judgment_subsets(read_regrading(qrels, runs), ["AP"], shares=[share], draws=3)
    topic = np.repeat(np.arange(3), qrels.sizes)
    for states in seen[:3]:
        kept = states == JUDGED
        for number in range(3):
            grades = qrels.grades[kept & (topic == number)]
            assert np.count_nonzero(grades == 1) == relevant[number]
            assert np.count_nonzero(grades == 0) == others[number]


def test_a_smaller_part_lies_within_every_larger_one_of_its_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    qrels, _ = many_judgments()
    runs = [Run.from_dict({"1": {"d1": 1.0}}, name=name) for name in "ab"]
    seen = spied_states(monkeypatch)
    judgment_subsets(read_regrading(qrels, runs), ["AP"], shares=[0.1, 0.8, 0.3], draws=2)
    parts = [np.flatnonzero(states == JUDGED) for states in seen[:6]]
    for draw in range(2):
        largest, middle, least = parts[draw], parts[2 + draw], parts[4 + draw]
        assert set(least) < set(middle) < set(largest)
    assert set(parts[0]) != set(parts[1])  # the two draws


def test_every_judgment_is_as_likely_to_stay() -> None:
    qrels, _ = many_judgments()
    runs = [Run.from_dict({"1": {"d1": 1.0}}, name=name) for name in "ab"]
    regrading = read_regrading(qrels, runs)
    sizes = PartSizes.of(regrading, 1)
    stays = np.mean(
        [random_places(regrading, 1, [0, draw]) < sizes.kept(0.3)[sizes.group] for draw in range(2000)],
        axis=0,
    )
    third = np.repeat(np.arange(3), qrels.sizes) == 2
    assert np.abs(stays[third] - 0.3).max() < 5 * np.sqrt(0.3 * 0.7 / 2000)


def test_the_seed_decides_what_is_drawn() -> None:
    qrels, runs = draw_qrels(0, documents=60), draw_runs(0, documents=60)
    first, again, other = (
        judgment_subsets(
            read_regrading(qrels, runs, policies=Policies(seed=seed)), ["AP"], shares=[0.2], draws=2
        ).means
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_several_processes_give_the_same() -> None:
    regrading = read_regrading(draw_qrels(0), draw_runs(0))
    one, two = (judgment_subsets(regrading, shares=[0.5, 0.2], draws=3, jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(one.means, two.means)
    np.testing.assert_array_equal(one.agreement, two.agreement)


def test_agreement_is_with_the_own_full_ordering_or_with_that_of_the_reference() -> None:
    regrading = read_regrading(draw_qrels(0, documents=60), draw_runs(0, documents=60))
    own = judgment_subsets(regrading, MEASURES, shares=[0.3], draws=2)
    against = judgment_subsets(regrading, MEASURES, shares=[0.3], draws=2, reference="nDCG@5")
    target = evaluate(draw_qrels(0, documents=60), draw_runs(0, documents=60), ["nDCG@5"]).mean()[:, 0]
    assert str(against.reference) == "nDCG@5"
    for number, name in enumerate(SUBSET_COEFFICIENTS):
        for draw in range(2):
            for column in range(len(MEASURES)):
                means = own.means[0, draw, :, column]
                assert own.agreement[number, 0, draw, column] == pytest.approx(
                    rank_agreement(own.full[:, column], means, name).value, nan_ok=True
                )
                assert against.agreement[number, 0, draw, column] == pytest.approx(
                    rank_agreement(target, means, name).value, nan_ok=True
                )


def test_all_judgments_agree_with_themselves() -> None:
    found = judgment_subsets(read_regrading(draw_qrels(0), draw_runs(0)), shares=[1], draws=2)
    np.testing.assert_allclose(found.agreement, 1)
    assert [str(measure) for measure in found.measures] == ["AP", "Bpref", "P@10"]


def test_frames_name_every_part_and_sum_up_the_draws() -> None:
    found = judgment_subsets(read_regrading(draw_qrels(0), draw_runs(0)), shares=[0.2, 0.5], draws=3)
    assert found.shares == (0.5, 0.2)
    frame = found.frame
    assert frame.columns == ["share", "draw", "measure", "judgments", "relevant", "tau_b", "tau_ap_b"]
    row = frame.row(3 * 3 + 1 * 3 + 2, named=True)  # the second share, the second draw, the third measure
    assert (row["share"], row["draw"], row["measure"]) == (0.2, 2, "P@10")
    assert row["judgments"] == found.judgments[1, 1]
    assert row["tau_b"] == found.agreement[0, 1, 1, 2]
    summary = found.summary_frame
    assert len(summary) == 2 * 3 * 2
    line = summary.row(2 * 3 + 2 * 1 + 1, named=True)  # the second share, the second measure, tau_ap_b
    values = found.agreement[1, 1, :, 1]
    assert (line["share"], line["measure"], line["coefficient"]) == (0.2, "Bpref", "tau_ap_b")
    assert (line["mean"], line["least"], line["most"]) == pytest.approx(
        (values.mean(), values.min(), values.max())
    )
    assert line["undefined"] == 0


def test_draws_without_an_ordering_are_counted_not_averaged() -> None:
    run = draw_runs(0)[0]
    found = judgment_subsets(read_regrading(draw_qrels(0), [run, replace(run, name="b")]), ["AP"], draws=2)
    line = found.summary_frame.row(0, named=True)
    assert line["undefined"] == 2
    assert np.isnan(line["mean"])


def test_bad_requests_are_refused_in_one_line() -> None:
    regrading = read_regrading(draw_qrels(0), draw_runs(0))
    with pytest.raises(DataError, match=r"shares \[0\]; expected numbers above 0 and at most 1"):
        judgment_subsets(regrading, shares=[0])
    with pytest.raises(DataError, match="draws is 0; give a whole number from 1"):
        judgment_subsets(regrading, draws=0)
    with pytest.raises(DataError, match="RunID gives text, and runs are ordered by numbers; leave it out"):
        judgment_subsets(regrading, ["RunID"])
