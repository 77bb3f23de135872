"""Read a run that is too large for memory in parts, each with complete topics.

A part is small: it only says where to read, so any process can read it. If the lines of a topic are
scattered, a temporary folder first collects them on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sounding.core.errors import DataError, FormatError
from sounding.core.files import locate_file
from sounding.core.lazy import polars
from sounding.core.policies import Duplicates
from sounding.core.workers import Progress, run_in_child
from sounding.data.assembly import run_of
from sounding.data.columns import Records, recognize
from sounding.data.fast.fields import split_fields
from sounding.data.fast.tokens import MARGIN, Places, Tokens
from sounding.data.formats import detect
from sounding.data.parquet import check_polars, readable, records_of_table
from sounding.data.problems import Problems
from sounding.data.sources import (
    LARGE_PACKED,
    Content,
    as_text,
    head_of,
    is_remote,
    open_binary,
    size_of,
    unpacker,
)
from sounding.data.tables import Run, byte_order
from sounding.data.trec_text import RUN_SHAPE, read_trec_run

LARGE = 256 << 20  # size in bytes above which a file is read in parts
PART = 32 << 20  # approximate bytes of text in a part
ROWS = 1 << 20  # approximate rows of a table in a part

ROW_NUMBER = "sounding: row"  # a column name that no file has

_HEAD = 1 << 16  # bytes that show the format of a file


@dataclass(frozen=True, slots=True)
class Part:
    """Some topics of a run: a range of bytes (text) or rows (Parquet), or a file of collected lines."""

    source: str  # the run's name in messages
    file: str  # the file to read
    form: str  # trec or parquet
    begin: int
    end: int
    numbers: str | None = None  # for collected lines: a file with the original line number of each
    topics: tuple[str, ...] | None = None  # in a table: read only the rows of these topics, wherever they are


@dataclass(frozen=True, slots=True)
class Large:
    """A large run in an uncompressed local file."""

    source: str  # the run's name in messages
    file: str
    form: str  # trec or parquet


def is_large(source: Any, form: str | None = None) -> bool:
    """Return whether to read a file in parts: it is large, and TREC text or Parquet."""
    if not isinstance(source, str | Path) or str(source) == "-" or form not in (None, "trec", "parquet"):
        return False
    size = size_of(source)
    if size <= LARGE_PACKED:
        return False
    head = head_of(source, _HEAD)
    packed = head.starts_with(b"PAR1") or unpacker(head) is not None
    return size > (LARGE_PACKED if packed else LARGE) and _form(source, head, form) is not None


def steps_to_read(source: Any, form: str | None = None) -> int:
    """Return the number of progress steps for a run: one, or about the number of parts of a large one."""
    return -(-size_of(source) // PART) if is_large(source, form) else 1


def scale_progress(progress: Progress | None, steps: int, pieces: int) -> Progress | None:
    """Convert progress in `pieces` to progress in `steps`."""
    if progress is None:
        return None
    done = reported = 0

    def advance(more: int) -> None:
        nonlocal done, reported
        done += more
        now = done * steps // pieces
        progress(now - reported)
        reported = now

    return advance


def is_plain(source: Any) -> bool:
    """Return whether parts of a large file can be read directly: it is local and not compressed."""
    return not is_remote(str(source)) and unpacker(head_of(source, _HEAD)) is None


@contextmanager
def unpack(source: str | Path, form: str | None = None) -> Iterator[Large]:
    """Yield a large file of which parts can be read: the file itself, or a decompressed temporary copy."""
    name = str(source)
    head = head_of(source, _HEAD)
    known = _form(source, head, form)
    if known is None:
        raise FormatError(
            name,
            None,
            "only TREC text and Parquet can be read in parts; convert the file first (sounding convert)",
        )
    if is_plain(source):
        yield Large(name, name, known)
        return
    with _temporary_folder() as folder:
        target = folder / "unpacked"
        with _temporary_files(folder), target.open("wb") as out:
            for piece in _pieces(source):
                out.write(piece)
        yield Large(name, str(target), known)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    import shutil  # imports bz2 and lzma, which only compressed files need
    import tempfile

    with _temporary_files(Path(tempfile.gettempdir())):
        folder = Path(tempfile.mkdtemp(prefix="sounding-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _temporary_files(folder: Path) -> Iterator[None]:
    """Report errors of temporary files as such, because the input is not to blame."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"temporary files in {folder} cannot be written: {error.strerror or error};"
            " set TMPDIR to a folder with more room"
        ) from error


