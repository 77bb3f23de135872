"""What exports have no grade of is counted by why, said by command and page, and true of our estimates."""

from __future__ import annotations

from collections import Counter, defaultdict
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.judge.web import add_person, make_project, signed_in

from sounding import parse, read_qrels, read_run
from sounding.judge.command import command
from sounding.judge.engine import Engine
from sounding.judge.exports import EXPORTS, Omitted, omission_note, omitted_from_qrels, omitted_from_samples
from sounding.judge.project import Project
from sounding.judge.settings import Order
from sounding.judge.store import Store
from sounding.runs.align import align, prepare

TOPIC = "MB001"
SAMPLE = Order(policy="stratified-sample", parameters={"strata": "3:1,20:0.5"})
SETTLED = (
    "(settle them on the page Differences or with `sounding judge differences`, or choose --feed first or"
    " majority)"
)


def told(project: Project, what: str, *more: str) -> tuple[int, list[str]]:
    """How many lines an export has, and what is said beside it."""
    answer = CliRunner().invoke(command, ["export", str(project.folder), what, *more])
    assert answer.exit_code == 0
    return len(answer.stdout.splitlines()), answer.stderr.splitlines()


def begun(folder: Path, order: Order = SAMPLE) -> tuple[Project, dict[str, float]]:
    """A project of one topic in which two judge each document, and the chances of what was drawn."""
    project = make_project(folder, topics=1, overlap=2, feed="adjudicated", order=order)
    offers = project.engine._replay.fresh_offers(TOPIC, 99)
    return project, {offer.doc: offer.selection.probability or 0 for offer in offers}


def give(engine: Engine, doc: str, one: float | None, other: float | None) -> None:
    engine.judge("a", TOPIC, doc, one, key=f"a {doc} {engine.catch_up()}")
    engine.judge("b", TOPIC, doc, other, key=f"b {doc} {engine.catch_up()}")


def judged(project: Project, drawn: dict[str, float]) -> tuple[list[str], str, str]:
    """Judge all but one of what was drawn: three that differ, two of them drawn for certain; one nobody can."""
    certain = [doc for doc, chance in drawn.items() if chance == 1]
    others = [doc for doc in drawn if doc not in certain]
    differ, cannot, left = [*certain[:2], others[0]], others[1], others[2]
    for number, doc in enumerate(doc for doc in drawn if doc != left):
        both: tuple[float | None, float | None] = (1, 2) if doc in differ else (number % 2, number % 2)
        give(project.engine, doc, *((None, None) if doc == cannot else both))
    return differ, cannot, left


def test_command_and_page_tell_what_is_not_judged_from_what_is_not_settled(tmp_path: Path) -> None:
    project, drawn = begun(tmp_path)
    with project:
        add_person(project, "olga", "organizer")
        olga = signed_in(project, "olga")
        differ, cannot, left = judged(project, drawn)
        graded = len(drawn) - 5
        without = f"3 with different grades {SETTLED}, 1 impossible to judge"
        qrels = f"qrels leaves out 4 documents: {without}. Evaluations treat them as unjudged"
        prels = (
            f"prels leaves out 5 sampled documents, 2 of them sampled with probability 1: 1 not judged yet,"
            f" {without}. statAP and EstNumRel treat them as not relevant, so they are biased until all have a"
            " grade"
        )
        strata = (
            "strata has grade -1 for 5 sampled documents, 2 of them sampled with probability 1: 1 not judged"
            f" yet, {without}. Estimates treat them as not sampled and are biased, because documents that"
            " people differ on or cannot judge are not missing at random"
        )
        assert told(project, "qrels") == (graded, [qrels])
        assert told(project, "prels") == (graded, [prels])
        assert told(project, "strata")[1] == [strata]
        assert told(project, "assessors")[1] == [
            "assessors leaves out 2 judgments of people who could not judge"
        ]
        assert told(project, "log")[1] == []
        assert told(project, "qrels", "--quiet") == (graded, [])
        page = unescape(olga.get("/organize/project").text)
        for sentence in (qrels, prels, strata):
            assert f">{sentence[0].upper()}{sentence[1:]}.<" in page
        moment = project.store.last_sequence()
        for doc in differ:
            project.engine.adjudicate("olga", TOPIC, doc, 1, key=f"settled {doc}")
        project.engine.judge("a", TOPIC, cannot, 0, key="can after all")
        assert told(project, "qrels") == (graded + 4, [])
        assert told(project, "strata")[1] == [
            "strata has grade -1 for 1 sampled document: 1 not judged yet. Estimates treat them as not sampled"
            " and are unbiased only if they are missing at random"
        ]
        assert told(project, "qrels", "--event", str(moment))[1] == [qrels]  # as it was
        give(project.engine, left, 0, 0)
        assert told(project, "prels") == (graded + 5, [])
        page = unescape(olga.get("/organize/project").text)
        assert "eaves out" not in page
        assert "-1 for" not in page


