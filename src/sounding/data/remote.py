"""Files that are not on this machine: whatever fsspec reaches (s3://, gs://, https://, memory://).

Who may read them is settled by the usual means of each store (environment, configuration files,
roles); nothing is asked for or kept here.
"""

from __future__ import annotations

import glob
import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, BinaryIO, TypeVar

from sounding.data.tokens import MARGIN
from sounding.errors import DataError, FormatError, MissingPartError, SoundingError

Result = TypeVar("Result")


def read_remote(source: str) -> bytearray:
    """All bytes of a file, with MARGIN zero bytes behind them."""
    with open_remote(source) as file:
        whole = bytearray(file.read())
    whole += bytes(MARGIN)
    return whole


@contextmanager
def open_remote(source: str) -> Iterator[BinaryIO]:
    """A file to read from; whatever goes wrong is told in one line."""
    system, path = _reached(source)
    try:
        with system.open(path, "rb") as file:
            yield file
    except SoundingError:
        raise
    except Exception as error:
        raise FormatError(source, None, _reason(error)) from error


def remote_size(source: str) -> int:
    """Bytes of a file as its store tells them; 0 where it does not."""
    system, path = _reached(source)
    return int(_told(source, lambda: system.size(path)) or 0)


def remote_mark(source: str) -> str:
    """What changes when a file does: its size, and its tag or date where the store tells them."""
    system, path = _reached(source)
    info: dict[str, Any] = _told(source, lambda: system.info(path))
    told = [
        info.get(name) for name in ("size", "ETag", "etag", "mtime", "LastModified", "updated", "created")
    ]
    return " ".join(str(value) for value in told if value is not None)


def expand_remote(source: str, skipped: tuple[str, ...], what: str) -> list[str]:
    """The files that a name, a folder or a glob stands for, sorted by name."""
    system, path = _reached(source)
    if glob.has_magic(path) and not _told(source, lambda: system.exists(path)):
        found = _told(source, lambda: system.glob(path))
        if not found:
            raise DataError(f"no file matches {source!r}; check the pattern")
        return sorted(system.unstrip_protocol(name) for name in found)
    if not source.startswith(("http://", "https://")) and _told(source, lambda: system.isdir(path)):
        listed = _told(source, lambda: system.ls(path, detail=True))
        files = sorted(
            system.unstrip_protocol(item["name"])
            for item in listed
            if item["type"] == "file" and not PurePosixPath(item["name"]).name.lower().startswith(skipped)
        )
        if not files:
            raise DataError(f"the folder {source!r} holds no {what}; expected at least one file")
        return files
    return [source]


def _reached(source: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError as error:
        raise MissingPartError("fsspec", f"reading {source!r}", "remote") from error
    try:
        return fsspec.core.url_to_fs(source)
    except ImportError as error:
        scheme = source.partition("://")[0]
        raise MissingPartError(
            getattr(error, "name", None) or scheme, f"reading {source!r}", "remote"
        ) from error
    except Exception as error:
        raise FormatError(source, None, _reason(error)) from error


def _told(source: str, ask: Callable[[], Result]) -> Result:
    try:
        return ask()
    except Exception as error:
        raise FormatError(source, None, _reason(error)) from error


def _reason(error: Exception) -> str:
    """What went wrong, in words for people: every store has errors of its own."""
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, OSError):
        error = error.__cause__  # a server that does not answer is no file that is not there
    if isinstance(error, FileNotFoundError):
        return "no such file; check the address"
    if isinstance(error, PermissionError):
        return "the store does not let us read it (permission denied); check who may"
    words = " ".join(str(error).split()) or type(error).__name__
    return f"cannot be read ({words}); expected an address that this machine reaches"
