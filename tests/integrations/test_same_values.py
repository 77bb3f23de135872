"""Whatever the way in or out, the values of an integration are those of `sounding evaluate`, bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from tests.conftest import require
from tests.data.test_layouts import in_lines, judgments_of, orders_of, runs_of

from sounding import convert, evaluate, track
from sounding.integrations import pytest as plugin

ir_measures = require("ir_measures")
pt = require("pyterrier")
mlflow = require("mlflow")
wandb = require("wandb")

MEASURES = ["AP", "nDCG@10", "RR", "P@5", "R@20"]
TOPICS = [f"q{number}" for number in range(10)]
RNG = np.random.default_rng(8)
# No ties: some layouts hold an order without scores. All have grades from 0 to 2.
RANKING = {
    topic: [
        (f"d{doc}", float(score))
        for doc, score in zip(RNG.permutation(60)[:30], -np.sort(-RNG.random(30)), strict=True)
    ]
    for topic in TOPICS
}
GRADES = {
    topic: {
        f"d{doc}": int(grade)
        for doc, grade in zip(RNG.permutation(60)[:20], RNG.integers(0, 3, 20), strict=True)
    }
    for topic in TOPICS
}
RUN = {topic: dict(docs) for topic, docs in RANKING.items()}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the judgments and the run as TREC has them."""
    folder = tmp_path_factory.mktemp("files")
    qrels = (f"{topic} 0 {doc} {grade}\n" for topic, rated in GRADES.items() for doc, grade in rated.items())
    (folder / "qrels.txt").write_text("".join(qrels))
    lines = (f"{topic} Q0 {doc} 1 {score!r} x\n" for topic, docs in RANKING.items() for doc, score in docs)
    (folder / "run.txt").write_text("".join(lines))
    return folder


@pytest.fixture(scope="module")
def wanted(files: Path) -> list[float]:
    """The means by `evaluate`, from TREC files."""
    return evaluate(files / "qrels.txt", files / "run.txt", MEASURES).mean()[0].tolist()


def means(qrels: Any, run: Any) -> list[float]:
    return evaluate(qrels, run, MEASURES).mean()[0].tolist()


LAYOUTS = {**runs_of(RANKING), **{f"order: {name}": value for name, value in orders_of(RANKING).items()}}


@pytest.mark.parametrize("name", LAYOUTS)
def test_runs_in_other_layouts(name: str, files: Path, wanted: list[float], tmp_path: Path) -> None:
    for suffix, text in (("json", json.dumps(LAYOUTS[name])), ("jsonl", in_lines(LAYOUTS[name]))):
        (tmp_path / f"run.{suffix}").write_text(text)
        assert means(files / "qrels.txt", tmp_path / f"run.{suffix}") == wanted


JUDGMENTS = judgments_of(GRADES)


@pytest.mark.parametrize("name", JUDGMENTS)
def test_judgments_in_other_layouts(name: str, files: Path, wanted: list[float], tmp_path: Path) -> None:
    (tmp_path / "qrels.json").write_text(json.dumps(JUDGMENTS[name]))
    assert means(tmp_path / "qrels.json", files / "run.txt") == wanted


@pytest.mark.parametrize("target", ["rank_eval", "opensearch", "quepid"])
def test_judgments_that_convert_writes(target: Any, files: Path, wanted: list[float], tmp_path: Path) -> None:
    convert(files / "qrels.txt", tmp_path / "out.json", to=target)
    assert means(tmp_path / "out.json", files / "run.txt") == wanted


def test_a_folder_of_beir(files: Path, wanted: list[float], tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text("")
    rows = (f"{topic}\t{doc}\t{grade}\n" for topic, rated in GRADES.items() for doc, grade in rated.items())
    (tmp_path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    assert means(tmp_path, files / "run.txt") == wanted


# -- tools that are called from Python -------------------------------------------------------------


def by_ir_measures() -> list[float]:
    from sounding.integrations import ir_measures as ours

    asked = [ours.Value(of=name) for name in MEASURES]
    found = ir_measures.calc_aggregate(asked, GRADES, RUN)
    return [found[measure] for measure in asked]


def by_pyterrier() -> list[float]:
    from sounding.integrations.pyterrier import experiment

    run = pandas.DataFrame(
        [
            (topic, "text", doc, score, rank)
            for topic, docs in RANKING.items()
            for rank, (doc, score) in enumerate(docs)
        ],
        columns=["qid", "query", "docno", "score", "rank"],
    )
    topics = pandas.DataFrame({"qid": TOPICS, "query": "text"})
    rows = [(topic, doc, grade) for topic, rated in GRADES.items() for doc, grade in rated.items()]
    qrels = pandas.DataFrame(rows, columns=["qid", "docno", "label"])
    found = experiment({"x": run}, topics, qrels, MEASURES)
    return [float(found[name].iloc[0]) for name in MEASURES]


def by_pytest() -> list[float]:
    kept: dict[str, float] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin, "_record", lambda measure, values: kept.update({measure: values[1]}))
        plugin.assert_no_regression(GRADES, RUN, RUN, MEASURES)
    return [kept[name] for name in MEASURES]


def by_track() -> list[float]:
    return track("history.sqlite", GRADES, {"x": RUN}, MEASURES, commit="1").mean()[0, :, 0].tolist()


def by_mlflow() -> list[float]:
    from sounding.integrations.mlflow import log

    with mlflow.start_run() as run:
        log(evaluate(GRADES, RUN, MEASURES))
    found = mlflow.get_run(run.info.run_id).data.metrics
    return [found[name.replace("@", ".")] for name in MEASURES]


def by_wandb() -> Iterator[float]:
    from sounding.integrations.wandb import log

    class Recorded:
        """A run of Weights & Biases that keeps what it is given; the real one rounds what it shows."""

        figures: dict[str, Any]
        config: Any

        def log(self, figures: dict[str, Any], step: int | None) -> None:
            self.figures = figures

    class Settings(dict[str, str]):
        def update(self, *_: Any, **__: Any) -> None: ...

    run = Recorded()
    run.config = Settings()
    log(evaluate(GRADES, RUN, MEASURES), run=run)
    return (run.figures[name] for name in MEASURES)


TOOLS: dict[str, Callable[[], Any]] = {
    name.removeprefix("by_"): function for name, function in list(globals().items()) if name.startswith("by_")
}


@pytest.mark.usefixtures("local_trackers")
@pytest.mark.parametrize("name", TOOLS)
def test_tools_that_are_called(
    name: str, wanted: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(TOOLS[name]()) == wanted
