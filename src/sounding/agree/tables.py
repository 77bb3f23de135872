"""Several assessors as tables: agreement, bias, topics to talk about, and what it does to the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

import numpy as np

from sounding.agree.agreement import COEFFICIENTS
from sounding.agree.resampling import KENDALL, SWAP_SHARES, Effect
from sounding.agree.result import Study
from sounding.core.text import natural_order, plural, whole_percent
from sounding.render.tables import UNKNOWN, Column, Table, columns_of_rows, decimal
from sounding.statistics.assessor_agreement import Estimate

Row = dict[str, Any]
Rows = list[Row]

SHOWN = 10  # rows of a long table that people see without asking for more
FIRST = ("pairs", "topics", "taus", "systems", "swaps", "top")  # what people see unless they ask for others
OF_RUNS = ("taus", "systems", "swaps", "top")
OF_JUDGMENTS = ("negative", "fractional")  # policies that count where there are no runs


# -- sentences -------------------------------------------------------------------------------------

OUTSIDE = {
    "common": "Outside common: pairs are compared on documents that both judged.",
    "primary": "Outside primary: {count:,} documents that {primary} found relevant and others were not shown"
    " count as relevant for them.",
    "nonrelevant": "Outside nonrelevant: {count:,} documents that an assessor of the topic did not judge"
    " count as grade 0.",
}
MEAN_GRADES = (
    "Mean grades: relevant where the mean reaches {level:g}; of votes 0 and 1 that takes all of them at level"
    " 1, and half of them at --level 0.5."
)
NONE_CONTESTED = "No document is contested: all who judged one agree whether it is relevant."
RELEVANCE = (
    "Overlap: relevant to all of the documents relevant to any, mean over topics. Agreement, kappa ({kappa})"
    " and alpha (Krippendorff's) are of relevance, over all topics together."
)
GRADES = (
    "Of grades, not of relevance. Kappa ({kappa}) and alpha count grades as equal or not; weighted kappa (of"
    " pairs) and ordinal alpha count near grades as less of a disagreement."
)
SHARED = (
    "Shared: of the judgments with this grade, those of the one and of the other counted together, the share"
    " on documents to which both gave it; for more than two, over all pairs of judgments."
)
CONFUSIONS = "Documents that both judged, by the grade that each gave."
REJECTED = "Relevant: found relevant and judged by all others; rejected: not relevant to any of these."
BIAS = "Shares of the documents that the assessor and somebody else judged; bias: given less by others."
TOPICS = (
    "Relevant: to {assessors}, of the documents that all judged. Contested: of all documents, those relevant"
    " to one and not to another."
)
SWAPS = "In brackets: swaps of neighbours that the value stands for."
TOP = (
    "{best} by the mean over assessors, under each assessor and under the mean of the others: mean shift of"
    " the values, {coefficient} of the two rankings, the system that gains most beyond the shift of all, and"
    " the one that moves most places."
)


def notes(study: Study) -> list[str]:
    """What the figures rest on: who, what counts as judged and relevant, what was repeated or left out."""
    panel, how = study.panel, study.choices
    texts = [
        f"{len(panel.assessors)} assessors, {plural(len(panel.topics), 'topic')},"
        f" {plural(len(panel.docs), 'document')};"
        f" relevant from grade {how.level:g}. Intervals: {100 * (1 - how.alpha):g}%, bootstrap over topics"
        f" ({how.resamples:,} resamples, seed {how.seed}).",
        OUTSIDE[how.outside].format(primary=panel.assessors[how.primary], count=sum(panel.filled)),
        *(f"Log: {one}." for one in panel.logs),
        *(f"Repeated: {one}." for one in panel.repeats),
    ]
    if any(one.policy == "mean" and one.contradictory for one in panel.repeats):
        texts.append(MEAN_GRADES.format(level=how.level))
    if not any(one.contested for one in study.agreements.topics):
        texts.append(NONE_CONTESTED)
    texts += [f"{text}." for text in _topics_without_value(study)]
    named = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in policies_in_force(study).items())
    return [*texts, f"Policies: {named}."]


def policies_in_force(study: Study) -> dict[str, str | int]:
    """The policies that could change a figure here, by name."""
    known = study.policies.in_force()
    return known if study.effects else {name: known[name] for name in OF_JUDGMENTS}


def _topics_without_value(study: Study) -> list[str]:
    """Topics without a value or without relevant documents, counted and named."""
    groups: dict[str, list[str]] = {}
    for one in study.agreements.topics:
        if np.isnan(one.overlap):
            groups.setdefault(one.reason, []).append(one.topic)
    texts = [f"No overlap for {_counted_topics(topics)}: {reason}" for reason, topics in groups.items()]
    for effect in study.effects:
        gone = [str(one) for one in effect.dropped if one.everywhere]
        less = [one.topic for one in effect.dropped if not one.everywhere]
        if gone:
            found = f"left out, as an assessor found nothing relevant, {_counted_topics(gone)}"
            texts.append(f"{effect.measure}: {found}")
        if less:
            found = f"the intersection has no relevant document for {_counted_topics(less)}"
            texts.append(f"{effect.measure}: {found}")
    return texts


def _counted_topics(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(sorted(names, key=natural_order)[:most])
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{plural(len(names), 'topic')} ({shown}{rest})"


# -- rows ------------------------------------------------------------------------------------------


def _estimate(name: str, estimate: Estimate) -> Row:
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def pair_rows(study: Study) -> Rows:
    """One row for each pair of assessors, and one for all."""
    rows: Rows = []
    for group in study.agreements.groups:
        row: Row = {
            "assessors": study.agreements.names(group), "topics": group.topics, "documents": group.documents,
        }  # fmt: skip
        for name in COEFFICIENTS:
            row |= _estimate(name, group.estimates[name])
        rows.append(row | {"reason": reasons(group.estimates, COEFFICIENTS)})
    return rows


def reasons(estimates: Mapping[str, Estimate], names: Sequence[str]) -> str:
    """What is to be said of some coefficients, as `overlap, kappa: no topic that all of them judged`."""
    named: dict[str, list[str]] = {}
    for name in names:
        named.setdefault(estimates[name].remark, []).append(name)
    return "; ".join(f"{', '.join(alike)}: {remark}" for remark, alike in named.items() if remark)


def grade_rows(study: Study) -> Rows:
    """One row for each pair and grade: the share of the judgments with it that the other one shares."""
    return [
        {"assessors": study.agreements.names(group), "grade": grade}
        | _estimate("agreement", estimate)
        | {"reason": estimate.remark}
        for group in study.agreements.groups
        for grade, estimate in group.by_grade.items()
    ]


def confusion_rows(study: Study) -> Rows:
    """One row for each pair of assessors and of grades: the documents to which they gave these."""
    scale = study.agreements.scale
    return [
        {
            "assessor": study.panel.assessors[group.members[0]],
            "other": study.panel.assessors[group.members[1]],
            "grade": scale[row], "other_grade": scale[column],
            "documents": int(group.confusion[row, column]),
        }
        for group in study.agreements.groups
        if group.confusion is not None
        for row, column in product(range(len(scale)), repeat=2)
    ]  # fmt: skip


def rejected_rows(study: Study) -> Rows:
    """One row for each assessor: relevant documents that all others reject."""
    return [
        {"assessor": one.assessor, "relevant": one.relevant, "rejected": one.rejected}
        | _estimate("share", one.share)
        | _estimate("mean_over_topics", one.mean)
        | {"reason": reasons({"share": one.share, "mean": one.mean}, ("share", "mean"))}
        for one in study.agreements.rejections
    ]


def bias_rows(study: Study) -> Rows:
    """One row for each assessor and grade."""
    return [
        {
            "assessor": one.assessor, "grade": one.grade, "documents": one.documents, "given": one.given,
            "by_others": one.by_others,
        }
        | _estimate("bias", one.bias)
        | {"reason": one.bias.remark}
        for one in study.biases
    ]  # fmt: skip


def topic_rows(study: Study) -> Rows:
    """One row for each topic, those that need talking about first."""
    rows: Rows = []
    for one in study.agreements.topics:
        counts = zip(study.panel.assessors, one.relevant, strict=True)
        rows.append(
            {"topic": one.topic, "documents": one.documents, "judged_by_all": one.common}
            | {f"relevant {name}": count for name, count in counts}
            | {
                "contested": one.contested, "overlap": one.overlap, "kappa": one.kappa, "reason": one.reason,
            }
        )  # fmt: skip
    return rows


def tau_rows(study: Study) -> Rows:
    """One row for each measure and comparison of rankings (Voorhees 2002, Table 2)."""
    rows: Rows = []
    for effect in study.effects:
        original = effect.assessors[effect.original]
        spreads = {
            f"all with {original}": effect.with_original,
            f"every two of {effect.subsample:,}": effect.in_subsample,
        }
        found = [(name, one.mean, one.least, one.most, one.reason) for name, one in spreads.items()]
        others = zip((*effect.assessors, "union", "intersection"), effect.single, strict=True)
        found += [
            (f"{name} with {original}", one.value, np.nan, np.nan, one.reason)
            for place, (name, one) in enumerate(others)
            if place != effect.original
        ]
        for name, mean, least, most, reason in found:
            row: Row = {"measure": str(effect.measure), "coefficient": effect.coefficient, "rankings": name}
            row |= {"mean": mean, "least": least, "most": most}
            row |= {f"swaps_{what}": effect.swaps(row[what]) for what in ("mean", "least", "most")}
            rows.append(row | {"reason": reason})
    return rows


def system_rows(study: Study) -> Rows:
    """One row for each measure and system, by falling mean over qrels (Voorhees 2002, Fig. 3)."""
    rows: Rows = []
    for effect in study.effects:
        union, intersection = effect.inside("union"), effect.inside("intersection")
        for place in effect.order:
            mine = zip(effect.assessors, effect.by_assessor[:, place].tolist(), strict=True)
            rows.append(
                {
                    "measure": str(effect.measure), "system": effect.systems[place],
                    "mean": float(effect.mean[place]), "least": float(effect.least[place]),
                    "most": float(effect.most[place]), "original": float(effect.values[place]),
                    "union": float(effect.union[place]), "intersection": float(effect.intersection[place]),
                    "union_inside": bool(union[place]), "intersection_inside": bool(intersection[place]),
                }
                | {f"by {name}": value for name, value in mine}
            )  # fmt: skip
    return rows


def swap_rows(study: Study) -> Rows:
    """One row for each measure and pair of systems that some qrels turn, most often first."""
    rows: Rows = []
    for effect in study.effects:
        values = effect.values
        better, worse = (np.nan_to_num(effect.swap_share) > 0).nonzero()
        found = [
            (float(effect.swap_share[one, other]), float(values[one] - values[other]), one, other)
            for one, other in zip(better.tolist(), worse.tolist(), strict=True)
            if values[one] > values[other]
        ]
        found.sort(key=lambda item: (-item[0], item[1], item[2], item[3]))
        rows += [
            {
                "measure": str(effect.measure), "system": effect.systems[one], "other": effect.systems[other],
                "difference": gap, "swapped": share,
            }
            for share, gap, one, other in found
        ]  # fmt: skip
    return rows


def top_rows(study: Study) -> Rows:
    """One row for each measure and assessor: what they do to the best systems."""
    return [
        {"measure": str(effect.measure)} | asdict(one)
        for effect, tops in zip(study.effects, study.tops, strict=True)
        for one in tops
    ]


SECTIONS: dict[str, Callable[[Study], Rows]] = {
    "pairs": pair_rows,
    "grades": grade_rows,
    "confusions": confusion_rows,
    "rejected": rejected_rows,
    "bias": bias_rows,
    "topics": topic_rows,
    "taus": tau_rows,
    "systems": system_rows,
    "swaps": swap_rows,
    "top": top_rows,
}


def possible_sections(study: Study) -> list[str]:
    """The sections that there is something for: those of systems need runs."""
    return [name for name in SECTIONS if study.effects or name not in OF_RUNS]


# -- for programs ----------------------------------------------------------------------------------


def tidy_section(study: Study, section: str, top: int | None = None) -> Table:
    """One section, all columns, full precision."""
    rows = SECTIONS[section](study)[:top]
    return Table(columns_of_rows(rows, list(rows[0]) if rows else ()))


def facts(study: Study) -> dict[str, Any]:
    """Everything by name, for json; NaN as null."""
    panel, agreements = study.panel, study.agreements
    sections = {name: SECTIONS[name](study) for name in possible_sections(study)}
    whole = {
        "assessors": list(panel.assessors),
        "scale": list(agreements.scale),
        "choices": asdict(study.choices) | {"primary": panel.assessors[study.choices.primary]},
        "policies": policies_in_force(study),
        "repeats": [asdict(one) for one in panel.repeats],
        "logs": [asdict(one) for one in panel.logs],
        "filled": dict(zip(panel.assessors, panel.filled, strict=True)) if panel.filled else {},
        "by_topic": {
            agreements.names(group): {
                "overlap": dict(zip(panel.topics, group.overlaps.tolist(), strict=True)),
                "kappa": dict(zip(panel.topics, group.kappas.tolist(), strict=True)),
                "reason": dict(zip(panel.topics, group.reasons, strict=True)),
            }
            for group in agreements.groups
        },
        **sections,
        "effects": [_effect_facts(effect) for effect in study.effects],
        "notes": notes(study),
    }
    return {name: _known(value) for name, value in whole.items()}


def _effect_facts(effect: Effect) -> dict[str, Any]:
    mean, least = effect.mean_correlation()
    return {
        "measure": str(effect.measure), "systems": list(effect.systems), "topics": list(effect.topics),
        "dropped": [asdict(one) for one in effect.dropped], "samples": effect.samples,
        "enumerated": effect.enumerated, "coefficient": effect.coefficient, "subsample": effect.subsample,
        "correlation": effect.correlation.tolist(), "mean_correlation": mean, "least_correlation": least,
        "swap_share": effect.swap_share.tolist(),
        "swap_difference": {
            whole_percent(share): value
            for share, value in zip(SWAP_SHARES, effect.swap_difference.tolist(), strict=True)
        },
        "union_outside": _outside(effect, "union"), "intersection_outside": _outside(effect, "intersection"),
    }  # fmt: skip


def _known(value: Any) -> Any:
    """The same with None for every NaN, at all depths."""
    if isinstance(value, dict):
        return {name: _known(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_known(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


# -- for people ------------------------------------------------------------------------------------


def people_tables(study: Study, sections: Sequence[str], top: int | None = None) -> list[Table]:
    """The wanted sections, rounded and with intervals in brackets; notes below the last."""
    tables = [table for name in sections for table in PEOPLE[name](study, top or SHOWN)]
    *others, last = tables or [Table([Column("topics to talk about first", ["none"])])]
    return [*others, replace(last, notes=[*last.notes, "", *notes(study)])]


def _estimates(rows: Rows, name: str, heading: str | None = None, *, joined: bool = False) -> Column:
    """A column of estimates as people read them: 0.470 [0.410, 0.530]."""
    return Column(heading or name, [_shown(row, name) for row in rows], joined=joined)


def _shown(row: Row, name: str) -> str:
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if np.isnan(value):
        return UNKNOWN
    if np.isnan(low):
        return decimal(value, 3)
    return f"{decimal(value, 3)} [{decimal(low, 3)}, {decimal(high, 3)}]"


def _grades(rows: Rows) -> Column:
    return Column("grade", [_plain(row["grade"]) for row in rows], right=True)


def _whys(rows: Rows, *names: str) -> list[str]:
    """What is to be said of rows, once for all of which it is the same."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["reason"], []).append(" ".join(_plain(row[name]) for name in names))
    return [f"{', '.join(who)}: {reason}." for reason, who in groups.items() if reason]


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _people_pairs(study: Study, _: int) -> list[Table]:
    kappa = "Cohen's for pairs, Fleiss' for all" if len(study.panel.assessors) > 2 else "Cohen's"
    names = {"overlap": "overlap", "agreement": "agreement", "kappa": "kappa", "alpha": "alpha"}
    tables = [_pair_table(study, "how far the assessors agree", names, RELEVANCE.format(kappa=kappa))]
    if len(study.agreements.scale) > 2:
        names = {
            "kappa_grades": "kappa", "kappa_weighted": "kappa, weighted", "alpha_grades": "alpha",
            "alpha_ordinal": "alpha, ordinal",
        }  # fmt: skip
        tables.append(_pair_table(study, "how far they agree on grades", names, GRADES.format(kappa=kappa)))
    return tables


