"""Runs and judgments from any format to Parquet, and back to TREC's text; a run may be larger than memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sounding.core.arrays import spread
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.files import atomic_path, locate_file, write_file
from sounding.core.lazy import polars
from sounding.core.policies import Duplicates, Fractional
from sounding.core.text import plural, quote
from sounding.core.workers import Progress, run_in_child
from sounding.data.columns import NAMES, Kind, fold_name, promises_judgments
from sounding.data.comparisons import graded
from sounding.data.corpus import read_corpus
from sounding.data.delimited import first_fields, first_record
from sounding.data.fast.tokens import Tokens
from sounding.data.formats import detect, parse_preferences, parse_qrels, parse_run
from sounding.data.large_files import (
    Part,
    collect_topics,
    is_large,
    read_head,
    read_part,
    scale_progress,
    split_parts,
    steps_to_read,
    topics_and_rows,
    unpack,
)
from sounding.data.layouts import NOBODY, JsonLayout, write_judgments, write_tasks
from sounding.data.parquet import check_polars, column_of, readable
from sounding.data.problems import Problems
from sounding.data.sources import STDIN, Content, open_zstd, plain_name, read_content
from sounding.data.structured import layout_of
from sounding.data.tables import Places, Qrels, Run, byte_order
from sounding.data.topics import read_topics
from sounding.data.writing import run_lines, write_packed, write_preferences, write_qrels

GROUP = 1 << 20  # rows that Parquet keeps together: what is skipped, or read, at once
PARQUET = (".parquet", ".parq", ".pq")
PACKED = (".gz", ".bz2", ".xz", ".zst")
# Suffixes of formats that are not written; any other is part of a name, such as input.bm25.
OTHER_FORMATS = frozenset({
    ".csv", ".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml", ".xml", ".html", ".md", ".tex", ".pdf",
    ".docx", ".xlsx", ".ods", ".arrow", ".feather", ".ipc", ".avro", ".orc", ".h5", ".pkl", ".pickle", ".npy",
    ".npz", ".db", ".sqlite", ".duckdb", ".zip", ".tar",
})  # fmt: skip


Target = Literal["parquet", "trec", "prefs", "rank_eval", "opensearch", "quepid", "label-studio", "argilla"]
TARGETS: tuple[Target, ...] = get_args(Target)


@dataclass(frozen=True, slots=True)
class _Shape:
    """JsonLayout and kind of a file, as its beginning shows."""

    form: str
    names: frozenset[str]  # of its columns, as they are compared; of formats with such
    judgments: bool  # True: its name or its header promises some
    fields: int  # in the first line
    layout: JsonLayout | None = None  # of another tool's JSON

    @property
    def kind(self) -> Kind:
        """Run or judgments: by the columns, and where these do not decide, by the name of the file."""
        if self.layout is not None:
            return self.layout.kind
        if self.form == "prefs":
            return "qrels"
        if self.form in ("trec", "prels", "strata"):
            return "run" if self.fields >= 6 else "qrels"
        if not self.names.isdisjoint(NAMES["grade"]):
            return "qrels"
        if not self.names.isdisjoint((*NAMES["rank"], *NAMES["tag"])):
            return "run"
        return "qrels" if self.judgments else "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """Record of a conversion: source, target and their formats."""

    source: str
    target: str
    kind: Kind  # run or qrels
    format: Target  # of the target
    notes: tuple[str, ...] = ()  # what the target holds beyond the source


def convert(
    source: str | Path,
    target: str | Path,
    *,
    kind: Kind | None = None,
    to: Target | None = None,
    format: str | None = None,  # noqa: A002 - the word that users know
    duplicates: Duplicates = "error",
    fractional: Fractional = "refuse",
    ranks: bool = True,
    topics: str | Path | None = None,
    corpus: str | Path | None = None,
    progress: Progress | None = None,
) -> Conversion:
    """Write a run or judgments to another file, as Parquet or TREC's text; the target's name says which.

    Judgments can also become what Elasticsearch (rank_eval), OpenSearch or Quepid import; the target's name,
    without its suffix, is then the index, judgment list or book. Documents of grade -1, which are pooled and
    not judged, become tasks for Label Studio or Argilla, with the texts of a corpus and of topics.

    Topics stand in byte order, documents in the order of the source. A Parquet file has typed columns
    (topic, doc, score, rank, tag; topic, doc, grade and what else is known) and is compressed. Without
    `ranks` the rank column is left out, and TREC's text gets ranks from 1.
    """
    path = locate_file(target)
    form: Target = to or _form_of_name(path)
    if form not in TARGETS:
        raise UnknownNameError("format to convert to", form, TARGETS)
    check_target(target, to)
    if corpus is None and form in ("label-studio", "argilla"):
        raise DataError(f"tasks for {form} show the documents; name the files of their texts with --corpus")
    if str(source) == STDIN:
        raise DataError("standard input can be read only once; expected a file to convert")
    content = None if is_large(source, format) else read_content(source)
    shape = _shape(source, content, format)
    kind = kind or shape.kind
    if kind != "qrels" and form not in ("parquet", "trec"):
        raise DataError(f"{source}: a run; {form} is a format of judgments, so write parquet or trec")
    notes: tuple[str, ...] = ()
    if kind == "qrels":
        raters = shape.layout is not None and shape.layout.raters and form not in ("rank_eval", "opensearch")
        grouped = shape.form == "trec" or raters or not shape.names.isdisjoint(NAMES["group"])
        content = content or read_content(source)
        problems = Problems(content.source)
        if shape.form == "prefs":
            qrels = parse_preferences(content, problems, duplicates=duplicates)
        else:
            qrels = parse_qrels(
                content, problems, format=format, duplicates=duplicates, fractional=fractional, groups=grouped
            )
        problems.refuse()
        if shape.form == "prefs" and form != "prefs":
            qrels, added = graded(qrels)
            notes = (f"{source}: {AS_GRADES}{ALSO_ORDERED.format(plural(added, 'pair')) if added else ''}",)
        if form in ("label-studio", "argilla"):
            write_packed(_tasks(qrels, form, topics, corpus), path)
        else:
            _convert_qrels(_without_idle_groups(qrels), path, form)
    else:
        with_ranks = ranks and (shape.form == "trec" or not shape.names.isdisjoint(NAMES["rank"]))
        with _sorted_blocks(source, content, format, duplicates, with_ranks, progress) as (tag, blocks):
            if form == "parquet":
                _write_table(blocks, tag, path, with_ranks=with_ranks)
            else:
                _write_text(blocks, tag, path)
    return Conversion(source=str(source), target=str(target), kind=kind, format=form, notes=notes)


AS_GRADES = "the preferences were written as grades by each person"
ALSO_ORDERED = ", which also order {} of documents that the preferences leave open"


def _tasks(qrels: Qrels, form: Any, topics: str | Path | None, corpus: Any) -> str:
    """Return the documents that are pooled and not judged as tasks, in the order of the judgments."""
    names = np.repeat(np.array(qrels.topics, object), qrels.sizes).tolist()
    judged = zip(names, qrels.docs.texts(), qrels.grades.tolist(), strict=True)
    pairs = [(topic, doc) for topic, doc, grade in judged if grade < 0]
    if not pairs:
        raise DataError(
            f"{qrels.source}: every document is judged; expected some with grade -1, as `pool` writes"
        )
    wanted = {doc for _, doc in pairs}
    sources = [corpus] if isinstance(corpus, str | Path) else corpus
    texts = {document.doc: document.text for document in read_corpus(sources, wanted)}
    missing = sorted(wanted - texts.keys())
    if missing:
        raise DataError(
            f"{plural(len(missing), 'document')} without a text in the corpus, first {quote(missing[0])};"
            " expected the same ids"
        )
    found = None if topics is None else read_topics(topics)
    queries = {} if found is None else dict(zip(found.ids, found.titles, strict=True))
    return write_tasks(pairs, queries, texts, form)


def _shape(source: str | Path, content: Content | None, form: str | None) -> _Shape:
    """Return layout and kind of a file from its beginning; `content` is all of it, where it is not large."""
    head = read_head(source) if content is None else content
    known = form or detect(head, source)
    if known == "parquet":
        columns = run_in_child(lambda: _column_names(source, content))
        return _Shape(known, frozenset(map(fold_name, columns)), promises_judgments(str(source), columns), 0)
    if known in ("csv", "tsv"):
        names = first_fields(head)
        judgments = promises_judgments(str(source), names)
        return _Shape(known, frozenset(map(fold_name, names)), judgments, len(names))
    judgments, fields = promises_judgments(str(source)), len(first_record(head).split())
    layout = None if content is None else layout_of(content, known)
    return _Shape(known, frozenset(), judgments, fields, layout)


def _column_names(source: str | Path, content: Content | None) -> list[str]:
    check_polars(str(source))
    with readable(str(source)):
        if content is not None:
            return list(polars.read_parquet_schema(io.BytesIO(content.view)))
        with unpack(source, "parquet") as table:
            return polars.scan_parquet(locate_file(table.file)).collect_schema().names()


def _form_of_name(path: Path) -> Target:
    """Return what the name of a file promises: Parquet, preferences, or otherwise TREC's text."""
    if path.suffix.lower() in PARQUET:
        return "parquet"
    name = path.with_suffix("") if path.suffix.lower() in PACKED else path
    return "prefs" if name.suffix.lower() == ".prefs" else "trec"


