"""An audit as a page and as tables: the verdict first, then whatever section is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sounding.audit import sentences
from sounding.audit.added import FUSION
from sounding.audit.beyond import depths_beyond, frame_of
from sounding.audit.coverage import Growth
from sounding.audit.leave_out import By, LeaveOutSummary, LeftOut
from sounding.audit.parts import Parts
from sounding.audit.pseudo import Pseudo
from sounding.audit.result import Audit
from sounding.audit.title_bias import TitleBias
from sounding.audit.verdict import READING, Statement
from sounding.core.lazy import polars
from sounding.core.text import natural_places, wrap_lines
from sounding.data.sources import plain_name
from sounding.render.tables import BOLD, PLAIN, Cell, Column, Table, shown_notes
from sounding.runs.pool import depth_by_topic

MARGIN = 11  # of statements: room for the longest answer
NARROW, WIDTH = 40, 100  # longer lines are hard to read
SHOWN = 20  # rows that people see without asking for more
SHALLOW = 10  # rank whose judged share the headline of the runs gives


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Extras:
    """Results that were requested in addition to the collection itself."""

    parts: Parts | None = None
    titles: TitleBias | None = None
    others: Sequence[tuple[str, Audit]] = ()  # other collections, by name
    first_depth: int | None = None  # of the pool beyond which new documents are counted; None: half


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AuditSection:
    """One part of an audit: a frame for programs, tables for people."""

    headline: str  # answers the question of the section
    frame: polars.DataFrame
    tables: Sequence[Table]
    facts: Mapping[str, Any] = field(default_factory=dict)

    def with_headline(self) -> list[Table]:
        """Return the tables with the headline as the first note, for a page of several sections."""
        first, *others = self.tables
        return [replace(first, notes=[self.headline, *first.notes]), *others]


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
    left_out = sentences.rows_shown(shown.height, frame.height) if shown.height < frame.height else ""
    return Table(columns, title=title, notes=notes, keys=keys, summary=left_out)


def known(value: float) -> float | None:
    """A number as json has it; None: not known."""
    return value if np.isfinite(value) else None


# -- the verdict -----------------------------------------------------------------------------------


def verdict_text(
    audit: Audit, statements: Sequence[Statement], width: int, *, every: bool = False, bold: bool = False
) -> str:
    """Return the verdict as a page: the headline, each claim with its answer and reasons, and cautions.

    `every` shows all cautions and policies. `bold` uses the bold type of a terminal for the headline.
    """
    width = min(max(width, NARROW) if width else WIDTH, WIDTH)  # some terminals say 0
    answer = "\n".join(wrap_lines(headline(statements), width))
    lines = [f"{BOLD}{answer}{PLAIN}" if bold else answer, "", *wrap_lines(size(audit), width), ""]
    for one in statements:
        if one.answer != "note":
            lines += _hanging(f"{one.claim}.", width, one.answer.ljust(MARGIN))
            lines += _hanging(one.why, width, " " * MARGIN)
    changed = audit.runs.policies.describe() if every else audit.runs.policies.changed()
    noted = sorted((one for one in statements if one.answer == "note"), key=lambda one: one.about != READING)
    cautions = [f"{one.claim}. {one.why}".strip() for one in noted]  # remarks on reading files come first
    lines += [""] if cautions or changed else []
    for text in shown_notes(cautions, all_notes=every):
        lines += _hanging(text, width, "- ")
    lines += wrap_lines(sentences.policies_note(changed), width) if changed else []
    lines += ["", *wrap_lines(sentences.more_sections(list(sections(audit, Extras()))), width)]
    return "\n".join(lines) + "\n"


def _hanging(text: str, width: int, first: str) -> list[str]:
    """A paragraph whose first line begins with something, and the others with as many blanks."""
    return wrap_lines(text, width, first, " " * len(first))


def verdict_table(audit: Audit, statements: Sequence[Statement], *, rounded: bool = False) -> Table:
    """The statements of the verdict, one row each; `rounded`: figures as people write them."""
    names = ("about", "answer", "claim", "figure", "value", "rule", "why")
    columns = [Column(name, [getattr(one, name) for one in statements]) for name in names]
    if rounded:
        shown = [f"{one.value:.3g}" if np.isfinite(one.value) else None for one in statements]
        columns[names.index("value")] = Column("value", shown, right=True)
    own = {"headline": headline(statements), **facts(audit)}
    return Table(columns, title="Verdict", notes=[size(audit)], facts=own)


def headline(statements: Sequence[Statement]) -> str:
    """Answer in a sentence or two what the collection can be used for."""
    return sentences.headline([(one.claim, one.answer) for one in statements if one.answer != "note"])


def size(audit: Audit) -> str:
    """Give the size of the collection in a sentence."""
    runs = audit.runs
    relevant = int(runs.judgments.relevant(runs.level).sum())
    groups = len({group for group, new in zip(runs.groups, runs.new, strict=True) if not new})
    old = int(np.count_nonzero(~runs.new))
    return sentences.size(
        runs.qrels.source, len(runs.topics), len(runs.judgments.grades), relevant, old, groups
    )


def facts(audit: Audit) -> dict[str, Any]:
    """Return what json says beside the rows."""
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
    """Return what pools of several depths would have judged (Lu et al. 2016, Table 4)."""
    outcomes = audit.outcomes()
    frame = outcomes.frame
    text = {
        "depth": "depth", "relevant": "relevant", "in_pool": "in a run's depth", "in_pool_deviation": "±",
        "past": "past it", "past_deviation": "± ", "first_unjudged": "first unjudged",
        "first_unjudged_deviation": " ±",
    }  # fmt: skip
    first = audit.coverage().first_unjudged[audit.runs.contributing]
    met = first[np.isfinite(first)]
    notes = [
        *_holes(audit),
        sentences.POOL_COLUMNS,
        sentences.first_unjudged_on_average(met.mean()) if len(met) else sentences.ALL_JUDGED,
        sentences.in_no_run(audit.growth().elsewhere, audit.runs.reach),
    ]
    table = people(
        frame, "Pools of these depths (Lu et al. 2016, Table 4)", names=text, notes=notes,
        digits=dict.fromkeys(text, 1),
    )  # fmt: skip
    return AuditSection(headline=audit.runs.pool.describe(), frame=frame, tables=[table])


def _holes(audit: Audit) -> list[str]:
    """The documents within the pool's depth that are not judged, by topic and name, where there are any."""
    places = audit.runs.holes()
    if not len(places):
        return []
    named = audit.runs.named_documents(places[:MOST_HOLES])
    return [sentences.unjudged_in_pool(named, MOST_HOLES, len(places))]


