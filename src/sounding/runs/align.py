"""The one place that orders documents: tables to rankings.

Order, ties, depth, negative grades and missing topics are decided here and nowhere else.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Compat, Negative, Policies, Ties
from sounding.data.fast.keys import PairTable, pair_keys
from sounding.data.fast.tokens import Tokens
from sounding.data.tables import Places, Qrels, Run, single_precision
from sounding.runs.ranking import Judgments, Ranking, Sampling, Strata, TieBlocks

POOLED = -1.0  # a document that was in the pool and was not judged


class Judged(NamedTuple):
    """Qrels made ready for many runs: what the measures need, and a table to find documents in."""

    judgments: Judgments
    table: PairTable
    grades: NDArray[np.float64]  # (table row,) at least 0, or POOLED
    topic: Places  # (table row,)
    judgment: Places | None = None  # (table row,) its place in `judgments`; where these were sampled
    strata: Places | None = None  # (table row,) where there are strata


# What several computations ask of the same judgments and runs is worked out once, as long as they are held.
_judged: WeakKeyDictionary[Qrels, dict[Negative, Judged]] = WeakKeyDictionary()
_positions: WeakKeyDictionary[Run, dict[tuple[Ties, Compat], Places]] = WeakKeyDictionary()


def hold_judgments(qrels: Qrels) -> None:
    """Prepare judgments once for everything that is computed from them."""
    _judged.setdefault(qrels, {})


def hold_order(run: Run, policies: Policies) -> None:
    """Put a run in order once for everything that is computed from it."""
    _positions.setdefault(run, {})
    order_documents(run, np.empty(0, np.int64), policies)  # here, so that forked processes have it


def prepare(qrels: Qrels, policies: Policies = DEFAULT_POLICIES) -> Judged:
    """Qrels under the policy for negative grades, with their hash table."""
    known = _judged.get(qrels)
    if known is None:
        return _prepare(qrels, policies)
    if policies.negative not in known:
        known[policies.negative] = _prepare(qrels, policies)
    return known[policies.negative]


def _prepare(qrels: Qrels, policies: Policies) -> Judged:
    grades = settled_grades(qrels.grades, policies.negative)
    topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
    words = qrels.docs.words()
    keys = pair_keys(qrels.topics, qrels.sizes, words)
    table = PairTable.build(qrels.topics, qrels.sizes, keys, words)
    best_first = _best_first(grades, topic)
    judgments = _judgments(qrels, grades, topic, best_first)
    if qrels.strata is None and qrels.probabilities is None:
        return Judged(judgments, table, grades, topic)
    judgment = np.full(len(grades), -1)
    judgment[best_first] = np.arange(len(best_first))
    strata = None if qrels.strata is None else _numbered_strata(qrels.strata, topic)
    judgments = replace(judgments, sampling=_sampling(qrels, topic, strata, best_first))
    return Judged(judgments, table, grades, topic, judgment, strata)


def settled_grades(grades: NDArray[np.float64], negative: Negative) -> NDArray[np.float64]:
    """Grades of at least 0, or POOLED for documents that were pooled and not judged."""
    if negative == "nonrelevant":
        return np.maximum(grades, 0.0)
    if negative == "split":
        return np.where(grades <= -2, 0.0, np.where(grades < 0, POOLED, grades))
    return np.where(grades < 0, POOLED, grades)


def _best_first(grades: NDArray[np.float64], topic: Places) -> Places:
    """The rows of judged documents, topic after topic, best grade first."""
    judged = (grades >= 0).nonzero()[0]
    return judged[_by_topic_and_grade(topic[judged], grades[judged])]


def _judgments(qrels: Qrels, grades: NDArray[np.float64], topic: Places, best_first: Places) -> Judgments:
    """All judged grades of every topic, best first."""
    topics = len(qrels.topics)
    counts = np.bincount(topic[best_first], minlength=topics)
    return Judgments(
        topics=qrels.topics,
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        grades=grades[best_first],
        pool_ranks=None if qrels.pool_ranks is None else qrels.pool_ranks[best_first],
        pooled=np.bincount(topic[grades < 0], minlength=topics),
        highest=qrels.best_grade,
    )


def _numbered_strata(strata: Places, topic: Places) -> Places:
    """Strata of all topics numbered from 0: no two topics share one."""
    _, within = np.unique(strata, return_inverse=True)
    _, numbers = np.unique(topic * (int(within.max(initial=0)) + 1) + within, return_inverse=True)
    return numbers


def _sampling(qrels: Qrels, topic: Places, strata: Places | None, judged: Places) -> Sampling:
    """How the judged documents, which stand in these rows, were chosen."""
    pool = None
    if strata is not None:
        numbers, first = np.unique(strata, return_index=True)
        starts = np.searchsorted(topic[first], np.arange(len(qrels.topics) + 1))
        pool = Strata(strata[judged], np.bincount(strata, minlength=len(numbers)), starts)
    return Sampling(
        strata=pool,
        probabilities=None if qrels.probabilities is None else qrels.probabilities[judged],
        methods=None if qrels.methods is None else qrels.methods[judged],
    )


def _by_topic_and_grade(topic: Places, grades: NDArray[np.float64]) -> Places:
    """The order by topic, then falling grade; whole grades of a short scale sort as one small number."""
    highest = grades.max(initial=0.0)
    steps = int(highest) + 1 if highest < 1000 else 0
    if steps and (topic.max(initial=0) + 1) * steps < 1 << 16 and (grades == np.floor(grades)).all():
        return np.argsort((topic * steps + (highest - grades)).astype(np.uint16), kind="stable")
    return np.lexsort((-grades, topic))


def matches(run: Run, judged: Judged) -> tuple[Places, Places]:
    """Rows of a run that the qrels list, ascending, and the row of the qrels for each."""
    topics = topic_rows(run, judged)
    return judged.table.find(topics, run.pair_keys(), run.docs, run.sizes, run.words)


def topic_rows(run: Run, judged: Judged) -> Places:
    """The number among the judged topics of each of the run's topics; -1: not judged."""
    return judged.table.numbers(run.topics)


