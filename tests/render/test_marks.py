"""What each chart draws: its marks, its order, and the rows inside its specification."""

from __future__ import annotations

import math

import numpy as np
import polars
import pytest
from tests.render.frames import (
    EXAMPLES,
    NAN,
    RUNS,
    agreement,
    drawn,
    intervals,
    layer_of,
    layers,
    many_runs,
    marks,
    over_k,
    panes,
    rows,
    stability,
    texts,
    volatility,
)

from sounding.audit.charts import KINDS, PARTS
from sounding.core.errors import DataError
from sounding.depth.charts import cell_edges
from sounding.render.style import (
    CIVIDIS,
    MOST_POINTS,
    series_colors,
    series_dashes,
    series_shapes,
    thin_depths,
)

# -- many runs -------------------------------------------------------------------------------------


def test_all_runs_are_drawn_and_five_stand_out_with_their_names() -> None:
    specification = drawn("values_over_k")
    (pane,) = panes(specification)
    everyone, *standing = [layer for layer in layers(pane) if layer["mark"]["type"] == "line"]
    assert {row["run"] for row in rows(specification, everyone)} == set(RUNS)
    named = [{row["run"] for row in rows(specification, line)} for line in standing]
    # Seven runs in order: the places of 1, .75, .5, .25 and 0 among 0 to 6 are 6, 4.5, 3, 1.5 and 0.
    assert named == [{"run6"}, {"run5"}, {"run3"}, {"run2"}, {"run0"}]
    labels = [
        rows(specification, layer)[0]["label"]
        for layer in layers(pane)
        if layer["mark"].get("align") == "left"
    ]
    assert labels == [
        "best: run6", "upper quartile: run5", "median: run3", "lower quartile: run2", "worst: run0",
    ]  # fmt: skip
    assert len({(line["mark"]["color"], tuple(line["mark"]["strokeDash"])) for line in standing}) == 5
    assert (
        "Gray: all runs. In color: the best, upper quartile, median, lower quartile and worst run at k = 100."
        in list(texts(specification))
    )


def test_the_five_are_those_at_the_reference_depth() -> None:
    turned = over_k("value").with_columns(
        value=polars.when(polars.col("k") == 1).then(1 - polars.col("value")).otherwise(polars.col("value"))
    )
    specification = drawn("values_over_k", turned, reference_k=1)
    first = layer_of(panes(specification)[0], "line", 1)
    assert {row["run"] for row in rows(specification, first)} == {"run0"}
    with pytest.raises(
        DataError, match=r"^reference depth 7 is not among the depths of the frame; choose one of 1 to 100$"
    ):
        drawn("values_over_k", turned, reference_k=7)


def test_up_to_five_runs_all_stand_out_under_their_own_names() -> None:
    specification = drawn("values_over_k", over_k("value", RUNS[:3]))
    (pane,) = panes(specification)
    labels = [
        rows(specification, layer)[0]["label"]
        for layer in layers(pane)
        if layer["mark"].get("align") == "left"
    ]
    assert labels == ["run2", "run1", "run0"]
    assert not any("Gray" in text for text in texts(specification))


def test_a_run_without_a_value_at_the_reference_depth_is_named() -> None:
    gap = over_k("value").with_columns(
        value=polars.when((polars.col("run") == "run6") & (polars.col("k") == 100))
        .then(NAN)
        .otherwise("value")
    )
    specification = drawn("values_over_k", gap)
    assert "run6 has no value at k = 100." in list(texts(specification))
    everyone = layer_of(panes(specification)[0], "line")
    assert [row["value"] for row in rows(specification, everyone) if row["run"] == "run6"][2] is None
    best = layer_of(panes(specification)[0], "line", 1)
    assert {row["run"] for row in rows(specification, best)} == {"run5"}


