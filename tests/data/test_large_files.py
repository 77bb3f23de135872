"""A run that is read in parts gives what the whole run gives."""

from __future__ import annotations

import gzip
import random
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars
import pytest

import sounding
from sounding import Policies, Scores
from sounding.core.errors import SoundingError
from sounding.data.formats import read_run
from sounding.data.large_files import (
    Large,
    collect_topics,
    is_large,
    is_scattered,
    read_part,
    split_parts,
    steps_to_read,
    topics_and_rows,
    unpack,
)

MEASURES = ("AP", "nDCG@10", "P@5", "RR", "Bpref", "num_rel", "NumRet", "RunID", "Judged@10", "ERR@10")
POLICIES = (
    Policies(), Policies(unjudged="condensed"), Policies(missing="skip"), Policies(ties="rank"),
    Policies(ties="file"), Policies(ties="score-file"), Policies(ties="average"), Policies(depth=7), Policies(negative="split"),
    Policies(compat="trec_eval-9"),
)  # fmt: skip


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is large, and parts hold a few topics."""
    for name, value in (("LARGE", 1), ("LARGE_PACKED", 1), ("PART", 3000), ("ROWS", 100)):
        monkeypatch.setattr(f"sounding.data.large_files.{name}", value)
    monkeypatch.setattr("sounding.data.sources.LARGE_PACKED", 1)


def lines_of_run(seed: int) -> list[str]:
    """Ties, short lists, a topic that nobody judged; judged topics that are lacking."""
    draw = random.Random(seed)
    docs = [f"D{number:04}" for number in range(300)]
    return [
        f"{topic} Q0 {doc} {rank} {draw.choice([1, 2, 3, draw.random() * 4]):.4f} tag"
        for topic in range(3, 40)
        for rank, doc in enumerate(draw.sample(docs, draw.choice([1, 4, 60, 150])), 1)
    ]


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    draw = random.Random(1)
    docs = [f"D{number:04}" for number in range(300)]
    (tmp_path / "qrels.txt").write_text(
        "".join(
            f"{topic} 0 {doc} {draw.choice([-2, -1, 0, 0, 1, 3])}\n"
            for topic in (*range(1, 30), 900)
            for doc in draw.sample(docs, 40)
        )
        + "5 0 best 4\n"  # the highest grade of all, which counts for every topic
    )
    lines = lines_of_run(2)
    (tmp_path / "run.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "open.txt").write_text("# head\n\n" + "\n".join(lines))  # no line end behind the last line
    (tmp_path / "bom.txt").write_text("\ufeff" + "\r\n".join(lines) + "\r\n")
    (tmp_path / "packed").write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "twice.txt").write_text(
        "\n".join(lines[::2] + lines[1::2]) + "\n"
    )  # each topic in two places
    draw.shuffle(lines)
    lines[-1] = lines[-1].replace(" tag", " other")  # a run is called by its last line
    (tmp_path / "mixed.txt").write_text("\n".join(lines) + "\n")
    columns = [line.split() for line in lines]
    table = {
        "topic": [int(c[0]) for c in columns], "doc": [c[2] for c in columns],
        "score": [float(c[4]) for c in columns], "rank": [int(c[3]) for c in columns],
    }  # fmt: skip
    polars.DataFrame(table).write_parquet(tmp_path / "mixed.parquet", row_group_size=64)
    polars.DataFrame(table).sort("topic", maintain_order=True).write_parquet(tmp_path / "run.parquet")
    return tmp_path


RUNS = ("run.txt", "open.txt", "bom.txt", "packed", "twice.txt", "mixed.txt", "run.parquet", "mixed.parquet")


def outcome(folder: Path, run: str, policies: Policies, jobs: int = 1) -> Scores | str:
    try:
        return sounding.evaluate(folder / "qrels.txt", folder / run, MEASURES, policies=policies, jobs=jobs)
    except SoundingError as error:
        return str(error)


def same(one: Scores | str, other: Scores | str) -> None:
    if isinstance(one, str) or isinstance(other, str):
        assert one == other
        return
    for name in ("runs", "tags", "topics", "ignored", "without_relevant", "remarks"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ("values", "judged", "lengths", "missing", "sampling_errors"):
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), name
    for measure, texts in one.texts.items():
        assert texts.tolist() == other.texts[measure].tolist()


@pytest.mark.parametrize("run", RUNS)
def test_values_are_those_of_the_whole_run_to_the_last_bit(
    run: str, collection: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    whole = [outcome(collection, run, policies) for policies in POLICIES]
    assert not isinstance(whole[0], str)
    request.getfixturevalue("small_parts")
    for policies, expected in zip(POLICIES, whole, strict=True):
        same(outcome(collection, run, policies), expected)
    if not run.endswith("parquet"):  # this process has used Polars: no other can read Parquet beside it
        same(outcome(collection, run, Policies(), jobs=3), whole[0])


@pytest.mark.parametrize("run", RUNS)
def test_parts_may_be_read_by_the_workers_of_an_executor(
    run: str, collection: Path, request: pytest.FixtureRequest
) -> None:
    whole = outcome(collection, run, Policies())
    request.getfixturevalue("small_parts")
    with ThreadPoolExecutor(2) as pool, sounding.run_on(pool):
        same(outcome(collection, run, Policies()), whole)


@pytest.mark.parametrize("run", ["run.txt", "packed", "mixed.txt", "run.parquet"])
def test_progress_ends_where_it_was_said_to_end(run: str, collection: Path, small_parts: None) -> None:
    steps: list[int] = []
    sounding.evaluate(collection / "qrels.txt", collection / run, ["AP"], progress=steps.append)
    assert sum(steps) == steps_to_read(collection / run)


def test_groups_and_residual_collections_are_the_same_in_parts(
    collection: Path, request: pytest.FixtureRequest
) -> None:
    lines = (collection / "qrels.txt").read_text().splitlines()
    grouped = [line.replace(" 0 ", f" {group} ", 1) for line in lines for group in ("x", "y")]
    random.Random(4).shuffle(grouped)
    (collection / "groups.txt").write_text("\n".join(grouped[:1500]) + "\n")
    (collection / "early.txt").write_text("\n".join(lines[::3]) + "\n")

    def scores() -> list[Scores]:
        run = collection / "mixed.txt"
        return [
            sounding.evaluate(collection / "groups.txt", run, ["AP", "P@5"], groups=True),
            sounding.evaluate(collection / "qrels.txt", run, ["AP"], residual=collection / "early.txt"),
        ]

    whole = scores()
    request.getfixturevalue("small_parts")
    for one, other in zip(scores(), whole, strict=True):
        same(one, other)


@pytest.mark.parametrize("run", ["run.txt", "twice.txt", "mixed.txt"])
@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (700, "9 Q0 D1 3 many tag", ":700: score 'many' is not a number"),
        (500, "9 Q0 D1", ":500: 3 fields; expected 6"),
    ],
)
def test_a_mistake_has_the_line_that_it_has_in_the_file(
    run: str, line: int, text: str, message: str, collection: Path, small_parts: None
) -> None:
    lines = (collection / run).read_text().splitlines()
    lines[line - 1] = text
    (collection / run).write_text("\n".join(lines) + "\n")
    found = outcome(collection, run, Policies())
    assert isinstance(found, str)
    assert message in found


@pytest.mark.parametrize("run", ["run.txt", "twice.txt", "mixed.txt", "mixed.parquet"])
def test_a_document_listed_twice_in_different_parts_is_found(
    run: str, collection: Path, request: pytest.FixtureRequest
) -> None:
    if run.endswith("parquet"):
        frame = polars.read_parquet(collection / run)
        polars.concat([frame, frame[10:11]]).write_parquet(collection / run)
    else:
        with (collection / run).open("a") as file:
            file.write((collection / run).read_text().splitlines()[10] + "\n")
    whole = outcome(collection, run, Policies())
    assert "already in line 11; expected it once" in str(whole)
    best = outcome(collection, run, Policies(duplicates="best"))
    request.getfixturevalue("small_parts")
    assert outcome(collection, run, Policies()) == whole
    same(outcome(collection, run, Policies(duplicates="best")), best)


@pytest.mark.parametrize(
    "policies", [Policies(missing="error"), Policies(unjudged="bounds"), Policies(unjudged="expected", draws=5)],
    ids=lambda policies: f"{policies.missing}-{policies.unjudged}",
)  # fmt: skip
def test_what_needs_the_whole_run_gets_it(
    policies: Policies, collection: Path, request: pytest.FixtureRequest
) -> None:
    whole = outcome(collection, "mixed.txt", policies)
    request.getfixturevalue("small_parts")
    found = outcome(collection, "mixed.txt", policies)
    same(found, whole)
    if isinstance(found, Scores) and isinstance(whole, Scores):
        for name, column in whole.beside().items():
            assert np.array_equal(found.beside()[name], column, equal_nan=True)


def test_foreign_topics_are_named_in_parts_too(collection: Path, small_parts: None) -> None:
    (collection / "foreign.txt").write_text("".join(f"x{n} Q0 d 1 1 t\n" for n in range(900)))
    found = outcome(collection, "foreign.txt", Policies())
    assert str(found).endswith(
        "no topic in common with the qrels: they have 1, 10, 11, ..., the run has x0, x1, x2, ..."
    )


@pytest.mark.parametrize("run", ["run.txt", "open.txt", "bom.txt"])
def test_parts_cover_a_text_once_and_cut_no_topic(run: str, collection: Path, small_parts: None) -> None:
    with unpack(collection / run) as large:
        parts = split_parts(large)
    assert len(parts) > 10
    assert parts[-1].end == (collection / run).stat().st_size
    assert all(one.end == other.begin for one, other in pairwise(parts))
    topics = [topic for part in parts for topic in topics_and_rows(part)]
    assert len(topics) == len(set(topics)) == 37
    whole = read_run(collection / run)
    runs = [read_part(part) for part in parts]
    assert [doc for run in runs for doc in run.docs.texts()] == whole.docs.texts()


@pytest.mark.parametrize(
    ("run", "scattered"),
    [
        ("run.txt", False),
        ("twice.txt", False),
        ("mixed.txt", True),
        ("run.parquet", False),
        ("mixed.parquet", True),
    ],
)
def test_scattered_topics_are_seen_in_the_first_part(
    run: str, scattered: bool, collection: Path, small_parts: None
) -> None:
    with unpack(collection / run) as large:
        assert is_scattered(split_parts(large)[0]) is scattered


def test_a_topic_larger_than_a_part_stays_whole(tmp_path: Path, small_parts: None) -> None:
    (tmp_path / "r").write_text("".join(f"{t} Q0 d{n} 1 {-n} t\n" for t in (1, 2, 3) for n in range(700)))
    parts = split_parts(Large("r", str(tmp_path / "r"), "trec"))
    assert [topics_and_rows(part) for part in parts] == [{"1": 700, "2": 700}, {"3": 700}] or [
        topics_and_rows(part) for part in parts
    ] == [{"1": 700}, {"2": 700}, {"3": 700}]


def test_lines_are_brought_together_in_their_order_topics_in_byte_order(
    collection: Path, small_parts: None
) -> None:
    whole = read_run(collection / "mixed.txt")
    with unpack(collection / "mixed.txt") as large:
        parts = split_parts(large)
        rows = dict(zip(whole.topics, whole.sizes.tolist(), strict=True))
        with collect_topics(parts, rows) as again:
            folder = Path(again[0].file).parent
            runs = [read_part(part) for part in again]
            sizes = [part.end for part in again]
    assert not folder.exists(), "the temporary folder is gone"
    assert max(sizes) < 12_000
    topics = [topic for run in runs for topic in sorted(run.topics, key=str.encode)]
    assert topics == sorted(whole.topics, key=str.encode)
    of_topic = {
        topic: whole.docs[whole.starts[n] : whole.starts[n + 1]].texts()
        for n, topic in enumerate(whole.topics)
    }
    for run in runs:
        for number, topic in enumerate(run.topics):
            assert run.docs[run.starts[number] : run.starts[number + 1]].texts() == of_topic[topic]


def test_small_files_and_other_formats_are_read_whole(tmp_path: Path, small_parts: None) -> None:
    (tmp_path / "run.csv").write_text("topic,doc,score\n1,a,2\n")
    (tmp_path / "run.txt").write_text("1 Q0 a 1 2 t\n")
    assert not is_large(tmp_path / "run.csv")
    assert is_large(tmp_path / "run.txt")
    assert not is_large("-")
    assert not is_large({"1": {"a": 1}})


def test_memory_does_not_grow_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times as many topics, and no more memory: a part is held, and a few values a topic."""
    for name in ("sounding.data.large_files.LARGE", "sounding.data.large_files.LARGE_PACKED"):
        monkeypatch.setattr(name, 1 << 20)
    monkeypatch.setattr("sounding.data.sources.LARGE_PACKED", 1 << 20)
    monkeypatch.setattr("sounding.data.large_files.PART", 1 << 20)
    peaks = []
    for topics in (100, 100, 400):  # the first one also loads what is needed
        path = tmp_path / "run.txt"
        path.write_text(
            "".join(f"{t} Q0 doc{n:06} {n} {1000 - n} tag\n" for t in range(topics) for n in range(1000))
        )
        judged = [f"{t} 0 doc{n:06} 1\n" for t in range(topics) for n in (3, 9)]
        (tmp_path / "qrels.txt").write_text("".join(judged))
        tracemalloc.start()
        scores = sounding.evaluate(tmp_path / "qrels.txt", path, ["AP"])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert scores.mean()[0, 0] == pytest.approx((1 / 4 + 2 / 10) / 2)
    assert peaks[2] < 1.2 * peaks[1], "the longer run has four times as much text"
