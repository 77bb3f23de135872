"""A regression fails a test, and a build; both say how many topics would be needed to be sure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import require

from sounding import Procedure, compare, evaluate
from sounding.core.errors import DataError
from sounding.integrations.pytest import UnsureWarning, assert_no_regression
from sounding.statistics.power import topics_needed

TOPICS = 20
ROOT = Path(__file__).parents[2]


def table(grades: Any) -> dict[str, dict[str, Any]]:
    return {str(topic): dict(row) for topic, row in enumerate(grades)}


QRELS = table([[("a", 1), ("b", 0)]] * TOPICS)
GOOD = table([[("a", 2.0), ("b", 1.0)]] * TOPICS)
BAD = table([[("a", 0.0), ("b", 1.0)]] * TOPICS)  # RR 0.5 on every topic
MIXED = {topic: (BAD if int(topic) < 2 else GOOD)[topic] for topic in GOOD}  # a loss of 0.05


def test_a_run_as_good_as_the_baseline_passes_and_one_that_lost_more_than_the_margin_fails() -> None:
    assert_no_regression(QRELS, GOOD, GOOD, "RR")
    assert_no_regression(QRELS, BAD, GOOD, ["RR", "AP"], margin=0.001)
    assert_no_regression(QRELS, GOOD, MIXED, "RR", margin=0.2)  # a loss of 0.05, surely less than 0.2
    for unsure in ("fail", "warn"):
        with pytest.raises(AssertionError, match=r"difference -0\.0500") as caught:
            assert_no_regression(QRELS, GOOD, MIXED, "RR", unsure=unsure)
        assert "needed" not in str(caught.value)  # it lost more than the margin: topics are not the problem
    with pytest.raises(DataError):
        assert_no_regression(QRELS, GOOD, BAD, "RR", margin=0)


def test_the_number_of_topics_that_would_tell_is_that_of_a_one_sided_t_test() -> None:
    margin = 0.06
    with pytest.raises(AssertionError) as caught:
        assert_no_regression(QRELS, GOOD, MIXED, "RR", margin=margin)
    gaps = np.diff(evaluate(QRELS, {"a": GOOD, "b": MIXED}, "RR").values[:, 0], axis=0)[0]
    needed = float(topics_needed(margin / np.std(gaps, ddof=1), alpha=0.1))
    assert TOPICS < needed < 100
    said = re.search(r"some (\d+) topics", str(caught.value))
    assert said is not None
    assert int(said[1]) == needed
    # With three runs each of two comparisons has half of alpha.
    from sounding.compare.gate import gate_comparison

    runs = {"baseline": GOOD, "mixed": MIXED, "good": GOOD}
    found = compare(QRELS, runs, "RR", baselines="baseline", procedure=Procedure(margin=margin))
    rows = {failure.row.candidate: failure.row for failure in gate_comparison(found, ["worse"]).failures}
    assert rows["mixed"].enough_topics == topics_needed(margin / np.std(gaps, ddof=1), alpha=0.05)


TESTS = f"""
import pytest

QRELS, GOOD, MIXED, BAD = {QRELS!r}, {GOOD!r}, {MIXED!r}, {BAD!r}
pytestmark = pytest.mark.sounding(qrels=QRELS, baseline=GOOD, measures=["RR", "AP"], margin=0.06)

def test_same(no_regression):
    no_regression(run=GOOD)

@pytest.mark.sounding(unsure="warn")
def test_unsure(no_regression):
    no_regression(run=MIXED)

def test_worse(no_regression):
    no_regression(run=BAD)
"""


def test_the_plugin_shows_a_table_and_writes_properties(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    done = subprocess.run(
        [
            sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "sounding.integrations.pytest",
            "--junitxml=out.xml", "test_it.py",
        ],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # installed, the plugin loads by itself
    )  # fmt: skip
    assert "2 passed, 1 warning" in done.stdout.replace("1 failed, ", ""), done.stdout
    assert UnsureWarning.__name__ in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if re.match(r"test_\w+ +(RR|AP) ", line)]
    verdicts = {(row[0], row[1]): row[-1] for row in rows}
    assert verdicts == {
        (f"test_{name}", measure): verdict
        for name, verdict in (("same", "passed"), ("unsure", "unsure"), ("worse", "worse"))
        for measure in ("RR", "AP")
    }
    cases = {case.get("name"): case for case in ET.parse(tmp_path / "out.xml").iter("testcase")}
    kept = {p.get("name"): p.get("value") for p in cases["test_unsure"].iter("property")}
    assert float(str(kept["sounding/RR/difference"])) == pytest.approx(-0.05)
    assert kept["sounding/AP/topics"] == str(TOPICS)


def steps() -> list[dict[str, Any]]:
    action: dict[str, Any] = require("yaml").safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert action["runs"]["using"] == "composite"
    found: list[dict[str, Any]] = action["runs"]["steps"]
    asked = set(re.findall(r"inputs\.([\w-]+)", str(found)))
    assert asked == set(action["inputs"])
    return found


def run_action(folder: Path, **inputs: str) -> tuple[int, str, str, str]:
    """Run the steps of the action as a runner does; exit status, log, summary and outputs."""
    command = folder / "bin" / "sounding"
    if not command.exists():
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sounding "$@"\n')
        command.chmod(0o755)
    given = {"measures": "RR", "fail-on": "worse", "margin": "", "install": "", **inputs}
    status, log = 0, ""
    files = {name: folder / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for file in files.values():
        file.write_text("")
    for step in steps():
        if step.get("if") == "inputs.install != ''" and not given["install"]:
            continue
        environment = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], value)
            for name, value in step["env"].items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],  # as a runner's shell: bash
            cwd=folder, capture_output=True, text=True, check=False,
            env={
                **os.environ, **{name: str(file) for name, file in files.items()}, **environment,
                "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
            },
        )  # fmt: skip
        status, log = done.returncode, log + done.stdout + done.stderr
    return status, log, files["GITHUB_STEP_SUMMARY"].read_text(), files["GITHUB_OUTPUT"].read_text()


def test_the_action_writes_a_summary_and_fails_as_the_gate_does(tmp_path: Path) -> None:
    from sounding import write_qrels, write_run

    (tmp_path / "runs").mkdir()
    write_qrels(QRELS, tmp_path / "my qrels.txt")
    for name, run in (("main", GOOD), ("mixed", MIXED)):
        write_run(run, tmp_path / "runs" / f"{name}.txt")
    common = {"qrels": "my qrels.txt", "runs": "runs/*.txt", "baseline": "main"}
    status, log, summary, output = run_action(tmp_path, **common, measures="RR AP", margin="0.06")
    assert (status, output) == (3, "status=3\n")
    assert summary.startswith("## sounding: failed\n")
    assert re.search(r"^\| *mixed *\| *main *\| *RR", summary, re.MULTILINE), summary
    assert len(re.findall(r"^- worse: mixed against main, .* topics are needed$", summary, re.MULTILINE)) == 2
    assert log.count("::error title=sounding::worse: mixed") == 2
    status, log, summary, output = run_action(tmp_path, **common)
    assert (status, output) == (0, "status=0\n")
    assert summary.startswith("## sounding: passed\n")
    assert "::error" not in log
    assert run_action(tmp_path, **common, **{"fail-on": "RR<0.96,drop>0.04"})[0] == 6
    status, log, summary, _ = run_action(tmp_path, **{**common, "qrels": "none.txt"})
    assert (status, "::error title=sounding::Error: " in log) == (1, True)
