"""Several assessors as tables: agreement, bias, topics to talk about, and what it does to the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any

import numpy as np

from sounding.agree.agreement import COEFFICIENTS
from sounding.agree.notes import notes, policies_in_force
from sounding.agree.resampling import KENDALL, SWAP_SHARES, Effect
from sounding.agree.study import Study
from sounding.core.text import plural, whole_percent
from sounding.render.tables import UNKNOWN, Column, Table, decimal
from sounding.statistics.assessor_agreement import Estimate

Row = dict[str, Any]
Rows = list[Row]


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
OF_RUNS = ("taus", "systems", "swaps", "top")


SHOWN = 10  # rows of a long table that people see without asking for more
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
    tables: list[Table] = []
    for name in sections:
        tables += WHOLE[name](study) if name in WHOLE else CUT[name](study, top or SHOWN)
    tables = tables or [Table([Column("topics to talk about first", ["none"])])]
    return [*tables[:-1], replace(tables[-1], notes=[*tables[-1].notes, "", *notes(study)])]


def _shown(row: Row, name: str) -> str:
    """An estimate as people read it: 0.470 [0.410, 0.530]."""
    value, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    if np.isnan(value):
        return UNKNOWN
    if np.isnan(low):
        return decimal(value, 3)
    return f"{decimal(value, 3)} [{decimal(low, 3)}, {decimal(high, 3)}]"


def _whys(rows: Rows, *names: str) -> list[str]:
    """What is to be said of rows, once for all of which it is the same."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["reason"], []).append(" ".join(_plain(row[name]) for name in names))
    return [f"{', '.join(who)}: {reason}." for reason, who in groups.items() if reason]


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _people_pairs(study: Study) -> list[Table]:
    kappa = "Cohen's for pairs, Fleiss' for all" if len(study.panel.assessors) > 2 else "Cohen's"
    told = (
        "Overlap: relevant to all of the documents relevant to any, mean over topics. Agreement, kappa"
        f" ({kappa}) and alpha (Krippendorff's) are of relevance, over all topics together."
    )
    names = {"overlap": "overlap", "agreement": "agreement", "kappa": "kappa", "alpha": "alpha"}
    tables = [_pair_table(study, "how far the assessors agree", names, told)]
    if len(study.agreements.scale) > 2:
        names = {
            "kappa_grades": "kappa", "kappa_weighted": "kappa, weighted", "alpha_grades": "alpha",
            "alpha_ordinal": "alpha, ordinal",
        }  # fmt: skip
        told = (
            f"Of grades, not of relevance. Kappa ({kappa}) and alpha count grades as equal or not; weighted"
            " kappa (of pairs) and ordinal alpha count near grades as less of a disagreement."
        )
        tables.append(_pair_table(study, "how far they agree on grades", names, told))
    return tables


def _pair_table(study: Study, title: str, names: dict[str, str], told: str) -> Table:
    """Some coefficients of each pair; two and two stay together where the table is folded."""
    rows = pair_rows(study)
    columns = [Column(name, [row[name] for row in rows]) for name in ("assessors", "topics", "documents")]
    columns += [
        Column(text, [_shown(row, name) for row in rows], joined=place % 2 == 1)
        for place, (name, text) in enumerate(names.items())
    ]
    whys = [
        {"assessors": study.agreements.names(group), "reason": reasons(group.estimates, list(names))}
        for group in study.agreements.groups
    ]
    return Table(columns, title=title, notes=[told, *_whys(whys, "assessors")])


def _people_grades(study: Study) -> list[Table]:
    rows = grade_rows(study)
    columns = [
        Column("assessors", [row["assessors"] for row in rows]),
        Column("grade", [_plain(row["grade"]) for row in rows], right=True),
        Column("shared", [_shown(row, "agreement") for row in rows]),
    ]
    told = (
        "Shared: of the judgments with this grade, those of the one and of the other counted together, the"
        " share on documents to which both gave it; for more than two, over all pairs of judgments."
    )
    notes = [told, *_whys(rows, "assessors", "grade")]
    return [Table(columns, title="agreement by grade", notes=notes, keys=2)]


