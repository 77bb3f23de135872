"""`sounding demo --judge`: a project in one command, with people who can sign in and documents to judge."""

from __future__ import annotations

import importlib.util
import math
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from httpx2 import Client
from tests.conftest import require
from tests.judge.web import make_project, signed_in

from sounding.cli import cli
from sounding.core.errors import DataError
from sounding.data.corpus import Document
from sounding.demo import server as demo
from sounding.demo.library import (
    K1,
    MU,
    QUESTIONS,
    B,
    Index,
    bm25,
    compiled,
    cosine,
    documented,
    expanded,
    library_documents,
    library_sources,
    likelihood,
    make_runs,
    models,
    pieces,
    plain,
    stems,
)
from sounding.demo.server import create_demo, is_demo, judging_lines, open_demo
from sounding.judge.app import can_listen
from sounding.judge.project import Project

SOURCE = '''
"""What the module is for, in more than eight words of plain text."""
def public(x):
    """Public function that is documented with eight words."""
    def inner():
        """Not to be found by anybody who only reads names."""
def _private():
    """Private function that is documented with eight words too."""
class Kept:
    """Short."""
    def method(self):
        """Method of a class whose own documentation is short."""
def public(x, y):
    """Another function of the same name with its own words."""
'''


@pytest.fixture(scope="module")
def library() -> list[Document]:
    return library_documents()


def sources(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text)
    return folder


def test_documentation_is_read_from_sources_and_nothing_of_them_runs(tmp_path: Path) -> None:
    folder = sources(tmp_path, part=SOURCE, broken="def (", test__hidden=SOURCE, _private=SOURCE)
    (folder / "effect.py").write_text("raise SystemExit('was run')\n")
    own = [
        one.doc
        for one in library_documents(folder)
        if not one.doc.startswith(("builtins", "gc", "itertools", "math", "sys", "time"))
    ]
    assert own == ["part", "part.Kept.method", "part.public"]
    texts = dict(documented(folder / "part.py", "m"))
    assert texts["m.Kept"] == "Short."
    assert [path.name for path in library_sources(folder)] == ["broken.py", "effect.py", "part.py"]
    [public] = [one for one in library_documents(folder) if one.doc == "part.public"]
    assert public.text == "part.public\n\nPublic function that is documented with eight words."


def test_without_sources_the_demo_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no sources of the standard library"):
        library_documents(tmp_path)


def test_compiled_modules_tell_their_documentation() -> None:
    found = dict(compiled(math))
    assert found["math.sqrt"] == "Return the square root of x."
    assert found["math"] == math.__doc__
    assert "math.pi" not in found


def test_the_library_has_thousands_of_documents_each_with_a_name_of_its_own(library: list[Document]) -> None:
    assert len(library) > 3000
    assert len({one.doc for one in library}) == len(library)
    names = {one.doc for one in library}
    assert {"shutil.copytree", "subprocess.run", "random.Random.sample", "itertools.chain"} <= names
    assert not any(part.startswith("_") for name in names for part in name.split("."))


def test_words_stems_and_pieces() -> None:
    assert plain("How to Copy the TREE-like ab12") == ["copy", "tree", "like", "ab", "12"]
    assert stems("copying files used caches operations is") == ["copy", "fil", "used", "cach", "oper"]
    assert pieces("cached abc") == ["cach", "ache", "ched", "abc"]


TEXTS = [["a", "b", "a"], ["b", "c"], ["c", "c", "d", "e"], []]


def test_bm25_by_hand() -> None:
    index = Index.of(TEXTS)
    rarity = math.log(1 + (4 - 2 + 0.5) / 2.5)  # of b: two of four documents have it
    by_hand = [rarity * 2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 2.25)) for length in (3, 2)]
    np.testing.assert_allclose(bm25(index, index.known(["b", "zzz"])), [*by_hand, 0, 0])
    once, twice = bm25(index, index.known(["a"])), bm25(index, index.known(["a", "a"]))
    np.testing.assert_allclose(twice, 2 * once)
    assert once[0] == pytest.approx(math.log(1 + 3.5 / 1.5) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2.25)))


