"""What people do to a store, in the fewest words."""

from __future__ import annotations

from sounding.judge.records import Event, Selection, Submission
from sounding.judge.store import Store

DESIGN = Selection(
    policy="stratified-sample", policy_version=3, step=17, stratum=2, probability=0.25, belief=0.125,
    weight=1 / 3, seed=42, model_version=16, known=9,
)  # fmt: skip


def judge(
    store: Store, doc: str, grade: float | None, key: str, assessor: str = "assessor-1", topic: str = "MB001"
) -> int:
    receipt = store.judge(Submission(assessor=assessor, topic=topic, doc=doc, grade=grade, key=key))
    return receipt.event.sequence


def undo(store: Store, key: str, doc: str | None = None, assessor: str = "assessor-1") -> Event | None:
    receipt = store.withdraw(assessor, "MB001", doc, key=key, overlap=1, seconds=60)
    return None if receipt is None else receipt.event
