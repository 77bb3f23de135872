"""Small collections that hurt: ties, short lists, topics that a run lacks, ids that are no numbers."""

from __future__ import annotations

import random
from typing import Any

from sounding.judge.engine import Engine, first_settings
from sounding.judge.settings import Settings, parse_scale
from sounding.judge.state import JudgingState
from sounding.judge.store import Store
from sounding.judge.verify import replay_log, snapshot

SCALE = parse_scale("0=no,1=partly,2=yes")
TOPICS = ("MB001", "7", "t-é")

Runs = dict[str, dict[str, dict[str, float]]]


def draw_runs(seed: int, runs: int = 4, docs: int = 14, length: int = 9) -> Runs:
    """Runs whose scores tie, whose lists differ in length, and of which the last lacks a topic."""
    rng = random.Random(seed)
    found: Runs = {}
    for run in range(runs):
        topics = TOPICS if run < runs - 1 else TOPICS[:-1]
        found[f"run{run}"] = {
            topic: {
                f"d{doc:02}": float(rng.randint(0, 5))
                for doc in rng.sample(range(docs), rng.randint(3, length))
            }
            for topic in topics
        }
    return found


def begin(store: Store, *, runs: Runs | None = None, **settings: Any) -> Engine:
    """A new project over small runs."""
    first_settings(store, Settings(scale=SCALE, **{"depth": 8, "seed": 3, **settings}))
    engine = Engine(store)
    engine.add_runs(draw_runs(1) if runs is None else runs)
    return engine


def found_by_replay(store: Store) -> dict[str, Any]:
    return snapshot(store, replay_log(store), store.last_sequence())


def found_by(engine: Engine, store: Store) -> dict[str, Any]:
    engine.catch_up()
    replay: JudgingState = engine._replay
    return snapshot(store, replay, store.last_sequence())
