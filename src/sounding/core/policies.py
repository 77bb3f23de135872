"""Policies: named choices that change values, such as how ties are broken. Outputs report them."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Literal, get_args

from sounding.core.errors import ChoiceError, DataError, UnknownNameError
from sounding.core.limits import check_count

Ties = Literal["trec", "score-file", "file", "rank", "average"]
ORDERS: tuple[Ties, ...] = ("trec", "score-file", "file", "rank")  # tie rules that give a single order
Unjudged = Literal["nonrelevant", "condensed", "bounds", "expected"]
Missing = Literal["zero", "skip", "error"]
Negative = Literal["trec", "split", "nonrelevant"]
Fractional = Literal["refuse", "accept", "round"]
Duplicates = Literal["error", "first", "best"]
Moments = Literal["best", "sampling", "ratio", "paper"]
Compat = Literal["trec_eval-10", "trec_eval-9"]

MOST_UNJUDGED = 10_000_000  # per topic; no collection has more unjudged documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """Rules for ties, unjudged documents, missing topics and other choices that change values.

    The defaults reproduce `trec_eval -c`, version 10.
    """

    # trec: score, then document id, both descending; score-file: score, then line order; file: line order;
    # rank: the rank column; average: the expected value over tied blocks
    ties: Ties = "trec"
    # condensed: removed first; bounds and expected: shown beside the value
    unjudged: Unjudged = "nonrelevant"
    missing: Missing = "zero"  # a judged topic that a run lacks
    negative: Negative = "trec"  # negative grades; trec: all mean pooled but not judged; split: only -1 does
    fractional: Fractional = "refuse"  # grades such as 0.5
    duplicates: Duplicates = "error"  # a document listed twice for a topic
    compat: Compat = "trec_eval-10"  # trec_eval-9: scores in single precision, older recall points
    depth: int | None = None  # only this many documents of every topic count
    universe: str = "runs"  # documents that may be relevant: the run's, all runs', or +N more
    at_most: str | None = None  # limit on new relevant documents of a topic: N, 2x the known, growth
    prior: str = (
        "rate"  # probability of relevance of an unjudged document: a number, rate, rank, runs, a file
    )
    moments: Moments = "best"  # exact if known; ratio and paper: approximations of AP and recall
    draws: int = 1000  # completions drawn if no exact form is known
    seed: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            # the choices of the names above; other types have none
            choices = get_args(globals().get(str(field.type)))
            value = getattr(self, field.name)
            if choices and value not in choices:
                raise UnknownNameError(f"value of the policy {field.name}:", str(value), choices)
        if self.depth is not None:
            check_count("depth", self.depth, 1)
        check_count("draws", self.draws, 2)
        check_count("seed", self.seed, 0)
        if self.ties == "average" and self.depth is not None:
            raise DataError(
                "ties average needs the whole ranking; leave depth out and use a cut-off such as AP@100"
            )
        if self.ties == "average" and self.unjudged in ("bounds", "expected"):
            raise DataError(f"ties average and unjudged {self.unjudged} do not go together; use ties trec")
        if not _is_text(self.universe, r"runs?|\+\d+"):
            raise ChoiceError(
                f"universe {self.universe!r} is not valid; give 'run', 'runs' or a text such as '+100'"
            )
        if self.at_most is not None and not _is_text(self.at_most, r"\d+|\d+(\.\d+)?x|growth"):
            raise DataError(
                f"at most {self.at_most!r} is not valid; give a text such as '100', '2x' or 'growth'"
            )
        self._refuse_too_many()
        if not _is_text(self.prior, r".+"):
            raise DataError(
                f"prior {self.prior!r} is not valid; give a text such as '0.3', 'rate', 'runs' or a file name"
            )

    def _refuse_too_many(self) -> None:
        """Raise an error for numbers of documents that no collection has."""
        if self.universe.startswith("+") and float(self.universe) > MOST_UNJUDGED:
            raise ChoiceError(f"universe {self.universe} is too large; use at most +{MOST_UNJUDGED:,}")
        number = (self.at_most or "").removesuffix("x")
        if number[:1].isdigit() and float(number) > MOST_UNJUDGED:
            raise DataError(f"at most {self.at_most} is too large; use at most {MOST_UNJUDGED:,}")

    def describe(self) -> str:
        """Return all policies in force in one line, for outputs."""
        return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.in_force().items())

    def changed(self) -> str:
        """Return the policies that differ from the defaults in one line; an empty text if none does."""
        return ", ".join(
            f"{name.replace('_', ' ')} {value}"
            for name, value in self.in_force().items()
            if value != getattr(DEFAULT_POLICIES, name)
        )

    def in_force(self) -> dict[str, str | int]:
        """Return the policies that can change a value here, by name."""
        idle = {"depth"} if self.depth is None else set()
        if self.unjudged != "bounds":
            idle |= {"at_most"}
        if self.unjudged not in ("bounds", "expected"):
            idle |= {"universe"}
        if self.unjudged != "expected":
            idle |= {"prior", "moments", "draws", "seed"}
        if self.at_most is None:
            idle |= {"at_most"}
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in idle}


def _is_text(value: object, pattern: str) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def check_policies(policies: object) -> None:
    """Raise an error if this is not a Policies object."""
    if not isinstance(policies, Policies):
        raise DataError(
            f"policies must be a Policies object, such as Policies(ties='file'), not {policies!r}"
        )


DEFAULT_POLICIES = Policies()
ANY_GRADES = Policies(fractional="accept")  # for work that only needs to know which documents are relevant
