"""The demo of labels by a machine: its files, its figures and the page that uses it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.docs_examples import run_page

import sounding
from sounding.cli import cli
from sounding.demo.machine import FAVOR, MEASURE

DOCS = Path(__file__).parents[2] / "docs"


def call(*words: str) -> str:
    done = CliRunner().invoke(cli, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_what_it_says_is_computed_from_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call("demo", "--machine", "d", "--seed", "4")  # which the second one replaces
    shown = " ".join(call("demo", "--machine", "d", "--seed", "3").split())
    runs = sorted(Path("d/runs").iterdir())
    truth = sounding.evaluate("d/truth.txt", runs, [MEASURE]).mean()[:, 0]
    own = sounding.estimate("d/judged.tsv", runs, [MEASURE], labels="d/labels.tsv")
    one = own.estimates[0]
    inside = int(((one.low <= truth) & (truth <= one.high)).sum())
    assert f"true value of {inside} of 12 runs" in shown
    assert f"overstate {MEASURE} by {np.mean(one.machine - truth):.3f}" in shown
    assert f"random sample of {own.judged} of them" in shown
    favored = own.runs[len(own.runs) // 2]
    assert FAVOR > 0
    assert re.search(rf"favor [^.]*{favored}", shown)
    drawn = Path("d/sample.tsv").read_bytes()
    lines = [line.strip().removeprefix("sounding ") for line in shown.split(" # ")]
    command = re.search(r"pool d/runs.*? -o d/sample\.tsv", " ".join(lines))
    assert command is not None
    call(*command[0].split())
    assert Path("d/sample.tsv").read_bytes() == drawn


def test_two_demos_at_once_are_refused() -> None:
    assert CliRunner().invoke(cli, ["demo", "--machine", "--judge"]).exit_code == 2


def test_the_examples_of_the_page_show_what_they_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    run_page(DOCS / "rag.md")
