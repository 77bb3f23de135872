"""A folder imports only folders above it in one list, late imports and imports for types included."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from sounding.explain.layers import LAYERS, SOURCE, update

PLACE = {name: place for place, name in enumerate(LAYERS)}
ROOT = {"__init__", "__main__", "cli"}  # these find the folders and may import any


def imports(path: Path) -> Iterator[str]:
    """The folders of ours that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sounding"):
            names = (
                [node.module] if "." in node.module else [f"sounding.{alias.name}" for alias in node.names]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith("sounding.")]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name != "sounding.__version__")


def offences() -> list[str]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[0] not in ROOT:
            upward = {other for other in imports(path) if PLACE[other] > PLACE[parts[0]]}
            found += [f"{'/'.join(parts)} imports {other}" for other in sorted(upward)]
    return found


def test_folders_import_only_folders_above_them() -> None:
    assert offences() == []


def test_every_folder_has_a_layer() -> None:
    folders = {path.relative_to(SOURCE).with_suffix("").parts[0] for path in SOURCE.rglob("*.py")}
    assert folders - ROOT == set(LAYERS)


def test_measures_and_readers_of_text_do_not_need_polars() -> None:
    for name in ("measures", "data/fast", "runs/align", "runs/ranking", "data/trec_text"):
        paths = (SOURCE / name).glob("*.py") if (SOURCE / name).is_dir() else [SOURCE / f"{name}.py"]
        for path in paths:
            assert "import polars" not in path.read_text(), path


ROOT_FOLDER = Path(__file__).parents[1]


def test_the_table_of_folders_is_up_to_date() -> None:
    text = (ROOT_FOLDER / "docs/how-it-works.md").read_text("utf-8")
    assert update(text) == text, "run: make docs"


def test_the_picture_names_folders() -> None:
    drawn = re.findall(r'font-size="15">([^<]*)<', (ROOT_FOLDER / "docs/assets/flow.svg").read_text("utf-8"))
    assert set(drawn) - {"files", "corpus, topics", "judgment log"} <= set(LAYERS)
