"""Judge with a minimal test collection: what to judge next, and how certain the ranking is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.limits import check_count
from sounding.core.workers import Progress
from sounding.data.tables import Qrels
from sounding.measures import parse_measures
from sounding.measures.forms import Form, drawn_relevance, form_of
from sounding.relevance.basis import Basis
from sounding.relevance.model import DocumentPrior, Evidence, Fit, Judged, due_size, generator
from sounding.relevance.priors import DEFAULT, document_prior
from sounding.runs.align import Judged as Prepared
from sounding.runs.align import prepare
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE, Retrieved
from sounding.runs.topic_lists import TopicLists, places_of, topic_lists
from sounding.selection.mtc.confidence import (
    Confidence,
    drawn_chances,
    normal_chances,
    tempered_chances,
)
from sounding.selection.mtc.moments import Matrix
from sounding.selection.mtc.proofs import fewest_judgments, proven_pairs
from sounding.selection.mtc.topic_state import (
    NOTHING_DUE,
    NOTHING_LEFT,
    DrawnTopic,
    Due,
    KeptDraws,
    Moments,
    TopicState,
    if_not_relevant,
)
from sounding.selection.mtc.weights import EVERY_PAIR, WEIGHINGS, Beliefs, Scope, heaviest
from sounding.selection.strategies import Pick, State, fingerprint, register

Method = Literal["draws", "normal", "paper", "exact"]
Refits = Literal["doubling", "asked"]


METHODS: Mapping[str, Mapping[str, Any]] = {  # presets of parameters
    "paper": {"prior": "0.5", "selection": "faithful", "confidence": "paper"},  # Carterette et al. (2006)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionParameters:
    """The parameters of a session; at most one of `pair`, `baseline`, `top` and `open_below` is given."""

    measure: str = "AP"
    depth: int = 100  # documents of each list that count
    prior: str = DEFAULT  # a number, rate, rank, runs, or a file
    selection: str = "informed"  # the rule for weighing documents
    confidence: Method = "draws"  # of relevance; the others: a normal distribution
    draws: int = 200
    refits: Refits = "doubling"  # after the judgments have doubled; asked: only by `fitting` and `adopt`
    pair: tuple[str, str] | None = None  # only these two runs matter
    baseline: str | None = None  # only how this run compares with the others
    top: int | None = None  # only the runs that currently rank first to this number
    open_below: float | None = None  # only pairs whose order is less certain than this

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.pair, self.baseline, self.top, self.open_below)) > 1:
            raise DataError("pair, baseline, top and open_below exclude each other; give one")
        for name, known in (
            ("selection", tuple(WEIGHINGS)), ("confidence", get_args(Method)), ("refits", get_args(Refits)),
        ):  # fmt: skip
            if getattr(self, name) not in known:
                raise UnknownNameError(name, str(getattr(self, name)), known)
        check_count("draws", self.draws, 2)
        if self.top is not None and self.top < 2:
            raise DataError(f"the first {self.top} run makes no pair; give top a whole number from 2")
        if self.open_below is not None and not 0.5 < self.open_below <= 1:
            raise DataError(f"open_below is {self.open_below:g}; give a confidence above 0.5, at most 1")


def session_parameters(
    *,
    measure: Any,
    depth: int,
    prior: str,
    selection: str,
    confidence: str | None,
    draws: int,
    pair: tuple[str, str] | None = None,
    baseline: str | None = None,
    top: int | None = None,
    open_below: float | None = None,
) -> SessionParameters:
    """Return the checked parameters of a session; `model` is another word for the prior `runs`.

    The measure is a name, a `Measure` or one of ir_measures.

    By default, confidence is computed by draws for the prior `runs`, otherwise by a normal distribution.
    """
    measure = measure if isinstance(measure, str) else str(*parse_measures(measure))
    form = form_of(measure, depth, 1)
    prior = DEFAULT if prior == "model" else prior
    readers = form.stops is not None
    way: Any = confidence or ("draws" if prior == DEFAULT or readers else "normal")
    if readers and way != "draws":
        raise DataError(f"{form.name} has no closed form of its variance; use confidence draws, not {way}")
    if readers and selection in ("faithful", "scaled"):
        raise DataError(
            f"{form.name} is no sum over documents, which selection {selection} needs; use informed"
        )
    if form.pairs and form.divided_by == "best" and way == "exact":
        raise DataError(f"{form.name}: its variance has no exact form here; use confidence draws or normal")
    return SessionParameters(
        measure=measure, depth=depth, prior=prior, selection=selection, confidence=way, draws=draws,
        pair=pair, baseline=baseline, top=top, open_below=open_below,
    )  # fmt: skip


def known_judgments(
    retrieved: Retrieved, qrels: Qrels | Prepared, level: float = 1
) -> tuple[list[tuple[int, float]], list[float]]:
    """Return existing judgments for a session: judged documents, and counts of relevant others."""
    prepared = qrels if isinstance(qrels, Prepared) else prepare(qrels)
    grades = retrieved.grades(prepared)
    judged = np.isfinite(grades).nonzero()[0]
    judgments = prepared.judgments
    total = dict(zip(judgments.topics, judgments.relevant(level).tolist(), strict=True))
    found = np.bincount(retrieved.topic[judged[grades[judged] >= level]], minlength=len(retrieved.topics))
    elsewhere = [
        float(total.get(topic, 0) - here)
        for topic, here in zip(retrieved.topics, found.tolist(), strict=True)
    ]
    return list(zip(judged.tolist(), grades[judged].tolist(), strict=True)), elsewhere


@dataclass(frozen=True, slots=True, eq=False)
class _Ground:
    """Data independent of judgments, shared by sessions over the same runs and parameters."""

    lists: Sequence[TopicLists]
    form: Form
    prior: DocumentPrior
    place: Counts  # (document,) its place in its topic's lists; NONE: it does not count
    best_rank: Counts  # (document,)

    @staticmethod
    def of(retrieved: Retrieved, parameters: SessionParameters) -> _Ground:
        lists = topic_lists(retrieved, parameters.depth)
        if not any(topic.size for topic in lists):
            raise DataError("the runs have no documents for these topics: there is nothing to judge")
        return _Ground(
            lists, form_of(parameters.measure, parameters.depth, lists[0].places.shape[1]),
            document_prior(parameters.prior, retrieved, lists),
            np.array(places_of(lists, len(retrieved.docs)), np.int64), retrieved.best_ranks(),
        )  # fmt: skip


_COMPLETIONS = 2**32  # added to the seeds of completions, so that no seed of draws equals them


class Session:
    """A strategy that selects the documents that tell most about the ranking of the runs.

    It can be used like any `Strategy`. The prior is refitted whenever the judgments have doubled, to that
    many of them, so that a judgment that was taken back leaves no trace.
    """

    def __init__(
        self,
        retrieved: Retrieved,
        *,
        seed: int = 0,
        given: Sequence[tuple[int, float]] | NDArray[np.float64] = (),
        elsewhere: Sequence[float] | None = None,
        like: Session | None = None,
        near: Fit | None = None,
        **parameters: Any,
    ) -> None:
        """Start a session over the documents of these runs; for the parameters see `SessionParameters`.

        `given` are documents judged beforehand with their grades, and `elsewhere` counts for every topic the
        documents that are known to be relevant and that no run has. `like` is a session over the same runs
        with the same parameters, which this one need not prepare again, and `near` a fit to nearly the same
        judgments, from which the first fit begins.
        """
        self.retrieved, self.seed, self.parameters = retrieved, seed, SessionParameters(**parameters)
        self._ground: _Ground = _Ground.of(retrieved, self.parameters) if like is None else like._ground
        ground, lists = self._ground, self._ground.lists
        self.form, self._prior = ground.form, ground.prior
        self._place, self._best_rank = ground.place.tolist(), ground.best_rank
        columns = np.array(given, np.float64).reshape(-1, 2)
        self._given = columns[:, 0].astype(np.int64), columns[:, 1]
        self._elsewhere = [0.0] * len(lists) if elsewhere is None else [float(count) for count in elsewhere]
        self._log: list[list[Any]] = []
        self._grades: dict[int, float | None] = {}
        self._judged: list[Judged] = []  # in the order of the log
        self._topics = self._fresh_topics(lists)
        self._scope = self._fixed_scope()
        self._stale: set[int] = set()  # topics that do not yet have the probabilities of the current fit
        self._due = [NOTHING_DUE] * len(lists)
        self._due_weights, self._due_turns = np.full(len(lists), NOTHING_LEFT), np.zeros(len(lists), np.int64)
        self._means = np.zeros((len(lists), len(retrieved.runs)))
        self._covariances = np.zeros((len(lists), *(len(retrieved.runs),) * 2) if self._keeps else 0)
        self._moved: set[int] = set()  # topics whose covariances are outdated
        self._draws = KeptDraws(self.parameters.draws)
        self._note_all(*self._given)
        self._fits = [self._fitted(len(self._judged) if self._prior.learns else 0, near)]
        self._use()
        self._follow_scope()

    @staticmethod
    def restored(retrieved: Retrieved, state: State) -> Session:
        """Return the session with this state, over the same runs."""
        if state["pool"] != fingerprint(retrieved):
            raise DataError("this state belongs to other runs; give those that it was made with")
        parameters = dict(state["parameters"])
        if parameters["pair"] is not None:
            parameters["pair"] = tuple(parameters["pair"])
        session = Session(
            retrieved, seed=state["seed"], given=[(document, grade) for document, grade in state["given"]],
            elsewhere=state["elsewhere"], **parameters,
        )  # fmt: skip
        for event, *details in state["log"]:
            if event == "judge":
                session.judge(*details)
            elif event == "undo":
                session.undo(*details)
            elif event == "elsewhere":
                session.find_elsewhere(*details)
            elif session.parameters.refits == "asked":
                session.adopt(session._fitted(*details))
        return session

    def state(self) -> State:
        """Return plain data from which `restored` builds the same session."""
        return {
            "strategy": "mtc", "seed": self.seed, "parameters": asdict(self.parameters),
            "pool": fingerprint(self.retrieved),
            "given": [list(one) for one in zip(*(part.tolist() for part in self._given), strict=True)],
            "elsewhere": self._elsewhere,
            "log": [list(event) for event in self._log],
            "judgments": [[document, grade] for document, grade in self._grades.items()],
        }  # fmt: skip

    @property
    def judgments(self) -> int:
        """The number of judged documents that count."""
        return len(self._judged)

    @property
    def version(self) -> int:
        """The number of judgments to which the current prior was fitted."""
        return len(self._fits[-1].judged)

    @property
    def learns(self) -> bool:
        """Return whether the prior is fitted to judgments."""
        return self._prior.learns

    def next(self, topics: Sequence[int] | None = None, count: int = 1) -> list[Pick]:
        """Return the next documents to judge, of these topics (None: all); fewer if no more are left.

        Several at once are those that would follow if none of them were relevant, with the same prior.
        """
        for number in sorted(self._stale) if topics is None else topics:
            self._bring_up(self._topics[number])
        chosen = np.arange(len(self._topics)) if topics is None else np.array(topics, np.int64)
        weights, turns = self._due_weights[chosen], self._due_turns[chosen]
        due: dict[int, Due] = {}  # of the topics that were picked from
        ahead: dict[int, Beliefs] = {}
        picks: list[Pick] = []
        while len(picks) < count and (weights != NOTHING_LEFT).any():
            at = heaviest(weights, turns)
            own = self._topics[chosen[at]]
            best = due.get(at, self._due[own.number])
            document = int(own.lists.documents[best.place])
            pick = Pick(
                document=document, topic=own.number, order=len(self._grades) + len(picks) + 1,
                pool_rank=int(self._best_rank[document]), weight=best.weight,
            )  # fmt: skip
            picks.append(pick)
            if len(picks) < count:
                ahead[at] = if_not_relevant(ahead.get(at, own.beliefs), best.place)
                due[at] = own.due(self._scope, ahead[at])
                weights[at], turns[at] = due[at].weight, due[at].turn
        return picks

    def judge(self, document: int, grade: float | None) -> None:
        """Record a judgment; None: the document could not be judged and will not be returned again."""
        self._checked(document)
        self._log.append(["judge", document, grade])
        self._update(self._note(document, grade))
        self._refit_when_due()
        self._follow_scope()

    def undo(self, document: int) -> None:
        """Take a judgment back, as if it had never been made."""
        if document not in self._grades:
            raise DataError(f"document {document} has not been judged: nothing to take back")
        if (self._given[0] == document).any():
            raise DataError(f"document {document} was judged beforehand; begin a session without it")
        self._log.append(["undo", document])
        topic = self._forget(document)
        present = self._fits[-1]
        self._fits = [fit for fit in self._fits if fit.begins(self._judged)]
        if self._fits[-1] is present:
            self._update(topic)
        else:
            self._use()
        self._refit_when_due()
        self._follow_scope()

    def find_elsewhere(self, topic: int, count: int) -> None:
        """Record more relevant documents of a topic that no run has; below 0: fewer."""
        self._log.append(["elsewhere", topic, count])
        own = self._topics[topic]
        own.add_elsewhere(float(count))
        self._update(own)
        self._follow_scope()

    def refit_due(self) -> bool:
        """Return whether the judgments have doubled since the current prior was fitted."""
        return self._prior.learns and self._due_size > self.version

    def refit(self) -> None:
        """Fit the prior to all judgments so far, if it learns from them."""
        if self._prior.learns:
            self.adopt(self.fitting()())

    def fitting(self) -> Callable[[], Fit]:
        """Return a function that fits the prior to the present judgments; it may run in another thread.

        `adopt` takes its result, whatever has been judged in between.
        """
        fitting = self._fitting(len(self._judged))

        def work() -> Fit:
            fit = fitting()
            _ = fit.probability  # computed here, in the other thread
            return fit

        return work

    def adopt(self, fit: Fit) -> bool:
        """Use a fit from now on; False: it is older than the current one, or knows an undone judgment.

        This is immediate: a topic gets its new probabilities when it is next needed.
        """
        if not fit.begins(self._judged) or len(fit.judged) <= self.version:
            return False
        self._log.append(["refit", len(fit.judged)])
        self._fits.append(fit)
        self._use()
        self._follow_scope()
        return True

    def ranking(self) -> list[tuple[str, float]]:
        """Return the runs with their expected values over all topics, best first; equal ones as given."""
        values = self._expected().mean(axis=0)
        return [(self.retrieved.runs[run], float(values[run])) for run in np.argsort(-values, kind="stable")]

    def drawn_values(self) -> NDArray[np.floating]:
        """(topic, run, draw) Return values when the relevance of all unjudged documents is drawn."""
        return self._drawing()().values

    def completion(self, seed: int) -> NDArray[np.bool_]:
        """(document,) Draw the relevance of all unjudged documents once.

        Documents that do not count are not.
        """
        drawn = (_COMPLETIONS + seed, self.version)
        odds = self._fits[-1].belief.drawn(1, drawn)
        relevant = np.zeros(len(self._place), np.bool_)
        for topic in self._topics:
            own = drawn_relevance(odds.of_topic(topic.places, topic.number), *drawn, topic.number)[:, 0]
            known = topic.probability[:-1] == 1
            relevant[topic.lists.documents] = np.where(topic.unjudged[:-1], own, known)
        return relevant

    def knowing(self, more: Sequence[tuple[int, float]], seed: int, *, near: bool = False) -> Session:
        """Return another session that was given all judgments so far, and these too, from the beginning.

        `near`: its fit begins from the present one, which is faster and gives the same but for rounding.
        """
        columns = np.array([*self._grades, *self._grades.values()], np.float64).reshape(2, -1)
        given = columns[:, ~np.isnan(columns[1])].T  # a document that could not be judged has no grade
        known = np.concatenate([given, np.array(more).reshape(-1, 2)])
        return Session(
            self.retrieved, seed=seed, given=known, elsewhere=self._elsewhere, like=self,
            near=self._fits[-1] if near else None, **asdict(self.parameters),
        )  # fmt: skip

    def up_to_date(self) -> Session:
        """Return the session itself if its prior knows all judgments, else one that was given all at once."""
        known = not self._prior.learns or self.version == len(self._judged)
        return self if known else self.knowing([], self.seed)

    def pairs(self) -> Counts:
        """(pair, 2) Return the pairs of runs that currently matter, lower number first.

        With `open_below` all of them do: pairs that are certain only get no more judgments.
        """
        scope = self._scope if self.parameters.open_below is None else EVERY_PAIR
        return scope.listed(len(self.retrieved.runs))

    def basis(self) -> Basis:
        """Return what the confidence rests on; `confidence().stated(basis())` may be shown to people."""
        documents = np.array([document for document, _ in self._judged], np.int64)
        relevant = np.array([relevant for _, relevant in self._judged], np.bool_)
        unjudged = sum(topic.lists.size for topic in self._topics) - len(documents)
        return Basis.of(len(self.retrieved.runs), self._best_rank[documents], relevant, unjudged)

    def confidence(self, method: Method | None = None) -> Confidence:
        """Return how certain the model is of the ranking, even with few judgments.

        `method` replaces the session's own method.
        """
        way = self.parameters.confidence if method is None else method
        if way == "draws":
            return self.drawing()()
        mean, covariance = self._moments(way)
        # If everything is judged, rounding may leave a variance slightly above or below 0.
        deviation = np.sqrt(np.maximum(np.diagonal(covariance), 0))
        return Confidence(
            runs=self.retrieved.runs, judgments=self.judgments, version=self.version,
            values=mean, deviations=deviation, not_above=normal_chances(mean, covariance), method=way,
        )  # fmt: skip

    def drawing(self) -> Callable[[], Confidence]:
        """Return a function that computes the confidence by draws; it may run in another thread.

        Judging may go on meanwhile. Topics that do not change until the next call are not drawn again.
        """
        runs, judgments, version, drawn = self.retrieved.runs, self.judgments, self.version, self._drawing()
        is_model = self.parameters.prior == DEFAULT  # other priors are what the user believes

        def work() -> Confidence:
            of_topics = drawn()
            values = of_topics.values.mean(axis=0, dtype=np.float64)
            # Relevant documents that no run has say how sure the order is; they are no part of the values.
            lowered = np.einsum("trd,td->rd", of_topics.values, of_topics.left) / len(of_topics.left)
            drawn_order = drawn_chances(lowered.T)
            chances = tempered_chances(lowered.T, judgments) if is_model else drawn_order
            return Confidence(
                runs=runs, judgments=judgments, version=version, values=values.mean(axis=1),
                deviations=values.std(axis=1, ddof=1), not_above=chances, method="draws",
                drawn=drawn_order,
            )  # fmt: skip

        return work

    def has_levels(self) -> bool:
        """Return whether relevant documents have different grades, which the session does not tell apart."""
        grades = np.array([*self._given[1], *(grade for grade in self._grades.values() if grade is not None)])
        return len(np.unique(grades[grades >= self.form.level])) > 1

    def proven(self, pairs: Counts | None = None, progress: Progress | None = None) -> NDArray[np.bool_]:
        """(run, other) Return whether the run is above the other whatever the unjudged documents are.

        Only for these pairs (run, other); None: all that matter, in both directions.
        """
        matter = self.pairs()
        return proven_pairs(
            self.form, [topic.lists for topic in self._topics], [topic.beliefs for topic in self._topics],
            [topic.elsewhere for topic in self._topics],
            np.concatenate([matter, matter[:, ::-1]]) if pairs is None else pairs, progress,
        )  # fmt: skip

    def fewest_judgments(self, run: int, other: int) -> list[tuple[int, bool]] | None:
        """Return the fewest judgments found that could prove a run above another; None: none can.

        One row a document: its number, and whether it has to be relevant.
        """
        steps = fewest_judgments(
            self.form, [topic.lists for topic in self._topics], [topic.beliefs for topic in self._topics],
            [topic.elsewhere for topic in self._topics], (run, other),
        )  # fmt: skip
        if steps is None:
            return None
        return [(int(self._topics[step.topic].lists.documents[step.place]), step.relevant) for step in steps]

    def chance(self, document: int) -> float | None:
        """Return how likely a document is to be relevant, 0 or 1 if judged; None if it does not count."""
        place, topic = self._place[document], self._topic_with(document)
        self._bring_up(topic)
        return None if place < 0 else float(topic.probability[place])

    @property
    def _keeps(self) -> bool:
        """Return whether covariances are kept from one call to the next."""
        return self.parameters.confidence in ("normal", "paper")

    def _fresh_topics(self, lists: Sequence[TopicLists]) -> list[TopicState]:
        weigh = WEIGHINGS[self.parameters.selection]
        ends = np.cumsum([topic.size for topic in lists]).tolist()
        order = generator("order", self.seed).permutation(ends[-1])
        places = [slice(end - topic.size, end) for topic, end in zip(lists, ends, strict=True)]
        return [
            TopicState(self.form, weigh, number, topic, places[number], order[places[number]], count)
            for number, (topic, count) in enumerate(zip(lists, self._elsewhere, strict=True))
        ]

    def _fixed_scope(self) -> Scope:
        """Return the scope as far as it does not depend on judgments."""
        number = {name: place for place, name in enumerate(self.retrieved.runs)}
        pair, baseline = self.parameters.pair, self.parameters.baseline
        for name in (*(pair or ()), *(() if baseline is None else (baseline,))):
            if name not in number:
                raise UnknownNameError("run", name, number)
        if pair is not None:
            return Scope(runs=np.array([number[name] for name in pair]))
        return EVERY_PAIR if baseline is None else Scope(baseline=number[baseline])

    def _follow_scope(self) -> None:
        """Reweight all documents if other runs matter now."""
        runs = len(self.retrieved.runs)
        if self.parameters.top is not None:
            best = np.argsort(-self._expected().mean(axis=0), kind="stable")[: self.parameters.top]
            scope = Scope(runs=np.sort(best))
        elif self.parameters.open_below is not None:
            pairs = self.confidence().open_pairs(self.parameters.open_below)
            scope = Scope(pairs=pairs) if 0 < len(pairs) < runs * (runs - 1) // 2 else EVERY_PAIR
        else:
            return
        if not scope.same_as(self._scope):
            self._scope = scope
            self._expected()
            for topic in self._topics:
                self._put_due(topic)

    def _checked(self, document: int) -> int:
        if not 0 <= document < len(self._place):
            raise DataError(f"no document {document}; the runs have 0 to {len(self._place) - 1}")
        if document in self._grades:
            raise DataError(f"document {document} has been judged; take that back first")
        return document

    def _topic_with(self, document: int) -> TopicState:
        return self._topics[int(np.searchsorted(self.retrieved.starts, document, side="right")) - 1]

    def _is_relevant(self, grade: float | None) -> bool:
        return grade is not None and grade >= self.form.level

    def _note(self, document: int, grade: float | None) -> TopicState:
        """Store a judgment in its topic."""
        topic, place, relevant = self._topic_with(document), self._place[document], self._is_relevant(grade)
        self._grades[document] = grade
        self._give_chances(topic)
        if place < 0:
            topic.add_elsewhere(relevant)
        elif grade is None:
            topic.refused[place] = True
        else:
            topic.judge(place, relevant)
            self._judged.append((document, relevant))
        return topic

    def _note_all(self, documents: Counts, grades: Values) -> None:
        """Store judgments made beforehand, all at once."""
        numbers = documents.tolist()
        known = dict(zip(numbers, grades.tolist(), strict=True))
        if len(known) < len(numbers) or ((documents < 0) | (documents >= len(self._place))).any():
            for document in numbers:  # the error names the first that is wrong
                self._grades[self._checked(document)] = known[document]
        self._grades.update(known)
        places, relevant = self._ground.place[documents], grades >= self.form.level
        counts = places != NONE
        self._judged = list(zip(documents[counts].tolist(), relevant[counts].tolist(), strict=True))
        topics = np.searchsorted(self.retrieved.starts, documents, side="right") - 1
        order = np.argsort(topics, kind="stable")
        parts = np.split(order, np.searchsorted(topics[order], np.arange(1, len(self._topics))))
        for topic, part in zip(self._topics, parts, strict=True):
            own = part[counts[part]]
            topic.judge_all(places[own].tolist(), relevant[own])
            if outside := np.count_nonzero(relevant[part[~counts[part]]]):
                topic.add_elsewhere(float(outside))

    def _forget(self, document: int) -> TopicState:
        """Remove a judgment from its topic."""
        grade = self._grades.pop(document)
        topic, place, relevant = self._topic_with(document), self._place[document], self._is_relevant(grade)
        if place < 0:
            topic.add_elsewhere(-float(relevant))
        elif grade is None:
            topic.refused[place] = False
        else:
            topic.undo(place, self._fits[-1].probability[topic.places][place])
            self._judged.remove((document, relevant))
        return topic

    @property
    def _due_size(self) -> int:
        """Return how many judgments the prior should know by now."""
        return due_size(len(self._fits[0].judged), len(self._judged))

    def _refit_when_due(self) -> None:
        if self.parameters.refits == "doubling" and self.refit_due():
            self._fits.append(self._fitted(self._due_size))
            self._log.append(["refit", self.version])
            self._use()

    def _fitting(self, size: int, near: Fit | None = None) -> Callable[[], Fit]:
        prior, judged = self._prior, tuple(self._judged[:size])
        columns = np.fromiter(chain.from_iterable(judged), np.int64, 2 * len(judged)).reshape(-1, 2)
        documents, relevant = columns[:, 0], columns[:, 1].astype(np.bool_)
        topics = np.searchsorted(self.retrieved.starts, documents, side="right") - 1
        starts = np.array([topic.places.start for topic in self._topics])
        evidence = Evidence(starts[topics] + self._ground.place[documents], relevant)
        by_topic = np.bincount(topics, minlength=len(self._topics))

        def work() -> Fit:
            return Fit(judged, prior.fitted(evidence, None if near is None else near.belief), by_topic)

        return work

    def _fitted(self, size: int, near: Fit | None = None) -> Fit:
        """Fit the prior to the first `size` judgments."""
        return self._fitting(size, near)()

    def _use(self) -> None:
        """Mark all topics to get the probabilities of the current fit when they are next needed."""
        self._stale.update(range(len(self._topics)))

    def _give_chances(self, topic: TopicState) -> bool:
        """Give the unjudged documents of a topic the probabilities of the current fit.

        False: they have them.
        """
        if topic.number not in self._stale:
            return False
        self._stale.remove(topic.number)
        fit = self._fits[-1]
        topic.believe(
            fit.probability[topic.places], fit.belief.level_precision(topic.number),
            int(fit.by_topic[topic.number]),
        )  # fmt: skip
        return True

    def _bring_up(self, topic: TopicState) -> None:
        """Bring a topic up to date with the current fit."""
        if self._give_chances(topic):
            self._update(topic)

    def _expected(self) -> NDArray[np.float64]:
        """(topic, run) Return expected values, with all topics up to date."""
        for number in sorted(self._stale):
            self._bring_up(self._topics[number])
        return self._means

    def _update(self, topic: TopicState) -> None:
        """Update everything that depends on the judgments of a topic."""
        self._give_chances(topic)
        self._means[topic.number] = topic.add_up()
        self._moved.add(topic.number)
        self._put_due(topic)

    def _put_due(self, topic: TopicState) -> None:
        """Find the document of a topic to judge next."""
        due = self._due[topic.number] = topic.due(self._scope)
        self._due_weights[topic.number], self._due_turns[topic.number] = due.weight, due.turn

    def _drawing(self) -> Callable[[], DrawnTopic]:
        return self._draws.drawing(self._fits[-1], self._topics, (self.seed, self.version))

    def _moments(self, method: Moments) -> tuple[Values, Matrix]:
        """Return mean and covariance of all runs' values over topics, which are independent of each other."""
        means, covariances = self._expected(), self._covariances
        if method != self.parameters.confidence or not self._keeps:
            every = [topic.moments(method) for topic in self._topics]
            means = np.stack([one.mean for one in every])
            covariances = np.stack([one.covariance for one in every])
        else:
            for number in self._moved:
                covariances[number] = self._topics[number].moments(method).covariance
            self._moved.clear()
        return means.mean(axis=0), covariances.sum(axis=0) / len(means) ** 2


# Fits to the first judgments depend on which came first, so only its own state restores a session.
@register("mtc", by_topic=False, adaptive=True, drawn=True, restored=Session.restored)
def minimal_test_collection(
    pool: Retrieved, seed: int, *, level: float = 1.0, prior: str = DEFAULT, selection: str = "informed"
) -> Session:
    """Minimal test collections: the document that says most about the ranking of the runs by AP."""
    return Session(
        pool, seed=seed, depth=max(pool.depth, 1), measure=f"AP(rel={level:g})", prior=prior,
        selection=selection,
    )  # fmt: skip
