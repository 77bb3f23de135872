"""Tables and sentences of a plan: what to judge next, and how sure the order of the runs is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from sounding.compare.holds import CONCLUSIONS, NEIGHBORS, Holds
from sounding.core.text import hours, plural, shown_chance
from sounding.plan.forecast import FIRST_CHECK, JudgingForecast
from sounding.plan.result import JudgingPlan
from sounding.relevance.priors import DEFAULT
from sounding.render.tables import Column, Table
from sounding.runs.ranking import Values
from sounding.selection.mtc.confidence import Confidence
from sounding.selection.mtc.sentences import EQUAL, OPEN, PROBABLE, PROVEN, SHOWN, how_note, missing_notes

HOUR = 3600  # seconds
SAME = 1e-12  # values that differ by less differ by rounding

Pair = tuple[int, int]

# -- sentences -------------------------------------------------------------------------------------

NOTHING_JUDGED = "Nothing judged yet: this order is only what the runs agree on."
AGAINST = (
    "Conclusion worse: by what is judged so far, the rest not relevant, the run is behind; with what the rest"
    " is expected to be it is ahead."
)
NO_FORECAST = "There is no forecast: no confidence is stated."
STAY_EQUAL = "Runs that stay equal, or nearly so, when all is judged keep a confidence below that."
FIRST_AND_LAST = (
    "Confidence is the mean over the pairs of runs that matter: first, before any of these judgments;"
    " last, after all of them."
)
MAGNITUDE = "In trials three of four forecasts were within a factor of four: read the order of magnitude."


def truth_note(plan: JudgingPlan) -> str:
    """What the expected values are expected values of."""
    return (
        f"Truth: {plan.form.name} of the first {plural(plan.parameters.depth, 'document')} of each run on"
        f" {plural(len(plan.retrieved.topics), 'topic')}, were all of them judged."
    )


def unstated_notes(confidence: Confidence) -> list[str]:
    """Why no confidence is stated, and what the order rests on where nothing is judged."""
    if not confidence.reason:
        return []
    nothing = [] if confidence.judgments else [NOTHING_JUDGED]
    return [*nothing, f"No confidence is stated: {confidence.reason}."]


def _stopping_note(words: Sequence[str], sure: float | None) -> str:
    """How far both stopping rules have come; None: no confidence is stated, and the bound alone counts."""
    proven, probable, equal, still = (words.count(word) for word in (PROVEN, PROBABLE, EQUAL, OPEN))
    likely = "" if sure is None else f" {probable:,} probable at {sure:g},"
    text = (
        f"Of {plural(len(words), 'pair')}, {proven:,} proven by a bound, whatever the rest is,{likely}"
        f" {still:,} open"
    )
    if equal:
        text += f", {equal:,} equal whatever is judged"
    if still:
        return f"{text}."
    return f"{text}: judging may stop" + ("." if probable else ", for nothing can change the order.")


def _confidence_note(plan: JudgingPlan, words: Sequence[str]) -> str:
    sure, judged = plan.confidence.of_these(plan.session.pairs()), plural(plan.session.judgments, "judgment")
    shown = shown_chance(sure) if set(words) != {PROVEN} else f"{sure:.3f}"
    return f"Confidence {shown} after {judged}: the mean over these pairs."


def holds_note(holds: Holds, *, why: bool) -> str:
    """What is concluded, and what it would hold after; where that is not stated, why, if it is asked for."""
    text = f"Conclusion: of a paired t test ({holds.alpha:g}) of the two runs alone by what is judged so far"
    if holds.reason:
        return text + (f". {holds.describe()}" if why else "; holds: not stated.")
    return (
        f"{text}; holds: the chance that it is the same once {holds.until_in_words} are judged"
        f" ({holds.open_documents:,} of them are not yet), as compare --holds has it."
    )


def _work_note(plan: JudgingPlan, seconds: float, *, brief: bool) -> str:
    """What judging the next documents takes, and what it is expected to bring."""
    number = len(plan.picks)
    if not number:
        return "No document was asked for." if plan.session.next() else "Nothing is left to judge."
    work = f"Judging {plural(number, 'document')} ({hours(number, seconds):,.1f} hours at {seconds:g} s each)"
    if plan.outlook is None:
        why = "" if brief else f"; {plan.confidence.reason}"
        return f"{work}: what it would bring, and the chance of each, is not stated{why}."
    after = plan.outlook.after
    return (
        f"{work} is expected to bring the confidence from {shown_chance(plan.outlook.before)} to"
        f" {shown_chance(float(after.mean()))}{_error(after)}; {shown_chance(float(after.min()))} to"
        f" {shown_chance(float(after.max()))} in {plural(len(after), 'completion')} drawn."
    )


def _error(values: Values) -> str:
    """The standard error of a mean; nothing where there is one value."""
    return f" ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""


def forecast_note(forecasts: Sequence[JudgingForecast], wanted: float, seconds: float) -> str:
    """How many judgments and how much time are needed, and how far that is uncertain."""
    needed, goal = np.sort([one.needed for one in forecasts]), f"{100 * wanted:g}%"
    reached = int(np.isfinite(needed).sum())
    if not reached:
        last = max(one.judgments[-1] for one in forecasts)
        return f"In none of {plural(len(needed), 'completion')} did {last:,} judgments reach {goal}."
    if needed[-1] == 0:
        return f"The confidence is {goal} or more already."
    middle = needed[(len(needed) - 1) // 2]
    early = 0 < middle <= FIRST_CHECK  # nothing is looked at before
    about = "At most" if early and needed[-1] <= FIRST_CHECK else "About"
    perhaps = " or fewer" if early and about == "About" else ""
    text = (
        f"{about} {middle:,.0f} more judgments{perhaps} ({_duration(int(middle), seconds)}) for {goal}"
        if np.isfinite(middle)
        else f"In less than half of the completions was {goal} reached"
    )
    tried = f"Judging was tried in {plural(len(needed), 'completion')} drawn from what is believed now"
    least, most = needed[0], needed[reached - 1]
    if most <= FIRST_CHECK:
        return f"{text}. {tried}: {reached} got there by the first look, after {FIRST_CHECK}."
    fewer = " or fewer" if 0 < least <= FIRST_CHECK else ""
    span = f"{most:,.0f}" if least == most else f"{least:,.0f}{fewer} to {most:,.0f}"
    return f"{text}. {tried}: {reached} got there, after {span}, looked at whenever a tenth more was judged."


def _duration(documents: int, seconds: float) -> str:
    """How long it takes to judge so many documents: in minutes, from an hour on in hours."""
    if documents * seconds < HOUR:
        return plural(math.ceil(documents * seconds / 60), "minute")
    return f"{hours(documents, seconds):,.1f} hours"


# -- tables ----------------------------------------------------------------------------------------


def ranking_table(plan: JudgingPlan, *, people: bool) -> Table:
    """One row a run, best first: expected value, and how sure it is to be above the next."""
    confidence, session = plan.confidence, plan.session
    order = confidence.order
    matter = {frozenset(pair) for pair in session.pairs().tolist()}
    adjacent = list(pairwise(order.tolist()))
    known = _words(plan, adjacent)
    words = [word if frozenset(pair) in matter else None for pair, word in zip(adjacent, known, strict=True)]
    # The caveat was measured with the model of runs.
    caveat = PROBABLE in words and len(plan.retrieved.runs) > 2 and plan.parameters.prior == DEFAULT
    return Table(
        [
            Column("run", [confidence.runs[run] for run in order]),
            Column(f"expected {plan.form.name}", confidence.values[order].tolist(), digits=4),
            _chances("above next", confidence.adjacent().tolist(), known, people=people, last=True),
            Column("order", [*words, None]),
        ],
        title="Ranking by expected value",
        notes=[
            *unstated_notes(confidence), truth_note(plan), *missing_notes(plan.retrieved),
            how_note(plan.parameters, stated=not confidence.reason), *([NEIGHBORS] if caveat else []),
        ],
    )  # fmt: skip


def pairs_table(plan: JudgingPlan, *, brief: bool, people: bool) -> Table:
    """One row for each pair that matters, the better run first, the least sure pairs on top."""
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
    notes = [_stopping_note(words, plan.sure if stated else None)]
    if stated:
        notes.append(_confidence_note(plan, words))
    elif not brief:  # people have read it below the ranking
        notes += unstated_notes(confidence)[-1:]
    shown = pairs[:SHOWN] if brief else pairs
    columns = [] if holds is None else _holds_columns(plan, holds, shown, brief=brief)
    if holds is not None:
        notes.append(holds_note(holds, why=not brief or stated))
        notes += [AGAINST] if CONCLUSIONS[-1] in columns[0].cells else []
    if len(shown) < len(pairs):
        which = "least sure" if stated else "closest"
        notes.insert(0, f"The {len(shown)} {which} of {plural(len(pairs), 'pair')}; --view pairs has all.")
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
        keys=2,
    )


def _chances(
    name: str, chances: Sequence[float], words: Sequence[str], *, people: bool, last: bool = False
) -> Column:
    """Chances as programs read them or, for people, 1.000 only where the order is proven.

    `last`: one more row has none.
    """
    none: list[None] = [None] * last
    if not people:
        return Column(name, [*chances, *none], digits=3)
    shown = [
        f"{chance:.3f}" if word == PROVEN else shown_chance(chance)
        for chance, word in zip(chances, words, strict=True)
    ]
    return Column(name, [*shown, *none], right=True)


def _holds_columns(plan: JudgingPlan, holds: Holds, shown: Sequence[Pair], *, brief: bool) -> list[Column]:
    """What is concluded of the first run of the shown pairs by now, and how likely that is to hold."""
    pairs = plan.session.pairs().tolist()
    place = {frozenset(pair): number for number, pair in enumerate(pairs)}
    rows = [place[frozenset(pair)] for pair in shown]
    sides = [
        int(holds.concluded[0, row]) * (1 if pairs[row][0] == run else -1)
        for row, (run, _) in zip(rows, shown, strict=True)
    ]
    chances = holds.conclusion[0, rows].tolist()
    cells = list(map(shown_chance, chances)) if brief else chances
    return [
        Column("conclusion", [CONCLUSIONS[side] for side in sides]),
        Column("holds", cells, digits=None if brief else 3, right=brief, joined=True),
    ]


def _words(plan: JudgingPlan, pairs: Sequence[Pair]) -> list[str]:
    """What is known of the order of each pair, a better run and another."""
    lists, values = plan.retrieved.cut(plan.parameters.depth).lists, plan.confidence.values
    over = not plan.session.next()
    chance = plan.confidence.of_pairs()
    words = []
    for run, other in pairs:
        same = np.array_equal(lists[run], lists[other]) or (over and abs(values[run] - values[other]) < SAME)
        likely = chance[run, other] >= plan.sure
        words.append(PROVEN if plan.proven[run, other] else EQUAL if same else PROBABLE if likely else OPEN)
    return words


def documents_table(plan: JudgingPlan, seconds: float, *, brief: bool) -> Table:
    """One row a document to judge, what tells most first; no chance where none is stated."""
    shown = plan.picks[:SHOWN] if brief else plan.picks
    notes = [_work_note(plan, seconds, brief=brief)]
    if len(shown) < len(plan.picks):
        some = f"The first {len(shown)} of {plural(len(plan.picks), 'document')}; -o FILE.csv has all."
        notes.insert(0, some)
    stated, session = not plan.confidence.reason, plan.session
    weights = [pick.weight or 0.0 for pick in shown]
    most = max(weights, default=0.0)
    return Table(
        [
            Column("topic", [plan.retrieved.topics[pick.topic] for pick in shown]),
            Column("doc", [plan.retrieved.docs.text(pick.document) for pick in shown]),
            Column("chance", [session.chance(pick.document) if stated else None for pick in shown], digits=3),
            Column("pool_rank", [pick.pool_rank for pick in shown]),
            # For people, as a share of what the first one tells.
            Column("tells", [weight / most if most else None for weight in weights], digits=3)
            if brief
            else Column("weight", weights, digits=8),
        ],
        title="To judge next",
        notes=notes,
        keys=2,
    )


def forecast_table(plan: JudgingPlan, seconds: float) -> Table:
    """One row for each completion in which judging was tried out; none where there is no forecast."""
    forecasts, wanted = plan.forecasts, plan.wanted or 0.0
    if forecasts is None:
        notes = [f"There is no forecast: {plan.confidence.reason}."]
    else:
        notes = [forecast_note(forecasts, wanted, seconds)]
        if any(one.all_judged and not one.reached for one in forecasts):
            notes.append(STAY_EQUAL)
        elif any(not one.reached for one in forecasts):
            notes.append(f"Given up after {plan.most:,} judgments; --most goes further.")
        notes.append(FIRST_AND_LAST)
        notes += [MAGNITUDE] if any(one.reached and one.needed > 0 for one in forecasts) else []
    rows = forecasts or ()
    needed = [one.judgments[-1] if one.reached else None for one in rows]
    return Table(
        [
            Column("completion", list(range(1, len(rows) + 1))),
            Column("judgments", needed),
            Column("hours", [None if n is None else hours(n, seconds) for n in needed], digits=1),
            Column("first", [one.confidence[0] for one in rows], digits=3),
            Column("last", [one.confidence[-1] for one in rows], digits=3),
        ],
        title=f"Judgments to a confidence of {wanted:g}",
        notes=notes,
    )


def forecast_rows(forecasts: Sequence[JudgingForecast]) -> list[dict[str, Any]]:
    """For a chart: median, least and most confidence over completions; one that has ended stays as it was."""
    looks = sorted({look for one in forecasts for look in one.judgments})
    kept = np.array(
        [
            np.array(one.confidence)[np.searchsorted(one.judgments, looks, side="right") - 1]
            for one in forecasts
        ]
    )
    return [
        {"judgments": look, "confidence": float(middle), "lower": float(low), "upper": float(high)}
        for look, middle, low, high in zip(
            looks, np.median(kept, axis=0), kept.min(axis=0), kept.max(axis=0), strict=True
        )
    ]


def plan_facts(plan: JudgingPlan, seconds: float) -> dict[str, Any]:
    """What json holds beside the rows."""
    confidence = plan.confidence
    facts: dict[str, Any] = {
        "truth": truth_note(plan),
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
        facts["forecast"] = [
            {
                "reached": one.reached, "all_judged": one.all_judged, "judgments": list(one.judgments),
                "confidence": list(one.confidence),
            }
            for one in plan.forecasts
        ]  # fmt: skip
    facts["policies"] = {name: getattr(plan.policies, name) for name in ("ties", "compat", "duplicates")}
    facts["seed"] = plan.seed
    return facts | ({} if plan.cut is None else {"pool": plan.cut})
