"""The fuzzer finds nothing, and would find something: a few inputs each time, a million in `make test-long`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import require

ROOT = Path(__file__).resolve().parents[2]

require("atheris")


def fuzz(inputs: int, seed: int, folder: Path, script: str = "from tests.fuzzing import main; main()") -> int:
    """Run the fuzzer in the folder and return its exit status; its own output ends in `log`."""
    path = f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    # By way of a small shell: the peak memory of a process begins with that of the one it was forked from.
    shell = ["sh", "-c", '"$@"; exit $?', "sh"]
    command = [*shell, sys.executable, "-c", path + script, str(inputs), str(seed)]
    with (folder / "log").open("wb") as log:
        return subprocess.run(
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=False
        ).returncode


@pytest.mark.parametrize(
    ("inputs", "seed"),
    [(3_000, 1), *(pytest.param(250_000, seed, marks=pytest.mark.long) for seed in (2, 3, 4, 5))],
)
def test_every_input_gives_a_result_or_one_line(inputs: int, seed: int, tmp_path: Path) -> None:
    status = fuzz(inputs, seed, tmp_path)
    log = (tmp_path / "log").read_text(errors="replace")
    assert status == 0, log[-3000:]
    assert f"number_of_executed_units: {inputs}" in log


def test_the_fuzzer_finds_a_bare_error(tmp_path: Path) -> None:
    script = "from tests import fuzzing; fuzzing.parse_measures = lambda texts: {}['x']; fuzzing.main()"
    assert fuzz(3_000, 1, tmp_path, script) != 0
    assert list(tmp_path.glob("crash-*"))
