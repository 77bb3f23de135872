"""Everything that is wrong, or worth knowing, about one file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sounding.core.errors import FormatError
from sounding.core.text import plural, quote_list, shorten
from sounding.data.columns import NAMES, fold_name, promises_judgments
from sounding.data.comparisons import opinions, undecided
from sounding.data.delimited import first_fields, first_record
from sounding.data.fast.fields import split_fields
from sounding.data.formats import (
    TABLES,
    detect,
    is_number,
    judged_by_group,
    parse_preferences,
    parse_qrels,
    parse_run,
)
from sounding.data.labels import looks_like_labels, parse_labels
from sounding.data.problems import Problem, Problems
from sounding.data.run_info import is_run_info, parse_run_info
from sounding.data.sources import Content, extension, read_content
from sounding.data.structured import layout_of
from sounding.data.tables import Qrels, Run, single_precision
from sounding.data.topics import is_topics_header, looks_like_topics, parse_topics

FileKind = Literal["run", "qrels", "topics", "labels"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """Result of checking a file: its problems in the order of lines, and remarks."""

    source: str
    kind: str  # run, qrels, preferences, topics, labels, run info or other
    summary: str
    problems: tuple[Problem, ...]  # the first of them
    remarks: tuple[str, ...]
    more: int = 0  # problems that are not among these
    topics: tuple[str, ...] = ()  # of a run or qrels
    entries: int = 0  # documents of a run, judgments of qrels
    tag: str = ""  # the tag of a run
    lists: str = ""  # a digest of a run's rankings; empty: not a run
    by_intent: bool = False  # of qrels: documents are judged for several intents, or by several people

    @property
    def total(self) -> int:
        """Return how many problems the file has."""
        return sum(problem.times for problem in self.problems) + self.more


def check(source: str | Path, *, kind: FileKind | None = None) -> FileCheck:
    """Read a file as a run, qrels, topics or labels, whichever fits best, and list every problem.

    Other files that a collection of ours holds are known by their first line: run info is read, and a
    table of something else, or a page, is said to be none of these.
    """
    try:
        content = read_content(source)
        layout = layout_of(content, detect(content, content.source)) if kind is None else None
    except FormatError as error:
        problem = Problem(error.line or 0, error.problem, 1, ())
        return FileCheck(source=str(source), kind=kind or "run", summary="", problems=(problem,), remarks=())
    if kind is not None:
        checks = {
            "run": _check_run, "qrels": _check_qrels, "topics": _check_topics, "labels": _check_labels,
        }  # fmt: skip
        return checks[kind](content)
    if layout is None and detect(content, content.source) == "prefs":
        return _check_preferences(content)
    if layout is not None:
        return _check_run(content) if layout.kind == "run" else _check_qrels(content, groups=layout.raters)
    names = first_fields(content)
    if is_run_info(names):
        return _check_run_info(content)
    other = _other_kind(names)
    if other:
        return _summarize(content, "other", lambda _: (f"none of run, qrels, topics: {other}", []))
    if looks_like_labels(content):
        return _check_labels(content)
    if looks_like_topics(content):
        return _check_topics(content)
    readings = [_check_qrels(content), _check_run(content)]
    if not promises_judgments(content.source, names):
        readings.reverse()
    best = min(readings, key=lambda checked: checked.total)
    if best.total and not best.entries and detect(content, content.source) not in TABLES:
        return _check_nearest(content) or best
    return best


def _check_nearest(content: Content) -> FileCheck | None:
    """Read TREC text of which no line is right as what its first line is nearest to."""
    words = first_record(content).split()
    named = extension(content.source) == ".prefs"
    compared = len(words) == 5 and words[1].upper() != "Q0" and not is_number(words[3])
    if named or compared:
        return _check_preferences(content)
    if len(words) in (5, 6):
        return _check_run(content)
    return _check_qrels(content) if len(words) in (3, 4) else None


def _other_kind(names: list[str]) -> str | None:
    """Return what a file is that begins with these fields and is no input; None: it may be one.

    A table that names runs or topics and, beside them, nothing that runs, qrels or topics have.
    """
    if names[0].lower().startswith(("<!doctype html", "<html")):
        return "a web page"
    about = fold_name(names[0]) in (*NAMES["topic"], *NAMES["tag"]) and len(names) > 1
    if about and not is_topics_header(names) and not any(map(_belongs_to_input, names[1:])):
        return f"a table of {quote_list(names)}"
    return None


def _belongs_to_input(name: str) -> bool:
    """Return whether a name is a column of runs or qrels, or is no name but a number."""
    roles = ("topic", "doc", "score", "rank", "grade", "pool_rank", "probability", "stratum")
    return any(fold_name(name) in NAMES[role] for role in roles) or not name or is_number(name)


def _summarize(content: Content, kind: str, read: Callable[[Problems], tuple[str, list[str]]]) -> FileCheck:
    """Read a file, noting its problems; `read` gives a summary and remarks."""
    problems = Problems(content.source)
    summary = ""
    remarks: list[str] = []
    try:
        summary, remarks = read(problems)
    except FormatError as error:
        problems.note(error.line or 0, error.problem)
    return FileCheck(
        source=content.source, kind=kind, summary=summary, problems=tuple(problems.found),
        remarks=tuple(remarks), more=problems.more,
    )  # fmt: skip


def _check_run_info(content: Content) -> FileCheck:
    def read(problems: Problems) -> tuple[str, list[str]]:
        info = parse_run_info(content, problems)
        groups = len({one.group for one in info.values()})
        pooled = sum(one.pooled for one in info.values())
        return f"{plural(len(info), 'run')} of {plural(groups, 'group')}, {pooled:,} pooled", []

    return _summarize(content, "run info", read)


def _check_topics(content: Content) -> FileCheck:
    return _summarize(
        content, "topics", lambda problems: (plural(len(parse_topics(content, problems).ids), "topic"), [])
    )


def _check_labels(content: Content) -> FileCheck:
    def read(problems: Problems) -> tuple[str, list[str]]:
        labels = parse_labels(content, problems)
        total = sum(len(one.table.docs) for one in labels)
        by = f", by {quote_list([one.judge for one in labels])}" if labels else ""
        return f"{plural(total, 'label')}{by}", []

    return _summarize(content, "labels", read)


def _check_run(content: Content) -> FileCheck:
    facts: dict[str, Any] = {}

    def read(problems: Problems) -> tuple[str, list[str]]:
        run = parse_run(content, problems)
        sizes = f"{plural(len(run.topics), 'topic')}, {plural(len(run.docs), 'document')}"
        facts.update(topics=run.topics, entries=len(run.docs), tag=run.tag, lists=_digest(run))
        remarks = _run_remarks(run) + _rank_remarks(content) + _length_remarks(content)
        return f"{sizes}, tag {shorten(run.tag)}", remarks

    return replace(_summarize(content, "run", read), **facts)


def _digest(run: Run) -> str:
    """Return a text that runs share which rank the same documents in the same order."""
    topic = np.repeat(np.arange(len(run.topics)), run.sizes)
    order = np.lexsort((-run.scores, topic))  # stable: equal scores keep the order of lines
    return blake2b(run.pair_keys()[order].tobytes(), digest_size=16).hexdigest()


def _check_qrels(content: Content, *, groups: bool = False) -> FileCheck:
    facts: dict[str, Any] = {}
    form = detect(content, content.source)
    if form == "prefs":
        return _check_preferences(content)

    def read(problems: Problems) -> tuple[str, list[str]]:
        by_intent = not groups and judged_by_group(content, form)
        qrels = parse_qrels(content, problems, groups=groups or by_intent)
        facts.update(topics=qrels.topics, entries=len(qrels.docs), by_intent=by_intent)
        if by_intent:
            whole = qrels.by_intent()
            number = int(np.max(whole.intents.intent)) + 1 if whole.intents else 0
            sizes = (
                f"{plural(len(qrels.topics), 'topic')} with {plural(number, 'intent')} in all,"
                f" {plural(len(qrels.docs), 'judgment')} of {plural(len(whole.docs), 'document')}"
            )
            about = BY_INTENT if len(whole.docs) < len(qrels.docs) else INTENTS
            return sizes, [about, *_qrels_remarks(whole)]
        relevant = int(np.count_nonzero(qrels.grades >= 1))
        sizes = f"{plural(len(qrels.topics), 'topic')}, {plural(len(qrels.docs), 'judgment')}"
        return f"{sizes}, {relevant:,} relevant", _qrels_remarks(qrels)

    return replace(_summarize(content, "qrels", read), **facts)


BY_INTENT = (
    "documents are judged for several intents, or by several people (second column): measures of intents,"
    " such as alpha_nDCG@10, read them all; for others, add --policy duplicates=best, or"
    " evaluate --judgment-groups"
)
INTENTS = (
    "the column of groups (the second in TREC's text) names intents: measures of intents, such as"
    " alpha_nDCG@10, read them"
)


def _check_preferences(content: Content) -> FileCheck:
    facts: dict[str, Any] = {}

    def read(problems: Problems) -> tuple[str, list[str]]:
        qrels = parse_preferences(content, problems)
        facts.update(topics=qrels.topics, entries=len(qrels.docs))
        if problems.found:
            return plural(len(qrels.topics), "topic"), []
        people = set(qrels.groups.texts()) if qrels.groups else set()
        compared = sum(int(one.preferred.sum()) for one in opinions(qrels))
        documents = sum(len(one.docs) for one in opinions(qrels))
        sizes = (
            f"{plural(len(qrels.topics), 'topic')}, {plural(documents, 'document')} compared in"
            f" {plural(len(people), 'group')}, {plural(compared, 'preference')}"
        )
        return sizes, _undecided_remarks(qrels)

    return replace(_summarize(content, "preferences", read), **facts)


def _undecided_remarks(qrels: Qrels) -> list[str]:
    """Return how many comparisons are missing to be sure of the best documents, and to order all."""
    every = undecided(qrels)
    open_ones = sorted((one for one in every if one.missing), key=lambda one: -one.missing)
    remarks = []
    if open_ones:
        total = sum(one.missing for one in open_ones)
        first = open_ones[0]
        remarks.append(
            f"{_counted(total, 'comparison is', 'comparisons are')} missing to be sure of the best document"
            f" of every topic and group; most for topic {shorten(first.topic)}, group"
            f" {shorten(first.person)}: {first.missing:,}"
        )
    uncompared = sum(one.uncompared for one in every)
    if uncompared:
        pairs = sum(one.documents * (one.documents - 1) // 2 for one in every)
        remarks.append(
            f"{_counted(uncompared, 'pair', 'pairs')} of documents, of {pairs:,}, cannot be ordered by what"
            " was compared; measures of preferences leave them out"
        )
    return remarks


def _run_remarks(run: Run) -> list[str]:
    """Return what is legal in a run and surprises people."""
    remarks = []
    inner = np.ones(len(run.scores), np.bool_)
    inner[run.starts[:-1][run.sizes > 0]] = False
    inner = inner[1:]
    above, below = run.scores[:-1][inner], run.scores[1:][inner]
    rising = int(np.count_nonzero(below > above))
    tied = int(np.count_nonzero(below == above))
    same = single_precision(below) == single_precision(above)
    single = int(np.count_nonzero((below != above) & same))
    if rising:
        higher = _counted(rising, "document scores", "documents score")
        remarks.append(f"{higher} higher than the line above: lines are not in score order")
    if tied:
        ties = _counted(tied, "document ties", "documents tie")
        remarks.append(f"{ties} with the line above: the tie policy decides the order")
    if single:
        equal = _counted(single, "score equals", "scores equal")
        remarks.append(f"{equal} the one above in single precision only (compat trec_eval-9)")
    short = int(np.count_nonzero(run.sizes < 10))
    if short:
        remarks.append(f"{_counted(short, 'topic has', 'topics have')} fewer than 10 documents")
    return remarks


def _rank_remarks(content: Content) -> list[str]:
    """Return whether the rank column, which only `--policy ties=rank` reads, says what the lines say."""
    strange = Problems(content.source)
    run = parse_run(content, strange, with_ranks=True)
    wrong = sum(problem.times for problem in strange.found if problem.text.startswith("rank "))
    if wrong:
        strange_ranks = _counted(wrong, "rank is not a number", "ranks are not numbers")
        return [f"{strange_ranks}: --policy ties=rank will refuse this run"]
    if run.ranks is None:
        return []
    inner = np.ones(len(run.ranks), np.bool_)
    inner[run.starts[:-1][run.sizes > 0]] = False
    falling = int(np.count_nonzero(np.diff(run.ranks)[inner[1:]] <= 0))
    return [f"{_counted(falling, 'rank does', 'ranks do')} not rise from line to line"] if falling else []


def _length_remarks(content: Content) -> list[str]:
    """Return how many lines of TREC's text have more than its six fields."""
    if detect(content, content.source) != "trec":
        return []
    longer = split_fields(
        content.buffer, content.size, wanted=(6,), least=7, shape="", problems=Problems(content.source)
    )
    count = len(longer.columns[0])
    having = _counted(count, "line has", "lines have")
    return [f"{having} more than six fields; what follows the tag is ignored"] if count else []


def _qrels_remarks(qrels: Qrels) -> list[str]:
    """Return what is legal in qrels and changes values."""
    remarks = []
    for count, text in (
        (int(np.count_nonzero(qrels.grades == -1)), "grade -1: pooled and not judged, by default"),
        (
            int(np.count_nonzero(qrels.grades < -1)),
            "grade -2 or less: unjudged, unless --policy negative=split",
        ),
    ):
        if count:
            remarks.append(f"{_counted(count, 'judgment has', 'judgments have')} {text}")
    topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
    relevant = np.bincount(topic[qrels.grades >= 1], minlength=len(qrels.topics))
    barren = [name for name, count in zip(qrels.topics, relevant.tolist(), strict=True) if not count]
    if barren:
        which = f", such as {shorten(barren[0])}" if len(barren) > 1 else f": {shorten(barren[0])}"
        remarks.append(f"{_counted(len(barren), 'topic has', 'topics have')} no relevant document{which}")
    if not np.count_nonzero(qrels.grades == 0):
        remarks.append("no document is judged non-relevant: judged shares and bpref say little")
    return remarks


def _counted(count: int, one: str, several: str) -> str:
    """A number with what it counts, in the singular or the plural."""
    return f"{count:,} {one if count == 1 else several}"
