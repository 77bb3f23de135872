"""The first screen of a report: who wins, whether to trust it, what is missing, and what to do next."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from sounding.compare.advice import advise
from sounding.compare.result import Comparison
from sounding.compare.sentences import what_would_decide
from sounding.core.arrays import NDArray
from sounding.core.policies import DEFAULT_POLICIES
from sounding.core.text import whole_percent
from sounding.evaluate.result import FEW_TOPICS
from sounding.report import sentences
from sounding.report.result import MissingPart, Report
from sounding.runs.pool import Pool
from sounding.statistics.bootstrap import mean_intervals, rank_intervals
from sounding.statistics.forecasts import SURE
from sounding.statistics.power import topics_needed

Tone = Literal["sure", "likely", "open"]

LEADERS = 4  # most runs whose documents one action asks to judge
SHALLOW = 10  # ranks to judge first if a measure looks deeper than DEEP
DEEP = 20
DEEPER = (20, 50, 100)  # if all of the first ranks are judged
MOST_HOURS = 8  # hours of judging that one action asks for
MOST_DOCUMENTS = int(MOST_HOURS * 3600 / sentences.SECONDS)
MOSTLY = 0.8  # from this share on, a run's conclusions "mostly" stand
UNEVEN = 0.05  # name a run whose judged share is below the mean by more than this
FEWEST_TOPICS = 6  # with fewer, an interval is meaningless
SHOWN = 10  # rows of the leaderboard shown at first
BEST_SHOWN = 3  # best runs among them, if the page is about a lower run
ON_PHONE = 3
WIDTH, EDGE = 200, 4  # of the axis in a row of the leaderboard, and its margin
MOST_FOR_TOPICS = int(40 * 3600 / sentences.SECONDS)  # documents, a week's judging, to ask for more topics
MANY_TOPICS = 1000  # if more are needed, call two runs practically equal


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutlook:
    """Number of conclusions about a run that would very likely stand if more documents were judged."""

    stand: int
    of: int  # number of conclusions; 0: not known

    @property
    def tone(self) -> Tone | None:
        """Return `sure`, `likely` or `open`; None if unknown."""
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
    judged: float  # judged share of the documents that the measure looks at
    outlook: RunOutlook
    against: str  # "better" or "worse" than the reference, "tied", or "" if not tested
    is_reference: bool  # the baseline, or the run that the page is about
    brackets: tuple[int, ...]  # the groups of statistically tied runs it belongs to
    lanes: tuple[str, ...] = ()  # each bracket's part in the row: begin, member, end, past or ""
    shown: bool = True  # visible before the reader asks for all runs
    on_phone: bool = True

    @property
    def judged_text(self) -> str:
        """Return the judged share as text."""
        return whole_percent(self.judged)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One line of what is missing."""

    label: str
    value: str
    share: float | None = None  # drawn as a meter; None: no meter


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """The one thing to do next, with its cost."""

    head: str
    why: str
    command: str = ""


class TopicsNeeded(NamedTuple):
    """Number of topics with which a paired t test finds a difference with a power of 0.8."""

    alone: float  # if only these two runs are tested
    corrected: float  # if all pairs are tested, with Bonferroni's correction
    pairs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstScreen:
    """Contents of the first screen, by one measure."""

    measure: str
    topics: int
    answer: str  # who wins, or the place of the run that the page is about
    reason: str  # why, and whether to trust it
    caution: str  # a conclusion to avoid; may be empty
    tone: Tone
    standings: tuple[LeaderboardRow, ...]  # best first
    facts: tuple[Fact, ...]
    next_step: NextStep
    note: str  # the meaning of brackets and intervals
    reference: str = ""  # the baseline, or the run that the page is about
    about: str = ""  # the run that the page is about; "" if it is about all

    @property
    def has_intervals(self) -> bool:
        """Return whether any interval is known."""
        return any(one.low == one.low for one in self.standings)

    @property
    def has_reference(self) -> bool:
        """Return whether the runs are compared with one run."""
        return any(one.against for one in self.standings)

    @property
    def has_outlook(self) -> bool:
        """Return whether any run has a known outlook."""
        return any(one.outlook.of for one in self.standings)

    def x(self, value: float) -> float:
        """Return the position of a value on an axis from 0 to WIDTH, scaled to the rows shown at first."""
        rows = [one for one in self.standings if one.shown]
        ends = [end for one in rows for end in (one.value, one.low, one.high) if end == end]
        low, high = min(ends), max(ends)
        share = min(max((value - low) / (high - low), 0.0), 1.0) if high > low else 0.5
        return round(EDGE + (WIDTH - 2 * EDGE) * share, 1)


