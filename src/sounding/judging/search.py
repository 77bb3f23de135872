"""The corpus: the text of every document, and a search over it, in a SQLite file of its own.

It never changes while people judge, so it stays beside the project whatever database the log is in, and
every process reads it without a lock. Words are found whatever their case and accents; scripts that write
no blanks between words are indexed by pairs of characters.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sounding.data.corpus import Document
from sounding.errors import DataError
from sounding.judging import sql
from sounding.judging.database import StoreError, readable, storable
from sounding.judging.tantivy_index import Add, TantivyIndex, Term, new_index
from sounding.judging.titles import is_html, plain, titled
from sounding.wording import plural
from sounding.workers import Progress

Search = Literal["fts5", "tantivy"]

PAGE = 500  # documents that are added at once
AROUND = 120  # characters of a document shown before and behind the first word that was found
TITLE = 100  # characters of the first line of a document without a title

# Thai, Lao, Myanmar, Khmer, kana, Han, Hangul: no blanks between words, or endings that stick to them.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
# Accents, and the points of Hebrew and Arabic, which writers may leave out.
_OPTIONAL = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]+"
)
_QUERY = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"[^\W_]+(?:[^\W_]|[\u0900-\u0dff])*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A document that a search found."""

    doc: str
    title: str  # or the beginning of its first line, where it has none
    snippet: str  # what stands around the first word that was found


def build_corpus(
    path: Path, documents: Iterable[Document], progress: Progress | None = None, *, search: Search = "fts5"
) -> int:
    """Write the corpus file anew from documents, one at a time; it appears whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    index, part_index = index_folder(path), index_folder(part)
    try:
        with _words_into(part_index, search) as add:
            connection = sqlite3.connect(part, isolation_level=None)
            try:
                count = _fill(connection, documents, progress, add)
            finally:
                connection.close()
        if part_index.exists():
            part_index.replace(index)
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path}: the corpus cannot be written ({error})") from error
    finally:
        part.unlink(missing_ok=True)
        shutil.rmtree(part_index, ignore_errors=True)
    return count


def index_folder(path: Path) -> Path:
    """Where tantivy keeps the words of a corpus file; SQLite keeps them in the file itself."""
    return path.with_name(f"{path.name}.tantivy")


def _words_into(folder: Path, search: Search) -> AbstractContextManager[Add | None]:
    return new_index(folder) if search == "tantivy" else nullcontext(None)


def _fill(
    connection: sqlite3.Connection,
    documents: Iterable[Document],
    progress: Progress | None,
    add: Add | None,
) -> int:
    # A file that is not in place yet may be lost: nobody has been told that it is there.
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("PRAGMA synchronous=OFF")
    for statement in sql.CORPUS:
        connection.execute(statement)
    connection.execute("BEGIN")
    count, filled = 0, False
    for page in _pages(documents):
        for document in page:
            count += 1
            kept = _add(connection, count, document)
            filled = filled or bool(kept.text.strip())
            text = _searched(kept)
            if add is None:
                connection.execute(sql.ADD_WORDS, {"number": count, "terms": indexed(text)})
            else:
                add(count, " ".join(words_of(text)))
        if progress is not None:
            progress(len(page))
    if not count:
        raise DataError("the corpus has no documents; expected at least one")
    if not filled:
        raise DataError(f"the corpus has {plural(count, 'document')} and no text; expected one beside the id")
    connection.execute("COMMIT")
    connection.execute(sql.OPTIMISE)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA user_version=1")  # one write that waits for the disk
    return count


def _pages(documents: Iterable[Document]) -> Iterator[list[Document]]:
    page: list[Document] = []
    for document in documents:
        page.append(document)
        if len(page) == PAGE:
            yield page
            page = []
    if page:
        yield page


def _add(connection: sqlite3.Connection, number: int, document: Document) -> Document:
    """Add a document; returns it as it was kept."""
    doc = storable(document.doc, "a doc id")
    kept = Document(doc, readable(document.text), readable(document.title))
    try:
        connection.execute(sql.ADD_DOCUMENT, {"number": number, **kept._asdict()})
    except sqlite3.IntegrityError:
        raise DataError(f"document {document.doc!r} stands twice in the corpus; expected it once") from None
    return kept


def _searched(document: Document) -> str:
    """What a search looks at: all of a text, and of HTML the title and what can be read."""
    title, rest = titled(document)
    return f"{title}\n{plain(rest)}" if is_html(rest) else document.text


class Corpus:
    """The documents of a project; its methods may be called from any thread."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise StoreError(f"{path}: the corpus is missing; make the project anew or restore the file")
        self._address = f"{path.resolve().as_uri()}?mode=ro"
        self._own = threading.local()
        self.count = int(self._rows(sql.COUNT_DOCUMENTS)[0]["count"])
        words = index_folder(path)
        self._index = TantivyIndex(words) if words.is_dir() else None

    def document(self, doc: str) -> Document | None:
        """A document; None: the corpus does not have it."""
        rows = self._rows(sql.DOCUMENT, doc=readable(doc))
        return _document(rows[0]) if rows else None

    def search(self, query: str, limit: int = 20) -> list[Hit]:
        """The documents that fit a query best: those with all of its words, then those with some.

        Words in quotes stand side by side; a star ends a word of which only the beginning is known.
        """
        terms = query_terms(query)
        if not terms:
            return []
        found = self._find(terms, limit, every=True)
        if len(found) < limit and len(terms) > 1:
            some = self._find(terms, limit, every=False)
            found |= {doc: one for doc, one in some.items() if doc not in found}
        words = _WORD.findall(query)
        return [_hit(document, words) for document in list(found.values())[:limit]]

    def _find(self, terms: list[Term], limit: int, *, every: bool) -> dict[str, Document]:
        if self._index is None:
            query = (" AND " if every else " OR ").join(map(in_fts5, terms))
            rows = self._rows(sql.FIND, query=query, limit=limit)
        else:
            numbers = self._index.find(terms, limit, every=every)
            rows = [row for number in numbers for row in self._rows(sql.DOCUMENT_OF_NUMBER, number=number)]
        return {row["doc"]: _document(row) for row in rows}

    def _rows(self, statement: str, **given: object) -> list[sqlite3.Row]:
        try:
            connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
            if connection is None:
                connection = sqlite3.connect(self._address, uri=True, isolation_level=None)
                connection.row_factory = sqlite3.Row
                self._own.connection = connection
            return connection.execute(statement, given).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the corpus cannot be read ({error}); make the project anew") from error


