"""The family of assessment: each choice tests the measure that it names, beside every measure."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from sounding.compare.comparison import compare, compare_scores
from sounding.core.errors import DataError
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse_measures
from sounding.measures.assessed import with_assessment
from sounding.sample.result import Collection
from sounding.sample.simulation import sample
from sounding.statistics.cases import decide
from sounding.statistics.pairwise import Procedure

MEASURES = ("AP@20", "P@5", "AP")
T = Procedure(test="t", correction="holm")
TESTED = {  # the measure of assessment beside each measure
    "A_p@50": ("A_p@50", "A_p@50", "A_p@50"),
    "A_r": ("A_r@20", "A_r@5", "SetR(assessed=True)"),
    "AA@10": ("AA@10", "AA@10", "AA@10"),
    "MAA": ("AA", "AA", "AA"),
    "twin": ("AA@20", "A_p@5", "AA"),
}


@cache
def collection() -> Collection:
    return sample(
        topics=26, groups=4, systems=1, documents=400, length=80, pool_depth=10, pooled_runs=1, seed=4
    )


@pytest.mark.parametrize("family", TESTED)
def test_the_chosen_measure_is_tested_and_decides_the_case(family: str) -> None:
    found = compare(collection().qrels, collection().runs, MEASURES, procedure=T, assessment=family)
    usual = compare(collection().qrels, collection().runs, MEASURES, procedure=T)
    assert found.assessed_by == TESTED[family]
    scores = evaluate(collection().qrels, collection().runs, TESTED[family])
    for number, name in enumerate(TESTED[family]):
        values = scores.values[:, scores.measures.index(parse_measures([name])[0])]
        tests = T.apply(values, found.pairs)
        assert np.array_equal(found.assessment_tests[number].p_adjusted, tests.p_adjusted)
        assert np.array_equal(found.cases[number], decide(usual.performance_tests[number], tests))
    assert (found.cases != usual.cases).any() or family in ("A_r", "twin")
    again = compare_scores(
        evaluate(collection().qrels, collection().runs, with_assessment(MEASURES, family)),
        measures=MEASURES, procedure=T, assessment=family,
    )  # fmt: skip
    assert np.array_equal(again.cases, found.cases)


@pytest.mark.parametrize("wrong", ["A_q", "P@10", "official", ""])
def test_what_is_no_measure_of_assessment_is_refused(wrong: str) -> None:
    with pytest.raises(DataError, match="A_p"):
        compare(collection().qrels, collection().runs, MEASURES, assessment=wrong)
