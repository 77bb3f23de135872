"""What is left of runs and judgments in every scenario."""

from __future__ import annotations

import numpy as np
import pytest

from sounding.calibrate.hiding import Hidden, hide, parse_scenario
from sounding.core.errors import DataError, UnknownNameError
from sounding.measures.regrading import GONE, JUDGED, Regrading, read_regrading
from sounding.runs.pool import parse_until
from sounding.sample.simulation import sample

MADE = sample(topics=6, groups=6, systems=2, documents=200, length=50, pool_depth=20, seed=1)
POOLED = np.array([one.pooled for one in MADE.info])
GROUPS = [one.group for one in MADE.info]


@pytest.fixture(scope="module")
def regrading() -> Regrading:
    return read_regrading(MADE.qrels, MADE.runs)


def hidden(regrading: Regrading, text: str, seed: int = 0, until: str = "pool:20") -> Hidden:
    return hide(
        regrading, parse_scenario(text), pooled=POOLED, groups=GROUPS, until=parse_until(until), seed=(seed,)
    )


def tops(run_numbers: list[int], depth: int) -> set[tuple[str, str]]:
    """(topic, doc) of the first documents of some runs, by the scores in their tables."""
    found = set()
    for number in run_numbers:
        frame = MADE.runs[number].frame.sort("topic", "score", "doc", descending=[False, True, True])
        for (topic,), rows in frame.group_by("topic"):
            found |= {(str(topic), doc) for doc in rows["doc"].to_list()[:depth]}
    return found


def kept(found: Hidden) -> set[tuple[str, str]]:
    frame = MADE.qrels.keep(found.states == JUDGED).frame
    return set(zip(frame["topic"].to_list(), frame["doc"].to_list(), strict=True))


def judged() -> set[tuple[str, str]]:
    frame = MADE.qrels.frame
    return set(zip(frame["topic"].to_list(), frame["doc"].to_list(), strict=True))


def test_a_pool_is_cut_to_the_first_documents_of_contributing_runs(regrading: Regrading) -> None:
    found = hidden(regrading, "pool:3")
    assert kept(found) == tops(POOLED.nonzero()[0].tolist(), 3) & judged()
    assert found.judgments == len(kept(found))
    assert found.contributing.tolist() == POOLED.tolist()


def test_a_share_of_the_groups_that_contribute_is_left_out(regrading: Regrading) -> None:
    found = hidden(regrading, "pool:5+groups:0.5")
    names = {group for group, own in zip(GROUPS, POOLED.tolist(), strict=True) if own}
    stay = {group for group, own in zip(GROUPS, found.contributing.tolist(), strict=True) if own}
    assert len(stay) == round(len(names) / 2)
    assert stay < names
    assert kept(found) == tops(found.contributing.nonzero()[0].tolist(), 5) & judged()
    assert found.pooled.tolist() == POOLED.tolist()  # they would contribute to full judging


def test_groups_alone_leave_the_pool_of_the_others_as_deep_as_full_judging(regrading: Regrading) -> None:
    found = hidden(regrading, "groups:0.5", until="pool:10")
    assert kept(found) == tops(found.contributing.nonzero()[0].tolist(), 10) & judged()


def test_one_group_always_stays(regrading: Regrading) -> None:
    found = hidden(regrading, "groups:0.99")
    assert len({GROUPS[run] for run in found.contributing.nonzero()[0]}) == 1


def test_a_sample_keeps_its_share_of_every_topic(regrading: Regrading) -> None:
    found = hidden(regrading, "sample:0.5")
    for relevant in (False, True):
        rows = (regrading.row_grade > 0) == relevant
        whole = np.bincount(regrading.row_topic[rows], minlength=6)
        left = np.bincount(regrading.row_topic[rows & (found.states == JUDGED)], minlength=6)
        assert left == pytest.approx(whole / 2, abs=0.5 if whole.min() > 20 else 10)


def test_a_sample_of_a_cut_pool_is_a_part_of_it(regrading: Regrading) -> None:
    whole, part = hidden(regrading, "pool:5"), hidden(regrading, "pool:5+sample:0.5")
    assert kept(part) < kept(whole)
    # What the pool never had is not in it; what lost its judgment is, unjudged.
    assert ((part.states == GONE) == (whole.states == GONE)).all()


