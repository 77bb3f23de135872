"""A full disk and too little memory: one line that says what is missing, and nothing half-written."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.e2e.calling import sampled

from sounding.core.errors import SoundingError
from sounding.core.workers import map_items, map_outcomes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full, and only Linux forks")

ROOM = 5_000  # bytes that a file may have
FULL = os.strerror(errno.ENOSPC)
TOO_LARGE = os.strerror(errno.EFBIG)
HUNGRY = """
import numpy as np
import sounding.convert.converting as converting
converting.run_lines = lambda run: np.zeros(1 << 50)
"""
KILLED = """
import os, signal, time
import sounding.convert.converting as converting
parent = os.getpid()

def killed(run):
    if os.getpid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does where memory runs out
    time.sleep(0.2)  # leaves something for the child
    return []

converting.run_lines = killed
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sampled(
        tmp_path_factory.mktemp("scarcity") / "c", "--topics 5 --groups 3 --systems 2 --length 200"
    )


def called(
    folder: Path, *words: str, before: str = "", limit: tuple[int, int] | None = None, out: str | None = None
) -> subprocess.CompletedProcess[str]:
    """The command in a folder, after a piece of program, with a limit of resources, printing to a file."""
    # -B: bytecode that a limit cut off would make every later import of that module fail.
    program = f"{before}\nfrom sounding.__main__ import run\nrun()"
    with open(out or os.devnull, "w") as stream:  # noqa: PTH123 - a device
        return subprocess.run(
            [sys.executable, "-B", "-c", program, *words], cwd=folder, stdout=stream, stderr=subprocess.PIPE,
            text=True, timeout=300, check=False,
            preexec_fn=None if limit is None else lambda: resource.setrlimit(limit[0], (limit[1],) * 2),
        )  # fmt: skip


def check_said(found: subprocess.CompletedProcess[str], *facts: str) -> None:
    assert found.returncode == 1, found.stderr
    errors = [line for line in found.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, found.stderr
    assert "Traceback" not in found.stderr
    assert "fault" not in found.stderr
    for fact in facts:
        assert fact in errors[0]


@pytest.mark.parametrize(
    "words",
    [
        "convert RUN --to parquet -o /dev/full",
        "convert RUN --to trec -o /dev/full",
        "convert qrels.txt --to parquet -o /dev/full",
        "convert qrels.txt --to trec -o /dev/full",
        "evaluate qrels.txt runs -o /dev/full",
        "pool runs -o /dev/full",
        "report qrels.txt runs --sections methods -o /dev/full",
    ],
)
def test_a_full_device_is_named_with_the_reason(words: str, folder: Path) -> None:
    run = str(sorted((folder / "runs").iterdir())[0])
    found = called(folder, *[run if word == "RUN" else word for word in words.split()])
    check_said(found, "/dev/full cannot be written", FULL)
    assert run not in found.stderr.splitlines()[-1]


@pytest.mark.parametrize("words", ["evaluate qrels.txt runs", "measures", "measures AP", "check qrels.txt"])
def test_a_full_standard_output_is_named_with_the_reason(words: str, folder: Path) -> None:
    check_said(called(folder, *words.split(), out="/dev/full"), "standard output cannot be written", FULL)


@pytest.mark.parametrize("name", ["r.parquet", "r.txt", "r.txt.gz", "r.txt.xz"])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_convert_names_the_file_that_has_no_room(name: str, jobs: str, folder: Path, tmp_path: Path) -> None:
    run = sorted((folder / "runs").iterdir())[0]
    words = ["convert", str(run), "-o", str(tmp_path / name), "--jobs", jobs]
    found = called(folder, *words, limit=(resource.RLIMIT_FSIZE, ROOM))
    check_said(found, f"{tmp_path / name} cannot be written", TOO_LARGE)
    assert run.name not in found.stderr
    assert list(tmp_path.iterdir()) == []


def test_of_several_files_those_that_have_room_are_converted(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text("1 Q0 d 1 2.5 small\n")
    run = sorted((folder / "runs").iterdir())[0]
    words = ["convert", str(run), str(tmp_path / "small.txt"), "-o", f"{tmp_path}/out/", "--to", "trec"]
    found = called(folder, *words, limit=(resource.RLIMIT_FSIZE, ROOM))
    check_said(found, f"{tmp_path / 'out' / run.name} cannot be written", TOO_LARGE)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["small.txt"]


@pytest.mark.parametrize(
    "words", ["sample {t}/new --topics 30", "evaluate qrels.txt runs -q -o {t}/new", "pool runs -o {t}/new"]
)
def test_nothing_half_written_stays(words: str, folder: Path, tmp_path: Path) -> None:
    found = called(folder, *words.format(t=tmp_path).split(), limit=(resource.RLIMIT_FSIZE, 500))
    check_said(found, f"{tmp_path}/new", "cannot be written", TOO_LARGE)
    assert ".part" not in found.stderr
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_without_room_are_not_the_fault_of_the_input(folder: Path) -> None:
    """A large compressed run is unpacked into a temporary file."""
    small = "import sounding.data.sources as s, sounding.data.large_files as p\ns.LARGE_PACKED = p.LARGE_PACKED = 100\n"
    run = sorted((folder / "runs").iterdir())[0]
    subprocess.run(["gzip", "-kf", str(run)], check=True)
    packed = run.with_name(f"{run.name}.gz")
    try:
        words = ["evaluate", "qrels.txt", str(packed)]
        assert called(folder, *words, before=small).returncode == 0
        found = called(folder, *words, before=small, limit=(resource.RLIMIT_FSIZE, ROOM))
        check_said(found, "temporary files", "TMPDIR", TOO_LARGE)
    finally:
        packed.unlink()


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_too_little_memory_is_said_with_what_to_do(jobs: str, folder: Path, tmp_path: Path) -> None:
    words = ["convert", "runs", "-o", f"{tmp_path}/out/", "--to", "trec", "--jobs", jobs]
    found = called(folder, *words, before=HUNGRY)
    assert found.returncode == 1
    lines = found.stderr.splitlines()
    assert len(lines) == len(list((folder / "runs").iterdir()))
    for line in lines:
        assert "out of memory" in line
        assert "8.00 PiB" in line
        assert "--jobs 1" in line
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_does_not_fit_into_memory_is_said_in_one_line(
    jobs: str, folder: Path, tmp_path: Path
) -> None:
    lines = "".join(f"%s Q0 document-{number} {number} {-number} large\n" for number in range(5000))
    with (tmp_path / "large.txt").open("w") as out:
        for topic in range(500):
            out.write(lines.replace("%s", str(topic)))
    words = ["compare", "qrels.txt", str(tmp_path / "large.txt"), "runs", "--jobs", jobs, "--quiet"]
    check_said(called(folder, *words, limit=(resource.RLIMIT_AS, 500_000_000)), "memory", "--jobs 1")


def test_a_worker_that_is_killed_again_and_again_is_said_in_one_line(folder: Path, tmp_path: Path) -> None:
    words = ["convert", "runs", "-o", f"{tmp_path}/out/", "--to", "trec", "--jobs", "2"]
    check_said(called(folder, *words, before=KILLED), "memory", "--jobs 1")


@pytest.mark.parametrize("processes", [1, 2])
def test_numpys_error_comes_through_from_every_process(processes: int) -> None:
    with pytest.raises(MemoryError):
        map_items(lambda _: np.zeros(1 << 50), range(4), processes=processes)
    for outcome in map_outcomes(lambda _: np.zeros(1 << 50), range(4), processes=processes):
        assert isinstance(outcome, SoundingError)
        assert "out of memory (8.00 PiB" in str(outcome)
