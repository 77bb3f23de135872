"""Read the texts of documents one at a time: TREC's SGML and JSON lines, compressed or not.

A corpus may be far larger than memory, so files are read in pieces and only requested documents are returned.
"""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple

from sounding.core.errors import FormatError
from sounding.core.text import quote
from sounding.data.finding import find_files, part_of_collection
from sounding.data.labeled_parts import IDS, LabeledPart, Member, parts_of
from sounding.data.sources import Content, unpacker

TITLES = ("title", "headline")  # members that may hold the title
NOT_TEXT = (*IDS, "url", "metadata")

_OPEN = re.compile(r"<doc(\s[^<>]*)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</doc\s*>", re.IGNORECASE)
_NUMBER = re.compile(r"<docno>(.*?)</docno>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<(title|headline|doctitle|hl|ti|ttl)(?:\s[^<>]*)?>", re.IGNORECASE)
# a headline; the <head> of HTML contains other elements
_HEAD = re.compile(r"<(head)>(?=[^<>]*</head)", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
Wrong = Callable[[str], str]  # returns what is wrong with a document id; empty if nothing

ReadLine = Callable[[int], str]  # returns the next line, of this number; empty at the end

_HEAD_BYTES = 16  # enough to recognize an archive
_PIECE = 1 << 16  # bytes read at a time


class Document(NamedTuple):
    """A document's id and its full text without markup.

    Bytes that are not UTF-8 are kept with `surrogateescape`, so that callers can report them.
    """

    doc: str
    text: str
    title: str = ""  # the text begins with the title; empty if unknown
    parts: tuple[LabeledPart, ...] = ()  # empty: the text is one piece


def read_corpus(
    sources: Iterable[str | Path],
    wanted: Collection[str] | None = None,
    *,
    wrong: Wrong | None = None,
    most: int | None = None,
    members: Sequence[Member] = (),
) -> Iterator[Document]:
    """Yield the documents of files and folders in order; with `wanted`, only the documents of these ids.

    With `members`, JSON lines consist of labeled parts, and a line without any of them is refused.

    A document is refused, with its line, if `wrong` finds a problem in its id, or if it has more than `most`
    characters; no more of it is read, so that a small archive cannot fill the memory.
    """
    for source in find_files(part_of_collection(each, "corpus") for each in sources):
        with _open_text(source) as stream:
            read = _bounded(source, stream, most)
            first = _first_line(read)
            if first is None:
                raise FormatError(source, None, "the file is empty; expected documents")
            line, text = first
            if text.startswith("{"):
                placed = _json_lines(source, line, text, read, wanted, members)
            elif text.startswith("<"):
                placed = _markup(source, line, text, read, wanted, most)
            else:
                problem = f"{quote(text.strip())} does not start a document; expected <DOC> or JSON lines"
                raise FormatError(source, line, problem)
            for line, document in placed:
                if wrong is not None and (problem := wrong(document.doc)):
                    raise FormatError(source, line, problem)
                yield document


def has_documents(markup: str) -> bool:
    """Return whether a text contains the start of a TREC SGML document."""
    return _OPEN.search(markup) is not None


def _open_text(source: str) -> IO[str]:
    """Open a text stream and decompress it if necessary; bytes that are not UTF-8 are preserved."""
    try:
        file = Path(source).open("rb")  # noqa: SIM115 - the caller closes the stream
        try:
            unpack = unpacker(Content.from_bytes(source, file.peek()[:_HEAD_BYTES]))
        except Exception:
            file.close()
            raise
    except OSError as error:
        raise FormatError(source, None, f"cannot be opened ({error.strerror or error})") from error
    stream = file if unpack is None else io.BufferedReader(_Unpacked(file, unpack))
    return io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape")


class _Unpacked(io.RawIOBase):
    """A compressed file as a raw stream of its content."""

    def __init__(self, file: BinaryIO, unpack: Callable[[Iterable[bytes]], Iterator[bytes]]) -> None:
        self._file = file
        self._parts = unpack(iter(lambda: file.read(_PIECE), b""))
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = memoryview(part)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _bounded(source: str, stream: IO[str], most: int | None) -> ReadLine:
    """Return the function that reads the next line, of which it knows the number, and refuses a long one."""

    def read(number: int) -> str:
        line = stream.readline() if most is None else stream.readline(most + 1)
        if most is not None and len(line) > most:
            raise FormatError(source, number, _too_long(most))
        return line

    return read


def _too_long(most: int) -> str:
    return f"the document has more than {most:,} characters; split it, or leave it out"


def _first_line(read: ReadLine) -> tuple[int, str] | None:
    """Return the number and text of the first line that is not blank."""
    number = 1
    while line := read(number):
        if line.strip():
            return number, line.lstrip("\ufeff \t")
        number += 1
    return None


def _json_lines(
    source: str,
    number: int,
    first: str,
    read: ReadLine,
    wanted: Collection[str] | None,
    members: Sequence[Member],
) -> Iterator[tuple[int, Document]]:
    line = first
    while line:
        if line.strip():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError as error:
                raise FormatError(
                    source, number, f"not valid JSON ({error.msg}); expected one object per line"
                ) from error
            doc = _id(entry)
            if doc is None:
                raise FormatError(source, number, f"no doc id; expected one of {', '.join(IDS)}")
            if wanted is None or doc in wanted:
                document = _of_parts(doc, entry, members) if members else _of_entry(doc, entry)
                if members and not document.parts:
                    expected = ", ".join(one.name for one in members)
                    raise FormatError(
                        source, number, f"document {quote(doc)} has none of the fields {expected}"
                    )
                yield number, document
        number += 1
        line = read(number)


def _id(entry: object) -> str | None:
    """Return the document id of a JSON line, or None."""
    if not isinstance(entry, dict):
        return None
    found = next((entry[name] for name in IDS if name in entry), None)
    return None if found is None else str(found)


def _of_entry(doc: str, entry: dict[str, object]) -> Document:
    """Build the document of a JSON line: the title first, then every other member with text."""
    name = next((name for name in TITLES if one_line(entry.get(name))), "")
    title = one_line(entry.get(name))
    rest = [
        str(value) for key, value in entry.items() if value not in (None, "") and key not in (*NOT_TEXT, name)
    ]
    return Document(doc, " ".join([title, *rest] if title else rest), title)


def _of_parts(doc: str, entry: dict[str, object], members: Sequence[Member]) -> Document:
    """Build the document of a JSON line from labeled parts; the title is shown above them."""
    parts = parts_of(entry, members)
    taken = {one.name for one in members}
    title = next((found for name in TITLES if name not in taken and (found := one_line(entry.get(name)))), "")
    texts = [title, *(part.text for part in parts)]
    return Document(doc, "\n\n".join(filter(None, texts)), title, parts)


def one_line(value: object) -> str:
    """Return a text with all white space collapsed to single blanks; empty if it is not a text."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _markup(
    source: str, number: int, first: str, read: ReadLine, wanted: Collection[str] | None, most: int | None
) -> Iterator[tuple[int, Document]]:
    lines: list[str] = []
    begin, size, line = 0, 0, first
    while line:
        if not begin and _OPEN.search(line):
            begin, lines, size = number, [], 0
        if begin:
            lines.append(line)
            size += len(line)
            if most is not None and size > most:
                raise FormatError(source, begin, _too_long(most))
            if _CLOSE.search(line):
                document = _document(source, begin, "".join(lines))
                if wanted is None or document.doc in wanted:
                    yield begin, document
                begin = 0
        number += 1
        line = read(number)
    if begin:
        raise FormatError(source, begin, "the document that starts here does not end; expected </DOC>")


def _document(source: str, line: int, text: str) -> Document:
    number = _NUMBER.search(text)
    if number is None:
        raise FormatError(source, line, "the document has no id; expected <DOCNO>")
    body = text[: number.start()] + text[number.end() :]
    found = element(body, _TITLE) or element(body, _HEAD)
    title = "" if found is None else one_line(_without_tags(found.inside))
    rest = _without_tags(body if found is None or not title else found.around)
    return Document(number[1].strip(), f"{title}\n{rest}".strip(), title)


class Element(NamedTuple):
    """The text inside an element, and the text around it."""

    inside: str
    around: str


def element(markup: str, opening: re.Pattern[str]) -> Element | None:
    """Return the first element whose opening tag matches; the pattern's first group is the tag's name.

    An element without an end does not count: searching for all ends would take forever in a broken file.
    """
    begin = opening.search(markup)
    if begin is None:
        return None
    end = re.compile(rf"</{begin[1]}\s*>", re.IGNORECASE).search(markup, begin.end())
    if end is None:
        return None
    return Element(markup[begin.end() : end.start()], markup[: begin.start()] + markup[end.end() :])


def _without_tags(markup: str) -> str:
    return html.unescape(_TAG.sub(" ", markup))
