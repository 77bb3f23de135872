"""Read judgments of several assessors: a file for each, or one table or log that names the assessors.

Crowdsourced votes list a document several times; a named policy decides which grade counts. From a judgment
log, the judgments in force are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sounding.agree.command import By, Repeated
from sounding.agree.panel import LogCounts, Panel, Repeats, is_log, standing_records
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import plural
from sounding.data.assembly import checked_grades
from sounding.data.columns import (
    Records,
    describe_value,
    is_frame,
    is_rows,
    line_numbers,
    materialize,
    records_of_frame,
)
from sounding.data.delimited import read_delimited
from sounding.data.fast.numbers import parse_numbers
from sounding.data.fast.tokens import MARGIN, Tokens, Words
from sounding.data.formats import FORMATS, IRDS, TABLES, detect, read_qrels
from sounding.data.parquet import read_parquet
from sounding.data.problems import Problems
from sounding.data.sources import Content, plain_name, read_content
from sounding.data.structured import read_json, read_jsonl
from sounding.data.tables import Places, Qrels, byte_order
from sounding.data.trec_text import read_trec_qrels
from sounding.runs.align import apply_negative_policy

Grades = NDArray[np.float64]

MOST_WORDS = 8  # listed in a message


@dataclass(frozen=True, slots=True, eq=False)
class _JudgmentRows:
    """The judgments of one source, including repeated ones."""

    source: str
    name: str  # of the assessor, if the source has only one
    topics: list[str]  # (row,)
    docs: Tokens  # (row,)
    grades: Grades  # (row,) at least 0
    assessors: list[str] | None  # (row,); None: the source names no assessors
    log: LogCounts | None = None  # None: the source is not a judgment log


def read_panel(
    sources: Any,
    *,
    by: By | None = None,
    repeated: Repeated = "error",
    labels: Mapping[str, float] | None = None,
    policies: Policies = DEFAULT_POLICIES,
    format: str | None = None,  # noqa: A002 - the word that users know
) -> Panel:
    """Read the judgments of several assessors from files, frames, Qrels, or {assessor: any of these}.

    With by="file", a file belongs to one assessor, who is named after it. With by="column", a column of a
    table (the second of a TREC file) names the assessors. The default is "column" for a single source, and
    for a table or log that names more than one assessor. `labels` maps words to grades. `repeated` decides
    which grade counts if an assessor graded a document more than once; `error` refuses only contradictions.
    """
    if repeated not in SETTLING:
        raise UnknownNameError("policy for repeated judgments:", str(repeated), SETTLING)
    named = _named(sources)
    rows = [_read(source, name, labels or {}, policies, format) for name, source in named]
    parts = [part for one in rows for part in _by_assessor(one, by, alone=len(rows) == 1)]
    names = _unique_names(parts)
    panel = _panel([replace(part, name=name) for part, name in zip(parts, names, strict=True)], repeated)
    return replace(panel, logs=tuple(one.log for one in rows if one.log is not None))


def _named(sources: Any) -> list[tuple[str | None, Any]]:
    """Return (name or None, source) for each source."""
    if isinstance(sources, Mapping):
        if not sources:
            raise DataError("no judgments; give at least one file")
        return [(str(name), source) for name, source in sources.items()]
    sources = materialize(sources)
    if isinstance(sources, str | Path | Qrels) or is_frame(sources) or is_rows(sources):
        sources = [sources]
    if not isinstance(sources, Sequence):
        expected = "files, frames or {assessor: judgments}"
        raise DataError(f"cannot read judgments from {describe_value(sources)}; expected {expected}")
    if not sources:
        raise DataError("no judgments; give at least one file")
    _refuse_twice(sources)
    return [(None, source) for source in sources]


def _is_collection(source: Any) -> bool:
    return isinstance(source, str) and source.startswith(IRDS)


def _refuse_twice(sources: Sequence[Any]) -> None:
    """Refuse a file that is given for two assessors: they would agree perfectly."""
    given = [source.source if isinstance(source, Content) else source for source in sources]
    files = [str(source) for source in given if isinstance(source, str | Path)]
    places = [Path(file).resolve() for file in files]
    for number, (file, place) in enumerate(zip(files, places, strict=True)):
        if place in places[:number]:
            raise DataError(f"{file}: given twice; expected the judgments of different assessors")


def _read(
    source: Any, name: str | None, labels: Mapping[str, float], policies: Policies, form: str | None
) -> _JudgmentRows:
    content = source if isinstance(source, Content) else None
    source = source if content else materialize(source)
    if content is None and (isinstance(source, Qrels | Mapping) or is_rows(source) or _is_collection(source)):
        qrels = read_qrels(source, fractional=policies.fractional)
        topics = np.repeat(np.array(qrels.topics, object), qrels.sizes).tolist()
        who = None if qrels.groups is None else qrels.groups.texts()
        own = name or qrels.source
        return _judged_rows(qrels.source, own, topics, qrels.docs, qrels.grades, who, policies)
    log = None
    if not is_frame(source) and not isinstance(source, str | Path | Content):
        expected = "a file, a dict of dicts or a frame"
        raise DataError(f"cannot read judgments from {describe_value(source)}; expected {expected}")
    if is_frame(source):
        problems = Problems(name or "judgments")
        records = records_of_frame(source, "labels", problems)
    else:
        content = content or read_content(source)
        problems = Problems(content.source)
        form = _format(content, form)
        if form == "jsonl" and is_log(content):
            records, log = standing_records(content, problems)
        else:
            records = _records(content, form, problems)
    problems.refuse()
    if records is None or not len(records.columns["topic"]):
        raise FormatError(problems.source, None, "no judgments; expected at least one")
    grades = _grades(records, labels, problems, policies)
    _note_empty_ids(records, problems)
    problems.refuse()
    column = records.columns.get("group")
    rows = _judged_rows(
        problems.source, name or plain_name(problems.source), records.columns["topic"].texts(),
        records.columns["doc"], grades, None if column is None else column.texts(), policies,
    )  # fmt: skip
    return replace(rows, log=log)


def _judged_rows(
    source: str,
    name: str,
    topics: list[str],
    docs: Tokens,
    grades: Grades,
    assessors: list[str] | None,
    policies: Policies,
) -> _JudgmentRows:
    """Return the rows that hold a judgment, without documents that were pooled but not judged."""
    settled = apply_negative_policy(grades, policies.negative)
    rows = (settled >= 0).nonzero()[0]
    if not len(rows):
        raise DataError(f"{source}: every document is pooled and not judged; expected a grade of 0 or more")
    if len(rows) < len(settled):
        topics = [topics[row] for row in rows.tolist()]
        assessors = None if assessors is None else [assessors[row] for row in rows.tolist()]
    return _JudgmentRows(source, name, topics, docs[rows], settled[rows], assessors)


def _format(content: Content, form: str | None) -> str:
    if form is not None and form not in FORMATS:
        raise UnknownNameError("format", form, FORMATS)
    return form or detect(content, content.source)


def _records(content: Content, form: str, problems: Problems) -> Records | None:
    """Return the topic, document, grade and, if the file has it, assessor of each row."""
    if form in TABLES:
        readers = {
            "csv": read_delimited, "tsv": read_delimited, "json": read_json, "jsonl": read_jsonl,
            "parquet": read_parquet,
        }  # fmt: skip
        return readers[form](content, "labels", problems)
    if form != "trec":
        raise FormatError(
            content.source, None, f"judgments in the format {form} are a sample; expected qrels or a table"
        )
    return read_trec_qrels(content, problems, groups=True)


def _note_empty_ids(records: Records, problems: Problems) -> None:
    for role in ("topic", "doc", "group"):
        column = records.columns.get(role)
        rows = np.empty(0, np.int64) if column is None else (column.length == 0).nonzero()[0]
        what = "assessor" if role == "group" else role
        problem = f"the {what} is empty; expected a name"
        problems.add(line_numbers(records.lines, rows), lambda _, problem=problem: problem)  # type: ignore[misc]


def _grades(records: Records, labels: Mapping[str, float], problems: Problems, policies: Policies) -> Grades:
    """Return the grades as numbers, with words translated by `labels`."""
    column = records.columns["grade"]
    if labels:
        known = {word: repr(float(grade)) for word, grade in labels.items()}
        column = Tokens.from_strings(known.get(word, word) for word in column.texts())
    words = parse_numbers(column)[1].nonzero()[0]
    different = sorted(set(column[words].texts()))
    wanted = " ".join(f"--word {word}=G" for word in different[:MOST_WORDS])
    problems.add(
        line_numbers(records.lines, words),
        lambda i: (
            f"the grade {column.text(int(words[i]))!r} is a word; give each of"
            f" {len(different):,} its grade G: {wanted}"
        ),
    )
    problems.refuse()
    return checked_grades(column, records.lines, policies.fractional, problems)


def _by_assessor(rows: _JudgmentRows, by: By | None, *, alone: bool) -> list[_JudgmentRows]:
    """Split a source by assessor."""
    who = rows.assessors
    several = who is not None and len(set(who)) > 1
    if by == "column" and who is None:
        raise DataError(f"{rows.source}: no column says who judged; expected one named assessor")
    numbers = by is None and not alone and rows.log is None
    if by == "file" or not several or who is None or (numbers and _is_trec(who)):
        return [replace(rows, assessors=None)]
    places = np.array(who, object)
    parts = []
    for name in dict.fromkeys(who):
        chosen = (places == name).nonzero()[0]
        topics = [rows.topics[row] for row in chosen.tolist()]
        parts.append(_JudgmentRows(rows.source, name, topics, rows.docs[chosen], rows.grades[chosen], None))
    return parts


def _is_trec(who: Sequence[str]) -> bool:
    """Return whether the column looks like TREC's iteration, a number that hardly ever says who judged."""
    return all(name.isdigit() or name == "Q0" for name in set(who))


