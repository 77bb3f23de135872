"""Documents that one run or group alone contributed to the pool, and values without them.

Zobel (1998) leaves out one run; Voorhees (2002, section 2, Figs. 1 and 2) one group, with all documents
that no other group found. What changes then is about what a new run of the same kind would lose.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from sounding.audit.judged_runs import Flags, JudgedRuns, refuse_measures
from sounding.core.lazy import polars
from sounding.core.workers import Progress, map_items
from sounding.measures import Measure
from sounding.measures.summaries import summaries
from sounding.runs.pool import judged_shares
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE, Retrieved, held_by_owner

By = Literal["run", "group"]
Among = Literal["pooled", "all"]
Remove = Literal["relevant", "judgments"]

MIXED = "mixed"
SEVERAL = -1  # more than one contributor has the document, or none

MOST_RELEVANT = 10  # topics with most relevant documents, where Zobel saw the largest changes


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UniqueDocuments:
    """The run or group that alone contributed each judged document, and its kind of run."""

    by: By
    names: tuple[str, ...]  # (unit,) contributing runs or groups, in the order of the runs
    members: tuple[Counts, ...]  # (unit,) all runs of each, contributing or not
    sole: Counts  # (document,) the unit that alone contributed it; SEVERAL: there is none
    kinds: tuple[str, ...]  # kinds of run, and MIXED
    kind: Counts  # (document,) place among the kinds of those that contributed it
    judged: Flags  # (document,)
    relevant: Flags  # (document,)

    def lost(self, unit: int, *, relevant_only: bool = True) -> Flags:
        """(document,): judgments that would be lacking had the unit not taken part."""
        return (self.sole == unit) & (self.relevant if relevant_only else self.judged)

    def counts(self) -> Counts:
        """(unit, kind): unique relevant documents."""
        return self._table(self.relevant)

    def judged_counts(self) -> Counts:
        """(unit, kind): unique judged documents."""
        return self._table(self.judged)

    def _table(self, chosen: Flags) -> Counts:
        rows = chosen & (self.sole != SEVERAL)
        table = np.zeros((len(self.names), len(self.kinds)), np.int64)
        np.add.at(table, (self.sole[rows], self.kind[rows]), 1)
        return table

    @property
    def frame(self) -> polars.DataFrame:
        """Columns group (or run), kind of the runs that found them, unique (relevant), unique_judged."""
        relevant, judged = self.counts(), self.judged_counts()
        unit, kind = judged.nonzero()
        return polars.DataFrame(
            {
                self.by: [self.names[place] for place in unit.tolist()],
                "kind": [self.kinds[place] for place in kind.tolist()],
                "unique": relevant[unit, kind],
                "unique_judged": judged[unit, kind],
            },
            schema_overrides={self.by: polars.String, "kind": polars.String},
        )


def unique_documents(runs: JudgedRuns, by: By = "group", among: Among = "pooled") -> UniqueDocuments:
    """Return the judged documents that exactly one contributing run, or group, has as deep as the pool goes.

    `among` all: and that no other run has there either, pooled or not, as in NIST's leave-out qrels.
    """
    pooled = runs.contributions()
    owner = runs.runs if by == "run" else runs.groups
    owners = [name for name, own in zip(owner, runs.contributing, strict=True) if own]
    names = tuple(dict.fromkeys(owners))
    kinds = [kind for kind, own in zip(runs.kinds, runs.contributing, strict=True) if own]
    known = tuple(sorted(set(kinds)))
    sole = _sole_holder(pooled, owners, names)
    if among == "all":
        submitted = runs.retrieved.pick(~runs.new).cut(runs.reach)
        everybody = [name for name, new in zip(owner, runs.new, strict=True) if not new]
        sole[_sole_holder(submitted, everybody, list(dict.fromkeys(everybody))) == SEVERAL] = SEVERAL
    single = _sole_holder(pooled, kinds, known)
    grades = runs.grades()
    return UniqueDocuments(
        by=by,
        names=names,
        members=tuple(np.array([own == name for own in owner]).nonzero()[0] for name in names),
        sole=sole,
        kinds=(*known, MIXED),
        kind=np.where(single == SEVERAL, len(known), single),
        judged=np.isfinite(grades),
        relevant=runs.is_relevant(),
    )


def _sole_holder(pooled: Retrieved, owners: Sequence[str], names: Sequence[str]) -> Counts:
    """(document,): the place among the names of the only one whose runs have it; SEVERAL: more, or none."""
    holders = np.zeros(len(pooled.docs), np.int64)
    sole = np.full(len(pooled.docs), SEVERAL)
    for owner, held in held_by_owner(pooled, owners):
        holders += held
        sole[held] = names.index(owner)
    sole[holders > 1] = SEVERAL
    return sole


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LeftOut:
    """Values of every run before and after it loses its own, or its group's, unique documents."""

    by: By
    remove: Remove
    measures: tuple[Measure, ...]
    units: tuple[str, ...]  # runs or groups that were left out
    runs: tuple[str, ...]  # (row,) the run that is evaluated
    kinds: tuple[str, ...]  # (row,)
    unit: Counts  # (row,) which unit was left out
    pooled: Flags  # (row,) the run itself contributed
    lost: Counts  # (row,) judgments that were left out
    full: Values  # (row, measure) with all judgments
    without: Values  # (row, measure)
    full_on_ten: Values  # (row, measure) over the topics with most relevant documents
    without_on_ten: Values  # (row, measure)
    rank: Counts  # (row, measure) among the contributing runs, from 1
    rank_without: Counts  # (row, measure) with every run on the judgments that are left
    judged_share: Values  # (row, depth) mean share judged down to each depth had no unique document been
    winner_changes: Flags  # (unit, topic) no former best run by the first measure is still the best

    def of_runs(self, kept: Collection[str]) -> LeftOut:
        """Return the rows of some runs; ranks stay those among all contributing runs."""
        rows = np.array([run in kept for run in self.runs], np.bool_)
        names = ("unit", "pooled", "lost", "full", "without", "full_on_ten", "without_on_ten", "rank",
                 "rank_without", "judged_share")  # fmt: skip
        texts = {name: tuple(np.array(getattr(self, name), object)[rows]) for name in ("runs", "kinds")}
        parts: dict[str, Any] = {name: getattr(self, name)[rows] for name in names} | texts
        return replace(self, **parts)

    def change(self) -> Values:
        """(row, measure): value without, minus value with, the unique documents."""
        return self.without - self.full

    def percent(self) -> Values:
        """(row, measure): the change in percent of the value with all judgments; NaN where that is 0."""
        return _percent(self.full, self.without)

    def percent_on_ten(self) -> Values:
        """(row, measure): the same over the ten topics with most relevant documents."""
        return _percent(self.full_on_ten, self.without_on_ten)

    def summary(self, measure: int = 0, rows: Flags | None = None) -> LeaveOutSummary:
        """Mean and largest change of a measure, by default over pooled runs."""
        chosen = (self.pooled if rows is None else rows).nonzero()[0]
        percent = np.abs(self.percent()[chosen, measure])
        known = np.isfinite(percent)
        largest = int(chosen[np.nan_to_num(percent, nan=-1.0).argmax()]) if known.any() else None
        ten = np.abs(self.percent_on_ten()[chosen, measure])
        places = np.abs(self.rank_without - self.rank)[chosen, measure]
        return LeaveOutSummary(
            runs=len(chosen),
            mean_signed=_mean(self.percent()[chosen, measure]),
            median_signed=_median(self.percent()[chosen, measure]),
            mean_percent=_mean(percent),
            max_percent=float(percent[known].max()) if known.any() else np.nan,
            most_changed=None if largest is None else self.runs[largest],
            mean_change=_mean(np.abs(self.change()[chosen, measure])),
            mean_places=_mean(places.astype(np.float64)),
            max_places=int(places.max(initial=0)),
            mean_percent_on_ten=_mean(ten),
            max_percent_on_ten=float(np.nanmax(ten)) if np.isfinite(ten).any() else np.nan,
        )

    def of_kind(self, kind: str) -> Flags:
        """(row,): contributing runs of one kind."""
        return self.pooled & np.array([own == kind for own in self.kinds], np.bool_)

    def in_papers_order(self, measure: int = 0) -> Counts:
        """Rows by growing absolute change, then by unique documents, as Voorhees's Fig. 2 has them."""
        return np.lexsort((self.lost, np.abs(self.change()[:, measure])))

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per run and measure: values, change, percent, ranks, the same on ten topics."""
        rows, measures = len(self.runs), len(self.measures)

        def each(cells: Sequence[object]) -> list[object]:
            return [cell for cell in cells for _ in range(measures)]

        return polars.DataFrame(
            {
                "run": each(self.runs), "left_out": each([self.units[unit] for unit in self.unit.tolist()]),
                "kind": each(self.kinds), "pooled": each(self.pooled.tolist()),
                "unique": each(self.lost.tolist()), "measure": [str(m) for m in self.measures] * rows,
                "value": self.full.ravel(), "without": self.without.ravel(),
                "change": self.change().ravel(), "percent": self.percent().ravel(),
                "rank": self.rank.ravel(), "rank_without": self.rank_without.ravel(),
                "percent_on_ten": self.percent_on_ten().ravel(),
            },
            schema_overrides={
                **dict.fromkeys(("run", "left_out", "kind", "measure"), polars.String),
                "pooled": polars.Boolean, "unique": polars.Int64,
            },
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaveOutSummary:
    """Summary of how far values move when the documents that only one run or group found are unjudged."""

    runs: int
    mean_signed: float  # percent, as `LeftOut.percent` has it: negative where runs lose
    median_signed: float  # comparable with Lu et al., Table 5: a few runs with low values move the mean
    mean_percent: float  # of the absolute changes, as all figures that follow
    max_percent: float
    most_changed: str | None
    mean_change: float
    mean_places: float
    max_places: int
    mean_percent_on_ten: float
    max_percent_on_ten: float


class _Outcome(NamedTuple):
    """Result of leaving out one run or group."""

    members: Counts
    lost: int
    means: Values  # (member, measure)
    on_ten: Values  # (member, measure)
    rank: Counts  # (member, measure)
    judged_share: Values  # (member, depth)
    winner_changes: Flags  # (topic,)


def leave_out(
    runs: JudgedRuns,
    measures: Sequence[Measure],
    by: By = "group",
    remove: Remove = "relevant",
    among: Among = "pooled",
    progress: Progress | None = None,
    processes: int = 1,
) -> LeftOut:
    """Leave out every contributing run, or group, in turn, and evaluate the runs that this changes.

    `remove` is what goes: the relevant documents that nobody else contributed, or all such judgments; with
    `among` all, only those that no other run retrieved as deep as the pool, pooled or not.
    The runs of a left-out group include those that were not pooled themselves.
    """
    refuse_measures(measures)
    unique = unique_documents(runs, by, among)
    whole = runs.view()
    full = runs.values(measures, whole)
    # The topics with most relevant documents; equal ones in their order.
    ten = np.argsort(-runs.judgments.relevant(runs.level), kind="stable")[:MOST_RELEVANT]
    means, on_ten = summaries(full, measures), summaries(full[:, :, ten], measures)

    def work(unit: int) -> _Outcome:
        unique_judged = unique.lost(unit, relevant_only=False)
        lost = unique.lost(unit) if remove == "relevant" else unique_judged
        view = runs.view(lost, np.unique(runs.retrieved.topic[lost]))
        values = full.copy()
        values[:, :, view.topics] = runs.values(measures, view)
        members, reduced = unique.members[unit], summaries(values, measures)
        return _Outcome(
            members, int(np.count_nonzero(lost)), reduced[members],
            summaries(values[members][:, :, ten], measures),
            _ranks(reduced, members, runs.contributing),
            _judged_shares(runs, whole.judged & ~np.append(unique_judged, False), members),
            _winners_gone(full[:, 0], values[:, 0], runs.new),
        )  # fmt: skip

    found = map_items(work, range(len(unique.names)), processes=processes, progress=progress)
    row = np.concatenate([outcome.members for outcome in found])
    unit = np.repeat(np.arange(len(found)), [len(outcome.members) for outcome in found])
    return LeftOut(
        by=by, remove=remove, measures=tuple(measures), units=unique.names,
        runs=tuple(runs.runs[place] for place in row), kinds=tuple(runs.kinds[place] for place in row),
        unit=unit, pooled=runs.contributing[row],
        lost=np.array([outcome.lost for outcome in found])[unit],
        full=means[row], without=np.concatenate([outcome.means for outcome in found]),
        full_on_ten=on_ten[row], without_on_ten=np.concatenate([outcome.on_ten for outcome in found]),
        rank=_ranks(means, row, runs.contributing),
        rank_without=np.concatenate([outcome.rank for outcome in found]),
        judged_share=np.concatenate([outcome.judged_share for outcome in found]),
        winner_changes=np.array([outcome.winner_changes for outcome in found]),
    )  # fmt: skip


def _judged_shares(runs: JudgedRuns, judged: Flags, members: Counts) -> Values:
    """(member, depth): mean shares judged, by flags of documents and of none."""
    lists = runs.retrieved.lists
    return np.array([judged_shares(judged[lists[run]], lists[run] != NONE) for run in members])


def _ranks(means: Values, rows: Counts, contributing: Flags) -> Counts:
    """(row, measure): one more than the contributing runs that are better; what has no value is last."""
    values = np.nan_to_num(means, nan=-np.inf)
    better = values[contributing][np.newaxis] > values[rows][:, np.newaxis]
    return np.count_nonzero(better, axis=1) + 1


def _winners_gone(before: Values, after: Values, new: Flags) -> Flags:
    """(topic,): whether none of the best runs of a topic is among its best afterwards."""
    before, after = (np.nan_to_num(table[~new], nan=-np.inf) for table in (before, after))
    was, stays = before == before.max(axis=0), after == after.max(axis=0)
    return ~(was & stays).any(axis=0)


def _percent(full: Values, without: Values) -> Values:
    change = 100 * (without - full)
    return np.divide(change, full, out=np.full(full.shape, np.nan), where=full != 0)


def _mean(values: Values) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def _median(values: Values) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else np.nan
