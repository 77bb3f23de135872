"""Absurd numbers for every numeric option of every command: a result, or one line that says what is wrong."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from tests.e2e.calling import caller, sampled

from sounding.agree.study import agree
from sounding.audit.auditing import audit
from sounding.calibrate.calibrating import calibrate
from sounding.cli import COMMANDS, cli
from sounding.core import limits
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.measures import parse_measures
from sounding.sample.simulation import sample
from sounding.selection.mtc.session import SessionParameters

ABSURD = ("0", "-1", "nan", "inf", "-inf", "1e400", "99999999999999999999")
NOT_STARTED = {("judge", "serve"), ("demo",)}  # with a valid number they would begin to serve

# What each command needs beside the option; {c}: the folder of a small collection, {p}: a judging project.
BASE = {
    "evaluate": "{c}/qrels.txt {c}/runs",
    "compare": "{c}/qrels.txt {c}/runs -m P@5",
    "audit": "{c}/qrels.txt {c}/runs",
    "pool": "{c}/runs",
    "plan": "{c}/qrels.txt {c}/runs",
    "simulate": "{c}/qrels.txt {c}/runs --judgments 4",
    "calibrate": "{c}/qrels.txt {c}/runs --draws 4 --resamples 4 --repeats 1",
    "label": "{c}/one.qrels --corpus {c}/corpus.jsonl --topics {c}/topics.tsv --model m --prices 1,1 --log {t}/log --batch-out {t}/b",
    "estimate": "{c}/qrels.txt {c}/runs --labels {c}/truth.txt --judge truth",
    "track": "{t}/history.parquet {c}/qrels.txt {c}/runs --commit v1",
    "agree": "{c}/qrels.txt {c}/truth.txt --runs {c}/runs --resamples 20 --samples 20",
    "depth": "{c}/qrels.txt {c}/runs",
    "report": "{c}/qrels.txt {c}/runs -o {t}/report.html",
    "convert": "{c}/qrels.txt -o {t}/qrels.parquet",
    "measures": "",
    "sample": "{t}/new --topics 2 --groups 2 --systems 1 --documents 50 --length 10",
    "demo": "{t}/demo",
    "judge init": "{t}/project --corpus {c}/corpus.jsonl",
    "judge serve": "{p}",
    "judge topics": "{p}",
    "judge order": "{p}",
    "judge settings": "{p}",
    "judge audit": "{p} jane",
    "judge export": "{p} qrels",
}
# What an option needs to have an effect.
WITH = {
    ("evaluate", "draws"): "--unjudged expected -m P@5",
    ("evaluate", "seed"): "--unjudged expected -m P@5",
    ("pool", "p"): "--strategy rbp",
    ("pool", "rate"): "--strategy uniform",
    ("pool", "level"): "--strategy mtf --qrels {c}/qrels.txt",
    ("pool", "pool_depth"): "--qrels {c}/qrels.txt",
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("numbers")
    sampled(folder / "c", "--topics 3 --groups 3 --systems 1 --documents 60 --length 20 --pool-depth 15")
    (folder / "c" / "corpus.jsonl").write_text('{"id": "d1", "text": "some words"}\n')
    (folder / "c" / "one.qrels").write_text("1 0 d1 0\n")
    (folder / "c" / "topics.tsv").write_text("1\twhales\n")
    sounding("judge", "init", str(folder / "p"), "--corpus", str(folder / "c" / "corpus.jsonl"))
    return {"c": str(folder / "c"), "p": str(folder / "p"), "t": str(folder)}


def sounding(*words: str, memory: int | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with so many bytes of memory."""
    return subprocess.run(
        [sys.executable, "-m", "sounding", *words], capture_output=True, text=True, timeout=600, check=False,
        preexec_fn=None if memory is None else lambda: resource.setrlimit(resource.RLIMIT_AS, (memory,) * 2),
    )  # fmt: skip


