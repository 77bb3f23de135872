"""Read, write and check a plan: the choices of a comparison, fixed in a file before any value is known.

docs/preregistration.md lists the keys. A plan leaves open what it does not mention.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import chain
from pathlib import Path
from typing import Any, get_args, get_type_hints

from sounding.core.errors import DataError, FormatError, SoundingError, UnknownNameError
from sounding.core.policies import Policies
from sounding.data.formats import read_qrels
from sounding.measures import parse_measures
from sounding.runs.align import prepare
from sounding.statistics.pairwise import find_test
from sounding.statistics.testing import find_correction

POLICIES = "policies"  # the table in the file
POLICY_KEYS = tuple(item.name for item in fields(Policies))
_PROBE = 7  # an arbitrary cut-off, to test whether a name takes one

Problem = tuple[str, str]  # the key, and what is wrong with it


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChoices:
    """The choices of a comparison. None: left open by a plan, or not used by a command."""

    measures: tuple[str, ...] | None = None  # as requested, before `depths` are applied
    depths: tuple[int, ...] | None = None
    test: str | None = None
    correction: str | None = None
    alpha: float | None = None
    margin: float | None = None
    baseline: tuple[str, ...] | None = None
    judgments: int | None = None  # judged documents in the qrels: when to stop judging
    policies: Mapping[str, Any] = field(default_factory=dict)  # name -> value; may hold only some policies

    def __post_init__(self) -> None:
        given = {name: value for name, value in self.policies.items() if value is not None}
        for key, problem in chain(_unknown_keys(given, POLICY_KEYS), _problems(self._own(), given)):
            raise DataError(f"{key}: {problem}")
        object.__setattr__(self, POLICIES, given)
        # Different spellings of a choice are equal.
        if self.test is not None:
            object.__setattr__(self, "test", find_test(self.test).name)
        if self.correction is not None:
            object.__setattr__(self, "correction", find_correction(self.correction))

    def _own(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in KEYS if getattr(self, name) is not None}

    def made(self) -> dict[str, Any]:
        """Return the choices that were made, by name, with each policy under its own name."""
        return self._own() | dict(self.policies)


KEYS = tuple(item.name for item in fields(PlanChoices) if item.name != POLICIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The choices that were fixed beforehand, and the file that holds them."""

    choices: PlanChoices
    source: str
    sha256: str  # of the file's bytes
    lines: Mapping[str, int | None] = field(default_factory=dict)  # key -> its line in the file

    def check(self, choices: PlanChoices) -> list[str]:
        """Return a sentence for each deviation from the plan; empty if there is none."""
        used = choices.made()
        return [
            f"{name}: {deviation}"
            for name, planned in self.choices.made().items()
            for deviation in _deviations(name, planned, used.get(name))
        ]

    def facts(self, choices: PlanChoices) -> dict[str, Any]:
        """Return the plan and all deviations from it, for JSON."""
        return {
            "source": self.source, "sha256": self.sha256, "choices": self.choices.made(),
            "deviations": self.check(choices),
        }  # fmt: skip

    def describe(self) -> str:
        """Return the plan in one line: file, hash, and which choices are fixed and which left open."""
        made = self.choices.made()
        fixed = "; ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in made.items())
        unsaid = [name for name in KEYS if name not in made]
        if len(self.choices.policies) < len(POLICY_KEYS):
            unsaid.append("other policies" if self.choices.policies else POLICIES)
        rest = f"; left open: {', '.join(unsaid)}" if unsaid else ""
        return f"plan {self.source} (sha256 {self.sha256[:12]}): {fixed or 'nothing is fixed'}{rest}"


