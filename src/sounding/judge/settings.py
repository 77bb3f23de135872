"""What a project was set up with: the scale of grades, whose grade counts, in which order people judge."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.text import plural, quote
from sounding.measures.forms import form_of
from sounding.runs.retrieved import read_retrieved
from sounding.selection.samples import parse_strata
from sounding.selection.strategies import find_strategy, make_strategy

Feed = Literal["first", "majority", "adjudicated"]
MTC = "mtc"
MOST_ASSESSORS = 20  # who judge a document
MOST_DEPTH = 100_000  # documents of a run that count
MOST_LEASE = 1440  # minutes
MOST_TITLE = 200  # characters of the project's title
CORPUS = "corpus"  # under which the first record of a project has the hash of its corpus
DEFAULT_SCALE = "0=not relevant,1=relevant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """One grade of the scale, and the key that gives it."""

    value: float
    label: str
    key: str

    @property
    def words(self) -> str:
        """The grade and what it means, such as `10 very`."""
        number = f"{self.value:g}"
        return number if self.label == number else f"{number} {self.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """In which order the documents of a topic are judged.

    `warm_up` documents come first, by their best ranks and shuffled, so that assessors get to know the topic.
    Then the policy chooses, in shuffled batches where they are larger than 1, since an order that follows
    the judgments tells where a document came from.
    """

    policy: str = MTC  # or a strategy of `sounding pool`
    parameters: dict[str, Any] = field(default_factory=dict)
    batch: int = 1
    warm_up: int = 0

    def __post_init__(self) -> None:
        if self.policy == MTC:
            known: Any = ()
        else:
            kind = find_strategy(self.policy)
            known = [name for name in kind.parameters if name != "level"]
            if "level" in self.parameters and "level" in kind.parameters:
                raise DataError("orders have no level of their own; they go by the level of the project")
        for name, value in self.parameters.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise DataError(f"parameter {name}={value} of an order; expected a finite number, or a text")
            if not known:
                raise DataError(f"the order {self.policy} has no parameters; {name!r} is given")
            if name not in known:
                raise UnknownNameError(f"parameter of the order {self.policy}:", name, known)
        if self.batch < 1 or self.warm_up < 0:
            raise DataError(
                f"batches of {self.batch} after {plural(self.warm_up, 'document')} to warm up;"
                " expected at least 1, and 0 or more"
            )

    @property
    def rule(self) -> str:
        """Policy and all its parameters as one text: orders that share it choose alike.

        However they are spelled: by an alias, without parameters that are the default, 1 for 1.0.
        """
        kind = None if self.policy == MTC else find_strategy(self.policy)
        values = {} if kind is None else {**kind.parameters, **self.parameters}
        read = {name: _read_parameter(name, value) for name, value in values.items()}
        return json.dumps([self.policy if kind is None else kind.name, read], sort_keys=True)

    @property
    def named(self) -> Order:
        """The same order under the strategy's own name, as it is put on record."""
        return self if self.policy == MTC else replace(self, policy=find_strategy(self.policy).name)

    def is_same(self, other: Order) -> bool:
        """Whether an order brings the same documents in the same batches, however it is spelled."""
        return (self.rule, self.batch, self.warm_up) == (other.rule, other.batch, other.warm_up)

    @property
    def is_sample(self) -> bool:
        """Whether a random part of the pool is judged, with known chances."""
        return self.policy != MTC and find_strategy(self.policy).sampled

    def check(self) -> None:
        """Refuse parameters that the strategy would refuse: once they are in the log, it is too late."""
        if not self.parameters:
            return
        one_document = read_retrieved({"run": {"topic": {"doc": 1.0}}}, depth=1)
        try:
            make_strategy(self.policy, one_document, **self.parameters)
        except (TypeError, ValueError, AttributeError):
            given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
            raise DataError(
                f"the order {self.policy} cannot have {given}; expected values as in the page strategies"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a project was set up with; a change is an event of the log."""

    title: str = "Relevance judgments"
    scale: tuple[Grade, ...]
    level: float = 1  # the lowest relevant grade
    overlap: int = 1  # assessors who judge a document
    feed: Feed = "first"  # which of several grades counts
    seed: int = 0
    depth: int = 100  # documents of a run that count
    order: Order = field(default_factory=Order)
    lease_seconds: float = 600
    measure: str = "AP"  # whose order of the runs is to become certain
    prior: str = "runs"

    def __post_init__(self) -> None:
        if self.feed not in get_args(Feed):
            raise UnknownNameError("policy for several grades", self.feed, get_args(Feed))
        if self.level not in [grade.value for grade in self.scale]:
            raise DataError(
                f"level {self.level:g} is no grade of the scale; expected one of {self._grades()}"
            )
        if self.overlap < 1 or not 1 <= self.depth <= MOST_DEPTH or self.lease_seconds <= 0:
            raise DataError(
                f"overlap {self.overlap}, depth {self.depth} and leases of {self.lease_seconds:g} seconds:"
                f" expected at least 1 each, and a depth of at most {MOST_DEPTH:,}"
            )
        if self.level == min(grade.value for grade in self.scale):
            raise DataError(
                f"level {self.level:g} is the lowest grade, so that every document would be relevant;"
                " expected a higher one"
            )
        form_of(self.graded_measure, self.depth, 1)  # refuses what cannot be made certain
        if self.overlap > MOST_ASSESSORS:
            raise DataError(f"overlap {self.overlap}; expected 1 to {MOST_ASSESSORS} assessors a document")
        if not 0 < self.lease_seconds <= 60 * MOST_LEASE:  # which refuses NaN as well
            raise DataError(
                f"a lease of {self.lease_seconds / 60:g} minutes;"
                f" expected more than 0 and at most {MOST_LEASE:,}"
            )
        if not self.title.strip() or len(self.title.splitlines()) > 1 or len(self.title) > MOST_TITLE:
            raise DataError(
                f"title {quote(self.title)}; expected one line of at most {MOST_TITLE} characters, not blank"
            )

    @property
    def graded_measure(self) -> str:
        """The measure with the project's level, unless it says one itself."""
        if self.level == 1 or "rel=" in self.measure:
            return self.measure
        name, cut, k = self.measure.partition("@")
        inner = name[:-1] + "," if name.endswith(")") else name + "("
        return f"{inner}rel={self.level:g}){cut}{k}"

    def check_grade(self, grade: float | None) -> None:
        """Refuse a grade that the scale does not have; None: the document cannot be judged."""
        if grade is not None and grade not in [one.value for one in self.scale]:
            raise DataError(f"grade {grade:g} is not on the scale; expected one of {self._grades()}")

    def record(self) -> dict[str, Any]:
        """Plain data from which `settings_of` makes the same settings."""
        return asdict(self)

    def _grades(self) -> str:
        return ", ".join(f"{one.value:g}" for one in self.scale)


def settings_of(record: dict[str, Any]) -> Settings:
    """The settings that gave this record, which may tell of the corpus as well."""
    scale = tuple(Grade(**grade) for grade in record["scale"])
    own = {name: value for name, value in record.items() if name != CORPUS}
    return Settings(**{**own, "scale": scale, "order": Order(**record["order"])})


def _read_parameter(name: str, value: Any) -> Any:
    """What a strategy makes of a parameter; as it is given where it can make nothing of it."""
    if isinstance(value, int):
        return float(value)
    if name == "strata" and isinstance(value, str):
        try:
            return parse_strata(value)
        except DataError:
            return value  # `check` refuses it
    return value


def parse_parameters(given: Iterable[str]) -> dict[str, Any]:
    """Parameters of an order, each `name=value`, numbers as numbers."""
    found: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign:
            raise DataError(f"parameter {text!r}; expected name=value")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = value
    return found


def parse_scale(text: str) -> tuple[Grade, ...]:
    """The grades of a scale such as `0=not relevant,1=relevant`; a grade's key is its digit.

    Grades that are no digits get the free digit that comes next after the key of the grade below.
    """
    labels: dict[float, str] = {}
    for part in text.split(","):
        value, _, label = part.partition("=")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0) or number in labels:
            raise DataError(
                f"scale {text!r}: {part.strip()!r} is no grade of its own; expected different numbers"
                f" from 0, such as {DEFAULT_SCALE!r}"
            )
        labels[number] = label.strip() or f"{number:g}"
    if not 2 <= len(labels) <= 10:
        raise DataError(f"scale {text!r} has {plural(len(labels), 'grade')}; expected 2 to 10")
    keys = _keys(sorted(labels))
    return tuple(Grade(value=value, label=labels[value], key=key) for value, key in keys.items())


def _keys(values: list[float]) -> dict[float, str]:
    free = [digit for digit in "0123456789" if float(digit) not in values]
    keys: dict[float, str] = {}
    before = ""
    for value in values:
        if value in range(10):
            before = f"{value:g}"
        else:
            before = next((digit for digit in free if digit > before), free[0])
            free.remove(before)
        keys[value] = before
    return keys
