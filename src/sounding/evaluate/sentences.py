"""The sentences of `evaluate`: the headline, and the notes beside the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sounding.core.text import first_few, natural_order, plural, sentence, whole_percent
from sounding.data.tables import Qrels
from sounding.evaluate.result import FEW_TOPICS, NOISE, Scores
from sounding.measures.assessment import is_about_judging
from sounding.measures.registry import Measure
from sounding.measures.summaries import mean_over_topics

if TYPE_CHECKING:
    from sounding.evaluate.baseline import BaselineTests

BOUND_KINDS = {
    "contains": "the bounds hold, but may be wider than necessary",
    "none": "no bounds are known beyond the range of the measure",
}
NO_INTERVALS = (
    "Deviations assume that the prior is right and that documents are relevant independently."
    " They are not confidence intervals."
)
ONLY_RELEVANT = (
    "The qrels list only relevant documents, so nobody knows what else was judged. listed: the share of the"
    " documents that the qrels list."
)
MODELED = (
    "Expected: means over drawn complete judgments of the first 100 documents of every run. The draws follow"
    " what the judgments show of each run and topic."
)
VISIBLE = 0.005  # shares that differ by less are shown alike
MOST_NAMED = 2  # runs that share the first place and are named


# -- the headline ----------------------------------------------------------------------------------


def headline(
    scores: Scores,
    *,
    standardized: bool = False,
    parts: Sequence[Scores] = (),
    tests: BaselineTests | None = None,
) -> str:
    """Return which run has the highest value, by how much, and how much of it was judged.

    `parts` are the same runs on groups of topics. Significance is spoken of only where `tests` are given.
    """
    number = scores.leading_measure()
    if tests is not None and number is not None and not np.isnan(tests.p[:, number]).all():
        return f"{_against_baseline(scores, tests, number)} {headline(scores)}"
    if number is None:
        return f"Texts of {plural(len(scores.runs), 'run')} on {plural(len(scores.topics), 'topic')}."
    measure = scores.measures[number]
    name = f"Z {measure}" if standardized else str(measure)
    means, counted = scores.mean()[:, number], scores.counted()[:, number]
    order = [run for run in scores.order([number]) if not np.isnan(means[run])]
    if not order:
        return f"No run has a value of {name} ({plural(len(scores.topics), 'topic')})."
    best = order[0]
    count = measure.definition.basis == "count" and not standardized

    def shown(value: float) -> str:
        return f"{value:,.4g}" if count else f"{value + 0.0:.4f}"

    leaders = [run for run in order if shown(means[run]) == shown(means[best])]
    topics = plural(int(counted[best]), "topic")
    frame = f"({shown(means[best])}, {topics})"
    judged = "" if count else _unjudged_part(scores, number, leaders)
    if len(scores.runs) == 1:
        value = f"{name} {shown(means[best])} ({topics})"
        return f"{scores.runs[best]} has {value}{judged}.{_open_value(scores, number)}"
    if len(leaders) == len(scores.runs):
        return f"{_everybody(len(leaders))} have the same {name} {frame}{judged}."
    if len(leaders) > 1:
        names = [scores.runs[run] for run in leaders[:MOST_NAMED]]
        if len(leaders) > MOST_NAMED:
            names[1:] = [plural(len(leaders) - 1, "other run")]
        return f"{' and '.join(names)} share the highest {name} {frame}{judged}."
    ahead = ""
    if len(order) > 1:
        ahead = f", {shown(means[best] - means[order[1]])} ahead of {scores.runs[order[1]]}"
    return (
        f"{scores.runs[best]} has the highest {name} {frame}{ahead}{judged}."
        f"{_open_lead(scores, number, best)}{_leads(parts, number, scores.runs[best])}"
    )


def _against_baseline(scores: Scores, tests: BaselineTests, number: int) -> str:
    """Return how many runs differ significantly from the baseline, as a sentence."""
    name, measure = scores.runs[tests.baseline], scores.measures[number]
    if tests.limits[number]:
        return f"No run can differ significantly from {name} by {measure}: {_reason(tests.limits[number])}"
    better, worse = (int(table[:, number].sum()) for table in (tests.better(), tests.worse()))
    if not better and not worse:
        return f"No run differs significantly from {name} by {measure}."
    if tests.comparisons == 1:
        other = scores.runs[1 - tests.baseline]
        return f"{other} is significantly {'better' if better else 'worse'} than {name} by {measure}."
    lower = f"; {worse:,} {'is' if worse == 1 else 'are'} significantly worse" if worse else ""
    return (
        f"{better or 'None'} of the {tests.comparisons:,} other runs {'are' if better > 1 else 'is'}"
        f" significantly better than {name} by {measure}{lower}."
    )


def _reason(limit: str) -> str:
    """Return why a test cannot succeed, without what it cannot."""
    return sentence(limit.partition(": ")[2].rstrip("."))


HIGHER, LOWER = "†", "‡"  # behind values that are significantly higher or lower than the baseline's


def baseline_caption(scores: Scores, tests: BaselineTests) -> str:
    """Return what a table of values against a baseline needs to be read by itself."""
    limits = [_reason(limit) for limit in tests.limits if limit]
    return " ".join(
        [
            f"Means over {plural(len(scores.topics), 'topic')}; judged: share of the retrieved documents down"
            " to the cut-off that was judged.",
            f"{HIGHER} ({LOWER}): significantly higher (lower) than {scores.runs[tests.baseline]}, by a"
            f" paired {tests.test} test with {tests.correction} correction over {tests.comparisons:,}"
            f" comparison{'s' * (tests.comparisons != 1)} per measure, alpha = {tests.alpha:g}.",
            *(f"No difference can be significant: {limit}" for limit in limits[:1]),
        ]
    )


def _everybody(count: int) -> str:
    return "Both runs" if count == 2 else f"All {count} runs"


def _unjudged_part(scores: Scores, number: int, leaders: Sequence[int]) -> str:
    """Return how much of the leading runs was never judged, as a clause; empty where nobody knows."""
    measure = scores.measures[number]
    known = scores.judged_share()[list(leaders), number]
    if np.isnan(known).any() or is_about_judging(measure) or scores.only_relevant:
        return ""
    whose = "its" if len(leaders) == 1 else "their"
    documents = f"{whose} top {measure.k:,}" if measure.k else f"{whose} retrieved documents"
    were = "was" if measure.k else "were"
    unjudged = 1 - float(known.min())
    if not unjudged:
        return f"; all of {documents} {were} judged"
    share = ("" if np.ptp(known) == 0 else "up to ") + whole_percent(unjudged)
    gone = " and left out" if scores.policies.unjudged == "condensed" else ""
    return f"; {share} of {documents} {were} never judged{gone}"


def _open_value(scores: Scores, number: int) -> str:
    """Return how far the value of the only run is open, as a sentence."""
    if scores.bounds is not None and scores.bounds.kinds[number] != "none":
        bounds = scores.bounds.over_topics(scores.measures)
        low, high = float(bounds.lower[0, number]), float(bounds.upper[0, number])
        return f" Whatever the unjudged documents are, it lies between {low:.4f} and {high:.4f}."
    if scores.expected is not None:
        mean = float(scores.expected.over_topics(scores.measures).mean[0, number])
        return "" if np.isnan(mean) else f" Its expected value is {mean:.4f}."
    return ""


def _open_lead(scores: Scores, number: int, best: int) -> str:
    """Return whether the unjudged documents can change the first place, as a sentence."""
    if scores.bounds is not None and scores.bounds.kinds[number] != "none":
        bounds = scores.bounds.over_topics(scores.measures)
        # Not the tail: no judgment adds to the value what lies below the cutoff or the end of a list.
        passes = bounds.upper[:, number] - bounds.lower[best, number] > NOISE
        passes[best] = False
        others = plural(len(scores.runs) - 1, "other run")
        if not passes.any():
            return " No further judgment can change that."
        return f" Further judgments could still put {int(passes.sum()):,} of {others} ahead of it."
    if scores.expected is not None:
        means = scores.expected.over_topics(scores.measures).mean[:, number]
        if np.isnan(means).all():
            return ""
        first = int(np.nanargmax(means))
        leads = "it still leads" if first == best else f"{scores.runs[first]} leads"
        return f" By expected value {leads} ({means[first]:.4f})."
    return ""


def _leads(parts: Sequence[Scores], number: int, run: str) -> str:
    """Return in how many groups of topics the run has the highest value, as a sentence."""
    if not parts:
        return ""
    first = 0
    for part in parts:
        means = part.mean()[:, number]
        first += bool(means[part.runs.index(run)] >= np.nanmax(means))
    return f" It has the highest value in {first} of {plural(len(parts), 'group')} of topics."


# -- notes -----------------------------------------------------------------------------------------


def notes_on(scores: Scores, *, every: bool = False) -> list[str]:
    """Return what can mislead a reader about the values, the most important first."""
    notes = [sentence(remark) for remark in scores.remarks]
    if scores.only_relevant:
        notes.append(ONLY_RELEVANT)
    lacking = [
        (lost, name) for name, lost in zip(scores.runs, scores.missing.sum(axis=1), strict=True) if lost
    ]
    if lacking:
        lost, name = max(lacking)
        verb = "lacks" if len(lacking) == 1 else "lack"
        effect = "are left out, so means over different topics do not compare"
        effect = effect if scores.policies.missing == "skip" else "count as 0"
        notes.append(f"{plural(len(lacking), 'run')} {verb} judged topics ({name}: {lost}); these {effect}.")
    if len(scores.topics) < FEW_TOPICS and len(scores.runs) > 1:
        notes.append(f"With fewer than {FEW_TOPICS} topics, differences between runs may well be chance.")
    notes += warnings(scores)
    barren = set(scores.without_relevant)
    if scores.policies.missing == "skip" and len(scores.missing):
        nowhere = np.asarray(scores.missing.all(axis=0)).tolist()
        barren -= {topic for topic, gone in zip(scores.topics, nowhere, strict=True) if gone}
    if barren:
        grade = "" if scores.level == 1 else f" (grade {scores.level:g} or better)"
        have = "has" if len(barren) == 1 else "have"
        notes.append(
            f"{_some_topics(barren)} {have} no relevant document{grade}: recall measures are 0 there."
        )
    if changed := scores.policies.changed():
        notes.append(f"Policies that differ from the defaults: {changed}.")
    if text := judged_divides(scores, every=every):
        notes.append(text)
    more = [count for count in scores.ignored if count]
    if more:
        having = f"{plural(len(more), 'run')} {'has' if len(more) == 1 else 'have'}"
        notes.append(f"{having} topics that nobody judged (up to {max(more)}); these are ignored.")
    return notes


def judged_divides(scores: Scores, *, every: bool = False) -> str:
    """Say that the judged share is of the retrieved documents, if `compare` shows another one; "" if not.

    By default only where that may mislead: where some lists are too short and others are not.
    """
    share = scores.judged_share()
    for number, measure in enumerate(scores.measures):
        if measure.k is None or scores.only_relevant or is_about_judging(measure):
            continue
        of_cutoff = mean_over_topics(scores.judged[:, number] * np.minimum(scores.lengths / measure.k, 1))
        short = share[:, number] - of_cutoff >= VISIBLE
        if short.any() and (every or not short.all()):
            some = "all runs" if short.all() else plural(int(np.count_nonzero(short)), "run")
            return (
                f"The column judged shows a share of the documents that a run retrieved. The lists of {some}"
                f" end before rank {measure.k:,}; sounding compare divides by {measure.k:,} (A_p) and shows a"
                " lower share."
            )
    return ""


def all_policies(scores: Scores) -> str:
    """Return all policies in force, for those who ask for every note."""
    return f"Policies: {scores.policies.describe()}."


def _some_topics(topics: Iterable[str]) -> str:
    names = sorted(topics, key=natural_order)
    return f"{plural(len(names), 'topic')} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"


def warnings(scores: Scores) -> list[str]:
    """Return notes on what the values do not show: short lists, topics without a value, wide bounds."""
    return [*_unknown_notes(scores), *_uncounted_notes(scores), *_length_notes(scores)]


def _uncounted_notes(scores: Scores) -> Iterator[str]:
    """Name the measures that have no value for some topics of a run."""
    for number, measure in enumerate(scores.measures):
        if measure.definition.aggregate == "text":
            continue
        lacking = (np.isnan(scores.values[:, number]) & ~scores.missing).sum(axis=1)
        if lacking.any():
            run = scores.runs[int(lacking.argmax())]
            yield (
                f"{measure} has no value for up to {lacking.max()} of {plural(len(scores.topics), 'topic')}"
                f" ({run}); the mean is over the others."
            )


def _length_notes(scores: Scores) -> Iterator[str]:
    """Say how long the lists are that condensation left."""
    if scores.policies.unjudged != "condensed":
        return
    lengths = scores.lengths.mean(axis=1)
    shortest = int(lengths.argmin())
    least = f"; {scores.runs[shortest]} has the fewest, {lengths[shortest]:.1f}" if len(lengths) > 1 else ""
    yield f"Condensed lists hold {lengths.mean():.1f} documents per topic{least}."


def _unknown_notes(scores: Scores) -> Iterator[str]:
    """Say where the unjudged documents outweigh the judged ones; texts have neither."""
    if scores.texts:
        scores = scores.of_measures([m for m in scores.measures if m.definition.aggregate != "text"])
    if not scores.measures:
        return
    silent = scores.silent_bounds()
    if silent:
        named = _names(scores.measures[number] for number, _, _ in silent)
        yield (
            f"The worst-case bounds of {named} are too wide to separate any two runs (mean width"
            f" {max(width for _, width, _ in silent):.3f}). Use P@10 or RBP to see guaranteed differences."
        )
    if scores.expected is not None:
        yield NO_INTERVALS if scores.expected.overall is None else MODELED
    open_pairs = [
        f"{found.pairs:,} of {found.of_pairs:,} by {scores.measures[number]}"
        f" ({found.neighbors:,} of {found.of_neighbors:,} pairs of neighbors in the ranking)"
        for number, found in scores.open_pairs()
    ]
    if open_pairs:
        yield f"Unjudged documents may still decide the order of these pairs: {', '.join(open_pairs)}."
    if scores.bounds is not None:
        for kind, words in BOUND_KINDS.items():
            named = _names(m for m, k in zip(scores.measures, scores.bounds.kinds, strict=True) if k == kind)
            if named:
                yield f"{named}: {words}."


def _names(measures: Iterable[Measure]) -> str:
    return ", ".join(map(str, measures))


# -- remarks: what else was done to the values -----------------------------------------------------

MEANS_OVER_GROUPS = "values are means over judgment groups"


def uncovered(intents: Sequence[str], of: int, k: int | None) -> str:
    """Say which intents no run covers."""
    depth = "" if k is None else f" in its first {k:,} documents"
    return f"no run covers {len(intents):,} of {of:,} intents{depth}: {first_few(intents, 3)}"


OVER_OTHER_RUNS = "{} is the mean preference over all other runs given, from -1 to 1, so it depends on them"
ONE_INTENT = (
    "the judgments name no intents (in the second column of qrels, or in a column `subtopic`), so every topic"
    " counts as one intent"
)
SAMPLED = "the judgments are a sample; only statAP, xinfAP and infNDCG allow for that"
ONE_SAMPLE = "all strata count as one sample to infAP; if their sampling rates differ, use xinfAP"
Z_SCORES = "values are z-scores"


def residual(source: object, judgments: Qrels, left: Qrels) -> str:
    """Return how many judgments of an earlier round were removed."""
    dropped, emptied = len(judgments.docs) - len(left.docs), len(judgments.topics) - len(left.topics)
    gone = f"; {plural(emptied, 'topic')} had no others and is left out" if emptied else ""
    return f"residual collection: {plural(dropped, 'judgment')} of {source} removed{gone}"


def left_out(runs: Sequence[str]) -> str:
    """Return which runs could not be evaluated."""
    return f"skipped, because they could not be evaluated: {', '.join(runs)}"


def undefined_z_scores(equal: Mapping[str, int], unknown: int) -> Iterator[str]:
    """Say how many z-scores are not defined: reference runs are equal, or there is no reference."""
    if equal:
        counted = ", ".join(f"{measure} {count:,}" for measure, count in equal.items())
        yield (
            f"z-scores not defined because all reference runs are equal (deviation 0): {counted};"
            " the means leave them out"
        )
    if unknown:
        yield f"z-scores not defined because there is no reference: {unknown:,}; the means leave them out"


def sliced(source: str | Path, without: int, unjudged: int) -> Iterator[str]:
    """Say how many topics are in no slice, and how many topics of the file were not judged."""
    if without:
        yield (
            f"{plural(without, 'judged topic')} in no table, because {source} does not list"
            f" {'it' if without == 1 else 'them'}"
        )
    if unjudged:
        yield f"topics of {source} that were not judged: {unjudged}"


def shown_runs(shown: int, of_runs: int) -> str:
    """Return how many of the runs a table shows."""
    return f"The best {shown} of {of_runs} runs."
