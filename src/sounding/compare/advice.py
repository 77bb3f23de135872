"""One sentence of advice for a comparison of two runs, by rules that are tried in order.

docs/settled.md has the rules as a table. They follow what Baillie, Azzopardi & Ruthven suggest for weak
cases (section 3.2), with what is known here of the unjudged documents. A pair is taken by itself, at alpha
before any correction: what to do about two runs does not depend on which others are compared with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import nan
from typing import Literal

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.core.text import format_chance, p_phrase, plural, whole_percent
from sounding.statistics.forecasts import SURE

LOW = 0.5  # a share of judged documents below which more is unknown than known

MANY_TOPICS = 1000  # beyond it a figure says no more than that the difference is next to none

Basis = Literal["recall", "utility"]
Action = Literal[
    "nothing to judge", "judge documents or use another collection", "add topics", "draw more permutations",
    "compare at a shallower depth", "put the run into the pool", "judge documents",
    "use another measure", "look at the pair",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Judged shares of two runs down to a depth."""

    depth: int
    a: float  # from 0 to 1
    b: float
    even: bool  # no significant difference between them


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Facts about a comparison of run_a with run_b that the advice depends on."""

    run_a: str
    run_b: str
    measure: str
    basis: Basis  # of the measure
    condensed: bool = False  # the measure passes over unjudged documents already
    condensed_as: str | None = None  # the name of the condensed measure; None: there is none
    case: (
        int  # of the decision matrix for the pair by itself, 1 to 4; 0: no test could have found a difference
    )
    settled: bool | None  # no completion of the judgments reverses the order; None: not known
    limited: str = ""  # which completions were looked at, where not all: `if at most 3 ...`
    undecided: bool = False  # the documents of the two runs would tell whether it is settled
    stays: float = nan  # the chance that the run that is ahead stays ahead if more is judged; NaN: not stated
    only_relevant: bool = False  # nobody knows what was judged
    shares: Shares  # at the depth of the measure
    shallower: tuple[Shares, ...] = ()
    pooled_a: bool | None = None  # the run contributed to the pool; None: not known
    pooled_b: bool | None = None
    frozen_a: bool = False  # its lists end above the depth
    frozen_b: bool = False
    returned_a: float | None = None  # of a frozen run: the judged share of what its lists have
    returned_b: float | None = None
    p: float  # of the difference, before correction
    topics: int
    topics_needed: int | None = None  # for a difference like this one to be significant; None: not known
    fewest_topics: int = 2  # with which the test can reach alpha at all
    equal: bool = False  # the two runs have the same value on every topic

    def __post_init__(self) -> None:
        if self.case not in range(5):
            raise DataError(f"case {self.case}: expected 1 to 4, or 0 for a pair that could not be tested")

    @property
    def closed(self) -> bool:
        """Say whether no judgment can reverse the order."""
        return bool(self.settled)

    @property
    def firm(self) -> bool:
        """Say whether judging will surely or very likely not change which run is ahead."""
        return self.closed or (self.stays >= SURE and not self.equal)

    @property
    def significant(self) -> bool:
        """Say whether one run is significantly better."""
        return self.case in (3, 4)

    @property
    def weak(self) -> bool:
        """Say whether one run was judged significantly more completely than the other."""
        return self.case in (2, 4)

    @property
    def even_depth(self) -> int | None:
        """The deepest of the shallower depths at which both runs are as much assessed."""
        return max((one.depth for one in self.shallower if one.even), default=None)

    @property
    def less_judged(self) -> tuple[str, bool | None, bool]:
        """Return the less judged run, whether it contributed to the pool, and whether it is frozen."""
        if self.shares.a < self.shares.b:
            return self.run_a, self.pooled_a, self.frozen_a
        return self.run_b, self.pooled_b, self.frozen_b


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """Recommended action for a comparison."""

    action: Action
    sentence: str

    @property
    def head(self) -> str:
        """Return what to do, without the reasons."""
        return self.sentence.partition(":")[0]

    def __str__(self) -> str:
        return self.sentence


def advise(situation: Situation) -> Advice:
    """The advice of the first rule that applies."""
    for action, rule in RULES:
        sentence = rule(situation)
        if sentence is not None:
            return Advice(action=action, sentence=sentence)
    raise ValueError(f"no rule for {situation}")


def _untested(s: Situation) -> str | None:
    if s.case or s.topics >= s.fewest_topics:
        return None
    return (
        f"Add topics: the runs share {plural(s.topics, 'topic')}, and the test needs at least"
        f" {s.fewest_topics}."
    )


def _too_few_draws(s: Situation) -> str | None:
    if s.case:
        return None
    return "Draw more permutations: with so few, no difference can be significant (--permutations)."


def _undecided(s: Situation) -> str | None:
    if not s.undecided or (s.stays >= 0 and not s.significant):
        return None  # the chance says what judging would do
    return (
        "Look at this pair: the bounds of each run leave the order open, but a comparison document by"
        f" document, too slow for all pairs, may settle it (--pair {s.run_a} {s.run_b})."
    )


def _settled_and_significant(s: Situation) -> str | None:
    if not (s.closed and s.significant):
        return None
    return (
        f"Nothing to judge: when this pair is tested alone, its difference is significant ({_p(s.p)}), and no"
        f" further judgment can reverse the order{_limited(s)}."
    )


def _equal_for_good(s: Situation) -> str | None:
    if not (s.closed and s.equal):
        return None
    return f"Nothing to judge: the runs are equal, and no further judgment can change that{_limited(s)}."


def _low_everywhere(s: Situation) -> str | None:
    if (
        s.closed
        or (s.firm and not s.significant)
        or s.only_relevant
        or not s.shallower
        or any(max(one.a, one.b) >= LOW for one in (s.shares, *s.shallower))
    ):
        return None
    return (
        "Judge documents or use another collection: less than half of either run was judged at every depth"
        f" ({_shares(s)})."
    )


def _lead_may_be_lost(s: Situation) -> str | None:
    if s.significant or s.equal or s.closed or not s.stays < SURE:
        return None
    return (
        "Judge documents: the run that is ahead has a chance of only"
        f" {format_chance(s.stays)} to stay ahead if more is judged ({_shares(s)});"
        f" --pair {s.run_a} {s.run_b} --documents FILE lists them."
    )


def _only_significance_lacks(s: Situation) -> str | None:
    if s.significant or ((s.weak or s.equal) and not s.firm):
        return None
    if s.closed:
        why = f"no judgment can reverse the order{_limited(s)}, but "
    elif s.firm:
        why = f"more judging will very likely not reverse the order ({format_chance(s.stays)}), but "
    elif s.only_relevant:
        why = ""
    else:
        why = f"both runs are judged equally well in the top {s.shares.depth:,}, but "
    topics = plural(s.topics, "topic")
    lacks = f"{why}when this pair is tested alone, its difference is not significant ({_p(s.p)}, {topics})"
    if s.topics_needed is None or s.topics_needed <= s.topics:
        return f"Add topics: {lacks}."
    many = f"about {s.topics_needed:,}" if s.topics_needed <= MANY_TOPICS else f"more than {MANY_TOPICS:,}"
    return f"Add topics: {lacks}; {many} topics would be needed for a difference of this size."


def _even_above(s: Situation) -> str | None:
    if not s.weak or s.even_depth is None:
        return None
    run, _, frozen = s.less_judged
    why = f"the lists of {run} end before {s.shares.depth}" if frozen else _shares(s)
    return (
        f"Compare at depth {s.even_depth}: it is the deepest at which both runs are judged equally well"
        f" ({why})."
    )


def _novel(s: Situation) -> str | None:
    run, pooled, _ = s.less_judged
    if not s.weak or pooled is not False:
        return None
    return f"Put {run} into the pool: it was not pooled, and less of it was judged ({_shares(s)})."


def _recall_measure(s: Situation) -> str | None:
    if s.basis != "recall" or s.condensed or s.only_relevant or not (s.weak or s.settled is False):
        return None
    condensed = "" if s.condensed_as is None else f"-m '{s.condensed_as}' or "
    return (
        f"Use P@10, RBP or Bpref: {s.measure} depends on the unknown number of relevant documents"
        f" ({_shares(s)}); -m P@10 and -m RBP use only the first documents, {condensed}-m Bpref only the"
        " judged ones."
    )


def _judge_documents(s: Situation) -> str | None:
    if s.settled is not False:
        return None
    return (
        f"Judge documents: judgments could still reverse the order ({_shares(s)});"
        f" --pair {s.run_a} {s.run_b} --documents FILE lists them."
    )


def _weak_otherwise(s: Situation) -> str | None:
    if not s.weak or s.condensed:
        return None
    condensed = "" if s.condensed_as is None else f"-m '{s.condensed_as}' or "
    return (
        f"Use a condensed measure: {condensed}-m Bpref, which ignore unjudged documents; one run was judged"
        f" more completely at every depth ({_shares(s)})."
    )


def _weak_and_condensed(s: Situation) -> str | None:
    if not s.weak:
        return None
    run, _, _ = s.less_judged
    return (
        f"Judge more documents of {run}: the other run was judged significantly more completely"
        f" ({_shares(s)})."
    )


def _strong(s: Situation) -> str | None:
    if s.only_relevant:
        return f"Nothing to judge: when this pair is tested alone, its difference is significant ({_p(s.p)})."
    return (
        f"Nothing to judge: when this pair is tested alone, its difference is significant ({_p(s.p)}), and"
        " the better run was not judged more completely."
    )


# Tried in this order; the last applies always.
RULES: tuple[tuple[Action, Callable[[Situation], str | None]], ...] = (
    ("add topics", _untested),
    ("draw more permutations", _too_few_draws),
    ("look at the pair", _undecided),
    ("nothing to judge", _settled_and_significant),
    ("nothing to judge", _equal_for_good),
    ("judge documents or use another collection", _low_everywhere),
    ("judge documents", _lead_may_be_lost),
    ("add topics", _only_significance_lacks),
    ("compare at a shallower depth", _even_above),
    ("put the run into the pool", _novel),
    ("use another measure", _recall_measure),
    ("judge documents", _judge_documents),
    ("use another measure", _weak_otherwise),
    ("judge documents", _weak_and_condensed),
    ("nothing to judge", _strong),
)


def _shares(s: Situation) -> str:
    """Return how much of both was judged; where lists are short, how much of what they have."""
    if s.only_relevant:
        return "the qrels list only relevant documents"
    shares = f"{whole_percent(s.shares.a)} and {whole_percent(s.shares.b)}"
    text = f"judged in the top {s.shares.depth:,}: {shares}"
    for run, returned in ((s.run_a, s.returned_a), (s.run_b, s.returned_b)):
        if returned is not None:
            text += f"; {run} has short lists, and {whole_percent(returned)} of what it returned was judged"
    return text


def _limited(s: Situation) -> str:
    return f" {s.limited}" if s.limited else ""


def _p(p: float) -> str:
    return f"p {p_phrase(p)}"


def which_completions(policies: Policies) -> str:
    """Return the condition under which bounds hold, to end a sentence; empty: there is none."""
    limit = policies.at_most
    if limit is None:
        return ""
    if limit == "growth":
        return "if no topic has more new relevant documents than the growth of its pool predicts"
    if limit.endswith("x"):
        return f"if no topic has more than {limit[:-1]} times as many new relevant documents as known ones"
    found = "document a topic is" if limit == "1" else "documents a topic are"
    return f"if at most {limit} more {found} relevant"
