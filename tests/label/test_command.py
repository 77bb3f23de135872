"""`sounding label` as a person calls it: what it writes, says and refuses, and what a stop costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars
import pytest
from tests.conftest import require
from tests.docs_examples import run_page
from tests.e2e.calling import HEED_SIGNALS, Call, caller, check_refused, next_command
from tests.label.endpoint import Answer, Asked, endpoint

import sounding

require("httpx2")

KEY = "sk-very-secret-0123456789"
COUNT = 40
TIMES = 6  # seconds until a step that hangs fails


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pool.txt").write_text("".join(f"{n % 2 + 1} d{n:02}\n" for n in range(COUNT)))
    (tmp_path / "corpus.jsonl").write_text(
        "".join(
            json.dumps({"id": f"d{n:02}", "text": f"Document number {n:02} on whales."}) + "\n"
            for n in range(COUNT)
        )
    )
    (tmp_path / "topics.tsv").write_text("1\twhales\n2\tships\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOUNDING_API_KEY", KEY)
    return tmp_path


WORDS = ["pool.txt", "--corpus", "corpus.jsonl", "--topics", "topics.tsv", "--model", "m-1"]


def by_number(asked: Asked) -> Answer:
    return Answer(json.dumps({"label": int(asked.text.partition("Document number ")[2][:2]) % 4}))


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys, "label", *WORDS)


def test_the_label_file_goes_to_estimate_and_nowhere_else(
    files: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    with endpoint(by_number) as fake:
        status, out, err = call("--endpoint", fake.address, "--prices", "500,2000", "-o", "labels.tsv")
        assert (status, err) == (0, "")
        assert out.startswith(f"{COUNT} of {COUNT} documents have a label by m-1")
        # 50 tokens in and 5 out for each of 40 documents, at 500 and 2,000 for a million.
        assert "40 requests and 2,200 tokens, at a cost of 1.40." in " ".join(out.split())
        assert next_command(out)[0] == "estimate"
        # The same labels in other formats cost nothing more.
        status, out, err = call("--endpoint", fake.address)
        assert out == (files / "labels.tsv").read_text()
        assert err.startswith(f"{COUNT} of ")
        for name in ("labels.jsonl", "labels.csv", "labels.parquet"):
            assert call("--endpoint", fake.address, "-o", name, "--quiet") == (0, "", "")
        answer = json.loads(call("--endpoint", fake.address, "--format", "json")[1])
        assert len(fake.asked) == COUNT
    assert (answer["labeled"], answer["cached"], answer["asked"], len(answer["rows"])) == (
        COUNT,
        COUNT,
        0,
        COUNT,
    )
    read = [sounding.read_labels(files / f"labels.{form}") for form in ("tsv", "jsonl", "csv", "parquet")]
    grades = [dict(zip(one.table.docs.texts(), one.table.grades.tolist(), strict=True)) for (one,) in read]
    assert grades == [{f"d{n:02}": n % 4 for n in range(COUNT)}] * 4
    assert read[0][0].facts["model"] == "served-1"
    run = files / "a.run"
    run.write_text("".join(f"{n % 2 + 1} Q0 d{n:02} {n + 1} {COUNT - n} a\n" for n in range(COUNT)))
    status, out, err = caller(capsys, "evaluate")("labels.tsv", "a.run")
    assert (status, "sounding estimate" in err) == (1, True)
    judged = "".join(f"{n % 2 + 1} 0 d{n:02} {n % 4}\n" for n in range(COUNT))
    (files / "qrels.txt").write_text(judged)
    status, out, err = caller(capsys, "estimate")(
        "qrels.txt", "a.run", "--labels", "labels.tsv", "--format", "json"
    )
    assert json.loads(out)["machine_share"] == 0
    assert "graded-1-" in json.loads(out)["judges"][0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.txt", "1 0 d00 -1\n1 0 d01 2\n2 0 d02 0\n"),
        ("l.txt", "# chosen\n1 d00\n1 d01\n1 d00\n2 d02\n"),
        ("t.tsv", "topic\tdoc\tpool_rank\n1\td00\t1\n1\td01\t4\n2\td02\t2\n"),
        ("j.jsonl", '{"doc": "d00", "topic": "1"}\n{"doc": "d01", "topic": "1"}\n{"doc": "d02", "topic": "2"}\n'),
        ("p.txt", "1 d00 1 1 0.5\n1 d01 0 1 0.25\n2 d02 1 2 1\n"),
        ("s.parquet", ""),
    ],
)  # fmt: skip
def test_every_list_of_documents_is_read(
    name: str, text: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name.endswith("parquet"):
        polars.DataFrame({"topic": ["1", "1", "2"], "doc": ["d00", "d01", "d02"]}).write_parquet(name)
    else:
        Path(name).write_text(text)
    status, _, err = caller(capsys, "label")(name, *WORDS[1:], "--batch-out", "batch.jsonl")
    assert (status, err.partition(" request")[0]) == (0, "batch.jsonl holds 3")
    bodies = [
        json.loads(row)["body"]["messages"][-1]["content"]
        for row in Path("batch.jsonl").read_text().splitlines()
    ]
    assert [body.partition("number ")[2][:2] for body in bodies] == ["00", "01", "02"]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ("", 2, "--endpoint URL"),
        ("--endpoint http://127.0.0.1:9/v1 --batch-out b.jsonl", 2, "leave out --endpoint"),
        ("--batch-out b.jsonl --max-cost 1", 2, "--prices"),
        ("--batch-out b.jsonl --prices cheap", 2, "two numbers"),
        ("--batch-out b.jsonl -P stop", 2, "NAME=VALUE"),
        ("--batch-out b.jsonl -P model=x", 1, "sounding sets it"),
        ("--batch-out b.jsonl --temperature -1", 1, "0 or more"),
        ("--batch-out b.jsonl --log corpus.jsonl", 2, "would overwrite"),
        ("--endpoint nowhere", 1, "no address"),
        ("--endpoint http://127.0.0.1:9/v1 -o labels.doc", 2, ".doc"),
        ("--batch-in pool.txt", 1, "pool.txt:1: "),
    ],
)  # fmt: skip
def test_what_is_refused(words: str, status: int, message: str, files: Path, call: Call) -> None:
    check_refused(call(*words.split()), status, message)
    assert not list(files.glob("b.jsonl"))


def test_an_endpoint_without_a_single_label_is_an_error(files: Path, call: Call) -> None:
    with endpoint(lambda _: Answer(status=401, raw=b'{"error": {"message": "no such key"}}')) as fake:
        check_refused(call("--endpoint", fake.address, "-o", "labels.tsv"), 1, "HTTP 401: no such key")
    assert not (files / "labels.tsv").exists()


def test_a_budget_that_is_used_up_says_how_to_go_on(
    files: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    with endpoint(by_number) as fake:
        status, out, _ = call("--endpoint", fake.address, "--max-requests", "15", "-o", "labels.tsv")
        assert (status, len(fake.asked)) == (0, 15)
        assert "budget of 15 requests" in out
        assert "25" in out.partition("not asked yet")[2].splitlines()[0]
        assert len((files / "labels.tsv").read_text().splitlines()) == 16
        words = next_command(out)
        status, out, _ = caller(capsys, *words)()  # its budget is larger
        assert (status, len(fake.asked)) == (0, COUNT)
    assert out.startswith(f"{COUNT} of {COUNT} ")


def test_a_budget_below_one_question_says_what_one_takes(
    files: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    with endpoint(by_number) as fake:
        status, out, _ = call("--endpoint", fake.address, "--max-tokens", "50", "-o", "labels.tsv")
        assert (status, fake.asked) == (0, [])
        assert "50 tokens is less than one question can take" in " ".join(out.split())
        status, out, _ = caller(capsys, *next_command(out))()
        assert status == 0
        assert fake.asked


def test_a_batch_there_and_back(files: Path, call: Call) -> None:
    status, out, err = call("--batch-out", "batch.jsonl", "--prices", "1,1")
    assert (status, out) == (0, "")
    assert err.startswith(f"batch.jsonl holds {COUNT} requests")
    answers = []
    for text in Path("batch.jsonl").read_text().splitlines():
        row = json.loads(text)
        body = json.loads(by_number(Asked(1, "", {}, row["body"])).data())
        answers.append({"custom_id": row["custom_id"], "response": {"status_code": 200, "body": body}})
    Path("ANSWERS.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    words = next_command(err)
    assert words[: 1 + len(WORDS)] == ["label", *WORDS]
    status, out, _ = call(*words[1 + len(WORDS) :])
    assert (status, out.startswith(f"{COUNT} of {COUNT} ")) == (0, True)
    assert (files / "labels.tsv").exists()


class Stopping:
    """A process that labels, and what its endpoint has seen when it is stopped."""

    def __init__(self, number: int) -> None:
        self.reached = threading.Event()
        self.release = threading.Event()
        self.stop_at = number

    def reply(self, asked: Asked) -> Answer:
        if asked.number == self.stop_at:
            self.reached.set()
        if asked.number >= self.stop_at and not self.release.is_set():
            self.release.wait(TIMES)
        return by_number(asked)

    def run(self, address: str, number: int) -> tuple[int, str]:
        """Start labeling, send a signal once the endpoint holds `concurrency` requests; return how it ended."""
        program = HEED_SIGNALS + "from sounding.__main__ import run; run()"
        words = ["label", *WORDS, "--endpoint", address, "--concurrency", "4", "-o", "labels.tsv"]
        child = subprocess.Popen([sys.executable, "-c", program, *words], stderr=subprocess.PIPE, text=True)
        assert self.reached.wait(60)
        child.send_signal(number)
        _, err = child.communicate(timeout=60)
        self.release.set()
        return child.returncode, err


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=["kill-9", "ctrl-c", "term"]
)
def test_a_stop_loses_only_the_requests_in_flight(number: int, files: Path, call: Call) -> None:
    """At request 24 of 40 with 4 at a time the process is stopped: 20 answers are known, at most 4 are lost."""
    stopping = Stopping(24)
    with endpoint(stopping.reply) as fake:
        status, err = stopping.run(fake.address, number)
        assert status == {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}[signal.Signals(number)]
        before = len(fake.asked)
        assert not (files / "labels.tsv").exists()
        if number != signal.SIGKILL:
            assert "run the same command again" in err
            assert "Traceback" not in err
        status, out, _ = call("--endpoint", fake.address, "-o", "labels.tsv")
    assert status == 0
    asked = [request.text for request in fake.asked]
    lost = before + (len(asked) - before) - COUNT  # questions that were asked twice
    assert 0 < lost <= 4
    assert len(set(asked)) == COUNT
    assert len((files / "labels.tsv").read_text().splitlines()) == COUNT + 1
    assert f"{len(asked)} requests" in out  # those in flight are counted as spent
    assert not any(KEY in path.read_text() for path in files.iterdir())


def test_the_page_shows_what_the_command_prints(files: Path) -> None:
    (files / "runs").mkdir()
    lines = [f"{n % 2 + 1} Q0 d{n:02} {n + 1} {COUNT - n} a\n" for n in range(COUNT)]
    for part in (0, 1):  # two runs with the first and the second half of each topic's documents
        (files / "runs" / f"r{part}.txt").write_text("".join(lines[part * COUNT // 2 :][: COUNT // 2]))
    (files / "corpus.jsonl").rename(files / "docs.jsonl")
    with endpoint(by_number) as fake:
        page = files / "label.md"
        text = (Path(__file__).parents[2] / "docs" / "label.md").read_text()
        page.write_text(text.replace("http://localhost:8000/v1", fake.address))
        run_page(page)
        assert len(fake.asked) == COUNT
