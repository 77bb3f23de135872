"""Read the users of a project from a table."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple, get_args

from sounding.core.errors import FormatError
from sounding.core.text import quote, quote_list
from sounding.judge.records import Role

NAME, ROLE, TOPICS = "name", "role", "topics"
COLUMNS = {"user": NAME, "assessor": NAME, NAME: NAME, ROLE: ROLE, "topic": TOPICS, TOPICS: TOPICS}
_APART = re.compile(r"[\s,;|]+")  # between the topics of a field


class ListedPerson(NamedTuple):
    """A row of the table."""

    line: int
    name: str
    role: Role | None  # None: not said
    topics: str | None  # ids separated by commas, or all; None: not said


def read_people(source: str) -> list[ListedPerson]:
    """Return the users of a CSV file whose first line names the columns; refuse any wrong row."""
    try:
        text = Path(source).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not in UTF-8"
        raise FormatError(source, None, f"cannot read the file ({reason})") from error
    first = text.partition("\n")[0]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count), strict=True)
    found: list[ListedPerson] = []
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        wrong = [name for name in header if name not in COLUMNS]
        columns = [COLUMNS.get(name, name) for name in header]
        if wrong or columns.count(NAME) != 1:
            seen = f"unknown column {quote(wrong[0])}" if wrong else "no column name"
            raise FormatError(source, 1, f"{seen}; expected the columns name, role and topics")
        for row in rows:
            if any(field.strip() for field in row):
                found.append(_person(source, rows.line_num, columns, row, found))
    except csv.Error as error:
        raise FormatError(
            source, rows.line_num, "not a valid table row; quoted fields must be closed"
        ) from error
    if not found:
        raise FormatError(source, None, "no users in the file; expected one a line below the column names")
    return found


def _person(
    source: str, line: int, columns: list[str], row: list[str], before: list[ListedPerson]
) -> ListedPerson:
    if len(row) > len(columns):
        raise FormatError(
            source, line, f"{len(row)} fields under {len(columns)} columns; quote fields with commas"
        )
    fields = dict(zip(columns, (field.strip() for field in row), strict=False))
    name, role = fields[NAME], fields.get(ROLE, "").lower()
    if not name:
        raise FormatError(source, line, "no name; fill it in, or delete the line")
    if role and role not in get_args(Role):
        raise FormatError(source, line, f"unknown role {quote(role)}; expected {quote_list(get_args(Role))}")
    for one in before:
        if one.name.casefold() == name.casefold():
            raise FormatError(source, line, f"{name} is in line {one.line} already; leave one out")
    topics = ",".join(filter(None, _APART.split(fields.get(TOPICS, ""))))
    return ListedPerson(line, name, role or None, topics or None)  # type: ignore[arg-type]  # it was checked
