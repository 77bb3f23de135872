"""`sounding sample`: its options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import click

from sounding.sample.parameters import DEFAULTS, CollectionParameters, option_name
from sounding.terminal import declare

_HELP = {
    "topics": "Number of topics.",
    "groups": "Number of groups that submit runs.",
    "systems": "Systems of each group; each gives one run.",
    "documents": "Documents that can come up for one topic.",
    "prevalence": "Mean share of these that is relevant; topics differ widely.",
    "grades": "Best grade; 1: relevance is binary.",
    "length": "Documents that a run has for a topic.",
    "short": "Share of the runs that stop much earlier.",
    "ties": "Share of the runs whose scores are rounded, so that documents tie.",
    "pool_depth": "Documents of each contributing run that were judged.",
    "contributors": "Groups that contribute to the pool.  [default: four of five]",
    "pooled_runs": "Runs that a contributing group has pooled.",
    "manual": "Share of the groups that search by hand.",
    "seed": "The same seed gives the same files.",
}


def _collection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option for every parameter of a simulated collection."""
    for name, text in reversed(_HELP.items()):
        default = getattr(DEFAULTS, name)
        command = click.option(
            option_name(name), name, type=type(default) if default is not None else int, default=default,
            show_default=default is not None, help=text,
        )(command)  # fmt: skip
    return command


@declare.options
class SampleOptions(CollectionParameters):
    """What `sounding sample` is asked for."""

    folder: Path = declare.argument(metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
    _parameters: ClassVar[declare.Declaration] = _collection_options
    compress: bool = declare.flag("Compress the runs.", spelled="--gzip")
    force: bool = declare.flag("Replace a collection that DIR holds.")
    quiet: bool = declare.quiet


@click.command("sample", short_help="A simulated collection with complete truth.")
@declare.taking(SampleOptions)
def command(options: SampleOptions) -> None:
    """Write a simulated collection into DIR.

    Systems of known quality retrieve documents; a pool of the best of some of them is judged, and the
    truth about all other documents is written as well. DIR/README.md says what each file is.

    \b
    sounding sample trial --topics 30 --groups 8 --pool-depth 20 --seed 7
    sounding evaluate trial/qrels.txt trial/runs
    """  # noqa: D301 - click looks for this sign, not for a backslash
    from sounding.sample.flow import run  # NumPy, which --help does without

    run(options)
