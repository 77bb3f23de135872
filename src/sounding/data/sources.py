"""Open what a user names: local files, remote files and standard input; compressed or not."""

from __future__ import annotations

import glob
import importlib
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, TypeVar
from weakref import WeakSet

import numpy as np

from sounding.core.errors import DataError, FormatError, MissingPartError, SoundingError
from sounding.core.files import locate_file, sent_from
from sounding.data.fast.tokens import MARGIN, Bytes

STDIN = "-"
STDIN_NAME = "standard input"
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
EXTENSIONS = (
    ".txt", ".trec", ".run", ".res", ".result", ".results", ".out", ".exp", ".dat", ".tab", ".ranking",
    ".qrels", ".qrel", ".prels", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".parq", ".pq",
)  # fmt: skip

Decompressor = Callable[[], Any]  # creates an object with decompress(), eof and unused_data

# Called with the name and the raw (possibly compressed) bytes of each local file that is read completely.
on_file_read: ContextVar[Callable[[str, memoryview], None] | None] = ContextVar("on_file_read", default=None)

LARGE_PACKED = 48 << 20  # size in bytes above which a compressed run or Parquet file is read in parts
_PIECE = 1 << 20  # bytes passed to a decompressor at a time
_READ_ONCE = "can be read only once but is named twice; replace one with a file"
_already_read: WeakSet[Any] = WeakSet()  # streams that were read to the end
_REMOTE = r"[A-Za-z][A-Za-z0-9+.-]+://|[a-z0-9+]+::"  # s3://, https://, simplecache::s3://


class Content(NamedTuple):
    """The bytes of one source: buffer[:size] is the text, without a byte-order mark.

    At least MARGIN zero bytes follow; the buffer may be modified.
    """

    source: str  # the name in messages
    buffer: Bytes
    size: int

    @staticmethod
    def from_bytes(source: str, *parts: bytes | bytearray) -> Content:
        """Build a content from bytes in memory."""
        joined = bytearray().join([*parts, bytes(MARGIN)])
        return Content(source, np.frombuffer(joined, np.uint8), len(joined) - MARGIN)

    @property
    def view(self) -> memoryview:
        """The text as bytes, without a copy."""
        return memoryview(self.buffer.data)[: self.size]

    def starts_with(self, beginning: bytes) -> bool:
        """Return whether the content starts with these bytes."""
        return bytes(self.view[: len(beginning)]) == beginning


def read_content(source: str | Path) -> Content:
    """Read a file (or standard input for `-`) completely, decompressed and without byte-order mark.

    Compression is recognized by the first bytes, not by the file's name.
    """
    content = _decompress(_read(source))
    if not content.size:
        raise FormatError(content.source, None, "the file is empty; expected at least one line")
    return as_text(content)


def as_text(content: Content) -> Content:
    """Return the content without a byte-order mark; refuse UTF-16, UTF-32 and binary data."""
    content = _without_byte_order_mark(content)
    _refuse_utf16(content)
    _refuse_zeros(content)
    return content


def is_remote(source: str | Path) -> bool:
    """Return whether a source is an address rather than a local file."""
    return isinstance(source, str) and ":" in source and re.match(_REMOTE, source) is not None


def _read(source: str | Path) -> Content:
    if str(source) == STDIN:
        return _read_stdin()
    if is_remote(source):
        whole = read_remote(str(source))
        return Content(str(source), np.frombuffer(whole, np.uint8), len(whole) - MARGIN)
    return _read_file(source)


def _read_stdin() -> Content:
    if sent_from.get() is not None:
        raise FormatError(STDIN_NAME, None, "workers of a cluster cannot read it; give a file")
    if sys.stdin is None:
        raise FormatError(STDIN_NAME, None, "it is closed; give a file, or pipe data into the command")
    stream = sys.stdin.buffer
    if stream in _already_read and not stream.isatty():
        raise FormatError(STDIN_NAME, None, _READ_ONCE)
    _already_read.add(stream)
    return Content.from_bytes(STDIN_NAME, stream.read())


