"""Log results to Weights & Biases: means, judged shares and tests as metrics, all values as a table."""

from __future__ import annotations

from typing import Any

import wandb

from sounding.core.errors import DataError
from sounding.integrations.trackers import kept_of


def log(result: Any, *, prefix: str = "", step: int | None = None, run: Any = None) -> None:
    """Log a result to a run of Weights & Biases; None: the active one.

    `Scores` become metrics such as `bm25/nDCG@10` and `bm25/judged nDCG@10` (without the run's name if there
    is one run only); a `Comparison` becomes differences, intervals and adjusted p-values of its pairs. Every
    result with a frame is logged as a table, too.
    """
    run = wandb.run if run is None else run
    if run is None:
        raise DataError("there is no active run of Weights & Biases; call wandb.init() first")
    kept = kept_of(result, prefix)
    table = wandb.Table(columns=[*kept.table.columns], data=[list(row) for row in kept.table.rows()])
    run.log({**kept.figures, f"{prefix}{kept.kind}": table}, step=step)
    run.config.update(kept.settings, allow_val_change=True)
