"""An audit as a page and as tables: the verdict first, then whatever section is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sounding.audit.coverage import Growth
from sounding.audit.leave_out import By, LeaveOutSummary, LeftOut
from sounding.audit.parts import Parts
from sounding.audit.pseudo import Pseudo
from sounding.audit.result import Audit
from sounding.audit.title_bias import TitleBias
from sounding.audit.verdict import Statement
from sounding.core.lazy import polars
from sounding.core.text import first_few, natural_places, plural, whole_percent, wrapped
from sounding.data.sources import plain_name
from sounding.render.tables import Cell, Column, Table
from sounding.runs.pool import depth_by_topic

MARGIN = 11  # of statements: room for the longest answer
NARROW, WIDTH = 40, 100  # longer lines are hard to read
LISTED_ALONE = "Nearly all judgments are relevant: only relevant documents seem to be listed."
SHOWN = 20  # rows that people see without asking for more


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Extras:
    """What was asked beside the collection itself."""

    parts: Parts | None = None
    titles: TitleBias | None = None
    others: Sequence[tuple[str, Pseudo]] = ()  # other collections, by name


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AuditSection:
    """One part of an audit: a frame for programs, tables for people."""

    frame: polars.DataFrame
    tables: Sequence[Table]
    facts: Mapping[str, Any] = field(default_factory=dict)


Builder = Callable[[Audit, Extras, int], AuditSection]


def people(
    frame: polars.DataFrame,
    title: str,
    *,
    names: Mapping[str, str] | None = None,
    digits: Mapping[str, int] | None = None,
    percent: Sequence[str] = (),
    top: int | None = None,
    notes: Sequence[str] = (),
    keys: int = 1,
) -> Table:
    """A frame as people read it: some columns under other names, the first rows."""
    shown = frame if top is None else frame.head(top)
    chosen = names or {name: name.replace("_", " ") for name in frame.columns}
    columns = [
        Column(text, shown[name].to_list(), digits=(digits or {}).get(name), percent=name in percent)
        for name, text in chosen.items()
    ]
    if shown.height < frame.height:
        notes = [f"{shown.height} of {frame.height} rows, the rest with --top N.", *notes]
    return Table(columns, title=title, notes=notes, keys=keys)


def known(value: float) -> float | None:
    """A number as json has it; None: not known."""
    return value if np.isfinite(value) else None


def number_text(value: float) -> str:
    """A coefficient as people read it."""
    return f"{value:.3f}" if np.isfinite(value) else "not defined"


# -- the verdict -----------------------------------------------------------------------------------


def verdict_text(audit: Audit, statements: Sequence[Statement], width: int) -> str:
    """The verdict as a page: an answer, a claim and its reasons, one after the other."""
    width = min(max(width, NARROW) if width else WIDTH, WIDTH)  # some terminals say 0
    lines = wrapped(headline(audit), width)
    fit = [one for one in statements if one.answer != "note"]
    notes = [one for one in statements if one.answer == "note"]
    for title, group in (("", fit), ("Look out", notes)):
        lines += ["", title] if title and group else [""] if group else []
        for one in group:
            if one.answer == "note":
                lines += _hanging(f"{one.claim}. {one.why}".strip(), width, "- ")
            else:
                lines += _hanging(f"{one.claim}.", width, one.answer.ljust(MARGIN))
                lines += _hanging(one.why, width, " " * MARGIN)
    lines += ["", *wrapped(f"Policies: {audit.runs.policies.describe()}.", width)]
    lines += wrapped(f"More: --section {', '.join(sections(audit, Extras()))}; or --all.", width)
    return "\n".join(lines) + "\n"


def _hanging(text: str, width: int, first: str) -> list[str]:
    """A paragraph whose first line begins with something, and the others with as many blanks."""
    return wrapped(text, width, first, " " * len(first))


def verdict_table(audit: Audit, statements: Sequence[Statement], *, rounded: bool = False) -> Table:
    """The statements of the verdict, one row each; `rounded`: figures as people write them."""
    names = ("about", "answer", "claim", "figure", "value", "rule", "why")
    columns = [Column(name, [getattr(one, name) for one in statements]) for name in names]
    if rounded:
        told = [f"{one.value:.3g}" if np.isfinite(one.value) else None for one in statements]
        columns[names.index("value")] = Column("value", told, right=True)
    return Table(columns, title="Verdict", notes=[headline(audit)], facts=facts(audit))


def headline(audit: Audit) -> str:
    """The size of the collection in a sentence."""
    runs = audit.runs
    relevant = int(runs.judgments.relevant(runs.level).sum())
    groups = len({group for group, new in zip(runs.groups, runs.new, strict=True) if not new})
    old = int(np.count_nonzero(~runs.new))
    return (
        f"{runs.qrels.source}: {plural(len(runs.topics), 'topic')},"
        f" {plural(len(runs.judgments.grades), 'judgment')}, {relevant:,} of them relevant;"
        f" {plural(old, 'run')} of {plural(groups, 'group')}."
    )


def facts(audit: Audit) -> dict[str, Any]:
    """What json says beside the rows."""
    runs = audit.runs
    return {
        "collection": {
            "qrels": runs.qrels.source, "topics": len(runs.topics), "runs": len(runs.runs),
            "judgments": len(runs.judgments.grades), "level": runs.level,
            "relevant": int(runs.judgments.relevant(runs.level).sum()),
        },
        "pool": {
            "depth": runs.pool.depth, "judged_depth": runs.pool.judged, "holes": len(runs.holes()),
            "guessed": runs.pool.guessed, "unique_among": audit.among,
            "contributing": [run for run, own in zip(runs.runs, runs.contributing, strict=True) if own],
        },
        "measures": [str(measure) for measure in audit.measures],
        "policies": runs.policies.in_force(),
        "remarks": list(runs.remarks),
    }  # fmt: skip


# -- sections on the pool and its documents ---------------------------------------------------------

MOST_HOLES = 20  # unjudged documents of the pool that are named
GROWTH_SHOWN = (1, 2, 3, 5, 10, 20, 30, 50, 75, 100, 200, 500, 1000)


def pool_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """What pools of several depths would have judged (Lu et al. 2016, Table 4)."""
    outcomes = audit.outcomes()
    frame = outcomes.frame
    text = {
        "depth": "depth", "relevant": "relevant", "in_pool": "in a run's depth", "in_pool_deviation": "±",
        "past": "past it", "past_deviation": "± ", "first_unjudged": "first unjudged",
        "first_unjudged_deviation": " ±",
    }  # fmt: skip
    first = audit.coverage().first_unjudged[audit.runs.contributing]
    met = first[np.isfinite(first)]
    all_judged = "In the lists of contributing runs every document is judged."
    if len(met):
        all_judged = (
            "With all judgments, wherever they came from, the first unjudged document of a contributing run"
            f" stands at rank {met.mean():.1f} on average."
        )
    notes = [
        audit.runs.pool.describe(),
        *_holes(audit),
        "Means over contributing runs and topics, with standard deviations: relevant documents of a pool so"
        " deep are those within a run's own first documents and those past them.",
        all_judged,
        f"{audit.growth().elsewhere:,} judged documents are in no contributing run's first"
        f" {audit.runs.reach}.",
    ]
    table = people(
        frame, "Pools of these depths (Lu et al. 2016, Table 4)", names=text, notes=notes,
        digits=dict.fromkeys(text, 1),
    )  # fmt: skip
    return AuditSection(frame=frame, tables=[table])


def _holes(audit: Audit) -> list[str]:
    """The documents within the pool's depth that are not judged, by topic and name, where there are any."""
    places = audit.runs.holes()
    if not len(places):
        return []
    named = audit.runs.named_documents(places[:MOST_HOLES])
    few = first_few(named, MOST_HOLES, len(places))
    return [f"Unjudged within the depth of the pool (topic doc): {few}."]


