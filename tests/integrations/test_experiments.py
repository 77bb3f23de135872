"""MLflow and Weights & Biases keep the values of `evaluate` and the tests of `compare`, and all rows as tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from tests.conftest import require

from sounding import compare, evaluate, sample
from sounding.core.errors import DataError
from sounding.integrations.trackers import kept_of, plain_names

mlflow = require("mlflow")
wandb = require("wandb")

MEASURES = ["nDCG@10", "AP(rel=2)@100", "NumRet"]


@pytest.fixture(scope="module")
def collection() -> Any:
    return sample(topics=10, groups=1, systems=2, documents=100, length=20, pool_depth=5, seed=2)


def test_figures_are_means_shares_and_tests_and_nothing_unknown(collection: Any) -> None:
    scores = evaluate(collection.qrels, collection.runs, MEASURES)
    figures = kept_of(scores, "dev/").figures
    for place, run in enumerate(scores.runs):
        for number, measure in enumerate(scores.measures):
            assert figures[f"dev/{run}/{measure}"] == scores.mean()[place, number]
    assert f"dev/{scores.runs[0]}/judged nDCG@10" in figures
    assert not any("judged NumRet" in name for name in figures)
    alone = kept_of(evaluate(collection.qrels, collection.runs[:1], "AP"))
    assert set(alone.figures) == {"AP", "judged AP"}
    comparison = compare(collection.qrels, collection.runs, "AP")
    (row,) = comparison.frame.to_dicts()
    found = kept_of(comparison).figures
    assert found[f"{row['run_a']} - {row['run_b']}/AP/p_adjusted"] == row["p_adjusted"]
    whole = evaluate(collection.qrels, collection.runs[:1], "AP")
    unknown = replace(whole, judged=np.full_like(whole.judged, np.nan))
    assert set(kept_of(unknown).figures) == {"AP"}
    with pytest.raises(DataError, match="expected a result"):
        kept_of({"AP": 0.5})


def test_names_that_become_equal_are_refused() -> None:
    assert plain_names({"a/nDCG@10": 1.0, "AP(rel=2)@100": 2.0}) == {"a/nDCG.10": 1.0, "AP.rel.2.100": 2.0}
    with pytest.raises(DataError, match="same name"):
        plain_names({"P@5": 1.0, "P(5)": 2.0})


@pytest.mark.usefixtures("local_trackers")
def test_mlflow_has_the_values_to_the_last_bit(collection: Any, tmp_path: Path) -> None:
    from sounding.integrations.mlflow import log

    scores = evaluate(collection.qrels, collection.runs, MEASURES)
    comparison = compare(collection.qrels, collection.runs, MEASURES[:2])
    with mlflow.start_run() as run:
        log(scores, step=3)
        log(comparison, prefix="test/")
    kept = mlflow.get_run(run.info.run_id).data
    for place, name in enumerate(scores.runs):
        assert kept.metrics[f"{name}/nDCG.10"] == scores.mean()[place, 0]
        assert kept.metrics[f"{name}/AP.rel.2.100"] == scores.mean()[place, 1]
    assert kept.tags["sounding.policies"] == scores.policies.describe()
    folder = next(tmp_path.glob(f"mlruns/*/{run.info.run_id}/artifacts/sounding"))
    assert polars.read_parquet(folder / "scores.parquet").equals(scores.frame)
    assert polars.read_parquet(folder / "test-comparison.parquet").equals(comparison.frame)


@pytest.mark.usefixtures("local_trackers")
def test_weights_and_biases_has_the_values_and_tables(collection: Any, tmp_path: Path) -> None:
    from sounding.integrations.wandb import log

    scores = evaluate(collection.qrels, collection.runs, MEASURES)
    with pytest.raises(DataError, match=r"wandb\.init"):
        log(scores)
    with wandb.init(project="x") as run:
        log(scores)
        for place, name in enumerate(scores.runs):
            assert run.summary[f"{name}/nDCG@10"] == pytest.approx(scores.mean()[place, 0], abs=1e-15)
        assert run.config["sounding.policies"] == scores.policies.describe()
    (table,) = tmp_path.glob("wandb/offline-run-*/files/media/table/*.json")
    written = json.loads(table.read_text())
    assert written["columns"] == scores.frame.columns
    assert [tuple(row) for row in written["data"]] == scores.frame.rows()
