"""Scores as tables: wide for people, tidy for programs, and trec_eval's own layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import polars
from sounding.core.text import natural_places
from sounding.evaluate.result import Scores
from sounding.evaluate.sentences import HIGHER, LOWER, baseline_caption, shown_runs
from sounding.measures.registry import Measure
from sounding.measures.sampled import interval_of
from sounding.measures.summaries import mean_over_topics
from sounding.measures.trec import trec_format, trec_name, trec_order
from sounding.render.tables import UNKNOWN, Cell, Column, Table, Tone, shown_cell

if TYPE_CHECKING:
    from sounding.evaluate.baseline import BaselineTests

MANY_MEASURES = 6  # with more columns, one run has a row for each measure
ALL = "all"  # trec_eval's name for the summary over topics
NO_REFERENCE = -1_000_000.0  # trec_eval's text for a z-score without a reference
SHORT = {"residual_unjudged": "unjudged", "residual_tail": "tail"}  # column names that people see
WHERE_KNOWN = ("sum", "sampling error", "low 95%", "high 95%")  # statistics that few measures have


class Layout(NamedTuple):
    """Contents of a table of scores."""

    per_topic: bool = False
    stats: bool = False
    level: float = 1  # lowest relevant grade; trec_eval's names do not mention it
    groups: bool = False  # values are means over judgment groups
    standardized: bool = False
    names: Mapping[Measure, str] = MappingProxyType({})  # trec_eval's, where they hold what was typed
    of_runs: int = 0  # runs before only the best were kept; 0: all are shown
    tests: BaselineTests | None = None  # of the runs against a baseline
    measures: tuple[int, ...] = ()  # places of the measures in the order of columns; none: by these runs


# -- for people ------------------------------------------------------------------------------------


def wide_table(
    scores: Scores, layout: Layout, label: str | None = None, order: Sequence[int] | None = None
) -> Table:
    """Runs in rows, best first; a column a measure, with the judged share at its depth beside it.

    `order`: the places of the runs; None: by the first measure whose bounds separate runs.
    """
    chosen = list(scores.order(_measure_order(scores, layout)) if order is None else order)
    scores = scores.of_runs(chosen)
    tests = None if layout.tests is None else layout.tests.of_runs(chosen)
    layout = layout._replace(tests=tests)
    if layout.per_topic:
        columns = _topic_columns(scores, layout)
    elif layout.stats:
        columns = _statistic_columns(scores)
    elif len(scores.runs) == 1 and len(scores.measures) > MANY_MEASURES:
        columns = _measure_rows(scores, layout)
    else:
        columns = _run_columns(scores, layout)
    notes = [shown_runs(len(scores.runs), layout.of_runs)] if layout.of_runs > len(scores.runs) else []
    keys = 2 if layout.per_topic or layout.stats else 1
    caption = None if tests is None else baseline_caption(scores, tests)
    return Table(columns, title=label, notes=notes, facts=facts(scores), keys=keys, caption=caption)


def _run_columns(scores: Scores, layout: Layout) -> list[Column]:
    means, judged, beside = scores.mean(), scores.judged_share(), scores.beside_mean()
    columns = [Column("run", scores.runs)]
    for number in _measure_order(scores, layout):
        measure = scores.measures[number]
        kind = measure.definition
        if kind.aggregate == "text":
            if kind.shown != "topics":
                columns.append(Column(str(measure), [str(texts[0]) for texts in scores.texts[measure]]))
            continue
        cells = means[:, number].tolist()
        if kind.basis == "count" and not layout.standardized:
            columns.append(Column(str(measure), [_whole(cell) for cell in cells]))
            continue
        columns.append(_marked(Column(_headed(measure, layout), cells, best=_best(cells)), number, layout))
        for name, table in beside.items():
            known = table[~np.isnan(table[:, number]), number]
            if len(known) and (name != "error" or (known >= 5e-5).any()):  # an error of 0 needs no column
                columns.append(Column(SHORT.get(name, name), table[:, number].tolist(), joined=True))
        columns.append(Column(_known(scores), judged[:, number].tolist(), percent=True, joined=True))
    return columns


def _marked(column: Column, number: int, layout: Layout) -> Column:
    """Return the column with a mark after each value that differs significantly from the baseline's."""
    if layout.tests is None:
        return column
    better, worse = layout.tests.better()[:, number], layout.tests.worse()[:, number]
    cells = [
        shown_cell(cell, column) + (HIGHER if better[row] else LOWER if worse[row] else " ")
        for row, cell in enumerate(column.cells)
    ]
    tones: dict[int, Tone] = {row: "good" for row in range(len(cells)) if better[row]}
    return replace(column, cells=cells, right=True, tones=tones)


