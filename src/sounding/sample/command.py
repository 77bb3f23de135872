"""`sounding sample`: a simulated collection with its complete truth, as files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sounding import __version__
from sounding.core.errors import DataError
from sounding.core.files import beside
from sounding.core.workers import Progress
from sounding.terminal.options import progress_bar

if TYPE_CHECKING:
    from sounding.sample.simulation import Collection

FILES = (
    "README.md", "info.tsv", "qrels.pool.tsv", "qrels.txt", "quality.tsv", "truth.txt", "report.html",
)  # fmt: skip
INFO_COLUMNS = ("run", "group", "kind", "priority", "pooled")

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


def _spelling(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def collection_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add one option for every parameter of a simulated collection."""
    from sounding.sample.simulation import Parameters

    defaults = Parameters()
    for name, text in reversed(_HELP.items()):
        default = getattr(defaults, name)
        command = click.option(
            _spelling(name), name, type=type(default) if default is not None else int, default=default,
            show_default=default is not None, help=text,
        )(command)  # fmt: skip
    return command


@click.command("sample", short_help="A simulated collection with complete truth.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@collection_options
@click.option("--gzip", "compress", is_flag=True, help="Compress the runs.")
@click.option("--force", is_flag=True, help="Replace a collection that DIR holds.")
@click.option("--quiet", is_flag=True, help="No progress bar, no remarks.")
def command(folder: Path, *, compress: bool, force: bool, quiet: bool, **choices: Any) -> None:
    """Write a simulated collection into DIR.

    Systems of known quality retrieve documents; a pool of the best of some of them is judged, and the
    truth about all other documents is written as well. DIR/README.md says what each file is.

    \b
    sounding sample trial --topics 30 --groups 8 --pool-depth 20 --seed 7
    sounding evaluate trial/qrels.txt trial/runs
    """  # noqa: D301 - click looks for this sign, not for a backslash
    from sounding.sample.simulation import simulate_collection

    refuse_occupied(folder, force=force)
    collection = simulate_collection(**choices)
    with progress_bar(len(collection.runs), quiet=quiet, label="writing runs") as progress:
        write_collection(collection, folder, compress=compress, force=force, progress=progress)
    if not quiet:
        click.echo(f"{folder}: {summary(collection)}; {folder / 'README.md'} says what each file is")


def summary(collection: Collection) -> str:
    """What a collection holds, in one line."""
    judged = len(collection.qrels.docs)
    relevant = int((collection.qrels.grades > 0).sum())
    return (
        f"{len(collection.runs)} runs, {collection.parameters.topics} topics,"
        f" {judged:,} judgments ({relevant:,} relevant), seed {collection.parameters.seed}"
    )


def refuse_occupied(folder: Path, *, force: bool) -> None:
    """Raise unless a collection may be written here: never over files of another kind."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    if not force:
        raise DataError(
            f"{folder}: not empty; give another folder, or --force to replace the collection in it"
        )
    foreign = sorted(set(_all_files(folder)) - set(_collection_files(folder)))
    if foreign:
        raise DataError(
            f"{folder}: holds {str(foreign[0])!r}, which is no part of a simulated collection;"
            " give another folder, or move it away"
        )


def write_collection(
    collection: Collection,
    folder: Path,
    *,
    compress: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> None:
    """All files of a collection in a folder: written beside it first, so that it never holds a part."""
    refuse_occupied(folder, force=force)
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    partial = beside(folder)
    try:
        _write_files(collection, partial, compress=compress, progress=progress)
        if not folder.exists():
            partial.rename(folder)
            return
        # The folder itself stays: somebody may stand in it.
        for file in _collection_files(folder):
            (folder / file).unlink()
        if (folder / "runs").is_dir():
            (folder / "runs").rmdir()
        for entry in sorted(partial.iterdir()):
            entry.rename(folder / entry.name)
    except DataError as error:  # of a file that nobody knows yet
        raise DataError(str(error).replace(str(partial), str(folder))) from error
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _all_files(folder: Path) -> list[Path]:
    """Every file below a folder, and every folder that a collection does not have."""
    inside = (path.relative_to(folder) for path in folder.rglob("*"))
    return [path for path in inside if path != Path("runs")]


def _collection_files(folder: Path) -> list[Path]:
    """The files of the collection that a folder holds: its runs are those that info.tsv lists."""
    names = [Path(name) for name in FILES]
    if (folder / "info.tsv").is_file():
        rows = (folder / "info.tsv").read_text("utf-8", "surrogateescape").splitlines()[1:]
        runs = [row.partition("\t")[0] for row in rows]
        names += [Path("runs", f"{run}{ending}") for run in runs for ending in (".txt", ".txt.gz")]
    return [name for name in names if (folder / name).is_file()]


def _write_files(collection: Collection, folder: Path, *, compress: bool, progress: Progress | None) -> None:
    from sounding.data.writing import write_qrels, write_run

    (folder / "runs").mkdir(parents=True)
    for run in collection.runs:
        write_run(run, folder / "runs" / f"{run.name}.txt{'.gz' if compress else ''}")
        if progress is not None:
            progress(1)
    write_qrels(collection.qrels, folder / "qrels.txt", format="trec")
    write_qrels(collection.qrels, folder / "qrels.pool.tsv", format="tsv")
    write_qrels(collection.truth, folder / "truth.txt", format="trec")
    info = [
        (row.run, row.group, row.kind, str(row.priority), "yes" if row.pooled else "no")
        for row in collection.info
    ]
    _write_table(folder / "info.tsv", [INFO_COLUMNS, *info])
    quality = [(run, f"{value:.6f}") for run, value in collection.quality.items()]
    _write_table(folder / "quality.tsv", [("run", "quality"), *quality])
    (folder / "README.md").write_text(_readme(collection, compress=compress), "utf-8", newline="\n")


def _write_table(path: Path, rows: list[tuple[str, ...]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8", newline="\n")


def _readme(collection: Collection, *, compress: bool) -> str:
    parameters = collection.parameters
    chosen = {field.name: getattr(parameters, field.name) for field in fields(parameters)}
    chosen["contributors"] = parameters.pooled_groups
    options = " ".join(f"{_spelling(name)} {value}" for name, value in chosen.items())
    rows = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in chosen.items())
    pooled = sum(info.pooled for info in collection.info)
    return f"""\
# A simulated collection

{summary(collection)}.

Nobody judged anything: sounding {__version__} drew all of it at random, and the truth is known for
every document. To get it again:

    sounding sample DIR {options}{" --gzip" if compress else ""}

| file | what |
|---|---|
| `runs/` | one run a system, in TREC's format; named by group and number |
| `qrels.txt` | what was judged: the first {parameters.pool_depth} documents of {pooled} contributing runs |
| `qrels.pool.tsv` | the same with the best rank of each document in a contributing run |
| `truth.txt` | the truth about every document that can come up, judged or not |
| `info.tsv` | group, kind, priority of each run, and whether it was pooled |
| `quality.tsv` | the quality that the simulation gave each system |

Runs that were not pooled stand for new systems: their documents were judged only where a pooled run
had them as well. Compare

    sounding evaluate qrels.txt runs
    sounding evaluate truth.txt runs

| parameter | value |
|---|---|
{rows}
"""
