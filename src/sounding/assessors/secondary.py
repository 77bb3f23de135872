"""What to show a second assessor: a pool drawn from what the first one judged (Voorhees 2002, section 3)."""

from __future__ import annotations

import numpy as np

from sounding.data.tables import Qrels
from sounding.errors import DataError

RELEVANT = NONRELEVANT = 200  # of each topic, as NIST did for TREC-4


def secondary_pool(
    qrels: Qrels, *, relevant: int = RELEVANT, nonrelevant: int = NONRELEVANT, level: float = 1, seed: int = 0
) -> Qrels:
    """Up to `relevant` relevant and `nonrelevant` other judgments of every topic, in doc-id order.

    Where a topic has more, a random sample of them; the order tells nothing of what the first assessor said.
    Documents that were pooled and not judged (grades below 0) are left out.
    """
    if relevant < 0 or nonrelevant < 0 or not relevant + nonrelevant:
        raise DataError(
            f"a secondary pool of {relevant} relevant and {nonrelevant} other documents;"
            " expected at least one"
        )
    rng = np.random.default_rng(seed)
    topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
    # Sorted by doc id first: the same documents are drawn whatever the order of the file.
    order = np.lexsort([*reversed(qrels.docs.order_keys()), topic])
    chance = rng.random(len(order))
    chosen = np.zeros(len(order), np.bool_)
    for wanted, kind in (
        (relevant, qrels.grades >= level),
        (nonrelevant, (qrels.grades >= 0) & (qrels.grades < level)),
    ):
        rows = order[kind[order]]
        drawn = np.lexsort([chance[kind[order]], topic[rows]])
        place = np.arange(len(rows)) - np.searchsorted(topic[rows], topic[rows])
        chosen[rows[drawn[place < wanted]]] = True
    ordered = order[chosen[order]]
    counts = np.bincount(topic[ordered], minlength=len(qrels.topics))
    return Qrels(
        source=qrels.source, topics=qrels.topics, starts=np.concatenate([[0], np.cumsum(counts)]),
        docs=qrels.docs[ordered], grades=qrels.grades[ordered],
    )  # fmt: skip