def _topic_of(run: Run, rows: Places) -> Places:
    """The topic, by its number in the run, of each of these ascending rows."""
    return np.repeat(np.arange(len(run.topics)), np.diff(np.searchsorted(rows, run.starts)))


def align(
    run: Run,
    judged: Judged,
    policies: Policies = DEFAULT_POLICIES,
    found: tuple[Places, Places] | None = None,
) -> Ranking:
    """The judged documents of a run in rank order, topic after topic; unjudged ones keep their ranks.

    `found` is what `matches` gives, for callers that need it themselves.
    """
    row_of_topic = topic_rows(run, judged)
    here, there = matches(run, judged) if found is None else found
    run_topic = _topic_of(run, here)
    positions, blocks = order_documents(run, here, policies)

    above = run.starts.take(run_topic) - 1  # positions count from 0 through the run, ranks from 1 in a topic
    rank = positions - above
    if blocks is not None:
        blocks = TieBlocks(blocks.first - above, blocks.size)
    topic, grade = row_of_topic.take(run_topic), judged.grades.take(there)
    order = _by_topic_and_position(topic, positions, len(run.docs))
    if order is not None:
        topic, rank, grade = topic.take(order), rank.take(order), grade.take(order)
        blocks = None if blocks is None else TieBlocks(blocks.first[order], blocks.size[order])
    ranking = _ranking(run, judged, policies, topic, rank, grade, blocks, row_of_topic)
    if judged.judgment is not None:
        rows = there if order is None else there[order]
        strata = None if judged.strata is None else judged.strata[rows]
        ranking = _with_sampling(ranking, judged.judgment[rows], strata)
    return ranking if policies.depth is None else ranking.cut(policies.depth)


