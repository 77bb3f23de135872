"""No command writes over what it reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.calling import Call, caller, check_refused, sampled

REFUSED = "would overwrite an input file; name another file"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(
        sampled(tmp_path / "trial", "--topics 3 --groups 2 --systems 2 --length 50 --pool-depth 10 --seed 4")
    )
    return caller(capsys)


@pytest.mark.parametrize(
    "command", ["evaluate", "compare", "depth", "audit", "plan", "pool", "simulate", "calibrate"]
)
def test_an_output_that_is_an_input_is_refused_before_anything_is_done(call: Call, command: str) -> None:
    run = sorted(Path("runs").iterdir())[0]
    before = {path: path.read_bytes() for path in (run, Path("qrels.txt"))}
    link = Path("link.txt")
    link.symlink_to("qrels.txt")
    for runs, output in (
        (str(run), str(run)), ("runs", str(run)), ("runs/*", f"./{run}"),
        ("runs", "qrels.txt"), ("runs", "link.txt"),
    ):  # fmt: skip
        check_refused(call(command, "qrels.txt", runs, "-o", output), 2, f"--output {Path(output)} {REFUSED}")
    assert before == {path: path.read_bytes() for path in before}


def test_a_chart_and_a_page_may_not_be_inputs_either(call: Call) -> None:
    run = sorted(Path("runs").iterdir())[0].rename("runs/drawn.html")
    check_refused(call("compare", "qrels.txt", "runs", "--chart", str(run)), 2, f"--chart {run} {REFUSED}")
    check_refused(call("report", "qrels.txt", "runs", "-o", str(run)), 2, f"--output {run} {REFUSED}")


def test_a_file_that_nobody_reads_may_be_written_twice(call: Call) -> None:
    for _ in range(2):
        assert call("evaluate", "qrels.txt", "runs", "-o", "values.csv")[0] == 0
