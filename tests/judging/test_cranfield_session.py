"""A whole session over Cranfield through HTTP, its qrels being the assessor, against the algorithm by itself."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from tests.judging.web import Browser, add_person, signed_in

from sounding.data.formats import read_qrels
from sounding.judging.project import Project, create_project
from sounding.judging.settings import Settings, parse_scale
from sounding.mtc import Session
from sounding.mtc.simulate import Truth, simulate
from sounding.retrieved import Retrieved, read_retrieved

TOPICS = 10
DEPTH = 6


@pytest.fixture(scope="module")
def cranfield(
    collections: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Project, list[Path]]]:
    """A project over the first topics of Cranfield, with all of its runs cut to their first documents."""
    folder = tmp_path_factory.mktemp("cranfield")
    runs = []
    for path in sorted((collections / "cranfield" / "runs").iterdir()):
        lines = gzip.decompress(path.read_bytes()).decode().splitlines()
        kept = [line for line in lines if int(line.split()[0]) <= TOPICS]
        runs.append(folder / path.name.removesuffix(".gz"))
        runs[-1].write_text("\n".join(kept) + "\n")
    (folder / "topics.txt").write_text(
        "".join(
            f"<top>\n<num> Number: {topic}\n<title> topic {topic}\n</top>\n" for topic in range(1, TOPICS + 1)
        )
    )
    settings = Settings(scale=parse_scale("0=not relevant,1=relevant"), depth=DEPTH)
    with create_project(
        folder / "project", corpus=[str(collections / "cranfield" / "cran.all.1400.xml.gz")],
        topics=str(folder / "topics.txt"), runs=[str(path) for path in runs], settings=settings,
    ) as project:  # fmt: skip
        add_person(project, "ann", topics=tuple(str(topic) for topic in range(1, TOPICS + 1)))
        yield project, runs


def truth_of(collections: Path) -> set[tuple[str, str]]:
    qrels = read_qrels(str(collections / "cranfield" / "cranqrel.trec.txt"))
    topics = np.repeat(np.array(qrels.topics, dtype=object), qrels.sizes).tolist()
    return {
        (topic, doc)
        for topic, doc, grade in zip(topics, qrels.docs.texts(), qrels.grades, strict=True)
        if grade >= 1
    }


def session_of(retrieved: Retrieved) -> Session:
    return Session(retrieved, measure="AP", depth=DEPTH, prior="runs", refits="asked")


def test_a_session_over_http_ends_where_the_simulation_ends(
    cranfield: tuple[Project, list[Path]], collections: Path
) -> None:
    project, runs = cranfield
    relevant = truth_of(collections)
    ann: Browser = signed_in(project, "ann")
    retrieved = read_retrieved([str(path) for path in runs], depth=DEPTH)
    beside = session_of(retrieved)
    docs, numbers = retrieved.docs.texts(), count()
    left = {str(topic) for topic in range(1, TOPICS + 1)}
    while left:
        for topic in sorted(left, key=int):
            found = ann.client.get("/api/next", params={"topic": topic, "count": 1}).json()["documents"]
            due = beside.next([retrieved.topics.index(topic)], 1)
            assert [one["doc"] for one in found] == [docs[pick.document] for pick in due]
            if not due:
                left.discard(topic)
                continue
            grade = float((topic, found[0]["doc"]) in relevant)
            given = {
                "topic": topic,
                "doc": found[0]["doc"],
                "grade": grade,
                "key": f"key-{next(numbers):08d}",
                "count": 0,
            }
            assert ann.send("/api/judge", given).status_code == 200
            beside.judge(due[0].document, grade)
    live = project.engine.live()
    assert live.judged == len(docs)
    simulated = session_of(retrieved)
    truth = Truth.of(
        retrieved, read_qrels(str(collections / "cranfield" / "cranqrel.trec.txt")), simulated.form
    )
    [row] = simulate(simulated, truth, [len(docs)])
    assert (row.judgments, row.relevant) == (live.judged, live.relevant)
    expected = simulated.confidence()
    assert live.confidence.runs == expected.runs
    assert live.confidence.values == pytest.approx(expected.values, abs=1e-12)
    assert live.confidence.order.tolist() == expected.order.tolist()
    assert live.confidence.of_ranking() == pytest.approx(row.confidence)
