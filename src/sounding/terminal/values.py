"""Values that options reject, and shell completion."""

from __future__ import annotations

import math
from typing import Any

import click

from sounding.core.limits import most

_EMPTY = "it is empty; is a shell variable unset?"


class Text(click.types.StringParamType):
    """The type of options that take a text, which must not be empty."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the text."""
        return self.fail(_EMPTY, param, ctx) if value == "" else super().convert(value, param, ctx)


class File(click.Path):
    """The type of options that take a path, which must not be empty: that would mean the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        return self.fail(_EMPTY, param, ctx) if value == "" else super().convert(value, param, ctx)


def guarded(command: click.Command) -> click.Command:
    """Make a command and its subcommands reject values that can only be mistakes."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        guarded(inner)
    for parameter in command.params:
        if parameter.type is click.STRING:
            parameter.type = Text()
        elif type(parameter.type) is click.Path:
            file = File()
            file.__dict__.update(parameter.type.__dict__)
            parameter.type = file
        elif isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType):
            _limit(parameter)
    return command


def _limit(parameter: click.Parameter) -> None:
    """Make a parameter reject numbers that are not finite or above the limit for its name."""
    callback = parameter.callback
    if getattr(callback, "limited", False):
        return
    name = max(parameter.opts, key=len).lstrip("-").replace("-", "_")

    def checked(context: click.Context, own: click.Parameter, value: Any) -> Any:
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, float) and (math.isnan(number) or number == -math.inf):
                raise click.BadParameter(f"{number} is not possible; give a finite number", context, own)
            if number is not None and number > most(name):
                raise click.BadParameter(f"{number} is too large; give at most {most(name):,}", context, own)
        return value if callback is None else callback(context, own, value)

    checked.limited = True  # type: ignore[attr-defined]
    parameter.callback = checked


FILES = ("FILE", "FILE...", "QRELS", "QRELS...", "RUN", "RUN...", "DIR")  # metavars of files


def completing(command: click.Command) -> click.Command:
    """Make a command complete files and measures in a shell."""
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
