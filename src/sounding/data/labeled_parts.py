"""Read the labeled parts of a JSON record, such as the question, the answer and the retrieved contexts.

A list is graded item by item: each of its items is a part of its own, which may have its own id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sounding.core.errors import DataError

IDS = ("_id", "id", "docno", "doc_id", "docid")  # members of a JSON line that may hold the document id
PART_IDS = (*IDS, "pid", "passage_id", "segment_id")  # members of an item that may hold its id
TEXTS = ("text", "content", "contents", "body", "passage", "page_content", "segment")


class Member(NamedTuple):
    """A member of every record to show as a part, and its label."""

    name: str
    label: str


class LabeledPart(NamedTuple):
    """One labeled part of a document."""

    name: str  # the member; an item of a list: `contexts.1`
    label: str
    text: str
    id: str = ""  # the item's own id; empty: none
    graded: bool = False  # an item of a list


def members_of(text: str) -> tuple[Member, ...]:
    """Parse the members to show, such as `question,answer,contexts=Passage`."""
    members: list[Member] = []
    for each in filter(None, (one.strip() for one in text.split(","))):
        name, _, label = each.partition("=")
        name = name.strip()
        if not name or len(name.split()) != 1 or name in [one.name for one in members]:
            raise DataError(f"fields {text!r}: {each!r} is not a new name; expected NAME or NAME=LABEL")
        words = label.strip() or name.replace("_", " ").strip().capitalize()
        members.append(Member(name, words))
    if not members:
        raise DataError(f"fields {text!r}: no name; expected names such as question,answer,contexts")
    return tuple(members)


def parts_of(entry: dict[str, Any], members: Sequence[Member]) -> tuple[LabeledPart, ...]:
    """Return the parts of a record in the order of `members`; members that it lacks have none."""
    parts: list[LabeledPart] = []
    for name, label in members:
        value = entry.get(name)
        if isinstance(value, list):
            one = label.removesuffix("s") if label.endswith("s") and not label.endswith("ss") else label
            ids = entry.get(f"{name.removesuffix('s')}_ids")
            known = ids if isinstance(ids, list) and len(ids) == len(value) else [*map(_own_id, value)]
            parts += [
                LabeledPart(
                    f"{name}.{number}", f"{one} {number}", _text_of(item), _one_word(own), graded=True
                )
                for number, (item, own) in enumerate(zip(value, known, strict=True), 1)
            ]
        elif value not in (None, ""):
            parts.append(LabeledPart(name, label, _text_of(value)))
    return tuple(parts)


def _text_of(value: Any) -> str:
    """Return the text of a value: of an object its title and text, of anything else the value itself."""
    if not isinstance(value, dict):
        return value if isinstance(value, str) else str(value)
    text = next((value[name] for name in TEXTS if isinstance(value.get(name), str)), None)
    if text is None:
        return "\n".join(one for key, one in value.items() if key not in PART_IDS and isinstance(one, str))
    title = value.get("title")
    return f"{title}\n\n{text}" if isinstance(title, str) and title else text


def _own_id(item: Any) -> Any:
    """Return the id that an item of a list has itself; empty if it has none."""
    if not isinstance(item, dict):
        return ""
    return next((item[name] for name in PART_IDS if item.get(name) not in (None, "")), "")


def _one_word(id: Any) -> str:  # noqa: A002
    """Return an id as text; empty if it has blanks, which no file of judgments can hold."""
    return str(id) if len(str(id).split()) == 1 else ""
