"""`sounding check`: every problem of a file at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sounding.core.text import plural
from sounding.terminal.options import output_options, write_tables, write_text

if TYPE_CHECKING:
    from sounding.check.checking import Checked
    from sounding.data.problems import Problem


@click.command("check", short_help="Every problem of a file.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--kind",
    type=click.Choice(["run", "qrels", "topics"]),
    help="What the files should be; default: whichever fits best.",
)
@output_options()
@click.pass_context
def command(
    context: click.Context,
    files: tuple[str, ...],
    kind: str | None,
    format_name: str,
    output: Path | None,
    quiet: bool,
) -> None:
    """List every problem of each FILE (run, qrels or topics), with lines and counts.

    A folder stands for the files in it, and a glob in quotes for those that it matches.
    All problems are counted; the first 100 are listed. Nothing is evaluated. Remarks name what is legal
    and surprises people: ties, lines out of order, negative grades. Exit status 1 where a file has a problem.
    """
    from sounding.check.checking import check_file
    from sounding.data.finding import find_files
    from sounding.render.tables import Column, Table

    checked = [check_file(file, kind) for file in find_files(files)]  # type: ignore[arg-type]
    if format_name == "table":
        write_text("".join(_lines(file, quiet) for file in checked), output)
    else:
        rows = (
            [
                (file.source, file.kind, "problem", problem.line, problem.times, problem.text)
                for file in checked
                for problem in file.problems
            ]
            + [
                (file.source, file.kind, "problem", None, file.more, "further problems, not listed")
                for file in checked
                if file.more
            ]
            + [
                (file.source, file.kind, "remark", None, None, text)
                for file in checked
                for text in file.remarks
            ]
        )
        names = ("file", "kind", "severity", "line", "count", "text")
        columns = [Column(name, [row[place] for row in rows]) for place, name in enumerate(names)]
        write_tables([Table(columns)], format_name, output)
    if any(file.problems for file in checked):
        context.exit(1)


def _lines(file: Checked, quiet: bool) -> str:
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
