"""One writer, every format: nothing breaks a table, nothing unknown becomes a number."""

from __future__ import annotations

import csv
import io
import json
import math

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.core.errors import DataError, UnknownNameError
from sounding.render.tables import (
    Cell,
    Column,
    Table,
    decimal,
    display_width,
    markdown_text,
    parquet,
    render,
    shown_cell,
)

NAN = math.nan


def small() -> Table:
    return Table(
        [
            Column("run", ["bm25", "日本語", "a|b_c"]),
            Column("AP", [0.123456, NAN, 0.5], best=frozenset({2})),
            Column("judged", [0.5, 1.0, NAN], percent=True, joined=True),
            Column("docs", [10, 2000, None]),
        ],
        notes=["A note."],
        facts={"topics": 3},
    )


def test_a_chance_that_draws_gave_is_never_certain() -> None:
    column = Column("above", (1.0, 0.99951, 0.9994, 2 / 3, 0.0006, 0.0, NAN), chance=True)
    shown = [shown_cell(cell, column) for cell in column.cells]
    assert shown == [">99.9%", ">99.9%", "99.9%", "66.7%", "0.1%", "<0.1%", "–"]


def test_a_text_table_is_aligned_whatever_the_width_of_its_letters() -> None:
    assert render([small()], "table") == (
        "run         AP   judged  docs\n"
        "──────  ───────  ──────  ────\n"
        "bm25    0.1235      50%    10\n"
        "日本語       –     100%  2000\n"
        "a|b_c   0.5000*       –     –\n"
        "\n"
        "A note.\n"
    )


def test_a_terminal_marks_the_best_in_bold() -> None:
    assert "\x1b[1m0.5000\x1b[0m" in render([small()], "table", marks=True)