def _measure_order(scores: Scores, layout: Layout) -> Sequence[int]:
    return layout.measures or scores.leading_order()


def _measure_rows(scores: Scores, layout: Layout) -> list[Column]:
    """Return the rows of one run with many measures: one row per measure."""
    means, judged = scores.mean()[0], scores.judged_share()[0]
    numbers = [n for n in _measure_order(scores, layout) if scores.measures[n].definition.shown != "topics"]
    values: list[Cell] = []
    for number in numbers:
        measure = scores.measures[number]
        if measure.definition.aggregate == "text":
            values.append(str(scores.texts[measure][0, 0]))
        else:
            whole = measure.definition.basis == "count" and not layout.standardized
            value = _whole(float(means[number])) if whole else f"{means[number]:.4f}"
            values.append(UNKNOWN if np.isnan(means[number]) else value)
    columns = [
        Column(scores.runs[0], [_headed(scores.measures[number], layout) for number in numbers]),
        Column("value", list(map(str, values)), right=True),
    ]
    for name, table in scores.beside_mean().items():
        columns.append(Column(SHORT.get(name, name), table[0, numbers].tolist()))
    shown = [np.nan if scores.measures[n].definition.basis == "count" else float(judged[n]) for n in numbers]
    return [*columns, Column(_known(scores), shown, percent=True)]


def _known(scores: Scores) -> str:
    """Return how the column is named that says how many documents the judgments contain."""
    return "listed" if scores.only_relevant else "judged"


def board_frame(scores: Scores, order: Sequence[int] | None = None) -> polars.DataFrame:
    """Run, measure, value, lower and upper of all means, in the order of the table, or in the one given.

    The bounds are null where none are known. Counts and texts are left out: they share no axis with a mean.
    """
    rows = scores.order(scores.leading_order()) if order is None else order
    measures, means, bounds = scores.measures, scores.mean(), scores.bounds
    within = None if bounds is None else bounds.over_topics(measures)
    known = [bounds is not None and bounds.kinds[number] != "none" for number in range(len(measures))]
    shown = [n for n in scores.leading_order() if measures[n].definition.aggregate == "mean"]
    places = [(run, number) for number in shown for run in rows]
    lower, upper = (
        [
            None if within is None or not known[n] else float(getattr(within, side)[run, n])
            for run, n in places
        ]
        for side in ("lower", "upper")
    )
    return polars.DataFrame(
        {
            "run": [scores.runs[run] for run, _ in places],
            "measure": [str(measures[number]) for _, number in places],
            "value": [float(means[place]) for place in places], "lower": lower, "upper": upper,
        },
        schema_overrides=dict.fromkeys(("value", "lower", "upper"), polars.Float64),
    )  # fmt: skip


def _topic_columns(scores: Scores, layout: Layout) -> list[Column]:
    """Return one row per run and topic, then the run's summary."""
    order = natural_places(scores.topics)
    topics = [*(scores.topics[place] for place in order), ALL]
    columns = [
        Column("run", [run for run in scores.runs for _ in topics]),
        Column("topic", topics * len(scores.runs), joined=True),
    ]
    means = scores.mean()
    for number, measure in enumerate(scores.measures):
        cells: list[Cell] = []
        for run in range(len(scores.runs)):
            if measure.definition.aggregate == "text":
                cells += [*map(str, scores.texts[measure][run][order]), None]
                continue
            row: list[Cell] = [*scores.values[run, number, order].tolist(), float(means[run, number])]
            whole = measure.definition.basis == "count" and not layout.standardized
            cells += [_whole(cell) for cell in row] if whole else row
        columns.append(Column(_headed(measure, layout), cells))
        for name, table in scores.beside().items():
            means_beside = scores.beside_mean()[name]
            if not np.isnan(means_beside[:, number]).all():
                rows = np.column_stack([table[:, number, order], means_beside[:, number]])
                columns.append(Column(SHORT.get(name, name), rows.ravel().tolist(), joined=True))
    return columns


