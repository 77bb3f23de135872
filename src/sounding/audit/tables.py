"""An audit as a page and as tables: the verdict first, then whatever section is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sounding.audit.auditing import Audit
from sounding.audit.pool_tables import (
    growth_section,
    parts_section,
    pool_section,
    runs_section,
    titles_section,
    topics_section,
)
from sounding.audit.run_tables import (
    assessment_section,
    leave_out_section,
    reinforcement_section,
    ties_section,
    unique_section,
)
from sounding.audit.section import Builder, Extras, Section
from sounding.audit.verdict import Statement
from sounding.core.text import plural, wrapped
from sounding.render.tables import Cell, Column, Table

MARGIN = 11  # of statements: room for the longest answer
NARROW, WIDTH = 40, 100  # longer lines are hard to read
SECTIONS: Mapping[str, Builder] = {
    "pool": pool_section, "runs": runs_section, "topics": topics_section, "growth": growth_section,
    "unique": unique_section, "leave-out": leave_out_section, "reinforcement": reinforcement_section,
    "ties": ties_section, "assessment": assessment_section, "parts": parts_section,
    "titles": titles_section,
}  # fmt: skip
OF_A_POOL = ("pool", "growth", "unique", "leave-out", "reinforcement")  # need runs that contributed

# -- the verdict -----------------------------------------------------------------------------------


def verdict_text(audit: Audit, statements: Sequence[Statement], width: int) -> str:
    """The verdict as a page: an answer, a claim and its reasons, one after the other."""
    width = min(max(width, NARROW) if width else WIDTH, WIDTH)  # some terminals say 0
    lines = wrapped(headline(audit), width)
    fit = [one for one in statements if one.answer != "note"]
    notes = [one for one in statements if one.answer == "note"]
    for title, group in (("", fit), ("Look out", notes)):
        lines += ["", title] if title and group else [""] if group else []
        for one in group:
            if one.answer == "note":
                lines += _hanging(f"{one.claim}. {one.why}".strip(), width, "- ")
            else:
                lines += _hanging(f"{one.claim}.", width, one.answer.ljust(MARGIN))
                lines += _hanging(one.why, width, " " * MARGIN)
    lines += ["", *wrapped(f"Policies: {audit.runs.policies.describe()}.", width)]
    lines += wrapped(f"More: --section {', '.join(sections(audit, Extras()))}; or --all.", width)
    return "\n".join(lines) + "\n"


def _hanging(text: str, width: int, first: str) -> list[str]:
    """A paragraph whose first line begins with something, and the others with as many blanks."""
    return wrapped(text, width, first, " " * len(first))


def verdict_table(audit: Audit, statements: Sequence[Statement], *, rounded: bool = False) -> Table:
    """The statements of the verdict, one row each; `rounded`: figures as people write them."""
    names = ("about", "answer", "claim", "figure", "value", "rule", "why")
    columns = [Column(name, [getattr(one, name) for one in statements]) for name in names]
    if rounded:
        told = [f"{one.value:.3g}" if np.isfinite(one.value) else None for one in statements]
        columns[names.index("value")] = Column("value", told, right=True)
    return Table(columns, title="Verdict", notes=[headline(audit)], facts=facts(audit))


def headline(audit: Audit) -> str:
    """The size of the collection in a sentence."""
    runs = audit.runs
    relevant = int(runs.judgments.relevant(runs.level).sum())
    groups = len({group for group, new in zip(runs.groups, runs.new, strict=True) if not new})
    old = int(np.count_nonzero(~runs.new))
    return (
        f"{runs.qrels.source}: {plural(len(runs.topics), 'topic')},"
        f" {plural(len(runs.judgments.grades), 'judgment')}, {relevant:,} of them relevant;"
        f" {plural(old, 'run')} of {plural(groups, 'group')}."
    )


def facts(audit: Audit) -> dict[str, Any]:
    """What json says beside the rows."""
    runs = audit.runs
    return {
        "collection": {
            "qrels": runs.qrels.source, "topics": len(runs.topics), "runs": len(runs.runs),
            "judgments": len(runs.judgments.grades), "level": runs.level,
            "relevant": int(runs.judgments.relevant(runs.level).sum()),
        },
        "pool": {
            "depth": runs.pool.depth, "judged_depth": runs.pool.judged, "holes": len(runs.holes()),
            "guessed": runs.pool.guessed, "unique_among": audit.among,
            "contributing": [run for run, own in zip(runs.runs, runs.contributing, strict=True) if own],
        },
        "measures": [str(measure) for measure in audit.measures],
        "policies": runs.policies.in_force(),
        "remarks": list(runs.remarks),
    }  # fmt: skip


# -- sections --------------------------------------------------------------------------------------


def sections(audit: Audit, extras: Extras) -> dict[str, Builder]:
    """The sections that this audit can show, in their order."""
    needed = {"parts": extras.parts is not None, "titles": extras.titles is not None}
    needed |= dict.fromkeys(OF_A_POOL, audit.has_pool)
    return {name: builder for name, builder in SECTIONS.items() if needed.get(name, True)}


def tidy_section(section: Section, audit: Audit) -> Table:
    """A section for programs: all rows, full precision."""
    columns = [Column(name, section.frame[name].to_list()) for name in section.frame.columns]
    return Table(columns, facts=facts(audit) | dict(section.facts))


def tidy_sections(found: Mapping[str, Section], verdict: Table) -> Table:
    """All sections as one long table of section, row, column and value; json has them beside it by name."""
    cells: list[tuple[str, int, str, Cell]] = []
    tables = {"verdict": verdict.rows()} | {
        name: Table([Column(key, one.frame[key].to_list()) for key in one.frame.columns]).rows()
        for name, one in found.items()
    }
    for name, rows in tables.items():
        cells += [
            (name, place, key, value) for place, row in enumerate(rows, 1) for key, value in row.items()
        ]
    section, row, column, value = (list(part) for part in zip(*cells, strict=True))
    shown = [None if cell is None else cell if isinstance(cell, str) else str(cell) for cell in value]
    return Table(
        [Column("section", section), Column("row", row), Column("column", column), Column("value", shown)]
    )


def with_policies(tables: Sequence[Table], audit: Audit) -> list[Table]:
    """The tables, with the policies and what is not known of runs below the last."""
    last = tables[-1]
    notes = [*last.notes, *(f"{text[0].upper()}{text[1:]}." for text in audit.runs.remarks)]
    notes.append(f"Policies: {audit.runs.policies.describe()}.")
    return [*tables[:-1], replace(last, notes=notes)]
