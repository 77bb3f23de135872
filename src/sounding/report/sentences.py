"""A report in plain sentences: every figure is read off a result, none is worked out here twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from sounding.audit.verdict import Statement
from sounding.compare.advice import Advice, Situation, advise
from sounding.compare.holds import NEIGHBORS
from sounding.compare.result import Comparison
from sounding.compare.tables import p_name
from sounding.core.text import p_is, plural
from sounding.depth.result import DepthStudy
from sounding.depth.volatility import THRESHOLD
from sounding.evaluate.result import FEW_RUNS, Scores
from sounding.render.tables import decimal
from sounding.report.result import MissingPart, Report
from sounding.statistics.forecasts import SURE

ABOUT = {
    "short": "In short",
    "best": "Who is best",
    "trusted": "Which differences can be trusted",
    "doubtful": "Which cannot, and why",
    "depth": "How deep this collection can be used",
    "next": "What to do next",
}
LEADS = {  # what stands at the head of each section
    "scoreboard": "The mean of every measure over the topics, between the least and the most that it could be"
    " if the unjudged documents were judged, and the share of the documents it looks at that were.",
    "pairs": "Every pair of runs by every measure, those of interest first: the difference and whether it is"
    " more than chance, whether both runs were judged alike (the case), whether further judgments could turn"
    " the order, and what to do about it.",
    "assessment": "What nobody judged counts as not relevant. Where one run was judged less than another, a"
    " difference between them may be nothing but that.",
    "depth": "Measures at every cut-off: which pairs of runs they tell apart, whether that agrees with the"
    " reference depth, and from where on the order of the runs stays.",
    "audit": "Whether these judgments can compare these runs and new ones, and what to beware of.",
    "methods": "Everything that was chosen, by name, and where each method was published.",
    "reproduce": "The same command with the same files and versions writes the same report.",
}
NO_POOL = (
    "None of these runs is known to have contributed to the judgments: growth, unique relevant documents and"
    " leaving out are not shown. List the runs that did with --info."
)
BOUNDED = (
    "Values count an unjudged document as not relevant; under bounds the least and the most that they could"
    " be stand beside them."
)
NAMED = 4  # runs that a sentence names
JUDGING = ("put the run into the pool", "judge documents")
DONE = "nothing to judge"


def summary(report: Report) -> dict[str, list[str]]:
    """The sentences of a report by what they are about, in the order of ABOUT."""
    return {
        "short": list(_short(report)),
        "best": list(_best(report)),
        "trusted": list(_trusted(report.comparison)),
        "doubtful": list(_doubtful(report.comparison)),
        "depth": list(_depth(report)),
        "next": list(_next(report)),
    }


def listed(names: Sequence[str], most: int = NAMED) -> str:
    """Names as a sentence has them, the first few."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# -- in short ---------------------------------------------------------------------------------------


def _short(report: Report) -> Iterator[str]:
    """Three sentences: who is best and whether to trust it, what the collection is good for, what to do.

    Before them: that nothing could be significant, where that is so.
    """
    if not isinstance(report.comparison, MissingPart):
        yield from report.comparison.limits
    yield _leader(report)
    uses = [f"{use.claim[0].lower()}{use.claim[1:]}: {use.answer}" for use in _uses(report)]
    if uses:
        yield f"What these judgments can be used for: {'; '.join(uses)}."
    if not isinstance(report.comparison, MissingPart):
        yield from _first_step(report.comparison)


def _uses(report: Report) -> list[Statement]:
    """What the audit says that the collection is fit for, or is not."""
    return [statement for statement in report.statements if statement.answer != "note"]


def _leader(report: Report) -> str:
    scores, order = report.scores, report.scores.order()
    first, leading = scores.runs[order[0]], scores.measures[0]
    if len(order) == 1:
        return f"There is one run, {first}, and nothing to compare it with."
    second = scores.runs[order[1]]
    equal = _best_runs(scores, 0)
    if len(equal) > 1:
        return f"By {leading}, {listed(equal)} share the best mean: none of them can be called the best."
    best = f"By {leading}, {first} is best of {plural(len(order), 'run')}"
    pair = None if isinstance(report.comparison, MissingPart) else _pair_of(report.comparison, first, second)
    if isinstance(report.comparison, MissingPart) or pair is None:
        return f"{best}; its lead over {second} was not tested."
    return f"{best}{_trust(report.comparison, pair, first, second)}."


