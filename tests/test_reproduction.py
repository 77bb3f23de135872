"""The page of the papers' results has every row of the catalog, in its order, and every row leads somewhere."""

from __future__ import annotations

import csv
import io
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.conftest import lacking

from sounding.cli import COMMANDS, cli

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reproduction.md"
CATALOG = Path(__file__).with_name("reproduction.tsv")
DESIGN = "SOUNDING_DESIGN"  # a file with the catalog that the table was copied from

ROWS = list(csv.DictReader(io.StringIO(CATALOG.read_text("utf-8")), delimiter="\t"))
PAPERS = {"B": "Baillie", "C": "Carterette", "V": "Voorhees", "L": "Lu"}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


SHOWN = {
    row[0]: dict(zip(("result", "paper", "here", "command", "more", "test"), row[1:], strict=True))
    for row in map(cells, PAGE.read_text("utf-8").splitlines())
    if len(row) == 7 and re.fullmatch(r"[BCVL]\d+", row[0])
}


def quoted(cell: str) -> str:
    (text,) = re.findall(r"`([^`]+)`", cell)
    return str(text)


def test_the_page_has_the_rows_of_the_catalogue_in_its_order() -> None:
    assert list(SHOWN) == [row["id"] for row in ROWS]
    assert all(row["paper"] == PAPERS[row["id"][0]] for row in ROWS)
    assert all(text for row in SHOWN.values() for text in row.values())


def test_the_catalogue_is_the_one_of_the_design() -> None:
    design = Path(os.environ.get(DESIGN, ROOT.parent / "shared" / "DESIGN.md"))
    if not design.is_file():
        lacking(f"no {design}, from which the catalog was copied")
    lines = design.read_text("utf-8").splitlines()
    there = [cells(line) for line in lines if re.match(r"\| (Baillie|Carterette|Voorhees|Lu) \|", line)]
    assert [(row[0], row[2]) for row in there] == [(row["paper"], row["commands"]) for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_a_row_names_a_command_of_its_line_a_page_and_a_test(row: dict[str, str]) -> None:
    shown = SHOWN[row["id"]]
    allowed = {part.split()[0] for part in row["commands"].split(", ")}
    command = shlex.split(quoted(shown["command"]))[1]
    # `depth` draws what the design files under `compare`; `evaluate` cuts the pools of `pool`.
    near = {"B9": "depth", "L10": "evaluate"}
    assert allowed == {"all"} or command in allowed | {near.get(row["id"], "")}
    assert command in COMMANDS
    (page,) = re.findall(r"\]\(([\w-]+\.md)\)", shown["more"])
    assert (ROOT / "docs" / page).is_file()
    file, _, name = quoted(shown["test"]).partition("::")
    assert f"def {name}" in (ROOT / file).read_text("utf-8")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_figures_of_a_row_stand_in_its_page_or_its_test(row: dict[str, str]) -> None:
    shown = SHOWN[row["id"]]
    (page,) = re.findall(r"\]\(([\w-]+\.md)\)", shown["more"])
    test = ROOT / quoted(shown["test"]).partition("::")[0]
    known = _plain((ROOT / "docs" / page).read_text("utf-8") + test.read_text("utf-8"))
    for number in re.findall(r"(?<![\w@(])\.?\d+(?:\.\d+)?", _plain(shown["here"])):
        assert number.removeprefix("0") in known, number


def _plain(text: str) -> str:
    """The text with its numbers written one way: 1,000 and 1_000 as 1000."""
    return re.sub(r"(?<=\d)[,_](?=\d{3})", "", text)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The collection that the page makes."""
    folder = tmp_path_factory.mktemp("reproduction")
    (line,) = re.findall(r"^\$ sounding (sample .*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert CliRunner().invoke(cli, shlex.split(line)).exit_code == 0
    return folder


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_command_of_a_row_shows_what_the_row_is_about(
    row: dict[str, str], trial: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(trial)
    words = quoted(SHOWN[row["id"]]["command"]).split()[1:]  # as the shell would with every word in quotes
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert row["shows"] in done.output
    assert done.stdout.strip()
