"""Compute the state of judging from the log alone: process events, then ask for the next documents.

Clocks, the order of arrival and other memory have no influence: two servers that know the same events return
the same next document and the same confidence. A policy, not timing, decides which of several judgments of a
document counts.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.data.judgment_log import StandingJudgments
from sounding.judge.agenda import Agenda, InForce
from sounding.judge.merge_sort import Preferences, Sort, pair_for, sort, start_of
from sounding.judge.records import (
    AUDIT,
    FREE,
    Ahead,
    DamagedError,
    Event,
    Offer,
    Pair,
    Selection,
    is_relevant,
)
from sounding.judge.settings import MERGE_SORT, MTC, Feed, Order
from sounding.relevance.model import Fit
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.session import Session
from sounding.selection.samples import make_sample
from sounding.selection.strategies import Pick, Strategy, find_strategy, make_strategy

_NEED_RUNS = ("judge", "withdraw", "adjudicate", "fit", "refit")
_NO_MATTER = (
    "skip",
    "unskip",
    "setting",
    "assign",
    "unassign",
    "audit",
    "label",
)  # no effect on the next documents
WARM_UP = "rank"  # the strategy of a warm-up


class CountedGrade(NamedTuple):
    """Judged state and counted grade; the grade is None if unsettled or if nobody could judge."""

    judged: bool
    grade: float | None


NOT_JUDGED = CountedGrade(False, None)


@dataclass(slots=True)
class Opinions:
    """All judgments of one document, by assessor in the order of first judgments.

    Experts who graded it in an audit come last.
    """

    given: StandingJudgments[str, Event] = field(default_factory=StandingJudgments)  # assessor -> judgments
    adjudicated: CountedGrade = NOT_JUDGED
    withdrawn: Selection | None = None  # selection of the last withdrawn judgment that was not an audit

    def take(self, event: Event) -> None:
        """Process a judgment, a change, a withdrawal or an adjudication."""
        who = event.assessor or ""
        if event.kind == "adjudicate":
            self.adjudicated = CountedGrade(True, event.grade)
            return
        if event.kind == "withdraw" and who in self.given:
            selection = self.given[who][-1].selection
            if selection is not None and not is_audit(selection):
                self.withdrawn = selection
        self.given.follow(who, event.kind, event, undoes=event.undoes is not None)

    @property
    def grades(self) -> dict[str, float | None]:
        """Return the grade by each assessor; None: cannot be judged."""
        return {who: history[-1].grade for who, history in self.given.items()}

    @property
    def selections(self) -> dict[str, Selection | None]:
        """Return how each assessor got the document."""
        return {who: history[-1].selection for who, history in self.given.items()}

    def verdict(self, feed: Feed) -> CountedGrade:
        """Return the grade that counts, by this policy."""
        if feed == "adjudicated" and self.adjudicated.judged:
            return self.adjudicated
        if not self.given:
            return NOT_JUDGED
        grades = [judgment.grade for judgment in self.judgments if judgment.grade is not None]
        return CountedGrade(True, counted_grade(grades, feed))

    @property
    def judgments(self) -> list[Event]:
        """Return the current judgment of each assessor, in their order; those of audits last."""
        judgments = [history[-1] for history in self.given.values()]
        return sorted(judgments, key=lambda judgment: is_audit(judgment.selection))

    @property
    def differ(self) -> bool:
        """Return whether assessors gave different grades; those who could not judge it do not count."""
        return len({grade for grade in self.grades.values() if grade is not None}) > 1

    def unsettled(self, feed: Feed) -> bool:
        """Return whether assessors differ and an organizer has to settle the document."""
        return feed == "adjudicated" and not self.adjudicated.judged and self.differ

    @property
    def judges(self) -> set[str]:
        """Return the assessors who count toward the overlap, which excludes experts in an audit."""
        return {who for who, selection in self.selections.items() if not is_audit(selection)}

    @property
    def selection(self) -> Selection | None:
        """Return how the document was first selected, ignoring audits."""
        given = (selection for selection in self.selections.values() if not is_audit(selection))
        return next(given, self.withdrawn)


def counted_grade(grades: Sequence[float], feed: Feed) -> float | None:
    """Return which of several grades counts; None: none was given, or an organizer has to settle it."""
    if not grades or (feed == "adjudicated" and len(set(grades)) > 1):
        return None
    # Of equally frequent grades, the one given first.
    return Counter(grades).most_common(1)[0][0] if feed == "majority" else grades[0]


def is_audit(selection: Selection | None) -> bool:
    """Return whether the judgment is an expert's, made in an audit."""
    return selection is not None and selection.policy == AUDIT