def check_target(target: str | Path, to: str | None = None) -> None:
    """An error where the name of a file promises what is not written."""
    suffixes = [suffix.lower() for suffix in Path(target).suffixes]
    packed = bool(suffixes) and suffixes[-1] in PACKED
    promised = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    if packed and (to == "parquet" or promised in PARQUET):
        raise DataError(f"{target}: Parquet is compressed by itself; leave {suffixes[-1]!r} out")
    if to is None and promised in OTHER_FORMATS:
        raise DataError(
            f"{target}: {promised!r} is not written; use .parquet, or .txt for TREC's text, or say what to"
            " write and keep the name"
        )


def _without_idle_groups(qrels: Qrels) -> Qrels:
    """The judgments without the column that says who judged, where it names nobody (0 in TREC)."""
    if qrels.groups is None or set(qrels.groups.texts()) - {"0", NOBODY}:
        return qrels
    return replace(qrels, groups=None)


def _convert_qrels(qrels: Qrels, path: Path, form: Any) -> None:
    if form == "prefs":
        write_preferences(qrels, path)
    elif form == "trec":
        write_qrels(qrels, path)
    elif form == "parquet":
        write_file(path, run_in_child(lambda: _qrels_table(qrels)))
    else:
        write_packed(write_judgments(qrels, form, plain_name(path)), path)


