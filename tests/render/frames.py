"""A small frame for every chart, and what a chart's specification says."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars

from sounding.agree import charts as agree
from sounding.audit import charts as audit
from sounding.calibrate import charts as calibrate
from sounding.compare import charts as compare
from sounding.depth import charts as depth
from sounding.evaluate import charts as evaluate
from sounding.plan import charts as plan
from sounding.pool import charts as pool
from sounding.render import judging
from sounding.simulate import charts as simulate
from sounding.track import charts as track

NAN = float("nan")
RUNS = tuple(f"run{number}" for number in range(7))


def over_k(
    column: str, runs: tuple[str, ...] = RUNS, depths: tuple[int, ...] = (1, 10, 100)
) -> polars.DataFrame:
    """run0 has the lowest value and run6 the highest, at every depth."""
    rows = [
        {"run": run, "measure": "AP", "k": k, column: (place + 1) / 10 + k / 10_000}
        for place, run in enumerate(runs)
        for k in depths
    ]
    return polars.DataFrame(rows)


def intervals(runs: tuple[str, ...] = RUNS) -> polars.DataFrame:
    rows = [
        {"run": run, "measure": measure, "k": k, "mean": mean, "lower": mean - 0.1, "upper": mean + 0.1}
        for measure in ("AP", "A")
        for k in (10, 100)
        for place, run in enumerate(runs)
        for mean in [(place + 1) / 10 if measure == "AP" else 0.5 + k / 1000]
    ]
    return polars.DataFrame(rows)


def stability() -> polars.DataFrame:
    rows = [
        {"measure": measure, "k": k, "median_p": 0.1 / k, "discrimination": 0.7, "coverage": 0.9,
         "inversion": 0.01, "tau": 0.8 + k / 1000, "pearson": 0.9}
        for measure in ("AP", "RBP(p=0.8)") for k in (1, 10, 100)
    ]  # fmt: skip
    return polars.DataFrame(rows)


def volatility() -> polars.DataFrame:
    rows = [
        {"measure": "AP", "other": "AP", "k1": one, "k2": other, "agreement": 1 - 0.3 * abs(place - second)}
        for place, one in enumerate((1, 10, 100))
        for second, other in enumerate((1, 10, 100))
    ]
    return polars.DataFrame(rows)


def agreement(column: str, places: tuple[float, ...]) -> polars.DataFrame:
    rows = [
        {"measure": measure, column: place, "agreement": 0.9, "lower": 0.8, "upper": 0.95}
        for measure in ("AP", "bpref")
        for place in places
    ]
    return polars.DataFrame(rows)


EXAMPLES: dict[str, tuple[polars.DataFrame, set[str], dict[str, Any]]] = {  # frame, optional columns, options
    "values_with_bounds": (
        polars.DataFrame(
            {"run": ["a", "b"] * 2, "measure": ["P@10"] * 2 + ["AP"] * 2, "value": [0.5, 0.4, 0.3, 0.2],
             "lower": [0.5, 0.4, 0.1, NAN], "upper": [0.6, 0.4, 0.9, NAN]}
        ), set(), {},
    ),
    "leaderboard": (
        polars.DataFrame(
            {"run": ["a", "b"], "value": [0.5, 0.4], "lower": [0.4, NAN], "upper": [0.6, NAN],
             "judged": [1.0, 0.25]}
        ), set(), {"measure": "AP", "of": 2, "topics": 20},
    ),
    "values_over_k": (over_k("value").with_columns(form=polars.lit("plain")), {"form"}, {}),
    "residuals_over_k": (over_k("residual"), set(), {}),
    "stability_over_k": (stability(), set(), {"reference": "AP@100"}),
    "ranking_over_k": (stability().select("measure", "k", "tau"), set(), {"reference": "AP@100"}),
    "rank_weights": (
        polars.DataFrame(
            {"measure": ["P"] * 6, "k": [2, 2, 4, 4, 4, 4], "rank": [1, 2, 1, 2, 3, 4],
             "weight": [0.5, 0.5, 0.25, 0.25, 0.25, 0.25]}
        ), set(), {},
    ),
    "volatility": (volatility(), {"measure", "other"}, {}),
    "means_with_intervals": (intervals(), set(), {}),
    "pair_over_depth": (intervals(("a", "b")).with_columns(case=polars.lit(3)), {"case"}, {}),
    "agreement_by_pool_depth": (agreement("depth", (1, 10, 100)), {"lower", "upper"}, {}),
    "agreement_by_share_kept": (agreement("share", (1.0, 0.5, 0.1)), {"lower", "upper"}, {}),
    "values_over_commits": (
        polars.DataFrame(
            {"run": ["a", "b"] * 2, "measure": ["AP"] * 4, "commit": ["v1", "v1", "v2", "v2"], "value": [0.4, 0.3, 0.5, 0.2],
             "lower": [0.3, 0.2, NAN, 0.1], "upper": [0.5, 0.4, NAN, 0.3], "changed": [False, False, True, True]}
        ), {"changed"}, {"of": 9},
    ),
    "growth_by_depth": (
        polars.DataFrame(
            {"depth": [1, 2, 3, 4], "relevant": [2.0, 3.0, 3.5, 3.7], "rate": [2.0, 1.0, 0.5, 0.2],
             "share": [0.4, 0.25, 0.1, None], "extrapolated": [False, False, False, True],
             "collection": ["x"] * 4}
        ), {"share", "extrapolated", "collection"}, {},
    ),
    "unique_relevant": (
        polars.DataFrame(
            {"group": ["a", "b", "b", "c"], "kind": ["automatic", "manual", "automatic", "manual"],
             "unique": [3, 4, 2, 0]}
        ), set(), {},
    ),
    "leave_out_changes": (
        polars.DataFrame(
            {"run": ["a", "b", "c", "d"], "percent": [-2.0, 0.5, -0.5, 0.0], "unique": [9, 2, 1, 0],
             "kind": ["manual", "automatic", "automatic", "automatic"]}
        ), {"kind"}, {},
    ),
    "leave_out_differences": (
        polars.DataFrame(
            {"run": ["a", "b", "c", "d"], "change": [-0.002, 0.001, -0.001, NAN], "unique": [9, 2, 1, 0]}
        ), set(), {},
    ),
    "judged_share_by_depth": (over_k("share").drop("measure"), set(), {}),
    "judged_shares": (
        polars.DataFrame(
            {"run": ["a", "b", "c"], "value": [0.2, 0.3, NAN], "relevant": [0.1, 0.2, 0.0],
             "nonrelevant": [0.5, 0.5, 0.1], "unjudged": [0.4, 0.3, 0.9]}
        ), set(), {},
    ),
    "performance_against_assessment": (
        polars.DataFrame(
            {"run": ["a", "b"], "performance": [0.2, 0.3], "assessment": [0.5, 0.4],
             "kind": ["manual", "automatic"], "collection": ["x", "x"], "tau": [0.464, 0.464]}
        ), {"kind", "collection", "tau"}, {},
    ),
    "performance_against_rankings": (
        polars.DataFrame(
            {
                "run": list(RUNS) * 2, "performance": np.arange(14) / 20, "value": np.arange(14)[::-1] / 30,
                "ranking": ["MAP with random judgments"] * 7 + ["overlap with the other runs"] * 7,
                "kind": ["automatic", "manual"] * 7, "tau": [0.5] * 14,
            }
        ),
        {"kind", "tau"},
        {},
    ),
    "pool_outcomes_by_depth": (
        polars.DataFrame(
            {
                "depth": [5, 10, 100], "in_pool": [2.0, 3.0, 9.0], "in_pool_deviation": [1.0, 4.0, 5.0],
                "past": [9.0, 12.0, 30.0], "past_deviation": [3.0, 5.0, 9.0],
                "first_unjudged": [7.0, 13.0, 110.0], "first_unjudged_deviation": [1.0, 2.0, 30.0],
            }
        ),
        set(),
        {},
    ),
    "ties_and_values": (
        polars.DataFrame(
            {
                "run": list(RUNS) * 2, "rule": ["file"] * 7 + ["average"] * 7,
                "tied_share": np.arange(14) % 7 / 10, "difference": np.arange(-7, 7) / 100,
            }
        ),
        set(),
        {"taus": {"file": 0.99}},
    ),
    "pool_size_by_depth": (
        polars.DataFrame({"depth": [1, 2], "size": [7, 12], "share": [0.7, 0.6]}), {"share"}, {},
    ),
    "reliability_diagram": (
        polars.DataFrame(
            [
                {"scenario": scenario, "claim": claim, "pairs": 10 * place, "chance": place / 10,
                 "right": place / 11, "lower": place / 12, "upper": place / 10}
                for scenario in ("pool:10", "pool:5") for claim in ("holds", "sign") for place in range(1, 10)
            ]
        ),
        {"lower", "upper"},
        {},
    ),
    "relevant_by_judgments": (
        polars.DataFrame({"strategy": ["rank"] * 2 + ["rrf"] * 2, "judgments": [1, 2] * 2,
                          "found": [0.0, 1.0, 0.5, 1.0]}), set(), {},
    ),
    "shares_by_part": (
        polars.DataFrame({"part": ["FT", "LA"], "pool_share": [0.7, 0.3], "judged_share": [0.9, NAN],
                          "relevant_share": [1.0, 0.0]}), set(), {},
    ),
    "title_words_by_pool_rank": (
        polars.DataFrame({"last": [1, 2, 5], "relevant_share": [0.9, NAN, 0.5],
                          "nonrelevant_share": [0.4, 0.5, 0.6]}), set(), {},
    ),
    "group_overlap": (
        polars.DataFrame({"group": ["a", "a", "b", "b"], "other": ["a", "b", "a", "b"], "overlap": [1.0, 0.4, 0.2, 1.0]}),
        set(), {},
    ),
    "reinforcement": (
        polars.DataFrame({"run": ["a", "b"], "overlap": [0.2, 0.4], "assessment": [0.5, 0.6], "kind": ["x", "y"]}),
        {"kind"}, {},
    ),
    "conclusions_beyond": (
        polars.DataFrame({"measure": ["AP", "AP", "P", "P"], "k": [20, 50] * 2, "holds": [0.96, 0.9, 0.8, 0.7]}),
        set(), {},
    ),
    "added_runs": (
        polars.DataFrame({"run": ["a", "b"], "same_group": [0.02, 0.01], "other_groups": [0.001, 0.02], "kind": ["x", "y"]}),
        {"kind"}, {},
    ),
    "agreement_of_assessors": (
        polars.DataFrame(
            {"assessors": ["a & b", "a & b", "a & c"], "coefficient": ["overlap", "kappa", "overlap"],
             "value": [0.4, 0.3, 0.6], "lower": [0.3, -0.1, NAN], "upper": [0.5, 0.5, NAN]}
        ), set(), {},
    ),
    "overlap_by_topic": (
        polars.DataFrame({"topic": ["7", "9"], "overlap": [0.2, 1.0], "contested": [8, 0]}), set(), {},
    ),
    "values_over_qrels": (
        polars.DataFrame(
            {"system": ["s", "t"], "mean": [0.4, 0.3], "least": [0.3, 0.2], "most": [0.5, 0.4],
             "original": [0.4, 0.3], "union": [0.7, 0.35], "intersection": [0.2, 0.1]}
        ), set(), {"measure": "AP", "qrels": 103},
    ),
    "agreement_over_qrels": (
        polars.DataFrame({"lower": [0.8, 0.9], "upper": [0.9, 1.0], "qrels": [3, 9]}), set(), {"mean": 0.95},
    ),
    "swaps_over_qrels": (
        polars.DataFrame({"system": ["s", "s"], "other": ["t", "u"], "swapped": [0.4, 0.1]}), set(), {},
    ),
    "confidence_by_judgments": (
        polars.DataFrame(
            {"strategy": ["MTC"] * 3, "judgments": [0, 1, 10], "confidence": [0.5, 0.6, 0.9],
             "lower": [0.5, 0.4, 0.8], "upper": [0.5, 0.7, 1.0]}
        ), {"lower", "upper"}, {},
    ),
    "confidence_forecast": (
        polars.DataFrame(
            {"judgments": [0, 8, 20], "confidence": [0.8, 0.9, 0.96], "lower": [0.8, 0.85, 0.9],
             "upper": [0.8, 0.95, 0.99]}
        ), set(), {"wanted": 0.95, "completions": 8},
    ),
    "expected_values": (
        polars.DataFrame(
            {"run": ["b", "a", "c"], "expected": [0.4, 0.3, 0.1], "lower": [0.3, 0.2, 0.05],
             "upper": [0.5, 0.35, 0.15], "true": [0.35, 0.36, 0.08]}
        ), {"true", "lower", "upper"}, {"measure": "AP"},
    ),
    "agreement_by_judgments": (
        polars.DataFrame({"strategy": ["MTC"] * 3, "judgments": [0, 1, 10], "agreement": [0.1, 0.6, 0.9]}), set(), {},
    ),
    "judgments_by_difference": (
        polars.DataFrame({"difference": [0.0, 0.1, 0.3, 0.02], "judgments": [60, 20, 5, None],
                          "right": [None, False, True, None]}), {"right"}, {},
    ),
    "difference_histogram": (
        polars.DataFrame({"deviations": [-1.2, -0.3, 0.1, 0.4, 1.0]}), set(), {"p": 0.4},
    ),
    "difference_intervals": (
        polars.DataFrame(
            {"pair": ["a – b", "a – c"] * 2, "measure": ["AP", "AP", "P@10", "P@10"],
             "difference": [0.1, -0.05, 0.2, 0.0], "lower": [0.02, -0.1, 0.1, -0.1],
             "upper": [0.2, 0.01, 0.3, 0.1], "strength": ["strong", "weak", "weak", None]}
        ), {"strength"}, {},
    ),
    "topic_differences": (
        polars.DataFrame(
            {"topic": ["401", "402", "403"], "measure": ["AP"] * 3, "difference": [-0.1, 0.3, 0.0]}
        ), set(), {"runs": ("bm25", "dense")},
    ),
}  # fmt: skip


def function_of_frame(function: Any, module: Any) -> bool:
    """Whether this is a chart of that module: a function whose columns are declared with `needs`."""
    return callable(function) and hasattr(function, "__wrapped__") and function.__module__ == module.__name__


CHARTS: dict[str, Callable[..., Any]] = {
    name: function
    for module in (agree, audit, calibrate, compare, depth, evaluate, plan, pool, judging, simulate, track)
    for name, function in vars(module).items()
    if function_of_frame(function, module)
}


def function(name: str) -> Callable[..., Any]:
    return CHARTS[name]


def drawn(name: str, frame: polars.DataFrame | None = None, **options: Any) -> dict[str, Any]:
    """The specification of a chart, of its example unless another frame is given."""
    example, _, usual = EXAMPLES[name]
    specification: dict[str, Any] = function(name)(
        example if frame is None else frame, **{**usual, **options}
    ).to_dict()
    return specification


def panes(specification: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of a specification that have axes of their own, each with the data that it draws."""
    for name in ("vconcat", "hconcat", "concat"):
        if name in specification:
            return [pane for part in _parts(specification, name) for pane in panes(part)]
    return [specification]


