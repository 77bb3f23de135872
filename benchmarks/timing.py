"""How long a fresh process takes, and how much memory the largest of its processes needs."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# Linux counts memory in KB, macOS in bytes.
MAXRSS_PER_MB = 1 << 20 if sys.platform == "darwin" else 1 << 10
# Installed packages come with their byte code; a source tree must be allowed to keep its own.
KEEP_BYTE_CODE = {"PYTHONDONTWRITEBYTECODE": ""}
_PR_SET_CHILD_SUBREAPER = 36  # option of Linux's prctl: children whose parent has ended become ours


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one command."""

    seconds: float
    cpu: float  # seconds of all its processes together
    peak_mb: float


@dataclass(slots=True)
class Timing:
    """All rounds of one thing that is timed."""

    samples: list[Sample] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds of the fastest round."""
        return min(sample.seconds for sample in self.samples)

    @property
    def cpu(self) -> float:
        """CPU seconds of the round that took fewest."""
        return min(sample.cpu for sample in self.samples)

    @property
    def peak_mb(self) -> float:
        """Memory of the largest process in any round."""
        return max(sample.peak_mb for sample in self.samples)


def whole(sample: Sample, _stdout: Path) -> Sample:
    """The process from start to end."""
    return sample


def second(sample: Sample, stdout: Path) -> Sample:
    """The second time in a process that does its work twice and prints how long that took."""
    return Sample(float(stdout.read_text().split()[-1]), sample.cpu, sample.peak_mb)


def first(sample: Sample, stdout: Path) -> Sample:
    """All of such a process but the second time."""
    return Sample(sample.seconds - second(sample, stdout).seconds, sample.cpu, sample.peak_mb)


@dataclass(slots=True, kw_only=True)
class Command:
    """A command to run, what is timed of it, and where its output goes."""

    arguments: Sequence[str]
    stdout: Path
    parts: Mapping[str, Callable[[Sample, Path], Sample]]  # what is timed, by name
    values: Path | None = None  # the values that it computed
    environment: Mapping[str, str] = field(default_factory=dict)
    rounds: int | None = None  # at most
    limit: float = 600  # seconds after which it is stopped
    timings: dict[str, Timing] = field(default_factory=dict)
    failure: str = ""

    def run(self) -> None:
        """Run it and keep what it took; a failure is kept and not tried again."""
        if self.failure:
            return
        sample, self.failure = measure(self.arguments, self.stdout, self.environment, self.limit)
        if not self.failure:
            for label, part in self.parts.items():
                self.timings.setdefault(label, Timing()).samples.append(part(sample, self.stdout))


def measure(
    arguments: Sequence[str], stdout: Path, environment: Mapping[str, str], limit: float = 600
) -> tuple[Sample, str]:
    """Return what one process took, and why it failed (empty: it did not).

    The kernel starts to count a child's memory at the size of the process that started it. This one has to
    stay small: it loads only the standard library, and reads no values while something is left to measure.
    """
    stderr = stdout.with_suffix(".stderr")
    with stdout.open("wb") as out, stderr.open("wb") as err:
        start = time.perf_counter()
        if sys.platform == "linux":  # elsewhere sounding has one process
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
            env={**os.environ, **KEEP_BYTE_CODE, **environment},
        )  # fmt: skip
        stop = threading.Timer(limit, process.terminate)  # sounding then ends its children as well
        stop.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        stop.cancel()
        usages = [usage, *_left_behind()]
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu = sum(one.ru_utime + one.ru_stime for one in usages)
    sample = Sample(seconds, cpu, max(one.ru_maxrss for one in usages) / MAXRSS_PER_MB)
    if not process.returncode:
        return sample, ""
    if seconds >= limit:
        return sample, f"stopped after {limit:.0f} s"
    complaints = stderr.read_text(errors="replace").splitlines()
    return sample, complaints[-1] if complaints else f"exit status {process.returncode}"


def _left_behind() -> Iterator[resource.struct_rusage]:
    """Yield what the processes used that a command started and did not wait for, as sounding does."""
    while True:
        try:
            _, _, usage = os.wait4(-1, 0)
        except ChildProcessError:
            return
        yield usage


def interleave(commands: Iterable[Command], rounds: int) -> None:
    """Run A B C A B C ...: what else the machine does hits all of them alike."""
    commands = list(commands)
    for number in range(rounds):
        for command in commands:
            if command.rounds is None or number < command.rounds:
                command.run()


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their longest cell; the first one to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def program() -> str:
    """The program `sounding` as pip installed it beside this interpreter."""
    found = shutil.which("sounding", path=str(Path(sys.executable).parent)) or shutil.which("sounding")
    if found is None:
        sys.exit("the program sounding is not installed: pip install -e '.[bench]'")
    return found
