"""The choices that change values, each with a name; every output repeats them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args, get_type_hints

from sounding.errors import DataError, UnknownNameError

Ties = Literal["trec", "file", "rank", "average"]
Unjudged = Literal["nonrelevant", "condensed"]
Missing = Literal["zero", "skip", "error"]
Negative = Literal["trec", "split", "nonrelevant"]
Fractional = Literal["refuse", "accept", "round"]
Duplicates = Literal["error", "first", "best"]
Compat = Literal["trec_eval-10", "trec_eval-9"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """How documents are ordered, what an unjudged one counts, what a missing topic gives, and so on.

    The defaults reproduce `trec_eval -c`, version 10.
    """

    ties: Ties = "trec"  # score then doc id, both descending; file: lines as they stand; rank: rank column
    unjudged: Unjudged = "nonrelevant"  # condensed: removed before anything is counted
    missing: Missing = "zero"  # a judged topic that a run lacks
    negative: Negative = "trec"  # negative grades; trec: pooled, not judged; split: only -1 is
    fractional: Fractional = "refuse"  # grades such as 0.5
    duplicates: Duplicates = "error"  # a document listed twice for a topic
    compat: Compat = "trec_eval-10"  # trec_eval-9: scores in single precision, older recall points
    depth: int | None = None  # only so many documents of every topic count

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            allowed = get_args(hint)
            value = getattr(self, name)
            if name == "depth":
                if value is not None and value < 1:
                    raise DataError(f"depth {value!r} keeps no document; give a whole number from 1")
            elif value not in allowed:
                raise UnknownNameError(f"value of the policy {name}:", str(value), allowed)
        if self.ties == "average" and self.depth is not None:
            raise DataError("ties average needs the whole ranking: use a measure's @k in place of depth")

    def describe(self) -> str:
        """All policies in one line, as outputs repeat them."""
        return ", ".join(
            f"{f.name} {getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) is not None
        )


DEFAULT_POLICIES = Policies()
