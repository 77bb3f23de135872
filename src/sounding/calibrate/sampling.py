"""Samples of judgments with known chances, and what `estimate` says of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.core.arrays import NDArray
from sounding.data.labels import Labels
from sounding.data.tables import Qrels
from sounding.estimate.design import aimed_chances
from sounding.estimate.estimable import form_of, has_form
from sounding.estimate.estimating import FEWEST, estimate_measure
from sounding.estimate.estimators import Lists, Sample
from sounding.estimate.frame import Frame, pairs_of
from sounding.estimate.result import MeasureEstimate
from sounding.measures import Measure, parse
from sounding.measures.regrading import JUDGED, Regrading, States
from sounding.runs.retrieved import NONE

Floats = NDArray[np.float64]


def judged_lists(regrading: Regrading) -> Lists:
    """Return the judged documents of all lists; a document's number is that of its row in the qrels."""
    retrieved = regrading.retrieved
    row_of = np.full(len(retrieved.docs) + 1, -1)  # the last is that of NONE
    rows = ((regrading.full == JUDGED) & (regrading.row_document != NONE)).nonzero()[0]
    row_of[regrading.row_document[rows]] = rows
    doc = row_of[retrieved.lists]
    run, topic, place = (doc >= 0).nonzero()
    return Lists(
        runs=len(retrieved.runs), topics=len(retrieved.topics), run=run, topic=topic, rank=place + 1,
        doc=doc[run, topic, place],
    )  # fmt: skip


def chances_to_draw(regrading: Regrading, measures: Sequence[Measure], size: int) -> Floats:
    """(qrels row,): Return the chance of each judgment, as `pool --strategy for-estimate` gives it."""
    known = [measure for measure in measures if has_form(measure)] or [parse("P@10")]
    forms = [form_of(measure, regrading.judgments) for measure in known]
    return aimed_chances(forms, judged_lists(regrading), len(regrading.full), size)


def labels_by_row(qrels: Qrels, labels: Sequence[Labels]) -> Floats:
    """(judge, qrels row): Return the label of each judged document; NaN if it has none."""
    table = np.full((len(labels), len(qrels.grades)), np.nan)
    row = {pair: place for place, pair in enumerate(pairs_of(qrels))} if labels else {}
    for number, one in enumerate(labels):
        for pair, label in zip(pairs_of(one.table), one.table.grades.tolist(), strict=True):
            if pair in row:
                table[number, row[pair]] = label
    return table


def estimate_drawn(
    regrading: Regrading,
    states: States,
    chances: Floats,
    labels: Floats,
    measure: Measure,
    confidence: float,
) -> MeasureEstimate | None:
    """Estimate a measure from the judgments that were drawn; None if it cannot be, or they are too few.

    Without labels, `estimate` would not know of the documents that were not drawn.
    """
    policies = regrading.policies
    plain = (policies.ties, policies.unjudged, policies.missing, policies.depth)
    drawn = (states == JUDGED).nonzero()[0]
    if not has_form(measure) or len(drawn) < FEWEST or "average" in plain or plain[1:] != ORDINARY:
        return None
    labels = np.where(regrading.full == JUDGED, labels, np.nan)
    frame = Frame(
        table=regrading.qrels, labels=labels, listed=np.asarray((~np.isnan(labels)).any(axis=0)),
        sample=Sample(doc=drawn, chance=chances[drawn]), grades=regrading.row_grade[drawn],
        judgments=regrading.qrels, remarks=(),
    )  # fmt: skip
    form, lists = form_of(measure, regrading.judgments), judged_lists(regrading)
    highest = regrading.judgments.highest
    return estimate_measure(measure, form, lists, frame, highest, None, confidence)


ORDINARY = (
    "nonrelevant",
    "zero",
    None,
)  # policies under which `estimate` and `evaluate` give the same values
