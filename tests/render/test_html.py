"""Tables become HTML that can be read, sorted and trusted."""

from __future__ import annotations

from html.parser import HTMLParser

from sounding.core.policies import Policies
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.tables import board_frame
from sounding.render.html import html_table, ungrouped
from sounding.render.tables import Column, Table


class Cells(HTMLParser):
    """Rows of (tag, attributes, text)."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, dict[str, str | None], str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.rows and self.rows[-1] and data.strip():
            tag, attributes, text = self.rows[-1][-1]
            self.rows[-1][-1] = (tag, attributes, text + data.strip())


def texts(text: str) -> list[list[str]]:
    return [[cell[2] for cell in row] for row in Cells(text).rows]


SMALL = Table([Column("run", ["a", "b"]), Column("AP", [0.25, float("nan")], best=frozenset([0]))])


def test_a_table_has_a_heading_and_rows_with_unknown_values_as_dashes() -> None:
    assert texts(html_table(SMALL)) == [["run", "AP"], ["a", "0.2500"], ["b", "–"]]


def test_every_row_is_headed_by_its_first_cell_and_numbers_stand_to_the_right() -> None:
    rows = Cells(html_table(SMALL)).rows
    assert [(cell[0], cell[1].get("scope"), cell[1].get("class")) for cell in rows[1]] == [
        ("th", "row", None), ("td", None, "number"),
    ]  # fmt: skip
    assert "<strong>0.2500</strong>" in html_table(SMALL)


def test_columns_that_belong_together_stand_under_one_heading() -> None:
    table = Table(
        [
            Column("run", ["a"]),
            Column("P@10", [0.1]),
            Column("lower", [0.0], joined=True),
            Column("AP", [0.2]),
        ]
    )
    first, second, body = Cells(html_table(table)).rows
    spans = [(cell[2], cell[1].get("colspan"), cell[1].get("rowspan")) for cell in first]
    assert spans == [("run", None, "2"), ("P@10", "2", None), ("AP", None, "2")]
    assert [cell[2] for cell in second] == ["value", "lower"]
    places = {cell[2]: cell[1].get("data-column") for cell in [*first, *second]}
    assert places == {"run": "0", "P@10": None, "value": "1", "lower": "2", "AP": "3"}
    assert len(body) == 4


def test_no_name_can_be_markup() -> None:
    hostile = Table(
        [Column("<b>", ["</td><script>alert(1)</script>", '" onload="x']), Column("x", ["a", "b"])]
    )
    text = html_table(hostile, explain=lambda name: f'"><i>{name}')
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert texts(text)[1][0] == "</td><script>alert(1)</script>"


def test_values_keep_more_digits_than_are_shown() -> None:
    text = html_table(Table([Column("run", ["a"]), Column("AP", [0.123456789])]), values=True)
    assert 'data-value="0.123457">0.1235<' in text


def test_values_without_bounds_are_drawn_as_points_alone() -> None:
    runs = {"a": {"1": ["r", "n"], "2": ["r"]}, "b": {"1": ["n", "r"], "2": ["n"]}}
    judged = {topic: {"r": 1, "n": 0} for topic in "12"}
    for unjudged, known in (("nonrelevant", False), ("bounds", True)):
        scores = evaluate(judged, {name: _scored(topics) for name, topics in runs.items()}, ["P@1", "NumRet"],
                          policies=Policies(unjudged=unjudged))  # type: ignore[arg-type]  # fmt: skip
        frame = board_frame(scores)
        # A count has no place beside a mean.
        assert frame["measure"].unique().to_list() == ["P@1"]
        assert frame["run"].to_list() == ["a", "b"]
        assert frame["value"].to_list() == [1.0, 0.0]
        assert frame["lower"].to_list() == ([1.0, 0.0] if known else [None, None])


def _scored(topics: dict[str, list[str]]) -> dict[str, dict[str, float]]:
    return {topic: {doc: -float(rank) for rank, doc in enumerate(docs)} for topic, docs in topics.items()}


def test_columns_that_only_keep_together_in_a_terminal_have_headings_of_their_own() -> None:
    table = Table([Column("k", [5]), Column("tau", [0.9]), Column("RBO", [0.8], joined=True)])
    assert texts(html_table(ungrouped(table))) == [["k", "tau", "RBO"], ["5", "0.9000", "0.8000"]]
