"""Every command on every shape of the gallery: an answer with the right numbers, or one line that says why not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests import gallery
from tests.e2e.calling import Call, Said, caller
from tests.gallery import LARGE, Shape

MEASURES = ("AP", "P@10", "nDCG@10")
SMALL = tuple(name for name in gallery.SHAPES if name not in (*LARGE, "empty"))
USABLE = (*SMALL, *LARGE)

Ranking = dict[str, list[str]]  # topic -> documents, best first
Grades = dict[str, dict[str, int]]


@pytest.fixture(scope="session")
def shapes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder below which shapes are made when a test asks for one."""
    return tmp_path_factory.mktemp("gallery")


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys)


# An evaluation as short as it can be written, to hold ours against.


@cache
def read_qrels(path: Path) -> Grades:
    grades: Grades = {}
    for line in path.read_text().splitlines():
        topic, _, doc, grade = line.split()
        grades.setdefault(topic, {})[doc] = int(grade)
    return grades


@cache
def read_ranking(path: Path) -> Ranking:
    """Documents by falling score, then by falling id; of a document listed twice the first line counts."""
    scores: dict[str, dict[str, float]] = {}
    for line in path.read_text(encoding="utf-8-sig").split("\n"):
        if line.strip():
            topic, _, doc, _, score = line.split()[:5]
            scores.setdefault(topic, {}).setdefault(doc, float(score))
    return {
        topic: [doc for _, doc in sorted(((score, doc) for doc, score in docs.items()), reverse=True)]
        for topic, docs in scores.items()
    }


def average_precision(grades: dict[str, int], ranked: list[str]) -> float:
    found = total = 0.0
    for rank, doc in enumerate(ranked, 1):
        if grades.get(doc, 0) > 0:
            found += 1
            total += found / rank
    relevant = sum(grade > 0 for grade in grades.values())
    return total / relevant if relevant else 0.0


def precision(grades: dict[str, int], ranked: list[str]) -> float:
    return sum(grades.get(doc, 0) > 0 for doc in ranked[:10]) / 10


def ndcg(grades: dict[str, int], ranked: list[str]) -> float:
    def gain(row: list[int]) -> float:
        return sum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(row[:10], 1))

    ideal = gain(sorted(grades.values(), reverse=True))
    return gain([grades.get(doc, 0) for doc in ranked]) / ideal if ideal else 0.0


ORACLE = {"AP": average_precision, "P@10": precision, "nDCG@10": ndcg}


def values_of(shape: Shape, measure: str) -> dict[str, dict[str, float]]:
    """Value of every run and judged topic; 0 where the run lacks the topic."""
    grades = {
        topic: {doc: grade for doc, grade in docs.items() if grade >= 0}
        for topic, docs in read_qrels(shape.qrels).items()
    }
    return {
        path.stem: {
            topic: ORACLE[measure](docs, read_ranking(path).get(topic, [])) for topic, docs in grades.items()
        }
        for path in sorted(shape.runs.iterdir())
    }


def arguments(shape: Shape) -> tuple[str, ...]:
    """Judgments, runs, and what every command needs to read a shape whose files repeat documents."""
    return (str(shape.qrels), str(shape.runs), *also(shape))


def also(shape: Shape) -> tuple[str, ...]:
    return ("--policy", "duplicates=first") if shape.name == "dirty" else ()


def with_info(shape: Shape) -> tuple[str, ...]:
    return ("--info", str(shape.info)) if shape.info else ()


def answer(said: Said) -> Any:
    """What a command printed as JSON."""
    status, out, err = said
    assert status == 0, err
    return json.loads(out)


def check_kind(said: Said) -> None:
    """A result, or an error in one line a file; nothing that only a developer understands."""
    status, out, err = said
    assert status in (0, 1, 2)
    for text in (out, err):
        assert "Traceback" not in text
        assert "unexpected" not in text
        assert "bug in sounding" not in text
    if status:
        errors = [line for line in err.splitlines() if line.startswith("Error: ")]
        assert 1 <= len(errors) == len(set(errors))


