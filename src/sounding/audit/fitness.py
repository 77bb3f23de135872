"""Check whether a machine's labels are fit for use: agreement, ranking, significant pairs, favored runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.workers import Progress
from sounding.data.formats import run_sources
from sounding.data.labels import Labels, read_labels
from sounding.data.reading import Reading, map_runs
from sounding.data.tables import Qrels, Run
from sounding.estimate.by_topic import face_value
from sounding.estimate.calibration import MOST_LEVELS
from sounding.estimate.estimable import LINEAR, GainForm, form_of
from sounding.estimate.estimating import estimate
from sounding.estimate.estimators import Lists
from sounding.estimate.frame import Frame, build_frame, lists_of, pairs_of
from sounding.evaluate.evaluation import evaluate
from sounding.measures import Measure, parse_measures
from sounding.runs.align import apply_negative_policy, hold_judgments, hold_order, prepare
from sounding.runs.pairs import all_pairs
from sounding.statistics.assessor_agreement import (
    Bootstrap,
    Estimate,
    cohen_kappa,
    observed_agreement,
    weighted_kappa,
)
from sounding.statistics.contrasts import Contrasts, contrasts_over_topics, permuted_within_groups
from sounding.statistics.pairwise import Procedure
from sounding.statistics.rank_correlation import kendall_tau, tau_ap

Floats = NDArray[np.float64]

DEFAULT_MEASURES = ("P@10", "nDCG@10", "AP")
BEST = 10  # runs at the top
TO_CHECK = 10  # documents listed
MANY_TOPICS = 200
PERMUTED_DOCUMENTS, PERMUTATIONS = 40_000_000, (200, 2000)  # as many draws as documents allow, within limits
FEWEST_TOPICS = 6  # below, no arrangement of signs is rare enough


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """Agreement of a judge's ranking of the runs with people's, by one measure."""

    measure: Measure
    tau: float
    tau_ap: float
    tau_best: float  # among the first ten by people
    offset: float  # mean over runs of the value by labels minus that by people
    inside: int  # runs whose value by people is in the naive 95% interval from the labels
    runs: int
    significant: int = 0  # pairs, by labels
    false: int = 0  # of these: not significant by people, or reversed
    reversed: int = 0
    lost: int = 0  # significant by people, but not by labels
    by_people: int = 0  # significant by people
    pairs: int = 0  # 0: not compared, because people judged a sample only


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Check:
    """A document that would show whether a run is favored."""

    topic: str
    doc: str
    label: float
    grade: float  # NaN: not judged by people
    share: float  # of what all documents could contribute to the contrast of the run


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgeFitness:
    """All that is known about one judge."""

    labels: Labels
    documents: int  # labeled and judged
    scale: Floats  # people's grades
    levels: Floats  # labels
    confusion: Floats  # (grade, label): documents, weighted by one over their probability
    kappa: Estimate  # at the level
    weighted: Estimate  # with squared differences of grades
    agreement: Estimate  # share with the same relevance
    bias: Estimate  # of the mean: label minus grade, on people's scale
    fidelity: tuple[Fidelity, ...]
    favor: Contrasts | None  # None: too few topics or runs
    suspect: int  # the run with the strongest sign of favor; -1: none
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Fitness:
    """The result of `audit` with labels."""

    collection: str  # the file of the judgments
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    judges: tuple[JudgeFitness, ...]
    sampled: bool  # people judged a sample with known probabilities
    measure: Measure  # by which favor is measured
    level: float
    alpha: float
    policies: Policies
    remarks: tuple[str, ...]


def audit_labels(
    qrels: Any,
    runs: Any,
    labels: Any,
    measures: Any = None,
    *,
    judges: Sequence[str] = (),
    level: float = 1,
    alpha: float = 0.05,
    seed: int = 0,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Fitness:
    """Check whether the labels of each judge can stand in for people's judgments of these runs."""
    chosen = parse_measures(measures or DEFAULT_MEASURES, level=level)
    people = Reading(qrels_format=qrels_format).judgments(qrels, policies)
    machines = read_labels(labels, judges=judges)
    read = map_runs(
        lambda run: run, run_sources(runs), policies, run_format=run_format, jobs=jobs, progress=progress
    )
    if not read.results:
        raise DataError("no runs; give at least one")
    sampled = people.probabilities is not None or people.strata is not None
    linear = next((one for one in chosen if one.name in LINEAR), parse_measures(["P@10"], level=level)[0])
    named = [replace(run, name=name) for name, run in zip(read.names, read.results, strict=True)]
    hold_judgments(people)
    for run in named:
        hold_order(run, policies)
    remarks: list[str] = []
    made = [
        _judge(people, one, named, chosen, linear, level, alpha, seed, policies, sampled, remarks)
        for one in machines
    ]
    return Fitness(
        collection=people.source, runs=read.names, topics=people.topics, judges=tuple(made),
        sampled=sampled, measure=linear, level=level, alpha=alpha, policies=policies,
        remarks=tuple(dict.fromkeys(remarks)),
    )  # fmt: skip


