"""TREC's own text: runs of six columns, qrels of four, prels and qrels with strata of five."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.policies import Duplicates, Fractional
from sounding.core.text import quoted, shortened
from sounding.data.fast.keys import pair_keys, repeated_rows
from sounding.data.fast.numbers import is_too_large, parse_numbers
from sounding.data.fast.text import BLOCK, Fields, Stretch, line_at, split_fields, stretches
from sounding.data.fast.tokens import Bytes, Places, Tokens, same_texts
from sounding.data.finding import name_or_tag
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.tables import Qrels, Run, byte_order

RUN_SHAPE = "topic Q0 doc rank score tag"
NUMBER_STARTS = np.array([chr(byte) in "0123456789+-." for byte in range(256)])
EXAMPLES = {"score": "12.5", "probability": "0.25"}  # of other columns a whole number is expected
QRELS_SHAPE = "topic iteration doc grade"
PRELS_SHAPE = "topic doc grade method probability"
STRATA_SHAPE = "topic iteration doc stratum grade"


def read_trec_run(
    content: Content,
    problems: Problems,
    *,
    name: str | None = None,
    duplicates: Duplicates = "error",
    with_ranks: bool = False,
) -> Run:
    """A run: one retrieved document a line. What stands behind the tag is ignored, as in trec_eval.

    It is noted where a blank within an id has moved the fields, and where it is another record.
    """
    fields = _run_fields(content, (0, 2, 4), problems)
    topic, doc, score = fields.columns
    ranks = None
    if with_ranks or fields.longer:
        second, rank = _run_fields(content, (1, 3), Problems(content.source)).columns
        if fields.longer:
            _note_wrong_lengths(content, second, rank, problems)
        if with_ranks:
            ranks = checked_numbers(rank, fields.lines, "rank", problems)
    scores = checked_numbers(score, fields.lines, "score", problems)
    tag = _last_tag(content, topic)
    return group_run(
        topic, doc, scores, lines=fields.lines, ranks=ranks,
        name=name or name_or_tag(content.source, tag), tag=tag, source=content.source,
        duplicates=duplicates, problems=problems,
    )  # fmt: skip


def read_trec_qrels(
    content: Content,
    problems: Problems,
    *,
    duplicates: Duplicates = "error",
    fractional: Fractional = "refuse",
    groups: bool = False,
) -> Qrels:
    """Qrels: one judgment a line; with `groups` the second column says who judged, or in which group."""
    fields = _exactly(content, (0, 1, 2, 3) if groups else (0, 2, 3), 4, QRELS_SHAPE, problems)
    topic, *group, doc, grade = fields.columns
    return group_qrels(
        topic, doc, checked_grades(grade, fields.lines, fractional, problems),
        lines=fields.lines, groups=group[0] if group else None,
        source=content.source, duplicates=duplicates, problems=problems,
    )  # fmt: skip


def read_prels(
    content: Content,
    problems: Problems,
    *,
    duplicates: Duplicates = "error",
    fractional: Fractional = "refuse",
) -> Qrels:
    """Prels of the Million Query tracks: judgments with how they were chosen and how likely that was."""
    fields = _exactly(content, (0, 1, 2, 3, 4), 5, PRELS_SHAPE, problems)
    topic, doc, grade, method, probability = fields.columns
    chances = checked_numbers(probability, fields.lines, "probability", problems)
    outside = ((chances <= 0) | (chances > 1)).nonzero()[0]
    problems.add(
        numbered(fields.lines, outside),
        lambda i: (
            f"probability {quoted(probability.text(int(outside[i])))}; expected more than 0 and at most 1"
        ),
    )
    methods = checked_numbers(method, fields.lines, "method", problems)
    return group_qrels(
        topic, doc, checked_grades(grade, fields.lines, fractional, problems),
        lines=fields.lines, probabilities=chances, methods=np.nan_to_num(methods).astype(np.int64),
        source=content.source, duplicates=duplicates, problems=problems,
    )  # fmt: skip


def read_strata(
    content: Content,
    problems: Problems,
    *,
    duplicates: Duplicates = "error",
    fractional: Fractional = "refuse",
) -> Qrels:
    """Qrels of a sampled pool: judgments with their stratum; grade -1: in the pool, and not sampled."""
    fields = _exactly(content, (0, 2, 3, 4), 5, STRATA_SHAPE, problems)
    topic, doc, stratum, grade = fields.columns
    return group_qrels(
        topic, doc, checked_grades(grade, fields.lines, fractional, problems),
        lines=fields.lines, strata=checked_whole(stratum, fields.lines, "stratum", problems),
        source=content.source, duplicates=duplicates, problems=problems,
    )  # fmt: skip


def _run_fields(content: Content, wanted: tuple[int, ...], problems: Problems) -> Fields:
    return split_fields(
        content.buffer, content.size, wanted=wanted, least=6, shape=RUN_SHAPE, problems=problems
    )


def _exactly(content: Content, wanted: tuple[int, ...], count: int, shape: str, problems: Problems) -> Fields:
    return split_fields(
        content.buffer, content.size, wanted=wanted, least=count, most=count, shape=shape, problems=problems
    )


def _last_tag(content: Content, topic: Tokens) -> str:
    """The sixth field of the last record: trec_eval names a run by it."""
    if not len(topic):
        return "run"
    return _text(_fields_from(content, int(topic.start[-1]))[5])


def _fields_from(content: Content, place: int) -> list[bytes]:
    """The fields of one line from a field's start, split where the tokeniser splits."""
    line = line_at(content.buffer[: content.size], place)
    return re.findall(rb"[^\x00-\x20]+", line)


