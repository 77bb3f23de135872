"""Order documents and match them with judgments: from tables to rankings.

Only this module decides order, ties, depth, negative grades and missing topics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from sounding.core.arrays import NDArray, spread
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Compat, Negative, Policies, Ties
from sounding.data.fast.keys import PairTable, pair_keys
from sounding.data.fast.tokens import Words
from sounding.data.tables import IntentGrades, Places, Qrels, Run, single_precision
from sounding.runs.ranking import Intents, Judgments, Ranking, Sampling, Strata, TieBlocks

POOLED = -1.0  # grade of a document that was pooled but not judged


class Judged(NamedTuple):
    """Qrels prepared for many runs: what the measures need, and a table for finding documents."""

    judgments: Judgments
    table: PairTable
    grades: NDArray[np.float64]  # (table row,) at least 0, or POOLED
    topic: Places  # (table row,)
    judgment: Places | None = None  # (table row,) its place in `judgments`; only of samples and intents
    strata: Places | None = None  # (table row,) if there are strata


# Results shared by several computations live as long as their judgments and runs.
_judged: WeakKeyDictionary[Qrels, dict[Negative, Judged]] = WeakKeyDictionary()
_positions: WeakKeyDictionary[Run, dict[tuple[Ties, Compat], Places]] = WeakKeyDictionary()


def hold_judgments(qrels: Qrels, like: Qrels | None = None) -> None:
    """Prepare judgments only once for everything that is computed from them.

    `like` has the same judgments, perhaps with other pool ranks, which are not needed to prepare them.
    """
    _judged.setdefault(qrels, {} if like is None else _judged.get(like, {}))


def hold_order(run: Run, policies: Policies) -> None:
    """Order a run only once for everything that is computed from it."""
    _positions.setdefault(run, {})
    order_documents(run, np.empty(0, np.int64), policies)  # now, so that forked processes share it


def prepare(qrels: Qrels, policies: Policies = DEFAULT_POLICIES) -> Judged:
    """Prepare qrels under the policy for negative grades, with their hash table."""
    known = _judged.get(qrels)
    if known is None:
        return _prepare(qrels, policies)
    if policies.negative not in known:
        known[policies.negative] = _prepare(qrels, policies)
    return known[policies.negative]


def _prepare(qrels: Qrels, policies: Policies) -> Judged:
    grades = apply_negative_policy(qrels.grades, policies.negative)
    topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
    words = qrels.docs.words()
    keys = pair_keys(qrels.topics, qrels.sizes, words)
    table = PairTable.build(qrels.topics, qrels.sizes, keys, words)
    best_first = _best_first(grades, topic)
    judgments = _judgments(qrels, grades, topic, best_first)
    if qrels.strata is None and qrels.probabilities is None and qrels.intents is None:
        return Judged(judgments, table, grades, topic)
    judgment = np.full(len(grades), -1)
    judgment[best_first] = np.arange(len(best_first))
    strata = None if qrels.strata is None else _numbered_strata(qrels.strata, topic)
    judgments = replace(
        judgments,
        sampling=_sampling(qrels, topic, strata, best_first) if qrels.sampling else None,
        intents=None if qrels.intents is None else _intents(qrels, qrels.intents, best_first, words),
    )
    return Judged(judgments, table, grades, topic, judgment, strata)


def apply_negative_policy(grades: NDArray[np.float64], negative: Negative) -> NDArray[np.float64]:
    """Return grades of at least 0, and POOLED for documents that were pooled but not judged."""
    if negative == "nonrelevant":
        return np.maximum(grades, 0.0)
    if negative == "split":
        return np.where(grades <= -2, 0.0, np.where(grades < 0, POOLED, grades))
    return np.where(grades < 0, POOLED, grades)


def unjudged_grades_remark(grades: NDArray[np.float64], negative: Negative) -> str:
    """Return how many grades of -2 and below count as unjudged, to continue a sentence; empty: none."""
    count = int(np.count_nonzero(grades <= -2)) if negative == "trec" else 0
    if not count:
        return ""
    have, are = ("judgment has a grade", "counts") if count == 1 else ("judgments have grades", "count")
    return (
        f"{count:,} {have} of -2 or below and {are} as unjudged, as in trec_eval; with --policy"
        " negative=split such documents are judged and not relevant"
    )


def _best_first(grades: NDArray[np.float64], topic: Places) -> Places:
    """Return the rows of judged documents by topic, best grade first."""
    judged = (grades >= 0).nonzero()[0]
    return judged[_by_topic_and_grade(topic[judged], grades[judged])]


def _judgments(qrels: Qrels, grades: NDArray[np.float64], topic: Places, best_first: Places) -> Judgments:
    """Return all judged grades of every topic, best first."""
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
    """Number the strata of all topics from 0, so that no two topics share one."""
    _, within = np.unique(strata, return_inverse=True)
    _, numbers = np.unique(topic * (int(within.max(initial=0)) + 1) + within, return_inverse=True)
    return numbers


def _sampling(qrels: Qrels, topic: Places, strata: Places | None, judged: Places) -> Sampling:
    """Describe how the judged documents, given by their rows, were sampled."""
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


def _intents(qrels: Qrels, known: IntentGrades, judged: Places, words: Words) -> Intents:
    """Return for which intents the judged documents, given by their rows, were judged."""
    size = np.diff(known.starts)[judged]
    _, entry = spread(known.starts[judged], size)
    place = np.empty(len(qrels.docs), np.int64)
    place[_by_descending_id(words.byteswap(), qrels.sizes[qrels.sizes > 0])] = np.arange(len(place))
    starts = np.concatenate([[0], np.cumsum(size)])
    part = None if known.part is None else known.part[entry]
    return Intents(starts, known.intent[entry], known.grades[entry], place[judged], part)


def _by_topic_and_grade(topic: Places, grades: NDArray[np.float64]) -> Places:
    """Return the order by topic, then by descending grade; few whole grades sort as one small number."""
    highest = grades.max(initial=0.0)
    steps = int(highest) + 1 if highest < 1000 else 0
    if steps and (topic.max(initial=0) + 1) * steps < 1 << 16 and (grades == np.floor(grades)).all():
        return np.argsort((topic * steps + (highest - grades)).astype(np.uint16), kind="stable")
    return np.lexsort((-grades, topic))


def matches(run: Run, judged: Judged) -> tuple[Places, Places]:
    """Return the rows of a run that the qrels list, ascending, and the qrels row of each."""
    topics = topic_rows(run, judged)
    return judged.table.find(topics, run.pair_keys(), run.docs, run.sizes, run.words)


def topic_rows(run: Run, judged: Judged) -> Places:
    """Return the number of each of the run's topics among the judged topics; -1 if not judged."""
    return judged.table.numbers(run.topics)