def refuse_stdin_twice(sources: Iterable[Any]) -> None:
    """Raise an error if standard input is named more than once, before anything is read."""
    if sum(isinstance(source, str | Path) and str(source) == STDIN for source in sources) > 1:
        raise FormatError(STDIN_NAME, None, _READ_ONCE)


def _read_file(source: str | Path) -> Content:
    name = str(source)
    with _problems_of_files(source), locate_file(source).open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return Content.from_bytes(name, file.readall())  # a pipe, or a file of unknown size
        size = status.st_size
        # Empty, not zeros: the read itself then touches each page only once.
        buffer = np.empty(size + MARGIN, np.uint8)
        filled = 0
        while filled < size and (count := file.readinto(buffer[filled:size].data)):
            filled += count
        buffer[filled:] = 0
        if (notify := on_file_read.get()) is not None:
            notify(name, buffer[:filled].data)
        return Content(name, buffer, filled)


@contextmanager
def open_binary(source: str | Path) -> Iterator[BinaryIO]:
    """Open a local or remote file for reading."""
    if is_remote(source):
        with open_remote(str(source)) as remote:
            yield remote
        return
    with _problems_of_files(source), locate_file(source).open("rb") as file:
        yield file


def head_of(source: str | Path, size: int) -> Content:
    """Return the first bytes of a file, not decompressed."""
    with open_binary(source) as file:
        return Content.from_bytes(str(source), file.read(size))


def size_of(source: str | Path) -> int:
    """Return the size of a file in bytes; 0 if unknown."""
    if is_remote(source):
        return remote_size(str(source))
    return _size_here(source)


def _size_here(source: str | Path) -> int:
    """Return the size of a local file in bytes; 0 for anything else. Makes only one system call."""
    try:
        status = locate_file(source).stat()
    except (OSError, ValueError):  # reading it will report the problem
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


@contextmanager
def _problems_of_files(source: str | Path) -> Iterator[None]:
    """Report errors of opening a file in one line."""
    name = str(source)
    try:
        yield
    except FileNotFoundError as error:
        raise FormatError(name, None, no_such_file(locate_file(source))) from error
    except IsADirectoryError as error:
        raise FormatError(name, None, "this is a folder; expected a file") from error
    except PermissionError as error:
        problem = "the file may not be read (permission denied); expected a readable file"
        raise FormatError(name, None, problem) from error
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = getattr(error, "strerror", None) or str(error)
        raise FormatError(name, None, f"cannot be opened ({reason}); expected a file") from error


def no_such_file(path: Path) -> str:
    """Explain why there is no file of this name, and suggest what to do."""
    if sent_from.get() is not None:
        import platform

        return (
            f"no such file on the worker {platform.node()};"
            " expected a folder that all workers share, or an address such as s3://"
        )
    if path.is_symlink():
        return f"a link to {str(path.readlink())!r}, which does not exist; fix or remove the link"
    try:
        beside = [other.name for other in path.parent.iterdir()]
    except OSError:
        return f"no such file; the folder {str(path.parent)!r} does not exist"
    import difflib

    near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.7)
    return f"no such file; did you mean {near[0]!r}?" if near else "no such file; check the name"


def _zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise MissingPartError("backports.zstd", "reading or writing .zst files", "zst")


def compress_zstd(data: bytes) -> bytes:
    """Compress bytes with zstd."""
    return _zstd().compress(data)


def open_zstd(file: BinaryIO) -> Any:
    """Open a zst archive for writing."""
    return _zstd().open(file, "wb")


def _compression(content: Content) -> tuple[str, Decompressor] | None:
    """Return the name and decompressor that the first bytes indicate; None if not compressed."""
    if content.starts_with(b"\x1f\x8b\x08"):
        import zlib

        return "gzip", lambda: zlib.decompressobj(31)
    # Text may begin with 'BZh9'. In an archive, the marker of a block or of the end of the file follows.
    block = bytes(content.view[4:10])
    if content.starts_with(b"BZh") and block in (b"1AY&SY", b"\x17rE8P\x90"):
        import bz2

        return "bzip2", bz2.BZ2Decompressor
    if content.starts_with(b"\xfd7zXZ\x00"):
        import lzma

        return "xz", lzma.LZMADecompressor
    if content.starts_with(b"\x28\xb5\x2f\xfd"):
        return "zstd", _zstd().ZstdDecompressor
    for magic, kind in ((b"PK\x03\x04", "zip"), (b"\x04\x22\x4d\x18", "lz4"), (b"7z\xbc\xaf", "7z")):
        if content.starts_with(magic):
            problem = f"this is a {kind} archive; expected plain text or gz, bz2, xz, zst"
            raise FormatError(content.source, None, problem)
    return None


