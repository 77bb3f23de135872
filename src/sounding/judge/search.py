"""Store the texts of all documents in a SQLite file, and search them.

The file never changes while people judge, so it is a separate file whatever database the log uses, and
processes read it without locks. Search ignores case and accents; scripts without blanks between words are
indexed by pairs of characters. tantivy is for collections on which SQLite's own search is too slow.
"""

from __future__ import annotations

import json
import re
import shutil
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sounding.core.errors import DataError, MissingPartError
from sounding.core.files import temporary_path
from sounding.core.text import plural, quote
from sounding.core.workers import Progress
from sounding.data.corpus import Document
from sounding.data.labeled_parts import LabeledPart
from sounding.judge import sql
from sounding.judge.database import StoreError, readable, storable
from sounding.judge.records import Pair
from sounding.judge.sqlite import sqlite3
from sounding.judge.texts import OPTIONAL, UNSPACED, is_html, plain, split_title

if TYPE_CHECKING:
    import tantivy

TERMS, NUMBER = "terms", "number"  # fields of tantivy's index
PAGE = 500  # documents between two updates of the progress
AROUND = 120  # characters shown before and after the first match

SearchEngine = Literal["fts5", "tantivy"]
Tell = Callable[[str], None]
Add = Callable[[int, str], None]  # adds a document to an index, by its number and its words

_OPTIONAL = re.compile(f"[{OPTIONAL}]+")
_STRAY = re.compile("[\udc80-\udcff\0]")  # bytes that were not UTF-8, and zero bytes
_QUERY = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"[^\W_]+(?:[^\W_]|[\u0900-\u0dff])*")


class Term(NamedTuple):
    """A phrase of adjacent words; with `begins`, the last one is a prefix."""

    words: tuple[str, ...]
    begins: bool = False


@contextmanager
def new_index(folder: Path) -> Iterator[Add]:
    """Create an index in a folder; yield the function that adds documents; complete it at the end."""
    engine = _engine()
    folder.mkdir(mode=0o700)
    schema = (
        engine.SchemaBuilder()
        .add_text_field(TERMS, stored=False, tokenizer_name="whitespace", index_option="position")
        .add_unsigned_field(NUMBER, stored=True)
        .build()
    )
    # One thread, so that equal hits are found in the order of the corpus.
    writer = engine.Index(schema, path=str(folder)).writer(num_threads=1)

    def add(number: int, words: str) -> None:
        writer.add_document(engine.Document(**{NUMBER: number, TERMS: words}))

    try:
        yield add
        writer.commit()
    finally:
        writer.wait_merging_threads()  # they write to the folder


class TantivyIndex:
    """An existing tantivy index; its methods may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self._engine = _engine()
        try:
            self._index = self._engine.Index.open(str(folder))
        except (ValueError, OSError) as error:
            raise StoreError(
                f"{folder}: the index cannot be read ({error}); make the project anew"
            ) from error

    def find(self, terms: Sequence[Term], limit: int, *, every: bool) -> list[int]:
        """Return the numbers of the documents that have every term, or any, best first."""
        searcher = self._index.searcher()
        hits = searcher.search(self._queries(terms, every), limit, count=False).hits
        return [int(searcher.doc(address)[NUMBER][0]) for _, address in hits]

    def count(self, terms: Sequence[Term], *, every: bool) -> int:
        """Return how many documents have every term, or any."""
        return int(self._index.searcher().search(self._queries(terms, every), 1, count=True).count)

    def _queries(self, terms: Sequence[Term], every: bool) -> tantivy.Query:
        occur = self._engine.Occur.Must if every else self._engine.Occur.Should
        return self._engine.Query.boolean_query([(occur, self._query(term)) for term in terms])

    def _query(self, term: Term) -> tantivy.Query:
        query, schema = self._engine.Query, self._index.schema
        if term.begins:
            # Words are letters, digits and marks, so they need no escaping.
            return query.regex_query(schema, TERMS, f"{term.words[-1]}.*")
        if len(term.words) == 1:
            return query.term_query(schema, TERMS, term.words[0])
        return query.phrase_query(schema, TERMS, list(term.words))


def _engine() -> Any:
    try:
        import tantivy
    except ModuleNotFoundError:
        raise MissingPartError("tantivy", "this search", "tantivy") from None
    return tantivy


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A hit of a search."""

    doc: str
    title: str  # empty: it has none
    snippet: str  # the text around the first match


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Some hits of a search, and the number of all."""

    hits: list[Hit]
    first: int  # rank of the first of these hits, from 1
    total: int  # documents with any of the words
    complete: int  # of these: documents with all of the words, which come first


class TwiceError(DataError):
    """Two documents have the same id."""

    def __init__(self, doc: str, place: str = "in the corpus") -> None:
        self.doc = doc
        super().__init__(f"document {doc!r} stands twice {place}; expected it once")


def build_corpus(
    path: Path,
    documents: Iterable[Document],
    progress: Progress | None = None,
    *,
    search: SearchEngine = "fts5",
    tell: Tell | None = None,
) -> int:
    """Write the corpus file from a stream of documents; it appears complete or not at all.

    Documents without readable text are kept. Bytes that are not UTF-8 become replacement characters. `tell`
    receives a warning about both.
    """
    part = temporary_path(path)
    index, part_index = index_folder(path), index_folder(part)
    try:
        part.touch(0o600)  # only the owner may read the texts
        words = new_index(part_index) if search == "tantivy" else nullcontext()
        with words as add, closing(sqlite3.connect(part, isolation_level=None)) as connection:
            count = _fill(connection, documents, progress, add, tell)
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
    """Return the folder of the tantivy index of a corpus file; SQLite's index is in the file itself."""
    return path.with_name(f"{path.name}.tantivy")


