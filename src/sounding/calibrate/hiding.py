"""Ways of hiding judgments: what would have been judged had less been done.

A scenario is one way, or several joined by `+`:

- `pool:10`: only what is among the first 10 documents of a contributing run;
- `groups:0.5`: half of the groups that contribute, drawn at random, do not;
- `sample:0.1`: a tenth of the judgments of every topic, drawn at random, relevant ones and others each;
- `mtc:512`, `move-to-front:512`, ...: what the strategy has judged after this many judgments;
- `draw:300`: 300 of the judgments on average, drawn with known chances, as for `estimate`;
- `runs:20`: there are only 20 of the runs, drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.calibrate.sampling import chances_to_draw
from sounding.core.errors import DataError, UnknownNameError, expect
from sounding.measures import Measure
from sounding.measures.regrading import GONE, JUDGED, Regrading, States, part_of_judgments
from sounding.runs.pool import Flags, Until
from sounding.runs.ranking import Counts, Values
from sounding.selection.strategies import STRATEGIES, find_strategy, judging, make_strategy

DEFAULT_SCENARIOS = ("pool:10", "pool:5", "pool:10+groups:0.5", "sample:0.1")
DRAWS_TO_ESTIMATE = ("draw:150", "draw:300", "draw:600")  # the default if only `estimate` is checked
SHARES = ("groups", "sample")
COUNTS = ("pool", "runs", "draw")
ONCE = ("mtc",)  # strategies whose seed decides little, and which take long


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A way of hiding judgments, by its parts; None: this is not done."""

    name: str
    pool: int | None = None
    groups: float | None = None
    sample: float | None = None
    runs: int | None = None
    draw: int | None = None
    strategy: str | None = None
    budget: int = 0  # judgments that the strategy has

    @property
    def drawn(self) -> bool:
        """Return whether the scenario draws at random."""
        if any(part is not None for part in (self.groups, self.sample, self.runs, self.draw)):
            return True
        return self.strategy not in (None, *ONCE) and find_strategy(str(self.strategy)).drawn


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Hidden:
    """Runs and judgments that a scenario leaves."""

    regrading: Regrading  # of the runs that are left, with all judgments
    runs: Counts  # (run,) their numbers among all
    states: States  # (row of the qrels,)
    contributing: Flags  # (run,) those that the judgments come from
    pooled: Flags  # (run,) those that contribute to the whole pool
    chances: Values | None = None  # (row of the qrels,) with which each judgment was drawn; None: not known

    @property
    def judgments(self) -> int:
        """The number of judgments that are left."""
        return int(np.count_nonzero(self.states == JUDGED))


def parse_scenario(text: str) -> Scenario:
    """Parse a scenario such as `pool:10+groups:0.5`."""
    fields: dict[str, Any] = {}
    expect(text, str, "scenario", "a text such as pool:10")
    for part in text.split("+"):
        name, colon, value = part.partition(":")
        if not colon:
            raise DataError(f"scenario {text!r}: {part!r} has no value; expected such as pool:10")
        if name in SHARES:
            entry: dict[str, Any] = {name: _share(text, part, value)}
        elif name in COUNTS:
            entry = {name: _count(text, part, value)}
        else:
            entry = {"strategy": _strategy(name), "budget": _count(text, part, value)}
        if fields.keys() & entry.keys():
            raise DataError(f"scenario {text!r}: {part!r} repeats an earlier part; give each part once")
        fields |= entry
    if "draw" in fields and fields.keys() - {"draw", "runs"}:
        raise DataError(f"scenario {text!r}: draw needs all judgments; join it with runs only")
    return Scenario(name=text, **fields)


def _strategy(name: str) -> str:
    try:
        return find_strategy(name).name
    except UnknownNameError as error:
        raise UnknownNameError("way of hiding judgments", name, [*SHARES, *COUNTS, *STRATEGIES]) from error


def _share(text: str, part: str, value: str) -> float:
    try:
        share = float(value)
    except ValueError:
        share = np.nan
    if not 0 < share < 1:
        raise DataError(f"scenario {text!r}: {part!r}; expected a share above 0 and below 1, such as 0.5")
    return share


def _count(text: str, part: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and 0 < int(value) < 10**9):
        raise DataError(f"scenario {text!r}: {part!r}; expected a whole number from 1")
    return int(value)


