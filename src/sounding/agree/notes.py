"""What figures of several assessors rest on: who, what counts as judged and relevant, what was left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.agree.study import Study
from sounding.core.text import natural_order, plural

OF_JUDGMENTS = ("negative", "fractional")  # policies that count where there are no runs


def notes(study: Study) -> list[str]:
    """What the figures rest on: who, what counts as judged and relevant, what was repeated or left out."""
    panel, how = study.panel, study.choices
    told = [
        f"{len(panel.assessors)} assessors, {plural(len(panel.topics), 'topic')},"
        f" {plural(len(panel.docs), 'document')};"
        f" relevant from grade {how.level:g}. Intervals: {100 * (1 - how.alpha):g}%, bootstrap over topics"
        f" ({how.resamples:,} resamples, seed {how.seed})."
    ]
    told.append(OUTSIDE[how.outside].format(primary=panel.assessors[how.primary], count=sum(panel.filled)))
    told += [f"Log: {one}." for one in panel.logs]
    told += [f"Repeated: {one}." for one in panel.repeats]
    if any(one.policy == "mean" and one.contradictory for one in panel.repeats):
        told.append(
            f"Mean grades: relevant where the mean reaches {how.level:g}; of votes 0 and 1 that takes all of"
            " them at level 1, and half of them at --level 0.5."
        )
    if not any(one.contested for one in study.agreements.topics):
        told.append("No document is contested: all who judged one agree whether it is relevant.")
    told += [f"{text}." for text in _left_out(study)]
    named = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in policies_in_force(study).items())
    return [*told, f"Policies: {named}."]


def policies_in_force(study: Study) -> dict[str, str | int]:
    """The policies that could change a figure here, by name."""
    known = study.policies.in_force()
    return known if study.effects else {name: known[name] for name in OF_JUDGMENTS}


OUTSIDE = {
    "common": "Outside common: pairs are compared on documents that both judged.",
    "primary": "Outside primary: {count:,} documents that {primary} found relevant and others were not shown"
    " count as relevant for them.",
    "nonrelevant": "Outside nonrelevant: {count:,} documents that an assessor of the topic did not judge"
    " count as grade 0.",
}


def _left_out(study: Study) -> list[str]:
    """Topics without a value or without relevant documents, counted and named."""
    told = []
    groups: dict[str, list[str]] = {}
    for one in study.agreements.topics:
        if np.isnan(one.overlap):
            groups.setdefault(one.reason, []).append(one.topic)
    told += [f"No overlap for {_listed(topics)}: {reason}" for reason, topics in groups.items()]
    for effect in study.effects:
        gone = [str(one) for one in effect.dropped if one.everywhere]
        less = [one.topic for one in effect.dropped if not one.everywhere]
        if gone:
            told.append(f"{effect.measure}: left out, as an assessor found nothing relevant, {_listed(gone)}")
        if less:
            told.append(f"{effect.measure}: the intersection has no relevant document for {_listed(less)}")
    return told


def _listed(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(sorted(names, key=natural_order)[:most])
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{plural(len(names), 'topic')} ({shown}{rest})"
