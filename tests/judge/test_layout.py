"""Texts as they are laid out for reading; nothing of a text is lost, whatever it looks like."""

from __future__ import annotations

import json
import re
import time
from html import escape, unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.web import Browser, add_person, signed_in

from sounding.judge.layout import is_preformatted, lay_out, lay_out_markdown, reflow
from sounding.judge.project import Project
from sounding.judge.texts import MOST_CHARACTERS, end_of_part, plain, render_part, render_text

WRAPPED = (
    "The noise of ships travels far under water, and whales change\n"
    "their songs when a vessel passes within a few kilometers of\n"
    "them. Mothers and calves stay closer together than before, as\n"
    "was shown in a ten-year survey."
)
ADDRESS = "Harbor Office\n12 Quay Street\nPort Elsewhere"
LIST = "What the survey needs before it can begin in the coming year:\n- a boat with a quiet engine that can stay out for a few weeks\n- two hydrophones"
TABLE = "year   whales   ships\n1990      120      14\n1991      101      22"
PIPES = "| year | whales |\n|---|---|\n| 1990 | 120 |"
CODE = "for (const ship of ships) {\n  listen(ship);\n}"
INDENTED = "     The noise of ships travels far under water, and whales change\ntheir songs when a vessel passes within a few kilometers of\nthem, it was shown."


@pytest.mark.parametrize("text", [WRAPPED, INDENTED])
def test_a_wrapped_paragraph_becomes_one_line(text: str) -> None:
    assert "\n" not in reflow(text)
    assert reflow(text).split() == text.split()


@pytest.mark.parametrize(
    "text", [ADDRESS, LIST, "One\nline", "a\n\tb", "x" * 200 + "\n" + "y" * 200, "line one\nline two"]
)
def test_line_ends_that_mean_something_stay(text: str) -> None:
    assert reflow(text) == text


def test_a_heading_an_author_and_indented_paragraphs_stay_apart() -> None:
    """As in the abstracts of the Cranfield collection."""
    text = (
        "brenckman,m.\nj. ae. scs. 25, 1958, 324.\nexperimental investigation of the aerodynamics of a\nwing in a slipstream .\n"
        "  an experimental study of a wing in a propeller slipstream was\nmade in order to determine the spanwise distribution .\n"
        "  the comparative span loading curves, together with\nsupporting evidence, showed that ."
    )
    assert [line.split()[0] for line in reflow(text).split("\n")] == [
        "brenckman,m.",
        "j.",
        "experimental",
        "an",
        "the",
    ]


def test_verses_keep_their_lines() -> None:
    text = "The sea is calm tonight and all the ships at anchor\nLie still as whales that hear no noise from the shore\nAnd nothing moves."
    assert reflow(text) == text


def test_words_that_were_divided_at_a_hyphen_and_scripts_without_blanks_get_none() -> None:
    text = WRAPPED.replace("change\ntheir", "change well-\nknown")
    assert "well-known" in reflow(text)
    lines = ["船の騒音は鯨に影響すると多くの研究者が長い間にわたり考えてきたが、それを示す証拠は"] * 3
    assert reflow("\n".join(lines)) == "".join(lines)


@pytest.mark.parametrize(
    ("text", "kept"),
    [(TABLE, True), (PIPES, True), (CODE, True), (WRAPPED, False), (LIST, False), (ADDRESS, False)],
)
def test_tables_and_code_keep_their_blanks(text: str, kept: bool) -> None:
    assert is_preformatted(text) is kept
    html = lay_out(text, escape)
    assert html.startswith("<pre>" if kept else "<p")


def test_fenced_code_stays_whole_with_its_blank_lines() -> None:
    html = lay_out("Try:\n\n```python\ndef listen():\n\n    return 1\n```\n\nThat is all.", escape)
    assert html == (
        '<p dir="auto">Try:</p><pre>def listen():\n\n    return 1</pre><p dir="auto">That is all.</p>'
    )


def test_json_is_shown_as_fields() -> None:
    text = json.dumps(
        {"question": "Do <whales> sing?", "contexts": ["yes", {"score": 0.5, "none": None}], "long": "a\n\nb"}
    )
    html = lay_out(text, escape)
    assert html == (
        '<div dir="auto"><dl class="fields"><dt dir="auto">question</dt><dd dir="auto">Do &lt;whales&gt; sing?</dd>'
        '<dt dir="auto">contexts</dt><dd dir="auto"><ul><li>yes</li><li><dl class="fields"><dt dir="auto">score</dt>'
        '<dd dir="auto">0.5</dd><dt dir="auto">none</dt><dd dir="auto">null</dd></dl></li></ul></dd>'
        '<dt dir="auto">long</dt><dd dir="auto"><p dir="auto">a</p><p dir="auto">b</p></dd></dl></div>'
    )
    deep = "[" * 5000 + "]" * 5000
    for other in ("{not json}", "[1, 2", deep, "{}", "[]"):
        assert lay_out(other, escape).startswith("<p")
    assert "<pre>" in lay_out(json.dumps([[[[[[[[[[[[[[[["x"]]]]]]]]]]]]]]]]), escape)