def _ranking(
    run: Run,
    judged: Judged,
    policies: Policies,
    topic: Places,
    rank: Places,
    grade: NDArray[np.float64],
    blocks: TieBlocks | None,
    row_of_topic: Places,
) -> Ranking:
    topics = len(judged.judgments.topics)
    known = row_of_topic >= 0
    retrieved = np.zeros(topics, np.int64)
    retrieved[row_of_topic[known]] = run.sizes[known]
    pooled_topic = pooled_rank = np.empty(0, np.int64)
    if judged.judgments.pooled.any():
        seen = grade >= 0
        pooled_topic, pooled_rank = topic[~seen], rank[~seen]
        topic, rank, grade = topic[seen], rank[seen], grade[seen]
        blocks = None if blocks is None else TieBlocks(blocks.first[seen], blocks.size[seen])
    return Ranking(
        run=run.name, judgments=judged.judgments, topic=topic, rank=rank, grade=grade,
        retrieved=retrieved, missing=retrieved == 0, pooled_topic=pooled_topic, pooled_rank=pooled_rank,
        ties=blocks, old_recall_points=policies.compat == "trec_eval-9",
    )  # fmt: skip


def _with_sampling(ranking: Ranking, judgment: Places, strata: Places | None) -> Ranking:
    """The ranking with what is known of how its documents, pooled or judged, were chosen."""
    pooled_stratum = None if strata is None else strata[judgment < 0]
    return replace(ranking, judgment=judgment[judgment >= 0], pooled_stratum=pooled_stratum)


def treat_unjudged(ranking: Ranking, policies: Policies) -> Ranking:
    """The ranking as the policy for unjudged documents lets the measures see it."""
    return ranking.condensed() if policies.unjudged == "condensed" else ranking


def order_documents(run: Run, rows: Places, policies: Policies) -> tuple[Places, TieBlocks | None]:
    """Where each of these rows (ascending) stands when the run is in order, counted from the run's start.

    Only what is asked for is ordered exactly: tied documents that nobody judged need no order.
    """
    known = _positions.get(run)
    if policies.ties == "file":
        return rows, None
    if known is None or policies.ties == "average":
        return _order(run, rows, policies)
    rule = policies.ties, policies.compat
    if rule not in known:
        known[rule], _ = _order(run, np.arange(len(run.docs)), policies)
    return known[rule].take(rows), None


def _order(run: Run, rows: Places, policies: Policies) -> tuple[Places, TieBlocks | None]:
    if policies.ties == "rank":
        return _order_by_rank(run)[rows], None
    scores = single_precision(run.scores) if policies.compat == "trec_eval-9" else run.scores
    if policies.ties == "score-file":
        return _order_by_score(scores, run.starts, stable=True)[1].take(rows), None
    order, positions, tied = _order_by_score(scores, run.starts)
    if policies.ties == "average":
        return _average_blocks(rows, positions, tied)
    return _order_ties(run.docs, rows, order, positions, tied), None


def _order_by_rank(run: Run) -> Places:
    """Positions by the rank column, which must tell the documents of a topic apart."""
    if run.ranks is None:
        raise DataError(
            f"{run.source}: ties by rank need the rank column, and this run was made without it;"
            " read it with read_run(..., with_ranks=True)"
        )
    order, positions, tied = _order_by_score(-run.ranks, run.starts)
    if tied.any():
        place = int(tied.nonzero()[0][0])
        row = int(order[place])
        topic = run.topics[int(np.searchsorted(run.starts, row, side="right")) - 1]
        raise DataError(
            f"{run.source}: topic {topic} gives rank {run.ranks[row]:g} to several documents;"
            " ties by rank need distinct ranks"
        )
    return positions


