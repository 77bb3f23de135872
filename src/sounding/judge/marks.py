"""Marks within a judgment: grades of contexts, spans of text that support the grade, and nuggets.

They are part of the judgment's event, so that a change or an undo changes all of it together:
`{"contexts": {part: {"grade", "id"}}, "spans": [{"part", "first", "last", "text"}], "nuggets": {id: {"found",
"importance"}}, "subtopics": {id: grade}}`. The first and the last character of a span are counted from 0; the
last is not part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sounding.core.errors import DataError
from sounding.core.text import quote
from sounding.data.corpus import Document
from sounding.judge import messages
from sounding.judge.language import gettext, ngettext
from sounding.judge.nuggets import Nugget
from sounding.judge.records import Marks
from sounding.judge.settings import Settings
from sounding.judge.texts import span_texts


def locate(text: str, words: str, start: int) -> tuple[int, int] | None:
    """Return where words stand in a text: the place nearest to `start`, ignoring blanks; None: nowhere.

    `start` is the number of characters other than blanks before the words. Pages lay out texts anew, which
    changes nothing but blanks.
    """
    wanted, found = "".join(words.split()), "".join(text.split())
    after = found.find(wanted, start) if wanted else -1
    before = found.rfind(wanted, 0, start + len(wanted)) if wanted else -1
    places = sorted({one for one in (before, after) if one >= 0}, key=lambda one: abs(one - start))
    if not places:
        return None
    inked = [number for number, sign in enumerate(text) if not sign.isspace()]
    return inked[places[0]], inked[places[0] + len(wanted) - 1] + 1


def checked_marks(
    given: messages.MarksSent | None, document: Document | None, settings: Settings, nuggets: Sequence[Nugget]
) -> Marks:
    """Return marks as the log holds them; refuse a context or a span that the document does not have.

    Nuggets that an organizer has removed from the list meanwhile are left out.
    """
    if given is None or document is None:
        return {}
    graded = {part.name: part for part in document.parts if part.graded}
    for name, grade in given.contexts.items():
        if name not in graded:
            raise DataError(
                gettext("this document has no part {name} to grade; reload the page", name=quote(name))
            )
        settings.check_grade(grade)
    for grade in given.subtopics.values():
        settings.check_grade(grade)
    texts = span_texts(document) if given.spans else {}
    spans = [_span(texts, one) for one in given.spans]
    found: Marks = {
        "contexts": {
            name: {"grade": given.contexts[name]} | ({"id": part.id} if part.id else {})
            for name, part in graded.items()
            if name in given.contexts
        },
        "spans": sorted(spans, key=lambda one: (one["part"], one["first"], one["last"])),
        "subtopics": dict(given.subtopics),
        "nuggets": {
            one.id: {"found": given.nuggets[one.id], "importance": one.importance}
            for one in nuggets
            if one.id in given.nuggets
        },
    }
    return {name: value for name, value in found.items() if value}


def _span(texts: Mapping[str, str], given: messages.Span) -> dict[str, Any]:
    text = texts.get(given.part)
    place = None if text is None else locate(text, given.text, given.start)
    if text is None or place is None:
        raise DataError(
            gettext("the marked text {text} is not in this document; mark it again", text=quote(given.text))
        )
    return {"part": given.part, "first": place[0], "last": place[1], "text": text[slice(*place)]}


def shown_marks(marks: Marks, document: Document | None) -> messages.MarksSent | None:
    """Return recorded marks as a page shows them; None: there are none."""
    if not marks or document is None:
        return None
    texts = span_texts(document) if marks.get("spans") else {}
    return messages.MarksSent(
        contexts={name: one["grade"] for name, one in marks.get("contexts", {}).items()},
        subtopics=marks.get("subtopics", {}),
        nuggets={name: one["found"] for name, one in marks.get("nuggets", {}).items()},
        spans=[
            messages.Span(
                part=one["part"], text=one["text"],
                start=len("".join(texts.get(one["part"], "")[: one["first"]].split())),
            )
            for one in marks.get("spans", ())
        ],
    )  # fmt: skip


def describe_marks(marks: Marks, lowest: float) -> Iterator[str]:
    """Yield what a judgment marks, for the list of one's own judgments; `lowest`: of the scale's grades."""
    if count := len(marks.get("contexts", ())):
        yield ngettext("{n} part graded", "{n} parts graded", count)
    if count := len(marks.get("spans", ())):
        yield ngettext("{n} piece of evidence", "{n} pieces of evidence", count)
    if subtopics := marks.get("subtopics"):
        count = sum(grade > lowest for grade in subtopics.values())
        yield gettext("About {count} of {all} subtopics", count=count, all=len(subtopics))
    if nuggets := marks.get("nuggets"):
        found = sum(one["found"] for one in nuggets.values())
        yield gettext("{found} of {all} nuggets", found=found, all=len(nuggets))
