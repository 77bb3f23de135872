"""Sentences that explain a missing value of `agree`, shared by the computations and sentences.py."""

from __future__ import annotations

from collections.abc import Sequence

NO_COMMON_TOPIC = "no topic was judged by all of them"
NO_COMMON_DOCUMENT = "no document was judged by all of them"
NOTHING_RELEVANT = "nobody found a relevant document"
ALL_RELEVANT = "all found every document relevant"
NOT_PAIRED = "no document has two judgments"
ONE_GRADE = "all judgments are the same"
FOR_TWO = "only defined for two assessors"
GRADE_NOT_USED = "no document that all judged has this grade"
NONE_TO_REJECT = "no document that this assessor found relevant was judged by all others"
NOT_COMPARED = "no document was judged by somebody else as well"
ONE_RANKING = "there is only one ranking"
ONE_SYSTEM = "one system cannot be ranked"


def not_judged_by(assessors: Sequence[str]) -> str:
    """Return a reason that names the assessors who did not judge a topic."""
    return f"not judged by {', '.join(assessors)}"


def same_grade(grade: float) -> str:
    """Return why agreement beyond chance is undefined: there is one grade."""
    return f"every judgment is grade {grade:g}, so agreement beyond chance is undefined"


def same_relevance(relevant: bool, level: float) -> str:
    """Return why agreement beyond chance is undefined: all documents are relevant, or none is."""
    what = "relevant" if relevant else "not relevant"
    return f"all found every document {what} (level {level:g}), so agreement beyond chance is undefined"


def without_tau(unknown: int, rankings: int, tied: str) -> str:
    """Return how many rankings have no coefficient, and whose tied ranking causes it."""
    return f"{unknown:,} of {rankings:,} have no value: {all_tie(tied)}"


def all_tie(by: str) -> str:
    """Return whose judgments tie all systems."""
    return f"all systems tie by {by}"


def nothing_relevant_by(name: str) -> str:
    """Return whose judgments leave no relevant document."""
    return f"no topic that counts has a relevant document by {name}"