def runs_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Return how much of every run was judged, and what it found and missed."""
    runs, found, values = audit.runs, audit.coverage(), audit.values()
    depths = audit.depths()
    order = np.lexsort((np.arange(len(runs.runs)), -np.nan_to_num(values[:, 0], nan=-np.inf)))
    order = order[audit.reported[order]]
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
    table = people(
        frame, f"Runs by {first}", names=text, percent=percent, top=top, notes=[sentences.RUN_COLUMNS],
        digits={"first_unjudged": 1, "length": 0},
    )  # fmt: skip
    depth = max((depth for depth in depths if depth <= SHALLOW), default=depths[0])
    judged = frame[f"judged_{depth}"].to_numpy()
    least = int(judged.argmin())
    lowest = frame["run"][least], float(judged[least])
    answer = sentences.judged_of_runs(depth, float(np.median(judged)), *lowest)
    return AuditSection(headline=answer, frame=frame, tables=[table])


def topics_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Judgments, growth and the best run, topic by topic."""
    runs = audit.runs
    columns: dict[str, Any] = {
        "topic": runs.topics, "judged": runs.judgments.judged,
        "relevant": runs.judgments.relevant(runs.level),
    }  # fmt: skip
    notes = [sentences.best_run_by(str(audit.measures[0]))]
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
            notes.append(sentences.NOTHING_GROWS)
        notes.insert(0, sentences.topic_columns(growth.end))
    values = runs.values(audit.measures[:1], runs.view())[~runs.new, 0]
    names = [run for run, new in zip(runs.runs, runs.new, strict=True) if not new]
    best = np.nan_to_num(values, nan=-np.inf).argmax(axis=0)
    columns["best_run"] = [names[run] for run in best]
    if audit.has_pool:
        columns["changed_without"] = [
            ", ".join(found.units[unit] for unit in found.winner_changes[:, topic].nonzero()[0])
            for topic in range(len(runs.topics))
        ]
        notes.append(sentences.CHANGED_WITHOUT)
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
    relevant = columns["relevant"]
    ends = [(runs.topics[place], int(relevant[place])) for place in (relevant.argmin(), relevant.argmax())]
    answer = sentences.relevant_of_topics(float(np.median(relevant)), *ends)
    return AuditSection(headline=answer, frame=frame, tables=[table])


