"""Opening what a user names: files on this machine or elsewhere, standard input; compressed or not."""

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

Decompressor = Callable[[], Any]  # makes an object with decompress(), eof and unused_data

# Called with the name and the bytes, packed as they are, of each file of this machine that is read whole.
on_file_read: ContextVar[Callable[[str, memoryview], None] | None] = ContextVar("on_file_read", default=None)

LARGE_PACKED = 48 << 20  # bytes of compressed text or Parquet from which on a run is read in parts
_PIECE = 1 << 20  # bytes that a decompressor is fed at once
_READ_ONCE = "it can be read only once, and is asked for twice; give a file in one place"
_already_read: WeakSet[Any] = WeakSet()  # streams that gave all they had
_REMOTE = r"[A-Za-z][A-Za-z0-9+.-]+://|[a-z0-9+]+::"  # s3://, https://, simplecache::s3://


class Content(NamedTuple):
    """The bytes of one source: buffer[:size] is the text, without a byte-order mark.

    At least MARGIN zero bytes follow; the buffer may be written to.
    """

    source: str  # as messages call it
    buffer: Bytes
    size: int

    @staticmethod
    def from_bytes(source: str, *parts: bytes | bytearray) -> Content:
        """Content of bytes that are in memory already."""
        joined = bytearray().join([*parts, bytes(MARGIN)])
        return Content(source, np.frombuffer(joined, np.uint8), len(joined) - MARGIN)

    @property
    def view(self) -> memoryview:
        """The text as bytes, without a copy."""
        return memoryview(self.buffer.data)[: self.size]

    def starts_with(self, beginning: bytes) -> bool:
        """Whether these are the first bytes."""
        return bytes(self.view[: len(beginning)]) == beginning


def read_content(source: str | Path) -> Content:
    """Everything a file (or, for `-`, standard input) holds, decompressed, without byte-order mark.

    Compression is recognized by the first bytes, whatever the file is called.
    """
    content = _decompress(_read(source))
    if not content.size:
        raise FormatError(content.source, None, "the file is empty; expected at least one line")
    return as_text(content)


def as_text(content: Content) -> Content:
    """The same bytes without a byte-order mark; text of two bytes a character, and no text, are refused."""
    content = _without_byte_order_mark(content)
    _refuse_utf16(content)
    _refuse_zeros(content)
    return content


def is_remote(source: str | Path) -> bool:
    """Whether this is an address and no name of a file here."""
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
        raise FormatError(STDIN_NAME, None, "the workers of a cluster cannot read it; expected a file")
    if sys.stdin is None:
        raise FormatError(STDIN_NAME, None, "it is closed; expected a file, or something to read")
    stream = sys.stdin.buffer
    if stream in _already_read and not stream.isatty():
        raise FormatError(STDIN_NAME, None, _READ_ONCE)
    _already_read.add(stream)
    return Content.from_bytes(STDIN_NAME, stream.read())


def refuse_stdin_twice(sources: Iterable[Any]) -> None:
    """Refuse where more than one of these is standard input, before anything is read from it."""
    if sum(isinstance(source, str | Path) and str(source) == STDIN for source in sources) > 1:
        raise FormatError(STDIN_NAME, None, _READ_ONCE)


def _read_file(source: str | Path) -> Content:
    name = str(source)
    with _problems_of_files(source), locate_file(source).open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return Content.from_bytes(name, file.readall())  # a pipe, or a file of unknown size
        size = status.st_size
        # Empty, not zeros: the pages are touched once, by the read itself.
        buffer = np.empty(size + MARGIN, np.uint8)
        filled = 0
        while filled < size and (count := file.readinto(buffer[filled:size].data)):
            filled += count
        buffer[filled:] = 0
        if (tell := on_file_read.get()) is not None:
            tell(name, buffer[:filled].data)
        return Content(name, buffer, filled)


@contextmanager
def opened(source: str | Path) -> Iterator[BinaryIO]:
    """A file here or elsewhere, to read from."""
    if is_remote(source):
        with open_remote(str(source)) as remote:
            yield remote
        return
    with _problems_of_files(source), locate_file(source).open("rb") as file:
        yield file


def head_of(source: str | Path, size: int) -> Content:
    """The first bytes of a file, packed as they are."""
    with opened(source) as file:
        return Content.from_bytes(str(source), file.read(size))


def size_of(source: str | Path) -> int:
    """Bytes of a file; 0 where nobody tells."""
    if is_remote(source):
        return remote_size(str(source))
    return _size_here(source)


def _size_here(source: str | Path) -> int:
    """Bytes of a file of this machine; 0 for anything else. One question to the system, not two."""
    try:
        status = locate_file(source).stat()
    except (OSError, ValueError):  # whoever reads it says what is wrong
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


