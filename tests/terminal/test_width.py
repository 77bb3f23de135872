"""How wide tables are: as the terminal, as COLUMNS, or without a limit."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from sounding.terminal.options import PIPED_WIDTH, prose_width, table_width


class Screen:
    """Standard output that is a terminal of some size."""

    def __init__(self, columns: int) -> None:
        self.columns = columns

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1

    def size(self, *_: Any) -> os.terminal_size:
        return os.terminal_size((self.columns, 24))


@pytest.mark.parametrize(("size", "columns", "width"), [(120, "", 120), (0, "", 80), (0, "100", 100)])
def test_a_terminal_that_does_not_know_its_size_has_80_columns(
    size: int, columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Screen(size)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "__stdout__", screen)
    monkeypatch.setattr(os, "get_terminal_size", screen.size)
    monkeypatch.setenv("COLUMNS", columns)
    assert table_width(None) == prose_width(None) == width


def test_files_and_pipes_have_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert table_width(Path("out.txt")) is None
    assert prose_width(None) == PIPED_WIDTH
