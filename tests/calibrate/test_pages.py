"""The pages of calibrate and holds: examples run, and nothing is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs_examples import run_page

from sounding.calibrate.claims import CLAIMS
from sounding.calibrate.hiding import COUNTS, DEFAULT_SCENARIOS, SHARES
from sounding.calibrate.result import COLUMNS
from sounding.statistics.forecasts import FIGURES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["calibrate", "holds"])
def test_the_examples_of_a_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / f"{name}.md")


def test_every_claim_way_of_hiding_and_column_is_explained() -> None:
    page = (DOCS / "calibrate.md").read_text()
    for name in (*CLAIMS, *DEFAULT_SCENARIOS, *COLUMNS, *FIGURES):
        assert f"`{name}`" in page, name
    for name in (*SHARES, *COUNTS):
        assert f"| `{name}:" in page, name
