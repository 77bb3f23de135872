"""Read the documents of a corpus from files, and render them with the topic's words highlighted."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from html import escape, unescape
from pathlib import Path
from typing import IO

import nh3

from sounding.core.errors import FormatError
from sounding.core.text import plural
from sounding.data.corpus import TITLES, Document, Element, element, has_documents, one_line, read_corpus
from sounding.data.finding import find_files_below
from sounding.data.labeled_parts import IDS, LabeledPart, Member
from sounding.data.sources import Content, unpacker
from sounding.judge.ids import wrong_doc
from sounding.judge.language import gettext
from sounding.judge.layout import lay_out

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # inside of [...]
# Thai, Lao, Myanmar, Khmer, kana, Han, Hangul: no blanks between words, or endings that stick to them.
UNSPACED = re.compile(f"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\uac00-\ud7af{HAN}]+")
# Accents, and the points of Hebrew and Arabic, which writers may leave out; inside of [...].
OPTIONAL = "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed"


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
    """Return whether a text is HTML."""
    return _HTML.match(text) is not None


def plain(text: str) -> str:
    """Return the readable part of a text: HTML without tags and scripts."""
    if not is_html(text):
        return text
    if nests_deeply(text):
        return unescape(_MARKUP.sub(" ", text))
    return unescape(nh3.clean(_BLOCKS.sub(r"\n\g<0>", text), tags=set(), clean_content_tags=SILENT))


def nests_deeply(text: str) -> bool:
    """Return whether markup nests more deeply than any real page does."""
    depth = 0
    for end, name in _TAG_NAME.findall(text):
        if name.lower() not in _ALONE:
            depth = max(0, depth - 1) if end else depth + 1
            if depth > DEEPEST:
                return True
    return False


def split_title(document: Document) -> tuple[str, str]:
    """Return the title of a document (empty if it has none) and the text without it."""
    text = document.text
    if document.title and text.startswith(document.title):
        return document.title, text[len(document.title) :].lstrip()
    if document.title:
        return document.title, text
    if is_html(text):
        beginning = text[:BEGINNING]
        return _words(element(beginning, _HTML_TITLE)) or _words(element(beginning, _HTML_HEADING)), text
    return _heading(text)


def _words(part: Element | None) -> str:
    """Return the readable text of an element in one line; empty if there is no element."""
    if part is None:
        return ""
    return one_line(unescape(nh3.clean(part.inside, tags=set(), clean_content_tags=SILENT)))


def _heading(text: str) -> tuple[str, str]:
    """Split a text into its first line and the rest if that line is a heading; else no title."""
    first, _, rest = text.lstrip().partition("\n")
    below, _, beyond = rest.partition("\n")
    line, markdown = first.strip(), _MARKED.fullmatch(first.strip())
    if _RULE.fullmatch(below):
        rest = beyond
    elif markdown is not None:
        line = markdown[1]
    elif below.strip() or line.endswith(_SENTENCE):
        return "", text
    return (line, rest.strip("\n")) if 0 < len(line) <= LONGEST and rest.strip() else ("", text)


WHOLE = "text"  # name of the only part of a document without labeled parts
MOST_CHARACTERS = 200_000  # of a document that are shown at a time
SHORTEST = 3  # letters of a word that is marked, in scripts that have blanks between words
LONGEST_EXACT = 3  # letters of a word that is marked only where it stands alone; longer ones with any ending

# English words that would color every page and tell nothing.
_COMMON_WORDS = """
about after all also and any are because been between but can could describe did discuss document documents
does find for from had has have how identify information into its may more most must not off other out over
relevant should some such than that the their them then there these they this those through under was were
what when where which while who whose why will with would you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_TAG = re.compile(r"(<[^<>]*>)")
_MARKS = f"[{OPTIONAL}]*"
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_WORD = re.compile(r"[^\W_]+")
_TAGS = {
    "abbr", "address", "article", "aside", "b", "bdi", "bdo", "blockquote", "br", "caption", "cite", "code",
    "col", "colgroup", "dd", "del", "dfn", "div", "dl", "dt", "em", "figcaption", "figure", "footer", "h1",
    "h2", "h3", "h4", "h5", "h6", "header", "hr", "i", "ins", "kbd", "li", "main", "ol", "p", "pre", "q",
    "rp", "rt", "ruby", "s", "samp", "section", "small", "span", "strong", "sub", "sup", "table", "tbody",
    "td", "tfoot", "th", "thead", "time", "tr", "u", "ul", "var", "wbr",
}  # fmt: skip
_ATTRIBUTES = {"*": {"dir", "lang"}, "td": {"colspan", "rowspan"}, "th": {"colspan", "rowspan"}}
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9-]{1,20}")


