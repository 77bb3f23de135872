"""Tags that are told from the end of a file are those that reading the run gives."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sounding.data.formats import TAIL, quick_tag, read_run
from sounding.data.tables import Run

LINE = "1 Q0 d{0} {0} {1} mine{2}"


def lines(count: int, end: str = "\n", tag: str = "") -> str:
    return "".join(LINE.format(rank, 1000 - rank, tag) + end for rank in range(1, count + 1))


@pytest.mark.parametrize(
    "text",
    [
        lines(1),
        lines(3).rstrip("\n"),
        lines(3, "\r\n"),
        lines(3) + "\n\n",
        lines(900),  # longer than the end that is looked at
        lines(2) + "2 Q0 e 1 1 other\n",  # the last one names the run
        "1\tQ0\td\t1\t1.5\tmine\tand more\n",
        lines(2, tag="-\u00e9"),
        lines(2) + "# made by some tool of 2024\n\n",
        lines(900) + "#\n  # a last remark of six words\n",
    ],
)
def test_the_tag_is_that_of_the_run(tmp_path: Path, text: str) -> None:
    file = tmp_path / "run.txt"
    file.write_text(text)
    assert quick_tag(file) == read_run(file).tag
    assert quick_tag(str(file), "trec") == read_run(file).tag


def test_a_file_that_must_be_read_for_it_gives_none(tmp_path: Path) -> None:
    packed, table, ended = tmp_path / "run.gz", tmp_path / "run.csv", tmp_path / "ended.txt"
    packed.write_bytes(gzip.compress(lines(3).encode()))
    table.write_text("topic,doc,score\n1,d,2\n")
    ended.write_text(lines(2) + "1 Q0\n")
    for source in (packed, table, ended, tmp_path / "absent.txt", tmp_path, "-", "https://host/run.txt"):
        assert quick_tag(source) is None
    assert quick_tag(Run.from_dict({"1": {"d": 1.0}}, name="a")) is None


def test_a_line_that_does_not_end_in_sight_gives_none(tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    file.write_text(f"1 Q0 {'d' * TAIL} 1 1 mine and words that trec_eval does not look at\n")
    assert quick_tag(file) is None
