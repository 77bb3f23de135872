"""Write files atomically: a file appears complete or not at all."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from sounding.core.errors import DataError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# On a cluster worker: the folder that relative file names refer to, which is that of the sender.
sent_from: ContextVar[str | None] = ContextVar("sent_from", default=None)

# Standard streams that were closed when the command started. Their numbers now belong to placeholders.
closed: set[int] = set()


def locate_file(name: str | Path) -> Path:
    """Return the path of a file; on a worker, relative names refer to the sender's folder."""
    folder = sent_from.get()
    return Path(name) if folder is None else Path(folder, name)


def temporary_path(path: Path) -> Path:
    """Return the path under which a file or folder is prepared: hidden, and unique to this process."""
    target = path.resolve()
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def refuse_unwritable(path: Path) -> None:
    """Raise an error if a file cannot be written: its folder is missing, or the file is write-protected.

    Replacing a file needs no permission to write to it, so the system itself would not protect it.
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
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a path to write to; the file replaces `path` once it is complete.

    A symbolic link stays a link. A pipe or device cannot be replaced, so it is written to directly. An open
    file of this process (/dev/stdout, /dev/fd/63) receives everything at the end.
    """
    try:
        refuse_unwritable(path)
        descriptor = _descriptor(path)
        if descriptor is not None:
            import shutil  # takes a few milliseconds to import, as does tempfile
            from tempfile import TemporaryDirectory

            with TemporaryDirectory(prefix="sounding-") as folder:
                part = Path(folder, path.name)
                yield part
                with part.open("rb") as made, _open_descriptor(descriptor) as stream:
                    shutil.copyfileobj(made, stream)
            return
        target = path.resolve()
        if target.exists() and not target.is_file() and not target.is_dir():
            yield target
            return
        part = temporary_path(target)
        try:
            yield part
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except BrokenPipeError:  # the reader has seen enough
        raise
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error


@contextmanager
def lock_file(path: Path) -> Iterator[None]:
    """Keep other processes that lock the same file waiting, until the end of the block or of this process.

    The lock is held on a hidden file beside it, because the file itself may be replaced meanwhile.
    """
    target = path.resolve()
    lock = target.with_name(f".{target.name}.lock")
    try:
        held = _hold(lock)
    except OSError as error:
        raise DataError(
            f"{path} cannot be locked: {error.strerror or error}; keep it on a local disk"
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file
            lock.unlink()
        os.close(held)


def _hold(lock: Path) -> int:
    """Open and lock a file; again if the process that held it before has removed it."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _wait_for_lock(descriptor)
            if lock.exists() and os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _wait_for_lock(descriptor: int) -> None:
    if sys.platform == "win32":
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # tries for ten seconds
            except OSError as error:
                if error.errno != errno.EDEADLK:
                    raise
            else:
                break
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


@contextmanager
def private_files() -> Iterator[None]:
    """Let only the owner read the files that are made meanwhile; for the whole process."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def write_file(path: Path, content: bytes) -> None:
    """Write a file completely, or leave the old one unchanged."""
    with atomic_path(path) as part, part.open("wb") as stream:
        stream.write(content)


def kept_text(name: str, make: Callable[[], str]) -> str:
    """Return a text that is always the same and slow to make, from a file that keeps it for the next time.

    The file stands in the user's folder for caches and begins with its SHA-256. One that is damaged, or
    cannot be read or written, is as good as none.
    """
    folder = _cache_folder()
    if folder is None:
        return make()
    path = folder / name
    with suppress(OSError):
        digest, _, content = path.read_bytes().partition(b"\n")
        if digest == _digest(content):
            return content.decode()
    text = make()
    with suppress(OSError, DataError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, _digest(text.encode()) + b"\n" + text.encode())
    return text


def _digest(content: bytes) -> bytes:
    from hashlib import sha256  # takes a few milliseconds to import

    return sha256(content).hexdigest().encode()


def _cache_folder() -> Path | None:
    """Return the folder of this user for files that can be made again; None: there is none."""
    known = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME", "")
    if Path(known).is_absolute():
        return Path(known, "sounding")
    try:
        return Path.home() / ".cache" / "sounding"
    except RuntimeError:
        return None


def _descriptor(path: Path) -> int | None:
    """Return the number of this process's open file that a path names; None if it names another file."""
    match = re.fullmatch(r"/dev/(stdin|stdout|stderr)|/(?:dev|proc/self)/fd/([0-9]{1,6})", str(path))
    if match is None:
        return None
    return ("stdin", "stdout", "stderr").index(match[1]) if match[1] else int(match[2])


def _open_descriptor(descriptor: int) -> BinaryIO:
    """Open a stream to an open file of this process, which keeps its position and stays open afterwards."""
    if sys.stdout is not None:
        sys.stdout.flush()
    return os.fdopen(os.dup(descriptor), "wb")
