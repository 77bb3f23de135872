"""Topics from SGML, XML, tables and JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.core.errors import FormatError, SoundingError
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.topics import Topics, looks_like_topics, parse_topics, read_topics

SGML = """
<top>
<head> Tipster Topic Description
<num> Number: 301
<dom> Domain: International
<title> Topic: International
Organized &amp; other Crime

<desc> Description:
Identify x<sup>2</sup> organizations, AT&T & co.

<narr> Narrative:
A relevant document must
name one.

</top>

<top>
<num> Number: 302 </num>
<title> Polio </title>
</top>
"""


def topics_of(text: str | bytes, source: str = "file") -> Topics:
    data = text if isinstance(text, bytes) else text.encode()
    problems = Problems(source)
    topics = parse_topics(Content.from_bytes(source, data), problems)
    problems.refuse()
    return topics


def test_sgml_topics_with_open_tags_and_labels_are_read() -> None:
    topics = topics_of(SGML)
    assert topics.ids == ("301", "302")
    assert topics.titles == ("International Organized & other Crime", "Polio")
    assert topics.descriptions == ("Identify x 2 organizations, AT&T & co.", "")
    assert topics.narratives == ("A relevant document must name one.", "")


def test_a_topic_that_is_not_closed_ends_where_the_next_begins() -> None:
    topics = topics_of("<top><num>1<title>a\n<top><num>2<title>b</top>")
    assert (topics.ids, topics.titles) == (("1", "2"), ("a", "b"))


def test_xml_topics_are_read_whatever_their_elements_are_called() -> None:
    topics = topics_of(
        """<?xml version="1.0" encoding="utf-8"?>
        <topics task="x"><!-- <topic number="0"><query>no</query></topic> -->
        <topic id="x" number="1" type='a'><query>a &lt; b</query><description>D</description>
          <subtopic number="1" type="inf">other</subtopic></topic>
        <topic id='2'><title><![CDATA[<i> & j]]></title><question>Q</question><narrative>N</narrative></topic>
        <topic><number>3</number><EN-title>c</EN-title></topic>
        </topics>"""
    )
    assert topics.ids == ("1", "2", "3")
    assert topics.titles == ("a < b", "<i> & j", "c")
    assert topics.descriptions == ("D", "Q", "")
    assert topics.narratives == ("", "N", "")


def test_tables_hold_an_id_and_a_text() -> None:
    topics = topics_of('# queries\n001\tsay "hi\n\n  \nq.2\tmore \ttext\r\n')
    assert topics.ids == ("001", "q.2")
    assert topics.titles == ('say "hi', "more text")


@pytest.mark.parametrize(
    "text",
    [
        "topic\ttitle\n1\ta\n",
        "Query-ID\tquery\n1\ta\n",
        "text\tqid\textra\na\t1\tx\n",
        '{"_id": "1", "text": "a", "metadata": {}}\n',
        '{"query_id": 1, "query": "a"}\n',
        '{"query": "1", "title": "a"}\n',
    ],
)
def test_names_of_columns_and_members_are_understood(text: str) -> None:
    topics = topics_of(text)
    assert (topics.ids, topics.titles) == (("1",), ("a",))


def test_csv_topics_may_be_quoted() -> None:
    topics = topics_of('id,query,narrative\n1,"a, b",n\n', "topics.csv")
    assert (topics.titles, topics.narratives) == (("a, b",), ("n",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<top>\n<num> 1\n<title> a\n</top>\n<top>\n<title> b\n</top>", "file:5: the topic has no id"),
        ("<top><num> 1 <title> a </top>\n<top><num>1<title>b</top>", "file:2: topic '1' is already in"),
        ("<top><num> 1 2 <title> a </top>", "file:1: topic id '1 2' contains blanks; expected one word"),
        ("<top><num> 1 </top>", "file:1: topic '1' has no text"),
        ("\n<top><num> 1 <title> a", "file:2: the element <top> is not closed; expected </top>"),
        ('<topic\nnumber="1"><title>a', "file:1: the element <topic> is not closed; expected </topic>"),
        ("<html><p>x</p></html>", "file:1: no <top> or <topic> element"),
        ("1\ta\n2 b\n", "file:2: '2 b'; expected 2 fields"),
        ("1\ta\n2\t\n", "file:2: '2'; expected 2 fields"),
        ("1\ta\n1\tb\n", "file:2: topic '1' is already in line 1"),
        ('{"_id": "1", "text": "a"}\n{"_id": "2"}\n', "file:2: members '_id'; expected an id and a text"),
        ('{"_id": "1", "text": 7}\n', "file:1: the title is the number 7; expected a text"),
        ('{"_id": null, "text": "x"}\n', "file:1: the id is null; expected a text"),
        ('{"_id": "1",\n', "file:1: not valid JSON"),
        ("# nothing\n", "file:1: no topics; expected <top> elements"),
        ("1\ta\r2\tb\r", "file:1: carriage return inside a line; expected line ends LF or CR LF"),
        (b"1\ta\n2\t\xe9\n", "file:2: byte 0xe9 is not UTF-8"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(text: str | bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        topics_of(text)


def test_topics_are_a_frame() -> None:
    frame = topics_of(SGML).frame
    assert frame.columns == ["topic", "title", "description", "narrative"]
    assert frame["topic"].to_list() == ["301", "302"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SGML, True),
        ("1\tsome words\n", True),
        ("topic\ttitle\tnarrative\n", True),
        ('{"_id": "1", "text": "a"}\n', True),
        ('{"topic": "1", "doc": "a", "score": 1}\n', False),
        ('{"1": {"a": 1}}', False),
        ("1 Q0 a 1 2.5 x\n", False),
        ("1\t0\ta\t1\n", False),
        ("query-id\tcorpus-id\tscore\n1\ta\t1\n", False),
        ("qid,query,doc\n", False),
    ],
)
def test_topics_are_told_from_runs_and_judgments(text: str, expected: bool) -> None:
    assert looks_like_topics(Content.from_bytes("file", text.encode())) is expected


def test_the_queries_of_cranfield_are_read(collections: Path) -> None:
    topics = read_topics(collections / "cranfield" / "cran.qry.xml")
    assert len(topics.ids) == 225
    assert topics.ids[:4] == ("1", "2", "4", "8")
    assert topics.titles[2] == "what problems of heat conduction in composite slabs have been solved so far ."


SEEDS = [
    SGML,
    '<topics><topic number="1"><query>a</query></topic></topics>',
    "1\ta\n2\tb\n",
    '{"_id": "1", "text": "a"}\n{"_id": "2", "text": "b"}\n',
]
PIECES = [
    "",
    "<",
    ">",
    "</top>",
    "<top>",
    "<num>",
    "<!--",
    "<![CDATA[",
    "&#xD800;",
    '"',
    "\t",
    "\n",
    "\0",
    "{",
    "é",
]


def outcome(data: bytes) -> str:
    """The one error that reading gives, or nothing."""
    try:
        topics_of(data)
    except SoundingError as error:
        return str(error)
    return ""


@given(st.data())
def test_a_mutated_file_gives_a_result_or_one_clear_error(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        at, cut = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 6))
        text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[at + cut :]
    assert "\n" not in outcome(text.encode())
