"""Every result of the papers comes out as its page says: the page and these tests are made from one table."""

from __future__ import annotations

import csv
import io
import re
import shlex
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.reproduction import ROWS, TABLE, update

from sounding.cli import cli

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reproduction.md"


def test_the_page_is_made_from_the_table() -> None:
    page = PAGE.read_text("utf-8")
    assert update(page) == page, "python -m tests.reproduction docs/reproduction.md"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_says_what_its_command_gives(row: dict[str, Any]) -> None:
    """The command has options that exist, and the figures of the row are among those that are looked for."""
    name, *words = shlex.split(row["command"])[1:]
    command = cli.get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    if not hasattr(command, "commands"):  # a group answers --help at once
        command.make_parser(command.context_class(command)).parse_args([*words])
    known = {number for text in [*row["prints"], *row.get("derived", [])] for number in _numbers(text)}
    known |= set(re.findall(r"\d+", row["command"]))
    assert set(_numbers(row["here"])) <= known


def _numbers(text: str) -> list[str]:
    """Return the numbers of a text, written one way: 1,000 as 1000 and 0.5 as .5."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return [number.lstrip("0") for number in re.findall(r"(?<![\w@])(?:\d*\.)?\d+", plain)]


@pytest.fixture(scope="module")
def prepared(collections: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the page prepares it."""
    folder = tmp_path_factory.mktemp("reproduction")
    (folder / "trec8").symlink_to(collections.resolve() / "trec8")
    subprocess.run(["bash", "-ec", TABLE["prepare"]], cwd=folder, check=True)
    assert [len(list((folder / name).iterdir())) for name in ("pooled", "eight")] == [71, 8]
    return folder


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_command_of_a_row_prints_its_figures(
    row: dict[str, Any], prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(prepared)
    done = CliRunner().invoke(cli, shlex.split(row["command"])[1:])
    assert done.exit_code == 0, done.output
    printed = " ".join(done.stdout.split())
    for piece in row["prints"]:
        _, found, printed = printed.partition(piece)
        assert found, f"{piece!r} is not printed there:\n{done.stdout}"
    if "derived" in row:
        assert row["derived"] == DERIVED[row["id"]](done.stdout)


def _short(values: Iterable[float], decimals: int) -> list[str]:
    return [f"{value:.{decimals}f}".removeprefix("0") for value in values]


def _means_of_runs(printed: str) -> list[str]:
    """B1: the mean over runs at each depth."""
    rows = list(csv.DictReader(io.StringIO(printed)))
    values = {
        k: [float(row["value"]) for row in rows if row["measure"] == f"A_p@{k}"] for k in (10, 100, 1000)
    }
    return _short((sum(some) / len(some) for some in values.values()), 3)


def _official(printed: str) -> list[str]:
    """B2: the decimals to which the MAP of every run is the official one."""
    official = dict(line.split() for line in Path("trec8/official-scores.map").read_text().splitlines())
    rows = [line.split() for line in printed.splitlines()]
    ours = {row[0]: row[1].rstrip("*") for row in rows if row and row[0] in official and len(row) > 4}
    assert ours == official
    return ["4"]


def _weakened(printed: str) -> list[str]:
    """B6: conclusions that change from a strong case (1, 3) to a weak one (2, 4), and those that were strong."""
    counts = []
    for measure in ("P", "AP"):
        rows = re.findall(
            rf"^{measure} +@100 to @500 +case [13] +(\d+) +(\d+) +(\d+) +(\d+)", printed, re.MULTILINE
        )
        moves = np.array(rows, dtype=int)
        counts += [int(moves[:, [1, 3]].sum()), int(moves.sum())]
    return [f"{count:,}" for count in counts]


def _losses(printed: str) -> list[str]:
    """V5: mean and largest change in percent, and the largest of an automatic run, from four decimals."""
    rows = re.findall(r"^\S+ +\S+ +(automatic|manual) +\d+ +(0\.\d{4}) +(0\.\d{4}) ", printed, re.MULTILINE)
    assert len(rows) == 71
    losses = np.array([100 * (float(whole) - float(without)) / float(whole) for _, whole, without in rows])
    automatic = np.array([kind == "automatic" for kind, _, _ in rows])
    return _short((losses.mean(), losses.max(), losses[automatic].max()), 2)


def _lower_half(printed: str) -> list[str]:
    """L2: the percentage of relevant documents from the lower half of the pool's depth."""
    ((part, whole),) = re.findall(r"([\d,]+) of ([\d,]+) relevant documents come from below", printed)
    return [f"{100 * int(part.replace(',', '')) / int(whole.replace(',', '')):.0f}"]


def _values_and_residuals(printed: str) -> list[str]:
    """L7: mean value and mean residual (unjudged part and tail) at each depth."""
    rows = csv.DictReader(io.StringIO(printed))
    pairs = [
        (float(row["mean"]), float(row["residual_unjudged"]) + float(row["residual_tail"])) for row in rows
    ]
    return _short((value for pair in pairs for value in pair), 3)


DERIVED: dict[str, Callable[[str], list[str]]] = {
    "B1": _means_of_runs,
    "B2": _official,
    "B6": _weakened,
    "V5": _losses,
    "L2": _lower_half,
    "L7": _values_and_residuals,
}
