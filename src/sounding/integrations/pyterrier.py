"""Run PyTerrier experiments whose table says which differences are significant and how much was judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ir_measures
import numpy as np
import pandas as pd
import pyterrier as pt

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, SoundingError, UnknownNameError
from sounding.core.text import quote
from sounding.data.tables import byte_order
from sounding.integrations.ir_measures import JudgedShare, Value
from sounding.measures import Measure, parse_measures
from sounding.measures.summaries import mean_over_topics, summaries
from sounding.runs.pairs import all_pairs, baseline_pairs
from sounding.statistics.pairwise import Procedure

NOT_HERE = {"dataframe": "the result is a data frame", "highlight": "style the frame that is returned"}


class _Column(NamedTuple):
    """One measure of an experiment: its name in the table, and the measures of ir_measures behind it."""

    name: str
    own: Measure | None  # None: a measure that only ir_measures knows
    value: ir_measures.Measure
    judged: ir_measures.Measure | None


def experiment(
    retr_systems: Any,
    topics: Any,
    qrels: Any,
    eval_metrics: Sequence[Any],
    names: Sequence[str] | None = None,
    perquery: bool = False,
    *,
    baseline: int | str | None = None,
    test: str = "randomization",
    correction: str | None = None,
    correction_alpha: float = 0.05,
    round: int | dict[str, int] | None = None,  # noqa: A002 - PyTerrier's name
    **options: Any,
) -> pd.DataFrame:
    """Run `pt.Experiment` and return its table with adjusted p-values and judged shares.

    The arguments are those of `pt.Experiment`; `test` and `correction` are those of `Procedure`. For every
    measure there is a column with its mean and one with the share of documents that is judged to its depth.
    With a baseline, `+` and `-` count the topics on which a system is better or worse, and the p-value is
    adjusted for all systems. Without one, the p-value is that of the difference to the best system, adjusted
    for all pairs. With `perquery` the rows are topics.
    """
    for name, instead in NOT_HERE.items():
        if name in options:
            raise DataError(f"experiment() takes no {name}: {instead}")
    columns = _columns(eval_metrics)
    asked = [one for column in columns for one in (column.value, column.judged) if one is not None]
    systems, labels = _named(retr_systems, names)
    table = pt.Experiment(systems, topics, qrels, asked, labels, perquery=True, **options)
    if perquery:
        return _by_topic(table, columns)
    procedure = Procedure(test=test, correction=correction, alpha=correction_alpha)
    found = _summarized(table, labels, columns, _place(baseline, labels), procedure)
    return found if round is None else found.round(round)


def compare_perquery(
    perquery: Any,
    *,
    baseline: int | str | None = None,
    test: str = "randomization",
    correction: str | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Return the table of `experiment` for values that PyTerrier wrote: a frame, perquery.csv, or its folder.

    There are no judged shares in it, because the values alone do not tell what was judged.
    """
    if isinstance(perquery, str | Path):
        file = Path(perquery)
        perquery = _read(file / "perquery.csv" if file.is_dir() else file)
    missing = {"name", "qid", "measure", "value"} - set(perquery.columns)
    if missing:
        seen = ", ".join(map(str, perquery.columns))
        raise DataError(
            f"values by topic with columns {seen}; expected name, qid, measure and value,"
            " as pt.Experiment(perquery=True) gives them"
        )
    labels = list(dict.fromkeys(perquery["name"]))
    columns = []
    for name in dict.fromkeys(perquery["measure"]):
        named = perquery.loc[perquery["measure"] == name, "measure"].iloc[0]
        columns.append(_Column(str(named), None, named, None))
    procedure = Procedure(test=test, correction=correction, alpha=alpha)
    return _summarized(perquery, labels, columns, _place(baseline, labels), procedure)


def paired_test(a: Any, b: Any, *, test: str = "randomization") -> tuple[float, float]:
    """Return the mean difference and p-value of two systems, for `pt.Experiment(test=paired_test)`.

    PyTerrier calls it for each system by itself, so these p-values are not adjusted for the others.
    """
    values = np.array([a, b], np.float64)
    tests = Procedure(test=test).apply(values, all_pairs(2))
    return float(tests.difference[0]), float(tests.p[0])


def _read(file: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(file, dtype={"name": str, "qid": str, "measure": str})
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"{file}: cannot be read ({reason}); expected pt.Experiment's perquery.csv"
        ) from error