def numbers(data: Any) -> Iterator[float]:
    """Every number of a JSON document."""
    if isinstance(data, dict):
        for value in data.values():
            yield from numbers(value)
    elif isinstance(data, list):
        for value in data:
            yield from numbers(value)
    elif isinstance(data, float):
        yield data


# Numbers


@pytest.mark.parametrize("name", USABLE)
def test_evaluate_agrees_with_an_evaluation_written_here(name: str, shapes: Path, call: Call) -> None:
    shape = gallery.make(name, shapes)
    asked = [part for measure in MEASURES for part in ("-m", measure)]
    data = answer(call("evaluate", *arguments(shape), *asked, "--per-topic", "--format", "json", "--quiet"))
    got = {(row["run"], row["measure"], row["topic"]): row["value"] for row in data["rows"]}
    topics = len(read_qrels(shape.qrels))
    for measure in MEASURES:
        for run, by_topic in values_of(shape, measure).items():
            for topic, value in by_topic.items():
                assert got[run, measure, topic] == pytest.approx(value, abs=1e-12), (run, measure, topic)
            assert got[run, measure, None] == pytest.approx(sum(by_topic.values()) / topics, abs=1e-12)
    for run, shares in data["judged"].items():
        ranked, grades = read_ranking(shape.runs / f"{run}.txt"), read_qrels(shape.qrels)
        judged = [  # of the topics that the run has
            sum(docs.get(doc, -1) >= 0 for doc in ranked[topic][:10]) / 10
            for topic, docs in grades.items()
            if topic in ranked
        ]
        assert shares["P@10"] == pytest.approx(sum(judged) / len(judged), abs=1e-12)


@pytest.mark.parametrize("name", USABLE)
def test_check_counts_what_a_shape_has(name: str, shapes: Path, call: Call) -> None:
    shape = gallery.make(name, shapes)
    status, out, _ = call("check", str(shape.qrels), str(shape.runs), "--quiet")
    assert status == (1 if name == "dirty" else 0)  # the document that is listed twice
    judgments = sum(map(len, read_qrels(shape.qrels).values()))
    relevant = sum(grade > 0 for docs in read_qrels(shape.qrels).values() for grade in docs.values())
    runs = len(list(shape.runs.iterdir())) if shape.runs.is_dir() else 1
    told = " ".join(out.split())
    assert f"{runs:,} run{'s' * (runs > 1)}: " in told
    assert f"1 qrels: {judgments:,} judgment" in told
    _, out, _ = call("check", str(shape.qrels), "--quiet")
    first = next(line for line in out.splitlines() if "qrels.txt" in line)
    assert {f"{judgments:,}", f"{relevant:,}"} <= set(re.findall(r"[\d,]*\d", first))


@pytest.mark.parametrize("name", USABLE)
def test_compare_reports_the_differences_of_the_means(name: str, shapes: Path, call: Call) -> None:
    shape = gallery.make(name, shapes)
    data = answer(
        call("compare", *arguments(shape), *with_info(shape), "-m", "P@10", "--format", "json", "--quiet")
    )
    values = values_of(shape, "P@10")
    means = {run: sum(by_topic.values()) / len(by_topic) for run, by_topic in values.items()}
    assert len(data["rows"]) == len(means) * (len(means) - 1) // 2
    for row in data["rows"]:
        assert row["difference"] == pytest.approx(means[row["run_a"]] - means[row["run_b"]], abs=1e-9)
        if name == "pair":  # with three topics an interval has no end
            assert row["ci_low"] is row["ci_high"] is None
        else:
            assert row["ci_low"] - 1e-9 <= row["difference"] <= row["ci_high"] + 1e-9
        assert 0 < row["p"] <= row["p_adjusted"] <= 1


