"""The report in a real browser: drawn, quiet, usable by keyboard, on a phone, in the dark and on paper."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests import gallery
from tests.browser.conftest import PATIENCE, becomes, faults, new_page, settled, until
from tests.conftest import require

from sounding.cli import main

HOSTILE = "<b>&amp;"  # a run, named by its file
HOSTILE_GROUP = "</script><b>"  # a name that would end a script
MANY = 129  # runs, as TREC-8 has

require("vl_convert")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on 12 runs: 198 rows of pairs, one run and its group with names that are markup."""
    folder = tmp_path_factory.mktemp("browser")
    sizes = ["--topics", "10", "--groups", "6", "--systems", "2", "--documents", "200", "--length", "40"]
    _run("sample", str(folder / "trial"), *sizes, "--pool-depth", "5", "--contributors", "4", "--quiet")
    runs = folder / "trial" / "runs"
    first = sorted(runs.iterdir())[0]
    first.rename(runs / f"{HOSTILE}.txt")
    info = folder / "trial" / "info.tsv"
    group = first.stem.partition("-")[0]
    info.write_text(
        info.read_text().replace(first.stem, HOSTILE).replace(f"\t{group}\t", f"\t{HOSTILE_GROUP}\t")
    )
    page = folder / "report.html"
    _run("report", str(folder / "trial" / "qrels.txt"), str(runs), "--info", str(info), "--draws", "2", "--test", "t", "--quiet", "-o", str(page))  # fmt: skip
    return page


@pytest.fixture(scope="module")
def many_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on as many runs as TREC-8 has, with short lists and few topics: 8,256 pairs by one measure."""
    folder = tmp_path_factory.mktemp("many")
    sizes = ["--topics", "5", "--groups", str(MANY), "--systems", "1", "--documents", "40", "--length", "12"]
    _run("sample", str(folder / "trial"), *sizes, "--pool-depth", "3", "--quiet")
    trial, page = folder / "trial", folder / "report.html"
    sections = ["--sections", "summary,pairs,topics,measures,collection"]
    _run("report", str(trial / "qrels.txt"), str(trial / "runs"), "-m", "P@5", "--draws", "2", "--test", "t", *sections, "--quiet", "-o", str(page))  # fmt: skip
    return page


@pytest.fixture(scope="module")
def few_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports without an info file: one run, two runs, one topic; names in other scripts."""
    folder = tmp_path_factory.mktemp("few")
    made = {}
    for name, runs, topics in (("one run", 1, 4), ("two runs", 2, 4), ("one topic", 2, 1)):
        place = folder / name
        place.mkdir()
        for number in range(runs):
            lines = [
                f"тема-{topic} Q0 文書{(rank + number) % 4} {rank} {-rank} løp-{number}-漢字"
                for topic in range(topics)
                for rank in range(4)
            ]
            (place / f"løp-{number}-漢字.txt").write_text("\n".join(lines) + "\n", "utf-8")
        judged = [f"тема-{topic} 0 文書{doc} {doc % 2}" for topic in range(topics) for doc in range(3)]
        (folder / f"{name}.qrels").write_text("\n".join(judged) + "\n", "utf-8")
        page = folder / f"{name}.html"
        _run("report", str(folder / f"{name}.qrels"), str(place), "-m", "P@2", "-m", "AP", "--draws", "2", "--quiet", "-o", str(page))  # fmt: skip
        made[name] = page
    return made


