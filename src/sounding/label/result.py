"""The result of labeling: a label for each document where the machine gave one, and what it cost."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from sounding.core.lazy import polars
from sounding.data.labels import Labels, read_labels
from sounding.label.batches import BatchRead, BatchWritten
from sounding.label.budget import BudgetLimits, Prices, Spent

MARGIN = 1.2  # questions may cost more than those asked before
COLUMNS = ("topic", "doc", "label", "judge", "model", "prompt", "temperature", "date")
REPEAT = "repeat"


def rounded_up(amount: float) -> str:
    """Return a number of two digits that is at least this amount."""
    step = 10.0 ** (math.floor(math.log10(amount)) - 1)
    return f"{math.ceil(amount / step - 1e-9) * step:.12g}"


class LabelRow(NamedTuple):
    """One label."""

    topic: str
    doc: str
    label: int
    judge: str
    model: str
    prompt: str
    temperature: float | None
    date: str
    repeat: int


class Consistency(NamedTuple):
    """Agreement of a machine with itself, over documents with all repeats."""

    documents: int
    same: float  # share of documents that got the same label every time
    pairs: float  # share of pairs of labels of a document that are equal
    apart: int  # the largest difference between labels of a document


@dataclass(frozen=True, eq=False, kw_only=True)
class Labeling:
    """Labels by one machine, and an account of all questions."""

    judge: str
    prompt: str
    scale: tuple[int, ...]
    repeat: int
    rows: tuple[LabelRow, ...]
    documents: int  # documents to label
    problems: Counter[str] = field(default_factory=Counter)  # questions without a label, by kind
    failures: Counter[str] = field(default_factory=Counter)  # questions without an answer, by reason
    asked: int = 0  # requests sent by this call
    cached: int = 0  # questions that the log had answered before
    unknown_topics: tuple[str, ...] = ()  # documents without a text
    unknown_docs: tuple[str, ...] = ()
    cut: int = 0  # documents that were cut to their first words
    stopped: str = ""  # why asking ended early
    broken: bool = False  # True: the endpoint ended it, not the budget
    blocked: Spent = field(default_factory=Spent)  # the most that the request can use that the budget stopped
    spent: Spent = field(default_factory=Spent)  # by all calls with this log
    limits: BudgetLimits = field(default_factory=BudgetLimits)
    log: Path | None = None
    written: BatchWritten | None = None
    read: BatchRead | None = None

    @property
    def questions(self) -> int:
        """Labels that were wanted: documents times repeats."""
        return self.documents * self.repeat

    @property
    def labeled(self) -> int:
        """Documents with at least one label."""
        return len({(row.topic, row.doc) for row in self.rows})

    @property
    def finished(self) -> bool:
        """Return whether every question is answered, so that another call would ask nothing."""
        return not self.problems["not asked"] and not self.problems["failed"]

    def larger_budget(self) -> dict[str, tuple[str, str]]:
        """Return options of limits in the way, each with its value and one that should last for what is left.

        Limits cover all calls with a log, so one that is used up must grow. The questions that are left are
        expected to cost a fifth more than those that were asked.
        """
        if not self.blocked.requests:
            return {}
        left = self.problems["not asked"] + self.problems["failed"]
        growth = 1 + MARGIN * left / max(self.spent.requests, 1)
        prices = self.limits.prices or Prices(0, 0)
        found: dict[str, tuple[str, str]] = {}
        for option, limit, used, more in (
            ("--max-requests", self.limits.requests, self.spent.requests, 1),
            ("--max-tokens", self.limits.tokens, self.spent.tokens, self.blocked.tokens),
            ("--max-cost", self.limits.cost, prices.cost(self.spent), prices.cost(self.blocked)),
        ):
            needed = max(used * growth, used + more)
            if limit is not None and needed > limit:
                found[option] = str(limit), rounded_up(needed)
        return found

    @property
    def cost(self) -> float | None:
        """Money spent by all calls with this log; None: no prices were given."""
        return None if self.limits.prices is None else self.limits.prices.cost(self.spent)

    @cached_property
    def counts(self) -> dict[int, int]:
        """The number of times each label was given."""
        counted = Counter(row.label for row in self.rows)
        return {label: counted[label] for label in self.scale}

    @cached_property
    def consistency(self) -> Consistency | None:
        """The machine's agreement with itself; None if no document has all repeats."""
        labels: dict[tuple[str, str], list[int]] = {}
        for row in self.rows:
            labels.setdefault((row.topic, row.doc), []).append(row.label)
        whole = [own for own in labels.values() if len(own) == self.repeat > 1]
        if not whole:
            return None
        pairs = [first == second for own in whole for first, second in combinations(own, 2)]
        return Consistency(
            len(whole), sum(len(set(own)) == 1 for own in whole) / len(whole), sum(pairs) / len(pairs),
            max(max(own) - min(own) for own in whole),
        )  # fmt: skip

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the label file; `repeat` only where there are repeats."""
        return (*COLUMNS, REPEAT) if self.repeat > 1 else COLUMNS

    @property
    def frame(self) -> polars.DataFrame:
        """The labels as a data frame with the columns of a label file."""
        return polars.DataFrame(
            {name: [getattr(row, name) for row in self.rows] for name in self.columns},
            schema_overrides={"topic": polars.String, "doc": polars.String},
        )

    @property
    def labels(self) -> Labels:
        """The labels as `estimate` takes them; repeated labels of a document become their mean."""
        (labels,) = read_labels({self.judge: self.frame})
        return labels