def _judge(
    people: Qrels, labels: Labels, runs: Sequence[Run], measures: Sequence[Measure], linear: Measure,
    level: float, alpha: float, seed: int, policies: Policies, sampled: bool, remarks: list[str],
) -> JudgeFitness:  # fmt: skip
    frame = _common_frame(people, labels, policies, sampled=sampled)
    remarks += frame.remarks
    said = frame.labels[0]
    own = ~np.isnan(said[frame.sample.doc])
    if not own.any():
        raise DataError(f"{labels.judge}: no document has both a label and a judgment by people")
    highest = people.best_grade
    face = face_value(said, highest)
    doc, grade = frame.sample.doc[own], frame.grades[own]
    weight = 1 / frame.sample.chance[own]
    topic = np.repeat(np.arange(len(frame.table.topics)), frame.table.sizes)[doc]
    bootstrap = Bootstrap(alpha=alpha, seed=seed)
    pairs = _tables(grade >= level, face[doc] >= level, np.array([0.0, 1.0]), topic, weight)
    union = np.unique(np.concatenate([grade, np.rint(face[doc])]))
    graded = _tables(grade, np.rint(face[doc]), union, topic, weight)
    used = pairs.sum(axis=(1, 2)) > 0
    gap: Floats = np.stack(
        [np.bincount(topic, weight * (face[doc] - grade)), np.bincount(topic, weight)], axis=1
    )
    levels = _levels(said)
    scale = np.unique(grade)
    place = np.clip(np.searchsorted(levels, said[doc], side="right") - 1, 0, None)
    cells = np.searchsorted(scale, grade) * len(levels) + place
    confusion: Floats = np.bincount(cells, weight, len(scale) * len(levels)).astype(np.float64)
    fidelity = (
        _fidelity_of_sample(people, labels, runs, measures, level, policies, alpha)
        if sampled
        else _fidelity(people, labels, runs, measures, highest, alpha, seed, policies)
    )
    lists, _ = lists_of(runs, frame, policies)
    form = form_of(linear, prepare(frame.judgments, policies).judgments)
    favor, suspect, checks = _favor(frame, lists, form, highest=highest, alpha=alpha, seed=seed)
    return JudgeFitness(
        labels=labels, documents=int(own.sum()), scale=scale, levels=levels,
        confusion=confusion.reshape(len(scale), len(levels)),
        kappa=bootstrap.estimate(pairs, cohen_kappa, used, "chance alone gives full agreement"),
        weighted=bootstrap.estimate(
            graded, lambda tables: weighted_kappa(tables, union), used, "chance alone gives full agreement"
        ),
        agreement=bootstrap.estimate(pairs, observed_agreement, used, "no documents"),
        bias=bootstrap.estimate(gap, ratio_of, used, "no documents"),
        fidelity=fidelity, favor=favor, suspect=suspect, checks=checks,
    )  # fmt: skip


def ratio_of(sums: Floats) -> Floats:
    """(row,): Return the first column by the second."""
    return np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)


def _common_frame(people: Qrels, labels: Labels, policies: Policies, *, sampled: bool) -> Frame:
    """Return the frame of a sample, or of the documents that both people judged and the machine labeled."""
    if sampled:
        return build_frame(people, [labels], policies)
    judged = apply_negative_policy(people.grades, policies.negative) >= 0
    ours, theirs = pairs_of(people), pairs_of(labels.table)
    both = {pair for pair, own in zip(ours, judged.tolist(), strict=True) if own} & set(theirs)
    if not both:
        raise DataError(f"{labels.judge}: no document has both a label and a judgment by people")
    kept = people.keep(np.array([pair in both for pair in ours]))
    table = labels.table.keep(np.array([pair in both for pair in theirs]))
    return build_frame(kept, [replace(labels, table=table)], policies)


def _tables(first: Any, second: Any, scale: Floats, topic: NDArray[np.int64], weight: Floats) -> Floats:
    """(topic, grade, grade): Return weighted confusion tables."""
    size = len(scale)
    row, column = np.searchsorted(scale, first), np.searchsorted(scale, second)
    topics = int(topic.max()) + 1
    cells = np.bincount((topic * size + row) * size + column, weight, topics * size * size)
    return cells.reshape(topics, size, size).astype(np.float64)