def test_the_likelihood_orders_documents_as_its_definition_does() -> None:
    index = Index.of(TEXTS)
    words, counts = 9, Counter(word for text in TEXTS for word in text)
    query = ["b", "c"]
    by_hand = [
        sum(math.log((text.count(word) + MU * counts[word] / words) / (len(text) + MU)) for word in query)
        for text in TEXTS
    ]
    empty = sum(math.log(counts[word] / words) for word in query)
    np.testing.assert_allclose(likelihood(index, index.known(query)), np.array(by_hand) - empty)


def test_the_cosine_of_a_document_with_itself_is_the_length_of_the_query() -> None:
    index = Index.of([["a", "b"], ["a"], ["c", "d"], []])
    found = cosine(index, index.known(["a", "b"]))
    query = index.rarity[index.known(["a", "b"])]
    assert found[0] == pytest.approx(np.sqrt((query**2).sum()))
    assert found[0] > found[1] > found[2] == found[3] == 0


def test_expansion_finds_what_the_query_does_not_name() -> None:
    texts = [["q", "near"]] * 5 + [["near"], ["far"]] + [["common"]] * 20
    index = Index.of(texts)
    found = expanded(index, index.known(["q"]))
    assert found[0] > found[5] > 0 == found[6]


def test_runs_differ_and_have_documents_for_every_topic(library: list[Document]) -> None:
    require("bm25s")
    runs = make_runs(library, QUESTIONS, 20)
    assert {"bm25", "names", "pieces", "bm25s-lucene", "bm25s-bm25l"} <= set(runs)
    for name, found in runs.items():
        assert list(found) == [one.id for one in QUESTIONS]
        assert all(docs or name == "names" for docs in found.values()), name
        for docs in found.values():
            assert len(docs) <= 20
            assert list(docs.values()) == sorted(docs.values(), reverse=True)
    assert len({tuple(docs) for docs in (found["D01"] for found in runs.values())}) == len(runs)


def test_bm25s_with_our_words_ranks_as_our_bm25_does(library: list[Document]) -> None:
    """The same formula in another's hands; its scores are single precision and leave out a factor of k1 + 1."""
    bm25s = require("bm25s")
    texts = [plain(one.text) for one in library[:600]]
    index = Index.of(texts)
    peer = bm25s.BM25(k1=K1, b=B, method="lucene")
    peer.index(texts, show_progress=False)
    for asked in QUESTIONS:
        words = [word for word in plain(asked.title) if word in index.terms]
        np.testing.assert_allclose(
            bm25(index, index.known(words)) / (K1 + 1), peer.get_scores(words), atol=1e-4
        )