def _qrels_table(qrels: Qrels) -> bytes:
    columns: dict[str, Any] = {
        "topic": column_of(_repeated(qrels.topics, qrels.sizes), qrels.source),
        "doc": column_of(qrels.docs, qrels.source),
        "grade": _whole(qrels.grades),
    }
    if qrels.groups is not None:
        columns["group"] = column_of(qrels.groups, qrels.source)
    columns |= qrels.sampling
    stream = io.BytesIO()
    polars.DataFrame(columns).write_parquet(stream, row_group_size=GROUP, statistics=True)
    return stream.getvalue()


def _whole(values: Any) -> Any:
    """Numbers as whole ones where they all are."""
    return values.astype(np.int64) if (values == np.floor(values)).all() else values


@contextmanager
def _sorted_blocks(
    source: str | Path,
    content: Content | None,
    form: str | None,
    duplicates: Duplicates,
    with_ranks: bool,
    progress: Progress | None,
) -> Iterator[tuple[str, Iterator[Run]]]:
    """A run's tag, and the run in blocks of whole topics, topics in byte order."""
    if content is not None:
        problems = Problems(content.source)
        run = parse_run(content, problems, format=form, duplicates=duplicates, with_ranks=with_ranks)
        problems.refuse()
        yield run.tag, iter([_in_byte_order(run)])
        if progress:
            progress(1)
        return

    def blocks(parts: Sequence[Part]) -> Iterator[Run]:
        advance = scale_progress(progress, steps_to_read(source, form), len(parts))
        for part in parts:
            yield _in_byte_order(read_part(part, duplicates=duplicates, with_ranks=with_ranks))
            if advance:
                advance(1)

    with unpack(source, form) as large:
        parts = split_parts(large)
        tag = read_part(parts[-1], duplicates="first").tag
        counted = [topics_and_rows(part) for part in parts]
        rows: Counter[str] = Counter()
        for one in counted:
            rows.update(one)
        edges = [(min(map(byte_order, one)), max(map(byte_order, one))) for one in counted if one]
        if all(before[1] < after[0] for before, after in pairwise(edges)):
            yield tag, blocks(parts)
            return
        with collect_topics(parts, rows) as again:
            yield tag, blocks(again)


