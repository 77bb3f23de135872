"""The corpus: readers, the index in many scripts, and queries that are no language of their own."""

from __future__ import annotations

import gzip
import json
import random
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.conftest import require

from sounding.core.errors import DataError, FormatError, MissingPartError
from sounding.data.corpus import Document
from sounding.judge.database import StoreError
from sounding.judge.search import (
    AROUND,
    Corpus,
    SearchEngine,
    build_corpus,
    folded,
    in_fts5,
    indexed,
    query_terms,
)
from sounding.judge.texts import is_html, plain, read_documents, render_document, split_title

TEXTS = {
    "latin": "Café Müller: the naïve approach to wing flutter.\nSecond line",
    "ascii": "The cafe of Mueller, a naive approach to wings",
    "chinese": "信息检索评价方法研究",
    "japanese": "情報検索の評価。カタカナとひらがな、ガス",
    "korean": "정보검색의 평가",
    "thai": "การค้นหาข้อมูล",
    "arabic": "كِتَابٌ عن البحث",
    "hebrew": "סֵפֶר על חיפוש",
    "hindi": "हिन्दी में खोज",
    "russian": "Ёлка и поиск",
    "operators": "NEAR AND OR NOT are words; C++ and foo_bar too",
    "empty-ish": ".",
}


@pytest.fixture(scope="module", params=["fts5", "tantivy"])
def engine(request: pytest.FixtureRequest) -> SearchEngine:
    if request.param == "tantivy":
        require("tantivy")
    found: SearchEngine = request.param
    return found


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, engine: SearchEngine) -> Corpus:
    path = tmp_path_factory.mktemp("corpus") / "corpus.sqlite"
    documents = (Document(doc, text) for doc, text in TEXTS.items())
    assert build_corpus(path, documents, search=engine) == len(TEXTS)
    return Corpus(path)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cafe", {"latin", "ascii"}),
        ("CAFÉ", {"latin", "ascii"}),
        ("cafe\u0301", {"latin", "ascii"}),
        ("naïve wing", {"latin", "ascii"}),
        ("flutt*", {"latin"}),
        ('"wing flutter"', {"latin"}),
        ('"flutter wing"', set()),
        ("检索", {"chinese"}),
        ("索评", {"chinese"}),
        ("检评", set()),
        ("究", {"chinese"}),
        ("信", {"chinese"}),
        ("検索の評価", {"japanese"}),
        ("ガス", {"japanese"}),
        ("カス", set()),
        ("검색", {"korean"}),
        ("ค้นหา", {"thai"}),
        ("كتاب", {"arabic"}),
        ("كِتَاب", {"arabic"}),
        ("ספר", {"hebrew"}),
        ("हिन्दी", {"hindi"}),
        ("खोज", {"hindi"}),
        ("елка", {"russian"}),
        ("NEAR", {"operators"}),
        ('AND OR NOT ( * ^ " : -', {"operators"}),
        ("", set()),
        ("\0 \ud800 \"' ;--", set()),
    ],
)
def test_words_are_found_in_every_script(corpus: Corpus, query: str, found: set[str]) -> None:
    assert {hit.doc for hit in corpus.search(query).hits} == found


def test_documents_with_all_words_come_before_those_with_some(corpus: Corpus) -> None:
    hits = corpus.search("naive flutter nowhere").hits
    assert [hit.doc for hit in hits] == ["latin", "ascii"]
    assert len(corpus.search("naive", limit=1).hits) == 1


def test_pages_of_results_fit_together_and_say_how_many_there_are(
    tmp_path: Path, engine: SearchEngine
) -> None:
    rng = random.Random(5)
    texts = {f"d{n:03d}": " ".join(rng.choices(["reef", "tide", "crane", "storm"], k=3)) for n in range(120)}
    build_corpus(tmp_path / "c", [Document(doc, text) for doc, text in texts.items()], search=engine)
    corpus = Corpus(tmp_path / "c")
    some = {doc for doc, text in texts.items() if {"reef", "tide"} & set(text.split())}
    every = {doc for doc, text in texts.items() if {"reef", "tide"} <= set(text.split())}
    pages = [corpus.search("reef tide", limit=7, first=first) for first in range(1, len(some) + 8, 7)]
    assert {(page.total, page.complete) for page in pages} == {(len(some), len(every))}
    found = [hit.doc for page in pages for hit in page.hits]  # many of them are of equal worth
    assert found == [hit.doc for hit in corpus.search("reef tide", limit=1000).hits]
    assert (len(found), set(found), set(found[: len(every)])) == (len(some), some, every)
    assert (pages[1].first, pages[-1].hits) == (8, [])
    assert corpus.search("?!").total == 0


