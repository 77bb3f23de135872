"""Values that were drawn for a session's topics, kept as long as nothing changes for a topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sounding.arrays import NDArray
from sounding.mtc.fits import Fit
from sounding.mtc.model import DrawnOdds
from sounding.mtc.topic_state import TopicState

Drawn = NDArray[np.floating]  # (run, draw) of a topic, or (topic, run, draw) of all


@dataclass(frozen=True, slots=True, eq=False)
class _TopicDraws:
    """The values of one topic, and what they were drawn from."""

    fit: Fit
    changes: int
    values: Drawn


class KeptDraws:
    """So many draws of every topic; a topic is drawn again only where its fit or its judgments changed."""

    def __init__(self, draws: int) -> None:
        self._draws = draws
        self._by_topic: dict[int, _TopicDraws] = {}
        self._odds: tuple[Fit, DrawnOdds] | None = None

    def drawing(self, fit: Fit, topics: Sequence[TopicState], seed: tuple[int, int]) -> Callable[[], Drawn]:
        """Work that gives values (topic, run, draw) as things stand now; it may run in another thread."""
        kept = {
            number: one.values
            for number, one in self._by_topic.items()
            if one.fit is fit and one.changes == topics[number].changes
        }
        others = [topic.as_it_stands() for topic in topics if topic.number not in kept]

        def work() -> Drawn:
            if others:
                odds = self._odds_of(fit, seed)
                for topic in others:
                    kept[topic.number] = topic.drawn_values(odds, self._draws, seed)
                    self._by_topic[topic.number] = _TopicDraws(fit, topic.changes, kept[topic.number])
            return np.stack([kept[number] for number in range(len(kept))])

        return work

    def _odds_of(self, fit: Fit, seed: tuple[int, int]) -> DrawnOdds:
        known = self._odds
        if known is None or known[0] is not fit:
            known = self._odds = (fit, fit.belief.drawn(self._draws, seed))
        return known[1]
