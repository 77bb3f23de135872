"""Which format a source is in, and the readers that everybody calls."""

from __future__ import annotations

import gzip
import importlib
import io
import itertools
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.core.errors import DataError, FormatError, MissingPartError, SoundingError, UnknownNameError
from sounding.data.fast.fields import split_fields
from sounding.data.formats import detect, parse_qrels, parse_run, read_qrels, read_run, read_runs
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.tables import Qrels, Run
from sounding.data.topics import read_topics

TREC = "1 Q0 a 1 2.5 bm25\n1 Q0 b 2 1.5 bm25\n"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "formats.md"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("run", TREC, "trec"),
        ("run", "# 1,2,3\n\n" + TREC, "trec"),
        ("run", TREC.replace(" ", "\t"), "trec"),
        ("run", "1 Q0 doc,1,2 1 2.5 x\n", "trec"),
        ("qrels", "1,2,3 0 a 1\n", "trec"),
        ("qrels", "1 0 a 1\n", "trec"),
        ("qrels", "1\t0\ta\t1\n", "trec"),
        ("prels", "1 a 1 2 0.5\n", "prels"),
        ("qrels", "1 0 a 1 -1\n", "strata"),
        ("qrels", "1 0 a 1 extra\n", "trec"),
        ("qrels", "1 a b 1 0.5\n", "trec"),
        ("prels", "1 a 1 2 1e-3\n", "prels"),
        ("run.csv", "1,a,2\n", "csv"),
        ("run.csv.gz", "1,a,2\n", "csv"),
        ("run.csv", TREC, "trec"),
        ("run.tsv", TREC, "trec"),
        ("run.txt", "1,a,2\n", "csv"),
        ("run.txt", "1, Q0, a, 1, 2.5, x\n", "csv"),
        ("run.txt", "1;a;2\n", "csv"),
        ("run.txt", "1\ta b\t2\n", "tsv"),
        ("run.txt", "1\tthe 3 4 docs\t2.5\n", "tsv"),
        ("run.txt", "1\ta\tx\n", "tsv"),
        ("run.tsv", "1\t0 a\t2.5\n", "tsv"),
        ("qrels", "1\t0\ta 1\n", "trec"),
        ("qrels", "1 0\ta\t1\n", "trec"),
        ("qrels", "1\t0 a\t1\n", "trec"),
        ("qrels", "1 ann\ta\t1\n", "trec"),
        ("qrels.tsv", "1 0\ta\t1\n", "trec"),
        ("qrels.tsv", "1\t0\ta\t1\n", "tsv"),
        ("run", "1\tQ0\ta 1 2.5 x\n", "trec"),
        ("run", "1 Q0 a 1\t2.5\tx\n", "trec"),
        ("run.tsv", "1 Q0 a 1\t2.5\tx\n", "trec"),
        ("run.csv", "1 Q0 a,b 1 2.5 x\n", "trec"),
        ("prels", "1\ta 1\t2 0.5\n", "prels"),
        ("prels", "1\ta 1 2\t0.5\n", "prels"),
        ("prels.tsv", "1\ta\t1\t2\t0.5\n", "prels"),
        ("qrels", "1 0\ta 2\t-1\n", "strata"),
        ("run.txt", "qid docid score", "trec"),
        ("qrels", "query-id\tcorpus-id\tscore\n1\ta\t1\n", "tsv"),
        ("qrels", "topic\tdoc\tgrade\tpool_rank\n1\ta\t1\t3\n", "tsv"),
        ("qrels", '"topic","doc","grade"\n', "csv"),
        ("run", '{"1": {"a": 2.5}}', "json"),
        ("run", '{\n"1": {"a": 2.5}}', "json"),
        ("run", '{"1": {"a": 2.5},\n"2": {"a": 1}}', "json"),
        ("run", '{"topic": "1", "doc": "a", "score": 1}\n{"topic": "1", "doc": "b", "score": 1}\n', "jsonl"),
        ("run", '{"topic": "1", "doc": "a", "score": 1}\n', "jsonl"),
        ("run", ' {"topic": "1", "docs": {"a": 1}}\n {"topic": "2", "docs": {"b": 1}}\n', "jsonl"),
        ("run.json", TREC, "json"),
        ("run.ndjson", "x", "jsonl"),
        ("run.pq", "x", "parquet"),
        ("run", "PAR1....", "parquet"),
        ("run", "", "trec"),
    ],
)  # fmt: skip
def test_a_format_is_known_by_name_and_content(name: str, text: str, expected: str) -> None:
    assert detect(Content.from_bytes(name, text.encode()), name) == expected


