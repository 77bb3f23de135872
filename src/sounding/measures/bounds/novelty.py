"""Bounds of measures of intents that are a mean over intents: each sums discounted gains of a ranking.

Any unjudged document may be relevant to any intents that the judgments list, of which those without a
relevant document do not count so far. What was judged for some intents stays as it is.

A further relevant document never lowers the gain of an intent, as discounts fall with the rank: it takes at
most its own discount from those below. So all unjudged documents, relevant to every intent, give the most. An
intent that has none but new relevant documents gains no more than the others, so it is left out. The least is
what was judged, as it is, over as many intents as possible: relevant documents elsewhere add intents without
gain; if there are none elsewhere, the last unjudged document adds them with the smallest gain.
"""

from __future__ import annotations

import numpy as np

from sounding.measures.bounds.registry import Bounds, Unknowns, holes, register_bounds, room, whole_range
from sounding.measures.intents import Sum, intents_of, relevant_intents, sum_of_gains
from sounding.measures.registry import Measure
from sounding.measures.totals import share
from sounding.runs.ranking import Counts, Judgments, Ranking, Values


@register_bounds("P_IA", "RBP_IA", "StRecall", "alpha_DCG", "ERR_IA", "NRBP")
def mean_over_intents(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound a mean of gains over intents."""
    if run.judgments.intents is None:
        return whole_range(measure, run, unknowns)
    form, space = sum_of_gains(measure), room(run, measure.k, unknowns)
    relevant, active = relevant_intents(run.judgments, measure.get("rel"))
    topic = _topics_of_intents(run.judgments)
    listed = np.bincount(topic[topic >= 0], minlength=len(run.topics))
    own = run.total(*form.gains(form.hits(run, measure.k)))
    hole = holes(run, measure.k)
    filled = hole.nth <= space.most_within[hole.topic]
    most = _with_all(run, form, measure.k, hole.topic[filled], hole.rank[filled], topic, relevant)
    alone = run.total(hole.topic[filled], form.gain(hole.nth[filled], hole.rank[filled]))
    upper = np.where(active > 0, share(most, active), alone)  # where no intent is listed, there may be one
    # With further intents, as few as none or as many as there are.
    last = np.full(len(run.topics), np.inf)
    last[hole.topic] = form.discount(hole.rank)  # the last of each topic is written last
    added = np.where(space.most_elsewhere > 0, 0.0, np.where(space.most_within > 0, last, np.inf))
    others = listed - active
    with np.errstate(invalid="ignore"):
        more = share(own + np.where(others > 0, others * added, 0.0), listed)
    lower = np.where(active > 0, np.fmin(share(own, active), more), 0.0)
    # Under a cap, which documents add most depends on the documents that were judged.
    some = space.most_within < space.within
    exact = not some.any() or form.alpha == 0 or measure.name == "StRecall"
    return Bounds(lower / form.divisor, upper / form.divisor, "exact" if exact else "contains")


def _topics_of_intents(judgments: Judgments) -> Counts:
    """(intent,): Return the topic of each intent; -1: nobody was judged for it."""
    known = intents_of(judgments)
    topic = np.full(int(known.intent.max(initial=-1)) + 1, -1)
    judged = known.grade >= 0
    topic[known.intent[judged]] = np.repeat(judgments.topic, np.diff(known.starts))[judged]
    return topic


def _with_all(
    run: Ranking, form: Sum, k: int | None, topic: Counts, rank: Counts, topics: Counts, relevant: Counts
) -> Values:
    """Sum the gains if these unjudged documents are relevant to every intent that has a relevant document."""
    hit = form.hits(run, k)
    active = (relevant > 0).nonzero()[0]
    begin, size = np.searchsorted(topic, topics[active]), np.bincount(topic, minlength=len(run.topics))
    size = size[topics[active]]
    intent = np.concatenate([hit.intent, np.repeat(active, size)])
    offset = np.arange(int(size.sum())) - np.repeat(np.cumsum(size) - size, size) + np.repeat(begin, size)
    ranks = np.concatenate([hit.rank, rank[offset]])
    order = np.lexsort((ranks, intent))
    intent, ranks = intent[order], ranks[order]
    nth = np.arange(1, len(intent) + 1) - np.searchsorted(intent, intent)
    return run.total(topics[intent], form.gain(nth, ranks))