def _headed(measure: Measure, layout: Layout) -> str:
    return f"Z {measure}" if layout.standardized else str(measure)


def _statistic_columns(scores: Scores) -> list[Column]:
    """Return one row per run and measure: the mean, how it spreads over topics, and over how many."""
    numeric = [n for n, m in enumerate(scores.measures) if m.definition.aggregate != "text"]
    chosen = [(run, number) for number in numeric for run in range(len(scores.runs))]
    columns = [
        Column("run", [scores.runs[run] for run, _ in chosen]),
        Column("measure", [str(scores.measures[number]) for _, number in chosen]),
        Column("topics", [int(scores.counted()[place]) for place in chosen]),
    ]
    for name, table in _statistics(scores).items():
        cells = [float(table[place]) for place in chosen]
        if not np.isnan(cells).all():
            columns.append(Column(name, cells, joined=name.endswith("95%")))
    return columns


def _statistics(scores: Scores) -> dict[str, NDArray[np.float64]]:
    """(run, measure) each, by name; NaN: not known, or no statistic of that measure."""
    summed = np.array([measure.definition.aggregate == "sum" for measure in scores.measures])
    summary, error = scores.mean(), scores.sampling_error()
    low, high = interval_of(summary, error)
    return {
        "mean": np.where(summed, np.nan, mean_over_topics(scores.values)),
        "sum": np.where(summed, summary, np.nan),
        "deviation": scores.deviation(),
        "standard error": scores.standard_error(),
        "geometric mean": scores.geometric_mean(),
        "sampling error": error,
        "low 95%": low,
        "high 95%": high,
    }


def _whole(cell: Cell) -> Cell:
    """A count as a whole number; it stays a fraction where it is one (an average over groups)."""
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _best(cells: list[float]) -> frozenset[int]:
    """The rows with the highest value, to four decimals, where it is not everybody's."""
    known = [round(cell, 4) for cell in cells if not np.isnan(cell)]
    if len(known) < 2 or min(known) == max(known):
        return frozenset()
    return frozenset(row for row, cell in enumerate(cells) if round(cell, 4) == max(known))


# -- for programs ----------------------------------------------------------------------------------


def facts(scores: Scores) -> dict[str, object]:
    """Return what JSON says beside the rows."""
    measures = list(map(str, scores.measures))
    return {
        "policies": asdict(scores.policies),
        "level": scores.level,
        "topics": len(scores.topics),
        "topics_without_relevant": list(scores.without_relevant),
        "mean_lengths": dict(zip(scores.runs, scores.lengths.mean(axis=1).tolist(), strict=True)),
        "judged": {
            run: {name: None if share != share else share for name, share in zip(measures, row, strict=True)}
            for run, row in zip(scores.runs, scores.judged_share().tolist(), strict=True)
        },
        "topics_missing": {
            run: [t for t, lost in zip(scores.topics, row, strict=True) if lost]
            for run, row in zip(scores.runs, scores.missing, strict=True)
            if row.any()
        },
    }


def tidy_table(scores: Scores, layout: Layout, label: str | None = None) -> Table:
    """Columns run, measure, topic (empty: the summary over topics), value, and the columns beside it.

    Measures that give text have a column `text` of their own, so that values stay numbers.
    """
    summaries = _statistics(scores) if layout.stats else {"mean": scores.mean()}
    beside, beside_mean = scores.beside(), scores.beside_mean()
    measures = list(map(str, scores.measures))
    names = ["run", "measure", "topic", "value", *beside]
    cells: dict[str, list[Cell]] = {name: [] for name in [*names, "text", "statistic"]}
    for run, number in np.ndindex(len(scores.runs), len(scores.measures)):
        measure = scores.measures[number]
        text = measure.definition.aggregate == "text"
        each = scores.values[run, number].tolist() if layout.per_topic else []
        errors = scores.sampling_errors[run, number].tolist() if layout.per_topic and layout.stats else []
        errors = errors if any(error == error for error in errors) else []
        known = _known_statistics({name: float(table[run, number]) for name, table in summaries.items()})
        cells["value"] += [*each, *errors, *known.values()]
        texts = list(scores.texts[measure][run]) if text else [None] * len(scores.topics)
        summary = texts[0] if text and measure.definition.shown == "summary" else None
        cells["text"] += [*texts[: len(each)], *([None] * len(errors)), *([summary] * len(known))]
        cells["topic"] += [*scores.topics[: len(each)], *scores.topics[: len(errors)], *([None] * len(known))]
        for name, table in beside.items():
            cells[name] += table[run, number].tolist()[: len(each)]
            cells[name] += [None] * len(errors)
            cells[name] += [float(beside_mean[name][run, number]), *([None] * (len(known) - 1))]
        cells["statistic"] += ["value"] * len(each) + ["sampling error"] * len(errors) + list(known)
        rows = len(each) + len(errors) + len(known)
        cells["run"] += [scores.runs[run]] * rows
        cells["measure"] += [measures[number]] * rows
    names += ["text"] * bool(scores.texts) + ["statistic"] * layout.stats
    columns = [Column(name, cells[name]) for name in names]
    if layout.tests is not None:
        columns += _baseline_columns(layout.tests)
    if label is not None:
        columns.append(Column("slice", [label] * len(cells["run"])))
    return Table(columns, facts=_baseline_facts(scores, layout.tests))


