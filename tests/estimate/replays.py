"""Draw samples of judgments from a collection that was judged completely, and count what intervals contain."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import special

import sounding
from sounding.core.arrays import NDArray
from sounding.core.policies import DEFAULT_POLICIES
from sounding.data.formats import read_qrels, read_runs
from sounding.data.labels import read_labels
from sounding.estimate.by_topic import TopicEstimates, estimate_topics, face_value, freedom, varies
from sounding.estimate.design import aimed_chances
from sounding.estimate.estimable import GainForm, form_of
from sounding.estimate.estimating import estimate_measure
from sounding.estimate.estimators import Lists, Sample, cascade, linear
from sounding.estimate.frame import Frame, build_frame, lists_of
from sounding.measures import parse
from sounding.runs.align import prepare
from sounding.runs.pairs import all_pairs
from sounding.statistics.pairwise import Procedure

Floats = NDArray[np.float64]
JUDGES = {"gpt-4": "gpt-4.umbrela", "gpt-4o": "gpt-4o.binary", "llama": "llama3.2.binary"}


class Coverage(NamedTuple):
    """How often intervals contained the truth, over runs or pairs and draws."""

    runs: Floats  # (run,)
    pairs: Floats  # (pair,)
    error: float  # root mean square error of pairs' differences
    run_draws: Floats  # (draw,) shares of the runs
    pair_draws: Floats  # (draw,) shares of the pairs
    worth: float  # median number of judgments that the labels were said to replace


def whole_frame(*judges: str) -> tuple[Frame, Lists]:
    """The whole of dl21-machine with the labels of these judges."""
    folder = Path(os.environ.get("SOUNDING_DATA", "../shared/data")) / "dl21-machine"
    qrels = read_qrels(folder / "qrels.nist.txt.gz")
    labels = [
        one for judge in judges
        for one in read_labels(folder / f"labels.{JUDGES[judge]}.txt.gz", judges=[judge])
    ]  # fmt: skip
    frame = build_frame(qrels, labels, DEFAULT_POLICIES)
    return frame, lists_of(read_runs([folder / "runs"]), frame, DEFAULT_POLICIES)[0]


def replay(
    name: str, frame: Frame, lists: Lists, size: int, draws: int, seed: int, *, topics: bool = False
) -> Coverage:
    """Sample `size` judgments `draws` times, estimate, and compare with the complete judgments.

    With `topics`, each draw has other topics, drawn with replacement, and the intervals are those for topics
    like these.
    """
    measure, procedure = parse(name), Procedure(test="t", correction="none") if topics else None
    form: GainForm = form_of(measure, prepare(frame.judgments, DEFAULT_POLICIES).judgments)
    truth = complete_values(form, frame, lists).mean(axis=1)
    pairs = all_pairs(lists.runs)
    difference = truth[pairs[:, 0]] - truth[pairs[:, 1]]
    chance = aimed_chances([form], lists, frame.size, size)
    rng = np.random.default_rng(seed)
    run_hits, pair_hits, squares = np.zeros(lists.runs), np.zeros(len(pairs)), 0.0
    run_draws, pair_draws, worth = np.empty(draws), np.empty(draws), np.empty(draws)
    for draw in range(draws):
        here, listed, chances = copied_topics(frame, lists, chance, rng) if topics else (frame, lists, chance)
        drawn = (rng.random(len(chances)) < chances).nonzero()[0]
        own = replace(here, sample=Sample(doc=drawn, chance=chances[drawn]), grades=here.grades[drawn])
        one = estimate_measure(measure, form, listed, own, 3.0, procedure, 0.95)
        low, high = (one.topics_low, one.topics_high) if topics else (one.low, one.high)
        pair_low, pair_high = one.pair_low, one.pair_high
        if one.tests is not None:
            pair_low, pair_high = one.tests.ci_low, one.tests.ci_high
        run_inside = (low <= truth) & (truth <= high)
        pair_inside = (pair_low <= difference + 1e-12) & (difference - 1e-12 <= pair_high)
        run_hits, pair_hits = run_hits + run_inside, pair_hits + pair_inside
        run_draws[draw], pair_draws[draw] = run_inside.mean(), pair_inside.mean()
        worth[draw] = one.worth
        off = one.differences - difference
        squares += float((off**2).mean())
    error = float(np.sqrt(squares / draws))
    return Coverage(
        run_hits / draws, pair_hits / draws, error, run_draws, pair_draws, float(np.median(worth))
    )


def complete_values(form: GainForm, frame: Frame, lists: Lists) -> Floats:
    """(run, topic): the values by the complete judgments."""
    cut = lists.cut(form.depth)
    every = Sample(doc=np.empty(0, np.int64), chance=np.empty(0))
    gains = form.gain(frame.grades)
    if form.kind == "linear":
        return linear(cut, np.asarray(form.weight(cut.rank), float), gains, every, np.empty(0)).values
    return cascade(cut, form.weight(np.arange(1, int(cut.rank.max()) + 1)), gains, every, np.empty(0)).values


class TopicCopies(Frame):
    """A frame whose topics are copies of those of another, each with its own sample."""

    @property
    def size(self) -> int:
        return len(self.listed)


def copied_topics(
    frame: Frame, lists: Lists, chance: Floats, rng: np.random.Generator
) -> tuple[Frame, Lists, Floats]:
    """As many topics as the frame has, drawn from them with replacement."""
    starts = frame.table.starts
    chosen = np.sort(rng.integers(lists.topics, size=lists.topics))
    sizes = np.diff(starts)[chosen]
    begin = np.concatenate([[0], np.cumsum(sizes)])
    docs = np.concatenate([np.arange(starts[topic], starts[topic + 1]) for topic in chosen])
    rows = [(lists.topic == topic).nonzero()[0] for topic in range(lists.topics)]
    picked = np.concatenate([rows[topic] for topic in chosen])
    copy = np.repeat(np.arange(len(chosen)), [len(rows[topic]) for topic in chosen])
    listed = replace(
        lists, run=lists.run[picked], topic=copy, rank=lists.rank[picked],
        doc=lists.doc[picked] - starts[chosen][copy] + begin[copy],
    )  # fmt: skip
    fields_of = {field.name: getattr(frame, field.name) for field in fields(frame)}
    copies = TopicCopies(
        **fields_of | {
            "labels": frame.labels[:, docs], "listed": frame.listed[docs], "grades": frame.grades[docs],
        }
    )  # fmt: skip
    return copies, listed, chance[docs]


def shuffled(frame: Frame, seed: int = 0) -> Frame:
    """The frame with labels that mean nothing."""
    order = np.random.default_rng(seed).permutation(frame.size)
    return replace(frame, labels=frame.labels[:, order])


def first_ranks(frame: Frame, lists: Lists, depth: int) -> tuple[Frame, Lists]:
    """Only the documents among the first `depth` of some run."""
    cut = lists.cut(depth)
    used = np.unique(cut.doc)
    table = replace(frame.table, starts=np.searchsorted(used, frame.table.starts))
    fields_of = {field.name: getattr(frame, field.name) for field in fields(frame)}
    short = TopicCopies(
        **fields_of | {
            "table": table, "labels": frame.labels[:, used], "listed": frame.listed[used],
            "grades": frame.grades[np.searchsorted(frame.sample.doc, used)],
        }
    )  # fmt: skip
    return short, replace(cut, doc=np.searchsorted(used, cut.doc))


ERRORS = ("independent", "by topic", "by run")


def simulated_labels(frame: Frame, lists: Lists, errors: str, rate: float, seed: int = 1) -> Floats:
    """(1, document): labels that are people's grades, but for errors.

    Errors by topic have a rate and a direction of their own in each topic. Errors by run lift documents in the
    first ten of an eighth of the runs.
    """
    rng, size, top = np.random.default_rng(seed), frame.size, float(frame.grades.max())
    topic = np.repeat(np.arange(lists.topics), np.diff(frame.table.starts))
    other = rng.integers(0, int(top), size)
    other = np.where(other >= frame.grades, other + 1, other)
    chance = np.full(size, rate)
    if errors == "by topic":
        chance = np.clip(rng.beta(1, 1 / rate - 1, lists.topics), 0, 0.9)[topic]
        step = np.where(rng.random(lists.topics) < 0.7, 1, -1)[topic]
        other = np.clip(frame.grades + step, 0, top)
    elif errors == "by run":
        liked = rng.choice(lists.runs, max(1, lists.runs // 8), replace=False)
        lifted = np.zeros(size, np.bool_)
        lifted[lists.doc[np.isin(lists.run, liked) & (lists.rank <= 10)]] = True
        chance = np.where(lifted, 3 * rate, rate / 2)
        other = np.where(lifted, np.minimum(frame.grades + 1, top), other)
    return np.where(rng.random(size) < chance, other, frame.grades)[None].astype(np.float64)


def reranked(frame: Frame, lists: Lists, run: int) -> Lists:
    """The lists with one run in the order of the first machine's labels."""
    own = (lists.run == run).nonzero()[0]
    own = own[np.lexsort((lists.rank[own], lists.topic[own]))]
    label = np.nan_to_num(frame.labels[0][lists.doc[own]], nan=-1)
    doc = lists.doc.copy()
    doc[own] = lists.doc[own][np.lexsort((lists.rank[own], -label, lists.topic[own]))]
    return replace(lists, doc=doc)


