"""Measures of intents, of preferences and of two runs, where judgments are drawn or left out, and in designs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sounding
from sounding import audit, compare
from sounding.compare.designs import design_runs
from sounding.compare.headlines import design_headline
from sounding.compare.holds import holds
from sounding.compare.sentences import power_in_words
from sounding.core.errors import DataError
from sounding.data.tables import Qrels
from sounding.report.topic_values import explorer_data


def collection(topics: int = 8, documents: int = 60) -> tuple[Qrels, dict[str, dict[str, list[str]]]]:
    """Runs that put relevant documents first more or less, of which 40 a topic are judged for two intents."""
    rng = random.Random(1)
    rows, runs = [], {f"r{n}": {} for n in range(4)}  # type: ignore[var-annotated]
    for number in range(topics):
        topic, docs = f"t{number}", [f"d{n}" for n in range(documents)]
        worth = {doc: rng.random() for doc in docs}
        rows += [(topic, i, doc, int(worth[doc] > 0.6)) for i in ("x", "y") for doc in docs[:40]]
        for place, run in enumerate(runs.values()):
            run[topic] = sorted(docs, key=lambda doc: -worth[doc] + rng.gauss(0, 0.1 + 0.3 * place))
    columns: Any = list(zip(*rows, strict=True))
    return Qrels.from_columns(columns[0], columns[2], columns[3], groups=columns[1]).by_intent(), runs


def test_chances_of_other_measures_are_as_without_them() -> None:
    qrels, runs = collection()
    alone = compare(qrels, runs, ["AP", "P@5"], until="runs:20").holds
    mixed = compare(qrels, runs, ["AP", "alpha_nDCG@5", "P@5", "RPP"], until="runs:20")
    assert alone is not None
    assert mixed.holds is not None
    assert mixed.holds.without == ("alpha_nDCG@5", "RPP")
    assert np.array_equal(mixed.holds.conclusion[[0, 2]], alone.conclusion)
    assert np.array_equal(mixed.holds.sign[[0, 2]], alone.sign)
    assert np.isnan(mixed.holds.conclusion[[1, 3]]).all()
    assert mixed.holds.in_words(1, 0) == "not known"
    assert "alpha_nDCG@5, RPP" in mixed.holds.describe()


def test_chances_of_intents_alone_are_not_stated() -> None:
    qrels, runs = collection()
    found = compare(qrels, runs, ["alpha_nDCG@5"], until="runs:20").holds
    assert found is not None
    assert "alpha_nDCG@5" in found.reason
    assert np.isnan(found.conclusion).all()
    assert holds(qrels, runs, ["RPP"], until="runs:20").reason


def test_an_audit_leaves_them_out_and_says_so() -> None:
    qrels, runs = collection()
    found = audit(qrels, runs, ["alpha_nDCG@5", "AP", "RPP"])
    assert [str(measure) for measure in found.measures] == ["AP"]
    assert any("alpha_nDCG@5, RPP" in remark for remark in found.runs.remarks)
    with pytest.raises(DataError, match="alpha_nDCG@5"):
        audit(qrels, runs, ["alpha_nDCG@5"])


def test_a_design_asks_for_no_difference_beyond_the_range() -> None:
    qrels, runs = collection(topics=3)
    found = design_runs(qrels, runs, ["alpha_nDCG@5", "RPP", "LexiRecall"])
    for measure, one in found.by_measure():
        most = measure.definition.bounds[1]
        known = one.power.detectable[~np.isnan(one.power.detectable)]
        assert (np.isinf(known) | (known <= most)).all()
        assert one.power.pairs.tolist() == found.pairs.tolist()
    power = found.designs[2].power
    assert np.isinf(power.detectable).any()
    assert "none that the measure can have" in " ".join(power_in_words(power))
    assert "inf" not in design_headline(found)


def test_a_design_of_preferences_is_of_these() -> None:
    qrels, runs = collection()
    power = design_runs(qrels, runs, ["RPP"]).designs[0].power
    gaps = compare(qrels, runs, ["RPP"]).gaps(0)
    assert power.difference == pytest.approx(gaps.mean(axis=1))
    assert power.deviation == pytest.approx(gaps.std(axis=1, ddof=1))


def test_a_page_draws_differences_only_of_values() -> None:
    qrels, runs = collection()
    mixed, plain = (
        explorer_data(sounding.report(qrels, runs, measures, sections=["summary"]))
        for measures in (["RPP", "AP", "alpha_nDCG@5"], ["AP", "alpha_nDCG@5"])
    )
    assert mixed is not None
    assert plain is not None
    assert mixed["measures"] == ["AP", "alpha_nDCG@5"]
    assert mixed["values"] == plain["values"]
    assert explorer_data(sounding.report(qrels, runs, ["RPP"], sections=["summary"])) is None


def test_what_depends_on_other_runs_is_not_tracked(tmp_path: Path) -> None:
    qrels, runs = collection()
    with pytest.raises(DataError, match="RPP depends on the other runs"):
        sounding.track(tmp_path / "history.parquet", qrels, runs, ["RPP"])


def test_measures_of_intents_are_tracked(tmp_path: Path) -> None:
    qrels, runs = tmp_path / "div.qrels", {"r": {"1": ["b", "a"]}}
    qrels.write_text("1 x a 1\n1 y a 1\n1 y b 1\n")
    history = sounding.track(tmp_path / "history.parquet", qrels, runs, ["StRecall@1"], commit="first")
    assert history.values.ravel().tolist() == [0.5]