@pytest.mark.parametrize(
    ("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("\u200b", 0), ("é", 1)]
)
def test_display_width_counts_places_on_a_terminal(text: str, width: int) -> None:
    assert display_width(text) == width


def test_a_wide_table_is_folded_and_every_part_names_its_rows() -> None:
    table = Table(
        [Column("run", ["a", "b"])]
        + [Column(f"measure-{n}", [0.1, 0.2], joined=n % 2 == 1) for n in range(8)]
    )
    text = render([table], "table", width=40)
    assert max(map(display_width, text.splitlines())) <= 40
    assert sum(line.startswith("run") for line in text.splitlines()) == 4
    for pair in range(4):
        assert any(f"measure-{2 * pair}  measure-{2 * pair + 1}" in line for line in text.splitlines())


def test_every_part_of_a_folded_table_repeats_all_the_columns_that_name_its_rows() -> None:
    keys = [Column("run_a", ["a", "a"]), Column("run_b", ["b", "c"]), Column("measure", ["P@5", "P@5"])]
    table = Table([*keys, *(Column(f"number-{n}", [0.1, 0.2]) for n in range(4))], keys=3)
    parts = render([table], "table", width=45).split("\n\n")
    assert len(parts) == 2
    for part in parts:
        assert part.startswith("run_a  run_b  measure  number-")
        assert "\na      c      P@5      " in part


@pytest.mark.parametrize(("value", "shown"), [(-0.00001, "0.0000"), (-0.0, "0.0000"), (-0.00006, "-0.0001")])
def test_no_number_is_shown_as_minus_zero(value: float, shown: str) -> None:
    assert decimal(value) == shown
    assert render([Table([Column("x", [value])])], "table").splitlines()[2].strip() == shown


def test_a_column_wider_than_the_terminal_is_shown_whole() -> None:
    text = render([Table([Column("r", ["a"]), Column("x" * 50, [1.0])])], "table", width=20)
    assert "x" * 50 in text


def test_csv_keeps_full_precision_and_leaves_unknown_cells_empty() -> None:
    rows = list(csv.reader(io.StringIO(render([small()], "csv"))))
    assert rows == [
        ["run", "AP", "judged", "docs"],
        ["bm25", "0.123456", "0.5", "10"],
        ["日本語", "", "1.0", "2000"],
        ["a|b_c", "0.5", "", ""],
    ]


def test_csv_of_several_tables_has_one_header() -> None:
    assert render([small(), small()], "csv").count("judged") == 1


def test_json_holds_facts_and_rows_with_null_for_unknown() -> None:
    body = json.loads(render([small()], "json"))
    assert body["topics"] == 3
    assert body["rows"][1] == {"run": "日本語", "AP": None, "judged": 1.0, "docs": 2000}


def test_jsonl_is_one_object_a_line() -> None:
    lines = render([small()], "jsonl").splitlines()
    assert [json.loads(line)["run"] for line in lines] == ["bm25", "日本語", "a|b_c"]


def test_markdown_escapes_what_would_break_a_cell() -> None:
    text = render([small()], "md")
    assert text.splitlines()[0] == "| run | AP | judged | docs |"
    assert text.splitlines()[1] == "|:--|--:|--:|--:|"
    assert "| a\\|b\\_c | **0.5000** | – | – |" in text


def test_latex_escapes_and_marks() -> None:
    text = render([small()], "latex")
    assert r"\begin{tabular}{lrrr}" in text
    assert r"a\ensuremath{|}b\_c & \textbf{0.5000} & -- & -- \\" in text
    assert r"50\%" in text


def test_parquet_reads_back_with_nulls() -> None:
    frame = polars.read_parquet(io.BytesIO(parquet([small()])))
    assert frame.columns == ["run", "AP", "judged", "docs"]
    assert frame["AP"].to_list() == [0.123456, None, 0.5]


def test_parquet_refuses_what_is_not_utf_8_and_json_escapes_it() -> None:
    table = Table([Column("topic", ["caf\u00e9", "caf\udce9"]), Column("value", [1.0, None])])
    with pytest.raises(
        DataError, match=r"^topic 'caf\\xe9' is not UTF-8, and frames and Parquet hold nothing"
    ):
        parquet([table])
    assert render([table], "jsonl").splitlines() == [
        '{"topic": "caf\u00e9", "value": 1.0}', r'{"topic": "caf\udce9", "value": null}',
    ]  # fmt: skip


def test_an_unknown_format_names_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown format 'cvs'; did you mean csv"):
        render([small()], "cvs")


def test_paths_in_notes_stay_whole() -> None:
    path = "/somewhere/with-many-hyphens/in-its-name/results-of-the-day-before-yesterday.json"
    for before in range(1, 60):
        table = Table([Column("run", ["a"])], notes=[f"{'x' * before} written to {path}; read it."])
        assert f"{path};" in render([table], "table", width=60)


def test_notes_are_wrapped_on_a_terminal_only() -> None:
    table = Table([Column("run", ["a"])], notes=["word " * 30])
    assert max(map(len, render([table], "table", width=40).splitlines())) <= 40
    assert max(map(len, render([table], "table").splitlines())) > 100


def test_latex_writes_signs_that_fonts_lack_as_mathematics() -> None:
    column = Column("p < 1", ["≤0.05", "<0.001", "›‹>·", "a…b"])
    text = render([Table([column])], "latex")
    assert not set("≤›‹·…") & set(text)
    assert r"\ensuremath{\le}0.05" in text
    assert r"\ensuremath{<}0.001" in text
    assert r"\ensuremath{\rangle}\ensuremath{\langle}\ensuremath{>}\ensuremath{\cdot}" in text
    assert r"p \ensuremath{<} 1" in text


def test_markdown_strikes_nothing_out_and_code_stands_for_itself() -> None:
    plain, code = Column("run", ["a~~b~~"]), Column("against", ["·~~=*_"], code=True)
    text = render([Table([plain, code])], "md")
    assert r"| a\~\~b\~\~ | `·~~=*_` |" in text
    assert r"\texttt{" in render([Table([code])], "latex")


def test_csv_leaves_out_what_is_not_known_whatever_else_a_column_holds() -> None:
    columns = [
        Column("text", ["a", "b", "c"]),
        Column("known", [0.5, 1.0, 2.0]),
        Column("gaps", [0.5, math.nan, math.inf]),
        Column("mixed", [1, math.nan, None]),
        Column("numpy", [np.float64("nan"), np.float64(0.25), np.float64(1)]),
    ]
    assert render([Table(columns)], "csv") == (
        "text,known,gaps,mixed,numpy\na,0.5,0.5,1,\nb,1.0,,,0.25\nc,2.0,,,1.0\n"
    )


cells = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.floats().map(np.float64),
    st.text(max_size=3), st.text('a ,"\r\n\ud800', max_size=3),
)  # fmt: skip


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[cells] * width), max_size=4)))
def test_csv_is_what_the_csv_module_writes(rows: list[tuple[Cell, ...]]) -> None:
    width = len(rows[0]) if rows else 2
    table = Table([Column(f"c{place}", [row[place] for row in rows]) for place in range(width)])
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(f"c{place}" for place in range(width))
    writer.writerows([None if isinstance(c, float) and not math.isfinite(c) else c for c in r] for r in rows)
    assert render([table], "csv") == stream.getvalue()


def test_markdown_takes_a_tag_for_text_and_leaves_a_small_p_alone() -> None:
    assert markdown_text("<b>x</b> <!-- --> <?php") == r"\<b>x\</b> \<!-- --> \<?php"
    assert markdown_text("p < 0.001, <0.01") == "p < 0.001, <0.01"
