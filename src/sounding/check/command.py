"""`sounding check`: its options."""

from __future__ import annotations

from typing import Literal

import click

from sounding.terminal import declare


@declare.options
class CheckOptions(declare.OutputOptions):
    """What `sounding check` is asked for."""

    files: tuple[str, ...] = declare.argument(nargs=-1, required=True, metavar="FILE...")
    kind: Literal["run", "qrels", "topics"] | None = declare.choice(
        ["run", "qrels", "topics"], "What the files should be; default: whichever fits best."
    )


@click.command("check", short_help="Every problem of a file.")
@declare.taking(CheckOptions)
@declare.output_options()
def command(options: CheckOptions) -> None:
    """List every problem of each FILE (run, qrels or topics), with lines and counts.

    A folder stands for the files in it, and a glob in quotes for those that it matches.
    All problems are counted; the first 100 are listed. Nothing is evaluated. Remarks name what is legal
    and surprises people: ties, lines out of order, negative grades. Exit status 1 where a file has a problem.
    """
    from sounding.check.flow import run  # NumPy, which --help does without

    run(options)