def _trust(comparison: Comparison, pair: int, first: str, second: str) -> str:
    """Whether a lead can be trusted, as the sentence goes on."""
    tests, settled = comparison.performance_tests[0], comparison.settled(0, pair)
    if tests.reasons[pair]:
        return f"; its lead over {second} was not tested"
    if not comparison.cases[0, pair]:
        return f"; no test could tell whether its lead over {second} is more than chance"
    if not tests.significant[pair]:
        ending = f", but its lead over {second} is not significant and should not be trusted"
    elif comparison.strength(0, pair) == "weak":
        ending = (
            f", but its significant lead over {second} is weak: {first} was also judged significantly more"
        )
    elif settled:
        ending = f", and that can be trusted: its lead over {second} is significant, strong and settled"
    else:
        ending = (
            f", and that can be trusted with care: its lead over {second} is significant and strong, but not"
            " settled"
        )
    if comparison.holds is not None and comparison.holds.sign[0, pair] < 0.5:
        sign = comparison.holds.tell_sign(0, pair, comparison.names(pair), float(tests.difference[pair]))
        ending += f"; were {comparison.holds.until_in_words} judged, {sign}"
    return ending


def _first_step(comparison: Comparison) -> Iterator[str]:
    """What most pairs ask for that ask for anything."""
    advised = _advised(comparison)
    actions = Counter(advice.action for _, advice in advised if advice.action != DONE)
    measure, pairs = comparison.measures[0], plural(len(advised), "pair")
    if actions:
        action, count = actions.most_common(1)[0]
        heads = Counter(advice.head for _, advice in advised if advice.action == action)
        head = heads.most_common(1)[0][0]
        yield (
            f"What to do next: {head[0].lower()}{head[1:]}; to {action} is the advice for {count:,} of"
            f" {pairs} by {measure}."
        )
    elif advised:
        yield f"What to do next: nothing; no judgment is missing for any of {pairs} by {measure}."


# -- who is best -----------------------------------------------------------------------------------


def _best(report: Report) -> Iterator[str]:
    scores, means = report.scores, report.scores.mean()
    order = scores.order()
    if len(order) == 1:
        values = [f"{measure} {decimal(float(means[0, n]))}" for n, measure in enumerate(scores.measures)]
        yield f"There is one run, {scores.runs[0]}: {listed(values, len(values))}."
        yield from _limits(scores, 0)
        return
    first, leading = order[0], scores.measures[0]
    equal = _best_runs(scores, 0)
    topics = plural(len(scores.topics), "topic")
    value = decimal(float(means[first, 0]))
    if len(equal) > 1:
        yield f"By {leading}, {listed(equal)} share the best mean, {value}, over {topics}."
    else:
        second = order[1]
        yield (
            f"By {leading}, {scores.runs[first]} is best of {plural(len(order), 'run')}: its mean over"
            f" {topics} is {value}, that of the next, {scores.runs[second]},"
            f" {decimal(float(means[second, 0]))}."
        )
        if not isinstance(report.comparison, MissingPart):
            yield from _lead(report.comparison, scores.runs[first], scores.runs[second])
    yield from _limits(scores, first)
    yield from _by_others(scores)


def _best_runs(scores: Scores, number: int) -> list[str]:
    """The runs whose mean by a measure is the best one, to the decimals that are shown."""
    order, means = scores.order([number]), scores.mean()[:, number].tolist()
    return [scores.runs[run] for run in order if decimal(means[run]) == decimal(means[order[0]])]


def _limits(scores: Scores, run: int) -> Iterator[str]:
    """Between which values the run's mean lies whatever the unjudged documents are."""
    if scores.bounds is None or scores.bounds.kinds[0] == "none":
        return
    bounds = scores.bounds.over_topics(scores.measures)
    low, high = float(bounds.lower[run, 0]), float(bounds.upper[run, 0])
    if not np.isfinite([low, high]).all():
        return
    if decimal(low) == decimal(high):
        yield (
            "Whatever the unjudged documents that these runs retrieved are, that value of"
            f" {scores.runs[run]} stays what it is."
        )
        return
    yield (
        f"Whatever the unjudged documents that these runs retrieved are, {scores.measures[0]} of"
        f" {scores.runs[run]} lies between {decimal(low)} and {decimal(high)}."
    )


