"""Estimate measures under complete judgments by people, from a sample of them and labels by machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import plural
from sounding.data.formats import run_sources
from sounding.data.labels import read_labels, split_judges
from sounding.data.reading import Reading, map_runs
from sounding.estimate.by_topic import estimate_by_topic, face_value, pair_variances
from sounding.estimate.calibration import Floats, label_indicators, predict
from sounding.estimate.estimable import GainForm, form_of
from sounding.estimate.estimators import (
    Estimates,
    Lists,
    Sample,
    cascade,
    equal_effort,
    linear,
    unbiased_gains,
)
from sounding.estimate.frame import Frame, build_frame, lists_of, remark_on_coverage
from sounding.estimate.result import Estimation, MeasureEstimate, interval, possible
from sounding.measures import Measure, parse_measures
from sounding.runs.align import hold_judgments, hold_order, prepare
from sounding.runs.pairs import all_pairs
from sounding.statistics.pairwise import Procedure, check_procedure

DEFAULT_MEASURES = ("P@10", "RBP", "DCG@10")
FEWEST = 20  # with fewer judged documents, no interval is given


def estimate(
    qrels: Any,
    runs: Any,
    measures: Sequence[str | Measure] | str | Measure = DEFAULT_MEASURES,
    *,
    labels: Any = None,
    judges: Sequence[str] = (),
    level: float = 1,
    policies: Policies = DEFAULT_POLICIES,
    procedure: Procedure | None = None,
    confidence: float = 0.95,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Any = None,
) -> Estimation:
    """Estimate each run's mean, and each pair's difference, as if people had judged every document.

    `qrels` are people's judgments of a random sample: with a probability for each (prels), or strata; or
    judgments of all labeled documents of some topics, which chance chose.
    `labels` are anything that `read_labels` reads; `judges` names the machines of label files that do not.
    Without labels, `judges` names the assessors of `qrels` who are machines. Documents that nobody judged or
    labeled count as not relevant.
    """
    procedure = Procedure() if procedure is None else procedure
    check_procedure(procedure)
    if not 0 < confidence < 1:
        raise DataError(f"confidence {confidence}: expected a share between 0 and 1, such as 0.95")
    chosen = parse_measures(measures, level=level)
    if labels is None and judges:
        people, machines = split_judges(qrels, judges)
    else:
        reading = Reading(qrels_format=qrels_format)
        people = reading.judgments(qrels, policies)
        machines = [] if labels is None else read_labels(labels, judges=judges)
    if not machines and people.probabilities is None and people.strata is None:
        raise DataError(
            f"{people.source}: nothing to estimate from: no labels, and no probabilities with which documents"
            " were drawn; `sounding evaluate` gives the values by these judgments"
        )
    frame = build_frame(people, machines, policies)
    if frame.whole is None and len(frame.grades) < FEWEST and (frame.sample.chance < 1).any():
        raise DataError(
            f"{people.source}: {plural(len(frame.grades), 'judged document')}; an interval needs at least"
            f" {FEWEST}"
        )
    read = map_runs(
        lambda run: run, run_sources(runs), policies, run_format=run_format, jobs=jobs, progress=progress
    )
    if not read.results:
        raise DataError("no runs; give at least one")
    hold_judgments(frame.judgments)
    for run in read.results:
        hold_order(run, policies)
    lists, outside = lists_of(read.results, frame, policies)
    judgments = prepare(frame.judgments, policies).judgments
    if frame.whole is not None:
        made = estimate_by_topic(
            chosen, frame, read.results, machines, policies, judgments.highest, procedure, confidence
        )
        uncovered: list[str] = []
    else:
        size = len(frame.table.topics), frame.size
        forms = [form_of(one, judgments, size) for one in chosen]
        made = [
            estimate_measure(measure, form, lists, frame, judgments.highest, procedure, confidence)
            for measure, form in zip(chosen, forms, strict=True)
        ]
        uncovered = [
            remark_on_coverage(one, np.unique(lists.cut(form.depth).doc), frame)
            for one, form in zip(chosen, forms, strict=True)
        ]
    labeled = int(np.count_nonzero(~np.isnan(frame.labels).all(axis=0))) if machines else 0
    topics = frame.table.topics
    if frame.whole is not None:
        topics = tuple(topics[topic] for topic in frame.whole[1].tolist())
    return Estimation(
        runs=read.names, topics=topics, whole=None if frame.whole is None else len(frame.whole[0]),
        judges=tuple(one.judge for one in machines),
        described=tuple(one.described for one in machines), judged=len(frame.grades), frame=frame.size,
        labeled=labeled, outside=outside, estimates=tuple(made), confidence=confidence, procedure=procedure,
        remarks=(*filter(None, uncovered), *frame.remarks),
    )  # fmt: skip


def estimate_measure(
    measure: Measure,
    form: GainForm,
    lists: Lists,
    frame: Frame,
    highest: float,
    procedure: Procedure | None,
    confidence: float,
) -> MeasureEstimate:
    """Estimate one measure for all runs and pairs; without a procedure, no pair is tested."""
    cut = lists.cut(form.depth)
    weight = np.asarray(form.weight(cut.rank), np.float64)
    gains = form.gain(frame.grades)
    matter: Floats = np.bincount(cut.doc, weight**2, frame.size)[frame.sample.doc].astype(np.float64)
    nothing = np.zeros((frame.size, 0))
    alone, _ = _with(nothing, gains, matter, form, cut, weight, frame)
    columns = 0
    best = alone
    if len(frame.labels):
        indicators = label_indicators(frame.labels)
        best, columns = _with(indicators, gains, matter, form, cut, weight, frame)
    base_covariance = alone.covariance()
    covariance = best.covariance() if columns else base_covariance
    uncut = best.values.mean(axis=1)
    means = possible(measure, uncut)
    errors = np.sqrt(np.diag(covariance))
    tail = (1 + confidence) / 2
    reach = special.stdtrit(np.maximum(best.freedom(), 2), tail) * errors
    topics = lists.topics
    topic_reach = np.full(len(means), np.nan)
    if topics > 1:
        topic_error = best.values.std(axis=1, ddof=1) / np.sqrt(topics)
        topic_reach = special.stdtrit(topics - 1, tail) * topic_error
    machine_values = _at_face_value(form, cut, weight, frame, highest)
    pairs = all_pairs(lists.runs)
    variance = pair_variances(covariance)
    # A difference of two runs is nearly symmetric, so that its studentized error needs no wider quantile.
    pair_reach = special.stdtrit(max(len(gains) - columns - 1, 2), tail) * np.sqrt(variance)
    difference = uncut[pairs[:, 0]] - uncut[pairs[:, 1]]
    own, base = variance.sum(), pair_variances(base_covariance).sum()
    squares = (alone.spread**2).sum(axis=0)
    contribution = len(means) * squares - alone.spread.sum(axis=0) ** 2  # summed over pairs
    if not len(pairs):
        own, base, contribution = float(np.trace(covariance)), float(np.trace(base_covariance)), squares
    worth = 0.0
    if own > 0 and base > 0 and columns:
        worth = equal_effort(contribution, frame.sample.chance, own / base) - len(gains)
    # Other topics add to what is unknown: an estimate of that which says otherwise is an accident.
    topic_reach = np.where(topic_reach < reach, reach, topic_reach)
    (low, high), (topics_low, topics_high) = (interval(measure, means, one) for one in (reach, topic_reach))
    return MeasureEstimate(
        measure=measure, values=best.values, uncut=uncut, low=low, high=high,
        topics_low=topics_low, topics_high=topics_high, people=possible(measure, alone.values.mean(axis=1)),
        people_error=np.sqrt(np.diag(base_covariance)),
        machine=machine_values.mean(axis=1), machine_values=machine_values, covariance=covariance,
        pair_low=difference - pair_reach, pair_high=difference + pair_reach,
        tests=procedure.apply(best.values, pairs) if procedure and len(pairs) and topics > 1 else None,
        worth=worth,
    )  # fmt: skip


def _with(
    indicators: Floats,
    gains: Floats,
    matter: Floats,
    form: GainForm,
    lists: Lists,
    weight: Floats,
    frame: Frame,
) -> tuple[Estimates, int]:
    """Return the estimates with these predictors, and how many there are."""
    sample = frame.sample
    weights = (1 - sample.chance) / sample.chance**2 * matter
    predicted = predict(indicators, sample.doc, gains[:, None], weights)
    # Documents that could have been drawn, were not and are not listed must count like their listed peers.
    own = np.where(frame.listed[sample.doc], predicted.of_judged[:, 0], 0.0)
    whole = unbiased_gains(np.where(frame.listed, predicted.of_all[:, 0], 0.0), own, gains, sample)
    return _evaluate(form, lists, weight, whole, sample, gains - own), indicators.shape[1]


def _evaluate(
    form: GainForm, lists: Lists, weight: Floats, gains: Floats, sample: Sample, residual: Floats
) -> Estimates:
    if form.kind == "linear":
        return linear(lists, weight, gains, sample, residual)
    ranks = np.arange(1, int(lists.rank.max(initial=1)) + 1)
    return cascade(lists, form.weight(ranks), gains, sample, residual)


def _at_face_value(form: GainForm, lists: Lists, weight: Floats, frame: Frame, highest: float) -> Floats:
    """(run, topic): Return the values with the first machine's labels as grades."""
    if not len(frame.labels):
        return np.full((lists.runs, lists.topics), np.nan)
    gains = form.gain(np.nan_to_num(face_value(frame.labels[0], highest)))
    every = Sample(doc=np.empty(0, np.int64), chance=np.empty(0))
    return _evaluate(form, lists, weight, gains, every, np.empty(0)).values
