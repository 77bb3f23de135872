"""Define what a measure is: a documented function from a ranking to one value per topic."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.limits import MOST
from sounding.core.text import quote
from sounding.runs.ranking import Ranking, Values

Kernel = Callable[..., Values]
Basis = Literal["recall", "utility", "count"]
Aggregate = Literal["mean", "sum", "geometric", "text"]
Shown = Literal["both", "summary", "topics"]

# Every measure has these parameters: they change the ranking before the kernel sees it.
SHARED: Mapping[str, Any] = {"judged_only": False, "assessed": False}
# What Baillie, Azzopardi & Ruthven call these measures where every judged document counts as relevant.
TWINS: Mapping[str, str] = {"P": "A_p", "R": "A_r", "AP": "AA"}


class Definition(NamedTuple):
    """A registered measure with its claims, which tests check over the whole registry."""

    name: str
    kernel: Kernel
    basis: Basis  # recall: needs all relevant documents; utility: the ranking is enough
    monotone: bool  # a better grade for a retrieved document never lowers the value
    monotone_in_k: bool  # a deeper cut-off never lowers the value
    # A document judged not relevant counts differently from an unjudged one. Not needed for `Judged` and
    # other measures of how much was judged.
    counts_nonrelevant: bool
    additive: bool  # a sum of one term per document, divided by something independent of the ranking
    bounds: tuple[float, float]  # the value always lies within
    aggregate: Aggregate  # text: the kernel returns one string per topic
    shown: Shown  # where trec_eval prints it: for every topic, in the summary, or both
    at: str  # the parameter that `@` sets
    handles_ties: bool  # the kernel itself averages over the orders of tied documents
    handles_cuts: bool  # the kernel also takes a column of cut-offs and returns a row of values for each

    @property
    def summary(self) -> str:
        """The first line of the kernel's docstring."""
        return inspect.cleandoc(self.kernel.__doc__ or "").partition("\n")[0]

    @property
    def details(self) -> str:
        """The rest of the docstring: formula, citation, edge cases."""
        return inspect.cleandoc(self.kernel.__doc__ or "").partition("\n")[2].strip()

    @property
    def family(self) -> str:
        """The module that defines it."""
        return self.kernel.__module__.rpartition(".")[2]

    @property
    def by_intent(self) -> bool:
        """Return whether the measure reads more of the judgments than one grade of each document."""
        return self.family in ("intents", "preferences")

    @property
    def pairwise(self) -> bool:
        """Return whether the measure compares two runs, so that one run has no value of its own."""
        return self.family == "paired"

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the measure, by name."""
        return _parameters(self.kernel)

    def takes(self, parameter: str) -> bool:
        """Return whether the measure has this parameter."""
        return parameter in self.parameters or parameter in SHARED


@cache
def _parameters(kernel: Kernel) -> Mapping[str, inspect.Parameter]:
    """Return the keyword-only parameters; computed on first use, because that takes time."""
    found = inspect.signature(kernel, eval_str=True).parameters
    return {name: one for name, one in found.items() if one.kind is one.KEYWORD_ONLY}


_DEFINITIONS: dict[str, Definition] = {}
_EXPECTED: dict[str, Kernel] = {}


def measure(
    name: str,
    *,
    basis: Basis,
    monotone: bool,
    additive: bool = False,
    counts_nonrelevant: bool = False,
    monotone_in_k: bool = False,
    bounds: tuple[float, float] = (0.0, 1.0),
    aggregate: Aggregate = "mean",
    shown: Shown = "both",
    at: str = "k",
    handles_ties: bool = False,
    handles_cuts: bool = False,
) -> Callable[[Kernel], Kernel]:
    """Register a kernel under the name that users type."""

    def register(kernel: Kernel) -> Kernel:
        if name in _DEFINITIONS:
            raise ValueError(f"two measures are called {name!r}")
        _DEFINITIONS[name] = Definition(
            name=name, kernel=kernel, basis=basis,
            monotone=monotone, monotone_in_k=monotone_in_k, additive=additive,
            counts_nonrelevant=counts_nonrelevant,
            bounds=bounds, aggregate=aggregate, shown=shown, at=at,
            handles_ties=handles_ties, handles_cuts=handles_cuts,
        )  # fmt: skip
        return kernel

    return register


def expectation(name: str) -> Callable[[Kernel], Kernel]:
    """Register the mean of a measure over all orders of tied documents, if its kernel does not compute it.

    It receives every parameter of the kernel, which alone defines the defaults.
    """

    def register(kernel: Kernel) -> Kernel:
        _EXPECTED[name] = kernel
        return kernel

    return register


def has_expectation(name: str) -> bool:
    """Return whether ties can be averaged for this measure."""
    return name in _EXPECTED or _DEFINITIONS[name].handles_ties


def definition(name: str) -> Definition:
    """Return the definition of a measure."""
    if name not in _DEFINITIONS:
        raise UnknownNameError("measure", name, _DEFINITIONS)
    return _DEFINITIONS[name]


def definitions() -> Iterator[Definition]:
    """Return all definitions, in the order of registration."""
    return iter(_DEFINITIONS.values())


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its parameters, which can be compared, hashed, printed and called.

    Parameters that equal their default are omitted, so two ways to write a measure are equal.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def of(name: str, **parameters: Any) -> Measure:
        """Build a measure; unknown names, parameters and invalid values are refused with a suggestion."""
        known = definition(name)
        for parameter in parameters:
            if not known.takes(parameter):
                raise UnknownNameError(f"parameter of {name}:", parameter, [*known.parameters, *SHARED])
        defaults = {
            key: None if p.default is p.empty else p.default for key, p in known.parameters.items()
        } | dict(SHARED)
        chosen: list[tuple[str, Any]] = []
        for key, default in defaults.items():
            value = parameters.get(key, default)
            needed = key in known.parameters and known.parameters[key].default is inspect.Parameter.empty
            if needed and value is None:
                raise DataError(f"{name} needs {_spelling(known, key)}")
            if key in parameters:
                value = check_value(
                    name, key, value, bool if key in SHARED else known.parameters[key].annotation
                )
            if needed or not _same(value, default):
                chosen.append((key, _freeze(value)))
        return Measure(name, tuple(chosen))

    def replace(self, **changes: Any) -> Measure:
        """Return the same measure with other values of some parameters."""
        return Measure.of(self.name, **{key: _thaw(value) for key, value in self.parameters} | changes)

    @property
    def definition(self) -> Definition:
        """The registered definition of this measure."""
        return definition(self.name)

    @property
    def k(self) -> int | None:
        """The cut-off, or None."""
        value = self.get("k")
        return None if value is None else int(value)

    @property
    def additive(self) -> bool:
        """Return whether a measure is a sum over documents of terms that no other judgment changes.

        The definition claims this, but it fails if gains are relative to a topic's own best grade.
        """
        return self.definition.additive and self.get("scale") != "topic"

    def get(self, parameter: str) -> Any:
        """Return the value of a parameter, or its default; None if there is no such parameter."""
        for key, value in self.parameters:
            if key == parameter:
                return value
        known = self.definition.parameters.get(parameter)
        if known is None:
            return SHARED.get(parameter)
        return None if known.default is known.empty else known.default

    @property
    def full_grade(self) -> float:
        """The grade at which a document is fully relevant: 1 unless the parameters require more.

        That is `rel` or `max_rel`, or the next whole grade above `min_rel`, if these are higher; and among
        the named `gains` from there on, the grade of the largest. If none gains anything, it is the next
        whole grade.
        """
        named = (self.get("rel"), self.get("max_rel"), math.floor(self.get("min_rel") or 0) + 1)
        least = max(1.0, *(float(grade) for grade in named if grade is not None))
        gains = {float(grade): float(gain) for grade, gain in self.get("gains") or () if grade >= least}
        worth = {least: least} | gains
        best = max(sorted(worth), key=lambda grade: worth[grade])
        return best if worth[best] > 0 else math.floor(max(worth)) + 1.0

    def seen(self, ranking: Ranking) -> Ranking:
        """Return the ranking that the kernel sees: fully relevant (`assessed`) and condensed, if so set."""
        if not self.parameters:
            return ranking
        if self.get("assessed"):
            ranking = ranking.assessed(self.full_grade)
        return ranking.condensed() if self.get("judged_only") else ranking

    @property
    def arguments(self) -> dict[str, Any]:
        """Return every parameter of the kernel with its value, given or default."""
        return dict(_arguments(self))

    def __call__(self, ranking: Ranking) -> Values:
        """Compute one value for each topic of the ranking's judgments."""
        if self.definition.pairwise:
            raise DataError(
                f"{self} compares two runs, and has no value for one alone; `evaluate` and `compare` take it"
            )
        ranking = self.seen(ranking)
        known, expected = self.definition, _EXPECTED.get(self.name)
        # Counts of documents do not depend on their order.
        if ranking.ties is None or known.handles_ties or (expected is None and known.basis == "count"):
            return known.kernel(ranking, **self.arguments)
        if expected is None:
            raise DataError(
                f"{self}: the average over tied documents is not available for this measure;"
                " use ties trec, score-file, file or rank"
            )
        return expected(ranking, **self.arguments)

    def __str__(self) -> str:
        name, own = self.name, dict(self.parameters)
        if name in TWINS and own.pop("assessed", False):
            name = TWINS[name]
        at = own.pop(self.definition.at, None)
        inside = ",".join(f"{key}={_literal(value)}" for key, value in own.items())
        text = f"{name}({inside})" if inside else name
        return text if at is None else f"{text}@{_literal(at)}"


