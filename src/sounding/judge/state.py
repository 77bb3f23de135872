"""Where judging stands, as a function of the log alone: follow the events, and ask what is next.

No clock, no order of arrival and nothing in memory enters: a server that was killed and one that was not
give the same next document and the same confidences once they know the same events. Which of several
judgments of a document counts is a stated policy, never a matter of timing.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.data.judgment_log import StandingJudgments
from sounding.judge.agenda import Agenda, InForce
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
from sounding.judge.settings import MTC, Feed, Order
from sounding.relevance.model import Fit
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.session import Session
from sounding.selection.samples import make_sample
from sounding.selection.strategies import Pick, Strategy, find_strategy, make_strategy

_NEED_RUNS = ("judge", "withdraw", "adjudicate", "fit", "refit")
_NO_MATTER = ("skip", "unskip", "setting", "assign", "unassign", "audit")  # to what comes next
WARM_UP = "rank"  # the strategy that assessors begin a topic with, where they warm up


class CountedGrade(NamedTuple):
    """Whether anybody judged a document, and its grade; None: nobody could, or it is not settled yet."""

    judged: bool
    grade: float | None


NOT_JUDGED = CountedGrade(False, None)


@dataclass(slots=True)
class Opinions:
    """All that is said of one document: the grade of every assessor, whoever judged first being first.

    Who looks at what others did, in an audit, comes after them all.
    """

    given: StandingJudgments[str, Event] = field(default_factory=StandingJudgments)  # by assessor
    adjudicated: CountedGrade = NOT_JUDGED
    withdrawn: Selection | None = None  # of the last judgment that was taken back, audits apart

    def take(self, event: Event) -> None:
        """Follow a judgment, a change, a withdrawal or an adjudication."""
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
        """The grade of every assessor; None: could not judge it."""
        return {who: history[-1].grade for who, history in self.given.items()}

    @property
    def selections(self) -> dict[str, Selection | None]:
        """Return how the document came to every assessor."""
        return {who: history[-1].selection for who, history in self.given.items()}

    def verdict(self, feed: Feed) -> CountedGrade:
        """Return what the document counts as."""
        if feed == "adjudicated" and self.adjudicated.judged:
            return self.adjudicated
        if not self.given:
            return NOT_JUDGED
        judgments = [history[-1] for history in self.given.values()]
        judgments.sort(key=lambda judgment: is_audit(judgment.selection))
        grades = [judgment.grade for judgment in judgments if judgment.grade is not None]
        if not grades or (feed == "adjudicated" and len(set(grades)) > 1):
            return CountedGrade(True, None)
        if feed == "majority":  # of grades that equally many gave, the one that was given first
            return CountedGrade(True, Counter(grades).most_common(1)[0][0])
        return CountedGrade(True, grades[0])

    @property
    def differ(self) -> bool:
        """Return whether assessors gave different grades; who could not judge it has no vote."""
        return len({grade for grade in self.grades.values() if grade is not None}) > 1

    def unsettled(self, feed: Feed) -> bool:
        """Return whether assessors differ, so that only an organizer can say what the document counts as."""
        return feed == "adjudicated" and not self.adjudicated.judged and self.differ

    @property
    def judges(self) -> set[str]:
        """Those among whom an overlap is shared out; who graded the document in an audit is none of them."""
        return {who for who, selection in self.selections.items() if not is_audit(selection)}

    @property
    def selection(self) -> Selection | None:
        """Return how the document came to be judged first, other than by an audit."""
        given = (selection for selection in self.selections.values() if not is_audit(selection))
        return next(given, self.withdrawn)


def is_audit(selection: Selection | None) -> bool:
    """Return whether an expert graded a document anew that others have judged."""
    return selection is not None and selection.policy == AUDIT


def opinions_of(events: Iterable[Event]) -> Opinions:
    """All that the events of one document say of it."""
    opinions = Opinions()
    for event in events:
        opinions.take(event)
    return opinions


@dataclass(slots=True, eq=False)
class _JudgingPool:
    """What follows from the runs and the topics in use, and is made anew when there are others."""

    retrieved: Retrieved  # for topics in use
    session: Session
    strategies: dict[str, Strategy]
    topics: dict[str, int]
    numbers: list[dict[str, int]]  # (topic,) doc -> its number
    docs: list[str]  # (document,)
    open: list[dict[int, Selection]]  # (topic,) what is left of the batch that is being judged
    made: list[int]  # (topic,) batches so far
    batch: list[dict[int, tuple[int, int]]]  # (topic,) document -> its batch, and how many are in that
    judged: list[int]  # (topic,) documents that are judged


class JudgingState(Agenda):
    """Where judging stands after the events that it was given."""

    def __init__(self, read_run: Callable[[str], bytes]) -> None:
        """`read_run` gives the content of a run that an event names."""
        super().__init__(read_run)
        self.sequence = 0
        self.time = 0.0  # of the last event
        self.opinions: dict[Pair, Opinions] = {}
        # Of all documents that are judged, in the order in which they became so.
        self.verdicts: dict[Pair, CountedGrade] = {}
        self.joined: dict[str, Counter[str]] = {}  # run -> documents judged, and settled, when it came
        self.ready_fit: tuple[int, Fit] | None = None  # made beforehand: the event that asked for it, the fit
        self._changed = 0  # the last event that may change what comes next
        self._skips: dict[tuple[str, str], dict[str, dict[int, Selection]]] = {}  # see `_put_off`
        self._thin: dict[str, dict[str, Selection]] = {}  # topic -> judged, and by too few assessors
        self._fit: tuple[int, Callable[[], Fit]] | None = None  # the event that asked for it, the work
        self._made: _JudgingPool | None = None

    @property
    def session(self) -> Session:
        """The minimal test collection, whatever the order of judging is."""
        return self._pool.session

    @property
    def retrieved(self) -> Retrieved:
        """Return what the runs retrieved for topics in use."""
        return self._pool.retrieved

    @property
    def ready(self) -> bool:
        """Whether there is anything to choose from and to rank by: runs with topics that are in use."""
        return bool(self.runs) and any(map(self.in_use, self.all_lists.topics))

    def follow(self, events: Iterable[Event]) -> None:
        """Take in events, each in its turn."""
        for event in events:
            if event.sequence != self.sequence + 1:
                raise DamagedError(
                    f"event {event.sequence} follows {self.sequence} in the log; some are missing"
                )
            if event.kind in _NEED_RUNS and self.ready:
                _ = self._pool  # made of what was known before, whenever it is that somebody asks
            if event.kind not in _NO_MATTER:
                self._changed = event.sequence
            self._take(event)
            self.sequence, self.time = event.sequence, event.time

    def prepare(self, topic: str | None = None) -> None:
        """Read the runs and make what the next documents (of a topic) need, where nobody has asked yet."""
        if self.ready:
            _ = self._pool
            if topic is not None and self._gives_out(topic):
                self._strategy(self.order(topic))

    def offers(self, assessor: str, topic: str, count: int) -> list[Offer]:
        """Documents for an assessor, the best first: `count` or more, unless there are no more.

        First those that too few others have judged, then what the order brings, then what was put off.
        """
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
        """The next documents of a topic that nobody has judged."""
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
        """(document,) whether a document of the runs has a grade that counts."""
        graded = np.zeros(len(self._pool.docs), np.bool_)
        for number, verdict in self._verdicts_of(self._pool):
            graded[number] = verdict.grade is not None
        return graded

    def count_judged(self) -> int:
        """Return how many documents are judged, and settled, for topics in use that some run has."""
        return sum(self._gives_out(pair[0]) and not self.unsettled(pair) for pair in self.verdicts)

    def unsettled(self, pair: Pair) -> bool:
        """Return whether a document that is judged waits for an organizer to settle it."""
        return self.verdicts[pair].grade is None and self.opinions[pair].unsettled(self.settings.feed)

    def left(self, topic: str) -> int:
        """Return how many documents nobody has judged that the order would still bring."""
        if not self._gives_out(topic):
            return 0
        number = self._pool.topics[topic]
        size = int(self._pool.retrieved.sizes[number])
        order = self.order(topic)
        if order.is_sample:
            return len(self._strategy(order).next([number], size))
        return size - self._pool.judged[number]

    def has_been_judged(self, topic: str, doc: str) -> bool:
        """Return whether a judgment of a document stands, or an organizer has settled it."""
        opinions = self.opinions.get((topic, doc))
        return opinions is not None and (bool(opinions.given) or opinions.adjudicated.judged)

    def begun_samples(self) -> list[str]:
        """Topics of which a sample was drawn and something is judged: what was drawn stays when runs come.

        What assessors found by themselves is no beginning, nor is an audit of it: topics are often developed
        before there are runs.
        Which documents were drawn must not matter, or the chances would be others than those on record.
        """
        begun = {
            topic
            for (topic, _), said in self.opinions.items()
            if any(one is None or one.policy not in (FREE.policy, AUDIT) for one in said.selections.values())
            or (said.given and said.withdrawn is not None and said.withdrawn.policy != FREE.policy)
        }
        return sorted(filter(self.is_sampled, begun))

    def ahead(self, assessor: str, topic: str) -> Ahead:
        """What is still to come for an assessor: of the batch at hand, and in all where that is fixed."""
        if not self._gives_out(topic):
            return Ahead(left=0, batch_left=0, batch_size=0)
        number, order = self._pool.topics[topic], self.order(topic)
        thin = self._thin.get(topic, {})  # of which those come to this assessor that others have judged
        others = [doc for doc in thin if assessor not in self.opinions[topic, doc].given]
        left = self.left(topic) + len(others)
        adaptive = order.policy == MTC or find_strategy(order.policy).adaptive
        # A judgment that was taken back opens its batch again; one that came without a batch is in none.
        known, numbers = self._pool.batch[number], self._pool.numbers[number]
        coming = [*self._pool.open[number], *map(numbers.get, others)]
        batches = [known[document] for document in coming if document in known]
        batch = min(batches, default=(0, 0))
        return Ahead(
            left=None if adaptive and left else left, batch_left=batches.count(batch), batch_size=batch[1]
        )

    def again(self, topic: str) -> int:
        """Return how many documents are judged by fewer people than are to judge each."""
        return len(self._thin.get(topic, {})) if self._gives_out(topic) else 0

    def can_finish(self, topic: str, assessors: Set[str]) -> bool:
        """Whether these assessors can bring every document of a topic to as many as are to judge it."""
        wanted = self.settings.overlap
        if len(assessors) < wanted and self.left(topic):
            return False
        given = [self.opinions[topic, doc] for doc in self._thin.get(topic, {})]
        return not self._gives_out(topic) or all(
            len((assessors - said.given.keys()) | said.judges) >= wanted for said in given
        )

    def asked_fit(self, event: int) -> Callable[[], Fit] | None:
        """The fit that an event asked for, as work to be done; None: a later one has taken its place."""
        return self._fit[1] if self._fit is not None and self._fit[0] == event else None

    def _gives_out(self, topic: str) -> bool:
        """Return whether some run has the topic, and it is in use."""
        return self.ready and topic in self._pool.topics

    @property
    def _pool(self) -> _JudgingPool:
        if self._made is None:
            self._made = self._build_pool()
        return self._made

    def _take(self, event: Event) -> None:
        before = self.in_use(event.topic or "")
        self.take(event)
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
        """Return what an assessor put off in a topic, in the order of the last time for each."""
        skips = self._skips.get((assessor, topic), {})
        newest = sorted((max(times), doc) for doc, times in skips.items())
        return {doc: skips[doc][last] for last, doc in newest}

    def _skip(self, event: Event) -> None:
        """Note that a document was put off, or that this was taken back: then the time before counts."""
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
        """Put new batches together for a topic, or for all, whose order is another one."""
        if self._made is not None:
            for number, name in enumerate(self._made.retrieved.topics):
                if topic in (None, name):
                    self._begin_batches(self._made, number)

    def _regrade(self, event: Event) -> None:
        pair = (event.topic or "", event.doc or "")
        opinions = self.opinions.setdefault(pair, Opinions())
        pool = self._pool if self.ready else None
        opinions.take(event)
        if event.kind == "judge":
            self._skips.get((event.assessor or "", pair[0]), {}).pop(pair[1], None)
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
                pool.session.find_elsewhere(topic, more)

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
            if is_audit(chosen):  # what an audit grades has come before
                chosen = self.opinions[event.topic or "", event.doc or ""].withdrawn
            if chosen is not None:
                pool.open[topic] = {number: chosen, **pool.open[topic]}

    def _is_relevant(self, verdict: CountedGrade) -> bool:
        return is_relevant(verdict.grade, self.settings.level)

    def _note_thin(self, pair: Pair) -> None:
        """Keep account of documents that fewer assessors than wanted have judged; imports need no second.

        An expert who graded one anew is no second either: audits are beside the overlap.
        """
        opinions, own = self.opinions[pair], self._thin.setdefault(pair[0], {})
        selection = opinions.selection
        thin = bool(opinions.given) and len(opinions.judges) < self.settings.overlap
        if thin and selection is not None and selection.policy != "import":
            own.setdefault(pair[1], selection)
        else:
            own.pop(pair[1], None)

    def _adopt(self, asked: int) -> None:
        """Use a fit that an earlier event asked for, unless there are other runs since."""
        if self._fit is None or self._fit[0] != asked:
            return
        ready = self.ready_fit
        fit = ready[1] if ready is not None and ready[0] == asked else self._fit[1]()
        self.session.adopt(fit)
        self._fit = self.ready_fit = None

    def _build_pool(self) -> _JudgingPool:
        """All that follows from the runs, with all that is judged so far."""
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
        """Tell a new strategy all that is judged."""
        for number, verdict in self._verdicts_of(pool):
            strategy.judge(number, verdict.grade)

    def _verdicts_of(self, pool: _JudgingPool) -> Iterator[tuple[int, CountedGrade]]:
        """The documents of the pool that are judged, by number, in the order in which they became so."""
        for (topic, doc), verdict in self.verdicts.items():
            number = pool.numbers[pool.topics[topic]].get(doc) if topic in pool.topics else None
            if number is not None:
                yield number, verdict

    def _strategy(self, order: Order, pool: _JudgingPool | None = None) -> Strategy:
        """The strategy of an order over all topics, which knows all that is judged."""
        pool = self._pool if pool is None else pool
        if order.policy == MTC:
            return pool.session
        if order.rule not in pool.strategies:
            kind, retrieved, seed = find_strategy(order.policy), pool.retrieved, self.settings.seed
            strategy: Strategy
            if kind.sampled:
                draws = {topic: self.draws(topic, order) for topic in retrieved.topics}
                # Topics of other orders may be deeper than its strata.
                strategy = make_sample(
                    order.policy, retrieved, draws=draws, seed=seed, where_possible=True, **order.parameters
                )
            else:
                level = {"level": self.settings.level} if kind.adaptive else {}
                strategy = make_strategy(order.policy, retrieved, seed=seed, **{**level, **order.parameters})
            self._catch_up(pool, strategy)
            pool.strategies[order.rule] = strategy
        return pool.strategies[order.rule]

    def _begin_batches(self, pool: _JudgingPool, topic: int) -> None:
        pool.open[topic], pool.made[topic], pool.batch[topic] = {}, 0, {}
        self._fill(pool, topic)

    def _fill(self, pool: _JudgingPool, topic: int) -> None:
        """Put the next batch of a topic together, if its order has batches."""
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