def numeric(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Parameter]]:
    """Every parameter of a command, and of those below it, that takes a number."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from numeric(inner, *path, name)
    for parameter in command.params:
        if isinstance(parameter.type, click.types.IntParamType | click.types.FloatParamType):
            yield path, parameter


def every_number() -> list[tuple[tuple[str, ...], click.Parameter]]:
    known = [(name, cli.get_command(click.Context(cli), name)) for name in COMMANDS]
    return [found for name, command in known if command for found in numeric(command, name)]


@pytest.mark.parametrize(
    ("path", "parameter"),
    [pytest.param(*one, id=f"{'-'.join(one[0])}-{one[1].name}") for one in every_number()],
)
def test_an_absurd_number_gives_a_result_or_one_line(
    path: tuple[str, ...],
    parameter: click.Parameter,
    places: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    option = parameter.opts[-1]
    for number, value in enumerate(ABSURD):
        if path in NOT_STARTED and value == "0":
            continue
        (tmp_path / str(number)).mkdir()
        words = f"{BASE[' '.join(path)]} {WITH.get((path[0], parameter.name or ''), '')}"
        where = {**places, "t": str(tmp_path / str(number))}
        status, _, err = caller(capsys)(*path, *words.format(**where).split(), f"{option}={value}")
        told = f"{' '.join(path)} {option}={value}: {err}"
        assert status in (0, 1, 2), told
        assert "bug in sounding" not in err, told
        assert "Traceback" not in err, told
        if status:
            assert err.splitlines()[-1].startswith("Error: "), told
        if value not in ("0", "-1"):
            assert status, f"{told} is no number, or beyond all limits"


@pytest.mark.parametrize(
    ("value", "fact"),
    [("1e400", "at most 1,000,000,000"), ("nan", "a finite number"), ("-inf", "a finite number")],
)
def test_a_number_that_is_not_finite_is_refused_with_what_to_give(
    value: str, fact: str, places: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = BASE["evaluate"].format(**places).split()
    status, _, err = caller(capsys)("evaluate", *words, f"--level={value}")
    assert status == 2
    assert fact in err


def test_there_is_a_limit_for_every_number() -> None:
    assert len(every_number()) > 80
    assert all(limits.most(parameter.name or "") < 2**63 for _, parameter in every_number())


HUGE, MANY = "99999999999999999999", "1000000000"
LISTS = [  # options that take numbers as text
    ("evaluate", f"-m P@{HUGE}"), ("evaluate", f"-m nDCG@{MANY}"), ("evaluate", f"-m AP(rel={HUGE})"),
    ("evaluate", f"-m AP --unjudged bounds --universe +{HUGE}"),
    ("compare", f"-m AP --depths {HUGE}"), ("compare", f"-m AP --depths {MANY}"),
    ("compare", f"--holds --until runs:{HUGE}"), ("compare", f"--holds --until runs:{MANY}"),
    ("depth", f"--depths 10,{HUGE}"), ("depth", f"--depths 10,{MANY}"), ("depth", f"--pools 10,{HUGE}"),
    ("depth", f"--reference {HUGE}"), ("depth", f"--reference {MANY}"), ("depth", f"--reference AP@{HUGE}"),
    ("simulate", f"--at {HUGE}"), ("simulate", f"--seeds {HUGE}"), ("plan", "--prior 1e400"),
    ("pool", f"--strategy stratified --strata {HUGE}:0.5"), ("calibrate", f"--until pool:{HUGE}"),
    ("calibrate", f"--hide pool:{HUGE}"), ("audit", f"--parts prefix:{HUGE}"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "options"), LISTS)
def test_numbers_in_texts_are_limited_as_well(
    command: str, options: str, places: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = BASE[command].format(**places).split()
    status, _, err = caller(capsys)(command, *words, *options.split())
    assert status in (0, 1, 2)
    assert "bug in sounding" not in err
    assert "memory" not in err


@pytest.mark.parametrize(
    ("command", "option"),
    [("plan", "--depth"), ("simulate", "--depth"), ("evaluate", "--depth"), ("pool", "--depth"),
     ("agree", "--depth"), ("calibrate", "--depth"), ("compare", "--depth"), ("plan", "--next"),
     ("simulate", "--judgments")],
)  # fmt: skip
def test_a_depth_beyond_every_run_costs_nothing(
    command: str, option: str, places: dict[str, str], tmp_path: Path
) -> None:
    words = BASE[command].format(**{**places, "t": str(tmp_path)}).split()
    found = sounding(*command.split(), *words, option, MANY, memory=3_000_000_000)
    assert found.returncode == 0, found.stderr


def test_a_depth_beyond_every_run_is_the_longest_run(places: dict[str, str]) -> None:
    base = BASE["plan"].format(**places).split()
    shown = [sounding("plan", *base, "--depth", depth, "--format", "csv").stdout for depth in ("20", MANY)]
    assert shown[0] == shown[1] != ""


NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("depth", lambda _: Policies(depth=10**20)),
        ("draws", lambda _: Policies(draws=10**9)),
        ("seed", lambda _: Policies(seed=10**20)),
        ("draws", lambda _: SessionParameters(draws=10**9)),
        ("topics", lambda _: sample(topics=10**20)),
        ("documents", lambda _: sample(topics=1000, documents=10**6)),
        ("level", lambda _: parse_measures(["AP"], level=NAN)),
        ("draws", lambda c: audit(f"{c}/qrels.txt", f"{c}/runs", draws=10**9)),
        ("repeats", lambda c: calibrate(f"{c}/qrels.txt", f"{c}/runs", ["AP"], repeats=10**9)),
        ("resamples", lambda c: calibrate(f"{c}/qrels.txt", f"{c}/runs", ["AP"], resamples=10**9)),
    ],
)
def test_the_library_has_the_same_limits(
    name: str, call: Callable[[str], object], places: dict[str, str]
) -> None:
    with pytest.raises(DataError, match=name):
        call(places["c"])


@pytest.mark.parametrize(
    ("name", "value"), [("resamples", 10**9), ("samples", 10**20), ("alpha", NAN), ("level", NAN)]
)
def test_choices_of_a_study_are_limited(name: str, value: float) -> None:
    choices: dict[str, Any] = {name: value}
    with pytest.raises(DataError, match=name):
        agree(None, **choices)
