"""A command line called as a person would: its exit status, what it printed and what it said beside that."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from sounding.cli import main

# The first lines of a program that is to be signalled: whoever runs the tests may ignore a signal, and
# children would inherit that.
HEED_SIGNALS = """import signal
for number in (signal.SIGHUP, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

Said = tuple[int, str, str]
Call = Callable[..., Said]


def caller(capsys: pytest.CaptureFixture[str], *before: str) -> Call:
    """A function that runs the command line of the words `before` and its own arguments."""

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        status = 0
        try:
            main([*before, *arguments])
        except SystemExit as left:
            status = int(left.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def next_command(text: str) -> list[str]:
    """The words after `sounding` of the command that an answer suggests; it must suggest exactly one."""
    (line,) = [line for line in text.splitlines() if line.startswith("Next: sounding ")]
    return shlex.split(line)[2:]


def sampled(folder: Path, sizes: str) -> Path:
    """A folder that `sounding sample` made with these options, such as `--topics 5 --seed 4`."""
    with pytest.raises(SystemExit) as left:
        main(["sample", str(folder), *sizes.split()])
    assert not left.value.code
    return folder


def check_refused(said: Said, status: int, message: str) -> None:
    """The command ended with this status, and its last line says why: no more, and nothing unexpected."""
    left, out, err = said
    assert (left, out) == (status, "")
    last = err.splitlines()[-1]
    assert last.startswith("Error: ")
    assert message in last
    assert "unexpected" not in last
