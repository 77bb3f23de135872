"""Prompts: files with a name, a version and a hash, from which the messages to a model are made.

A prompt file has up to three parts, separated by lines that hold three dashes: facts (`name: value`), then
the text that is the same for all documents, then the text with the topic and the document. The constant
text comes first, so that a provider can reuse its work on it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from sounding.core.errors import FormatError
from sounding.core.text import quote
from sounding.data.sources import read_content

DEFAULT = "graded"
FORMS = ("json", "number")  # form of the label in the last line of an answer
FACTS = ("name", "version", "labels", "answer")

_PLACE = re.compile(r"\{(topic|title|description|narrative|document|marker)\}")
_SEPARATOR = re.compile(r"^---\s*$", re.MULTILINE)
_NUMBER = re.compile(r"-?\d+")
_FENCE = re.compile(r"^```\w*\s*$")
# How a text begins that declines to answer; this only decides under what it is counted.
_REFUSAL = re.compile(
    r"(i['’]?m sorry|i am sorry|sorry|i can(['’]|no)?t|i cannot|i am unable|i'm unable)\b", re.I
)


class TopicText(NamedTuple):
    """Title, description and narrative of a topic; missing texts are empty."""

    title: str
    description: str = ""
    narrative: str = ""

    @property
    def whole(self) -> str:
        """Return all texts, one below the other."""
        return "\n".join(text for text in self if text)


class LabelRead(NamedTuple):
    """Label that an answer gives, or why it gives none."""

    label: int | None
    problem: str = ""  # REFUSAL or UNPARSABLE


REFUSAL, UNPARSABLE = "refusal", "unparsable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt, and how its answers are read."""

    name: str
    version: str
    labels: tuple[int, ...]  # the labels that an answer may hold
    answer: str  # one of FORMS
    constant: str  # the same for all documents
    template: str
    hash: str  # of the whole file

    @property
    def id(self) -> str:
        """Name, version and the beginning of the hash: what label files call this prompt."""
        return f"{self.name}-{self.version}-{self.hash[:8]}"

    def messages(self, topic: TopicText, document: str) -> list[dict[str, str]]:
        """Return the messages that ask for the label of a document."""
        marker = hashlib.sha256(document.encode("utf-8", "replace")).hexdigest()[:16]
        given = {
            "topic": topic.whole, "title": topic.title, "description": topic.description,
            "narrative": topic.narrative, "document": document, "marker": marker,
        }  # fmt: skip
        # One pass: what looks like a place inside a document stays as it is.
        filled = _PLACE.sub(lambda place: given[place[1]], self.template)
        constant = [{"role": "system", "content": self.constant}] if self.constant else []
        return [*constant, {"role": "user", "content": filled}]

    def read(self, answer: str) -> LabelRead:
        """Return the label in the last line of an answer; never a guess."""
        lines = [line for line in answer.strip().splitlines() if line.strip() and not _FENCE.match(line)]
        last = lines[-1].strip() if lines else ""
        label = _json_label(last, "\n".join(lines)) if self.answer == "json" else _only_number(last)
        if label is not None and label in self.labels:
            return LabelRead(label)
        refused = label is None and _REFUSAL.match(answer.strip()) is not None
        return LabelRead(None, REFUSAL if refused else UNPARSABLE)


def _json_label(last: str, whole: str) -> int | None:
    """Return the label of a JSON object that is the last line, or the whole answer."""
    for text in (last, whole):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            continue
        label = found.get("label") if isinstance(found, dict) else None
        if isinstance(label, str) and _NUMBER.fullmatch(label) and len(label) < 4:
            label = int(label)
        return label if isinstance(label, int) and not isinstance(label, bool) else None
    return None


def _only_number(line: str) -> int | None:
    """Return the number in a line; None if there is none, or more than one."""
    found = re.findall(r"-?\d+(?:\.\d+)?", line)
    return int(found[0]) if len(found) == 1 and _NUMBER.fullmatch(found[0]) and len(found[0]) < 4 else None


