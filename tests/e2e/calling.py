"""A command line called as a person would: its exit status, what it printed and what it said beside that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sounding.cli import main

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
