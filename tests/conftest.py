"""Where tests find the real collections."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = "SOUNDING_DATA"  # the folder with real collections
REQUIRE_ALL = "SOUNDING_REQUIRE_ALL"  # set: a missing part fails instead of being skipped


@pytest.fixture(scope="session")
def collections() -> Path:
    """The folder with real collections; never part of the project."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get(DATA, default))
    if folder.is_dir():
        return folder
    missing = f"no folder {folder}: set {DATA} to the folder that holds trec8, trec_eval-test and the others"
    if os.environ.get(REQUIRE_ALL):
        pytest.fail(missing)
    pytest.skip(missing)