def _form(source: str | Path, head: Content, form: str | None) -> str | None:
    """Return trec or parquet; None if the format is another."""
    if form is None:
        form = detect(_unpacked_head(source, head), source)
    return form if form in ("trec", "parquet") else None


def read_head(source: str | Path) -> Content:
    """Return the beginning of a file, decompressed."""
    return _unpacked_head(source, head_of(source, _HEAD))


def _unpacked_head(source: str | Path, head: Content) -> Content:
    unpack = unpacker(head)
    if unpack is None:
        return as_text(head)
    return as_text(Content.from_bytes(str(source), next(unpack([head.view]), b"")[:_HEAD]))


def _pieces(source: str | Path) -> Iterator[bytes]:
    """Yield the bytes of a file in pieces, decompressed."""
    unpack = unpacker(head_of(source, _HEAD))
    with open_binary(source) as file:
        raw = iter(lambda: file.read(1 << 20), b"")
        yield from raw if unpack is None else unpack(raw)


def split_parts(large: Large) -> list[Part]:
    """Split a file into parts, in order; a topic whose lines are contiguous is never split."""
    if large.form == "parquet":
        return run_in_child(lambda: _cut_table(large))
    with locate_file(large.file).open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        begin = 3 if file.read(3) == b"\xef\xbb\xbf" else 0
        edges = [begin, *(_next_topic(file, place, size) for place in range(PART, size, PART)), size]
    return _parts_between(large, edges)


def _parts_between(large: Large, edges: Sequence[int]) -> list[Part]:
    ascending = sorted(set(edges))
    return [Part(large.source, large.file, large.form, begin, end) for begin, end in pairwise(ascending)]


def _next_topic(file: BinaryIO, place: int, size: int) -> int:
    """Return where the next topic begins after the line that starts at or after `place`."""
    file.seek(place - 1)
    file.readline()
    topic = None
    while line := file.readline():
        words = line.split(None, 1)
        if not words or words[0].startswith(b"#"):
            continue
        if topic is not None and words[0] != topic:
            return file.tell() - len(line)
        topic = words[0]
    return size


def _cut_table(large: Large) -> list[Part]:
    check_polars(large.source)
    with readable(large.source):
        table = polars.scan_parquet(locate_file(large.file))
        topic = _topic_column(large, table)
        rows = table.select(polars.len()).collect().item()
        edges = [
            0,
            *(_next_topic_row(table.select(topic), place, rows) for place in range(ROWS, rows, ROWS)),
            rows,
        ]
    return _parts_between(large, edges)


def _topic_column(large: Large, table: Any) -> str:
    problems = Problems(large.source)
    names = table.collect_schema().names()
    place = recognize(names, "run", 1, problems).get("topic")
    problems.refuse()
    return names[place or 0]


def _next_topic_row(topics: Any, place: int, rows: int) -> int:
    """Return the first row after `place` whose topic differs from that row's topic."""
    length, first = 4096, None
    while place < rows:
        column = topics.slice(place, length).collect().to_series()
        first = column[0] if first is None else first
        other = (column != first).arg_max() if (column != first).any() else None
        if other is not None:
            return place + int(other)
        place += len(column)
        length *= 4
    return rows


