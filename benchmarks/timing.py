"""How long a fresh process takes, and how much memory the largest of its processes needs."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

# Linux counts memory in KB, macOS in bytes.
MAXRSS_PER_MB = 1 << 20 if sys.platform == "darwin" else 1 << 10
# Installed packages come with their byte code; a source tree must be allowed to keep its own.
KEEP_BYTE_CODE = {"PYTHONDONTWRITEBYTECODE": ""}


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one command."""

    seconds: float
    cpu: float | None  # seconds of all its processes together; None: not known of a part
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
    def median(self) -> float:
        """Seconds of the round in the middle."""
        return statistics.median(sample.seconds for sample in self.samples)

    @property
    def cpu(self) -> float | None:
        """CPU seconds of the round that took fewest."""
        return min((sample.cpu for sample in self.samples if sample.cpu is not None), default=None)

    @property
    def peak_mb(self) -> float:
        """Memory of the largest process in any round."""
        return max(sample.peak_mb for sample in self.samples)


def whole(sample: Sample, _stdout: Path) -> Sample:
    """The process from start to end."""
    return sample


@dataclass(slots=True, kw_only=True)
class Command:
    """A command to run, what is timed of it, and where its output goes."""

    arguments: Sequence[str]
    stdout: Path
    # What is timed, by name: from the whole process and what it printed to the part that is meant.
    parts: Mapping[str, Callable[[Sample, Path], Sample]]
    values: Path | None = None  # the values that it computed, where it computes any
    environment: Mapping[str, str] = field(default_factory=dict)
    rounds: int | None = None  # no more than so many, for tools that take minutes
    timings: dict[str, Timing] = field(default_factory=dict)
    failure: str = ""

    def run(self) -> None:
        """Start it afresh, wait, and keep what it took; a failure is kept and not tried again."""
        if self.failure:
            return
        sample, status, complaint = measure(self.arguments, self.stdout, self.environment)
        if status:
            self.failure = complaint or f"exit status {status}"
            return
        for label, part in self.parts.items():
            self.timings.setdefault(label, Timing()).samples.append(part(sample, self.stdout))


def measure(
    arguments: Sequence[str], stdout: Path, environment: Mapping[str, str]
) -> tuple[Sample, int, str]:
    """What one process took, its exit status, and the last line of its complaints.

    The kernel starts to count a child's memory at the size of the process that started it. This
    one has to stay small: it loads nothing but the standard library, and reads no values while
    there is something left to measure.
    """
    stderr = stdout.with_suffix(".stderr")
    with stdout.open("wb") as out, stderr.open("wb") as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **KEEP_BYTE_CODE, **environment},
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    complaints = stderr.read_text(errors="replace").splitlines()
    sample = Sample(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MAXRSS_PER_MB)
    return sample, process.returncode, complaints[-1] if complaints else ""


def interleave(commands: Iterable[Command], rounds: int) -> None:
    """Run A B C A B C ...: what else the machine does hits all of them alike."""
    commands = list(commands)
    for number in range(rounds):
        for command in commands:
            if command.rounds is None or number < command.rounds:
                command.run()
