"""Options that `plan` and `simulate` share: what a session is asked for, and how the files are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from sounding.terminal.options import (
    RankingOptions,
    ReadingOptions,
    dask_option,
    format_options,
    pool_options,
    ranking_options,
)

Command = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class SessionOptions(RankingOptions, ReadingOptions):
    """What `session_options` adds."""

    measure: str
    depth: int
    prior: str
    selection: str
    confidence: str | None
    draws: int
    sure: float

    def check_session(self) -> None:
        """Refuse options that do not go together, before files are read."""
        if self.info and self.pool_depth is None:
            raise click.UsageError("--info says which runs --pool-depth cuts the pool by; give that as well")
        if not 0.5 < self.sure <= 1:
            raise click.UsageError(f"--sure {self.sure:g}: expected a confidence above 0.5, at most 1")


def _only_one(_: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> str:
    """The one value of an option; several are refused, of which all but the last would be lost."""
    if len(values) > 1:
        raise click.UsageError(
            f"{parameter.opts[0]} {' '.join(values)}: runs are compared by one measure at a time; give one"
        )
    return values[0]


_OPTIONS = (
    click.option(
        "-m", "--measure", multiple=True, default=("AP",), show_default=True, metavar="M",
        callback=_only_one, help="What the runs are compared by: AP, P@k, nDCG@k, DCG@k, RBP.",
    ),
    click.option(
        "--depth", type=click.IntRange(1), default=100, show_default=True,
        help="Documents of each list that count.",
    ),
    click.option(
        "--prior", default="runs", show_default=True, metavar="P",
        help="Chance of relevance of the unjudged: a number, rate, rank, runs (or model), a file.",
    ),
    click.option(
        "--selection", default="informed", show_default=True, metavar="S",
        help="How documents are weighed: informed, variance, scaled, faithful (the paper's).",
    ),
    click.option(
        "--confidence", metavar="C",
        help="draws, normal, paper or exact; default: draws for the prior runs, else normal.",
    ),
    click.option(
        "--draws", type=click.IntRange(2), default=200, show_default=True,
        help="Completions of the judgments that are drawn.",
    ),
    click.option(
        "--sure", type=float, default=0.95, show_default=True, metavar="C",
        help="When the order of two runs counts as probable.",
    ),
    ranking_options,
    format_options,
    click.option("--jobs", type=click.IntRange(1), help="Processes; default: all cores where that pays."),
    dask_option,
    pool_options,
)  # fmt: skip


def session_options(command: Command) -> Command:
    """Add what a session of minimal test collections is asked for, and how files are read."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
