"""Estimate how likely an unjudged document is to be relevant: priors by name, for one run or all runs.

A prior is first fitted to the judgments (and, if it uses ranks, to the given runs). For one run, the result
is a likelihood that assigns a probability to every unjudged document; `chances` combines these with the
judgments. For the documents of all runs, `document_prior` returns what a judging session learns from. A new
prior needs a name in `parse_prior`, a line in `Prior.fitted` and one in `document_prior`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import ChoiceError, DataError, UnknownNameError
from sounding.core.policies import ANY_GRADES, DEFAULT_POLICIES, Policies
from sounding.data.assembly import checked_numbers, qrels_of
from sounding.data.columns import Records, line_numbers
from sounding.data.fast.fields import split_fields
from sounding.data.fast.keys import PairTable
from sounding.data.problems import Problems
from sounding.data.sources import Content, read_content
from sounding.data.tables import Places, Qrels, Run
from sounding.relevance.model import Belief, DocumentPrior, DrawnOdds, Evidence, Features, RunWeights
from sounding.runs.align import Judged, order_documents
from sounding.runs.ranking import Counts, Ranking, Values
from sounding.runs.retrieved import Retrieved
from sounding.runs.topic_lists import TopicLists

# smoothing adds this many judged documents, relevant at the common rate
SMOOTHING = 10.0
PROBABILITIES_SHAPE = "topic doc probability"

DEFAULT = "runs"  # the default of a session: the model that learns how much to trust each run
_FILE = "file"
_ANY = "*"  # in a file of probabilities: every document, or every topic


@dataclass(frozen=True, slots=True)
class Prior:
    """A named way to estimate how likely unjudged documents are to be relevant."""

    name: str  # as users write it
    kind: str  # the name itself, or `number` or `file`
    probability: float = math.nan  # for a number

    def fitted(self, judged: Judged, rankings: Iterable[Ranking], level: float = 1) -> Likelihood:
        """Fit the prior to judgments and rankings; each ranking is read once."""
        if not level > 0:
            raise DataError(
                f"level {level:g} makes every judged document relevant, so there is nothing to estimate;"
                " give a grade above 0"
            )
        judgments = judged.judgments
        if self.kind == "rank":
            return Likelihood(self.name, level, partial(_by_rank, _rates_by_rank(rankings, level)))
        if self.kind == _FILE:
            return Likelihood(self.name, level, _ProbabilityFile.of(self.name, judged).probabilities)
        rates = np.full(len(judgments.topics), self.probability)
        if self.kind == "rate":
            rates = smoothed_rates(judgments.relevant(level), judgments.judged)
        return Likelihood(self.name, level, partial(_by_topic, rates))


def parse_prior(text: str, *, of_runs: bool = False) -> Prior:
    """Return the prior of this name: a number from 0 to 1, `rate`, `rank`, or a file of probabilities.

    With `of_runs` also `runs`, which needs the documents of all runs at once.
    """
    names = ["rate", "rank", *([DEFAULT] if of_runs else [])]
    if text in names:
        return Prior(text, text)
    try:
        number = float(text)
    except ValueError:
        if not Path(text).is_file():
            known = ["a number from 0 to 1", *names, "a file of probabilities"]
            raise UnknownNameError("prior", text, known) from None
        return Prior(text, _FILE)
    if not 0 <= number <= 1:
        raise ChoiceError(f"prior {number:g} is not a probability; give a number from 0 to 1")
    return Prior(f"{number:g}", "number", number)


def smoothed_rates(relevant: Counts, judged: Counts) -> Values:
    """Return rates of relevance, smoothed toward the common rate.

    With r of n judged documents relevant it is (r + 10 m) / (n + 10), m = (sum of r + 0.5) / (sum of n + 1):
    never 0 and never 1. Judged documents are mostly those that systems ranked high, so the rate is too high
    rather than too low for documents further down.
    """
    common = (relevant.sum() + 0.5) / (judged.sum() + 1)
    return (relevant + SMOOTHING * common) / (judged + SMOOTHING)


def rank_bin(rank: Counts) -> Counts:
    """Return the bin of a rank: 0 for rank 1, 1 for 2, 2 for 3 and 4, 3 for 5 to 8, ..."""
    return np.frexp((rank - 1).astype(np.float64))[1].astype(np.int64)


def never_rising(rates: Values, weights: NDArray[np.floating]) -> Values:
    """Return the closest rates (weighted least squares) that never rise; rising neighbors are averaged."""
    pools: list[tuple[float, float, int]] = []  # rate, weight, count
    for rate, weight in zip(rates.tolist(), weights.tolist(), strict=True):
        size = 1
        while pools and pools[-1][0] < rate:
            other, other_weight, other_size = pools.pop()
            rate = (rate * weight + other * other_weight) / (weight + other_weight)
            weight, size = weight + other_weight, size + other_size
        pools.append((rate, weight, size))
    return np.repeat([rate for rate, _, _ in pools], [size for _, _, size in pools])


# -- one run ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Outside:
    """Unjudged documents that a run did not retrieve and that may be relevant; similar ones are grouped."""

    topic: Counts
    probability: Values
    count: Counts

    def joined(self, other: Outside) -> Outside:
        """Return the documents of both."""
        return Outside(
            np.concatenate([self.topic, other.topic]),
            np.concatenate([self.probability, other.probability]),
            np.concatenate([self.count, other.count]),
        )

    def merged(self) -> Outside:
        """Merge documents with the same probability into one row, by topic and rising probability."""
        order = np.lexsort((self.probability, self.topic))
        topic, probability = self.topic[order], self.probability[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (topic[1:] != topic[:-1]) | (probability[1:] != probability[:-1])
        count = np.zeros(np.count_nonzero(new), np.int64)
        np.add.at(count, np.cumsum(new) - 1, self.count[order])
        return Outside(topic[new], probability[new], count)

    @staticmethod
    def each(topic: Counts, probability: Values) -> Outside:
        """Create documents that are not grouped."""
        return Outside(topic, probability, np.ones(len(topic), np.int64))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Chances:
    """The probability that each document is relevant: every retrieved one, and those outside the run.

    Rows are the retrieved documents by topic and rank. Documents are relevant independently of each other; an
    unjudged one that turns out relevant has the grade `level`.
    """

    prior: str
    level: float  # the lowest grade that counts as relevant
    topic: Counts  # (row,)
    rank: Counts  # (row,) from 1
    grade: Values  # (row,) NaN: not judged
    probability: Values  # (row,) 0 or 1 if judged
    elsewhere: Counts  # (topic,) documents judged relevant that were not retrieved
    outside: Outside

    @property
    def unjudged(self) -> NDArray[np.bool_]:
        """Return which rows have no judgment."""
        return np.isnan(self.grade)


@dataclass(frozen=True, slots=True, eq=False)
class UnjudgedRows:
    """The unjudged documents that a run retrieved for judged topics, by topic and rank."""

    run: Run
    ranking: Ranking
    policies: Policies
    topic: Counts
    rank: Counts

    def rows(self) -> Places:
        """Return the row of each document in the run's table."""
        first = np.cumsum(self.ranking.retrieved) - self.ranking.retrieved
        return _in_rank_order(self.run, self.ranking, self.policies)[first[self.topic] + self.rank - 1]


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """A prior fitted to the judgments, which assigns probabilities to documents."""

    name: str  # the name of the prior
    level: float  # the lowest grade that counts as relevant
    # Returns the probability of each of these documents, and those of documents that were not retrieved. The
    # counts are how many of the latter each topic has; a file that names them ignores the counts.
    probabilities: Callable[[UnjudgedRows, Counts], tuple[Values, Outside]]


