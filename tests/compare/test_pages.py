"""The Python on the pages about comparisons runs, block after block, as it is pasted; the page has all columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sounding.compare.result import COLUMNS, HOLDS_COLUMNS, MARGIN_COLUMNS

PAGES = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["compare", "design", "plan-file", "settled", "tests"])
def test_the_python_of_a_page_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (PAGES / f"{name}.md").read_text(), re.DOTALL)
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        capsys.readouterr()
        exec(compile(block, f"{name}.md", "exec"), names)
        # What a block says that it prints, it prints.
        promised = re.findall(r"^# (.*)$", block, re.MULTILINE)
        printed = capsys.readouterr().out.splitlines()
        assert all(line in printed for line in promised) or not printed


def test_the_page_of_compare_explains_every_column() -> None:
    page = (PAGES / "compare.md").read_text()
    assert [name for name in (*COLUMNS, *MARGIN_COLUMNS, *HOLDS_COLUMNS) if f"`{name}`" not in page] == []
