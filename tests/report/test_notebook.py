"""Results show themselves in notebooks: as tables, and as a chart where that can be drawn."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest

from sounding.compare.result import Comparison
from sounding.render.html import NOTEBOOK_ROWS
from sounding.report.result import Report


@pytest.mark.parametrize("name", ["scores", "comparison", "stability", "audit"])
def test_every_result_shows_itself_as_a_table_in_a_notebook(found: Report, name: str) -> None:
    result = getattr(found, name)
    shown = result._repr_html_()
    assert shown.startswith("<table>")
    assert shown.count("<tr>") > 2
    assert shown.count("<svg") == 1
    assert "<script" not in shown


def test_without_the_packages_for_charts_a_notebook_shows_the_tables_alone(
    found: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = found.scores._repr_html_()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    shown = found.scores._repr_html_()
    assert "<svg" not in shown
    assert whole.startswith(shown.rstrip())


def test_a_notebook_sees_the_first_rows_of_a_long_table(found: Report) -> None:
    assert isinstance(found.comparison, Comparison)
    shown = found.scores.of_runs([0] * 30)._repr_html_()
    assert f"<p>{NOTEBOOK_ROWS} of 30 rows.</p>" in shown
    assert len(re.findall(r"<th scope=\"row\"", shown)) == NOTEBOOK_ROWS


def test_scores_by_some_measures_keep_values_bounds_and_judged_shares(found: Report) -> None:
    scores = found.scores
    last = scores.of_measures(scores.measures[::-1])
    assert last.measures == scores.measures[::-1]
    np.testing.assert_array_equal(last.values, scores.values[:, ::-1])
    np.testing.assert_array_equal(last.judged, scores.judged[:, ::-1])
    assert last.bounds is not None
    assert scores.bounds is not None
    np.testing.assert_array_equal(last.bounds.upper, scores.bounds.upper[:, ::-1])
    assert last.bounds.kinds == scores.bounds.kinds[::-1]
    one = scores.of_measures(scores.measures[1:])
    np.testing.assert_array_equal(one.mean()[:, 0], scores.mean()[:, 1])