def _topic_of(run: Run, rows: Places) -> Places:
    """Return the topic number in the run of each of these ascending rows."""
    return np.repeat(np.arange(len(run.topics)), np.diff(np.searchsorted(rows, run.starts)))


def align(
    run: Run,
    judged: Judged,
    policies: Policies = DEFAULT_POLICIES,
    found: tuple[Places, Places] | None = None,
    *,
    upwards: bool = False,
) -> Ranking:
    """Return the judged documents of a run by topic and rank; unjudged documents keep their ranks.

    `found` is the result of `matches`, for callers that have it already. `upwards` lets tied documents follow
    in ascending order of ids if the rule is trec.
    """
    row_of_topic = topic_rows(run, judged)
    here, there = matches(run, judged) if found is None else found
    run_topic = _topic_of(run, here)
    positions, blocks = order_documents(run, here, policies, upwards=upwards and policies.ties == "trec")

    # positions count from 0 through the run, ranks from 1 within a topic
    above = run.starts.take(run_topic) - 1
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
    """Add to a ranking how its pooled or judged documents were sampled."""
    pooled_stratum = None if strata is None else strata[judgment < 0]
    return replace(ranking, judgment=judgment[judgment >= 0], pooled_stratum=pooled_stratum)


def treat_unjudged(ranking: Ranking, policies: Policies) -> Ranking:
    """Return the ranking that measures see under the policy for unjudged documents."""
    return ranking.condensed() if policies.unjudged == "condensed" else ranking


def order_documents(
    run: Run, rows: Places, policies: Policies, *, upwards: bool = False
) -> tuple[Places, TieBlocks | None]:
    """Return the position of each of these ascending rows in the ordered run, from the run's start.

    Only the requested rows are ordered exactly: tied documents without judgments need no order.
    """
    known = _positions.get(run)
    if policies.ties == "file":
        return rows, None
    if upwards or known is None or policies.ties == "average":
        return _order(run, rows, policies, upwards=upwards)
    rule = policies.ties, policies.compat
    if rule not in known:
        known[rule], _ = _order(run, np.arange(len(run.docs)), policies)
    return known[rule].take(rows), None


def _order(
    run: Run, rows: Places, policies: Policies, *, upwards: bool = False
) -> tuple[Places, TieBlocks | None]:
    if policies.ties == "rank":
        return _order_by_rank(run)[rows], None
    scores = single_precision(run.scores) if policies.compat == "trec_eval-9" else run.scores
    if policies.ties == "score-file":
        return _order_by_score(scores, run.starts, stable=True)[1].take(rows), None
    order, positions, tied = _order_by_score(scores, run.starts)
    if policies.ties == "average":
        return _average_blocks(rows, positions, tied)
    found = _order_ties(run, rows, order, positions, tied)
    if upwards:
        _, blocks = _average_blocks(rows, positions, tied)
        found = 2 * blocks.first + blocks.size - 1 - found
    return found, None


