"""The exceptions of sounding. Each message names the place, what is wrong there, and what to write instead.

SoundingError
├── FormatError        a file cannot be read in its format (file and line)
├── DataError          the inputs can be read but do not fit together
│   └── ChoiceError    an option or argument has a value that it cannot have
├── UnknownNameError   a measure, policy or format does not exist (with similar names)
└── MissingPartError   an optional package is needed but not installed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST_NAMES = 80  # a message lists at most this many names
LONGEST_NAME = 60  # a message repeats at most this many characters of a mistyped name


class SoundingError(Exception):
    """An error that the user can fix; shown as one line, never as a traceback."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes, but pickle would call __init__ with the message alone.
        return _restore, (type(self), str(self), dict(self.__dict__))


def _restore(kind: type[SoundingError], message: str, details: dict[str, Any]) -> SoundingError:
    error = kind.__new__(kind, message)
    error.__dict__.update(details)
    return error


class FormatError(SoundingError):
    """A problem at one place in a file; `more` counts the other problems in it."""

    def __init__(self, source: str, line: int | None, problem: str, more: int = 0) -> None:
        self.source = source
        self.line = line
        self.problem = problem
        self.more = more
        place = source if line is None else f"{source}:{line}"
        rest = f" (and {more:,} more problem{'s' if more > 1 else ''})" if more else ""
        super().__init__(f"{place}: {problem}{rest}")


class DataError(SoundingError):
    """Inputs that cannot be used together."""


class ChoiceError(DataError):
    """A value that an option or an argument cannot have, whatever the files hold."""


def expect(value: object, kinds: type | tuple[type, ...], name: str, expected: str) -> None:
    """Raise a one-line error if an argument has the wrong type."""
    if not isinstance(value, kinds):
        raise DataError(f"{name}: an object of type {type(value).__name__}; expected {expected}")


class UnknownNameError(SoundingError):
    """An unknown name, reported with the known names most similar to it."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, meant: str | None = None) -> None:
        """Build the message; `meant` is the right name when it is certain, even if it looks different."""
        import difflib

        name = str(name)  # a program may pass any object
        names = sorted(set(known))
        folded = {other.lower(): other for other in names}
        near = difflib.get_close_matches(name.lower(), list(folded), n=3, cutoff=0.6)
        self.kind = kind
        self.name = name
        self.suggestions = (meant,) if meant is not None else tuple(folded[other] for other in near)
        hint = " or ".join(self.suggestions)
        seen = name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."
        more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
        text = f"did you mean {hint}?" if hint else f"known: {', '.join(names[:MOST_NAMES])}{more}"
        super().__init__(f"unknown {kind} {seen!r}; {text}")


class MissingPartError(SoundingError):
    """An optional package is missing; the message says what needs it and how to install it."""

    def __init__(self, package: str, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}; install it with: pip install 'sounding[{extra}]'"
        )