def _columns(eval_metrics: Sequence[Any]) -> list[_Column]:
    """Return the measures to compute, named as the caller named them; unknown ones stay PyTerrier's."""
    columns: list[_Column] = []
    for given in [eval_metrics] if isinstance(eval_metrics, str | ir_measures.Measure) else eval_metrics:
        if given == "mrt":
            raise DataError("mrt is no value of a topic; measure response times with pt.Experiment")
        try:
            own = parse_measures(str(given))
        except SoundingError:
            if isinstance(given, str):
                raise
            columns.append(_Column(str(given), None, given, None))
            continue
        for measure in own:
            if measure.definition.aggregate == "text":
                continue
            name = str(given) if len(own) == 1 else str(measure)
            columns.append(_Column(name, measure, Value(of=measure), JudgedShare(of=measure)))
    return columns


def _named(systems: Any, names: Sequence[str] | None) -> tuple[list[Any], list[str]]:
    """Return the systems and a name for each."""
    if isinstance(systems, Mapping):
        return list(systems.values()), [str(name) for name in systems]
    labels = [str(system) for system in systems] if names is None else list(names)
    twice = [name for place, name in enumerate(labels) if name in labels[:place]]
    if twice or any(isinstance(s, pd.DataFrame) for s in systems if names is None):
        seen = f"two systems are called {quote(twice[0])}" if twice else "results in a frame have no name"
        raise DataError(f"{seen}; give each system a name of its own with names=[...]")
    return list(systems), labels


def _place(baseline: int | str | None, labels: list[str]) -> int | None:
    if isinstance(baseline, str):
        if baseline not in labels:
            raise UnknownNameError("system", baseline, labels)
        return labels.index(baseline)
    if baseline is not None and not 0 <= baseline < len(labels):
        raise DataError(f"baseline {baseline}: expected a name, or a number from 0 to {len(labels) - 1}")
    return baseline


def _values(table: pd.DataFrame, labels: list[str], measure: object) -> pd.DataFrame:
    """Return one row for each system and one column for each topic, topics in byte order; NaN: no value."""
    rows = table[table["measure"] == str(measure)]
    wide = rows.pivot(index="name", columns="qid", values="value").reindex(labels)
    return wide[sorted(wide.columns, key=lambda topic: byte_order(str(topic)))]


def _by_topic(table: pd.DataFrame, columns: list[_Column]) -> pd.DataFrame:
    """Return name, qid, measure, value and judged: one row for each system, topic and measure."""
    parts = []
    for column in columns:
        part = table[table["measure"] == str(column.value)].assign(measure=column.name)
        if column.judged is not None:
            shares = table[table["measure"] == str(column.judged)].drop(columns="measure")
            part = part.merge(shares.rename(columns={"value": "judged"}), on=["name", "qid"], how="left")
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


def _summarized(
    table: pd.DataFrame,
    labels: list[str],
    columns: list[_Column],
    baseline: int | None,
    procedure: Procedure,
) -> pd.DataFrame:
    """Return one row for each system: means, judged shares, and how each differs from the others."""
    found: dict[str, Any] = {"name": labels}
    for column in columns:
        known = _values(table, labels, column.value).dropna(
            axis="columns", how="all"
        )  # topics with judgments
        values = known.to_numpy(np.float64)
        found[column.name] = _means(values, column.own)
        if column.judged is not None:
            shares = _values(table, labels, column.judged)[known.columns]
            found[f"{column.name} judged"] = mean_over_topics(shares.to_numpy(np.float64))
        if column.own is None or column.own.definition.aggregate == "mean":
            found |= _differences(column.name, values, found[column.name], baseline, procedure)
    return pd.DataFrame(found)


def _means(values: NDArray[np.float64], own: Measure | None) -> NDArray[np.float64]:
    """Return each system's summary over topics: the measure's own, or the mean."""
    if own is None:
        return mean_over_topics(values)
    return summaries(values[:, np.newaxis], [own])[:, 0]


def _differences(
    name: str,
    values: NDArray[np.float64],
    means: NDArray[np.float64],
    baseline: int | None,
    procedure: Procedure,
) -> dict[str, NDArray[np.float64]]:
    """Return the columns that compare each system with the baseline, or with the best one."""
    systems, topics = values.shape
    title = f"{name} p-value" if baseline is not None else f"{name} p-value to best"
    p = np.full(systems, np.nan)
    if systems < 2:
        return {title: p}
    best = int(np.nanargmax(means)) if baseline is None else baseline
    found = {}
    if baseline is not None:
        others = np.where(np.arange(systems) == baseline, np.nan, 1.0)
        found = {
            f"{name} +": others * np.count_nonzero(values > values[baseline], axis=1),
            f"{name} -": others * np.count_nonzero(values < values[baseline], axis=1),
        }
    if topics > 1:
        pairs = all_pairs(systems) if baseline is None else baseline_pairs(systems, [baseline])
        tests = procedure.apply(values, pairs)
        for side in (0, 1):
            rows = (pairs[:, 1 - side] == best).nonzero()[0]
            p[pairs[rows, side]] = tests.p_adjusted[rows]
    return found | {title: p}