def _unique_names(parts: Sequence[_JudgmentRows]) -> list[str]:
    """Return a unique name for each assessor, prefixed by the source if two sources share a name."""
    given = [part.name for part in parts]
    names = []
    for part, name in zip(parts, given, strict=True):
        source = plain_name(part.source)
        names.append(f"{source}/{name}" if given.count(name) > 1 and name != source else name)
    return [
        name if name not in names[:place] else f"{name}#{1 + names[:place].count(name)}"
        for place, name in enumerate(names)
    ]


def _panel(parts: Sequence[_JudgmentRows], repeated: Repeated) -> Panel:
    """Join all parts under one numbering of (topic, document) pairs."""
    topics = sorted({topic for part in parts for topic in part.topics}, key=byte_order)
    number = {topic: place for place, topic in enumerate(topics)}
    topic = np.concatenate([np.array([number[name] for name in part.topics], np.int64) for part in parts])
    assessor = np.repeat(np.arange(len(parts)), [len(part.docs) for part in parts])
    docs = _joined([part.docs for part in parts])
    grades = np.concatenate([part.grades for part in parts])

    words = docs.words()
    order = np.lexsort([assessor, *[word.byteswap() for word in words[::-1]], topic])
    pair_starts = _changes([topic[order], *[word[order] for word in words]])
    pair = np.cumsum(pair_starts) - 1
    head = _changes([pair, assessor[order]]).nonzero()[0]
    names = tuple(part.name for part in parts)
    describe = _describer(parts, docs, order)
    grade, repeats = _settle(names, grades[order], head, assessor[order], describe, repeated)

    first = order[pair_starts]
    table = np.full((len(first), len(parts)), np.nan)
    table[pair[head], assessor[order[head]]] = grade
    counts = np.bincount(topic[first], minlength=len(topics))
    return Panel(
        assessors=names, topics=tuple(topics),
        starts=np.concatenate([[0], np.cumsum(counts)]), docs=docs[first].compact(), grades=table,
        repeats=repeats,
    )  # fmt: skip