def _baseline_columns(tests: BaselineTests) -> list[Column]:
    """Return difference and adjusted p of each run and measure; there is one row for each."""
    return [
        Column("difference", tests.difference.ravel().tolist()),
        Column("p_adjusted", tests.p.ravel().tolist()),
    ]


def _baseline_facts(scores: Scores, tests: BaselineTests | None) -> dict[str, object]:
    if tests is None:
        return {}
    baseline = {
        "run": scores.runs[tests.baseline], "test": tests.test, "correction": tests.correction,
        "alpha": tests.alpha, "comparisons": tests.comparisons,
    }  # fmt: skip
    return {"baseline": baseline}


def _known_statistics(statistics: dict[str, float]) -> dict[str, float]:
    """Return the statistics of a measure that have a row: those that are known, and either sum or mean."""
    known = {name: value for name, value in statistics.items() if name not in WHERE_KNOWN or value == value}
    if "sum" in known:
        del known["mean"]
    return known


class _TrecColumn(NamedTuple):
    """A measure as trec_eval prints it."""

    measure: Measure
    number: int  # its place among the scores' measures
    name: str


def trec_text(scores: Scores, layout: Layout) -> str:
    """trec_eval's layout, run after run: each topic's values, then the summary."""
    place = {measure: number for number, measure in enumerate(scores.measures)}
    columns = [
        _TrecColumn(measure, place[measure], _printed_name(measure, layout))
        for measure in trec_order(scores.measures, level=layout.level)
    ]
    if layout.standardized:
        scores = replace(scores, values=np.nan_to_num(scores.values, nan=NO_REFERENCE))
    means = scores.mean()
    lines = []
    for run, name in enumerate(scores.runs):
        if layout.per_topic:
            lines += _trec_topics(scores, run, columns, layout)
        for measure, number, heading in columns:
            if measure.name == "RunID":
                # Where several runs share a tag, only the name that was made for them is unique.
                shared = scores.tags.count(scores.tags[run]) > 1
                lines.append(f"{trec_name(measure):<22}\t{ALL}\t{name if shared else scores.tags[run]}")
            elif measure.definition.aggregate != "text":
                lines.append(f"{heading}\t{ALL}\t{_printed(means[run, number], measure, layout)}")
    return "\n".join(lines) + "\n"


def _trec_topics(scores: Scores, run: int, columns: Sequence[_TrecColumn], layout: Layout) -> list[str]:
    lines = []
    columns = [column for column in columns if column.measure.definition.shown != "summary"]
    for place, topic in enumerate(scores.topics):
        if scores.policies.missing == "skip" and scores.missing[run, place]:
            continue
        for measure, number, heading in columns:
            if measure.definition.aggregate == "text":
                name = trec_name(measure, level=layout.level)
                lines.append(f"{name:<22}\t{topic}\t'{scores.texts[measure][run, place]}'")
            else:
                value = _printed(scores.values[run, number, place], measure, layout)
                lines.append(f"{heading}\t{topic}\t{value}")
    return lines


def _printed_name(measure: Measure, layout: Layout) -> str:
    own = layout.names.get(measure) or trec_name(measure, groups=layout.groups, level=layout.level)
    return f"{'Z' if layout.standardized else ''}{own:<22}"


def _printed(value: float, measure: Measure, layout: Layout) -> str:
    if np.isnan(value):
        return "nan"
    return ("%6.4f" if layout.standardized else trec_format(measure)) % value
