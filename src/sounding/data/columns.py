"""Recognize the columns of tables by their names, in files and in the data frames of Python programs."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from sounding.core.errors import DataError
from sounding.core.text import quote, quote_list, shorten
from sounding.data.fast.tokens import Tokens
from sounding.data.problems import Problems
from sounding.data.tables import Numbers, Places

Kind = Literal["run", "qrels", "labels"]

NAMES: dict[str, tuple[str, ...]] = {
    "topic": ("topic", "topic_id", "query", "query_id", "qid", "q_id"),
    "doc": ("doc", "doc_id", "docid", "docno", "document", "document_id", "corpus_id"),
    "score": ("score", "sim"),
    "rank": ("rank",),
    "tag": ("tag", "run", "run_id", "system"),
    "grade": ("grade", "rel", "relevance", "rating", "label"),
    "group": (
        *("iteration", "iter", "group", "subtopic", "intent"),
        *("assessor", "reviewer", "annotator", "judge", "worker", "rater"),
    ),
    "pool_rank": ("pool_rank",),
    "probability": ("probability",),
    "method": ("method",),
    "stratum": ("stratum",),
    "model": ("model",),
    "prompt": ("prompt", "prompt_id"),
    "temperature": ("temperature",),
    "date": ("date",),
    "repeat": ("repeat",),
}  # in lower case, with _ in place of hyphens and spaces

NUMBERS = frozenset(
    {"score", "rank", "grade", "pool_rank", "probability", "method", "stratum", "repeat", "temperature"}
)
# Columns that no table of labels has: a grade beside the label, and names of people.
_NO_LABELS = frozenset(
    {"grade", "rel", "relevance", "rating", "assessor", "reviewer", "annotator", "worker", "rater"}
)

# Columns that stand beside the id in frames of PyTerrier and others: a query's text, an internal number.
_GIVES_WAY = {"query": {"topic", "topic_id", "query_id", "qid", "q_id"}, "docid": {"docno"}}
_BEIR = ("query-id", "corpus-id", "score")
_ALL_NAMES = frozenset(name for names in NAMES.values() for name in names)
_ROLES: dict[Kind, tuple[str, ...]] = {
    "run": ("topic", "doc", "score", "rank", "tag"),
    "qrels": ("topic", "doc", "grade", "group", "pool_rank", "probability", "method", "stratum"),
    "labels": (
        "topic", "doc", "grade", "group", "pool_rank", "probability", "method", "stratum",
        "model", "prompt", "temperature", "date", "repeat",
    ),
}  # fmt: skip
VALUE: dict[Kind, str] = {"run": "score", "qrels": "grade", "labels": "grade"}


class Records(NamedTuple):
    """Retrieved or judged documents, one per row: columns by role, with values as the source spells them."""

    columns: dict[str, Tokens]  # the keys are those of NAMES
    lines: Places | None = None  # the line of each row, from 1; None: row i is line i + 1
    numbers: Mapping[str, Numbers] = MappingProxyType({})  # columns of finite numbers that need no parsing
    tag: str | None = None  # the run's tag if no column holds it
    is_text: bool = False  # ids come from TREC text: they are not empty and have no control characters


def line_numbers(lines: Places | None, rows: Places) -> Places:
    """Return the line numbers of rows; without a list of lines, row i is line i + 1."""
    return rows + 1 if lines is None else lines[rows]


def fold_name(name: str) -> str:
    """Return the normalized form of a column name: Query-ID, query_id and `query id` are the same."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def is_header(names: Sequence[str]) -> bool:
    """Return whether a row names a topic column and a document column."""
    known = {fold_name(name) for name in names}
    return not known.isdisjoint(NAMES["topic"]) and not known.isdisjoint(NAMES["doc"])


def promises_judgments(source: str, names: Sequence[str] = ()) -> bool:
    """Return whether a table that could also be a run holds judgments: by file name, folder or BEIR header.

    BEIR stores judgments as qrels/test.tsv; no runs with its header are known.
    """
    path = PurePath(source)
    spelled = tuple(name.strip().lower() for name in names)
    return "qrel" in path.name.lower() or path.parent.name.lower() == "qrels" or spelled == _BEIR


def is_label_table(names: Sequence[str]) -> bool:
    """Return whether columns are those of a machine's labels, which are never read as judgments.

    They are topic, doc and label under these very names, or a label with a judge, model, prompt or
    temperature; and no person is named.
    """
    known = {fold_name(name) for name in names}
    marks = {"judge", *NAMES["model"], *NAMES["prompt"], *NAMES["temperature"]}
    marked = known >= {"topic", "doc"} or not known.isdisjoint(marks)
    return is_header(names) and "label" in known and marked and known.isdisjoint(_NO_LABELS)


