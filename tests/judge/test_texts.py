"""What assessors see of a document: marked words, and nothing that could act."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judge.web import HOSTILE

from sounding.data.corpus import Document
from sounding.judge import texts as documents
from sounding.judge.texts import highlight, is_html, render_document, render_text, split_title

HARMLESS = {"p", "div", "mark", "b", "i", "em", "h1", "table", "tbody", "tr", "td", "ul", "li", "br", "span"}


class Elements(HTMLParser):
    """All elements and attributes of a text, and its plain text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


def words(text: str) -> list[str]:
    return re.findall("<mark>(.*?)</mark>", text)


def test_text_is_shown_as_it_is_in_paragraphs_of_their_own_direction() -> None:
    assert render_text('One\nline\n\n<b>two</b> & "three"', "") == (
        '<p dir="auto">One\nline</p><p dir="auto">&lt;b&gt;two&lt;/b&gt; &amp; &quot;three&quot;</p>'
    )


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("whales", "Whales, WHALES and whale", ["Whales", "WHALES"]),
        ("whale", "whales whaling narwhale", ["whales"]),  # with any ending, never inside a word
        ("car", "car cars care", ["car"]),  # a short word alone
        ("résumé", "resume Résumé re\u0301sume\u0301s", ["resume", "Résumé", "re\u0301sume\u0301s"]),
        ("the of and", "the of and", []),
        ("<b>", "<b> b", []),
        ("ضجيج", "الضجيج ضجيج", ["ضجيج"]),
        ("騒音対策", "船の騒音と対策", ["騒音", "対策"]),
        ("鯨", "鯨の鯨", ["鯨", "鯨"]),
        ("𠮷野", "今日は𠮷野家に行く", ["𠮷野"]),  # beyond the 65,536 characters that came first
        ("كتاب", "كتـاب", ["كتـاب"]),  # drawn out
        (
            "鯨と船の騒音",
            "騒音は鯨に、捕鯨に、船に",
            ["騒音", "鯨", "船"],
        ),  # a part of a word is not the word
        ("С++ .*", "anything", []),
        ("STRASSE", "Strasse strassen", ["Strasse", "strassen"]),
    ],
)
def test_the_words_of_the_topic_are_marked(query: str, text: str, expected: list[str]) -> None:
    assert words(highlight(text, query)) == expected


def test_markup_of_the_document_is_cleaned_and_its_words_are_marked() -> None:
    text = "<html><head><title>secret</title></head><body><h1>Whales &amp; ships</h1><p class=x style=y onclick=z()>noise &lt;b&gt;</p></body></html>"
    assert render_text(text, "whales noise amp") == (
        '<div dir="auto"><h1><mark>Whales</mark> &amp; ships</h1><p><mark>noise</mark> &lt;b&gt;</p></div>'
    )


@pytest.mark.parametrize(
    "part",
    [
        HOSTILE, "<svg/onload=alert(1)>", "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>", "</textarea><script>x</script>",
        "<a href='javascript:alert(1)'>x</a>", "<a href='//evil.example'>x</a>", "<iframe srcdoc='<script>x</script>'>", "<base href=//evil.example>",
        "<form action=//evil.example><button>x</button><input name=token></form>", "<meta http-equiv=refresh content=0>", "<link rel=stylesheet href=//evil.example>",
        "<style>*{display:none}</style>", "<img src=//evil.example/pixel>", "<p id=judge name=token class=grade data-grade=1>x</p>",
        "<p dir='x\" onload=\"y'>x</p>", "<p lang='a>b'>x</p>", "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>", "<!--><script>x</script>-->",
        "<p\x00onclick=x>", "<scr<script>ipt>x</script>", "<plaintext>", "<template><script>x</script></template>",
    ],
)  # fmt: skip
@pytest.mark.parametrize("html", [True, False])
def test_nothing_in_a_document_can_act(part: str, html: bool) -> None:
    text = f"<html><body>whales {part} noise</body></html>" if html else f"whales {part} noise"
    found = Elements(render_text(text, "whales noise script alert")).found
    assert found
    for tag, attributes in found:
        assert tag in HARMLESS
        for name, value in attributes:
            assert name in ("dir", "lang")
            assert re.fullmatch("[A-Za-z0-9-]+", value or "")


@given(
    st.text(alphabet=st.sampled_from("<>&;\"'/=abmpx scriptonhl!-\u0301é鯨\n"), max_size=60),
    st.sampled_from(["", "a", "amp lt", "script", "鯨 é"]),
)
def test_whatever_is_written_text_comes_back_as_text(text: str, query: str) -> None:
    parsed = Elements(highlight(text, query))
    assert parsed.text == text
    assert {tag for tag, _ in parsed.found} <= {"mark"}


@given(st.text(alphabet=st.sampled_from("<>&;\"'/=abmpx scriptonhl!-"), max_size=80))
def test_whatever_is_written_markup_comes_back_harmless(text: str) -> None:
    for tag, attributes in Elements(render_text(f"<html>{text}", "script on a")).found:
        assert tag in documents._TAGS | {"mark"}
        assert {name for name, _ in attributes} <= {"dir", "lang", "colspan", "rowspan"}


def test_a_very_long_document_is_cut_and_says_so() -> None:
    text = render_text("x" * (documents.MOST_CHARACTERS + 1), "")
    assert text.endswith("200,000 of 200,001 characters</span></p>")


# ---- titles


