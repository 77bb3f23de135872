"""The parts that charts share: which runs stand out, where labels go, which depths are shown, ranges, ticks."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.depth import charts as depth_charts
from sounding.evaluate import charts as evaluate_charts
from sounding.render.lines import PERFORMANCE, five_numbers, spread_labels
from sounding.render.save import svg_of
from sounding.render.style import data, depth_ticks, thin_depths, thinned, value_domain


def places(count: int) -> list[str]:
    """The runs that stand out among r00, r01, ... with values that grow with their number."""
    values: dict[str, float | None] = {f"r{number:03}": float(number) for number in range(count)}
    return [one.run for one in five_numbers(values, PERFORMANCE)]


def test_the_five_of_129_runs_are_the_first_the_33rd_the_65th_the_97th_and_the_last() -> None:
    assert places(129) == ["r128", "r096", "r064", "r032", "r000"]


def test_the_five_of_six_runs_are_different_runs() -> None:
    assert places(6) == ["r005", "r004", "r003", "r001", "r000"]


def test_five_runs_or_fewer_all_stand_out() -> None:
    assert places(5) == ["r004", "r003", "r002", "r001", "r000"]
    assert places(2) == ["r001", "r000"]
    assert places(1) == ["r000"]
    assert places(0) == []


def test_values_that_are_not_known_have_no_place_and_equal_ones_are_ordered_by_name() -> None:
    values = {"b": 1.0, "a": 1.0, "c": math.nan, "d": None, "e": math.inf}
    assert [one.run for one in five_numbers(values, PERFORMANCE)] == ["b", "a"]


def test_labels_that_do_not_touch_stay_where_they_are() -> None:
    assert spread_labels([90, 50, 10], room=100, gap=14) == [90, 50, 10]


def test_labels_at_one_height_are_moved_apart_with_the_first_on_top() -> None:
    assert spread_labels([0, 0, 0], room=100, gap=10) == [20, 10, 0]
    assert spread_labels([100, 100], room=100, gap=10) == [100, 90]


@given(st.lists(st.floats(0, 200), min_size=1, max_size=7))
def test_labels_never_touch_nor_leave_the_room(heights: list[float]) -> None:
    placed = spread_labels(heights, room=200, gap=14)
    ordered = sorted(placed)
    assert all(upper - lower >= 14 - 1e-9 for lower, upper in pairwise(ordered))
    assert ordered[0] >= -1e-9
    assert ordered[-1] <= 200 + 1e-9


def test_every_depth_to_20_stays_and_the_others_are_evenly_spaced_on_a_log_scale() -> None:
    chosen = thin_depths(range(1, 1001), 80)
    assert chosen[:20] == list(range(1, 21))
    assert (chosen[20], chosen[-1]) == (21, 1000)
    assert len(chosen) <= 80
    ratios = [after / before for before, after in pairwise(chosen[40:])]
    assert max(ratios) < 1.09  # 60 steps from 21 to 1000 are factors of 1.068, up to rounding to whole depths


@given(st.sets(st.integers(1, 3000), min_size=1, max_size=400), st.integers(30, 90), st.data())
def test_thinning_keeps_the_first_the_last_and_what_it_must(
    depths: set[int], most: int, data: st.DataObject
) -> None:
    keep = data.draw(st.sets(st.sampled_from(sorted(depths)), max_size=3))
    frame = polars.DataFrame({"k": sorted(depths)})
    kept, note = thinned(frame, keep=[*keep, None], most=most)
    shown = set(kept["k"].to_list())
    assert shown <= depths
    assert shown >= {min(depths), max(depths), *keep}
    assert len(shown) <= most + len(keep)
    assert bool(note) == (len(depths) > most)


def test_numbers_are_rounded_and_unknown_ones_empty_and_commas_quoted() -> None:
    frame = polars.DataFrame(
        {"run": ["a,b", "1", "c"], "k": [1, 1000, 2], "value": [1 / 3, math.nan, math.inf]}
    )
    held = data(frame).to_dict()
    assert held["values"] == 'run,k,value\n"a,b",1,0.33333\n1,1000,\nc,2,\n'
    assert held["format"]["parse"] == {"run": "string", "k": "number", "value": "number"}


@pytest.mark.parametrize(
    ("values", "from_zero", "domain"),
    [
        ([0.123, 0.471], True, (0.0, 0.48)),
        ([0.123, 0.471], False, (0.12, 0.48)),
        ([-0.2, 0.3], True, (-0.2, 0.3)),
        ([0.5, 0.5], False, (0.5, 1.5)),
        ([math.nan, None], True, (0.0, 1.0)),
        ([0, 87], True, (0.0, 87.0)),
    ],
)
def test_a_range_is_round_and_holds_all_known_values(
    values: list[float | None], from_zero: bool, domain: tuple[float, float]
) -> None:
    assert value_domain(polars.Series(values, dtype=polars.Float64), from_zero=from_zero) == pytest.approx(
        domain
    )


def test_room_is_left_beyond_the_values_but_not_below_0() -> None:
    column = polars.Series([0.0, 1.0])
    assert value_domain(column, room=0.1) == (0.0, 1.1)
    assert value_domain(column, from_zero=False, room=0.1) == (-0.1, 1.1)


def test_ticks_are_at_1_2_and_5() -> None:
    assert depth_ticks(1, 1000) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    assert depth_ticks(3, 30) == [5, 10, 20]
    assert depth_ticks(3, 4) == [3]


@pytest.mark.parametrize("value", [1.0, 0.98, 0.3, -1.0])
def test_an_axis_of_a_coefficient_that_is_always_the_same_ends_at_1(value: float) -> None:
    low, high = value_domain(polars.Series([value] * 3), from_zero=False, most=1.0)
    assert low <= value <= high <= 1
    assert low < high


def test_the_axes_of_stability_do_not_leave_the_range_of_what_they_show() -> None:
    """Two runs whose order never changes: tau and r are 1 at every depth, and all findings are kept."""
    ks = [1, 2, 5]
    same = {name: [1.0] * 3 for name in ("discrimination", "coverage", "tau", "pearson")}
    frame = polars.DataFrame(
        {"measure": ["AP"] * 3, "k": ks, "median_p": [0.2, 0.1, 0.1], "inversion": [0.0] * 3} | same
    )
    text = json.dumps(depth_charts.stability_over_k(frame, reference="AP@5").to_dict())
    domains = [json.loads(found) for found in re.findall(r'"domain": (\[[-0-9., ]+\])', text)]
    upright = [one for one in domains if one != [1, 5]]
    assert len(upright) >= 6
    assert all(-1 <= low < high <= 1 for low, high in upright)


def test_names_that_begin_alike_are_drawn_whole() -> None:
    runs = [f"university-of-somewhere.bm25-rm3-rerank.{'long-' * 8}run-{number}" for number in range(3)]
    rows = {"run": runs, "measure": ["AP"] * 3, "value": [0.1, 0.2, 0.3]}
    bounds = polars.lit(None, polars.Float64)
    drawn = svg_of(
        evaluate_charts.values_with_bounds(polars.DataFrame(rows).with_columns(lower=bounds, upper=bounds))
    )
    assert all(f">{run}<" in drawn for run in runs)
    assert "…" not in drawn
