"""Minimal test collections among the strategies, known by name where they are asked for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.selection.small import draw_grades, draw_runs

from sounding.core.errors import UnknownNameError
from sounding.selection.mtc.session import Session
from sounding.selection.strategies import (
    STRATEGIES,
    find_strategy,
    in_batches,
    make_strategy,
    restore,
)


def test_every_family_is_known_whatever_was_imported() -> None:
    code = "from sounding.selection.strategies import STRATEGIES; print(*STRATEGIES)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) >= {"depth", "move-to-front", "adaptive-depth", "uniform-sample", "mtc"}


def test_it_is_among_the_names_that_are_offered() -> None:
    with pytest.raises(UnknownNameError, match="mtc"):
        find_strategy("mtx")
    assert list(STRATEGIES).count("mtc") == 1


def test_it_chooses_what_a_session_chooses() -> None:
    pool = draw_runs(1)
    grades = draw_grades(1, pool)
    strategy = make_strategy("mtc", pool, seed=2, level=2.0, selection="faithful", prior="0.5")
    session = Session(pool, seed=2, depth=pool.depth, measure="AP(rel=2)", selection="faithful", prior="0.5")
    for _ in range(15):
        assert strategy.next() == session.next()
        document = session.next()[0].document
        strategy.judge(document, grades[document])
        session.judge(document, grades[document])
    assert find_strategy("mtc").adaptive


def test_a_state_restores_it_with_refits_and_undos() -> None:
    pool = draw_runs(2)
    grades = draw_grades(2, pool)
    strategy = make_strategy("mtc", pool, seed=2)
    for step in range(20):
        document = strategy.next()[0].document
        strategy.judge(document, None if step == 3 else grades[document])
        if step == 10:
            strategy.undo(document)
    again = restore(json.loads(json.dumps(strategy.state())), pool)
    assert again.next(count=5) == strategy.next(count=5)
    assert isinstance(again, Session)


def test_it_can_be_handed_out_in_shuffled_batches() -> None:
    pool = draw_runs(3)
    grades = draw_grades(3, pool)
    batches = in_batches("mtc", pool, 3, seed=1)
    came = []
    while due := batches.next():
        came.append(due[0].document)
        batches.judge(due[0].document, grades[due[0].document])
    assert sorted(came) == list(range(len(pool.docs)))