@pytest.mark.parametrize("name", USABLE)
def test_a_pool_holds_the_first_documents_of_every_pooled_run(name: str, shapes: Path, call: Call) -> None:
    shape = gallery.make(name, shapes)
    status, out, err = call(
        "pool", str(shape.runs), "--depth", "5", *with_info(shape), *also(shape), "--quiet"
    )
    assert status == 0, err
    pooled = {path.stem for path in shape.runs.iterdir()}
    if shape.info:
        rows = [line.split("\t") for line in shape.info.read_text().splitlines()[1:]]
        pooled = {row[0] for row in rows if row[4] == "yes"}
    expected = {
        (topic, doc)
        for run in pooled
        for topic, docs in read_ranking(shape.runs / f"{run}.txt").items()
        for doc in docs[:5]
    }
    assert {tuple(line.split()) for line in out.splitlines()} == expected


@pytest.mark.parametrize("name", ["pair", "team", "one-label", "graded", "clicks"])
def test_a_budget_buys_that_many_new_documents(name: str, shapes: Path, call: Call) -> None:
    """The documents are retrieved by a run, and none of them is judged."""
    shape = gallery.make(name, shapes)
    given = ("--qrels", str(shape.qrels), "--budget", "20", *also(shape), "--quiet")
    status, out, err = call("pool", str(shape.runs), *given)
    assert status == 0, err
    bought = [tuple(line.split()) for line in out.splitlines()]
    judged = read_qrels(shape.qrels)
    assert len(bought) == len(set(bought)) == 20
    assert all(judged.get(topic, {}).get(doc, -1) < 0 for topic, doc in bought)


@pytest.mark.parametrize("name", SMALL)
def test_a_plan_names_documents_that_runs_retrieved_and_nobody_judged(
    name: str, shapes: Path, call: Call
) -> None:
    shape = gallery.make(name, shapes)
    data = answer(call("plan", *arguments(shape), "--format", "json", "--quiet"))
    judged = read_qrels(shape.qrels)
    retrieved = {
        (topic, doc)
        for path in shape.runs.iterdir()
        for topic, docs in read_ranking(path).items()
        for doc in docs
    }
    assert data["rows"]
    for row in data["rows"]:
        assert (row["topic"], row["doc"]) in retrieved
        assert judged.get(row["topic"], {}).get(row["doc"], -1) < 0


@pytest.mark.parametrize("name", SMALL)
def test_an_audit_counts_the_judgments(name: str, shapes: Path, call: Call) -> None:
    shape = gallery.make(name, shapes)
    data = answer(call("audit", *arguments(shape), *with_info(shape), "--format", "json", "--quiet"))
    grades = [grade for docs in read_qrels(shape.qrels).values() for grade in docs.values()]
    assert data["collection"]["relevant"] == sum(grade > 0 for grade in grades)
    assert data["collection"]["runs"] == len(list(shape.runs.iterdir()))


@pytest.mark.parametrize("name", SMALL)
def test_bounds_hold_the_value(name: str, shapes: Path, call: Call) -> None:
    shape = gallery.make(name, shapes)
    asked = ("-m", "P@10", "--unjudged", "bounds", "--format", "json", "--quiet")
    for row in answer(call("evaluate", *arguments(shape), *asked))["rows"]:
        assert 0 <= row["lower"] <= row["value"] <= row["upper"] <= 1


@pytest.mark.parametrize("name", USABLE)
def test_runs_keep_their_values_through_parquet(name: str, shapes: Path, tmp_path: Path, call: Call) -> None:
    shape = gallery.make(name, shapes)
    status, _, err = call(
        "convert", str(shape.runs), "-o", str(tmp_path / "parquet"), *also(shape), "--jobs", "1", "--quiet"
    )
    assert status == 0, err
    asked = ("-m", "AP", "--per-topic", "--format", "json", "--quiet")
    before = answer(call("evaluate", *arguments(shape), *asked))["rows"]
    after = answer(call("evaluate", str(shape.qrels), str(tmp_path / "parquet"), *asked))["rows"]
    assert [(row["topic"], row["value"]) for row in after] == [(row["topic"], row["value"]) for row in before]


# Statements


