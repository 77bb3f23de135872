"""Minimal test collections among the strategies: `pool`, `restore` and `simulate` know them by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sounding.collection.strategy import STRATEGIES, register
from sounding.mtc.priors import DEFAULT
from sounding.mtc.session import Session
from sounding.retrieved import Retrieved

NAME = "mtc"


def register_strategy() -> None:
    """Make `mtc` known; once is enough, and more does no harm.

    It is not done on import: a strategy that is known everywhere promises that the order of judgments does
    not matter, and fits of a prior to the first judgments do depend on it.
    """
    if NAME not in STRATEGIES:
        register(NAME, minimal_test_collection, _build, adaptive=True, restored=Session.restored)


def minimal_test_collection(
    pool: Retrieved, seed: int, level: float, *, prior: str = DEFAULT, selection: str = "variance"
) -> Session:
    """What tells most about the order of the runs by average precision."""
    return Session(
        pool, seed=seed, depth=max(pool.depth, 1), measure=f"AP(rel={level:g})", prior=prior,
        selection=selection,
    )  # fmt: skip


def _build(pool: Retrieved, seed: int, parameters: Mapping[str, Any]) -> Session:
    chosen = {name: value for name, value in parameters.items() if name != "level"}
    return minimal_test_collection(pool, seed, parameters["level"], **chosen)
