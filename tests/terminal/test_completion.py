"""Shells complete commands, options, choices, measures and files, by the scripts that the page names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import lacking

PAGE = Path(__file__).parents[2] / "docs" / "completion.md"
SHELLS = ("bash", "zsh", "fish")


def asked(instruction: str, words: str = "", last: str = "") -> str:
    """What the program answers a shell that has typed some words and the beginning of another."""
    typed = f"sounding {words} {last}".split() + ([""] if not last else [])
    environment = os.environ | {
        "_SOUNDING_COMPLETE": instruction,
        "COMP_WORDS": f"sounding {words} {last}",
        "COMP_CWORD": last if instruction.startswith("fish") else str(len(typed) - 1),
    }
    command = [sys.executable, "-c", "from sounding.__main__ import run; run()"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr or "bash" in done.stderr.lower(), done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_gets_a_script_and_the_page_says_how(shell: str) -> None:
    assert f"_SOUNDING_COMPLETE={shell}_source sounding" in PAGE.read_text("utf-8")
    script = asked(f"{shell}_source")
    assert f"_SOUNDING_COMPLETE={shell}_complete" in script
    program = shutil.which(shell)
    if program is None:
        if shell == "bash":
            lacking("no bash on the PATH")
        return
    done = subprocess.run([program, "-n"], input=script, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_commands_options_choices_measures_and_files_are_completed(shell: str) -> None:
    instruction = f"{shell}_complete"
    every = (
        ("", "eva", "evaluate"),
        ("evaluate", "--unj", "--unjudged"),
        ("evaluate --unjudged", "con", "condensed"),
        ("evaluate -m", "nDC", "nDCG"),
    )
    # What is offered does not depend on the shell; how it is written down does.
    for words, last, expected in every if shell == "bash" else every[:1]:
        assert re.search(rf"\b{expected.lstrip('-')}\b", asked(instruction, words, last)), (words, last)
    assert "file" in asked(instruction, "evaluate", "tri")
    assert "file" in asked(instruction, "judge serve", "pro") or "dir" in asked(
        instruction, "judge serve", "pro"
    )


def test_bash_itself_completes_a_command(tmp_path: Path) -> None:
    program = shutil.which("bash")
    if program is None:
        lacking("no bash on the PATH")
        return
    (tmp_path / "sounding").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sounding "$@"\n')
    (tmp_path / "sounding").chmod(0o755)
    lines = (
        'eval "$(_SOUNDING_COMPLETE=bash_source sounding)"',
        "COMP_WORDS=(sounding eval) COMP_CWORD=1",
        "_sounding_completion sounding eval sounding",
        'echo "${COMPREPLY[@]}"',
    )
    done = subprocess.run(
        [program, "-c", "\n".join(lines)], capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.split() == ["evaluate"], done.stderr
