"""What a run calls itself, where that can be told without reading the whole of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sounding.data.formats import detect
from sounding.data.problems import Problems
from sounding.data.sources import STDIN, Content, as_text, head_of, is_remote, unpacked_pieces
from sounding.data.trec import read_trec_run
from sounding.errors import SoundingError
from sounding.files import located

HEAD = 1 << 16  # bytes that show what a file is
TAIL = 1 << 14  # bytes that hold the last lines


def quick_tag(source: Any, run_format: str | None = None) -> str | None:
    """The tag on the last line of TREC's text that lies here unpacked; None: only reading the run tells."""
    if not isinstance(source, str | Path) or str(source) == STDIN or is_remote(source):
        return None
    try:
        head = head_of(source, HEAD)
        if unpacked_pieces(head) is not None or (run_format or detect(as_text(head), source)) != "trec":
            return None
    except SoundingError:  # told where the run is read
        return None
    with located(source).open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - TAIL))
        tail = file.read()
    lines = tail if size <= TAIL else tail.partition(b"\n")[2]
    problems = Problems(str(source))
    run = read_trec_run(Content.from_bytes(str(source), lines), problems)
    return run.tag if len(run.docs) and not problems.found else None