def chances(
    run: Run,
    ranking: Ranking,
    likelihood: Likelihood,
    *,
    outside: Counts | None = None,
    policies: Policies = DEFAULT_POLICIES,
) -> Chances:
    """Combine likelihood and judgments for every document of a run, which `ranking` holds aligned.

    `outside` counts, for every topic, the unjudged documents that are not in the ranking but may be relevant.
    """
    topics = len(ranking.topics)
    topic = np.repeat(np.arange(topics), ranking.retrieved)
    first = np.cumsum(ranking.retrieved) - ranking.retrieved
    rank = np.arange(1, len(topic) + 1) - first[topic]
    grade = np.full(len(topic), np.nan)
    grade[first[ranking.topic] + ranking.rank - 1] = ranking.grade
    unknown = np.isnan(grade)
    relevant = grade >= likelihood.level
    probability = relevant.astype(np.float64)
    documents = UnjudgedRows(run, ranking, policies, topic[unknown], rank[unknown])
    counts = np.zeros(topics, np.int64) if outside is None else outside
    probability[unknown], around = likelihood.probabilities(documents, counts)
    return Chances(
        prior=likelihood.name, level=likelihood.level,
        topic=topic, rank=rank, grade=grade, probability=probability,
        elsewhere=ranking.relevant(likelihood.level) - np.bincount(topic[relevant], minlength=topics),
        outside=around,
    )  # fmt: skip


