"""Batch files: requests as providers take them (JSON lines), and the answers that they return."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sounding.core.errors import FormatError
from sounding.core.files import atomic_path
from sounding.core.text import quote
from sounding.data.sources import read_content
from sounding.label.answers import AnswerLog
from sounding.label.asking import LabelRequest, logged, message_of, used_by
from sounding.label.budget import BudgetLimits, Spent, most_tokens
from sounding.label.prompts import REFUSAL, Prompt

URL = "/v1/chat/completions"
MOST_ROWS = 50_000  # of a file that OpenAI accepts


@dataclass(slots=True)
class BatchWritten:
    """Contents of a batch file."""

    path: Path
    requests: int = 0
    most: Spent = field(default_factory=Spent)  # the highest use of all its requests
    left_out: int = 0  # questions that the budget does not cover


def write_batch(
    path: Path, questions: Iterable[LabelRequest], limits: BudgetLimits, spent: Spent
) -> BatchWritten:
    """Write the requests that the budget covers, each at the most that it can cost."""
    written = BatchWritten(path)
    with atomic_path(path) as part, part.open("w", encoding="utf-8") as stream:
        for question in questions:
            body = question.make_body()
            most = written.most.plus(most_tokens(body, body["messages"]))
            if written.left_out or not limits.allow(spent.plus(most)):
                written.left_out += 1
                continue
            row = {"custom_id": question.key, "method": "POST", "url": URL, "body": body}
            stream.write(json.dumps(row) + "\n")
            written.most = most
            written.requests += 1
    return written


@dataclass(slots=True)
class BatchRead:
    """Contents of a file of batch answers."""

    answers: int = 0  # new ones
    known: int = 0  # in the log already
    foreign: int = 0  # to questions that are not asked here
    used: Spent = field(default_factory=Spent)  # by the new ones
    failures: Counter[str] = field(default_factory=Counter)


def read_batch(path: str, questions: Mapping[str, LabelRequest], log: AnswerLog, prompt: Prompt) -> BatchRead:
    """Read a provider's file of answers, or of errors, into the log."""
    read = BatchRead()
    text = bytes(read_content(path).view).decode("utf-8", "replace")
    for line, row in enumerate(text.split("\n"), 1):
        if not row.strip():
            continue
        try:
            found = json.loads(row)
            key = found["custom_id"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise FormatError(
                path, line, f"{quote(row)} is no batch answer; expected a JSON object with custom_id"
            ) from error
        if key in log.answers:
            read.known += 1
            continue
        question = questions.get(key)
        if question is None:
            read.foreign += 1
            continue
        _take(found, question, read, log, prompt)
    return read


def _take(
    found: Mapping[str, object], question: LabelRequest, read: BatchRead, log: AnswerLog, prompt: Prompt
) -> None:
    response = found.get("response")
    response = response if isinstance(response, dict) else {}
    body: Any = response.get("body")
    status = response.get("status_code", 200)
    if status != 200 or message_of(body) is None:
        error = found.get("error") or (body.get("error") if isinstance(body, dict) else None)
        code = str(error.get("code") or "") if isinstance(error, dict) else ""
        if code != "content_filter":
            read.failures[code or f"HTTP {status}"] += 1
            return
        body = {"choices": [{"message": {"content": "", "refusal": REFUSAL}}]}
    asked = question.make_body()
    used = used_by(body, most_tokens(asked, asked["messages"]))
    log.add(f"batch-{question.key}", used, logged(question, body, prompt))
    read.used = read.used.plus(used)
    read.answers += 1
