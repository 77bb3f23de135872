"""Which files are meant: by names, folders and patterns, here or far away."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from sounding.data.sources import STDIN, is_remote, no_such_file
from sounding.errors import DataError

_NO_DATA = (".", "readme", "license")  # how names of files begin that a folder may hold beside its data
_NOT_RUNS = (*_NO_DATA, "qrels")


def find_runs(sources: str | Path | Iterable[str | Path]) -> list[str]:
    """The files that files, folders and globs stand for, in the order given; `-` stays.

    A folder stands for the files in it, sorted by name, without its sub-folders, hidden files and
    files whose names begin with README, LICENSE or qrels.
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    found = [name for source in given for name in _expand(str(source))]
    if not found:
        raise DataError("no runs are given; expected files, folders or globs")
    seen: dict[tuple[int, int] | str, list[str]] = {}
    for name in found:
        try:
            place = name if name == STDIN or is_remote(name) else _place_on_disk(name)
        except OSError as error:  # a link in a folder, which leads nowhere
            raise DataError(f"{name!r}: {no_such_file(Path(name))}") from error
        # Hard links to one file are files of their own: the way there tells them apart.
        others = [other for other in seen.get(place, ()) if Path(other).resolve() == Path(name).resolve()]
        if others:
            raise DataError(f"{name!r} is given twice; every run counts once")
        seen.setdefault(place, []).append(name)
    return found


def _place_on_disk(name: str) -> tuple[int, int]:
    """What files must share to be one; asked first, since it takes far less time than following links."""
    status = os.stat(name)  # noqa: PTH116 - for thousands of files a Path takes longer than the question
    return status.st_dev, status.st_ino


def find_files(sources: Iterable[str | Path]) -> list[str]:
    """As `find_runs`, each file once, with the qrels of a folder; a file that does not exist stays."""
    found = (
        name
        for source in map(str, sources)
        for name in ([source] if _is_missing(source) else _expand(source, _NO_DATA, "files"))
    )
    return list(dict.fromkeys(found))


def find_files_below(sources: Iterable[str | Path]) -> list[str]:
    """As `find_files`, but a folder of this machine stands for all files in it and in its sub-folders.

    What they are called does not matter; only hidden files and folders are passed over.
    """
    places = (place for source in map(str, sources) for place in _matched(source))
    found = (
        name
        for place in places
        for name in (_below(place) if _is_local_folder(place) else find_files([place]))
    )
    return list(dict.fromkeys(found))


def _matched(source: str) -> list[str]:
    """The files and folders that a glob matches; what is none, or matches nothing, stays."""
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
                raise DataError(f"{folder!r} leads to a folder that is read already; remove the link")
            seen.add(place)
            inner[:] = [name for name in inner if not name.startswith(".")]
            paths = (Path(folder, name) for name in names if not name.startswith("."))
            files.extend(str(path) for path in paths if _is_file_or_broken_link(path))
    except OSError as error:
        raise DataError(f"{error.filename or source!r} cannot be opened: {error.strerror}") from error
    if not files:
        raise DataError(
            f"the folder {source!r} holds no files, nor do its sub-folders; hidden ones do not count"
        )
    return sorted(files)


def _refuse(error: OSError) -> None:
    raise error


def _is_missing(source: str) -> bool:
    if is_remote(source):
        return False
    try:
        return source != STDIN and not glob.has_magic(source) and not Path(source).exists()
    except (OSError, ValueError):  # a name that is too long, or has a zero byte
        return True


def _expand(source: str, skipped: tuple[str, ...] = _NOT_RUNS, what: str = "runs") -> list[str]:
    if not source:
        raise DataError(f"one of the {what} is named by an empty text; expected files, folders or globs")
    if is_remote(source):
        from sounding.data.remote import expand_remote

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
    """Whether this is to be read: a link that leads nowhere was meant to be, and is named as an error."""
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