@cache
def _arguments(measure: Measure) -> Mapping[str, Any]:
    """Return the arguments of a measure; cached, because they are needed thousands of times."""
    return {name: _thaw(measure.get(name)) for name in measure.definition.parameters}


def grades_suffice(measure: Measure) -> bool:
    """Return whether a run and one grade of each document determine the value, so that both can be drawn."""
    return not (measure.definition.by_intent or measure.definition.pairwise)


def needs_intents(measures: Iterable[Measure]) -> bool:
    """Return whether some measure reads the intents for which documents were judged."""
    return any(measure.definition.by_intent for measure in measures)


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, bool) or isinstance(default, bool):
        return value is default
    return bool(value == default)


def _freeze(value: Any) -> Any:
    """Return a hashable form: dicts become sorted tuples of pairs, whole floats become ints."""
    if isinstance(value, Mapping):
        return tuple(sorted((_freeze(key), _freeze(item)) for key, item in value.items()))
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _thaw(value: Any) -> Any:
    return dict(value) if isinstance(value, tuple) else value


def _literal(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{_literal(key)}:{_literal(item)}" for key, item in value) + "}"
    return f"'{value}'" if isinstance(value, str) else str(value)


def _spelling(known: Definition, parameter: str) -> str:
    if parameter == known.at:
        return f"a value after @, as in {known.name}@{10 if parameter == 'k' else 0.5}"
    return f"{parameter}=, as in {known.name}({parameter}=...)"


