"""Build Run and Qrels tables from records: check numbers, group rows by topic, resolve duplicates."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.policies import Duplicates, Fractional
from sounding.core.text import quote, shorten
from sounding.data.columns import NAMES, Records, line_numbers
from sounding.data.fast.keys import pair_keys, repeated_rows
from sounding.data.fast.numbers import is_too_large, parse_numbers
from sounding.data.fast.tokens import MARGIN, Places, Tokens, Words
from sounding.data.finding import name_or_tag, run_name
from sounding.data.problems import Problems
from sounding.data.tables import Numbers, Qrels, Run, byte_order

EXAMPLES = {"score": "12.5", "probability": "0.25"}  # other columns hold whole numbers


def run_of(
    records: Records,
    problems: Problems,
    *,
    name: str | None = None,
    in_memory: bool = False,
    duplicates: Duplicates,
    with_ranks: bool,
) -> Run:
    """Build a run from records; without a tag column its tag is the file's name, or `run`.

    If the records have ranks but no scores, a document's score is its negative rank.
    """
    ranks = None
    if with_ranks and not _has(records, "rank"):
        problems.note(1, "no rank column to order the documents by; add a column named rank")
    elif with_ranks or not _has(records, "score"):
        ranks = _numbers(records, "rank", problems)
    if _has(records, "score"):
        scores = _numbers(records, "score", problems)
    else:
        scores = np.zeros(0) if ranks is None else -ranks
    _note_unusable_ids(records, problems)
    source = problems.source
    tag = records.tag or _only_tag(records, problems) or ("run" if in_memory else run_name(source))
    topics, starts, order = _group(records.columns["topic"])
    docs, lines, ranks = records.columns["doc"], records.lines, ranks if with_ranks else None
    if order is not None:
        docs, scores, lines = docs[order], scores[order], line_numbers(lines, order)
        ranks = None if ranks is None else ranks[order]
    words = docs.words()
    run = Run(
        name=name or (tag if in_memory else name_or_tag(source, tag)), tag=tag, source=source, topics=topics,
        starts=starts, docs=docs, scores=scores, ranks=ranks, lines=lines,
        keys=pair_keys(topics, np.diff(starts), words), words=words,
    )  # fmt: skip
    keep = _without_repeats(run, run.pair_keys(), scores, duplicates, problems)
    return run if keep is None else run.keep(keep)


def qrels_of(
    records: Records,
    problems: Problems,
    *,
    duplicates: Duplicates,
    fractional: Fractional,
    groups: bool,
    intents: bool = False,
) -> Qrels:
    """Build judgments from records, with topics in byte order."""
    _note_unusable_ids(records, problems)
    group = records.columns.get("group") if groups or intents else None
    if groups and group is None:
        expected = ", ".join(NAMES["group"])
        problems.note(1, f"no column names the assessor; expected one of {expected}")
    raters = None if group is not None else records.columns.get("group")
    columns: dict[str, Any] = {
        "docs": records.columns["doc"],
        "grades": _grades(records, fractional, problems),
        "groups": group,
        "parts": records.columns.get("part"),
        "pool_ranks": _whole_numbers(records, "pool_rank", problems),
        "probabilities": _probabilities(records, problems),
        "methods": _whole_numbers(records, "method", problems),
        "strata": _whole_numbers(records, "stratum", problems),
    }
    topics, starts, order = _group(records.columns["topic"], sort=True)
    if order is not None:
        columns = {name: None if column is None else column[order] for name, column in columns.items()}
        raters = None if raters is None else raters[order]
    lines = records.lines if order is None else line_numbers(records.lines, order)
    qrels = Qrels(source=problems.source, topics=topics, starts=starts, lines=lines, **columns)
    keep = _without_repeats(qrels, qrels.keys_of_judgments(), qrels.grades, duplicates, problems, raters)
    if keep is not None:
        qrels = qrels.keep(keep)
    return qrels.by_intent() if intents else qrels


def _has(records: Records, role: str) -> bool:
    return role in records.columns or role in records.numbers


def _numbers(records: Records, role: str, problems: Problems) -> Numbers:
    """Return a column of numbers, parsed from text if necessary."""
    if role in records.numbers:
        return records.numbers[role]
    return checked_numbers(records.columns[role], records.lines, role, problems)


def _grades(records: Records, fractional: Fractional, problems: Problems) -> Numbers:
    if "grade" in records.numbers:
        return records.numbers["grade"]
    return checked_grades(records.columns["grade"], records.lines, fractional, problems)


def _whole_numbers(records: Records, role: str, problems: Problems) -> Places | None:
    """Return a column of non-negative whole numbers, or None if there is none."""
    if role in records.numbers:
        return records.numbers[role].astype(np.int64)
    column = records.columns.get(role)
    return None if column is None else checked_whole(column, records.lines, role, problems)


def _probabilities(records: Records, problems: Problems) -> Numbers | None:
    column = records.columns.get("probability")
    if column is None:
        return None
    values = checked_numbers(column, records.lines, "probability", problems)
    wrong = ((values <= 0) | (values > 1)).nonzero()[0]
    problems.add(
        line_numbers(records.lines, wrong),
        lambda i: f"probability {quote(column.text(int(wrong[i])))}; expected more than 0 and at most 1",
    )
    return values


def _note_unusable_ids(records: Records, problems: Problems) -> None:
    """Report ids that are empty or contain a control character: a line end would break every output."""
    for role in () if records.is_text else ("topic", "doc"):
        ids = records.columns[role]
        if ids.length.all() and not (ids.buffer[:-MARGIN] < 32).any():
            continue  # a buffer that holds only ids, as Parquet provides it
        ids = ids.compact()
        empty = (ids.length == 0).nonzero()[0]
        problem = f"the {role} is empty; expected an id"
        problems.add(line_numbers(records.lines, empty), lambda _, problem=problem: problem)  # type: ignore[misc]
        control = (ids.buffer[: int(ids.length.sum())] < 32).nonzero()[0]
        rows = np.unique(np.searchsorted(ids.start + ids.length, control, side="right"))
        problems.add(
            line_numbers(records.lines, rows),
            lambda i, role=role, ids=ids, rows=rows: (  # type: ignore[misc]
                f"the {role} {quote(ids.text(int(rows[i])))} holds a control character; expected plain text"
            ),
        )


def _only_tag(records: Records, problems: Problems) -> str | None:
    """Return the tag that all records share; report a second one, because a file holds one run."""
    if "tag" not in records.columns:
        return None
    column = records.columns["tag"]
    if len(column) and all((word == word[0]).all() for word in column.words()):
        return column.text(0)
    tags = column.texts()
    others = np.array([row for row, tag in enumerate(tags) if tag != tags[0]], np.int64)
    problems.add(
        line_numbers(records.lines, others),
        lambda i: (
            f"tag {quote(tags[others[i]])} after {quote(tags[0])};"
            " expected one tag, because a file holds one run"
        ),
    )
    return tags[0] if tags else None


def checked_numbers(tokens: Tokens, lines: Places | None, what: str, problems: Problems) -> Numbers:
    """Parse a column of numbers and report the texts that are not finite numbers."""
    values, bad = parse_numbers(tokens)
    rows = bad.nonzero()[0]

    def describe(number: int) -> str:
        text = tokens.text(int(rows[number]))
        if is_too_large(text):
            return f"{what} {quote(text)} is too large; expected a number below 1.8e308"
        return f"{what} {quote(text)} is not a number; expected one such as {EXAMPLES.get(what, '1')}"

    problems.add(line_numbers(lines, rows), describe)
    return values


def checked_whole(tokens: Tokens, lines: Places | None, what: str, problems: Problems) -> Places:
    """Parse a column of non-negative whole numbers and report everything else."""
    values = checked_numbers(tokens, lines, what, problems)
    fit = (values >= 0) & (values <= 2**53) & (values == np.floor(values))
    wrong = (np.isfinite(values) & ~fit).nonzero()[0]
    problems.add(
        line_numbers(lines, wrong),
        lambda i: f"{what} {quote(tokens.text(int(wrong[i])))}; expected a whole number from 0",
    )
    values[wrong] = 0
    return np.nan_to_num(values).astype(np.int64)


def checked_grades(
    tokens: Tokens, lines: Places | None, fractional: Fractional, problems: Problems
) -> Numbers:
    """Parse a column of grades; fractions are refused, kept or rounded according to the policy."""
    grades = checked_numbers(tokens, lines, "grade", problems)
    with np.errstate(invalid="ignore"):
        rows = (grades != np.floor(grades)).nonzero()[0]
    rows = rows[np.isfinite(grades[rows])]
    if fractional == "refuse":
        problems.add(
            line_numbers(lines, rows),
            lambda i: (
                f"grade {quote(tokens.text(int(rows[i])))} is not a whole number;"
                " use --policy fractional=accept or fractional=round"
            ),
        )
    elif fractional == "round":
        grades[rows] = np.floor(grades[rows] + 0.5)
    return grades


def _group(topic: Tokens, *, sort: bool = False) -> tuple[tuple[str, ...], Places, Places | None]:
    """Return the topics, where each starts, and the row order that groups them (None: already grouped)."""
    if not len(topic):
        return (), np.zeros(1, np.int64), None
    words = topic.words()
    changes = np.zeros(len(topic), np.bool_)
    changes[0] = True
    for word in words:
        changes[1:] |= word[1:] != word[:-1]
    heads = changes.nonzero()[0]
    pieces, names = _topics_of_words(words.take(heads, axis=1).tobytes(), len(words), sort=sort)
    sizes = np.diff(heads, append=len(topic))
    if names == pieces:
        return names, np.append(heads, len(topic)), None
    place = {text: number for number, text in enumerate(names)}
    codes = np.array([place[text] for text in pieces])
    small = codes.astype(np.uint16) if len(names) < 1 << 16 else codes  # NumPy sorts 16-bit integers by radix
    order = np.argsort(np.repeat(small, sizes), kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, sizes, len(names)))]).astype(np.int64)
    return names, starts, order


@lru_cache(maxsize=2)  # the runs of a collection usually have the same topics
def _topics_of_words(words: bytes, count: int, *, sort: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return texts of `count` words each, and every text once: in byte order or as they first appear."""
    whole = np.frombuffer(words, np.uint64).reshape(count, -1).T.tobytes()
    encoded = np.frombuffer(whole, f"S{8 * count}").tolist()
    pieces = tuple(text.decode("utf-8", "surrogateescape") for text in encoded)
    names = tuple(sorted(set(pieces), key=byte_order)) if sort else tuple(dict.fromkeys(pieces))
    return pieces, pieces if names == pieces else names


