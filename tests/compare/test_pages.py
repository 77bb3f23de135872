"""The Python on the pages about comparisons runs, block after block, as it is pasted; the schema has all columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sounding.compare.result import COLUMNS, HOLDS_COLUMNS, MARGIN_COLUMNS
from sounding.explain.schemas import schema_of

PAGES = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["compare", "design", "preregistration", "settled", "tests"])
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


def test_the_page_of_compare_shows_the_columns_of_its_schema_and_that_has_all() -> None:
    assert "<!-- the columns of compare -->" in (PAGES / "compare.md").read_text()
    described = schema_of("compare")["properties"]["rows"]["items"]["properties"]
    assert {*COLUMNS, *MARGIN_COLUMNS, *HOLDS_COLUMNS} <= set(described)