def test_plain_and_condensed_stand_side_by_side_on_one_scale() -> None:
    plain = over_k("value").with_columns(form=polars.lit("plain"))
    condensed = plain.with_columns(form=polars.lit("condensed"), value=polars.col("value") * 2)
    specification = drawn("values_over_k", polars.concat([plain, condensed]))
    (row,) = specification["vconcat"]
    assert [pane["title"]["text"] for pane in row["hconcat"]] == ["AP, plain", "AP, condensed"]
    domains = [layer_of(pane, "line")["encoding"]["y"]["scale"]["domain"] for pane in row["hconcat"]]
    assert domains[0] == domains[1] == [0.0, 1.5]  # the largest is 2 * (.7 + .01)


def test_a_form_that_stands_alone_is_not_named_and_measures_stand_two_abreast() -> None:
    ap = over_k("value").with_columns(form=polars.lit("plain"))
    specification = drawn("values_over_k", polars.concat([ap, ap.with_columns(measure=polars.lit("P"))]))
    assert specification["columns"] == 2
    assert [pane["title"]["text"] for pane in specification["concat"]] == ["AP", "P"]


def test_the_same_values_in_two_panes_do_not_share_a_parameter() -> None:
    plain = over_k("value").with_columns(form=polars.lit("plain"))
    specification = drawn(
        "values_over_k", polars.concat([plain, plain.with_columns(form=polars.lit("condensed"))])
    )
    assert len({parameter["name"] for parameter in specification["params"]}) == 2


def test_depth_is_on_a_log_axis_and_the_pool_depth_is_marked_where_it_lies_within() -> None:
    specification = drawn("values_over_k", pool_depth=50)
    (pane,) = panes(specification)
    x = layer_of(pane, "line")["encoding"]["x"]
    assert (x["scale"]["type"], x["scale"]["domain"], x["axis"]["values"]) == (
        "log",
        [1, 100],
        [1, 2, 5, 10, 20, 50, 100],
    )
    assert rows(specification, layer_of(pane, "rule")) == [{"k": 50, "name": "pool depth 50"}]
    beyond = drawn("values_over_k", pool_depth=200)
    assert "pool depth" not in str(beyond)


def test_129_runs_at_1000_depths_are_thinned_and_say_so() -> None:
    specification = drawn("values_over_k", many_runs(129, 1000), reference_k=777, pool_depth=333)
    shown = rows(specification, layer_of(panes(specification)[0], "line"))
    depths = {int(row["k"]) for row in shown}
    assert depths >= {*range(1, 21), 333, 777, 1000}
    assert len(depths) <= 82
    assert len(shown) == 129 * len(depths)
    assert f"Shown at {len(depths)} of 1,000 depths, evenly spaced on the log axis beyond 20." in list(
        texts(specification)
    )


def test_residuals_and_judged_shares_speak_of_highest_and_lowest() -> None:
    for name in ("residuals_over_k", "judged_share_by_depth"):
        assert any(
            "highest, upper quartile, median, lower quartile and lowest" in text
            for text in texts(drawn(name))
        )


# -- measures against depth ------------------------------------------------------------------------


def test_stability_has_six_panes_with_a_line_for_each_measure() -> None:
    specification = drawn("stability_over_k", pool_depth=10)
    found = panes(specification)
    columns = [layer_of(pane, "line")["encoding"]["y"]["field"] for pane in found]
    assert columns == ["median_p", "discrimination", "coverage", "inversion", "tau", "pearson"]
    for pane, column in zip(found, columns, strict=True):
        line = layer_of(pane, "line")
        assert line["encoding"]["strokeDash"]["field"] == line["encoding"]["color"]["field"] == "measure"
        expected = [
            (row["measure"], row["k"], pytest.approx(row[column], rel=1e-4)) for row in stability().to_dicts()
        ]
        assert [(row["measure"], row["k"], row[column]) for row in rows(specification, line)] == expected
    assert any("AP@100" in text for text in texts(specification))


def test_ranks_where_the_evaluation_stops_are_never_thinned_away() -> None:
    thin = thin_depths(range(1, 998), MOST_POINTS)
    skipped = next(rank for rank in range(1, 998) if rank not in thin)
    frame = polars.concat(
        polars.DataFrame({"measure": "P", "k": k, "rank": range(1, k + 1), "weight": [1 / k] * k})
        for k in (skipped, 997)
    )
    specification = drawn("rank_weights", frame)
    shown = rows(specification, layer_of(panes(specification)[0], "line"))
    deepest = {row["depth"]: row["rank"] for row in shown}
    assert deepest == {f"k = {skipped}": skipped, "k = 997": 997}


