"""Build the collection of the judging demo: documents, questions, and runs of small retrieval models.

The documents are the docstrings of the Python standard library, which every installation has. Sources are
read, never imported, so that no code runs. Modules written in C have no source; for a few of them, which
every interpreter can load, the docstrings come from the imported module.

The models differ enough to make their ranking worth judging. The query is the text of the question; a run
holds the best documents of every query with their scores.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
import sysconfig
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.workers import Progress
from sounding.data.corpus import Document

LEAST_WORDS = 8  # shorter docstrings are too short to judge
COMPILED = ("builtins", "gc", "itertools", "math", "sys", "time")
NOT_READ = {
    "dist-packages",
    "ensurepip",
    "idlelib",
    "lib2to3",
    "site-packages",
    "test",
    "tests",
    "turtledemo",
}

Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


# ---- documents


def library_documents(folder: Path | None = None, progress: Progress | None = None) -> list[Document]:
    """Return the docstrings of at least LEAST_WORDS words, each under the name of the object it documents."""
    folder = Path(sysconfig.get_path("stdlib")) if folder is None else folder
    found: dict[str, str] = {}
    for path in library_sources(folder):
        for name, text in documented(path, module_name(path.relative_to(folder))):
            found.setdefault(name, text)
        if progress is not None:
            progress(1)
    if not found:
        raise DataError(
            f"{folder}: no sources of the standard library; the demo needs a Python that comes with them"
        )
    for module in COMPILED:
        for name, text in compiled(importlib.import_module(module)):
            found.setdefault(name, text)
    return [
        Document(name, f"{name}\n\n{text}")
        for name, text in sorted(found.items())
        if len(text.split()) >= LEAST_WORDS
    ]


def library_sources(folder: Path) -> list[Path]:
    """Return the files of the public modules in a folder."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        private = any(part.startswith("_") and part != "__init__" for part in parts)
        if not private and not NOT_READ.intersection(parts):
            found.append(path)
    return found


def module_name(path: Path) -> str:
    """Return the name under which a file of the library is imported."""
    return ".".join(part for part in path.with_suffix("").parts if part != "__init__")


def documented(path: Path, module: str) -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) of a module and of the public classes and functions in its source."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about invalid escapes in the sources
            tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return  # the source is for another version of Python
    yield from _inside(tree, module)


def _inside(node: ast.Module | Named, name: str) -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node)
    if text:
        yield name, text
    for part in () if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else node.body:
        if isinstance(part, Named) and not part.name.startswith("_"):
            yield from _inside(part, f"{name}.{part.name}")


