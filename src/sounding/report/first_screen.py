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
from sounding.core.policies import DEFAULT_POLICIES
from sounding.core.text import whole_percent
from sounding.evaluate.result import FEW_TOPICS
from sounding.report import sentences
from sounding.report.result import MissingPart, Report
from sounding.runs.pool import Pool
from sounding.statistics.bootstrap import rank_intervals
from sounding.statistics.forecasts import SURE

Tone = Literal["sure", "likely", "open"]

LEADERS = 4  # runs at most whose documents one action asks to judge
SHALLOW = 10  # ranks to judge first where a measure looks deeper than DEEP
DEEP = 20
DEEPER = (20, 50, 100)  # where all of the first ranks are judged
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
    against: str  # significantly "better" or "worse" than the baseline, or "tied"; empty: not tested
    is_baseline: bool
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

    @cached_property
    def beaten(self) -> int:
        """How many runs are significantly worse than the leader."""
        return sum(self.differ(self.order[0], run) is True for run in self.order[1:])

    @cached_property
    def in_question(self) -> tuple[int, int] | None:
        """The two runs that the reason speaks of, the better one first.

        They are the first two; with a baseline, it and the best of the runs that it was tested against.
        """
        if self.baseline is None:
            return (self.order[0], self.order[1]) if len(self.order) > 1 else None
        others = [run for run in self.order if (run, self.baseline) in self.pair_of]
        if not others:
            return None
        first, second = sorted((others[0], self.baseline), key=self.order.index)
        return first, second

    @property
    def limit(self) -> str:
        """Why nothing could be significant; empty: something could."""
        return "" if self.comparison is None else self.comparison.performance_tests[self.row].limit

    @cached_property
    def lead(self) -> sentences.Lead | None:
        """What is known of the two runs in question; None: they were not compared."""
        if self.comparison is None or self.in_question is None or self.in_question not in self.pair_of:
            return None
        first, second = self.in_question
        pair = self.pair_of[first, second]
        tests, holds = self.comparison.performance_tests[self.row], self.comparison.holds
        return sentences.Lead(
            first=self.scores.runs[first], second=self.scores.runs[second],
            difference=abs(float(tests.difference[pair])), p=float(tests.p_adjusted[pair]),
            at_floor=bool(tests.floor_adjusted[pair]),
            alone=bool(tests.p[pair] <= self.comparison.alpha),
            settled=self.comparison.settled(self.row, pair),
            stays=float("nan") if holds is None else float(holds.sign[self.row, pair]),
            unstated="" if holds is None else holds.reason,
            until="" if holds is None else holds.until_in_words,
            weak=self.comparison.strength(self.row, pair) == "weak" and not self.only_relevant,
            judged=(float(self.judged[first]), float(self.judged[second])),
        )  # fmt: skip

    @cached_property
    def only_relevant(self) -> bool:
        """Whether no document was judged not relevant, as with clicks or one label a topic.

        Then a run with more relevant documents has more judged ones too, which is no bias.
        """
        if isinstance(self.report.audit, MissingPart):
            return False
        audited = self.report.audit.runs
        grades = audited.grades()
        judged = grades[~np.isnan(grades)]
        return bool(len(judged)) and bool((judged >= audited.level).all())

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
            return self._highest()
        if self.baseline is not None:
            against = list(filter(None, map(self._against, self.order)))
            better, worse = against.count("better"), against.count("worse")
            return sentences.against_baseline(
                runs[self.baseline], better, worse, len(against), str(self.measure)
            )
        if not self.tied and not self.beaten:
            return self._highest()
        biased = self.lead is not None and self.lead.weak and not self.lead.settled
        return sentences.winner(first, len(self.tied), self.beaten, len(runs), str(self.measure), biased)

    def _highest(self) -> str:
        value = float(self.means[self.order[0]])
        sharing = int(np.count_nonzero(self.means > value - sentences.SAME))
        return sentences.highest(self.scores.runs[self.order[0]], sharing, str(self.measure), value)

    def reason(self) -> str:
        """Why, and whether more judging would change it."""
        if len(self.scores.runs) == 1:
            return ""
        if self.comparison is None:
            missing = self.report.comparison
            return missing.reason if isinstance(missing, MissingPart) else ""
        if self.limit:
            return sentences.limit(self.limit)[0]
        return "" if self.lead is None else sentences.lead(self.lead)

    def caution(self) -> str:
        """What not to conclude."""
        if self.comparison is None or self.limit:
            return ""
        first, tied = self.scores.runs[self.order[0]], len(self.tied) if self.baseline is None else 0
        caution = sentences.do_not_rank(tied + 1, self.beaten, first, self.lead)
        return f"{caution} {sentences.ONLY_RELEVANT}".strip() if self.only_relevant else caution

    @property
    def separated(self) -> bool:
        """Whether the leader differs significantly from every other run; with a baseline, from that."""
        if self.baseline is not None:
            return self.in_question is not None and self.differ(*self.in_question) is True
        return bool(self.beaten) and not self.tied

    def tone(self) -> Tone:
        """How sure the answer is, as a color."""
        if self.lead is None or self.limit:
            return "open"
        if not self.separated:
            return "likely" if self.beaten and self.baseline is None else "open"
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
                is_baseline=run == self.baseline, bracket=brackets[position],
            )  # fmt: skip

    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(run,) each: the best and the worst place that a bootstrap over topics and the tests leave open.

        Without the tests, a run that is tied for first could be shown at place 1 alone: the bootstrap
        looks at each run by itself, the tests are corrected for all pairs.
        """
        averaged = self.measure.definition.aggregate == "mean"
        if len(self.scores.topics) < FEWEST_TOPICS or len(self.order) < 2 or not averaged:
            none = np.zeros(len(self.order), np.int64)
            return none, none
        best, worst = rank_intervals(self.scores.values[:, self.number], seed=self.scores.policies.seed)
        if self.comparison is None or self.baseline is not None:
            return best, worst
        tests = self.comparison.performance_tests[self.row]
        differ = tests.significant & (self.comparison.cases[self.row] > 0)
        a, b = self.comparison.pairs[differ].T
        ahead = self.means[a] > self.means[b]
        runs = len(self.order)
        losses = np.bincount(np.where(ahead, b, a), minlength=runs)
        wins = np.bincount(np.where(ahead, a, b), minlength=runs)
        return np.minimum(best, 1 + losses), np.maximum(worst, runs - wins)

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
            joined = {best, *tied}
            left = [run for run in left if run not in joined]
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
        """How the run compares with the first baseline; empty: it was not tested against it."""
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
        outlook = self.baseline is None and any(self._outlook(run).of for run in self.order)
        return sentences.how_to_read(
            tests.test, tests.correction, len(tests.pairs), brackets=brackets, intervals=intervals,
            outlook=outlook,
        )  # fmt: skip

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
        if self.judged[least] < share - UNEVEN and not self.only_relevant:
            name = sentences.least_judged(self.scores.runs[least])
            yield Fact(label=name, value=whole_percent(float(self.judged[least])))
        yield Fact(label="Pool", value=sentences.pool(self._pool()))
        yield Fact(label="Topics", value=sentences.topics(len(self.scores.topics)))
        needed = self._topics_needed()
        if needed is not None:
            label = sentences.TO_SEPARATE if self.baseline is None else sentences.TO_SEPARATE_BASELINE
            yield Fact(label=label, value=sentences.about(needed))
        if self.scores.without_relevant:
            yield Fact(
                label="Topics without a relevant document", value=f"{len(self.scores.without_relevant):,}"
            )

    def _pool(self) -> Pool | None:
        return None if self.comparison is None else self.comparison.pool

    def _topics_needed(self) -> int | None:
        """How many topics would separate the two runs in question; None: no need, or not known."""
        pair = self.in_question
        if self.comparison is None or pair is None or self.differ(*pair) is not False:
            return None
        return self.comparison.topics_needed([(self.row, self.pair_of[pair])])[0]

    def next_step(self) -> NextStep:
        """The action that helps most: judge the leaders' documents, add topics, or nothing."""
        if len(self.order) < 2:
            return NextStep(head=sentences.ADD_A_RUN, why=sentences.WHY_A_RUN)
        if self.comparison is None:
            return NextStep(head=sentences.RESOLVE, why=sentences.RESOLVE_WHY)
        if self.limit:
            head, why = sentences.limit(self.limit)[1], sentences.limit_why(len(self.scores.topics))
            return NextStep(head=head, why=why)
        if self.in_question is None or self.lead is None:
            return NextStep(head=sentences.RESOLVE, why=sentences.NOT_TESTED)
        return self._judging() or (self._use() if self.separated else self._topics())

    def _judging(self) -> NextStep | None:
        """Judge the leaders' documents; None: that would very likely change nothing, or nothing is left."""
        known = self.lead
        if known is None or self.in_question is None or known.settled or known.stays >= SURE:
            return None
        runs = list(self.in_question)
        if self.baseline is None:
            runs = [self.order[0], *(self.tied or self.order[1:2])][:LEADERS]
        names = [self.scores.runs[run] for run in runs]
        if not self._knows_documents:
            complete = np.nanmin(self.judged[runs], initial=1.0) >= 1
            why = sentences.judge_why(names, self.depth)
            return None if complete else NextStep(head=sentences.JUDGE, why=why)
        for depth in (self.depth, *(deeper for deeper in DEEPER if deeper > self.depth)):
            documents = self._unjudged(runs, depth)
            if documents:
                return NextStep(
                    head=sentences.judge(documents), why=sentences.judge_why(names, depth),
                    command=self._pool_command(runs, depth),
                )  # fmt: skip
        return None

    def _use(self) -> NextStep:
        """Nothing is left to do for a significant difference."""
        why = "" if self.lead is None else sentences.nothing_why(self.lead.first, self.lead.second)
        return NextStep(head=sentences.NOTHING, why=why)

    def _topics(self) -> NextStep:
        """Add topics, or stop, where runs are tied and judging would not help."""
        present, needed = len(self.scores.topics), self._topics_needed()
        if needed is not None and needed <= MANY_TOPICS and self.lead is not None:
            head = sentences.more_topics(needed, self.lead.first, self.lead.second)
            return NextStep(head=head, why=sentences.TOPICS_WHY)
        if self.lead is not None and self.lead.alone and not self.lead.equal:
            return NextStep(head=sentences.FEWER_PAIRS, why=sentences.FEWER_PAIRS_WHY)
        if present < FEW_TOPICS:
            return NextStep(head=sentences.ADD_TOPICS, why=sentences.too_few(present))
        why = sentences.SAME_WHY if self.lead is not None and self.lead.equal else sentences.EQUAL_WHY
        return NextStep(head=sentences.EQUAL, why=why)

    @property
    def _knows_documents(self) -> bool:
        audited = self.report.audit
        return not isinstance(audited, MissingPart) and audited.runs.runs == self.scores.runs

    def _unjudged(self, runs: list[int], depth: int) -> int:
        """How many documents in the top of these runs nobody has judged; 0 where that is not known."""
        if isinstance(self.report.audit, MissingPart):
            return 0
        audited = self.report.audit.runs
        top = audited.retrieved.lists[runs, :, :depth]
        documents = np.unique(top[top >= 0])
        return int(np.count_nonzero(np.isnan(audited.grades()[documents])))

    def _pool_command(self, runs: list[int], depth: int) -> str:
        """The command that lists these documents; empty where no command would.

        That is so where runs are not files, and where judgments were cut to a pool of the other runs.
        """
        request = self.report.request
        sources = [one.name for one in self.report.inputs if one.role == "run"]
        qrels = next(one.name for one in self.report.inputs if one.role == "judgments")
        files = [sources[run] for run in runs] if len(sources) == len(self.order) else []
        if not files or request.pool_depth or not all(Path(file).is_file() for file in (qrels, *files)):
            return ""
        words = ["sounding", "pool", *files, "--depth", str(depth), "--qrels", qrels]
        for name in ("ties", "compat", "duplicates"):
            chosen = getattr(request.policies, name)
            words += [f"--{name}", chosen] if chosen != getattr(DEFAULT_POLICIES, name) else []
        words += ["--qrels-format", request.qrels_format] if request.qrels_format else []
        words += ["--run-format", request.run_format] if request.run_format else []
        return shlex.join([*words, "-o", "to-judge.qrels"])
