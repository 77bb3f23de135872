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
        ["run", "qrels", "topics"], "Check the files as this kind; default: whichever fits best."
    )


@click.command("check", short_help="List every problem in a file.")
@declare.taking(CheckOptions)
@declare.output_options()
def command(options: CheckOptions) -> None:
    """List every problem in each FILE (run, qrels or topics), with line numbers and counts.

    FILE may be a folder or a quoted glob. All problems are counted, and the first 100 are listed.
    Remarks point out what is legal but surprising: ties, unsorted lines, negative grades.

    Exit status: 0: no problem; 1: problem or bad input; 2: wrong usage.
    """
    from sounding.check.flow import run  # NumPy, which --help does without

    run(options)