def test_no_two_depths_share_a_color_and_those_left_out_are_named() -> None:
    depths = (1, 5, 10, 30, 100, 500, 1000)
    frame = polars.concat(
        polars.DataFrame({"measure": "P", "k": k, "rank": [1], "weight": [1 / k]}) for k in depths
    )
    specification = drawn("rank_weights", frame)
    colors = layer_of(panes(specification)[0], "line")["encoding"]["color"]["scale"]
    assert colors["domain"] == ["k = 1", "k = 5", "k = 10", "k = 100", "k = 500", "k = 1,000"]
    assert len(set(colors["range"])) == 6
    assert "Not drawn, for want of colors: k = 30." in str(specification)
    few = drawn("rank_weights", frame.filter(polars.col("k") < 1000))
    assert "Not drawn" not in str(few)


def test_a_weight_of_0_is_left_out_of_the_log_axis() -> None:
    frame = polars.DataFrame({"measure": "P", "k": 2, "rank": [1, 2, 3], "weight": [0.5, 0.5, 0.0]})
    specification = drawn("rank_weights", frame)
    shown = rows(specification, layer_of(panes(specification)[0], "line"))
    assert [row["weight"] for row in shown] == [0.5, 0.5, None]


def test_agreement_by_share_starts_with_all_judgments_and_shades_the_draws() -> None:
    specification = drawn("agreement_by_share_kept")
    (pane,) = panes(specification)
    assert marks(pane) == ["area", "line", "point", "rule"]
    assert layer_of(pane, "line")["encoding"]["x"]["scale"]["domain"] == [1, 0]
    area = layer_of(pane, "area")["encoding"]
    assert (area["y"]["field"], area["y2"]["field"]) == ("lower", "upper")
    assert (
        area["y"]["scale"]
        == layer_of(pane, "line")["encoding"]["y"]["scale"]
        == {"domain": [0.8, 1.0], "nice": False, "type": "linear"}
    )
    assert area["color"]["field"] == "measure"
    assert area["color"] == layer_of(pane, "line")["encoding"]["color"]  # one legend for both


def test_agreement_by_pool_depth_has_a_shape_for_each_measure_and_a_line_at_nine_tenths() -> None:
    specification = drawn("agreement_by_pool_depth", agreement("depth", (1, 10)).drop("lower", "upper"))
    (pane,) = panes(specification)
    assert marks(pane) == ["line", "point", "rule"]
    shapes = layer_of(pane, "point")["encoding"]["shape"]["scale"]
    assert shapes["domain"] == ["AP", "bpref"]
    assert len(set(shapes["range"])) == 2
    assert rows(specification, layer_of(pane, "rule")) == [{"agreement": 0.9}]


def test_a_legend_shows_points_where_a_line_has_a_few_and_dashes_where_it_has_many() -> None:
    few = layer_of(panes(drawn("agreement_by_pool_depth"))[0], "point")["encoding"]
    assert few["shape"]["legend"]["symbolSize"] == few["color"]["legend"]["symbolSize"] == 80
    # Vega warns of legends of one column that do not say the same.
    line = layer_of(panes(drawn("agreement_by_pool_depth"))[0], "line")["encoding"]
    assert line["strokeDash"]["legend"] == line["color"]["legend"] == few["color"]["legend"]
    (pane,) = panes(drawn("agreement_by_pool_depth", agreement("depth", tuple(range(1, 31)))))
    assert marks(pane) == ["area", "line", "rule"]
    assert layer_of(pane, "line")["encoding"]["strokeDash"]["legend"]["symbolSize"] == 400


# -- between depths --------------------------------------------------------------------------------