def _levels(labels: Floats) -> Floats:
    """Return the distinct labels, or the lower ends of bins if there are many."""
    known = labels[~np.isnan(labels)]
    levels = np.unique(known)
    if len(levels) > MOST_LEVELS:
        levels = np.unique(np.quantile(known, np.arange(MOST_LEVELS) / MOST_LEVELS))
    return levels


# -- ranking -----------------------------------------------------------------------------------------


def _fidelity(
    people: Qrels, labels: Labels, runs: Sequence[Run], measures: Sequence[Measure], highest: float,
    alpha: float, seed: int, policies: Policies,
) -> tuple[Fidelity, ...]:  # fmt: skip
    """Compare the rankings by complete judgments with those by labels, and the significant pairs."""
    common = sorted(set(people.topics) & set(labels.table.topics))
    lenient = replace(policies, fractional="accept")
    machine_table = replace(labels.table, grades=face_value(labels.table.grades, highest), highest=highest)
    values = []
    for table in (people, machine_table):
        scores = evaluate(_of_topics(table, common), runs, list(measures), policies=lenient)
        values.append(scores.values)
    procedure = Procedure(alpha=alpha, seed=seed)
    made = []
    for number, measure in enumerate(measures):
        ours, theirs = values[0][:, number], values[1][:, number]
        one = _ranked(measure, ours.mean(axis=1), theirs.mean(axis=1), _naive_reach(theirs, alpha))
        pairs = all_pairs(len(runs))
        if len(pairs) and ours.shape[1] > 1:
            signs = []
            for own in (ours, theirs):
                tests = procedure.apply(own, pairs)
                gap = own.mean(axis=1)[pairs[:, 0]] - own.mean(axis=1)[pairs[:, 1]]
                signs.append(np.where(tests.p_adjusted <= alpha, np.sign(gap), 0))
            right, claimed = signs
            one = replace(
                one, pairs=len(pairs), significant=int((claimed != 0).sum()),
                by_people=int((right != 0).sum()), false=int(((claimed != 0) & (claimed != right)).sum()),
                reversed=int((claimed * right < 0).sum()), lost=int(((right != 0) & (claimed == 0)).sum()),
            )  # fmt: skip
        made.append(one)
    return tuple(made)


def _fidelity_of_sample(
    people: Qrels, labels: Labels, runs: Sequence[Run], measures: Sequence[Measure], level: float,
    policies: Policies, alpha: float,
) -> tuple[Fidelity, ...]:  # fmt: skip
    """Compare the ranking by labels with the estimates, for the measures that can be estimated."""
    known = [one for one in measures if one.name in LINEAR] or parse_measures(["P@10"], level=level)
    own = estimate(people, runs, known, labels=[labels], policies=policies, confidence=1 - alpha)
    return tuple(
        _ranked(one.measure, one.means, one.machine, _naive_reach(one.machine_values, alpha))
        for one in own.estimates
    )


def _of_topics(table: Qrels, topics: Sequence[str]) -> Qrels:
    wanted = set(topics)
    rows = np.repeat(np.array([topic in wanted for topic in table.topics]), table.sizes)
    kept = table.keep(rows)
    place = [number for number, topic in enumerate(kept.topics) if topic in wanted]
    starts = np.concatenate([[0], np.cumsum(kept.sizes[place])])
    return replace(kept, topics=tuple(kept.topics[number] for number in place), starts=starts)


def _naive_reach(values: Floats, alpha: float) -> Floats:
    """(run,): Return half the width of the t interval that believes the labels."""
    topics = values.shape[1]
    if topics < 2:
        return np.full(len(values), np.nan)
    return special.stdtrit(topics - 1, 1 - alpha / 2) * values.std(axis=1, ddof=1) / np.sqrt(topics)


def _ranked(measure: Measure, ours: Floats, theirs: Floats, reach: Floats) -> Fidelity:
    best = np.argsort(-ours, kind="stable")[:BEST]
    several = len(ours) > 1
    return Fidelity(
        measure=measure, tau=kendall_tau(ours, theirs) if several else np.nan,
        tau_ap=tau_ap(ours, theirs) if several else np.nan,
        tau_best=kendall_tau(ours[best], theirs[best]) if several else np.nan,
        offset=float((theirs - ours).mean()), inside=int((np.abs(theirs - ours) <= reach).sum()),
        runs=len(ours),
    )  # fmt: skip


# -- favor -------------------------------------------------------------------------------------------