def runs_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """How much of every run was judged, and what it found and missed."""
    runs, found, values = audit.runs, audit.coverage(), audit.values()
    depths = audit.depths()
    order = np.lexsort((np.arange(len(runs.runs)), -np.nan_to_num(values[:, 0], nan=-np.inf)))
    who: dict[str, Any] = {
        "run": runs.runs, "group": runs.groups, "kind": runs.kinds,
        "pooled": [
            "new" if new else "yes" if own else "no"
            for new, own in zip(runs.new, runs.contributing, strict=True)
        ],
    }  # fmt: skip
    shares = {f"judged_{depth}": found.judged_share[:, depth - 1] for depth in depths}
    valued = {str(measure): values[:, place] for place, measure in enumerate(audit.measures)}
    frame = polars.concat(
        [
            polars.DataFrame(who | valued, schema_overrides=dict.fromkeys(who, polars.String)),
            polars.DataFrame(shares), found.frame.drop("run"),
        ], how="horizontal",
    )[order]  # fmt: skip
    first = str(audit.measures[0])
    text = {"run": "run", "kind": "kind", "pooled": "pooled", first: first}
    text |= {f"judged_{depth}": f"@{depth}" for depth in depths}
    text |= {
        "first_unjudged": "first unjudged", "relevant": "relevant", "nonrelevant": "non-rel.",
        "unjudged": "unjudged", "relevant_missed": "missed", "length": "length",
    }  # fmt: skip
    percent = [f"judged_{depth}" for depth in depths] + ["relevant", "nonrelevant", "unjudged"]
    notes = [
        "@k: share judged of the documents that a run has down to k, mean over topics. Then: mean rank of the"
        " first unjudged document; shares of all documents retrieved, topics taken together; relevant"
        " documents not retrieved; documents for a topic.",
    ]
    table = people(
        frame, f"Runs by {first}", names=text, percent=percent, top=top, notes=notes,
        digits={"first_unjudged": 1, "length": 0},
    )  # fmt: skip
    return AuditSection(frame=frame, tables=[table])


