"""Exports: what stands, in byte order, as of one moment, in memory that does not grow."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.judge.small import begin, draw_runs
from tests.judge.web import TOPICS, add_person, make_project, signed_in

from sounding.data.formats import read_qrels
from sounding.judge import exports
from sounding.judge.command import command
from sounding.judge.engine import Engine
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.judge.exports import EXPORTS, left_out
from sounding.judge.project import Project
from sounding.judge.records import Selection, Submission
from sounding.judge.settings import Order
from sounding.judge.store import Store, open_store
from sounding.judge.verify import replay_log, snapshot

WIDE = draw_runs(1, docs=40, length=25)
SAMPLE = Order(policy="stratified-sample", parameters={"strata": "2:1,8:0.5"})


def exported(store: Store, what: str, until: int | None = None) -> list[str]:
    return list(EXPORTS[what](store, until))


def judge(store: Store, assessor: str, topic: str, doc: str, grade: float | None, key: str) -> int:
    return store.judge(
        Submission(assessor=assessor, topic=topic, doc=doc, grade=grade, key=key)
    ).event.sequence


def test_command_pages_interface_and_documentation_offer_the_same_exports(project: Project) -> None:
    assert list(EXPORTS) == list(exports._WRITERS) == list(EXPORT_KINDS)
    add_person(project, "olga", "organizer")
    olga = signed_in(project, "olga")
    page, asked = olga.get("/organize/project").text, CliRunner().invoke(command, ["export", "--help"]).output
    documented = (Path(__file__).parents[2] / "docs" / "judge.md").read_text()
    for name, kind in EXPORT_KINDS.items():
        assert (
            f'<a href="/api/export/{name}" download>{name}</a> <span class="faint">{kind.description}' in page
        )
        assert f"  {name:10} {kind.description}\n" in asked
        assert f"\n| `{name}` | " in documented
        answer = olga.get(f"/api/export/{name}")
        assert answer.headers["content-type"].partition(";")[0] == kind.content_type
        assert answer.headers["content-disposition"] == f'attachment; filename="{kind.file_name}"'
        assert answer.text == "".join(exported(project.store, name))
    assert [name for name, kind in EXPORT_KINDS.items() if kind.file_name.endswith(".jsonl")] == [
        "spans", "log", "searches", "topics",
    ]  # fmt: skip
    compared = snapshot(project.store, replay_log(project.store), project.store.last_sequence())
    wanted = {f"export of {name}" for name in EXPORT_KINDS if name != "searches"}
    assert {name for name in compared if name.startswith("export of")} == wanted


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


LARGE = Order(policy="stratified-sample", parameters={"strata": "3:1,20:0.3"})
UNIFORM = Order(policy="uniform-sample", parameters={"rate": 0.4})


def drawn_alone(folder: Path, order: Order, topic: str = "7") -> dict[str, Selection]:
    """What the sample of a topic draws where nothing else was ever done."""
    folder.mkdir(exist_ok=True)
    with open_store(folder / "alone.sqlite") as alone:
        engine = begin(alone, runs=WIDE, depth=20, order=order)
        return {offer.doc: offer.selection for offer in engine._replay.fresh_offers(topic, 1000)}


def judge_all(engine: Engine, assessor: str = "a", topic: str = "7") -> dict[str, float]:
    """Judge whatever comes."""
    grades: dict[str, float] = {}
    while leases := engine.next(assessor, topic):
        doc = leases[0].doc
        grades[doc] = float(len(grades) % 3)
        engine.judge(assessor, topic, doc, grades[doc], key=f"order {assessor} {doc}")
    return grades


def sampled(store: Store, topic: str = "7") -> tuple[dict[str, tuple[float, float]], dict[str, float]]:
    """Grade and chance of every document in prels, and the grade of every one that strata call drawn."""
    prels = [line.split() for line in exported(store, "prels")]
    strata = [line.split() for line in exported(store, "strata")]
    return (
        {row[1]: (float(row[2]), float(row[4])) for row in prels if row[0] == topic},
        {row[2]: float(row[4]) for row in strata if row[0] == topic and float(row[4]) >= 0},
    )


@pytest.mark.parametrize("order", [LARGE, UNIFORM], ids=lambda order: order.policy)
@pytest.mark.parametrize("before", ["nothing", "warm-up", "free", "import", "mtc", "another sample"])
def test_prels_and_strata_are_what_the_sample_drew_however_it_was_judged(
    store: Store, tmp_path: Path, order: Order, before: str
) -> None:
    drawn = drawn_alone(tmp_path, order)
    first = {"mtc": Order(), "another sample": Order(policy="uniform-sample", parameters={"rate": 0.6})}
    begun = replace(order, warm_up=14) if before == "warm-up" else first.get(before, order)
    engine = begin(store, runs=WIDE, depth=20, order=begun)
    pool = set(engine._replay.all_lists.docs.texts())
    others = sorted(pool - set(drawn))[:4]
    grades: dict[str, float] = {}
    if before in ("free", "import"):
        chosen = [*others, *list(drawn)[-3:]]
        strange = Selection(policy="import", stratum=1, probability=0.9) if before == "import" else None
        grades = {doc: 1.0 + place % 2 for place, doc in enumerate(chosen)}
        store.judge_all(
            Submission(assessor="b", topic="7", doc=doc, grade=grade, key=doc, selection=strange)
            for doc, grade in grades.items()
        )
    if before in first:
        for number in range(14):
            doc = engine.next("b", "7")[0].doc
            grades[doc] = number % 3
            engine.judge("b", "7", doc, grades[doc], key=str(number))
        engine.set_order("7", order)
    engine.catch_up()
    grades |= judge_all(engine)
    # Something was judged that the sample does not have.
    assert before == "nothing" or set(grades) > set(drawn)
    prels, strata = sampled(store)
    assert prels == {doc: (grades[doc], one.probability) for doc, one in drawn.items()}
    assert strata == {doc: grades[doc] for doc in drawn}


def test_a_sample_whose_order_gave_way_counts_once_all_that_it_drew_is_judged(
    store: Store, tmp_path: Path
) -> None:
    drawn = drawn_alone(tmp_path, LARGE)
    engine = begin(store, runs=WIDE, depth=20, order=LARGE)
    for doc in list(drawn)[:-1]:
        judge(store, "a", "7", doc, 1, doc)
    assert set(sampled(store)[0]) == set(list(drawn)[:-1])
    engine.set_order("7", Order())
    assert sampled(store) == ({}, {})
    judge(store, "a", "7", list(drawn)[-1], 1, "last")
    judge_all(engine)
    prels, strata = sampled(store)
    assert set(prels) == set(strata) == set(drawn)
    engine.set_order(None, UNIFORM)  # from here on, another sample
    assert set(sampled(store)[0]) == set(drawn_alone(tmp_path / "other", UNIFORM))


def test_it_is_said_how_much_of_a_sample_has_no_grade(tmp_path: Path) -> None:
    order = Order(policy="uniform-sample", parameters={"rate": 0.5})
    with make_project(tmp_path, topics=1, order=order) as project:
        drawn = [offer.doc for offer in project.engine._replay.fresh_offers("MB001", 99)]
        for place, doc in enumerate(drawn[:-3]):
            judge(project.store, "a", "MB001", doc, None if place == 0 else 1, doc)
        told = CliRunner().invoke(command, ["export", str(project.folder), "prels"])
        assert len(told.stdout.splitlines()) == len(drawn) - 4
        assert "prels leaves out 4 sampled documents: 3 not judged yet, 1 " in told.stderr
        for doc in (drawn[0], *drawn[-3:]):
            judge(project.store, "a", "MB001", doc, 0, f"again {doc}")
        told = CliRunner().invoke(command, ["export", str(project.folder), "prels"])
        assert len(told.stdout.splitlines()) == len(drawn)
        assert "leave out" not in told.stderr


def test_why_there_are_no_prels_or_strata_is_said_as_it_is(tmp_path: Path) -> None:
    with make_project(tmp_path, topics=1) as project:
        engine = project.engine

        def told(what: str = "prels", *more: str) -> str:
            answer = CliRunner().invoke(command, ["export", str(project.folder), what, *more])
            assert answer.stdout == ""
            return answer.stderr

        assert "no strata: no topic is judged by a sample" in told("strata")
        engine.set_order(None, Order(policy="weighted-sample", parameters={"rate": 0.9}))
        assert "no strata: the samples are not stratified" in told("strata")
        engine.set_order(None, Order(policy="uniform-sample", parameters={"rate": 0.5}))
        drawn = [offer.doc for offer in engine._replay.fresh_offers("MB001", 99)]
        assert f"no prels: none of the {len(drawn)} documents sampled has a grade yet" in told()
        assert "no topic is judged" not in told()
        judge(project.store, "a", "MB001", drawn[0], None, "cannot")
        assert "has a grade yet" in told()
        judge(project.store, "a", "MB001", drawn[0], 1, "can")
        engine.set_order(None, Order())
        for what in ("prels", "strata"):
            assert f"no {what}: the order of topic MB001 changed before its sample was fully judged" in told(
                what
            )
        engine.set_status("MB001", "dropped")
        assert {"MB001,", "--all-topics"} <= set(told().split())
        assert "the order of topic MB001 changed" in told("prels", "--all-topics")
        assert "there are no runs to sample from" in told("prels", "--event", "1")


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
        every = EXPORTS[what](store, until, all_topics=True)
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
    store.log_search("a", "7", "検索", 3, first=1, total=3)
    assert [json.loads(line)["title"] for line in exported(store, "topics")] == ["one", "two"]
    assert json.loads(exported(store, "searches")[0])["query"] == "検索"


# The most that a process of its own has taken: unlike what `getrusage` says, not what its parent had before.
TAKEN = """
import sys
def taken():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
"""
PEAK = f"""{TAKEN}
from sounding.judge.exports import Export
from sounding.judge.store import open_store
store = open_store(sys.argv[1])
export = Export(store)
list(zip(range(3000), export.log())); list(zip(range(3000), export.qrels("first")))
before = taken()
lines = 0
for each in (export.qrels("majority"), export.assessors(), export.log()):
    lines += sum(1 for _ in each)
