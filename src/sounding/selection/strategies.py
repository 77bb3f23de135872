"""All strategies by name: importing a family registers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from sounding.core.errors import DataError, UnknownNameError
from sounding.runs.retrieved import Retrieved
from sounding.selection import adaptive, orders, samples  # noqa: F401 - importing a family registers it
from sounding.selection.batches import Batches
from sounding.selection.queues import TurnTaking
from sounding.selection.strategy import STRATEGIES, Kind, Sample, State, Strategy, fingerprint

__all__ = [
    "ALIASES",
    "STRATEGIES",
    "every_strategy",
    "find_strategy",
    "in_batches",
    "make_sample",
    "make_strategy",
    "restore",
]


# What people call strategies in papers and mail.
ALIASES = {
    "mtf": "move-to-front", "global-mtf": "global-move-to-front", "gmtf": "global-move-to-front",
    "mm": "max-mean", "uniform": "uniform-sample", "stratified": "stratified-sample",
    "weighted": "weighted-sample",
}  # fmt: skip


# Strategies that build on more than a pool; the module that registers each is loaded when it is asked for.
ELSEWHERE = {"mtc": "sounding.selection.mtc.strategy"}


def find_strategy(name: str) -> Kind:
    """The strategy of that name or alias; an error with the nearest names where there is none."""
    known = ALIASES.get(name, name)
    if known in ELSEWHERE:
        import_module(ELSEWHERE[known])
    if known not in STRATEGIES:
        raise UnknownNameError("strategy", name, [*STRATEGIES, *ELSEWHERE])
    return STRATEGIES[known]


def every_strategy() -> list[Kind]:
    """All strategies, those of other modules too."""
    for name in ELSEWHERE:
        find_strategy(name)
    return list(STRATEGIES.values())


def make_strategy(name: str, pool: Retrieved, *, seed: int = 0, **parameters: Any) -> Strategy:
    """A strategy over the documents of a pool, before anything is judged.

    `pool` has the runs that contribute, cut to the depth of the pool.
    """
    kind = find_strategy(name)
    return kind.build(pool, seed, _complete(kind, name, parameters))


def make_sample(
    name: str,
    pool: Retrieved,
    *,
    draws: Mapping[str, Sequence[int]],
    seed: int = 0,
    where_possible: bool = False,
    **parameters: Any,
) -> Sample:
    """A sample of a pool whose runs came one after the other: what was drawn from the first ones stays.

    `draws` has, by topic, how many runs there were at the end of each draw but the last; a topic that is not
    there is drawn at once. Without any it is what `make_strategy` makes. A topic that it cannot be drawn from
    is refused, or has nothing drawn (`where_possible`).
    """
    kind = find_strategy(name)
    draw = samples.drawn_where_possible if where_possible else samples.drawn_in_turn
    maker = partial(draw, samples.SAMPLES[kind.name], draws)
    ends = {topic: list(each) for topic, each in draws.items() if each}
    return TurnTaking(
        kind.name, pool, seed, _complete(kind, name, parameters), maker, {"draws": ends} if ends else None
    )


def _complete(kind: Kind, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a strategy, those that are not given by default."""
    for each in given:
        if each not in kind.parameters:
            raise UnknownNameError(f"parameter of the strategy {name}:", each, kind.parameters)
    return {**kind.parameters, **given}


def in_batches(
    name: str,
    pool: Retrieved,
    size: int,
    *,
    seed: int = 0,
    before: Mapping[int, float | None] | None = None,
    **parameters: Any,
) -> Strategy:
    """A strategy that hands out shuffled batches: each holds the next `size` documents of a topic.

    `before` holds judgments by document number that were made before the first batch.
    """
    make = partial(make_strategy, name, pool, seed=seed, **parameters)
    return Batches(make, pool, size, seed=seed, before=before or {})


def restore(state: State, pool: Retrieved) -> Strategy:
    """The strategy that gave this state, over the same pool."""
    if state["pool"] != fingerprint(pool):
        raise DataError("this state belongs to another pool; give the runs and the depth it was made with")
    restored = find_strategy(state["strategy"]).restored
    if restored is not None and "batches" not in state:
        return restored(pool, state)
    make: Callable[[], Strategy] = partial(
        make_strategy, state["strategy"], pool, seed=state["seed"], **state["parameters"]
    )
    if "draws" in state:
        make = partial(
            make_sample, state["strategy"], pool, draws=state["draws"], seed=state["seed"],
            **state["parameters"],
        )  # fmt: skip
    if "batches" in state:
        batches = state["batches"]
        strategy: Strategy = Batches(
            make, pool, batches["size"], seed=batches["seed"], before=dict(batches["before"])
        )
    else:
        strategy = make()
    for document, grade in state["judgments"]:
        strategy.judge(document, grade)
    return strategy
