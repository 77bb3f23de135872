"""The options of `sounding check`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from sounding.terminal import declare


@declare.options
class CheckOptions(declare.OutputOptions):
    """The options of `sounding check`."""

    files: tuple[str, ...] = declare.argument(nargs=-1, required=True, metavar="FILE...")
    kind: Literal["run", "qrels", "topics", "labels"] | None = declare.choice(
        ["run", "qrels", "topics", "labels"], "Check the files as this kind; default: whichever fits best."
    )
    write_info: Path | None = declare.file(
        "Write a table of the runs with groups guessed from folder names, to complete by hand."
    )


@click.command("check", short_help="List every problem in a file.")
@declare.taking(CheckOptions)
@declare.output_options()
def command(options: CheckOptions) -> None:
    """List every problem in each FILE (run, qrels, topics or labels), with line numbers and counts.

    FILE may be a folder, with its sub-folders, or a quoted glob. Of up to 5 files all problems are listed;
    of more, one line for each kind of problem. Remarks point out what is legal but surprising: ties,
    unsorted lines, runs that share a tag or are equal, topics that runs lack.

    Exit status: 0: no problem; 1: problem or bad input; 2: wrong usage.
    """
    declare.run_flow(options)
