"""Charts to files: a page that needs no network, a drawing, or a picture."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sounding.core.errors import DataError
from sounding.core.files import write_file
from sounding.core.lazy import alt
from sounding.render.style import Chart, require_charts

SUFFIXES = (".html", ".svg", ".png", ".pdf")
PIXELS = 2  # of a PNG for each one on screen, for print and fine displays
CHANNELS = ("color", "stroke", "strokeDash", "shape", "size")  # whose legends belong to one chart each

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
# The browser itself refuses whatever would go over a network. Vega compiles its expressions: `unsafe-eval`.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline';"
    " img-src data: blob:"
)
EXPORTED = "window.vegaEmbed = vegaEmbed;"  # what the scripts leave for the page to use
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


def save_each(charts: Mapping[str, Chart], path: Path) -> list[Path]:
    """Write one figure a file and return the files: the first chart to the path, others beside it.

    The name of a chart is added to its file: pool.pdf, pool-groups.pdf.
    """
    paths = [path, *(path.with_stem(f"{path.stem}-{name}") for name in list(charts)[1:])]
    for chart, target in zip(charts.values(), paths, strict=True):
        save(chart, target)
    return paths


def svg_of(chart: Chart) -> str:
    """A chart as a drawing that stands by itself in a page."""
    require_charts("vl_convert", "drawing a chart")
    return _encoded(chart.to_dict(), ".svg").decode()


def require_suffix(path: Path) -> None:
    """Nothing where a chart can be written to the path, else the line that names the formats."""
    if path.suffix.lower() not in SUFFIXES:
        raise DataError(
            f"{path}: no chart format has the suffix {path.suffix!r}; expected {', '.join(SUFFIXES[:-1])}"
            f" or {SUFFIXES[-1]}"
        )


def together(charts: Sequence[Chart]) -> Chart:
    """Several charts under each other as one, each with its own axes and colors, their titles in line."""
    if not charts:
        raise DataError("no charts to put together; expected at least one")
    # Only the outermost chart may say how things look, and all charts say the same.
    inner: list[Any] = [chart.copy(deep=False) for chart in charts]
    for chart in inner:
        chart.config = alt.Undefined
        # The panes stand in line; what is left of them, and so where a title would begin, is not as wide.
        chart.title = chart.title.copy(deep=False)
        chart.title.frame = "group"
    apart: dict[str, Any] = dict.fromkeys(CHANNELS, "independent")
    joined = alt.vconcat(*inner, spacing=50).resolve_scale(**apart)
    joined.config = charts[0].config
    return joined


def vega_scripts() -> str:
    """Vega and what it needs as one script, which leaves `vegaEmbed` for a page to use."""
    import vl_convert

    return vl_convert.javascript_bundle(EXPORTED, vl_version=_version())


def _version() -> str:
    return "_".join(alt.SCHEMA_VERSION.split(".")[:2])  # v6.4.1 of the schema is v6_4 of its compiler


def _encoded(specification: Mapping[str, Any], suffix: str) -> bytes:
    import vl_convert

    version = _version()
    text = json.dumps(specification)
    if suffix == ".html":
        return _page(specification, text, vega_scripts()).encode()
    if suffix == ".svg":
        return vl_convert.vegalite_to_svg(text, vl_version=version).encode()
    if suffix == ".png":
        return vl_convert.vegalite_to_png(text, vl_version=version, scale=PIXELS)
    return vl_convert.vegalite_to_pdf(text, vl_version=version)


def _page(specification: Mapping[str, Any], text: str, libraries: str) -> str:
    """A page with all scripts inside; no name of a run can end a script, for it holds no `<`."""
    return PAGE.format(
        policy=POLICY,
        title=html.escape(specification.get("title", {}).get("text", "charts")),
        libraries=libraries,
        specification=text.replace("<", "\\u003c"),
        options=json.dumps(OPTIONS),
    )
