"""The values of all runs when relevance is known: of the truth, or of many draws at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.arrays import NDArray
from sounding.mtc.forms import Form
from sounding.mtc.lists import TopicLists
from sounding.mtc.model import logistic
from sounding.mtc.randomness import generator
from sounding.ranking import Counts, Values

Draws = NDArray[np.floating]  # (document + 1, draw) 1 where relevant; the last row, for none, is 0


def values_of_draws(form: Form, lists: TopicLists, relevant: Draws, elsewhere: float) -> Draws:
    """(run, draw) the value of every run in every draw; 0 where nothing is relevant."""
    found = relevant[lists.places]  # (run, rank, draw)
    if form.pairs:
        found *= np.cumsum(found, axis=1)
    total = np.matmul(form.weights.astype(relevant.dtype), found)
    divisor = form.divisors(relevant.sum(axis=0, dtype=np.float64) + elsewhere).astype(relevant.dtype)
    return np.divide(total, divisor, out=np.zeros_like(total), where=divisor > 0)


def drawn_relevance(log_odds: NDArray[np.float32], *seed: int) -> NDArray[np.bool_]:
    """(document, draw) relevant or not, with the chances that the log odds give."""
    chance = generator("relevance", *seed).random(log_odds.shape, dtype=np.float32)
    return chance < logistic(log_odds)


def known_values(
    form: Form, lists: Sequence[TopicLists], relevant: NDArray[np.bool_], elsewhere: Counts | Values
) -> NDArray[np.float64]:
    """(topic, run) the values when `relevant` says of every document whether it is."""
    return np.stack(
        [
            values_of_draws(form, topic, np.append(relevant[topic.documents], 0.0)[:, np.newaxis], more)[:, 0]
            for topic, more in zip(lists, np.asarray(elsewhere, np.float64).tolist(), strict=True)
        ]
    )