def read_part(
    part: Part, *, name: str | None = None, duplicates: Duplicates = "error", with_ranks: bool = False
) -> Run:
    """Read the topics of one part; messages use the line numbers of the whole file."""

    def read(problems: Problems) -> Run:
        records = _records_of(part, problems, with_ranks)
        return run_of(records, problems, name=name, duplicates=duplicates, with_ranks=with_ranks)

    problems = Problems(part.source)
    run = read(problems)
    if problems.found:
        # Line numbers are computed only when a message needs one.
        numbered = _numbered(part)
        read(numbered)
        numbered.refuse()
    return run


def _numbered(part: Part) -> Problems:
    """Return an empty problem list that uses the line numbers of the whole file."""
    if part.numbers is not None:
        return Problems(part.source, own_lines=np.fromfile(part.numbers, np.int64))
    if part.topics is not None:
        rows = _rows_of(part, ROW_NUMBER).to_series().to_numpy().astype(np.int64)
        return Problems(part.source, own_lines=rows + 1)
    if part.form == "parquet":
        return Problems(part.source, lines_before=part.begin)
    before = 0
    with locate_file(part.file).open("rb") as file:
        while file.tell() < part.begin:
            before += file.read(min(1 << 24, part.begin - file.tell())).count(b"\n")
    return Problems(part.source, lines_before=before)


def _bytes_of(part: Part) -> Content:
    buffer = np.zeros(part.end - part.begin + MARGIN, np.uint8)
    with locate_file(part.file).open("rb") as file:
        file.seek(part.begin)
        filled = file.readinto(buffer[: part.end - part.begin].data)
    return Content(part.source, buffer, filled)


def _records_of(part: Part, problems: Problems, with_ranks: bool) -> Records:
    if part.form == "trec":
        return read_trec_run(_bytes_of(part), problems, with_ranks=with_ranks)
    records = records_of_table(_rows_of(part, *(("rank",) if with_ranks else ())), "run", problems)
    if records is None:
        problems.refuse()
        raise FormatError(part.source, None, "no row can be read; expected topic, doc and score")
    return records


def _rows_of(part: Part, *more: str) -> polars.DataFrame:
    """Return the rows of a part with the columns of a run; `more` adds the rank or the row numbers."""
    check_polars(part.source)
    with readable(part.source):
        table = polars.scan_parquet(locate_file(part.file))
        names = table.collect_schema().names()
        problems = Problems(part.source)
        places = recognize(names, "run", 1, problems)
        problems.refuse()
        if "score" in places and "rank" not in more:
            places.pop("rank", None)
        wanted = [names[place] for place in places.values()]
        if part.topics is None:
            return table.select(wanted).slice(part.begin, part.end - part.begin).collect()
        topic = polars.col(names[places["topic"]]).cast(polars.String)
        chosen = topic.is_in(polars.Series(part.topics, dtype=polars.String).implode())
        if ROW_NUMBER in more:
            table, wanted = table.with_row_index(ROW_NUMBER), [ROW_NUMBER]
        return table.filter(chosen).select(wanted).collect(engine="streaming")