def read_prompt(source: str | Path | None = None) -> Prompt:
    """Read a prompt file; None: the prompt for grades from 0 to 3 that comes with sounding."""
    if source is None:
        text = files("sounding.label").joinpath("prompts", f"{DEFAULT}.txt").read_text("utf-8")
        return parse_prompt(text, DEFAULT)
    content = read_content(source)
    try:
        text = bytes(content.view).decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(content.source, None, "a prompt is not UTF-8; save the file as UTF-8") from error
    return parse_prompt(text.replace("\r\n", "\n"), content.source, Path(content.source).stem)


def parse_prompt(text: str, source: str, name: str = "") -> Prompt:
    """Parse a prompt; a file without facts is all text, and asks for a label from 0 to 3 as JSON."""
    parts = _SEPARATOR.split(text)
    facts: dict[str, str] = {}
    if len(parts) > 1 and _is_facts(parts[0]):
        facts = _facts(parts.pop(0), source)
    if len(parts) > 2:
        raise FormatError(
            source, None, f"{len(parts)} parts of text; expected one or two, separated by a line ---"
        )
    constant, template = (parts[0].strip(), parts[1].strip()) if len(parts) == 2 else ("", parts[0].strip())
    if _PLACE.search(constant):
        raise FormatError(
            source, None,
            f"{_PLACE.search(constant)[0]} stands in the first part, which is the same for all documents;"  # type: ignore[index]
            " move it below the second line ---",
        )  # fmt: skip
    places = set(_PLACE.findall(template))
    if "document" not in places or not places & {"topic", "title", "description"}:
        raise FormatError(source, None, "a prompt needs the places {topic} (or {title}) and {document}")
    answer = facts.get("answer", "json")
    if answer not in FORMS:
        raise FormatError(source, None, f"answer: {quote(answer)}; expected {' or '.join(FORMS)}")
    spelled = facts.get("labels", "0 1 2 3").replace(",", " ").split()
    if not spelled or not all(_NUMBER.fullmatch(label) and len(label) < 4 for label in spelled):
        raise FormatError(
            source, None, f"labels: {quote(' '.join(spelled))}; expected numbers such as 0 1 2 3"
        )
    return Prompt(
        name=_word(facts.get("name", name) or "prompt"), version=_word(facts.get("version", "0")),
        labels=tuple(map(int, spelled)), answer=answer, constant=constant, template=template,
        hash=hashlib.sha256(text.encode()).hexdigest(),
    )  # fmt: skip


def _word(text: str) -> str:
    return "-".join(text.split())


def _is_facts(part: str) -> bool:
    lines = [line for line in part.splitlines() if line.strip()]
    return all(re.match(r"\s*[a-z]+\s*:", line) for line in lines)


def _facts(part: str, source: str) -> dict[str, str]:
    facts = {}
    for number, line in enumerate(part.splitlines(), 1):
        if not line.strip():
            continue
        name, _, value = (piece.strip() for piece in line.partition(":"))
        if name not in FACTS:
            raise FormatError(source, number, f"unknown fact {quote(name)}; known: {', '.join(FACTS)}")
        facts[name] = value
    return facts


def body_of(
    prompt: Prompt,
    topic: TopicText,
    document: str,
    *,
    model: str,
    temperature: float | None,
    parameters: dict[str, Any],
) -> dict[str, Any]:
    """Return the body of a chat-completions request; a parameter that is None is left out."""
    limit = {} if "max_completion_tokens" in parameters else {"max_tokens": MOST_ANSWERED}
    body = {
        "model": model, "messages": prompt.messages(topic, document), "temperature": temperature,
        **limit, **parameters,
    }  # fmt: skip
    return {name: value for name, value in body.items() if value is not None}


MOST_ANSWERED = 256  # tokens of an answer, unless a parameter says otherwise