def topics_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Judgments, growth and the best run, topic by topic."""
    runs = audit.runs
    columns: dict[str, Any] = {
        "topic": runs.topics, "judged": runs.judgments.judged,
        "relevant": runs.judgments.relevant(runs.level),
    }  # fmt: skip
    notes = [f"Best run by {audit.measures[0]}."]
    if audit.has_pool:
        growth, found = audit.growth(), audit.leave_out()
        pooled_to, judged_to = depth_by_topic(runs.pool, runs.retrieved, runs.grades())
        columns |= {
            "pool_depth": pooled_to, "judged_depth": judged_to, "second_half": growth.second_half(),
            "to_come": growth.twice, "likely_to_come": growth.twice_likely, "remaining": growth.remaining,
            "last_depth": np.where(np.isfinite(growth.last), growth.last, np.nan),
        }  # fmt: skip
        if audit.only_relevant:
            extrapolated = ("to_come", "likely_to_come", "remaining", "last_depth")
            columns |= {name: np.full(len(runs.topics), np.nan) for name in extrapolated}
            notes.append(f"{LISTED_ALONE} Without a judged pool to grow there is nothing to extrapolate.")
        notes.insert(
            0,
            "Pool depth: to which contributing runs were pooled, single holes apart; judged depth: to which"
            " all of them are judged; a dash: all that they have is. Second half: relevant documents from"
            " below half of the depth. To come: relevant documents expected at twice the depth, by Zobel's"
            " extrapolation; likely to come: by a Poisson fit. Remaining: Zobel's down to its last depth,"
            f" behind which it gives none (a dash: never), or to the end of the lists at {growth.end:,}.",
        )
    values = runs.values(audit.measures[:1], runs.view())[~runs.new, 0]
    names = [run for run, new in zip(runs.runs, runs.new, strict=True) if not new]
    best = np.nan_to_num(values, nan=-np.inf).argmax(axis=0)
    columns["best_run"] = [names[run] for run in best]
    if audit.has_pool:
        columns["changed_without"] = [
            ", ".join(found.units[unit] for unit in found.winner_changes[:, topic].nonzero()[0])
            for topic in range(len(runs.topics))
        ]
        notes.append("Changed without: groups without whose unique documents another run is the best.")
    texts = dict.fromkeys(("topic", "best_run", "changed_without"), polars.String)
    frame = polars.DataFrame(
        columns, schema_overrides={name: kind for name, kind in texts.items() if name in columns}
    )
    table = people(
        frame[natural_places(runs.topics)],
        "Topics",
        digits=dict.fromkeys(("pool_depth", "judged_depth", "last_depth"), 0)
        | dict.fromkeys(("to_come", "likely_to_come", "remaining"), 1),
        top=top,
        notes=notes,
    )
    return AuditSection(frame=frame, tables=[table])


def growth_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Relevant documents by pool depth, and how many may remain (Lu et al. 2016, Fig. 1)."""
    growth = audit.growth()
    frame = growth.frame
    shown = frame.filter(polars.col("depth").is_in([*GROWTH_SHOWN, growth.depth]))
    every, late, more = growth.relevant.sum(), growth.second_half().sum(), growth.twice.sum()
    likely, remaining = growth.twice_likely.sum(), growth.remaining.sum()
    notes = [
        "Means for a topic: relevant and judged documents of a pool so deep; new relevant ones at this depth;"
        " their share of the documents that are new there.",
        f"{late:,} of {every:,} relevant documents come from below half of the depth.",
    ]
    if audit.only_relevant:
        notes.append(f"{LISTED_ALONE} Without a judged pool to grow there is nothing to extrapolate.")
        more = likely = remaining = np.nan
    else:
        notes += [
            f"A pool twice as deep would add about {more:,.0f} by Zobel's extrapolation, {likely:,.0f} by a"
            " Poisson fit of C d^s (topic by topic: --section topics). Tried on TREC-8 from pools of depth 5"
            " to 50, the first came out 5 to 37% too low, the second from 1% too low to 37% too high.",
            *_remaining(growth),
        ]
    table = people(
        shown, "Growth by pool depth (Lu et al. 2016, Fig. 1)", notes=notes, percent=["share_relevant"],
        digits={"relevant": 1, "judged": 1, "new_relevant": 2},
    )  # fmt: skip
    told = {"second_half": int(late), "expected_at_twice_the_depth": known(float(more)),
            "likely_at_twice_the_depth": known(float(likely)),
            "remaining": known(float(remaining)), "lists_end_at": growth.end}  # fmt: skip
    return AuditSection(frame=frame, tables=[table], facts={"growth": told})