@contextmanager
def collect_topics(parts: Sequence[Part], rows: Mapping[str, int]) -> Iterator[list[Part]]:
    """Yield other parts of the same run, each with all lines of some topics, topics in byte order.

    `rows` is the number of lines of each topic. Lines keep their order. A text is copied to a temporary
    folder for this; a table is instead read once for every part.
    """
    if parts[0].form == "parquet":
        yield [replace(parts[0], topics=topics) for topics in _group_topics(rows, ROWS)]
        return
    with _temporary_folder() as folder:
        size = sum(part.end - part.begin for part in parts)
        with _temporary_files(folder):
            again = _sort_into(folder, parts, _group_topics(rows, sum(rows.values()) * PART // size))
        yield again


def _group_topics(rows: Mapping[str, int], most: int) -> list[tuple[str, ...]]:
    """Group the topics in byte order, with at most `most` rows per group; a larger topic is alone."""
    groups: list[list[str]] = []
    held = 0
    for topic in sorted(rows, key=byte_order):
        if not groups or held + rows[topic] > most:
            groups.append([])
            held = 0
        groups[-1].append(topic)
        held += rows[topic]
    return [tuple(group) for group in groups]


def _sort_into(folder: Path, parts: Sequence[Part], groups: Sequence[Sequence[str]]) -> list[Part]:
    """Copy every line to the file of its topic's group, and its line number to a second file."""
    buckets = {topic: number for number, group in enumerate(groups) for topic in group}
    before = 0
    for part in parts:
        content, starts, ends, numbers, topics = _lines(part)
        which = _bucket_of_each(topics, buckets)
        for bucket in np.unique(which).tolist():
            chosen = (which == bucket).nonzero()[0]
            lines = Tokens(content.buffer, starts[chosen], ends[chosen] - starts[chosen]).compact()
            with (folder / f"{bucket}.txt").open("ab") as out:
                out.write(lines.buffer[:-MARGIN].data)
            with (folder / f"{bucket}.lines").open("ab") as out:
                out.write((numbers[chosen] + before).data)
        before += int(np.count_nonzero(content.buffer[: content.size] == ord("\n")))
    return [
        Part(
            parts[0].source, str(folder / f"{bucket}.txt"), "trec", 0,
            (folder / f"{bucket}.txt").stat().st_size, str(folder / f"{bucket}.lines"),
        )
        for bucket in range(len(groups))
    ]  # fmt: skip


def _lines(part: Part) -> tuple[Content, Places, Places, Places, Tokens]:
    """Return the bytes of a part; start, end and number of each record line; and its topic."""
    content = _bytes_of(part)
    if content.size and content.buffer[content.size - 1] != ord("\n"):
        content.buffer[content.size] = ord("\n")
        content = Content(content.source, content.buffer, content.size + 1)
    problems = Problems(part.source)
    fields = split_fields(
        content.buffer, content.size, wanted=(0,), least=6, shape=RUN_SHAPE, problems=problems
    )
    if problems.found:
        read_part(part)  # names the line of the file
        problems.refuse()
    newlines = (content.buffer[: content.size] == ord("\n")).nonzero()[0]
    numbers = np.arange(1, len(newlines) + 1) if fields.lines is None else fields.lines
    ends = newlines[numbers - 1] + 1
    starts = np.concatenate([[0], newlines + 1])[numbers - 1]
    return content, starts, ends, numbers, fields.columns[0]


def _bucket_of_each(topics: Tokens, buckets: Mapping[str, int]) -> Places:
    """Return the bucket of every line."""
    names, sizes = _topic_ranges(topics)
    return np.repeat(np.array([buckets[topic] for topic in names], np.int64), sizes)


def _topic_ranges(topics: Tokens) -> tuple[list[str], Places]:
    """Return the topics where they change, and how many lines each continues for."""
    changes = np.ones(len(topics), np.bool_)
    words = topics.words()
    changes[1:] = (words[:, 1:] != words[:, :-1]).any(axis=0)
    heads = changes.nonzero()[0]
    return topics[heads].texts(), np.diff(heads, append=len(topics))


def is_scattered(part: Part) -> bool:
    """Return whether a topic returns within a part after lines of another topic."""
    if part.form == "parquet":
        return run_in_child(lambda: _is_scattered_table(part))
    names, _ = _topic_ranges(_lines(part)[-1])
    return len(names) > len(set(names))


def _is_scattered_table(part: Part) -> bool:
    topics = _rows_of(part).to_series(0)
    return topics.rle().len() > topics.n_unique()


def topics_and_rows(part: Part) -> dict[str, int]:
    """Return {topic: number of lines} of a part, in order."""
    if part.form == "parquet":
        run = read_part(part, duplicates="first")
        return dict(zip(run.topics, run.sizes.tolist(), strict=True))
    counted: dict[str, int] = {}
    names, sizes = _topic_ranges(_lines(part)[-1])
    for topic, size in zip(names, sizes.tolist(), strict=True):
        counted[topic] = counted.get(topic, 0) + size
    return counted