def test_the_cells_of_the_volatility_map_meet_halfway_on_the_log_axis() -> None:
    assert cell_edges([1, 10, 100]) == pytest.approx([10**-0.5, 10**0.5, 10**1.5, 10**2.5])
    assert cell_edges([6]) == [4.0, 9.0]


def test_a_line_parts_the_cells_that_reach_the_threshold() -> None:
    # Agreement is 1 on the diagonal and .7 or .4 beside it: each of the three cells on it is fenced in.
    specification = drawn("volatility")
    (pane,) = panes(specification)
    cells = rows(specification, layer_of(pane, "rect"))
    assert {(row["k1"], row["k2"]): row["agreement"] for row in cells} == {
        (row["k1"], row["k2"]): pytest.approx(row["agreement"]) for row in volatility().to_dicts()
    }
    fence = rows(specification, layer_of(pane, "rule"))
    inner = [10**0.5, 10**1.5]
    upright = sorted((row["left"], row["bottom"]) for row in fence if row["left"] == row["right"])
    low, middle, high = 10**-0.5, *inner
    assert upright == [
        (pytest.approx(middle, rel=1e-4), pytest.approx(low, rel=1e-4)),
        (pytest.approx(middle, rel=1e-4), pytest.approx(middle, rel=1e-4)),
        (pytest.approx(high, rel=1e-4), pytest.approx(middle, rel=1e-4)),
        (pytest.approx(high, rel=1e-4), pytest.approx(high, rel=1e-4)),
    ]
    assert len(fence) == 8  # the same lying down, for the map is symmetric
    scale = layer_of(pane, "rect")["encoding"]["color"]["scale"]
    assert scale["domain"][-1] == 0.9
    assert len(scale["range"]) == len(scale["domain"]) + 1


def test_without_cells_at_the_threshold_there_is_no_line_and_the_note_says_so() -> None:
    specification = drawn("volatility", threshold=1.5)
    assert marks(panes(specification)[0]) == ["rect"]
    assert "No two depths have orders that agree to 1.5 or more." in list(texts(specification))


def test_each_pair_of_measures_has_a_pane() -> None:
    across = volatility().with_columns(other=polars.lit("RBP"))
    specification = drawn("volatility", polars.concat([volatility(), across]))
    assert [pane["title"]["text"] for pane in panes(specification)] == ["AP", "AP and RBP"]
    assert "RBP" in layer_of(panes(specification)[1], "rect")["encoding"]["y"]["title"]


# -- intervals -------------------------------------------------------------------------------------


def test_runs_keep_the_order_of_the_first_measure_at_the_least_depth() -> None:
    specification = drawn("means_with_intervals")
    found = panes(specification)
    assert [pane["title"]["text"] for pane in found] == ["AP@10", "A@10", "AP@100", "A@100"]
    for pane in found:
        bars = layer_of(pane, "rule")
        assert bars["encoding"]["x"]["sort"] == list(reversed(RUNS))
        assert (bars["encoding"]["y"]["field"], bars["encoding"]["y2"]["field"]) == ("lower", "upper")
        for row in rows(specification, bars):
            assert row["place"] == 7 - RUNS.index(row["run"])
    # Panes of one measure share a scale, so that depths compare.
    scales = [layer_of(pane, "point")["encoding"]["y"]["scale"]["domain"] for pane in found]
    assert scales[0] == scales[2] != scales[1] == scales[3]


def test_an_order_of_runs_can_be_given_and_must_hold_every_run() -> None:
    specification = drawn("means_with_intervals", order=RUNS)
    assert layer_of(panes(specification)[0], "rule")["encoding"]["x"]["sort"] == list(RUNS)
    named = drawn("means_with_intervals", order=RUNS, ordered="by AP@10, best first")
    assert "All panes show the runs in the same order: by AP@10, best first." in str(named)
    with pytest.raises(
        DataError, match=r"^order of runs: 'run6' is not in it; expected every run of the frame$"
    ):
        drawn("means_with_intervals", order=RUNS[:6])


