"""What is said where the packages of the judging server are not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sounding.cli import JUDGING

PROGRAM = "import sys; sys.modules[sys.argv[1]] = None; from sounding.cli import main; main(sys.argv[2:])"


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("nh3", ["judge", "init", "p", "--corpus", "docs.jsonl"]),
        ("nh3", ["judge", "status", "p"]),
        ("uvicorn", ["judge", "serve", "p"]),
        ("fastapi", ["demo", "--judge", "p"]),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(
    package: str, arguments: list[str], tmp_path: Path
) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "docs.jsonl").write_text('{"id": "d1", "text": "whales"}\n')
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, package, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"Error: the judging server needs the package {package!r}; install it with: pip install"
        " 'sounding[judge]'"
    )
    assert "Traceback" not in done.stderr
    assert package in JUDGING
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["docs.jsonl", "p"]
