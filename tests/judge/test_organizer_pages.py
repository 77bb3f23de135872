"""What organizers do: share topics out, settle differences, choose orders, manage people."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.judge.journals import keep, reading
from tests.judge.small import found_by, found_by_replay
from tests.judge.web import PASSWORD, TOPICS, Browser, add_person, signed_in

from sounding.judge.organizing import even_assignments
from sounding.judge.progress import FEWEST, Opinion, agreements
from sounding.judge.project import DATABASE, Project, open_project
from sounding.judge.records import FREE, StandingJudgment
from sounding.judge.settings import Order
from sounding.judge.tables import status_tables


def standing(doc: str, grade: float | None, who: str = "a", topic: str = "1") -> StandingJudgment:
    return StandingJudgment(
        topic=topic, doc=doc, assessor=who, grade=grade, comment="", sequence=1, time=0.0, active=None,
        away=None, selection=FREE,
    )  # fmt: skip


def test_topics_are_shared_out_evenly_and_never_twice_to_one() -> None:
    who = {"t0": {"ann"}, "t1": {"ann", "bob"}}
    given = list(
        even_assignments([f"t{number}" for number in range(9)], who, {"ann": 2, "bob": 1, "cem": 0}, 2)
    )
    assert len(given) == len(set(given)) == 1 + 0 + 7 * 2
    assert "t1" not in [topic for topic, _ in given]
    assert ("t0", "ann") not in given
    loads = Counter(assessor for _, assessor in given) + Counter({"ann": 2, "bob": 1})
    assert max(loads.values()) - min(loads.values()) <= 1


def test_topics_of_somebody_who_is_gone_are_shared_out_to_others(olga: Browser, project: Project) -> None:
    project.store.set_active(1, False)  # ann, who had MB001 as bob has
    olga.post("/organize/share-out", count="1")
    given = project.store.assignments()
    assert {topic for topic, assessor in given if assessor == "assessor-2"} == set(TOPICS)
    project.store.unassign("MB001", "assessor-2")
    olga.post("/organize/share-out", count="1")
    assert ("MB001", "assessor-2") in project.store.assignments()


def test_more_assessors_are_wanted_than_there_are() -> None:
    assert list(even_assignments(["t0"], {}, {"ann": 0}, 3)) == [("t0", "ann")]
    assert list(even_assignments(["t0"], {}, {}, 3)) == []


def opinions(grades: Sequence[tuple[int, int | None]]) -> list[Opinion]:
    """What two people say of one document after the other."""
    return [
        (who, ("1", f"d{number}"), None if grade is None else float(grade))
        for number, both in enumerate(grades)
        for who, grade in zip("ab", both, strict=True)
    ]


def test_agreement_is_that_of_the_documents_both_could_judge() -> None:
    grades = [*2 * [(0, 0), (0, 0), (1, 1), (0, 1), (1, 0)], (2, None)]
    [found] = agreements(opinions(grades), [0.0, 1.0, 2.0], {"a": "ann"})
    # 6 of 10 agree; by chance 6/10 * 6/10 + 4/10 * 4/10 = 0.52, so kappa = 0.08 / 0.48
    assert (found["first"], found["second"], found["common"], found["observed"]) == ("ann", "b", 10, 0.6)
    assert found["kappa"] == pytest.approx(0.08 / 0.48)


def test_no_kappa_is_told_of_a_few_documents() -> None:
    for common, is_known in ((1, False), (FEWEST - 1, False), (FEWEST, True)):
        grades = [(number % 2, 0) for number in range(common)] + [
            (2, None)
        ] * 5  # which both cannot have judged
        [found] = agreements(opinions(grades), [0.0, 1.0, 2.0], {})
        assert (found["common"], found["kappa"] is not None) == (common, is_known)
        assert found["observed"] == pytest.approx((common + 1) // 2 / common)


def test_agreement_that_chance_alone_would_give_is_not_known() -> None:
    [found] = agreements(opinions([(0, 0)] * 20), [0.0, 1.0], {})
    assert (found["observed"], found["kappa"]) == (1.0, None)


def test_the_parameters_of_an_order_are_set_kept_and_checked_before_they_count(
    olga: Browser, project: Project
) -> None:
    engine = project.engine
    every = engine.counts().of("MB001").left

    def sent(**order: str) -> int:
        fields = {"topic": "MB001", "policy": "uniform-sample", "batch": "5", "warm_up": "0"} | order
        status: int = olga.post("/organize/order", **fields).status_code
        return status

    assert sent(parameters="rate=1") == 303
    assert engine.order("MB001") == Order(policy="uniform-sample", parameters={"rate": 1.0}, batch=5)
    assert engine.counts().of("MB001").left == every  # the whole pool at random
    page = olga.get("/organize/topics").text
    assert "uniform-sample rate=1, batches of 5" in page
    before = project.store.last_sequence()
    for wrong in ("rate=7", "rate=much", "rate", "strata=1:1", "rate=1 rate"):
        assert sent(parameters=wrong) == 400, wrong
    assert sent(policy="depth", parameters="rate=1") == 400
    assert sent(policy="stratified-sample", parameters="strata=x") == 400
    assert project.store.last_sequence() == before
    assert sent(policy="stratified-sample", parameters="strata=10:1,100:0.5") == 303
    assert engine.next("assessor-1", "MB001")
    assert sent(policy="depth") == 303
    assert engine.order("MB001") == Order(policy="depth", batch=5)


def test_documents_are_called_by_their_titles_and_shown_without_markup(
    olga: Browser, project: Project
) -> None:
    for doc in ("d01", "d12"):
        project.engine.judge("assessor-1", "MB001", doc, 0, key=f"one-{doc}-long")
        project.engine.judge("assessor-2", "MB001", doc, 2, key=f"two-{doc}-long")
    text = olga.get("/organize/differences").text
    assert '<span dir="auto">Report 12</span> <span class="faint"><bdi>d12</bdi></span>' in text
    assert "Whales" in text
    assert "onclick" not in text
    assert "iframe" not in text
    audit = olga.send("/api/audit/draw", {"assessor": "assessor-1", "size": 2}).json()["audit"]
    shown = olga.get("/api/audit/next", params={"audit": audit, "topic": "MB001"}).json()
    assert {one["heading"]: one["doc"] for one in shown["documents"]} == {"t": "d01", "Report 12": "d12"}
    assert "onclick" not in str(shown)


def test_settling_a_difference_is_an_event_of_its_own(olga: Browser, project: Project) -> None:
    project.engine.judge("assessor-1", "MB001", "d10", 0, key="one-long")
    project.engine.judge("assessor-2", "MB001", "d10", 2, key="two-long")
    assert "d10" in olga.get("/organize/differences").text
    assert (
        olga.post("/organize/adjudicate", topic="MB001", doc="d10", grade="1.0", key="abcdefgh").status_code
        == 303
    )
    assert (
        olga.post("/organize/adjudicate", topic="MB001", doc="d10", grade="1.5", key="abcdefgi").status_code
        == 400
    )
    [event] = [event for event in project.store.events() if event.kind == "adjudicate"]
    assert (event.topic, event.doc, event.grade, event.assessor) == ("MB001", "d10", 1, "assessor-3")


def test_only_who_says_so_settles_that_a_document_cannot_be_judged(olga: Browser, project: Project) -> None:
    for doc in ("d10", "d11"):
        project.engine.judge("assessor-1", "MB001", doc, 0, key=f"one-{doc}-long")
        project.engine.judge("assessor-2", "MB001", doc, 2, key=f"two-{doc}-long")
    given = {"topic": "MB001", "doc": "d11", "key": "abcdefgh"}
    for grade in ({}, {"grade": ""}, {"grade": "None"}, {"grade": "nan"}):
        assert olga.post("/organize/adjudicate", **given, **grade).status_code == 400
    assert "chosen" not in olga.get("/organize/differences").text  # nobody has settled anything
    assert olga.post("/organize/adjudicate", **given, grade="cannot").status_code == 303
    [event] = [event for event in project.store.events() if event.kind == "adjudicate"]
    assert (event.doc, event.grade, event.assessor) == ("d11", None, "assessor-3")
    text = olga.get("/organize/differences").text
    assert "2 documents with different grades, 1 not settled yet." in text
    assert text.count("chosen") == 1


def test_people_are_assigned_to_the_ticked_topics_and_removed(olga: Browser, project: Project) -> None:
    given: dict[str, Any] = {"topic": ["MB001", "303"], "assessor": "assessor-2"}
    olga.post("/organize/assign", **given, act="assign")
    assert set(project.store.assignments()) == {
        ("MB001", "assessor-1"), ("MB001", "assessor-2"), ("303", "assessor-2")
    }  # fmt: skip
    for wrong in ({"assessor": "assessor-3"}, {"topic": "no-such-topic"}, {"assessor": ""}, {"topic": ""}):
        assert olga.post("/organize/assign", **given | wrong, act="assign").status_code == 400, wrong
    olga.post("/organize/assign", **given, act="remove")
    assert project.store.assignments() == [("MB001", "assessor-1")]


def test_the_order_of_one_topic_or_of_all_can_be_changed(olga: Browser, project: Project) -> None:
    assert (
        olga.post("/organize/order", topic="MB001", policy="depth", batch="5", warm_up="3").status_code == 303
    )
    order = project.engine.order("MB001")
    assert (order.policy, order.batch, order.warm_up) == ("depth", 5, 3)
    assert project.engine.order("303").policy == "mtc"
    olga.post("/organize/order", general="yes", policy="rrf", batch="1", warm_up="0")
    assert {project.engine.order(topic).policy for topic in TOPICS} == {"rrf"}
    for wrong in ({"policy": "no-such-order"}, {"batch": "0"}, {"batch": "x"}, {"topic": "no-such-topic"}):
        given = {"topic": "MB001", "policy": "depth", "batch": "1", "warm_up": "0", **wrong}
        assert olga.post("/organize/order", **given).status_code == 400


def settings_form(project: Project, **changes: str) -> dict[str, str]:
    """The fields of the form as the page has them, with changes."""
    present = project.settings
    fields = {
        "title": present.title, "measure": present.measure, "level": str(present.level),
        "overlap": str(present.overlap), "feed": present.feed, "lease": f"{present.lease_seconds / 60:.0f}",
        "language": present.language,
    }  # fmt: skip
    return fields | changes


def test_settings_can_be_changed_while_people_judge(olga: Browser, project: Project) -> None:
    ann, bob = (user.pseudonym for user in project.store.users() if user.name in ("ann", "bob"))
    [lease] = project.engine.next(ann, "MB001")
    project.engine.judge(ann, "MB001", lease.doc, 1, key="one")
    olga.post("/organize/order", general="yes", policy="depth", batch="3", warm_up="0")
    olga.post("/organize/order", topic="303", policy="rank", batch="1", warm_up="0")
    olga.get("/organize/project")
    changed = settings_form(
        project, title="A new title", overlap="2", feed="majority", lease="7", level="2.0", measure="P@5"
    )
    assert olga.post("/organize/settings", **changed).status_code == 303
    found = project.settings
    assert (found.title, found.overlap, found.feed, found.lease_seconds) == (
        "A new title",
        2,
        "majority",
        420,
    )
    assert (found.level, found.measure) == (2, "P@5")
    assert lease.doc in [
        one.doc for one in project.engine.next(bob, "MB001", 2)
    ]  # a second opinion is wanted
    assert project.engine.order("MB001").policy == "depth"  # as it was set before
    assert project.engine.order("303").policy == "rank"
    assert project.engine.live().total.relevant == 0  # grade 1 is no longer enough
    page = olga.get("/organize/project").text
    assert "A new title" in page
    assert 'value="2.0" selected' in page
    topics = olga.get("/organize/topics").text
    assert '<option value="depth"' in topics
    assert 'name="batch" type="number" min="1" max="1000" value="3" class="short"' in topics
    with open_project(project.folder) as again:
        assert again.settings == found
    assert found_by(project.engine, project.store) == found_by_replay(project.store)


def test_two_organizers_with_the_form_open_do_not_undo_what_the_other_changed(
    olga: Browser, project: Project
) -> None:
    page = olga.get("/organize/project").text
    had = dict(re.findall(r'name="(was-[a-z]+)" value="([^"]*)"', page))
    form = settings_form(project)
    assert had == {f"was-{name}": value for name, value in form.items()}
    assert (
        olga.post("/organize/settings", **had, **form | {"overlap": "2", "level": "2.0"}).status_code == 303
    )
    assert olga.post("/organize/settings", **had, **form | {"lease": "7", "title": "New"}).status_code == 303
    found = project.settings
    assert (found.overlap, found.level, found.lease_seconds, found.title) == (2, 2.0, 420, "New")
    before = project.store.last_sequence()
    olga.post("/organize/settings", **had, **form)
    assert project.store.last_sequence() == before  # nothing was changed in it


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"measure": "Nothing@5"}, "Nothing"),
        ({"level": "0.5"}, "Level 0.5 is not on the scale"),
        ({"level": "x"}, "is not a number"),
        ({"overlap": "0"}, "expected a whole number"),
        ({"feed": "loudest"}, "loudest"),
        ({"lease": "-1"}, "expected a whole number"),
    ],
)
def test_settings_that_cannot_be_are_refused_and_nothing_changes(
    olga: Browser, project: Project, changes: dict[str, str], said: str
) -> None:
    before = project.settings
    answer = olga.post("/organize/settings", **settings_form(project, **changes))
    assert answer.status_code == 400
    assert said in answer.text
    project.engine.catch_up()
    assert project.settings == before


def test_a_topic_is_chosen_and_dropped_with_its_text_kept(olga: Browser, project: Project) -> None:
    before = project.store.topic("MB001")
    olga.post("/organize/status", topic="MB001", status="dropped")
    after = project.store.topic("MB001")
    assert before is not None
    assert after is not None
    assert (after.status, after.title, after.narrative) == ("dropped", before.title, before.narrative)
    assert olga.post("/organize/status", topic="MB001", status="best").status_code == 400


def test_people_are_invited_closed_and_erased(olga: Browser, project: Project) -> None:
    answer = olga.post("/organize/people/add", name="Zoë", role="assessor")
    found = re.search(r'value="http://testserver(/welcome/[^"]+)"', answer.text)
    assert found is not None
    guest = Browser(project)
    guest.get(found.group(1))
    guest.post(found.group(1), password=PASSWORD, again=PASSWORD)
    assert guest.get("/api/topics").status_code == 200
    number = project.store.users()[-1].id
    olga.post("/organize/people/close", id=number)
    assert guest.get("/api/topics").status_code == 401
    olga.post("/organize/people/open", id=number)
    assert signed_in(project, "zoë").get("/api/topics").status_code == 200
    olga.post("/organize/people/erase", id=number)
    assert "Zoë" not in olga.get("/organize/people").text
    assert olga.post("/organize/people/add", name="ann", role="assessor").status_code == 409
    assert olga.post("/organize/people/add", name="eve", role="root").status_code == 400
    for name, why in (("e\nve", "contains the control character"), ("e" * 101, "is too long")):
        answer = olga.post("/organize/people/add", name=name, role="assessor")
        assert answer.status_code == 400
        assert why in answer.text
    assert olga.post("/organize/people/dance", id=1).status_code == 404


def test_an_organizer_is_told_while_a_file_still_holds_who_was_erased(
    sea_reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(monkeypatch, "WAL")
    folder = shutil.copytree(sea_reports, tmp_path / "project")
    with open_project(folder) as project:
        for name in ("ann", "bob"):
            add_person(project, name)
        people = project.store.users()
        add_person(project, "olga", "organizer")
        olga = signed_in(project, "olga")
        with reading(folder / DATABASE):
            answer = olga.post("/organize/people/erase", id=people[0].id)
            assert "one file keeps the name until it finishes" in olga.get(answer.headers["location"]).text
        answer = olga.post("/organize/people/erase", id=people[1].id)
        assert "Saved." in olga.get(answer.headers["location"]).text


def test_who_was_erased_gets_nothing_and_is_not_offered(olga: Browser, project: Project) -> None:
    ann = project.store.user_by_name("ann")
    assert ann is not None
    before = {row["topic"]: row["assessors"] for row in status_tables(project)["topics"].rows()}
    olga.post("/organize/people/erase", id=ann.id)
    for act in ("link", "open", "role"):
        assert olga.post(f"/organize/people/{act}", id=ann.id).status_code == 409
    assert ann.pseudonym not in olga.get("/organize/topics").text
    after = {row["topic"]: row["assessors"] for row in status_tables(project)["topics"].rows()}
    assert (before["MB001"], after["MB001"]) == (2, 1)  # ann and bob, then bob


def test_instructions_are_in_view_of_assessors(olga: Browser, project: Project) -> None:
    olga.post("/organize/instructions", instructions="Read to the end.\r\nThen judge.")
    ann = signed_in(project, "ann")
    for path in ("/", "/judge?topic=MB001"):
        assert "Read to the end.<br>\nThen judge." in ann.get(path).text


def test_a_chosen_topic_that_no_run_has_is_named_on_the_page(olga: Browser, project: Project) -> None:
    ann = signed_in(project, "ann")
    ann.post("/develop", title="seals")
    assert "No run has" not in olga.get("/organize/topics").text
    olga.post("/organize/status", topic="N001", status="chosen")
    assert (
        "No run has documents for topic N001, so there is nothing to judge"
        in olga.get("/organize/topics").text
    )


@pytest.mark.parametrize(("estimate", "status"), [("60", 303), ("61", 400)])
def test_no_more_relevant_documents_are_expected_than_there_are(
    project: Project, estimate: str, status: int
) -> None:
    add_person(project, "ann")
    ann = signed_in(project, "ann")
    ann.post("/develop", title="seals")
    assert 'max="60"' in ann.get("/develop/topic?id=N001").text
    answer = ann.post(
        "/develop/topic",
        id="N001",
        title="seals",
        estimate=estimate,
        query="",
        version="1",
        description="",
        narrative="",
    )
    assert answer.status_code == status
    assert status == 303 or "expected a whole number from 0 to 60" in unescape(answer.text)


def test_the_project_page_says_what_a_late_run_did_to_a_sample(olga: Browser, project: Project) -> None:
    engine = project.engine
    engine.set_order("MB001", Order(policy="uniform-sample", parameters={"rate": 0.2}))
    page = olga.get("/organize/project").text
    drawn = engine.counts().of("MB001").left
    assert f"Prels leaves out {drawn} sampled documents: {drawn} not judged yet." in page
    while leases := engine.next("assessor-1", "MB001"):
        engine.judge("assessor-1", "MB001", leases[0].doc, 1, key=leases[0].doc)
    assert "leave out" not in olga.get("/organize/project").text
    lines = "".join(f"MB001 Q0 x{rank} {rank} {99 - rank} late\n" for rank in range(1, 21))
    files = {"run": ("late.run", lines.encode())}
    answer = olga.client.post("/organize/runs", data={"token": olga.token}, files=files)
    assert (
        "the samples of 1 topic stay, and 4 of the 20 documents that only the new runs retrieved"
        in answer.text
    )
    assert "Prels leaves out 4 sampled documents" in olga.get("/organize/project").text
