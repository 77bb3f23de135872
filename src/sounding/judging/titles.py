"""What a document is called: as its source says, or as its own first heading does."""

from __future__ import annotations

import re
from html import unescape

import nh3

from sounding.data.corpus import Document, Element, element, one_line

LONGEST = 150  # characters of a heading; what is longer is a sentence
BEGINNING = 100_000  # characters in which the title of HTML is looked for

_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*|<!--(?:(?!-->).)*-->\s*)*"
    r"<(?:!doctype\s+html|html|head|body|title|meta|article|section|main|div|p|h[1-6]|table|ul|ol)\b[^>]*>",
    re.IGNORECASE | re.DOTALL,
)  # pages that were saved begin with comments, parts of pages with any of these; a tag without an end is text
_HTML_TITLE = re.compile(r"<(title)\b[^<>]*>", re.IGNORECASE)
_HTML_HEADING = re.compile(r"<(h[1-6])\b[^<>]*>", re.IGNORECASE)
_MARKED = re.compile(r"#{1,6}[ \t]+(.+?)[ \t#]*")  # Markdown's
_RULE = re.compile(r"[=~-]{3,}\s*")  # beneath a heading
_SENTENCE = tuple(".,;:!?…。，、；：！？؟،")  # a line that ends like that goes on, or is no heading
_MARKUP = re.compile(r"(?:<[^<>]*>)+")
_BLOCKS = re.compile(
    r"</?(?:address|article|aside|blockquote|br|caption|center|dd|div|dl|dt|figcaption|figure|footer|form"
    r"|h[1-6]|header|hr|li|main|nav|ol|option|p|pre|section|table|td|tfoot|th|thead|tr|ul)\b",
    re.IGNORECASE,
)  # words on both sides of one of these are two words
_TAG_NAME = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Elements that no other waits to be closed for: however many there are, they do not nest.
_ALONE = {
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "option",
    "p", "param", "source", "td", "th", "tr", "track", "wbr",
}  # fmt: skip
DEEPEST = 400  # elements within each other; the time to clean markup grows with the square of that
SILENT = {"head", "script", "style", "title", "noscript", "iframe", "object", "template", "svg", "math"}


def is_html(text: str) -> bool:
    """Whether a text is HTML."""
    return _HTML.match(text) is not None


def plain(text: str) -> str:
    """What can be read in a text: without tags and scripts where it is HTML."""
    if not is_html(text):
        return text
    if nests_deeply(text):
        return unescape(_MARKUP.sub(" ", text))
    return unescape(nh3.clean(_BLOCKS.sub(r"\n\g<0>", text), tags=set(), clean_content_tags=SILENT))


def nests_deeply(text: str) -> bool:
    """Whether markup has more elements within each other than any page that was meant to be read."""
    depth = 0
    for end, name in _TAG_NAME.findall(text):
        if name.lower() not in _ALONE:
            depth = max(0, depth - 1) if end else depth + 1
            if depth > DEEPEST:
                return True
    return False


def titled(document: Document) -> tuple[str, str]:
    """The title of a document, empty where it has none, and the text without it."""
    text = document.text
    if document.title and text.startswith(document.title):
        return document.title, text[len(document.title) :].lstrip()
    if document.title:
        return document.title, text
    if is_html(text):
        beginning = text[:BEGINNING]
        return _words(element(beginning, _HTML_TITLE)) or _words(element(beginning, _HTML_HEADING)), text
    return _heading(text)


def _words(found: Element | None) -> str:
    """What can be read in an element, in one line; empty: there is none."""
    if found is None:
        return ""
    return one_line(unescape(nh3.clean(found.inside, tags=set(), clean_content_tags=SILENT)))


def _heading(text: str) -> tuple[str, str]:
    """The first line and the rest, where that line stands alone above it; else no title."""
    first, _, rest = text.lstrip().partition("\n")
    below, _, beyond = rest.partition("\n")
    line, marked = first.strip(), _MARKED.fullmatch(first.strip())
    if _RULE.fullmatch(below):
        rest = beyond
    elif marked is not None:
        line = marked[1]
    elif below.strip() or line.endswith(_SENTENCE):
        return "", text
    return (line, rest.strip("\n")) if 0 < len(line) <= LONGEST and rest.strip() else ("", text)
