"""The result of `sample`: a simulated collection, which can write its files."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from sounding import __version__
from sounding.core.errors import DataError
from sounding.core.files import temporary_path
from sounding.core.workers import Progress
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run
from sounding.data.writing import write_qrels, write_run
from sounding.sample.parameters import CollectionParameters, option_name

FILES = (
    "README.md", "info.tsv", "qrels.pool.tsv", "qrels.txt", "quality.tsv", "truth.txt", "report.html",
    "labels.tsv", "sample.tsv", "judged.tsv",
)  # fmt: skip
INFO_COLUMNS = ("run", "group", "kind", "priority", "pooled")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Collection:
    """A simulated collection: runs, judgments of their pool, and the true relevance of every document."""

    runs: tuple[Run, ...]
    qrels: Qrels  # the pooled documents, with pool ranks
    truth: Qrels  # every candidate document; pool rank 0: not pooled
    info: tuple[RunInfo, ...]  # in the order of the runs
    quality: Mapping[str, float]  # by run: the quality of its system
    parameters: CollectionParameters

    @property
    def summary(self) -> str:
        """Describe the collection in one line."""
        relevant = int((self.qrels.grades > 0).sum())
        return (
            f"{len(self.runs)} runs, {self.parameters.topics} topics,"
            f" {len(self.qrels.docs):,} judgments ({relevant:,} relevant), seed {self.parameters.seed}"
        )

    def write(
        self,
        folder: str | Path,
        *,
        compress: bool = False,
        force: bool = False,
        progress: Progress | None = None,
    ) -> None:
        """Write all files into a folder; they are moved there once complete, so it never holds only a part.

        With `force`, they replace a simulated collection in the folder.
        """
        folder = Path(folder)
        refuse_occupied(folder, force=force)
        folder = folder.absolute()
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = temporary_path(folder)
        try:
            _write_files(self, partial, compress=compress, progress=progress)
            if not folder.exists():
                partial.rename(folder)
                return
            # Keep the folder itself, because it may be the working directory of a shell.
            for file in _collection_files(folder):
                (folder / file).unlink()
            if (folder / "runs").is_dir():
                (folder / "runs").rmdir()
            for entry in sorted(partial.iterdir()):
                entry.rename(folder / entry.name)
        except DataError as error:  # the message names a temporary file
            raise DataError(str(error).replace(str(partial), str(folder))) from error
        except OSError as error:
            raise DataError(f"{folder} cannot be written: {error.strerror or error}") from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def refuse_occupied(folder: Path, *, force: bool) -> None:
    """Raise an error if the folder holds files that a collection must not overwrite."""
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


def _all_files(folder: Path) -> list[Path]:
    """Return every file below a folder, and every folder that does not belong to a collection."""
    inside = (path.relative_to(folder) for path in folder.rglob("*"))
    return [path for path in inside if path != Path("runs")]


def _collection_files(folder: Path) -> list[Path]:
    """Return the files of the collection in a folder, with the runs that info.tsv lists."""
    names = [Path(name) for name in FILES]
    if (folder / "info.tsv").is_file():
        rows = (folder / "info.tsv").read_text("utf-8", "surrogateescape").splitlines()[1:]
        runs = [row.partition("\t")[0] for row in rows]
        names += [Path("runs", f"{run}{ending}") for run in runs for ending in (".txt", ".txt.gz")]
    return [name for name in names if (folder / name).is_file()]


def _write_files(collection: Collection, folder: Path, *, compress: bool, progress: Progress | None) -> None:
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
    options = " ".join(f"{option_name(name)} {value}" for name, value in chosen.items())
    rows = "\n".join(f"| {name.replace('_', ' ')} | {value} |" for name, value in chosen.items())
    pooled = sum(info.pooled for info in collection.info)
    return f"""\
# A simulated collection

{collection.summary}.

sounding {__version__} drew all of it at random, so the truth is known for
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

Runs that were not pooled represent new systems: their documents were judged only if a pooled run
retrieved them as well. Compare

    sounding evaluate qrels.txt runs
    sounding evaluate truth.txt runs

| parameter | value |
|---|---|
{rows}
"""
