"""--help shows the common options in groups, --help-all every option."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from sounding.cli import COMMANDS, cli
from sounding.terminal.help import ALWAYS, COMMON, GROUPS

FEWEST, MOST = 8, 16  # options of a first screen
LONGEST = 170  # characters of an option's text
NO_VERBS = "A All An As At By Every For How In Its No Of Only The What When Where Whether Which Whose With"


def options_of(name: str) -> dict[str, click.Option]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return {str(one.name): one for one in command.params if isinstance(one, click.Option) and not one.hidden}


def shown(name: str, flag: str) -> tuple[str, set[str]]:
    """What a command's help says, and the options that it lists."""
    result = CliRunner().invoke(cli, [name, flag], prog_name="sounding")
    assert result.exit_code == 0, result.output
    rows = re.findall(r"^  (-[^\n]*)", result.output, re.MULTILINE)
    return result.output, {word.strip(",") for row in rows for word in row.split() if word.startswith("-")}


@pytest.mark.parametrize("name", COMMON)
def test_help_shows_a_screenful_of_options_and_names_the_way_to_the_others(name: str) -> None:
    text, _ = shown(name, "--help")
    assert FEWEST <= len(re.findall(r"^  -", text, re.MULTILINE)) <= MOST
    assert f"sounding {name} --help-all" in text


@pytest.mark.parametrize("name", COMMON)
def test_help_all_shows_every_option_once(name: str) -> None:
    text, listed = shown(name, "--help-all")
    assert {option.opts[-1] for option in options_of(name).values()} <= listed
    assert not re.findall(r"^  \[?[A-Z]+\]?(?:\.\.\.)? *$", text, re.MULTILINE)  # arguments without a text


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - set(COMMON) - {"judge"}))
def test_commands_with_few_options_show_them_all(name: str) -> None:
    _, listed = shown(name, "--help")
    assert {option.opts[-1] for option in options_of(name).values()} <= listed


def leaves(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, subcommands included."""
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from leaves(inner, f"{path} {name}".strip())


LEAVES = dict(leaves(cli))


@pytest.mark.parametrize("path", LEAVES)
def test_every_option_has_a_sentence_that_says_what_it_does(path: str) -> None:
    for option in LEAVES[path].params:
        if isinstance(option, click.Option) and not option.hidden:
            about = (option.help or "").partition("  [default:")[0]
            assert re.fullmatch(r"[A-Z][a-z]+,? .*\.", about), f"{path} {option.opts[-1]}: {about!r}"
            assert about.split()[0] not in NO_VERBS.split(), f"{path} {option.opts[-1]}: {about!r}"
            assert len(about) <= LONGEST, f"{path} {option.opts[-1]}: {len(about)} characters"


def test_what_is_common_exists() -> None:
    for name, common in COMMON.items():
        assert set(common) <= set(options_of(name)), name
    known = {option for name in COMMON for option in options_of(name)}
    assert {option for group in GROUPS.values() for option in group} <= known
    assert set(ALWAYS) <= known


def test_no_option_is_in_two_groups() -> None:
    names = [option for group in GROUPS.values() for option in group]
    assert len(names) == len(set(names))
