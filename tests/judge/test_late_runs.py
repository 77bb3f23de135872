"""Samples when a run comes late: what was drawn stays, and what the run brings is drawn by itself."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.judge.small import begin, found_by, found_by_replay
from tests.judge.web import make_project

from sounding.core.errors import DataError
from sounding.data.formats import read_qrels
from sounding.evaluate.evaluation import evaluate
from sounding.judge.agenda import SampledDocument, run_content
from sounding.judge.command import command
from sounding.judge.engine import Engine
from sounding.judge.exports import EXPORTS
from sounding.judge.project import open_project
from sounding.judge.records import FREE, Selection, Submission
from sounding.judge.review import audit_of, draw_audit, record_audit
from sounding.judge.settings import Order
from sounding.judge.store import Store, open_store
from sounding.judge.verify import verify
from sounding.runs.retrieved import read_retrieved
from sounding.selection.strategies import make_strategy

TOPIC = "7"
EARLY = {"early": {TOPIC: {f"d{number:02}": -float(number) for number in range(12)}}}
# Three that are known (d00 to d02), and eight that are new at ranks 1, 3, 5, 7 and 8 to 11.
LATE = {
    "late": {
        TOPIC: {
            doc: -float(rank)
            for rank, doc in enumerate(
                ["n0", "d00", "n1", "d01", "n2", "d02", "n3", "n4", "n5", "n6", "n7"], 1
            )
        }
    }
}
SAMPLES = [
    Order(policy="uniform-sample", parameters={"rate": 0.5}),
    Order(policy="stratified-sample", parameters={"strata": "4:1,12:0.5"}),
    Order(policy="weighted-sample", parameters={"rate": 0.5}),
]
UNIFORM = SAMPLES[0]


def relevant(doc: str) -> float:
    """The truth: 6 of the 12 early documents and 4 of the 8 late ones."""
    return float(int(doc[1:]) % 2 == 0)


def judge_all(engine: Engine, most: int = 99) -> list[str]:
    """Judge what comes, and say what came."""
    docs: list[str] = []
    while len(docs) < most and (leases := engine.next("a", TOPIC)):
        docs.append(leases[0].doc)
        engine.judge("a", TOPIC, docs[-1], relevant(docs[-1]), key=docs[-1])
    return docs


def sample_of(engine: Engine) -> dict[str, SampledDocument]:
    engine.catch_up()
    found = engine._replay.sample(TOPIC)
    assert found is not None
    return found.documents


def drawn(sample: dict[str, SampledDocument]) -> set[str]:
    return {doc for doc, one in sample.items() if one.drawn}


@pytest.mark.parametrize("order", SAMPLES, ids=lambda order: order.policy)
def test_what_was_drawn_stays_when_a_run_comes(store: Store, order: Order) -> None:
    engine = begin(store, runs=EARLY, depth=12, order=order)
    first = sample_of(engine)
    begun = judge_all(engine, most=2)
    added = engine.add_runs(LATE)
    after = sample_of(engine)
    assert {doc: after[doc] for doc in first} == first
    later = {doc: one for doc, one in after.items() if doc not in first}
    assert set(later) == {f"n{number}" for number in range(8)}
    assert (added.stayed, added.new, added.drawn) == ((TOPIC,), 8, len(drawn(later)))
    # The rest of the first draw comes first, then the further one, and nothing else.
    rest = judge_all(engine)
    assert set(begun) | set(rest[: len(drawn(first)) - 2]) == drawn(first)
    assert set(rest[len(drawn(first)) - 2 :]) == drawn(later)
    prels = {line.split()[1]: float(line.split()[4]) for line in EXPORTS["prels"](store, None)}
    assert prels == {doc: one.chance for doc, one in after.items() if one.drawn}
    assert found_by_replay(store) == found_by(engine, store) == found_by(Engine(store), store)


def test_a_further_draw_has_strata_and_chances_of_its_own(store: Store) -> None:
    """By hand: 4 of 4 and 4 of 8; then ranks 1 and 3 of the late run, and 3 of the 6 further down."""
    engine = begin(store, runs=EARLY, depth=12, order=SAMPLES[1])
    judge_all(engine)
    engine.add_runs(LATE)
    judge_all(engine)
    rows = [line.split() for line in EXPORTS["strata"](store, None)]
    assert Counter(row[3] for row in rows) == {"1": 4, "2": 8, "3": 2, "4": 6}
    assert Counter(row[3] for row in rows if row[4] != "-1") == {"1": 4, "2": 4, "3": 2, "4": 3}
    assert {row[2] for row in rows if row[3] == "3"} == {"n0", "n1"}
    prels = [line.split() for line in EXPORTS["prels"](store, None)]
    chance = {row[2]: {"1": 1.0, "2": 0.5, "3": 1.0, "4": 0.5}[row[3]] for row in rows}
    assert all(float(row[4]) == chance[row[1]] for row in prels)
    assert len(prels) == 13


def test_estimates_stay_without_bias_when_a_run_comes_late(tmp_path: Path) -> None:
    """One topic under 100 names, each with a sample of its own: 6 of 12 relevant, then 10 of 20."""
    topics = [f"t{number:03}" for number in range(100)]
    early, late = (
        {name: dict.fromkeys(topics, run[TOPIC]) for name, run in runs.items()} for runs in (EARLY, LATE)
    )
    with open_store(tmp_path / "judging.sqlite") as store:
        engine = begin(
            store, runs=early, depth=12, order=Order(policy="uniform-sample", parameters={"rate": 0.25})
        )
        truth = {False: 6, True: 10}
        for came in (False, True):
            if came:
                engine.add_runs(late)
            samples = {topic: engine._replay.sample(topic) for topic in topics}
            store.judge_all(
                Submission(
                    assessor="a", topic=topic, doc=doc, grade=relevant(doc), key=f"{topic} {doc}",
                    selection=Selection(policy="import"),
                )
                for topic, sample in samples.items()
                if sample is not None
                for doc in drawn(sample.documents)
            )  # fmt: skip
            engine.catch_up()
            for name in ("prels", "strata"):
                path = tmp_path / name
                path.write_text("".join(EXPORTS[name](store, None)))
                found = evaluate(read_qrels(path, format=name), early, ["EstNumRel"])
                values = found.values[0, 0]
                error = values.std(ddof=1) / len(topics) ** 0.5
                assert len(values) == len(topics)
                assert abs(values.mean() - truth[came]) < 3.5 * error < 1.7
                # A design of 3 of 12, and 2 of 8: the sum of the two variances N (N - n) s2 / n.
                spread = 12 * 9 * (6 * 6 / 12 / 11) / 3 + (8 * 6 * (4 * 4 / 8 / 7) / 2 if came else 0)
                assert values.var(ddof=1) == pytest.approx(spread, rel=0.45)


def test_runs_that_come_before_anything_is_judged_are_drawn_with_the_others(store: Store) -> None:
    engine = begin(store, runs=EARLY, depth=12, order=UNIFORM)
    assert engine.add_runs(LATE).stayed == ()
    assert {one.stratum for one in sample_of(engine).values()} == {1}
    assert Counter(one.chance for one in sample_of(engine).values()) == {0.5: 20}


@pytest.mark.parametrize("audited", [False, True])
def test_what_assessors_found_by_themselves_is_no_beginning_of_a_sample(store: Store, audited: bool) -> None:
    """Whether a draw stays must not depend on what was drawn, or the chances would not hold."""
    engine = begin(store, runs=EARLY, depth=12, order=UNIFORM)
    store.save_topic(TOPIC, title="x", status="chosen")
    first = sample_of(engine)
    free = Submission(assessor="b", topic=TOPIC, doc=min(drawn(first)), grade=1, key="free", selection=FREE)
    store.judge(free)
    if audited:
        audit = audit_of(store, "expert", draw_audit(store, "expert", "b", 1, seed=0) or 0)
        assert audit is not None
        record_audit(store, audit, audit.drawn[0], 0, key="audit")
    assert engine.add_runs(LATE).stayed == ()
    assert {one.stratum for one in sample_of(engine).values()} == {1}


def test_a_sample_has_begun_also_where_only_an_audit_is_left_of_it(store: Store) -> None:
    engine = begin(store, runs=EARLY, depth=12, order=UNIFORM)
    store.save_topic(TOPIC, title="x", status="chosen")
    [doc] = judge_all(engine, most=1)
    audit = audit_of(store, "expert", draw_audit(store, "expert", "a", 1, seed=0) or 0)
    assert audit is not None
    record_audit(store, audit, audit.drawn[0], 0, key="audit")
    engine.withdraw("a", TOPIC, doc, key="undo")
    before = drawn(sample_of(engine))
    assert engine.add_runs(LATE).stayed == (TOPIC,)
    assert drawn(sample_of(engine)) >= before
    assert len(list(EXPORTS["prels"](store, None))) == 1


def test_runs_that_come_together_are_one_draw_and_each_later_time_is_another(store: Store) -> None:
    engine = begin(store, runs=EARLY, depth=12, order=UNIFORM)
    judge_all(engine, most=1)
    docs = list(LATE["late"][TOPIC])
    engine.add_runs(
        {name: {TOPIC: dict.fromkeys(part, 1.0)} for name, part in (("x", docs[:4]), ("y", docs[4:]))}
    )
    engine.add_runs({"z": {TOPIC: {"z1": 2.0, "z2": 1.0, "n0": 0.5}}})
    strata = {doc: one.stratum for doc, one in sample_of(engine).items()}
    assert Counter(strata.values()) == {1: 12, 2: 8, 3: 2}
    assert {doc for doc, stratum in strata.items() if stratum == 3} == {"z1", "z2"}


def test_a_finished_sample_whose_order_gave_way_stays_when_a_run_comes(store: Store) -> None:
    engine = begin(store, runs=EARLY, depth=12, order=UNIFORM)
    judge_all(engine)
    before = list(EXPORTS["prels"](store, None))
    engine.set_order(TOPIC, Order())
    assert engine.add_runs(LATE).stayed == ()  # nothing more is drawn for it
    assert list(EXPORTS["prels"](store, None)) == before
    # It goes on where it comes back.
    engine.set_order(TOPIC, replace(UNIFORM, batch=3))
    assert Counter(one.stratum for one in sample_of(engine).values()) == {1: 12, 2: 8}
    judge_all(engine)
    after = list(EXPORTS["prels"](store, None))
    assert set(before) < set(after)
    assert len(after) == 6 + 4
    assert found_by_replay(store) == found_by(engine, store)


def test_what_a_sample_drew_when_it_came_back_stays_when_it_gives_way_again(store: Store) -> None:
    engine = begin(store, runs=EARLY, depth=12, order=UNIFORM)
    judge_all(engine)
    engine.set_order(TOPIC, Order())
    engine.add_runs(LATE)
    engine.set_order(None, UNIFORM)
    judge_all(engine)
    both = list(EXPORTS["prels"](store, None))
    assert len(both) == 6 + 4
    engine.set_order(TOPIC, Order())
    assert list(EXPORTS["prels"](store, None)) == both
    # What comes when it has given way again is no part of it.
    engine.add_runs({"last": {TOPIC: {"z1": 2.0, "z2": 1.0, "n0": 0.5}}})
    assert list(EXPORTS["prels"](store, None)) == both
    assert not {"z1", "z2"} & {*sample_of(engine)}
    assert found_by_replay(store) == found_by(engine, store)


SPELLINGS = [
    (Order(policy="uniform-sample"), Order(policy="uniform-sample", parameters={"rate": 0.1})),
    (UNIFORM, Order(policy="uniform", parameters={"rate": 0.5})),
    (Order(policy="weighted-sample", parameters={"rate": 1}), Order(policy="weighted-sample", parameters={"rate": 1.0})),
    (SAMPLES[1], Order(policy="stratified-sample", parameters={"strata": " 4:1.0, 12:.50"})),
    (Order(policy="stratified-sample", parameters={"strata": "10:1,30:0.20,100:5e-2"}), Order(policy="stratified-sample")),
]  # fmt: skip


@pytest.mark.parametrize(("order", "again"), SPELLINGS)
def test_a_sample_that_comes_back_goes_on_however_its_order_is_spelled(
    store: Store, tmp_path: Path, order: Order, again: Order
) -> None:
    """The oracle is a project in which it comes back in the very words of before."""
    found = []
    with open_store(tmp_path / "same.sqlite") as same:
        for place, back in ((same, order), (store, again)):
            engine = begin(place, runs=EARLY, depth=12, order=order)
            judged = judge_all(engine)
            engine.set_order(None, Order())
            engine.add_runs(LATE)
            engine.set_order(TOPIC, back)
            assert drawn(sample_of(engine)) >= {*judged}
            judge_all(engine)
            engine.set_order(TOPIC, Order())
            engine.add_runs({"last": {TOPIC: {"z1": 2.0, "z2": 1.0, "n0": 0.5}}})
            found.append((sample_of(engine), list(EXPORTS["prels"](place, None))))
            assert found_by_replay(place) == found_by(engine, place)
    assert found[0] == found[1]


def test_an_order_is_on_record_under_its_own_name(store: Store) -> None:
    engine = begin(store, runs=EARLY, depth=12, order=Order(policy="uniform", parameters={"rate": 0.5}))
    assert engine.next("a", TOPIC)[0].selection.policy == "uniform-sample"
    engine.set_order(TOPIC, Order(policy="stratified"))
    assert engine.order(TOPIC).policy == "stratified-sample"


def test_another_sample_is_drawn_from_all_runs_that_there_are(store: Store) -> None:
    engine = begin(store, runs=EARLY, depth=12, order=UNIFORM)
    judge_all(engine)
    engine.add_runs(LATE)
    engine.set_order(None, Order(policy="uniform-sample", parameters={"rate": 0.4}))
    assert Counter((one.stratum, one.chance) for one in sample_of(engine).values()) == {(1, 0.4): 20}


def test_a_log_of_an_earlier_release_draws_as_it_did(store: Store) -> None:
    """There a run said nothing about what was drawn, and the whole pool was drawn anew."""
    engine = begin(store, runs=EARLY, depth=12, order=UNIFORM)
    judged = judge_all(engine)
    pool = read_retrieved({**EARLY, **LATE}, depth=12)
    store.add_run("late", run_content(pool, 1, [TOPIC]), {"documents": 11, "topics": 1})
    sample = sample_of(engine)
    docs = pool.docs.texts()
    alone = make_strategy("uniform-sample", pool, seed=3, rate=0.5).next(count=99)
    assert drawn(sample) == {docs[pick.document] for pick in alone} != {*judged}
    assert {(one.stratum, one.chance) for one in sample.values()} == {(1, 0.5)}


def test_the_command_says_what_stays_and_what_was_drawn_and_the_project_verifies(tmp_path: Path) -> None:
    with make_project(tmp_path, topics=2, order=UNIFORM) as project:
        engine, folder = project.engine, project.folder
        while leases := engine.next("a", "MB001"):
            engine.judge("a", "MB001", leases[0].doc, 1, key=leases[0].doc)
        before = set(EXPORTS["prels"](project.store, None))
    (tmp_path / "late.run").write_text(
        "".join(
            f"MB001 Q0 {doc} {rank} {9 - rank} late\n"
            for rank, doc in enumerate(["d00", "x1", "x2", "x3"], 1)
        )
    )
    told = CliRunner().invoke(command, ["import", str(folder), "--runs", str(tmp_path / "late.run")])
    assert "1 run added; " in told.stderr
    assert (
        "the samples of 1 topic stay, and 2 of the 3 documents that only the new runs retrieved were sampled"
        in told.stderr
    )
    with open_project(folder) as project:
        assert set(EXPORTS["prels"](project.store, None)) == before
        while leases := project.engine.next("a", "MB001"):
            project.engine.judge("a", "MB001", leases[0].doc, 1, key=leases[0].doc)
        assert len(set(EXPORTS["prels"](project.store, None))) == len(before) + 2
        assert verify(project).problems == ()


def test_a_run_beyond_the_last_stratum_is_refused_before_it_is_recorded(store: Store) -> None:
    engine = begin(store, runs=EARLY, depth=20, order=SAMPLES[1])
    judge_all(engine, most=1)
    with pytest.raises(DataError, match=r"strata .4:1,12:0\.5. end at rank 12, and the pool at 13"):
        engine.add_runs({"deep": {TOPIC: {f"x{number:02}": -float(number) for number in range(13)}}})
    assert engine.run_names() == ("early",)
    assert engine.next("a", TOPIC)
