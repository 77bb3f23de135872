"""The one error tree, and how a message reads: place, what was seen, what would be right.

SoundingError
├── FormatError        a file cannot be read as what it is said to be (file and line)
├── DataError          inputs are readable and do not fit together
├── UnknownNameError   a measure, policy or format that does not exist (with near names)
└── MissingPartError   an optional package is needed and not installed
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST_NAMES = 80  # names that a message lists
LONGEST_NAME = 60  # characters of a mistyped name that a message repeats


class SoundingError(Exception):
    """Whatever a user can put right; shown as one line, never as a traceback."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors travel between processes, and pickle would call __init__ with the message alone.
        return _restored, (type(self), str(self), dict(self.__dict__))


def _restored(kind: type[SoundingError], message: str, details: dict[str, Any]) -> SoundingError:
    error = kind.__new__(kind, message)
    error.__dict__.update(details)
    return error


class FormatError(SoundingError):
    """A problem at a place of a file; `more` counts the further problems that were found."""

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


def expect(value: object, kinds: type | tuple[type, ...], name: str, expected: str) -> None:
    """Raise an error in one line where an argument is no such thing."""
    if not isinstance(value, kinds):
        raise DataError(f"{name}: an object of type {type(value).__name__}; expected {expected}")


class UnknownNameError(SoundingError):
    """A name nobody knows, with the nearest that somebody does."""

    def __init__(self, kind: str, name: str, known: Iterable[str], *, meant: str | None = None) -> None:
        """`meant`: the name that is surely meant, however little the two look alike."""
        import difflib

        name = str(name)  # whatever a program passed
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
    """An optional package is needed; says what for and how to get it."""

    def __init__(self, package: str, purpose: str, extra: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}; install it with: pip install 'sounding[{extra}]'"
        )
