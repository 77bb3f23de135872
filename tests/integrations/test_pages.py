"""The examples of every page of docs/integrations work, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import require
from tests.docs_examples import run_page

PAGES = sorted((Path(__file__).parents[2] / "docs/integrations").glob("*.md"))
NEEDS = {"ir_measures": ["ir_measures"], "pyterrier": ["pyterrier"], "experiments": ["mlflow", "wandb"]}


@pytest.mark.usefixtures("local_trackers")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_work(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDS.get(page.stem, ()):
        require(package)
    monkeypatch.chdir(tmp_path)
    names = run_page(page)
    if page.stem == "ci":
        failing = names["test_ranker"]
        with pytest.raises(AssertionError) as caught:
            failing()
        shown = " ".join(page.read_text("utf-8").split())
        assert str(caught.value).partition("baseline, ")[2] in shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_one_screen(page: Path) -> None:
    assert len(page.read_text("utf-8").splitlines()) <= 60
