"""The first screen says what the results say: who wins, how sure that is, what is missing, what to do."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.report.conftest import Gather, gathered

from sounding.cli import cli
from sounding.compare.comparison import compare
from sounding.compare.result import Comparison
from sounding.compare.sentences import what_would_decide
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.run_info import read_run_info
from sounding.report import first_screen, sentences
from sounding.report.first_screen import FirstScreen, RunOutlook, bracket_lanes, first_screens
from sounding.report.gather import report
from sounding.report.result import MissingPart, Report
from sounding.report.sections import Shown, page_of
from sounding.statistics.bootstrap import mean_intervals
from sounding.statistics.power import topics_needed

TOPICS = [str(topic) for topic in range(1, 13)]
JUDGED = {topic: {"rel": 1, "non": 0} for topic in TOPICS}


def same(*docs: str) -> dict[str, list[str]]:
    """A run that returns these documents on every topic."""
    return {topic: list(docs) for topic in TOPICS}


@pytest.fixture
def two(gather_files: Gather) -> FirstScreen:
    """`good` has the relevant document first on every topic, `bad` third, behind two that nobody judged."""
    runs = {"good": same("rel", "non"), "bad": same("u1", "u2", "rel")}
    return first_screens(gather_files(runs, JUDGED, measures=("RR@10", "P@10")))[0]


def test_a_page_about_a_run_says_what_compare_says_of_every_undecided_pair(trial: Path) -> None:
    """One function decides: `compare --for` and `report --for` name the same remedies for the same runs."""
    info = read_run_info(str(trial / "info.tsv"))
    said = 0
    for run in sorted(info):
        page = gathered(trial / "qrels.txt", [trial / "runs"], info=info, about=run, parts=("comparison",))
        known = compare(trial / "qrels.txt", trial / "runs", ["P@5", "AP"], focus=run, info=info)
        for number, screen in enumerate(first_screens(page)):
            for pair in np.flatnonzero(~known.performance_tests[number].significant).tolist():
                if known.performance_tests[number].reasons[pair] or not known.cases[number, pair]:
                    continue
                _, other = known.names(pair)
                remedy = what_would_decide(known, number, pair)
                named = re.search(rf"[;:] ([^;(]*) \({re.escape(remedy)}\)", screen.caution)
                assert named
                assert other in named[1] or " more" in named[1]
                said += 1
    assert said > 10


def test_every_measure_has_a_screen_in_the_order_asked_for(found: Report) -> None:
    assert [screen.measure for screen in first_screens(found)] == ["P@5", "AP"]


def test_the_leaderboard_has_every_run_with_its_mean_and_judged_share(found: Report) -> None:
    for number, screen in enumerate(first_screens(found)):
        order = found.scores.order([number])
        assert [one.run for one in screen.standings] == [found.scores.runs[run] for run in order]
        assert [one.value for one in screen.standings] == found.scores.mean()[order, number].tolist()
        assert [one.judged for one in screen.standings] == found.scores.judged_share()[order, number].tolist()


def test_intervals_are_corrected_for_skewness(found: Report) -> None:
    screen = first_screens(found)[1]
    for one in screen.standings:
        values = found.scores.values[[found.scores.runs.index(one.run)], 1]
        (low,), (high,) = mean_intervals(values)
        assert one.low == pytest.approx(max(low, 0.0))
        assert one.high == pytest.approx(min(high, 1.0))


@pytest.mark.parametrize(
    ("stays", "settled", "doubtful"),
    [
        (0.99, False, False),
        (0.95, None, False),
        (0.94, False, True),
        (float("nan"), None, True),
        (0.5, True, False),
    ],
)
def test_uneven_judging_makes_a_lead_doubtful_only_if_judging_may_reverse_it(
    stays: float, settled: bool | None, doubtful: bool
) -> None:
    known = sentences.Lead(
        first="a", second="b", difference=0.1, p=0.001, at_floor=False, alone=True, settled=settled,
        stays=stays, unstated="", weak=True, judged=(0.9, 0.5), complete=0,
    )  # fmt: skip
    assert known.doubtful == doubtful
    assert not replace(known, weak=False).doubtful
    assert ("a was judged more completely" in sentences.judged_unevenly(known)) == doubtful


def test_a_winner_that_was_judged_more_completely_is_not_called_one(two: FirstScreen) -> None:
    # RR is 1 against 1/3 on all 12 topics: of 2^12 sign flips two are as extreme, p = 2/4096.
    assert two.answer.startswith("good scores significantly higher than the other run")
    assert "uneven judging" in two.answer
    assert "0.667" in two.reason
    assert "p < 0.001" in two.reason
    # One of three documents of bad is judged, both of good: what is better was judged more completely.
    assert "good was judged more completely than bad" in two.reason
    assert two.tone == "likely"


def test_a_lead_that_no_judgment_can_reverse_is_sure(gather_files: Gather) -> None:
    found = gather_files({"good": same("rel"), "bad": same("non")}, JUDGED, measures=("P@1",))
    (screen,) = first_screens(found)
    assert screen.answer == "good wins: it is significantly better than the other run by P@1."
    assert screen.tone == "sure"
    assert screen.next_step.head == sentences.NOTHING
    assert "good is significantly better than bad" in screen.next_step.why
    assert not screen.caution


def test_runs_with_the_same_values_have_no_winner(gather_files: Gather) -> None:
    runs = {"b": same("rel"), "a": same("rel"), "c": same("non", "rel")}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("RR",)))
    assert screen.answer.startswith("No clear winner: 2 runs")
    assert [one.brackets for one in screen.standings] == [(1,), (1,), ()]
    assert (
        "Do not rank the 2 tied runs: with other topics their order may change. 1 other run is significantly worse than a."
        in screen.caution
    )
    assert screen.reason == "a and b have the same mean."
    assert [(one.best, one.worst) for one in screen.standings] == [(1, 2), (1, 2), (3, 3)]


def test_leaders_with_one_mean_are_compared_with_the_next_tied_run(gather_files: Gather) -> None:
    whole = same("rel", "non", "u1")
    runs = {"b": whole, "a": whole, "c": whole | {"12": ["non", "rel", "u1"]}}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("nDCG@2",)))
    shared = "a and b have the same mean. a is 0.031 ahead of c, which is not significant (p > 0.99)."
    assert screen.reason == f"{shared} All documents in their top 2 are judged."
    assert screen.next_step.head.endswith("would separate a and c.")


def test_a_bracket_holds_who_does_not_differ_significantly_from_its_best(found: Report) -> None:
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    pairs = [frozenset(comparison.names(pair)) for pair in range(len(comparison.pairs))]
    for number, screen in enumerate(first_screens(found)):
        differ = dict(zip(pairs, comparison.performance_tests[number].significant.tolist(), strict=True))
        best: dict[int, int] = {}
        for place, one in enumerate(screen.standings):
            for bracket in one.brackets:
                best.setdefault(bracket, place)
        for bracket, head in best.items():
            first, *lower = screen.standings[head:]
            tied = [one.run for one in lower if not differ[frozenset((one.run, first.run))]]
            assert tied == [one.run for one in lower if bracket in one.brackets]
        first, *lower = screen.standings
        tied = [one.run for one in lower if not differ[frozenset((one.run, first.run))]]
        assert bool(tied) == (1 in first.brackets)
        if tied:
            assert f" {len(tied) + 1} runs" in screen.answer or "No winner" in screen.answer


def test_one_run_has_nothing_to_be_compared_with(gather_files: Gather) -> None:
    found = gather_files({"alone": same("rel")}, JUDGED, measures=("RR", "P@1"))
    assert isinstance(found.comparison, MissingPart)
    screen = first_screens(found)[0]
    assert "alone" in screen.answer
    assert "1.0000" in screen.answer
    assert screen.next_step.head == sentences.ADD_A_RUN


def test_one_topic_concludes_nothing(gather_files: Gather) -> None:
    runs = {"good": {"1": ["rel"]}, "bad": {"1": ["non", "rel"]}}
    (screen,) = first_screens(gather_files(runs, {"1": {"rel": 1, "non": 0}}, measures=("RR",)))
    assert screen.answer.startswith("good has the highest RR (1.0000), but no conclusion")
    assert screen.tone == "open"
    assert not any(one.best for one in screen.standings)


@pytest.mark.parametrize("topics", [3, 5])
def test_with_fewer_than_six_topics_nothing_is_concluded(gather_files: Gather, topics: int) -> None:
    some = TOPICS[:topics]
    runs = {name: dict.fromkeys(some, order) for name, order in (("a", ["rel"]), ("b", ["non", "rel"]))}
    (screen,) = first_screens(gather_files(runs, {t: JUDGED[t] for t in some}, measures=("RR@10",)))
    assert "no conclusion" in screen.answer
    assert screen.reason.startswith("No pair can be significant at alpha 0.05")
    assert screen.next_step.head == "Use at least 6 topics."
    assert not screen.caution
    assert all(np.isnan(one.low) and not one.brackets for one in screen.standings)


def test_of_150_runs_those_that_differ_from_the_best_are_not_tied(gather_files: Gather) -> None:
    """Half of the runs have the relevant document on top, half have it nowhere."""
    runs = {
        f"run{number:03}": same("non", "x") if number % 2 else same("rel", "non") for number in range(150)
    }
    judged = {topic: {"rel": 1, "non": 0, "x": 0} for topic in TOPICS}
    (screen,) = first_screens(gather_files(runs, judged, measures=("RR@10",), parts=("comparison",)))
    assert screen.answer.startswith("No clear winner: 75 runs")
    assert [one.brackets for one in screen.standings] == [(1,)] * 75 + [(2,)] * 75


def test_too_few_runs_and_judgments_leave_the_future_unknown(gather_files: Gather) -> None:
    second = {topic: ["u1", "rel"] if number % 3 else ["rel", "u1"] for number, topic in enumerate(TOPICS)}
    (screen,) = first_screens(gather_files({"a": same("rel", "non"), "b": second}, JUDGED, measures=("AP",)))
    assert "50 judgments of the runs' documents" in screen.reason
    assert not screen.has_outlook


@pytest.mark.usefixtures("any_basis")
def test_the_chance_that_a_lead_stays_is_that_of_the_comparison(gather_files: Gather) -> None:
    second = {topic: ["u1", "rel"] if number % 3 else ["rel", "u1"] for number, topic in enumerate(TOPICS)}
    found = gather_files({"a": same("rel", "non"), "b": second}, JUDGED, measures=("AP",))
    assert isinstance(found.comparison, Comparison)
    assert found.comparison.holds is not None
    (screen,) = first_screens(found)
    stays = float(found.comparison.holds.sign[0, 0])
    shown = [int(number) for number in re.findall(r"(\d+)%", screen.reason)]
    assert shown
    assert min(abs(shown[0] - 100 * stays), abs(shown[0] - 100 * (1 - stays))) <= 1


@pytest.mark.usefixtures("any_basis")
def test_where_no_chance_is_stated_the_pairs_say_why(gather_files: Gather) -> None:
    second = {topic: ["u1", "rel"] if number % 3 else ["rel", "u1"] for number, topic in enumerate(TOPICS)}
    found = gather_files({"a": same("rel", "non"), "b": second}, JUDGED, measures=("AP",)).comparison
    assert isinstance(found, Comparison)
    assert found.holds is not None
    assert not any("not known" in said for said in sentences.pairs(found))
    declined = replace(found, holds=replace(found.holds, reason="2 runs"))
    assert sentences.holds_not_known("2 runs") in list(sentences.pairs(declined))


@pytest.mark.parametrize(
    ("stand", "of", "tone"), [(19, 20, "sure"), (18, 20, "likely"), (15, 20, "open"), (0, 0, None)]
)
def test_the_outlook_of_a_run_is_the_share_of_its_conclusions_that_stand(
    stand: int, of: int, tone: str | None
) -> None:
    assert RunOutlook(stand=stand, of=of).tone == tone


def test_conclusions_that_stand_are_counted_by_run(found: Report) -> None:
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    assert comparison.holds is not None
    for number, screen in enumerate(first_screens(found)):
        for one in screen.standings:
            chances = [
                float(comparison.holds.conclusion[number, pair])
                for pair in range(len(comparison.pairs))
                if one.run in comparison.names(pair)
            ]
            assert (one.outlook.stand, one.outlook.of) == (sum(c >= 0.95 for c in chances), len(chances))


# -- what is missing, and what to do ------------------------------------------------------------------


def test_what_is_missing_names_the_judged_share_the_pool_and_the_topics(found: Report) -> None:
    facts = {fact.label: fact for fact in first_screens(found)[0].facts}
    judged = facts["Judged in the top 5, all runs"]
    assert judged.share == pytest.approx(float(np.nanmean(found.scores.judged_share()[:, 0])))
    assert facts["Pool"].value == "4 of 8 runs, top\N{NO-BREAK SPACE}5"
    assert facts["Topics"].value.startswith("16 ")


def test_the_command_lists_as_many_documents_as_the_next_step_asks_for(
    trial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = gathered(trial / "qrels.txt", [trial / "runs"], measures=("AP",))
    (screen,) = first_screens(found)
    asked = re.match(r"Judge (\d+) documents", screen.next_step.head)
    assert asked, screen.next_step
    monkeypatch.chdir(tmp_path)
    words = shlex.split(screen.next_step.command)
    result = CliRunner().invoke(cli, words[1:])
    assert result.exit_code == 0, result.output
    judged = {tuple(line.split()[0:3:2]) for line in (trial / "qrels.txt").read_text().splitlines()}
    listed = {tuple(line.split()[0:3:2]) for line in Path("to-judge.qrels").read_text().splitlines()}
    assert len(listed - judged) == int(asked.group(1))


def test_a_report_of_tables_in_memory_has_no_command(found: Report) -> None:
    inputs = tuple(replace(one, name=f"nowhere/{one.name}") for one in found.inputs)
    assert not first_screens(replace(found, inputs=inputs))[0].next_step.command


def test_with_a_baseline_the_answer_counts_who_beats_it(gather_files: Gather) -> None:
    runs = {"base": same("non", "rel"), "good": same("rel"), "bad": same("non"), "like": same("non", "rel")}
    found = gather_files(runs, JUDGED, measures=("RR",), baselines=("base",))
    (screen,) = first_screens(found)
    assert screen.answer == "1 of 3 other runs is significantly better than base by RR."
    assert screen.reason.startswith("good is 0.500 ahead of base")
    assert {one.run: one.against for one in screen.standings} == {
        "good": "better", "base": "", "like": "tied", "bad": "worse",
    }  # fmt: skip
    assert not any(one.brackets for one in screen.standings)


def test_a_run_that_was_judged_more_completely_than_the_baseline_is_named(gather_files: Gather) -> None:
    runs = {"base": same("u1", "u2", "rel"), "good": same("rel", "non")}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("RR@10",), baselines=("base",)))
    assert "good was judged more completely than base (100% against 33%)" in screen.reason


def test_runs_that_equal_the_baseline_are_not_a_result_to_use(gather_files: Gather) -> None:
    runs = {"base": same("rel", "non"), "like": same("rel", "non"), "worse": same("non", "rel")}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("RR",), baselines=("base",)))
    assert screen.tone == "open"
    assert screen.reason == "base and like have the same mean."
    assert screen.next_step.head == sentences.ADD_TOPICS  # 12 topics cannot show that runs are equal


def test_further_baselines_are_not_counted_among_the_runs(gather_files: Gather) -> None:
    runs = {"base": same("non", "rel"), "other": same("non", "x", "rel"), "good": same("rel")}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("RR",), baselines=("base", "other")))
    assert screen.answer == "The run compared with base is significantly better by RR."


@pytest.mark.parametrize("parts", [(), ("audit",)])
def test_without_a_comparison_nothing_is_called_a_result(
    gather_files: Gather, parts: tuple[str, ...]
) -> None:
    runs = {"a": same("rel", "non"), "b": same("u1", "rel")}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("RR",), parts=parts))
    assert screen.next_step.head == sentences.RESOLVE


def test_a_doubtful_lead_is_not_to_be_used_where_documents_are_not_known(gather_files: Gather) -> None:
    runs = {"a": same("rel", "non"), "b": same("u1", "u2", "rel")}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("RR",), parts=("comparison",)))
    assert screen.next_step.head == sentences.JUDGE


def test_labels_that_are_all_relevant_are_no_uneven_judging(gather_files: Gather) -> None:
    """As with clicks: a run has more judged documents only because it has more relevant ones."""
    runs = {"good": same("rel", "x", "y"), "bad": same("x", "y", "z")}
    (screen,) = first_screens(gather_files(runs, {t: {"rel": 1} for t in TOPICS}, measures=("P@3",)))
    assert screen.answer.startswith("good wins")
    assert screen.caution == sentences.ONLY_RELEVANT
    assert not any(fact.label.startswith("Least judged") for fact in screen.facts)


def test_a_run_that_is_tied_for_first_may_be_first(found: Report) -> None:
    for screen in first_screens(found):
        assert all(one.best == 1 for one in screen.standings if 1 in one.brackets)
        assert all(one.best <= place <= one.worst for place, one in enumerate(screen.standings, 1))


def test_the_command_repeats_how_files_are_read(gather_files: Gather) -> None:
    runs = {"a": same("rel", "non"), "b": same("u1", "u2", "rel")}
    policies = Policies(duplicates="first")
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("RR",), policies=policies))
    assert "--policy duplicates=first" in screen.next_step.command


def test_judgments_that_were_cut_to_a_pool_have_no_command(trial: Path) -> None:
    info = str(trial / "info.tsv")
    found = gathered(
        trial / "qrels.txt", [trial / "runs"], info=read_run_info(info), info_files=(info,), pool_depth=2
    )
    assert not any(screen.next_step.command for screen in first_screens(found))


def test_durations_are_in_minutes_and_then_in_hours() -> None:
    assert [sentences.duration(count) for count in (1, 46, 179, 240)] == [
        "about 1 minute at 30 s each", "about 23 minutes at 30 s each", "about 90 minutes at 30 s each",
        "about 2 hours at 30 s each",
    ]  # fmt: skip


def test_names_are_listed_as_people_do() -> None:
    assert sentences.names_of(["a"]) == "a"
    assert sentences.names_of(["a", "b"]) == "a and b"
    assert sentences.names_of([*"abcdef"]) == "a, b, c and 3 more"


# -- the sections' own sentences ------------------------------------------------------------------------


def test_counts_of_pairs_are_those_of_the_comparison(found: Report) -> None:
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    (section,) = page_of(found, ("pairs",)).sections
    for number, measure in enumerate(comparison.measures):
        own = [text for text in section.sentences if text.startswith(f"{measure}: ")]
        cases = [int(np.count_nonzero(comparison.cases[number] == case)) for case in range(1, 5)]
        numbers = [int(text) for text in re.findall(r"\d+", own[0].removeprefix(str(measure)))]
        assert numbers[:3] == [cases[2] + cases[3], sum(cases), cases[3]]
    assert set(comparison.notes) <= set(section.sentences)


def test_two_runs_are_too_few_to_call_an_order_stable(gather_files: Gather) -> None:
    found = gather_files({"a": same("rel", "non"), "b": same("non", "rel")}, JUDGED, measures=("AP",))
    (section,) = page_of(found, ("depth",)).sections
    assert any("2 runs are too few" in text for text in section.sentences)


def test_of_many_topics_the_page_holds_the_first_and_the_script_the_others(gather_files: Gather) -> None:
    many = [str(topic) for topic in range(1, 71)]
    runs = {name: dict.fromkeys(many, docs) for name, docs in (("a", ["rel"]), ("b", ["non", "rel"]))}
    judged = {topic: {"rel": 1, "non": 0} for topic in many}
    found = gather_files(runs, judged, measures=("RR",), parts=("comparison",))
    (block,) = page_of(found, ("topics",)).sections[0].blocks
    assert isinstance(block, Shown)
    assert block.whole is not None
    assert (block.table.height, block.whole.height) == (50, 70)
    assert block.data.height == 70


# -- a page about one run ------------------------------------------------------------------------------


def test_a_page_about_a_run_says_what_it_beats_and_what_beats_it(gather_files: Gather) -> None:
    runs = {"best": same("rel"), "mine": same("non", "rel"), "like": same("non", "rel"), "last": same("non")}
    found = gather_files(runs, JUDGED, measures=("RR",), about="mine")
    assert isinstance(found.comparison, Comparison)
    assert len(found.comparison.pairs) == 3  # only pairs with this run are tested
    (screen,) = first_screens(found)
    assert screen.answer.startswith("mine ranks 2 of 4 by RR (0.5000).")
    for words in ("better than 1 run", "1 run is significantly better", "1 is statistically tied"):
        assert words in screen.answer
    assert "like" in screen.caution
    assert {one.run: one.against for one in screen.standings} == {
        "best": "better", "mine": "", "like": "tied", "last": "worse",
    }  # fmt: skip
    assert [one.run for one in screen.standings if one.is_reference] == ["mine"]
    ranks = {one.run: (one.best, one.worst) for one in screen.standings}
    assert ranks == {"best": (1, 1), "mine": (2, 3), "like": (2, 3), "last": (4, 4)}
    assert page_of(found).title.startswith("mine among 4 runs")


def test_a_page_about_a_run_far_down_shows_its_neighbors(gather_files: Gather) -> None:
    """Thirty runs, each with the relevant document one rank further down."""
    fillers = [f"n{number}" for number in range(30)]
    runs = {f"run{place:02}": same(*fillers[:place], "rel") for place in range(30)}
    judged = {topic: {"rel": 1, **dict.fromkeys(fillers, 0)} for topic in TOPICS}
    found = gather_files(runs, judged, measures=("RR",), about="run20", parts=("comparison",))
    (screen,) = first_screens(found)
    shown = [one.run for one in screen.standings if one.shown]
    assert shown == ["run00", "run01", "run02", *(f"run{place}" for place in range(17, 24))]
    assert "run20" in [one.run for one in screen.standings if one.on_phone]
    assert screen.answer.startswith("run20 ranks 21 of 30")
    assert screen.next_step.head == sentences.NOTHING


def test_a_run_and_baselines_are_not_both_what_a_page_is_about(trial: Path) -> None:
    with pytest.raises(DataError):
        report(trial / "qrels.txt", trial / "runs", ["P@5"], about="a", baselines=["b"])


def test_with_a_baseline_a_tied_run_may_stand_where_the_baseline_stands(found: Report, trial: Path) -> None:
    name = found.scores.runs[found.scores.order([1])[3]]
    other = gathered(trial / "qrels.txt", [trial / "runs"], baselines=(name,), parts=("comparison",))
    for screen in first_screens(other):
        place = 1 + [one.run for one in screen.standings].index(name)
        tied = [one for one in screen.standings if one.against == "tied"]
        assert all(one.best <= place <= one.worst for one in tied)
        own = screen.standings[place - 1]
        worse = sum(one.against == "worse" for one in screen.standings)
        assert own.best <= 1 + sum(one.against == "better" for one in screen.standings)
        assert own.worst >= len(screen.standings) - worse


# -- brackets, cost and topics ---------------------------------------------------------------------------


def test_brackets_that_overlap_lie_side_by_side_and_pass_who_is_not_in_them() -> None:
    lanes = bracket_lanes([[0, 1, 3], [2, 3, 4], [5, 6]])
    assert [lanes[place] for place in range(7)] == [
        ("begin", ""), ("member", ""), ("past", "begin"), ("end", "member"), ("", "end"), ("begin", ""),
        ("end", ""),
    ]  # fmt: skip


def test_judging_that_takes_more_than_a_day_is_cut_to_what_one_day_buys(
    gather_files: Gather, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each run has nine unjudged documents a topic: 216 for the pair; only 30 may be judged."""
    monkeypatch.setattr(first_screen, "MOST_DOCUMENTS", 30)
    runs = {
        name: {topic: [f"{name}{topic}{rank}" for rank in range(9)] for topic in TOPICS}
        for name in ("a", "b")
    }
    for number, topic in enumerate(TOPICS):
        runs["a" if number % 2 else "b"][topic].append("rel")
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("P@10",)))
    # The first document of both on 12 topics is 24 documents, the first two are 48.
    assert screen.next_step.head.startswith("Judge 24 documents (")
    assert "from 5% to 16%" in screen.next_step.why  # of 228 documents 12, then 36
    assert "about 2 hours" in screen.next_step.why  # for all 216
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, shlex.split(screen.next_step.command)[1:])
    assert result.exit_code == 0, result.output
    listed = {tuple(line.split()[0:3:2]) for line in Path("to-judge.qrels").read_text().splitlines()}
    judged = {tuple(line.split()[0:3:2]) for line in Path("qrels.txt").read_text().splitlines()}
    assert len(listed - judged) == 24