def _people_confusions(study: Study) -> list[Table]:
    rows, grades = confusion_rows(study), study.agreements.scale
    tables = []
    for first, second in dict.fromkeys((row["assessor"], row["other"]) for row in rows):
        found = {
            (row["grade"], row["other_grade"]): row["documents"]
            for row in rows
            if (row["assessor"], row["other"]) == (first, second)
        }
        columns = [Column(f"{first} gave", [_plain(grade) for grade in grades], right=True)]
        columns += [
            Column(f"{second} {_plain(other)}", [found[grade, other] for grade in grades]) for other in grades
        ]
        told = "Documents that both judged, by the grade that each gave."
        tables.append(Table(columns, title=f"grades of {first} and {second}", notes=[told]))
    return tables


def _people_rejected(study: Study) -> list[Table]:
    rows = rejected_rows(study)
    columns = [Column(name, [row[name] for row in rows]) for name in ("assessor", "relevant", "rejected")]
    columns.append(Column("share", [_shown(row, "share") for row in rows]))
    columns.append(Column("mean over topics", [_shown(row, "mean_over_topics") for row in rows]))
    told = "Relevant: found relevant and judged by all others; rejected: not relevant to any of these."
    return [Table(columns, title="rejected by all others", notes=[told, *_whys(rows, "assessor")])]


def _people_bias(study: Study) -> list[Table]:
    rows = bias_rows(study)
    columns = [
        Column("assessor", [row["assessor"] for row in rows]),
        Column("grade", [_plain(row["grade"]) for row in rows], right=True),
        Column("documents", [row["documents"] for row in rows]),
        Column("given", [row["given"] for row in rows], digits=3),
        Column("by others", [row["by_others"] for row in rows], digits=3),
        Column("bias", [_shown(row, "bias") for row in rows]),
    ]
    told = "Shares of the documents that the assessor and somebody else judged; bias: given less by others."
    notes = [told, *_whys(rows, "assessor", "grade")]
    return [Table(columns, title="grades that an assessor favours", notes=notes, keys=2)]


def _people_topics(study: Study, top: int) -> list[Table]:
    rows = [row for row in topic_rows(study) if row["contested"] or row["reason"]]
    if not rows:
        return []
    chosen = rows[:top]
    told = "" if len(chosen) == len(rows) else f"{top} of {len(rows)} topics, more with --top N. "
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
    told += (
        f"Relevant: to {', '.join(study.panel.assessors)}, of the documents that all judged. Contested: of"
        " all documents, those relevant to one and not to another."
    )
    return [Table(columns, title="topics to talk about first", notes=[told])]


def _people_taus(study: Study) -> list[Table]:
    rows = tau_rows(study)
    columns = [Column(name, [row[name] for row in rows]) for name in ("measure", "rankings")]
    columns += [
        Column(name, [_tau(row[name], row[f"swaps_{name}"]) for row in rows], right=True)
        for name in ("mean", "least", "most")
    ]
    coefficient = study.effects[0].coefficient
    told = ["In brackets: swaps of neighbours that the value stands for."] if coefficient in KENDALL else []
    told += [_told(effect) for effect in study.effects]
    told += _whys(rows, "measure", "rankings")
    return [Table(columns, title=f"rankings compared by {coefficient}", notes=told, keys=2)]


def _tau(tau: float, swaps: float) -> str:
    if np.isnan(tau):
        return UNKNOWN
    if np.isnan(swaps):
        return decimal(tau, 4)
    rounded = decimal(swaps, 0 if swaps >= 10 or abs(swaps - round(swaps)) < 0.05 else 1)
    return f"{decimal(tau, 4)} ({rounded})"


