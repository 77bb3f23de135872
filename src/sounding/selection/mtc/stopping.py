"""When no further judgment can change the order of two runs: the stopping rule that needs no chances.

For relevant documents S and unjudged ones T, the sum over pairs in S of c_ij = a_ij - b_ij, less all that
pairs with a document of T could still take away, is a gap that whatever is judged later leaves. A positive
gap on one topic proves the order there. Topics are divided by different numbers, so for the mean over topics
a gap that helps is divided by the most that its divisor can become, and one that hurts by the least.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.workers import Progress
from sounding.measures.forms import Form, values_of_draws
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import ByDocument, TopicLists
from sounding.selection.mtc.weights import Beliefs

ROUNDING = 1e-12  # a gap below this may be none: equal values are not proven to differ


def least_gaps(
    form: Form, lists: TopicLists, beliefs: Beliefs, first: int, second: int
) -> tuple[float, float]:
    """What is left of (Z of the first run less Z of the second), and of the reverse, at the worst.

    This is Carterette, Allan & Sitaraman (2006), equation 3: left side less right side; every pair of
    documents counts once.
    """
    possible = (beliefs.unjudged | (beliefs.probability == 1))[:-1]
    weight = _weights(form, lists, first, second)
    documents = (possible & weight.any(axis=0)).nonzero()[0]
    own, other = weight[:, documents]
    judged = ~beliefs.unjudged[documents]
    if not form.pairs:
        difference, known = own - other, judged
    else:
        upper = np.triu_indices(len(documents))
        difference = (np.minimum.outer(own, own) - np.minimum.outer(other, other))[upper]
        known = np.logical_and.outer(judged, judged)[upper]
    certain = float(difference[known].sum())
    open_ = difference[~known]
    return certain + float(np.minimum(open_, 0).sum()), -certain + float(np.minimum(-open_, 0).sum())


def proven_pairs(
    form: Form,
    lists: Sequence[TopicLists],
    beliefs: Sequence[Beliefs],
    elsewhere: Sequence[float],
    pairs: Counts,
    progress: Progress | None = None,
) -> NDArray[np.bool_]:
    """(run, other) whether the run's mean over topics is above the other's, whatever the unjudged are.

    Only these pairs (pair, 2), a run and another that it may be above, are looked at.
    """
    runs = len(lists[0].places)
    result = np.zeros((runs, runs), np.bool_)
    topics = list(zip(lists, beliefs, elsewhere, strict=True))
    least, most = _divisors(form, beliefs, elsewhere)
    for run, other in pairs.tolist():
        # What fails at the worst is not proven, and costs far less to look at than a proof.
        if sum(_lead_at_worst(form, *topic, run, other) for topic in topics) > 0:
            gaps = np.array([least_gaps(form, one, belief, run, other)[0] for one, belief, _ in topics])
            result[run, other] = np.where(gaps >= 0, gaps / most, gaps / least).sum() > ROUNDING
        if progress is not None:
            progress(1)
    return result


def _weights(form: Form, lists: TopicLists, run: int, other: int) -> ByDocument:
    """(2, document) what each adds by itself to the sum of either run."""
    two = TopicLists(lists.documents, lists.places[[run, other]])
    return two.by_document(form.weights * two.filled)


def _lead_at_worst(
    form: Form, lists: TopicLists, beliefs: Beliefs, elsewhere: float, run: int, other: int
) -> float:
    """By how much a run is ahead where just those unjudged documents are relevant that help the other."""
    own, its = np.pad(_weights(form, lists, run, other), ((0, 0), (0, 1)))
    relevant = np.where(beliefs.unjudged, beliefs.unjudged & (its > own), beliefs.probability)[:, np.newaxis]
    two = TopicLists(lists.documents, lists.places[[run, other]])
    value, other_value = values_of_draws(form, two, relevant, elsewhere)[:, 0]
    return float(value - other_value)


def _divisors(form: Form, beliefs: Sequence[Beliefs], elsewhere: Sequence[float]) -> tuple[Values, Values]:
    """(topic,) the least and the most that N can be; with nothing relevant yet one document must turn so."""
    known = np.array([float((one.probability[~one.unjudged] == 1).sum()) for one in beliefs])
    known += np.array(elsewhere)
    most = known + np.array([float(one.unjudged.sum()) for one in beliefs])
    least = form.divisors(np.maximum(known, 1))
    return least, np.maximum(form.divisors(most), least)


def best_documents(differences: NDArray[np.float64], chance: float, count: int) -> Counts:
    """So many documents whose relevance is expected to add most to the sum over pairs of them.

    `differences` holds c_ij; all documents are relevant with one chance. This is Algorithm 1 of the paper:
    one after the other, each time the document that adds most. For differences that come from two rankings
    no other set of that size has a larger expected sum.
    """
    chosen: list[int] = []
    weight = np.diagonal(differences) * chance
    for _ in range(count):
        left = weight.copy()
        left[chosen] = -np.inf
        document = int(np.argmax(left))
        chosen.append(document)
        weight = weight + differences[document] * chance**2
    return np.array(chosen, np.int64)
