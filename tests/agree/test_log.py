"""Judgment logs: what stands is read, what does not is counted; and what judging itself writes is understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from tests.judge.small import begin

from sounding.agree.assessors import read_panel
from sounding.agree.panel import FOLLOWED
from sounding.core.errors import FormatError
from sounding.judge.exports import EXPORTS
from sounding.judge.records import Kind
from sounding.judge.store import open_store

NONE = float("nan")
JUDGED: tuple[tuple[str, str, float | None], ...] = (
    ("ann", "d01", 1), ("bob", "d01", 0), ("ann", "d02", 0), ("ann", "d03", 2), ("ann", "d01", 2),
    ("bob", "d02", 1), ("bob", "d03", None),
)  # fmt: skip


def event(sequence: int, kind: str, doc: str | None = "a", assessor: str | None = "X", **more: Any) -> str:
    record = {"sequence": sequence, "kind": kind, "topic": "1" if doc else None, "doc": doc}
    return json.dumps({**record, "assessor": assessor, "grade": None, "time": 100.0 - sequence} | more) + "\n"


def written(folder: Path, *lines: str) -> Path:
    (folder / "log.jsonl").write_text("".join(lines))
    return folder / "log.jsonl"


def test_the_last_grade_of_each_assessor_stands(tmp_path: Path) -> None:
    lines = [
        event(1, "project", None, None),
        event(2, "judge", grade=0),
        event(3, "judge", "b", grade=1),
        event(4, "judge", assessor="Y", grade=2),
        event(5, "judge", grade=1),  # X changes a
        event(6, "judge", "b", grade=None),  # X cannot judge b after all
        event(7, "judge", "c", grade=2),
        event(8, "withdraw", "c"),
        event(9, "skip", "d"),
        event(10, "judge", "e", grade=None),
        event(11, "judge", "e", grade=0),
        event(12, "adjudicate", "a", "chair", grade=2),
        event(13, "fit", None, None),
        event(14, "judge", "b", "Y", grade=0.0),
    ]
    shuffled = [lines[0], *lines[:0:-1]]  # the order is that of the sequence numbers, not of the lines
    for order in (lines, shuffled):
        panel = read_panel(written(tmp_path, *order))
        assert sorted(panel.assessors) == ["X", "Y"]
        grades = panel.grades[:, [panel.place("X"), panel.place("Y")]]
        assert panel.docs.texts() == ["a", "b", "e"]
        np.testing.assert_array_equal(grades, [[1, 2], [NONE, 0], [0, NONE]])
        (counts,) = panel.logs
        assert panel.repeats == ()
        assert counts.source.endswith("log.jsonl")
        assert (counts.standing, counts.cannot, counts.skipped, counts.withdrawn) == (4, 1, 1, 1)
        assert (counts.changed, counts.adjudicated) == (3, 1)


def test_assessors_whose_names_are_numbers_are_told_apart_beside_another_file(tmp_path: Path) -> None:
    log = written(
        tmp_path, event(1, "judge", assessor="1", grade=1), event(2, "judge", assessor="2", grade=0)
    )
    (tmp_path / "nist.qrels").write_text("1 0 a 1\n")
    assert read_panel([tmp_path / "nist.qrels", log]).assessors == ("nist", "1", "2")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ((event(1, "judge", grade=1), event(1, "judge", grade=0)), r"log\.jsonl:2: event 1 occurs here a second"),
        ((event(1, "judge", grade=1), event(2, "judge", assessor=None)), r"log\.jsonl:2: an event 'judge' without"),
        ((event(1, "judge", grade=1), '{"kind": "judge"}\n'), r"log\.jsonl:2: the sequence is null"),
        ((event(1, "judge", grade="high"),), r"log\.jsonl:1: the grade is the text 'high'"),
        ((event(1, "judge"), event(2, "skip")), "no judgments; expected at least one"),
        (
            (event(1, "project", None, None, detail={"kind": "preferences"}), event(2, "judge", "b a", grade=1)),
            r"log\.jsonl:1: .*sounding judge export DIR prefs",
        ),
    ],
)  # fmt: skip
def test_a_log_that_cannot_be_is_refused_with_its_line(
    tmp_path: Path, lines: tuple[str, ...], told: str
) -> None:
    with pytest.raises(FormatError, match=told):
        read_panel(written(tmp_path, *lines))


def test_a_log_that_judging_wrote_gives_the_grades_that_it_exports(tmp_path: Path) -> None:
    assert set(FOLLOWED) <= set(get_args(Kind))
    with open_store(str(tmp_path / "judging.sqlite")) as store:
        engine = begin(store, overlap=2)
        for number, (who, doc, grade) in enumerate(JUDGED):
            engine.judge(who, "7", doc, grade, key=str(number))
        engine.withdraw("ann", "7", "d03", key="back")
        engine.skip("bob", "7", engine.next("bob", "7")[0].doc, key="later")
        engine.skip("ann", "7", engine.next("ann", "7")[0].doc, key="not now")
        engine.withdraw("ann", "7", key="now after all")
        engine.judge("ann", "7", "d01", None, key="another mind")
        engine.withdraw("ann", "7", "d01", key="and back")
        engine.adjudicate("chair", "7", "d01", 0, key="settled")
        log = written(tmp_path, *EXPORTS["log"](store))
        (tmp_path / "assessors.qrels").write_text("".join(EXPORTS["assessors"](store)))
    panel, exported = read_panel(log), read_panel(tmp_path / "assessors.qrels", by="column")
    assert panel.docs.texts() == exported.docs.texts() == ["d01", "d02"]
    for who in ("ann", "bob"):
        np.testing.assert_array_equal(
            panel.grades[:, panel.place(who)], exported.grades[:, exported.place(who)]
        )
    (counts,) = panel.logs
    assert (counts.standing, counts.cannot, counts.changed) == (4, 1, 1)
    assert (counts.withdrawn, counts.skipped, counts.adjudicated) == (2, 1, 1)
