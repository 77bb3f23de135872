"""The sections, headline and notes of `agree` on preferences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.agree.compared_pairs import PreferenceStudy
from sounding.agree.sentences import first_of
from sounding.agree.tables import SHOWN, Row, Rows, estimate_row, estimates, known
from sounding.core.text import plural, whole_percent
from sounding.render.tables import UNKNOWN, Column, Table, columns_of_rows, decimal

SECTIONS = ("pairs", "contradictions", "ranks")
FEW = 3  # topics without strengths that are named
SAME = (
    "Same: share of the pairs that both compared with the same outcome (equally good is one); preferred: of"
    " those in which both preferred a document; kappa: agreement beyond chance. In brackets: {level}%"
    " intervals from a bootstrap over topics."
)
CONTRADICTIONS = (
    "Contradicted: triples a, b, c in which every pair was compared, with a better than b, b at least as good"
    " as c, and c at least as good as a. Circles may be longer; the shortest is shown."
)
RANKS = (
    "Ranks: {level}% intervals by likelihood-ratio tests of the Bradley-Terry model over all assessors, each"
    " two documents by themselves, as if all comparisons were independent. Strength: log odds against a"
    " document of mean strength."
)
TRANSITIVE = "nobody contradicts themselves: every order is transitive"


def pair_rows(study: PreferenceStudy) -> Rows:
    """Return a row for each pair of assessors."""
    return [
        {"assessors": f"{one.first}, {one.second}", "topics": one.topics, "pairs": one.pairs}
        | estimate_row("same", one.same)
        | estimate_row("preferred", one.strict)
        | estimate_row("kappa", one.kappa)
        | {
            "reason": "; ".join(
                dict.fromkeys(filter(None, (one.same.remark, one.strict.remark, one.kappa.remark)))
            )
        }
        for one in study.agreements
    ]


def contradiction_rows(study: PreferenceStudy) -> Rows:
    """Return a row for each topic and assessor, those with most contradictions first."""
    return [
        {
            "topic": one.topic, "assessor": one.assessor, "pairs": one.pairs, "triples": one.triples,
            "contradicted": one.violations, "in_circles": one.documents,
            "circle": " > ".join((*one.circle, one.circle[0])) if one.circle else "",
        }
        for one in study.contradictions
    ]  # fmt: skip


def rank_rows(study: PreferenceStudy) -> Rows:
    """Return a row for each topic and document, best first."""
    return [
        {
            "topic": one.topic, "doc": one.doc, "wins": one.wins, "comparisons": one.comparisons,
            "strength": one.strength, "strength_low": one.low, "strength_high": one.high,
            "rank_best": one.best_rank, "rank_worst": one.worst_rank, "reason": one.reason,
        }
        for one in study.ranks
    ]  # fmt: skip


ROWS = {"pairs": pair_rows, "contradictions": contradiction_rows, "ranks": rank_rows}


def headline(study: PreferenceStudy) -> str:
    """Say how far the assessors agree, and whether they contradict themselves."""
    bad = [one for one in study.contradictions if one.circle]
    people, topics = (len({getattr(one, name) for one in bad}) for name in ("assessor", "topic"))
    itself = "Nobody contradicts themselves"
    if bad:
        who = "One assessor contradicts" if people == 1 else f"{people:,} assessors contradict"
        itself = f"{who} themselves, in {plural(topics, 'topic')}"
    if len(study.assessors) == 1:
        return f"{itself}; there is one assessor, so nothing to agree on."
    known_values = [one.same.value for one in study.agreements if np.isfinite(one.same.value)]
    if not known_values:
        return f"No two assessors compared the same documents. {itself}."
    low, high = whole_percent(min(known_values)), whole_percent(max(known_values))
    span = low if low == high else f"{low} to {high}"
    return f"Assessors say the same about {span} of the pairs that two of them compared. {itself}."


def people_tables(study: PreferenceStudy, sections: Sequence[str], top: int | None) -> list[Table]:
    """Return the wanted sections for people."""
    return [_PEOPLE[name](study, ROWS[name](study), top or SHOWN) for name in sections]


def tidy_section(study: PreferenceStudy, section: str, top: int | None) -> Table:
    """Return a section with one row for each value, for programs."""
    rows = ROWS[section](study)[:top]
    return Table(columns_of_rows(rows, list(rows[0]) if rows else ()))


def facts(study: PreferenceStudy) -> dict[str, Any]:
    """Return everything that JSON holds; NaN as null."""
    choices = {"alpha": study.alpha, "resamples": study.bootstrap.resamples, "seed": study.bootstrap.seed}
    tables = {name: rows(study) for name, rows in ROWS.items()}
    whole = {"assessors": list(study.assessors), "choices": choices, **tables}
    return {name: known(value) for name, value in whole.items()}


def _level(study: PreferenceStudy) -> str:
    return f"{100 * (1 - study.alpha):g}"


def _pairs(study: PreferenceStudy, rows: Rows, top: int) -> Table:
    columns = [
        *columns_of_rows(rows[:top], ("assessors", "topics", "pairs")),
        *(estimates(rows[:top], name) for name in ("same", "preferred", "kappa")),
    ]
    whys = [f"{row['assessors']}: {row['reason']}." for row in rows[:top] if row["reason"]]
    notes = [first_of(top, len(rows), "pairs of assessors") + SAME.format(level=_level(study)), *whys]
    return Table(columns, title="Agreement on pairs of documents", notes=notes)


def _contradictions(study: PreferenceStudy, rows: Rows, top: int) -> Table:
    bad = [row for row in rows if row["circle"]]
    triples, compared = sum(row["contradicted"] for row in rows), sum(row["triples"] for row in rows)
    counted = f"{triples:,} of {plural(compared, 'triple')} contradicted, in all"
    if not bad:
        return Table([Column("contradictions", ["none"])], notes=[f"{TRANSITIVE}; {counted}."])
    names = {
        "topic": "topic", "assessor": "assessor", "pairs": "pairs", "triples": "triples",
        "contradicted": "contradicted", "in_circles": "documents in circles", "circle": "shortest circle",
    }  # fmt: skip
    notes = [f"{first_of(top, len(bad), 'rows')}{CONTRADICTIONS} {counted[0].upper()}{counted[1:]}."]
    return Table(
        columns_of_rows(bad[:top], names), title="Contradictions within one person", notes=notes, keys=2
    )


def _ranks(study: PreferenceStudy, rows: Rows, top: int) -> Table:
    by_topic = {topic: [row for row in rows if row["topic"] == topic] for topic in study.topics}
    shown = [row for own in by_topic.values() for row in own[:top]]
    columns = [
        *columns_of_rows(shown, ("topic", "doc")),
        *columns_of_rows(shown, ["wins"], digits=1),
        *columns_of_rows(shown, ["comparisons"]),
        Column("rank", list(map(_rank, shown)), right=True),
        Column("strength", list(map(_strength, shown)), right=True),
    ]
    whys = {row["topic"]: row["reason"] for row in rows if row["reason"]}
    unknown = [f"No strengths in topic {topic}: {why}." for topic, why in list(whys.items())[:FEW]]
    if len(whys) > FEW:
        unknown.append(f"No strengths in {plural(len(whys) - FEW, 'more topic')} either.")
    longest = max(map(len, by_topic.values()), default=0)
    note = first_of(top, longest, "documents of a topic") + RANKS.format(level=_level(study))
    return Table(columns, title="Bradley-Terry ranks", notes=[note, *unknown], keys=2)


def _rank(row: Row) -> str:
    best, worst = row["rank_best"], row["rank_worst"]
    return f"{best}" if best == worst else f"{best} to {worst}"


def _strength(row: Row) -> str:
    if np.isnan(row["strength"]):
        return UNKNOWN
    low, high = decimal(row["strength_low"], 2), decimal(row["strength_high"], 2)
    return f"{decimal(row['strength'], 2)} [{low}, {high}]"


_PEOPLE = {"pairs": _pairs, "contradictions": _contradictions, "ranks": _ranks}