def test_150_runs_can_differ_significantly(shapes: Path, call: Call) -> None:
    """A run that scores 0 differs from the best of 150, and many pairs differ by default."""
    shape = gallery.make("campaign", shapes)
    asked = ("-m", "AP", "--format", "json", "--quiet")
    rows = answer(call("compare", *arguments(shape), *with_info(shape), *asked))["rows"]
    assert len(rows) == 150 * 149 // 2
    significant = [row for row in rows if row["p_adjusted"] <= 0.05]
    assert len(significant) > len(rows) / 4
    broken = [row for row in rows if "broken" in (row["run_a"], row["run_b"])]
    assert sum(row["p_adjusted"] <= 0.05 for row in broken) > 140


@pytest.mark.parametrize(
    ("name", "command"),
    [(name, command) for name in ("pair", "clicks", "one-label") for command in ("holds", "plan")],
)
def test_no_chance_is_stated_where_the_data_cannot_bear_it(
    name: str, command: str, shapes: Path, call: Call
) -> None:
    """Few runs or judgments, or only relevant documents listed: chances are empty, and a sentence says why."""
    shape = gallery.make(name, shapes)
    if command == "holds":
        asked, columns = ("compare", *arguments(shape), "-m", "P@10", "--holds"), ["holds", "sign"]
    else:
        asked, columns = ("plan", *arguments(shape), "--view", "pairs"), ["confidence", "holds"]
    rows = answer(call(*asked, "--format", "json", "--quiet"))["rows"]
    assert [row.get(column) for row in rows for column in columns] == [None] * len(rows) * len(columns)
    _, out, _ = call(*asked, "--quiet")
    reason = " ".join(out.split())
    runs = len(list(shape.runs.iterdir()))
    assert any(words in reason for words in (f"{runs} runs", "judgments of", "judged not relevant"))


def test_three_topics_allow_no_conclusion(shapes: Path, call: Call) -> None:
    """Eight patterns of signs cannot reach .05, and the first sentence says so."""
    shape = gallery.make("pair", shapes)
    data = answer(call("compare", *arguments(shape), "-m", "AP", "--format", "json", "--quiet"))
    assert [row["case"] for row in data["rows"]] == [None]
    _, out, _ = call("compare", *arguments(shape), "-m", "AP", "--quiet")
    assert "3 topics" in out.splitlines()[0]


# Commands that answer on every shape


COMMANDS = {
    "expected": ("evaluate", "-m", "AP", "-m", "P@10", "--unjudged", "expected"),
    "baseline": ("compare", "-m", "AP", "-m", "P@10", "--baseline", "{first}"),
    "pair": ("compare", "-m", "P@10", "--pair", "{first}", "{second}"),
    "holds": ("compare", "-m", "P@10", "--holds"),
    "depth": ("depth", "-m", "AP"),
    "plan": ("plan",),
    "simulate": ("simulate", "--strategy", "mtc,rank"),
    "calibrate": ("calibrate", "--hide", "sample:0.5", "--until", "runs:10"),
    "agree": ("agree",),
    "audit": ("audit",),
    "bounds": ("evaluate", "-m", "AP", "--unjudged", "bounds"),
    "report": ("report", "--draws", "5", "-o", "{report}"),
    "for": ("compare", "-m", "P@10", "--for", "{first}"),
    "slices": ("evaluate", "-m", "AP", "--by", "{slices}"),
    "new": ("audit", "--new", "{other}"),
    "labels": ("audit", "-m", "P@10", "--labels", "{labels}"),
    "estimate": ("estimate", "-m", "P@5", "--labels", "{labels}"),
    "track": ("track", "-m", "AP", "--commit", "one"),
}
# Seconds to a minute on the large shapes.
SLOW = ("agree", "calibrate", "estimate", "holds", "labels", "plan", "report", "simulate")
CASES = [
    pytest.param(name, command, marks=[pytest.mark.long] if name in LARGE and command in SLOW else [])
    for name in USABLE
    for command in COMMANDS
]


