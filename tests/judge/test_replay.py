"""The engine follows the log and nothing else: restarts, undo, changes, runs that come later, refits."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from tests.judge.small import SCALE, TOPICS, begin, draw_runs, found_by, found_by_replay

from sounding.core.errors import DataError, UnknownNameError
from sounding.judge.engine import Engine, first_settings
from sounding.judge.records import Event, Selection, Submission
from sounding.judge.settings import Order, Settings, parse_scale, settings_of
from sounding.judge.state import NOT_JUDGED, CountedGrade, Opinions
from sounding.judge.store import Store
from sounding.judge.verify import replay_log
from sounding.runs.retrieved import read_retrieved
from sounding.selection.mtc.session import Session
from sounding.selection.strategies import make_strategy

ORDERS = [
    Order(),
    Order(batch=4),
    Order(warm_up=3),
    Order(policy="depth"),
    Order(policy="move-to-front", batch=3, warm_up=2),
    Order(policy="stratified-sample", parameters={"strata": "3:1,8:0.5"}),
    Order(policy="rank"),
]


def work(engine: Engine, rng: random.Random, steps: int, assessors: int = 2) -> None:
    """What people do, at random: judge, change, take back, put off."""
    for _ in range(steps):
        assessor, topic = f"assessor-{rng.randint(1, assessors)}", rng.choice(TOPICS)
        key = rng.randbytes(8).hex()
        act = rng.random()
        if act < 0.12:
            engine.withdraw(assessor, topic, key=key)
            continue
        leases = engine.next(assessor, topic, count=rng.choice((1, 2)))
        if not leases:
            continue
        doc = leases[0].doc
        if act < 0.22:
            engine.skip(assessor, topic, doc, key=key)
            continue
        engine.judge(assessor, topic, doc, rng.choice((0, 0, 1, 2, None)), key=key)
        if act > 0.9:
            engine.judge(assessor, topic, doc, rng.choice((0, 2)), key=key + "-changed")
        if act > 0.95:
            engine.refit_if_due()


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: f"{order.policy}-{order.batch}-{order.warm_up}")
def test_a_replay_comes_to_the_same_next_documents_confidences_and_exports(
    store: Store, order: Order
) -> None:
    engine = begin(store, order=order, overlap=2)
    rng = random.Random(5)
    work(engine, rng, 25)
    engine.add_runs({f"late-{name}": run for name, run in draw_runs(9, runs=2).items()})
    work(engine, rng, 10)
    engine.set_order("7", Order(policy="depth", batch=2))
    work(engine, rng, 10)
    assert found_by(engine, store) == found_by_replay(store)
    assert found_by(Engine(store), store) == found_by_replay(store)


def test_every_restart_goes_on_as_if_nothing_had_happened(store: Store) -> None:
    without = begin(store, order=Order(batch=3, warm_up=2))
    documents = []
    for number in range(20):
        engine = without if number % 3 else Engine(store)  # a new process now and then
        lease = engine.next("assessor-1", TOPICS[number % 3])[0]
        documents.append(lease.doc)
        engine.judge("assessor-1", lease.topic, lease.doc, number % 3, key=str(number))
        without.catch_up()
    assert len(set(zip(documents, [TOPICS[n % 3] for n in range(20)], strict=True))) == 20
    assert found_by(without, store) == found_by_replay(store)


def test_with_one_assessor_the_order_is_that_of_a_session_of_mtc(store: Store) -> None:
    """The oracle is a session that never saw a database."""
    engine = begin(store, level=2)
    retrieved = read_retrieved(draw_runs(1), depth=8)
    session = Session(retrieved, seed=3, depth=8, measure="AP(rel=2)", refits="asked")
    docs = retrieved.docs.texts()
    grades = random.Random(2)
    for number in range(15):
        topic = number % 3
        pick = session.next([retrieved.topics.index(TOPICS[topic])])[0]
        lease = engine.next("a", TOPICS[topic])[0]
        assert lease.doc == docs[pick.document]
        assert lease.selection.weight == pick.weight
        assert lease.selection.belief == session.chance(pick.document)
        assert lease.selection.step == number + 1
        grade = grades.choice((0.0, 1.0, 2.0, None))
        session.judge(pick.document, grade)
        engine.judge("a", TOPICS[topic], lease.doc, grade, key=str(number))
        if number == 9:
            session.adopt(session.fitting()())
            assert engine.refit_if_due()
    assert engine.live().confidence.values.tolist() == session.confidence().values.tolist()
    assert engine.live().confidence.not_above.tolist() == session.confidence().not_above.tolist()


def test_relevant_documents_that_no_run_has_count_for_what_there_is_to_find(store: Store) -> None:
    """The oracle is a session that was told of them from the beginning."""
    engine = begin(store, level=2)
    for number, (doc, grade) in enumerate(
        [("found-1", 2.0), ("found-2", 2.0), ("found-3", 1.0), ("found-4", None)]
    ):
        engine.judge("a", "7", doc, grade, key=f"search-{number}")
    engine.judge("a", "MB001", "found-1", 2, key="other-topic")
    engine.judge("a", "7", "found-3", 2, key="changed")
    engine.withdraw("a", "7", "found-1", key="back")
    retrieved = read_retrieved(draw_runs(1), depth=8)
    wanted = [{"7": 2.0, "MB001": 1.0}.get(topic, 0.0) for topic in retrieved.topics]
    known: dict[str, Any] = {"seed": 3, "depth": 8, "measure": "AP(rel=2)", "refits": "asked"}
    told, ignorant = (Session(retrieved, elsewhere=elsewhere, **known) for elsewhere in (wanted, None))
    values = engine.live().confidence.values.tolist()
    assert values == told.confidence().values.tolist()
    assert values != ignorant.confidence().values.tolist()
    for topic, count in (("7", 3), ("MB001", 1), ("7", -1)):
        ignorant.find_elsewhere(retrieved.topics.index(topic), count)
    assert ignorant.ranking() == told.ranking()
    assert Session.restored(retrieved, ignorant.state()).ranking() == told.ranking()
    assert [lease.doc for lease in engine.next("b", "7")] == [
        retrieved.docs.texts()[pick.document] for pick in told.next([retrieved.topics.index("7")])
    ]
    assert found_by(engine, store) == found_by_replay(store)
    engine.add_runs({"late": {"7": {"found-2": 2.0, "d01": 1.0}}})  # now a run has one of them
    together = read_retrieved({**draw_runs(1), "late": {"7": {"found-2": 2.0, "d01": 1.0}}}, depth=8)
    again = Session(
        together, elsewhere=[{"7": 1.0, "MB001": 1.0}.get(one, 0.0) for one in together.topics], **known
    )
    again.judge(together.docs.texts().index("found-2"), 2.0)
    assert engine.live().confidence.values.tolist() == again.confidence().values.tolist()
    assert found_by(engine, store) == found_by_replay(store)


def test_a_sample_records_its_design_with_every_judgment(store: Store) -> None:
    order = Order(policy="stratified-sample", parameters={"strata": "3:1,8:0.5"})
    engine = begin(store, order=order)
    pool = read_retrieved(draw_runs(1), depth=8)
    sample = make_strategy("stratified-sample", pool, seed=3, strata="3:1,8:0.5")
    docs = pool.docs.texts()
    left = engine.counts().of("7").left
    judged = 0
    while leases := engine.next("a", "7"):
        engine.judge("a", "7", leases[0].doc, 1, key=str(judged))
        judged += 1
    assert judged == left == len(sample.next([pool.topics.index("7")], 1000))
    for event in store.events():
        if event.kind == "judge":
            first = int(pool.starts[pool.topics.index("7")])
            last = int(pool.starts[pool.topics.index("7") + 1])
            number = docs.index(str(event.doc), first, last)
            assert event.selection is not None
            assert (event.selection.stratum, event.selection.probability) == sample.design(number)  # type: ignore[attr-defined]


def test_a_warm_up_comes_from_the_best_ranks_and_is_shuffled(store: Store) -> None:
    engine = begin(store, order=Order(policy="depth", warm_up=4))
    pool = read_retrieved(draw_runs(1), depth=8)
    number = pool.topics.index("7")
    picks = make_strategy("rank", pool, seed=3).next([number], 4)
    best = [pool.docs.text(pick.document) for pick in picks]
    seen = []
    for step in range(6):
        lease = engine.next("a", "7")[0]
        seen.append((lease.doc, lease.selection.policy))
        engine.judge("a", "7", lease.doc, 0, key=str(step))
    assert sorted(doc for doc, _ in seen[:4]) == sorted(best)
    assert [policy for _, policy in seen] == ["rank"] * 4 + ["depth"] * 2


def test_batches_hold_the_next_documents_in_another_order_for_every_topic_and_seed(store: Store) -> None:
    engine = begin(store, order=Order(policy="rank", batch=6))
    orders = [[offer.doc for offer in engine._replay.fresh_offers(topic, 6)] for topic in TOPICS]
    pool = read_retrieved(draw_runs(1), depth=8)
    for topic, found in zip(TOPICS, orders, strict=True):
        picks = make_strategy("rank", pool, seed=3).next([pool.topics.index(topic)], 6)
        plain = [pool.docs.text(pick.document) for pick in picks]
        assert sorted(found) == sorted(plain)
    shuffled = sum(
        found
        != [
            pool.docs.text(p.document)
            for p in make_strategy("rank", pool, seed=3).next([pool.topics.index(t)], 6)
        ]
        for t, found in zip(TOPICS, orders, strict=True)
    )
    assert shuffled >= 2


def test_undo_brings_the_document_back_first_even_before_one_that_is_loaded(store: Store) -> None:
    engine = begin(store)
    first, second = engine.next("a", "7", count=2)
    engine.judge("a", "7", first.doc, 2, key="1")
    assert engine.next("a", "7")[0].doc == second.doc
    receipt = engine.withdraw("a", "7", key="2")
    assert receipt is not None
    assert receipt.event.doc == first.doc
    assert [lease.doc for lease in engine.next("a", "7", count=2)] == [first.doc, second.doc]
    assert engine.withdraw("a", "7", key="3") is None
    assert engine.live().total.judged == 0


def test_what_was_put_off_comes_at_the_end_for_this_assessor_alone(store: Store) -> None:
    engine = begin(store)
    total = engine.counts().of("7").left
    skipped = engine.next("a", "7")[0].doc
    engine.skip("a", "7", skipped, key="s")
    assert engine.next("b", "7")[0].doc == skipped
    store.release("b")
    seen = []
    for number in range(total):
        doc = engine.next("a", "7")[0].doc
        seen.append(doc)
        engine.judge("a", "7", doc, 0, key=str(number))
    assert seen[-1] == skipped
    assert len(set(seen)) == total
    assert engine.next("a", "7") == []


def test_an_overlap_of_two_has_every_document_judged_by_two(store: Store) -> None:
    engine = begin(store, overlap=2)
    for name in ("a", "b", "c"):
        number = 0
        while leases := engine.next(name, "7"):
            engine.judge(name, "7", leases[0].doc, 1, key=str(number))
            number += 1
    judges: dict[str, int] = {}
    for one in store.standing(topic="7"):
        judges[one.doc] = judges.get(one.doc, 0) + 1
    assert set(judges.values()) == {2}
    assert {one.assessor for one in store.standing(topic="7")} == {"a", "b"}


@pytest.mark.parametrize("overlap", [1, 2])
def test_what_an_author_found_beside_the_runs_goes_to_as_many_as_judge_a_document(
    store: Store, overlap: int
) -> None:
    engine = begin(store, overlap=overlap)
    engine.judge("author", "7", "found by chance", 1, key="f")
    seen = []
    for name in ("a", "b"):
        while leases := engine.next(name, "7"):
            seen.append((name, leases[0].doc, leases[0].selection.policy))
            engine.judge(name, "7", leases[0].doc, 1, key=str(len(seen)))
    found = [one for one in seen if one[1] == "found by chance"]
    assert found == ([("a", "found by chance", "free")] if overlap == 2 else [])


def test_imported_judgments_need_no_second_opinion(store: Store) -> None:
    engine = begin(store, overlap=2)
    doc = engine.next("a", "7")[0].doc
    store.release("a")
    store.judge(
        Submission(
            assessor="import-x", topic="7", doc=doc, grade=1, key="i", selection=Selection(policy="import")
        )
    )
    seen = []
    while leases := engine.next("a", "7"):
        seen.append(leases[0].doc)
        engine.judge("a", "7", leases[0].doc, 1, key=str(len(seen)))
    assert doc not in seen


def test_a_run_that_comes_later_brings_its_documents_and_keeps_all_judgments(store: Store) -> None:
    engine = begin(store, runs={"one": {"7": {"a": 3.0, "b": 2.0}}})
    engine.judge("x", "7", "new", 2, key="free")  # found by a search, in no run yet
    lease = engine.next("x", "7")[0]
    engine.judge("x", "7", lease.doc, 1, key="1")
    assert engine.counts().of("7").left == 1
    engine.add_runs({"two": {"7": {"new": 9.0, "c": 1.0}}})
    assert engine.counts().of("7").left == 2
    live = engine.live()
    assert live.confidence.runs == ("one", "two")
    assert (live.total.judged, live.total.relevant) == (2, 2)
    with pytest.raises(DataError, match="there is a run 'two' already"):
        engine.add_runs({"two": {"7": {"d": 1.0}}})
    assert found_by(engine, store) == found_by_replay(store)


def test_a_project_without_runs_has_nothing_to_judge(store: Store) -> None:
    first_settings(store, Settings(scale=SCALE))
    engine = Engine(store)
    assert engine.next("a", "7") == []
    assert (engine.counts().of("7").left, engine.topics(), engine.run_names()) == (0, (), ())
    assert not engine.refit_if_due()
    engine.judge("a", "7", "d", 1, key="1")  # found by a search
    assert found_by(engine, store)["export of qrels"] == found_by_replay(store)["export of qrels"]


def test_refits_are_events_and_a_fit_that_others_overtook_is_left_out(store: Store) -> None:
    engine = begin(store)
    for number in range(8):
        lease = engine.next("a", TOPICS[number % 3])[0]
        engine.judge("a", lease.topic, lease.doc, number % 3, key=str(number))
    fit = store.append("fit", detail={"process": "another, which died"}).event.sequence
    assert engine.refit_if_due()
    store.append("refit", detail={"fit": fit})
    engine.catch_up()
    assert engine.live().confidence.version == 8
    assert [event.kind for event in store.events() if event.kind in ("fit", "refit")] == [
        "fit",
        "fit",
        "refit",
        "refit",
    ]
    assert not engine.refit_if_due()
    assert found_by(engine, store) == found_by_replay(store)


def test_threads_and_processes_share_one_log(store: Store, place: str) -> None:
    from sounding.judge.store import open_store

    engine = begin(store)
    with open_store(place) as other_store:
        engines = [engine, Engine(other_store)]

        def judge(number: int) -> None:
            rng = random.Random(number)
            for step in range(6):
                topic = rng.choice(TOPICS)
                for lease in engines[number % 2].next(f"a{number}", topic):
                    engines[number % 2].judge(
                        f"a{number}", topic, lease.doc, rng.choice((0, 1)), key=f"{step}"
                    )

        threads = [threading.Thread(target=judge, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found_by(engines[0], store) == found_by(engines[1], other_store) == found_by_replay(store)
    pairs = [(one.topic, one.doc) for one in store.standing()]
    assert len(pairs) == len(set(pairs))


# ---- whose grade counts


def opinions(*grades: float | None, adjudicated: CountedGrade = NOT_JUDGED) -> Opinions:
    found = Opinions(adjudicated=adjudicated)
    for number, grade in enumerate(grades):
        found.take(Event(sequence=number + 1, kind="judge", time=0.0, assessor=f"a{number}", grade=grade))
    return found


@pytest.mark.parametrize(
    ("given", "first", "majority", "adjudicated"),
    [
        ((), NOT_JUDGED, NOT_JUDGED, NOT_JUDGED),
        ((0,), (True, 0), (True, 0), (True, 0)),
        ((0, 1, 1), (True, 0), (True, 1), (True, None)),
        ((2, 1), (True, 2), (True, 2), (True, None)),  # as many of each: whoever came first
        ((1, 2, 2, 1), (True, 1), (True, 1), (True, None)),
        ((None, 1), (True, 1), (True, 1), (True, 1)),
        ((None, None), (True, None), (True, None), (True, None)),
        ((1, 1), (True, 1), (True, 1), (True, 1)),
    ],
)  # fmt: skip
def test_which_of_several_grades_counts(given: Any, first: Any, majority: Any, adjudicated: Any) -> None:
    one = opinions(*given)
    assert one.verdict("first") == first
    assert one.verdict("majority") == majority
    assert one.verdict("adjudicated") == adjudicated


def test_an_adjudication_settles_the_document_under_its_policy_alone() -> None:
    one = opinions(0, 1, adjudicated=CountedGrade(True, 2))
    assert (one.verdict("adjudicated"), one.verdict("first")) == ((True, 2), (True, 0))


def test_the_ranking_follows_the_policy_and_a_change_of_it(store: Store) -> None:
    engine = begin(store, overlap=3, feed="adjudicated")
    lease = engine.next("a", "7")[0]
    for name, grade in (("a", 0), ("b", 2), ("c", 2)):
        engine.judge(name, "7", lease.doc, grade, key="1")
    pair = ("7", lease.doc)
    assert engine._replay.verdicts[pair] == (True, None)
    engine.adjudicate("organizer", "7", lease.doc, 1, key="1")
    assert engine._replay.verdicts[pair] == (True, 1)
    from dataclasses import replace

    engine.change_settings(replace(engine.settings, feed="majority"))
    assert engine._replay.verdicts[pair] == (True, 2)
    assert engine.live().total.relevant == 1
    assert found_by(engine, store) == found_by_replay(store)
    with pytest.raises(DataError, match="seed, depth and kind cannot change"):
        engine.change_settings(replace(engine.settings, seed=9))
    with pytest.raises(DataError, match="the grade 2 would be gone"):
        engine.change_settings(replace(engine.settings, scale=SCALE[:2]))


# ---- settings


def test_a_scale_gives_every_grade_a_key() -> None:
    grades = parse_scale("2=highly relevant, 0=not,1,0.5=half,10=ten")
    assert [(one.value, one.label, one.key) for one in grades] == [
        (0, "not", "0"), (0.5, "half", "3"), (1, "1", "1"), (2, "highly relevant", "2"), (10, "ten", "4"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "keys"),
    [("0=no,5=yes,10=very", "056"), ("10,20,30", "012"), ("0,9,10,11", "0912"), ("0,0.5,1,8,8.5", "02189")],
)
def test_keys_rise_with_the_grades_where_they_can(text: str, keys: str) -> None:
    assert "".join(one.key for one in parse_scale(text)) == keys


def test_a_grade_is_called_by_its_number_and_what_it_means() -> None:
    assert [one.words for one in parse_scale("0=no,0.5,10=very")] == ["0 no", "0.5", "10 very"]


@pytest.mark.parametrize("text", ["", "0", "0,0", "a=b,1", "-1,0", "nan,1", ",".join(map(str, range(11)))])
def test_a_scale_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="scale"):
        parse_scale(text)


def test_settings_and_orders_are_checked_and_kept_whole() -> None:
    settings = Settings(scale=SCALE, level=2, order=Order(policy="uniform-sample", parameters={"rate": 0.5}))
    assert settings_of(settings.record()) == settings
    with pytest.raises(DataError, match="level 3 is not on the scale; expected one of 0, 1, 2"):
        Settings(scale=SCALE, level=3)
    with pytest.raises(DataError, match="grade 5 is not on the scale"):
        settings.check_grade(5)
    with pytest.raises(UnknownNameError, match="unknown strategy 'mct'"):
        Order(policy="mct")
    with pytest.raises(DataError, match="an order cannot have a level"):
        Order(policy="move-to-front", parameters={"level": 7.0})
    with pytest.raises(DataError, match="the order depth takes no parameters; leave out 'rate'"):
        Order(policy="depth", parameters={"rate": 1})
    with pytest.raises(DataError, match="batch size 0"):
        Order(batch=0)
    with pytest.raises(DataError, match="overlap 0"):
        Settings(scale=SCALE, overlap=0)
    with pytest.raises(UnknownNameError, match="unknown measure 'nope'"):
        Settings(scale=SCALE, measure="nope")


@pytest.mark.parametrize(
    ("measure", "level", "graded"),
    [
        ("AP", 1, "AP"), ("AP", 2, "AP(rel=2)"), ("P@10", 2, "P(rel=2)@10"), ("AP(rel=1)", 2, "AP(rel=1)"),
        ("RBP(p=0.5)", 2, "RBP(p=0.5,rel=2)"),
    ],
)  # fmt: skip
def test_the_measure_counts_what_the_level_says(measure: str, level: float, graded: str) -> None:
    assert Settings(scale=SCALE, measure=measure, level=level).graded_measure == graded


def test_a_grade_that_is_not_on_the_scale_is_not_recorded(store: Store) -> None:
    engine = begin(store)
    before = store.last_sequence()
    with pytest.raises(DataError, match="not on the scale"):
        engine.judge("a", "7", "d01", 7, key="1")
    with pytest.raises(DataError, match="not on the scale"):
        engine.judge("a", "7", "d01", float("nan"), key="1")
    assert store.last_sequence() == before


def test_what_is_put_off_again_goes_behind_what_was_put_off_since(store: Store) -> None:
    engine = begin(store, runs={"one": {"7": {"a": 3.0, "b": 2.0}}})
    seen = []
    for number in range(5):
        seen.append(engine.next("x", "7")[0].doc)
        engine.skip("x", "7", seen[-1], key=str(number))
    assert seen == [seen[0], seen[1]] * 2 + [seen[0]]
    assert seen[0] != seen[1]


def test_nobody_is_offered_what_they_have_judged(store: Store) -> None:
    engine = begin(store, overlap=2)
    doc = engine.next("a", "7")[0].doc
    engine.judge("a", "7", doc, 1, key="1")
    assert doc not in [offer.doc for offer in engine._replay.offers("a", "7", 5)]
    assert engine._replay.offers("b", "7", 5)[0].doc == doc


def test_a_replay_records_choices_as_the_engine_did_that_made_them(store: Store) -> None:
    """A batch is put together before the first judgment, also where nobody asked for it until later."""
    engine = begin(store, order=Order(policy="rank", batch=6))
    lease = engine.next("a", "7")[0]
    engine.judge("a", "7", lease.doc, 1, key="1")
    assert replay_log(store).fresh_offers("7", 5) == engine._replay.fresh_offers("7", 5)