def _told(effect: Effect) -> str:
    """What resampling found, in sentences."""
    told = (
        f"all {effect.samples:,} possible qrels" if effect.enumerated
        else f"{effect.samples:,} qrels that pick an assessor for every topic"
    )  # fmt: skip
    told = f"{effect.measure}: {told}, over {plural(len(effect.topics), 'topic')}"
    told += f" and {plural(len(effect.systems), 'system')}."
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


def _people_systems(study: Study, top: int) -> list[Table]:
    rows = system_rows(study)
    tables = []
    for effect in study.effects:
        mine = [row for row in rows if row["measure"] == str(effect.measure)]
        chosen = mine[:top]
        names = ("system", "mean", "least", "most", "original", "union", "intersection")
        columns = [Column(name, [row[name] for row in chosen]) for name in names]
        rest = f"{len(chosen)} of {len(mine)} systems, more with --top N." if len(chosen) < len(mine) else ""
        original = f"Original: {effect.assessors[effect.original]}."
        title = f"{effect.measure} of each system over {effect.samples:,} qrels"
        tables.append(Table(columns, title=title, notes=[f"{rest} {original}".strip()]))
    return tables


def _people_swaps(study: Study, top: int) -> list[Table]:
    rows = swap_rows(study)
    tables = []
    for effect in study.effects:
        mine = [row for row in rows if row["measure"] == str(effect.measure)]
        told = _swaps_told(effect, len(mine))
        chosen = mine[:top]
        columns = [Column(name, [row[name] for row in chosen]) for name in ("system", "other", "difference")]
        columns.append(Column("swapped", [_small(row["swapped"]) for row in chosen], right=True))
        title = f"{effect.measure}: pairs of systems that swap most often"
        tables.append(Table(columns, title=title, notes=[told], keys=2))
    return tables


def _small(share: float) -> str:
    """A share above 0, which is never rounded to nothing."""
    return "<0.001" if share < 0.001 else decimal(share, 3)


def _swaps_told(effect: Effect, pairs: int) -> str:
    if not pairs:
        return f"None of {plural(effect.pairs, 'pair')} is turned by any qrels."
    gaps = effect.swap_difference.tolist()
    told = ", ".join(
        f"{whole_percent(share)} at or below {gap:.4f}"
        for share, gap in zip(SWAP_SHARES[:-1], gaps[:-1], strict=True)
    )
    return (
        f"Turned by some qrels: {pairs:,} of {plural(effect.pairs, 'pair')}, none with an original"
        f" difference above {gaps[-1]:.4f}. Of all swaps, {told}."
    )


def _people_top(study: Study) -> list[Table]:
    rows = top_rows(study)
    names = {
        "measure": "measure", "assessor": "assessor", "shift": "shift", "tau": study.choices.coefficient,
        "best": "best", "best_by_others": "best by others", "favoured": "favoured", "favour": "by",
        "moved": "moves most", "places": "places",
    }  # fmt: skip
    columns = [
        Column(title, [row[name] for row in rows], digits=1 if name == "places" else None)
        for name, title in names.items()
    ]
    count = study.tops[0][0].top
    best = "The best system" if count == 1 else f"The {count} best systems"
    told = (
        f"{best} by the mean over assessors, under each assessor and under the mean of the others: mean shift"
        f" of the values, {study.choices.coefficient} of the two rankings, the system that gains most beyond"
        " the shift of all, and the one that moves most places."
    )
    notes = [told, *_whys(rows, "measure", "assessor")]
    return [Table(columns, title="what each assessor does to the best systems", notes=notes, keys=2)]


WHOLE: dict[str, Callable[[Study], list[Table]]] = {
    "pairs": _people_pairs,
    "grades": _people_grades,
    "confusions": _people_confusions,
    "rejected": _people_rejected,
    "bias": _people_bias,
    "taus": _people_taus,
    "top": _people_top,
}
CUT: dict[str, Callable[[Study, int], list[Table]]] = {
    "topics": _people_topics,
    "systems": _people_systems,
    "swaps": _people_swaps,
}