def _pair_table(study: Study, title: str, names: dict[str, str], note: str) -> Table:
    """Some coefficients of each pair; two and two stay together where the table is folded."""
    rows = pair_rows(study)
    columns = columns_of_rows(rows, ("assessors", "topics", "documents"))
    columns += [
        _estimates(rows, name, text, joined=place % 2 == 1)
        for place, (name, text) in enumerate(names.items())
    ]
    whys = [
        {"assessors": study.agreements.names(group), "reason": reasons(group.estimates, list(names))}
        for group in study.agreements.groups
    ]
    return Table(columns, title=title, notes=[note, *_whys(whys, "assessors")])


def _people_grades(study: Study, _: int) -> list[Table]:
    rows = grade_rows(study)
    columns = [
        *columns_of_rows(rows, ["assessors"]), _grades(rows), _estimates(rows, "agreement", "shared"),
    ]  # fmt: skip
    whys = _whys(rows, "assessors", "grade")
    return [Table(columns, title="agreement by grade", notes=[SHARED, *whys], keys=2)]


def _people_confusions(study: Study, _: int) -> list[Table]:
    scale, tables = [_plain(grade) for grade in study.agreements.scale], []
    for group in study.agreements.groups:
        if group.confusion is None:
            continue
        first, second = (study.panel.assessors[member] for member in group.members)
        counts = group.confusion.astype(np.int64)
        columns = [Column(f"{first} gave", scale, right=True)]
        columns += [
            Column(f"{second} {grade}", counts[:, place].tolist()) for place, grade in enumerate(scale)
        ]
        tables.append(Table(columns, title=f"grades of {first} and {second}", notes=[CONFUSIONS]))
    return tables


