"""evaluate(): policies, counts, residual collections, groups, executors."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import sounding
from sounding import Policies, evaluate
from sounding.core.errors import DataError, FormatError
from sounding.data.tables import Qrels, Run
from sounding.evaluate.result import Scores
from sounding.evaluate.sentences import notes_on

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 1}, "3": {"x": 0}}
RUN = {"1": {"a": 3.0, "u": 2.0, "c": 1.0}, "2": {"b": 1.0, "a": 0.5}, "9": {"z": 1.0}}


def values(scores: Scores) -> list[list[float]]:
    return [[float(v) for v in row] for row in scores.values[0]]


def test_values_are_worked_out_by_hand() -> None:
    scores = evaluate(QRELS, [RUN], ["AP", "P@2", "RR"])
    # topic 1: (1/1 + 2/3) / 2; topic 2: (1/2) / 1; topic 3 has nothing relevant and no documents
    assert values(scores) == [[pytest.approx(5 / 6), 0.5, 0.0], [0.5, 0.5, 0.0], [1.0, 0.5, 0.0]]
    assert scores.mean()[0].tolist() == pytest.approx([4 / 9, 1 / 3, 0.5])


def test_what_was_counted_is_said() -> None:
    scores = evaluate(QRELS, [RUN], ["AP", "P@2"])
    assert scores.topics == ("1", "2", "3")
    assert scores.without_relevant == ("3",)
    assert scores.missing.tolist() == [[False, False, True]]
    assert scores.ignored == (1,)
    # judged: topic 1 has 2 of 3 and in the first two 1 of 2; topic 2 1 of 2; topic 3 has no documents
    np.testing.assert_allclose(scores.judged[0], [[2 / 3, 0.5, np.nan], [0.5, 0.5, np.nan]])
    np.testing.assert_allclose(scores.judged_share()[0], [7 / 12, 0.5])


def test_a_missing_topic_counts_zero_is_skipped_or_refused() -> None:
    zero = evaluate(QRELS, [RUN], ["P@2"])
    skip = evaluate(QRELS, [RUN], ["P@2"], policies=Policies(missing="skip"))
    assert zero.mean()[0, 0] == pytest.approx(1 / 3)
    assert skip.mean()[0, 0] == pytest.approx(1 / 2)
    assert skip.counted()[0, 0] == 2
    with pytest.raises(DataError, match="no documents for 1 of 3 judged topics, first '3'"):
        evaluate(QRELS, [RUN], ["P@2"], policies=Policies(missing="error"))


def test_condensed_rankings_lose_unjudged_documents_and_keep_their_judged_share() -> None:
    plain = evaluate(QRELS, [RUN], ["P@2"])
    condensed = evaluate(QRELS, [RUN], ["P@2"], policies=Policies(unjudged="condensed"))
    assert values(condensed)[0][0] == 1.0
    np.testing.assert_array_equal(plain.judged, condensed.judged)


def test_a_residual_collection_drops_earlier_judgments_from_run_and_qrels() -> None:
    earlier = {"1": {"a": 1, "u": 0}}
    scores = evaluate(QRELS, [RUN], ["AP", "NumRet", "NumRel"], residual=earlier)
    # topic 1 keeps only c, now in rank 1 and the only relevant document
    assert [row[0] for row in values(scores)] == [1.0, 1.0, 1.0]
    assert [row[1] for row in values(scores)] == [0.5, 2.0, 1.0]


def test_groups_average_over_those_who_judged_the_topic() -> None:
    qrels = sounding.Qrels.from_columns(
        ["1", "1", "1", "2"], ["a", "c", "a", "a"], [1, 1, 0, 1], groups=["x", "x", "y", "y"]
    )
    scores = evaluate(qrels, [RUN], ["P@1", "AP"], groups=True)
    # topic 1: group x finds a relevant (P 1, AP 5/6), group y does not (0, 0); topic 2: group y alone
    assert values(scores) == [[0.5, 0.0], [pytest.approx(5 / 12), 0.5]]


def test_the_same_inputs_as_files_dicts_and_frames_give_the_same_values(tmp_path: Path) -> None:
    lines = [f"{t} Q0 {d} 0 {s} tag" for t, docs in RUN.items() for d, s in docs.items()]
    (tmp_path / "run.txt").write_text("\n".join(lines))
    with gzip.open(tmp_path / "run.gz", "wt") as file:
        file.write("\n".join(reversed(lines)) + "\n")
    frame = polars.DataFrame(
        [(t, d, s) for t, docs in RUN.items() for d, s in docs.items()],
        schema=["topic", "doc", "score"],
        orient="row",
    )
    measures = ["AP", "nDCG@3", "Bpref", "infAP"]
    expected = values(evaluate(QRELS, [RUN], measures))
    for source in (
        tmp_path / "run.txt",
        str(tmp_path / "run.gz"),
        frame,
        frame.to_pandas(),
        sounding.read_run(RUN),
    ):
        assert values(evaluate(QRELS, [source], measures)) == expected


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    collection = sounding.sample(topics=5, seed=3)
    measures = ["AP", "nDCG@10", "RelString@10"]
    one = evaluate(collection.qrels, collection.runs, measures, jobs=1)
    two = evaluate(collection.qrels, collection.runs, measures, jobs=2)
    np.testing.assert_array_equal(one.values, two.values)
    assert one.runs == two.runs
    for measure, texts in one.texts.items():
        assert texts.tolist() == two.texts[measure].tolist()


def test_runs_of_one_tag_stay_apart_by_file(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.txt").write_text("1 Q0 a 1 2 same\n")
    scores = evaluate(QRELS, [tmp_path / "first.txt", tmp_path / "second.txt"], ["RR"])
    assert scores.runs == ("first", "second")
    assert scores.tags == ("same", "same")


def test_runs_in_memory_without_a_name_stay_apart() -> None:
    assert len(set(evaluate(QRELS, [RUN, RUN], ["RR"]).runs)) == 2


def test_the_tidy_frame_has_one_row_a_value() -> None:
    frame = evaluate(QRELS, [RUN], ["AP", "P@2"]).frame
    assert frame.columns == ["run", "measure", "topic", "value"]
    assert frame.filter(polars.col("measure") == "P@2")["value"].to_list() == [0.5, 0.5, 0.0]


def test_deviation_error_and_geometric_mean_are_those_of_numpy() -> None:
    scores = evaluate(QRELS, [RUN], ["AP"])
    column = np.array([5 / 6, 0.5, 0.0])
    assert scores.deviation()[0, 0] == pytest.approx(column.std(ddof=1))
    assert scores.standard_error()[0, 0] == pytest.approx(column.std(ddof=1) / np.sqrt(3))
    assert scores.geometric_mean()[0, 0] == pytest.approx(np.exp(np.log([5 / 6, 0.5, 1e-5]).mean()))


def test_one_topic_has_no_deviation() -> None:
    scores = evaluate({"1": {"a": 1}}, [RUN], ["AP"])
    assert np.isnan(scores.deviation()[0, 0])
    assert np.isnan(scores.standard_error()[0, 0])


def test_runs_are_ordered_best_first_and_equal_ones_by_name() -> None:
    runs = [
        sounding.Run.from_dict({"1": {doc: 1.0}}, name=name)
        for name, doc in (("b", "u"), ("c", "a"), ("a", "u"))
    ]
    scores = evaluate(QRELS, runs, ["RR"])
    assert [scores.runs[row] for row in scores.order()] == ["c", "a", "b"]
    assert scores.of_runs([2, 0]).runs == ("a", "b")


def test_a_slice_holds_only_its_topics() -> None:
    part = evaluate(QRELS, [RUN], ["AP", "RelString@5"]).of_topics(["2", "3"])
    assert part.topics == ("2", "3")
    assert values(part)[0] == [0.5, 0.0]
    assert part.without_relevant == ("3",)
    assert part.mean()[0, 0] == 0.25


def test_nothing_to_evaluate_is_an_error() -> None:
    with pytest.raises(DataError, match="nothing to evaluate: give at least one run and one measure"):
        evaluate(QRELS, [], ["AP"])


def test_groups_need_groups() -> None:
    with pytest.raises(DataError, match="no judgment groups; expected them in the second column"):
        evaluate(sounding.Qrels.from_dict(QRELS), [RUN], ["AP"], groups=True)


def test_public_names_are_all_there() -> None:
    for name in sounding.__all__:
        assert getattr(sounding, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sounding.nothing


def test_estimates_from_a_sample_carry_their_sampling_error() -> None:
    qrels = sounding.Qrels.from_dict({"1": {"a": 1, "b": -1, "c": 1, "d": 0}, "2": {"a": 1}})
    run = {"1": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}, "2": {"a": 1.0}}
    scores = evaluate(qrels, [run], ["infAP", "AP"])
    assert scores.sampling_errors[0, 0, 0] > 0
    assert np.isnan(scores.sampling_errors[0, 1]).all()
    assert np.isnan(scores.sampling_error()[0, 1])
    each = scores.sampling_errors[0, 0]
    assert scores.sampling_error()[0, 0] == pytest.approx(np.sqrt((each**2).sum()) / 2)


@pytest.mark.parametrize(
    "source", ["one.txt", "folder", "folder/*.txt", ["folder"], ["one.txt", "folder/b.txt"]]
)
def test_files_folders_and_globs_are_runs_in_python_too(
    source: str | list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("one.txt", "folder/a.txt", "folder/b.txt"):
        Path(name).write_text("1 Q0 a 1 2 tag\n")
    assert evaluate(QRELS, source, ["RR"]).values[0, 0, 0] == 1.0


def test_runs_in_memory_may_stand_alone_or_have_names() -> None:
    frame = polars.DataFrame([("1", "a", 1.0)], schema=["topic", "doc", "score"], orient="row")
    for alone in (RUN, frame, frame.to_pandas(), sounding.read_run(RUN)):
        assert evaluate(QRELS, alone, ["RR"]).values[0, 0, 0] == 1.0
    assert evaluate(QRELS, {"x": RUN, "y": frame}, ["RR"]).runs == ("x", "y")
    with pytest.raises(
        DataError, match="cannot read runs from None; expected files, dicts of dicts or frames"
    ):
        evaluate(QRELS, None, ["RR"])


def test_scores_cannot_be_changed() -> None:
    scores = evaluate(QRELS, RUN, ["RR"])
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0, 0, 0] = 9


def test_topics_without_a_relevant_document_are_those_of_the_measures_level() -> None:
    scores = evaluate({"1": {"a": 2}, "2": {"b": 1}}, RUN, ["AP(rel=2)"])
    assert scores.without_relevant == ("2",)
    assert scores.level == 2


def test_groups_count_a_document_as_judged_whoever_judged_it() -> None:
    qrels = sounding.Qrels.from_columns(["1", "1"], ["a", "u"], [1, 0], groups=["x", "y"])
    scores = evaluate(qrels, RUN, ["P@2"], groups=True)
    assert scores.judged[0, 0, 0] == 1.0
    assert scores.remarks == ("values are means over judgment groups",)
    with pytest.raises(DataError, match="RelString gives a text, which has no mean over judgment groups"):
        evaluate(qrels, RUN, ["RelString"], groups=True)


def test_a_document_judged_twice_in_one_group_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "groups.txt"
    path.write_text("1 x a 1\n1 y a 0\n1 x a 0\n")
    with pytest.raises(
        sounding.FormatError, match=r"groups.txt:3: topic 1 lists document 'a' already in line 1"
    ):
        evaluate(path, RUN, ["P@2"], groups=True)


def test_a_residual_collection_loses_topics_that_have_nothing_left() -> None:
    scores = evaluate(QRELS, RUN, ["AP"], residual={"2": {"a": 1}})
    assert scores.topics == ("1", "3")
    (remark,) = scores.remarks
    assert "1 judgment of earlier judgments removed; 1 topic" in remark


def test_grades_too_large_for_exponential_gains_are_refused() -> None:
    with pytest.raises(
        DataError, match=r"grade 1e\+10 is too large for gains of 2\^grade; use grades up to 1000"
    ):
        evaluate({"1": {"a": 10**10}}, RUN, ["ERR"])


def test_a_sample_of_judgments_is_said_to_be_one() -> None:
    collection = sounding.Qrels.from_dict({"1": {"a": 1, "b": 0}})
    sampled = replace(collection, probabilities=np.array([0.5, 1.0]))
    (remark,) = evaluate(sampled, RUN, ["AP"]).remarks
    assert "statAP, xinfAP and infNDCG" in remark
    assert evaluate(sampled, RUN, ["statAP", "P@5"]).remarks == ()


def test_infap_is_refused_where_only_the_drawn_documents_are_known() -> None:
    drawn = sounding.Qrels.from_columns(["1", "1"], ["a", "b"], [1, 0], probabilities=[0.5, 1.0])
    with pytest.raises(
        DataError, match=r"^infAP needs the whole pool, with grade -1 for documents that were not drawn"
    ):
        evaluate(drawn, RUN, ["infAP"])
    with_the_rest = sounding.Qrels.from_columns(["1"] * 3, "abc", [1, 0, -1], probabilities=[0.5, 0.5, 0.5])
    every = sounding.Qrels.from_columns(["1", "1"], ["a", "b"], [1, 0], probabilities=[1.0, 1.0])
    for known in (with_the_rest, every):
        assert evaluate(known, RUN, ["infAP"]).remarks == ()


def test_infap_of_strata_says_that_it_knows_one_rate() -> None:
    strata = sounding.Qrels.from_columns(["1", "1"], ["a", "b"], [1, -1], strata=[1, 2])
    (remark,) = evaluate(strata, RUN, ["infAP"]).remarks
    assert "one sample" in remark
    assert remark.endswith("use xinfAP")
    assert evaluate(strata, RUN, ["xinfAP"]).remarks == ()


def test_scores_show_themselves_in_one_line() -> None:
    assert repr(evaluate(QRELS, RUN, ["AP"])) == "<Scores of 1 runs on 3 topics: AP>"


def test_policies_must_be_policies() -> None:
    with pytest.raises(DataError, match=r"policies must be a Policies object.* not 'average'"):
        evaluate(QRELS, RUN, ["AP"], policies="average")  # type: ignore[arg-type]


@pytest.mark.parametrize("unjudged", ["bounds", "expected"])
def test_a_skipped_topic_has_no_part_in_bounds_and_expectations(unjudged: str) -> None:
    policies = Policies(missing="skip", unjudged=unjudged, universe="run", prior="0.5")  # type: ignore[arg-type]
    skipped = evaluate(QRELS, RUN, ["AP", "P@2"], policies=policies)
    alone = evaluate({t: QRELS[t] for t in ("1", "2")}, RUN, ["AP", "P@2"], policies=policies)
    for name, table in skipped.beside_mean().items():
        np.testing.assert_allclose(table, alone.beside_mean()[name])


def test_errors_of_sums_are_those_of_the_sum() -> None:
    scores = evaluate(QRELS, RUN, ["NumRet", "AP"])
    counts = scores.values[0, 0]
    assert scores.standard_error()[0, 0] == pytest.approx(counts.std(ddof=1) / np.sqrt(3) * 3)


@pytest.mark.parametrize(("qrels", "residual"), [("-", None), ({"1": {"a": 1}}, "-")])
def test_standard_input_asked_for_twice_is_refused_before_it_is_read(
    qrels: Any, residual: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", None)  # whoever reads it fails
    with pytest.raises(FormatError, match="standard input: can be read only once"):
        evaluate(qrels, ["-"], ["AP"], residual=residual)


def test_a_frame_of_scores_refuses_names_that_are_not_utf_8(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_bytes(b"caf\xe9 0 a 1\ncaf\xe8 0 a 1\n")
    run.write_bytes(b"caf\xe9 Q0 a 1 3 t\n")
    scores = evaluate(qrels, [run], ["RR"])
    assert scores.values.ravel().tolist() == [0, 1]
    with pytest.raises(DataError, match=r"^topic 'caf\\xe8' is not UTF-8"):
        _ = scores.frame
    run = tmp_path / os.fsdecode(b"caf\xe9.txt")
    run.write_bytes(b"1 Q0 a 1 3 t\n")
    with pytest.raises(DataError, match=r"^run 'caf\\xe9' is not UTF-8"):
        _ = evaluate({"1": {"a": 1}}, [run], ["RR"]).frame


@pytest.mark.parametrize(("lengths", "said"), [((10, 5), True), ((5, 5), False), ((10, 10), False)])
def test_the_judged_share_of_short_lists_is_told_from_that_of_compare(
    lengths: tuple[int, int], said: bool
) -> None:
    """All that the runs returned is judged; A_p@10, which `compare` shows, is 0.5 for a list of five."""
    judged = {"1": {f"d{rank}": rank % 2 for rank in range(10)}}
    runs = [
        Run.from_dict({"1": {f"d{rank}": -rank for rank in range(length)}}, name=name)
        for name, length in zip("ab", lengths, strict=True)
    ]
    scores = evaluate(Qrels.from_dict(judged), runs, ["P@10"])
    assert scores.judged_share().tolist() == [[1.0], [1.0]]
    assert any("divides by 10" in note for note in notes_on(scores)) == said
    assert any("divides by 10" in note for note in notes_on(scores, every=True)) == (5 in lengths)
