"""The judged documents that made the difference between two runs on a topic."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.compare.listings import Listings
from sounding.measures import Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingDocument:
    """A relevant document that one run ranks higher than the other."""

    doc: str
    rank_a: int | None  # None: not within the measure's depth
    rank_b: int | None


def telling_documents(
    measure: Measure, listings: Listings, pair: tuple[int, int], topic: int, *, ahead: int, limit: int = 3
) -> tuple[TellingDocument, ...]:
    """The relevant documents of a topic that put one run of a pair ahead (0 or 1), the most telling first.

    A document tells by how much higher the run ranks it: 1 / rank less 1 / rank in the other, where what
    lies below the measure's depth counts nothing.
    """
    level = float(measure.get("rel") or 1)
    reach = listings.deepest if measure.k is None else measure.k
    near = []
    for run in pair:
        listed = listings.relevant(run, level)
        near.append(listed.where((listed.topic == topic) & (listed.rank <= reach)))
    ranks = [dict(zip(listed.doc.tolist(), listed.rank.tolist(), strict=True)) for listed in near]
    own, other = ranks[ahead], ranks[1 - ahead]
    gain = np.array([1 / rank - (1 / other[doc] if doc in other else 0.0) for doc, rank in own.items()])
    chosen = [place for place in np.argsort(-gain, kind="stable")[:limit].tolist() if gain[place] > 0]
    names = listings.runs[pair[ahead]].docs[near[ahead].row[chosen]].texts()
    numbers = [list(own)[place] for place in chosen]
    return tuple(
        TellingDocument(doc=name, rank_a=ranks[0].get(number), rank_b=ranks[1].get(number))
        for name, number in zip(names, numbers, strict=True)
    )
