"""Estimate any measure from topics that people judged whole, and labels on all topics.

The judged topics are a simple random sample of the labeled topics. The value of a run on a judged topic is by
people. On the other topics it is predicted from the values by labels, and the mean error of the predictions
on judged topics corrects it. No topic helps to predict itself, so the estimate is unbiased for any measure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.core.text import plural, quote
from sounding.data.labels import Labels
from sounding.data.tables import Qrels, Run
from sounding.estimate.calibration import Floats, Places
from sounding.estimate.estimable import fewest_topics, topics_to_judge
from sounding.estimate.frame import Frame
from sounding.estimate.result import MeasureEstimate, interval, possible
from sounding.evaluate.evaluation import evaluate
from sounding.measures import Measure
from sounding.runs.pairs import KnownLimits, all_pairs
from sounding.statistics.pairwise import PairTests, Procedure
from sounding.statistics.testing import MAX_T, PERMUTATIONS

# -- arrays in, arrays out ---------------------------------------------------------------------------

TINY = 1e-9  # below this share of a coefficient, its error is rounding
VARIED = 3
BATCH = 1000  # draws at once
DECIMALS = 9  # to which values count as equal


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TopicEstimates:
    """Predictions for every topic, and their errors on the judged ones."""

    topics: int  # labeled
    predicted: Floats  # (run, topic)
    judged: Places  # (judged topic,) numbers among the topics
    truth: Floats  # (run, judged topic) by people
    error: Floats  # (run, judged topic) by people minus predicted

    @property
    def share(self) -> float:
        """Return the share of topics that people judged."""
        return len(self.judged) / self.topics

    @property
    def means(self) -> Floats:
        """Return (run,): the estimated means over all topics."""
        return self.predicted.mean(axis=1) + self.error.mean(axis=1)

    def covariance(self) -> Floats:
        """(run, run): Return the covariances of the means on these topics, over samples of topics."""
        return (1 - self.share) / len(self.judged) * _covariance(self.error)

    def topics_covariance(self) -> Floats:
        """(run, run): Return the covariances of the means for topics like these: two-phase sampling."""
        factors = self.deviations()
        return factors @ factors.T

    def deviations(self) -> Floats:
        """(run, part): Return factors whose products sum to `topics_covariance`."""
        size = len(self.judged)
        scale = (1 - self.share) / size, 1 / self.topics
        parts = [
            np.sqrt(share / max(size - 1, 1)) * (own - own.mean(axis=1, keepdims=True))
            for share, own in zip(scale, (self.error, self.truth), strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def values(self) -> Floats:
        """(run, topic): Return values whose means are the estimates, and whose spread over topics is theirs.

        Errors of judged topics count for the topics that nobody judged.
        """
        mean = self.error.mean(axis=1, keepdims=True)
        values = self.predicted + mean
        values[:, self.judged] += (self.error - mean) / self.share
        return values


def largest_t(own: TopicEstimates, statistics: Floats, procedure: Procedure) -> Floats:
    """(pair,): Return p-values for the largest t of all pairs, by draws from the runs' joint distribution."""
    factors, size = own.deviations(), len(own.judged)
    rng, draws = np.random.default_rng(procedure.seed), procedure.permutations or PERMUTATIONS
    pairs = all_pairs(len(factors))
    error = np.sqrt(pair_variances(factors @ factors.T))
    scale = np.divide(1, error, out=np.zeros(len(pairs)), where=error > TINY)
    largest: Floats = np.zeros(draws)
    for start in range(0, draws, BATCH):
        count = min(BATCH, draws - start)
        drawn = factors @ rng.standard_normal((factors.shape[1], count))
        drawn /= np.sqrt(rng.chisquare(size - 1, count) / (size - 1))
        for run in range(len(factors) - 1):  # pairs are in the order of their first run
            rows = slice(
                run * (2 * len(factors) - run - 1) // 2, (run + 1) * (2 * len(factors) - run - 2) // 2
            )
            gaps = np.abs(drawn[run] - drawn[run + 1 :]) * scale[rows, None]
            np.maximum(largest[start : start + count], gaps.max(axis=0), out=largest[start : start + count])
    above = draws - np.searchsorted(np.sort(largest), np.abs(statistics) - TINY)
    shares: Floats = (1 + above) / (1 + draws)
    return shares