def _order_by_score(
    scores: NDArray[np.floating], starts: Places, *, stable: bool = False
) -> tuple[Places, Places, NDArray[np.bool_]]:
    """Row at each position, position of each row, and which positions tie with the one before.

    Rows with equal scores are in any order unless it is to be `stable`: as they stand.
    """
    rows = np.arange(len(scores))
    if not len(scores):
        return rows, rows, np.zeros(0, np.bool_)
    inner = np.ones(len(scores), np.bool_)  # not the first of its topic
    inner[starts[:-1][np.diff(starts) > 0]] = False
    rising = np.zeros(len(scores), np.bool_)
    np.greater(scores[1:], scores[:-1], out=rising[1:])
    order = positions = rows
    if (rising & inner).any():
        order = _sorted_within(scores, starts, "stable" if stable else None)
        positions = np.empty_like(order)
        positions[order] = rows
        scores = scores[order]
    tied = np.zeros(len(scores), np.bool_)
    np.equal(scores[1:], scores[:-1], out=tied[1:])
    return order, positions, tied & inner


def _sorted_within(
    scores: NDArray[np.floating], starts: Places, kind: Literal["stable"] | None = None
) -> Places:
    """Rows by falling score within each topic: one sort of all scores, then one by topic."""
    falling = np.argsort(-scores, kind=kind)
    sizes = np.diff(starts)
    numbers = np.arange(len(sizes), dtype=np.uint16 if len(sizes) < 1 << 16 else np.int64)
    topic = np.repeat(numbers, sizes)[falling]
    return falling[np.argsort(topic, kind="stable")]  # NumPy sorts 16 bits by radix


def _order_ties(
    docs: Tokens, rows: Places, order: Places, positions: Places, tied: NDArray[np.bool_]
) -> Places:
    """Positions with tied documents by id, descending, as trec_eval orders them."""
    found = positions.take(rows)
    in_block = tied.copy()
    in_block[:-1] |= tied[1:]
    among = in_block.take(found).nonzero()[0]  # of what was asked for: documents that share their score
    if not len(among):
        return found
    asked = np.zeros(len(tied), np.bool_)
    asked[found.take(among)] = True
    places = in_block.nonzero()[0]
    head = (~tied[places]).nonzero()[0]
    size = np.diff(head, append=len(places))
    wanted = np.logical_or.reduceat(asked[places], head)  # blocks that hold a document that was asked for
    places = places[np.repeat(wanted, size)]
    block = np.repeat(np.arange(np.count_nonzero(wanted)), size[wanted])
    lines = order[places]
    keys = [~word for word in reversed(docs[lines].order_keys())]
    settled = np.empty(len(order), np.int64)  # others are never asked for
    settled[lines[np.lexsort([*keys, block])]] = places
    found[among] = settled.take(rows.take(among))
    return found


def _average_blocks(rows: Places, positions: Places, tied: NDArray[np.bool_]) -> tuple[Places, TieBlocks]:
    """Positions, and for every row the position and size of its block of equal scores."""
    first = (~tied).nonzero()[0]
    size = np.diff(first, append=len(tied))
    block = (np.cumsum(~tied) - 1)[positions[rows]]
    return positions[rows], TieBlocks(first[block], size[block])


def _by_topic_and_position(topic: Places, positions: Places, size: int) -> Places | None:
    """The order of documents by topic, then position; None where they stand so already."""
    order: Places | None = None
    falls = np.count_nonzero(positions[1:] < positions[:-1])
    if falls:
        order = _by_position(positions, size) if falls > size >> 6 else np.argsort(positions, kind="stable")
        topic = topic.take(order)
    if (topic[1:] < topic[:-1]).any():
        small = topic.astype(np.uint16) if topic.max() < 1 << 16 else topic  # NumPy sorts 16 bits by radix
        by_topic = np.argsort(small, kind="stable")
        order = by_topic if order is None else order[by_topic]
    return order


def _by_position(positions: Places, size: int) -> Places:
    """The order by position, all of which are different: faster than sorting what is far from in order."""
    held = np.full(size, -1)
    held[positions] = np.arange(len(positions))
    return held[held >= 0]
