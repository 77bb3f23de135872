"""The documents that several runs retrieved, as one array in which each document has one number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies, Ties
from sounding.core.workers import Progress
from sounding.data.fast.keys import pair_keys
from sounding.data.fast.tokens import MARGIN, Tokens, Words, digests, same_words
from sounding.data.reading import EachRun, check_topics, map_runs
from sounding.data.tables import Qrels, Run, byte_order
from sounding.runs.align import Judged, by_position, order_documents, prepare
from sounding.runs.ranking import Counts, TieBlocks, Values

Numbers = NDArray[np.int32]
Result = TypeVar("Result")
NONE = -1  # no document: the list ends above this rank


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Retrieved:
    """The first documents of several runs; those of topic t are numbered starts[t] to starts[t + 1].

    Within a topic, numbers follow the byte order of document ids, which is unrelated to ranks.
    """

    runs: tuple[str, ...]
    tags: tuple[str, ...]  # (run,) the tag of each run
    topics: tuple[str, ...]  # in byte order
    starts: Counts  # (topic + 1,)
    docs: Tokens  # (document,)
    lists: Numbers  # (run, topic, rank) the number of the document at each rank; NONE after the last
    # For other tie rules that were requested: (run, topic, rank) the rank, from 0, under that rule.
    orders: Mapping[Ties, Numbers] = field(default_factory=dict)
    blocks: Numbers | None = None  # (run, topic, rank) for `average`: the first rank, from 1, of equal scores

    @property
    def depth(self) -> int:
        """Return the length of the longest list."""
        return self.lists.shape[2]

    @property
    def sizes(self) -> Counts:
        """Return the number of different documents of each topic."""
        return np.diff(self.starts)

    @property
    def topic(self) -> Counts:
        """Return the topic of each document."""
        return np.repeat(np.arange(len(self.topics)), self.sizes)

    @property
    def lengths(self) -> Counts:
        """Return (run, topic): the number of documents in each list."""
        return np.count_nonzero(self.lists != NONE, axis=2)

    def cut(self, depth: int) -> Retrieved:
        """Return the first `depth` documents of every list; documents keep their numbers."""
        return replace(self, lists=self.lists[:, :, :depth], orders={}, blocks=None)

    def by_rule(self, rule: Ties) -> Retrieved:
        """Return the lists in the order of another tie rule, which must have been requested when reading."""
        lists = np.empty_like(self.lists)
        np.put_along_axis(lists, self.orders[rule], self.lists, axis=2)
        return replace(self, lists=lists, orders={})

    def tie_blocks(self, run: int, topics: Counts, topic: Counts, place: Counts) -> TieBlocks | None:
        """Return the blocks of equal scores for documents of a run, each at a place, from 0, of a topic."""
        if self.blocks is None:
            return None
        first = self.blocks[run][topics].astype(np.int64)
        block = first + (self.depth + 1) * np.arange(len(topics))[:, np.newaxis]
        sizes = np.bincount(block[self.lists[run][topics] != NONE])
        return TieBlocks(first[topic, place], sizes[block[topic, place]])

    def pick(self, runs: Sequence[int] | NDArray[np.bool_]) -> Retrieved:
        """Return only these runs; documents keep their numbers."""
        rows = np.arange(len(self.runs))[runs]
        return replace(
            self,
            runs=tuple(self.runs[row] for row in rows),
            tags=tuple(self.tags[row] for row in rows),
            lists=self.lists[rows],
            orders={rule: order[rows] for rule, order in self.orders.items()},
            blocks=None if self.blocks is None else self.blocks[rows],
        )

    def of_topics(self, topics: Sequence[int]) -> Retrieved:
        """Return only these topics, by ascending number; documents are renumbered, ranks stay the same."""
        rows = np.isin(self.topic, topics).nonzero()[0]
        numbers = np.full(len(self.docs) + 1, NONE, np.int32)  # NONE refers to the last place
        numbers[rows] = np.arange(len(rows))
        return replace(
            self,
            topics=tuple(self.topics[topic] for topic in topics),
            starts=np.concatenate([[0], np.cumsum(self.sizes[topics])]),
            docs=self.docs[rows],
            lists=numbers[self.lists[:, topics]],
            orders={},
            blocks=None,
        )

    def narrowed(self, *, topics: Sequence[str] | None = None, depth: int | None = None) -> Retrieved:
        """Return what the runs have for these topics at this depth (None: all), with documents renumbered.

        The result is the same as that of `read_retrieved` with these arguments: a topic that no run has is
        empty.
        """
        wanted = self.topics if topics is None else tuple(sorted(set(topics), key=byte_order))
        if wanted == self.topics and (depth is None or depth >= self.depth):
            return self
        place = {topic: number for number, topic in enumerate(self.topics)}
        lists = np.full((len(self.runs), len(wanted), self.lists[:, :, :depth].shape[2]), NONE, np.int32)
        for number, topic in enumerate(wanted):
            if topic in place:
                lists[:, number] = self.lists[:, place[topic], :depth]
        lists = lists[:, :, : int(np.count_nonzero(lists != NONE, axis=2).max(initial=0))]
        return self._renumbered(lists, wanted)

    def held(self) -> Retrieved:
        """Return the same lists without the documents that no run has; the others are renumbered."""
        longest = int(np.count_nonzero(self.lists != NONE, axis=2).max(initial=0))
        return replace(
            self._renumbered(self.lists[:, :, :longest], self.topics),
            orders={rule: order[:, :, :longest] for rule, order in self.orders.items()},
            blocks=None if self.blocks is None else self.blocks[:, :, :longest],
        )

    def _renumbered(self, lists: Numbers, wanted: tuple[str, ...]) -> Retrieved:
        """Return these lists of some topics, with only their documents."""
        place = {topic: number for number, topic in enumerate(self.topics)}
        kept = np.zeros(len(self.docs) + 1, np.bool_)  # NONE refers to the last place
        kept[lists] = True
        kept[NONE] = False
        sizes = np.bincount(self.topic[kept[:NONE]], minlength=len(self.topics))
        numbers = np.where(kept, np.cumsum(kept) - 1, NONE).astype(np.int32)
        return replace(
            self, topics=wanted, docs=self.docs[kept[:NONE].nonzero()[0]], lists=numbers[lists],
            starts=np.cumsum([0, *(sizes[place[topic]] if topic in place else 0 for topic in wanted)]),
        )  # fmt: skip

    def best_ranks(self) -> Counts:
        """(document,): Return its best rank in any of the runs, from 1; 0 if none has it."""
        best = np.full(len(self.docs) + 1, self.depth + 1)  # NONE refers to the last place
        for rank in range(self.depth, 0, -1):
            best[self.lists[:, :, rank - 1]] = rank
        best[best > self.depth] = 0
        return best[:-1]

    def holders(self) -> Counts:
        """(document,): Return how many of the runs have it."""
        return np.bincount(self.lists.ravel() + 1, minlength=len(self.docs) + 1)[1:]

    def keys(self) -> Words:
        """(document,): Return a hash of its topic and id."""
        return pair_keys(self.topics, self.sizes, self.docs.words())

    def find(self, judged: Judged) -> tuple[Counts, Counts]:
        """Return the documents that the qrels list, ascending, and the qrels row of each."""
        topic = np.repeat(judged.table.numbers(self.topics), self.sizes)
        return judged.table.find(topic, self.keys(), self.docs)

    def grades(self, qrels: Qrels | Judged, policies: Policies = DEFAULT_POLICIES) -> Values:
        """(document,): Return its grade; NaN if it was not judged. Qrels may be prepared already."""
        judged = qrels if isinstance(qrels, Judged) else prepare(qrels, policies)
        here, there = self.find(judged)
        grades = np.full(len(self.docs), np.nan)
        grades[here] = np.where(judged.grades[there] >= 0, judged.grades[there], np.nan)
        return grades

    def pool_ranks(self, qrels: Qrels) -> Counts:
        """(qrels row,): Return the best rank that any of the runs gives the document; 0 if none has it."""
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
    rules: Sequence[Ties] = (),
) -> Retrieved:
    """Read the first `depth` documents (None: all) of every run, in the order that evaluation uses.

    Runs are files, folders, globs, tables, dicts or frames, as for `evaluate`. `topics` names those that
    count; None: every topic of any run. If they are `judged`, runs that lack them are refused as in an
    evaluation. `check` receives every complete run and raises an error to refuse it. `rules` are other tie
    rules for which complete lists are needed: see `Retrieved.by_rule`.
    """
    retrieved, _ = retrieve(
        check or (lambda _: None), runs, depth=depth, topics=topics, judged=judged, policies=policies,
        run_format=run_format, jobs=jobs, progress=progress, rules=rules,
    )  # fmt: skip
    return retrieved


def retrieve(
    work: Callable[[Run], Result],
    runs: Any,
    *,
    depth: int | None = None,
    topics: Sequence[str] | None = None,
    judged: bool = False,
    policies: Policies = DEFAULT_POLICIES,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
    rules: Sequence[Ties] = (),
) -> tuple[Retrieved, list[Result]]:
    """Like `read_retrieved`, and also apply `work` to each complete run, so that it is read only once."""
    if policies.ties == "average":
        raise DataError("ties=average gives no order of documents; use ties trec, score-file, file or rank")
    wanted = None if topics is None else set(topics)

    others = [rule for rule in rules if rule != policies.ties]

    def both(run: Run) -> tuple[_FirstDocuments, Result]:
        result = work(run)
        if topics is not None and judged:
            check_topics(run, topics, policies)
        return _first_documents(run, depth, wanted, policies, others), result

    read = map_runs(both, runs, policies, run_format=run_format, jobs=jobs, progress=progress)
    if not read.results:
        raise DataError("no runs; give at least one")
    parts, results = [part for part, _ in read.results], [result for _, result in read.results]
    found = {topic for part in parts for topic in part.topics} if topics is None else set(topics)
    return _join(EachRun(read.names, read.tags, parts), tuple(sorted(found, key=byte_order))), results


class _FirstDocuments(NamedTuple):
    """The first documents of one run, by topic and rank."""

    topics: tuple[str, ...]
    sizes: Counts  # (topic,)
    words: Words
    lengths: NDArray[np.int32]  # of the document ids, in bytes
    ranks: dict[Ties, Numbers]  # for other tie rules: the rank of each document, from 0
    blocks: Numbers | None  # for `average`, in its own order


def _first_documents(
    run: Run, depth: int | None, wanted: set[str] | None, policies: Policies, rules: Sequence[Ties]
) -> _FirstDocuments:
    chosen = np.array([wanted is None or topic in wanted for topic in run.topics], np.bool_)
    rows = np.repeat(chosen, run.sizes).nonzero()[0]
    positions, _ = order_documents(run, rows, policies)
    order = by_position(positions, len(run.docs))
    ordered = rows[order]
    topic = np.repeat(np.arange(len(run.topics)), run.sizes)[rows]  # topics are contiguous in both orders
    ranks, blocks = {}, None
    for rule in rules:
        others, tied = order_documents(run, rows, replace(policies, ties=rule, depth=None))
        ranks[rule] = (others - run.starts[topic])[order].astype(np.int32)
        if tied is not None:
            blocks = (tied.first - run.starts[topic] + 1)[np.argsort(others)].astype(np.int32)
    if depth is not None:
        kept = positions[order] - run.starts[topic] < depth
        ordered, topic = ordered[kept], topic[kept]
    sizes = np.bincount(topic, minlength=len(run.topics))[chosen]
    docs = run.docs[ordered]
    return _FirstDocuments(
        tuple(name for name, some in zip(run.topics, chosen.tolist(), strict=True) if some),
        sizes, docs.words(), docs.length.astype(np.int32), ranks, blocks,
    )  # fmt: skip


def _join(read: EachRun[_FirstDocuments], topics: tuple[str, ...]) -> Retrieved:
    """Join all parts under one numbering, topic by topic."""
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
        first, number = _number_texts(every)
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
        orders={rule: _by_rank(parts, [part.ranks[rule] for part in parts], topics, deepest)
                for rule in parts[0].ranks},
        blocks=None if parts[0].blocks is None
        else _by_rank(parts, [part.blocks for part in parts], topics, deepest),
    )  # fmt: skip


def _by_rank(
    parts: Sequence[_FirstDocuments], columns: Sequence[Any], topics: Sequence[str], deepest: int
) -> Numbers:
    """(run, topic, rank): Return a number for each listed document; after the last, its own place from 0."""
    place = {topic: number for number, topic in enumerate(topics)}
    table = np.tile(np.arange(deepest, dtype=np.int32), (len(parts), len(topics), 1))
    for row, (part, column) in enumerate(zip(parts, columns, strict=True)):
        pieces = np.split(column, np.cumsum(part.sizes)[:-1]) if len(part.sizes) else []
        for topic, own in zip(part.topics, pieces, strict=True):
            table[row, place[topic], : len(own)] = own
    return table


def _pieces(part: _FirstDocuments, width: int) -> Iterator[tuple[str, tuple[Words, NDArray[np.int32]]]]:
    """Yield (topic, (words and lengths of its documents)); words are padded to `width`."""
    ends = np.cumsum(part.sizes)
    for topic, begin, end in zip(part.topics, (ends - part.sizes).tolist(), ends.tolist(), strict=True):
        words = part.words[:, begin:end]
        if len(words) < width:
            words = np.concatenate([words, np.zeros((width - len(words), end - begin), np.uint64)])
        yield topic, (words, part.lengths[begin:end])


def _number_texts(words: Words) -> tuple[Counts, Counts]:
    """Return one place of each distinct text, in byte order of the texts, and the number of every text."""
    keys = digests(words)
    order = np.argsort(keys)
    keys = keys[order]
    is_new = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_new[1:])
    first = order[is_new]
    number = np.empty(len(keys), np.int64)
    number[order] = np.cumsum(is_new) - 1
    # If different texts share a digest, each one that is not the first gets its own number.
    alone = (~same_words(words, words, first[number])).nonzero()[0]
    number[alone] = len(first) + np.arange(len(alone))
    first = np.concatenate([first, alone])
    order = np.lexsort([word[first].byteswap() for word in words[::-1]])
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[number]


def _tokens(words: Sequence[Words], lengths: Sequence[NDArray[np.int32]], width: int) -> Tokens:
    """Build texts from their words."""
    count = sum(map(len, lengths))
    buffer = np.zeros(count * width * 8 + MARGIN, np.uint8)
    if count:
        buffer[:-MARGIN] = np.ascontiguousarray(np.concatenate(words, axis=1).T).view(np.uint8).ravel()
    length = np.concatenate([np.empty(0, np.int32), *lengths]).astype(np.int64)
    return Tokens(buffer, np.arange(count) * width * 8, length)


Flags = NDArray[np.bool_]


def held_by_owner(retrieved: Retrieved, owners: Sequence[str]) -> Iterator[tuple[str, Flags]]:
    """Yield each owner with the documents, (document,), that their runs have; each run has one owner."""
    for owner in dict.fromkeys(owners):
        held = np.zeros(len(retrieved.docs) + 1, np.bool_)
        held[retrieved.lists[[own == owner for own in owners]]] = True  # NONE marks the last place
        yield owner, held[:NONE]


def holders_by_owner(retrieved: Retrieved, owners: Sequence[str]) -> Counts:
    """(document,): Return how many owners have it."""
    count = np.zeros(len(retrieved.docs), np.int64)
    for _, held in held_by_owner(retrieved, owners):
        count += held
    return count


def shared_by_runs(retrieved: Retrieved) -> Iterator[tuple[Values, Values]]:
    """Yield per topic the documents that two runs share, (run, run), and the size of each list, (run,)."""
    runs = len(retrieved.runs)
    for topic, size in enumerate(retrieved.sizes.tolist()):
        own = retrieved.lists[:, topic]
        held = np.zeros((runs, size + 1), np.float32)
        held[np.arange(runs)[:, np.newaxis], np.where(own == NONE, NONE, own - retrieved.starts[topic])] = 1
        held = held[:, :NONE]
        yield (held @ held.T).astype(np.float64), held.sum(axis=1, dtype=np.float64)