def freedom(error: Floats) -> Floats:
    """(row,): Return the degrees of freedom of the variances of the rows, after Satterthwaite."""
    squares = (error - error.mean(axis=1, keepdims=True)) ** 2
    fourth = np.maximum((squares**2).sum(axis=1), np.finfo(np.float64).tiny)
    return np.clip(2 * squares.sum(axis=1) ** 2 / fourth, 2, max(error.shape[1] - 1, 2))


def varies(values: Floats) -> NDArray[np.bool_]:
    """(row,): Return whether at least VARIED values of each row differ from its most frequent value.

    Otherwise their spread says too little about the topics that nobody judged.
    """
    ordered = np.sort(np.round(values, DECIMALS), axis=1)
    same = np.ones(len(values), np.int64)  # length of the current stretch of equal values
    longest = same.copy()
    for before, after in zip(ordered.T[:-1], ordered.T[1:], strict=True):
        same = np.where(before == after, same + 1, 1)
        longest = np.maximum(longest, same)
    return values.shape[1] - longest >= VARIED


def _covariance(values: Floats) -> Floats:
    centered = values - values.mean(axis=1, keepdims=True)
    return centered @ centered.T / max(values.shape[1] - 1, 1)


def estimate_topics(labeled: Floats, judged: Places, truth: Floats) -> TopicEstimates:
    """Predict the values of all topics from those by labels.

    `labeled` is (judge, run, topic), without judges if people are to be used alone; `truth` is (run, judged).
    How hard a topic is for all runs, and how runs differ on it, have coefficients of their own.
    """
    topics = labeled.shape[2]
    predicted = np.zeros((len(truth), topics))
    if len(judged) == topics:
        predicted[:, judged] = truth
    elif len(labeled):
        centered = labeled - labeled.mean(axis=2, keepdims=True)
        hard = centered.mean(axis=1, keepdims=True)
        # A topic is one observation of how hard it is: too few for a coefficient of each judge.
        features = hard.mean(axis=0, keepdims=True), centered - hard
        own = np.zeros_like(truth)
        means = [np.zeros(len(feature)) for feature in features]
        for place, topic in enumerate(judged.tolist()):
            others = np.delete(np.arange(len(judged)), place)
            found = _coefficients([feature[:, :, judged[others]] for feature in features], truth[:, others])
            for mean, one, feature in zip(means, found, features, strict=True):
                own[:, place] += one @ feature[:, :, topic]
                mean += one / len(judged)
        for mean, feature in zip(means, features, strict=True):
            predicted += np.tensordot(mean, feature, 1)
        predicted[:, judged] = own
    return TopicEstimates(
        topics=topics, predicted=predicted, judged=judged, truth=truth, error=truth - predicted[:, judged]
    )  # fmt: skip


def _coefficients(features: Sequence[Floats], truth: Floats) -> tuple[Floats, Floats]:
    """Return coefficients of both features of these topics for how far values are from the runs' means."""
    known = truth - truth.mean(axis=1, keepdims=True)
    together = known.mean(axis=0, keepdims=True)
    hard, apart = (feature - feature.mean(axis=2, keepdims=True) for feature in features)
    return shrunken_coefficients(hard, together), shrunken_coefficients(apart, known - together)


def shrunken_coefficients(features: Floats, target: Floats) -> Floats:
    """(feature,): Return least-squares coefficients, shrunken by their errors with topics as clusters.

    `features` is (feature, row, topic), `target` (row, topic). Coefficients that topics do not support are 0
    (Stein's positive part).
    """
    count, _, topics = features.shape
    gram = np.einsum("iat,jat->ij", features, features)
    inverse = np.linalg.pinv(gram)
    found: Floats = inverse @ np.einsum("iat,at->i", features, target)
    size = float(found @ found)
    if topics <= count + 1 or size == 0:
        return np.zeros(count)
    rest = target - np.tensordot(found, features, 1)
    if len(target) == 1:
        error = inverse * float((rest**2).sum()) / (topics - count - 1)
    else:
        score = np.einsum("iat,at->it", features, rest)
        error = inverse @ (score @ score.T) @ inverse * (topics / (topics - count))
    wald = float(found @ np.linalg.solve(error + TINY * size * np.eye(count), found))
    return found * max(0.0, 1 - count / wald)


# -- measures of runs --------------------------------------------------------------------------------


