"""The pages' templates: texts in the reader's language, and how numbers and times are written.

Templates mark a text with `{% trans %}` or `_("...")`.
"""

from __future__ import annotations

import json
import re
import time
from functools import lru_cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from sounding.core.text import plural
from sounding.judge.language import FOLDER, Language, current, gettext, marked
from sounding.judge.layout import lay_out_markdown

_FIRST_WORD = re.compile(r"^[^\W\d_]+(?= )")  # of a message, but not a file; a name has capitals


def _sentence(text: str) -> str:
    """Return a message with a capital letter and a period."""
    return f"{_FIRST_WORD.sub(lambda word: word[0].capitalize() if word[0].islower() else word[0], text)}."


def _moment(when: float) -> Markup:
    """Return a time that scripts show by the reader's clock and language."""
    exact = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    return Markup('<time datetime="{}">{}</time>').format(exact, _day(when))


def _day(when: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(when))


STATUSES = {"candidate": marked("candidate"), "chosen": marked("chosen"), "dropped": marked("dropped")}


def _grade(value: float | None) -> str:
    return gettext("cannot judge") if value is None else f"{value:g}"


@lru_cache(maxsize=4096)
def _key(text: str) -> str:
    """Return the key of a text: Jinja writes its places as %(name)s."""
    return re.sub(r"%\((\w+)\)s", r"{\1}", text).replace("%%", "%")


def _escaped(values: dict[str, Any]) -> dict[str, object]:
    return {name: value if isinstance(value, int) else escape(value) for name, value in values.items()}


def _gettext(text: str, /, **values: Any) -> Markup:
    return Markup(current().gettext(_key(text), _escaped(values)))  # noqa: S704 - the catalogue is ours


def _ngettext(one: str, other: str, n: int, /, **values: Any) -> Markup:
    return Markup(current().ngettext(_key(one), _key(other), n, _escaped(values)))  # noqa: S704


def for_scripts(language: Language) -> Markup:
    """Return the texts of the scripts as JSON that can stand in a page."""
    content = json.dumps(language.of_scripts, ensure_ascii=False).replace("<", r"\u003c")
    return Markup(content)  # noqa: S704


TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER / "pages"),
    autoescape=select_autoescape(default=True, default_for_string=True),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    extensions=["jinja2.ext.i18n"],
)
TEMPLATES.newstyle_gettext = True  # type: ignore[attr-defined]
TEMPLATES.policies["ext.i18n.trimmed"] = True
TEMPLATES.globals |= {"gettext": _gettext, "ngettext": _ngettext}
TEMPLATES.filters |= {
    "grade": _grade, "count": plural, "percent": lambda share: current().percent(share),
    "number": lambda value: current().number(value), "sentence": _sentence, "day": _day,
    "told": lambda text: current().retell(text),
    "markdown": lambda text: Markup(lay_out_markdown(text)),  # noqa: S704 - cleaned
    "moment": _moment, "decimals": lambda value: current().decimals(value, 2),
    "status": lambda status: gettext(STATUSES[status]),
}  # fmt: skip
