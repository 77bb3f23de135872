"""`sounding check`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import click

from sounding.terminal import declare


@dataclass(frozen=True, kw_only=True)
class CheckOptions(declare.OutputOptions):
    """What `sounding check` is asked for."""

    files: tuple[str, ...]
    kind: Literal["run", "qrels", "topics"] | None


@click.command("check", short_help="Every problem of a file.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@declare.choice(
    "--kind", ["run", "qrels", "topics"], "What the files should be; default: whichever fits best."
)
@declare.output_options()
@declare.taking(CheckOptions)
def command(options: CheckOptions) -> None:
    """List every problem of each FILE (run, qrels or topics), with lines and counts.

    A folder stands for the files in it, and a glob in quotes for those that it matches.
    All problems are counted; the first 100 are listed. Nothing is evaluated. Remarks name what is legal
    and surprises people: ties, lines out of order, negative grades. Exit status 1 where a file has a problem.
    """
    from sounding.check.flow import run  # NumPy, which --help does without

    run(options)
