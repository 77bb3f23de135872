"""The published JSON schemas are up to date, and what the commands write fits them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests import gallery
from tests.conftest import require
from tests.e2e.calling import Call, caller

from sounding.cli import COMMANDS
from sounding.explain.schemas import DOCUMENTS, JsonOutput, main, schema_of

FOLDER = Path(__file__).parents[2] / "docs" / "schemas"
WITHOUT_JSON = ("convert", "demo", "judge", "sample")  # judge has the schemas of its commands
FILES = "team/qrels.txt team/runs"
CALLS = (
    f"evaluate {FILES} -m AP -m P@10 --unjudged bounds",
    f"evaluate {FILES} -m AP --baseline bm25",
    f"evaluate {FILES} -m AP -q --stats",
    f"compare {FILES} -m nDCG@10 -m P@10",
    f"compare {FILES} -m P@10 --pair bm25 dense",
    f"compare {FILES} -m P@10 --for dense",
    f"compare {FILES} -m P@10 --by groups.tsv",
    f"compare {FILES} -m P -m AP --depths 5,10 --test t",
    f"audit {FILES} --all --draws 2",
    f"plan {FILES} --draws 20",
    "pool team/runs --summary",
    f"pool team/runs --qrels {FILES.split()[0]} --budget 5",
    f"simulate {FILES} --judgments 8 --draws 20",
    f"estimate {FILES} -m P@5 --labels labels.tsv",
    f"estimate {FILES} -m P@5 --all-pairs --labels labels.tsv",
    f"calibrate {FILES} --hide sample:0.5 --until runs:10 --repeats 1 --draws 10 --resamples 0",
    "agree team/qrels.txt --simulated correlated --resamples 10",
    f"depth {FILES} -m AP --depths 5,10",
    f"report {FILES} -m P@10 --sections summary,pairs,topics --draws 2",
    f"track history.parquet {FILES} -m AP --commit v1",
    f"check {FILES}",
    "measures AP nDCG@10",
    "measures",
)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the collection of a small team, and groups of its topics."""
    folder = tmp_path_factory.mktemp("schemas")
    gallery.make("team", folder)
    rows = (folder / "team" / "qrels.txt").read_text().splitlines()
    (folder / "labels.tsv").write_text(
        "topic\tdoc\tlabel\tjudge\n"
        + "".join(f"{topic}\t{doc}\t{grade}\tm\n" for topic, _, doc, grade in map(str.split, rows))
    )
    topics = sorted({row.split()[0] for row in rows})
    halves = (f"{topic}\t{'odd' if number % 2 else 'even'}\n" for number, topic in enumerate(topics))
    (folder / "groups.tsv").write_text("".join(halves))
    return folder


@pytest.fixture
def call(team: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(team)
    return caller(capsys)


def errors_of(body: Any) -> list[str]:
    """Return where a JSON output does not fit the schema that it names."""
    _, command, _ = body["schema"].split("/")
    validator = require("jsonschema").Draft202012Validator(schema_of(command))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(body)]


def test_the_published_schemas_are_up_to_date(tmp_path: Path) -> None:
    main([str(tmp_path)])
    assert {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()} == {
        path.name: path.read_text("utf-8") for path in FOLDER.iterdir()
    }


def test_a_key_without_a_meaning_cannot_be_published(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DOCUMENTS, "new", JsonOutput(title="New", always="rows", rows="run surprise"))
    with pytest.raises(LookupError, match="New: surprise has no meaning"):
        schema_of("new")


@pytest.mark.parametrize("command", DOCUMENTS)
def test_a_schema_is_a_json_schema(command: str) -> None:
    require("jsonschema").Draft202012Validator.check_schema(schema_of(command))


def test_every_command_with_json_has_a_schema() -> None:
    assert set(COMMANDS) - set(WITHOUT_JSON) <= set(DOCUMENTS)


@pytest.mark.parametrize("line", CALLS)
def test_what_a_command_writes_fits_its_schema(call: Call, line: str) -> None:
    status, out, _ = call(*shlex.split(line), "--format", "json", "--quiet")
    assert status == 0
    body = json.loads(out)
    assert body["schema"].split("/")[1] == line.split()[0]
    assert errors_of(body) == []
    required = schema_of(line.split()[0])["required"]
    assert errors_of({name: value for name, value in body.items() if name != required[-1]})
    assert errors_of(body | {"unknown": 1})
