"""What the site adds to a page when it is built: public names, measures, a command's options and columns."""

from __future__ import annotations

import re
from typing import Any

import click

import sounding
from sounding.cli import cli
from sounding.explain.catalog import tables
from sounding.explain.schemas import schema_of
from sounding.terminal.help import GROUPS

PLACE = "<!-- the public names -->"
MEASURES = "<!-- the measures -->"
OPTIONS = re.compile(r"<!-- the options of ([a-z ]+) -->")
COLUMNS = re.compile(r"<!-- the columns of ([a-z]+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with a table of names, or of a command's options, where it asks for one."""
    markdown = markdown.replace(PLACE, names_table()).replace(MEASURES, tables())
    markdown = OPTIONS.sub(lambda found: options_table(found[1]), markdown)
    return COLUMNS.sub(lambda found: columns_table(found[1]), markdown)


def names_table() -> str:
    """Return every public name with the first line of its documentation."""
    told = {name: (getattr(sounding, name).__doc__ or "").splitlines()[0] for name in sounding.__all__}
    return _table("name", [(f"`{name}`", line) for name, line in told.items()])


def options_table(words: str) -> str:
    """Return every option of a command, such as `judge init`, with its text, in the groups of --help-all."""
    command: Any = cli
    for word in words.split():
        command = command.get_command(click.Context(command), word)
    context = click.Context(command)
    order = {name: place for place, names in enumerate(GROUPS.values()) for name in names}
    rows = [
        (order.get(str(option.name), -1), f"`{record[0]}`", record[1])
        for option in command.params
        if isinstance(option, click.Option) and (record := option.get_help_record(context))
    ]
    return _table("option", [(name, about) for _, name, about in sorted(rows, key=lambda row: row[0])])


def columns_table(command: str) -> str:
    """Return every column of a command's rows with its meaning, from the command's JSON schema."""
    described = schema_of(command)["properties"]["rows"]["items"]["properties"]
    return _table("column", [(f"`{name}`", one["description"]) for name, one in described.items()])


def _table(head: str, rows: list[tuple[str, str]]) -> str:
    """Return a table of two columns."""
    shown = [(name, about.replace("|", chr(92) + "|").replace("<", "&lt;")) for name, about in rows]
    lines = [f"| {name} | {about} |" for name, about in shown]
    return "\n".join([f"| {head} | what it is |", "|---|---|", *lines])