def bare(html: str) -> str:
    return unescape(re.sub(r"<[^<>]*>", " ", html))


@given(st.text(alphabet=st.sampled_from(list("ab -|;{}\n\t`<>&é鯨.:")), max_size=300))
def test_no_character_of_a_text_is_lost(text: str) -> None:
    html = lay_out(text, escape)
    fences = sum(1 for _ in re.finditer("```", text))
    if not fences:
        assert "".join(bare(html).split()) == "".join(text.split())
    assert "<script" not in html


@pytest.mark.parametrize(
    "text", ["whale " * 100_000, "w" * 700_000, "para\n\n" * 120_000, "<p>whale song</p>" * 40_000]
)
def test_the_parts_of_a_long_document_are_the_document(text: str) -> None:
    first, seen = 0, []
    while first < len(text):
        html = render_part(text, "whale", first)
        seen.append(re.sub('<p class="cut">.*', "", html, flags=re.DOTALL))
        last, first = first, end_of_part(text, first)
        assert last < first <= last + MOST_CHARACTERS
        assert ("data-more" in html) == (first < len(text))
    assert "".join("".join(map(bare, seen)).split()) == "".join(plain(text).split())
    assert render_text(text, "whale") == render_part(text, "whale", 0)


def test_more_of_a_document_is_asked_for_on_the_page(project: Project) -> None:
    add_person(project, "ann", topics=("MB001",))
    ann = signed_in(project, "ann")
    asked = {"topic": "MB001", "doc": "d05", "first": 20}
    html = ann.get("/api/text", params=asked).json()["html"]
    whole = ann.get("/api/document", params={"topic": "MB001", "doc": "d05"}).json()["html"]
    assert bare(html).split()[-5:] == bare(whole).split()[-5:]
    assert len(html) < len(whole)
    assert ann.get("/api/text", params=asked | {"first": 10**7}).json()["html"] == ""
    assert ann.get("/api/text", params=asked | {"topic": "303"}).status_code == 404
    assert ann.get("/api/text", params=asked | {"doc": "nothing"}).status_code == 404
    assert Browser(project).get("/api/text", params=asked).status_code == 401


def test_instructions_are_markdown_with_the_lines_that_people_typed() -> None:
    found = lay_out_markdown(
        "# Judge\nfirst\nsecond\n\n- **yes**\n- [guide](https://x.example/a?b=1&c)\n\nend\n\n    not code"
    )
    assert '<h3 dir="auto">Judge</h3>' in found  # below the headings of the page
    assert "first<br>\nsecond" in found
    assert '<ul dir="auto">\n<li><strong>yes</strong></li>' in found
    assert 'href="https://x.example/a?b=1&amp;c"' in found
    assert 'rel="noopener noreferrer nofollow"' in found
    assert "<code>" not in found
    assert lay_out_markdown("عربي\n\nlatin").count('dir="auto"') == 2
    assert "<table>" in lay_out_markdown("|a|b|\n|-|-|\n|1|2|")


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "text <b onclick=alert(1)>b</b>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt&#58;alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x) <javascript:alert(1)>",
        "![x](https://evil.example/x.png)",
        "[x]: javascript:alert(1)\n[x]",
        '[x](https://a.example "" onmouseover="alert(1)")',
        "`<script>`\n```\n<script>\n```\n<!-- -->\n<style>*{}</style>",
        "<a href=//evil.example style=position:fixed>x</a>",
    ],
)
def test_hostile_markdown_is_text(hostile: str) -> None:
    found = lay_out_markdown(hostile)
    tags = re.findall(r"<([a-z0-9]+)([^<>]*)>", found)
    for tag, attributes in tags:
        assert tag in {"p", "a", "code", "pre", "br"}, found
        for name, value in re.findall(r'([\w-]+)="([^"]*)"', attributes):
            assert name in {"dir", "href", "title", "rel", "target"}, found
            assert name != "href" or value.startswith("https://"), found
        assert not re.search(r"\son\w+=", re.sub(r'"[^"]*"', '""', attributes)), found


def test_markdown_that_nests_or_repeats_without_end_takes_no_time() -> None:
    begun = time.perf_counter()
    for bad in (
        "[" * 5000,
        "> " * 5000,
        "*a **b " * 2000,
        "- " * 5000,
        "|a" * 3000 + "\n" + "|-" * 3000,
        "[a](" * 3000,
    ):
        lay_out_markdown(bad)
    assert time.perf_counter() - begun < 5