def recognize(names: Sequence[str], kind: Kind, line: int, problems: Problems) -> dict[str, int]:
    """Return the position of each recognized column: {"topic": 0, "doc": 2, "score": 1}.

    A missing or repeated column is reported for `line`, and the result is then empty. BEIR calls a grade
    `score`, so judgments without another grade column use it. A run may have ranks in place of scores. A
    third column may have any unknown name.
    """
    spelled = [fold_name(name) for name in names]
    places: dict[str, int] = {}
    for role in _ROLES[kind]:
        found = [place for place, name in enumerate(spelled) if name in NAMES[role]]
        if role == "grade" and not found:
            found = [place for place, name in enumerate(spelled) if name == "score"]
        if len(found) > 1:
            present = {spelled[place] for place in found}
            found = [p for p in found if present.isdisjoint(_GIVES_WAY.get(spelled[p], ()))]
        if len(found) > 1:
            both = " and ".join(quote(names[place]) for place in found[:2])
            problems.note(line, f"the columns {both} both name the {role}; remove one of them")
            return {}
        if found:
            places[role] = found[0]
    value = VALUE[kind]
    if len(names) == 3 and {"topic", "doc"} == places.keys():
        (third,) = {0, 1, 2} - set(places.values())
        if spelled[third] not in _ALL_NAMES:
            places[value] = third
    for role in ("topic", "doc", value):
        if role not in places and not (role == "score" and "rank" in places):
            expected = ", ".join((*NAMES[role], *(("score",) if role == "grade" else ())))
            problems.note(
                line, f"no column for the {role} among {quote_list(names)}; expected one of {expected}"
            )
            return {}
    if kind == "qrels" and is_label_table(names):
        problems.note(
            line,
            "a column named label holds labels by a machine; expected judgments by people: use `sounding"
            f" estimate QRELS RUN... --labels {problems.source}`, or name the column grade if people judged",
        )
        return {}
    return places


class NumberText(str):
    """A number as a file spells it, to distinguish it from a quoted text."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """The members of a JSON object in order; a name may occur twice."""

    __slots__ = ()

    def get(self, name: str) -> Any:
        """Return the first member of this name; None if there is none."""
        return next((value for key, value in self if key == name), None)

    def has(self, name: str) -> bool:
        """Return whether there is a member of this name."""
        return any(key == name for key, _ in self)


def records_of_items(columns: dict[str, list[Any]], lines: Places | None, problems: Problems) -> Records:
    """Build records from Python values: ids are text or whole numbers, numeric columns hold only numbers.

    Rows with other values are reported and dropped.
    """
    count = len(columns["topic"])
    good = np.ones(count, np.bool_)
    texts: dict[str, list[str]] = {}
    for role, items in columns.items():
        spell = _spelled_number if role in NUMBERS else _spelled_id
        if set(map(type, items)) == {NumberText if role in NUMBERS else str}:
            spelled: list[str | None] = items
        else:
            spelled = [spell(item) for item in items]
        bad = np.array([row for row, text in enumerate(spelled) if text is None], np.int64)
        wanted = "a number without quotes" if role in NUMBERS else "a text"
        problems.add(
            line_numbers(lines, bad),
            lambda i, role=role, items=items, bad=bad, wanted=wanted: (  # type: ignore[misc]
                f"the {role} is {describe_value(items[bad[i]])}; expected {wanted}"
            ),
        )
        good[bad] = False
        texts[role] = ["" if text is None else text for text in spelled]
    rows = good.nonzero()[0]
    return Records(
        {role: _tokens(column, role, lines, problems)[rows] for role, column in texts.items()},
        line_numbers(lines, rows),
    )


def _spelled_id(item: Any) -> str | None:
    if isinstance(item, NumberText):
        return str(item) if item.lstrip("-").isdigit() else None
    if isinstance(item, str):
        return item
    if isinstance(item, Integral) and not isinstance(item, bool):
        return str(int(item))
    return None


def _spelled_number(item: Any) -> str | None:
    if isinstance(item, NumberText) or type(item).__name__ == "Decimal":
        return str(item)
    if isinstance(item, Integral) and not isinstance(item, bool):
        return str(int(item))
    return repr(float(item)) if isinstance(item, Real) and not isinstance(item, bool) else None


def _tokens(texts: list[str], role: str, lines: Places | None, problems: Problems) -> Tokens:
    try:
        return Tokens.from_strings(texts)
    except UnicodeEncodeError:
        # JSON and Python can contain half a character (a lone surrogate), which no file can hold.
        whole = [text.encode("utf-8", "replace").decode() for text in texts]
        bad = np.array([row for row, text in enumerate(texts) if text != whole[row]], np.int64)
        problems.add(
            line_numbers(lines, bad),
            lambda i: f"the {role} {quote(texts[bad[i]])} is not Unicode; expected whole characters",
        )
        return Tokens.from_strings(whole)


def describe_value(item: Any) -> str:
    """Return a value as error messages quote it."""
    if isinstance(item, NumberText):
        return f"the number {shorten(item)}"
    if isinstance(item, str):
        return f"the text {quote(str(item))}"
    if item is None or isinstance(item, bool):
        return {None: "null", True: "true", False: "false"}[item]
    if isinstance(item, list | dict):
        return "a list" if type(item) is list else "an object"
    return shorten(repr(item))


_FRAMES = (
    ("pandas", ("DataFrame",)), ("polars", ("DataFrame", "LazyFrame")), ("pyarrow", ("Table", "RecordBatch")),
)  # fmt: skip
# The attributes of the rows of ir_measures and ir_datasets, by role.
_ATTRIBUTES: dict[Kind, dict[str, str]] = {
    "run": {"topic": "query_id", "doc": "doc_id", "score": "score"},
    "qrels": {"topic": "query_id", "doc": "doc_id", "grade": "relevance"},
    "labels": {"topic": "query_id", "doc": "doc_id", "grade": "relevance"},
}


def is_frame(source: Any) -> bool:
    """Return whether an object is a data frame; only packages that are already imported are checked."""
    return any(
        isinstance(source, getattr(package, name))
        for module, names in _FRAMES
        if (package := sys.modules.get(module)) is not None
        for name in names
        if hasattr(package, name)
    )


def materialize(source: Any) -> Any:
    """Return a form that can be read repeatedly: collect a lazy frame, turn an iterator into a list."""
    if is_frame(source) and hasattr(source, "collect"):
        try:
            return source.collect()
        except Exception as error:  # any error of its query: a missing file, a wrong column
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(f"the lazy frame cannot be collected: {reason}") from error
    return list(source) if isinstance(source, Iterator) else source


def records_of_frame(frame: Any, kind: Kind, problems: Problems) -> Records | None:
    """Return the rows of a data frame, with columns recognized by name; problems count rows from 1.

    Ids may be text or whole numbers. Floating-point ids are refused, because 301.0 and 301 would be two
    topics.
    """
    frame = materialize(frame)
    places = recognize(_names(frame), kind, 1, problems)
    if not places:
        return None
    if not _count(frame):
        problems.note(1, "the table has no rows; expected at least one")
        return None
    columns = {role: _items(frame, place) for role, place in places.items()}
    return records_of_items(columns, None, problems)


def frames_by_run(frame: Any) -> list[Any]:
    """Split a data frame by its run column; return the frame itself if it holds one run."""
    place = recognize(_names(frame), "run", 1, Problems("run")).get("tag")
    if place is None:
        return [frame]
    rows: dict[Any, list[int]] = {}
    for row, tag in enumerate(_items(frame, place)):
        rows.setdefault(tag, []).append(row)
    if len(rows) < 2:
        return [frame]
    return [_some_rows(frame, own) for own in rows.values()]


def is_rows(source: Any) -> bool:
    """Return whether this is a list of ir_measures' ScoredDoc or Qrel, or of (topic, doc, number) tuples."""
    return (
        isinstance(source, Sequence)
        and not isinstance(source, str | bytes)
        and len(source) > 0
        and _is_row(source[0])
    )


