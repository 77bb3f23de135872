"""Log results to MLflow: means, judged shares and tests as metrics, all values as a Parquet artifact."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import mlflow

from sounding.integrations.trackers import kept_of, plain_names


def log(result: Any, *, prefix: str = "", step: int | None = None) -> None:
    """Log a result to the active run of MLflow, or to a new one.

    `Scores` become metrics such as `bm25/nDCG.10` and `bm25/judged nDCG.10` (without the run's name if there
    is one run only); a `Comparison` becomes differences, intervals and adjusted p-values of its pairs. MLflow
    allows no @ and no parentheses in names; dots take their place. Every result with a frame is kept as a
    Parquet artifact in the folder `sounding`.
    """
    kept = kept_of(result, prefix)
    mlflow.log_metrics(plain_names(kept.figures), step=step)
    mlflow.set_tags(kept.settings)
    with tempfile.TemporaryDirectory() as folder:
        name = plain_names({f"{prefix}{kept.kind}": 0.0})
        path = Path(folder, f"{next(iter(name)).replace('/', '-')}.parquet")
        kept.table.write_parquet(path)
        mlflow.log_artifact(str(path), "sounding")
