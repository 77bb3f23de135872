"""The page about minimal test collections: its example runs, and it names what there is to choose."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from sounding.selection.mtc.session import SessionParameters
from sounding.selection.mtc.weights import WEIGHINGS

PAGE = (Path(__file__).parents[2] / "docs" / "mtc.md").read_text()


def test_the_example_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    block = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    exec(compile(block, "docs/mtc.md", "exec"), {})
    shown = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == shown


def test_every_parameter_and_way_to_weigh_is_on_the_page() -> None:
    for name in (*(field.name for field in fields(SessionParameters)), *WEIGHINGS):
        assert f"`{name}`" in PAGE, name
