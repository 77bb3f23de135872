"""Tables of a plan: what to judge next, how certain the ranking is; and the rows of its charts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from sounding.compare.holds import CONCLUSIONS, Holds
from sounding.core.text import format_chance, hours
from sounding.plan import sentences
from sounding.plan.forecast import JudgingForecast, expected_range
from sounding.plan.result import JudgingPlan
from sounding.render.tables import UNKNOWN, Column, Table
from sounding.selection.mtc.sentences import EQUAL, OPEN, PROBABLE, PROVEN, SHOWN

SAME = 1e-12  # values that differ by less are equal up to rounding

Pair = tuple[int, int]


def ranking_table(plan: JudgingPlan, *, people: bool) -> Table:
    """Return one row per run, best first: expected value, and the chance that it beats the next."""
    confidence, session = plan.confidence, plan.session
    order = confidence.order
    matter = {frozenset(pair) for pair in session.pairs().tolist()}
    adjacent = list(pairwise(order.tolist()))
    known = _words(plan, adjacent)
    words = [word if frozenset(pair) in matter else None for pair, word in zip(adjacent, known, strict=True)]
    return Table(
        [
            Column("run", [confidence.runs[run] for run in order]),
            Column(f"expected {plan.form.name}", confidence.values[order].tolist(), digits=4),
            _chances("above next", confidence.adjacent().tolist(), known, people=people, last=True),
            Column("order", [*words, None]),
        ],
        title="Ranking",
    )


def proof_table(plan: JudgingPlan, *, people: bool) -> Table:
    """Return the documents whose judgments would prove the order of a pair, and the grades that do."""
    names, proof = plan.retrieved, plan.proof
    every = [] if proof is None or proof.judgments is None else proof.judgments
    steps = every[:SHOWN] if people else every
    documents = [document for document, _ in steps]
    chances = [_chance_of(plan, *step) for step in steps]
    shown = [UNKNOWN if chance is None else format_chance(chance) for chance in chances]
    return Table(
        [
            Column("topic", [names.topics[names.topic[document]] for document in documents]),
            Column("doc", [names.docs.text(document) for document in documents]),
            Column("proves if", ["relevant" if relevant else "nonrelevant" for _, relevant in steps]),
            Column("chance", shown, right=True) if people else Column("chance", chances, digits=3),
        ],
        title="Fewest judgments that could prove the order",
        notes=[sentences.PROOF] if steps else [],
        summary=sentences.some_documents_note(len(steps), len(every), "proof.csv")
        if len(steps) < len(every)
        else "",
        keys=2,
    )


def _chance_of(plan: JudgingPlan, document: int, relevant: bool) -> float | None:
    chance = plan.session.chance(document)
    return None if chance is None else chance if relevant else 1 - chance


def pairs_table(plan: JudgingPlan, *, brief: bool, people: bool) -> Table:
    """Return one row per pair that matters, the better run first, the least certain pairs on top."""
    confidence, holds = plan.confidence, plan.holds
    place = np.argsort(confidence.order)
    pairs: list[Pair] = [
        (run, other) if place[run] < place[other] else (other, run)
        for run, other in plan.session.pairs().tolist()
    ]
    chance = confidence.of_pairs()
    gap = confidence.values[:, np.newaxis] - confidence.values
    stated = not confidence.reason
    least_sure = chance if stated else gap
    pairs.sort(key=lambda pair: (least_sure[pair], place[pair[0]], place[pair[1]]))
    words = _words(plan, pairs)
    state = sentences.stopping_note(words, plan.sure if stated else None, plan.parameters.depth)
    state += f" {sentences.confidence_note(plan, words)}" if stated else ""
    shown = pairs[:SHOWN] if brief else pairs
    columns = [] if holds is None else _holds_columns(plan, holds, shown, brief=brief)
    notes = [] if holds is None else [sentences.holds_note(holds)]
    if holds is not None and CONCLUSIONS[-1] in columns[0].cells:
        notes[0] += f" {sentences.AGAINST}"
    some = len(shown) < len(pairs)
    counted = f"{sentences.some_pairs_note(len(shown), len(pairs), stated=stated)} {state}" if some else state
    words = words[: len(shown)]
    return Table(
        [
            Column("run", [confidence.runs[run] for run, _ in shown]),
            Column("other", [confidence.runs[other] for _, other in shown]),
            Column("difference", [float(gap[pair]) for pair in shown], digits=4),
            _chances("confidence", [float(chance[pair]) for pair in shown], words, people=people),
            Column("order", words),
            *columns,
        ],
        title="Pairs of runs",
        notes=notes,
        summary=counted,
        keys=2,
    )


def _chances(
    name: str, chances: Sequence[float], words: Sequence[str], *, people: bool, last: bool = False
) -> Column:
    """Return chances for programs or, for people, with 1.000 only where the order is proven.

    `last` adds an empty cell for the last run.
    """
    none: list[None] = [None] * last
    if not people:
        return Column(name, [*chances, *none], digits=3)
    shown = [
        f"{chance:.3f}" if word == PROVEN and chance == chance else format_chance(chance)
        for chance, word in zip(chances, words, strict=True)
    ]
    return Column(name, [*shown, *none], right=True)


def _holds_columns(plan: JudgingPlan, holds: Holds, shown: Sequence[Pair], *, brief: bool) -> list[Column]:
    """Return what a test concludes about the first run of each pair, and how likely that is to hold."""
    pairs = plan.session.pairs().tolist()
    place = {frozenset(pair): number for number, pair in enumerate(pairs)}
    rows = [place[frozenset(pair)] for pair in shown]
    sides = [
        int(holds.concluded[0, row]) * (1 if pairs[row][0] == run else -1)
        for row, (run, _) in zip(rows, shown, strict=True)
    ]
    chances = holds.conclusion[0, rows].tolist()
    cells = list(map(format_chance, chances)) if brief else chances
    return [
        Column("conclusion", [CONCLUSIONS[side] for side in sides]),
        Column("holds", cells, digits=None if brief else 3, right=brief, joined=True),
    ]


def _words(plan: JudgingPlan, pairs: Sequence[Pair]) -> list[str]:
    """Return what is known of the order of each pair: proven, equal, probable or open."""
    lists, values = plan.retrieved.cut(plan.parameters.depth).lists, plan.confidence.values
    over = not plan.session.next()
    chance = plan.confidence.of_pairs()
    words = []
    for run, other in pairs:
        same = np.array_equal(lists[run], lists[other]) or (over and abs(values[run] - values[other]) < SAME)
        likely = chance[run, other] >= plan.sure
        words.append(PROVEN if plan.proven[run, other] else EQUAL if same else PROBABLE if likely else OPEN)
    return words


def documents_table(plan: JudgingPlan, *, brief: bool) -> Table:
    """Return one row per document to judge, the most informative first."""
    shown = plan.picks[:SHOWN] if brief else plan.picks
    some = len(shown) < len(plan.picks)
    left_out = sentences.some_documents_note(len(shown), len(plan.picks)) if some else ""
    stated, session = not plan.confidence.reason, plan.session
    weights = [pick.weight or 0.0 for pick in shown]
    most = max(weights, default=0.0)
    return Table(
        [
            Column("topic", [plan.retrieved.topics[pick.topic] for pick in shown]),
            Column("doc", [plan.retrieved.docs.text(pick.document) for pick in shown]),
            Column("chance", [session.chance(pick.document) if stated else None for pick in shown], digits=3),
            Column("pool_rank", [pick.pool_rank for pick in shown]),
            # For people, shown as a share of the first document's.
            Column("weight", [weight / most if most else None for weight in weights], digits=3)
            if brief
            else Column("weight", weights, digits=8),
        ],
        title="To judge next",
        summary=left_out,
        keys=2,
    )


def forecast_table(plan: JudgingPlan, seconds: float) -> Table:
    """Return one row per simulation of judging; no rows without a forecast."""
    rows = plan.forecasts or ()
    needed = [one.judgments[-1] if one.reached else None for one in rows]
    return Table(
        [
            Column("completion", list(range(1, len(rows) + 1))),
            Column("judgments", needed),
            Column("hours", [None if n is None else hours(n, seconds) for n in needed], digits=1),
            Column("first", [one.confidence[0] for one in rows], digits=3),
            Column("last", [one.confidence[-1] for one in rows], digits=3),
        ],
        title=f"Judgments to a confidence of {plan.wanted or 0.0:g}",
        notes=[sentences.FIRST_AND_LAST],
    )


def forecast_rows(forecasts: Sequence[JudgingForecast]) -> list[dict[str, Any]]:
    """Return the median, least and most confidence by judgments; a finished simulation keeps its last."""
    looks = sorted({look for one in forecasts for look in one.judgments})
    rows = []
    for look in looks:
        sure = [one.confidence[bisect_right(one.judgments, look) - 1] for one in forecasts]
        rows.append((look, float(np.median(sure)), min(sure), max(sure)))
    names = ("judgments", "confidence", "lower", "upper")
    return [dict(zip(names, row, strict=True)) for row in rows]


def has_probable_neighbors(plan: JudgingPlan) -> bool:
    """Return whether some run is probably, and not provably, above the next."""
    pairs = list(pairwise(plan.confidence.order.tolist()))
    matter = {frozenset(pair) for pair in plan.session.pairs().tolist()}
    words = zip(pairs, _words(plan, pairs), strict=True)
    return any(word == PROBABLE and frozenset(pair) in matter for pair, word in words)


def plan_facts(plan: JudgingPlan, seconds: float) -> dict[str, Any]:
    """Return what JSON holds beside the rows."""
    confidence = plan.confidence
    facts: dict[str, Any] = {
        "truth": sentences.truth_note(plan),
        "parameters": asdict(plan.parameters),
        "judgments": plan.session.judgments,
        "confidence": None if confidence.reason else confidence.of_these(plan.session.pairs()),
        "not_stated": confidence.reason or None,
        "sure": plan.sure,
        "seconds": seconds,
    }
    if plan.outlook is not None:
        facts["outlook"] = {"before": plan.outlook.before, "after": plan.outlook.after.tolist()}
    if confidence.reason:
        facts["forecast"] = None
    elif plan.forecasts is not None:
        names = ("reached", "all_judged", "judgments", "confidence")
        facts["forecast"] = [{name: getattr(one, name) for name in names} for one in plan.forecasts]
        facts["expected_judgments"] = [
            limit if math.isfinite(limit) else None for limit in expected_range(plan.forecasts)
        ]
    facts["policies"] = {name: getattr(plan.policies, name) for name in ("ties", "compat", "duplicates")}
    facts["seed"] = plan.seed
    return facts | ({} if plan.cut is None else {"pool": plan.cut})
