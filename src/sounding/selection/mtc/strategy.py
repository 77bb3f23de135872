"""Minimal test collections among the strategies: importing this registers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sounding.relevance.document_priors import DEFAULT
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.session import Session
from sounding.selection.strategies import register


def minimal_test_collection(
    pool: Retrieved, seed: int, level: float, *, prior: str = DEFAULT, selection: str = "informed"
) -> Session:
    """What tells most about the order of the runs by average precision."""
    return Session(
        pool, seed=seed, depth=max(pool.depth, 1), measure=f"AP(rel={level:g})", prior=prior,
        selection=selection,
    )  # fmt: skip


def _build(pool: Retrieved, seed: int, parameters: Mapping[str, Any]) -> Session:
    chosen = {name: value for name, value in parameters.items() if name != "level"}
    return minimal_test_collection(pool, seed, parameters["level"], **chosen)


# Fits of a prior to the first judgments depend on which came first, so only its own state restores it.
register("mtc", minimal_test_collection, _build, adaptive=True, drawn=True, restored=Session.restored)
