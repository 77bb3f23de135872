"""Drawn judgments: written out as qrels they give the same values by the ordinary evaluation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.measures.regrading_data import draw_qrels, draw_runs

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.measures import completions as module
from sounding.measures import parse_measures
from sounding.measures.completions import Completions, draw_completions
from sounding.measures.regrading import BY_RELEVANT_ALONE, GONE, JUDGED, Regrading, read_regrading
from sounding.relevance.model import Evidence, Features, RunWeights
from sounding.relevance.regression import logistic
from sounding.runs.topic_lists import topic_lists
from sounding.sample.simulation import sample

MEASURES = (
    "AP", "AP@10", "nDCG@5", "P@5", "RR", "RBP(p=0.8)", "ERR@10", "Rprec", "R@10", "Bpref", "Q",
    "AP(judged_only=True)", "AP(rel=2)", "BinG", "SetF",
)  # fmt: skip


def collection(seed: int, **policies: str) -> Regrading:
    return read_regrading(draw_qrels(seed), draw_runs(seed), policies=Policies(**policies))  # type: ignore[arg-type]


def drawn(regrading: Regrading, *, draws: int = 4, seed: int = 0, share: float = 0.5) -> Completions:
    """About half of the unjudged documents are considered, and half of the judgments are gone."""
    rng = np.random.default_rng([seed, 5])
    states = np.where(rng.random(len(regrading.full)) < 0.5, regrading.full, GONE).astype(np.int8)
    considered = rng.random(len(regrading.retrieved.docs)) < share
    return draw_completions(regrading, regrading.under(states), considered, draws=draws, seed=seed)


def written_out(found: Completions, draw: int, kept: Qrels) -> Qrels:
    """One draw as qrels: every document of it with its grade, and those that no run has."""
    retrieved = found.regrading.retrieved
    topic_of = np.repeat(np.arange(len(retrieved.topics)), retrieved.sizes)
    grades: dict[str, dict[str, float]] = {topic: {} for topic in retrieved.topics}
    for column, document in enumerate(found.documents.tolist()):
        topic = retrieved.topics[topic_of[document]]
        grades[topic][retrieved.docs.text(document)] = float(found.scale[found.grades[draw, column]])
    for topic, doc, grade in kept.frame.iter_rows():
        grades[topic].setdefault(doc, max(grade, 0.0))
    lowest = float(found.scale[1])
    columns = np.split(found.grades[draw], found.starts[1:-1])
    for number, topic in enumerate(retrieved.topics):
        wanted = np.count_nonzero(columns[number] == 1) + found.elsewhere[draw, number, 1]
        count = list(grades[topic].values()).count(lowest)
        grades[topic] |= {f"unseen {place}": lowest for place in range(wanted - count)}
    return replace(Qrels.from_dict(grades), highest=2.0)


@pytest.mark.parametrize(
    "policies",
    [{}, {"unjudged": "condensed"}, {"missing": "skip"}, {"ties": "file"}],
    ids=lambda chosen: " ".join(chosen.values()) or "default",
)
@pytest.mark.parametrize("seed", range(3))
def test_values_of_a_draw_are_those_of_its_judgments_written_out(
    seed: int, policies: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK", 250)  # so few that draws are looked at in several goes
    regrading = collection(seed, **policies)
    rng = np.random.default_rng([seed, 5])
    stays = rng.random(len(regrading.full)) < 0.5
    found = drawn(regrading, seed=seed)
    kept = regrading.qrels.keep(stays & (regrading.full == JUDGED))
    measures = parse_measures(MEASURES)
    values = found.values(measures)
    assert values.shape == (6, len(measures), 4, 5)
    for draw in range(found.draws):
        truth = evaluate(
            written_out(found, draw, kept), draw_runs(seed), measures, policies=regrading.policies
        )
        for number, measure in enumerate(measures):
            assert values[:, number, draw] == pytest.approx(truth.values[:, number], nan_ok=True), measure


def test_judgments_stay_and_documents_that_are_not_considered_stay_unjudged() -> None:
    regrading = collection(0)
    view = regrading.view()
    considered = np.zeros(len(regrading.retrieved.docs), np.bool_)
    considered[::3] = True
    found = draw_completions(regrading, view, considered, draws=50)
    judged = np.isfinite(view.grades)
    assert found.documents.tolist() == (judged | considered).nonzero()[0].tolist()
    known = view.grades[found.documents]
    seen = np.isfinite(known)
    assert (found.scale[found.grades[:, seen]] == known[seen]).all()
    assert 0 < found.grades[:, ~seen].mean() < 2


def test_judging_fewer_documents_leaves_the_others_unjudged() -> None:
    regrading = collection(0)
    rng = np.random.default_rng(3)
    states = np.where(rng.random(len(regrading.full)) < 0.5, regrading.full, GONE).astype(np.int8)
    view, every = regrading.under(states), np.ones(len(regrading.retrieved.docs), np.bool_)
    whole = draw_completions(regrading, view, every, draws=30)
    same = whole.narrowed(view, every)
    for name in ("documents", "grades", "elsewhere", "starts"):
        np.testing.assert_array_equal(getattr(same, name), getattr(whole, name))
    kept = rng.random(len(every)) < 0.4
    few = whole.narrowed(view, kept)
    judged = np.isfinite(view.grades)
    assert few.documents.tolist() == (judged | kept).nonzero()[0].tolist()
    place = np.searchsorted(whole.documents, few.documents)
    assert (few.grades == whole.grades[:, place]).all()
    topic = np.repeat(np.arange(len(regrading.topics)), np.diff(few.starts))
    assert (regrading.retrieved.topic[few.documents] == topic).all()
    known = whole.elsewhere[:, :, 1] - whole.unseen  # judged and in no run
    for draw, number in np.ndindex(whole.unseen.shape):
        new = [
            np.count_nonzero(one.grades[draw, np.isnan(view.grades[one.documents]) & (of == number)])
            for one, of in ((whole, regrading.retrieved.topic[whole.documents]), (few, topic))
        ]
        wanted = np.rint(whole.unseen[draw, number] * new[1] / new[0]) if new[0] else 0
        assert few.elsewhere[draw, number, 1] == known[draw, number] + wanted
    nothing = whole.narrowed(view, ~every)
    present = regrading.values(parse_measures(MEASURES[:7]), view)
    for draw in range(2):
        assert nothing.values(parse_measures(MEASURES[:7]))[:, :, draw] == pytest.approx(present, nan_ok=True)


def test_where_all_is_judged_every_draw_is_what_is_known() -> None:
    regrading = collection(1)
    nothing = np.zeros(len(regrading.retrieved.docs), np.bool_)
    found = draw_completions(regrading, regrading.view(), nothing, draws=3)
    measures = parse_measures(("AP", "nDCG@5"))
    present = regrading.values(measures, regrading.view())
    for draw in range(3):
        assert found.values(measures)[:, :, draw] == pytest.approx(present, nan_ok=True)


@pytest.mark.parametrize("name", sorted(BY_RELEVANT_ALONE))
def test_measures_that_go_by_relevant_documents_alone_do_not_change_without_the_others(name: str) -> None:
    text = {"P": "P@5", "R": "R@5", "RelP": "RelP@5", "F": "F@5", "SDCG": "SDCG@5"}.get(name, name)
    (measure,) = parse_measures([text])
    for seed in range(4):
        regrading = collection(seed)
        relevant = (regrading.row_grade > 0) & (regrading.full == JUDGED)
        fewer = regrading.under(np.where(relevant, JUDGED, GONE).astype(np.int8))
        whole, left = (regrading.values([measure], view) for view in (regrading.view(), fewer))
        assert left == pytest.approx(whole, nan_ok=True)


def test_documents_are_relevant_as_often_as_the_model_says() -> None:
    made = sample(topics=4, groups=3, systems=2, documents=200, length=40, pool_depth=5, seed=3)
    regrading = read_regrading(made.qrels, made.runs)
    considered = np.ones(len(regrading.retrieved.docs), np.bool_)
    found = draw_completions(regrading, regrading.view(), considered, draws=3000)
    lists = topic_lists(regrading.retrieved, chosen=considered)
    known = regrading.view().grades[found.documents]
    seen = np.isfinite(known)
    belief = RunWeights(Features.of(lists)).fitted(Evidence(seen.nonzero()[0], known[seen] > 0))
    odds = belief.drawn(3000, (99,))  # others than those that were used
    slices = [slice(*ends) for ends in zip(found.starts[:-1], found.starts[1:], strict=True)]
    chance = np.concatenate([logistic(odds.of_topic(own, topic)) for topic, own in enumerate(slices)])
    share = (found.grades > 0).mean(axis=0)
    assert share[~seen] == pytest.approx(chance.mean(axis=1)[~seen], abs=0.04)
    assert share[~seen].mean() == pytest.approx(chance[~seen].mean(), rel=0.1)


def test_drawn_grades_follow_the_topic() -> None:
    # Topic 0 has only documents of grade 1, topic 1 only of grade 2, both on half of the judged documents.
    runs = [
        Run.from_dict(
            {t: {f"d{n}": 60.0 - (n * step) % 61 for n in range(60)} for t in "ab"}, name=f"r{step}"
        )
        for step in (1, 7, 11)
    ]
    qrels = Qrels.from_dict(
        {
            t: {f"d{n}": float(grade * (n % 4 == 0)) for n in range(0, 60, 2)}
            for t, grade in (("a", 1), ("b", 2))
        }
    )
    regrading = read_regrading(qrels, runs)
    found = draw_completions(regrading, regrading.view(), np.ones(120, np.bool_), draws=300)
    fresh = np.isnan(regrading.view().grades[found.documents])
    for topic, own in enumerate((slice(0, 60), slice(60, 120))):
        grades = found.scale[found.grades[:, own][:, fresh[own]]]
        assert np.mean(grades[grades > 0] == topic + 1) > 0.8


def test_more_relevant_documents_that_no_run_has_come_with_more_new_ones() -> None:
    made = sample(topics=4, groups=3, systems=2, documents=200, length=40, pool_depth=5, seed=3)
    regrading = read_regrading(made.qrels, made.runs)
    found = draw_completions(
        regrading, regrading.view(), np.ones(len(regrading.retrieved.docs), np.bool_), draws=400
    )
    fresh = np.isnan(regrading.view().grades[found.documents])
    edges = zip(found.starts[:-1].tolist(), found.starts[1:].tolist(), strict=True)
    new = np.array([(found.grades[:, a:b][:, fresh[a:b]] > 0).sum(axis=1) for a, b in edges]).T
    least = found.elsewhere[:, :, 1].min(axis=0)
    more = found.elsewhere[:, :, 1] - least
    assert (more[new == 0] == 0).all()
    assert np.corrcoef(new.ravel(), more.ravel())[0, 1] > 0.1


def test_without_a_relevant_document_drawn_ones_have_the_highest_grade() -> None:
    run = Run.from_dict({"1": {"a": 3.0, "b": 2.0, "c": 1.0}}, name="run")
    regrading = read_regrading(Qrels.from_dict({"1": {"a": 0.0}}), [run])
    found = draw_completions(regrading, regrading.view(), np.ones(3, np.bool_), draws=200)
    assert found.scale.tolist() == [0.0, 1.0]
    assert 0 < found.grades[:, 1:].mean() < 0.9


def test_the_same_seed_gives_the_same_draws_and_another_others() -> None:
    regrading = collection(3)
    one, same, other = (drawn(regrading, seed=seed).grades for seed in (1, 1, 2))
    assert (one == same).all()
    assert one.shape != other.shape or (one != other).any()


def test_processes_change_nothing() -> None:
    found = drawn(collection(4))
    measures = parse_measures(["AP"])
    assert found.values(measures, processes=2) == pytest.approx(found.values(measures), nan_ok=True)


def test_too_many_documents_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_CELLS", 100)
    with pytest.raises(DataError, match=r"^judging \d+ documents of 6 runs does not fit into memory;"):
        drawn(collection(0))


@pytest.mark.parametrize(
    "measure", ["AP(norm='c')@10", "nDCG(norm='b')@10", "Q(norm='c')@10", "Q(ideal='ii')@10"]
)
def test_measures_that_look_at_the_pool_are_refused_in_one_line(measure: str) -> None:
    with pytest.raises(DataError, match=r"needs the pool depth of each judgment"):
        drawn(collection(0)).values(parse_measures([measure]))


def test_samples_are_refused_in_one_line() -> None:
    regrading = collection(0)
    sampled = replace(regrading.qrels, strata=np.ones(len(regrading.qrels.docs), np.int64))
    with pytest.raises(DataError, match=r"these judgments are a random sample; .* xinfAP"):
        drawn(replace(regrading, qrels=sampled))