def _people_rejected(study: Study, _: int) -> list[Table]:
    rows = rejected_rows(study)
    columns = [
        *columns_of_rows(rows, ("assessor", "relevant", "rejected")), _estimates(rows, "share"),
        _estimates(rows, "mean_over_topics", "mean over topics"),
    ]  # fmt: skip
    return [Table(columns, title="rejected by all others", notes=[REJECTED, *_whys(rows, "assessor")])]


def _people_bias(study: Study, _: int) -> list[Table]:
    rows = bias_rows(study)
    columns = [
        *columns_of_rows(rows, ["assessor"]), _grades(rows),
        *columns_of_rows(rows, ["documents"]),
        *columns_of_rows(rows, {"given": "given", "by_others": "by others"}, digits=3),
        _estimates(rows, "bias"),
    ]  # fmt: skip
    whys = _whys(rows, "assessor", "grade")
    return [Table(columns, title="grades that an assessor favours", notes=[BIAS, *whys], keys=2)]


def _people_topics(study: Study, top: int) -> list[Table]:
    rows = [row for row in topic_rows(study) if row["contested"] or row["reason"]]
    if not rows:
        return []
    chosen, assessors = rows[:top], study.panel.assessors
    first = "" if len(chosen) == len(rows) else f"{top} of {len(rows)} topics, more with --top N. "
    relevant = ["/".join(str(row[f"relevant {name}"]) for name in assessors) for row in chosen]
    columns = [
        *columns_of_rows(chosen, {"topic": "topic", "judged_by_all": "judged by all"}),
        Column("relevant", relevant, right=True),
        *columns_of_rows(chosen, ("contested", "overlap", "kappa"), digits=3),
    ]
    if any(row["reason"] for row in chosen):
        columns.append(Column("why not", [row["reason"] or "" for row in chosen]))
    note = first + TOPICS.format(assessors=", ".join(assessors))
    return [Table(columns, title="topics to talk about first", notes=[note])]