def _fill(
    connection: sqlite3.Connection,
    documents: Iterable[Document],
    progress: Progress | None,
    add: Add | None,
    tell: Tell | None,
) -> int:
    # Durability does not matter until the finished file is moved to its place.
    connection.execute("PRAGMA journal_mode=OFF")
    connection.execute("PRAGMA synchronous=OFF")
    for statement in sql.CORPUS:
        connection.execute(statement)
    connection.execute("BEGIN")
    count, blank, stray = 0, _OddDocuments(), _OddDocuments()
    for count, document in enumerate(documents, 1):
        kept = _add(connection, count, document)
        text = _searchable_text(kept)
        if not text.strip():
            blank.add(kept.doc)
        if _STRAY.search(document.text):
            stray.add(kept.doc)
        if add is None:
            connection.execute(sql.ADD_WORDS, {"number": count, "terms": indexed(text)})
        else:
            add(count, " ".join(words_of(text)))
        if progress is not None and count % PAGE == 0:
            progress(PAGE)
    if progress is not None:
        progress(count % PAGE)
    if not count:
        raise DataError("the corpus has no documents; expected at least one")
    if count == blank.count:
        raise DataError(f"the corpus has {plural(count, 'document')} and no text; expected one beside the id")
    connection.execute("COMMIT")
    connection.execute(sql.OPTIMIZE)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA user_version=1")  # this write waits for the disk
    if blank.count and tell is not None:
        tell(f"without a text: {blank.sentence}")
    if stray.count and tell is not None:
        mend = "assessors see a mark for each; save as UTF-8 and make the project anew"
        tell(f"with bytes that are no text in UTF-8: {stray.sentence}; {mend}")
    return count


class _OddDocuments:
    """The number of documents with a problem, and the first of them."""

    def __init__(self) -> None:
        self.count, self._first = 0, ""

    def add(self, doc: str) -> None:
        """Count one more."""
        self.count, self._first = self.count + 1, self._first or doc

    @property
    def sentence(self) -> str:
        """Describe the documents in words."""
        return f"{plural(self.count, 'document')} of the corpus, such as {quote(self._first)}"


def _add(connection: sqlite3.Connection, number: int, document: Document) -> Document:
    """Add a document; return it as stored."""
    doc = storable(document.doc, "a doc id")
    parts = tuple(
        LabeledPart(part.name, part.label, _with_marks(part.text), _with_marks(part.id), part.graded)
        for part in document.parts
    )
    kept = Document(doc, _with_marks(document.text), _with_marks(document.title), parts)
    try:
        connection.execute(
            sql.ADD_DOCUMENT, {"number": number, "doc": doc, "text": kept.text, "title": kept.title}
        )
        if parts:
            connection.execute(
                sql.ADD_PARTS, {"number": number, "parts": json.dumps(parts, ensure_ascii=False)}
            )
    except sqlite3.IntegrityError:
        raise TwiceError(document.doc) from None
    return kept


def _with_marks(text: str) -> str:
    """Return a text as stored, with a replacement character for each byte that was not UTF-8."""
    return readable(_STRAY.sub("\N{REPLACEMENT CHARACTER}", text))


def _searchable_text(document: Document) -> str:
    """Return the text to index: all of a plain text; of HTML, the title and the readable text."""
    title, rest = split_title(document)
    return f"{title}\n{plain(rest)}" if is_html(rest) else document.text