class Favors(NamedTuple):
    """How much a judge's labels favor each run, and the parts of it."""

    by_topic: Floats  # (run, topic)
    contrast: Floats  # (run, document): how much more a document counts for the run than for the others
    generosity: Floats  # (document,): its label beyond the mean of its grade; NaN: not both known
    weights: Floats  # (run, judged): contrasts by probability, less the mean of documents with the same grade
    doc: NDArray[np.int64]  # (judged,)
    grade: NDArray[np.int64]  # (judged,) number of the grade

    def of_run(self, run: int) -> Favors:
        """Return those of one run only."""
        own = slice(run, run + 1)
        return self._replace(
            by_topic=self.by_topic[own], contrast=self.contrast[own], weights=self.weights[own]
        )

    def test(self, *, confidence: float = 0.95, seed: int = 0) -> Contrasts:
        """Test whether runs are favored, by two tests; the larger p counts.

        Flips of topics allow for generosity that differs by topic; permutations within grades are exact for a
        judge who sees nothing but the grade. With many topics, flips are as good as exact.
        """
        own = contrasts_over_topics(self.by_topic, confidence=confidence, seed=seed)
        if self.by_topic.shape[1] > MANY_TOPICS:
            return own
        draws = int(np.clip(PERMUTED_DOCUMENTS // len(self.doc), *PERMUTATIONS))
        scores = self.generosity[self.doc]
        found = permuted_within_groups(self.weights, scores, self.grade, draws=draws, seed=seed)
        p, adjusted = (
            np.maximum(one, other) for one, other in zip((own.p, own.p_adjusted), found, strict=True)
        )
        return replace(own, p=p, p_adjusted=adjusted)


def favors_of(frame: Frame, lists: Lists, form: GainForm, highest: float) -> Favors:
    """Return how much more a run's labels promise than those of others, with the same grades.

    A judge is fair if its labels depend on what people say of a document and on nothing that the run has to
    do with. So the contrast of a run sums, over judged documents, how much the label promises beyond the mean
    label of documents with the same grade, times how much more the document counts for the run than for the
    others. From these weights, too, the mean among documents with the same grade is taken off.
    """
    cut = lists.cut(form.depth)
    table = np.zeros((lists.runs, frame.size))
    np.add.at(table, (cut.run, cut.doc), np.asarray(form.weight(cut.rank), np.float64) / lists.topics)
    total = table.sum(axis=0)
    contrast = table - (total - table) / max(lists.runs - 1, 1)
    generosity = np.full(frame.size, np.nan)
    own = (~np.isnan(frame.labels[0][frame.sample.doc])).nonzero()[0]
    doc, chance = frame.sample.doc[own], frame.sample.chance[own]
    promised = form.gain(np.nan_to_num(face_value(frame.labels[0], highest)))[doc]
    _, grade = np.unique(frame.grades[own], return_inverse=True)
    onehot = np.zeros((len(doc), int(grade.max()) + 1))
    onehot[np.arange(len(doc)), grade] = 1 / chance
    share = onehot / onehot.sum(axis=0)
    generosity[doc] = promised - (promised @ share)[grade]
    centered = contrast[:, doc] - (contrast[:, doc] @ share)[:, grade]
    topic = np.repeat(np.arange(lists.topics), frame.table.sizes)[doc]
    each = centered * (generosity[doc] / chance * lists.topics)
    by_topic = np.array([np.bincount(topic, row, lists.topics) for row in each])
    return Favors(by_topic, contrast, generosity, centered / chance, doc, grade)


def _favor(
    frame: Frame, lists: Lists, form: GainForm, *, highest: float, alpha: float, seed: int
) -> tuple[Contrasts | None, int, tuple[Check, ...]]:
    """Test every run for favor; list the documents that would say most about the most suspect one."""
    if lists.runs < 2 or lists.topics < FEWEST_TOPICS:
        return None, -1, ()
    favors = favors_of(frame, lists, form, highest)
    contrast, generosity = favors.contrast, favors.generosity
    favor = favors.test(confidence=1 - alpha, seed=seed)
    suspect = int(np.lexsort((-favor.means, favor.p))[0])
    grade = np.full(frame.size, np.nan)
    grade[frame.sample.doc] = frame.grades
    promised = form.gain(np.nan_to_num(face_value(frame.labels[0], highest)))
    could = np.where(np.isnan(grade), np.maximum(contrast[suspect], 0) * promised, 0)
    if not could.any():  # all are judged: those that a second look should confirm
        could = np.maximum(contrast[suspect] * np.nan_to_num(generosity), 0)
    order = np.argsort(-could, kind="stable")[:TO_CHECK]
    order = order[could[order] > 0]
    topics = np.repeat(np.array(frame.table.topics, object), frame.table.sizes)
    docs = frame.table.docs[order].texts()
    return favor, suspect, tuple(
        Check(
            topic=topics[row], doc=doc, label=float(frame.labels[0, row]), grade=float(grade[row]),
            share=float(could[row] / could.sum()),
        )
        for row, doc in zip(order.tolist(), docs, strict=True)
    )  # fmt: skip
