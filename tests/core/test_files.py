"""A text that is slow to make is kept for the next time, and nothing depends on where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sounding.core.files import kept_text

FOLDER = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path / "caches"))
    return tmp_path / "caches" / "sounding" / "one.txt"


def refuse() -> str:
    raise AssertionError("made again")


def test_a_kept_text_is_made_once(kept: Path) -> None:
    assert kept_text("one.txt", lambda: "slow\nand é") == "slow\nand é"
    assert kept_text("one.txt", refuse) == "slow\nand é"
    assert [path.name for path in kept.parent.iterdir()] == ["one.txt"]


@pytest.mark.parametrize("damage", [b"", b"slow", b"0" * 64 + b"\nslow"])
def test_a_damaged_text_is_made_again(kept: Path, damage: bytes) -> None:
    kept_text("one.txt", lambda: "slow")
    whole = kept.read_bytes()
    for content in (damage, whole[:-1], whole + b"x"):
        kept.write_bytes(content)
        assert kept_text("one.txt", lambda: "slow") == "slow"
        assert kept.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_done_without(kept: Path) -> None:
    kept.parents[1].write_bytes(b"a file where the folder would be")
    assert kept_text("one.txt", lambda: "slow") == "slow"
    assert kept_text("one.txt", lambda: "again") == "again"