def opinions_of(events: Iterable[Event]) -> Opinions:
    """Return the opinions after the events of one document."""
    opinions = Opinions()
    for event in events:
        opinions.take(event)
    return opinions


@dataclass(slots=True, eq=False)
class _JudgingPool:
    """Data that depend on the runs and the topics in use, and are rebuilt when these change."""

    retrieved: Retrieved  # for topics in use
    session: Session
    strategies: dict[str, Strategy]
    topics: dict[str, int]
    numbers: list[dict[str, int]]  # (topic,) doc -> its number
    docs: list[str]  # (document,)
    open: list[dict[int, Selection]]  # (topic,) what is left of the current batch
    made: list[int]  # (topic,) number of batches so far
    batch: list[dict[int, tuple[int, int]]]  # (topic,) document -> number and size of its batch
    judged: list[int]  # (topic,) number of judged documents


class JudgingState(Agenda):
    """The state of judging after the events processed so far."""

    def __init__(self, read_run: Callable[[str], bytes]) -> None:
        """Start without events; `read_run` returns the content of a run by name."""
        super().__init__(read_run)
        self.sequence = 0
        self.time = 0.0  # of the last event
        self.opinions: dict[Pair, Opinions] = {}
        # All judged documents, in the order in which they became judged.
        self.verdicts: dict[Pair, CountedGrade] = {}
        self.joined: dict[str, Counter[str]] = {}  # run -> topic -> documents judged when it was added
        self.ready_fit: tuple[int, Fit] | None = None  # requesting event and fit, computed in advance
        self.preferences = Preferences()
        self._starts: dict[str, list[str]] = {}  # topic -> documents in the order in which their sort begins
        self._changed = 0  # the last event that may change the next documents
        self._skips: dict[tuple[str, str], dict[str, dict[int, Selection]]] = {}  # see `_put_off`
        self._thin: dict[str, dict[str, Selection]] = {}  # topic -> documents judged by too few assessors
        self._fit: tuple[int, Callable[[], Fit]] | None = None  # requesting event and computation
        self._made: _JudgingPool | None = None

    @property
    def session(self) -> Session:
        """Return the session of the minimal test collection, which exists under every order of judging."""
        return self._pool.session

    @property
    def retrieved(self) -> Retrieved:
        """Return what the runs retrieved for topics in use."""
        return self._pool.retrieved

    @property
    def ready(self) -> bool:
        """Return whether there are runs with topics in use, to be ranked by grades."""
        return bool(self.runs) and not self.of_pairs and any(map(self.in_use, self.all_lists.topics))

    @property
    def pair_topics(self) -> list[str]:
        """Return the topics in use whose documents are compared in pairs."""
        lists = self.all_lists.topics if self.runs and self.of_pairs else ()
        return [topic for topic in lists if self.in_use(topic)]

    def sorting(self, assessor: str, topic: str) -> Sort:
        """Return how far an assessor has sorted the documents of a topic by preferences."""
        if topic not in self._starts:
            groups, seed = self.preferences.groups, self.settings.seed
            self._starts[topic] = start_of(self.all_lists, topic, groups, seed)
        return sort(self._starts[topic], self.preferences.answers(assessor, topic))

    def pair_offers(self, assessor: str, topic: str) -> list[Offer]:
        """Return all pairs that an assessor can judge now, whether skipped or not."""
        if topic not in self.pair_topics:
            return []
        done = len(self.preferences.answers(assessor, topic))
        seed, version = self.settings.seed, self.in_force(topic).version
        return [
            Offer(
                doc=pair_for(seed, assessor, topic, *pair),
                selection=Selection(
                    policy=MERGE_SORT, policy_version=version, step=done + number, seed=seed,
                    known=self._changed,
                ),
            )
            for number, pair in enumerate(self.sorting(assessor, topic).open, 1)
        ]  # fmt: skip

    def follow(self, events: Iterable[Event]) -> None:
        """Process events in order."""
        for event in events:
            if event.sequence != self.sequence + 1:
                raise DamagedError(
                    f"event {event.sequence} follows {self.sequence} in the log; some are missing"
                )
            if event.kind in _NEED_RUNS and self.ready:
                _ = self._pool  # build it now, so that its state does not depend on when it is first used
            if event.kind not in _NO_MATTER:
                self._changed = event.sequence
            self._take(event)
            self.sequence, self.time = event.sequence, event.time

    def prepare(self, topic: str | None = None) -> None:
        """Read the runs and prepare the next documents (of a topic) before they are requested."""
        if self.ready:
            _ = self._pool
            if topic is not None and self._gives_out(topic):
                self._strategy(self.order(topic))

    def offers(self, assessor: str, topic: str, count: int) -> list[Offer]:
        """Return documents for an assessor, best first: `count` or more, if there are enough.

        Documents judged by too few others come first, then those of the order, then skipped ones.
        """
        if self.of_pairs:
            skipped = list(self._put_off(assessor, topic))
            pairs = {offer.doc: offer for offer in self.pair_offers(assessor, topic)}
            return [pairs[pair] for pair in sorted(pairs, key=lambda pair: pair in skipped)]
        if not self._gives_out(topic):
            return []
        put_off = self._put_off(assessor, topic)
        offers = [
            Offer(doc=doc, selection=selection)
            for doc, selection in self._thin.get(topic, {}).items()
            if doc not in put_off and assessor not in self.opinions[topic, doc].given
        ]
        wanted = count - len(offers) + len(put_off)
        if wanted > 0:
            fresh = self.fresh_offers(topic, wanted)
            offers += [offer for offer in fresh if offer.doc not in put_off]
        return offers + [Offer(doc=doc, selection=selection) for doc, selection in put_off.items()]

    def fresh_offers(self, topic: str, count: int) -> list[Offer]:
        """Return the next unjudged documents of a topic."""
        if not self._gives_out(topic):
            return []
        pool = self._pool
        number = pool.topics[topic]
        ready = pool.open[number]
        offers = [Offer(doc=pool.docs[one], selection=selection) for one, selection in ready.items()]
        if len(offers) < count:
            in_force = self.in_force(topic)
            strategy = self._strategy(in_force.order)
            picks = strategy.next([number], count)
            offers += [
                Offer(doc=pool.docs[pick.document], selection=self._selection(in_force, pick, pool))
                for pick in picks
                if pick.document not in ready
            ]
        return offers[:count]

    def graded(self) -> NDArray[np.bool_]:
        """Return (document,): whether it has a grade that counts."""
        graded = np.zeros(len(self._pool.docs), np.bool_)
        for number, verdict in self._verdicts_of(self._pool):
            graded[number] = verdict.grade is not None
        return graded

    def count_judged(self) -> int:
        """Return how many documents are judged and settled, for topics in use that any run has."""
        return sum(self._gives_out(pair[0]) and not self.unsettled(pair) for pair in self.verdicts)

    def unsettled(self, pair: Pair) -> bool:
        """Return whether a judged document still has to be settled by an organizer."""
        return self.verdicts[pair].grade is None and self.opinions[pair].unsettled(self.settings.feed)

    def left(self, topic: str) -> int:
        """Return how many unjudged documents the order would still bring; of pairs, the most.

        Pairs count for everybody who has begun with the topic, or for one person if nobody has.
        """
        if topic in self.pair_topics:
            return sum(self.sorting(who, topic).left for who in self.preferences.assessors(topic) or [""])
        if not self._gives_out(topic):
            return 0
        number = self._pool.topics[topic]
        size = int(self._pool.retrieved.sizes[number])
        order = self.order(topic)
        if order.is_sample:
            return len(self._strategy(order).next([number], size))
        return size - self._pool.judged[number]

    def has_been_judged(self, topic: str, doc: str) -> bool:
        """Return whether a document has a current judgment or was settled."""
        opinions = self.opinions.get((topic, doc))
        return opinions is not None and (bool(opinions.given) or opinions.adjudicated.judged)

    def begun_samples(self) -> list[str]:
        """Return the topics with a partly judged sample, which is kept when runs are added.

        Documents that assessors found by search, and audits, do not count as judged here, because topics are
        often developed before there are runs. The decision must not depend on which documents were drawn;
        otherwise the recorded probabilities would be wrong.
        """
        begun = {
            topic
            for (topic, _), said in self.opinions.items()
            if any(one is None or one.policy not in (FREE.policy, AUDIT) for one in said.selections.values())
            or (said.given and said.withdrawn is not None and said.withdrawn.policy != FREE.policy)
        }
        return sorted(filter(self.is_sampled, begun))

    def ahead(self, assessor: str, topic: str) -> Ahead:
        """Return how many documents an assessor still has to judge: in the batch and, if known, in all."""
        if topic in self.pair_topics:
            return Ahead(left=self.sorting(assessor, topic).left, batch_left=0, batch_size=0)
        if not self._gives_out(topic):
            return Ahead(left=0, batch_left=0, batch_size=0)
        number, order = self._pool.topics[topic], self.order(topic)
        thin = self._thin.get(topic, {})  # documents that need more assessors
        others = [doc for doc in thin if assessor not in self.opinions[topic, doc].given]
        left = self.left(topic) + len(others)
        adaptive = order.policy == MTC or find_strategy(order.policy).adaptive
        # A withdrawn judgment reopens its batch; a document that came without a batch is in none.
        known, numbers = self._pool.batch[number], self._pool.numbers[number]
        coming = [*self._pool.open[number], *map(numbers.get, others)]
        batches = [known[document] for document in coming if document in known]
        batch = min(batches, default=(0, 0))
        return Ahead(
            left=None if adaptive and left else left, batch_left=batches.count(batch), batch_size=batch[1]
        )

    def again(self, topic: str) -> int:
        """Return how many judged documents need more assessors."""
        return len(self._thin.get(topic, {})) if self._gives_out(topic) else 0

    def can_finish(self, topic: str, assessors: Set[str]) -> bool:
        """Return whether these assessors are enough to give every document of a topic the wanted overlap."""
        wanted = self.settings.overlap
        if len(assessors) < wanted and self.left(topic):
            return False
        given = [self.opinions[topic, doc] for doc in self._thin.get(topic, {})]
        return not self._gives_out(topic) or all(
            len((assessors - said.given.keys()) | said.judges) >= wanted for said in given
        )

    def asked_fit(self, event: int) -> Callable[[], Fit] | None:
        """Return the computation of the fit that an event requested; None if a later one replaced it."""
        return self._fit[1] if self._fit is not None and self._fit[0] == event else None

    def _gives_out(self, topic: str) -> bool:
        """Return whether the topic is in use and any run has it."""
        return self.ready and topic in self._pool.topics

    @property
    def _pool(self) -> _JudgingPool:
        if self._made is None:
            self._made = self._build_pool()
        return self._made

    def _take(self, event: Event) -> None:
        before = self.in_use(event.topic or "")
        self.take(event)
        if self.of_pairs:
            self.preferences.take(event)
            self._starts = {} if event.kind == "run" else self._starts
        if event.kind in ("judge", "withdraw", "adjudicate"):
            self._regrade(event)
        elif event.kind in ("skip", "unskip"):
            self._skip(event)
        elif event.kind == "order":
            self._begin_anew(event.topic)
        elif event.kind == "run":
            settled = (pair[0] for pair in self.verdicts if not self.unsettled(pair))
            self.joined[event.detail["name"]] = Counter(settled)
            self._made = self._fit = None
        elif event.kind == "topic":
            topic = event.topic or ""
            if self.in_use(topic) != before and self.runs and topic in self.all_lists.topics:
                self._made = self._fit = None
        elif event.kind == "project":
            self._set_up()
        elif event.kind == "fit" and self.ready:  # another process may have dropped the last topic meanwhile
            self._fit = (event.sequence, self.session.fitting())
        elif event.kind == "refit":
            self._adopt(event.detail["fit"])

    def _put_off(self, assessor: str, topic: str) -> dict[str, Selection]:
        """Return the documents that an assessor skipped in a topic, by the time of the last skip."""
        skips = self._skips.get((assessor, topic), {})
        newest = sorted((max(times), doc) for doc, times in skips.items())
        return {doc: skips[doc][last] for last, doc in newest}

    def _skip(self, event: Event) -> None:
        """Record a skip, or undo one, after which the previous skip counts."""
        skips = self._skips.setdefault((event.assessor or "", event.topic or ""), {})
        times = skips.setdefault(event.doc or "", {})
        if event.kind == "unskip":
            times.pop(event.detail["undoes"], None)
        elif event.selection is not None:
            times[event.sequence] = event.selection
        if not times:
            del skips[event.doc or ""]

    def _set_up(self) -> None:
        self._made = self._fit = None
        self.verdicts = {
            pair: verdict
            for pair, opinions in self.opinions.items()
            if (verdict := opinions.verdict(self.settings.feed)) != NOT_JUDGED
        }
        self._thin = {}
        for pair in self.opinions:
            self._note_thin(pair)

    def _begin_anew(self, topic: str | None) -> None:
        """Start new batches for a topic (None: all) after a change of order."""
        if self._made is not None:
            for number, name in enumerate(self._made.retrieved.topics):
                if topic in (None, name):
                    self._begin_batches(self._made, number)

    def _regrade(self, event: Event) -> None:
        pair = (event.topic or "", event.doc or "")
        if event.kind == "judge":
            self._skips.get((event.assessor or "", pair[0]), {}).pop(pair[1], None)
        if self.of_pairs:
            return
        opinions = self.opinions.setdefault(pair, Opinions())
        pool = self._pool if self.ready else None
        opinions.take(event)
        self._note_thin(pair)
        old, new = self.verdicts.get(pair, NOT_JUDGED), opinions.verdict(self.settings.feed)
        if old == new:
            return
        self.verdicts.pop(pair, None)
        if new != NOT_JUDGED:
            self.verdicts[pair] = new
        if pool is not None and pair[0] in pool.topics:
            topic = pool.topics[pair[0]]
            number = pool.numbers[topic].get(pair[1])
            more = self._is_relevant(new) - self._is_relevant(old)
            if number is not None:
                pool.judged[topic] += (new != NOT_JUDGED) - (old != NOT_JUDGED)
                self._feed(pool, topic, number, old, new, event)
            elif more:
                for strategy in (pool.session, *pool.strategies.values()):
                    if isinstance(strategy, Session):
                        strategy.find_elsewhere(topic, more)

    def _feed(
        self, pool: _JudgingPool, topic: int, number: int, old: CountedGrade, new: CountedGrade, event: Event
    ) -> None:
        for strategy in (pool.session, *pool.strategies.values()):
            if old != NOT_JUDGED:
                strategy.undo(number)
            if new != NOT_JUDGED:
                strategy.judge(number, new.grade)
        if new != NOT_JUDGED:
            if pool.open[topic].pop(number, None) is not None and not pool.open[topic]:
                self._fill(pool, topic)
        else:
            chosen = event.selection
            if is_audit(chosen):  # an audited document was selected earlier
                chosen = self.opinions[event.topic or "", event.doc or ""].withdrawn
            if chosen is not None:
                pool.open[topic] = {number: chosen, **pool.open[topic]}

    def _is_relevant(self, verdict: CountedGrade) -> bool:
        return is_relevant(verdict.grade, self.settings.level)

    def _note_thin(self, pair: Pair) -> None:
        """Update the documents judged by too few assessors; imported judgments need no second assessor.

        An expert's audit does not count as a second judgment.
        """
        opinions, own = self.opinions[pair], self._thin.setdefault(pair[0], {})
        selection = opinions.selection
        thin = bool(opinions.given) and len(opinions.judges) < self.settings.overlap
        if thin and selection is not None and selection.policy != "import":
            own.setdefault(pair[1], selection)
        else:
            own.pop(pair[1], None)

    def _adopt(self, asked: int) -> None:
        """Use the fit that an earlier event requested, unless the runs have changed since."""
        if self._fit is None or self._fit[0] != asked:
            return
        ready = self.ready_fit
        fit = ready[1] if ready is not None and ready[0] == asked else self._fit[1]()
        self.session.adopt(fit)
        self._fit = self.ready_fit = None

    def _build_pool(self) -> _JudgingPool:
        """Build the data that depend on the runs, with all judgments so far."""
        settings = self.settings
        used = [number for number, topic in enumerate(self.all_lists.topics) if self.in_use(topic)]
        if not used:
            raise DataError("no topic that the runs have is in use; choose one on the page Topics")
        every = self.all_lists
        retrieved = every.of_topics(used) if len(used) < len(every.topics) else every
        docs = retrieved.docs.texts()
        bounds = retrieved.starts.tolist()
        numbers = [
            {docs[number]: number for number in range(first, last)} for first, last in pairwise(bounds)
        ]
        topics = {topic: number for number, topic in enumerate(retrieved.topics)}
        elsewhere = [0.0] * len(topics)
        for (topic_id, doc), verdict in self.verdicts.items():
            if topic_id in topics and doc not in numbers[topics[topic_id]]:
                elsewhere[topics[topic_id]] += self._is_relevant(verdict)
        session = Session(
            retrieved, seed=settings.seed, elsewhere=elsewhere, measure=settings.graded_measure,
            depth=settings.depth, prior=settings.prior, confidence="draws", refits="asked",
        )  # fmt: skip
        pool = _JudgingPool(
            retrieved, session, {}, topics, numbers, docs, [{} for _ in topics], [0] * len(topics),
            [{} for _ in topics], [0] * len(topics),
        )  # fmt: skip
        topic_of = retrieved.topic
        for number, _ in self._verdicts_of(pool):
            pool.judged[topic_of[number]] += 1
        self._catch_up(pool, session)
        if session.refit_due():
            session.adopt(session.fitting()())
        for topic in range(len(topics)):
            self._begin_batches(pool, topic)
        return pool

    def _catch_up(self, pool: _JudgingPool, strategy: Strategy) -> None:
        """Pass all judgments so far to a new strategy."""
        for number, verdict in self._verdicts_of(pool):
            strategy.judge(number, verdict.grade)

    def _verdicts_of(self, pool: _JudgingPool) -> Iterator[tuple[int, CountedGrade]]:
        """Yield the judged documents of the pool, by number, in the order in which they became judged."""
        for (topic, doc), verdict in self.verdicts.items():
            number = pool.numbers[pool.topics[topic]].get(doc) if topic in pool.topics else None
            if number is not None:
                yield number, verdict

    def _strategy(self, order: Order, pool: _JudgingPool | None = None) -> Strategy:
        """Return the strategy of an order over all topics, which knows all judgments."""
        pool = self._pool if pool is None else pool
        if order.policy == MTC and not order.parameters:
            return pool.session
        if order.policy == MTC and order.rule not in pool.strategies:
            pool.strategies[order.rule] = self._own_session(order, pool)
        if order.rule not in pool.strategies:
            kind, retrieved, seed = find_strategy(order.policy), pool.retrieved, self.settings.seed
            strategy: Strategy
            if kind.sampled:
                draws = {topic: self.draws(topic, order) for topic in retrieved.topics}
                # Topics with other orders may have lists deeper than its strata.
                strategy = make_sample(
                    order.policy, retrieved, draws=draws, seed=seed, where_possible=True, **order.parameters
                )
            else:
                level = {"level": self.settings.level} if kind.adaptive else {}
                strategy = make_strategy(order.policy, retrieved, seed=seed, **{**level, **order.parameters})
            self._catch_up(pool, strategy)
            pool.strategies[order.rule] = strategy
        return pool.strategies[order.rule]

    def _own_session(self, order: Order, pool: _JudgingPool) -> Session:
        """Return a session with the parameters of an order, which knows all judgments."""
        settings, elsewhere = self.settings, [0.0] * len(pool.topics)
        for (topic, doc), verdict in self.verdicts.items():
            if topic in pool.topics and doc not in pool.numbers[pool.topics[topic]]:
                elsewhere[pool.topics[topic]] += self._is_relevant(verdict)
        own = Session(
            pool.retrieved, seed=settings.seed, elsewhere=elsewhere,
            **{
                "measure": settings.graded_measure, "depth": settings.depth, "prior": settings.prior,
                "confidence": "draws", **order.session_parameters(),
            },
        )  # fmt: skip
        self._catch_up(pool, own)
        return own

    def _begin_batches(self, pool: _JudgingPool, topic: int) -> None:
        pool.open[topic], pool.made[topic], pool.batch[topic] = {}, 0, {}
        self._fill(pool, topic)

    def _fill(self, pool: _JudgingPool, topic: int) -> None:
        """Select the next batch of a topic, if its order has batches."""
        name = pool.retrieved.topics[topic]
        in_force = self.in_force(name)
        order = in_force.order
        size = order.batch if order.batch > 1 else 0
        if not pool.made[topic] and order.warm_up and not pool.judged[topic]:
            in_force, size = InForce(Order(policy=WARM_UP), in_force.version), order.warm_up
        pool.made[topic] += 1
        if not size:
            return
        picks = self._strategy(in_force.order, pool).next([topic], size)
        pool.batch[topic] |= {pick.document: (pool.made[topic], len(picks)) for pick in picks}
        mark = zlib.crc32(name.encode("utf-8", "surrogateescape"))
        rng = np.random.default_rng([self.settings.seed, mark, in_force.version, pool.made[topic]])
        shuffled = [picks[place] for place in rng.permutation(len(picks)).tolist()]
        pool.open[topic] = {pick.document: self._selection(in_force, pick, pool) for pick in shuffled}

    def _selection(self, in_force: InForce, pick: Pick, pool: _JudgingPool) -> Selection:
        session = pool.session
        return Selection(
            policy=in_force.order.policy, policy_version=in_force.version, step=pick.order,
            stratum=pick.stratum, probability=pick.probability, belief=session.chance(pick.document),
            weight=None if pick.weight is None else float(pick.weight), seed=self.settings.seed,
            model_version=session.version, known=self._changed,
        )  # fmt: skip