def test_a_hit_shows_what_stands_around_the_first_word(tmp_path: Path, engine: SearchEngine) -> None:
    text = "word " * 100 + "needle " + "hay " * 100
    build_corpus(tmp_path / "c", [Document("d", text)], search=engine)
    hit = Corpus(tmp_path / "c").search("needle").hits[0]
    assert "needle" in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) <= 2 * AROUND + 2
    assert hit.title == ""  # it has none: what is shown in its place is the id


def test_a_document_comes_back_as_it_was(corpus: Corpus) -> None:
    for doc, text in TEXTS.items():
        assert corpus.document(doc) == Document(doc, text)
    assert corpus.document("nowhere") is None
    assert corpus.count == len(TEXTS)


def test_hits_are_called_by_their_titles_and_show_what_can_be_read(
    tmp_path: Path, engine: SearchEngine
) -> None:
    html = "<html><head><title>Reefs &amp; tides</title></head><body class=hull><p>about <b>corals</b></p></body></html>"
    documents = [
        Document("given", "Of corals Text about corals", "Of corals"),
        Document("html", html),
        Document("heading", "Corals at night\n\nThey feed, the corals."),
        Document("none", "corals and nothing else on this line"),
    ]
    build_corpus(tmp_path / "c", documents, search=engine)
    corpus = Corpus(tmp_path / "c")
    assert {hit.doc: (hit.title, hit.snippet) for hit in corpus.search("corals").hits} == {
        "given": ("Of corals", "Text about corals"),
        "html": ("Reefs & tides", "about corals"),
        "heading": ("Corals at night", "They feed, the corals."),
        "none": ("", "corals and nothing else on this line"),
    }
    assert [hit.doc for hit in corpus.search("reefs").hits] == ["html"]
    assert corpus.search("hull").hits == []  # no word that anybody can read
    assert corpus.document("given") == documents[0]


def test_threads_search_at_once(corpus: Corpus) -> None:
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(len(corpus.search("cafe").hits))) for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [2] * 10


def test_unspaced_scripts_are_indexed_by_pairs() -> None:
    assert indexed("a検索b").split() == ["a", "検索", "索", "b"]
    assert list(map(in_fts5, query_terms("検索評"))) == ['"検索 索評"']
    assert list(map(in_fts5, query_terms("検"))) == ['"検"*']
    assert list(map(in_fts5, query_terms('x "a b" x'))) == ['"x"', '"a b"']
    assert folded("ÉΣ") == folded("éς")


# ---- files


def test_a_corpus_is_read_from_every_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"_id": "j1", "title": "T", "text": "x"}) + "\n")
    (tmp_path / "b.sgml").write_text("<DOC><DOCNO> s1 </DOCNO><TEXT>some &amp; text</TEXT></DOC>\n")
    (tmp_path / "c.xml.gz").write_bytes(gzip.compress(b"<doc><docno>g1</docno>packed</doc>\n"))
    (tmp_path / "d.csv").write_text('docid,title,body\nc1,"a ""title""","two\nlines"\n\nc2,,x\n', "utf-8-sig")
    (tmp_path / "e.tsv").write_text("doc\ttext\nt1\tплан\n")
    (tmp_path / "plain-text.txt").write_bytes(b"\xef\xbb\xbfbytes \xff that are not UTF-8\n")
    documents = list(read_documents([tmp_path]))
    assert {one.doc: one.title for one in documents if one.title} == {"j1": "T", "c1": 'a "title"'}
    found = {document.doc: document.text for document in documents}
    assert found == {
        "j1": "T x", "s1": "some & text", "g1": "packed", "c1": 'a "title"\ntwo\nlines', "c2": "x", "t1": "план",
        "plain-text": "bytes \udcff that are not UTF-8\n",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "title", "read"),
    [
        ("a.html", "<!DOCTYPE html><html><head><title>Seals</title></head><body>on ice</body></html>", "Seals", "on ice"),
        ("a.HTM", "<!-- saved page --><!-- twice -->\n<html><body><h2>Seals</h2>on ice", "Seals", "Seals on ice"),
        ("a.html", "<p>on <b>i</b>ce</p><p>floes</p>", "", "on ice floes"),
        ("a.xhtml", "words <b>and</b> tags", "", "words and tags"),
        ("a.txt", "<< quoted >> a text", "", "<< quoted >> a text"),
        ("a.txt", "<p>part of a page</p>", "", "part of a page"),
        ("a.md", "<img src=x>\n# Seals\n\non ice", "", "<img src=x>\n# Seals\n\non ice"),
        ("a", "<docket> 7 is no document </docket>", "", "<docket> 7 is no document </docket>"),
    ],
)  # fmt: skip
def test_a_file_that_begins_like_markup_and_has_no_doc_element_is_one_document(
    tmp_path: Path, name: str, content: str, title: str, read: str
) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "sgml.txt").write_text("<!-- TREC -->\n<set>\n<DOC id=1><DOCNO>s</DOCNO>seals</DOC>\n</set>")
    documents = {one.doc: one for one in read_documents([tmp_path])}
    assert documents.keys() == {"a", "s"}
    found, rest = split_title(documents["a"])
    assert (found, plain(rest).split()) == (title, read.split())


