"""Every public function takes runs, judgments and measures in every form that a Python program has them in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sounding
from sounding import (
    DataError,
    Qrels,
    Run,
    SoundingError,
    agree,
    audit,
    calibrate,
    compare,
    depth,
    evaluate,
    holds,
    parse_measures,
    read_panel,
    read_qrels,
    read_run,
    read_runs,
    sample,
    with_assessment,
    write_qrels,
    write_run,
)

COLLECTION = sample(topics=12, groups=2, systems=2, pool_depth=5, length=20, seed=3)
NAMES = [run.name for run in COLLECTION.runs]


def run_dict(run: Run) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for topic, doc, score in run.frame.iter_rows():
        found.setdefault(topic, {})[doc] = score
    return found


def qrels_dict(qrels: Qrels) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for topic, doc, grade in qrels.frame.select("topic", "doc", "grade").iter_rows():
        found.setdefault(topic, {})[doc] = int(grade)
    return found


DICTS = {run.name: run_dict(run) for run in COLLECTION.runs}
JUDGED = qrels_dict(COLLECTION.qrels)
RUN_ROWS = [
    (name, topic, doc, score)
    for name, run in DICTS.items()
    for topic, docs in run.items()
    for doc, score in docs.items()
]
QREL_ROWS = [(topic, doc, grade) for topic, docs in JUDGED.items() for doc, grade in docs.items()]
RUN_TABLE = {
    role: [row[place] for row in RUN_ROWS] for place, role in enumerate(("run", "topic", "doc", "score"))
}
QREL_TABLE = {role: [row[place] for row in QREL_ROWS] for place, role in enumerate(("topic", "doc", "grade"))}


def scored(name: str) -> list[Any]:
    return [ir_measures.ScoredDoc(*row[1:]) for row in RUN_ROWS if row[0] == name]


def ranked(name: str) -> dict[str, list[str]]:
    """The documents of a run, best first, as programs without scores have them."""
    run = DICTS[name]
    return {
        topic: sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True) for topic, docs in run.items()
    }


def judged() -> list[Any]:
    return [ir_measures.Qrel(*row) for row in QREL_ROWS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("inputs")
    (place / "runs").mkdir()
    for run in COLLECTION.runs:
        write_run(run, place / "runs" / f"{run.name}.txt")
    write_qrels(COLLECTION.qrels, place / "qrels.txt")
    return place


# What holds several runs, in every form; each is made anew, for iterators can be used once.
RUNS: dict[str, Callable[[Path], Any]] = {
    "list of Run": lambda _: list(COLLECTION.runs),
    "iterator of Run": lambda _: iter(COLLECTION.runs),
    "folder": lambda place: str(place / "runs"),
    "folder as Path": lambda place: place / "runs",
    "glob": lambda place: str(place / "runs" / "*.txt"),
    "list of str": lambda place: [str(place / "runs" / f"{name}.txt") for name in NAMES],
    "tuple of Path": lambda place: tuple(place / "runs" / f"{name}.txt" for name in NAMES),
    "generator of Path": lambda place: (place / "runs" / f"{name}.txt" for name in NAMES),
    "{name: dict}": lambda _: DICTS,
    "{name: path}": lambda place: {name: place / "runs" / f"{name}.txt" for name in NAMES},
    "{name: str}": lambda place: {name: str(place / "runs" / f"{name}.txt") for name in NAMES},
    "{name: Run}": lambda _: {run.name: run for run in COLLECTION.runs},
    "{name: ScoredDocs}": lambda _: {name: scored(name) for name in NAMES},
    "{name: iterator of ScoredDoc}": lambda _: {name: iter(scored(name)) for name in NAMES},
    "{name: tuples}": lambda _: {name: [row[1:] for row in RUN_ROWS if row[0] == name] for name in NAMES},
    "{name: ranked lists}": lambda _: {name: ranked(name) for name in NAMES},
    "{name: pandas}": lambda _: {
        name: pd.DataFrame(RUN_TABLE).query("run == @name").drop(columns="run") for name in NAMES
    },
    "{name: lazy}": lambda _: {
        name: pl.LazyFrame(RUN_TABLE).filter(pl.col("run") == name).drop("run") for name in NAMES
    },
    "pandas": lambda _: pd.DataFrame(RUN_TABLE),
    "Polars": lambda _: pl.DataFrame(RUN_TABLE),
    "lazy": lambda _: pl.LazyFrame(RUN_TABLE),
    "pyarrow table": lambda _: pa.table(RUN_TABLE),
    "pyarrow batch": lambda _: pa.RecordBatch.from_pydict(RUN_TABLE),
    "list of frames": lambda _: [pl.DataFrame(RUN_TABLE).filter(pl.col("run") == name) for name in NAMES],
}
ONE_RUN: dict[str, Callable[[Path], Any]] = {
    "str": lambda place: str(place / "runs" / f"{NAMES[0]}.txt"),
    "Path": lambda place: place / "runs" / f"{NAMES[0]}.txt",
    "dict": lambda _: DICTS[NAMES[0]],
    "Run": lambda _: COLLECTION.runs[0],
    "ranked lists": lambda _: ranked(NAMES[0]),
    "ScoredDocs": lambda _: scored(NAMES[0]),
    "iterator of ScoredDoc": lambda _: iter(scored(NAMES[0])),
    "tuples": lambda _: [row[1:] for row in RUN_ROWS if row[0] == NAMES[0]],
    "pandas": lambda _: pd.DataFrame(RUN_TABLE).query(f"run == '{NAMES[0]}'"),
    "lazy": lambda _: pl.LazyFrame(RUN_TABLE).filter(pl.col("run") == NAMES[0]),
    "pyarrow": lambda _: pa.Table.from_pylist(
        [dict(zip(RUN_TABLE, row, strict=True)) for row in RUN_ROWS if row[0] == NAMES[0]]
    ),
}
QRELS: dict[str, Callable[[Path], Any]] = {
    "Qrels": lambda _: COLLECTION.qrels,
    "str": lambda place: str(place / "qrels.txt"),
    "Path": lambda place: place / "qrels.txt",
    "dict": lambda _: JUDGED,
    "ir_measures' Qrel": lambda _: judged(),
    "iterator of Qrel": lambda _: iter(judged()),
    "tuples": lambda _: QREL_ROWS,
    "pandas": lambda _: pd.DataFrame(QREL_TABLE),
    "Polars": lambda _: pl.DataFrame(QREL_TABLE),
    "lazy": lambda _: pl.LazyFrame(QREL_TABLE),
    "pyarrow": lambda _: pa.table(QREL_TABLE),
}
MEASURES: dict[str, Callable[[], Any]] = {
    "texts": lambda: ["AP", "P@5"],
    "tuple": lambda: ("AP", "P@5"),
    "iterator": lambda: iter(["AP", "P@5"]),
    "Measures": lambda: parse_measures(["AP", "P@5"]),
    "ir_measures": lambda: [ir_measures.AP, ir_measures.P @ 5],
    "mixed": lambda: [ir_measures.AP, "P@5"],
}


def _compared(qrels: Any, runs: Any, measures: Any) -> Any:
    found = compare(qrels, runs, measures)
    order = [found.runs.index(name) for name in NAMES]
    return found.values[order]


def _audited(qrels: Any, runs: Any, measures: Any) -> Any:
    found = audit(qrels, runs, measures)
    assert len(found.ties().shares) == len(NAMES)  # ranked lists have none
    return found.values()[[found.runs.runs.index(name) for name in NAMES]]


def _held(qrels: Any, runs: Any, measures: Any) -> Any:
    found = holds(qrels, runs, measures, draws=5)
    return np.concatenate([found.concluded, found.conclusion, found.sign])


def _evaluated(qrels: Any, runs: Any, measures: Any) -> Any:
    found = evaluate(qrels, runs, measures)
    return found.values[[found.runs.index(name) for name in NAMES]]


def _over_depth(qrels: Any, runs: Any, measures: Any) -> Any:
    cut = [str(measure).partition("@")[0] for measure in parse_measures(measures)]
    found = depth(qrels, runs, cut, depths=[2, 5])
    return found.frame.to_dict(as_series=False)


def _calibrated(qrels: Any, runs: Any, measures: Any) -> Any:
    found = calibrate(
        qrels, runs, measures, scenarios=["sample:0.5"], claims=["holds"], until="runs:20", repeats=1, draws=5,
        resamples=2,
    )  # fmt: skip
    return found.judgments, sorted(found.runs), len(found.scores)


def _pooled(qrels: Any, runs: Any, _: Any) -> Any:
    return sounding.pool(runs, qrels=qrels, depth=5, budget=20).documents()


def _planned(qrels: Any, runs: Any, measures: Any) -> Any:
    first = next(iter(measures))
    found = sounding.plan(qrels, runs, measure=first, depth=5, prior="0.5", views=["documents"])
    return found.documents(), dict(sorted(zip(found.confidence.runs, found.confidence.values, strict=True)))


def _simulated(qrels: Any, runs: Any, measures: Any) -> Any:
    first = next(iter(measures))
    found = sounding.simulate(
        qrels, runs, strategies=["rank"], judgments=8, measure=first, depth=5, prior="0.5"
    )
    return found.trials[0].documents, [row.relevant for row in found.checkpoints]


def _reported(qrels: Any, runs: Any, measures: Any) -> Any:
    found = sounding.report(qrels, runs, measures, sections=["methods"]).scores
    return found.values[[found.runs.index(name) for name in NAMES]][:, :2]


def _estimated(qrels: Any, runs: Any, measures: Any) -> Any:
    by_rank = [measure for measure in parse_measures(measures) if measure.name == "P"]
    found = sounding.estimate(qrels, runs, by_rank, labels={"machine": JUDGED})
    return found.estimates[0].values[[found.runs.index(name) for name in NAMES]]


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "evaluate": _evaluated, "compare": _compared, "audit": _audited, "holds": _held,
    "depth": _over_depth, "calibrate": _calibrated, "pool": _pooled, "plan": _planned,
    "simulate": _simulated, "report": _reported, "estimate": _estimated,
}  # fmt: skip
_EXPECTED: dict[str, Any] = {}


def expected(function: str) -> Any:
    if function not in _EXPECTED:
        _EXPECTED[function] = FUNCTIONS[function](COLLECTION.qrels, list(COLLECTION.runs), ["AP", "P@5"])
    return _EXPECTED[function]


def same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, np.ndarray):
        np.testing.assert_array_equal(found, wanted)
    elif isinstance(wanted, dict):
        assert str(found) == str(wanted)
    else:
        assert found == wanted


def test_no_public_function_that_takes_runs_or_judgments_is_forgotten() -> None:
    takes = {"runs", "qrels", "measures", "sources", "source", "run"}
    tried = {
        *FUNCTIONS, "read_run", "read_runs", "read_qrels", "write_run", "write_qrels", "agree",
        "with_assessment", "read_panel", "read_topics", "check", "convert", "compare_scores",
        "track",  # hands all of them to `evaluate`
        "read_labels",  # on files and tables, in tests/data/test_labels.py
    }  # fmt: skip
    found = {
        name
        for name in sounding.__all__
        if name[0].islower() and takes.intersection(inspect.signature(getattr(sounding, name)).parameters)
    }
    assert found <= tried


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", RUNS)
def test_every_function_takes_every_kind_of_runs(folder: Path, function: str, kind: str) -> None:
    same(FUNCTIONS[function](COLLECTION.qrels, RUNS[kind](folder), ["AP", "P@5"]), expected(function))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", QRELS)
def test_every_function_takes_every_kind_of_judgments(folder: Path, function: str, kind: str) -> None:
    same(FUNCTIONS[function](QRELS[kind](folder), list(COLLECTION.runs), ["AP", "P@5"]), expected(function))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", MEASURES)
def test_every_function_takes_every_kind_of_measures(function: str, kind: str) -> None:
    same(FUNCTIONS[function](COLLECTION.qrels, list(COLLECTION.runs), MEASURES[kind]()), expected(function))


@pytest.mark.parametrize("kind", ONE_RUN)
def test_one_run_is_read_from_every_kind(folder: Path, kind: str, tmp_path: Path) -> None:
    wanted = evaluate(COLLECTION.qrels, COLLECTION.runs[0], ["AP"]).values
    np.testing.assert_array_equal(
        evaluate(COLLECTION.qrels, read_run(ONE_RUN[kind](folder)), ["AP"]).values, wanted
    )
    np.testing.assert_array_equal(evaluate(COLLECTION.qrels, ONE_RUN[kind](folder), "AP").values, wanted)
    write_run(ONE_RUN[kind](folder), tmp_path / "run.txt")
    np.testing.assert_array_equal(evaluate(COLLECTION.qrels, tmp_path / "run.txt", ["AP"]).values, wanted)
    assert len(read_runs(ONE_RUN[kind](folder))) == 1


@pytest.mark.parametrize("kind", RUNS)
def test_several_runs_are_read_from_every_kind(folder: Path, kind: str) -> None:
    assert sorted(run.name for run in read_runs(RUNS[kind](folder))) == sorted(NAMES)
    panel = read_panel({"judged": COLLECTION.qrels, "truth": COLLECTION.truth})
    effects = agree(panel, RUNS[kind](folder), [ir_measures.AP]).effects
    assert sorted(effects[0].systems) == sorted(NAMES)


def test_ranked_lists_keep_their_order_and_say_what_is_wrong() -> None:
    run = read_run({"1": ("c", "a", "b"), "2": [], "3": [7, 5]}, with_ranks=True)
    assert [row[:2] for row in run.frame.iter_rows()] == [
        ("1", "c"), ("1", "a"), ("1", "b"), ("3", "7"), ("3", "5"),
    ]  # fmt: skip
    assert run.ranks is not None
    assert run.ranks.tolist() == [1, 2, 3, 1, 2]
    qrels = {"1": {"a": 1}, "3": {"5": 1}}
    assert evaluate(qrels, {"1": ["c", "a"], "3": [5]}, ["RR"]).values.ravel().tolist() == [0.5, 1]
    both = {"x": {"1": ["a"]}, "y": {"1": ["c", "a"]}}
    assert evaluate(qrels, both, ["RR"]).values[:, 0, 0].tolist() == [1, 0.5]
    wrong: list[Any] = [
        {"1": ["a", "b"], "2": {"a": 1.0}}, {"1": ["a", "a"]}, {"1": [], "2": []}, {"1": ["a", None]},
    ]  # fmt: skip
    for one in wrong:
        with pytest.raises(SoundingError):
            evaluate(qrels, one, ["RR"])
    with pytest.raises(DataError, match="grade"):
        read_qrels({"1": ["a"]})


@pytest.mark.parametrize("kind", QRELS)
def test_judgments_are_read_and_written_from_every_kind(folder: Path, kind: str, tmp_path: Path) -> None:
    assert qrels_dict(read_qrels(QRELS[kind](folder))) == JUDGED
    write_qrels(QRELS[kind](folder), tmp_path / "qrels.txt")
    assert qrels_dict(read_qrels(tmp_path / "qrels.txt")) == JUDGED
    panel = read_panel({"one": QRELS[kind](folder), "other": COLLECTION.truth})
    assert panel.assessors == ("one", "other")


@pytest.mark.parametrize("kind", MEASURES)
def test_measures_with_assessment(kind: str) -> None:
    assert with_assessment(MEASURES[kind]()) == with_assessment(["AP", "P@5"])


def test_a_mapping_of_runs_never_opens_files_called_like_its_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in NAMES[:2]:
        Path(name).write_text("1 Q0 nothing 1 1 nobody\n")
    runs = {name: DICTS[name] for name in NAMES[:2]}
    found = compare(COLLECTION.qrels, runs, ["AP"])
    same(found.values, evaluate(COLLECTION.qrels, runs, ["AP"]).values)
    assert found.runs == tuple(NAMES[:2])


def test_one_measure_stands_for_a_list_of_one() -> None:
    for one in ("AP", parse_measures(["AP"])[0], ir_measures.AP):
        assert parse_measures(one) == parse_measures(["AP"])


@pytest.mark.parametrize(
    "rows",
    [
        [ir_measures.Qrel("1", "d", 1)],  # judgments, where runs are wanted
        [("1", "d", 1.0), ("1", "e")],
        [("1", "d", 1.0), None],
        [("1", "d", "high")],
        [1, 2],
        pl.LazyFrame({"a": [1]}).select("b"),
        pd.DataFrame({"a": [1]}),
        pa.table({"a": [1]}),
    ],
)
def test_rows_that_are_none_are_refused_in_a_line(rows: Any) -> None:
    for function in (read_run, lambda runs: evaluate(JUDGED, runs, ["AP"])):
        with pytest.raises(SoundingError) as caught:
            function(rows)
        assert "\n" not in str(caught.value)


def test_scored_documents_are_no_judgments() -> None:
    with pytest.raises(DataError, match="relevance"):
        read_qrels([ir_measures.ScoredDoc("1", "d", 1.0)])