@pytest.mark.parametrize("name", ["mtc", "rank", "move-to-front", "mtf"])
def test_a_strategy_spends_its_budget_on_the_pool(regrading: Regrading, name: str) -> None:
    found = hidden(regrading, f"{name}:40")
    assert found.judgments == 40
    assert kept(found) <= tops(POOLED.nonzero()[0].tolist(), 20)


def test_by_rank_the_budget_is_the_beginning_of_the_pool(regrading: Regrading) -> None:
    found = hidden(regrading, "rank:40")
    pool = POOLED.nonzero()[0].tolist()
    assert tops(pool, 1) <= kept(found) <= tops(pool, 2) | tops(pool, 3)


def test_only_some_runs_are_left_with_the_judgments_of_their_own_pool(regrading: Regrading) -> None:
    found = hidden(regrading, "runs:5", until="pool:10")
    assert len(found.regrading.runs) == 5
    assert found.regrading.runs == tuple(regrading.runs[run] for run in found.runs)
    contributing = found.runs[found.contributing].tolist()
    assert set(contributing) <= set(POOLED.nonzero()[0].tolist())
    assert kept(found) == tops(contributing, 10) & judged()


def test_the_seed_decides(regrading: Regrading) -> None:
    for text in ("groups:0.5", "sample:0.3", "runs:4"):
        one, same, *others = (kept(hidden(regrading, text, seed)) for seed in (1, 1, 2, 3, 4))
        assert one == same
        assert any(one != other for other in others)


def test_the_seed_breaks_the_ties_of_a_strategy_that_is_tried_once() -> None:
    """Runs of which each has documents of its own at the same ranks leave mtc nothing else to go by."""
    docs = [f"d{number:02}" for number in range(20)]
    runs = {name: {"1": {doc: 30.0 - rank for rank, doc in enumerate(docs[begin : begin + 10])}}
            for name, begin in (("a", 0), ("b", 10))}  # fmt: skip
    regrading = read_regrading({"1": dict.fromkeys(docs, 0)}, runs)

    def judged(seed: int) -> list[int]:
        found = hide(
            regrading, parse_scenario("mtc:5"), pooled=np.ones(2, np.bool_), groups=["a", "b"],
            until=parse_until("pool:10"), seed=(seed, 0),
        )  # fmt: skip
        return np.flatnonzero(found.states == JUDGED).tolist()

    assert judged(1) == judged(1)
    assert any(judged(seed) != judged(1) for seed in range(2, 12))


def test_chance_has_a_part_in_some_scenarios() -> None:
    assert [
        parse_scenario(text).drawn
        for text in ("pool:3", "rank:9", "mtc:9", "runs:4", "pool:3+groups:0.5", "sample:0.1")
    ] == [False, False, False, True, True, True]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("pool", "'pool' has no value; expected such as pool:10"),
        ("pool:0", "'pool:0'; expected a whole number from 1"),
        ("pool:ten", "'pool:ten'; expected a whole number from 1"),
        ("groups:1", "'groups:1'; expected a share above 0 and below 1"),
        ("sample:half", "'sample:half'; expected a share above 0 and below 1"),
        ("pool:3+pool:4", "'pool:4' repeats an earlier part"),
        ("rank:3+mtf:4", "'mtf:4' repeats an earlier part"),
    ],
)
def test_scenarios_that_are_none_are_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        parse_scenario(text)
    assert str(caught.value).startswith(f"scenario {text!r}: {problem}")
    assert "\n" not in str(caught.value)


def test_an_unknown_way_of_hiding_gets_the_nearest_name() -> None:
    with pytest.raises(
        UnknownNameError, match=r"^unknown way of hiding judgments 'smple'; did you mean sample\?$"
    ):
        parse_scenario("smple:0.5")


def test_more_runs_than_there_are_are_refused_in_one_line(regrading: Regrading) -> None:
    with pytest.raises(DataError, match=r"^scenario 'runs:13': runs:13 of 12 runs; expected 2 to 12$"):
        hidden(regrading, "runs:13")


def test_a_pool_of_nobody_cannot_be_cut(regrading: Regrading) -> None:
    with pytest.raises(DataError, match=r"^scenario 'pool:3': none of the runs contributes to a pool; list "):
        hide(
            regrading, parse_scenario("pool:3"), pooled=np.zeros(12, np.bool_), groups=GROUPS,
            until=parse_until("runs:20"),
        )  # fmt: skip
