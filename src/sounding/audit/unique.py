"""Documents that one run, or one group, alone brought into the pool: Voorhees (2002), section 2, Fig. 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from sounding.audit.judged_runs import Flags, JudgedRuns
from sounding.runs.ranking import Counts
from sounding.runs.retrieved import Retrieved, held_by_owner

if TYPE_CHECKING:
    import polars

By = Literal["run", "group"]
Among = Literal["pooled", "all"]

MIXED = "mixed"
SEVERAL = -1  # more than one contributor has the document, or none


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UniqueDocuments:
    """For every judged document that a single run or group contributed: who, and by which kind of run."""

    by: By
    names: tuple[str, ...]  # (unit,) contributing runs or groups, in the order of the runs
    members: tuple[Counts, ...]  # (unit,) all runs of each, contributing or not
    sole: Counts  # (document,) the unit that alone contributed it; SEVERAL: there is none
    kinds: tuple[str, ...]  # kinds of run, and MIXED
    kind: Counts  # (document,) place among the kinds of those that contributed it
    judged: Flags  # (document,)
    relevant: Flags  # (document,)

    def lost(self, unit: int, *, relevant_only: bool = True) -> Flags:
        """(document,): judgments that would be lacking had the unit not taken part."""
        return (self.sole == unit) & (self.relevant if relevant_only else self.judged)

    def counts(self) -> Counts:
        """(unit, kind): unique relevant documents."""
        return self._table(self.relevant)

    def judged_counts(self) -> Counts:
        """(unit, kind): unique judged documents."""
        return self._table(self.judged)

    def _table(self, chosen: Flags) -> Counts:
        rows = chosen & (self.sole != SEVERAL)
        table = np.zeros((len(self.names), len(self.kinds)), np.int64)
        np.add.at(table, (self.sole[rows], self.kind[rows]), 1)
        return table

    @property
    def frame(self) -> polars.DataFrame:
        """Columns group (or run), kind of the runs that found them, unique (relevant), unique_judged."""
        import polars

        relevant, judged = self.counts(), self.judged_counts()
        unit, kind = judged.nonzero()
        return polars.DataFrame(
            {
                self.by: [self.names[place] for place in unit.tolist()],
                "kind": [self.kinds[place] for place in kind.tolist()],
                "unique": relevant[unit, kind],
                "unique_judged": judged[unit, kind],
            },
            schema_overrides={self.by: polars.String, "kind": polars.String},
        )


def unique_documents(runs: JudgedRuns, by: By = "group", among: Among = "pooled") -> UniqueDocuments:
    """Return the judged documents that exactly one contributing run, or group, has as deep as the pool goes.

    `among` all: and that no other run has there either, pooled or not, as in NIST's leave-out qrels.
    """
    pooled = runs.contributions()
    owner = runs.runs if by == "run" else runs.groups
    owners = [name for name, own in zip(owner, runs.contributing, strict=True) if own]
    names = tuple(dict.fromkeys(owners))
    kinds = [kind for kind, own in zip(runs.kinds, runs.contributing, strict=True) if own]
    known = tuple(sorted(set(kinds)))
    sole = _sole_holder(pooled, owners, names)
    if among == "all":
        submitted = runs.retrieved.pick(~runs.new).cut(runs.reach)
        everybody = [name for name, new in zip(owner, runs.new, strict=True) if not new]
        sole[_sole_holder(submitted, everybody, list(dict.fromkeys(everybody))) == SEVERAL] = SEVERAL
    single = _sole_holder(pooled, kinds, known)
    grades = runs.grades()
    return UniqueDocuments(
        by=by,
        names=names,
        members=tuple(np.array([own == name for own in owner]).nonzero()[0] for name in names),
        sole=sole,
        kinds=(*known, MIXED),
        kind=np.where(single == SEVERAL, len(known), single),
        judged=np.isfinite(grades),
        relevant=runs.is_relevant(),
    )


def _sole_holder(pooled: Retrieved, owners: Sequence[str], names: Sequence[str]) -> Counts:
    """(document,): the place among the names of the only one whose runs have it; SEVERAL: more, or none."""
    holders = np.zeros(len(pooled.docs), np.int64)
    sole = np.full(len(pooled.docs), SEVERAL)
    for owner, held in held_by_owner(pooled, owners):
        holders += held
        sole[held] = names.index(owner)
    sole[holders > 1] = SEVERAL
    return sole