def _note_wrong_lengths(content: Content, second: Tokens, rank: Tokens, problems: Problems) -> None:
    """Note lines of more than six fields that are not one record and a tag with blanks."""
    if not NUMBER_STARTS[rank.buffer[rank.start]].all():
        _note_lines(
            content, problems, _moved,
            lambda fields: (
                f"{len(fields)} fields, and the rank is {quoted(_text(fields[3]))};"
                f" expected 6 fields: {RUN_SHAPE}"
            ),
        )  # fmt: skip
    alike = all((word == word[0]).all() for word in second.words())
    if not alike or _count(content, second[:1].encoded()[0]) > len(second):  # else it comes once a line
        _note_lines(
            content, problems, _glued,
            lambda fields: (
                f"{len(fields)} fields that look like two records: is a line end missing?"
                f" expected 6 fields: {RUN_SHAPE}"
            ),
        )  # fmt: skip


def _count(content: Content, word: bytes) -> int:
    """Count how often a word comes in a text, a block at a time: a copy of all of it may not fit."""
    ends = BLOCK + len(word) - 1  # a word that begins in one block may end in the next
    return sum(bytes(content.view[at : at + ends]).count(word) for at in range(0, content.size, BLOCK))


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


def _note_lines(
    content: Content,
    problems: Problems,
    find: Callable[[Stretch, Bytes], Places],
    describe: Callable[[list[bytes]], str],
) -> None:
    """Note the lines that are found in each stretch of a text, described by their fields."""
    lines, places = ([np.empty(0, np.int64)] for _ in range(2))
    for stretch in stretches(content.buffer, content.size):
        found = find(stretch, content.buffer)
        lines.append(found + stretch.lines_before + 1)
        places.append(stretch.line_starts[found] + stretch.begin)
    place = np.concatenate(places)
    problems.add(np.concatenate(lines), lambda i: describe(_fields_from(content, int(place[i]))))


def _moved(stretch: Stretch, buffer: Bytes) -> Places:
    """Lines of more than six fields whose fourth is no number: a blank within an id moved the others."""
    long = stretch.records[stretch.fields[stretch.records] > 6]
    return long[~NUMBER_STARTS[buffer[stretch.starts[stretch.first[long] + 3]]]]


