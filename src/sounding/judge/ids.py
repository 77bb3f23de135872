"""Read judgments from files, and check ids before anything is recorded.

An id must be one word, because qrels are split at blanks, and must fit the databases and requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sounding.core.errors import DataError, FormatError
from sounding.core.text import quote
from sounding.data.fast.tokens import Tokens
from sounding.data.tables import Qrels, Run
from sounding.data.topics import Topics

# Bytes in UTF-8. A PostgreSQL index has room for 2,704 for topic, document and assessor together.
MOST_DOC = 2000  # enough for web addresses
MOST_TOPIC = 500
MOST_ASSESSOR = 100
MOST_RUN_NAME = 200  # characters

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BLANK, _LAST_PLAIN = 0x20, 0x7E  # the bytes between them are always valid


class FileJudgment(NamedTuple):
    """A judgment in a file, with its line; stratum and probability only if the format has them."""

    line: int
    topic: str
    doc: str
    grade: float
    stratum: int | None
    probability: float | None


def judgments_in(qrels: Qrels) -> Iterator[FileJudgment]:
    """Yield the judgments of a file, topic by topic."""
    docs, grades = qrels.docs.texts(), qrels.grades.tolist()
    for number, topic in enumerate(qrels.topics):
        for row in range(int(qrels.starts[number]), int(qrels.starts[number + 1])):
            stratum = None if qrels.strata is None else int(qrels.strata[row])
            probability = None if qrels.probabilities is None else float(qrels.probabilities[row])
            yield FileJudgment(_line(qrels, row), topic, docs[row], grades[row], stratum, probability)


def _line(table: Run | Qrels, row: int) -> int:
    return row + 1 if table.lines is None else int(table.lines[row])


def wrong_doc(doc: str) -> str:
    """Return what is wrong with a doc id; empty if nothing."""
    return _sentence("doc id", doc, _wrong(doc, MOST_DOC))


def wrong_topic(topic: str) -> str:
    """Return what is wrong with a topic id; empty if nothing."""
    comment = "begins with #, which marks comments; rename it" if topic.startswith("#") else ""
    return _sentence("topic id", topic, _wrong(topic, MOST_TOPIC) or comment)


def check_run_names(names: Sequence[str]) -> None:
    """Refuse names of runs that do not fit on a line of a table or page."""
    for name in names:
        if not name.strip() or len(name) > MOST_RUN_NAME or CONTROLS.search(name):
            expected = f"expected one line of 1 to {MOST_RUN_NAME} characters; give another with --name"
            raise DataError(f"the name of a run is {quote(name)}; {expected}")


def check_table(table: Run | Qrels) -> None:
    """Refuse a run or qrels with an invalid topic id or doc id, and name the line."""
    topics = zip(table.starts[:-1].tolist(), map(wrong_topic, table.topics), strict=True)
    problems = [(row, problem) for row, problem in (*topics, *_wrong_docs(table.docs)) if problem]
    if problems:
        row, problem = min(problems)
        raise FormatError(table.source, _line(table, row), problem)


def check_topics(topics: Topics) -> None:
    """Refuse topics with an invalid id, and name the line."""
    for number, topic in enumerate(topics.ids):
        if problem := wrong_topic(topic):
            raise FormatError(topics.source, topics.lines[number] if topics.lines else None, problem)


def _wrong(text: str, most: int) -> str:
    """Return what is wrong with an id, as the end of a sentence; empty if nothing."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "is not UTF-8; save the file as UTF-8"
    if not text:
        return "is empty; expected one word"
    if control := CONTROLS.search(text):
        return f"contains the control character {control[0]!a}; expected one word without any"
    if text.split() != [text]:  # at Unicode blanks, because other programs may split qrels there
        return "contains blanks; expected one word"
    return "" if size <= most else f"has {size:,} bytes; expected at most {most:,}"


def _sentence(what: str, text: str, problem: str) -> str:
    return f"{what} {quote(text)} {problem}" if problem else ""


def _wrong_docs(docs: Tokens) -> Iterator[tuple[int, str]]:
    """Yield the rows and problems of invalid doc ids; plain ASCII ids are checked all at once."""
    packed = docs.compact()
    odd = (packed.buffer <= _BLANK) | (packed.buffer > _LAST_PLAIN)
    before = np.concatenate([[0], np.cumsum(odd)])
    inside = before[packed.start + packed.length] - before[packed.start]
    suspects = (inside > 0) | (packed.length > MOST_DOC) | (packed.length == 0)
    for row in suspects.nonzero()[0].tolist():
        yield row, wrong_doc(packed.text(row))