def test_panes_of_many_measures_share_the_width_of_the_page() -> None:
    runs = tuple(f"r{number:03}" for number in range(129))
    one = intervals(runs).filter(polars.col("measure") == "AP")
    five = polars.concat(one.with_columns(measure=polars.lit(f"m{number}")) for number in range(5))
    assert {pane["width"] for pane in panes(drawn("means_with_intervals", five))} == {200}
    assert {pane["width"] for pane in panes(drawn("means_with_intervals", one))} == {460}


def test_many_runs_are_numbered_and_a_mean_that_is_not_known_comes_last() -> None:
    runs = tuple(f"r{number:03}" for number in range(40))
    frame = intervals(runs).with_columns(
        mean=polars.when(polars.col("run") == "r039").then(NAN).otherwise("mean")
    )
    specification = drawn("means_with_intervals", frame)
    points = layer_of(panes(specification)[0], "point")
    assert points["encoding"]["x"]["field"] == "place"
    places = {row["run"]: row["place"] for row in rows(specification, points)}
    assert (places["r038"], places["r039"]) == (1, 40)


def test_a_pair_has_bars_and_its_case_above_each_depth() -> None:
    cases = {10: 3, 100: None}
    frame = intervals(("a", "b")).with_columns(
        case=polars.col("k").replace_strict(cases, return_dtype=polars.Int8)
    )
    specification = drawn("pair_over_depth", frame)
    for pane in panes(specification):
        assert marks(pane) == ["rule", "line", "point", "text"]
        said = [(row["beside"], row["case"]) for row in rows(specification, layer_of(pane, "text"))]
        assert said == [(10, "case 3|strong"), (100, "not|tested")]
        assert sorted(
            {row["beside"] for row in rows(specification, layer_of(pane, "rule"))}
        ) == pytest.approx([9.8, 10.2, 98, 102])
    with pytest.raises(DataError, match=r"^chart pair_over_depth: 7 runs in the frame; expected two$"):
        drawn("pair_over_depth", intervals())


# -- the collection --------------------------------------------------------------------------------


def test_the_extrapolation_is_dashed_and_starts_where_the_judged_depths_end() -> None:
    specification = drawn("growth_by_depth")
    for pane, column in zip(panes(specification), ("relevant", "share", "rate"), strict=True):
        assert pane["encoding"]["strokeDash"]["field"] == "line"
        lines: dict[str, list[float]] = {}
        for row in rows(specification, pane):
            lines.setdefault(row["line"], []).append(row["depth"])
        assert lines == {"extrapolated": [3, 4], "found": [1, 2, 3]}
        assert pane["encoding"]["y"]["field"] == column


def test_beyond_the_pool_the_law_is_named_and_only_there() -> None:
    told = "Beyond the pool nobody judged: extrapolated by Zobel's law, n = C d^s - 1, topic by topic."
    assert told in texts(drawn("growth_by_depth"))
    judged = EXAMPLES["growth_by_depth"][0].filter(~polars.col("extrapolated"))
    assert told not in texts(drawn("growth_by_depth", judged))


def test_tau_of_reinforcement_stands_below_the_title_where_it_is_known() -> None:
    frame = EXAMPLES["reinforcement"][0]
    assert "Kendall's τ between the two 0.571." in texts(drawn("reinforcement", frame, tau=0.5714))
    assert not any("τ" in text for text in texts(drawn("reinforcement", frame)))


def test_groups_are_ordered_by_what_they_alone_found_and_those_without_are_counted() -> None:
    specification = drawn("unique_relevant")
    (pane,) = panes(specification)
    assert pane["encoding"]["x"]["sort"] == ["b", "a"]
    assert {(row["group"], row["kind"]): row["unique"] for row in rows(specification, pane)} == {
        ("a", "automatic"): 3, ("b", "manual"): 4, ("b", "automatic"): 2,
    }  # fmt: skip
    assert list(texts(specification))[:3] == [
        "9 relevant documents found by one group alone",
        "Found by runs of this kind: 5 automatic (56%), 4 manual (44%).",
        "1 group found none.",
    ]
    assert pane["encoding"]["y"]["stack"] == "zero"


