"""Run the examples of a page as a reader would: in one folder, from top to bottom.

`python -m tests.docs_examples [--whole] PAGE...` runs the commands of each page again and updates the output it shows.
`python -m tests.docs_examples --python FOLDER` writes the Python of all pages to a folder, where mypy checks it.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from click.testing import CliRunner

from sounding.cli import cli

BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROMPT = "$ sounding "
FRAGMENTS = ("rank-agreement",)  # pages whose Python uses names that stand for the reader's own
LIKENESS = 0.6  # a shown line gives way to a printed one that is at least this similar; otherwise it goes


def run_page(
    page: Path, given: Mapping[str, Any] = MappingProxyType({}), *, whole: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Run every block in the current folder, check the output that is shown, and return Python's names.

    `given` are names that a page treats as the reader's own. Commands that begin like one of `whole` must show their whole output.
    """
    names: dict[str, Any] = dict(given)
    blocks = BLOCK.findall(page.read_text("utf-8"))
    assert blocks, f"{page.name} has no examples"
    for language, text in blocks:
        if language == "python":
            exec(compile(text, page.name, "exec"), names)
        else:
            _check_console(text, page.name, whole)
    return names


def run_commands(page: Path) -> int:
    """Run every command of a page in the current folder without checking its output; return their number."""
    blocks = [text for language, text in BLOCK.findall(page.read_text("utf-8")) if language == "console"]
    lines = [line for text in blocks for line in text.splitlines() if line.startswith(PROMPT)]
    for line in lines:
        _run(line, page.name)
    return len(lines)


def update_page(page: Path, *, whole: bool = False) -> str:
    """Return the text of a page with its examples run again in the current folder and the shown output updated.

    Where a page shows only some lines of the output, it keeps those that are still printed or their likeliest successors;
    with `whole`, every command that shows any output shows all of it.
    """
    names: dict[str, Any] = {}

    def rerun(block: re.Match[str]) -> str:
        language, text = block.groups()
        if language == "console":
            text = "".join(
                f"{line}\n" for command in _commands(text) for line in _updated(*command, page.name, whole)
            )
        else:
            exec(compile(text, page.name, "exec"), names)
        return f"```{language}\n{text}```"

    return BLOCK.sub(rerun, page.read_text("utf-8"))


def _run(line: str, page: str) -> list[str]:
    """Run the command behind a prompt and return the lines it prints; `> FILE` writes them to the file instead."""
    words, _, target = line.removeprefix(PROMPT).partition(" > ")
    done = CliRunner().invoke(cli, shlex.split(words), catch_exceptions=False)
    assert done.exit_code == 0, f"{page}: {line}: {done.output}"
    if target:
        Path(target).write_text(done.stdout)
        return []
    return done.stdout.splitlines()


def _commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console block with the lines shown below it."""
    for part in re.split(r"^(?=\$)", text, flags=re.MULTILINE):
        if part:
            line, *shown = part.splitlines()
            yield line, shown


def _updated(line: str, shown: list[str], page: str, whole: bool) -> list[str]:
    """Return a command and the lines that should be shown below it."""
    printed = _run(line, page)
    filled = [text for text in shown if text.strip()]
    if whole and filled:
        return [line, *printed]
    successors = iter(_successors(filled, printed, page))
    kept = [line]
    for text in shown:
        now = next(successors) if text.strip() else text
        if now is not None and (now.strip() or (kept[-1].strip() and kept[-1] != line)):
            kept.append(now)
    return kept


def _successors(shown: list[str], printed: list[str], page: str) -> list[str | None]:
    """Return for each shown line the printed line that takes its place, in the order of both; None where there is none."""
    found: list[str | None] = []
    matcher = difflib.SequenceMatcher(None, shown, printed, autojunk=False)
    for tag, begin, end, at, stop in matcher.get_opcodes():
        for text in shown[begin:end]:
            likely = (
                [text]
                if tag == "equal"
                else difflib.get_close_matches(text, printed[at:stop], n=1, cutoff=LIKENESS)
            )
            if likely:
                at += (
                    printed[at:stop].index(likely[0]) + 1
                )  # a line is shown once for each time it is printed
            else:
                sys.stderr.write(f"{page}: no longer printed: {text}\n")
            found += likely or [None]
    return found


def _check_console(text: str, page: str, whole: tuple[str, ...]) -> None:
    """Commands follow a dollar sign; the lines below one are lines of its output in their order, not necessarily all."""
    for line, shown in _commands(text):
        assert line.startswith(PROMPT), f"{page}: only commands of this package: {line}"
        printed = _run(line, page)
        if line.removeprefix(PROMPT).startswith(whole):
            assert printed == shown[: len(printed)], f"{page}: {line}: not all is shown:\n" + "\n".join(
                printed
            )
        following = iter(printed)
        for text in filter(str.strip, shown):
            assert text in following, f"{page}: not printed there: {text!r}; printed:\n" + "\n".join(printed)


def write_python(folder: Path) -> list[Path]:
    """Write the Python of every page that shows whole programs to a module of a folder."""
    root = Path(__file__).parents[1]
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        blocks = [text for language, text in BLOCK.findall(page.read_text("utf-8")) if language == "python"]
        if blocks and page.stem not in FRAGMENTS:
            name = "_".join(page.relative_to(root).with_suffix("").parts).replace("-", "_")
            written.append(folder / f"{name}.py")
            written[-1].write_text("\n".join(blocks), "utf-8")
    return written


def main(arguments: list[str]) -> None:
    """Update the pages in place, each in an empty folder of its own."""
    if arguments[:1] == ["--python"]:
        write_python(Path(arguments[1]))
        return
    here = Path.cwd()
    for page in [here / name for name in arguments if name != "--whole"]:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                text = update_page(page, whole="--whole" in arguments)
            finally:
                os.chdir(here)
        page.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