def _in_byte_order(run: Run) -> Run:
    """The same run, its topics in byte order."""
    order = sorted(range(len(run.topics)), key=lambda topic: byte_order(run.topics[topic]))
    if order == list(range(len(order))):
        return run
    sizes = run.sizes[order]
    _, rows = spread(run.starts[:-1][order], sizes)
    return replace(
        run,
        topics=tuple(run.topics[topic] for topic in order),
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        docs=run.docs[rows],
        scores=run.scores[rows],
        ranks=None if run.ranks is None else run.ranks[rows],
        lines=None,
        keys=None,
    )


def _repeated(topics: Sequence[str], sizes: Places) -> Tokens:
    """The topic of every row."""
    names = Tokens.from_strings(topics)
    return Tokens(names.buffer, np.repeat(names.start, sizes), np.repeat(names.length, sizes))


def _write_table(blocks: Iterator[Run], tag: str, path: Path, *, with_ranks: bool) -> None:
    """Write the blocks to one Parquet file, one after the other."""
    from polars.io.plugins import register_io_source

    schema = {"topic": polars.String, "doc": polars.String, "score": polars.Float64}
    schema |= {"rank": polars.Int64} if with_ranks else {}
    schema |= {"tag": polars.String}
    failure: list[BaseException] = []

    def frames(*_: Any) -> Iterator[polars.DataFrame]:
        try:
            for block in blocks:
                if failure:
                    return
                yield _frame(block, tag, with_ranks=with_ranks)
        except Exception as error:  # Polars would make another error of it
            failure.append(error)

    # Polars works on a thread of its own, because Python hears of a signal only on this one.
    with atomic_path(path) as part, ThreadPoolExecutor(1) as thread:
        table = register_io_source(frames, schema=schema)
        writing = thread.submit(table.sink_parquet, part, row_group_size=GROUP, statistics=True)
        try:
            writing.result()
        except polars.exceptions.PolarsError as error:
            if not failure:
                raise _of_the_system(error) from error
        except BaseException as error:
            failure.append(error)
            raise
        if failure:
            raise failure[0]


def _of_the_system(error: Exception) -> Exception:
    """Return what the system said where Polars could not write; otherwise the same error."""
    found = re.search(r"\(os error (\d+)\)", str(error))
    return error if found is None else OSError(int(found[1]), os.strerror(int(found[1])))


def _frame(run: Run, tag: str, *, with_ranks: bool) -> polars.DataFrame:
    columns: dict[str, Any] = {
        "topic": column_of(_repeated(run.topics, run.sizes), run.source),
        "doc": column_of(run.docs, run.source),
        "score": run.scores,
    }
    if with_ranks and run.ranks is not None:
        ranks = _whole(run.ranks)
        if ranks.dtype != np.int64:
            row = int((run.ranks != np.floor(run.ranks)).nonzero()[0][0])
            raise DataError(
                f"{run.source}: document {quote(run.docs.text(row))} has rank {run.ranks[row]:g};"
                " expected whole ranks, or leave them out"
            )
        columns["rank"] = ranks
    return polars.DataFrame(columns).with_columns(polars.lit(tag).alias("tag"))


def _write_text(blocks: Iterator[Run], tag: str, path: Path) -> None:
    """Write the blocks as TREC's text, compressed where the name says so."""
    with atomic_path(path) as part, _packing(part, path.suffix.lower()) as out:
        for block in blocks:
            lines = run_lines(replace(block, tag=tag))
            out.write("".join(lines).encode("utf-8", "surrogateescape"))


@contextmanager
def _packing(path: Path, suffix: str) -> Iterator[Any]:
    """A file that packs what is written to it as a suffix says."""
    with path.open("wb") as plain:
        if suffix == ".gz":
            with gzip.GzipFile("", "wb", 6, plain, mtime=0) as packed:  # the same bytes every time
                yield packed
        elif suffix == ".zst":
            with open_zstd(plain) as packed:
                yield packed
        elif suffix in (".bz2", ".xz"):
            with (bz2.open if suffix == ".bz2" else lzma.open)(plain, "wb") as packed:
                yield packed
        else:
            yield plain
