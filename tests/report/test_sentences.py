"""The sentences say what the results say."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.report.conftest import Gather

from sounding.compare.holds import NEIGHBORS
from sounding.compare.result import Comparison
from sounding.core.text import plural
from sounding.depth.intervals import pair_over_depth
from sounding.report.result import MissingPart, Report
from sounding.report.sentences import ABOUT, listed, summary
from sounding.statistics.pairwise import Procedure

TOPICS = [str(topic) for topic in range(1, 13)]


def told(found: Report, about: str) -> list[str]:
    return summary(found)[about]


@pytest.fixture
def two(gather_files: Gather) -> Report:
    """`good` has the relevant document first on every topic, `bad` third, behind two that nobody judged."""
    good = {topic: ["rel", "non"] for topic in TOPICS}
    bad = {topic: ["u1", "u2", "rel"] for topic in TOPICS}
    judged = {topic: {"rel": 1, "non": 0} for topic in TOPICS}
    return gather_files({"good": good, "bad": bad}, judged, measures=("RR@10", "P@10"))


def test_sentences_come_in_the_order_of_their_headings(found: Report) -> None:
    sentences = summary(found)
    assert list(sentences) == list(ABOUT)
    assert all(sentences.values())


def test_the_best_run_is_named_with_its_mean_and_the_next(two: Report) -> None:
    best = told(two, "best")
    # RR is 1 for good, and 1/3 for bad with two unjudged documents before the relevant one.
    assert best[0] == (
        "By RR@10, good is best of 2 runs: its mean over 12 topics is 1.0000, that of the next, bad, 0.3333."
    )
    # Twelve times the same difference: of 2^12 sign flips two are as extreme, and the case is weak, for
    # both documents of good were judged and one of three of bad.
    assert "significant" in best[1]
    # P@10 is 0.1 for both: none is best.
    assert any("P@10" in text and "bad and good" in text and "0.1000" in text for text in best)


def test_a_value_that_no_judgment_can_change_is_said_to_stay(gather_files: Gather) -> None:
    judged = {topic: {"rel": 1, "non": 0} for topic in TOPICS}
    known = {topic: ["rel", "non"] for topic in TOPICS}
    found = gather_files({"a": known, "b": {topic: ["new"] for topic in TOPICS}}, judged, measures=("P@1",))
    assert (
        "Whatever the unjudged documents that these runs retrieved are, that value of a stays what it is."
        in told(found, "best")
    )


def test_runs_that_share_the_best_mean_are_all_named(gather_files: Gather) -> None:
    same = {topic: ["rel"] for topic in TOPICS}
    other = {topic: ["non", "rel"] for topic in TOPICS}
    judged = {topic: {"rel": 1, "non": 0} for topic in TOPICS}
    found = gather_files({"b": same, "a": same, "c": other}, judged, measures=("RR",))
    assert told(found, "best")[0] == "By RR, a and b share the best mean, 1.0000, over 12 topics."


def test_counts_of_trusted_and_doubtful_pairs_are_those_of_the_comparison(found: Report) -> None:
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    trusted, doubtful = told(found, "trusted"), told(found, "doubtful")
    for number, measure in enumerate(comparison.measures):
        cases = [int(np.count_nonzero(comparison.cases[number] == case)) for case in range(5)]
        settled = [comparison.settled(number, pair) for pair in range(len(comparison.pairs))]
        firm = sum(bool(known) and comparison.cases[number, pair] == 3 for pair, known in enumerate(settled))
        pairs = sum(cases[1:])
        assert all(cases[1:]), "the collection was chosen to have them all"
        (sentence,) = [text for text in trusted if text.startswith(f"By {measure}, ")]
        numbers = [int(text) for text in re.findall(r"\d+", sentence.removeprefix(f"By {measure}"))]
        assert numbers == [cases[3] + cases[4], pairs, cases[3], 3, firm]
        weak = [text for text in doubtful if text.startswith(f"By {measure}, ") and " weak" in text]
        assert bool(weak) == bool(cases[2] + cases[4])
        if weak:
            assert f"{cases[2] + cases[4]} conclusion" in weak[0]
        if settled.count(False):
            assert (
                f"By {measure}, judging the unjudged documents could turn {plural(settled.count(False), 'pair')} round."
                in doubtful
            )
    assert set(comparison.notes) <= set(doubtful)


def test_the_collection_is_said_to_be_fit_for_what_the_audit_says(found: Report) -> None:
    depth = told(found, "depth")
    claims = [one for one in found.statements if one.answer != "note"]
    assert [text.split(".")[0] for text in depth[: len(claims)]] == [
        f"{one.claim}: {one.answer}".split(".")[0] for one in claims
    ]
    assert "The order of the runs is stable by P " in depth[-1]


def test_advice_is_counted_over_all_pairs_by_the_first_measure(found: Report) -> None:
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    first = told(found, "next")[0]
    assert first.startswith(f"Advice for {len(comparison.pairs)} pairs by P@5, each by itself: ")
    assert sum(map(int, re.findall(r"\((\d+)\)", first))) == len(comparison.pairs)


def test_one_run_is_described_and_nothing_is_compared(gather_files: Gather) -> None:
    judged = {topic: {"rel": 1, "non": 0} for topic in TOPICS}
    found = gather_files({"alone": {topic: ["rel"] for topic in TOPICS}}, judged, measures=("RR", "P@1"))
    assert told(found, "best")[0] == "There is one run, alone: RR 1.0000 and P@1 1.0000."
    assert told(found, "trusted") == ["Nothing was compared. There is one run, and a comparison needs two."]
    assert told(found, "next") == ["Give a second run, so that there is something to compare."]
    assert isinstance(found.comparison, MissingPart)


def test_one_topic_is_not_enough_for_a_test_and_the_summary_says_so(gather_files: Gather) -> None:
    found = gather_files(
        {"good": {"1": ["rel"]}, "bad": {"1": ["non", "rel"]}}, {"1": {"rel": 1, "non": 0}}, measures=("RR",)
    )
    assert isinstance(found.comparison, MissingPart)
    assert told(found, "best")[0].startswith("By RR, good is best of 2 runs: its mean over 1 topic is 1.0000")
    assert told(found, "trusted")[0].startswith("Nothing was compared. ")
    assert told(found, "next") == [
        "Give more topics, or other measures, so that there is something to compare."
    ]


def test_long_lists_of_names_are_cut() -> None:
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed([*"abcdef"]) == "a, b, c, d and 2 more"


def test_chances_that_conclusions_hold_are_counted(found: Report) -> None:
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    assert comparison.holds is not None
    assert told(found, "trusted").count(NEIGHBORS) == 1
    for number, measure in enumerate(comparison.measures):
        start = f"Of paired t tests by {measure},"
        (sentence,) = [text for text in told(found, "trusted") if text.startswith(start)]
        sure = np.count_nonzero(comparison.holds.conclusion[number] >= 0.95)
        pairs = len(comparison.pairs)
        assert f" {sure:,} of {pairs:,} conclusions would hold with a chance of 0.95 or more" in sentence
        assert sentence.endswith("were the first 100 documents of every run judged.")


@pytest.mark.usefixtures("any_basis")
def test_the_chance_that_a_lead_holds_is_told(gather_files: Gather) -> None:
    first = {topic: ["rel", "non"] for topic in TOPICS}
    second = {topic: ["u1", "rel"] if number % 3 else ["rel", "u1"] for number, topic in enumerate(TOPICS)}
    qrels = {topic: {"rel": 1, "non": 0} for topic in TOPICS}
    found = gather_files({"first": first, "second": second}, qrels, measures=("AP",))
    (lead,) = [text for text in told(found, "best") if text.startswith("What is probable: a paired t test")]
    assert " once the first 100 documents of every run are judged is " in lead
    assert " would probably be ahead then" in lead


def test_too_few_runs_and_judgments_are_said_once_and_no_chance_is_told(gather_files: Gather) -> None:
    first = {topic: ["rel", "non"] for topic in TOPICS}
    second = {topic: ["u1", "rel"] if number % 3 else ["rel", "u1"] for number, topic in enumerate(TOPICS)}
    qrels = {topic: {"rel": 1, "non": 0} for topic in TOPICS}
    found = gather_files({"first": first, "second": second}, qrels, measures=("AP",))
    assert not [text for text in told(found, "best") if "probab" in text]
    (said,) = [text for text in told(found, "trusted") if "5 runs and 100 judgments" in text]
    assert f"2 runs and {2 * len(TOPICS)} judgments" in said
    assert not [text for text in told(found, "trusted") if "paired t tests" in text]
    assert NEIGHBORS not in told(found, "trusted")


def test_the_summary_begins_with_three_sentences(found: Report) -> None:
    best, fit, step = told(found, "short")
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    assert all(text in best for text in ("P@5", "auk-1", "auk-2", "share the best mean"))
    for one in found.statements:
        assert (f"{one.claim[1:]}: {one.answer}" in fit) == (one.answer != "note")
    assert step.startswith("What to do next: ")
    assert step.endswith(f" of {len(comparison.pairs)} pairs by P@5.")


def test_a_lead_that_is_weak_is_said_to_be_so_first_of_all(two: Report) -> None:
    # bad has its unjudged documents before the relevant one: they could make its RR 1 as well, no more.
    assert told(two, "short")[0].startswith(
        "By RR@10, good is best of 2 runs, but its significant lead over bad"
    )
    comparison = two.comparison
    assert isinstance(comparison, Comparison)
    assert comparison.cases[0, 0] == 4


def test_a_lead_is_trusted_where_it_is_significant_strong_and_settled(gather_files: Gather) -> None:
    judged = {topic: {"rel": 1, "non": 0} for topic in TOPICS}
    runs = {"good": {topic: ["rel"] for topic in TOPICS}, "bad": {topic: ["non"] for topic in TOPICS}}
    assert told(gather_files(runs, judged, measures=("P@1",)), "short")[0] == (
        "By P@1, good is best of 2 runs, and that can be trusted: its lead over bad is significant, strong and"
        " settled."
    )


def test_one_run_has_a_short_summary_too(gather_files: Gather) -> None:
    judged = {topic: {"rel": 1, "non": 0} for topic in TOPICS}
    found = gather_files({"alone": {topic: ["rel"] for topic in TOPICS}}, judged, measures=("P@1",))
    assert told(found, "short")[0] == "There is one run, alone, and nothing to compare it with."


@pytest.mark.parametrize("topics", [3, 5])
def test_with_fewer_than_six_topics_the_first_sentence_says_that_nothing_can_be_concluded(
    gather_files: Gather, topics: int
) -> None:
    some = TOPICS[:topics]
    runs = {name: dict.fromkeys(some, order) for name, order in (("a", ["rel"]), ("b", ["non", "rel"]))}
    found = gather_files(runs, {topic: {"rel": 1, "non": 0} for topic in some}, measures=("RR@10",))
    texts = [text for about in summary(found).values() for text in about]
    assert "No pair can be significant" in texts[0]
    assert "6 topics" in texts[0]
    for claim in ("no difference was found", "No significant difference", "not significant", "differ signif"):
        assert not [text for text in texts if claim in text], claim
    assert "add topics (1)" in told(found, "next")[0]


def test_of_150_runs_the_ones_that_differ_from_the_best_are_not_called_alike(gather_files: Gather) -> None:
    """Half of the runs have the relevant document on top, half have it nowhere."""
    good = {topic: ["rel", "non"] for topic in TOPICS}
    bad = {topic: ["non", "other"] for topic in TOPICS}
    runs = {f"run{number:03}": bad if number % 2 else good for number in range(150)}
    judged = {topic: {"rel": 1, "non": 0, "other": 0} for topic in TOPICS}
    found = gather_files(runs, judged, measures=("RR@10",), parts=("comparison",))
    assert isinstance(found.comparison, Comparison)
    assert int(found.comparison.significant.sum()) == 75 * 75
    (alike,) = [text for text in told(found, "doubtful") if "no difference was found" in text]
    assert f"{2 * 75 * 74 // 2:,} pairs" in alike


def test_runs_with_the_same_lists_are_settled_and_none_is_best(gather_files: Gather) -> None:
    same = {topic: ["rel", "u1", "non", "u2"] for topic in TOPICS}
    judged = {topic: {"rel": 1, "non": 0, "rel2": 1} for topic in TOPICS}
    measures = ("AP", "nDCG@10", "P@10")
    found = gather_files({"a": same, "b": dict(same)}, judged, measures=measures)
    assert isinstance(found.comparison, Comparison)
    assert [found.comparison.settled(number, 0) for number in range(3)] == [True, True, True]
    assert not any("could turn" in text for text in told(found, "doubtful"))
    assert not any("is best" in text for text in told(found, "best"))
    assert not any("add topics" in text for text in [*told(found, "short"), *told(found, "next")])
    assert any("1 of 1 pair without" in text for text in told(found, "doubtful"))


def test_runs_that_find_nothing_are_not_told_to_differ(gather_files: Gather) -> None:
    judged = {topic: {"non": 0, "elsewhere": 1} for topic in TOPICS}
    runs = {"a": {topic: ["non", "u1"] for topic in TOPICS}, "b": {topic: ["non", "u2"] for topic in TOPICS}}
    found = gather_files(runs, judged, measures=("P@5", "RR", "P@10"))
    assert not any("is best" in text for text in told(found, "best"))
    assert not any("add topics" in text for text in told(found, "short"))


def test_two_runs_are_too_few_to_call_an_order_stable(two: Report) -> None:
    assert not any("is stable by" in text for text in told(two, "depth"))
    assert any("2 runs are too few" in text for text in told(two, "depth"))


def test_a_pair_over_depth_has_no_case_with_fewer_than_six_topics() -> None:
    rng = np.random.default_rng(0)
    for topics, cased in ((3, False), (12, True)):
        values, shares = rng.random((2, 1, 2, topics))
        found = pair_over_depth(("a", "b"), "P", values, shares, [5], Procedure(test="t"))
        assert bool(found.cases.any()) == cased
