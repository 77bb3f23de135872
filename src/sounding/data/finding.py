"""Find the files that a user names, and name the runs in them."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from sounding.core.errors import DataError, UnknownNameError
from sounding.data.sources import STDIN, STDIN_NAME, expand_remote, is_remote, no_such_file, plain_name

_NO_DATA = (".", "readme", "license")  # prefixes of files in a folder that hold no data
_NOT_RUNS = (*_NO_DATA, "qrels", "aggregated.csv", "perquery.csv")  # the last two: values by PyTerrier


def find_runs(sources: str | Path | Iterable[str | Path]) -> list[str]:
    """Return the files that names, folders and globs refer to, in the given order; `-` is kept.

    A folder stands for its files, sorted by name, without sub-folders, hidden files, the tables of values
    that PyTerrier puts beside its runs, and files whose names begin with README, LICENSE or qrels.
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    found = [name for source in given for name in _expand_name(str(source))]
    if not found:
        raise DataError("no runs; give files, folders or globs")
    seen: dict[tuple[int, int] | str, list[str]] = {}
    for name in found:
        try:
            place = name if name == STDIN or is_remote(name) else _place_on_disk(name)
        except OSError as error:  # a broken link in a folder
            raise DataError(f"{name!r}: {no_such_file(Path(name))}") from error
        # Hard links to one file count as separate files; only the resolved path decides.
        others = [other for other in seen.get(place, ()) if Path(other).resolve() == Path(name).resolve()]
        if others:
            raise DataError(f"{name!r} is given twice; name each run once")
        seen.setdefault(place, []).append(name)
    return found


def _place_on_disk(name: str) -> tuple[int, int]:
    """Return device and inode, which equal files share; much faster to compare than resolved links."""
    status = os.stat(name)  # noqa: PTH116 - faster than a Path for thousands of files
    return status.st_dev, status.st_ino


def find_files(sources: Iterable[str | Path]) -> list[str]:
    """Like `find_runs`, but each file once, with the qrels of folders, and missing files kept."""
    found = (
        name
        for source in map(str, sources)
        for name in ([source] if _is_missing(source) else _expand_name(source, _NO_DATA, "files"))
    )
    return list(dict.fromkeys(found))


def find_files_below(sources: Iterable[str | Path]) -> list[str]:
    """Like `find_files`, but a local folder stands for all files in it and its sub-folders.

    File names do not matter; only hidden files and folders are skipped.
    """
    places = (place for source in map(str, sources) for place in _matched(source))
    found = (
        name
        for place in places
        for name in (_below(place) if _is_local_folder(place) else find_files([place]))
    )
    return list(dict.fromkeys(found))


def _matched(source: str) -> list[str]:
    """Return the files and folders that a glob matches; anything else is returned unchanged."""
    if is_remote(source) or not glob.has_magic(source) or os.path.exists(source):  # noqa: PTH110 - never fails
        return [source]
    return sorted(glob.glob(source, recursive=True)) or [source]  # noqa: PTH207 - as in _expand


def _is_local_folder(source: str) -> bool:
    return not is_remote(source) and os.path.isdir(source)  # noqa: PTH112 - never fails


def _below(source: str) -> list[str]:
    files: list[str] = []
    seen: set[str] = set()
    try:
        for folder, inner, names in os.walk(source, followlinks=True, onerror=_refuse):
            if (place := os.path.realpath(folder)) in seen:
                raise DataError(f"{folder!r} is a link to a folder that is already read; remove the link")
            seen.add(place)
            inner[:] = [name for name in inner if not name.startswith(".")]
            paths = (Path(folder, name) for name in names if not name.startswith("."))
            files.extend(str(path) for path in paths if _is_file_or_broken_link(path))
    except OSError as error:
        raise DataError(f"{error.filename or source!r} cannot be opened: {error.strerror}") from error
    if not files:
        raise DataError(f"the folder {source!r} and its sub-folders hold no files, apart from hidden ones")
    return sorted(files)


def _refuse(error: OSError) -> None:
    raise error


def _is_missing(source: str) -> bool:
    if is_remote(source):
        return False
    try:
        return source != STDIN and not glob.has_magic(source) and not Path(source).exists()
    except (OSError, ValueError):  # a name that is too long or contains a zero byte
        return True


