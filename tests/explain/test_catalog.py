"""The pages about measures: tables made from the registry, examples that parse, values that are computed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.conftest import require
from tests.properties.strategies import Label, Topic, ranking_of

from sounding.explain.catalog import DIFFERENT, IR_MEASURES, tables
from sounding.measures import definitions, parse, parse_measures

DOCS = Path(__file__).parents[2] / "docs"
MEASURES = (DOCS / "measures.md").read_text("utf-8")
PEERS = (DOCS / "peers.md").read_text("utf-8")


def rows(page: str, columns: int) -> list[list[str]]:
    """The cells of table rows with this many columns."""
    split = [re.split(r"(?<!\\)\|", line)[1:-1] for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in cells] for cells in split if len(cells) == columns]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


EXAMPLES = [(written, printed) for _, written, printed in rows(MEASURES, 3) if quoted(written)]
VALUES = [(value, here) for _, value, here, _ in rows(PEERS, 4) if quoted(here)]


def test_every_measure_has_a_row() -> None:
    named = {re.match(r"\w+", quoted(cells[0])[0])[0] for cells in rows(tables(), 6) if quoted(cells[0])}  # type: ignore[index]
    assert named == {known.name for known in definitions()}


def test_measures_of_ir_measures_are_those_of_the_package() -> None:
    package = require("ir_measures")
    assert {known.name for known in definitions() if hasattr(package, known.name)} == IR_MEASURES


def test_measures_that_tools_compute_differently_have_several_rows_on_the_page_of_tools() -> None:
    named = [re.match(r"\w+", quoted(here)[0])[0] for _, here in VALUES]  # type: ignore[index]
    ours = {known.name for known in definitions()}
    assert {name for name in named if named.count(name) > 1 and name in ours} == DIFFERENT


@pytest.mark.parametrize(("written", "printed"), EXAMPLES)
def test_examples_of_the_grammar_print_as_the_page_says(written: str, printed: str) -> None:
    assert [str(measure) for measure in parse_measures(quoted(written))] == quoted(printed)


def test_nicknames_of_the_page_are_known() -> None:
    [line] = [line for line in MEASURES.splitlines() if line.startswith("trec_eval's nicknames")]
    assert len(parse_measures(quoted(line))) > 80


def grades(text: str) -> list[Label]:
    return [None if label == "-" else float(label) for label in text.split()]


@pytest.mark.parametrize(("value", "here"), VALUES)
def test_values_of_the_common_topic_are_what_the_page_says(value: str, here: str) -> None:
    ranking, elsewhere = re.findall(r"`([-0-9 ]{3,})`", PEERS.partition("| quantity")[0])
    topic = Topic(tuple(grades(ranking)), tuple(grade for grade in grades(elsewhere) if grade is not None))
    [name] = quoted(here)
    [computed] = parse(name)(ranking_of([topic], highest=3))
    assert f"{computed:.5f}" == value


def test_the_older_recall_points_give_what_the_page_says() -> None:
    topic = Topic((3, None, 0, 1, 0, 2, None, 1, 0, None), (3, 1, 0))
    [computed] = parse("IAP")(ranking_of([topic], old_points=True))
    assert f"{computed:.5f}" in PEERS