def test_the_same_run_reads_the_same_from_every_format(tmp_path: Path) -> None:
    table = {"topic": ["1", "1"], "doc": ["a", "b"], "score": [2.5, 1.5], "tag": ["bm25", "bm25"]}
    frame = polars.DataFrame(table)
    frame.write_parquet(tmp_path / "run.parquet")
    frame.write_csv(tmp_path / "run.csv")
    frame.write_ndjson(tmp_path / "run.jsonl")
    (tmp_path / "run.json").write_text('{"bm25": {"1": {"a": 2.5, "b": 1.5}}}')
    (tmp_path / "run.txt").write_text(TREC)
    (tmp_path / "run.gz").write_bytes(gzip.compress(TREC.encode()))
    sources: list[Any] = [*sorted(tmp_path.iterdir()), {"1": {"a": 2.5, "b": 1.5}}, frame]
    assert len(sources) == 8
    for source in sources:
        run = read_run(source, name="bm25")
        assert (run.name, run.topics, run.docs.texts()) == ("bm25", ("1",), ["a", "b"])
        assert run.scores.tolist() == [2.5, 1.5]


def test_a_given_format_is_not_doubted(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text('{"1": {"a": 2.5}}')
    with pytest.raises(FormatError, match=r"run\.txt:1: "):
        read_run(path, format="trec")
    with pytest.raises(UnknownNameError, match="unknown format 'jsno'; did you mean json"):
        read_run(path, format="jsno")


def test_tables_that_are_read_already_stay_what_they_are() -> None:
    run, qrels = read_run({"1": {"a": 1}}), read_qrels({"1": {"a": 1}})
    assert read_run(run) is run
    assert read_run(run, name="other").name == "other"
    assert read_qrels(qrels) is qrels


def test_dicts_are_checked_like_files() -> None:
    with pytest.raises(FormatError, match="run:1: the score is the text '1'"):
        read_run({"1": {"a": "1"}})
    with pytest.raises(FormatError, match=r"qrels:1: grade '0\.5' is not a whole number"):
        read_qrels({"1": {"a": 0.5}})
    with pytest.raises(DataError, match="bm25: topic '1' is the text 'a'; expected"):
        read_run({"1": "a"}, name="bm25")
    with pytest.raises(DataError, match="no topic has documents"):
        read_qrels({})
    assert read_qrels({7: {8: 1}}).topics == ("7",)


def test_what_cannot_be_read_is_named() -> None:
    with pytest.raises(DataError, match="cannot read from an object of type int; expected a file name"):
        read_run(7)
    with pytest.raises(DataError, match="cannot read qrels from Run"):
        read_qrels(read_run({"1": {"a": 1}}))


def test_runs_of_a_folder_have_names_of_their_own(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(TREC)
    assert [run.name for run in read_runs(tmp_path)] == ["a", "b"]
    assert [run.tag for run in read_runs([tmp_path / "a.txt", tmp_path / "b.txt"])] == ["bm25", "bm25"]
    assert [run.name for run in read_runs(str(tmp_path / "a*"))] == ["a"]


def test_runs_in_memory_are_named_or_numbered() -> None:
    one, other = {"1": {"a": 1}}, {"1": {"b": 1}}
    assert [run.name for run in read_runs({"x": one, "y": other})] == ["x", "y"]
    assert [run.name for run in read_runs([one, other])] == ["run", "run#2"]


def test_comments_alone_are_no_data(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("# nothing here\n")
    for read in (read_run, read_qrels):
        with pytest.raises(FormatError, match=r"run\.txt:1: the file has no data"):
            read(path)


def test_swapped_runs_and_qrels_are_told_apart(tmp_path: Path) -> None:
    run, qrels, prels = tmp_path / "run", tmp_path / "qrels", tmp_path / "prels"
    run.write_text("1 Q0 a 1 2.5 x\n1 Q0 b 2 1.5 x\n")
    qrels.write_text("1 0 a 1\n1 0 b 0\n1 0 c 0\n")
    prels.write_text("1 a 1 2 0.5\n")
    with pytest.raises(FormatError) as wrong:
        read_qrels(run)
    assert str(wrong.value) == (
        f"{run}:1: 6 fields; expected 4: topic iteration doc grade (this looks like a run)"
        " (and 1 more problem)"
    )
    with pytest.raises(FormatError) as wrong:
        read_run(qrels)
    assert str(wrong.value) == (
        f"{qrels}:1: 4 fields; expected 6: topic Q0 doc rank score tag (this looks like qrels)"
        " (and 2 more problems)"
    )
    with pytest.raises(FormatError, match=r"5 fields; expected 6: .* \(this looks like qrels\)"):
        read_run(prels)


def test_a_wrong_number_of_fields_alone_does_not_look_like_the_other_kind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("1 0 a 1 extra\n")
    with pytest.raises(FormatError, match=r"5 fields; expected 4: topic iteration doc grade$"):
        read_qrels(path)
    path.write_text("1 Q0 a 1 2.5 x\n1 0 b 0\n")
    with pytest.raises(FormatError, match=r"4 fields; expected 6: topic Q0 doc rank score tag$"):
        read_run(path)


def test_prels_are_known_by_their_five_columns(tmp_path: Path) -> None:
    path = tmp_path / "prels.txt"
    path.write_text("1 a 1 2 0.5\n")
    assert read_qrels(path).probabilities is not None


class FakeCollection:
    def __init__(self, judgments: list[Any] | None) -> None:
        self._judgments = judgments

    def has_qrels(self) -> bool:
        return self._judgments is not None

    def qrels_iter(self) -> list[Any]:
        return self._judgments or []


@pytest.fixture
def datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments = [
        SimpleNamespace(query_id="1", doc_id="a", relevance=2, iteration="0"),
        SimpleNamespace(query_id="1", doc_id="b", relevance=0, iteration="1"),
    ]
    plain = [SimpleNamespace(query_id="1", doc_id="a", relevance=1)]
    known = {
        "toy/test": FakeCollection(judgments), "toy/plain": FakeCollection(plain),
        "toy/empty": FakeCollection([]), "toy": FakeCollection(None),
    }  # fmt: skip
    module = ModuleType("ir_datasets")
    monkeypatch.setattr(module, "load", known.__getitem__, raising=False)
    monkeypatch.setitem(sys.modules, "ir_datasets", module)


@pytest.mark.usefixtures("datasets")
@pytest.mark.parametrize("source", ["irds:toy/test", "toy/test"])
def test_ids_of_ir_datasets_are_judgments(source: str) -> None:
    qrels = read_qrels(source, groups=True)
    assert qrels.docs.texts() == ["a", "b"]
    assert qrels.grades.tolist() == [2, 0]
    assert qrels.groups is not None
    assert qrels.groups.texts() == ["0", "1"]


@pytest.mark.usefixtures("datasets")
def test_ids_that_ir_datasets_does_not_know_or_that_have_no_judgments_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ir_datasets has no collection 'toy/dev'"):
        read_qrels("irds:toy/dev")
    with pytest.raises(DataError, match="the collection 'irds:toy' has no judgments"):
        read_qrels("irds:toy")
    with pytest.raises(DataError, match="the collection 'irds:toy/empty' has no judgments"):
        read_qrels("irds:toy/empty")
    with pytest.raises(FormatError, match="no such file"):
        read_qrels(str(tmp_path / "toy"))


def test_a_file_comes_before_a_collection_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> Any:
        raise AssertionError(name)

    monkeypatch.setattr(importlib, "import_module", refuse)
    (tmp_path / "toy").write_text("1 0 a 1\n")
    assert len(read_qrels(str(tmp_path / "toy")).docs) == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 0 a 1\n")))
    assert len(read_qrels("-").docs) == 1
    with pytest.raises(FormatError, match="no such file"):
        read_qrels(str(tmp_path / "qrels.txt"))


def test_ids_without_the_package_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingPartError, match=r"pip install 'sounding\[datasets\]'"):
        read_qrels("irds:toy/test")
    with pytest.raises(FormatError, match="no such file"):
        read_qrels("toy/test")


SEEDS = [
    b"301 Q0 FBIS3-1 1 12.5 bm25\n301 Q0 FT911-2 2 1e-3 bm25\n",
    b"301 0 FBIS3-1 1\n301 0 FT911-2 0\n",
    b"10 GX253-98 0 1 0.165904710473544\n10 GX244-34 0 2 0.6\n",
    b"topic,doc,score\n1,a,2.5\n",
    b'{"1": {"a": 2.5}}',
    b'{"topic": "1", "doc": "a", "grade": 1}\n{"topic": "1", "doc": "b", "grade": 0}\n',
]
PIECES = [
    b"",
    b" ",
    b"\t",
    b",",
    b"\n",
    b"\r\n",
    b"\0",
    b"\x0b",
    b"\xff",
    b"#",
    b"{",
    b'"',
    b"nan",
    b"1_0",
    b"-",
]


def outcome(content: Content, read: Any) -> str:
    """The one error that reading gives, or nothing."""
    problems = Problems("file")
    try:
        read(content, problems)
        problems.refuse()
    except SoundingError as error:
        return str(error)
    return ""


@given(st.data())
def test_any_mutated_file_gives_a_result_or_one_clear_error(data: st.DataObject) -> None:
    text = bytearray(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.sampled_from(PIECES))
    for read in (parse_run, parse_qrels):
        assert "\n" not in outcome(Content.from_bytes("file", bytes(text)), read)


def examples() -> list[tuple[str, str]]:
    """The examples of the page: (run, qrels or topics, text)."""
    return re.findall(
        r"^```(run|qrels|topics)\n(.*?)^```$", DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize(("kind", "text"), examples())
def test_every_example_of_the_documentation_can_be_read(kind: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "example"
    path.write_text(text)
    if kind == "topics":
        assert read_topics(path).ids == ("301", "302")
        return
    table: Run | Qrels = read_run(path) if kind == "run" else read_qrels(path)
    assert table.topics == ("301", "302")
    assert table.docs.texts() == ["FBIS3-10082", "FT911-3", "LA010189-0001"]


def test_the_documentation_has_an_example_of_every_text_format() -> None:
    found = {
        detect(Content.from_bytes("x", text.encode()), "x") for kind, text in examples() if kind != "topics"
    }
    assert found == {"trec", "prels", "strata", "csv", "tsv", "json", "jsonl"}


@pytest.mark.parametrize(
    ("fields", "read"),
    [(("1", "0", "a", "1"), read_qrels), (("1", "Q0", "a", "1", "2.5", "x"), read_run)],
)
def test_tabs_and_blanks_may_stand_between_fields_in_every_mixture(
    fields: tuple[str, ...], read: Any, tmp_path: Path
) -> None:
    for blanks in itertools.product(" \t", repeat=len(fields) - 1):
        for name in ("file", "file.txt"):
            path = tmp_path / name
            path.write_text("".join(map("".join, zip(fields, (*blanks, "\n"), strict=True))))
            table = read(path)
            assert (table.topics, table.docs.texts()) == (("1",), ["a"]), blanks


def test_a_last_line_of_any_length_gives_its_tag(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    doc = "d" * 300_000
    path.write_text(f"1 Q0 a 1 3 mytag\n1 Q0 {doc} 2 2 mytag more\n# {doc}\n")
    run = read_run(path)
    assert (run.tag, run.docs.text(1)) == ("mytag", doc)
    path.write_text("1 Q0 a 1 " + "9x" * 50_000 + " t\n")
    with pytest.raises(
        FormatError, match=r"run\.txt:1: score '(9x){30}'\.\.\. \(100,000 characters\) is not a"
    ):
        read_run(path)


@pytest.mark.parametrize(
    "header", ["topic,doc,score", "topic\tdoc\tscore", "a,b,c", '"topic",doc,score', "1,a,2"]
)
@pytest.mark.parametrize("name", ["run", "run.csv", "run.tsv"])
def test_carriage_returns_for_line_ends_are_named_in_tables_too(
    header: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    separator = "\t" if "\t" in header else ","
    rows = [separator.join(("1", f"d{number}", str(number))) for number in range(5000)]
    path.write_bytes("\r".join([header, *rows, ""]).encode())
    for read in (read_run, read_qrels):
        with pytest.raises(FormatError) as caught:
            read(path)
        assert caught.value.problem == "carriage return inside a line; expected line ends LF or CR LF"
        assert caught.value.line == 1


@pytest.mark.parametrize("doc", ["a\u00a0b", "a\u2028b", "x" * 5000])
def test_the_tag_is_the_sixth_field_whatever_the_ids_look_like(doc: str, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(f"1 Q0 {doc} 1 3 mytag\n# a comment at the end\n", encoding="utf-8")
    assert read_run(path).tag == "mytag"


RECORD = "401 Q0 d1 1 0.5 tag"


@pytest.mark.parametrize(
    "line",
    [
        f"{RECORD}401 Q0 d2 2 0.4 tag",  # the line end is missing
        f"{RECORD} 401 Q0 d2 2 0.4 tag",  # or has become a blank
        "401 Q0 d1 1 0.5 my tag401 Q0 d2 2 0.4 my tag",
        "401 Q0 d1 1 0.5401 Q0 d2 2 0.4 tag",  # cut off within the score
        f"{RECORD} {RECORD}",
        f"401 0 d1 1 0.5 tag 402 0 {'d' * 80} 2 3e-05 tag",
    ],
)
def test_two_records_on_one_line_are_refused_with_the_line(line: str, tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    second = line.split()[1]
    for before in (f"401 {second} a 1 9 tag\n", f"# two\n401 {second} a 1 9 my tag\n"):
        file.write_text(f"{before}{line}\n401 {second} z 3 0.1 tag\n")
        with pytest.raises(FormatError) as raised:
            read_run(file)
        assert (raised.value.line, raised.value.more) == (before.count("\n") + 1, 0)
        assert f"{len(line.split())} fields" in raised.value.problem


@pytest.mark.parametrize(
    "tag",
    [
        "my tag",
        "tag of 3 words",
        "a Q0 b",
        "a Q0 b c 1",
        "1 2 3 4 5 6 7",
        "Q0 b 1 x",
        "tag # 401 Q0",
        "Q0 Q0 Q0 Q0",
    ],
)
def test_tags_with_blanks_and_numbers_in_them_are_still_read(tag: str, tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    file.write_text("".join(f"401 Q0 d{n} {n} {9 - n} {tag}\n" for n in range(5)))
    run = read_run(file)
    assert run.docs.texts() == [f"d{n}" for n in range(5)]
    assert run.tag == tag.split()[0]


def test_lines_with_carriage_returns_and_wide_gaps_are_not_taken_for_longer_ones() -> None:
    for text in (b"1 Q0 a 1 2 t\r\n1 Q0 b 2 1 t\r\n", b"1  Q0\ta 1 2 t\n1 Q0 b   2 1 t \n"):
        content = Content.from_bytes("run", text)
        fields = split_fields(
            content.buffer, content.size, wanted=(0, 2, 4), least=6, shape="", problems=Problems("run")
        )
        assert not fields.longer
        assert fields.lines is None
