"""Make a package callable under its own name: `sounding.evaluate(...)`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class Verb(ModuleType):
    """A package that calls its main function when it is called."""

    _home: str

    @property
    def __wrapped__(self) -> Callable[..., Any]:  # lets `inspect` show the signature
        # Import the function on the first call: a command that only prints its help needs no NumPy.
        function: Callable[..., Any] = getattr(import_module(self._home), self.__name__.rpartition(".")[2])
        return function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the package's function."""
        return self.__wrapped__(*arguments, **options)


def make_verb(package: str, home: str) -> None:
    """Make a package callable; its function has the package's name and is defined in the module `home`."""
    module = sys.modules[package]
    module.__class__ = Verb
    module._home = f"{package}.{home}"  # type: ignore[attr-defined]
