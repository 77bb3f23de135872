"""The options of `sounding sample`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import click

from sounding.sample.parameters import DEFAULTS, CollectionParameters, option_name
from sounding.terminal import declare

_HELP = {
    "topics": "Set the number of topics.",
    "groups": "Set the number of groups that submit runs.",
    "systems": "Set the number of systems per group; each submits one run.",
    "documents": "Set the number of candidate documents per topic.",
    "prevalence": "Set the mean share of them that is relevant; topics differ widely.",
    "grades": "Set the highest grade; 1 means binary relevance.",
    "length": "Set the number of documents per topic in a run.",
    "short": "Set the share of runs that are much shorter.",
    "ties": "Set the share of runs with rounded scores, which cause ties.",
    "pool_depth": "Judge each contributing run to this depth.",
    "contributors": "Set the number of groups that contribute to the pool.  [default: four of five]",
    "pooled_runs": "Set the number of pooled runs per contributing group.",
    "manual": "Set the share of groups that search manually.",
    "seed": "Set the seed; the same seed gives the same files.",
}


def _collection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option for every parameter of a simulated collection."""
    for name, text in reversed(_HELP.items()):
        default = getattr(DEFAULTS, name)
        kind = type(default) if default is not None else int
        command = click.option(
            option_name(name), name, type=kind, metavar="N" if kind is int else "X", default=default,
            show_default=default is not None, help=text,
        )(command)  # fmt: skip
    return command


@declare.options
class SampleOptions(CollectionParameters):
    """The options of `sounding sample`."""

    folder: Path = declare.argument(metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
    _parameters: ClassVar[declare.Declaration] = _collection_options
    compress: bool = declare.flag("Compress the runs.", spelled="--gzip")
    force: bool = declare.flag("Replace an existing collection in DIR.")
    quiet: bool = declare.quiet


@click.command("sample", short_help="Write a simulated collection with known truth.")
@declare.taking(SampleOptions)
def command(options: SampleOptions) -> None:
    """Write to DIR a simulated collection in which the relevance of every document is known.

    Systems of known quality retrieve documents. The top documents of some of them are pooled and judged;
    the truth about all others is written as well. DIR/README.md explains each file.

    \b
    sounding sample trial --topics 30 --groups 8 --pool-depth 20 --seed 7
    sounding evaluate trial/qrels.txt trial/runs
    """  # noqa: D301 - click looks for this sign, not for a backslash
    declare.run_flow(options)