def _run(*arguments: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert not left.value.code


def opened(
    chromium: Any,
    page_file: Path,
    *,
    width: int = 1280,
    height: int = 900,
    scheme: str = "light",
    sections: bool = True,
) -> Any:
    """The page when everything is drawn, its sections opened; `page.said` and `page.asked` hold the console and the requests."""
    context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = new_page(context)
    page.said, page.asked = [], []
    page.on(
        "console",
        lambda said: page.said.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached", timeout=4000 * PATIENCE)
    if sections:
        page.evaluate("for (const one of document.querySelectorAll('details.section')) one.open = true")
        settled(page)
    return page


@pytest.fixture(scope="module")
def page(chromium: Any, page_file: Path) -> Any:
    return opened(chromium, page_file)


def test_every_chart_is_drawn_without_an_error_or_a_request(page: Any, page_file: Path) -> None:
    assert page.said == []
    assert [url for url in page.asked if not url.startswith(("data:", "blob:"))] == [page_file.as_uri()]
    assert page.locator("[data-chart]").count() == page.locator("[data-chart] svg.marks").count() > 8
    assert page.locator(".listed .missing, .chart .missing").count() == 0


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_four_answers_stand_on_the_first_screen(
    chromium: Any, many_file: Path, page_file: Path, width: int, height: int
) -> None:
    for file in (many_file, page_file):
        page = opened(chromium, file, width=width, height=height, sections=False)
        screen = page.locator("#summary")
        places = [screen.locator(".verdict"), screen.locator(".board tbody tr:visible").nth(2 if width < 500 else 9),
                  screen.get_by_label("What is missing").locator(".fact").first,
                  screen.get_by_label("What to do next").locator("p").first]  # fmt: skip
        for place in places:
            box = place.bounding_box()
            assert box["y"] >= 0, place
            assert box["y"] + box["height"] <= height, place
        assert page.locator("details.section[open]").count() == 0
        page.context.close()


def test_another_measure_is_chosen_and_all_runs_are_shown_on_demand(
    chromium: Any, many_file: Path, page_file: Path
) -> None:
    page = opened(chromium, page_file, sections=False)
    page.get_by_role("button", name="P@10", exact=True).click()
    assert page.locator(".screen:visible .board thead").inner_text().count("P@10") == 1
    assert page.locator(".screen:visible").count() == 1
    page.context.close()
    page = opened(chromium, many_file, sections=False)
    rows = page.locator("#summary .board tbody tr:visible")
    assert rows.count() == 10
    page.get_by_role("button", name=f"Show all {MANY} runs").click()
    assert rows.count() == MANY
    page.context.close()


def test_any_two_runs_are_compared_topic_by_topic(page: Any) -> None:
    place = page.locator("#explorer")
    names = place.locator("select").nth(1).locator("option").all_inner_texts()
    place.locator("select").nth(1).select_option(label=names[2])
    place.locator("select").nth(2).select_option(label=names[5])
    text = place.get_by_role("status").inner_text()
    assert names[2] in text
    assert names[5] in text
    assert place.locator(".bars rect").count() == 10
    bars = place.locator(".bars rect title").all_text_contents()
    ahead = sum(_values(title)[0] > _values(title)[1] for title in bars)
    assert f"{names[2]} is better on {ahead}," in text
    place.locator("select").nth(2).select_option(label=names[2])
    assert place.locator(".bars rect").count() == 0


def _values(title: str) -> list[float]:
    """The two values in the title of a bar."""
    return [float(word.rstrip(",")) for word in title.split() if word.rstrip(",").count(".") == 1][-2:]


@pytest.mark.parametrize("name", ["one run", "two runs", "one topic"])
def test_few_runs_and_topics_with_names_of_other_scripts_make_a_quiet_page(
    chromium: Any, few_files: dict[str, Path], name: str
) -> None:
    for width in (1280, 390):
        page = opened(chromium, few_files[name], width=width)
        assert page.said == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("[data-chart]").count() == page.locator("[data-chart] svg.marks").count() > 1
        assert page.locator("#measures tbody th", has_text="løp-0-漢字").count() == 1
        page.context.close()


@pytest.mark.parametrize("name", ["pair", "team", "clicks", "graded"])
def test_every_shape_makes_a_quiet_page(chromium: Any, tmp_path: Path, name: str) -> None:
    """Two runs and three topics, sparse labels, only relevant documents, grades below 0."""
    shape, file = gallery.make(name, tmp_path), tmp_path / "report.html"
    _run("report", str(shape.qrels), str(shape.runs), "--draws", "2", "--quiet", "-o", str(file))
    page = opened(chromium, file, width=390)
    assert page.said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator("[data-chart]").count() == page.locator("[data-chart] svg.marks").count() > 1
    assert page.locator("#measures tbody tr").count() == len(list(shape.runs.iterdir()))
    page.context.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_129_runs_are_drawn_searched_and_paged_at_a_desk_and_on_a_phone(
    chromium: Any, many_file: Path, width: int
) -> None:
    page = opened(chromium, many_file, width=width)
    assert page.said == []
    assert [url for url in page.asked if not url.startswith(("data:", "blob:"))] == [many_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("#measures tbody tr").count() == MANY
    assert page.locator("#measures figure svg.marks path[aria-roledescription=point]").count() == MANY
    block = page.locator("#pairs .listed")
    status = block.get_by_role("status")
    assert status.inner_text() == "8,256 of 8,256 rows, page 1 of 166"
    block.get_by_role("button", name="Next").click()
    becomes(page, status.inner_text, "8,256 of 8,256 rows, page 2 of 166")
    # The name of a row stays where it is while its numbers pass.
    row = block.locator("tbody tr").first.locator("th")
    before = row.bounding_box()
    block.locator(".scroll").evaluate("(place) => { place.scrollLeft = 200; }")
    settled(page)
    after = row.bounding_box()
    assert before["x"] == pytest.approx(after["x"], abs=1)
    page.context.close()


def test_what_is_wider_than_a_phone_says_so(chromium: Any, page_file: Path) -> None:
    page = opened(chromium, page_file, width=390)
    wide = page.locator("#measures .scroll.wide")
    assert wide.count() == 1
    said = wide.evaluate("(place) => getComputedStyle(place, '::before').content")
    assert "swipe for more" in said
    page.context.close()
    desk = opened(chromium, page_file)
    assert desk.locator("#measures .scroll.wide").count() == 0
    desk.context.close()


def test_a_hostile_name_is_text(page: Any) -> None:
    assert page.locator("b").count() == 0
    assert page.locator("#measures tbody th", has_text=HOSTILE).count() == 1


def test_pairs_are_searched_and_filtered(page: Any) -> None:
    block = page.locator("#pairs .listed")
    status, search = block.get_by_role("status"), block.get_by_label("Search")
    assert status.inner_text() == "198 of 198 rows"
    block.locator("label", has_text="measure").locator("select").select_option("P@10")
    becomes(page, status.inner_text, "66 of 198 rows")
    search.fill("COOT-1  strong")
    until(page, lambda: status.inner_text() not in ("66 of 198 rows", "198 of 198 rows"))
    rows = block.locator("tbody tr").all_inner_texts()
    assert status.inner_text() == f"{len(rows)} of 198 rows"
    assert 0 < len(rows) <= 11
    assert all("coot-1" in row and "\tP@10\t" in row and "strong" in row for row in rows)
    search.fill("nobody at all")
    becomes(page, status.inner_text, "0 of 198 rows")
    search.fill("")
    block.locator("label", has_text="measure").locator("select").select_option("all")
    becomes(page, status.inner_text, "198 of 198 rows")


def test_a_column_is_put_in_order_with_the_keyboard_and_says_so(page: Any) -> None:
    block = page.locator("#pairs .listed")
    heading = block.locator("th[data-column]", has_text="difference").first
    heading.locator("button").focus()
    until(page, page.locator("#tip").is_visible)
    page.keyboard.press("Enter")
    becomes(page, lambda: heading.get_attribute("aria-sort"), "ascending")
    shown = [float(text) for text in block.locator("tbody tr td:nth-child(3)").all_inner_texts()]
    assert shown == sorted(shown)
    page.keyboard.press("Enter")
    becomes(page, lambda: heading.get_attribute("aria-sort"), "descending")
    shown = [float(text) for text in block.locator("tbody tr td:nth-child(3)").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    assert block.locator("[aria-sort=ascending]").count() == 0


def test_data_of_charts_and_tables_are_saved_without_a_network(page: Any, tmp_path: Path) -> None:
    for button, start in (
        (page.locator("#measures [data-download]").first, "run,measure,topic,value"),
        (page.locator("#pairs [data-download]").first, "run_a,run_b,measure"),
        (page.locator("#depth figure [data-download]").first, "run,measure,k,value"),
    ):
        with page.expect_download() as saved:
            button.click()
        saved.value.save_as(tmp_path / "data.csv")
        assert saved.value.suggested_filename.endswith(".csv")
        text = (tmp_path / "data.csv").read_text()
        assert text.startswith(start)
        assert text.count("\n") > 10


def test_rows_of_many_pairs_are_saved_as_they_are_shown(
    chromium: Any, many_file: Path, tmp_path: Path
) -> None:
    page = opened(chromium, many_file)
    with page.expect_download() as saved:
        page.locator("#pairs [data-listing]").first.click()
    saved.value.save_as(tmp_path / "pairs.csv")
    lines = (tmp_path / "pairs.csv").read_text().splitlines()
    assert len(lines) == 1 + MANY * (MANY - 1) // 2
    assert lines[0].startswith("pair,difference,")
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(chromium: Any, page_file: Path, scheme: str) -> None:
    page = opened(chromium, page_file, width=390, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(244, 246, 248)" if scheme == "light" else "rgb(17, 24, 32)")
    page.context.close()


def test_headings_go_down_one_level_at_a_time_and_controls_have_names(page: Any) -> None:
    levels = page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter((one) =>"
        " !(one.textContent.trim() || one.labels?.length || one.ariaLabel)).length"
    )
    assert nameless == 0


def test_the_page_can_be_printed_with_its_explanations(chromium: Any, page_file: Path) -> None:
    page = opened(chromium, page_file, scheme="dark")
    assert page.pdf().startswith(b"%PDF")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav").is_hidden()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.terms:not([open])").count() == 0
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_to_mend(chromium: Any, page_file: Path, scheme: str, axe: str) -> None:
    page = opened(
        chromium, page_file, scheme=scheme, sections=scheme == "light"
    )  # opened once: it takes long
    assert faults(page, axe) == []
    page.context.close()