def _in_rank_order(run: Run, ranking: Ranking, policies: Policies) -> Places:
    """Return the rows of all documents of a ranking, by topic and rank."""
    place = {text: number for number, text in enumerate(ranking.topics)}
    number_of = np.array([place.get(text, -1) for text in run.topics], np.int64)
    run_topic = np.repeat(np.arange(len(run.topics)), run.sizes)
    rows = (number_of[run_topic] >= 0).nonzero()[0]
    run_topic = run_topic[rows]
    positions, _ = order_documents(run, rows, policies)
    topic = number_of[run_topic]
    order = np.lexsort((positions, topic))
    rank = positions - run.starts[run_topic] + 1
    return rows[order[rank[order] <= ranking.retrieved[topic[order]]]]


def _by_topic(rates: Values, documents: UnjudgedRows, outside: Counts) -> tuple[Values, Outside]:
    """Assign the same probability to all unjudged documents of a topic: `rates` are (topic,)."""
    return rates[documents.topic], _same_rate(rates, outside)


def _same_rate(rates: Values, counts: Counts) -> Outside:
    """Group the given number of documents of each topic, with the topic's rate."""
    topic = counts.nonzero()[0]
    return Outside(topic, rates[topic], counts[topic])


def _by_rank(rates: Values, documents: UnjudgedRows, outside: Counts) -> tuple[Values, Outside]:
    """Assign probabilities by rank: `rates` are (bin,), see rank_bin, and never rise."""
    retrieved = rates[np.minimum(rank_bin(documents.rank), len(rates) - 1)]
    return retrieved, _same_rate(np.full(len(outside), rates[-1]), outside)


def _rates_by_rank(rankings: Iterable[Ranking], level: float) -> Values:
    """(bin,) Return the rate of relevance of judged documents by rank, over all given runs and topics.

    Ranks are grouped as 1, 2, 3-4, 5-8, 9-16, ...; a rate is smoothed toward that of all ranks, and
    neighbors are pooled if it would rise with rank. The last rate applies below the deepest judged document
    and to documents that a run did not retrieve. A document judged far down a ranking was ranked high by
    another run, so there too the rates are too high rather than too low.
    """
    seen, relevant = np.zeros(64, np.int64), np.zeros(64, np.int64)
    for ranking in rankings:
        bins = rank_bin(ranking.rank)
        seen += np.bincount(bins, minlength=64)
        relevant += np.bincount(bins[ranking.grade >= level], minlength=64)
    used = seen.nonzero()[0]
    if not len(used):
        raise DataError(
            "the prior 'rank' needs judged documents in the runs, but no run has any; use 'rate' or a number"
        )
    rates = never_rising(smoothed_rates(relevant[used], seen[used]), seen[used] + SMOOTHING)
    last_used = np.searchsorted(used, np.arange(used[-1] + 1), side="right") - 1
    return rates[np.maximum(last_used, 0)]


# -- a file of probabilities -----------------------------------------------------------------------


