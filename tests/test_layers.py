"""A module imports only modules of its own layer or of layers before it."""

from __future__ import annotations

import ast
from pathlib import Path

import sounding

SOURCE = Path(sounding.__file__).parent
LAYERS = (
    {"arrays", "display", "errors", "limits", "wording"},
    {"agreement"},
    {"executors", "files", "policies", "workers"},
    {"data"},
    {"ranking"},
    {"align", "measures", "packing"},
    {"basis", "beside", "growth", "relevance", "scores"},
    {"bounds", "expectation", "regrading", "retrieved", "universe"},
    {"uncertainty"},
    {"evaluation", "large_runs", "results", "standardisation"},
    {"compare"},
    {"assessors"},
    {"collection"},
    {"mtc"},
    {"depth"},
    {"calibration"},
    {"report"},
    {"judging"},
    {"commands"},
    {"cli", "__main__"},
)
PLACE = {name: place for place, names in enumerate(LAYERS) for name in names}


def layer_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> set[str]:
    """The layers that a file imports at run time, type-checking blocks left out."""
    found = set()
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sounding"):
            names = [
                f"{node.module}.{alias.name}" if node.module == "sounding" else node.module
                for alias in node.names
            ]
            found |= {layer_of(name) for name in names}
        elif isinstance(node, ast.Import):
            found |= {layer_of(alias.name) for alias in node.names if alias.name.startswith("sounding")}
    return found - {"", "__version__"}


def offences() -> list[str]:
    wrong = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        layer = parts[0]
        if layer == "__init__":
            continue
        wrong += [
            f"{'/'.join(parts)} imports {other}"
            for other in sorted(imports(path))
            if PLACE[other] > PLACE[layer]
        ]
    return wrong


def test_layers_import_only_what_comes_before() -> None:
    assert offences() == []


def test_every_module_has_a_layer() -> None:
    modules = {path.relative_to(SOURCE).with_suffix("").parts[0] for path in SOURCE.rglob("*.py")}
    assert modules - {"__init__"} == set(PLACE)


def test_measures_and_readers_of_text_do_not_need_polars() -> None:
    for name in (
        "measures",
        "align",
        "ranking",
        "data/text",
        "data/trec",
        "data/tokens",
        "data/keys",
        "data/numbers",
    ):
        paths = (SOURCE / name).glob("*.py") if (SOURCE / name).is_dir() else [SOURCE / f"{name}.py"]
        for path in paths:
            assert "import polars" not in path.read_text(), path
