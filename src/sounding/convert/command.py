"""`sounding convert`: runs and judgments to Parquet, and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import click

from sounding.core import policies as names
from sounding.core.errors import DataError, SoundingError
from sounding.terminal.options import Options, progress_bar, remark, worker_options


@click.command("convert", short_help="Runs and judgments to Parquet, and back.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "-o", "--output", required=True, metavar="TARGET",
    help="The file to write, or the folder for several.",
)  # fmt: skip
@click.option(
    "--to", type=click.Choice(["parquet", "trec"]),
    help="What to write; default: by the suffix of TARGET, parquet into a folder.",
)  # fmt: skip
@click.option(
    "--as", "kind", type=click.Choice(["run", "qrels"]),
    help="What the files hold, where their columns do not tell.",
)  # fmt: skip
@click.option("--from", "form", metavar="F", help="Format of the files, where it is not recognised.")
@click.option("--without-ranks", is_flag=True, help="Leave the rank column of runs out.")
@click.option(
    "--duplicates", type=click.Choice(get_args(names.Duplicates)), default="error", show_default=True,
    help="A document listed twice for a topic.",
)  # fmt: skip
@click.option(
    "--fractional", type=click.Choice(get_args(names.Fractional)), default="accept", show_default=True,
    help="Grades such as 0.5.",
)  # fmt: skip
@click.option("--quiet", is_flag=True, help="No progress bar, no remarks.")
@worker_options
def command(files: tuple[str, ...], **options: Any) -> None:
    """Write runs and judgments as Parquet, or as TREC's text again.

    Parquet takes a quarter of the space of text, and DuckDB, Polars and pandas read it as well. Topics are
    sorted, columns typed, rows compressed; documents keep their order, so that every value stays what it
    was. A run may be larger than memory.

    \b
    sounding convert run.txt -o run.parquet
    sounding convert runs/ qrels.txt -o parquet/
    sounding convert run.parquet -o run.txt.gz
    """  # noqa: D301 - click wants the control character
    from sounding.convert.converting import check_target
    from sounding.core.workers import map_outcomes
    from sounding.data.finding import find_files
    from sounding.data.large_files import steps_to_read
    from sounding.data.reading import processes_to_read
    from sounding.data.sources import bytes_to_read

    try:
        check_target(options["output"], options["to"])
    except DataError as problem:
        raise click.UsageError(f"-o {problem}") from problem
    sources = find_files(files)
    targets = _targets(sources, options["output"], options["to"])
    alone = len(sources) == 1
    processes = processes_to_read([(s, None) for s in sources], bytes_to_read(sources), options["jobs"])
    steps = steps_to_read(sources[0], options["form"]) if alone else len(sources)
    with progress_bar(steps, quiet=options["quiet"], label="converting") as progress:
        outcomes = map_outcomes(
            lambda pair: _converted(*pair, options, progress if alone and processes == 1 else None),
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
    _remark_sizes(sources, targets, outcomes, quiet=options["quiet"])
    if failed:
        click.get_current_context().exit(1)


def _converted(source: str, target: str, options: Options, progress: Any) -> None:
    from sounding.convert.converting import convert

    convert(
        source, target, kind=options["kind"], to=options["to"], format=options["form"],
        duplicates=options["duplicates"], fractional=options["fractional"],
        ranks=not options["without_ranks"], progress=progress,
    )  # fmt: skip


def _targets(sources: Sequence[str], target: str, to: str | None) -> list[str]:
    """A file for each source: the one that was named, or one of its name in the folder."""
    from sounding.data.sources import is_remote, plain_name

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
    suffix = ".txt" if to == "trec" else ".parquet"
    targets = [str(output / (plain_name(source) + suffix)) for source in sources]
    for place, target in enumerate(targets):
        if target in targets[:place]:
            raise DataError(f"{sources[place]!r}: {target!r} is the target of another file; convert it alone")
    return targets


def _remark_sizes(
    sources: Sequence[str], targets: Sequence[str], outcomes: Sequence[object], *, quiet: bool
) -> None:
    """Say what was written, and how large it is."""
    from sounding.data.sources import bytes_to_read

    done = [
        pair
        for pair, outcome in zip(zip(sources, targets, strict=True), outcomes, strict=True)
        if outcome is None
    ]
    before, after = (bytes_to_read(names) for names in zip(*done, strict=True))
    what = done[0][1] if len(done) == 1 else f"{len(done)} files"
    was = f", from {before / 1e6:,.1f} MB" if before else ""
    remark(f"{what}: {after / 1e6:,.1f} MB{was}", quiet=quiet)
