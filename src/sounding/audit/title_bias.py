"""Share of a title's words in relevant documents, by the rank at which they were pooled.

Buckley et al. (2006; in Baillie et al., section 4.2.3) saw a pool so shallow that nearly every relevant
document held the words of the title: runs that find others were underestimated. A pool that is deep enough
shows it too: toward its end, documents hold fewer of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sounding.audit.judged_runs import JudgedRuns
from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.data.corpus import Document, read_corpus
from sounding.data.topics import Topics
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE

STOP_WORDS = frozenset(
    {
        "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "by", "can", "did", "do", "does",
        "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "not", "of",
        "on", "or", "that", "the", "their", "there", "these", "this", "those", "to", "was", "were", "what",
        "when", "where", "which", "who", "why", "will", "with",
    }
)  # fmt: skip
EDGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)  # the last pool rank of each row

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TitleBias:
    """The mean share of a title's words that judged documents hold, by pool rank."""

    pooled: bool  # ranks are those in contributing runs; False: none is known, so in any run
    first: Counts  # (row,) the least pool rank of the row
    last: Counts  # (row,)
    relevant: Counts  # (row,) relevant documents with a text
    nonrelevant: Counts  # (row,)
    relevant_share: Values  # (row,) mean share of the title's words; NaN: no documents
    nonrelevant_share: Values  # (row,)
    overall: float  # of all relevant documents that were pooled
    without_text: int  # judged documents that the corpus does not hold
    without_title: int  # judged topics that have no title, or none but stop words

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per range of pool ranks."""
        names = ("first", "last", "relevant", "relevant_share", "nonrelevant", "nonrelevant_share")
        return polars.DataFrame({name: getattr(self, name) for name in names})


def words_of(text: str) -> frozenset[str]:
    """The different words of a text, in lower case, without stop words."""
    return frozenset(_WORD.findall(text.lower())) - STOP_WORDS


def title_bias(runs: JudgedRuns, topics: Topics, corpus: Iterable[str | Path]) -> TitleBias:
    """Title words in the judged documents that contributing runs brought into the pool.

    Where no run is known to have contributed, the rank of a document is its best in any run.
    """
    titles = {
        topic: words
        for topic, title in zip(topics.ids, topics.titles, strict=True)
        if (words := words_of(title))
    }
    known = [topic for topic in runs.topics if topic in titles]
    if not known:
        raise DataError(f"{topics.source}: no titles for the judged topics, such as {runs.topics[0]!r}")
    rank = runs.pool_ranks() if runs.pool.known else runs.best_ranks()
    grade = runs.judgments.grades
    asked = (rank > 0) & (runs.document != NONE)
    docs = runs.retrieved.docs[runs.document[asked]].texts()
    rows: dict[str, list[int]] = {}
    for doc, row in zip(docs, asked.nonzero()[0].tolist(), strict=True):
        if runs.topics[runs.judgments.topic[row]] in titles:
            rows.setdefault(doc, []).append(row)
    share = _shares(runs, titles, rows, read_corpus(corpus, rows.keys()))
    if np.isnan(share).all():
        raise DataError("the corpus holds none of the judged documents; check that it is that of the qrels")
    return _by_rank(
        rank,
        grade >= runs.level,
        share,
        len(runs.topics) - len(known),
        sum(map(len, rows.values())),
        pooled=runs.pool.known,
    )


def _shares(
    runs: JudgedRuns, titles: Mapping[str, frozenset[str]], rows: Mapping[str, list[int]],
    documents: Iterable[Document],
) -> Values:  # fmt: skip
    """(judgment,): the share of its topic's title words that the document holds; NaN: not known."""
    share = np.full(len(runs.judgments.grades), np.nan)
    for document in documents:
        words = words_of(document.text)
        for row in rows[document.doc]:
            title = titles[runs.topics[runs.judgments.topic[row]]]
            share[row] = len(title & words) / len(title)
    return share


def _by_rank(
    rank: Counts, relevant: np.ndarray, share: Values, untitled: int, asked: int, *, pooled: bool
) -> TitleBias:
    deepest = int(rank.max(initial=1))
    last = np.array([*(edge for edge in EDGES if edge < deepest), deepest])
    first = np.concatenate([[1], last[:-1] + 1])
    row = np.searchsorted(last, rank)
    known = np.isfinite(share)
    counts, means = [], []
    for chosen in (known & relevant, known & ~relevant):
        count = np.bincount(row[chosen], minlength=len(last))
        total = np.bincount(row[chosen], share[chosen], len(last))
        counts.append(count)
        means.append(np.divide(total, count, out=np.full(len(last), np.nan), where=count > 0))
    every = share[known & relevant]
    return TitleBias(
        pooled=pooled, first=first, last=last, relevant=counts[0], nonrelevant=counts[1],
        relevant_share=means[0],
        nonrelevant_share=means[1], overall=float(every.mean()) if len(every) else np.nan,
        without_text=asked - int(np.count_nonzero(known)), without_title=untitled,
    )  # fmt: skip
