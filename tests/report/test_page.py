"""A report is complete, self-contained, the same every time, and trusts no name."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import require
from tests.report.conftest import Gather, gathered

from sounding import calibrate
from sounding.compare.result import Comparison
from sounding.core.errors import UnknownNameError
from sounding.data import formats
from sounding.data.run_info import read_run_info
from sounding.render.tables import Column, Table
from sounding.report import gather as gathering
from sounding.report import sentences
from sounding.report.gather import known_sections, report
from sounding.report.page import csv_text, render_report
from sounding.report.result import SECTIONS, MissingPart, Report
from sounding.report.sections import Drawn, Shown, page_of
from sounding.report.terms import TERMS, explain
from sounding.sample.simulation import sample
from sounding.statistics.forecasts import Figure

require("altair")
require("vl_convert")

HOSTILE = ["</script><script>alert(1)</script>", "a'\"&<b>", "ünï-漢字", "back\\slash|pipe"]


@pytest.fixture(scope="module")
def page(found: Report) -> str:
    return render_report(found, "html")


def packed(page: str) -> dict[str, str]:
    """Everything that the page has in letters, by its name."""
    parts = re.findall(r'<script type="text/plain" id="([^"]+)">([^<]*)</script>', page)
    return {name: gzip.decompress(base64.b64decode(letters)).decode() for name, letters in parts}


def test_every_section_is_there_with_a_heading_and_a_link_to_it(page: str) -> None:
    below = [name for name in SECTIONS if name not in ("summary", "slices")]  # no --by
    assert re.findall(r'<details id="(\w+)" class="section">', page) == below
    for name in below:
        assert f'<a href="#{name}">{SECTIONS[name]}</a>' in page
        assert f"<h2>{SECTIONS[name]}</h2>" in page


def test_the_first_screen_comes_before_all_sections_and_shows_ten_runs_at_first(
    page: str, found: Report
) -> None:
    first, _ = page.split('<details id="pairs"', 1)
    for screen in page_of(found).screens:
        assert screen.answer in first
        assert screen.next_step.head in first
    assert first.count('<tr class="more" hidden>') == 0
    assert first.count('<th scope="row">') == 2 * len(found.scores.runs)
    assert "data-chart" not in first


def test_the_page_fetches_nothing_and_its_browser_would_refuse_to(page: str) -> None:
    outside = re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"""\bsrc\s*=|\bhref="(?!#)|@import|url\(""", outside)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy.group(1).startswith("default-src &#39;none&#39;; ")
    assert "http" not in policy.group(1)


def test_scripts_of_the_charts_are_there_once_for_all_charts(page: str) -> None:
    assert page.count("window.vegaEmbed") == 1
    assert page.count("data-chart=") > 5


def test_what_is_packed_reads_back(page: str, found: Report) -> None:
    texts = packed(page)
    for name in re.findall(r'data-chart="([^"]+)"', page):
        assert json.loads(texts[name])["$schema"].startswith("https://vega.github.io/schema/vega-lite")
    for name in re.findall(r'data-download="([^"]+)"', page):
        rows = list(csv.reader(io.StringIO(texts[name])))
        assert len(rows) > 1, name
        assert {len(row) for row in rows} == {len(rows[0])}, name
    board = list(csv.DictReader(io.StringIO(texts["data-measures-measures"])))
    means = found.scores.mean()
    for row in board:
        run, measure = (
            found.scores.runs.index(row["run"]),
            [str(m) for m in found.scores.measures].index(row["measure"]),
        )
        assert float(row["value"]) == pytest.approx(means[run, measure], rel=1e-5)


def test_every_word_that_heads_a_column_is_explained_where_it_stands(found: Report) -> None:
    names = {
        column.name.strip()
        for section in page_of(found).sections
        for block in section.blocks
        if isinstance(block, Shown)
        for column in block.table.columns
    }
    own = {*found.scores.runs, "automatic", "manual", "rule"}
    unexplained = {name for name in names if explain(name) is None and name.removeprefix("A_p ") not in own}
    assert unexplained == set()
    assert all(sentence.endswith(".") and len(sentence) < 200 for sentence in TERMS.values())


