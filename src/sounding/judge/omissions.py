"""What exports leave out for want of a grade: how much, why, and what follows for an evaluation.

Command and page say the same. Samples come in random order, so that what nobody has come to yet is left to
chance; what people differ on, or cannot judge, is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from sounding.core.text import plural
from sounding.judge.engine import Engine

_SETTLED_BY = (
    "to be settled under Differences or by judge differences, or by settings --feed first or majority"
)


@dataclass(slots=True)
class Omitted:
    """How many documents an export has no grade of, by why; of `assessors`, how many judgments."""

    nobody: int = 0  # a sample drew them, and nobody has judged them
    unsettled: int = 0  # assessors differ, and no organiser has settled them
    cannot: int = 0  # nobody who looked could judge them, or they are settled so
    certain: int = 0  # among all these: a sample drew them with probability 1

    def add(self, other: Omitted) -> None:
        """Count these as well."""
        self.nobody += other.nobody
        self.unsettled += other.unsettled
        self.cannot += other.cannot
        self.certain += other.certain

    @property
    def total(self) -> int:
        """All of them."""
        return self.nobody + self.unsettled + self.cannot

    @property
    def reasons(self) -> str:
        """Why they have no grade, with how many each."""
        every = {
            "that nobody has judged": self.nobody,
            f"on which assessors differ ({_SETTLED_BY})": self.unsettled,
            "that cannot be judged": self.cannot,
        }
        return ", ".join(f"{count:,} {why}" for why, count in every.items() if count)


def omitted_from_qrels(engine: Engine) -> Omitted:
    """What qrels leave out as things stand, without reading the log for it."""
    counts = engine.counts()
    every = {**counts.topics, **counts.unused}
    used = [one for topic, one in every.items() if engine.in_use(topic)]
    return Omitted(unsettled=sum(one.unsettled for one in used), cannot=sum(one.cannot for one in used))


def omission_note(what: str, omitted: Omitted) -> str:
    """What an export leaves out for want of a grade, and what follows, in words; empty: nothing."""
    if not omitted.total:
        return ""
    if what == "assessors":
        return f"assessors leave out {plural(omitted.total, 'judgment')} of people who could not judge"
    if what == "qrels":
        told = f"qrels leave out {plural(omitted.total, 'document')}: {omitted.reasons}"
        return f"{told}; an evaluation takes them for not judged"
    certain = f", {omitted.certain:,} of them with probability 1" if omitted.certain else ""
    drawn = f"{plural(omitted.total, 'document')} that the samples drew{certain}: {omitted.reasons}"
    if what == "prels":
        return (
            f"prels leave out {drawn}; statAP and EstNumRel take them for not relevant, and are biased as"
            " long as they have no grade"
        )
    by_chance = not omitted.unsettled and not omitted.cannot
    return f"strata have -1 for {drawn}; estimates take them for not drawn, and are " + (
        "unbiased only if chance alone left them out"
        if by_chance
        else "biased: what people differ on or cannot judge is not left out by chance"
    )
