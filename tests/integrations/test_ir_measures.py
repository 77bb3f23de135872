"""ir_measures gets our measures, bounds and judged shares, equal to those of `evaluate`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
from tests.conftest import require

from sounding import evaluate
from sounding.core.policies import Policies

ir_measures = require("ir_measures")
ours = pytest.importorskip("sounding.integrations.ir_measures")

QRELS = {"1": {"a": 1, "b": 0, "c": 2, "e": 1}, "2": {"x": 1, "y": 0}, "10": {"z": 2}}
RUN = {"1": {"c": 0.9, "b": 0.5, "u": 0.4, "a": 0.1}, "2": {"v": 3.0, "x": 2.0}, "unjudged": {"a": 1.0}}
MEASURES = ("AP", "nDCG@3", "Q@3", "P@3", "NumRet")


def made(kind: Any, names: Any = MEASURES) -> list[Any]:
    return [kind(of=name) for name in names]


def test_values_bounds_and_shares_are_those_of_evaluate_to_the_last_bit() -> None:
    scores = evaluate(QRELS, {"r": RUN}, MEASURES, policies=Policies(unjudged="bounds"))
    assert scores.bounds is not None
    bounds = scores.bounds.over_topics(scores.measures)
    for kind, wanted in (
        (ours.Value, scores.mean()),
        (ours.Lower, bounds.lower),
        (ours.Upper, bounds.upper),
        (ours.JudgedShare, scores.judged_share()),
    ):
        found = ir_measures.calc_aggregate(made(kind), QRELS, RUN)
        assert [found[measure] for measure in made(kind)] == wanted[0].tolist(), kind
        assert list(ours.provider.calc_aggregate(made(kind), QRELS, RUN).values()) == wanted[0].tolist()
    by_topic = {(m.query_id, m.measure): m.value for m in ir_measures.iter_calc(made(ours.Upper), QRELS, RUN)}
    for number, measure in enumerate(made(ours.Upper)):
        assert [by_topic[topic, measure] for topic in scores.topics] == scores.bounds.upper[
            0, number
        ].tolist()


def test_its_own_measures_stay_with_its_providers_and_ours_give_the_same_values() -> None:
    wanted = [ir_measures.AP, ir_measures.nDCG @ 3, ir_measures.P(rel=2) @ 3, ir_measures.NumRet]
    theirs, by_us = (one.calc_aggregate(wanted, QRELS, RUN) for one in (ir_measures, ours.provider))
    assert theirs == pytest.approx(by_us)
    assert list(by_us.values()) == evaluate(QRELS, RUN, wanted).mean()[0].tolist()
    pipeline = [one.NAME for one in ir_measures.DefaultPipeline.providers]
    assert pipeline.index("pytrec_eval") < pipeline.index("sounding")
    assert pipeline.count("sounding") == 1


@pytest.mark.parametrize("form", ["frame", "tuples", "iterator"])
def test_every_form_of_runs_and_judgments_is_read_alike(form: str) -> None:
    qrels: Any = [ir_measures.Qrel(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
    run: Any = [ir_measures.ScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    if form == "frame":
        # PyTerrier's frames have the text of the query beside its id.
        qrels, run = pandas.DataFrame(qrels), pandas.DataFrame(run).assign(query="text", rank=0)
    elif form == "iterator":
        qrels, run = iter(qrels), iter(run)
    found = ir_measures.calc_aggregate([ours.Value(of="AP"), ir_measures.AP], qrels, run)
    assert found[ours.Value(of="AP")] == evaluate(QRELS, RUN, "AP").mean()[0, 0]


def test_a_run_that_retrieved_nothing_scores_0_and_has_no_judged_share() -> None:
    frame = pandas.DataFrame([], columns=["query_id", "doc_id", "score"])
    empties: list[Any] = [{}, [], frame]
    for empty in empties:
        found = ir_measures.calc_aggregate([ours.Upper(of="P@3"), ours.JudgedShare(of="P@3")], QRELS, empty)
        assert found[ours.Upper(of="P@3")] == 0
        assert np.isnan(found[ours.JudgedShare(of="P@3")])


def test_names_are_parsed_back_and_policies_change_values() -> None:
    assert ir_measures.parse_measure(str(ours.Upper(of="nDCG@3"))) == ours.Upper(of=ir_measures.nDCG @ 3)
    assert not ours.provider.supports(ours.Value(of="nothing"))
    condensed = Policies(unjudged="condensed")
    found = ours.SoundingProvider(condensed).calc_aggregate([ir_measures.AP], QRELS, RUN)
    assert list(found.values()) == evaluate(QRELS, RUN, "AP", policies=condensed).mean()[0].tolist()
    assert list(found.values()) != evaluate(QRELS, RUN, "AP").mean()[0].tolist()
