"""One more run in the pool: whose judged share rises, by hand and by evaluating with other judgments."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from tests.audit.random_runs import Trial, trial

from sounding.audit.added import OneMorePooled, added_runs
from sounding.audit.judged_runs import read_judged_runs
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate


def small() -> OneMorePooled:
    """Two groups; the pool is the first two documents of a1 and b1."""
    lists = {"a1": "d1 d2 d3", "a2": "d2 d4 d1", "b1": "d5 d6 d1"}
    runs = [
        Run.from_dict({"1": {doc: -place for place, doc in enumerate(docs.split())}}, name=name)
        for name, docs in lists.items()
    ]
    info = {
        name: RunInfo(run=name, group=name[0], kind="automatic", priority=1, pooled=name != "a2")
        for name in lists
    }
    qrels = Qrels.from_dict({"1": {"d1": 1, "d2": 0, "d5": 0, "d6": 0}})
    return added_runs(read_judged_runs(qrels, runs, info=info))


def test_a_pooled_run_raises_its_family_by_hand() -> None:
    found = small()
    assert (found.depth, found.ks) == (2, (2, 3))
    # a1 alone brought d1 and d2, which a2 has within its first three, and b1 d1. b1 alone brought d5 and d6.
    # a2 would bring d4, which nobody else has. The fusion has d1, d2, d5 first: nothing new.
    rise = np.round(3 * found.rise[1]).tolist()
    assert rise == [[2, 2, 1, 2], [0, 1, 0, 0], [0, 0, 2, 1], [0, 0, 0, 0]]
    assert np.allclose(3 * found.rise[1], rise)
    assert found.documents.tolist() == [2, 1, 2, 0]
    assert found.raised()[1, 0] == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    assert found.raised()[1, 1] == pytest.approx([1 / 3, 0, 0])
    assert np.isnan(found.raised()[1, 2, 1])  # b1 has no other run in its group
    assert found.assessment[1] == pytest.approx([2 / 3, 2 / 3, 1, 1])
    row = found.frame.filter(run="a1", k=3).row(0, named=True)
    assert (row["most_raised"], row["same_group"]) == ("b1", pytest.approx(2 / 3))
    assert found.frame.filter(run="a2", k=3)["most_raised"].to_list() == [None]


def fused(made: Trial, topic: str, depth: int) -> list[str]:
    """The documents of the pooled runs by reciprocal-rank fusion, equal ones by document id."""
    sums: dict[str, float] = defaultdict(float)
    for run, row in made.info.items():
        for place, doc in enumerate(made.order(run, topic), 1) if row.pooled else ():
            sums[doc] += 1 / (60 + place)
    return sorted(sums, key=lambda doc: (-round(sums[doc], 12), doc))[:depth]


@pytest.mark.parametrize("seed", range(3))
def test_rises_are_those_of_assessment_with_other_judgments(seed: int) -> None:
    made = trial(seed)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = added_runs(runs)
    depth, k = runs.reach, found.ks[-1]
    pooled = [run for run, row in made.info.items() if row.pooled]
    lists = {run: {topic: made.order(run, topic) for topic in made.judged} for run in made.info}
    lists["fusion"] = {topic: fused(made, topic, runs.retrieved.depth) for topic in made.judged}
    everyone = [
        Run.from_dict({topic: {doc: -place for place, doc in enumerate(docs)} for topic, docs in own.items()}, name=run)
        for run, own in lists.items()
    ]  # fmt: skip

    def judged_share(judged: dict[str, set[str]]) -> list[float]:
        grades = {topic: dict.fromkeys(docs, 1) for topic, docs in judged.items()}
        return evaluate(Qrels.from_dict(grades), everyone, [f"A_p@{k}"]).mean()[:, 0].tolist()

    now = {topic: set(own) for topic, own in made.judged.items()}
    for row, added in enumerate(lists):
        top = {topic: set(docs[:depth]) for topic, docs in lists[added].items()}
        if added in pooled:
            others = {t: {d for run in pooled if run != added for d in lists[run][t][:depth]} for t in now}
            before, after = {t: own - (top[t] - others[t]) for t, own in now.items()}, now
        else:
            before, after = now, {t: own | top[t] for t, own in now.items()}
        expected = np.array(judged_share(after)) - np.array(judged_share(before))
        np.testing.assert_allclose(found.rise[-1, row], expected, atol=1e-12)
        assert found.documents[row] == pytest.approx(sum(len(after[t] - before[t]) for t in now) / len(now))
    np.testing.assert_allclose(found.assessment[-1], judged_share(now), atol=1e-12)


def test_a_copy_of_a_pooled_run_adds_nothing_and_a_group_may_be_reported_alone() -> None:
    made = trial(1)
    copy = Run.from_dict(made.ranked["run0"], name="copy")
    runs = read_judged_runs(made.qrels, made.runs, new=[copy], info=made.info)
    found = added_runs(runs)
    assert found.pooled[-2:] == ("new", "fusion")
    assert not found.rise[:, runs.runs.index("copy")].any()
    some = found.of_runs({"run0"})
    assert some.frame["run"].to_list() == ["run0", "fusion"] * len(found.ks)
    same = found.frame.filter(run="run0").rows()
    assert some.frame.filter(run="run0").rows() == same