def _decompress(content: Content) -> Content:
    inflate = unpacker(content)
    if inflate is None:
        return content
    view = content.view
    packed = (view[place : place + _PIECE] for place in range(0, len(view), _PIECE))
    return Content.from_bytes(content.source, *inflate(packed))


def unpacker(head: Content) -> Callable[[Iterable[Any]], Iterator[bytes]] | None:
    """Return a function that decompresses pieces of a file that begins like this; None if not compressed."""
    found = _compression(head)
    if found is None:
        return None
    kind, start = found

    def unpack(pieces: Iterable[Any]) -> Iterator[bytes]:
        inflated = _inflate(pieces, start)
        while True:
            try:
                part = next(inflated, None)
            except _EndsTooEarlyError as error:
                problem = f"the {kind} archive ends too early; expected a complete one (was it fully copied?)"
                raise FormatError(head.source, None, problem) from error
            except Exception as error:
                # Each library has its own error classes; that of zstd cannot be imported everywhere.
                problem = f"damaged {kind} archive ({error}); expected one that unpacks"
                raise FormatError(head.source, None, problem) from error
            if part is None:
                return
            yield part

    return unpack


class _EndsTooEarlyError(Exception):
    """The last member of an archive is incomplete."""


def _inflate(pieces: Iterable[Any], start: Decompressor) -> Iterator[bytes]:
    """Yield the content of the archive's members, one after the other."""
    member = start()
    for piece in pieces:
        rest = piece
        while len(rest):
            if member.eof:
                if not any(rest):  # tape blocks are padded with zeros
                    break
                member = start()
            yield member.decompress(rest)
            rest = member.unused_data if member.eof else b""
    if not member.eof:
        raise _EndsTooEarlyError


