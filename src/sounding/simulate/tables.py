"""Tables and sentences of a simulation: curves over judgments, values, topics, pairs, reuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby, pairwise
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.text import percent, plural
from sounding.relevance.basis import LEAST_JUDGMENTS, LEAST_RUNS
from sounding.render.tables import UNKNOWN, Column, Table, decimal
from sounding.runs.ranking import Values
from sounding.selection.mtc.notes import EQUAL, OPEN, SHOWN, how_note, missing_notes
from sounding.simulate.list_pairs import ListPair, Normality, correlations
from sounding.simulate.result import Simulation, Trial
from sounding.simulate.reuse import Reuse
from sounding.simulate.trial import Checkpoint
from sounding.statistics.testing import NORMAL_95

EDGES = (0, 0.01, 0.05, 0.1, 0.25, 1.01)  # of true differences that people see together
NAMED = 3  # topics that a sentence names

# -- sentences -------------------------------------------------------------------------------------

BINS = (
    "A run begins the next bin where it differs significantly from the best of the one before"
    " (paired t test, 0.05); ±: the middle 95% of the model, no confidence interval."
)
RESCALED = "Rescaled: expected values stretched to the range of the true ones."
NO_BINS = "One topic tells no runs apart, so there are no bins."
DISTANCE = "Distance: sum over documents of the difference between reciprocal ranks."
PLAN_STATES = (
    f"Confidence: the model's own. sounding plan states it from {LEAST_RUNS} runs and {LEAST_JUDGMENTS}"
    " judgments on."
)


def truth_note(found: Simulation) -> str:
    """What a trial is held against."""
    truth, parameters = found.truth, found.parameters
    return (
        f"Truth: {parameters.measure} of the first {plural(parameters.depth, 'document')} of each run on"
        f" {plural(len(found.retrieved.topics), 'topic')}, with all given judgments;"
        f" what nobody judged, {truth.never_judged:,} of {plural(len(truth.pool), 'document')}, is not"
        " relevant."
    )


def _topic_notes(found: Simulation) -> list[str]:
    """Which topics can tell nothing."""
    none = [found.retrieved.topics[topic] for topic in (found.truth.relevant == 0).nonzero()[0]]
    named = ", ".join(none[:NAMED]) + (", ..." if len(none) > NAMED else "")
    told = f"{plural(len(none), 'topic')} ({named}) without a relevant document: every run has 0 there."
    return [told] if none else []


def _curve_notes(found: Simulation) -> list[str]:
    """What the columns of the curves are."""
    columns = (
        "Tau: with the truth, of expected values, of plain ones (unjudged documents not relevant), of bpref."
        f" Claimed: pairs said to be {found.sure:g} sure. In bin: runs in their bin of the truth. As pool:"
        " share of the judged documents that a pool of as many documents has, deepened rank by rank."
    )
    return [
        columns, PLAN_STATES, *([NO_BINS] if found.truth.bins is None else []), *_seed_notes(found.seeds),
    ]  # fmt: skip


def _seed_notes(seeds: int) -> list[str]:
    return [f"Means over {seeds} seeds."] if seeds > 1 else []


def _cost_notes(found: Simulation) -> list[str]:
    """When each strategy was first as sure as wanted, and when its bins were right for good."""
    notes, pool, sure = [], len(found.truth.pool), found.sure
    means = mean_rows(found.checkpoints)
    for strategy in dict.fromkeys(row["strategy"] for row in means):
        own = [row for row in means if row["strategy"] == strategy]
        enough = next((row for row in own if row["confidence"] >= sure), None)
        last = own[-1]
        text = (
            f"{strategy}: confidence {sure:g} by {enough['judgments']:,} judgments, {percent(enough['cost'])}"
            f" of a pool of {pool:,}"
            if enough
            else f"{strategy}: confidence {last['confidence']:.3f} after {last['judgments']:,} judgments,"
            f" {percent(last['cost'])} of a pool of {pool:,}"
        )
        bins, pairs = _right_from(own, "bins"), _right_from(own, "accuracy")
        if not np.isnan(last["bins"]):
            text += "; bins not right yet" if bins is None else f"; bins right from {bins:,} on"
        if not np.isnan(last["accuracy"]):
            text += "; not every pair is right" if pairs is None else f"; every pair right from {pairs:,} on"
        notes.append(f"{text}.")
    return notes


def _right_from(rows: Sequence[dict[str, Any]], name: str) -> int | None:
    """The number of judgments from which on a share was 1; None: it is not in the end."""
    wrong = [place for place, row in enumerate(rows) if row[name] != 1]
    after = wrong[-1] + 1 if wrong else 0
    return rows[after]["judgments"] if after < len(rows) else None


# -- curves ----------------------------------------------------------------------------------------

# Column for people -> what it shows, decimals; one that begins with a blank belongs to the one before.
CURVES = {
    "of pool": ("cost", 3), "relevant": ("relevant", 0), "confidence": ("confidence", 3),
    "tau expected": ("tau_expected", 3), " plain": ("tau_plain", 3), " bpref": ("tau_bpref", 3),
    "pairs right": ("accuracy", 3), "claimed": ("claimed", 3), " of these right": ("right", 3),
    "in bin": ("bins", 3), "as pool": ("overlap", 3),
}  # fmt: skip


def curve_table(found: Simulation, *, brief: bool) -> Table:
    """For people means over seeds; for programs one row for every strategy, seed and number of judgments."""
    if brief:
        return _mean_curve_table(found)
    digits = {"cost": 4, "relevant": None}
    rows = found.checkpoints
    names = Checkpoint._fields if rows else Checkpoint._fields[:3]
    facts = {
        "truth": truth_note(found), "parameters": asdict(found.parameters), "pool": len(found.truth.pool),
        "sure": found.sure,
        "policies": {name: getattr(found.policies, name) for name in ("ties", "compat", "duplicates")},
    }  # fmt: skip
    columns = [
        Column(name, [getattr(row, name) for row in rows], digits=digits.get(name, 3)) for name in names
    ]
    return Table(columns, facts=facts, keys=3)


def _mean_curve_table(found: Simulation) -> Table:
    means = mean_rows(found.checkpoints)
    notes = [
        *_cost_notes(found), truth_note(found), *([] if found.cut is None else [found.cut]),
        *_topic_notes(found), *missing_notes(found.retrieved), how_note(found.parameters),
        *_curve_notes(found),
    ]  # fmt: skip
    return Table(
        [
            Column("strategy", [row["strategy"] for row in means]),
            Column("judgments", [row["judgments"] for row in means]),
            *(
                Column(name.strip(), [row[key] for row in means], digits=digits, joined=name[0] == " ")
                for name, (key, digits) in CURVES.items()
            ),
        ],
        title="Judging replayed",
        notes=notes,
        keys=2,
    )


def mean_rows(rows: Sequence[Checkpoint]) -> list[dict[str, Any]]:
    """Means over seeds of every strategy and number of judgments; unknown values are left out of them."""
    result = []
    strategies = list(dict.fromkeys(row.strategy for row in rows))
    by_strategy = sorted(rows, key=lambda row: (strategies.index(row.strategy), row.judgments))
    for (strategy, judgments), group in groupby(by_strategy, key=lambda row: (row.strategy, row.judgments)):
        same = list(group)
        means: dict[str, Any] = {"strategy": strategy, "judgments": judgments, "seeds": len(same)}
        for name in same[0]._fields[3:]:
            values = np.array([getattr(row, name) for row in same], np.float64)
            known = values[~np.isnan(values)]
            means[name] = float(known.mean()) if len(known) else float("nan")
        means["lowest"] = min(row.confidence for row in same)
        means["highest"] = max(row.confidence for row in same)
        result.append(means)
    return result


def agreement_rows(rows: Sequence[Checkpoint]) -> list[dict[str, Any]]:
    """For a chart: taus of expected values, and for the first strategy of plain ones and bpref as well."""
    kinds = {"tau_expected": "expected", "tau_plain": "plain", "tau_bpref": "bpref"}
    return [
        {"strategy": f"{row['strategy']}, {word}", "judgments": row["judgments"], "agreement": row[name]}
        for name, word in kinds.items()
        for row in mean_rows(rows)
        if name == "tau_expected" or row["strategy"] == rows[0].strategy
    ]


# -- how things stood when the first trial had ended -----------------------------------------------


def end_table(found: Simulation, view: str, sets: int | None, *, brief: bool) -> Table:
    """The table of this view: values, topics, documents or differences."""
    first = found.trials[0]
    who = f"{first.strategy}, seed {first.seed}"
    if view == "values":
        return _values_table(found, first, _topic_sets(found, sets), who)
    if view == "topics":
        return _topics_table(found, first, who)
    if view == "documents":
        return _documents_table(found, first, who)
    return _differences_table(found, first, who, brief=brief)


def _topic_sets(found: Simulation, number: int | None) -> list[NDArray[np.int64]]:
    """Topics in so many sets of neighbors."""
    topics = len(found.retrieved.topics)
    if number is not None and number > topics:
        raise DataError(f"--sets {number}: there are only {topics} topics")
    return [] if number is None else np.array_split(np.arange(topics), number)


def _values_table(found: Simulation, trial: Trial, sets: Sequence[NDArray[np.int64]], who: str) -> Table:
    """One row a run, best in truth first: true value, by set of topics, expected value, rescaled, bin."""
    confidence, truth = trial.confidence, found.truth
    order = np.argsort(-truth.values, kind="stable")
    true, expected = truth.values[order], confidence.values[order]
    half = NORMAL_95 * confidence.deviations[order]
    columns = [
        Column("run", [confidence.runs[run] for run in order]),
        Column("bin", [None] * len(order) if truth.bins is None else (truth.bins[order] + 1).tolist()),
        Column(f"true {found.parameters.measure}", true.tolist(), digits=4),
        *(
            Column(f"set {number}", truth.by_topic[topics][:, order].mean(axis=0).tolist(), digits=4)
            for number, topics in enumerate(sets, 1)
        ),
        Column("expected", expected.tolist(), digits=4),
        Column("±", half.tolist(), digits=4, joined=True),
        Column("rescaled", rescaled(expected, true).tolist(), digits=4),
        Column("place", (1 + np.argsort(confidence.order)[order]).tolist()),
    ]
    return Table(
        columns,
        title=f"Values after {plural(confidence.judgments, 'judgment')} ({who})",
        notes=[BINS, RESCALED],
    )


def rescaled(values: Values, to: Values) -> Values:
    """Values stretched to the range of others; NaN where they are all equal."""
    span = np.ptp(values)
    if span == 0:
        return np.full(len(values), np.nan)
    return to.min() + (values - values.min()) / span * np.ptp(to)


def _topics_table(found: Simulation, trial: Trial, who: str) -> Table:
    """One row a topic: how many documents were judged, and how many of them are relevant."""
    retrieved, truth = found.retrieved, found.truth
    chosen = np.array(trial.documents, np.int64)
    topic = retrieved.topic[chosen]
    hits = truth.grades[chosen] >= found.form.level
    size = len(retrieved.topics)
    judged, relevant = np.bincount(topic, minlength=size), np.bincount(topic[hits], minlength=size)
    share = relevant.sum() / max(judged.sum(), 1)
    return Table(
        [
            Column("topic", list(retrieved.topics)),
            Column("judged", judged.tolist()),
            Column("relevant", relevant.tolist()),
            Column("of all relevant", truth.relevant.tolist()),
        ],
        title=f"Judgments by topic ({who})",
        notes=[f"{percent(share)} of the {plural(int(judged.sum()), 'judged document')} are relevant."],
    )


def _documents_table(found: Simulation, trial: Trial, who: str) -> Table:
    """One row a judgment, the first one first."""
    retrieved, documents = found.retrieved, trial.documents
    docs, grades = retrieved.docs.texts(), found.truth.grades[documents].tolist()
    return Table(
        [
            Column("judgment", list(range(1, len(documents) + 1))),
            Column("topic", [retrieved.topics[topic] for topic in retrieved.topic[documents].tolist()]),
            Column("doc", [docs[document] for document in documents]),
            Column("grade", [int(grade) if grade.is_integer() else grade for grade in grades]),
        ],
        title=f"Documents in the order of judging ({who})",
    )


def _differences_table(found: Simulation, trial: Trial, who: str, *, brief: bool) -> Table:
    """One row a pair, the better in truth first: true difference, and the chance that it is none."""
    confidence, truth, sure = trial.confidence, found.truth, found.sure
    order = np.argsort(-truth.values, kind="stable")
    first, second = np.triu_indices(len(order), 1)
    run, other = order[first], order[second]
    chance = confidence.not_above[run, other]
    gap = truth.values[run] - truth.values[other]
    words = [
        EQUAL if not apart else "right" if one <= 1 - sure else "wrong" if one >= sure else OPEN
        for one, apart in zip(chance.tolist(), gap.tolist(), strict=True)
    ]
    shown = np.arange(len(run))
    notes = [
        f"P(≤ 0): chance that the first run, the better in truth, is not above the other. At {sure:g}:"
        f" {words.count('right')} right, {words.count('wrong')} wrong, {words.count(OPEN)} open."
    ]
    if brief and len(run) > SHOWN:
        shown = np.sort(np.argsort(np.abs(chance - 0.5), kind="stable")[:SHOWN])
        notes.insert(0, f"The {SHOWN} least sure of {plural(len(run), 'pair')}.")
    return Table(
        [
            Column("run", [confidence.runs[place] for place in run[shown]]),
            Column("other", [confidence.runs[place] for place in other[shown]]),
            Column("true difference", gap[shown].tolist(), digits=4),
            Column("P(≤ 0)", chance[shown].tolist(), digits=3),
            Column("order", [words[place] for place in shown.tolist()]),
        ],
        title=f"Pairs of runs ({who})",
        notes=notes,
        keys=2,
    )


# -- pairs of lists, runs left out, normality ------------------------------------------------------


def list_pairs_table(found: Sequence[ListPair], sure: float, *, brief: bool) -> Table:
    """For people judgments by size of the difference, for programs one row a pair of lists."""
    if not brief:
        return Table(
            [Column(name, [getattr(pair, name) for pair in found], digits=4) for name in ListPair._fields],
            keys=3,
        )
    reached = [pair for pair in found if pair.judgments is not None]
    right = [pair.right for pair in reached if pair.right is not None]
    related = correlations(found)
    parts = [[pair for pair in reached if low <= pair.difference < high] for low, high in pairwise(EDGES)]
    numbers = [np.array([pair.judgments for pair in part], np.float64) for part in parts]
    notes = [
        f"Told apart at {sure:g}: {len(reached):,} of {plural(len(found), 'pair')} of lists"
        + (f"; {percent(float(np.mean(right)))} of their orders are right." if right else "."),
        f"Correlations: difference and judgments {_known(related.difference_judgments)}, distance and"
        f" judgments {_known(related.distance_judgments)}, difference and distance"
        f" {_known(related.difference_distance)}.",
        DISTANCE,
    ]
    return Table(
        [
            Column("true difference", [f"{low:g} to {min(high, 1):g}" for low, high in
                                       pairwise(EDGES)]),
            Column("pairs", [len(part) for part in parts]),
            Column("median judgments", [_median(part) for part in numbers], digits=0),
            Column("most", [int(part.max()) if len(part) else None for part in numbers]),
        ],
        title=f"Judgments that tell two lists of a topic apart at {sure:g}",
        notes=notes,
    )  # fmt: skip


def _known(value: float) -> str:
    return UNKNOWN if np.isnan(value) else decimal(value, 3)


def _median(values: NDArray[np.float64]) -> float | None:
    return float(np.median(values)) if len(values) else None


def reuse_tables(rows: Sequence[Reuse], prior: str, *, brief: bool) -> list[Table]:
    """Means over the runs left out and where each landed; for programs one row a run and number."""
    if not brief:
        return [
            Table(
                [Column(name, [getattr(row, name) for row in rows], digits=4) for name in Reuse._fields],
                keys=3,
            )
        ]
    numbers = sorted({row.judgments for row in rows})
    parts = [[row for row in rows if row.judgments == number] for number in numbers]
    runs, seeds = len({row.run for row in rows}), len({row.seed for row in rows})
    means = Table(
        [
            Column("judgments", numbers),
            Column(f"{runs - 1} runs", _means(parts, "without"), digits=3),
            Column(f"{runs} runs", _means(parts, "confidence"), digits=3),
            Column("tau", _means(parts, "tau"), digits=3),
            Column("right place", [_landed(part, 0) for part in parts], percent=True),
            Column("or next to it", [_landed(part, 1) for part in parts], percent=True),
        ],
        title="Each run left out, and put back when the others' documents are judged",
        notes=[
            f"Confidence in the order of the other runs, and of all with the prior {prior} once the run is"
            f" back; means over {plural(runs, 'run')} left out"
            + (f" and {seeds} seeds." if seeds > 1 else ".")
        ],
    )  # fmt: skip
    return [means, _landing_table(parts[-1], seeds)]


def _landing_table(rows: Sequence[Reuse], seeds: int) -> Table:
    """One row a run: the place it should have, and that which it has in the mean."""
    by_run = [[row for row in rows if row.run == run] for run in dict.fromkeys(row.run for row in rows)]
    return Table(
        [
            Column("left out", [same[0].run for same in by_run]),
            Column("true place", [same[0].true_place for same in by_run]),
            Column("place", _means(by_run, "place"), digits=0 if seeds == 1 else 1),
            Column("tau", _means(by_run, "tau"), digits=3),
        ],
        title=f"Where each landed after {plural(rows[0].judgments, 'judgment')}",
        notes=_seed_notes(seeds),
    )


def reuse_rows(rows: Sequence[Reuse]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """For charts: confidence without and with the run left out, and tau with it; means over all of them."""
    numbers = sorted({row.judgments for row in rows})
    parts = [[row for row in rows if row.judgments == number] for number in numbers]
    kinds = {"without": "without the run left out", "confidence": "all, when it is back"}
    confidence = [
        {"strategy": word, "judgments": number, "confidence": mean, "lower": min(ends), "upper": max(ends)}
        for name, word in kinds.items()
        for number, mean, part in zip(numbers, _means(parts, name), parts, strict=True)
        for ends in [[getattr(row, name) for row in part]]
    ]
    agreement = [
        {"strategy": kinds["confidence"], "judgments": number, "agreement": mean}
        for number, mean in zip(numbers, _means(parts, "tau"), strict=True)
    ]
    return confidence, agreement


def true_rows(found: Simulation) -> list[dict[str, Any]]:
    """For a chart: one row a run, best in truth first, with its true and expected value and the interval."""
    confidence, truth = found.trials[0].confidence, found.truth
    half = NORMAL_95 * confidence.deviations
    return [
        {
            "run": confidence.runs[run], "true": float(truth.values[run]),
            "expected": float(confidence.values[run]),
            "lower": float(max(confidence.values[run] - half[run], 0)),
            "upper": float(confidence.values[run] + half[run]),
        }
        for run in np.argsort(-truth.values, kind="stable").tolist()
    ]  # fmt: skip


def _means(parts: Sequence[Sequence[Reuse]], name: str) -> list[float]:
    return [float(np.mean([getattr(row, name) for row in part])) for part in parts]


def _landed(rows: Sequence[Reuse], within: int) -> float:
    return float(np.mean([abs(row.place - row.true_place) <= within for row in rows]))


def normality_table(normality: Normality, runs: Sequence[str], where: str, prior: str) -> Table:
    """The Anderson-Darling test in one row, with the share of draws within so many deviations."""
    within = [float((np.abs(normality.standardized) <= width).mean()) for width in (1, 2, 3)]
    verdict = "not rejected" if normality.p > 0.05 else "rejected"
    return Table(
        [
            Column("draws", [len(normality.standardized)]),
            Column("mean", [normality.mean], digits=4),
            Column("deviation", [normality.deviation], digits=4),
            Column("A²", [normality.statistic], digits=3),
            Column("p", [normality.p], digits=4),
            *(Column(f"within {width}", [share], digits=3) for width, share in enumerate(within, 1)),
        ],
        title=f"{runs[0]} less {runs[1]} over completions of the judgments, {where}",
        notes=[
            f"Nothing judged, prior {prior}. That these differences are normally distributed is {verdict} by"
            " the Anderson-Darling test at 0.05; a normal distribution has .683, .954 and .997 within 1, 2"
            " and 3 deviations."
        ],
    )  # fmt: skip
