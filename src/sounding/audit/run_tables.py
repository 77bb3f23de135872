"""Sections of an audit about who contributed: unique documents, leaving out, overlap, ties, popularity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sounding.audit.auditing import Audit
from sounding.audit.leave_out import LeaveOutSummary, LeftOut
from sounding.audit.pseudo import Pseudo
from sounding.audit.section import LISTED_ALONE, Extras, Section, known, number_text, people
from sounding.audit.unique import By
from sounding.core.text import whole_percent

if TYPE_CHECKING:
    import polars

SUMMARY = {
    "number": "n", "percent": "%", "most_changed": "which", "most_places": "at most",
}  # fmt: skip


def unique_section(audit: Audit, extras: Extras, top: int) -> Section:
    """Relevant documents that one group alone found, by kind of run (Voorhees 2002, Fig. 1)."""
    import polars

    unique = audit.unique()
    counts, judged = unique.counts(), unique.judged_counts()
    total = counts.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    kinds = [place for place in range(len(unique.kinds)) if counts[:, place].any()]
    columns: dict[str, Any] = {"group": [unique.names[place] for place in order], "unique": total[order]}
    columns |= {unique.kinds[place]: counts[order, place] for place in kinds}
    columns["unique judged"] = judged.sum(axis=1)[order]
    wide = polars.DataFrame(columns, schema_overrides={"group": polars.String})
    relevant = int(audit.runs.judgments.relevant(audit.runs.level).sum())
    notes = [
        f"Relevant documents that one group alone has among the first {audit.runs.reach} of its pooled runs,"
        f" by the kind of these: {int(total.sum()):,} of {relevant:,}.",
        "Unique judged: all such documents, relevant or not.",
        *(["No run of another group has them as deep, pooled or not."] * (audit.among == "all")),
    ]
    title = "Unique relevant documents (Voorhees 2002, Fig. 1)"
    table = people(wide, title, notes=notes, top=top)
    return Section(frame=unique.frame, tables=[table], facts={})


def leave_out_section(audit: Audit, extras: Extras, top: int) -> Section:
    """What leaving out each run, and each group, changes."""
    import polars

    frames, rows = [], []
    ways: tuple[By, ...] = ("run", "group")
    for by in ways:
        found = audit.leave_out(by)
        frames.append(found.frame.with_columns(by=polars.lit(by)))
        rows += _summaries(found, by)
    summary = polars.DataFrame(rows)
    frame = polars.concat(frames).select("by", polars.all().exclude("by"))
    others = "nobody else contributed" if audit.among == "pooled" else "no other run has, pooled or not"
    lost = "relevant documents" if audit.remove == "relevant" else "judgments"
    notes = [
        f"Left out: {lost} that {others}. Changes are the value without them less the value"
        " with them: a run that loses has a minus. %: mean and largest size of the changes of contributing"
        " runs, whatever their signs, and the run that has it; signed: mean with the signs; change: mean size"
        " in the measure itself. Places: mean and largest change of rank among contributing runs, all on the"
        " judgments that are left. On ten: % on the ten topics with most relevant documents.",
    ]
    digits = {
        "percent": 2, "most": 2, "signed": 2, "change": 4, "places": 2, "on_ten": 2, "most_on_ten": 2,
    }  # fmt: skip
    tables = [
        people(
            summary, "Leave one out (Zobel 1998; Lu et al. 2016, Table 5)", digits=digits, notes=notes,
            keys=3,
            names={name: SUMMARY.get(name, name.replace("_", " ")) for name in summary.columns},
        )
    ]  # fmt: skip
    found = audit.leave_out("group")
    order = found.in_papers_order()[::-1]
    measures = len(found.measures)
    shown = found.frame[(order * measures).tolist()].filter(polars.col("pooled"))
    text = {
        "run": "run", "left_out": "left out", "kind": "kind", "unique": "unique",
        "value": str(found.measures[0]), "without": "without", "change": "change", "percent": "%",
        "percent_on_ten": "% on ten", "rank": "rank", "rank_without": "without ",
    }  # fmt: skip
    tables.append(
        people(
            shown, f"{found.measures[0]} when the group is left out (Voorhees 2002, Fig. 2, from its end)",
            names=text, digits={"percent": 2, "percent_on_ten": 2}, top=top, keys=2,
        )
    )  # fmt: skip
    return Section(frame=frame, tables=tables, facts={"leave_out": rows})


def _summaries(found: LeftOut, by: By) -> list[dict[str, Any]]:
    """One row a measure and kind of run, all kinds first."""
    kinds = sorted({kind for kind, own in zip(found.kinds, found.pooled, strict=True) if own})
    chosen: list[tuple[str, Any]] = [("all", found.pooled)]
    if len(kinds) > 1:
        chosen += [(kind, found.of_kind(kind)) for kind in kinds]
    return [
        {"left out": by, "measure": str(measure), "runs": name} | _cells(found.summary(place, rows))
        for place, measure in enumerate(found.measures)
        for name, rows in chosen
    ]


def _cells(one: LeaveOutSummary) -> dict[str, Any]:
    return {
        "number": one.runs, "percent": known(one.mean_percent), "most": known(one.max_percent),
        "most_changed": one.most_changed, "signed": known(one.mean_signed), "change": known(one.mean_change),
        "places": known(one.mean_places), "most_places": one.max_places,
        "on_ten": known(one.mean_percent_on_ten), "most_on_ten": known(one.max_percent_on_ten),
    }  # fmt: skip


def reinforcement_section(audit: Audit, extras: Extras, top: int) -> Section:
    """Assessment of contributing runs beside their overlap with others."""
    found = audit.reinforcement()
    frame = found.frame.sort("overlap", "run")
    notes = [
        f"Overlap: mean share of a run's first {found.depth} documents that another pooled run has there"
        " too; group overlap: that a pooled run of another group has; assessment:"
        f" A_p@{found.k}, judged documents down to {found.k} divided by {found.k}, however short the list."
        f" tau of assessment with overlap: {number_text(found.tau)}; with overlap with other groups:"
        f" {number_text(found.group_tau)}.",
    ]
    table = people(
        frame, "Contributing runs by overlap with the others", top=top, notes=notes,
        percent=["overlap", "group_overlap", "assessment"],
    )  # fmt: skip
    told = {"tau": known(found.tau), "group_tau": known(found.group_tau)}
    return Section(frame=frame, tables=[table], facts={"reinforcement": told})


def ties_section(audit: Audit, extras: Extras, top: int) -> Section:
    """Tied scores, and tau between the rules for them (Lu et al. 2016, Table 6)."""
    import polars

    found = audit.ties()
    frame = found.frame.sort("tied_share", "run", descending=[True, False], nulls_last=True)
    rules = {"rule": list(found.rules)} | {
        rule: found.tau[:, place] for place, rule in enumerate(found.rules)
    }
    median = found.median_share()
    notes = [
        f"tau of {found.measure} between the orders of runs when ties go by doc id (trec), when lines stand"
        " as they are in the file, and when tied documents are averaged. RBP without a level counts grades.",
        f"{whole_percent(found.with_ties())} of lists have ties among their first {found.top} documents"
        + (
            "."
            if np.isnan(median)
            else f"; there the median share of tied documents is {whole_percent(median)}."
        ),
    ]
    tables = [
        people(
            polars.DataFrame(rules), "Rules for tied scores (Lu et al. 2016, Table 6)", notes=notes,
            digits=dict.fromkeys(found.rules, 3),
        ),
        people(
            frame, f"Runs by share of tied scores in the first {found.top}", percent=["tied_share"], top=top
        ),
    ]  # fmt: skip
    told = {
        "median_share_of_ties": known(median), "share_of_lists_with_ties": known(found.with_ties()),
        "tau": {
            f"{a}, {b}": known(float(found.tau[i, j]))
            for i, a in enumerate(found.rules)
            for j, b in enumerate(found.rules)
            if i < j
        },
    }  # fmt: skip
    return Section(frame=frame, tables=tables, facts={"ties": told})


def assessment_frame(audit: Audit, extras: Extras) -> polars.DataFrame:
    """Columns collection, run, kind, performance, assessment, random, popularity, tau: this one first."""
    import polars

    return polars.concat(
        [
            one.frame.select(
                polars.lit(name).alias("collection"), polars.all(),
                polars.lit(one.tau()["assessment"]).alias("tau"),
            )
            for name, one in _collections(audit, extras)
        ]
    )  # fmt: skip


def _collections(audit: Audit, extras: Extras) -> list[tuple[str, Pseudo]]:
    from sounding.data.sources import plain_name

    return [(plain_name(audit.runs.qrels.source), audit.pseudo()), *extras.others]


def assessment_section(audit: Audit, extras: Extras, top: int) -> Section:
    """Agreement of MAP with what needs no judgments (Baillie et al., Fig. 12)."""
    import polars

    frame = assessment_frame(audit, extras)
    taus = [
        {"collection": name, "runs": len(one.runs), "k": one.k}
        | {key: known(tau) for key, tau in one.tau().items()}
        for name, one in _collections(audit, extras)
    ]
    notes = [
        "Assessment: A_p at k, judged documents down to k divided by k, however short the list. Random: MAP"
        " with pseudo-judgments drawn from the pool (Soboroff et al. 2001),"
        f" mean of {audit.draws} draws, seed {audit.seed}. Popularity: overlap with the other runs (Aslam &"
        " Savell 2003).",
    ]
    if audit.only_relevant:
        notes.append(f"{LISTED_ALONE} Judged means relevant here, so that assessment is a form of recall.")
    poolless = [name for name, one in _collections(audit, extras) if np.isnan(one.random).all()]
    if poolless:
        notes.append(
            f"Random is not known of {', '.join(poolless)}: no run is known to have contributed to a pool to"
            " draw from."
        )
    digits = dict.fromkeys(("assessment", "random", "popularity"), 3)
    tables = [
        people(
            polars.DataFrame(taus), "tau with MAP, without judgments (Baillie et al., Fig. 12)",
            digits=digits, notes=notes,
        )
    ]  # fmt: skip
    own = audit.pseudo().frame.sort("performance", "run", descending=[True, False])
    text = {
        "run": "run", "kind": "kind", "performance": "MAP", "assessment": f"A_p@{audit.pseudo().k}",
        "random": "random", "popularity": "popularity",
    }  # fmt: skip
    tables.append(people(own, "Runs by MAP", names=text, top=top))
    return Section(frame=frame, tables=tables, facts={"assessment": taus})