def hide(
    regrading: Regrading,
    scenario: Scenario,
    *,
    pooled: Flags,
    groups: Sequence[str],
    until: Until,
    seed: Sequence[int] = (0,),
    measures: Sequence[Measure] = (),
) -> Hidden:
    """Return the runs and judgments that a scenario leaves; `pooled` and `groups` are those of all runs.

    Where runs or groups are left out and no pool is cut, judgments are those that a pool as deep as `until`
    says would have had without them; all, where runs are left out and none of the others contributes.
    Judgments to estimate from are drawn from all of them, with chances aimed at these measures.
    """
    rng = np.random.default_rng(list(seed))
    runs = _drawn_runs(regrading, scenario, rng)
    if scenario.draw is not None:
        return _sampled(regrading, scenario.draw, pooled, runs, measures, rng)
    left = replace(regrading, retrieved=regrading.retrieved.pick(runs.tolist()))
    own = pooled[runs]
    contributing = _drawn_groups([groups[run] for run in runs.tolist()], own, scenario, rng)
    states = regrading.full
    depth = scenario.pool
    if depth is None and (scenario.groups is not None or (scenario.runs is not None and own.any())):
        depth = until.depth
    if depth is not None:
        _need_contributors(contributing, scenario)
        states = _only(left, states, left.retrieved.pick(contributing).cut(depth).best_ranks() > 0)
    if scenario.strategy is not None:
        _need_contributors(contributing, scenario)
        states = _chosen(left, states, contributing, scenario, until, int(rng.integers(2**31)))
    if scenario.sample is not None:
        part = part_of_judgments(replace(regrading, full=states), scenario.sample, [*seed, 1])
        states = np.where(states == JUDGED, part, states).astype(np.int8)
    return Hidden(regrading=left, runs=runs, states=states, contributing=contributing, pooled=own)


def _sampled(
    regrading: Regrading, size: int, pooled: Flags, runs: Counts, measures: Sequence[Measure],
    rng: np.random.Generator,
) -> Hidden:  # fmt: skip
    """Return judgments of some runs' documents, each drawn by itself with a known chance."""
    left = replace(regrading, retrieved=regrading.retrieved.pick(runs.tolist()))
    chances = chances_to_draw(left, measures, size)
    drawn = (regrading.full == JUDGED) & (rng.random(len(chances)) < chances)
    states = np.where(drawn, JUDGED, GONE).astype(np.int8)
    own = pooled[runs]
    return Hidden(regrading=left, runs=runs, states=states, contributing=own, pooled=own, chances=chances)


def _need_contributors(contributing: Flags, scenario: Scenario) -> None:
    if not contributing.any():
        raise DataError(
            f"scenario {scenario.name!r}: none of the runs contributes to a pool; list those that do with"
            " --info"
        )


def _drawn_runs(regrading: Regrading, scenario: Scenario, rng: np.random.Generator) -> Counts:
    number = len(regrading.runs)
    if scenario.runs is None:
        return np.arange(number)
    if not 2 <= scenario.runs <= number:
        raise DataError(
            f"scenario {scenario.name!r}: runs:{scenario.runs} of {number} runs; expected 2 to {number}"
        )
    return np.sort(rng.choice(number, scenario.runs, replace=False))


def _drawn_groups(
    groups: Sequence[str], pooled: Flags, scenario: Scenario, rng: np.random.Generator
) -> Flags:
    """(run,): whether it contributes and its group was not left out; at least one group stays."""
    if scenario.groups is None:
        return pooled
    names = sorted({group for group, own in zip(groups, pooled.tolist(), strict=True) if own})
    kept = max(1, round(len(names) * (1 - scenario.groups)))
    stay = set(rng.permutation(names)[:kept].tolist())
    return pooled & np.array([group in stay for group in groups], np.bool_)


def _chosen(
    left: Regrading, states: States, contributing: Flags, scenario: Scenario, until: Until, seed: int
) -> States:
    """The judgments that a strategy makes with its budget."""
    pool = left.retrieved.pick(contributing).cut(until.depth)
    strategy = make_strategy(scenario.strategy or "", pool, seed=seed)
    picked = np.zeros(len(left.retrieved.docs), np.bool_)
    for pick in judging(strategy, left.under(states).grades, scenario.budget):
        picked[pick.document] = True
    return _only(left, states, picked)


def _only(left: Regrading, states: States, documents: Flags) -> States:
    """The judgments of some documents of the runs; all others are gone."""
    return np.where(np.append(documents, False)[left.row_document], states, GONE).astype(np.int8)
