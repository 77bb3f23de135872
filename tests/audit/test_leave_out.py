"""Leaving out: values are those of evaluating against qrels that lack the unique documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.audit.random_runs import Trial, trial
from tests.audit.test_unique import holders

from sounding.audit.coverage import coverage
from sounding.audit.judged_runs import read_judged_runs
from sounding.audit.leave_out import By, Remove, leave_out
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse_measures

MEASURES = parse_measures(["AP", "nDCG@10", "Bpref"])


def lost_with(made: Trial, by: By, name: str, remove: Remove) -> set[tuple[str, str]]:
    return {
        (topic, doc)
        for topic, judged in made.judged.items()
        for doc, grade in judged.items()
        if holders(made, by, topic, doc) == {name} and (remove == "judgments" or grade >= 1)
    }


@pytest.mark.parametrize("remove", ["relevant", "judgments"])
@pytest.mark.parametrize("by", ["run", "group"])
@pytest.mark.parametrize("seed", range(3))
def test_values_and_ranks_are_those_of_the_qrels_without_the_unique_documents(
    seed: int, by: By, remove: Remove
) -> None:
    made = trial(seed)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = leave_out(runs, MEASURES, by=by, remove=remove)
    full = evaluate(made.qrels, made.runs, MEASURES)
    pooled = [made.info[run].pooled for run in runs.runs]
    changed = 0
    for row, (run, unit) in enumerate(zip(found.runs, found.unit.tolist(), strict=True)):
        lost = lost_with(made, by, found.units[unit], remove)
        number = runs.runs.index(run)
        scores = evaluate(made.without(lost), made.runs, MEASURES)
        np.testing.assert_allclose(found.full[row], full.mean()[number], rtol=1e-12)
        np.testing.assert_allclose(found.without[row], scores.mean()[number], rtol=1e-12)
        for measure in range(len(MEASURES)):
            values = scores.mean()[:, measure]
            better = sum(values[other] > values[number] for other in range(len(values)) if pooled[other])
            assert found.rank_without[row, measure] == better + 1
        assert found.lost[row] == len(lost)
        best, after = full.values[:, 0], scores.values[:, 0]
        gone = [
            not set((best[:, t] == best[:, t].max()).nonzero()[0])
            & set((after[:, t] == after[:, t].max()).nonzero()[0])
            for t in range(len(full.topics))
        ]
        assert found.winner_changes[unit].tolist() == gone
        changed += len(lost) > 0
    assert changed
    groups = {made.info[run].group for run in runs.runs if made.info[run].pooled}
    members = [run for run in runs.runs if made.info[run].group in groups]
    assert sorted(found.runs) == (members if by == "group" else [r for r in runs.runs if made.info[r].pooled])


def test_the_ten_topics_are_those_with_most_relevant_documents() -> None:
    made = trial(5, topics=14)
    for place, topic in enumerate(made.judged):  # 14, 13, ... relevant documents more, in another order
        made.judged[topic] |= {f"more{n}": 1 for n in range((place * 5) % 14)}
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = leave_out(runs, MEASURES, by="run")
    relevant = {topic: sum(grade >= 1 for grade in own.values()) for topic, own in made.judged.items()}
    ten = sorted(relevant, key=lambda topic: -relevant[topic])[:10]
    assert min(relevant[topic] for topic in ten) > max(
        relevant[topic] for topic in relevant if topic not in ten
    )
    for row, (run, unit) in enumerate(zip(found.runs, found.unit.tolist(), strict=True)):
        lost = lost_with(made, "run", found.units[unit], "relevant")
        scores = evaluate(made.without(lost), made.runs, MEASURES)
        chosen = [scores.topics.index(topic) for topic in ten]
        expected = scores.values[runs.runs.index(run)][:, chosen].mean(axis=1)
        np.testing.assert_allclose(found.without_on_ten[row], expected, rtol=1e-12)
        assert not np.allclose(found.without_on_ten[row], found.without[row])


def test_shares_judged_are_those_without_any_unique_document() -> None:
    made = trial(4)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = leave_out(runs, MEASURES, by="group")
    for row, (run, unit) in enumerate(zip(found.runs, found.unit.tolist(), strict=True)):
        lost = lost_with(made, "group", found.units[unit], "judgments")
        reduced = read_judged_runs(made.without(lost), made.runs, info=made.info)
        expected = coverage(reduced).judged_share[runs.runs.index(run)]
        np.testing.assert_allclose(found.judged_share[row], expected, rtol=1e-12)


def test_summaries_are_over_contributing_runs_and_say_who_changed_most() -> None:
    made = trial(1)
    found = leave_out(read_judged_runs(made.qrels, made.runs, info=made.info), MEASURES, by="group")
    percent = 100 * (found.without - found.full)[found.pooled, 0] / found.full[found.pooled, 0]
    one = found.summary()
    assert one.runs == 5
    assert one.mean_percent == pytest.approx(np.abs(percent).mean())
    assert one.mean_signed == pytest.approx(percent.mean())
    assert one.median_signed == pytest.approx(np.median(percent))
    assert one.max_percent == pytest.approx(np.abs(percent).max())
    names = [run for run, own in zip(found.runs, found.pooled, strict=True) if own]
    assert one.most_changed == names[int(np.abs(percent).argmax())]
    moved = np.abs(found.rank_without - found.rank)[found.pooled, 0]
    assert one.mean_places == pytest.approx(moved.mean())
    assert one.max_places == moved.max()
    manual = found.summary(0, found.of_kind("manual"))
    assert manual.runs == sum(made.info[name].kind == "manual" for name in names)


def test_a_winner_that_shared_its_place_and_keeps_it_is_no_change() -> None:
    # Before both have AP 2/3. Without u run1 has 1 and run0 1/2; without v it is the other way round.
    made = trial(0, runs=2, topics=1)
    made.ranked["run0"] = {"9": {"a": 2, "u": 1}}
    made.ranked["run1"] = {"9": {"a": 2, "v": 1}}
    made.judged["9"] = {"a": 1, "u": 1, "v": 1}
    info = {name: replace(row, pooled=True) for name, row in made.info.items()}
    found = leave_out(read_judged_runs(made.qrels, made.runs, info=info), MEASURES, by="run")
    assert found.full[:, 0].tolist() == pytest.approx([2 / 3, 2 / 3])
    assert found.without[:, 0].tolist() == [0.5, 0.5]
    assert found.rank.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert found.rank_without[:, 0].tolist() == [2, 2]
    assert not found.winner_changes.any()


def test_a_value_of_zero_has_no_percentage() -> None:
    made = trial(0, runs=3, topics=1)
    made.ranked["run0"] = {"9": {"x": 3, "y": 2, "z": 1}}
    made.judged["9"] = {"x": 0, "y": 0, "z": 0} | dict.fromkeys(made.order("run1", "9")[:3], 1)
    found = leave_out(read_judged_runs(made.qrels, made.runs, info=made.info), MEASURES, by="run")
    assert np.isnan(found.percent()[0, 0])
    assert found.summary().most_changed == "run1"


def test_rows_stand_in_the_order_of_the_papers_figure() -> None:
    made = trial(2)
    found = leave_out(read_judged_runs(made.qrels, made.runs, info=made.info), MEASURES)
    order = found.in_papers_order()
    keys = [(abs(found.change()[row, 0]), found.lost[row]) for row in order]
    assert keys == sorted(keys)
    assert found.frame.height == len(found.runs) * 3
    row = found.frame.row(4, named=True)
    assert (row["run"], row["measure"], row["value"]) == (found.runs[1], "nDCG@10", found.full[1, 1])