def read_probabilities(source: str | Path | Content) -> Qrels:
    """Read a file of probabilities (`topic doc probability` in every line) as qrels with these as grades."""
    content = source if isinstance(source, Content) else read_content(source)
    problems = Problems(content.source)
    fields = split_fields(
        content.buffer, content.size,
        wanted=(0, 1, 2), least=3, most=3, shape=PROBABILITIES_SHAPE, problems=problems,
    )  # fmt: skip
    topic, doc, probability = fields.columns
    values = checked_numbers(probability, fields.lines, "probability", problems)
    wrong = ((values < 0) | (values > 1)).nonzero()[0]
    problems.add(
        line_numbers(fields.lines, wrong),
        lambda i: f"probability {probability.text(int(wrong[i]))!r}; expected a number from 0 to 1",
    )
    records = Records({"topic": topic, "doc": doc}, fields.lines, {"grade": values}, is_text=True)
    table = qrels_of(records, problems, duplicates="error", fractional="accept", groups=False)
    problems.refuse()
    if not len(table.docs):
        raise DataError(f"{content.source}: no probabilities; expected lines such as '{PROBABILITIES_SHAPE}'")
    return table


def _otherwise(listed: Qrels, topics: Sequence[str]) -> Values:
    """(topic,) Return the probability of unlisted documents, from the lines with `*`.

    NaN if there is none.
    """
    rows = _is_any(listed).nonzero()[0]
    topic_of = np.repeat(np.arange(len(listed.topics)), listed.sizes)[rows]
    others = {
        listed.topics[topic]: float(listed.grades[row]) for topic, row in zip(topic_of, rows, strict=True)
    }
    return np.array([others.get(topic, others.get(_ANY, np.nan)) for topic in topics])


def _is_any(listed: Qrels) -> NDArray[np.bool_]:
    """Return which lines stand for every document."""
    return (listed.docs.length == 1) & (listed.docs.buffer[listed.docs.start] == ord(_ANY))


@dataclass(frozen=True, slots=True, eq=False)
class _ProbabilityFile:
    """A file of probabilities as a table for finding documents.

    `*` as document means every unlisted document of the topic, and as topic every topic. A retrieved unjudged
    document that no line covers is an error, because it would silently count as not relevant. Outside
    documents are those that are listed but neither judged nor retrieved; counts of others are not used.
    """

    source: str
    listed: Qrels
    table: PairTable
    topic: Counts  # (listed document,) number of its topic among the judged ones; -1: not judged
    settled: NDArray[np.bool_]  # (listed document,) judged, or not a document at all
    otherwise: Values  # (topic,) the probability of unlisted documents; NaN: unknown

    @staticmethod
    def of(source: str, judged: Judged) -> _ProbabilityFile:
        """Read the file and find out which of its documents are judged."""
        listed = read_probabilities(source)
        number_of = judged.table.numbers(listed.topics)
        topic = number_of[np.repeat(np.arange(len(listed.topics)), listed.sizes)]
        here, there = judged.table.find(topic, listed.pair_keys(), listed.docs)
        known = np.zeros(len(listed.docs), np.bool_)
        known[here] = judged.grades[there] >= 0
        table = PairTable.build(listed.topics, listed.sizes, listed.pair_keys(), listed.docs.words())
        otherwise = _otherwise(listed, judged.judgments.topics)
        return _ProbabilityFile(source, listed, table, topic, known | _is_any(listed), otherwise)

    def probabilities(self, documents: UnjudgedRows, outside: Counts) -> tuple[Values, Outside]:
        run = documents.run
        rows = documents.rows()
        number_of = self.table.numbers(documents.ranking.topics)
        here, there = self.table.find(number_of[documents.topic], run.pair_keys()[rows], run.docs[rows])
        probability = self.otherwise[documents.topic]
        probability[here] = self.listed.grades[there]
        self._refuse_gaps(documents, rows, probability)
        left = ~self.settled & (self.topic >= 0)
        left[there] = False
        return probability, Outside.each(self.topic[left], self.listed.grades[left])

    def _refuse_gaps(self, documents: UnjudgedRows, rows: Places, probability: Values) -> None:
        lacking = np.isnan(probability).nonzero()[0]
        if len(lacking):
            topic = documents.ranking.topics[documents.topic[lacking[0]]]
            document = documents.run.docs.text(int(rows[lacking[0]]))
            raise DataError(
                f"{self.source}: no probability for document {document!r} of topic {topic}, which"
                f" {documents.run.source} retrieved but nobody judged ({len(lacking):,} such documents);"
                " list it, or add a default for all others in a line such as '* * 0.01'"
            )


