"""The parameters of a simulated collection."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from sounding.core.errors import ChoiceError
from sounding.core.limits import ROWS, check_count, is_count


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionParameters:
    """The parameters of a simulated collection; invalid values raise an error."""

    topics: int = 50
    groups: int = 20
    systems: int = 3  # systems per group
    documents: int = 6000  # candidate documents per topic
    prevalence: float = 0.02  # mean share of relevant documents
    grades: int = 1  # the highest grade; 1: binary relevance
    length: int = 1000  # documents that a run retrieves per topic
    short: float = 0.05  # share of the runs that stop much earlier
    ties: float = 0.2  # share of the runs whose scores are rounded
    pool_depth: int = 100
    contributors: int | None = None  # groups whose runs are pooled; None: four of five
    pooled_runs: int = 2  # pooled runs of each contributing group, by priority
    manual: float = 0.15  # share of the groups that search manually
    seed: int = 0

    def __post_init__(self) -> None:
        for name in (
            "topics", "groups", "systems", "documents", "grades", "length", "pool_depth", "pooled_runs",
        ):  # fmt: skip
            check_count(name, getattr(self, name), 1)
        check_count("seed", self.seed, 0)
        for name in ("short", "ties", "manual"):
            share = getattr(self, name)
            if not _is_number(share) or not 0 <= share <= 1:
                raise ChoiceError(f"{name} is {share!r}; give a share from 0 to 1")
        if not _is_number(self.prevalence) or not 0 < self.prevalence < 1:
            raise ChoiceError(f"prevalence is {self.prevalence!r}; give a share above 0 and below 1")
        if self.length > self.documents:
            raise ChoiceError(
                f"length is {self.length} and a topic has {self.documents} documents;"
                f" give a length up to {self.documents}, or more documents"
            )
        rows = self.topics * self.groups * self.systems * self.length
        if rows > ROWS or self.topics * self.documents > ROWS:
            raise ChoiceError(
                f"{rows:,} documents in all runs, from {self.topics * self.documents:,} of all topics;"
                f" give sizes that make at most {ROWS:,}"
            )
        whole = self.contributors is None or is_count("contributors", self.contributors, 1)
        if not whole or self.pooled_groups > self.groups:
            raise ChoiceError(
                f"contributors is {self.contributors!r}; give a whole number from 1 to {self.groups},"
                " the number of groups"
            )

    @property
    def pooled_groups(self) -> int:
        """Return how many groups contribute to the pool."""
        return max(1, self.groups * 4 // 5) if self.contributors is None else self.contributors


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


DEFAULTS = CollectionParameters()


def option_name(parameter: str) -> str:
    """Return the name of a parameter on the command line."""
    return f"--{parameter.replace('_', '-')}"
