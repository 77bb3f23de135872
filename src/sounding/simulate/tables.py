"""Tables of a simulation: curves over judgments, values, topics, pairs, reuse; and the rows of its charts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.text import plural
from sounding.render.tables import Column, Table
from sounding.runs.ranking import Values
from sounding.selection.mtc.sentences import EQUAL, OPEN, SHOWN
from sounding.simulate import sentences
from sounding.simulate.experiments import ListPair, Normality, Reuse, prior_when_back
from sounding.simulate.result import Simulation
from sounding.simulate.trial import Checkpoint
from sounding.statistics.testing import NORMAL_95

EDGES = (0, 0.01, 0.05, 0.1, 0.25, 1.01)  # of true differences that people see together


def view_tables(found: Simulation, view: str, sets: int | None, *, brief: bool) -> list[Table]:
    """Return the tables of a view; `sets`: of how many sets of topics the values are wanted as well.

    `brief` is what people see; programs get every row.
    """
    if view == "curves":
        return [_mean_curve_table(found) if brief else _curve_table(found)]
    if view == "values":
        return [_values_table(found, sets)]
    if view == "topics":
        return [_topics_table(found)]
    if view == "documents":
        return [_documents_table(found)]
    if view == "pairs" and found.list_pairs is not None:
        pairs = found.list_pairs
        return [_list_pairs_table(pairs, found.sure) if brief else _records(ListPair._fields, pairs)]
    if view == "leave-out" and found.reuse is not None:
        return _reuse_tables(found, found.reuse) if brief else [_records(Reuse._fields, found.reuse)]
    if view == "histogram" and found.normality is not None:
        return [_normality_table(found, found.normality)]
    return [_differences_table(found, brief=brief)]


def _records(names: Sequence[str], rows: Sequence[NamedTuple]) -> Table:
    """Return a table for programs: one row for each tuple."""
    return Table([Column(name, [getattr(row, name) for row in rows], digits=4) for name in names], keys=3)


# -- curves ----------------------------------------------------------------------------------------

# Column for people -> what it shows, decimals; one that begins with a blank belongs to the one before.
CURVES = {
    "of pool": ("cost", 3), "relevant": ("relevant", 0), "confidence": ("confidence", 3),
    "tau expected": ("tau_expected", 3), " plain": ("tau_plain", 3), " bpref": ("tau_bpref", 3),
    "pairs right": ("accuracy", 3), "claimed": ("claimed", 3), " of these right": ("right", 3),
    "proven": ("proven", 3),
    "in bin": ("bins", 3), "as pool": ("overlap", 3),
}  # fmt: skip


def _curve_table(found: Simulation) -> Table:
    """Return one row per strategy, seed and number of judgments."""
    digits = {"cost": 4, "relevant": None}
    rows = found.checkpoints
    names = Checkpoint._fields if rows else Checkpoint._fields[:3]
    facts = {
        "truth": sentences.truth_note(found), "parameters": asdict(found.parameters),
        "pool": len(found.truth.pool), "sure": found.sure,
        "policies": {name: getattr(found.policies, name) for name in ("ties", "compat", "duplicates")},
    }  # fmt: skip
    columns = [
        Column(name, [getattr(row, name) for row in rows], digits=digits.get(name, 3)) for name in names
    ]
    return Table(columns, facts=facts, keys=3)


def _mean_curve_table(found: Simulation) -> Table:
    """Means over seeds."""
    means = mean_rows(found.checkpoints)
    columns = {"strategy": ("strategy", None), "judgments": ("judgments", None), **CURVES}
    return Table(
        [
            Column(name.strip(), [row[key] for row in means], digits=digits, joined=name[0] == " ")
            for name, (key, digits) in columns.items()
        ],
        notes=[sentences.columns_note(found.sure)],
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
    """Return chart rows of taus: expected values, and for the first strategy plain values and bpref."""
    kinds = {"tau_expected": "expected", "tau_plain": "plain", "tau_bpref": "bpref"}
    return [
        {"strategy": f"{row['strategy']}, {word}", "judgments": row["judgments"], "agreement": row[name]}
        for name, word in kinds.items()
        for row in mean_rows(rows)
        if name == "tau_expected" or row["strategy"] == rows[0].strategy
    ]


# -- after the first replay ------------------------------------------------------------------------


def _who(found: Simulation) -> str:
    return f"{found.trials[0].strategy}, seed {found.trials[0].seed}"


def _topic_sets(found: Simulation, number: int | None) -> list[NDArray[np.int64]]:
    """Divide the topics into this many sets of neighbors."""
    topics = len(found.retrieved.topics)
    if number is not None and number > topics:
        raise DataError(f"--sets {number}: there are only {topics} topics")
    return [] if number is None else np.array_split(np.arange(topics), number)


def _values_table(found: Simulation, sets: int | None) -> Table:
    """Return one row per run, best first: true value, by set of topics, expected value, rescaled, bin."""
    confidence, truth = found.trials[0].confidence, found.truth
    order = np.argsort(-truth.values, kind="stable")
    true, expected = truth.values[order], confidence.values[order]
    half = NORMAL_95 * confidence.deviations[order]
    columns = [
        Column("run", [confidence.runs[run] for run in order]),
        Column("bin", [None] * len(order) if truth.bins is None else (truth.bins[order] + 1).tolist()),
        Column(f"true {found.parameters.measure}", true.tolist(), digits=4),
        *(
            Column(f"set {number}", truth.by_topic[topics][:, order].mean(axis=0).tolist(), digits=4)
            for number, topics in enumerate(_topic_sets(found, sets), 1)
        ),
        Column("expected", expected.tolist(), digits=4),
        Column("±", half.tolist(), digits=4, joined=True),
        Column("rescaled", rescaled(expected, true).tolist(), digits=4),
        Column("place", (1 + np.argsort(confidence.order)[order]).tolist()),
    ]
    return Table(
        columns,
        title=f"Values after {plural(confidence.judgments, 'judgment')} ({_who(found)})",
        notes=[sentences.BINS, sentences.RESCALED],
    )


def rescaled(values: Values, to: Values) -> Values:
    """Values stretched to the range of others; NaN where they are all equal."""
    span = np.ptp(values)
    if span == 0:
        return np.full(len(values), np.nan)
    return to.min() + (values - values.min()) / span * np.ptp(to)


def _topics_table(found: Simulation) -> Table:
    """Return one row per topic: how many documents were judged, and how many of them are relevant."""
    retrieved, truth = found.retrieved, found.truth
    chosen = np.array(found.trials[0].documents, np.int64)
    topic = retrieved.topic[chosen]
    hits = truth.grades[chosen] >= found.form.level
    size = len(retrieved.topics)
    judged, relevant = np.bincount(topic, minlength=size), np.bincount(topic[hits], minlength=size)
    return Table(
        [
            Column("topic", list(retrieved.topics)),
            Column("judged", judged.tolist()),
            Column("relevant", relevant.tolist()),
            Column("of all relevant", truth.relevant.tolist()),
        ],
        title=f"Judgments by topic ({_who(found)})",
        notes=[sentences.relevant_note(int(relevant.sum()), int(judged.sum()))],
    )


def _documents_table(found: Simulation) -> Table:
    """Return one row per judgment, the first one first."""
    retrieved, documents = found.retrieved, found.trials[0].documents
    docs, grades = retrieved.docs.texts(), found.truth.grades[documents].tolist()
    return Table(
        [
            Column("judgment", list(range(1, len(documents) + 1))),
            Column("topic", [retrieved.topics[topic] for topic in retrieved.topic[documents].tolist()]),
            Column("doc", [docs[document] for document in documents]),
            Column("grade", [int(grade) if grade.is_integer() else grade for grade in grades]),
        ],
        title=f"Documents in the order of judging ({_who(found)})",
    )


def _differences_table(found: Simulation, *, brief: bool) -> Table:
    """Return one row per pair, the better in truth first: true difference, and the chance that it is none."""
    confidence, truth, sure = found.trials[0].confidence, found.truth, found.sure
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
    notes = [sentences.differences_note(words, sure)]
    if brief and len(run) > SHOWN:
        shown = np.sort(np.argsort(np.abs(chance - 0.5), kind="stable")[:SHOWN])
        notes.insert(0, sentences.least_sure(SHOWN, len(run)))
    return Table(
        [
            Column("run", [confidence.runs[place] for place in run[shown]]),
            Column("other", [confidence.runs[place] for place in other[shown]]),
            Column("true difference", gap[shown].tolist(), digits=4),
            Column("P(≤ 0)", chance[shown].tolist(), digits=3),
            Column("order", [words[place] for place in shown.tolist()]),
        ],
        title=f"Pairs of runs ({_who(found)})",
        notes=notes,
        keys=2,
    )


# -- pairs of lists, runs left out, normality ------------------------------------------------------


def _list_pairs_table(pairs: Sequence[ListPair], sure: float) -> Table:
    """Judgments by size of the difference."""
    ranges = list(pairwise(EDGES))
    reached = [pair for pair in pairs if pair.judgments is not None]
    parts = [
        np.array([pair.judgments for pair in reached if low <= pair.difference < high])
        for low, high in ranges
    ]
    return Table(
        [
            Column("true difference", [f"{low:g} to {min(high, 1):g}" for low, high in ranges]),
            Column("pairs", [len(part) for part in parts]),
            Column("median judgments", [float(np.median(part)) if len(part) else None for part in parts],
                   digits=0),
            Column("most", [int(part.max()) if len(part) else None for part in parts]),
        ],
        title=f"Judgments that separate two lists of a topic at {sure:g}",
        notes=sentences.list_pair_notes(pairs, sure),
    )  # fmt: skip


def _by_judgments(rows: Sequence[Reuse]) -> dict[int, list[Reuse]]:
    """The rows after each number of judgments."""
    numbers = sorted({row.judgments for row in rows})
    return {number: [row for row in rows if row.judgments == number] for number in numbers}


def _reuse_tables(found: Simulation, rows: Sequence[Reuse]) -> list[Table]:
    """Means over the runs left out, and where each landed."""
    numbers, parts = zip(*_by_judgments(rows).items(), strict=True)
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
        notes=[sentences.reuse_note(prior_when_back(found.parameters.prior), runs, seeds)],
    )
    return [means, _landing_table(parts[-1], seeds)]


def _landing_table(rows: Sequence[Reuse], seeds: int) -> Table:
    """Return one row per run: the place it should have, and that which it has in the mean."""
    by_run = [[row for row in rows if row.run == run] for run in dict.fromkeys(row.run for row in rows)]
    return Table(
        [
            Column("left out", [same[0].run for same in by_run]),
            Column("true place", [same[0].true_place for same in by_run]),
            Column("place", _means(by_run, "place"), digits=0 if seeds == 1 else 1),
            Column("tau", _means(by_run, "tau"), digits=3),
        ],
        title=f"Where each landed after {plural(rows[0].judgments, 'judgment')}",
        notes=sentences.seed_notes(seeds),
    )


def reuse_rows(rows: Sequence[Reuse]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return chart rows, means over runs: confidence without and with the run left out, and its tau."""
    numbers, parts = zip(*_by_judgments(rows).items(), strict=True)
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
    """Return a chart row for each run, best in truth first: true value, expected value and interval."""
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


def _normality_table(found: Simulation, normality: Normality) -> Table:
    """The Anderson-Darling test in one row, with the share of draws within one, two and three deviations."""
    within = [float((np.abs(normality.standardized) <= width).mean()) for width in (1, 2, 3)]
    where = "all topics" if found.topic is None else f"topic {found.topic}"
    first, second = found.histogram or ("", "")
    return Table(
        [
            Column("draws", [len(normality.standardized)]),
            Column("mean", [normality.mean], digits=4),
            Column("deviation", [normality.deviation], digits=4),
            Column("A²", [normality.statistic], digits=3),
            Column("p", [normality.p], digits=4),
            *(Column(f"within {width}", [share], digits=3) for width, share in enumerate(within, 1)),
        ],
        title=f"{first} less {second} over completions of the judgments, {where}",
        notes=[sentences.normality_note(normality, found.parameters.prior)],
    )