def _by_others(scores: Scores) -> Iterator[str]:
    """Who is best by the other measures."""
    first, same, other = _best_runs(scores, 0), [], []
    for number, measure in enumerate(scores.measures[1:], 1):
        best = _best_runs(scores, number)
        if best == first:
            same.append(str(measure))
        else:
            mean = decimal(float(scores.mean()[scores.runs.index(best[0]), number]))
            leading = f"{best[0]} is best" if len(best) == 1 else f"{listed(best)} share the best mean"
            other.append(f"by {measure} {leading} ({mean})")
    if same:
        leading = "The same run is best" if len(first) == 1 else "The same runs share the best mean"
        yield f"{leading} by {listed(same, len(same))}."
    if other:
        text = "; ".join(other)
        yield f"{text[0].upper()}{text[1:]}."


def _pair_of(comparison: Comparison, a: str, b: str) -> int | None:
    """The place of a pair, in either order; None: it was not compared."""
    pairs = range(len(comparison.pairs))
    return next((pair for pair in pairs if set(comparison.names(pair)) == {a, b}), None)


def _lead(comparison: Comparison, first: str, second: str) -> Iterator[str]:
    """What can be said of the best run's lead, and who cannot be told apart from it."""
    pair = _pair_of(comparison, first, second)
    tests = comparison.performance_tests[0]
    if pair is not None and tests.reasons[pair]:
        yield f"Its lead was not tested: {tests.reasons[pair]}."
    elif pair is not None:
        p = f"{p_name(tests)} {p_is(tests.p_adjusted[pair], bool(tests.floor_adjusted[pair]))}"
        kind = f"case {comparison.cases[0, pair]}, a {comparison.strength(0, pair)} conclusion"
        settled = {
            True: "no further judgment can turn the order",
            False: "in principle, were any unjudged document of any of these runs to be relevant, further"
            " judgments could still turn the order",
            None: "whether further judgments could turn the order is not known",
        }[comparison.settled(0, pair)]
        if not comparison.cases[0, pair]:
            yield f"No test could tell whether that lead is more than chance ({p}), and {settled}."
        else:
            negated = "" if tests.significant[pair] else "not "
            yield f"That lead is {negated}significant ({p}; {kind}), and {settled}."
        if comparison.holds is not None and not comparison.holds.reason:
            chance = comparison.holds.tell(0, pair, comparison.names(pair), float(tests.difference[pair]))
            yield f"What is probable: {chance}."
    runs = comparison.runs
    place = runs.index(first)
    alike = [
        runs[int(b if a == place else a)]
        for (a, b), significant, case in zip(
            comparison.pairs.tolist(), tests.significant.tolist(), comparison.cases[0].tolist(), strict=True
        )
        if place in (a, b) and not significant and case
    ]
    if len(alike) > 1:
        means = dict(zip(runs, np.nanmean(comparison.values[:, 0], axis=1).tolist(), strict=True))
        alike.sort(key=lambda run: (-means[run], run))
        yield (
            f"No significant difference from {first} was found for {plural(len(alike), 'run')}:"
            f" {listed(alike)}."
        )


# -- pairs -----------------------------------------------------------------------------------------


def _trusted(comparison: Comparison | MissingPart) -> Iterator[str]:
    if isinstance(comparison, MissingPart):
        yield f"Nothing was compared. {comparison.reason}"
        return
    yield (
        "A conclusion is strong where the run that comes out better was not judged significantly more than"
        " the other (case 3), or where none comes out better and both were judged alike (case 1). It is"
        " settled where no judgment of the unjudged documents that these runs retrieved could turn the order."
    )
    if comparison.holds is not None and comparison.holds.reason:
        yield f"No chance is stated that these conclusions hold: {comparison.holds.reason}."
    elif comparison.holds is not None:
        yield NEIGHBORS
    for number, measure in enumerate(comparison.measures):
        cases = comparison.counts()[number].tolist()
        if not any(cases):
            yield f"By {measure}, no conclusion: no pair could be significant."
            continue
        text = (
            f"By {measure}, {cases[2] + cases[3]:,} of {plural(sum(cases), 'pair')} differ significantly;"
            f" {cases[2]:,} of these differences {_be(cases[2])} strong (case 3)"
        )
        bounds = comparison.bounds[number]
        if bounds is not None:
            both = int(np.count_nonzero(bounds.settled & (comparison.cases[number] == 3)))
            text += f", {both:,} {_be(both)} strong and settled"
        yield f"{text}."
        if comparison.holds is not None and not comparison.holds.reason:
            chances = comparison.holds.conclusion[number]
            sure = int(np.count_nonzero(chances >= SURE))
            conclusions = plural(int(np.isfinite(chances).sum()), "conclusion")
            yield (
                f"Of paired t tests by {measure}, of two runs alone each, {sure:,} of {conclusions} would"
                f" hold with a chance of {SURE:g} or more were {comparison.holds.until_in_words} judged."
            )


