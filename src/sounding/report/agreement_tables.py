"""Several assessors as tables: agreement, bias, topics to talk about, and what it does to the systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sounding.assessors.agreement import COEFFICIENTS
from sounding.assessors.intervals import Estimate
from sounding.assessors.resampling import SWAP_SHARES, Effect
from sounding.assessors.study import Study
from sounding.report.tables import UNKNOWN, Column, Table, decimal

Row = dict[str, Any]
Rows = list[Row]

SHOWN = 10  # rows of a long table that people see without asking for more


# -- rows: the same for people and programs --------------------------------------------------------


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
        rows.append(row | {"reason": _reasons(group.estimates)})
    return rows


def _reasons(estimates: dict[str, Estimate]) -> str:
    """Why something is not known: overlap, kappa: no topic that all of them judged."""
    named: dict[str, list[str]] = {}
    for name in COEFFICIENTS:
        named.setdefault(estimates[name].reason, []).append(name)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in named.items() if reason)


def grade_rows(study: Study) -> Rows:
    """One row for each pair and grade: how often both use it, of the times that either does."""
    return [
        {"assessors": study.agreements.names(group), "grade": grade}
        | _estimate("agreement", estimate)
        | {"reason": estimate.reason}
        for group in study.agreements.groups
        for grade, estimate in group.by_grade.items()
    ]


def rejected_rows(study: Study) -> Rows:
    """One row for each assessor: relevant documents that all others reject."""
    return [
        {"assessor": one.assessor, "relevant": one.relevant, "rejected": one.rejected}
        | _estimate("share", one.share)
        | {"mean_over_topics": one.mean.value, "reason": one.share.reason}
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
        | {"reason": one.bias.reason}
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
        spread, between = effect.with_original, effect.in_subsample
        single = {
            name: float(tau)
            for place, (name, tau) in enumerate(zip(effect.assessors, effect.tau_by_assessor, strict=True))
            if place != effect.original
        } | {"union": effect.tau_union, "intersection": effect.tau_intersection}
        found = {
            f"all with {original}": (spread.mean, spread.least, spread.most),
            f"every two of {effect.subsample:,}": (between.mean, between.least, between.most),
        } | {f"{name} with {original}": (tau, np.nan, np.nan) for name, tau in single.items()}
        for what, taus in found.items():
            row: Row = {"measure": str(effect.measure), "rankings": what}
            row |= dict(zip(("mean", "least", "most"), taus, strict=True))
            row |= {f"swaps_{name}": spread.swaps(row[name]) for name in ("mean", "least", "most")}
            rows.append(row)
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
    "rejected": rejected_rows,
    "bias": bias_rows,
    "topics": topic_rows,
    "taus": tau_rows,
    "systems": system_rows,
    "swaps": swap_rows,
    "top": top_rows,
}
OF_RUNS = ("taus", "systems", "swaps", "top")
FIRST = ("pairs", "topics", "taus", "systems", "swaps", "top")  # what people see unless they ask for others


# -- for programs ----------------------------------------------------------------------------------


def tidy_section(study: Study, section: str, top: int | None = None) -> Table:
    """One section, all columns, full precision."""
    rows = SECTIONS[section](study)[:top]
    return Table([Column(name, [row[name] for row in rows]) for name in rows[0]] if rows else [])


def facts(study: Study) -> dict[str, Any]:
    """Everything by name, for json; NaN as null."""
    panel, agreements = study.panel, study.agreements
    sections = {name: make(study) for name, make in SECTIONS.items() if study.effects or name not in OF_RUNS}
    whole = {
        "assessors": list(panel.assessors),
        "scale": list(agreements.scale),
        "choices": asdict(study.choices) | {"primary": panel.assessors[study.choices.primary]},
        "policies": study.policies.in_force(),
        "repeats": [asdict(one) for one in panel.repeats],
        "filled": dict(zip(panel.assessors, panel.filled, strict=True)) if panel.filled else {},
        "confusions": {
            agreements.names(group): group.confusion.tolist()
            for group in agreements.groups
            if group.confusion is not None
        },
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
            f"{share:.0%}": value
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
    tables = [table for name in sections for table in PEOPLE[name](study, top)]
    return [*tables[:-1], replace(tables[-1], notes=[*tables[-1].notes, "", *notes(study)])]


def _shown(row: Row, name: str, digits: int = 3) -> str:
    """An estimate as people read it: .47 [.41, .53]."""
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if np.isnan(value):
        return UNKNOWN
    if np.isnan(low):
        return decimal(value, digits)
    return f"{decimal(value, digits)} [{decimal(low, digits)}, {decimal(high, digits)}]"


def _people_pairs(study: Study, top: int | None) -> list[Table]:
    graded = len(study.agreements.scale) > 2
    names = {
        "overlap": "overlap", "agreement": "agreement", "kappa": "kappa",
        "alpha_grades" if graded else "alpha": "alpha",
    } | ({"alpha_ordinal": "alpha, ordinal"} if graded else {})  # fmt: skip
    rows = pair_rows(study)
    columns = [Column(name, [row[name] for row in rows]) for name in ("assessors", "topics", "documents")]
    columns += [Column(title, [_shown(row, name) for row in rows]) for name, title in names.items()]
    count = len(study.panel.assessors)
    kappa = "Cohen's for pairs, Fleiss' for all" if count > 2 else "Cohen's"
    told = [
        "Overlap: relevant to all of the documents relevant to any, mean over topics. Agreement and kappa"
        f" ({kappa}) are of relevance, over all topics together; alpha is Krippendorff's"
        + (", of grades." if graded else ".")
    ]
    told += [f"{row['assessors']}: {row['reason']}." for row in rows if row["reason"]]
    return [Table(columns, title="how far the assessors agree", notes=told)]


def _people_grades(study: Study, top: int | None) -> list[Table]:
    rows = grade_rows(study)
    columns = [
        Column("assessors", [row["assessors"] for row in rows]),
        Column("grade", [f"{row['grade']:g}" for row in rows], right=True),
        Column("shared", [_shown(row, "agreement") for row in rows]),
    ]
    told = "Shared: of the times that either gave the grade, those in which both did."
    return [Table(columns, title="agreement by grade", notes=[told], keys=2)]


def _people_rejected(study: Study, top: int | None) -> list[Table]:
    rows = rejected_rows(study)
    columns = [Column(name, [row[name] for row in rows]) for name in ("assessor", "relevant", "rejected")]
    columns.append(Column("share", [_shown(row, "share") for row in rows]))
    columns.append(Column("mean over topics", [row["mean_over_topics"] for row in rows], digits=3))
    told = "Relevant: found relevant and judged by all others; rejected: not relevant to any of these."
    return [Table(columns, title="rejected by all others", notes=[told])]


def _people_bias(study: Study, top: int | None) -> list[Table]:
    rows = bias_rows(study)
    columns = [
        Column("assessor", [row["assessor"] for row in rows]),
        Column("grade", [f"{row['grade']:g}" for row in rows], right=True),
        Column("documents", [row["documents"] for row in rows]),
        Column("given", [row["given"] for row in rows], digits=3),
        Column("by others", [row["by_others"] for row in rows], digits=3),
        Column("bias", [_shown(row, "bias") for row in rows]),
    ]
    told = "Shares of the documents that the assessor and somebody else judged; bias: given less by others."
    return [Table(columns, title="grades that an assessor favours", notes=[told], keys=2)]


def _people_topics(study: Study, top: int | None) -> list[Table]:
    rows = [row for row in topic_rows(study) if row["contested"] or row["reason"]]
    if not rows:
        told = "No document is contested: all who judged one agree whether it is relevant."
        return [Table([Column("topic", [])], title="topics to talk about first", notes=[told])]
    told = "" if len(rows) <= (top or SHOWN) else f"{top or SHOWN} of {len(rows)} topics, more with --top N. "
    chosen = rows[: top or SHOWN]
    relevant = [
        "/".join(str(row[f"relevant {name}"]) for name in study.panel.assessors) for row in chosen
    ]  # fmt: skip
    columns = [
        Column("topic", [row["topic"] for row in chosen]),
        Column("judged by all", [row["judged_by_all"] for row in chosen]),
        Column("relevant", relevant, right=True),
        Column("contested", [row["contested"] for row in chosen]),
        Column("overlap", [row["overlap"] for row in chosen], digits=3),
        Column("kappa", [row["kappa"] for row in chosen], digits=3),
    ]
    if any(row["reason"] for row in chosen):
        columns.append(Column("why not", [row["reason"] or "" for row in chosen]))
    told += f"Relevant: by {', '.join(study.panel.assessors)}."
    return [Table(columns, title="topics to talk about first", notes=[told])]


def _people_taus(study: Study, top: int | None) -> list[Table]:
    rows = tau_rows(study)
    columns = [Column(name, [row[name] for row in rows]) for name in ("measure", "rankings")]
    columns += [
        Column(name, [_tau(row[name], row[f"swaps_{name}"]) for row in rows], right=True)
        for name in ("mean", "least", "most")
    ]
    coefficient = study.effects[0].coefficient
    told = [_told(effect) for effect in study.effects]
    return [Table(columns, title=f"rankings compared by {coefficient}", notes=told, keys=2)]


def _tau(tau: float, swaps: float) -> str:
    if np.isnan(tau):
        return UNKNOWN
    rounded = decimal(swaps, 0 if swaps >= 10 or abs(swaps - round(swaps)) < 0.05 else 1)
    return f"{decimal(tau, 4)} ({rounded})"


def _told(effect: Effect) -> str:
    """What resampling found, in sentences."""
    how = "all possible qrels" if effect.enumerated else "qrels that pick an assessor for every topic"
    told = f"{effect.measure}: {effect.samples:,} {how}, over {len(effect.topics)} topics"
    told += f" and {len(effect.systems)} systems. In brackets: swaps of neighbours that the value stands for."
    mean, least = effect.mean_correlation()
    if not np.isnan(mean):
        told += f" Values of two systems over qrels correlate by {mean:.3f} on average, {least:.3f} at least."
    else:
        told += " No two systems' values vary over qrels."
    for which in ("union", "intersection"):
        out = len(_outside(effect, which))
        told += f" The {which} lies "
        told += (
            f"outside the sampled range for {out} of them."
            if out
            else "in the sampled range for all of them."
        )
    return told


def _outside(effect: Effect, which: str) -> list[str]:
    inside = effect.inside(which).tolist()
    return [name for name, good in zip(effect.systems, inside, strict=True) if not good]


def _people_systems(study: Study, top: int | None) -> list[Table]:
    rows = system_rows(study)
    tables = []
    for effect in study.effects:
        mine = [row for row in rows if row["measure"] == str(effect.measure)]
        chosen = mine[: top or SHOWN]
        names = ("system", "mean", "least", "most", "original", "union", "intersection")
        columns = [Column(name, [row[name] for row in chosen]) for name in names]
        rest = f"{len(chosen)} of {len(mine)} systems, more with --top N." if len(chosen) < len(mine) else ""
        original = f"Original: {effect.assessors[effect.original]}."
        title = f"{effect.measure} of each system over {effect.samples:,} qrels"
        tables.append(Table(columns, title=title, notes=[f"{rest} {original}".strip()]))
    return tables


def _people_swaps(study: Study, top: int | None) -> list[Table]:
    rows = swap_rows(study)
    tables = []
    for effect in study.effects:
        mine = [row for row in rows if row["measure"] == str(effect.measure)]
        told = _swaps_told(effect, len(mine))
        chosen = mine[: top or SHOWN]
        columns = [Column(name, [row[name] for row in chosen]) for name in ("system", "other", "difference")]
        columns.append(Column("swapped", [_small(row["swapped"]) for row in chosen], right=True))
        title = f"{effect.measure}: pairs of systems that swap most often"
        tables.append(Table(columns, title=title, notes=[told], keys=2))
    return tables


def _small(share: float) -> str:
    """A share above 0, which is never rounded to nothing."""
    return "<0.001" if share < 0.001 else decimal(share, 3)


def _swaps_told(effect: Effect, pairs: int) -> str:
    whole = effect.with_original.pairs
    if not pairs:
        return f"None of {whole:,} pairs is turned by any qrels."
    gaps = effect.swap_difference.tolist()
    told = ", ".join(
        f"{share:.0%} below {gap:.4f}" for share, gap in zip(SWAP_SHARES[:-1], gaps[:-1], strict=True)
    )
    return (
        f"{pairs:,} of {whole:,} pairs are turned by some qrels, none with an original difference above"
        f" {gaps[-1]:.4f}. Of all swaps, {told}."
    )


def _people_top(study: Study, top: int | None) -> list[Table]:
    rows = top_rows(study)
    names = {
        "measure": "measure", "assessor": "assessor", "shift": "shift", "tau": "tau", "best": "best",
        "best_by_others": "best by others", "favoured": "favoured", "favour": "by", "moved": "moves most",
        "places": "places",
    }  # fmt: skip
    columns = [
        Column(title, [row[name] for row in rows], digits=1 if name == "places" else None)
        for name, title in names.items()
    ]
    count = study.tops[0][0].top
    told = (
        f"The {count} best systems by the mean over assessors, under each assessor and under the mean of the"
        " others: mean shift of their values, tau of the two rankings, the system that gains most beyond the"
        " shift of all, and the one that moves most places."
    )
    return [Table(columns, title="what each assessor does to the best systems", notes=[told], keys=2)]


PEOPLE: dict[str, Callable[[Study, int | None], list[Table]]] = {
    "pairs": _people_pairs,
    "grades": _people_grades,
    "rejected": _people_rejected,
    "bias": _people_bias,
    "topics": _people_topics,
    "taus": _people_taus,
    "systems": _people_systems,
    "swaps": _people_swaps,
    "top": _people_top,
}


def notes(study: Study) -> list[str]:
    """What the figures rest on: who, what counts as judged and relevant, what was repeated or left out."""
    panel, how = study.panel, study.choices
    told = [
        f"{len(panel.assessors)} assessors, {_counted(len(panel.topics), 'topic')},"
        f" {_counted(len(panel.docs), 'document')};"
        f" relevant from grade {how.level:g}. Intervals: {100 * (1 - how.alpha):g}%, bootstrap over topics"
        f" ({how.resamples:,} resamples, seed {how.seed})."
    ]
    told.append(OUTSIDE[how.outside].format(primary=panel.assessors[how.primary], count=sum(panel.filled)))
    told += [f"Repeated: {one}." for one in panel.repeats]
    told += [f"{text}." for text in _left_out(study)]
    told.append(f"Policies: {study.policies.describe()}.")
    return told


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
    shown = ", ".join(sorted(names)[:most])
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{_counted(len(names), 'topic')} ({shown}{rest})"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"
