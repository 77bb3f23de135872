"""Expected values under the model of all runs: means and deviations of drawn judgments."""

from __future__ import annotations

import numpy as np
import pytest

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse_measures
from sounding.measures.completions import draw_completions
from sounding.measures.regrading import read_regrading
from sounding.sample.result import Collection
from sounding.sample.simulation import sample

MODEL = Policies(unjudged="expected", prior="runs", draws=40)
MEASURES = ["AP", "P@10", "Judged@10", "NumRelRet"]


def small(pool: int = 8) -> Collection:
    return sample(topics=12, groups=5, systems=2, documents=300, length=60, pool_depth=pool, seed=4)


def test_they_are_means_and_deviations_of_drawn_judgments() -> None:
    made = small()
    found = evaluate(made.qrels, made.runs, MEASURES, policies=MODEL).expected
    assert found is not None
    regrading = read_regrading(made.qrels, made.runs)
    considered = regrading.retrieved.best_ranks() > 0
    drawn = draw_completions(regrading, regrading.view(), considered, draws=40, unseen=False)
    values = drawn.values(parse_measures(["AP"]))[:, 0]
    assert found.mean[:, 0] == pytest.approx(values.mean(axis=1))
    over = found.over_topics(parse_measures(MEASURES))
    assert over.mean[:, 0] == pytest.approx(values.mean(axis=(1, 2)))
    assert over.deviation[:, 0] == pytest.approx(values.mean(axis=2).std(axis=1, ddof=1))
    assert over.error[:, 0] == pytest.approx(over.deviation[:, 0] / np.sqrt(40))
    # Counts are summed over topics, and what is known of judgments does not vary.
    assert over.mean[:, 3] == pytest.approx(found.mean[:, 3].sum(axis=1))
    assert (over.deviation[:, 2] == 0).all()
    known = evaluate(made.qrels, made.runs, ["Judged@10"]).mean()
    assert over.mean[:, 2] == pytest.approx(known[:, 0])


def test_the_deviation_of_some_topics_is_not_known() -> None:
    made = small()
    whole = evaluate(made.qrels, made.runs, ["AP"], policies=MODEL)
    one, some = whole.of_runs([0]), whole.of_topics(whole.topics[:3])
    assert one.expected is not None
    assert some.expected is not None
    assert np.isfinite(one.expected.over_topics(one.measures).deviation).all()
    over = some.expected.over_topics(some.measures)
    assert np.isnan(over.deviation).all()
    assert np.isfinite(over.mean).all()


def test_too_few_runs_are_refused_in_one_line() -> None:
    made = small()
    with pytest.raises(
        DataError, match=r"^prior runs: this needs at least 5 runs.*; use --prior rate, or a number$"
    ):
        evaluate(made.qrels, made.runs[:3], ["AP"], policies=MODEL)
