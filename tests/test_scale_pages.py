"""The pages on large jobs: what they show works, and what they state is what the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import require
from tests.docs_examples import run_page

from sounding.core.executors import MOST_TASKS
from sounding.data import large_files as parts
from sounding.data.sources import LARGE_PACKED

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "scale.md").read_text("utf-8")
PROSE = " ".join(PAGE.split())


@pytest.mark.parametrize("name", ["convert", "scale"])
def test_the_examples_of_a_page_do_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("cloudpickle")
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / f"{name}.md")


def test_the_page_states_the_sizes_that_the_code_has() -> None:
    assert f"above {parts.LARGE >> 20} MB" in PROSE
    assert f"above {LARGE_PACKED >> 20} MB" in PROSE
    assert f"parts of about {parts.PART >> 20} MB or a million rows" in PROSE
    assert 0.9e6 < parts.ROWS < 1.1e6
    assert f"at most {MOST_TASKS:,} tasks" in PROSE


def test_the_cost_of_ten_thousand_runs_follows_from_the_measured_rates() -> None:
    text, parquet = (
        float(seconds)
        for seconds in re.findall(r"^\| 100 million \| ([\d.]+) s .*?\| ([\d.]+) s", PAGE, re.M)[0]
    )
    hours = [70e9 / 100e6 * seconds / 3600 for seconds in (text, parquet)]
    assert f"{hours[0]:.1f} hours of one core ({hours[1]:.1f} from Parquet)" in PROSE
    rows = dict(re.findall(r"^\| (\d+) \| ([\d.]+ (?:h|min)) \| \d+ min \| \d+ min \|$", PAGE, re.M))
    expected = {
        workers: f"{hours[1] / workers:.1f} h"
        if hours[1] / workers > 1
        else f"{60 * hours[1] / workers:.0f} min"
        for workers in (2, 16, 64)
    }
    assert rows == {str(workers): told for workers, told in expected.items()}
    seconds_over_network = [70e9 * size / 1.25e9 for size in (47, 11)]
    assert all(f"{seconds / 60:.0f} min" in PROSE for seconds in seconds_over_network)