def planned_judgments(
    plan: Plan | None, qrels: Any, qrels_format: str | None, policies: Policies
) -> int | None:
    """Return the number of judged documents in the qrels if a plan says how many there should be."""
    if plan is None or plan.choices.judgments is None:
        return None
    read = read_qrels(
        qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    return int(prepare(read, policies).judgments.judged.sum())


def read_plan(path: str | Path) -> Plan:
    """Read a plan from a TOML file; raise an error with the line if it is not a plan."""
    source = str(path)
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise FormatError(
            source, None, f"cannot be read: {error.strerror}; expected a plan in TOML"
        ) from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{content[error.start]:02x} is not UTF-8; a plan is TOML, which is UTF-8"
        raise FormatError(source, line, problem) from error
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(source, text, str(error)) from error
    choices = _choices(source, text, tables)
    return _plan(choices, source, content, text)


def write_plan(choices: PlanChoices, path: str | Path) -> Plan:
    """Write choices to a plan file and return the plan."""
    lines = [
        f"{name} = {_toml(getattr(choices, name))}" for name in KEYS if getattr(choices, name) is not None
    ]
    if choices.policies:
        lines += [
            "",
            f"[{POLICIES}]",
            *(f"{name} = {_toml(value)}" for name, value in choices.policies.items()),
        ]
    try:
        content = "".join(f"{line}\n" for line in lines).encode()
    except UnicodeEncodeError as error:
        seen = error.object[error.start : error.end]
        raise DataError(f"{path}: {seen!r} of a name is not UTF-8; a plan is TOML, which is UTF-8") from error
    Path(path).write_bytes(content)
    return _plan(choices, str(path), content, content.decode())


def _plan(choices: PlanChoices, source: str, content: bytes, text: str) -> Plan:
    return Plan(
        choices=choices, source=source, sha256=hashlib.sha256(content).hexdigest(),
        lines={key: _line_of(text, key, key in choices.policies) for key in choices.made()},
    )  # fmt: skip


def _choices(source: str, text: str, tables: Mapping[str, Any]) -> PlanChoices:
    """Return the choices of a parsed file; raise an error for the first problem that counts the others."""
    policies = tables.get(POLICIES, {})
    own = {name: _as_tuple(name, value) for name, value in tables.items() if name != POLICIES}
    found: list[Problem] = []
    if not isinstance(policies, dict):
        found = [(POLICIES, f"{_toml(policies)} is no table; expected [{POLICIES}] on a line of its own")]
        policies = {}
    found += _unknown_keys(own, KEYS, dict.fromkeys(POLICY_KEYS, f"in the table [{POLICIES}]"))
    found += _unknown_keys(policies, POLICY_KEYS, dict.fromkeys(KEYS, f"before the table [{POLICIES}]"))
    found += _problems(
        {name: value for name, value in own.items() if name in KEYS},
        {name: value for name, value in policies.items() if name in POLICY_KEYS},
    )
    if found:
        lines = [_line_of(text, key, key in policies and key not in own) for key, _ in found]
        first = min(range(len(found)), key=lambda place: lines[place] or 0)
        key, problem = found[first]
        raise FormatError(source, lines[first], f"{key}: {problem}", more=len(found) - 1)
    return PlanChoices(**own, policies=policies)


def _as_tuple(name: str, value: Any) -> Any:
    """Return lists as tuples; a single baseline may be given without brackets."""
    if name == "baseline" and isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


def _unknown_keys(
    given: Collection[str], known: Collection[str], elsewhere: Mapping[str, str] | None = None
) -> Iterator[Problem]:
    for name in given:
        if elsewhere is not None and name in elsewhere:
            yield name, f"belongs {elsewhere[name]}"
        elif name not in known:
            yield name, str(UnknownNameError("key", name, (*known, POLICIES)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _all(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, tuple) and bool(value) and all(map(fits, value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_depth(value: Any) -> bool:
    return type(value) is int and value > 0


_RIGHT: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "measures": (lambda value: _all(value, _is_text), 'a list of measures such as ["AP", "P@10"]'),
    "depths": (lambda value: _all(value, _is_depth), "a list of whole numbers from 1, such as [10, 100]"),
    "test": (_is_text, 'the name of a test, such as "randomization"'),
    "correction": (_is_text, 'the name of a correction, such as "holm"'),
    "alpha": (lambda value: _is_number(value) and 0 < value < 1, "a number between 0 and 1, such as 0.05"),
    "margin": (lambda value: _is_number(value) and value > 0, "a number above 0, such as 0.01"),
    "baseline": (lambda value: _all(value, _is_text), 'a run or a list of runs, such as ["bm25"]'),
    "judgments": (_is_depth, "a whole number from 1, such as 500"),
}


_FINDERS: Mapping[str, Callable[[str], object]] = {"test": find_test, "correction": find_correction}


def _problems(own: Mapping[str, Any], policies: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield every problem with choices whose keys are known."""
    for name, value in own.items():
        fits, right = _RIGHT[name]
        if not fits(value):
            yield name, f"found {_toml(value)}; expected {right}"
        elif name == "measures":
            yield from _unknown_measures(value)
        elif name in _FINDERS:
            try:
                _FINDERS[name](value)
            except UnknownNameError as error:
                yield name, str(error)
    yield from _policy_problems(policies)


def _unknown_measures(names: tuple[str, ...]) -> Iterator[Problem]:
    for name in names:
        try:
            _spellings(name)
        except SoundingError as error:
            yield "measures", str(error)


def _policy_problems(policies: Mapping[str, Any]) -> Iterator[Problem]:
    sound, hints = True, get_type_hints(Policies)
    for name, value in policies.items():
        kind = int if int in (hints[name], *get_args(hints[name])) else str
        if type(value) is not kind:
            sound = False
            right = "a whole number" if kind is int else "text in quotation marks"
            yield name, f"found {_toml(value)}; expected {right}"
            continue
        single: dict[str, Any] = {name: value}
        try:
            Policies(**single)
        except SoundingError as error:
            sound = False
            yield name, str(error)
    if sound:
        try:
            Policies(**policies)
        except SoundingError as error:
            yield POLICIES, str(error)


def _spellings(name: str) -> tuple[str, ...]:
    """Return our spelling of the measures that a name stands for, so that `map` equals `AP`.

    trec_eval's `P` means nine cut-offs, but a plan with depths means P at each depth, so `P` stays as it is.
    """
    try:
        found = parse_measures([name])
    except SoundingError as error:
        cut = _with_cut_off(name)
        if cut is None:
            raise error from None
        return (cut,)
    cut = _with_cut_off(name) if len(found) > 1 else None
    return (cut,) if cut is not None else tuple(map(str, found))


def _with_cut_off(name: str) -> str | None:
    """Return our spelling, without cut-off, of a name that takes one."""
    try:
        found = parse_measures([f"{name}@{_PROBE}"])
    except SoundingError:
        return None
    return str(found[0]).removesuffix(f"@{_PROBE}")


def _deviations(name: str, planned: Any, used: Any) -> Iterator[str]:
    if not isinstance(planned, tuple):
        if planned != used:
            yield f"the plan says {_shown(planned)}, used is {'none' if used is None else _shown(used)}"
        return
    wanted, taken = list(planned), list(used or ())
    if name == "measures":
        wanted, taken = ([text for one in names for text in _spellings(one)] for names in (wanted, taken))
    yield from (f"{one} is in the plan and not used" for one in dict.fromkeys(wanted) if one not in taken)
    yield from (f"{one} is used and not in the plan" for one in dict.fromkeys(taken) if one not in wanted)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _toml(value: Any) -> str:
    """Return a value in TOML syntax."""
    if isinstance(value, str):
        return '"' + _ESCAPED.sub(lambda sign: f"\\u{ord(sign[0]):04x}", value) + '"'
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, int | float) else str(value)


_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')


def _line_of(text: str, key: str, in_policies: bool) -> int | None:
    """Return the line that sets a key, or the line of its table if it is set inside one."""
    quoted = rf"""["']?{re.escape(key)}["']?"""
    prefix = rf"(?:{POLICIES}\s*\.\s*)?" if in_policies else ""
    given = re.compile(rf"\s*(?:{prefix}{quoted}\s*[=.]|\[+\s*{quoted}\s*\])")
    inside, table = False, None
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"\s*(?:\[\s*{POLICIES}\s*\]|{POLICIES}\s*[=.])", line):
            inside, table = True, table or number
        if (inside or not in_policies) and given.match(line):
            return number
    return table if in_policies else None


def _syntax_error(source: str, text: str, message: str) -> FormatError:
    place = re.search(r" \(at line (\d+), column (\d+)\)$", message)
    if place is None:
        reason = message.removesuffix(" (at end of document)")
        return FormatError(source, len(text.splitlines()) or 1, f"not TOML at the end of the file: {reason}")
    reason = message[: place.start()]
    return FormatError(source, int(place[1]), f"not TOML at column {place[2]}: {reason}")
