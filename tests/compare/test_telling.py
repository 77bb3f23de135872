"""The relevant documents that put one run ahead of the other on a topic."""

from __future__ import annotations

from tests.compare.completing import listings_of

from sounding.compare.documents import TellingDocument, telling_documents
from sounding.data.tables import Qrels, Run
from sounding.measures import parse

QRELS = Qrels.from_dict({"1": {"a": 1, "b": 1, "c": 1, "n": 0, "d": 1}, "2": {"a": 1}})


def ranked(name: str, **topics: str) -> Run:
    """A run that ranks single letters: ranked("x", t1="abc")."""
    return Run.from_dict(
        {topic[1:]: {doc: -place for place, doc in enumerate(docs)} for topic, docs in topics.items()},
        name=name,
    )


LISTINGS = listings_of([ranked("one", t1="anub", t2="x"), ranked("two", t1="nuabc", t2="a")], QRELS)


def test_documents_ranked_higher_come_by_how_much_higher() -> None:
    found = telling_documents(parse("AP"), LISTINGS, (0, 1), 0, ahead=0)
    assert found == (TellingDocument(doc="a", rank_a=1, rank_b=3),)
    found = telling_documents(parse("AP"), LISTINGS, (0, 1), 0, ahead=1)
    assert found == (TellingDocument(doc="c", rank_a=None, rank_b=5),)


def test_what_lies_below_the_depth_is_not_there() -> None:
    found = telling_documents(parse("P@2"), LISTINGS, (0, 1), 0, ahead=0)
    assert found == (TellingDocument(doc="a", rank_a=1, rank_b=None),)
    assert telling_documents(parse("P@2"), LISTINGS, (0, 1), 0, ahead=1) == ()


def test_topics_are_told_apart_and_pairs_may_stand_the_other_way_round() -> None:
    found = telling_documents(parse("AP"), LISTINGS, (1, 0), 1, ahead=0)
    assert found == (TellingDocument(doc="a", rank_a=1, rank_b=None),)


def test_no_more_than_the_limit_are_given() -> None:
    listings = listings_of([ranked("one", t1="abcd"), ranked("two", t1="xyz")], QRELS)
    assert [one.doc for one in telling_documents(parse("AP"), listings, (0, 1), 0, ahead=0, limit=2)] == [
        "a", "b",
    ]  # fmt: skip