def bracket_lanes(groups: list[list[int]]) -> defaultdict[int, tuple[str, ...]]:
    """Return for each place how brackets cross it: overlapping groups get lanes of their own."""
    ends: list[int] = []  # end of the last group in each lane
    marks: dict[tuple[int, int], str] = {}  # by place and lane
    for group in groups:
        lane = next((lane for lane, end in enumerate(ends) if end < group[0]), len(ends))
        ends[lane : lane + 1] = [group[-1]]
        members = set(group)
        for place in range(group[0], group[-1] + 1):
            marks[place, lane] = "member" if place in members else "past"
        marks[group[0], lane], marks[group[-1], lane] = "begin", "end"
    none = ("",) * len(ends)
    lanes: defaultdict[int, tuple[str, ...]] = defaultdict(lambda: none)
    for place in {place for place, _ in marks}:
        lanes[place] = tuple(marks.get((place, lane), "") for lane in range(len(ends)))
    return lanes


def tied_groups(runs: int, differ: Callable[[int, int], bool | None]) -> list[list[int]]:
    """Return groups of places: a run and every lower run that does not differ significantly from it.

    The first group is the leader's. Each further group begins with the best run that has no group yet,
    and includes runs of earlier groups that do not differ significantly from it.
    """
    groups: list[list[int]] = []
    inside: set[int] = set()
    for place in range(runs):
        if place in inside:
            continue
        tied = [other for other in range(place + 1, runs) if differ(place, other) is False]
        if tied:
            groups.append([place, *tied])
            inside.update(groups[-1])
    return groups


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
        self.row = -1  # the measure's row in the comparison
        if not isinstance(report.comparison, MissingPart) and self.measure in report.comparison.measures:
            self.comparison = report.comparison
            self.row = report.comparison.measures.index(self.measure)

    def build(self) -> FirstScreen:
        """Put the screen together."""
        return FirstScreen(
            measure=str(self.measure), topics=len(self.scores.topics),
            answer=self.answer(), reason=self.reason(), caution=self.caution(), tone=self.tone(),
            standings=tuple(self.standings()), facts=tuple(self.facts()), next_step=self.next_step(),
            note=self.note(), about=self.report.request.about,
            reference="" if self.reference is None else self.scores.runs[self.reference],
        )  # fmt: skip

    # -- what is known of pairs ----------------------------------------------------------------------

    @cached_property
    def pair_of(self) -> Mapping[tuple[int, int], int]:
        """Return the index in the comparison of each pair of runs, in either order."""
        if self.comparison is None:
            return {}
        pairs = self.comparison.pairs.tolist()
        return {key: place for place, (a, b) in enumerate(pairs) for key in ((a, b), (b, a))}

    def differ(self, a: int, b: int) -> bool | None:
        """Return whether two runs differ significantly; None if that was not or could not be tested."""
        pair = self.pair_of.get((a, b))
        if pair is None or self.comparison is None or not self.comparison.cases[self.row, pair]:
            return None
        return bool(self.comparison.performance_tests[self.row].significant[pair])

    @cached_property
    def tied(self) -> list[int]:
        """Return the runs that do not differ significantly from the leader, best first."""
        return [run for run in self.order[1:] if self.differ(self.order[0], run) is False]

    @cached_property
    def beaten(self) -> int:
        """Return how many runs are significantly worse than the leader."""
        return sum(self.differ(self.order[0], run) is True for run in self.order[1:])

    @cached_property
    def shaky(self) -> list[int]:
        """Return the runs whose significant difference from the leader may not stand if more is judged."""
        holds = None if self.comparison is None else self.comparison.holds
        if holds is None or self.reference is not None:
            return []
        worse = [run for run in self.order[1:] if self.differ(self.order[0], run)]
        return [run for run in worse if holds.conclusion[self.row, self.pair_of[self.order[0], run]] < SURE]

    @cached_property
    def focus(self) -> int | None:
        """Return the run that the page is about, or None."""
        name = self.report.request.about
        return self.scores.runs.index(name) if name in self.scores.runs else None

    @cached_property
    def reference(self) -> int | None:
        """Return the run that others are compared with: the one the page is about, or the first baseline."""
        names = self.report.request.baselines
        if self.focus is not None or not names or names[0] not in self.scores.runs:
            return self.focus
        return self.scores.runs.index(names[0])

    @cached_property
    def outcomes(self) -> Mapping[str, list[int]]:
        """Return the runs that are significantly better than the reference, worse, and tied, best first."""
        found: dict[str, list[int]] = {"better": [], "worse": [], "tied": []}
        for run in self.order:
            if word := self._against(run):
                found[word].append(run)
        return found

    @cached_property
    def sharing(self) -> list[int]:
        """Return the runs that have the highest mean."""
        best = self.means[self.order[0]]
        return [run for run in self.order if self.means[run] > best - sentences.SAME]

    @cached_property
    def in_question(self) -> tuple[int, int] | None:
        """Return the two runs that the reason explains, the better one first.

        By default, the leader and the next run, or the best tied run with another mean. With a baseline,
        the baseline and the best run tested against it. On a page about a run, that run and the tied run
        that is easiest to decide, or else the nearest run.
        """
        if self.reference is None:
            behind = [run for run in self.tied if run not in self.sharing] or self.order[1:]
            return (self.order[0], behind[0]) if behind else None
        others = [run for run in self.order if (run, self.reference) in self.pair_of]
        if not others:
            return None
        if self.focus is not None:
            own = self.order.index(self.focus)
            others = sorted(others, key=lambda run: abs(self.order.index(run) - own))
            ties = ((*self._tie(run), run) for run in self.outcomes["tied"])
            kinds = ("judging", "topics", "close")
            others = [
                run for *_, run in sorted(ties, key=lambda tie: (kinds.index(tie[0]), tie[1]))
            ] or others
        first, second = sorted((others[0], self.reference), key=self.order.index)
        return first, second

    @property
    def limit(self) -> str:
        """Return why nothing could be significant; "" if something could."""
        return "" if self.comparison is None else self.comparison.performance_tests[self.row].limit

    @cached_property
    def lead(self) -> sentences.Lead | None:
        """Return the facts about the two runs in question; None if they were not compared."""
        return None if self.in_question is None else self.lead_of(*self.in_question)

    def lead_of(self, first: int, second: int) -> sentences.Lead | None:
        """Return the facts about two runs, the better one first; None if they were not compared."""
        pair = self.pair_of.get((first, second))
        if self.comparison is None or pair is None:
            return None
        tests, holds = self.comparison.performance_tests[self.row], self.comparison.holds
        return sentences.Lead(
            first=self.scores.runs[first], second=self.scores.runs[second],
            difference=abs(float(tests.difference[pair])), p=float(tests.p_adjusted[pair]),
            at_floor=bool(tests.floor_adjusted[pair]),
            alone=bool(tests.p[pair] <= self.comparison.alpha),
            settled=self.comparison.settled(self.row, pair),
            stays=float("nan") if holds is None else float(holds.sign[self.row, pair]),
            unstated="" if holds is None else holds.reason,
            weak=self.comparison.strength(self.row, pair) == "weak" and not self.only_relevant,
            judged=(float(self.judged[first]), float(self.judged[second])),
            complete=self.depth if self._complete(first, second) else 0,
        )  # fmt: skip

    def _complete(self, *runs: int) -> bool:
        """Return whether all that the measure looks at is judged, of these runs."""
        looks = 0 if self.comparison is None else self.comparison.depths[self.row]
        return looks == self.depth and bool(np.min(self.judged[list(runs)]) >= 1)

    @cached_property
    def only_relevant(self) -> bool:
        """Return whether all judgments are of relevant documents, as with clicks or one label per topic.

        Then a run with more relevant documents also has more judged ones, which is no sign of bias.
        """
        if isinstance(self.report.audit, MissingPart):
            return False
        audited = self.report.audit.runs
        grades = audited.grades()
        judged = grades[~np.isnan(grades)]
        return bool(len(judged)) and bool((judged >= audited.level).all())

    # -- the answer ----------------------------------------------------------------------------------

    def answer(self) -> str:
        """Return who wins, in a sentence."""
        runs, first = self.scores.runs, self.scores.runs[self.order[0]]
        if len(runs) == 1:
            return sentences.one_run(first, str(self.measure), float(self.means[self.order[0]]))
        if self.comparison is None or self.limit:
            return self._highest()
        if self.reference is not None:
            better, worse, tied = (len(self.outcomes[word]) for word in ("better", "worse", "tied"))
            name, measure = runs[self.reference], str(self.measure)
            if self.focus is None:
                return sentences.against_baseline(name, better, worse, better + worse + tied, measure)
            return self._place() + " " + sentences.beats(worse, better, tied)
        if not self.tied and not self.beaten:
            return self._highest()
        biased = self.lead is not None and self.lead.doubtful
        return sentences.winner(first, len(self.tied), self.beaten, len(runs), str(self.measure), biased)

    def _place(self) -> str:
        """Return the place of the run that the page is about."""
        run = self.order[0] if self.focus is None else self.focus
        value = float(self.means[run])
        place = 1 + int(np.count_nonzero(self.means > value + sentences.SAME))
        name = self.scores.runs[run]
        return sentences.place(name, place, len(self.order), str(self.measure), value)

    def _highest(self) -> str:
        if self.focus is not None:
            return f"{self._place()} {sentences.NOTHING_FOLLOWS}"
        value = float(self.means[self.order[0]])
        leader = self.scores.runs[self.order[0]]
        return sentences.highest(leader, len(self.sharing), str(self.measure), value)

    def reason(self) -> str:
        """Return why, and whether more judging would change it."""
        if len(self.scores.runs) == 1:
            return ""
        if self.comparison is None:
            missing = self.report.comparison
            return missing.reason if isinstance(missing, MissingPart) else ""
        if self.limit:
            return sentences.limit(self.limit)[0]
        if self.lead is None:
            return ""
        shared = self.reference is None and len(self.sharing) > 1 and not self.lead.equal
        also = sentences.same_mean([self.scores.runs[run] for run in self.sharing]) if shared else ""
        why = sentences.lead(self.lead, significant=bool(self.differ(*(self.in_question or ()))))
        uneven = sentences.judged_unevenly(self.lead) if self.focus is None else ""
        return " ".join(filter(None, (also, why, uneven)))

    def caution(self) -> str:
        """Return what not to conclude."""
        if self.comparison is None or self.limit:
            return ""
        if self.focus is not None:
            caution = " ".join(filter(None, (self._undecided(), self._uneven())))
        else:
            first, tied = self.scores.runs[self.order[0]], len(self.tied) if self.reference is None else 0
            caution = sentences.do_not_rank(tied + 1, self.beaten, first)
            if self.separated and self.shaky:
                caution = sentences.may_not_stay(len(self.shaky), self.beaten)
        return f"{caution} {sentences.ONLY_RELEVANT}".strip() if self.only_relevant else caution

    def _undecided(self) -> str:
        """Return why runs are tied with the one that the page is about."""
        reasons: dict[str, list[str]] = {}
        for run in self.outcomes["tied"]:
            if self.comparison is not None:
                why = what_would_decide(self.comparison, self.row, self.pair_of[run, self.focus or 0])
                reasons.setdefault(why, []).append(self.scores.runs[run])
        return sentences.undecided(reasons)

    def _tie(self, run: int) -> tuple[str, float]:
        """Return what would decide a tie with the run of the page, and how many topics that takes."""
        own = self.focus or 0
        needed, pair = self._topics_needed((run, own)), self.pair_of.get((run, own))
        topics = needed.alone if needed is not None else 0.0
        if self.comparison is None or pair is None:
            return "close", np.inf
        (situation,) = self.comparison.situations([(self.row, pair)])
        if situation.equal or (not situation.significant and topics > MANY_TOPICS):
            return "close", np.inf
        more_topics = situation.significant or advise(situation).action in ("add topics", "nothing to judge")
        return "topics" if more_topics else "judging", topics

    def _uneven(self) -> str:
        """Name the runs whose significant difference may be due to uneven judging."""
        runs = []
        for run in (*self.outcomes["better"], *self.outcomes["worse"]):
            known = self.lead_of(run, self.focus or 0)
            if known is not None and known.doubtful:
                runs.append(self.scores.runs[run])
        return sentences.uneven(runs) if runs else ""

    @property
    def separated(self) -> bool:
        """Return whether the leader differs significantly from every other run, or from the baseline if any.

        On a page about a run: whether that run differs significantly from every other one.
        """
        if self.focus is not None:
            return not self.outcomes["tied"]
        if self.reference is not None:
            return self.in_question is not None and self.differ(*self.in_question) is True
        return bool(self.beaten) and not self.tied

    def tone(self) -> Tone:
        """Return how sure the answer is, as a color."""
        if self.lead is None or self.limit:
            return "open"
        if not self.separated:
            some = self.beaten and self.reference is None
            if self.focus is not None:
                some = bool(self.outcomes["better"] or self.outcomes["worse"])
            return "likely" if some else "open"
        stands = self.lead.settled or self.lead.stays >= SURE
        uneven = self.lead.doubtful if self.focus is None else bool(self._uneven())
        return "sure" if stands and not uneven and not self.shaky else "likely"

    # -- the leaderboard -----------------------------------------------------------------------------

    def standings(self) -> Iterator[LeaderboardRow]:
        """Yield a row for every run, best first."""
        places = self._places()
        low, high = self._interval()
        brackets = self._brackets()
        lanes = bracket_lanes(brackets)
        shown, on_phone = self._first_rows(SHOWN, BEST_SHOWN), self._first_rows(ON_PHONE, 1)
        for position, run in enumerate(self.order):
            yield LeaderboardRow(
                run=self.scores.runs[run], value=float(self.means[run]), low=float(low[run]),
                high=float(high[run]), best=int(places[0][run]), worst=int(places[1][run]),
                judged=float(self.judged[run]), outlook=self._outlook(run), against=self._against(run),
                is_reference=run == self.reference, lanes=lanes[position],
                brackets=tuple(number for number, group in enumerate(brackets, 1) if position in group),
                shown=position in shown, on_phone=position in on_phone,
            )  # fmt: skip

    def _first_rows(self, count: int, best: int) -> set[int]:
        """Return the places to show at first: the best runs, and the baseline or the page's neighbors."""
        own = 0 if self.reference is None else self.order.index(self.reference)
        if own < count:
            return set(range(count))
        if self.focus is None:  # the baseline
            return {*range(count - 1), own}
        around = count - best
        begin = min(own - around // 2, len(self.order) - around)
        return {*range(best), *range(begin, begin + around)}

    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the best and the worst place of each run that the bootstrap over topics and the tests allow.

        The bootstrap alone could give a run that is tied for first only place 1, because it looks at each
        run by itself while the tests are corrected for all pairs. So a run tied with the leader may be
        first, and no run gets a place that the tests exclude. If the runs were tested against one run only,
        that run gets every place that the tests allow, and a run tied with it may take its place.
        """
        averaged = self.measure.definition.aggregate == "mean"
        if len(self.scores.topics) < FEWEST_TOPICS or len(self.order) < 2 or not averaged:
            none = np.zeros(len(self.order), np.int64)
            return none, none
        best, worst = rank_intervals(self.scores.values[:, self.number], seed=self.scores.policies.seed)
        if self.comparison is None:
            return best, worst
        if self.reference is not None:
            own, place = self.reference, self.order.index(self.reference) + 1
            best[own] = min(best[own], 1 + len(self.outcomes["better"]))
            worst[own] = max(worst[own], len(self.order) - len(self.outcomes["worse"]))
            tied = self.outcomes["tied"]
            best[tied], worst[tied] = np.minimum(best[tied], place), np.maximum(worst[tied], place)
            return best, worst
        tests = self.comparison.performance_tests[self.row]
        differ = tests.significant & (self.comparison.cases[self.row] > 0)
        a, b = self.comparison.pairs[differ].T
        ahead = self.means[a] > self.means[b]
        runs = len(self.order)
        losses = np.bincount(np.where(ahead, b, a), minlength=runs)
        wins = np.bincount(np.where(ahead, a, b), minlength=runs)
        best, worst = np.minimum(best, 1 + losses), np.maximum(worst, runs - wins)
        best[self.tied] = 1
        return best, worst

    def _interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the ends of each run's 95% interval of the mean, within the range of possible values."""
        values = self.scores.values[:, self.number]
        enough = self.scores.counted()[:, self.number] >= FEWEST_TOPICS
        if self.measure.definition.aggregate != "mean" or not enough.any():
            return np.full((2, len(values)), np.nan)[0], np.full((2, len(values)), np.nan)[1]
        low, high = (np.where(enough, limit, np.nan) for limit in mean_intervals(values))
        least = 0.0 if np.nanmin(values, initial=0.0) >= 0 else -np.inf
        most = 1.0 if np.nanmax(values, initial=0.0) <= 1 else np.inf
        return np.clip(low, least, most), np.clip(high, least, most)

    def _brackets(self) -> list[list[int]]:
        """Return the groups of tied runs; none if the runs are compared with one run."""
        if self.reference is not None:
            return []
        return tied_groups(len(self.order), lambda a, b: self.differ(self.order[a], self.order[b]))

    def _outlook(self, run: int) -> RunOutlook:
        """Return how many of the conclusions about the run would very likely stand."""
        holds = None if self.comparison is None else self.comparison.holds
        if self.comparison is None or holds is None:
            return RunOutlook(stand=0, of=0)
        chances = holds.conclusion[self.row, (self.comparison.pairs == run).any(axis=1)]
        known = chances[np.isfinite(chances)]
        return RunOutlook(stand=int(np.count_nonzero(known >= SURE)), of=len(known))

    def _against(self, run: int) -> str:
        """Return how the run compares with the reference; "" if they were not tested."""
        if self.reference is None or run == self.reference:
            return ""
        differs = self.differ(run, self.reference)
        if not differs:
            return "" if differs is None else "tied"
        return "better" if self.means[run] > self.means[self.reference] else "worse"

    def note(self) -> str:
        """Return what brackets and intervals mean, with the method."""
        if self.comparison is None:
            return ""
        tests = self.comparison.performance_tests[self.row]
        brackets = any(self._brackets())
        intervals = len(self.scores.topics) >= FEWEST_TOPICS
        holds = self.comparison.holds
        stands = holds is not None and any(self._outlook(run).of for run in self.order)
        return sentences.how_to_read(
            tests.test, tests.correction, len(tests.pairs), brackets=brackets, intervals=intervals,
            dotted=any("past" in lanes for lanes in bracket_lanes(self._brackets()).values()),
            outlook=holds.until_in_words if holds is not None and stands and self.reference is None else "",
        )  # fmt: skip

    # -- what is missing, and what to do ---------------------------------------------------------------

    @property
    def depth(self) -> int:
        """Return how deep to judge for this measure: its cut-off, or the first ranks if it looks far down."""
        depth = DEEP + 1 if self.comparison is None else self.comparison.depths[self.row]
        return depth if depth <= DEEP else SHALLOW

    def facts(self) -> Iterator[Fact]:
        """Yield what is missing of judgments, pool and topics."""
        share = float(np.nanmean(self.judged)) if np.isfinite(self.judged).any() else float("nan")
        label = sentences.judged_label(None if self.comparison is None else self.comparison.depths[self.row])
        yield Fact(label=label, value=whole_percent(share), share=share)
        least = int(np.nanargmin(self.judged)) if np.isfinite(self.judged).any() else 0
        if self.judged[least] < share - UNEVEN and not self.only_relevant:
            name = sentences.least_judged(self.scores.runs[least])
            yield Fact(label=name, value=whole_percent(float(self.judged[least])))
        yield Fact(label=sentences.pool_label(self._pool()), value=sentences.pool(self._pool()))
        yield Fact(label="Topics", value=sentences.topics(len(self.scores.topics)))
        needed = self._topics_needed()
        if needed is not None:
            label = sentences.to_separate(*(self.scores.runs[run] for run in self.in_question or ()))
            yield Fact(label=label, value=sentences.topics_to_separate(*needed[:2], len(self.scores.topics)))
        if self.scores.without_relevant:
            yield Fact(
                label="Topics without a known relevant document",
                value=f"{len(self.scores.without_relevant):,}",
            )

    def _pool(self) -> Pool | None:
        return None if self.comparison is None else self.comparison.pool

    def _topics_needed(self, pair: tuple[int, int] | None = None) -> TopicsNeeded | None:
        """Return how many topics would separate two runs, those in question unless others are named.

        None: they differ significantly, were not tested, or have the same mean.
        """
        pair = pair or self.in_question
        if self.comparison is None or pair is None or self.differ(*pair) is not False:
            return None
        tests, place = self.comparison.performance_tests[self.row], self.pair_of[pair]
        effect, present = float(tests.effect[place]), int(tests.topics[place])
        if not np.isfinite(effect) or not effect:
            return None
        pairs = len(tests.pairs) if tests.correction != "none" else 1
        levels = (self.comparison.alpha, self.comparison.alpha / pairs)
        alone, corrected = (float(topics_needed(effect, alpha=level)) for level in levels)
        return TopicsNeeded(alone=alone, corrected=corrected, pairs=pairs) if corrected > present else None

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
        shaky = self.shaky if self.separated else []
        if known is None or self.in_question is None:
            return None
        if self.focus is not None and not self.separated:
            if self._tie(next(run for run in self.in_question if run != self.focus))[0] != "judging":
                return None
        elif (known.settled or known.stays >= SURE) and not shaky:
            return None
        pair = runs = [self.order[0], shaky[0]] if shaky else list(self.in_question)
        if self.reference is None:
            runs = [self.order[0], *(shaky or self.tied or self.order[1:2])][:LEADERS]
        if known.complete and not self.separated:
            return None  # more topics help more than documents below the cut-off
        names = [self.scores.runs[run] for run in runs]
        if not self._knows_documents:
            complete = np.nanmin(self.judged[runs], initial=1.0) >= 1
            why = sentences.judge_why(names, self.depth, str(self.measure), self._looks)
            return None if complete else NextStep(head=sentences.JUDGE, why=why)
        for depth in (self.depth, *(deeper for deeper in DEEPER if deeper > self.depth)):
            if documents := self._unjudged(runs, depth):
                break
        else:
            return None
        if documents > MOST_DOCUMENTS:
            return self._part_of(runs, pair, depth, documents)
        return NextStep(
            head=sentences.judge(documents),
            why=sentences.judge_why(names, depth, str(self.measure), self._looks),
            command=self._pool_command(runs, depth),
        )  # fmt: skip

    def _part_of(self, runs: list[int], pair: list[int], depth: int, documents: int) -> NextStep:
        """Judge what fits into a day's work: fewer runs, fewer ranks, or the first documents only."""
        choices = [(pair, depth), *((pair, shallower) for shallower in range(depth - 1, 0, -1))]
        others = [] if sorted(runs) == sorted(pair) else [self.scores.runs[run] for run in runs]
        rest = sentences.all_of_them(documents, others, depth)
        for chosen, ranks in choices:
            count = self._unjudged(chosen, ranks)
            if 0 < count <= MOST_DOCUMENTS:
                own = [self.scores.runs[run] for run in chosen]
                why = sentences.judge_why(own, ranks, str(self.measure), self._looks)
                gain = sentences.judged_share(depth, *self._shares(chosen, depth, ranks))
                return NextStep(
                    head=sentences.judge(count), why=f"{why} {gain} {rest}",
                    command=self._pool_command(chosen, ranks),
                )  # fmt: skip
        before, _ = self._shares(pair, depth, 0)
        after = before + MOST_DOCUMENTS / max(self._positions(pair, depth), 1)
        why = sentences.judge_first([self.scores.runs[run] for run in pair], depth)
        return NextStep(
            head=sentences.judge(MOST_DOCUMENTS),
            why=f"{why} {sentences.judged_share(depth, before, after)} {rest}",
            command=self._pool_command(pair, depth, budget=MOST_DOCUMENTS),
        )

    def _use(self) -> NextStep:
        """Say what to do if the difference is significant: use it."""
        why = (
            ""
            if self.lead is None
            else sentences.nothing_why(self.lead.first, self.lead.second, settled=bool(self.lead.settled))
        )
        if self.focus is not None:
            why = sentences.all_decided(self.scores.runs[self.focus])
        return NextStep(head=sentences.NOTHING, why=why)

    def _topics(self) -> NextStep:
        """Add topics, or stop, where runs are tied and judging would not help."""
        present, needed, known = len(self.scores.topics), self._topics_needed(), self.lead
        judged = 0 if known is None else known.complete
        if needed is not None and needed.alone <= MANY_TOPICS and known is not None and not known.alone:
            alone = needed.corrected > MANY_TOPICS
            fewest = needed.alone if alone else needed.corrected
            if present >= FEW_TOPICS and (fewest - present) * self._documents_each() > MOST_FOR_TOPICS:
                why = f"{sentences.too_many_topics(fewest, alone=alone)} {self._cost(fewest)}"
                return NextStep(head=sentences.tie(known.first, known.second), why=why)
            if alone:
                head = sentences.more_topics(needed.alone, known.first, known.second, alone=True)
                why = sentences.alone_why(needed.pairs, judged)
                return NextStep(head=head, why=f"{self._cost(needed.alone)} {why}".strip())
            head = sentences.more_topics(needed.corrected, known.first, known.second)
            why = sentences.topics_why(needed.alone, needed.pairs, judged)
            return NextStep(head=head, why=f"{self._cost(needed.corrected)} {why}".strip())
        if known is not None and known.alone and not known.equal:
            enough = needed is not None and needed.corrected <= MANY_TOPICS
            head, why = sentences.FEWER_PAIRS, sentences.FEWER_PAIRS_WHY
            if needed is not None and enough:
                head = sentences.more_topics(needed.corrected, known.first, known.second)
                why = f"{self._cost(needed.corrected)} {why}".strip()
            return NextStep(head=head, why=why)
        if present < FEW_TOPICS:
            return NextStep(head=sentences.ADD_TOPICS, why=sentences.too_few(present))
        why = sentences.SAME_WHY if known is not None and known.equal else sentences.EQUAL_WHY
        first, second = (self.scores.runs[run] for run in self.in_question or ())
        return NextStep(head=sentences.equal(first, second), why=why)

    @property
    def _looks(self) -> int:
        """Return how deep the measure looks; 0: not known."""
        return 0 if self.comparison is None else self.comparison.depths[self.row]

    def _cost(self, needed: float) -> str:
        """Return what topics up to this number cost, if as many documents of both runs are judged in each."""
        present, each = len(self.scores.topics), self._documents_each()
        return sentences.cost_of_topics(round(needed) - present, each) if each and needed > present else ""

    def _documents_each(self) -> float:
        """Return how many documents the top of both runs has in a topic, on average; 0: not known."""
        audited = self.report.audit
        if not self._knows_documents or self.in_question is None or isinstance(audited, MissingPart):
            return 0.0
        top = audited.runs.retrieved.lists[[*self.in_question], :, : self.depth]
        return len(np.unique(top[top >= 0])) / len(self.scores.topics)

    @property
    def _knows_documents(self) -> bool:
        audited = self.report.audit
        return not isinstance(audited, MissingPart) and audited.runs.runs == self.scores.runs

    def _unjudged(self, runs: list[int], depth: int) -> int:
        """Return how many documents in the top of these runs nobody has judged; 0 where that is not known."""
        if isinstance(self.report.audit, MissingPart):
            return 0
        audited = self.report.audit.runs
        top = audited.retrieved.lists[runs, :, :depth]
        documents = np.unique(top[top >= 0])
        return int(np.count_nonzero(np.isnan(audited.grades()[documents])))

    def _positions(self, runs: list[int], depth: int) -> int:
        """Return how many documents the top of these runs has, counted once for every run."""
        if isinstance(self.report.audit, MissingPart):
            return 0
        return int(np.count_nonzero(self.report.audit.runs.retrieved.lists[runs, :, :depth] >= 0))

    def _shares(self, runs: list[int], depth: int, judged_to: int) -> tuple[float, float]:
        """The judged share of the top of these runs, now and once they are judged to a shallower depth."""
        if isinstance(self.report.audit, MissingPart):
            return float("nan"), float("nan")
        audited = self.report.audit.runs
        top = audited.retrieved.lists[runs, :, :depth]
        judged = ~np.isnan(audited.grades())
        later = judged.copy()
        new = top[:, :, :judged_to]
        later[new[new >= 0]] = True
        there = np.count_nonzero(top >= 0) or 1
        now, then = (np.count_nonzero(known[top[top >= 0]]) / there for known in (judged, later))
        return float(now), float(then)

    def _pool_command(self, runs: list[int], depth: int, budget: int | None = None) -> str:
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
            words += ["--policy", f"{name}={chosen}"] if chosen != getattr(DEFAULT_POLICIES, name) else []
        words += [] if budget is None else ["--budget", str(budget)]
        words += ["--qrels-format", request.qrels_format] if request.qrels_format else []
        words += ["--run-format", request.run_format] if request.run_format else []
        return shlex.join([*words, "-o", "to-judge.qrels"])
