"""What `sounding check` does: read each file, and list what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence

import click

from sounding.check.checking import FileCheck, check
from sounding.check.command import CheckOptions
from sounding.core.text import plural
from sounding.data.finding import find_files
from sounding.data.problems import Problem
from sounding.render.tables import Column, Table
from sounding.terminal.options import write_tables, write_text


def run(options: CheckOptions) -> None:
    """Check the files, print their problems, and exit with 1 where there is one."""
    checks = [check(file, kind=options.kind) for file in find_files(options.files)]
    if options.format_name == "table":
        write_text("".join(_lines(file, options.quiet) for file in checks), options.output)
    else:
        write_tables([problem_table(checks)], options.format_name, options.output)
    if any(file.problems for file in checks):
        click.get_current_context().exit(1)


def problem_table(checks: Sequence[FileCheck]) -> Table:
    """One row for each problem and each remark: problems of all files first."""
    rows: list[tuple[FileCheck, str, int | None, int | None, str]] = [
        (file, "problem", one.line, one.times, one.text) for file in checks for one in file.problems
    ]
    further = "further problems, not listed"
    rows += [(file, "problem", None, file.more, further) for file in checks if file.more]
    rows += [(file, "remark", None, None, text) for file in checks for text in file.remarks]
    return Table(
        [
            Column("file", [file.source for file, *_ in rows]),
            Column("kind", [file.kind for file, *_ in rows]),
            Column("severity", [row[1] for row in rows]),
            Column("line", [row[2] for row in rows]),
            Column("count", [row[3] for row in rows]),
            Column("text", [row[4] for row in rows]),
        ]
    )


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
    """How often a problem occurs and in which other lines, where it is more than once."""
    if problem.times == 1:
        return ""
    others = sorted({*problem.lines[1:]} - {problem.line})
    listed = [*map(str, others), *(["..."] if problem.times > len(problem.lines) else [])]
    also = f"; also line{'s' * (len(listed) > 1)} {', '.join(listed)}" if others else ""
    return f" [{problem.times:,} times{also}]"
