"""Topics small enough to look at every assignment of relevance, by the definitions of the measures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.runs.topic_lists import TopicLists

Relevant = Sequence[int]


def average_precision(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    total = sum(relevant) + elsewhere
    hits, found = 0.0, 0
    for rank, document in enumerate(ranking, start=1):
        if relevant[document]:
            found += 1
            hits += found / rank
    return hits / total if total else 0.0


def precision_at_3(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    return sum(relevant[document] for document in ranking[:3]) / 3


def dcg_at_4(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    return sum(relevant[document] / math.log2(rank + 1) for rank, document in enumerate(ranking[:4], start=1))


def ndcg_at_4(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(4, sum(relevant) + elsewhere) + 1))
    return dcg_at_4(ranking, relevant, elsewhere) / best if best else 0.0


def rank_biased_precision(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    return sum(0.2 * 0.8**rank * relevant[document] for rank, document in enumerate(ranking))


def recall_at_3(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    total = sum(relevant) + elsewhere
    return sum(relevant[document] for document in ranking[:3]) / total if total else 0.0


def average_precision_b_at_3(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    total = min(3, sum(relevant) + elsewhere)
    near = [relevant[document] for document in ranking[:3]]
    return sum(near[rank] * sum(near[: rank + 1]) / (rank + 1) for rank in range(len(near))) / max(total, 1)


def reciprocal_rank(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    return next((1 / rank for rank, document in enumerate(ranking, start=1) if relevant[document]), 0.0)


def expected_reciprocal_rank_at_4(ranking: Sequence[int], relevant: Relevant, elsewhere: int) -> float:
    total, reads = 0.0, 1.0
    for rank, document in enumerate(ranking[:4], start=1):
        total += reads * relevant[document] / 2 / rank
        reads *= 1 - relevant[document] / 2
    return total


DEFINITIONS: dict[str, Callable[[Sequence[int], Relevant, int], float]] = {
    "AP": average_precision,
    "P@3": precision_at_3,
    "DCG@4": dcg_at_4,
    "nDCG@4": ndcg_at_4,
    "RBP(p=0.8)": rank_biased_precision,
    "R@3": recall_at_3,
    "AP(norm='b')@3": average_precision_b_at_3,
    "RR": reciprocal_rank,
    "ERR@4": expected_reciprocal_rank_at_4,
}
EXACT = ("AP", "P@3", "DCG@4", "nDCG@4", "RBP(p=0.8)", "R@3")  # those with moments in closed form


def draw_lists(rng: np.random.Generator, *, runs: int = 4, depth: int = 5, documents: int = 8) -> TopicLists:
    """Lists of different lengths, some of them empty, over few documents."""
    lengths = rng.integers(0, depth + 1, runs)
    lengths[rng.integers(runs)] = depth
    rankings = [rng.permutation(documents)[:length].tolist() for length in lengths]
    return lists_of(rankings, depth)


def lists_of(rankings: Sequence[Sequence[int]], depth: int) -> TopicLists:
    """The lists of one topic from the numbers of their documents."""
    known = sorted({document for ranking in rankings for document in ranking})
    places = np.full((len(rankings), depth), len(known))
    for run, ranking in enumerate(rankings):
        places[run, : len(ranking)] = [known.index(document) for document in ranking]
    return TopicLists(np.array(known, np.int64), places)


def rankings_in(lists: TopicLists) -> list[list[int]]:
    return [[document for document in row if document < lists.size] for row in lists.places.tolist()]


def draw_probability(rng: np.random.Generator, lists: TopicLists) -> NDArray[np.float64]:
    """Chances, many of them 0, 1 or one half, and a 0 at the end."""
    drawn = rng.choice([0.0, 1.0, 0.5, np.nan, np.nan], lists.size)
    return np.append(np.where(np.isnan(drawn), rng.random(lists.size), drawn), 0.0)


def enumerated(
    measure: str, lists: TopicLists, probability: NDArray[np.float64], elsewhere: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and covariance of the values of all runs, over all assignments of relevance."""
    values, weights = [], []
    for relevant in itertools.product((0, 1), repeat=lists.size):
        weight = math.prod(p if x else 1 - p for x, p in zip(relevant, probability.tolist(), strict=False))
        if weight:
            weights.append(weight)
            values.append(
                [DEFINITIONS[measure](ranking, relevant, elsewhere) for ranking in rankings_in(lists)]
            )
    table, chance = np.array(values), np.array(weights)
    mean = chance @ table
    apart = table - mean
    return mean, (apart * chance[:, np.newaxis]).T @ apart


def draw_runs(seed: int, *, runs: int = 5, topics: int = 4, depth: int = 8, documents: int = 14) -> Retrieved:
    """Runs with short lists and topics that some of them lack."""
    rng = np.random.default_rng(seed)
    tables: dict[str, dict[str, dict[str, float]]] = {}
    for run in range(runs):
        rankings: dict[str, dict[str, float]] = {}
        for topic in range(topics):
            if run and rng.random() < 0.15:
                continue
            length = depth if not run else int(rng.integers(1, depth + 1))
            chosen = rng.permutation(documents)[:length]
            rankings[f"t{topic}"] = {
                f"d{document:02}": float(-place) for place, document in enumerate(chosen)
            }
        tables[f"run{run}"] = rankings or {"t0": {"d00": 1.0}}
    return read_retrieved(tables)


def draw_grades(seed: int, retrieved: Retrieved) -> list[float]:
    """A grade for every document, from 0 to 2."""
    return np.random.default_rng([seed, 1]).choice([0.0, 0.0, 1.0, 2.0], len(retrieved.docs)).tolist()
