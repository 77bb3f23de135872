"""Write charts to files: HTML that needs no network, SVG, PNG or PDF."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sounding.core.errors import ChoiceError, DataError
from sounding.core.files import kept_text, write_file
from sounding.core.lazy import alt
from sounding.render.style import Chart, require_charts

SUFFIXES = (".html", ".svg", ".png", ".pdf")
PIXELS = 2  # PNG pixels per screen pixel, for print and high-resolution displays
CHANNELS = ("color", "stroke", "strokeDash", "shape", "size")  # their legends are not shared between charts

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>body {{ margin: 1.5em; background: white; }}</style>
<script>{libraries}</script>
</head>
<body>
<div id="chart"></div>
<script>vegaEmbed("#chart", {specification}, {options});</script>
</body>
</html>
"""
# The browser blocks all network access. Vega compiles its expressions, which needs `unsafe-eval`.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline';"
    " img-src data: blob:"
)
EXPORTED = "window.vegaEmbed = vegaEmbed;"  # the page calls it
OPTIONS = {
    "renderer": "svg",
    "actions": {"export": True, "source": False, "compiled": False, "editor": False},
}


def save(chart: Chart, path: str | Path) -> None:
    """Write a chart in the format that the path's suffix names: .html, .svg, .png or .pdf."""
    target = Path(path)
    require_suffix(target)
    require_charts("vl_convert", "writing a chart")
    write_file(target, _encoded(chart.to_dict(), target.suffix.lower()))


def svg_of(chart: Chart) -> str:
    """Return a chart as SVG to embed in a page."""
    require_charts("vl_convert", "drawing a chart")
    return _encoded(chart.to_dict(), ".svg").decode()


def require_suffix(path: Path) -> None:
    """Raise an error if no chart format has the suffix of the path."""
    if path.suffix.lower() not in SUFFIXES:
        raise ChoiceError(
            f"{path}: no chart format has the suffix {path.suffix!r}; expected {', '.join(SUFFIXES[:-1])}"
            f" or {SUFFIXES[-1]}"
        )


def together(charts: Sequence[Chart]) -> Chart:
    """Stack charts into one; each keeps its own axes and colors, and their titles are aligned."""
    if not charts:
        raise DataError("no charts to combine; give at least one")
    # Only the outermost chart may have a config, and all charts have the same one.
    inner: list[Any] = [chart.copy(deep=False) for chart in charts]
    for chart in inner:
        chart.config = alt.Undefined
        # Axis labels differ in width. A title that starts at its pane, not at its labels, is aligned.
        chart.title = chart.title.copy(deep=False)
        chart.title.frame = "group"
    scales: dict[str, Any] = dict.fromkeys(CHANNELS, "independent")
    stack = alt.vconcat(*inner, spacing=50).resolve_scale(**scales)
    stack.config = charts[0].config
    return stack


def vega_scripts() -> str:
    """Return Vega and its dependencies as one script that defines `vegaEmbed`; making it takes a second."""
    import vl_convert

    name = f"vega-{_version()}-{version('vl-convert-python')}.js"
    return kept_text(name, lambda: vl_convert.javascript_bundle(EXPORTED, vl_version=_version()))


def _version() -> str:
    return "_".join(alt.SCHEMA_VERSION.split(".")[:2])  # the compiler calls schema v6.4.1 v6_4


def _encoded(specification: Mapping[str, Any], suffix: str) -> bytes:
    import vl_convert

    schema = _version()
    text = json.dumps(specification)
    if suffix == ".html":
        return _page(specification, text, vega_scripts()).encode()
    if suffix == ".svg":
        return vl_convert.vegalite_to_svg(text, vl_version=schema).encode()
    if suffix == ".png":
        return vl_convert.vegalite_to_png(text, vl_version=schema, scale=PIXELS)
    return vl_convert.vegalite_to_pdf(text, vl_version=schema)


def _page(specification: Mapping[str, Any], text: str, libraries: str) -> str:
    """Return a page that contains all its scripts; `<` is escaped, so that no run name can end a script."""
    return PAGE.format(
        policy=POLICY,
        title=html.escape(specification.get("title", {}).get("text", "charts")),
        libraries=libraries,
        specification=text.replace("<", "\\u003c"),
        options=json.dumps(OPTIONS),
    )
