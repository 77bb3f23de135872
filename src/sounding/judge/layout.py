"""Lay out plain text for reading: paragraphs without hard line ends, code and tables kept, JSON as fields.

All functions return safe HTML: `mark` escapes a piece of text and highlights the words of the topic.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from html import escape
from textwrap import dedent
from typing import Any

import nh3
from markdown_it import MarkdownIt

Mark = Callable[[str], str]

NARROWEST, WIDEST = 40, 130  # characters of the longest line of a paragraph that was wrapped
RAGGED = 0.7  # of the longest line: what a line has at least that was wrapped
DEEPEST = 12  # fields within each other
_FENCE = re.compile(r"^ {0,3}(```|~~~)[^\n]*\n.*?^ {0,3}\1[ \t]*$", re.MULTILINE | re.DOTALL)
_APART = re.compile(r"[^\s]\s*(?:\t| {3,})\s*[^\s]")  # columns
_CODE_END = re.compile(r"[;{}]\s*$|\)\s*:\s*$|^\s*(?:>>>|\$) ")
_ITEM = re.compile(r"\s*(?:[-*•·–+]|\(?\w{1,3}[.)]|\w+:)\s")
_NO_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uff00-\uffef]")


_PROSE = {
    "a", "blockquote", "br", "code", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_LINKS = {"http", "https", "mailto"}
_SHIFT = 2  # levels: the headings of a page stand above


def _parser() -> MarkdownIt:
    """Return a parser without HTML, images and indented code; line ends stay, as in plain text."""
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True})
    return parser.enable(["table", "strikethrough"]).disable(["code", "image", "html_block", "html_inline"])


_MARKDOWN = _parser()


@lru_cache(maxsize=32)
def lay_out_markdown(text: str) -> str:
    """Return Markdown as safe HTML: no HTML of its own, no images, and links that tell nobody about us."""
    tokens = _MARKDOWN.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _SHIFT)}"
        outermost = token.level == 0 and token.tag in ("ul", "ol")
        if token.nesting == 1 and (outermost or token.tag in ("p", "td", "th", "h3", "h4", "h5", "h6")):
            token.attrSet("dir", "auto")
    return nh3.clean(
        _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}), tags=_PROSE,
        attributes={"*": {"dir"}, "a": {"href", "title"}, "ol": {"start"}}, url_schemes=_LINKS,
        link_rel="noopener noreferrer nofollow", set_tag_attribute_values={"a": {"target": "_blank"}},
    )  # fmt: skip


def lay_out(text: str, mark: Mark) -> str:
    """Return a plain text as HTML: each paragraph in an element of its own, which finds its direction."""
    fields = _fields_of(text)
    if fields is not None:
        return f'<div dir="auto">{_field(fields, mark, 0)}</div>'
    return "".join(_block(part, mark) for part in _parts(text.replace("\r\n", "\n")))


def _parts(text: str) -> Iterator[str]:
    """Yield paragraphs, and fenced code whole."""
    place = 0
    for fence in _FENCE.finditer(text):
        yield from re.split(r"\n\s*?\n", text[place : fence.start()])
        yield fence.group()
        place = fence.end()
    yield from re.split(r"\n\s*?\n", text[place:])


def _block(part: str, mark: Mark) -> str:
    if not part.strip():
        return ""
    text = part.strip("\n")
    if _FENCE.fullmatch(text):
        return f"<pre>{mark(text.partition(chr(10))[2].rpartition(chr(10))[0])}</pre>"
    if is_preformatted(text):
        return f"<pre>{mark(dedent(text.expandtabs()))}</pre>"
    return f'<p dir="auto">{mark(reflow(text))}</p>'


def is_preformatted(text: str) -> bool:
    """Return whether the lines of a paragraph are a table or code, whose blanks mean something."""
    lines = dedent(text).split("\n")
    if len(lines) < 2:
        return False
    columns = sum(bool(_APART.search(line)) or line.count("|") > 1 for line in lines)
    code = sum(bool(_CODE_END.search(line)) for line in lines)
    return columns >= max(2, 0.6 * len(lines)) or code >= max(2, 0.4 * len(lines))


def reflow(text: str) -> str:
    """Return a paragraph without the line ends that an editor or a mailer put in; unchanged if it has none.

    Short lines, indented lines, items of a list and verses (every line begins with a capital) stay.
    """
    raw = dedent(text).split("\n")
    lines = [line.strip() for line in raw]
    longest = max(map(len, lines))
    verse = len(lines) > 2 and all(line[:1].isupper() for line in lines)
    if not NARROWEST <= longest <= WIDEST or verse:
        return text
    joined = lines[0]
    for before, after, indented in zip(lines, lines[1:], raw[1:], strict=False):
        wrapped = len(before) >= RAGGED * longest and not indented[:1].isspace() and not _ITEM.match(after)
        tight = before.endswith("-") or (_NO_BLANKS.match(before[-1:]) and _NO_BLANKS.match(after))
        joined += ("" if tight else " ") + after if wrapped else f"\n{after}"
    return joined


def _fields_of(text: str) -> dict[str, Any] | list[Any] | None:
    """Return a text that is JSON with fields; None for any other."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, (dict, list)) and found else None


def _field(value: Any, mark: Mark, depth: int) -> str:
    if depth > DEEPEST:
        return f"<pre>{mark(json.dumps(value, ensure_ascii=False, indent=1))}</pre>"
    if isinstance(value, dict):
        rows = (
            f'<dt dir="auto">{escape(str(name))}</dt><dd dir="auto">{_field(one, mark, depth + 1)}</dd>'
            for name, one in value.items()
        )
        return f'<dl class="fields">{"".join(rows)}</dl>'
    if isinstance(value, list):
        return f"<ul>{''.join(f'<li>{_field(one, mark, depth + 1)}</li>' for one in value)}</ul>"
    if isinstance(value, str):
        return lay_out_text(value, mark)
    return mark(json.dumps(value))


def lay_out_text(text: str, mark: Mark) -> str:
    """Return a text within a field, whose only paragraph needs no element."""
    parts = [part for part in _parts(text.replace("\r\n", "\n")) if part.strip()]
    if len(parts) == 1 and "\n" not in parts[0]:
        return mark(parts[0].strip())
    return "".join(_block(part, mark) for part in parts)
