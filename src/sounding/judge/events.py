"""What the log holds: one event for every act, in the order of its sequence number, never of its time.

A change of mind is a new event. What stands now follows from the events alone.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "project", "setting", "topic", "assign", "unassign", "run", "order", "judge", "withdraw", "skip",
    "unskip", "adjudicate", "audit", "fit", "refit",
]  # fmt: skip
Undone = Literal["judge", "change", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How a document came to be judged: what an estimate from a sample needs to know.

    `probability` is the chance that the sampling design gave the document; `belief` how likely it was
    thought to be relevant when it was chosen. The two are never the same thing.
    """

    policy: str  # name of the strategy; `import`, `audit`, or `free`: the assessor found the document alone
    policy_version: int = 0  # the event that put the strategy in force; 0: since the beginning
    step: int | None = None  # place among all that the strategy has had judged, from 1
    stratum: int | None = None
    probability: float | None = None
    belief: float | None = None
    weight: float | None = None
    seed: int | None = None
    model_version: int | None = None  # judgments that the model of relevance knew
    known: int = 0  # last event that the choice could know of


def plain(record: Selection | Event) -> dict[str, Any]:
    """The fields of a record by name; unlike `dataclasses.asdict`, without a copy of what they hold."""
    return {name: getattr(record, name) for name in record.__slots__}


Pair = tuple[str, str]  # topic, document
MOST_EVENTS = 2**62  # no log has so many
FREE = Selection(policy="free")
AUDIT = "audit"  # the policy of what an expert graded anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One act, as the log keeps it."""

    sequence: int
    kind: Kind
    time: float  # of the server, seconds since 1970; shown, and never used to order anything
    topic: str | None = None
    doc: str | None = None
    assessor: str | None = None  # a pseudonym
    grade: float | None = None  # None, for a judgment: the document could not be judged
    comment: str = ""
    active: float | None = None  # seconds at work on the document
    away: float | None = None  # seconds that the page was not looked at
    key: str | None = None  # of the submission: the same one twice is one act
    selection: Selection | None = None
    detail: dict[str, Any] = field(default_factory=dict)  # what only this kind of event has

    @property
    def undid(self) -> Undone | None:
        """What the event took back: a first judgment, the change of one, a skip; None: nothing.

        The number of the event that was taken back is in `detail`, as `undoes`. A change goes back to the
        judgment before it, whose grade and comment the event has: `restores` says which. Earlier releases
        took back all that stood; such events are withdrawals that name nothing.
        """
        if self.kind == "withdraw":
            return "judge"
        if self.kind == "unskip":
            return "skip"
        return "change" if "undoes" in self.detail else None

    def line(self) -> str:
        """The event as one line of JSON, always in the same spelling."""
        record = plain(self)
        record["selection"] = None if self.selection is None else plain(self.selection)
        return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
