"""A verb of the library is a package and a function of one name: `sounding.evaluate(...)`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class Verb(ModuleType):
    """A package that is called like the function it is there for."""

    _home: str

    @property
    def __wrapped__(self) -> Callable[..., Any]:  # `inspect` shows its signature
        # The function is loaded when it is first called: a command that only prints its help needs no NumPy.
        function: Callable[..., Any] = getattr(import_module(self._home), self.__name__.rpartition(".")[2])
        return function

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self.__wrapped__(*arguments, **options)


def make_verb(package: str, home: str) -> None:
    """Make a package callable: its function has the package's name and stands in the module `home`."""
    module = sys.modules[package]
    module.__class__ = Verb
    module._home = f"{package}.{home}"  # type: ignore[attr-defined]
