"""Judging replayed from known judgments: by which strategy the order of the runs is right, and how soon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sounding.core.errors import DataError
from sounding.core.policies import ANY_GRADES, Policies
from sounding.core.workers import (
    Bars,
    Progress,
    map_items,
    no_bars,
    run_elsewhere,
    shared_progress,
    worth_sharing,
)
from sounding.data.formats import run_sources
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels
from sounding.measures.forms import form_of
from sounding.relevance.priors import DEFAULT
from sounding.runs.pool import read_judged_lists
from sounding.selection.mtc.session import session_parameters
from sounding.selection.strategies import find_strategy, make_strategy
from sounding.simulate.experiments import Reuse, list_pairs, normality_of_difference, reuse
from sounding.simulate.result import Simulation, Trial
from sounding.simulate.trial import TrialSetup, Truth, doublings, trial_looks

MTC = "mtc"
ALSO_CALLED = {"pooling": "rank"}  # the paper's word for a pool that is deepened rank by rank


def simulate(
    qrels: Any,
    runs: Any,
    *,
    strategies: Sequence[str] = (MTC, "rank"),
    judgments: int = 1024,
    at: Sequence[int] | None = None,
    seeds: Sequence[int] = (0,),
    pairs: int | None = None,
    leave_out: bool = False,
    histogram: tuple[str, str] | None = None,
    topic: str | None = None,
    measure: Any = "AP",
    depth: int = 100,
    prior: str = DEFAULT,
    selection: str = "informed",
    confidence: str | None = None,
    draws: int = 200,
    sure: float = 0.95,
    pool_depth: int | None = None,
    info: Mapping[str, RunInfo] | None = None,
    only: str | Sequence[str] = (),
    policies: Policies = ANY_GRADES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    bars: Bars = no_bars,
) -> Simulation:
    """Replay the judging of runs as if the qrels were not known, and see how soon their order is right.

    Qrels and runs are as for `evaluate`. Each strategy is tried with each seed, and looked at after the
    numbers of judgments `at` (None: 1, 2, 4, ...) and at the end; no strategies: nothing is tried. `pairs`
    are so many pairs of lists of a topic, drawn at random, with the judgments that separate them; with
    `leave_out` each run is left out in turn and put back in the end; `histogram` names two runs whose
    difference is tested for normality, on a `topic` or on all. `only` ranks only runs that meet conditions on
    `info` (see `compare`), once `pool_depth` has cut the pool of all runs.
    """
    for name in strategies:
        strategy_kind(name)
    parameters = session_parameters(
        measure=measure, depth=depth, prior=prior, selection=selection, confidence=confidence, draws=draws
    )
    sources = run_sources(runs)
    if len(sources) < 2:
        raise DataError("one run alone makes no pair; give two runs or more to compare")
    with bars(len(sources), "reading runs") as progress:
        read = read_judged_lists(
            qrels, sources, depth=depth, judged=True, pool_depth=pool_depth, info=info, only=only,
            policies=policies,
            qrels_format=qrels_format, run_format=run_format, jobs=jobs, progress=progress,
        )  # fmt: skip
    if read.qrels is None:
        raise DataError("judging can only be replayed with judgments; give qrels")
    form = form_of(parameters.measure, depth, read.retrieved.lists.shape[2])
    truth = Truth.of(read.retrieved, read.qrels, form)
    _check_truth(truth, read.qrels, depth)
    setup = TrialSetup(read.retrieved, truth, parameters, tuple(seeds), sure, jobs, bars)
    looks = sorted({*(doublings(judgments) if at is None else at), judgments})
    return Simulation(
        retrieved=read.retrieved, truth=truth, form=form, parameters=parameters, sure=sure,
        policies=policies, cut=read.cut, histogram=histogram, topic=topic,
        trials=tuple(_trials(setup, strategies, looks)),
        list_pairs=None if pairs is None else tuple(list_pairs(setup, pairs)),
        reuse=tuple(_reuse(setup, judgments)) if leave_out else None,
        normality=None if histogram is None else normality_of_difference(setup, histogram, topic),
    )  # fmt: skip


def strategy_kind(name: str) -> str | None:
    """Return the strategy that a name stands for; None: the session of minimal test collections itself."""
    return None if name == MTC else find_strategy(ALSO_CALLED.get(name, name)).name


def _check_truth(truth: Truth, qrels: Qrels, depth: int) -> None:
    if not len(truth.pool):
        raise DataError("the runs have no documents for the topics of the qrels: there is nothing to judge")
    if not truth.relevant.any():
        raise DataError(f"{qrels.source}: no document is relevant, so no run is better than another")
    if not truth.values.any():
        raise DataError(
            f"{qrels.source}: no relevant document is among the first {depth} of any run: all have 0"
        )


def _trials(setup: TrialSetup, strategies: Sequence[str], looks: Sequence[int]) -> list[Trial]:
    """Have every strategy judge with every seed."""
    items = [(name, seed) for name in strategies for seed in setup.seeds]
    if run_elsewhere.get() is not None:  # a bar cannot be sent to another machine
        return setup.map("judging", lambda item: _trial(setup, *item, looks, None), items)
    total, processes = (
        len(items) * min(looks[-1], len(setup.truth.pool)),
        worth_sharing(len(items), setup.jobs),
    )
    with setup.bars(total, "judging") as progress, shared_progress(progress) as report:
        return map_items(
            lambda item: _trial(setup, *item, looks, report), items, processes=processes,
            progress=None if report is None else lambda _: report(0),
        )  # fmt: skip


def _trial(setup: TrialSetup, name: str, seed: int, looks: Sequence[int], progress: Progress | None) -> Trial:
    session = setup.session(seed)
    kind, strategy = strategy_kind(name), None
    if kind is not None:
        adaptive = "level" in find_strategy(kind).parameters
        level = {"level": session.form.level} if adaptive else {}
        strategy = make_strategy(kind, setup.retrieved, seed=seed, **level)
    seen = list(
        trial_looks(
            session, setup.truth, looks, name=name, strategy=strategy, sure=setup.sure, progress=progress
        )
    )
    if not seen:
        return Trial(name, seed, [], [], session.confidence())
    return Trial(name, seed, [look.row for look in seen], seen[-1].documents, seen[-1].confidence)


def _reuse(setup: TrialSetup, judgments: int) -> list[Reuse]:
    """Leave each run out, and look after each quarter of the judgments."""
    quarters = sorted({max(1, judgments * quarter // 4) for quarter in range(1, 5)})
    rows = reuse(setup, quarters)
    if not rows:
        raise DataError(f"fewer than {quarters[0]} documents can be judged; lower --judgments")
    return rows
