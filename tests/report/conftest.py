"""Small collections in files, and what a report finds in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sounding.core.workers import Progress
from sounding.data.finding import find_runs
from sounding.data.run_info import read_run_info
from sounding.measures import parse_measures
from sounding.report.gather import gather
from sounding.report.result import Report, ReportRequest
from sounding.sample.simulation import sample

Gather = Callable[..., Report]


@contextmanager
def no_bar(total: int, label: str) -> Iterator[Progress | None]:
    yield None


@pytest.fixture(scope="session")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight runs of four groups on 16 topics, two groups pooled to depth 5; pairs are in all four cases."""
    folder = tmp_path_factory.mktemp("report") / "trial"
    collection = sample(
        topics=16, groups=4, systems=2, documents=250, prevalence=0.06, length=40, pool_depth=5, contributors=2,
        seed=4,
    )  # fmt: skip
    collection.write(folder)
    return folder


def gathered(qrels: Path, runs: list[Path], **more: Any) -> Report:
    measures = parse_measures(more.pop("measures", ("P@5", "AP")))
    parts = more.pop("parts", ("comparison", "stability", "audit"))
    request = ReportRequest(
        qrels=str(qrels), runs=tuple(find_runs(runs)), measures=measures, draws=2, command="sounding report",
        **more,
    )  # fmt: skip
    return gather(request, no_bar, parts)


@pytest.fixture(scope="session")
def found(trial: Path) -> Report:
    info = str(trial / "info.tsv")
    return gathered(
        trial / "qrels.txt", [trial / "runs"], info=read_run_info(info), info_files=(info,)
    )  # fmt: skip


@pytest.fixture
def gather_files(tmp_path: Path) -> Gather:
    """What is found in {name of a run: {topic: documents from best to worst}} with {topic: {doc: grade}}."""

    def build(runs: dict[str, dict[str, list[str]]], qrels: dict[str, dict[str, int]], **more: Any) -> Report:
        folder = tmp_path / "runs"
        folder.mkdir(exist_ok=True)
        for name, topics in runs.items():
            lines = [
                f"{topic} Q0 {doc} {rank} {-rank} {name}"
                for topic, docs in topics.items()
                for rank, doc in enumerate(docs, 1)
            ]
            file = f"{name.replace('/', '')}.txt"  # a run is named by its file
            (folder / file).write_text("\n".join(lines) + "\n")
        judged = [f"{topic} 0 {doc} {grade}" for topic, docs in qrels.items() for doc, grade in docs.items()]
        (tmp_path / "qrels.txt").write_text("\n".join(judged) + "\n")
        return gathered(tmp_path / "qrels.txt", [folder], **more)

    return build