@pytest.mark.parametrize(
    "beginning", ["<!--" * 20_000, "<!-- x -->" * 20_000, "<?xml?>" * 20_000, " " * 100_000]
)
def test_whether_a_text_is_html_is_known_in_no_time(beginning: str) -> None:
    begin = time.perf_counter()
    assert not is_html(beginning)
    assert not is_html(beginning + "<x")
    assert time.perf_counter() - begin < 2


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.xml",
            "<article>no document</article>",
            "a.xml: contains no <DOC>; expected TREC SGML, JSON lines",
        ),
        ("a.csv", "title,body\nx,y\n", r"a.csv:1: the columns title, body include no doc id"),
        ("a.csv", "id,body\nx\n", r"a.csv:2: 1 field in a row under 2 columns"),
        ("a.csv", 'id,body\nx,"two\nlines"\n\ny\n', r"a.csv:5: 1 field in a row under 2 columns"),
        (
            "a.csv",
            'id,body\nw,v\nx,"open\ny,z\n',
            r"a.csv:3: not a valid table row .*; expected one document",
        ),
        ("a.tsv", 'id\tbody\nx\t"a" b\n', r"a.tsv:2: not a valid table row .*; expected one document"),
        ("a.jsonl", " \n", "the file is empty; expected documents"),
        ("a.jsonl", '{"_id": "1"\n', "a.jsonl:1: not valid JSON"),
        ("a.bin", "hello", "does not start a document"),
    ],
)
def test_what_is_wrong_with_a_corpus_is_said_with_its_place(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(FormatError, match=message):
        list(read_documents([tmp_path / name]))


def test_a_folder_is_read_with_its_subfolders_and_every_name(tmp_path: Path) -> None:
    for name in ("doc000.txt", "sub/doc002.txt", "sub/README-harbour.txt", "qrels-x.txt", ".DS_Store"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a text")
    docs = [one.doc for one in read_documents([tmp_path])]
    assert docs == ["doc000", "qrels-x", "README-harbour", "doc002"]
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "doc002.html").write_text("another text")
    with pytest.raises(DataError, match="document 'doc002' stands twice"):
        build_corpus(tmp_path / "corpus.sqlite", read_documents([tmp_path]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", ""),
        ("a", " \n"),
        ("a.md", "\ufeff\n"),
        ("a.html", ""),
        ("a.htm", "<html><body> </body></html>"),
    ],
)
def test_a_document_without_a_text_is_one_and_is_told_of(tmp_path: Path, name: str, text: str) -> None:
    folder, path, said = tmp_path / "files", tmp_path / "c", list[str]()
    folder.mkdir()
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="the corpus has 1 document and no text"):
        build_corpus(path, read_documents([folder]), tell=said.append)
    (folder / "b.txt").write_text("a text")
    assert build_corpus(path, read_documents([folder]), tell=said.append) == 2
    assert said == ["without a text: 1 document of the corpus, such as 'a'"]
    found = Corpus(path).document("a")
    assert found is not None
    assert render_document(found, "whales") == ("", '<p class="faint">This document has no text.</p>')
    build_corpus(path, [Document("t", "Only a title", "Only a title")], tell=said.append)
    assert len(said) == 1  # a title can be read


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", b'{"id": "a", "text": "caf\xe9"}\n{"id": "b", "text": "caf\xc3\xa9 \xef\xbf\xbd"}\n'),
        ("a.jsonl.gz", gzip.compress(b'{"id": "a", "text": "caf\xe9"}\n', mtime=0)),
        ("a.sgml", b"<DOC><DOCNO>a</DOCNO>caf\xe9</DOC>\n"),
        ("a.csv", b"id,text\na,caf\xe9\n"),
        ("a.txt", b"caf\xe9"),
    ],
)
def test_bytes_that_are_not_utf_8_become_marks_and_are_told_of(
    tmp_path: Path, name: str, content: bytes
) -> None:
    folder, path, said = tmp_path / "files", tmp_path / "c", list[str]()
    folder.mkdir()
    (folder / name).write_bytes(content)
    (folder / "whole.txt").write_bytes(b"\xef\xbb\xbfna\xc3\xafve, with a mark of its own: \xef\xbf\xbd")
    build_corpus(path, read_documents([folder]), tell=said.append)
    [told] = said
    assert told.startswith(
        "with bytes that are no text in UTF-8: 1 document of the corpus, such as 'a'; assessors"
    )
    found = Corpus(path).document("a")
    assert found is not None
    assert found.text.strip() == "caf\ufffd"