class TopicCoverage(NamedTuple):
    """Shares of 95% intervals that contain the truth, one number for each draw; mean squared errors."""

    runs: Floats
    pairs: Floats
    error: float
    alone: float


@cache
def topic_values(measure: str, judge: str) -> tuple[Floats, Floats]:
    """(run, topic): the values on dl21-machine by people, and by a machine's labels at face value."""
    folder = Path(os.environ.get("SOUNDING_DATA", "../shared/data")) / "dl21-machine"
    people = read_qrels(folder / "qrels.nist.txt.gz")
    table = read_labels(folder / f"labels.{judge}.txt.gz", judges=[judge])[0].table
    highest = float(people.grades.max())
    labels = replace(table, grades=face_value(table.grades, highest), highest=highest)
    found = [sounding.evaluate(one, folder / "runs", [measure]).values[:, 0] for one in (people, labels)]
    return found[0], found[1]


def replay_topics(
    truth: Floats, labeled: Floats, size: int, draws: int, *, shuffle: bool = False
) -> TopicCoverage:
    rng = np.random.default_rng(17)
    complete = truth.mean(axis=1)
    a, b = np.triu_indices(len(truth), 1)
    runs, pairs, squares = [], [], np.zeros(2)
    for _ in range(draws):
        judged = np.sort(rng.choice(truth.shape[1], size, replace=False))
        said = labeled[:, rng.permutation(truth.shape[1])] if shuffle else labeled
        own = estimate_topics(said[None], judged, truth[:, judged])
        off = own.means - complete
        runs.append(_covers(off, own.error, own)[varies(truth[:, judged])].mean())
        usable = varies(truth[a][:, judged] - truth[b][:, judged])
        pairs.append(_covers(off[a] - off[b], own.error[a] - own.error[b], own)[usable].mean())
        alone = truth[:, judged].mean(axis=1) - complete
        squares += ((off[a] - off[b]) ** 2).mean(), ((alone[a] - alone[b]) ** 2).mean()
    return TopicCoverage(np.array(runs), np.array(pairs), *np.sqrt(squares / draws).tolist())


def _covers(off: Floats, error: Floats, own: TopicEstimates) -> NDArray[np.bool_]:
    variance = (1 - own.share) * error.var(axis=1, ddof=1) / error.shape[1]
    return np.abs(off) <= special.stdtrit(freedom(error), 0.975) * np.sqrt(variance) + 1e-12
