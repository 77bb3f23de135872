"""Small retrieval models, different enough to make a ranking of runs worth judging for.

The text of a query is that of a topic; a run is the best documents of every query with their scores.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.data.corpus import Document
from sounding.demo.questions import Question

K1, B = 1.2, 0.75  # of BM25
MU = 60.0  # words by which the language model smooths: documents are about as long
FEEDBACK = 5  # documents that are taken for relevant when a query is expanded
EXPANSION = 10  # words that they add to it
PIECE = 4  # letters

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
    """The words of a text without case, and without those that are everywhere."""
    return [word for word in _WORD.findall(text.lower()) if word not in _STOP]


def stems(text: str) -> Words:
    """Words without their English endings, as far as three letters are left."""
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
    """All runs of four letters in the words of a text, shorter words whole."""
    return [
        word[place : place + PIECE] for word in plain(text) for place in range(max(1, len(word) - PIECE + 1))
    ]


@dataclass(frozen=True, eq=False)
class Index:
    """How often every term stands in every document."""

    terms: dict[str, int]
    counts: Any  # (document, term) a sparse matrix by columns

    @staticmethod
    def of(texts: Iterable[Words]) -> Index:
        """The index of documents that are given as their terms."""
        from scipy.sparse import csc_array

        terms: dict[str, int] = {}
        rows, columns = [], []
        number = -1
        for number, words in enumerate(texts):
            for word in words:
                rows.append(number)
                columns.append(terms.setdefault(word, len(terms)))
        shape = (number + 1, len(terms))
        return Index(terms, csc_array((np.ones(len(rows)), (rows, columns)), shape=shape))

    @cached_property
    def lengths(self) -> Scores:
        """(document,) terms of each."""
        return np.asarray(self.counts.sum(axis=1), np.float64)

    @cached_property
    def rarity(self) -> NDArray[np.float64]:
        """(term,) the more, the fewer documents have it."""
        documents = self.counts.shape[0]
        having = np.diff(self.counts.indptr)
        rarity: NDArray[np.float64] = np.log(1 + (documents - having + 0.5) / (having + 0.5))
        return rarity

    def column(self, term: int) -> Scores:
        """(document,) how often each has a term."""
        return np.asarray(self.counts[:, [term]].toarray(), np.float64)[:, 0]

    def known(self, words: Words) -> list[int]:
        """The terms of a query that some document has."""
        return [self.terms[word] for word in words if word in self.terms]


def bm25(index: Index, terms: Iterable[int]) -> Scores:
    """Robertson's BM25, with the rarity that never falls below 0."""
    norm = K1 * (1 - B + B * index.lengths / index.lengths.mean())
    scores = np.zeros(index.counts.shape[0])
    for term in terms:
        count = index.column(term)
        scores += index.rarity[term] * count * (K1 + 1) / (count + norm)
    return scores


def likelihood(index: Index, terms: Iterable[int]) -> Scores:
    """The likelihood of the query under a language model of each document with Dirichlet smoothing.

    Counted from that of an empty document, so that documents without any of the words have their place.
    """
    every = index.lengths.sum()
    scores = np.zeros(index.counts.shape[0])
    for term in terms:
        count = index.column(term)
        scores += np.log1p(count / (MU * count.sum() / every)) + np.log(MU / (index.lengths + MU))
    return scores


def cosine(index: Index, terms: Sequence[int]) -> Scores:
    """The cosine between query and document, counts damped and weighed by rarity."""
    weights = index.counts.copy()
    weights.data = (1 + np.log(weights.data)) * np.repeat(index.rarity, np.diff(weights.indptr))
    long = np.sqrt(np.asarray(weights.multiply(weights).sum(axis=1), np.float64))
    query = np.bincount(np.array(terms, np.int64), minlength=len(index.rarity)) * index.rarity
    return np.asarray(weights @ query, np.float64) / np.where(long > 0, long, 1)


def expanded(index: Index, terms: Sequence[int]) -> Scores:
    """BM25 with the rarest frequent words of the first documents added to the query at half its weight."""
    first = bm25(index, terms)
    best = np.argsort(-first, kind="stable")[:FEEDBACK]
    share = np.asarray((index.counts[best] > 0).sum(axis=0), np.float64) / FEEDBACK
    worth = share * index.rarity
    worth[list(terms)] = 0
    added = np.argsort(-worth, kind="stable")[:EXPANSION]
    return first + bm25(index, added[worth[added] > 0].tolist()) / 2


def models(documents: Sequence[Document]) -> dict[str, Model]:
    """The models over a corpus; those of the package bm25s as well, where it is installed."""
    texts = [document.text for document in documents]
    words, stemmed, parts = (Index.of(map(analyse, texts)) for analyse in (plain, stems, pieces))
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
    """What every model retrieves: the best documents with a score above that of a document without a word."""
    return {
        name: {asked.id: _best(documents, model(asked), depth) for asked in questions}
        for name, model in models(documents).items()
    }


def _best(documents: Sequence[Document], scores: Scores, depth: int) -> dict[str, float]:
    order = np.argsort(-scores, kind="stable")[:depth].tolist()
    return {documents[place].doc: float(scores[place]) for place in order if scores[place] > scores.min()}
