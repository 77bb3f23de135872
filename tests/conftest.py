"""Where tests find the real collections and optional packages, and how Hypothesis works here."""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from sounding.relevance import basis

DATA = "SOUNDING_DATA"  # the folder with real collections
REQUIRE_ALL = "SOUNDING_REQUIRE_ALL"  # set: a missing part fails instead of being skipped

MEMORY = Path("/dev/shm")  # a folder in memory on Linux
ROOM = 4 << 30  # bytes that must be free there
TORTURE = "SOUNDING_CRASHES"  # set by `make torture`, whose databases are on a real disk

# Databases wait for the disk at every commit. What tests write is therefore kept in memory: half of the time of
# tests/judge was waiting. A process that is killed leaves the same behind in either place.
free = shutil.disk_usage(MEMORY).free if os.access(MEMORY, os.W_OK | os.X_OK) else 0
if free > ROOM and not {"TMPDIR", TORTURE} & os.environ.keys():
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

os.environ.pop("COLUMNS", None)  # tables are as wide as for anybody who pipes them, whatever the window
settings.register_profile("untimed", deadline=None, print_blob=True)  # a busy machine is no fault
settings.load_profile("untimed")


def lacking(what: str) -> None:
    """Skip a test or a whole module, or fail it where every optional part is required."""
    if os.environ.get(REQUIRE_ALL):
        pytest.fail(what)
    pytest.skip(what, allow_module_level=True)


def require(package: str) -> Any:
    """A package that only some tests need."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError:
        return lacking(f"the package {package} is not installed")


@pytest.fixture(scope="session")
def collections() -> Path:
    """The folder with real collections; never part of the project."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get(DATA, default))
    if not folder.is_dir():
        lacking(
            f"no folder {folder}: set {DATA} to the folder that holds trec8, trec_eval-test and the others"
        )
    return folder


@pytest.fixture
def any_basis(monkeypatch: pytest.MonkeyPatch) -> None:
    """State chances however few runs and judgments there are: for tests of how they are found and shown."""
    for name in (
        "LEAST_RUNS",
        "LEAST_JUDGMENTS",
        "FEW_RUNS",
        "FEW_JUDGMENTS",
        "LEAST_OF_EACH",
    ):
        monkeypatch.setattr(basis, name, 0)
    monkeypatch.setattr(basis, "SURPRISE", 1e9)