@contextmanager
def _problems_of_files(source: str | Path) -> Iterator[None]:
    """What the system says of a file that cannot be opened, in one line."""
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
    """Why there is no file of this name, as far as can be seen, and what would be right."""
    if sent_from.get() is not None:
        import platform

        return (
            f"no such file on the worker {platform.node()};"
            " expected a folder that all workers share, or an address such as s3://"
        )
    if path.is_symlink():
        return f"a link to {str(path.readlink())!r}, which does not exist; mend the link or remove it"
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
    """The bytes as a zst archive."""
    return _zstd().compress(data)


def open_zstd(file: BinaryIO) -> Any:
    """A zst archive to write to."""
    return _zstd().open(file, "wb")


def _compression(content: Content) -> tuple[str, Decompressor] | None:
    """Name and decompressor of what the first bytes announce; None: plain."""
    if content.starts_with(b"\x1f\x8b\x08"):
        import zlib

        return "gzip", lambda: zlib.decompressobj(31)
    # Text may begin with 'BZh9'; the number behind it is that of a block, or of an empty file's end.
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
    inflate = unpacked_pieces(content)
    if inflate is None:
        return content
    view = content.view
    packed = (view[place : place + _PIECE] for place in range(0, len(view), _PIECE))
    return Content.from_bytes(content.source, *inflate(packed))


def unpacked_pieces(head: Content) -> Callable[[Iterable[Any]], Iterator[bytes]] | None:
    """What unpacks a file that begins like this, piece after piece; None: it is not packed."""
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
                # Each library has error classes of its own; zstd's is not importable everywhere.
                problem = f"damaged {kind} archive ({error}); expected one that unpacks"
                raise FormatError(head.source, None, problem) from error
            if part is None:
                return
            yield part

    return unpack


class _EndsTooEarlyError(Exception):
    """The last member of an archive lacks its end."""


def _inflate(pieces: Iterable[Any], start: Decompressor) -> Iterator[bytes]:
    """What the archive's members hold, one after the other."""
    member = start()
    for piece in pieces:
        rest = piece
        while len(rest):
            if member.eof:
                if not any(rest):  # tape blocks are filled up with zeros
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
    """Refuse text of two bytes a character without a byte-order mark: every second byte is 0."""
    beginning = content.buffer[: min(content.size, 64) // 2 * 2].reshape(-1, 2)
    zero = beginning == 0
    if len(beginning) > 1 and any(zero[:, n].all() and not zero[:, 1 - n].any() for n in (0, 1)):
        problem = "the text is in UTF-16 (every second byte is 0); save it as UTF-8"
        raise FormatError(content.source, None, problem)


def _refuse_zeros(content: Content) -> None:
    """Refuse what begins with many zero bytes, as a file that a crash left behind, or a program does."""
    beginning = content.buffer[: min(content.size, 4096)]
    zeros = len(beginning) - int(np.count_nonzero(beginning))
    if zeros > max(8, len(beginning) // 10) and not content.starts_with(b"PAR1"):
        problem = f"this is not text ({zeros:,} of the first {len(beginning):,} bytes are zero bytes)"
        raise FormatError(content.source, None, f"{problem}; expected plain text or gz, bz2, xz, zst")


def bytes_to_read(sources: Iterable[Any]) -> int:
    """How much there is to read, as far as files of this machine tell."""
    return sum(_size_here(source) for source in sources if isinstance(source, str | Path))


def some_may_be_large(sources: Iterable[Any]) -> bool:
    """Whether one of these may have to be read in parts; `sounding.data.large_files` knows for certain."""
    named = [source for source in sources if isinstance(source, str | Path) and str(source) != STDIN]
    if any(is_remote(source) for source in named):
        return True
    return bytes_to_read(named) > LARGE_PACKED and any(size_of(source) > LARGE_PACKED for source in named)


def extension(source: str | Path) -> str:
    """How a file's name ends before its compression suffix, in lower case: .csv for a.CSV.gz."""
    path = Path(_without_query(source))
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSIONS else path).suffix.lower()


def _without_query(source: str | Path) -> str | Path:
    """An address without what stands behind its path: the signature of a link is no part of a name."""
    signed = isinstance(source, str) and source.startswith(("http://", "https://"))
    return re.split("[?#]", str(source), maxsplit=1)[0] if signed else source


def plain_name(source: str | Path) -> str:
    """A file's name without its compression suffix and known extension: bm25 for runs/bm25.txt.gz."""
    name = STDIN_NAME if str(source) == STDIN else Path(_without_query(source)).name
    for suffixes in (COMPRESSIONS, EXTENSIONS):
        stem, suffix = os.path.splitext(name)  # noqa: PTH122 - the same rule as below, without a Path
        if stem and suffix.lower() in suffixes:
            name = stem
    return name


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
