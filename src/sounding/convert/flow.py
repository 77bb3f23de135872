"""Run `sounding convert`: name the targets, convert file by file, say how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from sounding.convert.command import ConvertOptions
from sounding.convert.converting import Conversion, check_target, convert
from sounding.core.errors import DataError, SoundingError
from sounding.core.workers import map_outcomes
from sounding.data.finding import find_files
from sounding.data.large_files import steps_to_read
from sounding.data.reading import processes_to_read
from sounding.data.sources import bytes_to_read, is_remote, plain_name
from sounding.terminal.options import progress_bar, remark


def run(options: ConvertOptions) -> None:
    """Convert the files, and exit with 1 where one of them could not be converted."""
    try:
        check_target(options.output, options.to)
    except DataError as problem:
        raise click.UsageError(f"-o {problem}") from problem
    sources = find_files(options.files)
    targets = _targets(sources, options.output, options.to)
    alone = len(sources) == 1
    processes = processes_to_read([(s, None) for s in sources], bytes_to_read(sources), options.jobs)
    steps = steps_to_read(sources[0], options.form) if alone else len(sources)
    with progress_bar(steps, quiet=options.quiet, label="converting") as progress:
        outcomes = map_outcomes(
            lambda pair: convert(
                *pair, kind=options.kind, to=options.to, format=options.form, duplicates=options.duplicates,
                fractional=options.fractional, ranks=not options.without_ranks, topics=options.topics,
                corpus=options.corpus,
                progress=progress if alone and processes == 1 else None,
            ),
            list(zip(sources, targets, strict=True)), processes=processes,
            progress=None if alone else progress,
        )  # fmt: skip
    failed = [
        (source, target, outcome)
        for source, target, outcome in zip(sources, targets, outcomes, strict=True)
        if isinstance(outcome, SoundingError)
    ]
    for source, target, error in failed[: len(failed) - (len(failed) == len(sources))]:
        text = " ".join(str(error).splitlines())
        click.echo(f"Error: {text if text.startswith((source, target)) else f'{source}: {text}'}", err=True)
    if len(failed) == len(sources):
        raise failed[-1][2]
    for note in {note for outcome in outcomes if isinstance(outcome, Conversion) for note in outcome.notes}:
        remark(note, quiet=options.quiet)
    _remark_sizes(sources, targets, outcomes, quiet=options.quiet)
    if failed:
        click.get_current_context().exit(1)


def _targets(sources: Sequence[str], target: str, to: str | None) -> list[str]:
    """A file for each source: the one that was named, or one of its name in the folder."""
    output = Path(target)
    if target == "-" or is_remote(target):
        raise DataError(f"-o {target}: expected the name of a file or folder on this machine")
    if len(sources) == 1 and not output.is_dir() and not target.endswith("/"):
        return [target]
    if output.suffix and not output.is_dir():
        raise click.UsageError(
            f"-o {output}: {len(sources)} files do not go into one; expected a folder, as {output.stem}/"
        )
    output.mkdir(parents=True, exist_ok=True)
    suffix = {"trec": ".txt", "prefs": ".txt", "parquet": ".parquet", None: ".parquet"}.get(to, ".json")
    targets = [str(output / (plain_name(source) + suffix)) for source in sources]
    for place, target in enumerate(targets):
        if target in targets[:place]:
            raise DataError(f"{sources[place]!r}: {target!r} is the target of another file; convert it alone")
    return targets


def _remark_sizes(
    sources: Sequence[str], targets: Sequence[str], outcomes: Sequence[object], *, quiet: bool
) -> None:
    """Say what was written, and how large it is."""
    done = [
        pair
        for pair, outcome in zip(zip(sources, targets, strict=True), outcomes, strict=True)
        if isinstance(outcome, Conversion)
    ]
    before, after = (bytes_to_read(names) for names in zip(*done, strict=True))
    what = done[0][1] if len(done) == 1 else f"{len(done)} files"
    was = f", from {before / 1e6:,.1f} MB" if before else ""
    remark(f"{what}: {after / 1e6:,.1f} MB{was}", quiet=quiet)