def _with_pools(audit: Audit, extras: Extras) -> list[tuple[str, Audit]]:
    """Return the collection and all others by name, if their pools are known."""
    every = [(plain_name(audit.runs.qrels.source), audit), *extras.others]
    return [(name, one) for name, one in every if one.has_pool]


def growth_frame(audit: Audit, extras: Extras) -> polars.DataFrame:
    """Return one row per depth; with other collections, one per collection and depth, this one first."""
    if not extras.others:
        return audit.growth().frame
    return polars.concat(
        one.growth().frame.select(polars.lit(name).alias("collection"), polars.all())
        for name, one in _with_pools(audit, extras)
    )


def growth_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Relevant documents by pool depth, and how many may remain (Lu et al. 2016, Fig. 1)."""
    growth = audit.growth()
    frame = growth_frame(audit, extras)
    ends = {one.growth().depth for _, one in _with_pools(audit, extras)}
    shown = frame.filter(polars.col("depth").is_in([*GROWTH_SHOWN, *ends]))
    every, late, more = growth.relevant.sum(), growth.second_half().sum(), growth.twice.sum()
    likely, remaining = growth.twice_likely.sum(), growth.remaining.sum()
    notes = [sentences.GROWTH_COLUMNS]
    if poolless := [name for name, one in extras.others if not one.has_pool]:
        notes.append(sentences.no_pool(poolless))
    if audit.only_relevant:
        notes.append(sentences.NOTHING_GROWS)
        more = likely = remaining = np.nan
    else:
        notes += [sentences.twice_as_deep(more, likely), *_remaining(growth)]
    table = people(
        shown, "Growth by pool depth (Lu et al. 2016, Fig. 1)", notes=notes, percent=["share_relevant"],
        digits={"relevant": 1, "judged": 1, "new_relevant": 2}, keys=1 + ("collection" in frame.columns),
    )  # fmt: skip
    more = {"second_half": int(late), "expected_at_twice_the_depth": known(float(more)),
            "likely_at_twice_the_depth": known(float(likely)),
            "remaining": known(float(remaining)), "lists_end_at": growth.end}  # fmt: skip
    answer = sentences.second_half(late, every)
    return AuditSection(headline=answer, frame=frame, tables=[table], facts={"growth": more})


def deeper_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Return what each run brought beyond the pool of a first depth."""
    found = audit.deeper(extras.first_depth).of_runs(audit.reported_names)
    frame = found.frame
    first, depth, old, new = found.first, found.depth, int(found.known.sum()), int(found.new.sum())
    answer = sentences.deeper_pool(first, depth, found.relevant.tolist(), old, new, found.tau)
    title = f"New relevant documents, depth {first + 1} to {depth} (Voorhees 2002, section 2.2)"
    table = people(frame, title, top=top)
    more = {"first": first, "depth": depth, "known": old, "new": new, "tau": known(found.tau)}
    return AuditSection(headline=answer, frame=frame, tables=[table], facts={"deeper": more})


def _remaining(growth: Growth) -> list[str]:
    """Describe how many relevant documents the fitted law expects to remain; empty if unknown."""
    if growth.depth < 2:
        return []
    more, within = growth.remaining.sum(), int(np.count_nonzero(growth.last <= growth.end))
    return [sentences.remaining(more, growth.end, within, len(growth.topics))]


