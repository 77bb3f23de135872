"""Errors say the same in every process."""

from __future__ import annotations

import pickle

import pytest

from sounding.core.errors import DataError, FormatError, MissingPartError, SoundingError, UnknownNameError


@pytest.mark.parametrize(
    "error",
    [
        SoundingError("plain"), DataError("no fit"), FormatError("file", 3, "seen", 2),
        UnknownNameError("measure", "APP", ["AP"]), MissingPartError("zstd", "reading", "zst"),
    ],
)  # fmt: skip
def test_an_error_is_the_same_after_a_journey_between_processes(error: SoundingError) -> None:
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is type(error)
    assert str(there) == str(error)
    assert there.__dict__ == error.__dict__
