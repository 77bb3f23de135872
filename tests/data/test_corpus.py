"""Texts of documents from SGML and JSON lines, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from sounding.core.errors import FormatError
from sounding.data.corpus import Document, read_corpus
from sounding.data.sources import compress_zstd

SGML = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<HEADLINE>Fish &amp; chips</HEADLINE>
<TEXT>
Cod <B>and</B> haddock.
</TEXT>
</DOC>

<doc id="2"><docno>LA-2</docno>one line</doc>
"""
LINES = '{"_id": "d1", "title": "Fish", "text": "and chips", "metadata": {"a": "b"}}\n\n{"id": 7, "contents": "x"}\n'


def write(path: Path, text: str, pack: Callable[[bytes], bytes] = lambda data: data) -> Path:
    path.write_bytes(pack(text.encode()))
    return path


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress, bz2.compress, lzma.compress])
def test_markup_is_taken_away_and_entities_are_read(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    found = list(read_corpus([write(tmp_path / "corpus", SGML, pack)]))
    assert [document.doc for document in found] == ["FT911-1", "LA-2"]
    assert found[0].text.split() == ["Fish", "&", "chips", "Cod", "and", "haddock."]
    assert found[1].text == "one line"
    assert [document.title for document in found] == ["Fish & chips", ""]


@pytest.mark.parametrize(
    ("pack", "kind"),
    [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz"), (compress_zstd, "zstd")],
)
def test_an_archive_that_is_cut_off_or_damaged_is_refused_and_a_whole_one_read(
    tmp_path: Path, pack: Callable[[bytes], bytes], kind: str
) -> None:
    text = "".join(f'{{"id": "d{number}", "text": "{number**9}"}}\n' for number in range(9000))
    path = write(tmp_path / "corpus", text, pack)
    assert [document.doc for document in read_corpus([path])] == [f"d{number}" for number in range(9000)]
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FormatError, match=f"corpus: the {kind} archive ends too early; expected a complete"):
        list(read_corpus([path]))
    path.write_bytes(whole[:2000] + bytes(byte ^ 0xFF for byte in whole[2000:2100]) + whole[2100:])
    with pytest.raises(FormatError, match=f"corpus: damaged {kind} archive .*; expected one|not valid JSON"):
        list(read_corpus([path]))


def test_json_lines_give_all_their_text_but_ids_and_metadata(tmp_path: Path) -> None:
    assert list(read_corpus([write(tmp_path / "c.jsonl", "\ufeff" + LINES)])) == [
        Document("d1", "Fish and chips", "Fish"),
        Document("7", "x"),
    ]


def test_what_of_a_json_line_is_text_and_what_is_not(tmp_path: Path) -> None:
    left_out = '"docno": "X", "url": "u", "metadata": {"rank": 1}, "none": null, "empty": ""'
    taken = '"contents": "cc", "abstract": "aa", "n": 3, "tags": ["x", "y"], "new": true'
    line = f'{{"id": "a", {left_out}, {taken}}}'
    assert list(read_corpus([write(tmp_path / "c.jsonl", line)])) == [
        Document("a", "cc aa 3 ['x', 'y'] True")
    ]


@pytest.mark.parametrize(
    ("markup", "title", "words"),
    [
        ("<DATE>1991</DATE><HEADLINE>\n<P>A \n B</P></HEADLINE><TEXT>c</TEXT>", "A B", "A B 1991 c"),
        ("<HL> Old  news </HL><TEXT>c</TEXT>", "Old news", "Old news c"),
        ("<HEAD>Wire report</HEAD><TEXT>c</TEXT>", "Wire report", "Wire report c"),
        ("<H3> <TI> Übersicht &amp; Ziel</TI></H3>c", "Übersicht & Ziel", "Übersicht & Ziel c"),
        ("<html><head><title>Web</title></head>c</html>", "Web", "Web c"),
        ("<html><head><meta x>y</head>c</html>", "", "y c"),
        ("<TITLE> </TITLE>c", "", "c"),
        ("<TITLE>a <TI>b</TI>c", "", "a b c"),  # it never ends
        ("<TITLES>a</TITLES><TIME>9</TIME>c", "", "a 9 c"),
    ],
)
def test_a_title_in_markup_comes_first_and_is_named(
    tmp_path: Path, markup: str, title: str, words: str
) -> None:
    [found] = read_corpus([write(tmp_path / "c.sgml", f"<DOC><DOCNO>1</DOCNO>{markup}</DOC>")])
    assert (found.title, " ".join(found.text.split())) == (title, words)


@pytest.mark.parametrize(
    ("line", "text", "title"),
    [
        ('{"id": 1, "text": "x", "title": "T\\n t"}', "T t x", "T t"),
        ('{"id": 1, "title": null, "headline": "H", "text": "x"}', "H x", "H"),
        ('{"id": 1, "title": "", "text": "x"}', "x", ""),
        ('{"id": 1, "title": 7, "text": "x"}', "7 x", ""),
    ],
)
def test_a_title_in_a_json_line_comes_first_and_is_named(
    tmp_path: Path, line: str, text: str, title: str
) -> None:
    assert list(read_corpus([write(tmp_path / "c.jsonl", line)])) == [Document("1", text, title)]


def test_only_what_is_wanted_comes_and_folders_are_read_in_order(tmp_path: Path) -> None:
    write(tmp_path / "b.jsonl", LINES)
    write(tmp_path / "a.sgml", SGML)
    assert [one.doc for one in read_corpus([tmp_path])] == ["FT911-1", "LA-2", "d1", "7"]
    assert [one.doc for one in read_corpus([tmp_path], {"7", "LA-2"})] == ["LA-2", "7"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("\n\nhello\n", r":3: 'hello' does not start a document"),
        ('{"_id": "a"}\n{"_id": \n', r":2: not valid JSON"),
        ('{"name": "a"}\n', r":1: no doc id"),
        ('{"_id": "a"}\n[1]\n', r":2: no doc id"),
        ("<DOC>\n<DOCNO>1</DOCNO>\n", r":1: the document that starts here does not end"),
        ("\n<DOC>\n</DOC>\n", r":2: the document has no id"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        list(read_corpus([write(tmp_path / "corpus.txt", text)]))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"nowhere.txt: cannot be opened"):
        list(read_corpus([tmp_path / "nowhere.txt"]))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<DOC><DOCNO>a</DOCNO>x</DOC>\n<DOC><DOCNO>b</DOCNO>\n" + "word\n" * 40 + "</DOC>\n", 2),
        ("<DOC><DOCNO>a</DOCNO>x</DOC>\n<DOC><DOCNO>b</DOCNO>\n" + "w" * 101 + "</DOC>\n", 3),
        ('{"_id": "a", "text": "x"}\n{"_id": "b", "text": "' + "w" * 101 + '"}\n', 2),
        ("{" + "w" * 101, 1),
    ],
)
def test_a_document_beyond_the_limit_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    path = write(tmp_path / "corpus.gz", text, gzip.compress)
    with pytest.raises(FormatError, match="more than 100 characters") as refused:
        list(read_corpus([path], most=100))
    assert refused.value.line == line


def test_an_archive_that_unpacks_to_very_much_is_not_unpacked_whole(tmp_path: Path) -> None:
    block = b"w" * 1_000_000
    with gzip.open(tmp_path / "bomb.gz", "wb", 1) as stream:
        stream.write(b'{"_id": "b", "text": "')
        for _ in range(100):
            stream.write(block)
    tracemalloc.start()
    with pytest.raises(FormatError, match="more than 1,000,000 characters"):
        list(read_corpus([tmp_path / "bomb.gz"], most=1_000_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 75_000_000  # one piece of the archive unpacks to 66 MB at most
