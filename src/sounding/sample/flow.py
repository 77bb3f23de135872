"""Run `sounding sample`: draw a collection and write its files."""

from __future__ import annotations

from dataclasses import fields

import click

from sounding.sample.command import SampleOptions
from sounding.sample.parameters import CollectionParameters
from sounding.sample.result import refuse_occupied
from sounding.sample.simulation import sample
from sounding.terminal.options import progress_bar


def run(options: SampleOptions) -> None:
    """Write a simulated collection into a folder."""
    folder = options.folder
    refuse_occupied(folder, force=options.force)
    collection = sample(
        **{field.name: getattr(options, field.name) for field in fields(CollectionParameters)}
    )
    with progress_bar(len(collection.runs), quiet=options.quiet, label="writing runs") as progress:
        collection.write(folder, compress=options.compress, force=options.force, progress=progress)
    if not options.quiet:
        click.echo(f"{folder}: {collection.summary}; {folder / 'README.md'} says what each file is")
