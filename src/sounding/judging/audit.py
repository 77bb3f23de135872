"""An expert's look at an assessor's judgments: a random sample, graded anew without seeing the grades."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sounding.judging.events import Selection
from sounding.judging.store import Standing, Store, Submission

POLICY = "audit"


def audit_sample(judgments: Sequence[Standing], size: int, seed: int) -> list[Standing]:
    """So many judgments at random: a larger sample holds the smaller, and new judgments move few of them.

    Every judgment has a place of its own, a hash of what it is about; the sample is those that come first.
    """
    return sorted(judgments, key=lambda one: _place(one, seed))[:size]


def record_audit(
    store: Store, expert: str, judgment: Standing, grade: float | None, *, chance: float, key: str
) -> None:
    """Keep the grade of an expert, with the chance that the judgment had of being looked at."""
    store.judge(
        Submission(
            assessor=expert, topic=judgment.topic, doc=judgment.doc, grade=grade, key=key,
            selection=Selection(policy=POLICY, probability=chance),
        )
    )  # fmt: skip


def _place(judgment: Standing, seed: int) -> bytes:
    about = "\0".join((str(seed), judgment.assessor, judgment.topic, judgment.doc))
    return hashlib.sha256(about.encode("utf-8", "surrogateescape")).digest()