def _joined(columns: Sequence[Tokens]) -> Tokens:
    """Concatenate the texts of several buffers."""
    packed = [column.compact() for column in columns]
    sizes = np.array([int(column.length.sum()) for column in packed])
    shifts = np.cumsum(sizes) - sizes
    pieces = [column.buffer[:size] for column, size in zip(packed, sizes.tolist(), strict=True)]
    return Tokens(
        np.concatenate([*pieces, np.zeros(MARGIN, np.uint8)]),
        np.concatenate([column.start + shift for column, shift in zip(packed, shifts, strict=True)]),
        np.concatenate([column.length for column in packed]),
    )


def _changes(columns: Sequence[NDArray[np.int64] | Words]) -> NDArray[np.bool_]:
    """Return where a row differs from the one before it in any column."""
    changes = np.ones(len(columns[0]), np.bool_)
    changes[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return changes


# -- repeated rows ---------------------------------------------------------------------------------

Describe = Callable[[int], str]


def _describer(parts: Sequence[_JudgmentRows], docs: Tokens, order: Places) -> Describe:
    """Return a function that names the topic and document at a place in the order."""
    ends = np.cumsum([len(part.docs) for part in parts])

    def describe(place: int) -> str:
        row = int(order[place])
        part = int(np.searchsorted(ends, row, side="right"))
        topic = parts[part].topics[row - (int(ends[part - 1]) if part else 0)]
        return f"topic {topic}, document {docs.text(row)!r}"

    return describe


def _lower_median(grades: Grades, head: Places, sizes: Places) -> Grades:
    ordered = grades[np.lexsort([grades, np.repeat(np.arange(len(head)), sizes)])]
    return ordered[head + (sizes - 1) // 2]


# Policy -> function that returns one grade for each group of rows; `head` holds where the groups begin.
SETTLING: dict[str, Callable[[Grades, Places, Places], Grades]] = {
    "error": lambda grades, head, _: grades[head],
    "first": lambda grades, head, _: grades[head],
    "last": lambda grades, head, sizes: grades[head + sizes - 1],
    "highest": lambda grades, head, _: np.maximum.reduceat(grades, head),
    "lowest": lambda grades, head, _: np.minimum.reduceat(grades, head),
    "majority": _lower_median,  # the highest grade that more than half of the rows gave or exceeded
    "mean": lambda grades, head, sizes: np.add.reduceat(grades, head) / sizes,
}


def _settle(
    names: Sequence[str],
    grades: Grades,
    head: Places,
    assessor: Places,
    describe: Describe,
    repeated: Repeated,
) -> tuple[Grades, tuple[Repeats, ...]]:
    """Return one grade for each group of rows with the same assessor and document, and what was repeated."""
    sizes = np.diff(head, append=len(grades))
    differ = SETTLING["lowest"](grades, head, sizes) != SETTLING["highest"](grades, head, sizes)
    if repeated == "error" and differ.any():
        place = int(head[differ][0])
        seen = sorted(set(grades[place : place + int(sizes[differ][0])].tolist()))
        count = int(np.count_nonzero(differ))
        raise DataError(
            f"{names[int(assessor[place])]}: {describe(place)} has the grades"
            f" {' and '.join(f'{grade:g}' for grade in seen)} ({plural(count, 'such document')});"
            " choose what counts with --repeated majority, first, last, highest, lowest or mean"
        )
    repeats = []
    for number, name in enumerate(names):
        mine = (sizes > 1) & (assessor[head] == number)
        if not mine.any():
            continue
        example = (mine & differ if (mine & differ).any() else mine).nonzero()[0][0]
        repeats.append(
            Repeats(
                assessor=name, pairs=int(np.count_nonzero(mine)), rows=int((sizes[mine] - 1).sum()),
                contradictory=int(np.count_nonzero(mine & differ)), policy=repeated,
                example=describe(int(head[example])),
            )
        )  # fmt: skip
    return SETTLING[repeated](grades, head, sizes), tuple(repeats)
