"""Topics stand for people in the order in which people count, and for programs in trec_eval's."""

from __future__ import annotations

import csv
import io

import polars
import pytest

from sounding.audit.auditing import audit
from sounding.audit.tables import Extras, topics_section
from sounding.compare.charts import chart_of
from sounding.compare.comparison import compare
from sounding.compare.pair_account import PairByMeasure
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.tables import Layout, wide_table

TOPICS = [str(number) for number in range(1, 13)]
COUNTED = TOPICS
BYTES = sorted(TOPICS)


def run(name: str, first: str) -> Run:
    rows = {topic: {first: 3.0, "a": 2.0, "b": 1.0, f"x{topic}": 0.5} for topic in TOPICS}
    return Run.from_dict(rows, name=name)


QRELS = Qrels.from_dict({topic: {"a": 1, "b": 0, "c": 0} for topic in TOPICS})
RUNS = [run("one", "c"), run("two", "a")]


def test_the_table_of_values_by_topic() -> None:
    scores = evaluate(QRELS, RUNS, ["RR", "NumRet", "FirstUnjudged"])
    assert list(scores.topics) == BYTES
    table = wide_table(scores, Layout(per_topic=True))
    cells = {column.name: list(column.cells) for column in table.columns}
    assert cells["topic"][:13] == [*COUNTED, "all"]
    values = dict(zip(scores.topics, scores.values[1, 2].tolist(), strict=True))
    best = {name: place for place, name in enumerate(cells["run"])}
    assert set(best) == {"one", "two"}
    assert [cell for cell in cells["FirstUnjudged"] if cell][:12] == [values[topic] for topic in COUNTED]


def test_values_follow_their_topics_in_the_table() -> None:
    qrels = Qrels.from_dict({topic: {"a": 1, "b": int(topic) % 3 == 0, "c": 0} for topic in TOPICS})
    scores = evaluate(qrels, RUNS[:1], ["NumRel", "AP"])
    table = wide_table(scores, Layout(per_topic=True))
    cells = {column.name: list(column.cells) for column in table.columns}
    by_topic = dict(zip(scores.topics, scores.values[0, 1].tolist(), strict=True))
    assert cells["AP"][:12] == pytest.approx([by_topic[topic] for topic in COUNTED])
    assert [str(cell) for cell in cells["NumRel"][:12]] == [str(1 + (int(t) % 3 == 0)) for t in COUNTED]


def test_the_topics_of_an_audit() -> None:
    section = topics_section(audit(QRELS, RUNS), Extras(), top=20)
    assert list(section.tables[0].columns[0].cells) == COUNTED
    assert section.frame["topic"].to_list() == BYTES


def test_topics_that_differ_alike() -> None:
    found = compare(QRELS, RUNS, ["RR"], pair=("one", "two"))
    shown = list(PairByMeasure(found, 0).topic_table().columns[0].cells)
    assert shown == COUNTED[: len(shown)]
    assert str(COUNTED).replace("'", '"') in str(chart_of(found).to_json(indent=None))


def test_programs_read_the_order_of_bytes() -> None:
    frame = evaluate(QRELS, RUNS, ["RR"]).frame
    rows = list(csv.reader(io.StringIO(frame.filter(polars.col("run") == "one").write_csv())))
    assert [row[2] for row in rows[1:]] == BYTES
