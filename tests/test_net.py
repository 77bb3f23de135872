"""The net can fail: it has a call for every option, and finds every difference between two recordings."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests import net

from sounding.cli import cli

NOT_CALLED = {  # options without a call, and why
    "--dask": "needs a cluster",
    "judge init --database": "needs a PostgreSQL server",
    "judge serve --host": "opens the server to a network",
    "judge serve --access-log": "writes what the people of the net ask for, with the time",
    "demo --judge": "serves until it is stopped",
    "demo --port": "serves until it is stopped",
}
ADDED = {"--format", "--jobs"}  # options that the net adds to the lines of the table
SHAPE = {"{info}": "--info files/graded-info.tsv", "{runs}": "dirty/runs --policy duplicates=first"}


def record(folder: Path, texts: dict[str, str], verbs: str = net.ALL) -> Path:
    (folder / "outputs").mkdir(parents=True)
    for number, (name, text) in enumerate(texts.items()):
        (folder / "outputs" / f"{number:04}-{name}.txt").write_text(text)
    (folder / "verbs.txt").write_text(verbs)
    return folder


def commands(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from commands(command, (*path, name))
            elif command is not None:
                yield (*path, name), command


def test_every_option_of_every_command_has_a_call() -> None:
    table = net.CALLS.read_text("utf-8")
    for place, words in SHAPE.items():
        table = table.replace(place, words)
    calls = [
        shlex.split(row.partition(": ")[2]) for row in table.splitlines() if ": " in row and row[0] != "#"
    ]
    missing = []
    for path, command in commands(cli):
        given = {word for call in calls if tuple(call[: len(path)]) == path for word in call}
        assert given, f"no call of {' '.join(path)}"
        for option in command.params:
            names = {*option.opts, *option.secondary_opts}
            known = {
                *given,
                *ADDED,
                "--help",
                *(name.removeprefix(f"{' '.join(path)} ") for name in NOT_CALLED),
            }
            if isinstance(option, click.Option) and not names & known:
                missing.append(f"{' '.join(path)} {option.opts[-1]}")
    assert missing == []


BEFORE = {"inputs": "a\n", "evaluate-x": "1\n2\n", "compare-x": "3\n"}


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({}, "3 calls: 0 differ"),
        ({"evaluate-x": "1\n3\n"}, "evaluate-x: line 2\n  before: 2\n  after:  3\n"),
        ({"evaluate-x": "1\n2"}, "evaluate-x: line 3\n  before: \n  after:  (no more lines)\n"),
        ({"evaluate-x": "1\n2\n\n"}, "evaluate-x: line 4\n  before: (no more lines)\n  after:  \n"),
        ({"inputs": "b\n"}, "inputs: line 1\n"),
        ({"depth-x": ""}, "depth-x: new\n"),
    ],
)
def test_every_difference_is_found(
    after: dict[str, str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = record(tmp_path / "old", BEFORE), record(tmp_path / "new", {**BEFORE, **after})
    assert net.compare(old, new, None) == (1 if after else 0)
    assert said in capsys.readouterr().out


def test_a_call_that_is_missing_is_a_difference_unless_its_command_was_not_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = record(tmp_path / "old", BEFORE)
    part = {"inputs": "a\n", "evaluate-x": "1\n2\n"}
    assert net.compare(old, record(tmp_path / "whole", part), None) == 1
    assert "compare-x: missing" in capsys.readouterr().out
    assert net.compare(old, record(tmp_path / "part", part, "evaluate"), None) == 0
    (old / "verbs.txt").unlink()
    with pytest.raises(SystemExit, match="not a finished recording"):
        net.compare(old, tmp_path / "part", None)


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("evaluate-*\tthe sentence is plainer", 0, "accepted: evaluate-x (the sentence is plainer): line 2"),
        ("compare-x\tmeant", 1, "accepted, but nothing differs: compare-x"),
        ("depth-*\tof a command that was not recorded", 1, "evaluate-x: line 2"),
    ],
)
def test_accepted_differences_must_differ(
    line: str, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = record(tmp_path / "old", BEFORE), record(tmp_path / "new", {**BEFORE, "evaluate-x": "1\n3\n"})
    (tmp_path / "accept.tsv").write_text(line + "\n")
    assert net.compare(old, new, tmp_path / "accept.tsv") == status
    assert said in capsys.readouterr().out
    (tmp_path / "accept.tsv").write_text("evaluate-x\n")
    with pytest.raises(SystemExit, match="a reason"):
        net.compare(old, new, tmp_path / "accept.tsv")