def layers(pane: dict[str, Any]) -> list[dict[str, Any]]:
    """What lies over each other in a pane, each with the data that it draws."""
    return [one for part in _parts(pane, "layer") for one in layers(part)] if "layer" in pane else [pane]


def _parts(whole: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Parts draw the data of the whole where they have none of their own."""
    held = {"data": whole["data"]} if "data" in whole else {}
    return [held | part for part in whole[name]]


def marks(pane: dict[str, Any]) -> list[str]:
    return [layer["mark"]["type"] for layer in layers(pane)]


def layer_of(pane: dict[str, Any], mark: str, number: int = 0) -> dict[str, Any]:
    return [layer for layer in layers(pane) if layer["mark"]["type"] == mark][number]


def rows(specification: dict[str, Any], layer: dict[str, Any]) -> list[dict[str, Any]]:
    """What a layer draws, as the page will read it."""
    held = specification["datasets"][layer["data"]["name"]]
    if not isinstance(held, str):
        return list(held)
    kinds = layer["data"]["format"]["parse"]
    schema = {name: polars.Float64 if kind == "number" else polars.String for name, kind in kinds.items()}
    return polars.read_csv(io.StringIO(held), schema=schema).to_dicts()


def texts(specification: dict[str, Any]) -> Iterator[str]:
    """Titles of the chart and its panes, and all notes."""
    for part in [specification, *panes(specification)]:
        title = part.get("title")
        if title:
            yield from [title["text"], *title.get("subtitle", [])]


def many_runs(runs: int, depths: int) -> polars.DataFrame:
    rng = np.random.default_rng(0)
    return polars.DataFrame(
        {
            "run": [f"a-run-{number}" for number in range(runs) for _ in range(depths)],
            "measure": "AP",
            "k": np.tile(np.arange(1, depths + 1), runs),
            "value": rng.random(runs * depths),
        }
    )
