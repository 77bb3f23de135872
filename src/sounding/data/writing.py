"""Write runs and judgments to files that read back identically; never a partial file."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.files import write_file
from sounding.core.text import quote
from sounding.data.formats import read_qrels, read_run
from sounding.data.sources import compress_zstd
from sounding.data.tables import Numbers, Places, Qrels, Run, byte_order

QrelsFormat = Literal["trec", "tsv"]
NOT_JUDGED = -1  # the grade of a document that was pooled and not judged

_BLANKS = re.compile(r"[\x00-\x20]")  # the reader of TREC text ends a field at these
_TABS = re.compile(r"[\x00-\x1f]|^ | $")  # the reader of a table removes blanks around a field
_COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, 6, mtime=0),  # the same bytes every time
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": compress_zstd,
}


def write_run(run: Any, path: str | Path) -> None:
    """Write TREC's six columns: documents in run order, ranks from 1 unless known, exact scores.

    The run is anything that `read_run` reads. A name that ends in gz, bz2, xz or zst is compressed. The file
    appears complete or not at all.
    """
    write_packed("".join(run_lines(read_run(run))), path)


def run_lines(run: Run) -> list[str]:
    """Return the lines of a run as TREC text, with its own ranks if it has any."""
    _refuse_unwritable([run.tag], "tag", run.source)
    topics = _column(run.topics, "topic", run.source)
    docs = _column(run.docs.texts(), "document", run.source)
    ranks = (
        np.arange(len(docs)) - np.repeat(run.starts[:-1], run.sizes) + 1 if run.ranks is None else run.ranks
    )
    return [
        f"{topic} Q0 {doc} {rank} {score!r} {run.tag}\n"
        for topic, doc, rank, score in zip(
            _repeat(topics, run.sizes), docs, _spell(ranks), run.scores.tolist(), strict=True
        )
    ]


def spaced_lines(*columns: Iterable[object]) -> str:
    """Return columns as lines with blanks between the cells; a cell that holds a blank is refused."""
    kept = [list(column) for column in columns]
    for text in dict.fromkeys(cell for column in kept for cell in column if isinstance(cell, str)):
        if len(text.split()) != 1:
            raise DataError(
                f"id {text!r} has a blank, which lines cannot hold; write a table with -o FILE.csv"
            )
    return "".join(" ".join(map(str, row)) + "\n" for row in zip(*kept, strict=True))


def qrels_template(documents: Iterable[tuple[str, str]]) -> str:
    """Return qrels to fill in, a line for each topic and doc: grade -1 means that it is not judged."""
    rows = sorted(documents, key=lambda row: (byte_order(row[0]), byte_order(row[1])))
    topics, docs = [topic for topic, _ in rows], [doc for _, doc in rows]
    return spaced_lines(topics, ["0"] * len(rows), docs, [NOT_JUDGED] * len(rows))


def write_qrels(qrels: Any, path: str | Path, *, format: QrelsFormat | None = None) -> None:  # noqa: A002
    """Write TREC's four columns (trec), or tab-separated columns with a header (tsv).

    Without a format, tsv is used if there is information that TREC's columns cannot hold: pool ranks,
    sampling probabilities, or ids with blanks. Topics without judgments are not written. The judgments are
    anything that `read_qrels` reads.
    """
    qrels = read_qrels(qrels, fractional="accept")
    sampling = qrels.sampling
    texts = [
        ("topic", list(qrels.topics)),
        ("document", qrels.docs.texts()),
        *([] if qrels.groups is None else [("group", qrels.groups.texts())]),
    ]
    form = format or ("tsv" if sampling or any(_has_blank(column) for _, column in texts) else "trec")
    if form not in ("trec", "tsv"):
        raise UnknownNameError("format of judgments", form, ("trec", "tsv"))
    for what, column in texts:
        _refuse_unwritable(column, what, qrels.source, tabbed=form == "tsv")
    topics, docs = _repeat(texts[0][1], qrels.sizes), texts[1][1]
    grades = _spell(qrels.grades)
    groups = None if qrels.groups is None else texts[2][1]
    if form == "trec":
        rows = zip(topics, groups or ["0"] * len(docs), docs, grades, strict=True)
        write_packed("".join(" ".join(row) + "\n" for row in rows), path)
        return
    columns = {"topic": _quote_cells(topics), "doc": _quote_cells(docs), "grade": grades}
    if groups is not None:
        columns["group"] = _quote_cells(groups)
    ordered = ("pool_rank", "method", "probability", "stratum")
    columns |= {name: _spell(sampling[name]) for name in ordered if name in sampling}
    lines = ["\t".join(row) for row in zip(*columns.values(), strict=True)]
    write_packed("\n".join(["\t".join(columns), *lines]) + "\n", path)


def write_preferences(qrels: Qrels, path: str | Path) -> None:
    """Write preferences: topic, group, subgroup, document and level, as `-R prefs` of trec_eval reads them.

    Of judgments, the documents that one group judged for a topic are compared with each other.
    """
    count = len(qrels.docs)
    columns = {
        "topic": _repeat(list(qrels.topics), qrels.sizes),
        "group": ["0"] * count if qrels.groups is None else qrels.groups.texts(),
        "subgroup": ["0"] * count if qrels.parts is None else qrels.parts.texts(),
        "document": qrels.docs.texts(),
    }
    for what, column in columns.items():
        _refuse_unwritable(column, what, qrels.source)
    rows = zip(*columns.values(), _spell(qrels.grades), strict=True)
    write_packed("".join(" ".join(row) + "\n" for row in rows), path)


def _column(texts: Iterable[str], what: str, source: str) -> list[str]:
    column = list(texts)
    _refuse_unwritable(column, what, source)
    return column


def _has_blank(texts: list[str]) -> bool:
    return any(" " in text for text in texts)


def _refuse_unwritable(texts: list[str], what: str, source: str, *, tabbed: bool = False) -> None:
    """Refuse texts that end a field or begin a comment; a column between tabs may contain blanks."""
    ends_field = _TABS if tabbed else _BLANKS
    for text in texts:
        if not text or ends_field.search(text) or (what == "topic" and text.startswith("#")):
            seen = f"{what} {quote(text)}"
            problem = f"{source}: {seen} cannot be written as a column; remove blanks and a leading #"
            raise DataError(problem)


def _repeat(topics: list[str], sizes: Places) -> list[str]:
    return [topic for topic, size in zip(topics, sizes.tolist(), strict=True) for _ in range(size)]


def _quote_cells(texts: list[str]) -> list[str]:
    """Quote the texts that contain a quotation mark, as in CSV."""
    return ['"' + text.replace('"', '""') + '"' if '"' in text else text for text in texts]


def _spell(values: Numbers | Places) -> list[str]:
    """Format numbers so that they read back exactly; whole numbers have no decimal point."""
    return [str(int(value)) if value == int(value) else repr(value) for value in values.tolist()]


def write_packed(text: str, target: str | Path) -> None:
    """Write text, compressed if the file name says so."""
    if not isinstance(target, str | Path):
        raise DataError(f"cannot write to an object of type {type(target).__name__}; expected a file name")
    path = Path(target)
    data = text.encode("utf-8", "surrogateescape")
    compress = _COMPRESSED.get(path.suffix.lower())
    data = data if compress is None else compress(data)
    write_file(path, data)
