"""Processes that write to one history at once lose nothing, and one that is killed leaves the file whole."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sounding import track
from sounding.core.files import lock_file

KINDS = ("history.parquet", "history.sqlite")
WRITERS, COMMITS = 4, 6
WRITER = """
import sys
from sounding import track
name, who, commits = sys.argv[1], sys.argv[2], int(sys.argv[3])
qrels = {str(topic): {"a": 1} for topic in range(3)}
for number in range(commits):
    track(name, qrels, {f"run{who}": qrels}, "RR", commit=f"c{number}", time="2026-01-01")
    print(number, flush=True)
"""


def start(path: Path, who: int, commits: int) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(path), str(who), str(commits)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("name", KINDS)
def test_writers_at_once_lose_nothing(name: str, tmp_path: Path) -> None:
    writers = [start(tmp_path / name, who, COMMITS) for who in range(WRITERS)]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    history = track(tmp_path / name)
    assert len(history.runs) == WRITERS
    assert history.mean().tolist() == [[[1.0] * COMMITS]] * WRITERS
    assert [path.name for path in tmp_path.iterdir()] == [name]  # no lock is left


@pytest.mark.parametrize("name", KINDS)
def test_a_killed_writer_leaves_a_whole_history_and_no_lock(name: str, tmp_path: Path) -> None:
    for round_ in range(3):
        writer = start(tmp_path / name, round_, 10_000)
        assert writer.stdout is not None
        writer.stdout.readline()  # it is writing
        time.sleep(0.005 * round_)
        os.kill(writer.pid, signal.SIGKILL)
        said = writer.communicate()[0].split()
        history = track(tmp_path / name)
        done = [place for place, value in enumerate(history.mean()[round_, 0].tolist()) if value == 1.0]
        assert len(done) >= 1 + len(said)
    track(tmp_path / name, {"1": {"a": 1}}, {"last": {"1": {"a": 1}}}, "RR", commit="end")
    assert [path.name for path in tmp_path.iterdir() if not path.name.endswith(".part")] == [name]


def test_a_lock_is_held_until_the_end_of_the_block(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from sounding.core.files import lock_file\n"
        "with lock_file(Path(sys.argv[1])): print('locked', flush=True)"
    )
    with lock_file(tmp_path / "file"):
        other = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "file")], stdout=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.5)
    assert other.communicate()[0] == b"locked\n"
    assert not list(tmp_path.iterdir())
