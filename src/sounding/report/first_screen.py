"""The first screen of a report: who wins, whether to trust it, what is missing, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from sounding.compare.result import Comparison
from sounding.core.arrays import NDArray
from sounding.core.text import whole_percent
from sounding.report import sentences
from sounding.report.result import MissingPart, Report
from sounding.runs.pool import Pool
from sounding.statistics.forecasts import SURE
from sounding.statistics.rank_intervals import rank_intervals

Tone = Literal["sure", "likely", "open"]

LEADERS = 4  # runs at most whose documents one action asks to judge
SHALLOW = 10  # ranks to judge first where a measure looks deeper than DEEP
DEEP = 20
MOSTLY = 0.8  # share of a run's conclusions from which on they mostly stand
UNEVEN = 0.05  # a run whose judged share is lower than the mean by more is named
FEWEST_TOPICS = 6  # with fewer, no interval means anything
SHOWN = 10  # rows of the leaderboard before a reader asks for more
WIDTH, EDGE = 200, 4  # of the axis in a row of the leaderboard, and the room beside it
MANY_TOPICS = 1000  # if more are needed, two runs are as good as equal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutlook:
    """How many of the conclusions about a run would very likely stand if more documents were judged."""

    stand: int
    of: int  # 0: not known

    @property
    def tone(self) -> Tone | None:
        """Return `sure`, `likely` or `open`; None: not known."""
        if not self.of:
            return None
        share = self.stand / self.of
        return "sure" if share >= SURE else "likely" if share >= MOSTLY else "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """One row of the leaderboard."""

    run: str
    value: float
    low: float  # 95% interval of the mean over topics; NaN: not known
    high: float
    best: int  # 95% interval of the place; 0: not known
    worst: int
    judged: float  # share of the documents that the measure looks at
    outlook: RunOutlook
    against: str  # significantly "better" or "worse" than the baseline, or "tied"; empty: no baseline
    bracket: int  # number of the group of statistically tied neighbors; 0: in none

    @property
    def judged_text(self) -> str:
        """The judged share as people read it."""
        return whole_percent(self.judged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of what is missing."""

    label: str
    value: str
    share: float | None = None  # drawn as a meter


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """The one thing to do next, with its cost."""

    head: str
    why: str
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScreen:
    """What a reader should know within a minute, by one measure."""

    measure: str
    topics: int
    answer: str  # who wins
    reason: str  # why, and whether to trust it
    caution: str  # what not to conclude; may be empty
    tone: Tone
    standings: tuple[LeaderboardRow, ...]  # best first
    facts: tuple[Fact, ...]
    next_step: NextStep
    note: str  # what brackets and intervals mean

    @property
    def has_intervals(self) -> bool:
        """Whether any interval is known."""
        return any(one.low == one.low for one in self.standings)

    @property
    def has_baseline(self) -> bool:
        """Whether the runs are compared with a baseline."""
        return any(one.against for one in self.standings)

    @property
    def has_outlook(self) -> bool:
        """Whether it is known of any run what more judging would change."""
        return any(one.outlook.of for one in self.standings)

    def x(self, value: float) -> float:
        """Where a value stands on an axis from 0 to WIDTH that holds the rows shown at first."""
        rows = self.standings[:SHOWN]
        ends = [end for one in rows for end in (one.value, one.low, one.high) if end == end]
        low, high = min(ends), max(ends)
        share = min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.5
        return round(EDGE + (WIDTH - 2 * EDGE) * share, 1)


def first_screens(report: Report) -> list[FirstScreen]:
    """Return a first screen for every measure that gives numbers, in the order asked for."""
    measures = report.scores.measures
    numeric = [number for number, one in enumerate(measures) if one.definition.aggregate != "text"]
    return [_Screen(report, number).build() for number in numeric]