def records_of_rows(rows: Sequence[Any], kind: Kind, problems: Problems) -> Records:
    """Build records from rows; the Qrel of ir_measures and ir_datasets also names the assessor."""
    wanted = _ATTRIBUTES[kind]
    if _has_attributes(rows[0]):
        for number, row in enumerate(rows, 1):
            for attribute in wanted.values():
                if not hasattr(row, attribute):
                    kinds = "ScoredDoc" if kind == "run" else "Qrel"
                    raise DataError(
                        f"{problems.source}: row {number} has no {attribute}; expected rows such as"
                        f" ir_measures' {kinds} ({', '.join(wanted.values())})"
                    )
        columns = {role: [getattr(row, name) for row in rows] for role, name in wanted.items()}
        if kind == "qrels" and all(hasattr(row, "iteration") for row in rows):
            columns["group"] = [row.iteration for row in rows]
    else:
        for number, row in enumerate(rows, 1):
            if not (isinstance(row, tuple) and len(row) == 3):
                raise DataError(
                    f"{problems.source}: row {number} is {describe_value(row)};"
                    f" expected (topic, doc, {VALUE[kind]})"
                )
        columns = {role: list(column) for role, column in zip(wanted, zip(*rows, strict=True), strict=True)}
    return records_of_items(columns, None, problems)


def _has_attributes(row: Any) -> bool:
    return hasattr(row, "query_id") and hasattr(row, "doc_id")


def _is_row(row: Any) -> bool:
    return _has_attributes(row) or (
        isinstance(row, tuple)
        and len(row) == 3
        and all(isinstance(item, str | Integral) for item in row[:2])
        and isinstance(row[2], Real)
    )


def _names(frame: Any) -> list[str]:
    """Return the column names; in pyarrow, `columns` holds the columns themselves."""
    return [str(name) for name in getattr(frame, "column_names", frame.columns)]


def _count(frame: Any) -> int:
    return int(frame.num_rows) if hasattr(frame, "num_rows") else len(frame)


def _items(frame: Any, place: int) -> list[Any]:
    """Return a column as Python values; by position, because two columns may share a name."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place].tolist()
    if hasattr(frame, "to_series"):
        return frame.to_series(place).to_list()
    return frame.column(place).to_pylist()


def _some_rows(frame: Any, rows: list[int]) -> Any:
    if hasattr(frame, "iloc"):
        return frame.iloc[rows]
    return frame[rows] if hasattr(frame, "to_series") else frame.take(rows)
