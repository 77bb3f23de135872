"""Tables of minimal test collections: what to judge next, and how sure the order of the runs is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sounding.compare.holds import CONCLUSIONS, NEIGHBORS, Holds
from sounding.core.arrays import NDArray
from sounding.core.text import plural, shown_chance
from sounding.measures.forms import form_of
from sounding.plan.outlook import FIRST_CHECK
from sounding.pool.tables import hours
from sounding.render.tables import Column, Table
from sounding.runs.ranking import Counts, Values

if TYPE_CHECKING:
    from sounding.plan.outlook import Course, Outlook
    from sounding.runs.retrieved import Retrieved
    from sounding.selection.mtc import Confidence, Parameters, Session
    from sounding.selection.strategies import Pick

HOUR = 3600  # seconds
SHOWN = 20  # rows of a long table that people see
SAME = 1e-12  # values that differ by less differ by rounding

Flags = NDArray[np.bool_]
NOTHING_JUDGED = "Nothing judged yet: this order is only what the runs agree on."
AGAINST = (
    "Conclusion worse: by what is judged so far, the rest not relevant, the run is behind; with what the rest"
    " is expected to be it is ahead."
)
PROVEN, PROBABLE, EQUAL, OPEN = "proven", "probable", "equal", "open"


def truth_note(session: Session) -> str:
    """What the expected values are expected values of."""
    depth = session.parameters.depth
    return (
        f"Truth: {session.form.name} of the first {plural(depth, 'document')} of each run on"
        f" {plural(len(session.retrieved.topics), 'topic')}, were all of them judged."
    )


def how_note(parameters: Parameters, *, stated: bool = True) -> str:
    """How chances, weights and, where it is stated, confidence were found."""
    text = f"Prior {parameters.prior}, selection {parameters.selection}"
    if not stated and parameters.confidence == "draws":
        return f"{text}."
    text += f", confidence by {parameters.confidence}"
    if parameters.confidence == "draws":
        return f"{text} ({parameters.draws:,}); a draw in which two runs are equal counts half for either."
    divided = form_of(parameters.measure, parameters.depth, 1).divided_by != "nothing"
    if divided and parameters.confidence != "exact":
        return f"{text}: an approximation, rough where few documents of a topic are relevant."
    return f"{text}."


def unstated_notes(confidence: Confidence) -> list[str]:
    """Why no confidence is stated, and what the order rests on where nothing is judged."""
    if not confidence.reason:
        return []
    nothing = [] if confidence.judgments else [NOTHING_JUDGED]
    return [*nothing, f"No confidence is stated: {confidence.reason}."]


def _confidences(chances: Sequence[float], words: Sequence[str | None], *, people: bool) -> list[Any]:
    """Chances as programs read them or, for people, 1.000 only where the order is proven."""
    if not people:
        return list(chances)
    return [
        f"{chance:.3f}" if word == PROVEN else shown_chance(chance)
        for chance, word in zip(chances, words, strict=True)
    ]


def ranking_table(
    session: Session, confidence: Confidence, proven: Flags, sure: float, *, people: bool
) -> Table:
    """One row a run, best first: expected value, and how sure it is to be above the next."""
    order = confidence.order
    above = confidence.adjacent().tolist()
    matter = {frozenset(pair) for pair in session.pairs().tolist()}
    adjacent = list(pairwise(order.tolist()))
    known = _words(session, confidence, proven, adjacent, sure)
    words = [word if frozenset(pair) in matter else None for pair, word in zip(adjacent, known, strict=True)]
    above = [*_confidences(above, known, people=people), None]
    return Table(
        [
            Column("run", [confidence.runs[run] for run in order]),
            Column(f"expected {session.form.name}", confidence.values[order].tolist(), digits=4),
            Column("above next", above, digits=None if people else 3, right=people),
            Column("order", [*words, None]),
        ],
        title="Ranking by expected value",
        notes=[
            *unstated_notes(confidence), truth_note(session), *missing_notes(session.retrieved),
            how_note(session.parameters, stated=not confidence.reason), *_neighbour_notes(session, words),
        ],
    )  # fmt: skip


def _neighbour_notes(session: Session, words: Sequence[str | None]) -> list[str]:
    """A caveat where neighbours are told apart by the model of runs, of which it was measured."""
    told = PROBABLE in words and len(session.retrieved.runs) > 2 and session.parameters.prior == "runs"
    return [NEIGHBORS] if told else []


def ranking_rows(confidence: Confidence) -> list[dict[str, Any]]:
    """For a chart: one row a run, best first, with its expected value."""
    return [
        {"run": confidence.runs[run], "expected": float(confidence.values[run])} for run in confidence.order
    ]


def missing_notes(retrieved: Retrieved) -> list[str]:
    """Which runs lack topics, so that their value is 0 there."""
    lacking = {
        run: [topic for topic, length in zip(retrieved.topics, lengths, strict=True) if not length]
        for run, lengths in zip(retrieved.runs, retrieved.lengths.tolist(), strict=True)
    }
    short = {run: topics for run, topics in lacking.items() if topics}
    if not short:
        return []
    named = [
        f"{run} lacks {plural(len(topics), 'topic')} ({topics[0]})"
        if len(topics) == 1
        else f"{run} lacks {plural(len(topics), 'topic')} ({topics[0]}, ...)"
        for run, topics in short.items()
    ]
    more = f" and {len(named) - 3:,} more runs" if len(named) > 3 else ""
    return [f"{', '.join(named[:3])}{more}: the value is 0 there."]


def pairs_table(
    session: Session,
    confidence: Confidence,
    proven: Flags,
    sure: float,
    *,
    brief: bool,
    people: bool,
    held: Holds | None = None,
) -> Table:
    """One row for each pair that matters, the better run first, the least sure pairs on top.

    `held`: what a test concludes of these pairs by now, and the chance that it holds; None: not known.
    """
    place = np.argsort(confidence.order)
    pairs = [
        (run, other) if place[run] < place[other] else (other, run) for run, other in session.pairs().tolist()
    ]
    chance = confidence.of_pairs()
    gap = confidence.values[:, np.newaxis] - confidence.values
    least_sure = gap if confidence.reason else chance
    pairs.sort(key=lambda pair: (least_sure[pair], place[pair[0]], place[pair[1]]))
    words = _words(session, confidence, proven, pairs, sure)
    stated = not confidence.reason
    notes = [_stopping(words, sure if stated else None)]
    if stated:
        notes.append(_mean_sure(session, confidence, words))
    elif not brief:  # people have read it below the ranking
        notes += unstated_notes(confidence)[-1:]
    shown = pairs[:SHOWN] if brief else pairs
    columns = [] if held is None else _held_columns(held, session.pairs(), shown, brief=brief)
    if held is not None:
        notes.append(held_note(held, why=not brief or stated))
        notes += [AGAINST] if CONCLUSIONS[-1] in columns[0].cells else []
    if len(shown) < len(pairs):
        which = "least sure" if stated else "closest"
        notes.insert(0, f"The {len(shown)} {which} of {plural(len(pairs), 'pair')}; --view pairs has all.")
    return Table(
        [
            Column("run", [confidence.runs[run] for run, _ in shown]),
            Column("other", [confidence.runs[other] for _, other in shown]),
            Column(
                "difference",
                [float(confidence.values[run] - confidence.values[other]) for run, other in shown],
                digits=4,
            ),
            Column(
                "confidence",
                _confidences([float(chance[pair]) for pair in shown], words[: len(shown)], people=people),
                digits=None if people else 3,
                right=people,
            ),
            Column("order", words[: len(shown)]),
            *columns,
        ],
        title="Pairs of runs",
        notes=notes,
        keys=2,
    )


def held_note(held: Holds, *, why: bool) -> str:
    """What is concluded, and what it would hold after; where that is not stated, why, if it is asked for."""
    if held.reason:
        return (
            f"Conclusion: of a paired t test ({held.alpha:g}) of the two runs alone by what is judged so far"
            f"{f'. {held.describe()}' if why else '; holds: not stated.'}"
        )
    return (
        f"Conclusion: of a paired t test ({held.alpha:g}) of the two runs alone by what is judged so far;"
        f" holds: the chance that it is the same once {held.until_in_words} are judged"
        f" ({held.open_documents:,} of them are not yet), as compare --holds has it."
    )


def _held_columns(
    held: Holds, pairs: Counts, shown_pairs: Sequence[tuple[int, int]], *, brief: bool
) -> list[Column]:
    """What is concluded of the first run of the shown pairs by now, and how likely that is to hold."""
    place = {frozenset(pair): number for number, pair in enumerate(pairs.tolist())}
    rows = [place[frozenset(pair)] for pair in shown_pairs]
    turned = [int(pairs[row, 0]) != run for row, (run, _) in zip(rows, shown_pairs, strict=True)]
    sides = [
        int(held.concluded[0, row]) * (-1 if turn else 1) for row, turn in zip(rows, turned, strict=True)
    ]
    chances = held.conclusion[0, rows].tolist()
    shown: list[Any] = list(map(shown_chance, chances)) if brief else chances
    return [
        Column("conclusion", [CONCLUSIONS[side] for side in sides]),
        Column("holds", shown, digits=None if brief else 3, right=brief, joined=True),
    ]


def documents_table(
    session: Session,
    picks: Sequence[Pick],
    outlook: Outlook | None,
    seconds: float,
    *,
    brief: bool,
    reason: str = "",
) -> Table:
    """One row a document to judge, what tells most first.

    `reason` says why no chance is stated; the outlook is then unknown.
    """
    shown = picks[:SHOWN] if brief else picks
    notes = []
    if len(shown) < len(picks):
        notes.append(f"The first {len(shown)} of {plural(len(picks), 'document')}; -o FILE.csv has all.")
    work = (
        f"Judging {plural(len(picks), 'document')} ({hours(len(picks), seconds):,.1f} hours at"
        f" {seconds:g} s each)"
    )
    if not picks:
        notes.append("Nothing is left to judge." if not session.next() else "No document was asked for.")
    elif outlook is None:
        why = "" if brief else f"; {reason}"
        notes.append(f"{work}: what it would bring, and the chance of each, is not stated{why}.")
    else:
        after = outlook.after
        notes.append(
            f"{work} is expected to bring the confidence from {shown_chance(outlook.before)} to"
            f" {shown_chance(float(after.mean()))}{_error(after)}; {shown_chance(float(after.min()))} to"
            f" {shown_chance(float(after.max()))} in"
            f" {plural(len(after), 'completion')} drawn."
        )
    retrieved = session.retrieved
    return Table(
        [
            Column("topic", [retrieved.topics[pick.topic] for pick in shown]),
            Column("doc", [retrieved.docs.text(pick.document) for pick in shown]),
            Column("chance", [None if reason else session.chance(pick.document) for pick in shown], digits=3),
            Column("pool_rank", [pick.pool_rank for pick in shown]),
            _weights([pick.weight or 0.0 for pick in shown], brief=brief),
        ],
        title="To judge next",
        notes=notes,
        keys=2,
    )


def _error(values: Values) -> str:
    """The standard error of a mean; nothing where there is one value."""
    return f" ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}" if len(values) > 1 else ""


def _weights(weights: Sequence[float], *, brief: bool) -> Column:
    """What documents tell: for people as a share of what the first one tells."""
    if not brief:
        return Column("weight", weights, digits=8)
    most = max(weights, default=0.0)
    return Column("tells", [weight / most if most else None for weight in weights], digits=3)


def forecast_table(
    courses: Sequence[Course] | None, wanted: float, seconds: float, most: int, reason: str = ""
) -> Table:
    """One row for each completion in which judging was tried out; None: there is no forecast."""
    if courses is None:
        return Table(
            [Column(name, []) for name in ("completion", "judgments", "hours", "first", "last")],
            title=f"Judgments to a confidence of {wanted:g}",
            notes=[f"There is no forecast: {reason}."],
        )
    notes = [forecast_note(courses, wanted, seconds)]
    if any(course.all_judged and not course.reached for course in courses):
        notes.append("Runs that stay equal, or nearly so, when all is judged keep a confidence below that.")
    elif any(not course.reached for course in courses):
        notes.append(f"Given up after {most:,} judgments; --most goes further.")
    notes.append(
        "Confidence is the mean over the pairs of runs that matter: first, before any of these judgments;"
        " last, after all of them."
    )
    if any(course.reached and course.needed > 0 for course in courses):
        notes.append(
            "In trials three of four forecasts were within a factor of four: read the order of magnitude."
        )
    return Table(
        [
            Column("completion", list(range(1, len(courses) + 1))),
            Column("judgments", [course.judgments[-1] if course.reached else None for course in courses]),
            Column(
                "hours",
                [hours(course.judgments[-1], seconds) if course.reached else None for course in courses],
                digits=1,
            ),
            Column("first", [course.confidence[0] for course in courses], digits=3),
            Column("last", [course.confidence[-1] for course in courses], digits=3),
        ],
        title=f"Judgments to a confidence of {wanted:g}",
        notes=notes,
    )


def course_rows(courses: Sequence[Course]) -> list[dict[str, Any]]:
    """For a chart: median, least and most confidence over completions; one that has ended stays as it was."""
    looks = sorted({look for course in courses for look in course.judgments})
    held = np.array(
        [
            np.array(course.confidence)[np.searchsorted(course.judgments, looks, side="right") - 1]
            for course in courses
        ]
    )
    return [
        {"judgments": look, "confidence": float(middle), "lower": float(low), "upper": float(high)}
        for look, middle, low, high in zip(
            looks, np.median(held, axis=0), held.min(axis=0), held.max(axis=0), strict=True
        )
    ]


def forecast_note(courses: Sequence[Course], wanted: float, seconds: float) -> str:
    """How many judgments and how much time are needed, and how far that is uncertain."""
    needed, goal = np.sort([course.needed for course in courses]), f"{100 * wanted:g}%"
    reached = int(np.isfinite(needed).sum())
    if not reached:
        last = max(course.judgments[-1] for course in courses)
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


def plan_facts(
    session: Session,
    confidence: Confidence,
    outlook: Outlook | None,
    courses: Sequence[Course] | None,
    sure: float,
    seconds: float,
) -> dict[str, Any]:
    """What json holds beside the rows."""
    facts: dict[str, Any] = {
        "truth": truth_note(session),
        "parameters": asdict(session.parameters),
        "judgments": session.judgments,
        "confidence": None if confidence.reason else confidence.of_these(session.pairs()),
        "not_stated": confidence.reason or None,
        "sure": sure,
        "seconds": seconds,
    }
    if outlook is not None:
        facts["outlook"] = {"before": outlook.before, "after": outlook.after.tolist()}
    if confidence.reason:
        facts["forecast"] = None
    elif courses is not None:
        facts["forecast"] = [
            {
                "reached": course.reached,
                "all_judged": course.all_judged,
                "judgments": list(course.judgments),
                "confidence": list(course.confidence),
            }
            for course in courses
        ]
    return facts


def _words(
    session: Session, confidence: Confidence, proven: Flags, pairs: Sequence[tuple[int, int]], sure: float
) -> list[str]:
    """What is known of the order of each pair, a better run and another."""
    lists, values = session.retrieved.cut(session.parameters.depth).lists, confidence.values
    over = not session.next()
    chance = confidence.of_pairs()
    words = []
    for run, other in pairs:
        same = np.array_equal(lists[run], lists[other]) or (over and abs(values[run] - values[other]) < SAME)
        likely = chance[run, other] >= sure
        words.append(PROVEN if proven[run, other] else EQUAL if same else PROBABLE if likely else OPEN)
    return words


def _stopping(words: Sequence[str], sure: float | None) -> str:
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


def _mean_sure(session: Session, confidence: Confidence, words: Sequence[str]) -> str:
    sure, judged = confidence.of_these(session.pairs()), plural(session.judgments, "judgment")
    shown = shown_chance(sure) if set(words) != {PROVEN} else f"{sure:.3f}"
    return f"Confidence {shown} after {judged}: the mean over these pairs."
