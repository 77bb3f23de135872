"""Read labels: what machines say about documents, with the name of each machine; never read as judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.core.text import plural, quote
from sounding.data.assembly import checked_numbers
from sounding.data.columns import Records, is_label_table, materialize
from sounding.data.delimited import first_fields
from sounding.data.formats import (
    TABLES,
    detect,
    is_in_memory,
    is_one_table,
    known_format,
    path_of,
    records_in_memory,
    records_of_file,
)
from sounding.data.problems import Problems
from sounding.data.sources import Content, plain_name, read_content
from sounding.data.tables import Numbers, Qrels

FACTS = ("model", "prompt", "temperature", "date")  # facts that a label file may give about its machine
MOST_VALUES = 3  # of a fact that are listed


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Labels:
    """The labels of one machine; the grades of the table are its labels."""

    judge: str  # the machine's name
    table: Qrels
    facts: Mapping[str, str]  # model, prompt, temperature and date, as far as the file says

    def __repr__(self) -> str:
        return f"<Labels by {quote(self.judge)}: {plural(len(self.table.docs), 'label')}>"

    @property
    def described(self) -> str:
        """The judge's name with what is known about it: `gpt-4 (prompt umbrela-1, temperature 0)`."""
        known = [f"{name} {text}" for name, text in self.facts.items() if text != self.judge]
        return f"{self.judge} ({', '.join(known)})" if known else self.judge


def read_labels(
    sources: Any,
    *,
    judges: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the word that users know
) -> list[Labels]:
    """Read the labels of one or several machines from files, frames, dicts, or {judge: any of these}.

    A table with a column `label` names its judge in a column `judge` or `model`. Any other file of judgments
    holds labels only if `judges` names the machine: one name for each such source, in their order.
    """
    left = list(judges)
    found: list[Labels] = []
    for name, source in _named(sources):
        if isinstance(source, Labels):
            found.append(source if name is None else replace(source, judge=name))
            continue
        found += _labels_of(_rows_of(source, format), name, left)
    if left:
        raise UnknownNameError("judge", left[0], [one.judge for one in found])
    names = [one.judge for one in found]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"two sources hold labels by {quote(name)}; expected each judge once")
    return found


def split_judges(source: Any, judges: Sequence[str]) -> tuple[Qrels, list[Labels]]:
    """Split a file that holds judgments and labels: rows whose assessor is one of `judges` are labels."""
    rows = _rows_of(source, None)
    if rows.judges is None:
        raise DataError(
            f"{rows.source}: no column says who judged, so its labels cannot be separated;"
            " give the labels as a file of their own with --labels"
        )
    for judge in judges:
        if judge not in rows.judges:
            raise UnknownNameError("judge", judge, sorted(set(rows.judges.tolist())))
    people = ~np.isin(rows.judges, np.array(judges, object))
    if not people.any():
        raise DataError(f"{rows.source}: all rows are labels by {judges[0]}; expected judgments by people")
    human = rows.keep(people)
    table = Qrels.from_columns(
        human.topics.tolist(), human.docs.tolist(), human.labels.tolist(), source=rows.source,
        probabilities=None if human.probabilities is None else human.probabilities.tolist(),
    )  # fmt: skip
    return table, [_labels(rows.keep(rows.judges == judge), judge) for judge in judges]


def looks_like_labels(content: Content) -> bool:
    """Return whether a file is a table of labels, by the names of its columns."""
    form = detect(content, content.source)
    if form in ("csv", "tsv"):
        return is_label_table(first_fields(content))
    if form not in TABLES:
        return False
    problems = Problems(content.source)
    try:
        records_of_file(content, "qrels", form, problems, more=False)
    except FormatError:  # no table at all: whoever reads the file says what is wrong with it
        return False
    return any(problem.text.startswith("a column named label") for problem in problems.found)


def parse_labels(content: Content, problems: Problems) -> list[Labels]:
    """Parse a table of labels; problems are reported, and raised only if nothing can be read."""
    records = records_of_file(content, "labels", detect(content, content.source), problems, more=False)
    rows = _rows(records, problems, marked=True)
    return [] if problems.found else _labels_of(rows, None, [])


class _LabelRows(NamedTuple):
    """The rows of a source in file order."""

    source: str
    marked: bool  # its columns say that it holds labels
    topics: NDArray[np.object_]
    docs: NDArray[np.object_]
    labels: Numbers
    judges: NDArray[np.object_] | None
    probabilities: Numbers | None
    repeated: bool  # a judge may label a document several times
    facts: Mapping[str, NDArray[np.object_]]

    def keep(self, chosen: NDArray[np.bool_]) -> _LabelRows:
        """Return only these rows."""
        return self._replace(
            topics=self.topics[chosen], docs=self.docs[chosen], labels=self.labels[chosen],
            judges=None if self.judges is None else self.judges[chosen],
            probabilities=None if self.probabilities is None else self.probabilities[chosen],
            facts={name: column[chosen] for name, column in self.facts.items()},
        )  # fmt: skip