def test_another_grade_that_counts_leaves_nothing_unsettled(tmp_path: Path) -> None:
    project, drawn = begun(tmp_path)
    with project:
        judged(project, drawn)
        done = CliRunner().invoke(command, ["settings", str(project.folder), "--feed", "majority", "--quiet"])
        assert done.exit_code == 0
        reason = "1 impossible to judge"
        assert told(project, "qrels")[1] == [
            f"qrels leaves out 1 document: {reason}. Evaluations treat them as unjudged"
        ]


def test_why_there_are_no_prels_tells_apart_what_waits_for_whom(tmp_path: Path) -> None:
    project, drawn = begun(tmp_path, Order(policy="uniform-sample", parameters={"rate": 0.1}))
    with project:
        first, second, *rest = drawn
        give(project.engine, first, 0, 2)
        give(project.engine, second, None, None)
        assert told(project, "prels") == (
            0,
            [
                f"no prels: none of the {len(drawn)} documents sampled has a grade yet:"
                f" {len(rest)} not judged yet, 1 with different grades {SETTLED}, 1 impossible to judge"
            ],
        )


def test_the_page_counts_for_qrels_what_the_lines_leave_out(store: Store) -> None:
    from tests.judge.test_counts import judged as judged_by_hand

    engine = judged_by_hand(store, "adjudicated")
    for status in ("chosen", "dropped", "candidate"):
        store.save_topic("t3", title="t3", status=status)
        engine.catch_up()
        counted = Omitted()
        assert list(EXPORTS["qrels"](store, None, omitted=counted))
        # t1 has b, t2 has a, and t3, in no run, has a as well; nobody could judge c of t1
        assert counted == Omitted(unsettled=3 if status == "chosen" else 2, cannot=1)
        assert omitted_from_qrels(engine) == counted
    every = Omitted()
    assert list(EXPORTS["qrels"](store, None, all_topics=True, omitted=every))
    assert every == Omitted(unsettled=3, cannot=1)
    assert omission_note("qrels", Omitted()) == ""


def test_strata_count_no_document_of_a_sample_that_has_none(tmp_path: Path) -> None:
    project, drawn = begun(tmp_path, Order(policy="weighted-sample", parameters={"rate": 0.5}))
    with project:
        found = omitted_from_samples(project.store)
        assert (found["prels"].nobody, found["strata"].total) == (len(drawn), 0)


@pytest.mark.parametrize("missing", ["unsettled", "cannot", "nobody"])
def test_estimates_take_a_missing_grade_for_what_the_remark_says(tmp_path: Path, missing: str) -> None:
    project, drawn = begun(tmp_path)
    with project:
        engine = project.engine
        lost = next(doc for doc, chance in drawn.items() if chance == 1)
        for number, doc in enumerate(doc for doc in drawn if doc != lost):
            give(engine, doc, number % 2, number % 2)
        if missing != "nobody":
            give(engine, lost, *((1, 2) if missing == "unsettled" else (None, None)))
        lines = {name: list(EXPORTS[name](project.store, None)) for name in ("prels", "strata")}
        assert omitted_from_samples(project.store)["prels"] == Omitted(**{missing: 1, "certain": 1})
    run = read_run(tmp_path / "source" / "quokkaRun.txt")

    def value(measure: str, name: str, qrels: list[str]) -> float:
        path = tmp_path / f"{name}.txt"
        path.write_text("".join(qrels))
        return float(parse(measure)(align(run, prepare(read_qrels(path, format=name))))[0])

    # Prels: the same as with the grade 0.
    graded = [*lines["prels"], f"{TOPIC} {lost} 0 1 1.0\n"]
    for measure in ("statAP", "EstNumRel"):
        assert value(measure, "prels", lines["prels"]) == value(measure, "prels", graded) > 0
    # Strata: the others of the stratum stand for it, as if it had not been drawn.
    size, rated, relevant = Counter[str](), Counter[str](), defaultdict[str, int](int)
    for _, _, _, stratum, grade in map(str.split, lines["strata"]):
        size[stratum] += 1
        rated[stratum] += grade != "-1"
        relevant[stratum] += grade not in ("-1", "0")
    expected = sum(size[one] / rated[one] * relevant[one] for one in size)
    assert value("EstNumRel", "strata", lines["strata"]) == pytest.approx(expected)
    unlike = value("EstNumRel", "prels", lines["prels"])
    assert not np.isclose(expected, unlike)  # the two treat it otherwise
