"""Nuggets: the facts that a good answer to a topic contains, each vital or merely okay.

Organizers import a list for each topic. The log keeps every version, because judgments refer to it.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sounding.core.errors import FormatError
from sounding.core.text import quote
from sounding.judge.store import Store

KINDS = ("vital", "okay")
SETTING = "nuggets "  # and the topic: the name of the setting
MOST_NUGGETS = 200  # of a topic
MOST_TEXT = 2000  # characters of a nugget
_TOPICS = ("topic", "qid", "query_id", "topic_id")
_TEXTS = ("text", "nugget", "nugget_text")
_IDS = ("id", "nugget_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Nugget:
    """A fact that a good answer contains."""

    id: str
    text: str
    importance: str = ""  # vital, okay, or empty: not stated


def nuggets_of(store: Store, topic: str) -> list[Nugget]:
    """Return the nuggets of a topic, in the order of their file."""
    return [Nugget(**one) for one in json.loads(store.setting(SETTING + topic) or "[]")]


def save_nuggets(store: Store, topics: dict[str, list[Nugget]]) -> int:
    """Replace the nuggets of these topics; return how many topics changed."""
    before = store.last_sequence()
    with store.together():
        for topic, nuggets in topics.items():
            text = json.dumps([asdict(one) for one in nuggets], ensure_ascii=False)
            store.set_setting(SETTING + topic, text)
    return store.last_sequence() - before


def read_nuggets(source: str) -> dict[str, list[Nugget]]:
    """Read nuggets by topic, in the order of the file.

    A table (csv or tsv) or JSON lines have one nugget a line: topic, text, and optionally id and importance.
    A JSON line may also hold all nuggets of a topic as `nuggets`, as AutoNuggetizer writes them. Without an
    id, a nugget is numbered within its topic.
    """
    found: dict[str, list[Nugget]] = {}
    for line, record in _records(source):
        topic = _first(record, _TOPICS)
        if not topic or len(topic.split()) != 1:
            problem = f"no topic id; expected one of {', '.join(_TOPICS)}, one word"
            raise FormatError(source, line, problem)
        every = record.get("nuggets") if isinstance(record.get("nuggets"), list) else [record]
        for one in every or ():
            own = found.setdefault(topic, [])
            own.append(_nugget(source, line, one if isinstance(one, dict) else {"text": one}, len(own) + 1))
            if own[-1].id in [other.id for other in own[:-1]]:
                raise FormatError(
                    source, line, f"topic {quote(topic)} has the nugget {quote(own[-1].id)} twice"
                )
            if len(own) > MOST_NUGGETS:
                raise FormatError(source, line, f"topic {quote(topic)} has more than {MOST_NUGGETS} nuggets")
    if not found:
        raise FormatError(source, None, "no nuggets; expected lines with a topic and a text")
    return found


def _nugget(source: str, line: int, record: dict[str, Any], number: int) -> Nugget:
    text, name = _first(record, _TEXTS), _first(record, _IDS) or str(number)
    importance = str(record.get("importance") or "").strip().lower()
    if not text or len(text) > MOST_TEXT:
        raise FormatError(source, line, f"a nugget needs a text of 1 to {MOST_TEXT:,} characters")
    if len(name.split()) != 1:
        raise FormatError(source, line, f"the nugget id {quote(name)} has blanks; expected one word")
    if importance not in ("", *KINDS):
        raise FormatError(source, line, f"importance {quote(importance)}: expected vital or okay, or nothing")
    return Nugget(id=name, text=text, importance=importance)


def _first(record: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((str(record[name]).strip() for name in names if record.get(name) not in (None, "")), "")


def _records(source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records of a table or of JSON lines, with their lines."""
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not in UTF-8"
        raise FormatError(source, None, f"cannot read the file ({reason})") from error
    if text.lstrip().startswith("{"):
        for line, each in enumerate(text.splitlines(), 1):
            if each.strip():
                try:
                    record = json.loads(each)
                except ValueError:
                    record = None
                if not isinstance(record, dict):
                    raise FormatError(source, line, "not a JSON object; expected one in each line")
                yield line, record
        return
    delimiter = "," if Path(source).suffix.lower() == ".csv" else "\t"
    rows = csv.DictReader(text.splitlines(), delimiter=delimiter)
    names = [name.strip().lower() for name in rows.fieldnames or ()]
    if not {*names} & {*_TOPICS} or not {*names} & {*_TEXTS}:
        problem = f"the first line has no columns topic and text; it has {', '.join(names) or 'nothing'}"
        raise FormatError(source, 1, problem)
    for row in rows:
        yield rows.line_num, {(name or "").strip().lower(): value for name, value in row.items()}
