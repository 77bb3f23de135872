"""Tables and sentences about the sample for `estimate`."""

from __future__ import annotations

import numpy as np

from sounding.core.text import hours, judging_time, plural, quote_list
from sounding.pool.aimed import AimedSample, known_grades
from sounding.pool.result import Pooling
from sounding.render.tables import Column, Table

DIGITS = 3
FILL_IN = "Judge every document of the file: replace each -1 with a grade, and keep the probabilities."
ASSUMED = (
    "The forecast assumes that labels are as good as their scale suggests; if they say nothing, expect the"
    " wider figures. estimate measures how good they are."
)


def sample_table(result: Pooling) -> Table:
    """Return the drawn documents with their probabilities, to be filled in with grades."""
    pool, picks = result.pool, result.picks
    numbers = np.array([pick.document for pick in picks], np.int64)
    return Table([
        Column("topic", [pool.topics[pick.topic] for pick in picks]),
        Column("doc", pool.docs[numbers].texts()),
        Column("grade", known_grades(pool, picks, result.grades)),
        Column("probability", [pick.probability for pick in picks]),
    ])  # fmt: skip


def forecast_table(sample: AimedSample, seconds: float) -> Table:
    """Return the widths to expect after several numbers of judgments."""
    rows = sample.forecasts
    columns = [
        Column("judgments", [row.judgments for row in rows]),
        Column("hours", [hours(row.judgments, seconds) for row in rows], digits=1),
        Column("run +-", [row.run for row in rows], digits=DIGITS),
        Column("pair +-", [row.pair for row in rows], digits=DIGITS),
    ]
    if sample.labels:
        columns += [
            Column("run +- if labels fail", [row.run_blind for row in rows], digits=DIGITS),
            Column("pair +- if labels fail", [row.pair_blind for row in rows], digits=DIGITS),
        ]
    return Table(columns, title=f"Expected 95% intervals, {sample.measure}, medians")


def headline(sample: AimedSample, seconds: float) -> str:
    """Say how many documents to judge, how long it takes, and how wide the intervals will be."""
    count = len(sample.picks)
    labeled = "labeled " if sample.labels else ""
    own = sample.expected
    if sample.pair is not None:
        aim = f"the difference of {sample.pair[0]} and {sample.pair[1]} to +-{own.pair:.{DIGITS}f}"
    elif np.isnan(own.pair):
        aim = f"the run to +-{own.run:.{DIGITS}f}"
    else:
        aim = f"a run to +-{own.run:.{DIGITS}f} and a difference of two to +-{own.pair:.{DIGITS}f}"
    what = plural(sample.documents, f"{labeled}document")
    return (
        f"A sample of {count:,} of the {what} to judge (on average {own.judgments:,}, chance decides):"
        f" {judging_time(count, seconds)}. By {sample.measure}, expect it to determine {aim} (95%)."
    )


def notes(sample: AimedSample, *, template: bool) -> list[str]:
    """Return what to do with the sample, and what limits it."""
    made = [FILL_IN] if template else []
    if sample.unlabeled:
        made.append(
            f"{plural(sample.unlabeled, 'document')} that count have no label by"
            f" {quote_list([one.judge for one in sample.labels])}: they are never drawn, and estimate counts"
            " them as not relevant. Label them first (sounding label)."
        )
    if sample.labels:
        made.append(ASSUMED)
    return made
