"""What holds for every chart: its frame is checked and described, its axes have words, nothing warns."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.render.frames import CHARTS, EXAMPLES, drawn, function, layers, panes, rows, texts

from sounding.compare.charts import topic_differences
from sounding.core.errors import DataError, MissingPartError
from sounding.pool.charts import pool_size_by_depth
from sounding.render.save import save, svg_of
from sounding.render.style import unchecked

ONE_LINE = r"^[^\n]*pip install 'sounding\[charts\]'$"
ROUNDED = 1e-4  # values are drawn with five digits
PAGE = Path(__file__).parents[2] / "docs" / "charts.md"


def test_every_chart_has_an_example() -> None:
    assert set(CHARTS) == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_frame_without_a_needed_column_is_refused_in_one_line_and_optional_ones_may_lack(name: str) -> None:
    frame, optional, options = EXAMPLES[name]
    for column in frame.columns:
        if column in optional:
            function(name)(frame.drop(column), **options)
            continue
        with pytest.raises(
            DataError, match=f"^chart {name}: no column '{column}' among .*; expected [^\n]*$"
        ):
            function(name)(frame.drop(column), **options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_frame_without_rows_is_refused_in_one_line(name: str) -> None:
    frame, _, options = EXAMPLES[name]
    with pytest.raises(DataError, match=f"^chart {name}: no rows; expected at least one$"):
        function(name)(frame.clear(), **options)


@pytest.mark.parametrize("name", EXAMPLES)
def test_columns_are_named_in_the_docstring_and_the_chart_on_the_page(name: str) -> None:
    frame, _, _ = EXAMPLES[name]
    described = function(name).__doc__ or ""
    assert [column for column in frame.columns if f"`{column}`" not in described] == []
    assert f"`{name}`" in PAGE.read_text()


@pytest.mark.parametrize("name", EXAMPLES)
def test_titles_and_axes_are_in_words(name: str) -> None:
    specification = drawn(name)
    title = specification["title"]["text"]
    assert len(title.split()) >= 3
    assert "_" not in title
    for pane in panes(specification):
        titles = [layer["encoding"][side].get("title", "") for layer in layers(pane)
                  for side in ("x", "y") if "field" in layer.get("encoding", {}).get(side, {})]  # fmt: skip
        assert any(titles)
        assert all("_" not in (text or "") for text in titles)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_chart_for_a_page_is_the_one_that_altair_checks(name: str) -> None:
    frame, _, options = EXAMPLES[name]
    assert unchecked(lambda: function(name)(frame, **options)) == function(name)(frame, **options).to_dict()


@pytest.mark.parametrize("name", EXAMPLES)
def test_no_chart_shows_a_nan_or_loses_its_notes(name: str) -> None:
    specification = drawn(name)
    assert "NaN" not in str(specification["datasets"])
    assert all(text.strip() == text for text in texts(specification))


@pytest.mark.parametrize("name", EXAMPLES)
def test_values_that_are_not_known_do_not_stop_a_chart(name: str) -> None:
    frame, _, options = EXAMPLES[name]
    floats = [column for column, kind in frame.schema.items() if kind.is_float() and column != "share"]
    for unknown in (float("nan"), None):
        gone = frame.with_columns(polars.lit(unknown, polars.Float64).alias(column) for column in floats)
        assert "NaN" not in str(function(name)(gone, **options).to_dict()["datasets"])


def outside(specification: dict[str, Any]) -> list[tuple[str, float]]:
    """Values that a mark would draw beyond the ends of its y axis."""
    found = []
    for pane in panes(specification):
        for layer in layers(pane):
            encoding = layer.get("encoding", {})
            domain = encoding.get("y", {}).get("scale", {}).get("domain")
            if not domain or not all(isinstance(end, int | float) for end in domain):
                continue
            fields = [encoding[side]["field"] for side in ("y", "y2") if "field" in encoding.get(side, {})]
            for row in rows(specification, layer):
                values = [(field, row[field]) for field in fields if isinstance(row.get(field), int | float)]
                spare = ROUNDED * max(map(abs, domain))
                found += [
                    pair for pair in values if not min(domain) - spare <= pair[1] <= max(domain) + spare
                ]
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_value_that_is_drawn_lies_within_its_axis(name: str) -> None:
    frame, _, options = EXAMPLES[name]
    assert outside(drawn(name)) == []
    for gone in ("lower", "upper", "least", "most"):
        if gone in frame.columns:
            bare = frame.with_columns(polars.lit(float("nan")).alias(gone))
            assert outside(function(name)(bare, **options).to_dict()) == []


@pytest.mark.parametrize("mean", [1.0, 0.0, 0.3])
def test_equal_means_without_intervals_are_drawn_within_the_frame(mean: float) -> None:
    unknown = polars.lit(float("nan"))
    for name in ("means_with_intervals", "pair_over_depth"):
        frame = EXAMPLES[name][0].with_columns(mean=polars.lit(mean), lower=unknown, upper=unknown)
        specification = drawn(name, frame)
        assert outside(specification) == []
        points = [
            layer for pane in panes(specification) for layer in layers(pane) if "point" in str(layer["mark"])
        ]
        assert points
        assert all(rows(specification, layer) for layer in points)


def test_the_chart_of_a_pair_fits_the_column_of_a_paper_at_any_number_of_topics() -> None:
    for topics in (5, 27, 40, 200):
        frame = polars.DataFrame(
            {
                "topic": [str(n) for n in range(topics)], "measure": ["AP"] * topics,
                "difference": np.linspace(-0.5, 0.5, topics),
            }
        )  # fmt: skip
        drawn = svg_of(topic_differences(frame, runs=("first", "second")))
        assert float(re.findall(r'width="([0-9.]+)"', drawn)[0]) <= 400


def test_altair_is_loaded_when_a_chart_is_made_and_not_before() -> None:
    code = "import sys, sounding.depth.charts; print('altair' in sys.modules or 'vl_convert' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_chart_without_altair_is_one_line_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingPartError, match=ONE_LINE):
        pool_size_by_depth(EXAMPLES["pool_size_by_depth"][0])


def test_saving_without_the_converter_is_one_line_that_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chart = pool_size_by_depth(EXAMPLES["pool_size_by_depth"][0])
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingPartError, match=ONE_LINE):
        save(chart, tmp_path / "chart.svg")