def _glued(stretch: Stretch, buffer: Bytes) -> Places:
    """Lines that hold two records: behind the score comes the second field again, a document and two numbers.

    The line end between them is missing; the tag, or the score, may have grown together with the next topic.
    """
    long = stretch.records[stretch.fields[stretch.records] >= 9]
    counts = (
        stretch.fields[long] - 8
    )  # places where the second field may come again: the sixth to the last but 3
    line = np.repeat(long, counts)
    place = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts) + stretch.first[line] + 5

    def fields(number: Places) -> Tokens:
        return Tokens(buffer, stretch.starts[number], stretch.ends[number] - stretch.starts[number])

    again = same_texts(fields(place), fields(stretch.first[line] + 1))
    line, place = line[again], place[again]
    strange = parse_numbers(fields(place + 2))[1] | parse_numbers(fields(place + 3))[1]
    moved = _moved(stretch, buffer)
    return np.setdiff1d(line[~strange], moved)  # each once


def numbered(lines: Places | None, rows: Places) -> Places:
    """The lines of rows; without a list of lines row i stands in line i + 1."""
    return rows + 1 if lines is None else lines[rows]


def checked_numbers(
    tokens: Tokens, lines: Places | None, what: str, problems: Problems
) -> NDArray[np.float64]:
    """The numbers that a column spells; what is no finite number is noted."""
    values, bad = parse_numbers(tokens)
    rows = bad.nonzero()[0]

    def describe(number: int) -> str:
        text = tokens.text(int(rows[number]))
        if is_too_large(text):
            return f"{what} {quoted(text)} is too large; expected a number below 1.8e308"
        return f"{what} {quoted(text)} is not a number; expected one such as {EXAMPLES.get(what, '1')}"

    problems.add(numbered(lines, rows), describe)
    return values


def checked_whole(tokens: Tokens, lines: Places | None, what: str, problems: Problems) -> Places:
    """The whole numbers from 0 that a column spells; anything else is noted."""
    values = checked_numbers(tokens, lines, what, problems)
    fit = (values >= 0) & (values <= 2**53) & (values == np.floor(values))
    wrong = (np.isfinite(values) & ~fit).nonzero()[0]
    problems.add(
        numbered(lines, wrong),
        lambda i: f"{what} {quoted(tokens.text(int(wrong[i])))}; expected a whole number from 0",
    )
    values[wrong] = 0
    return np.nan_to_num(values).astype(np.int64)


def checked_grades(
    tokens: Tokens, lines: Places | None, fractional: Fractional, problems: Problems
) -> NDArray[np.float64]:
    """The grades that a column spells; fractions are refused, kept or rounded as the policy says."""
    grades = checked_numbers(tokens, lines, "grade", problems)
    with np.errstate(invalid="ignore"):
        rows = (grades != np.floor(grades)).nonzero()[0]
    rows = rows[np.isfinite(grades[rows])]
    if fractional == "refuse":
        problems.add(
            numbered(lines, rows),
            lambda i: (
                f"grade {quoted(tokens.text(int(rows[i])))} is not a whole number;"
                " the policy `fractional` may accept or round such grades"
            ),
        )
    elif fractional == "round":
        grades[rows] = np.floor(grades[rows] + 0.5)
    return grades


def group_run(
    topic: Tokens,
    doc: Tokens,
    scores: NDArray[np.float64],
    *,
    lines: Places | None,
    ranks: NDArray[np.float64] | None,
    name: str,
    tag: str,
    source: str,
    duplicates: Duplicates,
    problems: Problems,
) -> Run:
    """The rows of a run brought together by topic, repeated documents treated as the policy says."""
    names, starts, order = _group(topic)
    if order is not None:
        doc, scores, lines = doc[order], scores[order], numbered(lines, order)
        ranks = None if ranks is None else ranks[order]
    words = doc.words()
    keys = pair_keys(names, np.diff(starts), words)
    keep = _without_repeats(keys, doc, scores, names, starts, lines, duplicates, problems)
    if keep is not None:
        rows = keep.nonzero()[0]
        doc, scores, lines, keys = doc[rows], scores[rows], numbered(lines, rows), keys[rows]
        words = words[:, rows]
        ranks = None if ranks is None else ranks[rows]
        starts = np.concatenate([[0], np.cumsum(keep)])[starts]
    return Run(
        name=name, tag=tag, source=source, topics=names, starts=starts,
        docs=doc, scores=scores, ranks=ranks, lines=lines, keys=keys, words=words,
    )  # fmt: skip


