"""The language of the pages: who sees which one, and how texts and numbers read in it.

The English texts stand in the code and the pages; they are the keys of the catalogues languages/CODE.json.
A text with a number has one form for each of the language's plural categories.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

from sounding.core import text as core

BROWSER = "browser"  # the project's language is the one that the browser asks for
Forms = str | dict[str, str]  # a text, or its form for each plural category

FOLDER = Path(__file__).parent
_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z0-9]|statAP)")
_PLACE = re.compile(r"\{(\w+)\}")
_ACCEPTED = re.compile(r"\s*([A-Za-z]{1,8})(?:-[\w-]+)?\s*(?:;\s*q=([0-9.]+))?\s*")
# Categories of Unicode's plural rules, for languages that do not have just one and other.
PLURALS: dict[str, Callable[[int], str]] = {}


@dataclass(frozen=True, kw_only=True)
class Language:
    """A language of the pages; texts that its catalogue lacks stay English."""

    code: str
    name: str
    direction: Literal["ltr", "rtl"] = "ltr"
    thousands: str = ","
    decimal: str = "."
    percent_sign: str = "%"
    texts: Mapping[str, Forms] = field(default_factory=dict)
    retold: Mapping[str, str] = field(default_factory=dict)  # English sentences of other parts of the program

    def gettext(self, text: str, values: Mapping[str, object]) -> str:
        """Return a text with its places filled."""
        found = self.texts.get(text, text)
        return self._fill(found if isinstance(found, str) else found["other"], values)

    def ngettext(self, one: str, other: str, n: int, values: Mapping[str, object]) -> str:
        """Return the form of a text for a number."""
        forms = self.texts.get(one)
        category = PLURALS.get(self.code, _one_or_other)(n)
        if isinstance(forms, dict):
            return self._fill(forms.get(category, forms["other"]), {"n": n, **values})
        return self._fill(one if category == "one" else other, {"n": n, **values})

    def _fill(self, text: str, values: Mapping[str, object]) -> str:
        # Braces that are no place stay: a message may quote what somebody typed.
        return _PLACE.sub(
            lambda place: self._shown(values[place[1]]) if place[1] in values else place[0], text
        )

    def _shown(self, value: object) -> str:
        if isinstance(value, int):
            return self.number(value)
        shown = str(value)
        return shown if self.direction == "ltr" else f"\u2068{shown}\u2069"  # it keeps its own direction

    def number(self, value: int) -> str:
        """Return a whole number with its thousands apart."""
        return f"{value:,}".replace(",", self.thousands)

    def decimals(self, value: float, digits: int) -> str:
        """Return a number with this many digits behind the decimal sign."""
        return f"{value:.{digits}f}".replace(".", self.decimal)

    def percent(self, share: float) -> str:
        """Return a share as a percentage."""
        return core.percent(share).replace(".", self.decimal).replace("%", self.percent_sign)

    def retell(self, text: str) -> str:
        """Return English sentences of other parts of the program in this language, if it has them."""
        return " ".join(map(self._retold, _SENTENCES.split(text))) if self.retold else text

    def _retold(self, sentence: str) -> str:
        for pattern, form in self._patterns:
            if found := pattern.fullmatch(sentence):
                # English words among the values have places that begin with _
                words = {
                    name: self._retold(value) if name.startswith("_") else value
                    for name, value in found.groupdict().items()
                }
                return form.format(**words)
        return sentence

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        def pattern(text: str) -> re.Pattern[str]:
            parts = _PLACE.split(text)
            parts[::2] = [re.escape(part) for part in parts[::2]]
            parts[1::2] = [f"(?P<{name}>.+?)" for name in parts[1::2]]
            return re.compile("".join(parts), re.DOTALL)

        return [(pattern(text), form) for text, form in self.retold.items()]

    @cached_property
    def of_scripts(self) -> dict[str, Forms]:
        """Return the texts that scripts use."""
        scripts = "\n".join(path.read_text(encoding="utf-8") for path in (FOLDER / "static").glob("*.js"))
        return {
            text: forms
            for text, forms in self.texts.items()
            if json.dumps(text, ensure_ascii=False) in scripts
        }


def _one_or_other(n: int) -> str:
    return "one" if n == 1 else "other"


def _read(path: Path) -> Language:
    return Language(code=path.stem, **json.loads(path.read_text(encoding="utf-8")))


ENGLISH = Language(code="en", name="English")
LANGUAGES = {"en": ENGLISH} | {
    path.stem: _read(path) for path in sorted((FOLDER / "languages").glob("*.json"))
}
_current: ContextVar[Language] = ContextVar("language", default=ENGLISH)


def current() -> Language:
    """Return the language of the request that is being answered; English elsewhere."""
    return _current.get()


def speak(language: Language) -> None:
    """Answer the current request in a language."""
    _current.set(language)


@contextmanager
def english() -> Iterator[None]:
    """Make messages in English within a block: stored messages are translated for each reader later."""
    before = _current.set(ENGLISH)
    try:
        yield
    finally:
        _current.reset(before)


def choose(chosen: str, project: str, accepted: str) -> Language:
    """Return the person's own choice, else the project's language, else the best that the browser accepts."""
    for code in (chosen, project, *_preferred(accepted)):
        if code in LANGUAGES:
            return LANGUAGES[code]
    return ENGLISH


@lru_cache(maxsize=256)
def _preferred(accepted: str) -> tuple[str, ...]:
    """Return the languages of an Accept-Language header, best first."""
    found: list[tuple[float, int, str]] = []
    for part in accepted[:500].split(","):
        match = _ACCEPTED.fullmatch(part)
        if match:
            try:
                quality = float(match[2] or 1)
            except ValueError:
                continue
            if quality > 0:
                found.append((-quality, len(found), match[1].lower()))
    return tuple(code for _, _, code in sorted(found))


def gettext(text: str, /, **values: object) -> str:
    """Return a text in the current language with its places filled."""
    return current().gettext(text, values)


def ngettext(one: str, other: str, n: int, /, **values: object) -> str:
    """Return the form of a text for a number in the current language; `{n}` is the number."""
    return current().ngettext(one, other, n, values)


def marked(text: str) -> str:
    """Return a text as it is; the catalogues contain it because `gettext` gets it later."""
    return text
