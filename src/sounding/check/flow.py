"""Run `sounding check`: read each file, and list what is wrong with it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from sounding.check.campaign import JUDGMENTS, findings, headline, info_text, only_repeats
from sounding.check.checking import FileCheck, check
from sounding.check.command import CheckOptions
from sounding.core.errors import DataError
from sounding.core.files import refuse_unwritable, write_file
from sounding.core.text import fill_paragraph, plural
from sounding.core.workers import map_items
from sounding.data.finding import find_files, find_files_below
from sounding.data.problems import Problem
from sounding.data.reading import processes_to_read
from sounding.data.sources import bytes_to_read
from sounding.render.tables import Answer, Column, Table
from sounding.terminal.options import prose_width, remark, write_answer, write_text

FEW_FILES = 5  # of which every problem is listed; of more, each kind of problem
NO_DATA = ("readme", "license")  # first letters of file names that a folder may hold beside its data


def run(options: CheckOptions) -> None:
    """Check the files, print their problems, and exit with 1 where there is one."""
    if options.write_info is not None:
        refuse_unwritable(options.write_info)
        if options.write_info.exists():
            raise DataError(f"--write-info {options.write_info}: it exists; remove it, or name another file")
    files = _files(options.files)
    processes = processes_to_read([(file, None) for file in files], bytes_to_read(files), None)
    checks = map_items(lambda file: check(file, kind=options.kind), files, processes=processes)
    following = _next_command(checks, options.files)
    if options.format_name == "table" and len(checks) <= FEW_FILES:
        parts = [
            fill_paragraph(headline(checks), prose_width(options.output)) + "\n",
            "".join(_lines(file, options.quiet) for file in checks),
        ]
        if not options.quiet and len(checks) > 1:
            more = [one for one in findings(checks) if one.text.startswith("runs ")]
            parts += ["".join(f"note: {one.text}: {one.examples}\n" for one in more)] if more else []
        parts += [f"Next: {following}\n"] if following else []
        write_text("\n".join(parts), options.output)
    else:
        summary = options.format_name in ("table", "md", "latex")
        table = finding_table(checks, quiet=options.quiet) if summary else problem_table(checks)
        notes = [line for file in checks for line in _lines(file, options.quiet).splitlines()]
        detail = notes if options.notes else []
        write_answer(Answer(headline(checks), [table], detail, following), options)
    if options.write_info is not None:
        write_file(options.write_info, info_text(checks).encode("utf-8", "surrogateescape"))
        remark(
            f"{options.write_info}: complete group, kind, priority and pooled (now yes for all)",
            quiet=options.quiet,
        )
    if any(file.problems for file in checks):
        click.get_current_context().exit(1)


def _files(sources: Sequence[str]) -> list[str]:
    """Return the files that are meant; a folder stands for those in it and in its sub-folders."""
    found: list[str] = []
    for source in sources:
        if Path(source).is_dir():
            below = find_files_below([source])
            found += [name for name in below if not Path(name).name.lower().startswith(NO_DATA)]
        else:
            found += find_files([source])
    return list(dict.fromkeys(found))


def _next_command(checks: Sequence[FileCheck], typed: Sequence[str]) -> str | None:
    """Return how to evaluate the files, where it is clear which of them are the qrels and which are runs."""
    judged = [file for file in checks if file.kind in JUDGMENTS]
    if len(judged) != 1 or judged[0].source not in typed:
        return None
    if {file.kind for file in checks} != {judged[0].kind, "run"}:
        return None
    repeats = only_repeats(checks)
    if any(file.total for file in checks) and not repeats:
        return None
    source = judged[0].source
    words = ["sounding", "evaluate", source, *(name for name in typed if name != source)]
    if judged[0].kind == "preferences":
        words += ["-m", "Prefs"]
    elif judged[0].by_intent:
        words += ["-m", "alpha_nDCG@10", "-m", "StRecall@10"]
    return shlex.join([*words, *(["--policy", "duplicates=first"] if repeats else [])])


def finding_table(checks: Sequence[FileCheck], *, quiet: bool) -> Table:
    """Return one row for each kind of problem, and for each kind of remark."""
    rows = [one for one in findings(checks) if not quiet or one.severity == "problem"]
    return Table(
        [
            Column("kind", [one.severity for one in rows]),
            Column("files", [one.files for one in rows]),
            Column("count", [one.count for one in rows]),
            Column("what", [one.text for one in rows]),
            Column("first", [one.examples for one in rows]),
        ],
        keys=5,
    )


def problem_table(checks: Sequence[FileCheck]) -> Table:
    """Return one row for each problem and each remark: problems of all files first."""
    rows: list[tuple[str, str, str, int | None, int | None, str]] = [
        (file.source, file.kind, "problem", one.line, one.times, one.text)
        for file in checks
        for one in file.problems
    ]
    further = "further problems, not listed"
    rows += [(file.source, file.kind, "problem", None, file.more, further) for file in checks if file.more]
    rows += [(file.source, file.kind, "remark", None, None, text) for file in checks for text in file.remarks]
    rows += [
        (one.examples, "run", "remark", None, one.count, one.text)
        for one in findings(checks)
        if one.text.startswith("runs ")
    ]
    names = ("file", "kind", "severity", "line", "count", "text")
    return Table([Column(name, [row[place] for row in rows]) for place, name in enumerate(names)])


def _lines(file: FileCheck, quiet: bool) -> str:
    """A file in a few lines: what it is, its problems, and remarks."""
    verdict = plural(file.total, "problem") if file.total else "no problem"
    about = f"{file.kind}, {file.summary}; " if file.summary else ""
    lines = [f"{file.source}: {about}{verdict}"]
    for problem in file.problems:
        place = f"line {problem.line}: " if problem.line else ""
        lines.append(f"  {place}{problem.text}{_repeated(problem)}")
    if file.more:
        lines.append(f"  ... and {plural(file.more, 'more problem')}")
    if not quiet:
        lines += [f"  note: {remark}" for remark in file.remarks]
    return "\n".join(lines) + "\n"


def _repeated(problem: Problem) -> str:
    """Return how often a problem occurs and in which other lines, where it is more than once."""
    if problem.times == 1:
        return ""
    others = sorted({*problem.lines[1:]} - {problem.line})
    listed = [*map(str, others), *(["..."] if problem.times > len(problem.lines) else [])]
    also = f"; also line{'s' * (len(listed) > 1)} {', '.join(listed)}" if others else ""
    return f" [{problem.times:,} times{also}]"
