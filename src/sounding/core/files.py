"""Files appear whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from sounding.core.errors import DataError

# On a worker of a cluster: the folder from which whoever sent the work counts names of files.
sent_from: ContextVar[str | None] = ContextVar("sent_from", default=None)

# The standard streams that were closed when the command began: what has their numbers now only keeps them.
closed: set[int] = set()


def located(name: str | Path) -> Path:
    """Where a file is; on a worker, names count from the folder that the work was sent from."""
    folder = sent_from.get()
    return Path(name) if folder is None else Path(folder, name)


def beside(path: Path) -> Path:
    """Where a file or folder is made before it takes its place: hidden, and of this process alone."""
    target = path.resolve()
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def refuse_unwritable(path: Path) -> None:
    """Refuse a file that cannot take its place: its folder is missing, or it is write-protected.

    Replacing a file needs no right to write to it, so that a system would let a protected one go.
    """
    descriptor = _descriptor(path)
    if descriptor in closed:
        raise DataError(f"{path} cannot be written: it is closed; write to a file with -o FILE")
    if descriptor is not None:
        return
    if not path.resolve().parent.is_dir():
        raise DataError(f"{path} cannot be written: there is no folder {str(path.parent)!r}")
    if path.is_file() and not (path.stat().st_mode & stat.S_IWUSR and os.access(path, os.W_OK)):
        raise DataError(f"{path} cannot be written: it is write-protected; remove it, or name another file")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A name to write a file of any size under, which takes its place when all of it is there.

    A link stays a link. What is no regular file (a pipe, a device) cannot be replaced and is written to;
    an open file of this process (/dev/stdout, /dev/fd/63) gets all of it at the end.
    """
    try:
        refuse_unwritable(path)
        descriptor = _descriptor(path)
        if descriptor is not None:
            import shutil  # which takes a few milliseconds, as the next one does
            from tempfile import TemporaryDirectory

            with TemporaryDirectory(prefix="sounding-") as folder:
                part = Path(folder, path.name)
                yield part
                with part.open("rb") as made, _opened(descriptor) as stream:
                    shutil.copyfileobj(made, stream)
            return
        target = path.resolve()
        if target.exists() and not target.is_file() and not target.is_dir():
            yield target
            return
        part = beside(target)
        try:
            yield part
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except BrokenPipeError:  # whoever reads it has seen enough
        raise
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Put a whole file in place, or leave what was there."""
    with written_whole(path) as part, part.open("wb") as stream:
        stream.write(content)


def _descriptor(path: Path) -> int | None:
    """The number of the open file of this process that a path stands for; None: it names another file."""
    found = re.fullmatch(r"/dev/(stdin|stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]{1,6})", str(path))
    if found is None:
        return None
    return ("stdin", "stdout", "stderr").index(found[1]) if found[1] else int(found[2])


def _opened(descriptor: int) -> BinaryIO:
    """A stream to an open file, which stays open, and whose place in it is kept."""
    if sys.stdout is not None:
        sys.stdout.flush()
    return os.fdopen(os.dup(descriptor), "wb")
