"""The result of tracking: values by run, measure, commit and topic, and how they changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.display import Displayed
from sounding.core.lazy import polars
from sounding.core.text import plural
from sounding.measures.registry import Measure
from sounding.measures.summaries import mean_over_topics, summaries
from sounding.statistics.pairwise import Procedure
from sounding.statistics.testing import critical
from sounding.track.commits import Commit, find_commit

NAN = float("nan")
DEFAULT_PROCEDURE = Procedure()
ABSENT = -1  # the setting of a run, measure and commit without results


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The change from one commit to the next."""

    commit: Commit
    difference: float
    p: float  # adjusted for all steps of the run and measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of a run's mean from the first to the last commit that can be compared."""

    run: str
    measure: str
    commits: int  # commits that can be compared
    first: Commit
    last: Commit
    mean_first: float
    mean_last: float
    difference: float  # over the topics of both; NaN: there is only one commit
    ci_low: float
    ci_high: float
    p: float  # of the run alone
    p_adjusted: float  # for all runs by the measure
    judged_first: float
    judged_last: float
    judged_p: float  # of the change of the judged share, adjusted in the same way
    step: Step | None  # the largest step in the direction of a significant change
    limit: str  # why no change could be significant, whatever the values; empty: one could

    @property
    def fell(self) -> bool:
        """Return whether the mean fell; `step` says whether significantly."""
        return self.difference < 0


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class History(Displayed):
    """The values of runs at the commits of a software, oldest first."""

    source: str
    runs: tuple[str, ...]
    measures: tuple[Measure, ...]
    commits: tuple[Commit, ...]
    topics: tuple[str, ...]  # of all commits together, in byte order
    values: NDArray[np.float64]  # (run, measure, commit, topic); NaN: not defined, or not evaluated
    judged: NDArray[np.float64]  # (run, measure, commit, topic): share judged down to the measure's depth
    settings: NDArray[np.int64]  # (run, measure, commit): a number for the judgments and policies; -1: absent

    def __repr__(self) -> str:
        size = f"{plural(len(self.commits), 'commit')}, {plural(len(self.runs), 'run')}"
        return f"<History in {self.source}: {size}, {plural(len(self.measures), 'measure')}>"

    def mean(self) -> NDArray[np.float64]:
        """(run, measure, commit): the mean over topics, as `evaluate` gives it."""
        runs, measures, commits, topics = self.values.shape
        by_result = self.values.transpose(0, 2, 1, 3).reshape(runs * commits, measures, topics)
        return summaries(by_result, self.measures).reshape(runs, commits, measures).transpose(0, 2, 1)

    def judged_share(self) -> NDArray[np.float64]:
        """(run, measure, commit): the mean share of judged documents down to the measure's depth."""
        return mean_over_topics(self.judged)

    def interval(self, alpha: float = 0.05) -> NDArray[np.float64]:
        """(2, run, measure, commit): limits of the t interval of the mean; NaN for fewer than 2 topics."""
        counted = np.count_nonzero(~np.isnan(self.values), axis=-1)
        mean = self.mean()
        squares = np.nansum((self.values - mean[..., np.newaxis]) ** 2, axis=-1)
        error = np.full(mean.shape, np.nan)
        np.divide(squares, (counted - 1) * np.maximum(counted, 1), out=error, where=counted > 1)
        half = critical(alpha, np.maximum(counted - 1, 1)) * np.sqrt(error)
        least, most = np.array([measure.definition.bounds for measure in self.measures]).T[:, None, :, None]
        return np.stack([np.maximum(mean - half, least), np.minimum(mean + half, most)])

    def comparable(self, run: int, measure: int) -> NDArray[np.intp]:
        """Return the last commits that were evaluated with the same judgments and policies, oldest first."""
        settings = self.settings[run, measure]
        present = np.flatnonzero(settings != ABSENT)
        if not len(present):
            return present
        others = np.flatnonzero(settings[present] != settings[present[-1]])
        return present[others[-1] + 1 :] if len(others) else present

    def of_measures(self, chosen: Sequence[Measure]) -> History:
        """Return the history of some of the measures."""
        places = [self.measures.index(measure) for measure in chosen]
        return replace(
            self, measures=tuple(chosen), values=self.values[:, places], judged=self.judged[:, places],
            settings=self.settings[:, places],
        )  # fmt: skip

    def labels(self) -> list[str]:
        """Return a short name for each commit; the whole names if two have the same short one."""
        short = [commit.short for commit in self.commits]
        return short if len(set(short)) == len(short) else [commit.name for commit in self.commits]

    def start(self, since: str | None) -> int:
        """Return the place of the first commit to look at."""
        return 0 if since is None else find_commit(self.commits, since)

    def changes(self, since: str | None = None, procedure: Procedure = DEFAULT_PROCEDURE) -> list[Change]:
        """Test the change of every run and measure from its first to its last commit, topic by topic.

        Only commits that were evaluated with the same judgments and policies as the last are compared. With
        `since`, those before that commit are left out.
        """
        start = self.start(since)
        means, shares = self.mean(), self.judged_share()
        found = []
        for number, measure in enumerate(self.measures):
            known = {run: self.comparable(run, number) for run in range(len(self.runs))}
            spans = {run: span[span >= start] for run, span in known.items() if (span >= start).any()}
            figures = _figures(self.values[:, number], spans, procedure)
            shared = _figures(self.judged[:, number], spans, procedure)
            for run, span in spans.items():
                own, first, last = figures.get(run, UNTESTED), int(span[0]), int(span[-1])
                significant = own.p_adjusted <= procedure.alpha
                found.append(
                    Change(
                        run=self.runs[run], measure=str(measure), commits=len(span),
                        first=self.commits[first], last=self.commits[last],
                        mean_first=float(means[run, number, first]),
                        mean_last=float(means[run, number, last]),
                        judged_first=float(shares[run, number, first]),
                        judged_last=float(shares[run, number, last]),
                        judged_p=shared.get(run, UNTESTED).p_adjusted, **own._asdict(),
                        step=_largest_step(self, run, number, span, procedure) if significant else None,
                    )
                )  # fmt: skip
        return found

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, measure, commit, time, topic, value, judged: one row a value."""
        run, measure, commit = (places.tolist() for places in np.nonzero(self.settings != ABSENT))
        chosen = (run, measure, commit)
        count = len(self.topics)

        def repeated(names: Sequence[str]) -> list[str]:
            return [name for name in names for _ in range(count)]

        return polars.DataFrame(
            {
                "run": repeated([self.runs[place] for place in run]),
                "measure": repeated([str(self.measures[place]) for place in measure]),
                "commit": repeated([self.commits[place].name for place in commit]),
                "time": repeated([self.commits[place].time for place in commit]),
                "topic": list(self.topics) * len(run),
                "value": self.values[chosen].ravel(),
                "judged": self.judged[chosen].ravel(),
            }
        )


class _Figures(NamedTuple):
    """The test of one run's last values against its first."""

    difference: float
    ci_low: float
    ci_high: float
    p: float
    p_adjusted: float
    limit: str


