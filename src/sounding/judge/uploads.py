"""Save the run that an organizer uploads, within limits on its lines and on what it unpacks to."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from sounding.core.errors import DataError, FormatError
from sounding.data.sources import extension

MOST_UNPACKED = 100_000_000  # bytes of a run, compressed or not
MOST_LINE = 1_000_000  # bytes
BLOCK = 1 << 18  # bytes read at a time; less than a line may have
GZIP = b"\x1f\x8b"
PACKED = (b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")
_SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")


def name_of_upload(path: str) -> str:
    """Return the name of an uploaded file; some browsers send its whole path."""
    return re.split(r"[/\\]", path)[-1]


def place_of_upload(name: str, folder: Path) -> Path:
    """Return where to save an upload: only a plain suffix of its name, which says the format, is kept."""
    suffix = extension(name)
    return folder / f"run{suffix if _SUFFIX.fullmatch(suffix) else ''}"


def save_run(upload: BinaryIO, name: str, place: Path) -> None:
    """Write an uploaded run, unpacked; refuse one that is too large or has too long a line."""
    begin = upload.read(6)
    upload.seek(0)
    if begin.startswith(PACKED):
        raise DataError(f"{name} is compressed; unpack it first, or compress it with gzip")
    packed = begin.startswith(GZIP)
    size, line, length = 0, 1, 0
    with place.open("wb") as target:
        for block in _unpacked(upload, name) if packed else _blocks(upload):
            size += len(block)
            if size > MOST_UNPACKED:
                larger = f"{name} {'unpacks to' if packed else 'has'} more than {MOST_UNPACKED // 10**6} MB"
                raise DataError(f"{larger}; add larger runs with: sounding judge import DIR --runs FILE")
            end = block.find(b"\n")
            length += len(block) if end < 0 else end
            if length > MOST_LINE:
                problem = f"the line has more than {MOST_LINE // 10**6} MB; expected one document per line"
                raise FormatError(name, line, problem)
            if end >= 0:
                line += block.count(b"\n")
                length = len(block) - block.rfind(b"\n") - 1
            target.write(block)


def _blocks(stream: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: stream.read(BLOCK), b"")


def _unpacked(upload: BinaryIO, name: str) -> Iterator[bytes]:
    with gzip.open(upload) as stream:
        try:
            yield from _blocks(stream)  # type: ignore[arg-type]  # opened to read bytes
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{name} is not a complete gz file ({error}); upload it again") from error
