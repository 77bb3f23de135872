"""Files that are not on this machine: fsspec's memory, a loopback HTTP server, a loopback S3 server."""

from __future__ import annotations

import functools
import gzip
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import require

import sounding
from sounding.cli import main
from sounding.core.errors import DataError, FormatError, MissingPartError
from sounding.data.finding import find_files, find_runs
from sounding.data.formats import read_qrels, read_run
from sounding.data.sources import is_remote, plain_name, size_of

fsspec = require("fsspec")

QRELS = "1 0 a 1\n1 0 b 0\n2 0 c 2\n2 0 d 1\n"
RUNS = {
    "one.txt": "1 Q0 a 1 3 one\n1 Q0 b 2 2 one\n2 Q0 d 1 1 one\n",
    "two.txt.gz": "1 Q0 b 1 3 two\n1 Q0 x 2 2 two\n2 Q0 c 1 1 two\n",
}
PACKED = {
    name: gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    for name, text in RUNS.items()
}
AP = {
    "one": (1 + 0.5) / 2,
    "two": (0 + 0.5) / 2,
}  # by hand: topic 1 finds a at 1 or never; topic 2 one of two at 1


class Quiet(SimpleHTTPRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


def write_to(folder: Path) -> None:
    (folder / "runs").mkdir(parents=True)
    (folder / "qrels.txt").write_text(QRELS)
    (folder / "runs" / "README").write_text("not a run\n")
    for name, data in PACKED.items():
        (folder / "runs" / name).write_bytes(data)


@pytest.fixture
def memory() -> Iterator[str]:
    system = fsspec.filesystem("memory")
    system.pipe("/trial/qrels.txt", QRELS.encode())
    system.pipe("/trial/runs/README", b"not a run\n")
    for name, data in PACKED.items():
        system.pipe(f"/trial/runs/{name}", data)
    yield "memory://trial"
    system.rm("/trial", recursive=True)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    require("aiohttp")
    write_to(tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """A bucket of an S3 server that is here and gone with the test."""
    require("s3fs")
    moto = require("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "nobody")
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system = fsspec.filesystem("s3", skip_instance_cache=True)
        system.mkdir("trial")
        system.pipe("trial/qrels.txt", QRELS.encode())
        for name, data in PACKED.items():
            system.pipe(f"trial/runs/{name}", data)
        yield "s3://trial"
    fsspec.filesystem("s3").clear_instance_cache()
    server.stop()


@pytest.fixture(params=["memory", "web", "store"])
def place(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param)
    return found


def check(scores: sounding.Scores) -> None:
    assert dict(zip(scores.runs, scores.mean()[:, 0].tolist(), strict=True)) == AP


def test_runs_and_judgments_are_read_from_anywhere(place: str) -> None:
    check(sounding.evaluate(f"{place}/qrels.txt", [f"{place}/runs/{name}" for name in RUNS], ["AP"]))


@pytest.mark.parametrize("kind", ["memory", "store"])
def test_folders_and_globs_are_looked_into(kind: str, request: pytest.FixtureRequest) -> None:
    place = request.getfixturevalue(kind)
    check(sounding.evaluate(f"{place}/qrels.txt", f"{place}/runs", ["AP"]))
    check(sounding.evaluate(f"{place}/qrels.txt", f"{place}/runs/*.t*", ["AP"]))
    assert [name.rpartition("/")[2] for name in find_runs([f"{place}/runs/o*"])] == ["one.txt"]
    with pytest.raises(DataError, match=r"no file matches '.*/runs/\*\.csv'; check the pattern"):
        find_runs([f"{place}/runs/*.csv"])


def test_processes_share_remote_runs(place: str) -> None:
    check(sounding.evaluate(f"{place}/qrels.txt", [f"{place}/runs/{name}" for name in RUNS], ["AP"], jobs=2))


def test_what_is_not_there_is_one_line(place: str) -> None:
    with pytest.raises(FormatError, match=r"gone\.txt: no such file; check the address"):
        read_run(f"{place}/runs/gone.txt")


def test_a_server_that_does_not_answer_is_told_from_a_file_that_is_not_there() -> None:
    require("aiohttp")
    with pytest.raises(FormatError, match=r"x\.txt: cannot be read \(.*[Cc]onnect"):
        read_run("http://127.0.0.1:1/x.txt")


def test_a_mistake_in_a_remote_file_has_its_line(memory: str) -> None:
    fsspec.filesystem("memory").pipe("/trial/bad.txt", b"1 Q0 a 1 3 t\n1 Q0 b 2 x t\n")
    with pytest.raises(FormatError, match=r"memory://trial/bad\.txt:2: score 'x' is not a number"):
        read_run(f"{memory}/bad.txt")


def test_the_command_line_takes_addresses(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(
            [
                "evaluate",
                f"{memory}/qrels.txt",
                f"{memory}/runs/*.txt*",
                "-m",
                "AP",
                "--format",
                "csv",
                "--quiet",
            ]
        )
    assert not left.value.code
    assert capsys.readouterr().out.splitlines()[1].startswith("one,AP,,0.75")


def test_remote_parquet_is_read(memory: str, tmp_path: Path) -> None:
    from sounding.convert.converting import convert

    (tmp_path / "one.txt").write_text(RUNS["one.txt"])
    convert(tmp_path / "one.txt", tmp_path / "one.parquet")
    fsspec.filesystem("memory").pipe("/trial/one.parquet", (tmp_path / "one.parquet").read_bytes())
    run = read_run(f"{memory}/one.parquet")
    assert (run.topics, run.docs.texts(), run.scores.tolist()) == (
        ("1", "2"),
        ["a", "b", "d"],
        [3.0, 2.0, 1.0],
    )


def test_a_large_remote_run_is_read_in_parts(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sounding.evaluate(f"{place}/qrels.txt", [f"{place}/runs/{name}" for name in RUNS], ["AP", "P@5"])
    for name, value in (("LARGE", 1), ("LARGE_PACKED", 1), ("PART", 16)):
        monkeypatch.setattr(f"sounding.data.large_files.{name}", value)
    parts = sounding.evaluate(f"{place}/qrels.txt", [f"{place}/runs/{name}" for name in RUNS], ["AP", "P@5"])
    assert parts.runs == whole.runs
    assert np.array_equal(parts.values, whole.values)


def test_a_store_that_nobody_knows_and_one_that_is_not_installed_are_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(FormatError, match=r"what://x/y: cannot be read \(Protocol not known: what\)"):
        read_qrels("what://x/y")
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(MissingPartError, match=r"reading 's3://b/x' needs .*'fsspec'.*sounding\[remote\]"):
        read_run("s3://b/x")


@pytest.mark.parametrize(
    ("source", "remote"),
    [("s3://b/k", True), ("https://h/x?sig=1", True), ("simplecache::s3://b/k", True), ("runs/a.txt", False),
     ("irds:beir/scifact/test", False), ("C:/x", False), ("-", False)],
)  # fmt: skip
def test_addresses_are_told_from_names(source: str, remote: bool) -> None:
    assert is_remote(source) is remote


def test_the_signature_of_a_link_is_no_part_of_a_runs_name() -> None:
    assert plain_name("https://host/runs/bm25.txt.gz?sig=a.b/c") == "bm25"


def test_sizes_and_lists_of_files_are_told(memory: str) -> None:
    assert size_of(f"{memory}/qrels.txt") == len(QRELS)
    assert len(find_files([f"{memory}/runs"])) == 2
