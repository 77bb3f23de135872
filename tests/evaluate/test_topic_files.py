"""Standardized values: what is read as their reference, and what becomes of a deviation of 0."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import sounding
from sounding.core.errors import FormatError
from sounding.evaluate.topic_files import read_references, standardize


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_references_are_means_and_deviations_by_topic_and_measure(tmp_path: Path) -> None:
    file = written(tmp_path / "z", "1 map 0.5 0.25\n2 map 0.1 0\n1 P_5 0.2 0.1\n")
    assert read_references(file) == {
        ("1", "map"): (0.5, 0.25),
        ("2", "map"): (0.1, 0),
        ("1", "P_5"): (0.2, 0.1),
    }


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1 map 0.5 0.1\n2 map 0.5 -0.1\n", "z:2: deviation '-0.1' is negative; expected 0 or more"),
        (
            "# reference\n1 map 0.5 0.1\n2 map 0.5 0.1\n1 map 0.4 0.1\n",
            "z:4: topic 1 has map already in line 2; expected it once",
        ),
    ],
)
def test_a_reference_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, lines: str, message: str
) -> None:
    with pytest.raises(FormatError) as wrong:
        read_references(written(tmp_path / "z", lines))
    assert str(wrong.value).endswith(message)


def test_a_deviation_of_0_is_not_defined_unless_the_value_is_the_mean() -> None:
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
    run = {"1": {"a": 1.0}, "2": {"b": 1.0}, "3": {"a": 1.0}}
    scores = sounding.evaluate(qrels, [run], ["AP"])
    references = {("1", "map"): (0.5, 0.0), ("2", "map"): (0.0, 0.0), ("3", "map"): (0.5, 0.25)}
    found = standardize(scores, references)
    assert np.isnan(found.values[0, 0, 0])
    assert found.values[0, 0, 1:].tolist() == [0.0, 2.0]
    assert math.copysign(1, found.values[0, 0, 1]) == 1
    assert found.mean().tolist() == [[1.0]]
    assert found.counted().tolist() == [[2]]
    assert any("AP 1" in remark and "deviation 0" in remark for remark in found.remarks)


def test_what_has_no_reference_is_not_defined_and_counted() -> None:
    scores = sounding.evaluate({"1": {"a": 1}, "2": {"a": 1}}, [{"1": {"a": 1.0}, "2": {"b": 1.0}}], ["AP"])
    found = standardize(scores, {("1", "map"): (0.5, 0.25)})
    assert np.isnan(found.values[0, 0, 1])
    assert found.mean().tolist() == [[2.0]]
    assert any("reference: 1" in remark for remark in found.remarks)
    whole = standardize(scores, {("1", "map"): (0.5, 0.25), ("2", "map"): (0.5, 0.25)})
    assert whole.remarks == (*scores.remarks, "values are z-scores")
