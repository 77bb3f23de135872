"""What a session is asked for, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sounding.errors import DataError, UnknownNameError
from sounding.limits import check_count
from sounding.mtc.priors import DEFAULT
from sounding.mtc.weights import WEIGHINGS

Method = Literal["draws", "normal", "paper", "exact"]
Refits = Literal["doubling", "asked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """The choices of a session; at most one of `pair`, `baseline`, `top` and `open_below` is given."""

    measure: str = "AP"
    depth: int = 100  # documents of each list that count
    prior: str = DEFAULT  # a number, rate, rank, runs, or a file
    selection: str = "informed"  # how documents are weighed
    confidence: Method = "draws"  # of relevance; the others: a normal distribution
    draws: int = 200
    refits: Refits = "doubling"  # the judgments; asked: by `fitting` and `adopt` alone
    pair: tuple[str, str] | None = None  # only these two runs matter
    baseline: str | None = None  # only how this run compares with the others
    top: int | None = None  # only the runs that are the first so many by now
    open_below: float | None = None  # only pairs whose order is less sure than this

    def __post_init__(self) -> None:
        if sum(one is not None for one in (self.pair, self.baseline, self.top, self.open_below)) > 1:
            raise DataError("pair, baseline, top and open_below say what matters in different ways; give one")
        for name, known in (
            ("selection", tuple(WEIGHINGS)), ("confidence", get_args(Method)), ("refits", get_args(Refits)),
        ):  # fmt: skip
            if getattr(self, name) not in known:
                raise UnknownNameError(name, str(getattr(self, name)), known)
        check_count("draws", self.draws, 2)
        if self.top is not None and self.top < 2:
            raise DataError(f"the first {self.top} run makes no pair; give top a whole number from 2")
        if self.open_below is not None and not 0.5 < self.open_below <= 1:
            raise DataError(f"open_below is {self.open_below:g}; give a confidence above 0.5, at most 1")