def _people_taus(study: Study, _: int) -> list[Table]:
    rows, coefficient = tau_rows(study), study.effects[0].coefficient
    columns = columns_of_rows(rows, ("measure", "rankings"))
    columns += [
        Column(name, [_tau(row[name], row[f"swaps_{name}"]) for row in rows], right=True)
        for name in ("mean", "least", "most")
    ]
    below = [SWAPS] if coefficient in KENDALL else []
    below += [*map(_resampled, study.effects), *_whys(rows, "measure", "rankings")]
    return [Table(columns, title=f"rankings compared by {coefficient}", notes=below, keys=2)]


def _tau(tau: float, swaps: float) -> str:
    if np.isnan(tau):
        return UNKNOWN
    if np.isnan(swaps):
        return decimal(tau, 4)
    rounded = decimal(swaps, 0 if swaps >= 10 or abs(swaps - round(swaps)) < 0.05 else 1)
    return f"{decimal(tau, 4)} ({rounded})"


def _resampled(effect: Effect) -> str:
    """What resampling showed of a measure, in sentences."""
    qrels = f"{effect.samples:,} qrels that pick an assessor for every topic"
    if effect.enumerated:
        qrels = f"all {effect.samples:,} possible qrels"
    text = f"{effect.measure}: {qrels}, over {plural(len(effect.topics), 'topic')}"
    text += f" and {plural(len(effect.systems), 'system')}."
    mean, least = effect.mean_correlation()
    if not np.isnan(mean):
        text += f" Values of two systems over qrels correlate by {mean:.3f} on average, {least:.3f} at least."
    else:
        text += " No two systems' values vary over qrels."
    for which in ("union", "intersection"):
        out = len(_outside(effect, which))
        where = f"outside the sampled range for {out}" if out else "in the sampled range for all"
        text += f" The {which} lies {where} of them."
    return text


