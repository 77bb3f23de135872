"""The tables of `agree`: agreement, bias, topics to discuss, and how the ranking of runs changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from sounding.agree import sentences
from sounding.agree.agreement import COEFFICIENTS
from sounding.agree.resampling import KENDALL, SWAP_SHARES, Effect
from sounding.agree.result import Study
from sounding.core.text import whole_percent
from sounding.render.tables import UNKNOWN, Column, Table, columns_of_rows, decimal
from sounding.statistics.assessor_agreement import Estimate

Row = dict[str, Any]
Rows = list[Row]

SHOWN = 10  # rows shown of a long table by default
FIRST = ("pairs", "topics")  # sections shown by default
FIRST_WITH_RUNS = ("pairs", "taus", "systems")
OF_RUNS = ("taus", "systems", "swaps", "top")


# -- rows ------------------------------------------------------------------------------------------


def estimate_row(name: str, estimate: Estimate) -> Row:
    """Return an estimate and its interval as part of a row."""
    return {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def pair_rows(study: Study) -> Rows:
    """Return a row for each pair of assessors, and one for all."""
    rows: Rows = []
    for group in study.agreements.groups:
        row: Row = {
            "assessors": study.agreements.names(group), "topics": group.topics, "documents": group.documents,
        }  # fmt: skip
        for name in COEFFICIENTS:
            row |= estimate_row(name, group.estimates[name])
        rows.append(row | {"reason": sentences.reasons(group.estimates, COEFFICIENTS)})
    return rows


def grade_rows(study: Study) -> Rows:
    """Return a row for each pair and grade: the share of its uses on which the two agree."""
    return [
        {"assessors": study.agreements.names(group), "grade": grade}
        | estimate_row("agreement", estimate)
        | {"reason": estimate.remark}
        for group in study.agreements.groups
        for grade, estimate in group.by_grade.items()
    ]


def confusion_rows(study: Study) -> Rows:
    """Return a row for each pair of assessors and pair of grades, with the number of documents."""
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
    """Return a row for each assessor: the relevant documents that all others reject."""
    return [
        {"assessor": one.assessor, "relevant": one.relevant, "rejected": one.rejected}
        | estimate_row("share", one.share)
        | estimate_row("mean_over_topics", one.mean)
        | {"reason": sentences.reasons({"share": one.share, "mean": one.mean}, ("share", "mean"))}
        for one in study.agreements.rejections
    ]


def bias_rows(study: Study) -> Rows:
    """Return a row for each assessor and grade."""
    return [
        {
            "assessor": one.assessor, "grade": one.grade, "documents": one.documents, "given": one.given,
            "by_others": one.by_others,
        }
        | estimate_row("bias", one.bias)
        | {"reason": one.bias.remark}
        for one in study.biases
    ]  # fmt: skip


def topic_rows(study: Study) -> Rows:
    """Return a row for each topic, those to discuss first at the top."""
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
    """Return a row for each measure and comparison of rankings (Voorhees 2002, Table 2)."""
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
    """Return a row for each measure and system, best mean over qrels first (Voorhees 2002, Fig. 3)."""
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
    """Return a row for each measure and pair of systems that some qrels reverse, most often first."""
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
    """Return a row for each measure and assessor: how they change the best systems."""
    return [
        {"measure": str(effect.measure)} | asdict(one)
        for effect, tops in zip(study.effects, study.tops, strict=True)
        for one in tops
    ]


# -- for programs ----------------------------------------------------------------------------------


def possible_sections(study: Study) -> list[str]:
    """Return the sections that can be shown; those about systems need runs."""
    return [name for name in SECTIONS if study.effects or name not in OF_RUNS]


def tidy_section(study: Study, section: str, top: int | None = None) -> Table:
    """Return one section for programs: all columns at full precision."""
    rows = SECTIONS[section].rows(study)[:top]
    return Table(columns_of_rows(rows, list(rows[0]) if rows else ()))


def facts(study: Study) -> dict[str, Any]:
    """Return everything that JSON holds, by name; NaN as null."""
    panel, agreements = study.panel, study.agreements
    sections = {name: SECTIONS[name].rows(study) for name in possible_sections(study)}
    whole = {
        "assessors": list(panel.assessors),
        "scale": list(agreements.scale),
        "choices": asdict(study.choices) | {"primary": panel.assessors[study.choices.primary]},
        "policies": sentences.policies_in_force(study),
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
        "notes": sentences.notes(study, policies=True),
    }
    return {name: known(value) for name, value in whole.items()}


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
        "union_outside": effect.outside("union"), "intersection_outside": effect.outside("intersection"),
    }  # fmt: skip


def known(value: Any) -> Any:
    """Return the value with None for each NaN, nested ones included."""
    if isinstance(value, dict):
        return {name: known(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [known(inner) for inner in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


# -- for people ------------------------------------------------------------------------------------


def people_tables(study: Study, sections: Sequence[str], top: int | None = None) -> list[Table]:
    """Return the wanted sections for people, rounded and with intervals in brackets."""
    chosen = [SECTIONS[name] for name in sections]
    tables = [table for one in chosen for table in one.people(study, one.rows(study), top or SHOWN)]
    return tables or [Table([Column("topics to discuss first", ["none"])])]


def default_sections(study: Study) -> tuple[str, ...]:
    """Return the sections that people see unless they choose others."""
    return FIRST_WITH_RUNS if study.effects else FIRST


def estimates(rows: Rows, name: str, heading: str | None = None, *, optional: int = 0) -> Column:
    """Return a column of estimates for people: 0.470 [0.410, 0.530]."""
    return Column(heading or name, [_shown(row, name) for row in rows], optional=optional)


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
    """Return each reason once, with the rows that share it."""
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(row["reason"], []).append(" ".join(_plain(row[name]) for name in names))
    return [f"{', '.join(who)}: {reason}." for reason, who in groups.items() if reason]


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"


RELEVANCE = {"overlap": "overlap", "agreement": "agreement", "kappa": "kappa", "alpha": "alpha"}
GRADES = {
    "kappa_grades": "kappa", "kappa_weighted": "kappa, weighted", "alpha_grades": "alpha",
    "alpha_ordinal": "alpha, ordinal",
}  # fmt: skip


def _people_pairs(study: Study, rows: Rows, _: int) -> list[Table]:
    """Return the coefficients of relevance, and those of grades if there are more than two grades."""
    kappa = "Cohen's for pairs, Fleiss' for all" if len(study.panel.assessors) > 2 else "Cohen's"
    parts = [("Agreement on relevance", RELEVANCE, sentences.RELEVANCE)]
    if len(study.agreements.scale) > 2:
        parts.append(("Agreement on grades", GRADES, sentences.GRADES))
    tables = []
    for title, names, note in parts:
        columns = columns_of_rows(rows, ("assessors", "topics", "documents"))
        for place, (name, heading) in enumerate(names.items()):
            columns.append(estimates(rows, name, heading, optional=place))
        whys = [
            row | {"reason": sentences.reasons(group.estimates, list(names))}
            for row, group in zip(rows, study.agreements.groups, strict=True)
        ]
        notes = [note.format(kappa=kappa), *_whys(whys, "assessors")]
        tables.append(Table(columns, title=title, notes=notes))
    return tables


def _people_grades(_: Study, rows: Rows, __: int) -> list[Table]:
    columns = columns_of_rows(rows, ["assessors"])
    columns += [_grades(rows), estimates(rows, "agreement", "shared")]
    notes = [sentences.SHARED, *_whys(rows, "assessors", "grade")]
    return [Table(columns, title="Agreement by grade", notes=notes, keys=2)]


def _people_confusions(study: Study, _: Rows, __: int) -> list[Table]:
    scale, tables = [_plain(grade) for grade in study.agreements.scale], []
    for group in study.agreements.groups:
        if group.confusion is None:
            continue
        first, second = (study.panel.assessors[member] for member in group.members)
        columns = [Column(f"{first} gave", scale, right=True)]
        for grade, counts in zip(scale, group.confusion.T.astype(np.int64), strict=True):
            columns.append(Column(f"{second} {grade}", counts.tolist()))
        title = f"Grades by {first} and {second}"
        tables.append(Table(columns, title=title, notes=[sentences.CONFUSIONS]))
    return tables


def _people_rejected(_: Study, rows: Rows, __: int) -> list[Table]:
    columns = columns_of_rows(rows, ("assessor", "relevant", "rejected"))
    columns += [estimates(rows, "share"), estimates(rows, "mean_over_topics", "mean over topics")]
    notes = [sentences.REJECTED, *_whys(rows, "assessor")]
    return [Table(columns, title="Relevant documents rejected by all others", notes=notes)]


def _people_bias(_: Study, rows: Rows, __: int) -> list[Table]:
    columns = [
        *columns_of_rows(rows, ["assessor"]), _grades(rows), *columns_of_rows(rows, ["documents"]),
        *columns_of_rows(rows, {"given": "given", "by_others": "by others"}, digits=3),
        estimates(rows, "bias"),
    ]  # fmt: skip
    notes = [sentences.BIAS, *_whys(rows, "assessor", "grade")]
    return [Table(columns, title="Bias by grade", notes=notes, keys=2)]


def _people_topics(study: Study, rows: Rows, top: int) -> list[Table]:
    rows = [row for row in rows if row["contested"] or row["reason"]]
    if not rows:
        return []
    chosen, assessors = rows[:top], study.panel.assessors
    relevant = ["/".join(str(row[f"relevant {name}"]) for name in assessors) for row in chosen]
    columns = [
        *columns_of_rows(chosen, {"topic": "topic", "judged_by_all": "judged by all"}),
        Column("relevant", relevant, right=True),
        *columns_of_rows(chosen, ("contested", "overlap", "kappa"), digits=3),
    ]
    if any(row["reason"] for row in chosen):
        columns.append(Column("reason", [row["reason"] or "" for row in chosen]))
    note = sentences.TOPICS.format(assessors=", ".join(assessors))
    notes = [sentences.first_of(top, len(rows), "topics") + note]
    return [Table(columns, title="Topics to discuss first", notes=notes)]


def _people_taus(study: Study, rows: Rows, _: int) -> list[Table]:
    coefficient = study.choices.coefficient
    columns = columns_of_rows(rows, ("measure", "rankings"))
    for name in ("mean", "least", "most"):
        cells = [_tau(row[name], row[f"swaps_{name}"]) for row in rows]
        columns.append(Column(name, cells, right=True))
    notes = [*map(sentences.sampled, study.effects)]
    notes += [sentences.SWAPS] if coefficient in KENDALL else []
    notes += _whys(rows, "measure", "rankings")
    return [Table(columns, title=f"Rankings compared by {coefficient}", notes=notes, keys=2)]


def _tau(tau: float, swaps: float) -> str:
    if np.isnan(tau):
        return UNKNOWN
    if np.isnan(swaps):
        return decimal(tau, 4)
    rounded = decimal(swaps, 0 if swaps >= 10 or abs(swaps - round(swaps)) < 0.05 else 1)
    return f"{decimal(tau, 4)} ({rounded})"


def _by_measure(study: Study, rows: Rows) -> list[tuple[Effect, Rows]]:
    return [
        (effect, [row for row in rows if row["measure"] == str(effect.measure)]) for effect in study.effects
    ]


def _people_systems(study: Study, rows: Rows, top: int) -> list[Table]:
    names = ("system", "mean", "least", "most", "original", "union", "intersection")
    tables = []
    for effect, own in _by_measure(study, rows):
        note = f"Original: judgments of {effect.assessors[effect.original]}."
        notes = [sentences.first_of(top, len(own), "systems") + note]
        title = f"{effect.measure} of each system over {effect.samples:,} qrels"
        columns = columns_of_rows(own[:top], names)
        columns = [replace(column, optional=max(0, place - 1)) for place, column in enumerate(columns)]
        tables.append(Table(columns, title=title, notes=notes))
    return tables


def _people_swaps(study: Study, rows: Rows, top: int) -> list[Table]:
    tables = []
    for effect, own in _by_measure(study, rows):
        columns = columns_of_rows(own[:top], ("system", "other", "difference"))
        # Never show a positive share as 0.
        shares = [row["swapped"] for row in own[:top]]
        cells = ["<0.001" if share < 0.001 else decimal(share, 3) for share in shares]
        columns.append(Column("swapped", cells, right=True))
        title = f"{effect.measure}: pairs of systems that swap most often"
        note = sentences.swaps(effect, len(own))
        tables.append(Table(columns, title=title, notes=[note], keys=2))
    return tables


def _people_top(study: Study, rows: Rows, _: int) -> list[Table]:
    coefficient, count = study.choices.coefficient, study.tops[0][0].top
    names = {
        "measure": "measure", "assessor": "assessor", "shift": "shift", "tau": coefficient, "best": "best",
        "best_by_others": "best by others", "favored": "favored", "favor": "by", "moved": "moves most",
    }  # fmt: skip
    columns = [*columns_of_rows(rows, names), *columns_of_rows(rows, ["places"], digits=1)]
    best = "The best system" if count == 1 else f"The {count} best systems"
    note = sentences.TOP.format(best=best, coefficient=coefficient)
    notes = [note, *_whys(rows, "measure", "assessor")]
    return [Table(columns, title="How each assessor changes the best systems", notes=notes, keys=2)]


class Section(NamedTuple):
    """A section of the output: its rows for programs and its tables for people."""

    rows: Callable[[Study], Rows]
    people: Callable[[Study, Rows, int], list[Table]]


SECTIONS = {
    "pairs": Section(pair_rows, _people_pairs),
    "grades": Section(grade_rows, _people_grades),
    "confusions": Section(confusion_rows, _people_confusions),
    "rejected": Section(rejected_rows, _people_rejected),
    "bias": Section(bias_rows, _people_bias),
    "topics": Section(topic_rows, _people_topics),
    "taus": Section(tau_rows, _people_taus),
    "systems": Section(system_rows, _people_systems),
    "swaps": Section(swap_rows, _people_swaps),
    "top": Section(top_rows, _people_top),
}
