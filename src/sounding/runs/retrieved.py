"""What several runs retrieved, as one array: a document of a topic has one number wherever it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.workers import Progress
from sounding.data.fast.keys import pair_keys
from sounding.data.fast.tokens import MARGIN, Tokens, Words, digests, same_words
from sounding.data.reading import EachRun, check_topics, map_runs
from sounding.data.tables import Qrels, Run, byte_order
from sounding.runs.align import Judged, order_documents, prepare
from sounding.runs.ranking import Counts, Values

Numbers = NDArray[np.int32]
NONE = -1  # no document: the list ends above this rank


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Retrieved:
    """The first documents of several runs: those of topic t have the numbers starts[t] to starts[t + 1].

    Within a topic the numbers follow the byte order of the doc ids: an order that tells nothing of ranks.
    """

    runs: tuple[str, ...]
    tags: tuple[str, ...]  # (run,) what each run calls itself
    topics: tuple[str, ...]  # in byte order
    starts: Counts  # (topic + 1,)
    docs: Tokens  # (document,)
    lists: Numbers  # (run, topic, rank) the number of the document at each rank; NONE below the last

    @property
    def depth(self) -> int:
        """How many ranks there are at most."""
        return self.lists.shape[2]

    @property
    def sizes(self) -> Counts:
        """How many different documents each topic has."""
        return np.diff(self.starts)

    @property
    def topic(self) -> Counts:
        """The topic of every document."""
        return np.repeat(np.arange(len(self.topics)), self.sizes)

    @property
    def lengths(self) -> Counts:
        """(run, topic): how many documents each list has."""
        return np.count_nonzero(self.lists != NONE, axis=2)

    def cut(self, depth: int) -> Retrieved:
        """The first `depth` documents of every list; documents keep their numbers."""
        return replace(self, lists=self.lists[:, :, :depth])

    def pick(self, runs: Sequence[int] | NDArray[np.bool_]) -> Retrieved:
        """Some of the runs; documents keep their numbers."""
        rows = np.arange(len(self.runs))[runs]
        return replace(
            self,
            runs=tuple(self.runs[row] for row in rows),
            tags=tuple(self.tags[row] for row in rows),
            lists=self.lists[rows],
        )

    def of_topics(self, topics: Sequence[int]) -> Retrieved:
        """Some of the topics, by number and ascending; documents are numbered anew, ranks stay."""
        rows = np.isin(self.topic, topics).nonzero()[0]
        numbers = np.full(len(self.docs) + 1, NONE, np.int32)  # the last place is where NONE points to
        numbers[rows] = np.arange(len(rows))
        return replace(
            self,
            topics=tuple(self.topics[topic] for topic in topics),
            starts=np.concatenate([[0], np.cumsum(self.sizes[topics])]),
            docs=self.docs[rows],
            lists=numbers[self.lists[:, topics]],
        )

    def best_ranks(self) -> Counts:
        """(document,): the best rank that any of the runs gives it, from 1; 0: none of them has it."""
        best = np.full(len(self.docs) + 1, self.depth + 1)  # the last place takes what NONE points to
        for rank in range(self.depth, 0, -1):
            best[self.lists[:, :, rank - 1]] = rank
        best[best > self.depth] = 0
        return best[:-1]

    def holders(self) -> Counts:
        """(document,): how many of the runs have it."""
        return np.bincount(self.lists.ravel() + 1, minlength=len(self.docs) + 1)[1:]

    def find(self, judged: Judged) -> tuple[Counts, Counts]:
        """Documents that the qrels list, ascending, and the row of the qrels for each."""
        topic = np.repeat(judged.table.numbers(self.topics), self.sizes)
        keys = pair_keys(self.topics, self.sizes, self.docs.words())
        return judged.table.find(topic, keys, self.docs)

    def grades(self, qrels: Qrels, policies: Policies = DEFAULT_POLICIES) -> Values:
        """(document,): its grade; NaN where it was not judged."""
        judged = prepare(qrels, policies)
        here, there = self.find(judged)
        grades = np.full(len(self.docs), np.nan)
        grades[here] = np.where(judged.grades[there] >= 0, judged.grades[there], np.nan)
        return grades

    def pool_ranks(self, qrels: Qrels) -> Counts:
        """(row of the qrels,): the best rank that any of the runs gives the document; 0: none has it."""
        here, there = self.find(prepare(qrels))
        ranks = np.zeros(len(qrels.docs), np.int64)
        ranks[there] = self.best_ranks()[here]
        return ranks


def read_retrieved(
    runs: Any,
    *,
    depth: int | None = None,
    topics: Sequence[str] | None = None,
    judged: bool = False,
    policies: Policies = DEFAULT_POLICIES,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
    check: Callable[[Run], None] | None = None,
) -> Retrieved:
    """The first `depth` documents (None: all) of every run, in the order in which the evaluation has them.

    Runs are files, folders, globs, tables, dicts or frames, as for `evaluate`. `topics` names those that
    count; None: every topic of any run. Where they are `judged`, runs that lack them are refused as an
    evaluation refuses them. `check` sees every run whole, and raises where it is not to be taken.
    """
    if policies.ties == "average":
        raise DataError("averaged ties give no order of documents; use ties trec, score-file, file or rank")
    wanted = None if topics is None else set(topics)

    def work(run: Run) -> _Part:
        if check is not None:
            check(run)
        if topics is not None and judged:
            check_topics(run, topics, policies)
        return _first_documents(run, depth, wanted, policies)

    read = map_runs(work, runs, policies, run_format=run_format, jobs=jobs, progress=progress)
    if not read.results:
        raise DataError("no runs; give at least one")
    found = {topic for part in read.results for topic in part.topics} if topics is None else set(topics)
    return _joined(read, tuple(sorted(found, key=byte_order)))


def cut_pool(qrels: Qrels, contributors: Retrieved | None, depth: int) -> Qrels:
    """The judgments that a pool of this depth would have had, with the rank at which each was pooled.

    Judgments that know these ranks are cut by them; of others a document is kept that some contributing run
    has at that depth or better. The scale of the grades stays.
    """
    ranks = qrels.pool_ranks
    if ranks is None:
        if contributors is None:
            raise DataError("qrels without pool ranks are cut by the runs that made the pool; give them")
        ranks = contributors.cut(depth).pool_ranks(qrels)
    near = (ranks > 0) & (ranks <= depth)
    return replace(qrels, pool_ranks=ranks, highest=qrels.best_grade).keep(near)


class _Part(NamedTuple):
    """The first documents of one run, topic after topic and by rank."""

    topics: tuple[str, ...]
    sizes: Counts  # (topic,)
    words: Words
    lengths: NDArray[np.int32]  # of the doc ids, in bytes


def _first_documents(run: Run, depth: int | None, wanted: set[str] | None, policies: Policies) -> _Part:
    chosen = np.array([wanted is None or topic in wanted for topic in run.topics], np.bool_)
    rows = np.repeat(chosen, run.sizes).nonzero()[0]
    positions, _ = order_documents(run, rows, policies)
    ordered = rows[np.argsort(positions)]
    topic = np.repeat(np.arange(len(run.topics)), run.sizes)[rows]  # topics stand in stretches in both orders
    if depth is not None:
        kept = np.sort(positions) - run.starts[topic] < depth
        ordered, topic = ordered[kept], topic[kept]
    sizes = np.bincount(topic, minlength=len(run.topics))[chosen]
    docs = run.docs[ordered]
    return _Part(
        tuple(name for name, some in zip(run.topics, chosen.tolist(), strict=True) if some),
        sizes, docs.words(), docs.length.astype(np.int32),
    )  # fmt: skip


def _joined(read: EachRun[_Part], topics: tuple[str, ...]) -> Retrieved:
    """All parts under one numbering, topic by topic."""
    parts = read.results
    deepest = max((int(part.sizes.max(initial=0)) for part in parts), default=0)
    lists = np.full((len(parts), len(topics), deepest), NONE, np.int32)
    width = max(len(part.words) for part in parts)
    pieces = [dict(_pieces(part, width)) for part in parts]
    words, lengths, total = [], [], [0]
    for place, topic in enumerate(topics):
        here = [(row, piece[topic]) for row, piece in enumerate(pieces) if topic in piece]
        if not here:
            total.append(total[-1])
            continue
        every = np.concatenate([piece[0] for _, piece in here], axis=1)
        first, number = _numbered(every)
        words.append(every[:, first])
        lengths.append(np.concatenate([piece[1] for _, piece in here])[first])
        begin = 0
        for row, (own, _) in here:
            end = begin + own.shape[1]
            lists[row, place, : end - begin] = number[begin:end] + total[-1]
            begin = end
        total.append(total[-1] + len(first))
    return Retrieved(
        runs=read.names, tags=read.tags, topics=topics,
        starts=np.array(total, np.int64), docs=_tokens(words, lengths, width), lists=lists,
    )  # fmt: skip


def _pieces(part: _Part, width: int) -> Iterator[tuple[str, tuple[Words, NDArray[np.int32]]]]:
    """(topic, (words and lengths of its documents)); words are filled up to `width`."""
    ends = np.cumsum(part.sizes)
    for topic, begin, end in zip(part.topics, (ends - part.sizes).tolist(), ends.tolist(), strict=True):
        words = part.words[:, begin:end]
        if len(words) < width:
            words = np.concatenate([words, np.zeros((width - len(words), end - begin), np.uint64)])
        yield topic, (words, part.lengths[begin:end])


def _numbered(words: Words) -> tuple[Counts, Counts]:
    """One place of each different text, in byte order of the texts, and the number of every text."""
    _, first, number = np.unique(digests(words), return_index=True, return_inverse=True)
    # Two texts with one digest are told apart: each one that is not its first has a number of its own.
    alone = (~same_words(words, words, first[number])).nonzero()[0]
    number[alone] = len(first) + np.arange(len(alone))
    first = np.concatenate([first, alone])
    order = np.lexsort([word[first].byteswap() for word in words[::-1]])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[number]


def _tokens(words: Sequence[Words], lengths: Sequence[NDArray[np.int32]], width: int) -> Tokens:
    """Texts from their words."""
    count = sum(map(len, lengths))
    buffer = np.zeros(count * width * 8 + MARGIN, np.uint8)
    if count:
        buffer[:-MARGIN] = np.ascontiguousarray(np.concatenate(words, axis=1).T).view(np.uint8).ravel()
    length = np.concatenate([np.empty(0, np.int32), *lengths]).astype(np.int64)
    return Tokens(buffer, np.arange(count) * width * 8, length)


Flags = NDArray[np.bool_]


def held_by_owner(retrieved: Retrieved, owners: Sequence[str]) -> Iterator[tuple[str, Flags]]:
    """(owner, (document,) whether a run of theirs has it), owners as they first come; one owner a run."""
    for owner in dict.fromkeys(owners):
        held = np.zeros(len(retrieved.docs) + 1, np.bool_)
        held[retrieved.lists[[own == owner for own in owners]]] = True  # NONE marks the last place
        yield owner, held[:NONE]


def holders_by_owner(retrieved: Retrieved, owners: Sequence[str]) -> Counts:
    """(document,): how many owners have it."""
    count = np.zeros(len(retrieved.docs), np.int64)
    for _, held in held_by_owner(retrieved, owners):
        count += held
    return count


def shared_by_runs(retrieved: Retrieved) -> Iterator[tuple[Values, Values]]:
    """For each topic, documents that two runs share, (run, run), and those that each run has, (run,)."""
    runs = len(retrieved.runs)
    for topic, size in enumerate(retrieved.sizes.tolist()):
        own = retrieved.lists[:, topic]
        held = np.zeros((runs, size + 1), np.float32)
        held[np.arange(runs)[:, np.newaxis], np.where(own == NONE, NONE, own - retrieved.starts[topic])] = 1
        held = held[:, :NONE]
        yield (held @ held.T).astype(np.float64), held.sum(axis=1, dtype=np.float64)