LARGEST = 2**53  # from here on, not every whole number is a float

# A parameter name means the same in every measure, so its range is defined once. Upper limits are far beyond
# practical use: they keep weights of k ranks in memory and powers of 2 finite.
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
    """A value is invalid; the text describes valid ones."""


def check_value(measure: str, parameter: str, value: Any, hint: Any) -> Any:
    """Return the value as a plain Python one if it fits annotation and range; otherwise raise an error."""
    try:
        fitted = _convert(parameter, value, hint)
    except _RefusedError as wanted:
        seen = quote(value) if isinstance(value, str) else repr(value)
        raise DataError(f"{measure}: {parameter} is {wanted}, not {seen}") from None
    if isinstance(fitted, dict) and measure != "RBP":  # RBP divides by the largest named gain
        # A pair that maps a grade to itself has no effect.
        return {grade: gain for grade, gain in fitted.items() if grade != gain}
    return fitted


def _convert(parameter: str, value: Any, hint: Any) -> Any:
    """Convert the value to the type `hint`; raise _RefusedError with a description of valid values."""
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
            return _convert(parameter, value, hint)
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
        within = parameter not in _RANGES or inside(number)  # the message about the range already covers it
        raise _RefusedError(f"{wanted}, and no larger than 2**53" if within else wanted)
    if not math.isfinite(number) or not inside(number) or (whole and number != int(number)):
        raise _RefusedError(wanted)
    return int(number) if whole else number


def _table(value: Any) -> dict[float, float]:
    """Convert a table of grades and gains."""
    wanted = "a table of grades and gains, such as {1:0,2:1}"
    if not isinstance(value, Mapping):
        raise _RefusedError(wanted)
    try:
        return {_number("", key, whole=False): _number("", item, whole=False) for key, item in value.items()}
    except _RefusedError:
        raise _RefusedError(wanted) from None


def _text(value: Any) -> str:
    """Check a text that prints unchanged between quotes; the kernel knows which texts are valid."""
    if not isinstance(value, str) or not re.fullmatch(_PLAIN_TEXT, value):
        raise _RefusedError("a text of letters, digits and . , + - in quotes")
    return value


def _recall_points(value: Any) -> str:
    """Check a text that lists levels of recall; kept as written, because trec_eval prints it so."""
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