def _outside(effect: Effect, which: str) -> list[str]:
    inside = effect.inside(which).tolist()
    return [name for name, good in zip(effect.systems, inside, strict=True) if not good]


def _by_measure(study: Study, rows: Rows) -> list[tuple[Effect, Rows]]:
    return [
        (effect, [row for row in rows if row["measure"] == str(effect.measure)]) for effect in study.effects
    ]


def _people_systems(study: Study, top: int) -> list[Table]:
    names = ("system", "mean", "least", "most", "original", "union", "intersection")
    tables = []
    for effect, rows in _by_measure(study, system_rows(study)):
        note = f"Original: {effect.assessors[effect.original]}."
        if top < len(rows):
            note = f"{top} of {len(rows)} systems, more with --top N. {note}"
        title = f"{effect.measure} of each system over {effect.samples:,} qrels"
        tables.append(Table(columns_of_rows(rows[:top], names), title=title, notes=[note]))
    return tables


def _people_swaps(study: Study, top: int) -> list[Table]:
    tables = []
    for effect, rows in _by_measure(study, swap_rows(study)):
        columns = columns_of_rows(rows[:top], ("system", "other", "difference"))
        columns.append(Column("swapped", [_small(row["swapped"]) for row in rows[:top]], right=True))
        title = f"{effect.measure}: pairs of systems that swap most often"
        tables.append(Table(columns, title=title, notes=[_swaps(effect, len(rows))], keys=2))
    return tables