def test_the_same_request_gives_the_same_page(trial: Path, found: Report) -> None:
    info = str(trial / "info.tsv")
    again = gathered(trial / "qrels.txt", [trial / "runs"], info=read_run_info(info), info_files=(info,))
    sections = ("summary", "pairs", "topics", "measures", "collection", "methods")
    first, second = (render_report(one, "html", sections) for one in (found, again))
    assert first == second


def test_every_run_is_read_once(trial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(formats, "parse_run", _counting(formats.parse_run, opened))
    gathered(trial / "qrels.txt", [trial / "runs"])
    assert len(opened) == 8


def _counting(function: Any, calls: list[str]) -> Any:
    def counted(*arguments: Any, **more: Any) -> Any:
        calls.append("read")
        return function(*arguments, **more)

    return counted


def test_files_too_large_for_memory_are_read_again_and_give_the_same(
    trial: Path, found: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "MOST_BYTES", 0)
    info = str(trial / "info.tsv")
    again = gathered(trial / "qrels.txt", [trial / "runs"], info=read_run_info(info), info_files=(info,))
    assert render_report(again, "md") == render_report(found, "md")


def test_inputs_are_named_with_their_fingerprints(found: Report, trial: Path) -> None:
    known = {one.name: one.sha256 for one in found.inputs}
    assert len(known) == 10
    for path in (trial / "qrels.txt", trial / "info.tsv", *sorted((trial / "runs").iterdir())):
        assert known[str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()


# -- names that would be markup --------------------------------------------------------------------


@pytest.fixture
def hostile(gather_files: Gather) -> Report:
    topics = ["<i>1", *"234"]
    runs = {
        name.replace(" ", ""): {topic: ["r", f"<u>{n}", "n"][n % 2 :] for topic in topics}
        for n, name in enumerate(HOSTILE)
    }
    return gather_files(runs, {topic: {"r": 1, "n": 0} for topic in topics}, measures=("P@1", "AP"))


def test_no_name_can_be_markup_in_a_page(hostile: Report) -> None:
    page = render_report(hostile, "html")
    assert "<script>alert" not in page
    assert not re.search(r"<b>|<i>|<u>", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))
    assert page.count("<script") == page.count("</script>")
    assert "ünï-漢字" in page
    text = " ".join(packed(page).values())
    assert "alert(1)" in text


def test_no_name_breaks_a_row_of_markdown_or_latex(hostile: Report) -> None:
    markdown = render_report(hostile, "md", ("measures",))
    rows = [line for line in markdown.splitlines() if line.startswith("| ")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
    assert r"a'\"\&" in render_report(hostile, "latex", ("measures",)).replace('"', '\\"')


# -- what is missing -------------------------------------------------------------------------------


def test_one_run_gives_a_page_that_says_what_it_lacks(gather_files: Gather) -> None:
    topics = [*"123"]
    found = gather_files(
        {"alone": {topic: ["r", "n", "u"] for topic in topics}}, {topic: {"r": 1, "n": 0} for topic in topics}
    )
    sections = {section.name: section for section in page_of(found).sections}
    assert sections["pairs"].missing == ("There is one run, and a comparison needs two.",)
    assert len(sections["depth"].missing) == 1
    page = render_report(found, "html")
    assert "There is one run, and a comparison needs two." in page


def test_one_topic_gives_a_page(gather_files: Gather) -> None:
    found = gather_files({"a": {"1": ["r", "n"]}, "b": {"1": ["n", "r"]}}, {"1": {"r": 1, "n": 0}})
    assert isinstance(found.comparison, MissingPart)
    assert found.leaders == ()
    page = render_report(found, "html")
    assert "no conclusion follows" in page


def test_without_an_info_file_the_audit_says_what_it_would_need(gather_files: Gather) -> None:
    topics = [*"12345"]
    found = gather_files({"a": {topic: ["u", "r"] for topic in topics}, "b": {topic: ["v", "r"] for topic in topics}},
                         {topic: {"r": 1, "n": 0} for topic in topics})  # fmt: skip
    sections = {section.name: section for section in page_of(found).sections}
    (missing,) = sections["collection"].missing
    assert "--info" in missing
    names = [block.name for block in sections["collection"].blocks]
    assert "verdict" in names
    assert "growth" not in names


def test_measures_without_a_cut_off_have_no_section_on_depth(trial: Path) -> None:
    found = gathered(trial / "qrels.txt", [trial / "runs"], measures=("Bpref",), parts=("stability",))
    assert isinstance(found.stability, MissingPart)
    assert found.stability.reason.startswith("Bpref: no measure here has a cut-off")


# -- sections and formats --------------------------------------------------------------------------


def test_sections_come_in_the_reports_order_and_unknown_ones_are_refused() -> None:
    assert known_sections(SECTIONS) == tuple(SECTIONS)
    assert known_sections(["pairs", "summary"]) == ("summary", "pairs")
    with pytest.raises(UnknownNameError, match=r"unknown section 'pair'; did you mean pairs\?"):
        known_sections(["pair"])


def test_only_what_sections_need_is_computed(trial: Path) -> None:
    found = report(trial / "qrels.txt", trial / "runs", ["P@5"], sections=["measures", "topics"])
    assert found.comparison == found.audit == found.stability == MissingPart(sentences.NOT_ASKED_FOR)
    assert [section.name for section in page_of(found, ("measures",)).sections] == ["measures"]


def test_json_has_the_sentences_and_every_table_with_all_rows(found: Report) -> None:
    body = json.loads(render_report(found, "json"))
    assert body["runs"] == list(found.scores.runs)
    assert [one["answer"] for one in body["summary"]] == [one.answer for one in page_of(found).screens]
    boards = [one["leaderboard"] for one in body["summary"]]
    assert [len(board) for board in boards] == [len(found.scores.runs)] * 2
    assert boards[0][0]["value"] == found.scores.mean()[:, 0].max()
    assert list(body["sections"]) == [name for name in SECTIONS if name not in ("summary", "slices")]
    pairs = body["sections"]["pairs"]["tables"]["pairs"]
    assert len(pairs) == 28 * 2
    assert {"run_a", "run_b", "p_adjusted", "case", "settled", "advice"} <= set(pairs[0])


def test_markdown_and_latex_have_headings_sentences_and_tables(found: Report) -> None:
    markdown = render_report(found, "md")
    assert markdown.startswith("# 8 runs on 16 topics\n\n## By P@5\n\n")
    assert markdown.count("\n## ") == len(SECTIONS) - 2 + 2
    latex = render_report(found, "latex")
    assert latex.count("\\section{") == len(SECTIONS) - 2 + 2
    assert latex.count("\\begin{tabular}") == latex.count("\\end{tabular}") > 10


def test_a_baseline_leaves_only_its_pairs(trial: Path) -> None:
    name = sorted(path.stem for path in (trial / "runs").iterdir())[0]
    found = gathered(trial / "qrels.txt", [trial / "runs"], baselines=(name,), parts=("comparison",))
    assert not isinstance(found.comparison, MissingPart)
    assert len(found.comparison.pairs) == 7
    assert all(name in found.comparison.names(pair) for pair in range(7))
    with pytest.raises(UnknownNameError):
        gathered(trial / "qrels.txt", [trial / "runs"], baselines=("nobody",), parts=("comparison",))


def test_downloads_round_numbers_and_leave_out_what_is_not_known() -> None:
    table = Table([Column("x", [1.23456789, float("nan"), None]), Column("n", [1, 2, 3])])
    assert csv_text(table) == "x,n\n1.23457,1\n,2\n,3\n"


def test_every_chart_has_a_title_that_can_be_read_and_data_to_download(found: Report, page: str) -> None:
    charts = [
        block for section in page_of(found).sections for block in section.blocks if isinstance(block, Drawn)
    ]
    assert page.count("<figure") == len(charts)
    assert len(re.findall(r"<figcaption><h3>[^<]{10,}</h3>", page)) == len(charts)
    assert all(block.data.height for block in charts)


def test_no_name_is_a_tag_in_markdown(hostile: Report) -> None:
    markdown = render_report(hostile, "md", ("summary", "measures", "pairs"))
    assert not re.search(r"(?<!\\)<[a-zA-Z/!]", re.sub(r"`[^`]*`", "", markdown))


def test_runs_stand_in_the_order_of_the_first_measure_though_its_bounds_tell_none_apart(
    gather_files: Gather,
) -> None:
    # AP of both may be anything once the unjudged documents count; by AP high is ahead, by P@4 low is.
    topics = [str(topic) for topic in range(1, 5)]
    runs = {
        "high": {topic: ["r", *(f"h{n}" for n in range(30))] for topic in topics},
        "low": {topic: ["n", "m", "r", "s", *(f"l{n}" for n in range(30))] for topic in topics},
    }
    judged = {topic: {"r": 1, "s": 1, "n": 0, "m": 0} for topic in topics}
    found = gather_files(runs, judged, measures=("AP", "P@4"), parts=())
    assert found.scores.leading_order() == [1, 0]
    (section,) = page_of(found, ("measures",)).sections
    table, chart = section.blocks
    assert isinstance(table, Shown)
    assert table.table.title == "Every run, the best by AP first"
    order = [found.scores.runs[run] for run in found.scores.order()]
    assert list(table.table.columns[0].cells) == order
    assert list(dict.fromkeys(chart.data.columns[0].cells)) == order
    assert order != [found.scores.runs[run] for run in found.scores.order([1])]


def test_both_runs_of_a_pair_stand_in_the_column_that_stays_in_sight(found: Report) -> None:
    (section,) = page_of(found, ("pairs",)).sections
    (shown,) = section.blocks
    assert isinstance(shown, Shown)
    assert shown.table.columns[0].name == "pair"
    rows = shown.data.rows()
    assert list(shown.table.columns[0].cells)[:3] == [f"{row['run_a']} − {row['run_b']}" for row in rows[:3]]
    assert "thead tr:first-child th:first-child { position: sticky;" in render_report(
        found, "html", ("pairs",)
    )


def test_chances_are_checked_on_judgments_that_are_hidden() -> None:
    made = sample(topics=25, groups=4, systems=2, documents=300, length=40, pool_depth=12, seed=3)
    found = report(made.qrels, made.runs, ["AP"], sections=["pairs"], draws=2)
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    (said,) = [note for note in comparison.notes if note.startswith("Checked on these judgments")]
    assert comparison.pool is not None
    chosen = [run for run, pooled in zip(made.runs, comparison.pool.contributing, strict=True) if pooled]
    scored = calibrate(
        made.qrels, chosen, ["AP"], scenarios=["pool:3"], claims=("holds", "sign"), until="runs:12", draws=30,
        resamples=0,
    )  # fmt: skip
    sure = [
        round(one.pairs * one.figures["share_claimed"].value) for one in scored.scores if one.part == "all"
    ]
    assert f"of the {sum(sure):,} chances of 95% or more by AP" in said
    assert "top 3 of" in said
    assert "top 12" in said
    assert said in "".join(page_of(found).sections[0].sentences)


@pytest.mark.parametrize(("share", "advice"), [(0.97, False), (0.9, True)])
def test_chances_that_came_true_too_seldom_are_said_to_mean_less(share: float, advice: bool) -> None:
    made = sample(topics=12, groups=4, systems=2, documents=200, length=30, pool_depth=12, seed=3)
    scored = calibrate(
        made.qrels, made.runs, ["AP"], scenarios=["pool:3"], claims=("holds",), until="runs:12", draws=5,
        resamples=0,
    )  # fmt: skip
    numbers = {"share_claimed": 0.5, "share_right": share}
    figures = {name: Figure(value=one, low=one, high=one) for name, one in numbers.items()}
    score = scored.scores[0]._replace(pairs=100, figures=figures, part="all")
    (said,) = sentences.checked(replace(scored, scores=(score,)), 12, 3)
    assert f"{100 * share:g}% of the 50 chances" in said
    assert said.endswith("So read 95% as 90% here.") == advice
    assert not list(sentences.checked(replace(scored, scores=(score._replace(pairs=20),)), 12, 3))
