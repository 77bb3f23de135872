"""The documentation strings of the Python standard library as a corpus: every installation has them.

Sources are read, never imported, so that nothing runs. What is written in C has no source to read: a few of
its modules, which every interpreter has loaded or can load at once, are asked for their documentation.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from sounding.core.errors import DataError
from sounding.core.workers import Progress
from sounding.data.corpus import Document

LEAST_WORDS = 8  # fewer tell a reader too little to judge
COMPILED = ("builtins", "gc", "itertools", "math", "sys", "time")
NOT_READ = {
    "dist-packages",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "site-packages",
    "test",
    "tests",
    "turtledemo",
}

Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def library_documents(folder: Path | None = None, progress: Progress | None = None) -> list[Document]:
    """Every documentation string of some length, by the name of what it documents, each name once."""
    folder = Path(sysconfig.get_path("stdlib")) if folder is None else folder
    found: dict[str, str] = {}
    for path in library_sources(folder):
        for name, text in documented(path, module_name(path.relative_to(folder))):
            found.setdefault(name, text)
        if progress is not None:
            progress(1)
    if not found:
        raise DataError(
            f"{folder}: no sources of the standard library; the demo needs a Python that comes with them"
        )
    for module in COMPILED:
        for name, text in compiled(importlib.import_module(module)):
            found.setdefault(name, text)
    return [
        Document(name, f"{name}\n\n{text}")
        for name, text in sorted(found.items())
        if len(text.split()) >= LEAST_WORDS
    ]


def library_sources(folder: Path) -> list[Path]:
    """The files of the public modules in a folder."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        private = any(part.startswith("_") and part != "__init__" for part in parts)
        if not private and not NOT_READ.intersection(parts):
            found.append(path)
    return found


def module_name(path: Path) -> str:
    """The name by which the module in a file of the library is imported."""
    return ".".join(part for part in path.with_suffix("").parts if part != "__init__")


def documented(path: Path, module: str) -> Iterator[tuple[str, str]]:
    """(name, documentation) of a module and of the public classes and functions in its source."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of doubtful escapes in the sources of others
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # a source that is for another Python has nothing to say here
    yield from _inside(tree, module)


def _inside(node: ast.Module | Named, name: str) -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node)
    if text:
        yield name, text
    for part in () if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else node.body:
        if isinstance(part, Named) and not part.name.startswith("_"):
            yield from _inside(part, f"{name}.{part.name}")


def compiled(module: ModuleType) -> Iterator[tuple[str, str]]:
    """(name, documentation) of a module and of the public names in it, as the interpreter has them."""
    for name in ("", *sorted(vars(module))):
        one = getattr(module, name) if name else module
        if not name.startswith("_") and (name == "" or callable(one)):
            text = inspect.getdoc(one)
            if text:
                yield f"{module.__name__}.{name}".rstrip("."), text
