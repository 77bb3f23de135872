"""The examples of a page, run as a reader would run them: in one folder, from top to bottom."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from click.testing import CliRunner

from sounding.cli import cli

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def run_page(
    page: Path, given: Mapping[str, Any] = MappingProxyType({}), *, whole: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run every block in the folder that one is in; what a block shows must come out. Gives Python's names.

    `given` are names that a page speaks of as the reader's own. Of commands that begin like one of `whole`,
    all that comes out must be shown.
    """
    names: dict[str, Any] = dict(given)
    blocks = BLOCK.findall(page.read_text("utf-8"))
    assert blocks, f"{page.name} has no examples"
    for language, text in blocks:
        if language == "python":
            exec(compile(text, page.name, "exec"), names)
        else:
            _run_console(text, page.name, whole)
    return names


def run_commands(page: Path) -> int:
    """Run every command of a page in the folder that one is in, whatever it shows; gives how many there are.

    What goes into a file with `> FILE` is written there.
    """
    blocks = [text for language, text in BLOCK.findall(page.read_text("utf-8")) if language == "console"]
    lines = [line for text in blocks for line in text.splitlines() if line.startswith("$ sounding ")]
    for line in lines:
        words, _, target = line.removeprefix("$ sounding ").partition(" > ")
        done = CliRunner().invoke(cli, shlex.split(words), catch_exceptions=False)
        assert done.exit_code == 0, f"{page.name}: {line}: {done.output}"
        if target:
            Path(target).write_text(done.stdout)
    return len(lines)


def _run_console(text: str, page: str, whole: tuple[str, ...]) -> None:
    """Commands stand behind a dollar sign; lines below one are lines of its output, perhaps not all of them."""
    printed: list[str] = []
    for line in text.splitlines():
        if line.startswith("$ sounding "):
            done = CliRunner().invoke(cli, shlex.split(line)[2:], catch_exceptions=False)
            assert done.exit_code == 0, f"{page}: {line}: {done.output}"
            printed = done.stdout.splitlines()
            if line.removeprefix("$ sounding ").startswith(whole):
                assert "\n".join([line, *printed]) in text, (
                    f"{page}: {line}: not all is shown:\n{done.stdout}"
                )
        elif line.strip():
            assert not line.startswith("$"), f"{page}: only commands of this package: {line}"
            assert line in printed, f"{page}: not printed: {line!r}; printed:\n" + "\n".join(printed)