def test_changes_stand_in_the_order_of_their_size_then_of_unique_documents() -> None:
    specification = drawn("leave_out_changes")
    for pane in panes(specification):
        assert pane["encoding"]["x"]["sort"] == ["d", "c", "b", "a"]  # 0, -.5 with 1, .5 with 2, -2
    assert "The change is 0.75% on average, and at most 2.00% (a)." in list(texts(specification))


def test_differences_stand_in_the_order_of_their_size_with_two_axes() -> None:
    specification = drawn("leave_out_differences")
    difference, unique = layers(*panes(specification))
    for pane in (difference, unique):
        assert pane["encoding"]["x"]["sort"] == ["c", "b", "a", "d"]  # .001 with 1, with 2, .002, not known
    shown = {row["run"]: row["difference"] for row in rows(specification, difference)}
    assert (shown["a"], shown["b"]) == (0.002, 0.001)
    assert {row["run"]: row["unique"] for row in rows(specification, unique)} == {
        "a": 9,
        "b": 2,
        "c": 1,
        "d": 0,
    }
    sides = [pane["encoding"]["y"]["axis"]["orient"] for pane in (difference, unique)]
    assert sides == ["left", "right"]


def test_a_change_that_is_not_known_comes_last_and_counts_in_no_mean() -> None:
    frame = EXAMPLES["leave_out_changes"][0].with_columns(
        percent=polars.when(polars.col("run") == "d").then(NAN).otherwise("percent")
    )
    specification = drawn("leave_out_changes", frame)
    assert panes(specification)[0]["encoding"]["x"]["sort"] == ["c", "b", "a", "d"]
    assert "The change is 1.00% on average, and at most 2.00% (a)." in list(texts(specification))


def test_shares_are_stacked_in_the_order_of_the_value_best_first() -> None:
    specification = drawn("judged_shares")
    (pane,) = panes(specification)
    assert pane["encoding"]["x"]["sort"] == ["b", "a", "c"]  # c has no value
    assert pane["encoding"]["y"]["stack"] == "zero"
    parts: dict[str, float] = {}
    for row in rows(specification, pane):
        parts[row["run"]] = parts.get(row["run"], 0) + row["share"]
    assert parts == {run: pytest.approx(1) for run in "abc"}
    assert "Unjudged: 30% to 90% of a run, 40% of the median run." in list(texts(specification))


def test_tau_is_in_the_title_of_one_collection_and_above_the_panes_of_several() -> None:
    one = drawn(
        "performance_against_assessment", EXAMPLES["performance_against_assessment"][0].drop("collection")
    )
    assert one["title"]["text"] == "AP against A@1000: τ = 0.464"
    named = drawn("performance_against_assessment")
    assert named["title"]["text"] == "AP against A@1000: τ = 0.464"
    assert panes(named)[0]["title"]["text"] == "x"
    both = EXAMPLES["performance_against_assessment"][0].with_columns(
        collection=polars.Series(["TREC-8", "TREC-3"]), tau=polars.Series([0.464, 0.394])
    )
    several = drawn("performance_against_assessment", both, performance="MAP")
    assert several["title"]["text"] == "MAP against A@1000"
    assert [pane["title"]["text"] for pane in panes(several)] == ["TREC-8, τ = 0.464", "TREC-3, τ = 0.394"]
    point = panes(one)[0]
    assert (point["encoding"]["x"]["field"], point["encoding"]["y"]["field"]) == ("assessment", "performance")
    assert point["encoding"]["shape"]["field"] == "kind"


def test_an_axis_of_shares_ends_at_1() -> None:
    frame = EXAMPLES["reinforcement"][0].with_columns(overlap=polars.Series([0.2, 1.0]))
    assert panes(drawn("reinforcement", frame))[0]["encoding"]["x"]["scale"]["domain"][1] == 1.0