class _Folding(dict[int, str]):
    """Map each character to one without case and accents, so that positions in a text stay the same."""

    def __missing__(self, code: int) -> str:
        plain = unicodedata.normalize("NFKD", chr(code))[:1].casefold()
        self[code] = plain if len(plain) == 1 else chr(code)
        return self[code]


_FOLDING = _Folding()


def render_document(document: Document, query: str) -> tuple[str, str]:
    """Return the title (may be empty) and the text of a document as safe HTML, with a query highlighted."""
    title, text = split_title(document)
    body = render_parts(document.parts, query) if document.parts else render_text(text, query, title)
    if not _TAG.sub("", body).strip():
        missing = (
            gettext("This document has only a title.") if title else gettext("This document has no text.")
        )
        body = f'<p class="faint">{missing}</p>'
    return highlight(title, query), body


def render_parts(parts: Iterable[LabeledPart], query: str) -> str:
    """Return labeled parts as safe HTML; items of a list can be graded, which a script adds."""
    sections = []
    for part in parts:
        name, kind = escape(part.name, quote=True), " data-graded" if part.graded else ""
        body = render_part(part.text[:MOST_CHARACTERS], query, 0)
        more = len(part.text) - MOST_CHARACTERS
        cut = f'<p class="faint">… {more:,} more characters</p>' if more > 0 else ""
        sections.append(
            f'<section class="part" data-part="{name}"{kind} tabindex="-1" aria-label="{escape(part.label)}">'
            f'<h2 dir="auto">{escape(part.label)}</h2><div class="part-text">{body}</div>{cut}</section>'
        )
    return "".join(sections)


def span_texts(document: Document) -> dict[str, str]:
    """Return the texts in which spans are counted: each part, or the readable text without its title."""
    if document.parts:
        return {part.name: readable_part(part.text) for part in document.parts}
    return {WHOLE: readable_part(split_title(document)[1])}


def readable_part(text: str) -> str:
    """Return a text as it is read: HTML without tags."""
    return plain(text) if is_html(text) else text


def render_text(text: str, query: str, title: str = "") -> str:
    """Return the first part of a text as safe HTML with the words of a query highlighted.

    A first HTML heading that repeats the title is left out, because the page already shows the title. After
    a long text follows a button to show more.
    """
    return render_part(text, query, 0, title)


def render_part(text: str, query: str, first: int, title: str = "") -> str:
    """Return the part of a text that begins at a character, whatever the text contains."""
    end = end_of_part(text, first)
    part, words = text[first:end], _pattern(query)
    if not is_html(text):
        body = lay_out(part, lambda piece: _highlight(piece, words))
    elif nests_deeply(part):
        body = lay_out(plain(f"<div>{part}"), lambda piece: _highlight(piece, words))
    else:
        body = _cleaned(part, words, title if first == 0 else "")
    if end < len(text):
        shown = gettext("{end} of {all} characters", end=end, all=len(text))
        body += (
            f'<p class="cut"><button type="button" data-more="{end}">{escape(gettext("Show more"))}</button>'
            f' <span class="faint">{escape(shown)}</span></p>'
        )
    return body


