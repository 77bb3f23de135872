"""Exports: what stands, in byte order, as of one moment, in memory that does not grow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.judging.small import begin

from sounding.data.formats import read_qrels
from sounding.judging.events import Selection
from sounding.judging.exports import EXPORTS, left_out
from sounding.judging.settings import Order
from sounding.judging.store import Store, Submission, open_store
from sounding.judging.verify import replayed

SAMPLE = Order(policy="stratified-sample", parameters={"strata": "2:1,8:0.5"})


def exported(store: Store, what: str, until: int | None = None) -> list[str]:
    return list(EXPORTS[what](store, replayed(store, until), until))


def judge(store: Store, assessor: str, topic: str, doc: str, grade: float | None, key: str) -> int:
    return store.judge(
        Submission(assessor=assessor, topic=topic, doc=doc, grade=grade, key=key)
    ).event.sequence


def test_qrels_have_one_line_a_document_that_counts(store: Store, tmp_path: Path) -> None:
    begin(store, overlap=2)
    judge(store, "b", "7", "d02", 0, "1")
    judge(store, "a", "7", "d02", 2, "2")
    judge(store, "a", "7", "d01", None, "3")
    judge(store, "a", "MB001", "Z", 1, "4")
    moment = judge(store, "a", "MB001", "a", 1, "5")
    judge(store, "b", "7", "d02", 1, "6")
    store.withdraw("a", "MB001", "Z", key="7", overlap=1, seconds=9)
    assert exported(store, "qrels") == ["7 0 d02 1\n", "MB001 0 a 1\n"]
    assert exported(store, "qrels", moment) == ["7 0 d02 0\n", "MB001 0 Z 1\n", "MB001 0 a 1\n"]
    assert exported(store, "assessors") == ["7 b d02 1\n", "7 a d02 2\n", "MB001 a a 1\n"]
    path = tmp_path / "qrels.txt"
    path.write_text("".join(exported(store, "qrels")))
    assert read_qrels(path).topics == ("7", "MB001")


def test_strata_list_the_whole_pool_and_prels_what_was_drawn(store: Store, tmp_path: Path) -> None:
    engine = begin(store, order=SAMPLE)
    grades: dict[str, int] = {}
    while leases := engine.next("a", "7"):
        doc = leases[0].doc
        grades[doc] = len(grades) % 3
        engine.judge("a", "7", doc, grades[doc], key=doc)
    engine.judge("a", "7", "found", 2, key="free")  # in no sample: no chance is known
    engine.judge("a", "MB001", engine.next("a", "MB001")[0].doc, None, key="cannot")
    strata = [line.split() for line in exported(store, "strata")]
    assert {row[0] for row in strata} == {"7", "MB001", "t-é"}
    own = {row[2]: (int(row[3]), int(row[4])) for row in strata if row[0] == "7"}
    assert {doc: grade for doc, (_, grade) in own.items() if grade >= 0} == grades
    assert len(own) > len(grades)  # some were not drawn
    prels = [line.split() for line in exported(store, "prels")]
    assert {row[1]: int(row[2]) for row in prels} == grades
    # The chance of a document is the share of its stratum that was drawn.
    for row in prels:
        stratum = own[row[1]][0]
        members = [grade for other, grade in own.values() if other == stratum]
        assert float(row[4]) == pytest.approx(sum(grade >= 0 for grade in members) / len(members))
    for name, lines in (("strata", exported(store, "strata")), ("prels", exported(store, "prels"))):
        path = tmp_path / name
        path.write_text("".join(lines))
        qrels = read_qrels(path, format=name)
        assert len(qrels.docs) == len(lines)


def test_without_a_sample_there_are_neither_strata_nor_prels(store: Store) -> None:
    engine = begin(store)
    engine.judge("a", "7", engine.next("a", "7")[0].doc, 1, key="1")
    assert (exported(store, "strata"), exported(store, "prels")) == ([], [])


def test_judgments_of_candidate_and_dropped_topics_are_exported_only_when_all_are_asked_for(
    store: Store,
) -> None:
    engine = begin(store, order=SAMPLE)
    for topic, status in (("7", "chosen"), ("MB001", "candidate"), ("t-é", "dropped")):
        engine.judge("a", topic, engine.next("a", topic)[0].doc, 1, key=topic)
        store.save_topic(topic, title="x", status=status)  # type: ignore[arg-type]
    until = store.last_sequence()
    for what, place in (("qrels", 0), ("assessors", 0), ("prels", 0), ("strata", 0)):
        every = EXPORTS[what](store, replayed(store), until, all_topics=True)
        assert {line.split()[place] for line in every} == {"7", "MB001", "t-é"}
        assert {line.split()[place] for line in exported(store, what)} == {"7"}
    assert left_out(store) == ["MB001", "t-é"]
    assert len(exported(store, "log")) == until  # the log is whole


def test_the_log_has_every_event_with_how_its_document_was_chosen(store: Store) -> None:
    engine = begin(store, order=SAMPLE)
    lease = engine.next("a", "7")[0]
    engine.judge("a", "7", lease.doc, 1, key="k", comment="‮ <b>1 2 3</b>\n", active=2.5, away=1)
    lines = exported(store, "log")
    assert [json.loads(line)["sequence"] for line in lines] == list(range(1, len(lines) + 1))
    last = json.loads(lines[-1])
    assert last["comment"] == "‮ <b>1 2 3</b>\n"
    assert (last["active"], last["away"], last["grade"], last["key"]) == (2.5, 1, 1, "k")
    assert Selection(**last["selection"]) == lease.selection
    assert all(line.count("\n") == 1 for line in lines)
    assert exported(store, "log") == lines


def test_topics_and_searches_are_lines_of_json(store: Store) -> None:
    begin(store)
    store.save_topic("7", title="one")
    store.save_topic("7", title="two")
    store.log_search("a", "7", "検索", 3)
    assert [json.loads(line)["title"] for line in exported(store, "topics")] == ["one", "two"]
    assert json.loads(exported(store, "searches")[0])["query"] == "検索"


PEAK = """
import resource, sys
from sounding.judging.exports import qrels_lines, assessor_lines, prels_lines, log_lines
from sounding.judging.store import open_store
store = open_store(sys.argv[1])
list(zip(range(3000), log_lines(store))); list(zip(range(3000), qrels_lines(store, "first")))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
lines = 0
for each in (qrels_lines(store, "majority"), assessor_lines(store), prels_lines(store, "first"), log_lines(store)):
    lines += sum(1 for _ in each)
print(lines, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_hundred_thousand_judgments_are_exported_in_constant_memory(place: str) -> None:
    count = 20_000 if place.startswith("postgresql") else 100_000
    chosen = Selection(policy="uniform-sample", step=1, probability=0.1, weight=0.5, seed=1)
    with open_store(place) as store:
        assert count == store.judge_all(
            Submission(assessor=f"a{n % 3}", topic=f"t{n // 2000}", doc=f"document-{n:08}", grade=n % 3, key=str(n), selection=chosen, comment="because " * 4)
            for n in range(count)
        )  # fmt: skip
    done = subprocess.run([sys.executable, "-c", PEAK, place], capture_output=True, text=True, check=True)
    lines, more = map(int, done.stdout.split())
    assert lines == 4 * count
    assert more < 4000  # kilobytes; the rows alone would take more than 100,000
