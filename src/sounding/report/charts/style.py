"""How every chart looks: type, colours that survive grey print and colour blindness, dashes, shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import altair as alt

    Chart: TypeAlias = alt.Chart | alt.LayerChart | alt.ConcatChart | alt.HConcatChart | alt.VConcatChart

INK = "#222222"
FAINT = "#9a9a9a"
UNCUT = 0  # no limit to the width of a label: names that are cut can look the same
RULE = "#666666"
BAND_OPACITY = 0.18

# Okabe and Ito's colours without black, which is for text, and without yellow, which fades on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4), (4, 2, 1, 2, 1, 2))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

# Steps of cividis, dark to light: equal steps of lightness, so that they part in grey as well.
CIVIDIS = ("#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838")


def series_colours(count: int) -> list[str]:
    """A colour for each of so many series; those that share one differ in their dashes and shapes."""
    return [colour for _, colour in _signs(count)]


def series_dashes(count: int) -> list[list[int]]:
    """Dashes for each of so many series, in the same order as their colours."""
    return [list(DASHES[sign]) for sign, _ in _signs(count)]


def series_shapes(count: int) -> list[str]:
    """A shape for the points of each of so many series, in the same order as their colours."""
    return [SHAPES[sign] for sign, _ in _signs(count)]


def _signs(count: int) -> list[tuple[int, str]]:
    """Pairs of sign and colour: the first few differ in both, and none comes twice before all were used."""
    size = len(COLOURS)
    pairs = [((colour + turn) % size, COLOURS[colour]) for turn, colour in product(range(size), range(size))]
    return [pairs[number % len(pairs)] for number in range(count)]


def pane_title(text: str) -> alt.TitleParams:
    """The heading of one pane among several, at its left."""
    import altair as alt

    return alt.TitleParams(text, anchor="start", fontSize=12, offset=6)


def titled(pane: Chart, title: str, notes: Sequence[str] = ()) -> Chart:
    """The finished chart: a title, notes in smaller type below it, and the common look."""
    import altair as alt

    heading = alt.TitleParams(title, subtitle=[note for note in notes if note], anchor="start", offset=14)
    return pane.properties(title=heading).configure(**_look())


def _look() -> dict[str, Any]:
    font = "Helvetica Neue, Helvetica, Arial, sans-serif"
    return {
        "font": font,
        "background": "white",
        "title": {
            "fontSize": 15, "fontWeight": 600, "color": INK, "subtitleFontSize": 11.5,
            "subtitleColor": "#555555", "subtitlePadding": 5, "subtitleLineHeight": 15,
        },
        "axis": {
            "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelColor": INK,
            "titleColor": INK, "gridColor": "#ebebeb", "domainColor": RULE, "tickColor": RULE,
            "titlePadding": 8, "labelFlush": False, "labelLimit": UNCUT,
        },
        "legend": {
            "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": UNCUT,
        },
        "header": {"labelFontSize": 12, "titleFontSize": 12},
        "view": {"stroke": "#cccccc"},
    }  # fmt: skip
