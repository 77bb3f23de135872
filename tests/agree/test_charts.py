"""Charts of several assessors: what their specifications hold."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import polars
import pytest
from tests.agree.panels import made, panel_of, random_panel, random_runs, random_values

from sounding.agree.charts import (
    BINS,
    FIGURES,
    agreement_of_assessors,
    agreement_over_qrels,
    figures,
    overlap_by_topic,
    pair_frame,
    swap_frame,
    swaps_over_qrels,
    system_frame,
    tau_frame,
    topic_frame,
    values_over_qrels,
)
from sounding.agree.resampling import resample
from sounding.agree.study import agree
from sounding.core.errors import DataError


def layers(chart: Any) -> list[dict[str, Any]]:
    specification = chart.to_dict()
    return specification.get("layer", [specification])


def rows(chart: Any, layer: int = 0) -> list[dict[str, str]]:
    specification = chart.to_dict()
    data = specification.get("layer", [specification])[layer].get("data") or specification["data"]
    text = data.get("values") or specification["datasets"][data["name"]]
    return list(csv.DictReader(io.StringIO(text)))


def test_systems_stand_by_falling_mean_with_their_range_and_three_special_qrels() -> None:
    effect = resample(made(random_values(6, 10)), 0, samples=200)
    frame = system_frame(effect)
    assert frame["mean"].to_list() == sorted(effect.mean.tolist(), reverse=True)
    chart = values_over_qrels(frame, measure="AP", qrels=203)
    bars, ticks, points = layers(chart)
    assert [layer["mark"]["type"] for layer in (bars, ticks, points)] == ["rule", "tick", "point"]
    assert bars["encoding"]["y"]["sort"] == frame["system"].to_list()
    assert points["encoding"]["shape"]["scale"]["domain"] == ["original", "union", "intersection"]
    assert len(rows(chart)) == 6
    assert len(rows(chart, 2)) == 18
    assert chart.to_dict()["title"]["text"] == "AP of 6 systems over 203 qrels"


def test_everything_that_is_drawn_lies_on_the_axis() -> None:
    effect = resample(made(random_values(4, 6)), 0, samples=100)
    frame = system_frame(effect).with_columns(union=polars.lit(0.97), original=polars.lit(-0.2))
    bars = layers(values_over_qrels(frame))[0]
    low, high = bars["encoding"]["x"]["scale"]["domain"]
    assert low <= -0.2
    assert high >= 0.97


def test_the_histogram_counts_every_ranking_in_whole_steps_of_tau() -> None:
    effect = resample(made(random_values(6, 10)), 0, samples=500)
    frame = tau_frame(effect)
    assert frame["qrels"].sum() == len(effect.taus) == 502
    assert len(frame) <= BINS
    # a bar ends at its value: with 15 pairs each tau has a bar of its own
    for lower, upper, count in frame.iter_rows():
        assert count == np.count_nonzero((effect.taus > lower + 1e-9) & (effect.taus < upper + 1e-9))
        assert (upper - lower) / (2 / 15) == pytest.approx(1)
    chart = agreement_over_qrels(frame, mean=0.5)
    assert [layer["mark"]["type"] for layer in layers(chart)] == ["bar", "rule", "text"]
    assert chart.to_dict()["title"]["text"] == "502 rankings compared with the original"
    scale = layers(chart)[0]["encoding"]["x"]["scale"]
    assert scale == {"domain": [frame["lower"].min(), frame["upper"].max()], "nice": False}


@pytest.mark.parametrize("systems", [2, 3, 40])
@pytest.mark.parametrize("coefficient", ["tau_b", "rmse", "spearman", "rbo"])
def test_no_bar_reaches_beyond_what_a_coefficient_can_be(systems: int, coefficient: str) -> None:
    effect = resample(made(random_values(systems, 8)), 0, samples=400, coefficient=coefficient)
    frame = tau_frame(effect)
    assert frame["qrels"].sum() == len(effect.taus)
    lower, upper = frame["lower"].to_numpy(), frame["upper"].to_numpy()
    assert upper.max() <= max(effect.taus.max(), -1) + 1e-12
    assert lower.min() >= -1
    assert (upper > lower).all()
    assert len(frame) <= BINS
    if coefficient == "rmse":
        assert lower.min() == pytest.approx(effect.taus.min())


@pytest.mark.parametrize("systems", [2, 3, 10, 40])
def test_bars_hold_every_tau_where_an_assessor_turns_the_whole_order(systems: int) -> None:
    values = np.empty((4, 1, systems, 5))  # odd: no qrels tie them
    values[:] = np.linspace(0.9, 0.1, systems)[:, np.newaxis]
    values[1] = 1 - values[1]
    values[1, 0, 0] += 0.8 / (systems - 1) * 1.5 if systems > 3 else 0  # a tau just above -1
    frame = tau_frame(resample(made(values), 0, samples=10))
    assert frame["qrels"].sum() == 11
    assert frame["qrels"][0] > 0
    lower, upper = frame["lower"].to_numpy(), frame["upper"].to_numpy()
    assert -1 <= lower.min() < upper.max() <= 1
    assert (upper > lower).all()


def test_the_heat_map_has_each_pair_that_swaps_in_the_order_of_the_original() -> None:
    effect = resample(made(random_values(6, 10)), 0, samples=500)
    frame = swap_frame(effect)
    assert len(frame) == np.count_nonzero(np.nan_to_num(effect.swap_share) > 0) / 2
    place = dict(zip(effect.systems, effect.values, strict=True))
    assert all(place[one] > place[other] for one, other, _ in frame.iter_rows())
    chart = swaps_over_qrels(frame, order=effect.systems)
    assert chart.to_dict()["encoding"]["x"]["scale"]["domain"] == list(effect.systems)
    assert chart.to_dict()["mark"]["type"] == "rect"


def test_many_systems_are_cut_to_the_best_and_the_title_says_so() -> None:
    effect = resample(made(random_values(6, 10)), 0, samples=200)
    frame = system_frame(effect)
    chart = values_over_qrels(frame, most=4)
    assert [row["system"] for row in rows(chart)] == frame["system"].to_list()[:4]
    assert "the 4 best of 6 systems" in chart.to_dict()["title"]["text"]


def test_a_section_gives_one_figure_or_one_for_each_measure() -> None:
    panel = random_panel(3)
    choices: dict[str, Any] = {"resamples": 20, "samples": 100}
    alone = agree(panel, **choices)
    assert [len(figures(alone, name)) for name in FIGURES] == [1, 1, 0, 0, 0]
    study = agree(panel, random_runs(panel, 4, seed=1), ["AP", "P@5"], **choices)
    assert [len(figures(study, name)) for name in FIGURES] == [1, 1, 2, 2, 2]
    same = resample(made(np.full((4, 1, 3, 2), 0.5)), 0)
    assert tau_frame(same).is_empty()
    assert swap_frame(same).is_empty()
    nothing = agree(panel_of([[0, 0], [0, 0]]), **choices)
    assert topic_frame(nothing).is_empty()
    assert figures(nothing, "topics") == []


def test_agreement_is_drawn_with_its_intervals_and_topics_as_they_should_be_talked_about() -> None:
    study = agree(random_panel(3), resamples=50)
    pairs = pair_frame(study)
    assert pairs["coefficient"].unique(maintain_order=True).to_list() == [
        "overlap", "kappa", "alpha", "alpha of grades, ordinal",
    ]  # fmt: skip
    overlap = study.agreements.groups[0].estimates["overlap"]
    assert pairs.row(0) == ("A & B", "overlap", overlap.value, overlap.low, overlap.high)
    points, bars = layers(agreement_of_assessors(pairs))
    assert points["encoding"]["x"]["field"] == "value"
    assert (bars["encoding"]["x"]["field"], bars["encoding"]["x2"]["field"]) == ("lower", "upper")
    topics = topic_frame(study)
    known = [one for one in study.agreements.topics if not np.isnan(one.overlap)]
    assert topics.rows() == [(one.topic, one.overlap, one.contested) for one in known]
    assert layers(overlap_by_topic(topics))[0]["encoding"]["y"]["sort"] == [one.topic for one in known]


def test_a_frame_without_its_columns_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match="chart swaps_over_qrels: no column 'other'"):
        swaps_over_qrels(polars.DataFrame({"system": ["a"]}))
