"""Which documents matter for an open pair, and how few judgments could settle it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.compare.completing import HIGHEST, Collection, draw_collection

from sounding.compare import documents
from sounding.compare.documents import what_would_settle
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.measures import parse
from sounding.measures.bounds.order import pair_bounds
from sounding.measures.listings import Listings
from sounding.runs.ranking import Ranking

PAIR = np.array([[0, 1]])
TIED = {"t": {"r": 1.0}, "u": {"r": 1.0}}


def listings_of(collection: Collection, policies: Policies | None = None) -> Listings:
    return replace(collection, lists=collection.lists[:2]).listings(policies or Policies())


def mean_difference(measure: str, rankings: list[Ranking]) -> float:
    return float((parse(measure)(rankings[0]) - parse(measure)(rankings[1])).mean())


def test_documents_of_a_sum_are_weighed_by_the_difference_of_their_ranks_weights() -> None:
    collection = Collection(
        [{"t": ["r", "x", "y"], "u": ["r"]}, {"t": ["y", "r", "z"], "u": ["w", "r"]}], TIED
    )
    found = what_would_settle(parse("RBP(p=0.5)"), listings_of(collection), (0, 1))
    rows = [(one.topic, one.doc, one.rank_a, one.rank_b) for one in found.documents]
    assert rows == [("u", "w", None, 1), ("t", "y", 3, 1), ("t", "x", 2, None), ("t", "z", None, 3)]
    weights = [one.weight for one in found.documents]
    assert weights == pytest.approx([-0.5 / 2, (0.125 - 0.5) / 2, 0.25 / 2, -0.125 / 2])
    assert found.open == 4
    assert found.difference == pytest.approx((0.5 - 0.25 + 0.5 - 0.25) / 2)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "measure", ["RBP", "DCG@3", "AP", "AP@3", "nDCG", "nDCG@3", "RR", "ERR", "Rprec", "Bpref", "R@3"]
)
def test_a_weight_is_what_the_difference_changes_by_when_that_document_alone_gets_the_best_grade(
    seed: int, measure: str
) -> None:
    collection = draw_collection(seed)
    listings = listings_of(collection)
    found = what_would_settle(parse(measure), listings, (0, 1), limit=99)
    present = mean_difference(measure, collection.rankings(collection.grades)[:2])
    assert found.difference == pytest.approx(present, abs=1e-12)
    for one in found.documents:
        grades = collection.grades | {one.topic: collection.grades[one.topic] | {one.doc: HIGHEST}}
        changed = mean_difference(measure, collection.rankings(grades)[:2])
        assert one.weight == pytest.approx(changed - present, abs=1e-12)
        for run, rank in ((0, one.rank_a), (1, one.rank_b)):
            docs = collection.lists[run][one.topic]
            assert rank == (docs.index(one.doc) + 1 if one.doc in docs else None)
    assert [abs(one.weight) for one in found.documents] == pytest.approx(
        sorted((abs(one.weight) for one in found.documents), reverse=True)
    )


@pytest.mark.parametrize("seed", range(25))
def test_no_fewer_judgments_settle_a_sum_than_the_number_given(seed: int) -> None:
    collection = draw_collection(seed, topics=1, open_docs=5, length=7)
    listings = listings_of(collection)
    for text in ("P@3", "RBP"):
        measure = parse(text)
        found = what_would_settle(measure, listings, (0, 1))
        docs = np.unique(np.concatenate([listings.unjudged(run).doc for run in (0, 1)]))
        for side, needed in ((1, found.needed_a), (-1, found.needed_b)):
            assert needed == _fewest(text, listings, docs.tolist(), side), (text, seed, side)
        assert found.least


def _fewest(text: str, listings: Listings, docs: list[int], side: int) -> int | None:
    """By trying all sets of documents with all grades: how few put run_a (1) or run_b (-1) ahead for good."""
    for number in range(len(docs) + 1):
        for chosen in itertools.combinations(docs, number):
            for grades in itertools.product((0.0, HIGHEST), repeat=number):
                judged = listings.judge(np.array(chosen, np.int32), np.array(grades))
                bounds = pair_bounds(parse(text), judged, PAIR)
                if bounds.settled[0] and bounds.lower[0] * side > 0:
                    return number
    return None


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("text", ["AP", "nDCG@3", "RR"])
def test_so_many_judgments_suffice_for_other_measures_and_one_fewer_in_that_order_does_not(
    seed: int, text: str
) -> None:
    collection = draw_collection(seed, open_docs=5, length=7)
    listings = listings_of(collection)
    measure = parse(text)
    found = what_would_settle(measure, listings, (0, 1), limit=99)
    assert not found.least

    def settled_by(number: int, side: int) -> bool:
        outcome = [(one, HIGHEST if one.weight * side > 0 else 0.0) for one in found.documents]
        grades = {topic: dict(known) for topic, known in collection.grades.items()}
        for one, grade in outcome[:number]:
            grades[one.topic][one.doc] = grade
        judged = replace(collection, lists=collection.lists[:2]).listings(grades=grades)
        bounds = pair_bounds(measure, judged, PAIR)
        return bool(bounds.settled[0]) and bounds.lower[0] * side > 0

    for side, needed in ((1, found.needed_a), (-1, found.needed_b)):
        if needed is None:
            assert not settled_by(len(found.documents), side)
        else:
            assert settled_by(needed, side)
            assert needed == 0 or not settled_by(needed - 1, side)


def test_what_is_settled_needs_no_judgment_and_says_so() -> None:
    collection = Collection([{"t": ["r"]}, {"t": ["n"]}], {"t": {"r": 1.0, "n": 0.0}})
    for measure in ("P@1", "AP"):
        found = what_would_settle(parse(measure), listings_of(collection), (0, 1))
        assert found.needed == 0
        assert str(found) == "Settled: no judgment can change the order."


def test_runs_that_always_agree_cannot_be_settled_and_that_is_said() -> None:
    collection = Collection([{"t": ["r", "x"]}, {"t": ["r", "x"]}], {"t": {"r": 1.0}})
    for measure in ("P@2", "AP"):
        found = what_would_settle(parse(measure), listings_of(collection), (0, 1))
        assert found.needed is None
        assert found.documents == ()
        assert str(found) == "Cannot be settled by judging documents of these two runs."


def test_an_open_pair_says_how_few_judgments_and_whether_fewer_might_do() -> None:
    collection = Collection([{"t": ["r", "x"]}, {"t": ["y", "r"]}], {"t": {"r": 1.0}})
    by_sum = what_would_settle(parse("P@2"), listings_of(collection), (0, 1))
    assert str(by_sum) == (
        "Open: 2 judgments would settle it if all favor run_a, 2 if all favor run_b; no fewer can."
    )
    by_ap = what_would_settle(parse("AP"), listings_of(collection), (0, 1))
    assert by_ap.sentence("x", "y") == (
        "Open: 1 judgment would settle it if all favor x, 2 if all favor y; fewer may be enough."
    )
    assert len(what_would_settle(parse("P@2"), listings_of(collection), (0, 1), limit=None).documents) == 2
    capped = what_would_settle(
        parse("P@2"), listings_of(collection, Policies(at_most="1")), (0, 1), limit=None
    )
    assert (len(capped.documents), capped.needed) == (capped.open, None)


def test_a_tie_may_be_broken_by_either_run() -> None:
    # The one unjudged document of run b settles it for b; nothing can settle it for a.
    collection = Collection([{"t": ["r"]}, {"t": ["r", "x"]}], {"t": {"r": 1.0}})
    found = what_would_settle(parse("P@2"), listings_of(collection), (0, 1))
    assert found.difference == 0
    assert (found.needed_a, found.needed_b, found.needed) == (None, 1, 1)
    assert found.sentence("a", "b") == (
        "Open: 1 judgment would settle it if all favor b, and nothing would for a; no fewer can."
    )


def test_the_run_behind_may_be_the_one_that_fewer_judgments_settle_it_for() -> None:
    # a has r and four unjudged documents, b has r and s and nothing unjudged: two relevant ones put a ahead
    # for good, and only when all but the last are known not to be can a do no more than draw level.
    collection = Collection([{"t": list("rwxyz")}, {"t": ["r", "s"]}], {"t": {"r": 1.0, "s": 1.0}})
    found = what_would_settle(parse("P@5"), listings_of(collection), (0, 1))
    assert found.difference < 0
    assert (found.needed_a, found.needed_b) == (2, 4)
    assert str(found) == (
        "Open: 2 judgments would settle it if all favor run_a, 4 if all favor run_b; no fewer can."
    )


def test_only_so_many_documents_are_named() -> None:
    collection = Collection([{"t": list("rabcd")}, {"t": list("efghr")}], {"t": {"r": 1.0}})
    found = what_would_settle(parse("DCG"), listings_of(collection), (0, 1), limit=3)
    assert len(found.documents) == 3
    assert found.open == 8
    with pytest.raises(DataError, match="-1 documents cannot be shown"):
        what_would_settle(parse("DCG"), listings_of(collection), (0, 1), limit=-1)


def test_topics_that_one_run_lacks_and_that_are_skipped_have_no_documents_that_matter() -> None:
    collection = Collection([{"t": ["x", "r"], "u": ["y"]}, {"t": ["r", "z"]}], TIED)
    for measure in ("P@2", "AP"):
        found = what_would_settle(parse(measure), listings_of(collection, Policies(missing="skip")), (0, 1))
        assert {one.topic for one in found.documents} == {"t"}


@pytest.mark.parametrize("measure", ["RBP", "AP"])
def test_under_a_cap_weights_are_the_same_and_no_number_is_given(measure: str) -> None:
    collection = Collection([{"t": ["r", "x"]}, {"t": ["y", "r"]}], {"t": {"r": 1.0}})
    free, capped = (
        what_would_settle(parse(measure), listings_of(collection, policies), (0, 1))
        for policies in (Policies(), Policies(at_most="0"))
    )
    assert free.documents == capped.documents
    assert (free.needed, capped.needed) == (1, None)
    assert str(capped).startswith("How few judgments would settle it is not known: ")


def test_documents_are_weighed_in_batches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = draw_collection(2)
    whole = what_would_settle(parse("AP"), listings_of(collection), (0, 1))
    monkeypatch.setattr(documents, "LARGEST_BATCH", 5)
    assert what_would_settle(parse("AP"), listings_of(collection), (0, 1)) == whole


def test_other_runs_documents_count_among_what_may_be_relevant() -> None:
    collection = draw_collection(6)
    listings = collection.listings()
    two = what_would_settle(parse("AP"), listings, (0, 1), limit=99)
    extra = replace(listings.pick([0, 1]), elsewhere=listings.elsewhere + 50)
    more = what_would_settle(parse("AP"), extra, (0, 1), limit=99)
    assert two.documents == more.documents
    assert more.needed is None or (two.needed is not None and more.needed >= two.needed)
