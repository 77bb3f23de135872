"""What a section of an audit is made of: a frame for programs, tables for people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sounding.audit.auditing import Audit
from sounding.audit.parts import Parts
from sounding.audit.pseudo import Pseudo
from sounding.audit.title_bias import TitleBias
from sounding.render.tables import Column, Table

if TYPE_CHECKING:
    import polars

LISTED_ALONE = "Nearly all judgments are relevant: only relevant documents seem to be listed."
SHOWN = 20  # rows that people see without asking for more


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Extras:
    """What was asked beside the collection itself."""

    parts: Parts | None = None
    titles: TitleBias | None = None
    others: Sequence[tuple[str, Pseudo]] = ()  # other collections, by name


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Section:
    """One part of an audit: a frame for programs, tables for people."""

    frame: polars.DataFrame
    tables: Sequence[Table]
    facts: Mapping[str, Any]


Builder = Callable[[Audit, Extras, int], Section]


def people(
    frame: polars.DataFrame,
    title: str,
    *,
    names: Mapping[str, str] | None = None,
    digits: Mapping[str, int] | None = None,
    percent: Sequence[str] = (),
    top: int | None = None,
    notes: Sequence[str] = (),
    keys: int = 1,
) -> Table:
    """A frame as people read it: some columns under other names, the first rows."""
    shown = frame if top is None else frame.head(top)
    chosen = names or {name: name.replace("_", " ") for name in frame.columns}
    columns = [
        Column(text, shown[name].to_list(), digits=(digits or {}).get(name), percent=name in percent)
        for name, text in chosen.items()
    ]
    if shown.height < frame.height:
        notes = [f"{shown.height} of {frame.height} rows, the rest with --top N.", *notes]
    return Table(columns, title=title, notes=notes, keys=keys)


def known(value: float) -> float | None:
    """A number as json has it; None: not known."""
    return value if np.isfinite(value) else None


def number_text(value: float) -> str:
    """A coefficient as people read it."""
    return f"{value:.3f}" if np.isfinite(value) else "not defined"
