"""Documents on which assessors differ, and what organisers settle them as, one by one or from a file.

The page, the programming interface and the command all come here or to `Engine.adjudicate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from sounding.core.errors import DataError, FormatError
from sounding.core.text import quoted
from sounding.data.formats import read_qrels
from sounding.data.tables import Qrels
from sounding.judge.ids import check_table
from sounding.judge.project import Project
from sounding.judge.store import Standing


class GivenGrade(NamedTuple):
    """What one assessor says of a document."""

    name: str
    grade: float | None  # None: could not judge it
    comment: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferingDocument:
    """A document on which assessors differ, with their grades in the order in which they judged."""

    topic: str
    doc: str
    grades: tuple[GivenGrade, ...]
    settled: float | None  # None: not yet, or as one that cannot be judged
    open: bool  # nobody has settled it


class Settling(NamedTuple):
    """What came of a file of settled grades."""

    rows: int
    changed: int  # others were settled so before


class _Line(NamedTuple):
    line: int
    topic: str
    doc: str
    grade: float


def differing_documents(project: Project, standing: Iterable[Standing]) -> list[DifferingDocument]:
    """Documents of topics in use on which assessors differ, those that nobody has settled first.

    `standing` are the judgments whose comments are to be told.
    """
    names = project.store.names()
    comments = {(one.topic, one.doc, one.assessor): one.comment for one in standing if one.comment}
    return [
        DifferingDocument(
            topic=one.topic,
            doc=one.doc,
            grades=tuple(
                GivenGrade(names.get(who, who), grade, comments.get((one.topic, one.doc, who), ""))
                for who, grade in one.grades.items()
            ),
            settled=one.settled.grade,
            open=not one.settled.judged,
        )
        for one in project.engine.differences()
    ]


def settle_document(
    project: Project, topic: str, doc: str, grade: float | None, *, by: str, key: str
) -> bool:
    """Settle one document on which assessors differ; returns whether it was not settled so before."""
    engine = project.engine
    with engine.together():
        settled = {(one.topic, one.doc): one.settled for one in engine.differences()}
        if not project.store.has_key(by, key):  # what is sent again gets the answer of the first time
            if (topic, doc) not in settled:
                raise DataError(_nothing_to_settle(project, topic, doc))
            if settled[topic, doc] == (True, grade):
                return False
        return not engine.adjudicate(by, topic, doc, grade, key=key).repeated


def settle_file(project: Project, source: Any, *, by: str) -> Settling:
    """Settle the documents of a file of judgments, all or none; what is settled so already stays.

    A document on which assessors do not differ is refused: a settlement cannot be taken back, and would
    count in place of what all of them say.
    """
    qrels = read_qrels(source, fractional="accept")
    check_table(qrels)
    lines = sorted(_lines(qrels))
    with project.engine.together():
        settled = {(one.topic, one.doc): one.settled for one in project.engine.differences()}
        for one in lines:
            _check(project, qrels.source, one, differ=(one.topic, one.doc) in settled)
        new = [one for one in lines if settled[one.topic, one.doc] != (True, one.grade)]
        for one in new:
            project.engine.adjudicate(by, one.topic, one.doc, one.grade, key=uuid4().hex)
    return Settling(len(lines), len(new))


def _lines(qrels: Qrels) -> Iterator[_Line]:
    docs, grades = qrels.docs.texts(), qrels.grades.tolist()
    for number, topic in enumerate(qrels.topics):
        for row in range(int(qrels.starts[number]), int(qrels.starts[number + 1])):
            line = row + 1 if qrels.lines is None else int(qrels.lines[row])
            yield _Line(line, topic, docs[row], grades[row])


def _check(project: Project, source: str, one: _Line, *, differ: bool) -> None:
    """Refuse a line that settles nothing, or with a grade that is none."""
    if not differ:
        raise FormatError(source, one.line, _nothing_to_settle(project, one.topic, one.doc))
    try:
        project.settings.check_grade(one.grade)
    except DataError as error:
        raise FormatError(source, one.line, str(error)) from None


def _nothing_to_settle(project: Project, topic: str, doc: str) -> str:
    why = "assessors do not differ on it" if project.engine.in_use(topic) else "the topic is not in use"
    return f"nothing to settle in document {quoted(doc)} of topic {quoted(topic)}: {why}"