print(lines, taken() - before)
"""


def test_many_judgments_are_exported_in_constant_memory(place: str) -> None:
    count = 30_000
    chosen = Selection(policy="uniform-sample", step=1, probability=0.1, weight=0.5, seed=1)
    with open_store(place) as store:
        assert count == store.judge_all(
            Submission(assessor=f"a{n % 3}", topic=f"t{n // 2000}", doc=f"document-{n:08}", grade=n % 3, key=str(n), selection=chosen, comment="because " * 4)
            for n in range(count)
        )  # fmt: skip
    done = subprocess.run([sys.executable, "-c", PEAK, place], capture_output=True, text=True, check=True)
    lines, more = map(int, done.stdout.split())
    assert lines == 3 * count
    assert more < 4000  # kilobytes; the rows alone would take more than 30,000


COMMAND = f"""{TAKEN}
from sounding.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
print(taken())
"""


def peak(folder: Path, what: str) -> tuple[int, int]:
    """Kilobytes that the command takes at most, and the lines that it writes."""
    target = folder / f"{what}.out"
    command = [
        sys.executable,
        "-c",
        COMMAND,
        "judge",
        "export",
        str(folder),
        what,
        "-o",
        str(target),
        "--quiet",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout), len(target.read_bytes().splitlines())


def test_the_command_takes_no_more_memory_for_five_times_as_many_judgments(tmp_path: Path) -> None:
    few, many = 5_000, 25_000
    found: dict[int, dict[str, tuple[int, int]]] = {}
    with make_project(tmp_path, order=Order(policy="uniform-sample", parameters={"rate": 0.5})) as project:
        store, folder = project.store, project.folder
        drawn = {
            topic: [offer.doc for offer in project.engine._replay.fresh_offers(topic, 99)] for topic in TOPICS
        }
        known = [(topic, doc) for topic, docs in drawn.items() for doc in docs]
        kinds = ("qrels", "prels", "log", "searches")
        for first, last in ((0, few), (few, many)):
            store.judge_all(
                Submission(
                    assessor=f"a{n % 3}", topic=f"t{n % 50}", doc=f"document-{n:08}", grade=n % 3,
                    key=str(n), comment="because " * 4,
                )
                for n in range(first, last)
            )  # fmt: skip
            store.judge_all(
                Submission(assessor="b", topic=topic, doc=doc, grade=int(last == few), key=topic + doc)
                for topic, doc in known
            )
            with store.together():
                for n in range(first, last):
                    store.log_search("a", "MB001", f"a query {n}", n, first=1, total=n)
            found[last] = {what: peak(folder, what) for what in kinds}
    for what, (kilobytes, lines) in found[many].items():
        if what == "prels":
            assert lines == found[few][what][1] >= len(known)
        else:
            assert lines >= many
        assert kilobytes - found[few][what][0] < 3000, what  # kilobytes; 20,000 events take more than 20,000