# -- all documents of all runs at once -------------------------------------------------------------


def document_prior(text: str, retrieved: Retrieved, lists: Sequence[TopicLists]) -> DocumentPrior:
    """Return the prior of this name, as a judging session uses it."""
    prior = parse_prior(text, of_runs=True)
    topic = np.repeat(np.arange(len(lists)), [one.size for one in lists])
    if prior.kind == DEFAULT:
        return RunWeights(Features.of(lists))
    if prior.kind == "rate":
        return _RateOfAlike(topic, len(lists), falling=False)
    if prior.kind == "rank":
        bins = rank_bin(np.concatenate([one.best for one in lists]))
        return _RateOfAlike(bins, int(bins.max(initial=0)) + 1, falling=True)
    if prior.kind == _FILE:
        return _Fixed(_file_probabilities(text, retrieved, lists))
    return _Fixed(np.full(len(topic), prior.probability))


@dataclass(frozen=True, slots=True, eq=False)
class Independent:
    """Probabilities that are known: draws differ in the outcomes, not in the probabilities."""

    probability: Values

    def drawn(self, draws: int, seed: Sequence[int]) -> DrawnOdds:
        """Return the same log odds for all draws."""
        with np.errstate(divide="ignore"):
            odds = np.log(self.probability) - np.log1p(-self.probability)
        return _SameOdds(odds.astype(np.float32), draws)

    def level_precision(self, topic: int) -> float:
        """Return infinity, because nothing is left to learn about a level."""
        return math.inf


@dataclass(frozen=True, slots=True, eq=False)
class _SameOdds:
    odds: NDArray[np.float32]
    draws: int

    def of_topic(self, documents: slice | Counts, topic: int) -> NDArray[np.float32]:
        return np.repeat(self.odds[documents][:, np.newaxis], self.draws, axis=1)

    def unseen(self, topic: int) -> Values:
        return np.zeros(self.draws)


@dataclass(frozen=True, slots=True, eq=False)
class _Fixed:
    """Probabilities that judgments do not change: one number, or those of a file."""

    probability: Values
    learns: bool = False

    def fitted(self, evidence: Evidence, near: Belief | None = None) -> Belief:
        return Independent(self.probability)


@dataclass(frozen=True, slots=True, eq=False)
class _RateOfAlike:
    """The rate of relevance among judged documents of the same topic, or of a similar best rank."""

    group: Counts  # (document,) its topic, or the bin of its best rank in any run
    groups: int
    falling: bool  # never rises with the number of the group
    learns: bool = True

    def fitted(self, evidence: Evidence, near: Belief | None = None) -> Belief:
        group = self.group[evidence.documents]
        judged = np.bincount(group, minlength=self.groups)
        rates = smoothed_rates(np.bincount(group[evidence.relevant], minlength=self.groups), judged)
        if self.falling:
            rates = never_rising(rates, judged + SMOOTHING)
        return Independent(rates[self.group])


def _file_probabilities(source: str, retrieved: Retrieved, lists: Sequence[TopicLists]) -> Values:
    """(document,) Return the probabilities in a file, where `*` stands for all other documents, or topics."""
    listed = read_probabilities(source)
    chance, otherwise = retrieved.grades(listed, ANY_GRADES), _otherwise(listed, retrieved.topics)
    parts = []
    for topic, other, one in zip(retrieved.topics, otherwise.tolist(), lists, strict=True):
        own = chance[one.documents]
        own[np.isnan(own)] = other
        if np.isnan(own).any():
            document = retrieved.docs.text(int(one.documents[np.isnan(own).argmax()]))
            raise DataError(
                f"{source}: no probability for document {document!r} of topic {topic};"
                " list it, or add a default for all others in a line such as '* * 0.01'"
            )
        parts.append(own)
    return np.concatenate(parts)
