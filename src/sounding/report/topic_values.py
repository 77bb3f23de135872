"""Tables of values by topic and by group of topics, and the data to compare any two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.text import natural_places
from sounding.evaluate.result import FEW_TOPICS, Scores
from sounding.measures.regrading import Regrading
from sounding.render.tables import Column, Table
from sounding.report import sentences
from sounding.report.result import MissingPart, Report

NAMED = 3  # topics named in a sentence
MOST_VALUES = 600_000  # run x measure x topic values on a page
MOST_DOCUMENTS = 60_000  # unjudged documents on a page for comparing two runs
DEPTH = 10  # list unjudged documents in the top ranks


def topic_table(scores: Scores, number: int, relevant: list[int] | None) -> Table:
    """Return a row for each topic: mean, spread and extremes over the runs; topics in natural order."""
    values = scores.values[:, number]  # (run, topic)
    places = [p for p in natural_places(scores.topics) if not np.isnan(values[:, p]).all()]
    shown = values[:, places]
    best, worst = (np.nanargmax(shown, axis=0), np.nanargmin(shown, axis=0)) if places else ([], [])

    def names(extreme: Sequence[int]) -> list[str | None]:
        """Return the name of each topic's run; None if all runs have the same value."""
        same = [shown[run, place] == shown[other, place] for place, (run, other) in enumerate(ends)]
        return [
            None if equal and len(scores.runs) > 1 else scores.runs[run]
            for run, equal in zip(extreme, same, strict=True)
        ]

    ends = list(zip(best, worst, strict=True))
    columns = [
        Column("topic", [scores.topics[place] for place in places]),
        Column("mean of the runs", np.nanmean(shown, axis=0).tolist() if places else []),
        Column("deviation", np.nanstd(shown, axis=0).tolist() if places else []),
        Column("best run", names(best)),
        Column("best value", [float(shown[run, place]) for place, run in enumerate(best)]),
        Column("worst run", names(worst)),
        Column("worst value", [float(shown[run, place]) for place, run in enumerate(worst)]),
    ]
    if relevant is not None:
        columns.insert(1, Column("relevant", [relevant[place] for place in places]))
    return Table(columns, title=f"{scores.measures[number]} by topic", notes=_extremes(scores, number))


def _extremes(scores: Scores, number: int) -> list[str]:
    """Name the hardest topics, and those on which the runs differ most."""
    values = scores.values[:, number]
    known = np.flatnonzero(~np.isnan(values).all(axis=0))
    if len(known) <= NAMED or len(scores.runs) < 2:
        return []
    mean, spread = np.nanmean(values[:, known], axis=0), np.nanstd(values[:, known], axis=0)
    hardest = [scores.topics[known[place]] for place in np.argsort(mean, kind="stable")[:NAMED]]
    divisive = [scores.topics[known[place]] for place in np.argsort(-spread, kind="stable")[:NAMED]]
    return [sentences.hardest(hardest), sentences.most_divisive(divisive)]


def slice_table(scores: Scores, slices: Sequence[tuple[str, Scores]], number: int) -> Table:
    """Return each run's mean in each group of topics, best overall first, with each group's best in bold."""
    order = scores.order([number])
    columns = [Column("run", [scores.runs[run] for run in order])]
    winners: dict[str, str] = {}
    for label, part in [(f"all ({len(scores.topics):,})", scores), *slices]:
        means = part.mean()[order, number]
        best = frozenset(np.flatnonzero(means == np.nanmax(means, initial=-np.inf)).tolist())
        name = label if part is scores else f"{label} ({len(part.topics):,})"
        columns.append(Column(name, means.tolist(), best=best))
        if best and part is not scores:
            winners[label] = scores.runs[order[0 if 0 in best else min(best)]]
    notes = [sentences.other_winners(winners, scores.runs[order[0]])] if winners else []
    few = [label for label, part in slices if len(part.topics) < FEW_TOPICS]
    notes += [sentences.small_slices(few)] if few else []
    notes += [text for text in slices[0][1].remarks if text not in scores.remarks] if slices else []
    return Table(columns, title=f"{scores.measures[number]} by group of topics", notes=notes)


def explorer_data(report: Report) -> dict[str, Any] | None:
    """Return the data to compare any two runs on the page; None if there is nothing or too much."""
    scores, comparison = report.scores, report.comparison
    if isinstance(comparison, MissingPart) or len(scores.runs) < 2 or scores.values.size > MOST_VALUES:
        return None
    topics = natural_places(scores.topics)
    # A measure that compares two runs has no differences of values, which the page draws.
    shown = [n for n, measure in enumerate(comparison.measures) if not measure.definition.pairwise]
    if not shown:
        return None
    rows = [scores.measures.index(comparison.measures[number]) for number in shown]
    holds = comparison.holds
    stated = holds is not None and not holds.reason
    return {
        "measures": [str(comparison.measures[number]) for number in shown],
        "runs": list(scores.runs),
        "topics": [scores.topics[place] for place in topics],
        "order": [scores.order([row]) for row in rows],
        "values": [_numbers(scores.values[:, row][:, topics], 5) for row in rows],
        "pairs": comparison.pairs.tolist(),
        "p": [_numbers(comparison.performance_tests[number].p_adjusted, 5) for number in shown],
        "stays": _numbers(holds.sign[shown], 3) if holds is not None and stated else None,
        "until": "" if holds is None else holds.until_in_words,
        "depth": DEPTH,
        "unjudged": _unjudged(report, topics),
    }


def _numbers(values: NDArray[np.float64], digits: int) -> Any:
    """Return rounded numbers as nested lists, with None for NaN."""
    known = np.round(values, digits).astype(object)
    known[~np.isfinite(values)] = None
    return known.tolist()


def _unjudged(report: Report, topics: list[int]) -> list[list[tuple[int, int, str]]] | None:
    """Return each run's unjudged top documents as (topic, rank, id); None if unknown or too many."""
    if isinstance(report.audit, MissingPart):
        return None
    runs: Regrading = report.audit.runs
    if runs.topics != report.scores.topics or runs.runs != report.scores.runs:
        return None
    top = runs.retrieved.lists[:, topics, :DEPTH]
    unjudged = (top >= 0) & np.isnan(runs.grades())[np.maximum(top, 0)]
    if np.count_nonzero(unjudged) > MOST_DOCUMENTS:
        return None
    needed = np.unique(top[unjudged])
    names = dict(zip(needed.tolist(), runs.retrieved.docs[needed].texts(), strict=True))
    return [
        [
            (topic, rank + 1, names[int(top[run, topic, rank])])
            for topic, rank in np.argwhere(unjudged[run]).tolist()
        ]
        for run in range(len(top))
    ]
