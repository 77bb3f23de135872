"""Parts of a collection, such as languages or sources: what each of them gave to the pool.

Voorhees (2002, section 4): where few runs reach a part, its pool is small and its relevant documents are
not found, whatever the whole looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sounding.audit.judged_runs import Flags, JudgedRuns
from sounding.core.errors import DataError, FormatError
from sounding.core.lazy import polars
from sounding.data.delimited import guess_separator, split_grid
from sounding.data.problems import Problems
from sounding.data.sources import read_content
from sounding.runs.align import apply_negative_policy
from sounding.runs.ranking import Counts, Values

NO_PART = "(none)"

PartOf = Callable[[str], str]  # doc id -> the part it belongs to


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Parts:
    """Share of every part of the collection in what was retrieved, pooled, judged and found relevant."""

    names: tuple[str, ...]  # the largest pool first
    retrieved: Counts  # (part,) documents among the first of any run, as deep as the pool
    retrieved_judged: Counts  # (part,) those of them that were judged
    pooled: Counts  # (part,) documents that contributing runs brought into the pool
    judged: Counts  # (part,)
    relevant: Counts  # (part,)
    runs: Counts  # (part,) contributing runs that brought at least one of its documents
    contributing: int  # runs that contributed to the pool

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per part: counts, shares of the whole, judged share, rate of relevant documents."""
        return polars.DataFrame(
            {
                "part": self.names, "pooled": self.pooled, "pool_share": _share(self.pooled),
                "judged": self.judged, "judged_share": _ratio(self.retrieved_judged, self.retrieved),
                "relevant": self.relevant, "relevant_share": _share(self.relevant),
                "relevant_rate": _ratio(self.relevant, self.judged), "runs": self.runs,
            },
            schema_overrides={"part": polars.String},
        )  # fmt: skip


def part_of(text: str) -> PartOf:
    """Return how documents are divided: by `prefix:N`, a file of doc and part, or a regular expression.

    An expression's first group is the part, or all that it matches at the beginning of an id.
    """
    prefix = re.fullmatch(r"prefix:(\d+)", text)
    if prefix:
        length = int(prefix[1])
        if not length:
            raise DataError("parts prefix:0: expected at least one letter, as prefix:2")
        return lambda doc: doc[:length]
    if Path(text).is_file():
        table = _read_parts(text)
        return lambda doc: table.get(doc, NO_PART)
    if re.fullmatch(r"[\w./~ -]*", text):
        raise DataError(
            f"parts {text!r}: no such file, and an expression of plain letters makes at most one part;"
            " expected prefix:N, a file of doc and part, or an expression such as '([A-Z]+)'"
        )
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise DataError(
            f"parts {text!r}: neither a file nor a regular expression ({error}); expected prefix:N, a file"
            " of doc and part, or an expression such as '([A-Z]+)'"
        ) from error

    def part(doc: str) -> str:
        found = pattern.match(doc)
        return NO_PART if found is None else (found[1] if pattern.groups else found[0]) or NO_PART

    return part


def _read_parts(source: str) -> dict[str, str]:
    """Doc -> part, from lines of two columns; a first line `doc part` is a header."""
    content = read_content(source)
    problems = Problems(content.source)
    grid = split_grid(content, guess_separator(content), problems)
    wrong = (grid.size != 2).nonzero()[0]
    problems.add(grid.lines[wrong], lambda i: f"{int(grid.size[wrong[i]])} columns; expected doc and part")
    problems.refuse()
    rows = [grid.texts(record) for record in range(len(grid.first))]
    if rows and " ".join(rows[0]).lower() in ("doc part", "doc_id part", "docno part"):
        rows = rows[1:]
    if not rows:
        raise FormatError(content.source, None, "no documents; expected lines of doc and part")
    return dict(rows)


def parts_of_collection(runs: JudgedRuns, part: PartOf) -> Parts:
    """Return what every part of the collection has in the pool of the contributing runs."""
    pooled, seen = runs.contributions(), runs.retrieved.cut(runs.reach).best_ranks() > 0
    in_pool, known = pooled.best_ranks() > 0, np.isfinite(runs.grades())
    listed = seen.nonzero()[0]
    of_listed = [part(doc) for doc in runs.retrieved.docs[listed].texts()]
    of_judged = [part(doc) for doc in runs.qrels.docs.texts()]
    grades = apply_negative_policy(runs.qrels.grades, runs.policies.negative)
    names = sorted({*of_listed, *of_judged})
    number = {name: place for place, name in enumerate(names)}

    place_listed, place_judged = (
        np.array([number[name] for name in labels], np.int64) for labels in (of_listed, of_judged)
    )

    def counts(places: Counts, chosen: Flags) -> Counts:
        return np.bincount(places[chosen], minlength=len(names))

    label = np.full(len(seen) + 1, len(names))  # the last is what NONE points to
    label[listed] = place_listed
    brought = np.zeros((len(pooled.runs), len(names) + 1), np.bool_)
    for run, own in enumerate(pooled.lists):
        brought[run, label[own]] = True
    sizes = counts(place_listed, in_pool[listed])
    order = np.argsort(-sizes, kind="stable")
    return Parts(
        names=tuple(names[place] for place in order),
        retrieved=counts(place_listed, seen[listed])[order],
        retrieved_judged=counts(place_listed, known[listed])[order],
        pooled=sizes[order],
        judged=counts(place_judged, grades >= 0)[order],
        relevant=counts(place_judged, grades >= runs.level)[order],
        runs=brought[:, :-1].sum(axis=0)[order],
        contributing=len(pooled.runs),
    )


def _share(counts: Counts) -> Values:
    return counts / max(int(counts.sum()), 1)


def _ratio(counts: Counts, of: Counts) -> Values:
    return np.divide(counts, of, out=np.full(len(of), np.nan), where=of > 0)
