"""Conclusions about a new run: those that `holds` gives, counted, and the documents to judge for the others."""

from __future__ import annotations

import numpy as np

from sounding import audit, holds
from sounding.audit.result import Audit
from sounding.audit.verdict import Statement
from sounding.data.tables import Run
from sounding.sample.result import Collection
from sounding.sample.simulation import sample
from sounding.statistics.forecasts import SURE


def left_out(pool_depth: int = 20) -> tuple[Collection, list[Run], Run]:
    """A collection, its runs without one that was not pooled, and that one."""
    made = sample(topics=25, groups=5, systems=2, documents=400, length=60, pool_depth=pool_depth, seed=5)
    new = next(place for place, run in enumerate(made.info) if not run.pooled)
    return made, [run for place, run in enumerate(made.runs) if place != new], made.runs[new]


def about_conclusions(found: Audit) -> list[Statement]:
    return [one for one in found.verdict() if one.about.startswith("conclusions about")]


def test_the_conclusions_that_would_stand_are_those_of_holds() -> None:
    made, old, new = left_out()
    found = audit(made.qrels, old, ["P@10"], new=[new], info={run.run: run for run in made.info})
    (said,) = about_conclusions(found)
    whole = holds(made.qrels, [*old, new], ["P@10"])
    pairs = np.stack(np.triu_indices(len(made.runs), 1), axis=1)
    own = (pairs == len(old)).any(axis=1)
    safe = int(np.count_nonzero(whole.conclusion[0, own] >= SURE))
    assert 0 < safe < own.sum()
    assert said.why.startswith(f"{safe} of {own.sum()} conclusions")
    assert said.value == safe / own.sum()
    conclusions = found.conclusions(len(old))
    assert len(conclusions.open) == own.sum() - safe
    # The documents to judge first, counted one by one.
    graded = {(topic, doc) for topic, doc, *_ in made.qrels.frame.iter_rows()}
    names = {run.name for run in (*old, new) if run.name in {new.name, *conclusions.open}}
    wanted = set()
    for run in (*old, new):
        if run.name in names:
            for topic, rows in run.frame.group_by("topic"):
                top = rows.sort("score", "doc", descending=True)["doc"].to_list()[:10]
                wanted |= {(topic[0], doc) for doc in top} - graded
    assert conclusions.documents == len(wanted)
    assert f"{len(wanted)} unjudged document" in said.why


def test_a_shallow_pool_makes_fewer_conclusions_safe() -> None:
    safe = []
    for depth in (20, 2):
        made, old, new = left_out(depth)
        found = audit(made.qrels, old, ["AP"], new=[new], info={run.run: run for run in made.info})
        safe.append(found.conclusions(len(old)).safe)
    assert safe[0] > safe[1]


def test_where_all_is_judged_nothing_is_said_of_the_future() -> None:
    made, old, new = left_out()
    found = audit(made.truth, old, ["AP"], new=[new], info={run.run: run for run in made.info})
    assert about_conclusions(found) == []