@pytest.mark.parametrize(("name", "command"), CASES)
def test_every_command_answers(name: str, command: str, shapes: Path, tmp_path: Path, call: Call) -> None:
    shape = gallery.make(name, shapes)
    runs = sorted(path.stem for path in shape.runs.iterdir())
    words = {
        "first": runs[0],
        "second": runs[1],
        "other": str(shape.runs / f"{runs[1]}.txt"),
        "report": str(tmp_path / "report.html"),
        "slices": str(tmp_path / "slices.tsv"),
        "labels": str(tmp_path / "labels.tsv"),
    }
    judged = read_qrels(shape.qrels)
    Path(words["slices"]).write_text("".join(f"{topic}\t{n % 2}\n" for n, topic in enumerate(judged)))
    rows = [
        (topic, doc, grade) for topic, docs in judged.items() for doc, grade in docs.items() if grade >= 0
    ]
    Path(words["labels"]).write_text(
        "topic\tdoc\tlabel\tjudge\n" + "".join(f"{topic}\t{doc}\t{grade}\tm\n" for topic, doc, grade in rows)
    )
    verb, *options = (part.format(**words) for part in COMMANDS[command])
    given = arguments(shape)
    if command == "agree":
        second = tmp_path / "second.txt"
        second.write_text(shape.qrels.read_text().replace(" 1\n", " 0\n", 3))
        given, options = (str(shape.qrels), str(second), "--runs", str(shape.runs), *also(shape)), []
    elif command == "track":
        given = (str(tmp_path / "history.sqlite"), *given)
    elif command not in ("expected", "bounds", "plan", "simulate", "slices", "labels", "estimate"):
        given = (*given, *with_info(shape))
    said = call(verb, *given, *options, "--quiet")
    check_kind(said)
    if (name, command) == ("graded", "estimate"):  # documents with a grade below 0 are no random part
        assert "with which probability" in said[2]
        return
    assert said[0] == 0, said[2]
    if command == "report":
        page = (tmp_path / "report.html").read_text()
        assert all(run in page for run in runs[:10])


# Files with nothing in them


@pytest.mark.parametrize("file", ["nothing.txt", "blank.txt", "other-topics.txt", "zeros.txt"])
@pytest.mark.parametrize("verb", ["evaluate", "compare", "audit", "report", "plan", "depth"])
def test_judgments_that_cannot_be_used_are_refused_in_a_line(
    file: str, verb: str, shapes: Path, tmp_path: Path, call: Call
) -> None:
    shape = gallery.make("empty", shapes)
    target = tmp_path / ("out.html" if verb == "report" else "out.csv")
    runs = [str(shape.runs / "good.txt"), str(shape.runs / "other.txt")]
    said = call(verb, str(shape.folder / file), *runs, "-o", str(target), "--quiet")
    check_kind(said)
    assert said[0] == 1
    assert not target.exists()


@pytest.mark.parametrize("file", ["nothing.txt", "blank.txt", "zeros.txt"])
def test_a_run_that_cannot_be_used_is_refused_in_a_line(file: str, shapes: Path, call: Call) -> None:
    shape = gallery.make("empty", shapes)
    said = call("evaluate", str(shape.qrels), str(shape.folder / file), "-m", "AP", "--quiet")
    check_kind(said)
    assert said[0] == 1


def test_without_a_relevant_document_every_run_has_0_and_no_pair_differs(shapes: Path, call: Call) -> None:
    shape = gallery.make("empty", shapes)
    given = (
        str(shape.folder / "none-relevant.txt"),
        str(shape.runs),
        "-m",
        "AP",
        "--format",
        "json",
        "--quiet",
    )
    data = answer(call("evaluate", *given))
    assert len(data["topics_without_relevant"]) == data["topics"] == 4
    assert [row["value"] for row in data["rows"]] == [0, 0]
    rows = answer(call("compare", *given))["rows"]
    assert [(row["difference"], row["p_adjusted"], row["case"]) for row in rows] == [(0, 1, None)]


def test_numbers_of_json_are_finite_or_null(shapes: Path, call: Call) -> None:
    for name in SMALL:
        shape = gallery.make(name, shapes)
        for words in (("evaluate", "-m", "AP"), ("compare", "-m", "AP"), ("depth", "-m", "AP"), ("audit",)):
            data = answer(call(words[0], *arguments(shape), *words[1:], "--format", "json", "--quiet"))
            assert all(map(math.isfinite, numbers(data)))
