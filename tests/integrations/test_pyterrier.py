"""PyTerrier's experiments with our tests and judged shares; its folders and frames are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from tests.conftest import require

from sounding import compare, evaluate
from sounding.core.errors import DataError
from sounding.data.finding import find_runs
from sounding.statistics.pairwise import Procedure

pt = require("pyterrier")
ours = pytest.importorskip("sounding.integrations.pyterrier")

NAMES = ("auk", "bittern", "coot")
TOPICS = 12


def run_of(seed: int) -> pandas.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (str(topic), "text", f"d{doc}", 30.0 - rank, rank)
        for topic in range(TOPICS)
        for rank, doc in enumerate(rng.permutation(40)[: 30 - 3 * seed])
    ]
    return pandas.DataFrame(rows, columns=["qid", "query", "docno", "score", "rank"])


@pytest.fixture(scope="module")
def systems() -> dict[str, pandas.DataFrame]:
    return {name: run_of(seed) for seed, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def topics() -> pandas.DataFrame:
    return pandas.DataFrame({"qid": [str(topic) for topic in range(TOPICS)], "query": "text"})


@pytest.fixture(scope="module")
def qrels() -> pandas.DataFrame:
    rng = np.random.default_rng(5)
    rows = [(str(t), f"d{d}", int(rng.random() < 0.4)) for t in range(TOPICS) for d in range(25)]
    return pandas.DataFrame(rows, columns=["qid", "docno", "label"])


def test_the_table_has_the_values_shares_and_adjusted_p_values_of_compare(
    systems: Any, topics: Any, qrels: Any
) -> None:
    metrics = ["map", pt.measures.nDCG @ 10]
    scores = evaluate(qrels, systems, ["AP", "nDCG@10"])
    against = compare(qrels, systems, ["AP", "nDCG@10"], baselines="auk")
    found = ours.experiment(systems, topics, qrels, metrics, baseline="auk")
    theirs = pt.Experiment(systems, topics, qrels, metrics, baseline="auk")
    for number, name in enumerate(["map", "nDCG@10"]):
        assert found[name].tolist() == scores.mean()[:, number].tolist()
        assert found[f"{name} judged"].tolist() == scores.judged_share()[:, number].tolist()
        tests = against.performance_tests[number]
        assert found[f"{name} p-value"].tolist()[1:] == tests.p_adjusted.tolist()
        assert np.isnan(found[f"{name} p-value"][0])
        assert found[name].to_numpy() == pytest.approx(theirs[name].to_numpy())
        for sign in "+-":
            assert found[f"{name} {sign}"].tolist()[1:] == theirs[f"{name} {sign}"].tolist()[1:]
    assert list(found["name"]) == list(NAMES)


def test_without_a_baseline_each_system_is_compared_with_the_best(
    systems: Any, topics: Any, qrels: Any
) -> None:
    found = ours.experiment(list(systems.values()), topics, qrels, ["P@5"], list(NAMES))
    best = int(np.argmax(found["P@5"]))
    comparison = compare(qrels, systems, ["P@5"])
    expected = np.full(len(NAMES), np.nan)
    for (a, b), p in zip(
        comparison.pairs.tolist(), comparison.performance_tests[0].p_adjusted.tolist(), strict=True
    ):
        if best in (a, b):
            expected[b if a == best else a] = p
    np.testing.assert_array_equal(found["P@5 p-value to best"], expected)
    by_topic = ours.experiment(systems, topics, qrels, ["P@5"], perquery=True)
    frame = evaluate(qrels, systems, "P@5").frame
    assert by_topic.sort_values(["name", "qid"])["value"].tolist() == frame["value"].to_list()


def test_transformers_in_batches_and_saved_folders_give_the_same(
    systems: Any, topics: Any, qrels: Any, tmp_path: Path
) -> None:
    require("lz4")
    alive = {name: pt.Transformer.from_df(frame) for name, frame in systems.items()}
    found = ours.experiment(alive, topics, qrels, ["map"], baseline=0, batch_size=5)
    pandas.testing.assert_frame_equal(found, ours.experiment(systems, topics, qrels, ["map"], baseline=0))
    theirs = pt.Experiment(alive, topics, qrels, ["map"], save_dir=str(tmp_path), perquery=True)
    assert sorted(Path(file).name for file in find_runs(tmp_path)) == [f"{name}.res.gz" for name in NAMES]
    values = evaluate(qrels, tmp_path, "AP")
    assert values.runs == NAMES
    np.testing.assert_array_equal(values.values, evaluate(qrels, systems, "AP").values)
    for given in (theirs, str(tmp_path), tmp_path / "perquery.csv"):
        again = ours.compare_perquery(given, baseline="auk").set_index("name")
        assert again.loc[list(NAMES), "map p-value"].to_numpy() == pytest.approx(
            found["map p-value"].to_numpy(), nan_ok=True
        )


def test_the_paired_test_is_that_of_a_pair_alone(systems: Any, topics: Any, qrels: Any) -> None:
    values = evaluate(qrels, systems, "AP").values[:, 0]
    theirs = pt.Experiment(systems, topics, qrels, ["map"], baseline=0, test=ours.paired_test)
    for place in (1, 2):
        alone = Procedure().apply(values[[place, 0]], np.array([[0, 1]]))
        assert theirs["map p-value"][place] == pytest.approx(alone.p[0])


def test_what_cannot_be_done_is_said_in_one_line(systems: Any, topics: Any, qrels: Any) -> None:
    for keywords, words in (
        ({"eval_metrics": ["mrt"]}, "mrt"),
        ({"eval_metrics": ["map"], "baseline": "aux"}, "auk"),
        ({"eval_metrics": ["map"], "highlight": "bold"}, "highlight"),
        ({"eval_metrics": ["mapp"]}, "mapp"),
    ):
        with pytest.raises(Exception, match=words) as caught:
            ours.experiment(systems, topics, qrels, **keywords)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="name, qid, measure and value"):
        ours.compare_perquery(pandas.DataFrame({"name": ["a"]}))
