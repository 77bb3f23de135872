"""Everything that is wrong, or worth knowing, about one file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from sounding.data.formats import parse_qrels, parse_run
from sounding.data.problems import Problem, Problems
from sounding.data.sources import Content, read_content
from sounding.data.tables import Qrels, Run, single_precision
from sounding.data.topics import looks_like_topics, parse_topics
from sounding.errors import FormatError

Kind = Literal["run", "qrels", "topics"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a file turned out to be: its problems in the order of lines, and remarks that are no problems."""

    source: str
    kind: Kind
    summary: str
    problems: tuple[Problem, ...]
    remarks: tuple[str, ...]


def check_file(source: str | Path, kind: Kind | None = None) -> Checked:
    """Read a file as a run, qrels or topics (whichever fits best, unless said) and list every problem."""
    try:
        content = read_content(source)
    except FormatError as error:
        problem = Problem(error.line or 0, error.problem, 1, ())
        return Checked(source=str(source), kind=kind or "run", summary="", problems=(problem,), remarks=())
    if kind == "topics" or (kind is None and looks_like_topics(content)):
        return _check_topics(content)
    if kind is not None:
        return _check_run(content) if kind == "run" else _check_qrels(content)
    readings = [_check_qrels(content), _check_run(content)]
    if "qrel" not in Path(content.source).name.lower():
        readings.reverse()
    return min(readings, key=lambda checked: sum(problem.times for problem in checked.problems))


def _check_topics(content: Content) -> Checked:
    problems = Problems(content.source)
    summary = ""
    try:
        topics = parse_topics(content, problems)
        summary = _counted(len(topics.ids), "topic", "topics")
    except FormatError as error:
        problems.note(error.line or 0, error.problem)
    return _checked(content, "topics", summary, problems, [])


def _check_run(content: Content) -> Checked:
    problems = Problems(content.source)
    summary, remarks = "", []
    try:
        run = parse_run(content, problems)
        topics = _counted(len(run.topics), "topic", "topics")
        summary = f"{topics}, {_counted(len(run.docs), 'document', 'documents')}, tag {run.tag}"
        remarks = _run_remarks(run) + _rank_remarks(content)
    except FormatError as error:
        problems.note(error.line or 0, error.problem)
    return _checked(content, "run", summary, problems, remarks)


def _check_qrels(content: Content) -> Checked:
    problems = Problems(content.source)
    summary, remarks = "", []
    try:
        qrels = parse_qrels(content, problems)
        relevant = int(np.count_nonzero(qrels.grades >= 1))
        topics = _counted(len(qrels.topics), "topic", "topics")
        summary = f"{topics}, {_counted(len(qrels.docs), 'judgment', 'judgments')}, {relevant:,} relevant"
        remarks = _qrels_remarks(qrels)
    except FormatError as error:
        problems.note(error.line or 0, error.problem)
    return _checked(content, "qrels", summary, problems, remarks)


def _checked(content: Content, kind: Kind, summary: str, problems: Problems, remarks: list[str]) -> Checked:
    return Checked(
        source=content.source,
        kind=kind,
        summary=summary,
        problems=tuple(sorted(problems.found)),
        remarks=tuple(remarks),
    )


def _run_remarks(run: Run) -> list[str]:
    """What is legal in a run and surprises people."""
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
    """Whether the rank column, which only `--ties rank` reads, says what the lines say."""
    strange = Problems(content.source)
    run = parse_run(content, strange, with_ranks=True)
    wrong = sum(problem.times for problem in strange.found if problem.text.startswith("rank "))
    if wrong:
        strange_ranks = _counted(wrong, "rank is not a number", "ranks are not numbers")
        return [f"{strange_ranks}: --ties rank will refuse this run"]
    if run.ranks is None:
        return []
    inner = np.ones(len(run.ranks), np.bool_)
    inner[run.starts[:-1][run.sizes > 0]] = False
    falling = int(np.count_nonzero(np.diff(run.ranks)[inner[1:]] <= 0))
    return [f"{_counted(falling, 'rank does', 'ranks do')} not rise from line to line"] if falling else []


def _qrels_remarks(qrels: Qrels) -> list[str]:
    """What is legal in qrels and changes values."""
    remarks = []
    for count, text in (
        (int(np.count_nonzero(qrels.grades == -1)), "grade -1: pooled and not judged, by default"),
        (int(np.count_nonzero(qrels.grades < -1)), "grade -2 or less: unjudged by default, see --negative"),
    ):
        if count:
            remarks.append(f"{_counted(count, 'judgment has', 'judgments have')} {text}")
    topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
    relevant = np.bincount(topic[qrels.grades >= 1], minlength=len(qrels.topics))
    barren = [name for name, count in zip(qrels.topics, relevant.tolist(), strict=True) if not count]
    if barren:
        which = f"first {barren[0]}" if len(barren) > 1 else barren[0]
        remarks.append(f"{_counted(len(barren), 'topic has', 'topics have')} no relevant document: {which}")
    if not np.count_nonzero(qrels.grades == 0):
        remarks.append("no document is judged non-relevant: judged shares and bpref say little")
    return remarks


def _counted(count: int, one: str, several: str) -> str:
    """A number with what it counts, in the singular or the plural."""
    return f"{count:,} {one if count == 1 else several}"
