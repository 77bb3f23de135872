"""Values that no option or argument of any command takes."""

from __future__ import annotations

from typing import Any

import click

_EMPTY = "it is empty; is a shell variable unset?"


class Text(click.types.StringParamType):
    """A text, or the name of something to read, that is not empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text."""
        return self.fail(_EMPTY, param, ctx) if value == "" else super().convert(value, param, ctx)


class File(click.Path):
    """A file or folder whose name is not empty: an empty one would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        return self.fail(_EMPTY, param, ctx) if value == "" else super().convert(value, param, ctx)


def guarded(command: click.Command) -> click.Command:
    """Have a command and those below it refuse values that can only be mistakes."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        guarded(inner)
    for parameter in command.params:
        if parameter.type is click.STRING:
            parameter.type = Text()
        elif type(parameter.type) is click.Path:
            file = File()
            file.__dict__.update(parameter.type.__dict__)
            parameter.type = file
    return command