def end_of_part(text: str, first: int) -> int:
    """Return where a part of a long text ends: at a paragraph, a line or a word, but never within a tag."""
    end = first + MOST_CHARACTERS
    if end >= len(text):
        return len(text)
    part = text[first:end]
    if is_html(text):
        tag = part.rfind("<")
        return first + tag if tag > max(0, part.rfind(">")) else end
    for sign in ("\n\n", "\n", " "):
        place = part.rfind(sign, MOST_CHARACTERS // 2)
        if place >= 0:
            return first + place + len(sign)
    return end


def highlight(text: str, query: str) -> str:
    """Return a text as HTML with the words of a query highlighted."""
    return _highlight(text, _pattern(query))


def _cleaned(text: str, words: re.Pattern[str] | None, title: str) -> str:
    clean = nh3.clean(
        text, tags=_TAGS, clean_content_tags=SILENT, attributes=_ATTRIBUTES, attribute_filter=_plain_value,
        link_rel=None,
    )  # fmt: skip
    heading = element(clean, _HTML_HEADING) if title else None
    if heading is not None and one_line(unescape(_TAG.sub("", heading.inside))) == title:
        clean = heading.around
    # Attribute values contain only letters and digits now, so every < begins a tag and every > ends one.
    parts = _TAG.split(clean)
    parts[::2] = [_highlight(unescape(part), words) for part in parts[::2]]
    return f'<div dir="auto">{"".join(parts)}</div>'


def _plain_value(_tag: str, _name: str, value: str) -> str | None:
    return value if _PLAIN_VALUE.fullmatch(value) else None


def _highlight(text: str, words: re.Pattern[str] | None) -> str:
    if words is None:
        return escape(text)
    pieces, place = [], 0
    for match in words.finditer(text.translate(_FOLDING)):
        first, last = match.span()
        pieces += [escape(text[place:first]), "<mark>", escape(text[first:last]), "</mark>"]
        place = last
    return "".join(pieces) + escape(text[place:])


@lru_cache(maxsize=512)
def _pattern(query: str) -> re.Pattern[str] | None:
    """Return the pattern that finds the words of a query in a folded text; None if there are no words."""
    folded = query.translate(_FOLDING)
    spaced = UNSPACED.sub(" ", folded)
    words = {word for word in _WORD.findall(spaced) if len(word) >= SHORTEST and word not in _COMMON}
    branches = [_word_branch(word) for word in sorted(words, key=lambda word: (-len(word), word))]
    branches += [_unspaced_branch(run) for run in sorted(set(UNSPACED.findall(folded)))]
    return re.compile("|".join(branches)) if branches else None


def _word_branch(word: str) -> str:
    letters = _MARKS.join(re.escape(letter) for letter in word)
    ending = r"\b" if len(word) <= LONGEST_EXACT else r"\w*"
    return rf"\b{letters}{_MARKS}{ending}"


def _unspaced_branch(run: str) -> str:
    """Return a pattern for a run of characters, or for any sequence of its adjacent pairs."""
    if len(run) <= 2:
        return re.escape(run)
    every = {run[place : place + 2] for place in range(len(run) - 1)}
    # Two hiragana are usually grammar, not a word.
    pairs = sorted(pair for pair in every if not _HIRAGANA.fullmatch(pair))
    branches = [re.escape(run), *([f"(?:{'|'.join(map(re.escape, pairs))})+"] if pairs else [])]
    # A single character between grammar is a word by itself, but elsewhere part of another word.
    alone = sorted({part for part in _HIRAGANA.split(run) if len(part) == 1 and part != run})
    branches += [f"(?<![{HAN}]){re.escape(part)}(?![{HAN}])" for part in alone]
    return "|".join(branches)


NAMES = ("doc", *IDS)  # of the column that holds the doc id
_TABLES = {".csv": ",", ".tsv": "\t"}
RUN_FIELDS = 6  # of a line of a run in TREC's format
_HTML_SUFFIXES = (".html", ".htm", ".xhtml")
TEXTS = (".txt", ".text", ".md", "", *_HTML_SUFFIXES)  # suffixes of files that may be one document each
MOST_DOCUMENT = 50_000_000  # characters, or bytes of a file
SNIFFED = 1 << 16  # bytes in which the first <DOC> of SGML is looked for


def read_documents(sources: Iterable[str | Path], members: Sequence[Member] = ()) -> Iterator[Document]:
    """Yield the documents of files, folders and globs, in order; JSON lines with these members as parts.

    Folders are read with their subfolders, except hidden files. A file with the suffix csv or tsv is a
    table. One that begins with `{` is JSON lines; one that begins with `<` and contains <DOC> is TREC SGML;
    both may be compressed. Any other file is one document, text or HTML, whose id is the name without the
    suffix. Ids are checked; texts may contain anything, or be empty.
    """
    for source in find_files_below(sources):
        delimiter = _TABLES.get(Path(source).suffix.lower())
        if delimiter is not None:
            yield from _rows(source, delimiter)
        elif Path(source).suffix.lower() in TEXTS and not _holds_many(source):
            yield Document(_checked(Path(source).stem, source, None), _text(source))
        else:
            yield from _several(source, members)


def files_with(doc: str, sources: Iterable[str | Path]) -> Iterator[str]:
    """Yield the files that contain a document, in order; a file once per occurrence."""
    for source in find_files_below(sources):
        yield from (source for document in read_documents([source]) if document.doc == doc)


def _checked(doc: str, source: str, line: int | None) -> str:
    if problem := wrong_doc(doc):
        raise FormatError(source, line, problem)
    return doc


def _several(source: str, members: Sequence[Member]) -> Iterator[Document]:
    """Yield the documents of SGML or JSON lines; refuse a file without any."""
    document = None
    for document in read_corpus([source], wrong=wrong_doc, most=MOST_DOCUMENT, members=members):
        yield document
    if document is None:
        problem = (
            "contains no <DOC>; expected TREC SGML, JSON lines, or a name that ends in .txt, .md or .html"
        )
        raise FormatError(source, None, problem)


def _holds_many(source: str) -> bool:
    """Return whether a file is SGML or JSON lines, judging by its beginning."""
    try:
        with Path(source).open("rb") as file:
            first = file.read(SNIFFED)
    except OSError as error:
        raise FormatError(source, None, f"cannot open the file ({error.strerror or error})") from error
    if unpacker(Content.from_bytes(source, first)) is not None:
        return True
    text = first.decode("utf-8-sig", "replace").lstrip()
    return text.startswith("{") or (text.startswith("<") and has_documents(text))


def _text(source: str) -> str:
    if (size := Path(source).stat().st_size) > MOST_DOCUMENT:
        problem = (
            f"the document has {size:,} bytes; expected at most {MOST_DOCUMENT:,}: split it, or leave it out"
        )
        raise FormatError(source, None, problem)
    text = Path(source).read_bytes().decode("utf-8-sig", "surrogateescape")
    fields = next((line for line in text.splitlines() if line.strip()), "").split()
    if len(fields) == RUN_FIELDS and fields[1].upper() == "Q0":
        raise FormatError(source, 1, "this is a run, not a document; give runs with --runs")
    # The suffix says HTML, even if the file begins with plain words.
    is_marked_html = Path(source).suffix.lower() in _HTML_SUFFIXES and not is_html(text)
    return f"<html>{text}" if is_marked_html else text


def _rows(source: str, delimiter: str) -> Iterator[Document]:
    csv.field_size_limit(MOST_DOCUMENT)
    try:
        with Path(source).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
            yield from _documents(source, _placed_rows(source, stream, delimiter))
    except OSError as error:
        raise FormatError(source, None, f"cannot open the file ({error.strerror or error})") from error


def _placed_rows(source: str, stream: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a table, each with the line on which it begins."""
    rows = csv.reader(stream, delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in rows:
            yield line, row
            line = rows.line_num + 1
    except csv.Error as error:
        problem = f"not a valid table row ({error}); expected one document, with quoted fields closed"
        raise FormatError(source, line, problem) from error


def _documents(source: str, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Document]:
    _, header_row = next(rows, (1, []))
    header = [name.strip().lower() for name in header_row]
    place = next((header.index(name) for name in NAMES if name in header), None)
    if place is None:
        seen = f"the columns {', '.join(header)} include" if any(header) else "the first line has"
        problem = f"{seen} no doc id; expected a column named {', '.join(NAMES)}"
        raise FormatError(source, 1, problem)
    title_place = next(
        (header.index(name) for name in TITLES if name in header and name != header[place]), None
    )
    for number, row in rows:
        if not any(row):
            continue
        if len(row) != len(header):
            wrong = f"{plural(len(row), 'field')} in a row under {plural(len(header), 'column')}"
            raise FormatError(source, number, f"{wrong}; expected one field per column")
        title = "" if title_place is None else one_line(row[title_place])
        rest = [text for column, text in enumerate(row) if column not in (place, title_place) and text]
        doc = _checked(row[place].strip(), source, number)
        yield Document(doc, "\n".join([title, *rest] if title else rest), title)