def _doubtful(comparison: Comparison | MissingPart) -> Iterator[str]:
    if isinstance(comparison, MissingPart):
        return
    for number, measure in enumerate(comparison.measures):
        alike, uneven, _, favored = comparison.counts()[number].tolist()  # cases 1, 2 and 4
        reasons = []
        if favored:
            reasons.append(f"in {favored:,} the better run was also judged significantly more (case 4)")
        if uneven:
            reasons.append(
                f"in {uneven:,} no difference was found, but one run was judged significantly more (case 2)"
            )
        if reasons:
            weak = uneven + favored
            yield f"By {measure}, {plural(weak, 'conclusion')} {_be(weak)} weak: {listed(reasons)}."
        if alike:
            yield (
                f"By {measure}, no difference was found in {plural(alike, 'pair')} judged alike (case 1),"
                " which does not show that there is none: more topics might."
            )
        states = [comparison.settled(number, pair) for pair in range(len(comparison.pairs))]
        turning, unknown = states.count(False), states.count(None)
        if turning:
            yield f"By {measure}, judging the unjudged documents could turn {plural(turning, 'pair')} round."
        if unknown:
            pairs = plural(unknown, "pair")
            yield f"By {measure}, it is not known of {pairs} whether judgments could turn the order."
    yield from comparison.notes


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


# -- depth -----------------------------------------------------------------------------------------


def _depth(report: Report) -> Iterator[str]:
    for place, use in enumerate(_uses(report)):
        yield f"{use.claim}: {use.answer}." + (f" {use.why}" if place == 0 else "")
    if isinstance(report.audit, MissingPart):
        yield f"The collection was not audited. {report.audit.reason}"
    if isinstance(report.stability, MissingPart):
        yield f"Depths were not looked at. {report.stability.reason}"
    else:
        yield _stable(report.stability)


def _stable(study: DepthStudy) -> str:
    if len(study.runs) < FEW_RUNS:
        runs = plural(len(study.runs), "run")
        return f"Whether the order of the runs is stable over depth is not known: {runs} are too few to say."
    begins = {measure.name: measure.volatility.stable_from() for measure in study.measures}
    parts = [
        f"by {name} " + ("at no depth" if begin is None else f"from k = {begin:,} on")
        for name, begin in begins.items()
    ]
    text = (
        f"The order of the runs is stable {listed(parts, len(parts))}: from there to {int(study.ks[-1]):,}"
        f" any two depths agree with a tau of {THRESHOLD:g} or more."
    )
    if study.pool.depth and study.pool.depth < study.ks[-1]:
        text += (
            f" That an order is stable is no reason to go deeper than the pool, {study.pool.depth:,}: below"
            " it what was not judged counts as not relevant, at every depth alike."
        )
    return text


# -- what to do ------------------------------------------------------------------------------------


def _next(report: Report) -> Iterator[str]:
    comparison = report.comparison
    if isinstance(comparison, MissingPart):
        yield (
            "Give a second run, so that there is something to compare."
            if len(report.scores.runs) == 1
            else "Give more topics, or other measures, so that there is something to compare."
        )
        return
    advised = _advised(comparison)
    if not advised:
        return
    actions = Counter(advice.action for _, advice in advised)
    total, measure = len(advised), comparison.measures[0]
    shares = [f"{action} ({count:,})" for action, count in actions.most_common()]
    yield f"Advice for {plural(total, 'pair')} by {measure}, each by itself: {listed(shares, len(shares))}."
    wanting = Counter(situation.less_judged[0] for situation, advice in advised if advice.action in JUDGING)
    if wanting:
        runs = [f"{run} ({count:,})" for run, count in wanting.most_common(NAMED)]
        yield (
            "Judge next the unjudged documents at the top of these runs, which are the less judged side of"
            f" the most open or weak pairs: {listed(runs)}."
        )
    by_first = [pair for number, pair in comparison.interesting() if number == 0]
    first = next((pair for pair in by_first if advised[pair][1].action != DONE), None)
    if first is not None:
        (a, b), (situation, advice) = comparison.names(first), advised[first]
        yield f"First among them, {a} against {b}: {advice.sentence}"
        if situation.settled is False:
            yield "sounding compare QRELS RUN... --pair A B lists the documents that would settle a pair."


def _advised(comparison: Comparison) -> list[tuple[Situation, Advice]]:
    """(pair,): situation and advice by the first measure."""
    situations = comparison.situations([(0, pair) for pair in range(len(comparison.pairs))])
    return [(situation, advise(situation)) for situation in situations]