def _remaining(growth: Growth) -> list[str]:
    """How many relevant documents remain by the law that was fitted, and where it ends; nothing: unknown."""
    if growth.depth < 2:
        return []
    more, within = growth.remaining.sum(), int(np.count_nonzero(growth.last <= growth.end))
    return [
        "Zobel's law has a last depth, behind which it gives no more relevant documents; it lies within the"
        f" lists, the longest of which ends at {growth.end:,}, on {within} of"
        f" {plural(len(growth.topics), 'topic')}. Down to there, or to the end of the lists, {more:,.0f}"
        " remain. So far out neither law was ever tried, and the Poisson fit has no end.",
    ]


def parts_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """What each part of the collection gave to the pool."""
    if extras.parts is None:
        raise ValueError("no parts were asked for")
    frame = extras.parts.frame
    notes = [
        f"Pooled: documents that the {extras.parts.contributing} contributing runs brought into the pool;"
        f" judged share: of the documents among the first {audit.runs.reach} of any run; relevant rate: of"
        " the judged documents; runs: contributing runs that brought at least one.",
    ]
    percent = ["pool_share", "judged_share", "relevant_share", "relevant_rate"]
    table = people(frame, "Parts of the collection", percent=percent, top=top, notes=notes)
    return AuditSection(frame=frame, tables=[table])


def titles_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """How many of the words of titles judged documents hold, by pool rank."""
    found = extras.titles
    if found is None:
        raise ValueError("no titles were asked for")
    notes = [
        "Mean share of a title's words that judged documents hold, by the best rank in a contributing run;"
        f" all relevant documents: {whole_percent(found.overall)}.",
    ]
    if found.without_text or found.without_title:
        notes.append(
            f"Left out: {found.without_text:,} judged documents that the corpus does not hold,"
            f" {found.without_title} topics without a title."
        )
    table = people(
        found.frame, "Title words in judged documents by pool rank", notes=notes,
        percent=["relevant_share", "nonrelevant_share"],
    )  # fmt: skip
    told = {"overall": known(found.overall), "without_text": found.without_text}
    return AuditSection(frame=found.frame, tables=[table], facts={"titles": told})