def beyond_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Return how many conclusions about pooled runs would stand below the pool's depth (Lu et al. 2016)."""
    found = [one for k in depths_beyond(audit.runs) for one in audit.beyond(k)]
    frame = frame_of(found)
    text = {
        "measure": "measure", "times": "pool depths", "unjudged": "unjudged documents", "pairs": "pairs",
        "significant": "differ now", "holds": "stand", "very_likely": "very likely",
    }  # fmt: skip
    reasons = dict.fromkeys(one.reason for one in found if one.reason)
    table = people(
        frame, "Conclusions below the pool's depth that would stand (on extended evaluation, Lu et al. 2016)",
        names=text, digits={"times": 1, "holds": 3, "very_likely": 3},
        notes=[sentences.BEYOND_COLUMNS, *(f"Not known: {reason}." for reason in reasons)],
    )  # fmt: skip
    return AuditSection(headline=sentences.beyond_headline(found), frame=frame, tables=[table])


def parts_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Return what each part of the collection gave to the pool."""
    if extras.parts is None:
        raise ValueError("no parts were asked for")
    frame = extras.parts.frame
    notes = [sentences.part_columns(extras.parts.contributing, audit.runs.reach)]
    percent = ["pool_share", "judged_share", "relevant_share", "relevant_rate"]
    table = people(frame, "Parts of the collection", percent=percent, top=top, notes=notes)
    answer = sentences.largest_part(frame["part"][0], frame["pool_share"][0], frame["relevant_share"][0])
    return AuditSection(headline=answer, frame=frame, tables=[table])


def titles_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Return how many of the words of titles judged documents hold, by pool rank."""
    found = extras.titles
    if found is None:
        raise ValueError("no titles were asked for")
    notes = [sentences.title_words(pooled=found.pooled)]
    if found.without_text or found.without_title:
        notes.append(sentences.without_words(found.without_text, found.without_title))
    table = people(
        found.frame, "Title words in judged documents by pool rank", notes=notes,
        percent=["relevant_share", "nonrelevant_share"],
    )  # fmt: skip
    more = {"overall": known(found.overall), "without_text": found.without_text}
    answer = sentences.title_words_overall(found.overall)
    return AuditSection(headline=answer, frame=found.frame, tables=[table], facts={"titles": more})


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
    notes = [sentences.UNIQUE_COLUMNS, *([sentences.AS_DEEP] * (audit.among == "all"))]
    title = "Unique relevant documents (Voorhees 2002, Fig. 1)"
    table = people(wide, title, notes=notes, top=top)
    answer = sentences.unique_documents(audit.runs.reach, int(total.sum()), relevant)
    return AuditSection(headline=answer, frame=unique.frame, tables=[table])


def leave_out_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Return what leaving out each run, and each group, changes."""
    frames, rows = [], []
    ways: tuple[By, ...] = ("run", "group")
    for by in ways:
        found = audit.leave_out(by).of_runs(audit.reported_names)
        frames.append(found.frame.with_columns(by=polars.lit(by)))
        rows += _summaries(found, by)
    summary = polars.DataFrame(rows)
    frame = polars.concat(frames).select("by", polars.all().exclude("by"))
    notes = [sentences.leave_out_columns(audit.remove, audit.among)]
    digits = {
        "percent": 2, "most": 2, "signed": 2, "median": 2, "change": 4, "places": 2, "on_ten": 2,
        "most_on_ten": 2,
    }  # fmt: skip
    tables = [
        people(
            summary, "Leave one out (Zobel 1998; Lu et al. 2016, Table 5)", digits=digits, notes=notes,
            keys=3,
            names={name: SUMMARY.get(name, name.replace("_", " ")) for name in summary.columns},
        )
    ]  # fmt: skip
    found = audit.leave_out("group").of_runs(audit.reported_names)
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
    measure, whole = str(found.measures[0]), found.summary()
    answer = sentences.nothing_to_change(measure)
    if whole.most_changed is not None:
        answer = sentences.changes(measure, whole, (), on_ten=False)
    return AuditSection(headline=answer, frame=frame, tables=tables, facts={"leave_out": rows})


def _summaries(found: LeftOut, by: By) -> list[dict[str, Any]]:
    """Return one row per measure and kind of run, all kinds first."""
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
        "most_changed": one.most_changed, "signed": known(one.mean_signed),
        "median": known(one.median_signed), "change": known(one.mean_change),
        "places": known(one.mean_places), "most_places": one.max_places,
        "on_ten": known(one.mean_percent_on_ten), "most_on_ten": known(one.max_percent_on_ten),
    }  # fmt: skip


def reinforcement_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Assessment of contributing runs beside their overlap with others."""
    found = audit.reinforcement().of_runs(audit.reported_names)
    frame = found.frame.sort("overlap", "run")
    notes = [sentences.overlap_columns(found.depth, found.k)]
    table = people(
        frame, "Contributing runs by overlap with the others", top=top, notes=notes,
        percent=["overlap", "group_overlap", "assessment"],
    )  # fmt: skip
    more = {"tau": known(found.tau), "group_tau": known(found.group_tau)}
    answer = sentences.reinforced(found.k, found.tau, found.group_tau)
    return AuditSection(headline=answer, frame=frame, tables=[table], facts={"reinforcement": more})