UNTESTED = _Figures(NAN, NAN, NAN, NAN, NAN, "")


def _figures(
    values: NDArray[np.float64], spans: Mapping[int, NDArray[np.intp]], procedure: Procedure
) -> dict[int, _Figures]:
    """Test the last value of each run against its first, from values by run, commit and topic.

    A run is left out if it has one commit only, or if its two commits have fewer than two topics in common.
    """
    ends = {run: values[run, [span[-1], span[0]]] for run, span in spans.items() if len(span) > 1}
    ends = {run: both for run, both in ends.items() if (~np.isnan(both)).all(axis=0).sum() > 1}
    if not ends:
        return {}
    pairs = np.arange(2 * len(ends)).reshape(-1, 2)
    tests = procedure.apply(np.concatenate(list(ends.values())), pairs)
    columns = (tests.difference, tests.ci_low, tests.ci_high, tests.p, tests.p_adjusted)
    rows = np.column_stack(columns).tolist()
    return {run: _Figures._make((*row, tests.limit)) for run, row in zip(ends, rows, strict=True)}


def _largest_step(
    history: History, run: int, measure: int, span: NDArray[np.intp], procedure: Procedure
) -> Step:
    """Return the largest step in the direction of the whole change; all steps are tested together."""
    values = history.values[run, measure, span]
    later = np.arange(1, len(span))
    tests = procedure.apply(values, np.column_stack([later, later - 1]))
    whole = np.nanmean(values[-1] - values[0])
    row = int(np.nanargmax(tests.difference * np.sign(whole)))
    return Step(
        commit=history.commits[int(span[row + 1])], difference=float(tests.difference[row]),
        p=float(tests.p_adjusted[row]),
    )  # fmt: skip
