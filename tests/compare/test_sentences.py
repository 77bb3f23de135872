"""What a comparison warns of is said once, however many measures it holds for."""

from __future__ import annotations

import numpy as np
from tests.statistics.test_randomization import run, table

from sounding.compare import sentences


def test_a_warning_that_holds_for_several_measures_is_said_once_and_the_others_are_counted() -> None:
    values = table(12, 30)
    values[0] += 0.3
    clear = values.copy()
    clear[1] += 0.6
    tests = [run(one, correction="holm", permutations=1_319) for one in (values, clear, np.flip(values, 0))]
    assert [len(one.notes) for one in tests] == [1, 1, 1]
    assert tests[0].notes != tests[1].notes
    (told,) = sentences.test_notes(tests[:2])
    assert told.startswith("Significance may change with the seed: 1,319 permutations")
    assert told.endswith("or correction max-t; similarly by 1 more measure.")
    # Word for word the same is one warning, and nothing is counted.
    (told,) = sentences.test_notes([tests[0], tests[2]])
    assert told.endswith("or correction max-t.")


def test_a_test_that_cannot_reach_alpha_has_no_other_warning() -> None:
    values = table(12, 30)
    values[0] += 0.3
    tests = [run(values, correction="holm", permutations=draws) for draws in (999, 1_319)]
    (second,) = sentences.test_notes(tests)
    assert [bool(one.limit) for one in tests] == [True, False]
    assert second.startswith("Significance may change with the seed: ")
