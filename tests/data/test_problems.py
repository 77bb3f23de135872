"""A file may have a million problems: all are counted, the first are listed, and memory stays that of a good file."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sounding.check.checking import check
from sounding.core.errors import FormatError
from sounding.data import trec_text
from sounding.data.formats import read_run
from sounding.data.problems import LISTED, Problems
from sounding.data.sources import Content

LINES = 200_000
BYTES = 8 << 20

BAD: dict[str, Callable[[int], str]] = {
    "repeated documents": lambda n: f"401 Q0 doc{n % 1000:06} {n + 1} 3.5000 tag\n",
    "scores that are no numbers": lambda n: f"401 Q0 doc{n:06} {n + 1} absent tag\n",
    "too few fields": lambda n: f"401 Q0 doc{n:06} {n + 1} 3.5000-tag\n",
    "blanks within ids": lambda n: f"401 Q0 a d{n:06} {n + 1} 3.500 tag\n",
    "two records": lambda n: f"401 Q0 {n:06} 1 5 t401 Q0 d{n:06} 1 4 t\n",
    "control characters": lambda n: f"401 Q0 doc{n:06} {n + 1} 3.5000 ta\1g\n",
    "short fields": lambda n: "a b c d e f g h i j k l m n o p q r\n",
    "carriage returns": lambda n: f"401 Q0 doc{n:06} {n + 1} 3.5000\rtag\n",
}


def peak(file: Path, function: Callable[[Path], object] = read_run) -> int:
    """The bytes of memory that it takes to read a file, well or not."""
    tracemalloc.start()
    try:
        function(file)
    except FormatError:
        pass
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return most


def stored(folder: Path, line: Callable[[int], str]) -> Path:
    file = folder / "run.txt"
    file.write_text("".join(map(line, range(LINES))))
    return file


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_takes_a_few_times_its_bytes_as_a_good_one_does(kind: str, tmp_path: Path) -> None:
    file = stored(tmp_path, BAD[kind])
    assert peak(file) < 9 * file.stat().st_size
    with pytest.raises(FormatError) as raised:
        read_run(file)
    assert raised.value.more >= (LINES - 1001 if kind == "repeated documents" else LINES - 1)


@pytest.mark.parametrize("function", [read_run, check])
@pytest.mark.parametrize("beginning", ["", "401 Q0 doc 1 3.5 tag\n" * 200, "401,doc,3.5\n" * 400])
def test_zero_bytes_need_a_few_times_the_memory_of_the_file(
    beginning: str, function: Callable[[Path], object], tmp_path: Path
) -> None:
    file = tmp_path / "run.txt"
    file.write_bytes(beginning.encode() + bytes(BYTES))
    assert peak(file, function) < 8 * BYTES


def test_a_file_of_zero_bytes_is_refused_in_one_line_without_a_place(tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    file.write_bytes(bytes(5000))
    with pytest.raises(FormatError, match="zero bytes") as raised:
        read_run(file)
    assert (raised.value.line, raised.value.more) == (None, 0)
    assert check(file).total == 1


def test_broken_json_lines_are_all_counted_and_the_first_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    file.write_text('{"topic": "1", "doc": "a", "score": 1}\n' + "{broken\n" * 5000)
    checked = check(file)
    assert checked.total == 5000
    assert [problem.line for problem in checked.problems] == list(range(2, LISTED + 2))
    with pytest.raises(FormatError) as raised:
        read_run(file)
    assert (raised.value.line, raised.value.more) == (2, 4999)


def test_the_first_problems_are_kept_in_whatever_order_they_are_noted() -> None:
    problems = Problems("run")
    lines = np.random.default_rng(3).permutation(1000) + 1
    for line in lines.tolist():
        problems.note(line, "wrong")
    problems.add(np.array([7, 3, 2000]), lambda place: f"also {place}")
    assert len(problems.found) == LISTED
    assert [problem.line for problem in problems.found][:5] == [1, 2, 3, 3, 4]
    with pytest.raises(FormatError) as raised:
        problems.refuse()
    assert (raised.value.line, raised.value.more) == (1, 1002)


def test_control_characters_are_counted_by_lines(tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    file.write_bytes(b"1 Q0 a 1 3 t\n1 Q0 b\0\0 2 2 t\n1 Q0 c 3 1 t\x01\n")
    (problem,) = check(file, kind="run").problems
    assert (problem.line, problem.times, problem.lines) == (2, 2, (2, 3))


def test_a_file_whose_tags_hold_blanks_is_not_copied() -> None:
    line = f"401 Q0 {'d' * 4000} 1 3.5 my tag\n".encode()
    content = Content.from_bytes("run.txt", line * 4000)
    problems = Problems(content.source)
    second, rank = trec_text._run_fields(content, (1, 3), problems).columns
    tracemalloc.start()
    trec_text._note_wrong_lengths(content, second, rank, problems)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < content.size / 4


@pytest.mark.parametrize("block", range(1, 12))
def test_a_line_of_two_records_is_found_wherever_blocks_end(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trec_text, "BLOCK", block)
    file = tmp_path / "run.txt"
    file.write_text("1 Q0 a 1 5 t\n1 Q0 b 2 4 t1 Q0 c 3 3 t\n1 Q0 d 4 2 t\n")
    with pytest.raises(FormatError) as raised:
        read_run(file)
    assert raised.value.line == 2
