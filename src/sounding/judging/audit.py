"""An expert's look at an assessor's judgments: a random sample, graded anew without seeing the grades."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sounding.judging.events import Selection
from sounding.judging.store import Receipt, Seen, Standing, Store, Submission

POLICY = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A sample of an assessor's judgments, and what an expert says of the same documents."""

    sample: list[Standing]
    own: dict[tuple[str, str], Standing]  # (topic, document) -> the expert's judgment
    chance: float  # that a judgment had of being drawn

    @property
    def topics(self) -> list[str]:
        """The topics of the sample, each once."""
        return sorted({one.topic for one in self.sample})

    @property
    def compared(self) -> list[tuple[Standing, Standing]]:
        """The judgments that the expert has graded as well, each with the expert's."""
        return [(one, self.own[_about(one)]) for one in self.sample if _about(one) in self.own]

    def open(self, topic: str | None = None) -> list[Standing]:
        """What the expert has not graded yet, of a topic where one is named."""
        return [
            one
            for one in self.sample
            if _about(one) not in self.own and (topic is None or one.topic == topic)
        ]

    def graded(self, topic: str) -> list[Standing]:
        """The expert's judgments of the part of the sample that is about a topic."""
        return [own for one, own in self.compared if one.topic == topic]

    def of(self, topic: str) -> list[Standing]:
        """The part of the sample that is about a topic."""
        return [one for one in self.sample if one.topic == topic]


class Begun(NamedTuple):
    """A sample that is being graded anew, or has been."""

    assessor: str
    graded: int
    size: int


def audit_of(store: Store, expert: str, assessor: str, size: int, seed: int) -> Audit:
    """So many of an assessor's judgments at random, and which of them an expert has graded."""
    every = store.standing(assessor=assessor) if assessor else []
    return Audit(
        sample=audit_sample(every, size, seed),
        own={_about(one): one for one in store.standing(assessor=expert)},
        chance=min(1.0, size / len(every)) if every else 1.0,
    )


def begun_audits(store: Store, expert: str, seed: int) -> list[Begun]:
    """The samples of which an expert has graded something, as large as the chances on record make them.

    Where somebody has judged more since, the sample is larger in the same measure, and holds the one of then.
    """
    graded = {
        _about(one): one.selection.probability or 0.0
        for one in store.standing(assessor=expert)
        if one.selection.policy == POLICY
    }
    judgments: dict[str, list[Standing]] = {}
    for one in store.standing() if graded else []:
        if one.assessor != expert:
            judgments.setdefault(one.assessor, []).append(one)
    found = []
    for assessor, own in sorted(judgments.items()):
        chance = max((graded.get(_about(one), 0.0) for one in own), default=0.0)
        sample = audit_sample(own, round(chance * len(own)), seed)
        done = sum(_about(one) in graded for one in sample)
        if done:
            found.append(Begun(assessor, done, len(sample)))
    return found


def audit_sample(judgments: Sequence[Standing], size: int, seed: int) -> list[Standing]:
    """So many judgments at random: a larger sample holds the smaller, and new judgments move few of them.

    Every judgment has a place of its own, a hash of what it is about; the sample is those that come first.
    """
    return sorted(judgments, key=lambda one: _place(one, seed))[:size]


def record_audit(
    store: Store,
    expert: str,
    judgment: Standing,
    grade: float | None,
    *,
    chance: float,
    key: str,
    comment: str = "",
    active: float | None = None,
    away: float | None = None,
    seen: Seen | None = None,
) -> Receipt:
    """Keep the grade of an expert, with the chance that the judgment had of being looked at."""
    return store.judge(
        Submission(
            assessor=expert, topic=judgment.topic, doc=judgment.doc, grade=grade, key=key, comment=comment,
            active=active, away=away, seen=seen, selection=Selection(policy=POLICY, probability=chance),
        )
    )  # fmt: skip


def _about(judgment: Standing) -> tuple[str, str]:
    return judgment.topic, judgment.doc


def _place(judgment: Standing, seed: int) -> bytes:
    about = "\0".join((str(seed), judgment.assessor, judgment.topic, judgment.doc))
    return hashlib.sha256(about.encode("utf-8", "surrogateescape")).digest()