@pytest.mark.parametrize(
    ("text", "title", "rest"),
    [
        ("Tides\n\nThey rise.", "Tides", "They rise."),
        ("\n  Tides \n \n\nThey rise.\n", "Tides", " \n\nThey rise."),
        ("# Tides #\nThey rise.", "Tides", "They rise."),
        ("Tides\n=====\nThey rise.", "Tides", "They rise."),
        ("潮汐\n\n海面が上がる。", "潮汐", "海面が上がる。"),
        ("المد\n\nيرتفع البحر.", "المد", "يرتفع البحر."),
        ("They rise.\n\nThey fall.", "", None),  # a sentence
        ("海面が上がる。\n\n下がる。", "", None),
        ("Dear Sir,\n\nthe tides", "", None),
        ("Tides\nrise and fall\n\ntwice", "", None),  # a paragraph
        ("Tides", "", None),  # all that there is
        ("Tides\n\n \n", "", None),
        ("x" * 151 + "\n\nlong", "", None),
        ("", "", None),
        ("\n\n", "", None),
    ],
)
def test_a_first_line_that_stands_alone_is_the_title(text: str, title: str, rest: str | None) -> None:
    found, body = split_title(Document("d", text))
    assert (found, body.strip()) == (title, text.strip() if rest is None else rest.strip())


def test_the_title_of_the_source_comes_first_and_is_not_shown_twice() -> None:
    assert split_title(Document("d", "High tide at noon", "High tide")) == ("High tide", "at noon")
    assert split_title(Document("d", "Heading\n\ntext", "High tide")) == ("High tide", "Heading\n\ntext")
    assert render_document(Document("d", "Tide <b> Water & salt", "Tide <b>"), "tide salt") == (
        "<mark>Tide</mark> &lt;b&gt;",
        '<p dir="auto">Water &amp; <mark>salt</mark></p>',
    )
    assert render_document(Document("d", "Only a title", "Only a title"), "")[1] == (
        '<p class="faint">This document has only a title.</p>'
    )


@pytest.mark.parametrize(
    ("html", "heading", "body"),
    [
        ("<html><title>A &amp;\n b</title><h2>c</h2>d</html>", "A &amp; b", "<h2>c</h2>d"),
        ("<html><h1>A <i>b</i></h1><p>d</p></html>", "A b", "<p>d</p>"),
        ("<html><title>A b</title><h1>A <i>b</i></h1><h1>A b</h1></html>", "A b", "<h1>A b</h1>"),
        ("<html><title><script>x</script></title>d</html>", "", "d"),
        ("<html><h1>A<script>x</script></h1>d</html>", "A", "d"),
        ("<html><title>&lt;img src=x onerror=y&gt;</title>d</html>", "&lt;img src=x onerror=y&gt;", "d"),
        ("<html><title></title><h2>B</h2>d</html>", "B", "d"),
        ("<html>d</html>", "", "d"),
    ],
)
def test_html_is_called_what_its_title_or_first_heading_says(html: str, heading: str, body: str) -> None:
    assert render_document(Document("d", html), "") == (heading, f'<div dir="auto">{body}</div>')
    # The title of the source does not hide that the text is HTML.
    assert render_document(Document("d", f"T {html}", "T"), "")[0] == "T"
    assert "&lt;html" not in render_document(Document("d", f"T {html}", "T"), "")[1]


@pytest.mark.parametrize("part", ["<title>x", "<h1>x", "<title ", "<h1", "# ", "=\n", "\n", "<h1></h1"])
def test_a_bad_text_takes_no_time_to_name(part: str) -> None:
    """Titles that never end cost as much as any other text: looking for each end would take minutes."""
    begun = time.process_time()
    for text in (f"<html>{part * 60_000}", part * 60_000):
        split_title(Document("d", text))
    assert time.process_time() - begun < 2


@given(st.text(alphabet=st.sampled_from("<>&;\"'/=abmpx scripth1tle#=\n"), max_size=60), st.booleans())
def test_no_title_can_act_and_nothing_of_a_text_is_lost(text: str, html: bool) -> None:
    document = Document("d", f"<html>{text}" if html else text)
    heading, body = render_document(document, "script a")
    assert {tag for tag, _ in Elements(heading).found} <= {"mark"}
    assert {tag for tag, _ in Elements(body).found} <= documents._TAGS | {"mark"}
    if not is_html(document.text) and not re.search("(?m)^[#=]", text):
        seen = Elements(heading).text + Elements(body).text
        assert not text.strip() or "".join(seen.split()) == "".join(text.split())


@pytest.mark.parametrize("text", ["<p", "<p is 3 for q", "<div\nno tag"])
def test_a_text_that_begins_like_a_tag_and_never_ends_it_is_shown(text: str) -> None:
    heading, body = render_document(Document("d", text), "")
    assert Elements(heading).text + Elements(body).text == text


def test_markup_that_nests_without_end_is_shown_as_text() -> None:
    deep = "<div>" * 30_000 + "<b>bold</b> &amp; plain" + "</div>" * 10
    found = render_text(f"<html><body>{deep}", "bold")
    assert "<div><div>" not in found
    assert "<b>" not in found
    assert re.search(r"<mark>bold</mark>\s+&amp; plain", found)


def test_many_elements_that_do_not_nest_stay_markup() -> None:
    rows = "".join(f"<tr><td>{n}<td><p>cell<br>" for n in range(1000)) + "<div>x</div>" * 1000
    found = render_text(f"<html><body><table>{rows}", "")
    assert found.count("<td>") == 2000
    assert found.count("<br>") == 1000