class _Screen:
    """Builds the first screen for one measure."""

    def __init__(self, report: Report, number: int) -> None:
        self.report, self.scores = report, report.scores
        self.number = number
        self.measure = self.scores.measures[number]
        self.order = self.scores.order([number])
        self.means: NDArray[np.float64] = self.scores.mean()[:, number]
        self.judged: NDArray[np.float64] = self.scores.judged_share()[:, number]
        self.comparison: Comparison | None = None
        self.row = -1  # the measure's place in the comparison
        if not isinstance(report.comparison, MissingPart) and self.measure in report.comparison.measures:
            self.comparison = report.comparison
            self.row = report.comparison.measures.index(self.measure)

    def build(self) -> FirstScreen:
        """Put the screen together."""
        return FirstScreen(
            measure=str(self.measure), topics=len(self.scores.topics),
            answer=self.answer(), reason=self.reason(), caution=self.caution(), tone=self.tone(),
            standings=tuple(self.standings()), facts=tuple(self.facts()), next_step=self.next_step(),
            note=self.note(),
        )  # fmt: skip

    # -- what is known of pairs ----------------------------------------------------------------------

    @cached_property
    def pair_of(self) -> Mapping[tuple[int, int], int]:
        """Where the comparison has a pair of runs, in either order."""
        if self.comparison is None:
            return {}
        pairs = self.comparison.pairs.tolist()
        return {key: place for place, (a, b) in enumerate(pairs) for key in ((a, b), (b, a))}

    def differ(self, a: int, b: int) -> bool | None:
        """Whether two runs differ significantly; None: that was not, or could not be, tested."""
        pair = self.pair_of.get((a, b))
        if pair is None or self.comparison is None or not self.comparison.cases[self.row, pair]:
            return None
        return bool(self.comparison.performance_tests[self.row].significant[pair])

    @cached_property
    def tied(self) -> list[int]:
        """The runs that do not differ significantly from the leader, best first."""
        return [run for run in self.order[1:] if self.differ(self.order[0], run) is False]

    @property
    def limit(self) -> str:
        """Why nothing could be significant; empty: something could."""
        return "" if self.comparison is None else self.comparison.performance_tests[self.row].limit

    @cached_property
    def lead(self) -> sentences.Lead | None:
        """What is known of the leader and the run after it; None: they were not compared."""
        if self.comparison is None or len(self.order) < 2:
            return None
        first, second = self.order[:2]
        pair = self.pair_of.get((first, second))
        if pair is None:
            return None
        tests, holds = self.comparison.performance_tests[self.row], self.comparison.holds
        return sentences.Lead(
            first=self.scores.runs[first], second=self.scores.runs[second],
            difference=abs(float(tests.difference[pair])), p=float(tests.p_adjusted[pair]),
            at_floor=bool(tests.floor_adjusted[pair]), settled=self.comparison.settled(self.row, pair),
            stays=float("nan") if holds is None else float(holds.sign[self.row, pair]),
            unstated="" if holds is None else holds.reason,
            until="" if holds is None else holds.until_in_words,
            weak=self.comparison.strength(self.row, pair) == "weak",
            judged=(float(self.judged[first]), float(self.judged[second])),
        )  # fmt: skip

    # -- the answer ----------------------------------------------------------------------------------

    @property
    def baseline(self) -> int | None:
        """The first baseline that the runs were compared with."""
        names = self.report.request.baselines
        return self.scores.runs.index(names[0]) if names and names[0] in self.scores.runs else None

    def answer(self) -> str:
        """Who wins, in a sentence."""
        runs, first = self.scores.runs, self.scores.runs[self.order[0]]
        if len(runs) == 1:
            return sentences.one_run(first, str(self.measure), float(self.means[self.order[0]]))
        if self.comparison is None or self.limit:
            return sentences.highest(first, str(self.measure), float(self.means[self.order[0]]))
        if self.baseline is not None:
            return sentences.against_baseline(runs[self.baseline], *self._beaten(), len(runs) - 1)
        return sentences.winner(first, len(self.tied), len(runs), str(self.measure))

    def _beaten(self) -> tuple[int, int]:
        """How many runs are significantly better and worse than the baseline."""
        against = [one.against for one in self.standings()]
        return against.count("better"), against.count("worse")

    def reason(self) -> str:
        """Why, and whether more judging would change it."""
        if len(self.scores.runs) == 1:
            return ""
        if self.comparison is None:
            missing = self.report.comparison
            return missing.reason if isinstance(missing, MissingPart) else ""
        if self.limit:
            return sentences.cannot_tell(self.limit)
        return "" if self.lead is None else sentences.lead(self.lead)

    def caution(self) -> str:
        """What not to conclude."""
        if self.comparison is None or self.limit or self.baseline is not None:
            return ""
        return sentences.do_not_rank(
            len(self.tied) + 1, len(self.order), self.scores.runs[self.order[0]], self.lead
        )

    def tone(self) -> Tone:
        """How sure the answer is, as a color."""
        if self.lead is None or self.limit:
            return "open"
        if self.tied and self.baseline is None:
            return "likely" if len(self.tied) + 1 < len(self.order) else "open"
        stands = self.lead.settled or self.lead.stays >= SURE
        return "sure" if stands and not self.lead.weak else "likely"

    # -- the leaderboard -----------------------------------------------------------------------------

    def standings(self) -> Iterator[LeaderboardRow]:
        """Every run, best first."""
        places = self._places()
        low, high = self._interval()
        brackets = self._brackets()
        for position, run in enumerate(self.order):
            yield LeaderboardRow(
                run=self.scores.runs[run], value=float(self.means[run]), low=float(low[run]),
                high=float(high[run]), best=int(places[0][run]), worst=int(places[1][run]),
                judged=float(self.judged[run]), outlook=self._outlook(run), against=self._against(run),
                bracket=brackets[position],
            )  # fmt: skip

    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        values = self.scores.values[:, self.number]
        if len(self.scores.topics) < FEWEST_TOPICS or len(self.order) < 2:
            none = np.zeros(len(self.order), np.int64)
            return none, none
        return rank_intervals(values, seed=self.scores.policies.seed)

    def _interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(run,) each: Student's 95% interval of the mean, within the range of possible values."""
        from scipy.special import stdtrit  # loads SciPy, which a report without intervals does without

        counted = self.scores.counted()[:, self.number]
        enough = (counted >= FEWEST_TOPICS) & (self.measure.definition.aggregate == "mean")
        half = stdtrit(np.maximum(counted - 1, 1), 0.975) * self.scores.standard_error()[:, self.number]
        half = np.where(enough, half, np.nan)
        values = self.scores.values[:, self.number]
        least = 0.0 if np.nanmin(values, initial=0.0) >= 0 else -np.inf
        most = 1.0 if np.nanmax(values, initial=0.0) <= 1 else np.inf
        return np.clip(self.means - half, least, most), np.clip(self.means + half, least, most)

    def _brackets(self) -> list[int]:
        """(place,): the group of runs that do not differ significantly from its best; 0: the run is alone."""
        if self.baseline is not None:
            return [0] * len(self.order)
        brackets = dict.fromkeys(self.order, 0)
        left, group = list(self.order), 0
        while left:
            best = left[0]
            tied = [run for run in left[1:] if self.differ(best, run) is False]
            group += bool(tied)
            brackets |= dict.fromkeys([best, *tied], group) if tied else {}
            left = [run for run in left[1:] if run not in set(tied)]
        return [brackets[run] for run in self.order]

    def _outlook(self, run: int) -> RunOutlook:
        """How many of the conclusions about the run would very likely stand."""
        holds = None if self.comparison is None else self.comparison.holds
        if self.comparison is None or holds is None:
            return RunOutlook(stand=0, of=0)
        chances = holds.conclusion[self.row, (self.comparison.pairs == run).any(axis=1)]
        known = chances[np.isfinite(chances)]
        return RunOutlook(stand=int(np.count_nonzero(known >= SURE)), of=len(known))

    def _against(self, run: int) -> str:
        if self.baseline is None or run == self.baseline:
            return ""
        differs = self.differ(run, self.baseline)
        if not differs:
            return "" if differs is None else "tied"
        return "better" if self.means[run] > self.means[self.baseline] else "worse"

    def note(self) -> str:
        """What brackets and intervals mean, with the method."""
        if self.comparison is None:
            return ""
        tests = self.comparison.performance_tests[self.row]
        brackets = any(self._brackets())
        intervals = len(self.scores.topics) >= FEWEST_TOPICS
        return sentences.how_to_read(tests.test, tests.correction, len(tests.pairs), brackets, intervals)

    # -- what is missing, and what to do ---------------------------------------------------------------

    @property
    def depth(self) -> int:
        """How deep to judge for this measure: its cut-off, or the first ranks where it looks far down."""
        depth = DEEP + 1 if self.comparison is None else self.comparison.depths[self.row]
        return depth if depth <= DEEP else SHALLOW

    def facts(self) -> Iterator[Fact]:
        """What is missing: judgments, pool, topics."""
        share = float(np.nanmean(self.judged)) if np.isfinite(self.judged).any() else float("nan")
        label = sentences.judged_label(None if self.comparison is None else self.comparison.depths[self.row])
        yield Fact(label=label, value=whole_percent(share), share=share)
        least = int(np.nanargmin(self.judged)) if np.isfinite(self.judged).any() else 0
        if self.judged[least] < share - UNEVEN:
            name = sentences.least_judged(self.scores.runs[least])
            yield Fact(label=name, value=whole_percent(float(self.judged[least])))
        yield Fact(label="Pool", value=sentences.pool(self._pool()))
        yield Fact(label="Topics", value=sentences.topics(len(self.scores.topics)))
        needed = self._topics_needed()
        if needed is not None:
            yield Fact(label="Topics to separate the first two", value=sentences.about(needed))
        if self.scores.without_relevant:
            yield Fact(
                label="Topics without a relevant document", value=f"{len(self.scores.without_relevant):,}"
            )

    def _pool(self) -> Pool | None:
        return None if self.comparison is None else self.comparison.pool

    def _topics_needed(self) -> int | None:
        """How many topics would separate the first two runs; None: no need, or not known."""
        if self.comparison is None or self.lead is None or self.differ(*self.order[:2]) is not False:
            return None
        return self.comparison.topics_needed([(self.row, self.pair_of[self.order[0], self.order[1]])])[0]

    def next_step(self) -> NextStep:
        """The action that helps most: judge the leaders' documents, add topics, or nothing."""
        if len(self.order) < 2:
            return NextStep(head=sentences.ADD_A_RUN, why=sentences.WHY_A_RUN)
        if self.limit:
            return NextStep(head=sentences.ADD_TOPICS, why=sentences.cannot_tell(self.limit))
        runs = [self.order[0], *(self.tied or self.order[1:2])][:LEADERS]
        documents = self._unjudged(runs)
        doubtful = self.lead is None or not (self.lead.settled or self.lead.stays >= SURE)
        if documents and doubtful:
            names = [self.scores.runs[run] for run in runs]
            return NextStep(
                head=sentences.judge(documents),
                why=sentences.judge_why(names, self.depth),
                command=self._pool_command(runs),
            )
        if self.tied:
            needed = self._topics_needed()
            if needed is None or needed > MANY_TOPICS:
                return NextStep(head=sentences.EQUAL, why=sentences.EQUAL_WHY)
            return NextStep(head=sentences.more_topics(needed), why=sentences.TOPICS_WHY)
        return NextStep(head=sentences.NOTHING, why=sentences.NOTHING_WHY)

    def _unjudged(self, runs: list[int]) -> int:
        """How many documents in the top of these runs nobody has judged; 0 where that is not known."""
        if isinstance(self.report.audit, MissingPart):
            return 0
        audited = self.report.audit.runs
        top = audited.retrieved.lists[runs, :, : self.depth]
        documents = np.unique(top[top >= 0])
        return int(np.count_nonzero(np.isnan(audited.grades()[documents])))

    def _pool_command(self, runs: list[int]) -> str:
        """The command that lists these documents; empty where the runs are not files."""
        sources = [one.name for one in self.report.inputs if one.role == "run"]
        qrels = next(one.name for one in self.report.inputs if one.role == "judgments")
        files = [sources[run] for run in runs] if len(sources) == len(self.order) else []
        if not files or not all(Path(file).is_file() for file in (qrels, *files)):
            return ""
        words = ["sounding", "pool", *files, "--depth", str(self.depth), "--qrels", qrels]
        return shlex.join([*words, "-o", "to-judge.qrels"])