def added_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Return whose judged share rises when one more run is pooled (Baillie et al. 2008 on reinforcement)."""
    found = audit.added().of_runs(audit.reported_names)
    frame = found.frame
    rises = ["own", "same_group", "other_groups"]
    means = [polars.col(name).mean() for name in ("documents", "assessment", *rises)]
    summary = frame.group_by("pooled", "k", maintain_order=True).agg(polars.len().alias("runs"), *means)
    summary = summary.with_columns(
        ratio=polars.when(polars.col("other_groups") > 0).then(
            polars.col("same_group") / polars.col("other_groups")
        ),
        order=polars.col("pooled").replace_strict(ADDED_ORDER, return_dtype=polars.Int64),
    ).sort("k", "order")
    summary = summary.select("k", "pooled", "runs", "documents", "assessment", *rises, "ratio")
    text = {
        "pooled": "added", "k": "k", "runs": "n", "documents": "documents", "assessment": "A_p@k",
        "own": "itself", "same_group": "its group", "other_groups": "other groups", "ratio": "times",
    }  # fmt: skip
    digits = {"documents": 1, "assessment": 4, "most": 4, "ratio": 1} | dict.fromkeys(rises, 4)
    named = summary.with_columns(pooled=polars.col("pooled").replace_strict(sentences.ADDED))
    notes = [sentences.added_columns(found.depth)]
    deepest = frame.filter(polars.col("k") == found.ks[-1])
    fused = deepest.filter(polars.col("pooled") == FUSION)["assessment"][0]
    shares = deepest.filter(polars.col("pooled") == "yes")["assessment"]
    if len(shares):
        notes.append(sentences.fusion_assessed(found.ks[-1], fused, shares.to_list()))
    tables = [
        people(named, "A_p@k with one more run in the pool, minus without it (Baillie et al. 2008)",
               names=text, digits=digits, notes=notes, keys=2),
        people(
            deepest.filter(polars.col("pooled") != FUSION).sort(
                "same_group", "other_groups", "run", descending=[True, True, False], nulls_last=True
            ),
            f"Added runs by the rise of A_p@{found.ks[-1]} in their group",
            names={"run": "run", "group": "group", "pooled": "pooled", **dict(list(text.items())[3:-1]),
                   "most_raised": "most, elsewhere", "most": "rise"},
            digits=digits, top=top,
        ),
    ]  # fmt: skip
    pooled = summary.filter((polars.col("k") == found.ks[-1]) & (polars.col("pooled") == "yes"))
    rise = pooled.select("same_group", "other_groups").row(0) if pooled.height else (None, None)
    answer = sentences.rise_by_adding(found.ks[-1], *rise)
    return AuditSection(headline=answer, frame=frame, tables=tables, facts={"added": summary.to_dicts()})


ADDED_ORDER = {"yes": 0, "no": 1, "new": 2, FUSION: 3}


def ties_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Return the section about tied scores, with tau between tie rules (Lu et al. 2016, Table 6)."""
    found = audit.ties().of_runs(audit.reported_names)
    frame = found.frame.sort("tied_share", "run", descending=[True, False], nulls_last=True)
    rules = {"rule": list(found.rules)} | {
        rule: found.tau[:, place] for place, rule in enumerate(found.rules)
    }
    median = found.median_share()
    notes = [sentences.tie_rules(str(found.measure))]
    tables = [
        people(
            polars.DataFrame(rules), "Rules for tied scores (Lu et al. 2016, Table 6)", notes=notes,
            digits=dict.fromkeys(found.rules, 3),
        ),
        people(
            frame, f"Runs by share of tied scores in the first {found.top}", percent=["tied_share"], top=top
        ),
    ]  # fmt: skip
    more = {
        "median_share_of_ties": known(median), "share_of_lists_with_ties": known(found.with_ties()),
        "tau": {
            f"{a}, {b}": known(float(found.tau[i, j]))
            for i, a in enumerate(found.rules)
            for j, b in enumerate(found.rules)
            if i < j
        },
    }  # fmt: skip
    answer = sentences.lists_with_ties(found.with_ties(), found.top, median)
    return AuditSection(headline=answer, frame=frame, tables=tables, facts={"ties": more})


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
    own = plain_name(audit.runs.qrels.source), audit.pseudo().of_runs(audit.reported_names)
    return [own, *((name, one.pseudo()) for name, one in extras.others)]


