"""Choose which documents to judge next, and compute how certain the ranking of the runs is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

import numpy as np

from sounding.compare.holds import Holds, holds
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.limits import most as most_of
from sounding.core.policies import ANY_GRADES, Policies
from sounding.core.workers import Bars, no_bars, worth_sharing
from sounding.data.formats import run_sources
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels
from sounding.measures.forms import form_of
from sounding.plan.forecast import JudgingForecast, Outlook, forecast_to, outlook
from sounding.plan.result import JudgingPlan, Proof
from sounding.relevance.priors import DEFAULT
from sounding.runs.pool import read_judged_lists
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.confidence import Confidence
from sounding.selection.mtc.session import Session, SessionParameters, known_judgments, session_parameters
from sounding.selection.strategies import Pick

View = Literal["documents", "ranking", "pairs", "forecast", "proof"]
VIEWS: tuple[View, ...] = ("ranking", "pairs", "documents", "forecast")


def plan(
    qrels: Any,
    runs: Any,
    *,
    measure: Any = "AP",
    depth: int = 100,
    prior: str = DEFAULT,
    selection: str = "informed",
    confidence: str | None = None,
    draws: int = 200,
    pair: tuple[str, str] | None = None,
    baseline: str | None = None,
    top: int | None = None,
    open_below: float | None = None,
    topics: Sequence[str] = (),
    count: int = 3,
    budget: int | None = None,
    sure: float = 0.95,
    wanted: float | None = None,
    completions: int = 8,
    most: int = 10_000,
    views: Collection[View] = VIEWS,
    pool_depth: int | None = None,
    info: Mapping[str, RunInfo] | None = None,
    only: str | Sequence[str] = (),
    seed: int = 0,
    policies: Policies = ANY_GRADES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    bars: Bars = no_bars,
    first: Callable[[JudgingPlan], None] | None = None,
) -> JudgingPlan:
    """Choose the documents to judge next, and compute how certain the ranking of the runs is.

    Qrels and runs are as for `evaluate`; qrels None: nothing is judged yet. `count` documents of each topic
    are chosen, or `budget` documents in all. One of `pair`, `baseline`, `top` and `open_below` may limit the
    pairs of runs that matter. With `wanted`, judging is simulated until that confidence is reached, in
    several random completions of the judgments. `pool_depth` keeps the judgments that a pool of that depth
    would contain. `only` ranks only runs that meet conditions on `info` (see `compare`), and those that are
    named, once the pool is cut. `views` are the parts of the result to compute. `first` is called with the
    plan before anything is simulated.
    """
    if wanted is not None and not 0.5 < wanted < 1:
        raise DataError(f"wanted is {wanted:g}; expected a confidence between 0.5 and 1")
    parameters = session_parameters(
        measure=measure, depth=depth, prior=prior, selection=selection, confidence=confidence, draws=draws,
        pair=pair, baseline=baseline, top=top, open_below=open_below,
    )  # fmt: skip
    sources = run_sources(runs)
    if len(sources) < 2:
        raise DataError("one run alone makes no pair; give at least two runs")
    # Whether conclusions hold depends on whole lists.
    modeled = (parameters.prior, parameters.confidence) == (DEFAULT, "draws")
    held = qrels is not None and modeled and "pairs" in views
    with bars(len(sources), "reading runs") as progress:
        read = read_judged_lists(
            qrels, sources, depth=None if held else depth, pool_depth=pool_depth, info=info, only=only,
            always=[*(pair or ()), *([baseline] if baseline else [])],
            policies=policies, qrels_format=qrels_format, run_format=run_format, jobs=jobs, progress=progress,
        )  # fmt: skip
    session = _session(read.retrieved.narrowed(depth=depth), read.qrels, parameters, seed)
    picks = _next(session, topics, count, budget)
    believed = session.confidence()
    proven = _proven(session, believed, sure if {"ranking", "pairs"} & set(views) else np.inf, bars)
    stated = believed.with_proofs(proven).stated(session.basis())
    proof = None
    if "proof" in views:
        if pair is None:
            raise DataError("a proof is of the order of two runs; give pair")
        proof = _proof(session, believed, pair)
    result = JudgingPlan(
        proof=proof, session=session, confidence=stated, picks=tuple(picks), proven=proven, sure=sure,
        outlook=None, wanted=wanted, most=most, forecasts=None, holds=None, unsaid=None, cut=read.cut,
        policies=policies, seed=seed,
    )  # fmt: skip
    if first is not None:
        first(result)
    seeds = [seed * completions + number + 1 for number in range(completions)]  # no overlap between plans
    ahead: Outlook | None = None
    forecasts: tuple[JudgingForecast, ...] | None = None
    processes = worth_sharing(len(seeds), jobs)
    if not stated.reason and "documents" in views and picks:
        with bars(len(seeds), "simulating the next judgments") as progress:
            documents = [pick.document for pick in picks]
            ahead = outlook(session, documents, seeds, processes=processes, progress=progress)
    if not stated.reason and wanted is not None:
        with bars(len(seeds), "simulating judging") as progress:
            found = forecast_to(session, wanted, seeds, most=most, processes=processes, progress=progress)
            forecasts = tuple(found)
    holding, unsaid = None, None
    if held and read.qrels is not None:
        own = replace(policies, depth=depth, seed=seed)
        holding, unsaid = _holds(session, read.qrels, read.retrieved, own, jobs, bars)
    return replace(result, outlook=ahead, forecasts=forecasts, holds=holding, unsaid=unsaid)


def _session(retrieved: Retrieved, qrels: Qrels | None, parameters: SessionParameters, seed: int) -> Session:
    if qrels is None:
        return Session(retrieved, seed=seed, **asdict(parameters))
    level = form_of(parameters.measure, parameters.depth, 1).level
    given, elsewhere = known_judgments(retrieved, qrels, level)
    if not given:
        raise DataError(
            f"{qrels.source}: no document of these runs is judged for any of their topics; give their"
            " judgments, or type none in place of the file if there are none yet"
        )
    return Session(retrieved, seed=seed, given=given, elsewhere=elsewhere, **asdict(parameters))


def _next(session: Session, topics: Sequence[str], count: int, budget: int | None) -> list[Pick]:
    """Return the next documents of the topics, the most informative first; `budget`: that many in all."""
    names = session.retrieved.topics
    for topic in topics:
        if topic not in names:
            raise UnknownNameError("topic", topic, names)
    chosen = [place for place, topic in enumerate(names) if not topics or topic in topics]
    if budget is not None:
        picks = session.next(topics=chosen, count=budget)
    else:
        picks = [pick for place in chosen for pick in session.next(topics=[place], count=count)]
    return sorted(picks, key=lambda pick: (-(pick.weight or 0), pick.document))


def _proven(session: Session, confidence: Confidence, sure: float, bars: Bars) -> NDArray[np.bool_]:
    """Return (run, other): whether the order is proven; only pairs of which as many draws agree are tried."""
    place = np.argsort(confidence.order)
    pairs = session.pairs()
    pairs = np.where((place[pairs[:, 0]] < place[pairs[:, 1]])[:, np.newaxis], pairs, pairs[:, ::-1])
    pairs = pairs[confidence.may_be_proven(pairs, sure)]
    with bars(len(session.retrieved.topics), "looking for proofs") as progress:
        return session.proven(pairs, progress)


def _proof(session: Session, confidence: Confidence, pair: tuple[str, str]) -> Proof:
    """Return how few judgments would prove the order of two runs, the better one first."""
    names = session.retrieved.runs
    run, other = sorted((names.index(name) for name in pair), key=list(confidence.order).index)
    return Proof(run=names[run], other=names[other], judgments=session.fewest_judgments(run, other))


def _holds(
    session: Session, qrels: Qrels, whole: Retrieved, policies: Policies, jobs: int | None, bars: Bars
) -> tuple[Holds | None, str | None]:
    """Return the chance that today's conclusions about pairs hold, or why it cannot be computed."""
    depth = min(session.parameters.depth, most_of("k"))
    try:
        with bars(len(whole.runs), "drawing judgments") as progress:
            found = holds(
                qrels, whole, [session.parameters.measure], until=f"runs:{depth}", pairs=session.pairs(),
                policies=policies, jobs=jobs, progress=progress,
            )  # fmt: skip
    except DataError as error:
        return None, str(error)
    return found, None
