"""The charts of an audit, each from the part that it shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from sounding.audit import charts
from sounding.audit.auditing import Audit
from sounding.audit.run_tables import assessment_frame
from sounding.audit.section import Extras, known
from sounding.relevance.growth import expected_beyond

if TYPE_CHECKING:
    import polars

    from sounding.render.style import Chart

MOST_PARTS = 24  # that have room side by side
STEPS = 20  # depths at which the extrapolation beyond the pool is drawn


def audit_charts(audit: Audit, extras: Extras) -> Iterator[tuple[str, Callable[[], Chart]]]:
    """(name, how to make it) of every chart that this audit has something for."""
    import polars

    first = str(audit.measures[0])
    depth = audit.runs.pool.depth or None
    yield "judged-by-depth", lambda: charts.judged_share_by_depth(_shares(audit), pool_depth=depth)
    yield "judged-shares", lambda: charts.judged_shares(_composition(audit), measure=first)
    if extras.parts is not None:
        parts = extras.parts.frame.head(MOST_PARTS)
        yield "parts", lambda: charts.shares_by_part(parts)
    if extras.titles is not None and extras.titles.frame.height:
        titles = extras.titles.frame
        yield "titles", lambda: charts.title_words_by_pool_rank(titles)
    k = audit.pseudo().k
    yield (
        "assessment",
        lambda: charts.performance_against_assessment(
            assessment_frame(audit, extras), performance="MAP", assessment=f"A_p@{k}"
        ),
    )
    yield "without-judgments", lambda: charts.performance_against_rankings(_rankings(audit))
    if audit.ties().with_ties() > 0:
        yield "ties", lambda: _ties(audit)
    if not audit.has_pool:
        return
    yield "pool", lambda: charts.pool_outcomes_by_depth(audit.outcomes().frame)
    yield "growth", lambda: charts.growth_by_depth(_growth(audit))
    if audit.unique().counts().any():
        yield "unique-relevant", lambda: charts.unique_relevant(audit.unique().frame)
    changes = audit.leave_out().frame.filter(
        polars.col("pooled") & (polars.col("measure") == first) & polars.col("percent").is_not_nan()
    )
    if changes.height:
        yield "leave-out", lambda: charts.leave_out_changes(changes, measure=first)
    yield (
        "reinforcement",
        lambda: charts.reinforcement(
            audit.reinforcement().frame, assessment=f"A_p@{k}", tau=known(audit.reinforcement().tau)
        ),
    )


def _rankings(audit: Audit) -> polars.DataFrame:
    """Columns run, kind, performance, ranking, value, tau: random judgments where known, and popularity."""
    import polars

    found = audit.pseudo()
    named = {"random": "MAP with random judgments", "popularity": "overlap with the other runs"}
    return polars.concat(
        found.frame.select(
            "run", "kind", "performance", polars.lit(word).alias("ranking"), polars.col(name).alias("value"),
            polars.lit(found.tau()[name]).alias("tau"),
        )
        for name, word in named.items()
        if name != "random" or audit.has_pool
    )  # fmt: skip


def _ties(audit: Audit) -> Chart:
    """What rules for ties change, beside how many scores are tied."""
    import polars

    found = audit.ties()
    rules = found.rules[1:]
    frame = polars.concat(
        found.frame.select(
            "run", "tied_share", polars.lit(rule).alias("rule"),
            (polars.col(rule) - polars.col(found.rules[0])).alias("difference"),
        )
        for rule in rules
    )  # fmt: skip
    taus = {str(rule): float(found.tau[0, place + 1]) for place, rule in enumerate(rules)}
    known = {rule: tau for rule, tau in taus.items() if np.isfinite(tau)}
    return charts.ties_and_values(frame, measure=str(found.measure), taus=known)


def _shares(audit: Audit) -> polars.DataFrame:
    import polars

    shares = audit.coverage().judged_share
    runs, depths = shares.shape
    return polars.DataFrame(
        {
            "run": [run for run in audit.runs.runs for _ in range(depths)],
            "k": np.tile(np.arange(1, depths + 1), runs),
            "share": shares.ravel(),
        },
        schema_overrides={"run": polars.String},
    )


def _composition(audit: Audit) -> polars.DataFrame:
    import polars

    return (
        audit.coverage()
        .frame.select("run", "relevant", "nonrelevant", "unjudged")
        .with_columns(polars.Series("value", audit.values()[:, 0]))
    )


def _growth(audit: Audit) -> polars.DataFrame:
    """Depth, relevant, rate, extrapolated: what was found, and what Zobel's law says of the depths beyond."""
    import polars

    growth = audit.growth()
    extrapolated = growth.depth > 1 and not audit.only_relevant
    seen = growth.frame.select(
        polars.col("depth"), polars.col("relevant"), polars.col("new_relevant").alias("rate"),
        polars.lit(False).alias("extrapolated"),
    )  # fmt: skip
    if not extrapolated:
        return seen
    last = growth.last[np.isfinite(growth.last)]
    end = max(2 * growth.depth, int(min(last.max(initial=0.0), growth.end)))
    depths = np.unique(np.geomspace(growth.depth, end, STEPS + 1).astype(np.int64))
    more = np.array([expected_beyond(growth.relevant, int(depth)).mean() for depth in depths])
    known = float(seen["relevant"][-1])
    beyond = polars.DataFrame(
        {"depth": depths[1:], "relevant": known + more[1:], "rate": np.diff(more) / np.diff(depths)}
    ).with_columns(extrapolated=polars.lit(True))
    return polars.concat([seen, beyond])