def _without_repeats(
    table: Run | Qrels,
    keys: Words,
    values: Numbers,
    duplicates: Duplicates,
    problems: Problems,
    raters: Tokens | None = None,
) -> NDArray[np.bool_] | None:
    """Return which rows to keep if a topic lists a document twice; None: all. `error` reports the rows."""
    later, earlier = repeated_rows(keys, table.docs)
    if not len(later):
        return None
    if duplicates == "error":
        problems.add(
            line_numbers(table.lines, later), _describe_repeat(table, later, earlier, problems, raters)
        )
        return None
    keep = np.ones(len(keys), np.bool_)
    keep[later] = False
    if duplicates == "best":
        firsts = np.unique(earlier)
        rows, pair = np.concatenate([firsts, later]), np.concatenate([firsts, earlier])
        order = np.lexsort((rows, -values[rows], pair))  # the best row of each pair comes first
        keep[firsts] = False
        keep[rows[order][np.diff(pair[order], prepend=-1) > 0]] = True
    return keep


def _describe_repeat(
    table: Run | Qrels, later: Places, earlier: Places, problems: Problems, raters: Tokens | None
) -> Callable[[int], str]:
    def describe(number: int) -> str:
        row, first = int(later[number]), int(earlier[number])
        topic = table.topics[int(np.searchsorted(table.starts, row, side="right")) - 1]
        line = problems.line(first + 1 if table.lines is None else int(table.lines[first]))
        seen = f"topic {shorten(topic)} lists document {quote(table.docs.text(row))}"
        if raters is not None and raters.text(row) != raters.text(first):
            command = f"sounding agree {problems.source} --combine majority QRELS"
            return f"{seen} already in line {line}, judged by another person; combine them with `{command}`"
        return f"{seen} already in line {line}; expected it once"

    return describe
