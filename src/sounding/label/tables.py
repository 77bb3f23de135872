"""Tables of `sounding label`: the label file, and how often each label was given."""

from __future__ import annotations

from typing import Any

from sounding.label.labeling import FAILED, NO_TEXT, NOT_ASKED
from sounding.label.prompts import REFUSAL, UNPARSABLE
from sounding.label.result import Labeling
from sounding.label.sentences import WORDS
from sounding.render.tables import Cell, Column, Table


def count_table(labeling: Labeling) -> Table:
    """Return how often each label was given, and how often none."""
    rows: list[tuple[str, int]] = [(str(label), count) for label, count in labeling.counts.items()]
    kinds = (REFUSAL, UNPARSABLE, FAILED, NOT_ASKED, NO_TEXT)
    rows += [(WORDS[kind], labeling.problems[kind]) for kind in kinds if labeling.problems[kind]]
    total = max(labeling.questions, 1)
    title = "Labels" if labeling.repeat == 1 else f"Labels, {labeling.repeat} for each document"
    return Table(
        [
            Column("label", [name for name, _ in rows]),
            Column("times", [count for _, count in rows]),
            Column("share", [count / total for _, count in rows], percent=True),
        ],
        title=title,
        facts=facts(labeling),
    )


def label_table(labeling: Labeling) -> Table:
    """Return the rows of the label file."""
    columns = [Column(name, [_cell(row, name) for row in labeling.rows]) for name in labeling.columns]
    return Table(columns, facts=facts(labeling), keys=2)


def _cell(row: Any, name: str) -> Cell:
    value: Cell = getattr(row, name)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def tab_separated(table: Table) -> str:
    """Return a table as lines with tabs and a header; a field with a tab or a quotation mark is quoted."""
    columns = [
        [column.name, *("" if cell is None else str(cell) for cell in column.cells)]
        for column in table.columns
    ]
    return "".join("\t".join(map(_field, row)) + "\n" for row in zip(*columns, strict=True))


def _field(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if set(text) & {'"', "\t", "\n", "\r"} else text


def facts(labeling: Labeling) -> dict[str, Any]:
    """Return what JSON holds beside the labels."""
    own = labeling.consistency
    return {
        "judge": labeling.judge, "prompt": labeling.prompt, "documents": labeling.documents,
        "labeled": labeling.labeled, "repeat": labeling.repeat, "problems": dict(labeling.problems),
        "asked": labeling.asked, "cached": labeling.cached, "stopped": labeling.stopped or None,
        "spent": {
            "requests": labeling.spent.requests, "tokens_in": labeling.spent.tokens_in,
            "tokens_out": labeling.spent.tokens_out, "cost": labeling.cost,
        },
        "consistency": None if own is None else own._asdict(),
    }  # fmt: skip