def compiled(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) of an imported module and of its public names."""
    for name in ("", *sorted(vars(module))):
        one = getattr(module, name) if name else module
        if not name.startswith("_") and (name == "" or callable(one)):
            text = inspect.getdoc(one)
            if text:
                yield f"{module.__name__}.{name}".rstrip("."), text


# ---- questions


class Question(NamedTuple):
    """A topic of the demo."""

    id: str
    title: str
    description: str
    narrative: str


QUESTIONS = (
    Question(
        "D01", "copy a directory tree",
        "How do I copy a whole folder, with all the files in it, to another place?",
        "Relevant: functions that copy a folder, or that one would call for each file on the way, and what"
        " decides which files are left out. Not relevant: copying objects in memory.",
    ),
    Question(
        "D02", "measure elapsed time",
        "How do I find out how long a piece of code takes to run?",
        "Relevant: clocks that are fit for measuring durations, and tools that time code. Not relevant:"
        " calendars, dates, formatting of times, waiting.",
    ),
    Question(
        "D03", "run another program and read its output",
        "How do I start an external command, wait for it and get what it printed?",
        "Relevant: starting processes, their pipes and their exit codes. Not relevant: threads, and running"
        " Python functions in worker processes.",
    ),
    Question(
        "D04", "temporary file or directory",
        "How do I make a temporary file or folder that is removed when I am done with it?",
        "Highly relevant: what makes and removes it. Relevant: what names temporary files or says where they"
        " go. Not relevant: removing files in general.",
    ),
    Question(
        "D05", "read comma separated values",
        "How do I read a table from a CSV file, with a header and quoted fields?",
        "Relevant: readers of such tables and what describes their dialects. Not relevant: writers alone, and"
        " splitting of strings in general.",
    ),
    Question(
        "D06", "lock shared by threads",
        "How do I keep two threads from changing the same thing at the same time?",
        "Relevant: locks, semaphores, conditions and queues for threads. Partly, that is grade 1: the same"
        " for processes or coroutines. Not relevant: locks on files or mailboxes.",
    ),
    Question(
        "D07", "random sample without replacement",
        "How do I draw some elements of a list at random, none of them twice?",
        "Relevant: drawing and shuffling. Not relevant: random numbers for cryptography, distributions of"
        " numbers.",
    ),
    Question(
        "D08", "parse options of the command line",
        "How does my script understand the options and arguments that it was called with?",
        "Relevant: parsers of command lines and what defines their arguments. Not relevant: configuration"
        " files, and splitting of shell commands as such.",
    ),
    Question(
        "D09", "compress data",
        "How do I make bytes or a file smaller, and get them back?",
        "Relevant: compression and decompression of bytes, files and streams, archives included. Not"
        " relevant: archives' lists of members, encodings that make data larger.",
    ),
    Question(
        "D10", "download a page over http",
        "How do I fetch what is at a web address?",
        "Relevant: clients that open addresses or send requests. Not relevant: servers, and taking addresses"
        " apart.",
    ),
    Question(
        "D11", "cache the results of a function",
        "How do I keep a slow function from being computed again for the same arguments?",
        "Relevant: caches of results and of properties. Not relevant: caches of lines, of regular"
        " expressions, of compiled files.",
    ),
    Question(
        "D12", "date from a string",
        "How do I turn text such as 2006-08-07 into a date or a time?",
        "Relevant: parsing of dates and times. Not relevant: formatting them, arithmetic with them.",
    ),
)  # fmt: skip


# ---- runs

K1, B = 1.2, 0.75  # parameters of BM25
MU = 60.0  # smoothing of the language model in words; documents are about as long
FEEDBACK = 5  # top documents assumed relevant when a query is expanded
EXPANSION = 10  # words added to the query
PIECE = 4  # letters per piece

Scores = NDArray[np.float64]  # (document,)
Words = list[str]
Runs = dict[str, dict[str, dict[str, float]]]  # run -> topic -> document -> score
Model = Callable[[Question], Scores]

_WORD = re.compile(r"[a-z]+|[0-9]+")
_STOP = frozenset(
    _WORD.findall(
        "a all an and another any are as at be by can do for from get have how i if in into is it its me my"
        " not of on or so such than that the their then there this to two what when which will with without"
    )
)
_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ers", "er", "ies", "ed", "es", "s", "e")


def plain(text: str) -> Words:
    """Return the words of a text in lower case, without stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


def stems(text: str) -> Words:
    """Return the words without their English endings; stems keep at least three letters."""
    return [_stem(word) for word in plain(text)]


def _stem(word: str) -> str:
    return next(
        (
            word[: -len(ending)]
            for ending in _ENDINGS
            if word.endswith(ending) and len(word) - len(ending) >= 3
        ),
        word,
    )


def pieces(text: str) -> Words:
    """Return all sequences of four letters in the words of a text; shorter words stay whole."""
    return [
        word[place : place + PIECE] for word in plain(text) for place in range(max(1, len(word) - PIECE + 1))
    ]


@dataclass(frozen=True, eq=False)
class Index:
    """The number of times each term occurs in each document."""

    terms: dict[str, int]
    counts: Any  # (document, term) sparse matrix in column format

    @staticmethod
    def of(texts: Iterable[Words]) -> Index:
        """Build the index of documents, each given as its terms."""
        terms: dict[str, int] = {}
        numbers = [[terms.setdefault(word, len(terms)) for word in words] for words in texts]
        rows = np.repeat(np.arange(len(numbers)), [len(row) for row in numbers])
        columns = list(chain.from_iterable(numbers))
        shape = (len(numbers), len(terms))
        return Index(terms, csc_array((np.ones(len(rows)), (rows, columns)), shape=shape))

    @cached_property
    def lengths(self) -> Scores:
        """Return (document,): the number of terms."""
        return np.asarray(self.counts.sum(axis=1), np.float64)

    @cached_property
    def rarity(self) -> NDArray[np.float64]:
        """Return (term,): the inverse document frequency."""
        documents = self.counts.shape[0]
        having = np.diff(self.counts.indptr)
        rarity: NDArray[np.float64] = np.log(1 + (documents - having + 0.5) / (having + 0.5))
        return rarity

    def column(self, term: int) -> Scores:
        """Return (document,): the number of times a term occurs."""
        return np.asarray(self.counts[:, [term]].toarray(), np.float64)[:, 0]

    def known(self, words: Words) -> list[int]:
        """Return the terms of a query that occur in any document."""
        return [self.terms[word] for word in words if word in self.terms]