def test_zero_bytes_are_told_of_as_well(tmp_path: Path) -> None:
    """As in UTF-16 without a mark in front, every byte of which may be UTF-8."""
    said: list[str] = []
    (tmp_path / "a.txt").write_bytes("plain words".encode("utf-16-le"))
    build_corpus(tmp_path / "c", read_documents([tmp_path / "a.txt"]), tell=said.append)
    assert [told.partition(":")[0] for told in said] == ["with bytes that are no text in UTF-8"]


def test_a_missing_file_and_a_missing_corpus_are_one_clear_error(tmp_path: Path) -> None:
    for name in ("no.csv", "no.txt", "no.jsonl"):
        with pytest.raises(FormatError, match=r"cannot (be opened|open the file)"):
            list(read_documents([tmp_path / name]))
    with pytest.raises(StoreError, match="the corpus is missing"):
        Corpus(tmp_path / "corpus.sqlite")
    (tmp_path / "corpus.sqlite").write_text("no database at all, but long enough to be looked at" * 10)
    with pytest.raises(StoreError, match="the corpus cannot be read"):
        Corpus(tmp_path / "corpus.sqlite")


def test_a_corpus_appears_whole_or_not_at_all(tmp_path: Path, engine: SearchEngine) -> None:
    path = tmp_path / "corpus.sqlite"
    with pytest.raises(DataError, match="document 'a' stands twice"):
        build_corpus(path, [Document("a", "x"), Document("a", "y")], search=engine)
    with pytest.raises(DataError, match="the corpus has no documents"):
        build_corpus(path, [], search=engine)
    with pytest.raises(DataError, match="cannot be stored"):
        build_corpus(path, [Document("a\0b", "x")], search=engine)
    assert list(tmp_path.iterdir()) == []


def test_both_engines_rank_as_bm25_does(tmp_path: Path, engine: SearchEngine) -> None:
    texts = ["tide " * 4, "tide", "tide " + "other " * 30, "other"]
    build_corpus(tmp_path / "c", [Document(f"d{n}", text) for n, text in enumerate(texts)], search=engine)
    assert [hit.doc for hit in Corpus(tmp_path / "c").search("tide").hits] == ["d0", "d1", "d2"]


def test_without_tantivy_its_index_is_asked_for_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with pytest.raises(MissingPartError, match=r"sounding\[tantivy\]"):
        build_corpus(tmp_path / "c", [Document("d", "x")], search="tantivy")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_index_is_one_clear_error(tmp_path: Path) -> None:
    require("tantivy")
    build_corpus(tmp_path / "c", [Document("d", "x")], search="tantivy")
    (tmp_path / "c.tantivy" / "meta.json").write_text("nothing")
    with pytest.raises(StoreError, match="the index cannot be read"):
        Corpus(tmp_path / "c")


def test_a_corpus_is_streamed(tmp_path: Path, engine: SearchEngine) -> None:
    """More documents than are held at once; each is let go before the next page."""
    seen: list[int] = []
    count = build_corpus(
        tmp_path / "c",
        (Document(f"d{n}", f"text number {n}") for n in range(2600)),
        seen.append,
        search=engine,
    )
    assert (count, sum(seen), max(seen)) == (2600, 2600, 500)
    assert [hit.doc for hit in Corpus(tmp_path / "c").search("2599").hits] == ["d2599"]