def face_value(labels: Floats, highest: float) -> Floats:
    """(document,): Return labels as grades, stretched to the highest grade of people if they end below it."""
    best = np.nanmax(labels, initial=0.0)
    return np.maximum(labels, 0) * (highest / best if 0 < best < highest else 1.0)


def estimate_by_topic(
    measures: Sequence[Measure],
    frame: Frame,
    runs: Sequence[Run],
    machines: Sequence[Labels],
    policies: Policies,
    highest: float,
    procedure: Procedure | None,
    confidence: float,
) -> list[MeasureEstimate]:
    """Estimate measures for all runs and pairs from the topics that were judged whole."""
    if frame.whole is None:
        raise ValueError("documents were sampled, not topics")
    judged, every = frame.whole
    for measure in measures:
        _check_measure(measure, len(judged), len(every), frame)
    names = [frame.table.topics[topic] for topic in every.tolist()]
    place = np.searchsorted(every, judged)
    truth = _values(frame.judgments, runs, measures, [names[topic] for topic in place.tolist()], policies)
    for number, measure in enumerate(measures):
        if np.isnan(truth[:, number]).any():
            run, topic = np.argwhere(np.isnan(truth[:, number]))[0].tolist()
            raise DataError(
                f"{measure} has no value for run {quote(runs[run].name)} on topic {names[place[topic]]};"
                " leave out the topic or the measure"
            )
    lenient = replace(policies, fractional="accept")
    tables = [
        replace(one.table, grades=face_value(one.table.grades, highest), highest=highest) for one in machines
    ]
    labeled = np.array([_values(table, runs, measures, names, lenient) for table in tables]).reshape(
        len(tables), len(runs), len(measures), len(names)
    )
    documents = len(frame.grades)
    return [
        _measure_estimate(
            measure, labeled[:, :, number], place, truth[:, number], documents, procedure, confidence
        )
        for number, measure in enumerate(measures)
    ]


def _check_measure(measure: Measure, judged: int, topics: int, frame: Frame) -> None:
    """Raise an error if no valid interval is known for this measure with so few topics."""
    if measure.definition.aggregate != "mean":
        raise DataError(f"{measure} is no mean over topics; only means can be estimated")
    least, others = fewest_topics(measure)
    if judged == topics or (judged >= least and topics - judged >= others):
        return
    needed = topics_to_judge(measure, topics) if judged < least else topics
    asked = f"judge all {topics}" if needed == topics else f"judge at least {needed}"
    more = (needed - judged) * len(frame.table.docs) / len(frame.table.topics)
    raise DataError(
        f"{measure}: people judged {judged} of {plural(topics, 'labeled topic')} whole, from which no valid"
        f" interval is known; {asked} (about {round(more):,} more judgments)"
    )


def _values(
    table: Qrels, runs: Sequence[Run], measures: Sequence[Measure], topics: Sequence[str], policies: Policies
) -> Floats:
    """(run, measure, topic): Evaluate the runs on these topics; NaN where a topic is not in the table."""
    scores = evaluate(table, list(runs), list(measures), policies=policies)
    number = {topic: place for place, topic in enumerate(scores.topics)}
    known = [place for place, topic in enumerate(topics) if topic in number]
    values = np.full((len(runs), len(measures), len(topics)), np.nan)
    values[:, :, known] = scores.values[:, :, [number[topics[place]] for place in known]]
    return values


