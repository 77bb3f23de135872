"""Every command reads a file once, prepares judgments once, and puts each run in order once."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.calling import caller, sampled

import sounding
from sounding import cli
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.data.tables import Qrels, Run
from sounding.runs import align

COMMANDS = {
    "evaluate": "qrels.txt runs --jobs 1",
    "evaluate bounds": "qrels.txt runs --unjudged bounds --jobs 1",
    "evaluate expected": "qrels.txt runs --unjudged expected --jobs 1",
    "evaluate pool": "qrels.txt runs --pool-depth 5 --info info.tsv --jobs 1",
    "evaluate pool shared": "qrels.txt runs --pool-depth 5 --info info.tsv --jobs 2",
    "evaluate slices": "qrels.txt runs --by slices.tsv --jobs 1",
    "compare": "qrels.txt runs --info info.tsv --jobs 1",
    "compare all": "qrels.txt runs --holds --pool-depth 5 --info info.tsv --jobs 1",
    "compare pair": "qrels.txt runs --pair albatross-1 auk-1 --info info.tsv --jobs 1",
    "compare focus": "qrels.txt runs --for auk-1 --by slices.tsv --info info.tsv --jobs 1",
    "compare depths": "qrels.txt runs -m AP --depths 5,10 --test t --info info.tsv --jobs 1",
    "compare design": "qrels.txt runs --design --jobs 1",
    "depth": "qrels.txt runs --jobs 1",
    "depth subsets": "qrels.txt runs --subsets --pool-depth 8 --info info.tsv --jobs 1",
    "depth pools": "qrels.txt runs --pools 3,5 --info info.tsv --jobs 1",
    "audit": "qrels.txt runs --info info.tsv --jobs 1",
    "audit all": "qrels.txt runs --info info.tsv --all --draws 5 --new runs/auk-2.txt --jobs 1",
    "audit labels": "qrels.txt runs --labels labels.tsv --jobs 1",
    "pool": "runs --info info.tsv --jobs 1",
    "pool next": "runs --qrels some.txt --budget 9 --info info.tsv --jobs 1",
    "pool replay": "runs --qrels qrels.txt --simulate --strategy rank,mtf --jobs 1",
    "pool sample": "runs --strategy for-estimate --budget 40 --labels labels.tsv --jobs 1",
    "pool summary": "runs --info info.tsv --qrels qrels.txt --summary --depth 10 --jobs 1",
    "plan": "qrels.txt runs --jobs 1",
    "plan forecast": "some.txt runs --to 0.9 --worlds 2 --most 10 --draws 20 --jobs 1",
    "plan pool": "qrels.txt runs --pool-depth 5 --info info.tsv --jobs 1",
    "simulate": "qrels.txt runs --judgments 20 --jobs 1",
    "simulate new runs": "qrels.txt runs --judgments 8 --leave-out --seeds 1 --draws 20 --jobs 1",
    "calibrate": "qrels.txt runs --info info.tsv --hide pool:5 --draws 10 --resamples 10 --jobs 1",
    "label": "pool.txt --corpus corpus.jsonl --topics topics.tsv --model m --batch-out asked.jsonl",
    "estimate": "qrels.txt runs --labels labels.tsv -m P@5 --jobs 1",
    "agree": "qrels.txt second.txt",
    "agree runs": "qrels.txt second.txt --samples 100 --jobs 1 --runs runs",
    "report": "qrels.txt runs --info info.tsv -o page.html --jobs 1",
    "report about": "qrels.txt runs --info info.tsv --for auk-1 --by slices.tsv -o page.html --jobs 1",
    "report shared": "qrels.txt runs --info info.tsv -o page.html --jobs 2",
    "track": "history.sqlite qrels.txt runs --commit one --time 2026-01-01",
    "check": "qrels.txt runs info.tsv",
    "convert": "qrels.txt runs -o converted",
    "judge": "init project --corpus corpus.jsonl --topics topics.tsv --runs runs",
}

WITHOUT_INPUT = {"measures", "sample", "demo"}  # `demo` makes what it shows

watching: list[Counter[str]] = []  # the files opened since a test began


def _opened(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and watching and isinstance(arguments[0], str) and "r" in str(arguments[1] or "r"):
        watching[-1][arguments[0]] += 1


sys.addaudithook(_opened)  # there is no way to remove one


@dataclass
class Counts:
    """How often each thing was done."""

    prepared: Counter[Any] = field(default_factory=Counter)
    ordered: Counter[Any] = field(default_factory=Counter)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sizes = "--topics 6 --groups 3 --systems 2 --length 60 --documents 300 --pool-depth 12 --seed 4"
    folder = sampled(tmp_path_factory.mktemp("once") / "trial", sizes)
    rows = [line.split() for line in (folder / "qrels.txt").read_text().splitlines()]
    others = [(*row[:3], str(1 - int(row[3])) if n % 7 == 0 else row[3]) for n, row in enumerate(rows)]
    (folder / "second.txt").write_text("".join(" ".join(row) + "\n" for row in others))
    (folder / "some.txt").write_text("".join(" ".join(row) + "\n" for row in rows[::2]))
    (folder / "pool.txt").write_text("".join(f"{topic} {doc}\n" for topic, _, doc, _ in rows))
    labels = "".join(f"{topic}\t{doc}\t{grade}\tm\tp\n" for topic, _, doc, grade in others)
    (folder / "labels.tsv").write_text("topic\tdoc\tlabel\tjudge\tprompt\n" + labels)
    topics = sorted({row[0] for row in rows})
    (folder / "topics.tsv").write_text("".join(f"{topic}\twhales\n" for topic in topics))
    (folder / "slices.tsv").write_text("".join(f"{topic}\t{n % 2}\n" for n, topic in enumerate(topics)))
    documents = sorted({row[2] for row in rows})
    corpus = "".join(f'{{"id": "{doc}", "text": "Of whales."}}\n' for doc in documents)
    (folder / "corpus.jsonl").write_text(corpus)
    return folder


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counts]:
    """Count, from now on, wherever the functions have been imported to."""
    for info in pkgutil.walk_packages(sounding.__path__, "sounding."):
        if not info.name.endswith("__main__"):
            importlib.import_module(info.name)
    counts = Counts()

    def prepared(qrels: Qrels, policies: Policies = DEFAULT_POLICIES) -> Any:
        return hash((qrels.topics, qrels.grades.tobytes(), tuple(qrels.docs.texts()))), policies

    def ordered(run: Run, rows: Any, policies: Policies, *, upwards: bool = False) -> Any:
        return run.source, policies.ties, policies.compat, upwards

    for function, seen, key in (
        (align._prepare, counts.prepared, prepared),
        (align._order, counts.ordered, ordered),
    ):
        counted = _counted(function, seen, key)
        for module in [one for name, one in sys.modules.items() if name.startswith("sounding")]:
            if vars(module).get(function.__name__) is function:
                monkeypatch.setattr(module, function.__name__, counted)
    watching.append(Counter())
    yield counts
    watching.pop()


def _counted(function: Callable[..., Any], seen: Counter[Any], key: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def counted(*arguments: Any, **named: Any) -> Any:
        seen[key(*arguments, **named)] += 1
        return function(*arguments, **named)

    return counted


def test_no_command_is_forgotten() -> None:
    assert {name.split()[0] for name in COMMANDS} == cli.COMMANDS.keys() - WITHOUT_INPUT


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_does_each_thing_once(
    name: str,
    collection: Path,
    counts: Counts,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(collection)
    status, _, said = caller(capsys)(name.split()[0], *COMMANDS[name].split())
    assert status == 0, said
    inputs = {str(path.relative_to(collection)) for path in collection.rglob("*") if path.is_file()}
    read = {file: times for file, times in watching[-1].items() if file in inputs}
    most = [max(seen.values(), default=0) for seen in (read, counts.prepared, counts.ordered)]
    assert read, "no file was read"
    assert max(most) == 1, (
        f"read {most[0]}, prepared {most[1]}, in order {most[2]} times; {read}; {counts.ordered}"
    )