def _without_byte_order_mark(content: Content) -> Content:
    if content.starts_with(b"\xef\xbb\xbf"):
        return Content(content.source, content.buffer[3:], content.size - 3)
    for mark, encoding in (
        (b"\xff\xfe\x00\x00", "UTF-32"), (b"\x00\x00\xfe\xff", "UTF-32"),
        (b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"),
    ):  # fmt: skip
        if content.starts_with(mark):
            problem = f"the text is in {encoding} (its byte-order mark says so); save it as UTF-8"
            raise FormatError(content.source, None, problem)
    return content


def _refuse_utf16(content: Content) -> None:
    """Refuse UTF-16 text without a byte-order mark: every second byte is 0."""
    beginning = content.buffer[: min(content.size, 64) // 2 * 2].reshape(-1, 2)
    zero = beginning == 0
    if len(beginning) > 1 and any(zero[:, n].all() and not zero[:, 1 - n].any() for n in (0, 1)):
        problem = "the text is in UTF-16 (every second byte is 0); save it as UTF-8"
        raise FormatError(content.source, None, problem)


def _refuse_zeros(content: Content) -> None:
    """Refuse content with many zero bytes: a file damaged by a crash, or a program."""
    beginning = content.buffer[: min(content.size, 4096)]
    zeros = len(beginning) - int(np.count_nonzero(beginning))
    if zeros > max(8, len(beginning) // 10) and not content.starts_with(b"PAR1"):
        problem = f"this is not text ({zeros:,} of the first {len(beginning):,} bytes are zero bytes)"
        raise FormatError(content.source, None, f"{problem}; expected plain text or gz, bz2, xz, zst")


def bytes_to_read(sources: Iterable[Any]) -> int:
    """Return the total size of the local files among the sources."""
    return sum(_size_here(source) for source in sources if isinstance(source, str | Path))


def some_may_be_large(sources: Iterable[Any]) -> bool:
    """Return whether a source may need to be read in parts; `sounding.data.large_files` decides."""
    named = [source for source in sources if isinstance(source, str | Path) and str(source) != STDIN]
    if any(is_remote(source) for source in named):
        return True
    return bytes_to_read(named) > LARGE_PACKED and any(size_of(source) > LARGE_PACKED for source in named)


def extension(source: str | Path) -> str:
    """Return the extension before a compression suffix, in lower case: .csv for a.CSV.gz."""
    path = Path(_without_query(source))
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path).suffix.lower()


def _without_query(source: str | Path) -> str | Path:
    """Return an address without its query: the signature of a link is not part of the name."""
    signed = isinstance(source, str) and source.startswith(("http://", "https://"))
    return re.split("[?#]", str(source), maxsplit=1)[0] if signed else source


def plain_name(source: str | Path) -> str:
    """Return a file's name without compression suffix and known extension: bm25 for runs/bm25.txt.gz."""
    name = STDIN_NAME if str(source) == STDIN else Path(_without_query(source)).name
    for suffixes in (COMPRESSIONS, EXTENSIONS):
        stem, suffix = os.path.splitext(name)  # noqa: PTH122 - the same rule as below, without a Path
        if stem and suffix.lower() in suffixes:
            name = stem
    return name


Result = TypeVar("Result")


def read_remote(source: str) -> bytearray:
    """Return all bytes of a remote file, followed by MARGIN zero bytes."""
    with open_remote(source) as file:
        whole = bytearray(file.read())
    whole += bytes(MARGIN)
    return whole


@contextmanager
def open_remote(source: str) -> Iterator[BinaryIO]:
    """Open a remote file for reading; errors are reported in one line."""
    system, path = _file_system(source)
    try:
        with system.open(path, "rb") as file:
            yield file
    except SoundingError:
        raise
    except Exception as error:
        raise FormatError(source, None, _reason(error)) from error


def remote_size(source: str) -> int:
    """Return the size of a remote file in bytes; 0 if the store does not know it."""
    system, path = _file_system(source)
    return int(_ask(source, lambda: system.size(path)) or 0)


def remote_mark(source: str) -> str:
    """Return a mark that changes with the file: its size, and its tag or date if the store has them."""
    system, path = _file_system(source)
    info: dict[str, Any] = _ask(source, lambda: system.info(path))
    facts = [
        info.get(name) for name in ("size", "ETag", "etag", "mtime", "LastModified", "updated", "created")
    ]
    return " ".join(str(value) for value in facts if value is not None)


def expand_remote(source: str, skipped: tuple[str, ...], what: str) -> list[str]:
    """Return the remote files that a name, folder or glob refers to, sorted by name."""
    system, path = _file_system(source)
    if glob.has_magic(path) and not _ask(source, lambda: system.exists(path)):
        found = _ask(source, lambda: system.glob(path))
        if not found:
            raise DataError(f"no file matches {source!r}; check the pattern")
        return sorted(system.unstrip_protocol(name) for name in found)
    if not source.startswith(("http://", "https://")) and _ask(source, lambda: system.isdir(path)):
        listed = _ask(source, lambda: system.ls(path, detail=True))
        files = sorted(
            system.unstrip_protocol(item["name"])
            for item in listed
            if item["type"] == "file" and not PurePosixPath(item["name"]).name.lower().startswith(skipped)
        )
        if not files:
            raise DataError(f"the folder {source!r} holds no {what}; expected at least one file")
        return files
    return [source]


def _file_system(source: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
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


def _ask(source: str, ask: Callable[[], Result]) -> Result:
    try:
        return ask()
    except Exception as error:
        raise FormatError(source, None, _reason(error)) from error


def _reason(error: Exception) -> str:
    """Word an error of a remote store; every store has its own error classes."""
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, OSError):
        error = error.__cause__  # the server does not answer, which does not mean that the file is missing
    if isinstance(error, FileNotFoundError):
        return "no such file; check the address"
    if isinstance(error, PermissionError):
        return "permission denied by the store; check your credentials"
    words = " ".join(str(error).split()) or type(error).__name__
    return f"cannot be read ({words}); check the address and the network"