def bm25(index: Index, terms: Iterable[int]) -> Scores:
    """Return Robertson's BM25, with an inverse document frequency that is never below 0."""
    norm = K1 * (1 - B + B * index.lengths / index.lengths.mean())
    scores = np.zeros(index.counts.shape[0])
    for term in terms:
        count = index.column(term)
        scores += index.rarity[term] * count * (K1 + 1) / (count + norm)
    return scores


def likelihood(index: Index, terms: Iterable[int]) -> Scores:
    """Return the log likelihood of the query under each document's language model (Dirichlet smoothing).

    It is relative to that of an empty document, so that documents without any query word have a score too.
    """
    every = index.lengths.sum()
    scores = np.zeros(index.counts.shape[0])
    for term in terms:
        count = index.column(term)
        scores += np.log1p(count / (MU * count.sum() / every)) + np.log(MU / (index.lengths + MU))
    return scores


def cosine(index: Index, terms: Sequence[int]) -> Scores:
    """Return the cosine between query and document, with tf-idf weights."""
    weights = index.counts.copy()
    weights.data = (1 + np.log(weights.data)) * np.repeat(index.rarity, np.diff(weights.indptr))
    long = np.sqrt(np.asarray(weights.multiply(weights).sum(axis=1), np.float64))
    query = np.bincount(np.array(terms, np.int64), minlength=len(index.rarity)) * index.rarity
    return np.asarray(weights @ query, np.float64) / np.where(long > 0, long, 1)


def expanded(index: Index, terms: Sequence[int]) -> Scores:
    """Return BM25 with characteristic words of the top documents added to the query at half weight."""
    first = bm25(index, terms)
    best = np.argsort(-first, kind="stable")[:FEEDBACK]
    share = np.asarray((index.counts[best] > 0).sum(axis=0), np.float64) / FEEDBACK
    worth = share * index.rarity
    worth[list(terms)] = 0
    added = np.argsort(-worth, kind="stable")[:EXPANSION]
    return first + bm25(index, added[worth[added] > 0].tolist()) / 2


def models(documents: Sequence[Document]) -> dict[str, Model]:
    """Return the models over a corpus, including those of the package bm25s if it is installed."""
    texts = [document.text for document in documents]
    words, stemmed, parts = (Index.of(map(analyze, texts)) for analyze in (plain, stems, pieces))
    names = Index.of(plain(document.doc.replace("_", " ")) for document in documents)
    found: dict[str, Model] = {
        "bm25": lambda asked: bm25(words, words.known(plain(asked.title))),
        "bm25-long": lambda asked: bm25(words, words.known(plain(f"{asked.title} {asked.description}"))),
        "bm25-stems": lambda asked: bm25(stemmed, stemmed.known(stems(asked.title))),
        "bm25-expanded": lambda asked: expanded(stemmed, stemmed.known(stems(asked.title))),
        "likelihood": lambda asked: likelihood(words, words.known(plain(asked.title))),
        "cosine": lambda asked: cosine(words, words.known(plain(asked.title))),
        "names": lambda asked: bm25(names, names.known(plain(asked.title))),
        "pieces": lambda asked: cosine(parts, parts.known(pieces(f"{asked.title} {asked.description}"))),
    }
    if importlib.util.find_spec("bm25s") is not None:
        found |= {f"bm25s-{kind}": _package_model(texts, kind) for kind in ("lucene", "bm25l")}
    return found


def _package_model(texts: Sequence[str], kind: str) -> Model:
    import bm25s

    def tokens(given: Sequence[str]) -> list[Words]:
        found: list[Words] = bm25s.tokenize(list(given), return_ids=False, show_progress=False)
        return found

    model = bm25s.BM25(method=kind)
    model.index(tokens(texts), show_progress=False)
    return lambda asked: np.asarray(model.get_scores(tokens([asked.title])[0]), np.float64)


def make_runs(documents: Sequence[Document], questions: Sequence[Question], depth: int) -> Runs:
    """Return the run of every model: the best documents that score above one without any query word."""
    return {
        name: {asked.id: _best(documents, model(asked), depth) for asked in questions}
        for name, model in models(documents).items()
    }


def _best(documents: Sequence[Document], scores: Scores, depth: int) -> dict[str, float]:
    order = np.argsort(-scores, kind="stable")[:depth].tolist()
    return {documents[place].doc: float(scores[place]) for place in order if scores[place] > scores.min()}
