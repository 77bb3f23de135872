"""Files appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from sounding.errors import DataError

# On a worker of a cluster: the folder from which whoever sent the work counts names of files.
sent_from: ContextVar[str | None] = ContextVar("sent_from", default=None)


def located(name: str | Path) -> Path:
    """Where a file is; on a worker, names count from the folder that the work was sent from."""
    folder = sent_from.get()
    return Path(name) if folder is None else Path(folder, name)


def beside(path: Path) -> Path:
    """Where a file or folder is made before it takes its place: hidden, and of this process alone."""
    target = path.resolve()
    return target.with_name(f".{target.name}.{os.getpid()}.part")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A name to write a file of any size under, which takes its place when all of it is there.

    A link stays a link. What is no regular file (a pipe, a device) cannot be replaced and is written to.
    """
    try:
        target = path.resolve()
        if not target.parent.is_dir():
            raise DataError(f"{path} cannot be written: there is no folder {str(path.parent)!r}")
        if target.exists() and not target.is_file() and not target.is_dir():
            yield target
            return
        part = beside(target)
        try:
            yield part
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Put a whole file in place, or leave what was there."""
    with written_whole(path) as part, part.open("wb") as stream:
        stream.write(content)
