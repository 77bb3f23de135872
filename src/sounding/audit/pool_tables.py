"""Sections of an audit about the pool and its documents: depth, runs, topics, growth, parts, titles."""

from __future__ import annotations

from typing import Any

import numpy as np

from sounding.audit.auditing import Audit
from sounding.audit.growth import Growth
from sounding.audit.section import LISTED_ALONE, Extras, Section, known, people
from sounding.core.text import natural_places, plural, whole_percent

MOST_HOLES = 20  # unjudged documents of the pool that are named
GROWTH_SHOWN = (1, 2, 3, 5, 10, 20, 30, 50, 75, 100, 200, 500, 1000)


def pool_section(audit: Audit, extras: Extras, top: int) -> Section:
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
        audit.runs.describe_pool(),
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
    return Section(frame=frame, tables=[table], facts={})


def _holes(audit: Audit) -> list[str]:
    """The documents within the pool's depth that are not judged, by topic and name, where there are any."""
    places = audit.runs.holes()
    if not len(places):
        return []
    named = audit.runs.named_documents(places[:MOST_HOLES])
    more = f" and {len(places) - MOST_HOLES:,} more" if len(places) > MOST_HOLES else ""
    return [f"Unjudged within the depth of the pool (topic doc): {', '.join(named)}{more}."]


def runs_section(audit: Audit, extras: Extras, top: int) -> Section:
    """How much of every run was judged, and what it found and missed."""
    import polars

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
    return Section(frame=frame, tables=[table], facts={})


def topics_section(audit: Audit, extras: Extras, top: int) -> Section:
    """Judgments, growth and the best run, topic by topic."""
    import polars

    runs = audit.runs
    columns: dict[str, Any] = {
        "topic": runs.topics, "judged": runs.judgments.judged,
        "relevant": runs.judgments.relevant(runs.level),
    }  # fmt: skip
    notes = [f"Best run by {audit.measures[0]}."]
    if audit.has_pool:
        growth, found = audit.growth(), audit.leave_out()
        pooled_to, judged_to = runs.depth_by_topic()
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
    return Section(frame=frame, tables=[table], facts={})


def growth_section(audit: Audit, extras: Extras, top: int) -> Section:
    """Relevant documents by pool depth, and how many may remain (Lu et al. 2016, Fig. 1)."""
    import polars

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
    return Section(frame=frame, tables=[table], facts={"growth": told})


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


def parts_section(audit: Audit, extras: Extras, top: int) -> Section:
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
    return Section(frame=frame, tables=[table], facts={})


def titles_section(audit: Audit, extras: Extras, top: int) -> Section:
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
    return Section(frame=found.frame, tables=[table], facts={"titles": told})