class Corpus:
    """The documents of a project; its methods may be called from any thread."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise StoreError(f"{path}: the corpus is missing; make the project anew or restore the file")
        self._address = f"{path.resolve().as_uri()}?mode=ro"
        self._own = threading.local()
        self.count = int(self._rows(sql.COUNT_DOCUMENTS)[0]["count"])
        self.has_parts = bool(self._rows(sql.HAS_PARTS)[0]["found"] and self._rows(sql.ANY_PARTS))
        words = index_folder(path)
        self._index = TantivyIndex(words) if words.is_dir() else None

    def document(self, doc: str) -> Document | None:
        """Return a document, or None if the corpus lacks it."""
        rows = self._rows(sql.DOCUMENT, doc=readable(doc))
        if not rows:
            return None
        found = self._rows(sql.PARTS, doc=readable(doc)) if self.has_parts else []
        parts = tuple(LabeledPart(*part) for part in json.loads(found[0]["parts"])) if found else ()
        return Document(*rows[0])._replace(parts=parts)

    def search(self, query: str, limit: int = 20, first: int = 1) -> Results:
        """Return the best documents for a query: those with all of its words, then those with some.

        Words in quotes must be adjacent; a star at the end of a word searches for a prefix. `first` is the
        rank of the first hit to return. Ranks do not depend on `first` or `limit`, so pages fit together.
        """
        terms = query_terms(query)
        if not terms:
            return Results(hits=[], first=first, total=0, complete=0)
        last = first + limit - 1
        total, complete = self._count(terms, every=False), self._count(terms, every=True)
        found = dict.fromkeys(self._find(terms, last, every=True))
        if len(found) < last and complete < total:
            found |= dict.fromkeys(self._find(terms, last, every=False))
        words = _WORD.findall(query)
        hits = [self._hit(number, words) for number in list(found)[first - 1 : last]]
        return Results(hits=hits, first=first, total=total, complete=complete)

    def _find(self, terms: list[Term], limit: int, *, every: bool) -> list[int]:
        """Return the numbers of the best documents."""
        if self._index is not None:
            return self._index.find(terms, limit, every=every)
        return [row["number"] for row in self._rows(sql.FIND, query=_fts5_query(terms, every), limit=limit)]

    def _count(self, terms: list[Term], *, every: bool) -> int:
        """Return how many documents match, which is much cheaper than finding the best."""
        if self._index is not None:
            return self._index.count(terms, every=every)
        return int(self._rows(sql.COUNT_FOUND, query=_fts5_query(terms, every))[0]["count"])

    def _hit(self, number: int, words: list[str]) -> Hit:
        document = Document(*self._rows(sql.DOCUMENT_OF_NUMBER, number=number)[0])
        title, rest = split_title(document)
        return Hit(doc=document.doc, title=title, snippet=_snippet(plain(rest), words))

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


def missing_from(corpus: Corpus, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the (topic, doc) pairs whose document the corpus lacks."""
    missing = {doc for doc in {doc for _, doc in pairs} if corpus.document(doc) is None}
    return [pair for pair in pairs if pair[1] in missing]


def folded(text: str) -> str:
    """Return a text as the index compares it: without case, accents and vowel points."""
    if text.isascii():
        return text.lower()
    plain = _OPTIONAL.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", plain).casefold()


def indexed(text: str) -> str:
    """Return the words of a text, with unspaced scripts cut into pairs of characters."""
    return UNSPACED.sub(lambda run: f" {' '.join(_character_pairs(run.group()))} ", folded(text))


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text, cut as SQLite's index does."""
    for part in indexed(text).split():
        if UNSPACED.fullmatch(part):
            yield part
        else:
            yield from _WORD.findall(part)


def query_terms(query: str) -> list[Term]:
    """Return the terms of a query, each once; operators of other search engines have no meaning."""
    terms: list[Term] = []
    for phrase, word in _QUERY.findall(readable(query)):
        text = folded(phrase or word)
        unspaced = UNSPACED.findall(text)
        words = _WORD.findall(UNSPACED.sub(" ", text))
        begins = word.endswith("*")
        if phrase and not unspaced and words:
            terms.append(Term(tuple(words)))
        else:
            terms += [Term((one,), begins) for one in words]
        terms += [_unspaced_term(run) for run in unspaced]
    return list(dict.fromkeys(terms))


def _fts5_query(terms: list[Term], every: bool) -> str:
    """Return a query for all terms, or for any, in the syntax of SQLite's index."""
    return (" AND " if every else " OR ").join(map(in_fts5, terms))


def in_fts5(term: Term) -> str:
    """Return a term in the syntax of SQLite's index."""
    return f'"{" ".join(term.words)}"' + ("*" if term.begins else "")


def _unspaced_term(run: str) -> Term:
    """Return the adjacent pairs of a run; a single character matches as the start of a pair."""
    return Term((run,), begins=True) if len(run) == 1 else Term(tuple(_character_pairs(run)[:-1]))


def _character_pairs(run: str) -> list[str]:
    return [run[place : place + 2] for place in range(len(run))]


def shortened(text: str, length: int) -> str:
    """Return a text, cut with an ellipsis if it is longer than `length`."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _snippet(text: str, words: list[str]) -> str:
    """Return the text around the first match, in one line; the beginning if nothing matches."""
    found = [
        match.start()
        for word in words
        if (match := re.search(re.escape(word), text, re.IGNORECASE)) is not None
    ]
    middle = min(found, default=0)
    first, last = max(0, middle - AROUND), middle + AROUND
    inside = " ".join(text[first:last].split())
    return f"{'…' if first else ''}{inside}{'…' if last < len(text) else ''}"
