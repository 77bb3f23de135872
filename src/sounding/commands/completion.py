"""What a shell completes beyond commands and options: files where files go, measures where one is named."""

from __future__ import annotations

import click

FILES = ("FILE", "FILE...", "QRELS", "QRELS...", "RUN", "RUN...", "DIR")  # what help calls a word for one


def completing(command: click.Command) -> click.Command:
    """The command with files and measures completed where it takes plain words; for a shell that asks."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        completing(inner)
    for parameter in command.params:
        if parameter.type is not click.STRING:
            continue
        if parameter.name == "measures":
            parameter.type = click.Choice(_measures())
        elif isinstance(parameter, click.Argument) or parameter.metavar in FILES:
            parameter.type = click.Path()
    return command


def _measures() -> list[str]:
    from sounding.measures import definitions

    return [known.name for known in definitions()]
