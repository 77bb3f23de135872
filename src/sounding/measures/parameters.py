"""Which values a parameter may have: the kernel's annotation says the kind, a small table the range."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from sounding.errors import DataError
from sounding.limits import MOST

LARGEST = 2**53  # beyond this not every whole number is a float

# Parameters of one name mean one thing in every measure, so their range is said once. Upper ends are far
# beyond what is ever used: they keep weights of k ranks in memory and powers of 2 finite.
_RANGES: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "k": (lambda value: 1 <= value <= MOST["k"], f"from 1 to {MOST['k']:,}"),
    "rel": (lambda value: value >= 0, "from 0"),
    "p": (lambda value: 0 <= value < 1, "from 0 to below 1"),
    "recall": (lambda value: 0 <= value <= 1, "from 0 to 1"),
    "x": (lambda value: value > 0, "above 0"),
    "beta": (lambda value: value >= 0, "from 0"),
    "T": (lambda value: 0.001 <= value <= 1_000_000, "from 0.001 to 1,000,000"),
    "min_rel": (lambda value: 0 <= value < 1000, "from 0 to below 1000"),
    "max_rel": (lambda value: 0 < value <= 1000, "above 0, up to 1000"),
    "collection": (lambda value: value >= 1, "from 1"),
}
_PLAIN_TEXT = r"[A-Za-z0-9_.,+-]+"


class _RefusedError(Exception):
    """A value that does not fit; the text says what would."""


def checked(measure: str, parameter: str, value: Any, hint: Any) -> Any:
    """The value as a plain Python one, where it fits the annotation and the range; otherwise an error."""
    try:
        fitted = _fitted(parameter, value, hint)
    except _RefusedError as wanted:
        raise DataError(f"{measure}: {parameter} is {wanted}, not {value!r}") from None
    if isinstance(fitted, dict) and measure != "RBP":  # RBP divides by the largest gain that is named
        # A pair that leaves a grade as it is says nothing.
        return {grade: gain for grade, gain in fitted.items() if grade != gain}
    return fitted


def _fitted(parameter: str, value: Any, hint: Any) -> Any:
    """The value as `hint` wants it; raises _RefusedError with a description of what is wanted."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return _any_of(parameter, value, get_args(hint))
    if origin is Literal:
        if not isinstance(value, str | None) or value not in get_args(hint):
            raise _RefusedError(" or ".join(map(repr, get_args(hint))))
        return value
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _table(value)
    if hint is NoneType:
        if value is not None:
            raise _RefusedError("None")
        return None
    if hint is bool:
        if not isinstance(value, bool):
            raise _RefusedError("True or False")
        return value
    if hint is str:
        return _recall_points(value) if parameter == "points" else _text(value)
    if hint in (int, float):
        return _number(parameter, value, whole=hint is int)
    raise TypeError(f"no values are known for a parameter of type {hint!r}")


def _any_of(parameter: str, value: Any, hints: tuple[Any, ...]) -> Any:
    wanted = []
    for hint in hints:
        try:
            return _fitted(parameter, value, hint)
        except _RefusedError as refused:
            wanted.append(str(refused))
    raise _RefusedError(" or ".join(text for text in wanted if text != "None"))


def _number(parameter: str, value: Any, *, whole: bool) -> float:
    inside, words = _RANGES.get(parameter, (math.isfinite, ""))
    wanted = f"a {'whole ' if whole else ''}number {words}".rstrip()
    if isinstance(value, bool) or not isinstance(value, int | float | Real):
        raise _RefusedError(wanted)
    number = int(value) if isinstance(value, int | Integral) else float(value)
    if abs(number) > LARGEST:
        within = parameter not in _RANGES or inside(number)  # a range with an upper end has said enough
        raise _RefusedError(f"{wanted}, and no larger than 2**53" if within else wanted)
    if not math.isfinite(number) or not inside(number) or (whole and number != int(number)):
        raise _RefusedError(wanted)
    return int(number) if whole else number


def _table(value: Any) -> dict[float, float]:
    """Grades and their gains."""
    wanted = "a table of grades and gains, such as {1:0,2:1}"
    if not isinstance(value, Mapping):
        raise _RefusedError(wanted)
    try:
        return {_number("", key, whole=False): _number("", item, whole=False) for key, item in value.items()}
    except _RefusedError:
        raise _RefusedError(wanted) from None


def _text(value: Any) -> str:
    """Text that prints between quotes as it is; the kernel knows which texts mean something."""
    if not isinstance(value, str) or not re.fullmatch(_PLAIN_TEXT, value):
        raise _RefusedError("a text of letters, digits and . , + - in quotes")
    return value


def _recall_points(value: Any) -> str:
    """Text that lists levels of recall; kept as written, since trec_eval prints it so."""
    wanted = "a text that lists levels of recall, such as '0.25,0.5,0.75'"
    if not isinstance(value, str) or not re.fullmatch(_PLAIN_TEXT, value):
        raise _RefusedError(wanted)
    try:
        inside = all(0 <= float(point) <= 1 for point in value.split(","))
    except ValueError:
        inside = False
    if not inside:
        raise _RefusedError(wanted)
    return value
