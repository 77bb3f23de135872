"""The examples of docs/track.md work."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs_examples import run_page


def test_the_examples_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(Path(__file__).parents[2] / "docs/track.md")
