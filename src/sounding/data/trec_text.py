"""Read TREC text: runs with six columns, qrels with four, prels, stratified qrels, preferences with five."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from sounding.core.text import quote
from sounding.data.assembly import checked_numbers
from sounding.data.columns import Records
from sounding.data.fast.fields import BLOCK, Fields, Stretch, line_at, split_fields, stretches
from sounding.data.fast.numbers import parse_numbers
from sounding.data.fast.tokens import Bytes, Places, Tokens, same_texts
from sounding.data.problems import Problems
from sounding.data.sources import Content

RUN_SHAPE = "topic Q0 doc rank score tag"
QRELS_SHAPE = "topic iteration doc grade"
PRELS_SHAPE = "topic doc grade method probability"
PREFERENCES_SHAPE = "topic group subgroup doc level"
STRATA_SHAPE = "topic iteration doc stratum grade"
NUMBER_STARTS = np.array([chr(byte) in "0123456789+-." for byte in range(256)])


def read_trec_run(content: Content, problems: Problems, *, with_ranks: bool = False) -> Records:
    """Read a run, one retrieved document per line; like trec_eval, ignore what follows the tag.

    Lines in which a blank inside an id shifts the fields, or a second record follows, are reported.
    """
    fields = _run_fields(content, (0, 2, 4), problems)
    columns = dict(zip(("topic", "doc", "score"), fields.columns, strict=True))
    if with_ranks or fields.longer:
        second, rank = _run_fields(content, (1, 3), Problems(content.source)).columns
        if fields.longer:
            _note_wrong_lengths(content, second, rank, problems)
        if with_ranks:
            columns["rank"] = rank
    return Records(columns, fields.lines, tag=_last_tag(content, columns["topic"]), is_text=True)


def read_trec_qrels(content: Content, problems: Problems, *, groups: bool = False) -> Records:
    """Read qrels, one judgment per line; with `groups`, keep the second column (assessor or group)."""
    roles = {"topic": 0, "group": 1, "doc": 2, "grade": 3} if groups else {"topic": 0, "doc": 2, "grade": 3}
    return _judgments(content, roles, QRELS_SHAPE, problems)


def read_prels(content: Content, problems: Problems) -> Records:
    """Read prels of the Million Query tracks: judgments with sampling method and inclusion probability."""
    roles = {"topic": 0, "doc": 1, "grade": 2, "method": 3, "probability": 4}
    records = _judgments(content, roles, PRELS_SHAPE, problems)
    methods = checked_numbers(records.columns.pop("method"), records.lines, "method", problems)
    return records._replace(numbers={"method": np.nan_to_num(methods)})


def read_strata(content: Content, problems: Problems) -> Records:
    """Read qrels of a stratified sample; grade -1 marks pooled documents that were not sampled."""
    roles = {"topic": 0, "doc": 2, "stratum": 3, "grade": 4}
    return _judgments(content, roles, STRATA_SHAPE, problems)


def read_preferences(content: Content, problems: Problems) -> Records:
    """Read preferences: levels of documents that one person compared, within a group and a subgroup of it."""
    roles = {"topic": 0, "group": 1, "part": 2, "doc": 3, "grade": 4}
    return _judgments(content, roles, PREFERENCES_SHAPE, problems)


def _judgments(content: Content, roles: dict[str, int], shape: str, problems: Problems) -> Records:
    """Return the requested fields of the lines that match a shape exactly."""
    count = len(shape.split())
    fields = split_fields(
        content.buffer, content.size, wanted=tuple(roles.values()), least=count, most=count, shape=shape,
        problems=problems,
    )  # fmt: skip
    return Records(dict(zip(roles, fields.columns, strict=True)), fields.lines, is_text=True)


def _run_fields(content: Content, wanted: tuple[int, ...], problems: Problems) -> Fields:
    return split_fields(
        content.buffer, content.size, wanted=wanted, least=6, shape=RUN_SHAPE, problems=problems
    )


def _last_tag(content: Content, topic: Tokens) -> str:
    """Return the sixth field of the last record, which trec_eval uses as the run's name."""
    if not len(topic):
        return "run"
    return _text(_fields_from(content, int(topic.start[-1]))[5])


def _fields_from(content: Content, place: int) -> list[bytes]:
    """Return the fields of one line from a field's start, split like the tokenizer does."""
    line = line_at(content.buffer[: content.size], place)
    return re.findall(rb"[^\x00-\x20]+", line)


def _note_wrong_lengths(content: Content, second: Tokens, rank: Tokens, problems: Problems) -> None:
    """Report lines of more than six fields that are not one record with blanks in its tag."""
    if not NUMBER_STARTS[rank.buffer[rank.start]].all():
        _note_lines(
            content, problems, _moved,
            lambda fields: (
                f"{len(fields)} fields, and the rank is {quote(_text(fields[3]))};"
                f" expected 6 fields: {RUN_SHAPE}"
            ),
        )  # fmt: skip
    alike = all((word == word[0]).all() for word in second.words())
    # otherwise it occurs once per line
    if not alike or _count(content, second[:1].encoded()[0]) > len(second):
        _note_lines(
            content, problems, _glued,
            lambda fields: (
                f"{len(fields)} fields that look like two records: is a line end missing?"
                f" expected 6 fields: {RUN_SHAPE}"
            ),
        )  # fmt: skip


def _count(content: Content, word: bytes) -> int:
    """Count a word in a text, block by block, because a copy of the whole text may not fit in memory."""
    ends = BLOCK + len(word) - 1  # a word may begin in one block and end in the next
    return sum(bytes(content.view[at : at + ends]).count(word) for at in range(0, content.size, BLOCK))


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


def _note_lines(
    content: Content,
    problems: Problems,
    find: Callable[[Stretch, Bytes], Places],
    describe: Callable[[list[bytes]], str],
) -> None:
    """Report the lines that `find` selects in each stretch of a text, described by their fields."""
    lines, places = ([np.empty(0, np.int64)] for _ in range(2))
    for stretch in stretches(content.buffer, content.size):
        found = find(stretch, content.buffer)
        lines.append(found + stretch.lines_before + 1)
        places.append(stretch.line_starts[found] + stretch.begin)
    place = np.concatenate(places)
    problems.add(np.concatenate(lines), lambda i: describe(_fields_from(content, int(place[i]))))


def _moved(stretch: Stretch, buffer: Bytes) -> Places:
    """Return lines of more than six fields with no number in the fourth: a blank in an id shifted them."""
    long = stretch.records[stretch.fields[stretch.records] > 6]
    return long[~NUMBER_STARTS[buffer[stretch.starts[stretch.first[long] + 3]]]]


def _glued(stretch: Stretch, buffer: Bytes) -> Places:
    """Return lines with two records: the second field recurs after the score, before a document and numbers.

    The line end between them is missing; the tag or the score may have merged with the next topic.
    """
    long = stretch.records[stretch.fields[stretch.records] >= 9]
    counts = (
        stretch.fields[long] - 8
    )  # the second field may recur from the sixth field to the fourth from the end
    line = np.repeat(long, counts)
    place = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts) + stretch.first[line] + 5

    def fields(number: Places) -> Tokens:
        return Tokens(buffer, stretch.starts[number], stretch.ends[number] - stretch.starts[number])

    again = same_texts(fields(place), fields(stretch.first[line] + 1))
    line, place = line[again], place[again]
    strange = parse_numbers(fields(place + 2))[1] | parse_numbers(fields(place + 3))[1]
    moved = _moved(stretch, buffer)
    return np.setdiff1d(line[~strange], moved)  # each line once