def _named(sources: Any) -> list[tuple[str | None, Any]]:
    """Return every source with the judge that the caller named, if any."""
    sources = materialize(sources)
    if isinstance(sources, Mapping) and not is_one_table(sources):
        return [(str(name), materialize(source)) for name, source in sources.items()]
    if isinstance(sources, str | Path | Labels) or is_in_memory(sources):
        return [(None, sources)]
    if not isinstance(sources, Iterable):
        raise DataError(f"cannot read labels from an object of type {type(sources).__name__}")
    return [(None, materialize(source)) for source in sources]


def _rows_of(source: Any, form: str | None) -> _LabelRows:
    """Return the rows of a source; the first problem is raised."""
    if isinstance(source, Qrels):
        topics = np.repeat(np.array(source.topics, object), source.sizes)
        docs = np.array(source.docs.texts(), object)
        judges = None if source.groups is None else np.array(source.groups.texts(), object)
        return _LabelRows(
            source.source, False, topics, docs, source.grades, judges, source.probabilities, False, {}
        )
    if is_in_memory(source):
        problems = Problems("labels")
        names = getattr(source, "column_names", getattr(source, "columns", ()))
        records = records_in_memory(source, "labels", problems)
        rows = _rows(records, problems, marked=is_label_table([str(name) for name in names]))
    else:
        content = read_content(path_of(source))
        problems = Problems(content.source)
        form = known_format(form) or detect(content, content.source)
        if form in ("prels", "strata"):
            raise FormatError(content.source, None, f"labels in the format {form}; expected a table or qrels")
        marked = form in TABLES and looks_like_labels(content)
        records = records_of_file(content, "labels", form, problems, more=True)
        rows = _rows(records, problems, marked=marked)
    problems.refuse()
    if not len(rows.docs):
        raise FormatError(rows.source, None, "no labels; expected at least one")
    return rows


def _rows(records: Records, problems: Problems, *, marked: bool) -> _LabelRows:
    columns = {
        name: np.array(column.texts(), object) for name, column in records.columns.items() if name != "grade"
    }
    labels = records.numbers.get("grade")
    if labels is None:
        labels = checked_numbers(records.columns["grade"], records.lines, "label", problems)
    chances = records.columns.get("probability")
    probabilities = (
        None if chances is None else checked_numbers(chances, records.lines, "probability", problems)
    )
    return _LabelRows(
        problems.source, marked, columns["topic"], columns["doc"], labels,
        columns.get("group", columns.get("model")), probabilities,
        "repeat" in records.columns or "repeat" in records.numbers,
        {name: columns[name] for name in FACTS if name in columns},
    )  # fmt: skip


def _labels_of(rows: _LabelRows, name: str | None, left: list[str]) -> list[Labels]:
    """Return the labels in a source; take the name of its judge from `left` if nothing else says it."""
    if name is None and not rows.marked:
        if not left:
            raise DataError(
                f"{rows.source}: nothing says that these are labels; add --judge NAME (the machine that"
                " gave them), or write a table with the columns topic, doc, label and judge"
            )
        name = left.pop(0)
    if name is None and rows.judges is None:
        name = left.pop(0) if left else plain_name(rows.source)
    if name is not None or rows.judges is None:
        return [_labels(rows, name or "machine")]
    names = dict.fromkeys(rows.judges.tolist())
    return [_labels(rows.keep(rows.judges == judge), judge) for judge in names]


def _labels(rows: _LabelRows, judge: str) -> Labels:
    """Build the table of one judge; repeated labels of a document become their mean."""
    topics, docs, labels = rows.topics.tolist(), rows.docs.tolist(), rows.labels
    if rows.repeated:
        places: dict[tuple[str, str], int] = {}
        own = [places.setdefault(pair, len(places)) for pair in zip(topics, docs, strict=True)]
        labels = np.bincount(own, labels) / np.bincount(own)
        topics, docs = [topic for topic, _ in places], [doc for _, doc in places]
    facts = {}
    for name, column in rows.facts.items():
        values = [text for text in dict.fromkeys(column.tolist()) if text]
        if values:
            more = ["..."] if len(values) > MOST_VALUES else []
            facts[name] = ", ".join([*values[:MOST_VALUES], *more])
    table = Qrels.from_columns(topics, docs, labels.tolist(), source=rows.source)
    return Labels(judge=judge, table=table, facts=facts)