def test_where_even_the_first_ranks_are_too_many_a_budget_is_given(
    gather_files: Gather, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(first_screen, "MOST_DOCUMENTS", 10)
    runs = {name: {topic: [f"{name}{topic}", "rel"] for topic in TOPICS} for name in ("a", "b")}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("P@10",)))
    assert screen.next_step.head.startswith("Judge 10 documents")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, shlex.split(screen.next_step.command)[1:])
    assert result.exit_code == 0, result.output


def test_topics_needed_allow_for_the_correction(found: Report) -> None:
    comparison = found.comparison
    assert isinstance(comparison, Comparison)
    for number, screen in enumerate(first_screens(found)):
        label = sentences.to_separate(screen.standings[0].run, screen.standings[1].run)
        shown = [fact.value for fact in screen.facts if fact.label == label]
        names = {one.run for one in screen.standings[:2]}
        (pair,) = [place for place in range(28) if set(comparison.names(place)) == names]
        effect = comparison.performance_tests[number].effect[pair]
        needed = float(topics_needed(effect, alpha=0.05 / 28))
        if effect and not comparison.performance_tests[number].significant[pair]:
            assert shown == [sentences.about(needed)]


def test_more_topics_cost_the_documents_of_both_runs(gather_files: Gather) -> None:
    whole = same("rel", "non", "u1")
    runs = {"b": whole, "a": whole, "c": whole | {"12": ["non", "rel", "u1"]}}
    (screen,) = first_screens(gather_files(runs, JUDGED, measures=("nDCG@2",)))
    needed = int(screen.next_step.head.replace(",", "").split("about ")[1].split()[0])
    # Each of the 12 topics has the same two documents in the top 2 of both runs: 2 to judge in each new one.
    minutes = round((needed - 12) * 2 * 30 / 60)
    assert screen.next_step.why.startswith(f"{needed - 12} more topics of about 2 judgments would take ")
    assert minutes > 90
    assert f"about {round(minutes / 60)} hours" in screen.next_step.why