def _document(row: sqlite3.Row) -> Document:
    return Document(row["doc"], row["text"], row["title"] if "title" in row.keys() else "")  # noqa: SIM118


def _hit(document: Document, words: list[str]) -> Hit:
    title, rest = titled(document)
    text = plain(rest)
    return Hit(doc=document.doc, title=title or title_of(text), snippet=_around(text, words))


def folded(text: str) -> str:
    """Text as the index compares it: without case, accents and points."""
    if text.isascii():
        return text.lower()
    plain = _OPTIONAL.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).casefold()


def indexed(text: str) -> str:
    """The words of a text, unspaced scripts cut into pairs of characters, the last one standing alone."""
    return _UNSPACED.sub(lambda run: f" {' '.join(_pairs(run.group()))} ", folded(text))


def words_of(text: str) -> Iterator[str]:
    """The words of a text one by one, as SQLite's index cuts them by itself."""
    for part in indexed(text).split():
        if _UNSPACED.fullmatch(part):
            yield part
        else:
            yield from _WORD.findall(part)


def query_terms(query: str) -> list[Term]:
    """The parts of a query, each once; signs and operators of other search engines mean nothing."""
    terms: list[Term] = []
    for phrase, word in _QUERY.findall(readable(query)):
        text = folded(phrase or word)
        unspaced = _UNSPACED.findall(text)
        words = _WORD.findall(_UNSPACED.sub(" ", text))
        begins = word.endswith("*")
        if phrase and not unspaced and words:
            terms.append(Term(tuple(words)))
        else:
            terms += [Term((one,), begins) for one in words]
        terms += [_unspaced_term(run) for run in unspaced]
    return list(dict.fromkeys(terms))


def in_fts5(term: Term) -> str:
    """A term in the language of SQLite's index."""
    return f'"{" ".join(term.words)}"' + ("*" if term.begins else "")


def _unspaced_term(run: str) -> Term:
    """Pairs side by side; a lone character is the beginning of a pair, or the last of a text."""
    return Term((run,), begins=True) if len(run) == 1 else Term(tuple(_pairs(run)[:-1]))


def _pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(len(run))]


def title_of(text: str) -> str:
    """The first line of a text, or its beginning."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return shortened(first, TITLE)


def shortened(text: str, length: int) -> str:
    """A text, or its beginning and a mark where it is longer."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _around(text: str, words: list[str]) -> str:
    """What stands around the first of the words, in one line; the beginning where none is found."""
    found = [
        match.start()
        for word in words
        if (match := re.search(re.escape(word), text, re.IGNORECASE)) is not None
    ]
    middle = min(found, default=0)
    first, last = max(0, middle - AROUND), middle + AROUND
    inside = " ".join(text[first:last].split())
    return f"{'…' if first else ''}{inside}{'…' if last < len(text) else ''}"