def _small(share: float) -> str:
    """A share above 0, which is never rounded to nothing."""
    return "<0.001" if share < 0.001 else decimal(share, 3)


def _swaps(effect: Effect, pairs: int) -> str:
    """How many pairs some qrels turn, and how large their differences are."""
    if not pairs:
        return f"None of {plural(effect.pairs, 'pair')} is turned by any qrels."
    *gaps, largest = effect.swap_difference.tolist()
    shares = ", ".join(
        f"{whole_percent(share)} at or below {gap:.4f}"
        for share, gap in zip(SWAP_SHARES[:-1], gaps, strict=True)
    )
    return (
        f"Turned by some qrels: {pairs:,} of {plural(effect.pairs, 'pair')}, none with an original"
        f" difference above {largest:.4f}. Of all swaps, {shares}."
    )


def _people_top(study: Study, _: int) -> list[Table]:
    rows, coefficient = top_rows(study), study.choices.coefficient
    names = {
        "measure": "measure", "assessor": "assessor", "shift": "shift", "tau": coefficient, "best": "best",
        "best_by_others": "best by others", "favoured": "favoured", "favour": "by", "moved": "moves most",
    }  # fmt: skip
    columns = [*columns_of_rows(rows, names), *columns_of_rows(rows, ["places"], digits=1)]
    count = study.tops[0][0].top
    best = "The best system" if count == 1 else f"The {count} best systems"
    below = [TOP.format(best=best, coefficient=coefficient), *_whys(rows, "measure", "assessor")]
    return [Table(columns, title="what each assessor does to the best systems", notes=below, keys=2)]


PEOPLE: dict[str, Callable[[Study, int], list[Table]]] = {
    "pairs": _people_pairs,
    "grades": _people_grades,
    "confusions": _people_confusions,
    "rejected": _people_rejected,
    "bias": _people_bias,
    "topics": _people_topics,
    "taus": _people_taus,
    "systems": _people_systems,
    "swaps": _people_swaps,
    "top": _people_top,
}
