"""What assessors see of a document: marked words, and nothing that could act."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.judging.web import HOSTILE

from sounding.judging import documents
from sounding.judging.documents import marked, shown

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
    assert shown('One\nline\n\n<b>two</b> & "three"', "") == (
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
        ("С++ .*", "anything", []),
        ("STRASSE", "Strasse strassen", ["Strasse", "strassen"]),
    ],
)
def test_the_words_of_the_topic_are_marked(query: str, text: str, expected: list[str]) -> None:
    assert words(marked(text, query)) == expected


def test_markup_of_the_document_is_cleaned_and_its_words_are_marked() -> None:
    text = "<html><head><title>secret</title></head><body><h1>Whales &amp; ships</h1><p class=x style=y onclick=z()>noise &lt;b&gt;</p></body></html>"
    assert shown(text, "whales noise amp") == (
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
    found = Elements(shown(text, "whales noise script alert")).found
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
    parsed = Elements(marked(text, query))
    assert parsed.text == text
    assert {tag for tag, _ in parsed.found} <= {"mark"}


@given(st.text(alphabet=st.sampled_from("<>&;\"'/=abmpx scriptonhl!-"), max_size=80))
def test_whatever_is_written_markup_comes_back_harmless(text: str) -> None:
    for tag, attributes in Elements(shown(f"<html>{text}", "script on a")).found:
        assert tag in documents._TAGS | {"mark"}
        assert {name for name, _ in attributes} <= {"dir", "lang", "colspan", "rowspan"}


def test_a_very_long_document_is_cut_and_says_so() -> None:
    text = shown("x" * (documents.MOST_CHARACTERS + 1), "")
    assert text.endswith('<p class="cut">Cut here: 500,000 of 500,001 characters are shown.</p>')
