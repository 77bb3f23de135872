"""Whether a conclusion holds: how likely it is to be the same once more documents are judged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sounding.arrays import NDArray
from sounding.wording import plural

CONCLUSIONS = {1: "better", -1: "worse", 0: "not distinguished"}  # run_a of the pair is ...
FOUND = {1: "finds {run} better", -1: "finds {run} worse", 0: "finds no difference"}
NEIGHBORS = (
    "Do not rely on 0.95 among nearly equal runs: in trials with few judgments, 46% to 94% of such claims"
    " about sets of 5 to 10 neighbors were right."
)
STILL = {1: "does", -1: "does", 0: "finds none"}  # that it ... once more is judged


def shown_chance(chance: float) -> str:
    """A chance with two decimals as people read it: never 0 or 1, a dash where it is not known."""
    if math.isnan(chance):
        return "–"
    return ">0.99" if chance > 0.99 else "<0.01" if chance < 0.01 else f"{chance:.2f}"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Holds:
    """The chance that what is concluded of each pair, and its sign, is what full judging would give.

    A conclusion is that of a paired t test of the pair by itself. Where runs or judgments are too few to
    state a chance, `reason` says so and all chances are NaN.
    """

    until: str  # which documents would be judged: pool:100, runs:100
    until_in_words: str  # as a sentence goes on
    open_documents: int  # how many of them nobody has judged
    alpha: float
    draws: int
    seed: int
    concluded: NDArray[np.int8]  # (measure, pair) 1: run_a is better, -1: worse, 0: not distinguished
    conclusion: NDArray[np.float64]  # (measure, pair) the chance; NaN: the pair could not be tested
    sign: NDArray[np.float64]  # (measure, pair) that of the run that is ahead; NaN: no common topic
    reason: str = ""  # why no chance is stated, as a sentence goes on; empty: they are
    beyond: int = 0  # documents that are judged already, and are not among those that would be

    def in_words(self, measure: int, pair: int) -> str:
        """What is concluded of run_a: `better`, `worse` or `not distinguished`."""
        return CONCLUSIONS[int(self.concluded[measure, pair])]

    def tell(self, measure: int, pair: int, runs: tuple[str, str], difference: float) -> str:
        """What is concluded of one pair by itself, and the chances that it holds, as a sentence goes on.

        `runs` are run_a and run_b, `difference` that of their means.
        """
        if self.reason:
            return f"not stated: {self.reason}"
        if math.isnan(self.conclusion[measure, pair]):
            return "not known: the pair could not be tested"
        concluded = int(self.concluded[measure, pair])
        sign = self.tell_sign(measure, pair, runs, difference)
        return (
            f"a paired t test of the two alone {FOUND[concluded].format(run=runs[0])}; the chance that it"
            f" still {STILL[concluded]} once {self.until_in_words} are judged is"
            f" {shown_chance(self.conclusion[measure, pair])}; {sign}"
        )

    def tell_sign(self, measure: int, pair: int, runs: tuple[str, str], difference: float) -> str:
        """Who would probably be ahead after full judging, with the chance, as a sentence goes on."""
        chance = float(self.sign[measure, pair])
        if difference == 0:
            return f"the chance that the two are level then is {shown_chance(chance)}"
        ahead, behind = runs if difference > 0 else runs[::-1]
        if chance < 0.5:
            return f"{behind}, which is behind now, would probably be ahead then ({shown_chance(1 - chance)})"
        return f"{ahead} would probably be ahead then as now ({shown_chance(chance)})"

    def describe(self) -> str:
        """What the chances are of, in a sentence or two; or why there are none."""
        if self.reason:
            return f"Holds is not stated: {self.reason}."
        beyond = (
            f" Judgments already reach further, to {plural(self.beyond, 'other document')} of these runs:"
            " give all runs, or a larger --until."
            if self.beyond
            else ""
        )
        return (
            f"Holds: the chance that a paired t test of the pair alone ({self.alpha:g}) concludes the same"
            f" once {self.until_in_words} are judged ({self.open_documents:,} are not yet); sign: that the"
            f" same run is ahead. {self.draws} draws, seed {self.seed}. {NEIGHBORS}{beyond}"
        )
