"""Offer all measures, bounds and judged shares to ir_measures: importing this module registers them.

ir_measures asks its own providers first, so a measure that it knows keeps its value there. `provider`
computes all of them with sounding. Lower(of="nDCG@10"), Upper, JudgedShare and Value are measures too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import tee
from typing import Any

import ir_measures
import numpy as np
from ir_measures import Metric, ParamInfo, providers
from ir_measures.measures import registry
from ir_measures.measures.base import Agg

from sounding.core.errors import SoundingError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.data.columns import is_frame
from sounding.data.formats import read_qrels
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import Scores
from sounding.measures import Measure, parse
from sounding.measures.summaries import mean_over_topics, summaries


class Value(ir_measures.Measure):
    """The value of the measure that `of` names, computed by sounding."""

    __name__ = "Value"
    NAME = "Value"
    PRETTY_NAME = "Value by sounding"
    SHORT_DESC = "The value of the measure that `of` names, computed by sounding."
    SUPPORTED_PARAMS = {"of": ParamInfo(dtype=str, required=True, desc="name of a measure of sounding")}  # noqa: RUF012

    def __init__(self, of: Any = None, **parameters: Any) -> None:
        given = {} if of is None else {"of": str(of)}
        super().__init__(**given, **parameters)

    def aggregator(self) -> Agg:
        """Return the object that summarizes values over topics as sounding does."""
        return _Summary(self)


class Lower(Value):
    """The least that the value can be, whatever the unjudged documents are."""

    __name__ = "Lower"
    NAME = "Lower"
    PRETTY_NAME = "Lower bound"
    SHORT_DESC = "The least that the value can be, whatever the unjudged documents are."


class Upper(Value):
    """The most that the value can be, whatever the unjudged documents are."""

    __name__ = "Upper"
    NAME = "Upper"
    PRETTY_NAME = "Upper bound"
    SHORT_DESC = "The most that the value can be, whatever the unjudged documents are."


class JudgedShare(Value):
    """The share of documents that are judged, down to the depth of the measure."""

    __name__ = "JudgedShare"
    NAME = "JudgedShare"
    PRETTY_NAME = "Judged share"
    SHORT_DESC = "The share of documents that are judged, down to the depth of the measure."
    DEFAULT = float("nan")  # of a run that retrieved nothing


BESIDE = (Value, Lower, Upper, JudgedShare)


class _Summary(Agg):
    """Summarize over topics as `Scores` does: a NaN counts for nothing, and counts are added."""

    def __init__(self, measure: Value) -> None:
        self._measure = measure
        self._values: list[float] = []

    def add(self, value: float) -> None:
        """Take the value of one more topic."""
        self._values.append(value)

    def result(self) -> float:
        """Return the summary."""
        table = np.array(self._values)[np.newaxis, np.newaxis]
        if isinstance(self._measure, JudgedShare):
            return float(mean_over_topics(table)[0, 0])
        return float(summaries(table, [parse(self._measure["of"])])[0, 0])


class SoundingProvider(providers.Provider):
    """Computes measures for ir_measures with sounding, under any policies."""

    NAME = "sounding"
    SUPPORTED_MEASURES = [kind(of=providers.base.Any(required=True)) for kind in BESIDE]  # noqa: RUF012

    def __init__(self, policies: Policies = DEFAULT_POLICIES) -> None:
        super().__init__()
        self._policies = policies

    def supports(self, measure: ir_measures.Measure) -> bool:
        """Return whether sounding has this measure, with these parameters."""
        measure.validate_params()
        try:
            return _measure_of(measure).definition.aggregate != "text"
        except SoundingError:
            return False

    def _evaluator(self, measures: Iterable[ir_measures.Measure], qrels: Any) -> Evaluator:
        return Evaluator(list(measures), qrels, self._policies)


class Evaluator(providers.Evaluator):
    """Scores runs with the same judgments and measures."""

    def __init__(self, measures: list[ir_measures.Measure], qrels: Any, policies: Policies) -> None:
        self._own = {measure: _measure_of(measure) for measure in measures}
        bounded = any(isinstance(measure, Lower | Upper) for measure in measures)
        self._policies = replace(policies, unjudged="bounds") if bounded else policies
        self._qrels = read_qrels(qrels, duplicates=policies.duplicates, fractional=policies.fractional)
        super().__init__(measures, list(self._qrels.topics))

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        scores = self._scores(run)
        if scores is None:
            return
        for measure, own in self._own.items():
            for topic, value in zip(scores.topics, _values(scores, measure, own), strict=True):
                yield Metric(query_id=topic, measure=measure, value=value)

    def calc_aggregate(self, run: Any) -> dict[ir_measures.Measure, float | int]:
        """Return the summaries over topics, equal to those of `sounding evaluate`."""
        return self._calc(run)[0]

    def calc(self, run: Any) -> ir_measures.CalcResults:
        """Return the summaries over topics, and the values by topic."""
        return ir_measures.CalcResults(*self._calc(run))

    def _calc(self, run: Any) -> tuple[dict[ir_measures.Measure, float | int], list[Metric]]:
        aggregators = {measure: _Summary(Value(of=str(own))) for measure, own in self._own.items()}
        aggregators |= {m: _Summary(m) for m in self._own if isinstance(m, Value)}
        metrics = list(self.iter_calc(run))
        for metric in metrics:
            aggregators[metric.measure].add(metric.value)
        return {m: one.result() for m, one in aggregators.items()}, metrics

    def _scores(self, run: Any) -> Scores | None:
        """Return the values of a run; None if it retrieved nothing."""
        if not is_frame(run) and not isinstance(run, Mapping):
            run, rest = tee(run)
            if next(rest, None) is None:
                return None
        elif not (any(run.values()) if isinstance(run, Mapping) else len(run)):
            return None
        return evaluate(self._qrels, {"run": run}, list(self._own.values()), policies=self._policies)


def _measure_of(measure: ir_measures.Measure) -> Measure:
    """Return the measure of sounding that ir_measures asks for."""
    return parse(measure["of"] if isinstance(measure, Value) else str(measure))


def _values(scores: Scores, measure: ir_measures.Measure, own: Measure) -> list[float]:
    """Return what is asked for by topic: the value, a bound, or the judged share."""
    table = scores.values
    if isinstance(measure, JudgedShare):
        table = scores.judged
    elif scores.bounds is not None and isinstance(measure, Lower | Upper):
        table = scores.bounds.lower if isinstance(measure, Lower) else scores.bounds.upper
    values: list[float] = table[0, scores.measures.index(own)].tolist()
    return values


for _kind in BESIDE:
    registry.setdefault(_kind.__name__, _kind)
provider = providers.registry.setdefault(SoundingProvider.NAME, SoundingProvider())
if provider not in ir_measures.DefaultPipeline.providers:
    ir_measures.DefaultPipeline.providers.append(provider)
