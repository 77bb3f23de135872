"""The search over a corpus by tantivy: for collections on which SQLite's own is too slow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sounding.core.errors import MissingPartError
from sounding.judge.database import StoreError

if TYPE_CHECKING:
    import tantivy

TERMS, NUMBER = "terms", "number"  # fields of the index


class Term(NamedTuple):
    """Words that stand side by side; of the last one only the beginning may be known."""

    words: tuple[str, ...]
    begins: bool = False


class Add(Protocol):
    """Adds the words of a document to an index."""

    def __call__(self, number: int, words: str, /) -> None:
        """Add a document by its number."""


@contextmanager
def new_index(folder: Path) -> Iterator[Add]:
    """An index in a folder, to which documents are added; it is there when this ends."""
    engine = _engine()
    folder.mkdir()
    schema = (
        engine.SchemaBuilder()
        .add_text_field(TERMS, stored=False, tokenizer_name="whitespace", index_option="position")
        .add_unsigned_field(NUMBER, stored=True)
        .build()
    )
    # One thread: documents of equal worth are then found in the order of the corpus.
    writer = engine.Index(schema, path=str(folder)).writer(num_threads=1)

    def add(number: int, words: str) -> None:
        writer.add_document(engine.Document(**{NUMBER: number, TERMS: words}))

    try:
        yield add
        writer.commit()
    finally:
        writer.wait_merging_threads()  # which write to the folder until then


class TantivyIndex:
    """An index that was made; its methods may be called from any thread."""

    def __init__(self, folder: Path) -> None:
        self._engine = _engine()
        try:
            self._index = self._engine.Index.open(str(folder))
        except (ValueError, OSError) as error:
            raise StoreError(
                f"{folder}: the index cannot be read ({error}); make the project anew"
            ) from error

    def find(self, terms: Sequence[Term], limit: int, *, every: bool) -> list[int]:
        """The numbers of the documents that have every term, or any, the best first."""
        searcher = self._index.searcher()
        hits = searcher.search(self._queries(terms, every), limit, count=False).hits
        return [int(searcher.doc(address)[NUMBER][0]) for _, address in hits]

    def count(self, terms: Sequence[Term], *, every: bool) -> int:
        """How many documents have every term, or any."""
        return int(self._index.searcher().search(self._queries(terms, every), 1, count=True).count)

    def _queries(self, terms: Sequence[Term], every: bool) -> tantivy.Query:
        occur = self._engine.Occur.Must if every else self._engine.Occur.Should
        return self._engine.Query.boolean_query([(occur, self._query(term)) for term in terms])

    def _query(self, term: Term) -> tantivy.Query:
        query, schema = self._engine.Query, self._index.schema
        if term.begins:
            # Words are letters, digits and marks: nothing in them has a meaning in a pattern.
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