def _order_by_rank(run: Run) -> Places:
    """Return positions by the rank column, in which ranks must be distinct within a topic."""
    if run.ranks is None:
        raise DataError(
            f"{run.source}: ties=rank needs the rank column, which was not read;"
            " read it with read_run(..., with_ranks=True)"
        )
    order, positions, tied = _order_by_score(-run.ranks, run.starts)
    if tied.any():
        place = int(tied.nonzero()[0][0])
        row = int(order[place])
        topic = run.topics[int(np.searchsorted(run.starts, row, side="right")) - 1]
        raise DataError(
            f"{run.source}: topic {topic} gives rank {run.ranks[row]:g} to several documents;"
            " ties=rank needs distinct ranks"
        )
    return positions


def _order_by_score(
    scores: NDArray[np.floating], starts: Places, *, stable: bool = False
) -> tuple[Places, Places, NDArray[np.bool_]]:
    """Return the row at each position, the position of each row, and which positions tie with the one before.

    Rows with equal scores are in any order, or in file order if `stable`.
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
    """Return rows by descending score within each topic: one sort of all scores, then one by topic."""
    falling = np.argsort(-scores, kind=kind)
    sizes = np.diff(starts)
    numbers = np.arange(len(sizes), dtype=np.uint16 if len(sizes) < 1 << 16 else np.int64)
    topic = np.repeat(numbers, sizes)[falling]
    return falling[np.argsort(topic, kind="stable")]  # NumPy sorts 16-bit integers by radix


def _order_ties(run: Run, rows: Places, order: Places, positions: Places, tied: NDArray[np.bool_]) -> Places:
    """Return positions with tied documents in descending order of ids, like trec_eval."""
    found = positions.take(rows)
    in_block = tied.copy()
    in_block[:-1] |= tied[1:]
    among = in_block.take(found).nonzero()[0]  # requested documents that share their score
    if not len(among):
        return found
    asked = np.zeros(len(tied), np.bool_)
    asked[found.take(among)] = True
    places = in_block.nonzero()[0]
    head = (~tied[places]).nonzero()[0]
    size = np.diff(head, append=len(places))
    wanted = np.logical_or.reduceat(asked[places], head)  # blocks that contain a requested document
    places = places[np.repeat(wanted, size)]
    lines = order[places]
    words = run.docs[lines].words() if run.words is None else run.words.take(lines, axis=1)
    settled = np.empty(len(order), np.int64)  # others are never requested
    settled[lines[_by_descending_id(words.byteswap(inplace=True), size[wanted])]] = places
    found[among] = settled.take(rows.take(among))
    return found


def _by_descending_id(words: Words, size: Places) -> Places:
    """Return the order that sorts texts downwards within blocks of these sizes.

    The words are those of the texts, first byte highest. Only blocks that are out of order are sorted.
    """
    rises = np.zeros(words.shape[1], np.bool_)  # True: a text comes after the one before it
    for word in reversed(words):
        rises[1:] &= word[1:] == word[:-1]
        rises[1:] |= word[1:] > word[:-1]
    first = np.cumsum(size) - size
    rises[first] = False
    mixed = np.logical_or.reduceat(rises, first)
    order = np.arange(len(rises))
    pairs = first[mixed & (size == 2)]  # most blocks are pairs, which are just swapped
    order[pairs] += 1
    order[pairs + 1] -= 1
    longer = mixed & (size > 2)
    rows = np.repeat(longer, size).nonzero()[0]
    block = np.repeat(np.arange(np.count_nonzero(longer)), size[longer])
    keys = [~word[rows] for word in reversed(words)]
    order[rows] = rows[np.lexsort([*keys, block])]
    return order


def _average_blocks(rows: Places, positions: Places, tied: NDArray[np.bool_]) -> tuple[Places, TieBlocks]:
    """Return positions, and for every row the start and size of its block of equal scores."""
    first = (~tied).nonzero()[0]
    size = np.diff(first, append=len(tied))
    block = (np.cumsum(~tied) - 1)[positions[rows]]
    return positions[rows], TieBlocks(first[block], size[block])


def _by_topic_and_position(topic: Places, positions: Places, size: int) -> Places | None:
    """Return the order of documents by topic, then position; None if they are in order already."""
    order: Places | None = None
    falls = np.count_nonzero(positions[1:] < positions[:-1])
    if falls:
        order = by_position(positions, size) if falls > size >> 6 else np.argsort(positions, kind="stable")
        topic = topic.take(order)
    if (topic[1:] < topic[:-1]).any():
        # NumPy sorts 16-bit integers by radix
        small = topic.astype(np.uint16) if topic.max() < 1 << 16 else topic
        by_topic = np.argsort(small, kind="stable")
        order = by_topic if order is None else order[by_topic]
    return order


def by_position(positions: Places, size: int) -> Places:
    """Return the order by distinct positions; faster than sorting if they are far from sorted."""
    held = np.full(size, -1)
    held[positions] = np.arange(len(positions))
    return held[held >= 0]
