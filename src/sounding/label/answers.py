"""The log of all answers: append-only JSON lines, which serve as cache, and as the record of what was spent.

Before a request is sent, a line says what was reserved for it; when it is over, a line says what it used and
what came of it. A process that is killed loses the answers in flight, and their reservations count as spent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sounding.core.errors import DataError, FormatError
from sounding.core.files import refuse_unwritable
from sounding.label.budget import Spent

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HEADER = {"log": "sounding label", "version": 1}
EXPECTED = "expected a log that `sounding label` wrote; name another file with --log"


class LoggedAnswer(NamedTuple):
    """The answer to one question."""

    key: str  # identifies model, prompt, temperature, parameters, texts and repeat
    topic: str
    doc: str
    label: int | None
    problem: str  # why there is no label
    answer: str
    model: str  # as the endpoint calls it
    date: str  # ISO 8601


class AnswerLog:
    """The log of one file; only one process at a time may write to it."""

    def __init__(self, path: Path, file: int, answers: dict[str, LoggedAnswer], spent: Spent) -> None:
        self.path = path
        self.answers = answers
        self.spent = spent  # by all that is in the log, with reservations that nobody settled
        self._file = file
        self._run = os.urandom(4).hex()
        self._sent = 0

    def send(self, most: Spent) -> str:
        """Record that a request is about to be sent; return its number."""
        self._sent += 1
        number = f"{self._run}-{self._sent}"
        self._append({"sent": number, "tokens": [most.tokens_in, most.tokens_out]})
        return number

    def fail(self, number: str, actual: Spent, problem: str) -> None:
        """Record that a request brought no answer."""
        self._append({"done": number, "tokens": [actual.tokens_in, actual.tokens_out], "failed": problem})

    def add(self, number: str, actual: Spent, answer: LoggedAnswer) -> None:
        """Record an answer."""
        self._append({"done": number, "tokens": [actual.tokens_in, actual.tokens_out], **answer._asdict()})
        self.answers[answer.key] = answer

    def _append(self, row: dict[str, Any]) -> None:
        """Write one line in one system call, so that a killed process leaves at most one torn line."""
        data = (json.dumps(row, ensure_ascii=True) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            raise DataError(f"{self.path} cannot be written: {error.strerror or error}") from error


@contextmanager
def open_log(path: Path) -> Iterator[AnswerLog]:
    """Open a log, or start one; a torn last line is removed."""
    refuse_unwritable(path)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from error
    try:
        _lock(path, file)
        answers, spent = _read(path, file)
        log = AnswerLog(path, file, answers, spent)
        if not os.fstat(file).st_size:
            log._append(HEADER)
        yield log
    finally:
        os.close(file)  # which ends the lock


def _lock(path: Path, file: int) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DataError(
            f"{path} is in use by another `sounding label`; wait for it, or name another file with --log"
        ) from error
    except OSError:  # a file system without locks
        return


def _read(path: Path, file: int) -> tuple[dict[str, LoggedAnswer], Spent]:
    with os.fdopen(os.dup(file), "rb") as stream:
        data = stream.read()
    whole = data[: data.rfind(b"\n") + 1]
    if not whole:
        if data and not json.dumps(HEADER).encode().startswith(data):
            raise FormatError(str(path), 1, f"this is no log of answers; {EXPECTED}")
        os.ftruncate(file, 0)
        return {}, Spent()
    answers: dict[str, LoggedAnswer] = {}
    waiting: dict[str, Spent] = {}
    spent = Spent()
    for number, line in enumerate(whole.splitlines(), 1):
        if number == 1:
            if line != json.dumps(HEADER).encode():
                raise FormatError(str(path), 1, f"this is no log of answers; {EXPECTED}")
            continue
        try:
            row = json.loads(line)
            used = Spent(1, *map(int, row["tokens"]))
            if "sent" in row:
                waiting[row["sent"]] = used
                continue
            waiting.pop(row["done"], None)
            spent = spent.plus(used)
            if "key" in row:
                answer = LoggedAnswer(**{name: row[name] for name in LoggedAnswer._fields})
                answers[answer.key] = answer
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(str(path), number, f"the line is damaged; {EXPECTED}") from error
    if len(whole) < len(data):  # only once the file is known to be a log
        os.ftruncate(file, len(whole))
    for left in waiting.values():
        spent = spent.plus(left)
    return answers, spent
