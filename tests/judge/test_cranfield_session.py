"""A whole session over Cranfield through HTTP, its qrels being the assessor, against `sounding simulate`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.calling import caller
from tests.judge.databases import Server
from tests.judge.web import Browser, add_person, signed_in

from sounding.data.formats import read_qrels
from sounding.judge.project import Project, create_project
from sounding.judge.settings import Settings, parse_scale

SCALE = parse_scale("0=not relevant,1=relevant")


Simulate = Callable[..., dict[str, Any]]


@pytest.fixture
def simulate(collections: Path, capsys: pytest.CaptureFixture[str]) -> Simulate:
    """What `sounding simulate` says, as json, of judging Cranfield's runs by MTC."""
    files = [str(collections / "cranfield" / name) for name in ("cranqrel.trec.txt", "runs")]
    call = caller(capsys, "simulate")

    def simulated(*asked: str) -> dict[str, Any]:
        status, out, err = call(*files, "--strategy", "mtc", "--format", "json", "--quiet", *asked)
        assert (status, err) == (0, "")
        told: dict[str, Any] = json.loads(out)
        return told

    return simulated


@contextmanager
def begun(
    folder: Path, collections: Path, database: str | None = None, **settings: Any
) -> Iterator[tuple[Project, Browser]]:
    """A project with Cranfield's documents, runs and judged topics, and the browser of its only assessor."""
    own = collections / "cranfield"
    topics = read_qrels(str(own / "cranqrel.trec.txt")).topics
    (folder / "topics.tsv").write_text("".join(f"{topic}\ttopic {topic}\n" for topic in topics))
    with create_project(
        folder / "project", corpus=[str(own / "cran.all.1400.xml.gz")], topics=str(folder / "topics.tsv"),
        runs=[str(own / "runs")], settings=Settings(scale=SCALE, **settings), database=database,
    ) as project:  # fmt: skip
        with project.store.together():
            add_person(project, "ann", topics=topics)
        yield project, signed_in(project, "ann")


def judge(ann: Browser, project: Project, order: list[dict[str, Any]]) -> None:
    """Judge topic after topic as the simulation did: the server must bring its documents.

    The model is fitted when a fit is due, as the server does in the background, and at once, so that it is
    not left to chance which documents are chosen before it is in force.
    """
    for row in order:
        found = ann.client.get("/api/next", params={"topic": row["topic"], "count": 1}).json()["documents"]
        assert [one["doc"] for one in found] == [row["doc"]], row
        content = {"topic": row["topic"], "doc": row["doc"], "grade": row["grade"], "count": 0}
        answer = ann.send("/api/judge", {**content, "key": f"judgment-{row['judgment']}"})
        assert answer.status_code == 200
        project.engine.refit_if_due()


def agrees(project: Project, told: dict[str, Any]) -> None:
    """Whether counts, ranking, expected values and confidence are those of a simulation with all tables."""
    live, last = project.engine.live(), told["rows"][-1]
    assert (live.total.judged, live.total.relevant) == (last["judgments"], last["relevant"])
    by_topic = {row["topic"]: (row["judged"], row["relevant"]) for row in told["topics"]}
    assert {topic: counts[:2] for topic, counts in live.topics.items()} == by_topic
    expected = {row["run"]: row["expected"] for row in told["values"]}
    assert dict(zip(live.confidence.runs, live.confidence.values.tolist(), strict=True)) == pytest.approx(
        expected, abs=1e-12
    )
    places = {row["run"]: row["place"] for row in told["values"]}
    ranked = [live.confidence.runs[run] for run in live.confidence.order.tolist()]
    assert ranked == sorted(places, key=lambda run: places[run])
    assert live.confidence.of_ranking() == pytest.approx(last["confidence"], abs=1e-12)


def session_agrees(
    simulate: Simulate, collections: Path, folder: Path, asked: tuple[str, ...], database: str | None = None
) -> int:
    """Judge what a simulation judges, and compare where both end; returns the number of judgments."""
    told = simulate(*asked, "--tables")
    order = simulate(*asked, "--view", "documents", "--at", "1")["rows"]
    assert len(order) < 0.04 * told["pool"]
    with begun(folder, collections, database) as (project, ann):
        judge(ann, project, order)
        agrees(project, told)
    return len(order)


@pytest.mark.parametrize(
    ("asked", "judgments"),
    [(("--judgments", "128"), 128), pytest.param((), 1024, marks=pytest.mark.long, id="defaults")],
)
def test_a_session_over_http_judges_what_simulate_judges_and_ends_with_its_ranking(
    simulate: Simulate, collections: Path, tmp_path: Path, asked: tuple[str, ...], judgments: int
) -> None:
    assert session_agrees(simulate, collections, tmp_path, asked) == judgments


def test_a_shorter_one_does_so_with_postgresql(
    simulate: Simulate, collections: Path, tmp_path: Path, postgresql: Server
) -> None:
    url = postgresql.fresh()
    assert session_agrees(simulate, collections, tmp_path, ("--judgments", "64"), url) == 64
    postgresql.drop(url)


def test_it_does_so_with_another_measure_depth_and_seed_and_after_a_pause_anywhere(
    simulate: Simulate, collections: Path, tmp_path: Path
) -> None:
    asked = ("--measure", "nDCG@10", "--depth", "10", "--seeds", "3", "--judgments", "150")
    order = simulate(*asked, "--view", "documents")["rows"]
    assert max(Counter(row["topic"] for row in order).values()) > 1
    with begun(tmp_path, collections, measure="nDCG@10", depth=10, seed=3) as (project, ann):
        judge(ann, project, order)
        assert project.engine.live().fitted == 128
        project.engine.refit_if_due(quiet=True)
        agrees(project, simulate(*asked, "--tables"))