# -- sections on who contributed --------------------------------------------------------------------

SUMMARY = {
    "number": "n", "percent": "%", "most_changed": "which", "most_places": "at most",
}  # fmt: skip


def unique_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Relevant documents that one group alone found, by kind of run (Voorhees 2002, Fig. 1)."""
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
    return AuditSection(frame=unique.frame, tables=[table])


def leave_out_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """What leaving out each run, and each group, changes."""
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
    return AuditSection(frame=frame, tables=tables, facts={"leave_out": rows})


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


def reinforcement_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
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
    return AuditSection(frame=frame, tables=[table], facts={"reinforcement": told})


def ties_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Tied scores, and tau between the rules for them (Lu et al. 2016, Table 6)."""
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
    return AuditSection(frame=frame, tables=tables, facts={"ties": told})


def assessment_frame(audit: Audit, extras: Extras) -> polars.DataFrame:
    """Columns collection, run, kind, performance, assessment, random, popularity, tau: this one first."""
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
    return [(plain_name(audit.runs.qrels.source), audit.pseudo()), *extras.others]


def assessment_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Agreement of MAP with what needs no judgments (Baillie et al., Fig. 12)."""
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
    return AuditSection(frame=frame, tables=tables, facts={"assessment": taus})


# -- all sections -----------------------------------------------------------------------------------

SECTIONS: Mapping[str, Builder] = {
    "pool": pool_section, "runs": runs_section, "topics": topics_section, "growth": growth_section,
    "unique": unique_section, "leave-out": leave_out_section, "reinforcement": reinforcement_section,
    "ties": ties_section, "assessment": assessment_section, "parts": parts_section,
    "titles": titles_section,
}  # fmt: skip
OF_A_POOL = ("pool", "growth", "unique", "leave-out", "reinforcement")  # need runs that contributed


def sections(audit: Audit, extras: Extras) -> dict[str, Builder]:
    """The sections that this audit can show, in their order."""
    needed = {"parts": extras.parts is not None, "titles": extras.titles is not None}
    needed |= dict.fromkeys(OF_A_POOL, audit.has_pool)
    return {name: builder for name, builder in SECTIONS.items() if needed.get(name, True)}


def tidy_section(section: AuditSection, audit: Audit) -> Table:
    """A section for programs: all rows, full precision."""
    columns = [Column(name, section.frame[name].to_list()) for name in section.frame.columns]
    return Table(columns, facts=facts(audit) | dict(section.facts))


def tidy_sections(found: Mapping[str, AuditSection], verdict: Table) -> Table:
    """All sections as one long table of section, row, column and value; json has them beside it by name."""
    cells: list[tuple[str, int, str, Cell]] = []
    tables = {"verdict": verdict.rows()} | {
        name: Table([Column(key, one.frame[key].to_list()) for key in one.frame.columns]).rows()
        for name, one in found.items()
    }
    for name, rows in tables.items():
        cells += [
            (name, place, key, value) for place, row in enumerate(rows, 1) for key, value in row.items()
        ]
    section, row, column, value = (list(part) for part in zip(*cells, strict=True))
    shown = [None if cell is None else cell if isinstance(cell, str) else str(cell) for cell in value]
    return Table(
        [Column("section", section), Column("row", row), Column("column", column), Column("value", shown)]
    )


def with_policies(tables: Sequence[Table], audit: Audit) -> list[Table]:
    """The tables, with the policies and what is not known of runs below the last."""
    last = tables[-1]
    notes = [*last.notes, *(f"{text[0].upper()}{text[1:]}." for text in audit.runs.remarks)]
    notes.append(f"Policies: {audit.runs.policies.describe()}.")
    return [*tables[:-1], replace(last, notes=notes)]