def group_qrels(
    topic: Tokens,
    doc: Tokens,
    grades: NDArray[np.float64],
    *,
    lines: Places | None,
    source: str,
    duplicates: Duplicates,
    problems: Problems,
    groups: Tokens | None = None,
    pool_ranks: Places | None = None,
    probabilities: NDArray[np.float64] | None = None,
    methods: Places | None = None,
    strata: Places | None = None,
) -> Qrels:
    """Judgments brought together by topic, in the byte order of topics."""
    names, starts, order = _group(topic, sort=True)
    rows = slice(None) if order is None else order
    qrels = Qrels(
        source=source, topics=names, starts=starts, docs=doc[rows], grades=grades[rows],
        groups=None if groups is None else groups[rows],
        pool_ranks=None if pool_ranks is None else pool_ranks[rows],
        probabilities=None if probabilities is None else probabilities[rows],
        methods=None if methods is None else methods[rows],
        strata=None if strata is None else strata[rows],
        lines=lines if order is None else numbered(lines, order),
    )  # fmt: skip
    keys = qrels.keys_of_judgments()
    keep = _without_repeats(keys, qrels.docs, qrels.grades, names, starts, qrels.lines, duplicates, problems)
    return qrels if keep is None else qrels.keep(keep)


def _group(topic: Tokens, *, sort: bool = False) -> tuple[tuple[str, ...], Places, Places | None]:
    """The topics, where each starts, and the row order that brings them together (None: as it stands)."""
    if not len(topic):
        return (), np.zeros(1, np.int64), None
    changes = np.zeros(len(topic), np.bool_)
    changes[0] = True
    for word in topic.words():
        changes[1:] |= word[1:] != word[:-1]
    heads = changes.nonzero()[0]
    pieces = topic[heads].texts()
    names = tuple(sorted(set(pieces), key=byte_order)) if sort else tuple(dict.fromkeys(pieces))
    sizes = np.diff(heads, append=len(topic))
    if names == tuple(pieces):
        return names, np.append(heads, len(topic)), None
    place = {text: number for number, text in enumerate(names)}
    codes = np.array([place[text] for text in pieces])
    small = codes.astype(np.uint16) if len(names) < 1 << 16 else codes  # NumPy sorts 16 bits by radix
    order = np.argsort(np.repeat(small, sizes), kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, sizes, len(names)))]).astype(np.int64)
    return names, starts, order


def _without_repeats(
    keys: NDArray[np.uint64],
    docs: Tokens,
    values: NDArray[np.float64],
    topics: tuple[str, ...],
    starts: Places,
    lines: Places | None,
    duplicates: Duplicates,
    problems: Problems,
) -> NDArray[np.bool_] | None:
    """Which rows stay when a document is listed twice for a topic; None: all. `error` notes the rows."""
    later, earlier = repeated_rows(keys, docs)
    if not len(later):
        return None
    if duplicates == "error":
        describe = _describe_repeat(later, earlier, docs, topics, starts, lines, problems)
        problems.add(numbered(lines, later), describe)
        return None
    keep = np.ones(len(docs), np.bool_)
    keep[later] = False
    if duplicates == "best":
        firsts = np.unique(earlier)
        rows, pair = np.concatenate([firsts, later]), np.concatenate([firsts, earlier])
        order = np.lexsort((rows, -values[rows], pair))  # of each pair, the best row first
        keep[firsts] = False
        keep[rows[order][np.diff(pair[order], prepend=-1) > 0]] = True
    return keep


def _describe_repeat(
    later: Places,
    earlier: Places,
    docs: Tokens,
    topics: tuple[str, ...],
    starts: Places,
    lines: Places | None,
    problems: Problems,
) -> Callable[[int], str]:
    def describe(number: int) -> str:
        row, first = int(later[number]), int(earlier[number])
        topic = topics[int(np.searchsorted(starts, row, side="right")) - 1]
        line = problems.line(first + 1 if lines is None else int(lines[first]))
        seen = f"topic {shortened(topic)} lists document {quoted(docs.text(row))}"
        return f"{seen} already in line {line}; expected it once"

    return describe
