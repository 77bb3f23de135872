"""The result of an audit: what a collection shows, and what it is fit for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sounding.audit.evidence import AuditEvidence
from sounding.audit.parts import PartOf, Parts, part_of, parts_of_collection
from sounding.audit.title_bias import TitleBias, title_bias
from sounding.audit.verdict import Statement, fitness, verdict
from sounding.core.display import Displayed
from sounding.data.topics import Topics, read_topics


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit(AuditEvidence, Displayed):
    """One collection and its runs, ready to be asked how far they can be trusted."""

    def fitness(self) -> list[Statement]:
        """Return what the collection is fit for, most important first."""
        return self._once("fitness", lambda: fitness(self))

    def verdict(self) -> list[Statement]:
        """Return what the collection is fit for, and what to beware of, most important first."""
        return self._once("verdict", lambda: verdict(self))

    def parts(self, part: str | PartOf) -> Parts:
        """Return what each part of the collection gave; see `part_of` for how parts are named."""
        return parts_of_collection(self.runs, part_of(part) if isinstance(part, str) else part)

    def title_bias(self, topics: Topics | str | Path, corpus: Sequence[str | Path]) -> TitleBias:
        """Return how many of a title's words judged documents hold, by pool rank."""
        found = topics if isinstance(topics, Topics) else read_topics(topics)
        return title_bias(self.runs, found, corpus)
