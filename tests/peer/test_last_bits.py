"""trec_eval's arithmetic, to the last bit: a value that lies between two printed ones must go the same way."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import require

from sounding.core.policies import Policies
from sounding.evaluate.evaluation import evaluate
from sounding.measures.trec import trec_name

pytrec_eval = require("pytrec_eval")


@pytest.mark.parametrize("seed", range(4))
def test_every_value_of_a_topic_is_trec_evals_bit_for_bit(seed: int) -> None:
    draw = random.Random(seed)
    documents = [f"d{number}" for number in range(120)]
    qrels = {
        str(topic): {doc: draw.choice([0, 0, 0, 1, 1, 2, 3, 5]) for doc in draw.sample(documents, 80)}
        for topic in range(30)
    }
    run = {
        topic: {doc: draw.random() for doc in draw.sample(documents, draw.randint(3, 100))} for topic in qrels
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures).evaluate(run)
    # pytrec_eval is trec_eval 9, whose recall points differ.
    scores = evaluate(qrels, run, ["all_trec"], policies=Policies(compat="trec_eval-9"))
    compared = set()
    for number, measure in enumerate(scores.measures):
        name = trec_name(measure)
        if measure.definition.aggregate in ("text", "geometric") or name not in theirs["0"]:
            continue
        compared.add(name)
        for place, topic in enumerate(scores.topics):
            assert scores.values[0, number, place] == theirs[topic][name], (name, topic)
    assert compared >= {
        "map",
        "ndcg",
        "ndcg_cut_10",
        "ndcg_rel",
        "Rndcg",
        "set_F",
        "11pt_avg",
        "infAP",
        "bpref",
        "G",
    }


def test_means_add_the_topics_one_after_the_other() -> None:
    draw = random.Random(5)
    documents = [f"d{number}" for number in range(40)]
    qrels = {str(topic): {doc: draw.choice([0, 1]) for doc in documents} for topic in range(400)}
    run = {topic: {doc: draw.random() for doc in documents} for topic in qrels}
    scores = evaluate(qrels, run, ["AP", "GMAP", "P@7"])
    for number in (0, 2):
        total = 0.0
        for value in scores.values[0, number].tolist():
            total += value
        assert scores.mean()[0, number] == total / len(scores.topics)
    logs = 0.0
    for value in np.log(np.maximum(scores.values[0, 1], 1e-5)).tolist():
        logs += value
    assert scores.mean()[0, 1] == np.exp(logs / len(scores.topics))


def test_a_mean_between_two_printed_values_goes_as_in_trec_eval(collections: Path) -> None:
    folder = collections / "robust03"
    scores = evaluate(folder / "qrels.robust03.txt.gz", folder / "runs" / "input.SABIR03BASE.gz", ["P@200"])
    assert f"{scores.mean()[0, 0]:.4f}" == "0.0960"