def test_overlap_leaves_out_the_diagonal_and_orders_groups_by_their_mean() -> None:
    specification = drawn("group_overlap")
    (pane,) = panes(specification)
    assert {(row["group"], row["other"]): row["overlap"] for row in rows(specification, pane)} == {
        ("a", "b"): 0.4,
        ("b", "a"): 0.2,
    }
    assert pane["encoding"]["x"]["sort"] == pane["encoding"]["y"]["sort"] == ["a", "b"]
    assert pane["encoding"]["color"]["scale"]["scheme"] == "cividis"


def test_pool_size_and_share_have_a_pane_each() -> None:
    specification = drawn("pool_size_by_depth")
    assert [pane["encoding"]["y"]["field"] for pane in panes(specification)] == ["size", "share"]
    assert rows(specification, panes(specification)[0]) == [{"depth": 1, "size": 7}, {"depth": 2, "size": 12}]


# -- judging ---------------------------------------------------------------------------------------


def test_judging_starts_with_the_first_judgment_and_marks_what_is_wanted() -> None:
    specification = drawn("confidence_by_judgments", wanted=0.99)
    (pane,) = panes(specification)
    assert [row["judgments"] for row in rows(specification, layer_of(pane, "line"))] == [1, 10]
    assert rows(specification, layer_of(pane, "rule")) == [{"confidence": 0.99}]
    assert layer_of(pane, "line")["encoding"]["y"]["scale"]["domain"][1] >= 0.99
    none = EXAMPLES["confidence_by_judgments"][0].head(1)
    with pytest.raises(DataError, match=r"^no row has `judgments` of 1 or more"):
        drawn("confidence_by_judgments", none)


def test_a_forecast_has_a_band_and_says_how_many_completions_it_is_of() -> None:
    specification = drawn("confidence_forecast")
    (pane,) = panes(specification)
    assert [row["judgments"] for row in rows(specification, layer_of(pane, "line"))] == [0, 8, 20]
    assert [row["lower"] for row in rows(specification, layer_of(pane, "area"))] == [0.8, 0.85, 0.9]
    assert any("median of 8" in text for text in texts(specification))


def test_expected_values_stand_in_the_order_of_the_frame_beside_the_true_ones() -> None:
    specification = drawn("expected_values")
    (pane,) = panes(specification)
    points = rows(specification, layer_of(pane, "point"))
    assert [(row["run"], row["value"], row["height"]) for row in points][::3] == [
        ("b", "expected", 0.4), ("b", "true", 0.35),
    ]  # fmt: skip
    assert layer_of(pane, "rule")["encoding"]["y"]["sort"] == ["b", "a", "c"]
    many = polars.DataFrame({"run": [f"r{n}" for n in range(61)], "expected": 0.2})
    (pane,) = panes(drawn("expected_values", many))
    assert layer_of(pane, "point")["encoding"]["y"]["title"] == "place in the order"


def test_a_point_for_each_pair_of_lists_told_apart() -> None:
    specification = drawn("judgments_by_difference")
    (pane,) = panes(specification)
    points = rows(specification, layer_of(pane, "point"))
    assert [(row["judgments"], row["order"]) for row in points] == [
        (60, "equal in truth"), (20, "wrong"), (5, "right"),
    ]  # fmt: skip
    assert "3 pairs of lists separated, of 4." in set(texts(specification))


def test_bars_of_a_histogram_have_an_area_of_one_and_those_far_out_are_in_the_last() -> None:
    frame = polars.DataFrame({"deviations": [-9.0, 0.05, 0.1, 3.99, 7.0]})
    specification = drawn("difference_histogram", frame)
    (pane,) = panes(specification)
    bars = rows(specification, layer_of(pane, "rect"))
    assert sum(row["density"] * (row["to"] - row["from"]) for row in bars) == pytest.approx(1)
    assert [row["density"] for row in bars if row["density"]] == pytest.approx([1.0, 2.0, 2.0])
    assert (bars[0]["from"], bars[-1]["to"]) == (-4, 4)


# -- how they look ---------------------------------------------------------------------------------


