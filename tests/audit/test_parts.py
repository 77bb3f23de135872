"""Parts of a collection: by prefix, expression and file, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from sounding.audit.judged_runs import JudgedRuns, read_judged_runs
from sounding.audit.parts import part_of, parts_of_collection
from sounding.core.errors import DataError, FormatError
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run


@pytest.fixture
def runs() -> JudgedRuns:
    """Two pooled runs of depth 2 and one that was not; documents of three languages."""
    made = [
        Run.from_dict({"1": {"en1": 3, "de1": 2, "en9": 1}, "2": {"en2": 2, "en3": 1}}, name="a"),
        Run.from_dict({"1": {"en1": 3, "en4": 2, "de9": 1}, "2": {"en2": 2, "de2": 1}}, name="b"),
        Run.from_dict({"1": {"fr1": 3, "fr2": 2}, "2": {"fr3": 2, "en2": 1}}, name="c"),
    ]
    judged = {"1": {"en1": 1, "de1": 0, "en4": 0, "it1": 0, "fr2": 1}, "2": {"en2": 2, "en3": 0, "de2": 1}}
    info = {
        name: RunInfo(run=name, group=name, kind="automatic", priority=1, pooled=name != "c")
        for name in "abc"
    }
    return read_judged_runs(Qrels.from_dict(judged), made, info=info)


def test_shares_of_every_part_by_hand(runs: JudgedRuns) -> None:
    frame = parts_of_collection(runs, part_of("prefix:2")).frame
    rows = {row["part"]: row for row in frame.to_dicts()}
    assert frame["part"].to_list() == ["en", "de", "fr", "it"]
    # fr2 was judged by luck. Pool: en1 en4 en2 en3 de1 de2. Among the first two of any run: these and fr1 fr2 fr3.
    assert rows["en"] == {
        "part": "en", "pooled": 4, "pool_share": 4 / 6, "judged": 4, "judged_share": 1.0, "relevant": 2,
        "relevant_share": 0.5, "relevant_rate": 0.5, "runs": 2,
    }  # fmt: skip
    assert (rows["de"]["pooled"], rows["de"]["relevant"], rows["de"]["runs"]) == (2, 1, 2)
    assert (rows["fr"]["judged_share"], rows["fr"]["runs"], rows["fr"]["judged"]) == (1 / 3, 0, 1)
    assert rows["it"]["judged"] == 1  # judged, and in no run
    assert rows["it"]["judged_share"] is None or rows["it"]["judged_share"] != rows["it"]["judged_share"]


@pytest.mark.parametrize(
    ("text", "doc", "part"),
    [
        ("prefix:3", "FBIS3-1", "FBI"),
        ("([A-Z]+)", "FBIS3-1", "FBIS"),
        ("[A-Z]+", "FBIS3-1", "FBIS"),
        ("[A-Z]+", "3-FBIS", "(none)"),
        ("(x)?[A-Z]", "F", "(none)"),
    ],
)
def test_prefixes_and_expressions(text: str, doc: str, part: str) -> None:
    assert part_of(text)(doc) == part


def test_a_file_names_the_part_of_each_document(tmp_path: Path) -> None:
    path = tmp_path / "parts.tsv"
    path.write_text("doc\tpart\nen1\tEnglish\nde1\tGerman\n")
    part = part_of(str(path))
    assert [part(doc) for doc in ("en1", "de1", "fr1", "doc")] == ["English", "German", "(none)", "(none)"]


def test_what_is_no_way_to_tell_parts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="neither a file nor a regular expression"):
        part_of("([A-Z")
    with pytest.raises(DataError, match="at least one letter"):
        part_of("prefix:0")
    wrong = tmp_path / "wrong.tsv"
    wrong.write_text("a\tb\nc\td\te\n")
    with pytest.raises(FormatError, match=r"wrong.tsv:2: 3 columns; expected doc and part"):
        part_of(str(wrong))
    (tmp_path / "empty.tsv").write_text("doc\tpart\n")
    with pytest.raises(FormatError, match="no documents"):
        part_of(str(tmp_path / "empty.tsv"))
