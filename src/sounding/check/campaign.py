"""Findings over many files: each kind of problem once, equal runs, and topics that runs lack."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from sounding.check.checking import FileCheck
from sounding.core.text import first_few, natural_order, plural
from sounding.data.finding import run_name as name_of
from sounding.data.finding import run_names

JUDGMENTS = ("qrels", "preferences")  # kinds of files
EXAMPLES = 3  # files that a finding names
REPEATED = "a document is listed twice for a topic; --policy duplicates=first keeps the first"
_PLURALS = {
    "document ties": "documents tie", "document scores": "documents score", "topic has": "topics have",
    "score equals": "scores equal", "rank does": "ranks do", "line has": "lines have",
    "judgment has": "judgments have", "rank is not a number": "ranks are not numbers",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfProblem:
    """One kind of problem or remark over all files."""

    severity: str  # problem or remark
    text: str
    files: int
    count: int
    examples: str


def findings(checks: Sequence[FileCheck]) -> list[KindOfProblem]:
    """Return every kind of problem, what runs share or lack, then every kind of remark."""
    problems = [
        _Row(_kind(problem.text), problem.text, problem.times, _place(file, problem.line), file.source)
        for file in checks
        for problem in file.problems
    ]
    further = "further problems, not listed"
    problems += [_Row(further, further, file.more, file.source, file.source) for file in checks if file.more]
    remarks = []
    for file in checks:
        shown = name_of(file.source) if file.kind == "run" else file.source
        for text in file.remarks:
            number, rest = _counted(text)
            remarks.append(_Row(rest, rest, number, shown, file.source))
    return [*_grouped("problem", problems), *_over_runs(checks), *_grouped("remark", remarks)]


class _Row(NamedTuple):
    """One problem or remark of a file."""

    kind: str
    text: str
    times: int
    place: str
    source: str


def _grouped(severity: str, rows: Sequence[_Row]) -> list[KindOfProblem]:
    """Return one finding for each kind, the one of most files first, in the words of its first row."""
    kinds: dict[str, list[_Row]] = {}
    for row in rows:
        kinds.setdefault(row.kind, []).append(row)
    found = [
        KindOfProblem(
            severity=severity,
            text=REPEATED if kind == REPEATED else members[0].text,
            files=len({row.source for row in members}),
            count=sum(row.times for row in members),
            examples=_first([row.place for row in members]),
        )
        for kind, members in kinds.items()
    ]
    return sorted(found, key=lambda one: (-one.files, -one.count))


def _kind(text: str) -> str:
    """Return what problems of one kind have in common: the text without numbers and quoted input."""
    if " already in line " in text and "lists document" in text:
        return REPEATED
    return re.sub(r"'[^']*'|\b\d[\d,.]*", "…", text)


def _counted(text: str) -> tuple[int, str]:
    """Return the number that a remark begins with, and the rest in the plural."""
    begin = re.match(r"(\d[\d,]*) (.*)", text)
    if begin is None:
        return 1, text
    rest = begin[2]
    for one, several in _PLURALS.items():
        rest = rest.replace(one, several)
    rest = re.sub(r"(no relevant document): .*", r"\1", rest)
    return int(begin[1].replace(",", "")), rest


def _place(file: FileCheck, line: int) -> str:
    return f"{file.source}:{line}" if line else file.source


def _first(places: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(places))
    rest = len(distinct) - EXAMPLES
    return ", ".join(distinct[:EXAMPLES]) + (f", {rest:,} more" if rest > 0 else "")


def _over_runs(checks: Sequence[FileCheck]) -> Iterator[KindOfProblem]:
    """Yield what only a look at all runs shows."""
    runs = [file for file in checks if file.kind == "run" and file.topics]
    tags = [(file.tag, name_of(file.source)) for file in runs]
    lists = [(file.lists, name_of(file.source)) for file in runs]
    equal = "runs are equal: the same documents in the same order"
    for text, keys in (("runs share a tag", tags), (equal, lists)):
        groups: dict[str, list[str]] = {}
        for key, name in keys:
            groups.setdefault(key, []).append(name)
        shared = [names for names in groups.values() if len(names) > 1]
        if shared:
            examples = _first([" = ".join(names[:EXAMPLES]) for names in shared])
            files = sum(map(len, shared))
            yield KindOfProblem(
                severity="remark", text=text, files=files, count=len(shared), examples=examples
            )
    judged = {topic for file in checks if file.kind in JUDGMENTS for topic in file.topics}
    wanted = judged or {topic for file in runs for topic in file.topics}
    lacking = [(file, sorted(wanted - set(file.topics), key=natural_order)) for file in runs]
    lacking = sorted(((file, topics) for file, topics in lacking if topics), key=lambda pair: -len(pair[1]))
    if lacking:
        whose = "judged topics" if judged else "topics that other runs have"
        named = [f"{name_of(file.source)} ({first_few(topics, EXAMPLES)})" for file, topics in lacking]
        yield KindOfProblem(
            severity="remark", text=f"runs lack {whose}", files=len(lacking),
            count=sum(len(topics) for _, topics in lacking), examples=_first(named),
        )  # fmt: skip


def headline(checks: Sequence[FileCheck]) -> str:
    """Return whether the files can be used, and what they hold."""
    bad = [file for file in checks if file.total]
    if not bad:
        verdict = "The file can be used." if len(checks) == 1 else f"{_all(len(checks))} can be used."
    else:
        total = plural(sum(file.total for file in bad), "problem")
        of = "The file" if len(checks) == 1 else f"{len(bad):,} of {len(checks):,} files"
        verb = "has" if len(checks) == 1 or len(bad) == 1 else "have"
        verdict = f"{of} {verb} {total} and cannot be used as {'it is' if verb == 'has' else 'they are'}."
        if only_repeats(checks):
            verdict += f" To read {'it' if verb == 'has' else 'them'} anyway, add --policy duplicates=first."
    return f"{verdict} {_totals(checks)}".strip()


def _all(files: int) -> str:
    return "Both files" if files == 2 else f"All {files:,} files"


def only_repeats(checks: Sequence[FileCheck]) -> bool:
    """Return whether documents that are listed twice are the only problem."""
    bad = [file for file in checks if file.total]
    return bool(bad) and all(
        not file.more and all(_kind(problem.text) == REPEATED for problem in file.problems) for file in bad
    )


def _totals(checks: Sequence[FileCheck]) -> str:
    """Return how much the readable files hold, as a sentence."""
    parts = []
    for kind, entries in (("run", "line"), ("qrels", "judgment"), ("preferences", "level")):
        files = [file for file in checks if file.kind == kind and file.topics]
        if files:
            named = {
                "run": plural(len(files), "run"), "qrels": f"{len(files):,} qrels",
                "preferences": f"{plural(len(files), 'file')} of preferences",
            }[kind]  # fmt: skip
            topics = len({topic for file in files for topic in file.topics})
            lines = plural(sum(file.entries for file in files), entries)
            parts.append(f"{named}: {lines}, {plural(topics, 'topic')}")
    return "; ".join(parts) + "." if parts and len(checks) > 1 else ""


def info_text(checks: Sequence[FileCheck]) -> str:
    """Return an info file of the runs for the organizer to complete, with groups guessed from folders.

    A folder is a group where runs stand in several folders. Every run counts as pooled.
    """
    sources = [file.source for file in checks if file.kind == "run" and file.topics]
    folders = [Path(source).parent for source in sources]
    several = len(set(folders)) > 1
    lines = ["run\tgroup\tkind\tpriority\tpooled"]
    for name, folder in zip(run_names(sources, [name_of(one) for one in sources]), folders, strict=True):
        lines.append(f"{name}\t{folder.name if several else ''}\t\t\tyes")
    return "\n".join(lines) + "\n"
