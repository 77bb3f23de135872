"""Values worked out by hand, or printed by another tool: golden/FAMILY.tsv, one topic a row.

measure       as people type it
grades        labels of the ranking from rank 1: a grade, - not judged, . pooled and not judged; `none` for no
              documents. 1^3 is a grade of 1 whose best rank in a pooled run was 3
unretrieved   the same for documents that were not retrieved: grades, or . for pooled ones; `none` for none
value         what the measure gives, or its text
source        the arithmetic, or the tool with its version and command

The scale ends at the best grade of the row, and at 1 where there is no better. What was judged is a sample
of the pool, which is one stratum: each judged document had the chance judged / (judged + pooled).
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tests.properties.strategies import POOLED, Label, Topic, every_definition, is_judged, ranking_of

from sounding.measures.grammar import parse

GOLDEN = Path(__file__).parents[1] / "golden"
DEFINITIONS = every_definition()
COLUMNS = ["measure", "grades", "unretrieved", "value", "source"]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


FILES = sorted(GOLDEN.glob("*.tsv"))
ROWS = [(path, number, row) for path in FILES for number, row in enumerate(read(path), 2)]


def label_of(text: str) -> tuple[Label, int | None]:
    """A label and, where it is given, the pool rank."""
    grade, _, rank = text.partition("^")
    known: dict[str, Label] = {"-": None, ".": POOLED}
    return known[grade] if grade in known else float(grade), int(rank) if rank else None


def topic_of(row: dict[str, str]) -> Topic:
    """The topic that a row describes."""
    ranked = [label_of(text) for text in row["grades"].split() if text != "none"]
    others = [label_of(text) for text in row["unretrieved"].split() if text != "none"]
    ranks = [rank for label, rank in ranked + others if is_judged(label)]
    known = tuple(rank for rank in ranks if rank is not None)
    assert len(known) in (0, len(ranks)), "pool ranks: give every judged document one, or none"
    elsewhere = tuple(label for label, _ in others if is_judged(label))
    unsampled = [label for label, _ in others].count(POOLED)
    assert len(elsewhere) + unsampled == len(others), "an unjudged document that was not retrieved is pooled"
    ranking = tuple(label for label, _ in ranked)
    return Topic(ranking, elsewhere, pool_ranks=known or None, unsampled=unsampled)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{path.stem}:{number}:{row['measure']}") for path, number, row in ROWS]
)
def test_a_measure_gives_the_value_in_the_row(row: dict[str, str]) -> None:
    assert list(row) == COLUMNS
    assert all(value is not None for value in row.values()), "a column is missing"
    assert row["source"], "where does the value come from?"
    measure = parse(row["measure"])
    topic = topic_of(row)
    [value] = measure(ranking_of([topic], highest=max([1, *topic.judged]))).tolist()
    if measure.definition.aggregate == "text":
        assert value == row["value"]
    else:
        assert value == pytest.approx(float(row["value"]), abs=1e-12, rel=0, nan_ok=True)


def test_every_registered_measure_has_a_golden_row() -> None:
    shown = {parse(row["measure"]).name for _, _, row in ROWS}
    assert [known.name for known in DEFINITIONS if known.name not in shown] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rows_stand_in_the_file_of_their_family(path: Path) -> None:
    assert {parse(row["measure"]).definition.family for row in read(path)} == {path.stem}
