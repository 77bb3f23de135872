"""Files appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from sounding.errors import DataError


def write_whole(path: Path, content: bytes) -> None:
    """Put a whole file in place, or leave what was there; a link stays a link.

    What is no regular file (a pipe, a device) cannot be replaced and is written to.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file() and not target.is_dir():
            with target.open("wb") as stream:
                stream.write(content)
            return
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            part.write_bytes(content)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error
