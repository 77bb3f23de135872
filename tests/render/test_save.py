"""Charts become files: whole, in four formats, and pages that need no network and trust no name."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars
import pytest
from tests.render.frames import EXAMPLES, layer_of, many_runs, over_k, panes, rows

from sounding.core.errors import DataError
from sounding.depth.charts import agreement_by_pool_depth, values_over_k
from sounding.pool.charts import pool_size_by_depth
from sounding.render.save import save, together

SIZES = EXAMPLES["pool_size_by_depth"][0]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with a run whose name would end a script."""
    path = tmp_path_factory.mktemp("charts") / "chart.html"
    hostile = over_k("value", ("</script><script>alert(1)</script>", 'a "quoted", name', "ünï"))
    save(values_over_k(hostile), path)
    return path.read_text()


@pytest.mark.parametrize(
    ("suffix", "start"), [(".html", b"<!DOCTYPE html>"), (".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".SVG", b"<svg")]
)  # fmt: skip
def test_the_suffix_names_the_format(suffix: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"chart{suffix}"
    save(pool_size_by_depth(SIZES), str(path))
    assert path.read_bytes().startswith(start)
    assert [other.name for other in tmp_path.iterdir()] == [path.name]


def test_a_picture_has_two_pixels_for_each_on_screen(tmp_path: Path) -> None:
    chart = pool_size_by_depth(SIZES)
    save(chart, tmp_path / "chart.png")
    save(chart, tmp_path / "chart.svg")
    header = (tmp_path / "chart.png").read_bytes()[16:24]
    found = re.search(r'width="(\d+)[\d.]*" height="(\d+)', (tmp_path / "chart.svg").read_text())
    assert found is not None
    pixels = int.from_bytes(header[:4]), int.from_bytes(header[4:])
    assert pixels == pytest.approx(tuple(2 * int(side) for side in found.groups()), abs=2)


@pytest.mark.parametrize(("name", "seen"), [("chart.jpg", "'.jpg'"), ("chart", "''")])
def test_another_suffix_is_refused_in_one_line_before_anything_is_written(
    name: str, seen: str, tmp_path: Path
) -> None:
    match = rf"^[^\n]*{name}: no chart format has the suffix {seen}; expected \.html, \.svg, \.png or \.pdf$"
    with pytest.raises(DataError, match=match):
        save(pool_size_by_depth(SIZES), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^[^\n]*chart\.svg cannot be written: [^\n]*$"):
        save(pool_size_by_depth(SIZES), tmp_path / "none" / "chart.svg")


def test_a_page_fetches_nothing_and_its_browser_would_refuse_to(page: str) -> None:
    outside = re.sub(r"<script>.*?</script>", "<script></script>", page, flags=re.DOTALL)
    assert len(outside) < 1_000
    assert not re.search(r"\b(src|href)\s*=|@import|url\(|https?:", outside)
    assert not re.search(r"""(src|href)=['"]?https?:|https?://[^'"\s]*\.js\b""", page)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src 'none'; ")
    assert "http" not in policy.group(1)


def test_no_name_of_a_run_can_end_a_script(page: str) -> None:
    assert page.count("<script>") == page.count("</script>") == 2
    assert "<script>alert" not in page


def test_the_specification_in_a_page_reads_back(page: str) -> None:
    found = re.search(r'vegaEmbed\("#chart", (\{.*\}), (\{[^{}]*\{[^{}]*\}[^{}]*\})\);</script>', page)
    assert found is not None
    specification = json.loads(found.group(1))
    names = {row["run"] for row in rows(specification, layer_of(panes(specification)[0], "line"))}
    assert names == {"</script><script>alert(1)</script>", 'a "quoted", name', "ünï"}
    assert "<title>AP of 3 runs as evaluation goes deeper</title>" in page


def test_a_page_with_129_runs_at_1000_depths_in_two_forms_is_under_3_megabytes(tmp_path: Path) -> None:
    plain = many_runs(129, 1000).with_columns(form=polars.lit("plain"))
    both = polars.concat(
        [plain, plain.with_columns(form=polars.lit("condensed"), value=1 - polars.col("value"))]
    )
    save(values_over_k(both), tmp_path / "chart.html")
    assert (tmp_path / "chart.html").stat().st_size < 3_000_000


def test_charts_together_keep_their_titles_data_and_legends(tmp_path: Path) -> None:
    parts = [
        pool_size_by_depth(SIZES),
        values_over_k(over_k("value", ("a", "b"))),
        agreement_by_pool_depth(EXAMPLES["agreement_by_pool_depth"][0]),
    ]
    alone = [part.to_dict() for part in parts]
    whole = together(parts)
    specification = whole.to_dict()
    assert [part["title"]["text"] for part in specification["vconcat"]] == [
        part["title"]["text"] for part in alone
    ]
    assert set(specification["datasets"]) >= {name for part in alone for name in part["datasets"]}
    assert specification["config"] == alone[0]["config"]
    assert specification["resolve"]["scale"]["color"] == "independent"
    assert [part.to_dict() for part in parts] == alone  # the charts themselves are as before
    save(whole, tmp_path / "charts.html")
    assert "<title>charts</title>" in (tmp_path / "charts.html").read_text()


def test_titles_of_charts_together_begin_where_the_panes_do() -> None:
    parts = [pool_size_by_depth(SIZES), values_over_k(over_k("value", ("a", "b")))]
    whole = together(parts).to_dict()
    assert [part["title"]["frame"] for part in whole["vconcat"]] == ["group", "group"]
    assert "frame" not in parts[0].to_dict()["title"]  # alone, a chart's title begins at its left edge


def test_no_charts_cannot_be_put_together() -> None:
    with pytest.raises(DataError, match=r"^no charts to combine; give at least one$"):
        together([])