def test_topics_that_cost_more_than_a_week_are_not_asked_for(
    gather_files: Gather, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = same("rel", "non", "u1")
    runs = {"b": whole, "a": whole, "c": whole | {"12": ["non", "rel", "u1"]}}
    report = gather_files(runs, JUDGED, measures=("nDCG@2",))
    asked = first_screens(report)[0].next_step
    monkeypatch.setattr("sounding.report.first_screen.FEW_TOPICS", 12)
    documents = 2 * (int(asked.head.split("about ")[1].split()[0]) - 12)
    for most, head in ((documents + 2, asked.head), (documents - 2, sentences.tie("a", "c"))):
        monkeypatch.setattr("sounding.report.first_screen.MOST_FOR_TOPICS", most)
        step = first_screens(report)[0].next_step
        assert step.head == head
        assert asked.why.split(".")[0] in step.why  # with what it would cost


@pytest.mark.parametrize(
    ("depth", "looks", "end"), [(10, 10, "looks no deeper."), (10, 100, "down to rank 100.")]
)
def test_the_next_step_says_whether_the_measure_looks_deeper(depth: int, looks: int, end: str) -> None:
    assert sentences.judge_why(["a", "b"], depth, "M", looks).endswith(end)
    assert "M" not in sentences.judge_why(["a", "b"], 20, "M", 10)


# -- slices ---------------------------------------------------------------------------------------------


def test_slices_show_where_another_run_is_best(gather_files: Gather, tmp_path: Path) -> None:
    early = set(TOPICS[:4])
    a = {topic: ["non", "rel"] if topic in early else ["rel"] for topic in TOPICS}
    b = {topic: ["rel"] if topic in early else ["x", "non", "rel"] for topic in TOPICS}
    by = tmp_path / "groups.tsv"
    by.write_text("".join(f"{topic}\t{'early' if topic in early else 'late'}\n" for topic in TOPICS))
    found = gather_files({"a": a, "b": b}, JUDGED, measures=("RR",), by=str(by))
    (section,) = page_of(found, ("slices",)).sections
    (block,) = section.blocks
    assert isinstance(block, Shown)
    rows = {row["run"]: row for row in block.data.rows()}
    assert rows["a"]["early (4)"] == pytest.approx(0.5)
    assert rows["b"]["early (4)"] == pytest.approx(1.0)
    assert rows["a"]["late (8)"] == pytest.approx(1.0)
    assert rows["b"]["late (8)"] == pytest.approx(1 / 3)
    assert any("b in early" in note for note in block.table.notes)
    assert ("groups of topics", str(by)) in [(file.role, file.name) for file in found.inputs]


def test_a_topic_on_which_all_runs_are_equal_has_no_best_run(gather_files: Gather) -> None:
    a = {topic: ["rel"] for topic in TOPICS}
    b = {topic: ["rel"] if topic == "1" else ["non", "rel"] for topic in TOPICS}
    found = gather_files({"a": a, "b": b}, JUDGED, measures=("RR",), parts=("comparison",))
    (block,) = page_of(found, ("topics",)).sections[0].blocks
    rows = {row["topic"]: row for row in block.data.rows()}
    assert (rows["1"]["best run"], rows["1"]["worst run"]) == (None, None)
    assert (rows["2"]["best run"], rows["2"]["worst run"]) == ("a", "b")


def test_few_runs_have_no_correlations_and_no_ties(gather_files: Gather) -> None:
    runs = {name: same(*docs) for name, docs in (("a", ["rel"]), ("b", ["non", "rel"]), ("c", ["non"]))}
    found = gather_files(runs, JUDGED, measures=("AP",))
    names = {block.name for section in page_of(found).sections for block in section.blocks}
    assert not names & {"stability", "volatility", "assessment", "reinforcement", "ties"}
    assert "values" in names


def test_many_runs_have_correlations(found: Report) -> None:
    names = {block.name for section in page_of(found).sections for block in section.blocks}
    assert {"stability", "volatility", "assessment"} <= names


# -- what may not stand --------------------------------------------------------------------------------


def test_a_winner_whose_differences_may_not_stand_is_not_a_result_to_use(gather_files: Gather) -> None:
    """Five runs on 12 topics; `holds` is set by hand, so that one of four conclusions is open."""
    fillers = [f"n{number}" for number in range(9)]
    runs = {name: same(*fillers[: 2 * place], "rel") for place, name in enumerate("abcd")}
    runs["e"] = same(*(f"u{number}" for number in range(9)))  # nothing of it is judged
    judged = {topic: {"rel": 1, **dict.fromkeys(fillers, 0)} for topic in TOPICS}
    found = gather_files(runs, judged, measures=("RR",))
    assert isinstance(found.comparison, Comparison)
    assert found.comparison.holds is not None
    chances = np.ones(found.comparison.holds.conclusion.shape)
    sure, open_one = chances.copy(), chances.copy()
    (pair,) = [
        place for place in range(len(found.comparison.pairs))
        if set(found.comparison.names(place)) == {"a", "e"}
    ]  # fmt: skip
    open_one[0, pair] = 0.9
    screens = []
    for conclusion in (sure, open_one):
        held = replace(found.comparison.holds, conclusion=conclusion, sign=chances, reason="")
        screens += first_screens(replace(found, comparison=replace(found.comparison, holds=held)))
    assert [screen.tone for screen in screens] == ["sure", "likely"]
    assert [screen.caution for screen in screens] == ["", sentences.may_not_stay(1, 4)]
    assert screens[0].next_step.head == sentences.NOTHING
    assert screens[1].next_step.head.startswith("Judge ")
    assert "of a and e" in screens[1].next_step.why


def test_a_baseline_far_down_is_among_the_first_rows(gather_files: Gather) -> None:
    fillers = [f"n{number}" for number in range(30)]
    runs = {f"run{place:02}": same(*fillers[:place], "rel") for place in range(30)}
    judged = {topic: {"rel": 1, **dict.fromkeys(fillers, 0)} for topic in TOPICS}
    found = gather_files(runs, judged, measures=("RR",), baselines=("run20",), parts=("comparison",))
    (screen,) = first_screens(found)
    shown = [one.run for one in screen.standings if one.shown]
    assert shown == [*(f"run{place:02}" for place in range(9)), "run20"]
    assert "run20" in [one.run for one in screen.standings if one.on_phone]