def _measure_estimate(
    measure: Measure, labeled: Floats, judged: Places, truth: Floats, documents: int,
    procedure: Procedure | None, confidence: float,
) -> MeasureEstimate:  # fmt: skip
    runs, topics = labeled.shape[1:]
    count = np.maximum((~np.isnan(labeled)).sum(axis=2, keepdims=True), 1)
    filled = np.where(np.isnan(labeled), np.nansum(labeled, axis=2, keepdims=True) / count, labeled)
    own = estimate_topics(filled, judged, truth)
    alone = estimate_topics(filled[:0], judged, truth)
    tail, size = (1 + confidence) / 2, len(judged)
    means, covariance = possible(measure, own.means), own.covariance()
    variance, base = pair_variances(covariance), pair_variances(alone.covariance())
    usable, pairs_usable = np.ones(runs, np.bool_), np.ones(len(variance), np.bool_)
    reach: Floats = np.zeros(runs)
    pair_reach: Floats = np.zeros(len(variance))
    pairs = all_pairs(runs)
    if size < topics:
        usable, pairs_usable = varies(truth), _of_pairs(varies, truth).astype(np.bool_)
        reach = _quantile(tail, freedom(own.error)) * np.sqrt(np.diag(covariance))
        pair_reach = _quantile(tail, _of_pairs(freedom, own.error)) * np.sqrt(variance)
    wide = own.topics_covariance()
    quantile = special.stdtrit(size - 1, tail) if size > 1 else np.nan
    topic_reach = np.where(usable, quantile * np.sqrt(np.diag(wide)), np.nan)
    reach, pair_reach = np.where(usable, reach, np.nan), np.where(pairs_usable, pair_reach, np.nan)
    difference = own.means[pairs[:, 0]] - own.means[pairs[:, 1]]
    tests = None
    if procedure and len(pairs) and size > 1:
        tests = procedure.apply(own.values(), pairs)
        if size < topics:
            tests = _two_phase(tests, own, difference, pairs_usable, procedure)
    gain, before = (
        (variance.sum(), base.sum()) if len(pairs) else (covariance.sum(), alone.covariance().sum())
    )
    worth = 0.0
    if gain > 0 and before > 0 and len(labeled):
        worth = documents * (equal_topics(size, topics, gain / before) / size - 1)
    first = labeled[0] if len(labeled) else np.full((runs, topics), np.nan)
    # Other topics add to what is unknown: an estimate of that which says otherwise is an accident.
    topic_reach = np.where(topic_reach < reach, reach, topic_reach)
    (low, high), (topics_low, topics_high) = (interval(measure, means, one) for one in (reach, topic_reach))
    return MeasureEstimate(
        measure=measure, values=own.values(), uncut=own.means, low=low, high=high,
        topics_low=topics_low, topics_high=topics_high, people=possible(measure, alone.means),
        people_error=np.sqrt(np.diag(alone.covariance())), machine=first.mean(axis=1), machine_values=first,
        covariance=covariance, pair_low=difference - pair_reach, pair_high=difference + pair_reach,
        tests=tests, worth=worth,
    )  # fmt: skip


def equal_topics(judged: int, topics: int, share: float) -> float:
    """Return how many of these topics must be judged to bring the variance of their mean down to a share."""
    return 1 / (1 / topics + (1 / judged - 1 / topics) * share)


def _quantile(tail: float, freedom: Floats) -> Floats:
    quantiles: Floats = special.stdtrit(freedom, tail).astype(np.float64)
    return quantiles


def _two_phase(
    tests: PairTests, own: TopicEstimates, difference: Floats, usable: NDArray[np.bool_], procedure: Procedure
) -> PairTests:
    """Return the tests with the error of two stages: topics are a sample, and so are the judged ones."""
    df = len(own.judged) - 1
    error = np.sqrt(pair_variances(own.topics_covariance()))
    statistics = np.divide(difference, error, out=np.zeros(len(error)), where=error > TINY)
    half = np.where(usable, special.stdtrit(df, 1 - procedure.alpha / 2) * error, np.nan)
    p = np.where(usable, np.minimum(2 * special.stdtr(df, -np.abs(statistics)), 1), np.nan)
    adjusted = np.where(usable, largest_t(own, statistics, procedure), np.nan)
    return replace(
        tests, p=p, p_adjusted=np.maximum(p, adjusted), test="t", correction=MAX_T,
        limits=KnownLimits(np.stack([difference - half, difference + half])),
        method="t with the errors of both stages; correction for the largest t of all pairs, by draws",
    )  # fmt: skip


def _of_pairs(function: Callable[[Floats], NDArray[Any]], values: Floats) -> Floats:
    """(pair,): Apply a function of rows to the differences of all pairs of rows."""
    parts = [function(values[run] - values[run + 1 :]) for run in range(len(values) - 1)]
    return np.concatenate([np.empty(0), *parts])


def pair_variances(covariance: Floats) -> Floats:
    """(pair,): Return the variances of the differences of all pairs."""
    pairs = all_pairs(len(covariance))
    one, other = pairs[:, 0], pairs[:, 1]
    own = np.diag(covariance)
    return np.maximum(own[one] + own[other] - 2 * covariance[one, other], 0.0)
