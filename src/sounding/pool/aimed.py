"""Draw the sample of documents whose judgments make the intervals of `estimate` narrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sounding.core.errors import ChoiceError, DataError, UnknownNameError
from sounding.core.text import plural
from sounding.data.formats import read_qrels
from sounding.data.labels import Labels, read_labels
from sounding.estimate.design import aimed_chances, design_sample, influences
from sounding.estimate.estimable import form_of
from sounding.estimate.estimating import DEFAULT_MEASURES, FEWEST
from sounding.estimate.estimators import Lists
from sounding.measures import parse_measures
from sounding.runs.align import hold_judgments, prepare
from sounding.runs.ranking import Values
from sounding.runs.retrieved import NONE, Retrieved
from sounding.selection.strategies import Kind, Pick
from sounding.statistics.testing import NORMAL_95

STEPS = (0.5, 1, 2, 4)  # of the budget: the rows of the forecast, as far as there are documents

AIMED = Kind(
    name="for-estimate", title="A random sample that makes the intervals of estimate narrow", by_topic=False,
    function=lambda pool, seed: None, parameters={}, adaptive=False, sampled=True, drawn=True,
)  # fmt: skip


class ExpectedWidths(NamedTuple):
    """Expected half widths of 95% intervals after this many judgments, as medians."""

    judgments: int
    run: float
    pair: float  # NaN: one run
    run_blind: float  # if the labels say nothing
    pair_blind: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AimedSample:
    """The documents drawn, and the widths to expect."""

    picks: tuple[Pick, ...]
    documents: int  # that could be drawn
    unlabeled: int  # documents of the runs without a label, which cannot be drawn
    labels: tuple[Labels, ...]
    measure: str  # of the forecasts
    pair: tuple[str, str] | None
    forecasts: tuple[ExpectedWidths, ...]

    @property
    def expected(self) -> ExpectedWidths:
        """Return the forecast for the budget itself."""
        return self.forecasts[1]


def lists_of_pool(pool: Retrieved) -> Lists:
    """Return the lists of a pool as `estimate` uses them."""
    run, topic, place = (pool.lists != NONE).nonzero()
    return Lists(
        runs=len(pool.runs), topics=len(pool.topics), run=run, topic=topic, rank=place + 1,
        doc=pool.lists[run, topic, place].astype(np.int64),
    )  # fmt: skip


def draw_for_estimate(
    pool: Retrieved,
    budget: int,
    *,
    labels: Any = None,
    judges: Sequence[str] = (),
    measures: Any = None,
    pair: Sequence[str] | None = None,
    level: float = 1,
    seed: int = 0,
) -> AimedSample:
    """Draw about `budget` documents, each independently, and forecast the widths of intervals.

    A document is drawn if its random number, which depends on the seed only, is below its probability. So a
    larger budget keeps what a smaller one drew.
    """
    if budget < FEWEST:
        raise ChoiceError(f"a budget of {plural(budget, 'judgment')}; an interval needs at least {FEWEST}")
    machines = [] if labels is None else read_labels(labels, judges=judges)
    chosen = parse_measures(DEFAULT_MEASURES if measures is None else measures, level=level)
    numbers = None if pair is None else _numbers(pool.runs, pair)
    for one in machines:
        hold_judgments(one.table)
    said = np.array([pool.grades(one.table) for one in machines]).reshape(len(machines), len(pool.docs))
    judgments = prepare(
        machines[0].table if machines else read_qrels({pool.topics[0]: {pool.docs.text(0): 1}})
    ).judgments
    labeled = len(pool.topics), max((len(one.table.docs) for one in machines), default=len(pool.docs))
    forms = [form_of(one, judgments, labeled) for one in chosen]
    lists = lists_of_pool(pool)
    counted = np.any([influences(form, lists, len(pool.docs)) > 0 for form in forms], axis=0)
    drawable = counted & (~np.isnan(said).all(axis=0) if machines else np.ones(len(counted), np.bool_))
    if not drawable.any():
        raise DataError("no document of the runs has a label; label them first (sounding label)")
    kept = drawable[lists.doc]
    lists = Lists(
        runs=lists.runs, topics=lists.topics, run=lists.run[kept], topic=lists.topic[kept],
        rank=lists.rank[kept], doc=lists.doc[kept],
    )  # fmt: skip
    chances = aimed_chances(forms, lists, len(pool.docs), budget, numbers)
    drawn = (np.random.default_rng(seed).random(len(pool.docs)) < chances).nonzero()[0]
    best, topic = pool.best_ranks(), pool.topic
    forecasts = []
    sizes = [min(round(step * budget), int(drawable.sum())) for step in STEPS]
    for size in [*sizes[:2], *sorted(set(sizes[2:]) - {sizes[1]})]:
        design = design_sample(forms, lists, said, len(pool.docs), size, numbers)
        forecasts.append(
            ExpectedWidths(
                size, NORMAL_95 * design.run_error, NORMAL_95 * design.pair_error,
                NORMAL_95 * design.run_blind, NORMAL_95 * design.pair_blind,
            )
        )  # fmt: skip
    return AimedSample(
        picks=tuple(
            Pick(
                document=document, topic=int(topic[document]), order=order, pool_rank=int(best[document]),
                probability=float(chances[document]),
            )
            for order, document in enumerate(drawn.tolist(), 1)
        ),
        documents=int(drawable.sum()), unlabeled=int((counted & ~drawable).sum()), labels=tuple(machines),
        measure=str(chosen[0]), pair=None if pair is None else (pair[0], pair[1]),
        forecasts=tuple(forecasts),
    )  # fmt: skip


def _numbers(runs: Sequence[str], pair: Sequence[str]) -> tuple[int, int]:
    for name in pair:
        if name not in runs:
            raise UnknownNameError("run", name, runs)
    one, other = (list(runs).index(name) for name in pair)
    if one == other:
        raise DataError(f"--pair names {pair[0]} twice; expected two runs")
    return one, other


def known_grades(pool: Retrieved, picks: Sequence[Pick], grades: Values) -> list[int | float]:
    """Return the grade of each drawn document; -1 if nobody judged it yet."""
    found = [float(grades[pick.document]) for pick in picks]
    return [-1 if np.isnan(grade) else int(grade) if grade.is_integer() else grade for grade in found]