def _expand_name(source: str, skipped: tuple[str, ...] = _NOT_RUNS, what: str = "runs") -> list[str]:
    if not source:
        raise DataError(f"an empty name among the {what}; give files, folders or globs")
    if is_remote(source):
        return expand_remote(source, skipped, what)
    try:
        path = Path(source)
        if source == STDIN or path.is_file():
            return [source]
        if path.is_dir():
            return _files_of_folder(path, skipped, what)
        if glob.has_magic(source):
            matches = glob.glob(source, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
            files = sorted(match for match in matches if _is_file_or_broken_link(Path(match)))
            if not files:
                raise DataError(f"no file matches {source!r}; check the pattern")
            return files
        if path.exists():  # a named pipe
            return [source]
    except OSError as error:
        raise DataError(f"{source!r} cannot be opened: {error.strerror}") from error
    raise DataError(f"{source!r}: {no_such_file(path)}")


def _is_file_or_broken_link(path: Path) -> bool:
    """Return whether to read a path; a broken link counts, so that it is reported as an error."""
    return path.is_file() or (path.is_symlink() and not path.exists())


def _files_of_folder(folder: Path, skipped: tuple[str, ...], what: str) -> list[str]:
    files = sorted(
        str(path)
        for path in folder.iterdir()
        if _is_file_or_broken_link(path) and not path.name.lower().startswith(skipped)
    )
    if not files:
        raise DataError(f"the folder {str(folder)!r} holds no {what}; expected at least one file")
    return files


def part_of_collection(source: str | Path, part: Literal["qrels", "queries", "corpus"]) -> str | Path:
    """Return the file in a folder laid out as BEIR's that holds its qrels, queries or corpus.

    Such a folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv. Any other source is returned as it is.
    """
    if is_remote(source) or not _is_local_folder(str(source)) or not Path(source, "qrels").is_dir():
        return source
    if part != "qrels":
        found = sorted(Path(source).glob(f"{part}.jsonl*"))
        return found[0] if found else source
    splits = sorted(path for path in Path(source, "qrels").glob("*.tsv*") if not path.name.startswith("."))
    tests = [path for path in splits if path.name.startswith("test.tsv")]
    if not tests and len(splits) != 1:
        named = ", ".join(map(str, splits)) or "none"
        raise DataError(f"{str(source)!r}: no qrels/test.tsv in this collection; name its qrels ({named})")
    return (tests or splits)[0]


ARCHIVED = "input."  # TREC's archive stores the run NAME as input.NAME.gz


def run_name(source: str | Path) -> str:
    """Return the run name that a file stands for: bm25 for runs/bm25.txt.gz and for TREC's input.bm25.gz."""
    name = plain_name(source)
    return name.removeprefix(ARCHIVED) or name


def name_or_tag(source: str, tag: str) -> str:
    """Return the name of a run: that of its file, or its tag if it has no file."""
    return tag if source == STDIN_NAME else run_name(source)


def run_names(sources: Sequence[str | Path], names: Sequence[str]) -> list[str]:
    """Return unique run names; only names that several runs share change.

    Files of the same name get as many parent folders as needed to distinguish them. If only the extension
    differs, the whole path is the name. Runs without a file are numbered.
    """
    found = list(names)
    folders = [Path(source).parts[:-1] for source in sources]
    for depth in range(1, 1 + max(map(len, folders), default=0)):
        shared = _shared(found)
        if not shared:
            break
        found = [
            "/".join((*parts[-depth:], own)) if name in shared else name
            for name, own, parts in zip(found, names, folders, strict=True)
        ]
    shared = _shared(found)
    return _numbered(
        [str(source) if name in shared else name for name, source in zip(found, sources, strict=True)]
    )


def _shared(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def _numbered(names: list[str]) -> list[str]:
    """Number repeated names: run, run#2, run#3."""
    seen: set[str] = set()
    for place, name in enumerate(names):
        number = 1
        while names[place] in seen:
            number += 1
            names[place] = f"{name}#{number}"
        seen.add(names[place])
    return names


class RunIndex:
    """Find the run that a user means: by name, tag or file, with or without extension."""

    def __init__(self, names: Sequence[str], tags: Sequence[str] = (), sources: Sequence[Any] = ()) -> None:
        """Index the runs; `sources` are their origins in the same order, of which only files count."""
        files = [source if isinstance(source, str | Path) else None for source in sources]
        self._names = tuple(names)
        loose = [*enumerate(map(run_name, names)), *enumerate(map(run_name, tags))]
        loose += [(place, run_name(file)) for place, file in enumerate(files) if file is not None]
        self._exact = [
            _places(enumerate(names)),
            _places(enumerate(tags)),
            _places((place, str(file)) for place, file in enumerate(files) if file is not None),
            _places((place, Path(file).name) for place, file in enumerate(files) if file is not None),
        ]
        self._loose = _places(loose)

    def find(self, name: str) -> int | None:
        """Return the position of the only run of this name; None if there is none or several."""
        for places in self._exact:
            if len(found := places.get(name, ())) == 1:
                return next(iter(found))
        found = self._loose.get(run_name(name), set())
        return next(iter(found)) if len(found) == 1 else None

    def place(self, name: str) -> int:
        """Like `find`, but raise an error if no single run matches."""
        found = self.find(name)
        if found is None:
            raise UnknownNameError("run", name, self._names)
        return found


def _places(named: Iterable[tuple[int, str]]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for place, name in named:
        found.setdefault(name, set()).add(place)
    return found