def assessment_section(audit: Audit, extras: Extras, top: int) -> AuditSection:
    """Agreement of MAP with what needs no judgments (Baillie et al., Fig. 12)."""
    frame = assessment_frame(audit, extras)
    taus = [
        {"collection": name, "runs": len(one.runs), "k": one.k}
        | {key: known(tau) for key, tau in one.tau().items()}
        for name, one in _collections(audit, extras)
    ]
    notes = [sentences.assessment_columns(audit.draws, audit.seed)]
    if audit.only_relevant:
        notes.append(sentences.RECALL_ALONE)
    poolless = [name for name, one in _collections(audit, extras) if np.isnan(one.random).all()]
    if poolless:
        notes.append(sentences.random_not_known(poolless))
    digits = dict.fromkeys(("assessment", "random", "popularity"), 3)
    tables = [
        people(
            polars.DataFrame(taus), "tau with MAP, without judgments (Baillie et al., Fig. 12)",
            digits=digits, notes=notes,
        )
    ]  # fmt: skip
    found = audit.pseudo().of_runs(audit.reported_names)
    own = found.frame.sort("performance", "run", descending=[True, False])
    text = {
        "run": "run", "kind": "kind", "performance": "MAP", "assessment": f"A_p@{found.k}",
        "random": "random", "popularity": "popularity",
    }  # fmt: skip
    tables.append(people(own, "Runs by MAP", names=text, top=top))
    answer = sentences.ranked_by_assessment(found.k, found.tau()["assessment"])
    return AuditSection(headline=answer, frame=frame, tables=tables, facts={"assessment": taus})


# -- all sections -----------------------------------------------------------------------------------

SECTIONS: Mapping[str, Builder] = {
    "pool": pool_section, "runs": runs_section, "topics": topics_section, "growth": growth_section,
    "deeper": deeper_section, "beyond": beyond_section,
    "unique": unique_section, "leave-out": leave_out_section, "reinforcement": reinforcement_section,
    "added": added_section, "ties": ties_section, "assessment": assessment_section, "parts": parts_section,
    "titles": titles_section,
}  # fmt: skip
OF_A_POOL = (
    "pool",
    "growth",
    "deeper",
    "unique",
    "leave-out",
    "reinforcement",
    "added",
)  # need runs that contributed


def sections(audit: Audit, extras: Extras) -> dict[str, Builder]:
    """The sections that this audit can show, in their order."""
    needed = {"parts": extras.parts is not None, "titles": extras.titles is not None}
    needed |= dict.fromkeys(OF_A_POOL, audit.has_pool)
    needed["deeper"] = audit.has_pool and audit.runs.reach > 1
    needed["beyond"] = bool(depths_beyond(audit.runs)) and not audit.sampled
    return {name: builder for name, builder in SECTIONS.items() if needed.get(name, True)}


def tidy_section(section: AuditSection, audit: Audit) -> Table:
    """A section for programs: all rows, full precision."""
    columns = [Column(name, section.frame[name].to_list()) for name in section.frame.columns]
    return Table(columns, facts=facts(audit) | dict(section.facts))


def tidy_sections(found: Mapping[str, AuditSection], verdict: Table) -> Table:
    """Return all sections as one long table of section, row, column and value; json also has them by name."""
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


def notes_on_reading(audit: Audit) -> list[str]:
    """Return remarks on the runs, and the policies that differ from the defaults."""
    changed = audit.runs.policies.changed()
    notes = [f"{text[0].upper()}{text[1:]}." for text in audit.runs.remarks]
    return notes + ([sentences.policies_note(changed)] if changed else [])
