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
    Answer,
    Cell,
    Column,
    Table,
    decimal,
    display_width,
    markdown_text,
    parquet,
    render,
    render_answer,
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


def header(text: str) -> list[str]:
    """The names above the columns of a text table."""
    return text.splitlines()[0].split()


def test_a_wide_table_drops_columns_from_the_right_and_names_them() -> None:
    table = Table(
        [Column("run", ["a", "b"])]
        + [Column(f"measure-{n}", [0.1, 0.2], joined=n % 2 == 1) for n in range(8)]
    )
    text = render([table], "table", width=40)
    assert max(map(display_width, text.splitlines())) <= 40
    assert header(text) == ["run", "measure-0", "measure-1"]
    for dropped in range(2, 8):
        assert f"measure-{dropped}" in " ".join(text.split()).partition("width: ")[2]


def test_optional_columns_go_first_and_those_that_name_a_row_never() -> None:
    keys = [Column("run_a", ["a", "a"]), Column("run_b", ["b", "c"]), Column("measure", ["P@5", "P@5"])]
    numbers = [Column(f"number-{n}", [0.1, 0.2], optional=3 - n) for n in range(4)]
    text = render([Table([*keys, *numbers], keys=3)], "table", width=45)
    assert header(text) == ["run_a", "run_b", "measure", "number-2", "number-3"]
    narrow = render([Table([*keys, *numbers], keys=3)], "table", width=10)
    assert header(narrow) == ["run_a", "run_b", "measure", "number-3"]


def test_without_a_width_all_columns_are_shown() -> None:
    table = Table([Column(f"measure-{n}", [0.1]) for n in range(50)])
    assert len(header(render([table], "table", prose=40))) == 50


@given(
    st.lists(st.tuples(st.integers(1, 30), st.booleans(), st.integers(0, 3)), min_size=2), st.integers(1, 90)
)
def test_no_row_is_wider_than_the_terminal_unless_one_column_is(
    columns: list[tuple[int, bool, int]], width: int
) -> None:
    table = Table(
        [Column("n" * size, [1], joined=joined, optional=optional) for size, joined, optional in columns]
    )
    shown = render([table], "table", width=width, prose=1000).splitlines()
    kept, gone = shown[0].split(), shown[4:]
    assert (len(kept) == len(columns)) == (not gone)
    if display_width(shown[0]) > width:  # then nothing is left to drop: the key and one group of columns
        assert len(kept) <= 1 + 1 + sum(joined for _, joined, _ in columns[2:])


ANSWER = Answer("bm25 wins.", [Table([Column("run", ["bm25"])], facts={"topics": 3})],
                [f"note {n}" for n in range(5)], "sounding report q r")  # fmt: skip


def test_an_answer_begins_with_its_headline_and_ends_with_what_to_type() -> None:
    lines = render_answer(ANSWER, "table").splitlines()
    assert (lines[0], lines[-1]) == ("bm25 wins.", "Next: sounding report q r")
    assert [line for line in lines if line.startswith("note")] == ["note 0", "note 1", "note 2"]
    assert any("2 more" in line and "--notes" in line for line in lines)
    assert sum("note" in line for line in render_answer(ANSWER, "table", all_notes=True).splitlines()) == 5
    for name in ("md", "latex"):
        text = render_answer(ANSWER, name)
        assert text.index("bm25 wins.") < text.index("run")
    facts = json.loads(render_answer(ANSWER, "json"))
    assert facts["headline"] == "bm25 wins."
    assert facts["notes"] == [f"note {n}" for n in range(5)]
    assert facts["next"] == "sounding report q r"
    assert facts["topics"] == 3
    assert render_answer(ANSWER, "csv") == "run\nbm25\n"


def test_a_terminal_shows_the_best_in_bold_and_tones_in_color() -> None:
    column = Column("p", ["0.01", "0.9"], best=frozenset({0}), tones={0: "good", 1: "weak"})
    marked = render([Table([column])], "table", marks=True)
    assert "\x1b[1m\x1b[32m0.01" in marked
    assert "\x1b[33m0.9" in marked
    assert "\x1b" not in render([Table([column])], "table")


@pytest.mark.parametrize(("value", "shown"), [(-0.00001, "0.0000"), (-0.0, "0.0000"), (-0.00006, "-0.0001")])
def test_no_number_is_shown_as_minus_zero(value: float, shown: str) -> None:
    assert decimal(value) == shown
    assert render([Table([Column("x", [value])])], "table").splitlines()[2].strip() == shown


def test_long_texts_fold_within_their_column_where_nothing_is_left_to_drop() -> None:
    words = " ".join("word" for _ in range(20))
    columns = [
        Column("n", [1, 2]),
        Column("what", [words, "short"], tones={1: "good"}),
        Column("first", ["a", "b"]),
    ]
    lines = render([Table(columns, keys=3)], "table", width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert [line.split()[0] for line in lines[2:] if line[0] == "1" or line[0] == "2"] == ["1", "2"]
    assert " ".join(lines[2:]).count("word") == 20
    assert lines[-1].split() == ["2", "short", "b"]
    colored = render([Table(columns, keys=3)], "table", width=60, marks=True).splitlines()
    assert "short" in next(line for line in colored if "\x1b[32m" in line)


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
    with pytest.raises(DataError, match=r"^topic 'caf\\xe9' is not UTF-8"):
        parquet([table])
    assert render([table], "jsonl").splitlines() == [
        '{"topic": "caf\u00e9", "value": 1.0}', r'{"topic": "caf\udce9", "value": null}',
    ]  # fmt: skip


def test_an_unknown_format_names_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown format 'cvs'; did you mean csv"):
        render([small()], "cvs")


@pytest.mark.parametrize("form", ["table", "md"])
def test_every_table_keeps_its_legend_and_three_notes_are_shown_in_all(form: str) -> None:
    table = Table([Column("run", ["a"])], notes=["legend"], summary="1 of 9 rows.")

    def shown(tables: int, own: int, **how: bool) -> tuple[int, int, bool]:
        text = render_answer(
            Answer("Yes.", [table] * tables, [f"of all {n}" for n in range(own)]), form, **how
        )
        assert text.count("1 of 9 rows.") == tables
        hidden = own - text.count("of all")
        assert (f"{hidden} more note" in text) == bool(hidden)
        return text.count("legend"), text.count("of all"), "--notes" in text

    assert shown(1, 0) == (1, 0, False)
    assert shown(1, 1) == (1, 1, False)
    assert shown(1, 4) == (1, 2, True)
    assert shown(2, 4) == (2, 2, True)
    assert shown(4, 4) == (4, 2, True)
    assert shown(2, 4, all_notes=True) == (2, 4, False)


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
