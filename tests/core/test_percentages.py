"""A share that is not all is never shown as 100%, nor one that is not nothing as 0%."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.compare.comparison import compare
from sounding.core.text import percent, whole_percent
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.render.tables import Column, shown_cell

SOURCES = Path(__file__).parents[2] / "src" / "sounding"
BY_HAND = re.compile(r":\.\d%\}|\b100 \* [^{}]*:\.\df\}%|round\(100 \*[^)]*\)\}?%")


@pytest.mark.parametrize(
    ("share", "exact", "whole"),
    [
        (1, "100%", "100%"), (0, "0%", "0%"), (0.997, "99.7%", "99.7%"), (0.003, "0.3%", "0.3%"),
        (0.99996, ">99.9%", ">99.9%"), (1e-9, "<0.1%", "<0.1%"), (0.762, "76.2%", "76%"),
        (0.994, "99.4%", "99%"), (1.2, "120.0%", "120%"), (float("nan"), "–", "–"),
        (-0.003, "-0.3%", "-0.3%"),
    ],
)  # fmt: skip
def test_only_all_is_100_percent_and_only_nothing_0(share: float, exact: str, whole: str) -> None:
    assert percent(share) == exact
    assert whole_percent(share) == whole
    assert shown_cell(float(share), Column("judged", [], percent=True)) == whole


@given(st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_a_part_is_never_shown_as_all_or_nothing(share: float) -> None:
    for text in (percent(share), whole_percent(share)):
        assert float(text.strip("<>%")) not in (0, 100)


def test_percentages_are_written_in_one_place() -> None:
    found = [
        f"{path.relative_to(SOURCES)}:{number}"
        for path in sorted(SOURCES.rglob("*.py"))
        if path.name != "text.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if BY_HAND.search(line)
    ]
    assert found == []


def test_a_run_with_one_unjudged_document_is_not_all_judged() -> None:
    """299 of 300 documents judged, or 1 of 300: no table, note or advice says 100% or 0% judged."""
    docs = [f"d{place:03}" for place in range(100)]
    topics = ["1", "2", "3"]
    nearly = Run.from_dict(
        {topic: {doc: -place for place, doc in enumerate(docs)} for topic in topics}, name="a"
    )
    hardly = Run.from_dict(
        {
            topic: {doc: -place for place, doc in enumerate(docs[:1] + [f"x{n:03}" for n in range(99)])}
            if topic == "1"
            else {f"y{place:03}": -place for place in range(100)}
            for topic in topics
        },
        name="b",
    )
    qrels = Qrels.from_dict(
        {topic: {doc: int(doc < "d050") for doc in docs[: 99 if topic == "1" else 100]} for topic in topics}
    )
    scores = evaluate(qrels, [nearly, hardly], ["P@100"])
    assert scores.judged_share().ravel().tolist() == pytest.approx([299 / 300, 1 / 300])
    table = scores._repr_html_()
    assert "99.7%" in table
    assert "0.3%" in table
    for text in (table, compare(qrels, [nearly, hardly], ["P@100"])._repr_html_()):
        assert not re.search(r"(?<![\d.])(100|0)%(?= (of|and|judged)|</td>)", text)