def lightness(color: str) -> float:
    """CIE L* of an sRGB color: what is left of it in gray."""
    channels = np.array([int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    luminance = float(linear @ [0.2126, 0.7152, 0.0722])
    return 116 * math.cbrt(luminance) - 16


def test_parts_of_bars_and_steps_of_maps_differ_in_grey() -> None:
    for colors in (list(KINDS.values()), [color for _, color in PARTS.values()], CIVIDIS):
        ordered = sorted(lightness(color) for color in colors)
        assert min(np.diff(ordered)) > 10


def test_series_differ_in_dashes_and_shapes_before_colors_repeat() -> None:
    count = 36
    assert (
        len({tuple(dash) for dash in series_dashes(6)})
        == len(set(series_shapes(6)))
        == len(set(series_colors(6)))
        == 6
    )
    assert len(set(zip(series_colors(count), map(tuple, series_dashes(count)), strict=True))) == count
    assert len(set(zip(series_colors(count), series_shapes(count), strict=True))) == count


def test_differences_stand_between_their_limits_in_the_order_given_and_cases_differ_in_shape() -> None:
    specification = drawn("difference_intervals")
    first, second = panes(specification)
    points, bars = layer_of(first, "point"), layer_of(first, "rule", 1)
    assert [row["pair"] for row in rows(specification, points)] == ["a – b", "a – c"]
    assert [(row["lower"], row["upper"]) for row in rows(specification, bars)] == [(0.02, 0.2), (-0.1, 0.01)]
    assert points["encoding"]["y"]["sort"] == ["a – b", "a – c"]
    shape = points["encoding"]["shape"]["scale"]
    assert dict(zip(shape["domain"], shape["range"], strict=True)) == {
        "strong": "circle", "weak": "square", "not known": "diamond",
    }  # fmt: skip
    low, high = points["encoding"]["x"]["scale"]["domain"]
    assert low < -0.1
    assert high > 0.2
    # The second pane has no strong pair, and its colors and shapes mean what they mean in the first.
    assert layer_of(second, "point")["encoding"]["shape"]["scale"] == shape


def test_topics_stand_from_the_largest_difference_to_the_least_with_their_mean() -> None:
    specification = drawn("topic_differences")
    (pane,) = panes(specification)
    bars = layer_of(pane, "bar")
    assert bars["encoding"]["x"]["sort"] == ["402", "403", "401"]
    assert [row["better"] for row in rows(specification, bars)] == ["bm25", "bm25", "dense"]
    (mean,) = rows(specification, layer_of(pane, "rule"))
    assert mean["difference"] == pytest.approx((0.3 - 0.1) / 3)


def test_a_value_stands_on_the_bar_between_its_bounds_and_runs_keep_the_order_of_the_frame() -> None:
    specification = drawn("values_with_bounds")
    first, second = panes(specification)
    points, bars = layer_of(first, "point"), layer_of(first, "rule")
    assert [row["value"] for row in rows(specification, points)] == [0.5, 0.4]
    assert [(row["lower"], row["upper"]) for row in rows(specification, bars)] == [(0.5, 0.6), (0.4, 0.4)]
    assert (bars["encoding"]["x"]["field"], bars["encoding"]["x2"]["field"]) == ("lower", "upper")
    assert points["encoding"]["y"]["scale"]["domain"] == ["a", "b"]
    assert points["encoding"]["y"]["axis"]["labels"] is True
    assert layer_of(second, "point")["encoding"]["y"]["axis"]["labels"] is False
    low, high = layer_of(second, "point")["encoding"]["x"]["scale"]["domain"]
    assert (low, high >= 0.9) == (0, True)


def test_more_runs_than_there_is_room_for_are_numbered_from_the_top() -> None:
    runs = [f"run{number}" for number in range(61)]
    values = [1 - number / 100 for number in range(61)]
    frame = polars.DataFrame(
        {"run": runs, "measure": ["AP"] * 61, "value": values, "lower": values, "upper": values}
    )
    (pane,) = panes(drawn("values_with_bounds", frame))
    y = layer_of(pane, "point")["encoding"]["y"]
    assert (y["field"], y["scale"]["domain"], y["scale"]["reverse"]) == ("place", [0.5, 61.5], True)
    assert y["title"] == "place of the run in the order"
