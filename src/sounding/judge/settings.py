"""The settings of a project: scale of grades, the grade that counts, order of judging, and more."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.text import plural, quote
from sounding.judge.language import BROWSER, LANGUAGES, marked
from sounding.measures.forms import form_of
from sounding.relevance.priors import DEFAULT
from sounding.runs.retrieved import read_retrieved
from sounding.selection.mtc.session import METHODS, Session, SessionParameters
from sounding.selection.samples import parse_strata
from sounding.selection.strategies import find_strategy, make_strategy

Feed = Literal["first", "majority", "adjudicated"]
Judged = Literal["grades", "preferences", "subtopics"]
MTC = "mtc"
MERGE_SORT = "merge-sort"  # the order of pairs, see `sounding.judge.merge_sort`
MTC_PARAMETERS = ("method", "prior", "selection", "pair", "baseline", "top")  # of the order mtc
ANY_NUMBER = 2**31  # of assessors
MOST_ASSESSORS = 20  # per document
MOST_DEPTH = 100_000  # documents per run and topic
MOST_LEASE = 1440  # minutes
MOST_TITLE = 200  # characters of the project's title
CORPUS = "corpus"  # key of the corpus hash in the first record of a project
DEFAULT_SCALE = "0=not relevant,1=relevant"
PREFERENCES = (marked("both bad"), marked("A is better"), marked("B is better"), marked("equally good"))
PREFERENCE_SCALE = ",".join(f"{grade}={label}" for grade, label in enumerate(PREFERENCES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """One grade of the scale, and the key to press for it."""

    value: float
    label: str
    key: str

    @property
    def words(self) -> str:
        """Return the grade with its label, such as `10 very`."""
        number = f"{self.value:g}"
        return number if self.label == number else f"{number} {self.label}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order in which the documents of a topic are judged.

    `warm_up` documents come first: the top-ranked ones, shuffled, so that assessors get to know the topic.
    Then the policy chooses. Batches larger than 1 are shuffled, because an adaptive order would tell
    assessors something about a document.
    """

    policy: str = MTC  # or a strategy of `sounding pool`
    parameters: dict[str, Any] = field(default_factory=dict)
    batch: int = 1
    warm_up: int = 0

    def __post_init__(self) -> None:
        if self.policy in (MTC, MERGE_SORT):
            known: Any = MTC_PARAMETERS if self.policy == MTC else ()
        else:
            kind = find_strategy(self.policy)
            known = [name for name in kind.parameters if name != "level"]
            if "level" in self.parameters and "level" in kind.parameters:
                raise DataError("an order cannot have a level; it uses the project's (settings --level)")
        for name, value in self.parameters.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise DataError(f"parameter {name}={value} of an order: expected a finite number or a text")
            if not known:
                raise DataError(f"the order {self.policy} takes no parameters; leave out {name!r}")
            if name not in known:
                raise UnknownNameError(f"parameter of the order {self.policy}:", name, known)
        if self.batch < 1 or self.warm_up < 0:
            raise DataError(
                f"batch size {self.batch} and warm-up {self.warm_up}: expected a batch size of at least 1 and"
                " a warm-up of at least 0"
            )

    @property
    def rule(self) -> str:
        """Return the policy and its parameters as a canonical text; equal texts mean equal choices.

        Aliases, default parameters and spellings such as 1 and 1.0 do not matter.
        """
        kind = None if self.policy in (MTC, MERGE_SORT) else find_strategy(self.policy)
        values = self.parameters if kind is None else {**kind.parameters, **self.parameters}
        read = {name: _read_parameter(name, value) for name, value in values.items()}
        return json.dumps([self.policy if kind is None else kind.name, read], sort_keys=True)

    @property
    def named(self) -> Order:
        """Return the same order under the strategy's own name, as the log records it."""
        if self.policy in (MTC, MERGE_SORT):
            return self
        return replace(self, policy=find_strategy(self.policy).name)

    def is_same(self, other: Order) -> bool:
        """Return whether two orders select the same documents in the same batches."""
        return (self.rule, self.batch, self.warm_up) == (other.rule, other.batch, other.warm_up)

    def session_parameters(self) -> dict[str, Any]:
        """Return the parameters of `mtc` as a session takes them: `pair` names two runs."""
        given = dict(self.parameters)
        method = given.pop("method", None)
        if method is not None and method not in METHODS:
            raise UnknownNameError("method", str(method), METHODS)
        preset = METHODS.get(str(method), {}) if method is not None else {}
        if both := sorted(set(preset) & set(given)):
            raise DataError(f"method={method} sets {both[0]}={preset[both[0]]}; leave one out")
        given = {name: preset[name] for name in ("prior", "selection") if name in preset} | given
        if "prior" in given:
            given["prior"] = str(given["prior"])
        if "pair" in given:
            names = tuple(name.strip() for name in str(given["pair"]).split(","))
            if len(names) != 2 or names[0] == names[1]:
                raise DataError(f"pair={given['pair']}: expected two different runs, such as pair=bm25,dense")
            given["pair"] = names
        if "top" in given:
            if given["top"] != int(given["top"]):
                raise DataError(f"top={given['top']}: expected a whole number from 2")
            given["top"] = int(given["top"])
        return given

    @property
    def is_sample(self) -> bool:
        """Return whether the order is a random sample of the pool with known probabilities."""
        return self.policy not in (MTC, MERGE_SORT) and find_strategy(self.policy).sampled

    def check(self) -> None:
        """Refuse parameters that the strategy would refuse, before they are in the log."""
        if not self.parameters:
            return
        one_document = read_retrieved({"run": {"topic": {"doc": 1.0}}}, depth=1)
        if self.policy == MTC:
            own = self.session_parameters()
            SessionParameters(**own)
            Session(one_document, depth=1, prior=own.get("prior", DEFAULT))
            return
        try:
            make_strategy(self.policy, one_document, **self.parameters)
        except (TypeError, ValueError, AttributeError):
            given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
            raise DataError(
                f"the order {self.policy} does not accept {given}; docs/strategies.md lists valid values"
            ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a project; the log records every change."""

    title: str = "Relevance judgments"
    kind: Judged = "grades"
    scale: tuple[Grade, ...]
    level: float = 1  # the lowest relevant grade
    overlap: int = 1  # assessors per document
    feed: Feed = "first"  # which grade counts if assessors differ
    seed: int = 0
    depth: int = 100  # documents per run and topic
    order: Order = field(default_factory=Order)
    lease_seconds: float = 600
    measure: str = "AP"  # used to rank the runs
    prior: str = "runs"
    language: str = BROWSER  # of the pages, unless a person chooses another

    def __post_init__(self) -> None:
        if self.feed not in get_args(Feed):
            raise UnknownNameError("feed", self.feed, get_args(Feed))
        if self.kind not in get_args(Judged):
            raise UnknownNameError("kind of judgments", self.kind, get_args(Judged))
        if self.of_pairs and self.scale != parse_scale(PREFERENCE_SCALE):
            raise DataError(f"preferences have a scale of their own: {PREFERENCE_SCALE}")
        self.check_order(self.order)
        if self.language != BROWSER and self.language not in LANGUAGES:
            raise UnknownNameError("language", self.language, [BROWSER, *LANGUAGES])
        if self.level not in [grade.value for grade in self.scale]:
            raise DataError(f"level {self.level:g} is not on the scale; expected one of {self._grades()}")
        if self.overlap < 1 or not 1 <= self.depth <= MOST_DEPTH or self.lease_seconds <= 0:
            raise DataError(
                f"overlap {self.overlap}, depth {self.depth} and lease of {self.lease_seconds:g} seconds:"
                f" expected an overlap of at least 1, a depth of 1 to {MOST_DEPTH:,} and a lease above 0"
            )
        if self.level == min(grade.value for grade in self.scale):
            raise DataError(
                f"level {self.level:g} is the lowest grade, so every document would be relevant; choose a"
                " higher one"
            )
        form_of(self.graded_measure, self.depth, 1)  # refuses measures without an expected value
        if self.overlap > MOST_ASSESSORS:
            raise DataError(f"overlap {self.overlap}: expected 1 to {MOST_ASSESSORS} assessors per document")
        if not 0 < self.lease_seconds <= 60 * MOST_LEASE:  # also refuses NaN
            raise DataError(
                f"lease of {self.lease_seconds / 60:g} minutes:"
                f" expected more than 0 and at most {MOST_LEASE:,}"
            )
        if not self.title.strip() or len(self.title.splitlines()) > 1 or len(self.title) > MOST_TITLE:
            raise DataError(f"title {quote(self.title)}: expected one line of 1 to {MOST_TITLE} characters")

    @property
    def graded_measure(self) -> str:
        """Return the measure with the project's level, unless it has its own."""
        if self.level == 1 or "rel=" in self.measure:
            return self.measure
        name, cut, k = self.measure.partition("@")
        inner = name[:-1] + "," if name.endswith(")") else name + "("
        return f"{inner}rel={self.level:g}){cut}{k}"

    @property
    def of_pairs(self) -> bool:
        """Return whether pairs of documents are judged."""
        return self.kind == "preferences"

    @property
    def by_subtopic(self) -> bool:
        """Return whether documents are judged for each subtopic of their topic."""
        return self.kind == "subtopics"

    @property
    def sharing(self) -> int:
        """Return how many assessors may have the same document or pair; everybody sorts all pairs."""
        return ANY_NUMBER if self.of_pairs else self.overlap

    def check_order(self, order: Order) -> None:
        """Refuse an order of documents for pairs, and the order of pairs for documents."""
        if (order.policy == MERGE_SORT) != self.of_pairs:
            raise DataError(
                f"order {order.policy}: pairs of documents are judged in the order {MERGE_SORT}, and single"
                " documents in any other"
            )

    def check_grade(self, grade: float | None) -> None:
        """Refuse a grade that is not on the scale; None means impossible to judge."""
        if grade is not None and grade not in [one.value for one in self.scale]:
            raise DataError(f"grade {grade:g} is not on the scale; expected one of {self._grades()}")

    def record(self) -> dict[str, Any]:
        """Return plain data, from which `settings_of` restores the settings."""
        return asdict(self)

    def _grades(self) -> str:
        return ", ".join(f"{one.value:g}" for one in self.scale)


def settings_of(record: dict[str, Any]) -> Settings:
    """Restore settings from a record, which may also contain the hash of the corpus."""
    scale = tuple(Grade(**grade) for grade in record["scale"])
    own = {name: value for name, value in record.items() if name != CORPUS}
    return Settings(**{**own, "scale": scale, "order": Order(**record["order"])})


def _read_parameter(name: str, value: Any) -> Any:
    """Return a parameter as its strategy reads it; unchanged if it is invalid."""
    if isinstance(value, int):
        return float(value)
    if name == "strata" and isinstance(value, str):
        try:
            return parse_strata(value)
        except DataError:
            return value  # `check` refuses it
    return value


def parse_parameters(given: Iterable[str]) -> dict[str, Any]:
    """Parse the parameters of an order, each `name=value`; numeric values become numbers."""
    parameters: dict[str, Any] = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not sign:
            raise DataError(f"parameter {text!r}: expected NAME=VALUE, such as rate=0.2")
        try:
            parameters[name] = float(value)
        except ValueError:
            parameters[name] = value
    return parameters


def parse_scale(text: str) -> tuple[Grade, ...]:
    """Parse a scale such as `0=not relevant,1=relevant`; the key of a grade is its digit.

    Other grades get the next free digit after the key of the grade below.
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
                f"scale {text!r}: {part.strip()!r} is not a new grade; expected different numbers from 0 up,"
                f" such as {DEFAULT_SCALE!r}"
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
