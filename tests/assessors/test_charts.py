"""Charts of several assessors: what their specifications hold."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import polars
import pytest
from tests.assessors.panels import made, random_panel, random_runs, random_values

from sounding.assessors.resampling import resample
from sounding.assessors.study import Choices, study_assessors
from sounding.errors import DataError
from sounding.report.charts.assessors import (
    BINS,
    agreement_over_qrels,
    charts_of,
    swap_frame,
    swaps_over_qrels,
    system_frame,
    tau_frame,
    values_over_qrels,
)


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
    assert bars["encoding"]["x"]["sort"] == frame["system"].to_list()
    assert points["encoding"]["shape"]["scale"]["domain"] == ["original", "union", "intersection"]
    assert len(rows(chart)) == 6
    assert len(rows(chart, 2)) == 18
    assert chart.to_dict()["title"]["text"] == "AP of 6 systems over 203 qrels"


def test_the_histogram_counts_every_ranking_in_whole_steps_of_tau() -> None:
    effect = resample(made(random_values(6, 10)), 0, samples=500)
    frame = tau_frame(effect)
    assert frame["qrels"].sum() == len(effect.taus) == 502
    assert len(frame) <= BINS + 1
    steps = (frame["upper"] - frame["lower"]).to_numpy() / (2 / 15)
    assert steps == pytest.approx(np.round(steps))
    chart = agreement_over_qrels(frame, mean=0.5)
    assert [layer["mark"]["type"] for layer in layers(chart)] == ["bar", "rule", "text"]
    assert chart.to_dict()["title"]["text"] == "Agreement of 502 rankings with the original one"


def test_the_heat_map_has_each_pair_that_swaps_in_the_order_of_the_original() -> None:
    effect = resample(made(random_values(6, 10)), 0, samples=500)
    frame = swap_frame(effect)
    assert len(frame) == np.count_nonzero(np.nan_to_num(effect.swap_share) > 0) / 2
    place = dict(zip(effect.systems, effect.values, strict=True))
    assert all(place[one] > place[other] for one, other, _ in frame.iter_rows())
    chart = swaps_over_qrels(frame, order=effect.systems)
    assert chart.to_dict()["encoding"]["x"]["scale"]["domain"] == list(effect.systems)
    assert chart.to_dict()["mark"]["type"] == "rect"


def test_a_study_gives_three_charts_a_measure_and_fewer_where_nothing_varies() -> None:
    panel = random_panel(3)
    choices = Choices(resamples=20, samples=100)
    study = study_assessors(panel, random_runs(panel, 4, seed=1), ["AP", "P@5"], choices=choices)
    assert len(charts_of(study)) == 6
    same = resample(made(np.full((4, 1, 3, 2), 0.5)), 0)
    assert tau_frame(same).is_empty()
    assert swap_frame(same).is_empty()


def test_a_frame_without_its_columns_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match="chart swaps_over_qrels: no column 'other'"):
        swaps_over_qrels(polars.DataFrame({"system": ["a"]}))