def test_without_the_package_there_are_fewer_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    documents = [Document(f"m.f{number}", f"m.f{number}\n\ncopy a tree {number}") for number in range(5)]
    assert sorted(models(documents)) == [
        "bm25", "bm25-expanded", "bm25-long", "bm25-stems", "cosine", "likelihood", "names", "pieces",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def small_demo(tmp_path_factory: pytest.TempPathFactory, library: list[Document]) -> Iterator[Project]:
    project, _ = create_demo(tmp_path_factory.mktemp("demo") / "here", library[::3])
    with project:
        yield project


def test_a_demo_that_was_stopped_while_it_was_made_can_begin_again(
    library: list[Document], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_add_people", stopped)
    with pytest.raises(KeyboardInterrupt):
        create_demo(tmp_path / "here", library[:200])
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    create_demo(tmp_path / "here", library[:200])[0].store.close()
    assert is_demo(tmp_path / "here")
    with pytest.raises(DataError, match="not an empty folder"):
        create_demo(tmp_path / "here", library[:200])


def test_the_demo_names_everybody_and_each_can_do_their_work(small_demo: Project) -> None:
    again, people = open_demo(small_demo.folder)
    with again:
        said = "\n".join(judging_lines(again, people))
    ann, bob, olga = people
    assert sorted(ann.topics + bob.topics) == [one.id for one in QUESTIONS]
    for person in people:
        assert re.search(rf"{person.name} +password {person.password}  {person.role}", said)
    judge = signed_in(small_demo, "ann", password=ann.password)
    topics = judge.get("/api/topics").json()
    assert [one["topic"] for one in topics] == sorted(ann.topics)
    assert all(one["coming"]["words"].startswith("4 of 4 left in this batch") for one in topics)
    work = judge.get("/api/next", params={"topic": ann.topics[0]}).json()
    grading = {"topic": ann.topics[0], "doc": work["documents"][0]["doc"], "grade": 2, "key": "demo-key-1"}
    assert judge.send("/api/judge", grading).status_code == 200
    watch = signed_in(small_demo, "olga", password=olga.password)
    state = watch.get("/api/live").json()
    assert (state["judged"], state["relevant"]) == (1, 1)
    assert "pieces" not in [run["name"] for run in state["runs"]]
    later = small_demo.folder / "source" / "pieces.txt"
    watch.get("/organize/project")
    with later.open("rb") as file:
        answer = watch.client.post(
            "/organize/runs", data={"token": watch.token}, files={"run": ("pieces.txt", file)}
        )
    assert answer.status_code == 200
    assert "pieces" in small_demo.engine.run_names()
    assert "You are looking for help" in judge.get(f"/judge?topic={ann.topics[0]}").text


def test_another_project_is_not_taken_for_a_demo(tmp_path: Path) -> None:
    with make_project(tmp_path) as project:
        folder = project.folder
    with pytest.raises(DataError, match="no demo; serve it with: sounding judge serve"):
        is_demo(folder)
    assert not is_demo(tmp_path / "nothing")
    done = CliRunner().invoke(cli, ["demo", "--judge", str(folder)])
    assert isinstance(done.exception, DataError)


def test_a_list_of_people_that_is_damaged_is_named(small_demo: Project, tmp_path: Path) -> None:
    (tmp_path / "people.json").write_text("[{}]")
    with pytest.raises(DataError, match=r"people\.json cannot be read"):
        open_demo(tmp_path)


def test_a_port_that_is_taken_is_noticed() -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not can_listen("127.0.0.1", port)
    assert can_listen("127.0.0.1", 0)


def test_a_port_without_a_server_is_refused() -> None:
    done = CliRunner().invoke(cli, ["demo", "--port", "8000"])
    assert done.exit_code == 2
    assert "give --judge as well" in done.output


def test_a_seed_for_a_server_is_refused() -> None:
    done = CliRunner().invoke(cli, ["demo", "--judge", "--seed", "3"])
    assert done.exit_code == 2
    assert "--seed is for the simulated collection" in done.output


def test_one_command_starts_a_server_where_people_judge(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sounding", "demo", "--judge", "mine", "--port", "0"]
    first = judged_in_a_demo(command, tmp_path)
    assert judged_in_a_demo(command, tmp_path) == first + 1  # the second goes on where the first one stopped


def judged_in_a_demo(command: list[str], folder: Path) -> int:
    """Start the demo, sign in with what it printed, judge a document, stop it; returns how many are judged."""
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        assert server.stderr is not None
        said = server.stderr.readline()
        if "making a project" in said:  # the first time
            said = server.stderr.readline()
        address = re.search(r"http://\S+", said)
        assert address is not None
        with Client(base_url=address.group(), timeout=60) as client:
            lines: list[str] = []
            while not (lines and lines[-1].startswith("5. ")):
                lines.append(server.stdout.readline())
            secret = re.search(r"ann +password (\w+)", "".join(lines))
            assert secret is not None
            token = client.get("/api/token").json()["token"]
            answer = client.post(
                "/api/sign-in",
                json={"name": "ann", "password": secret.group(1)},
                headers={"X-Page-Token": token},
            )
            assert answer.status_code == 204
            token = client.get("/api/token").json()["token"]
            topic = client.get("/api/topics").json()[0]["topic"]
            doc = client.get("/api/next", params={"topic": topic}).json()["documents"][0]["doc"]
            given = {"topic": topic, "doc": doc, "grade": 1, "key": f"key-for-{doc}"[:100].replace(".", "-")}
            assert client.post("/api/judge", json=given, headers={"X-Page-Token": token}).status_code == 200
            return int(client.get("/api/topics").json()[0]["judged"])
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)
