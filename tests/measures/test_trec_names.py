"""Names, order and number formats as trec_eval has them: held against its own test outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sounding.core.errors import DataError
from sounding.measures import Measure, parse, parse_measures
from sounding.measures.trec import (
    NICKNAMES,
    TREC_MEASURES,
    trec_format,
    trec_name,
    trec_names_of,
    trec_order,
    typed_name,
    with_level,
)


@pytest.fixture(scope="session")
def outputs(collections: Path) -> Path:
    return collections / "trec_eval-test"


def printed_lines(output: Path) -> list[tuple[str, str, str]]:
    lines = (line.split("\t") for line in output.read_text().splitlines())
    return [(name.strip(), topic, value) for name, topic, value in lines]


def printed_names(output: Path, topic: str | None = None) -> list[str]:
    lines = printed_lines(output)
    return list(dict.fromkeys(name for name, where, _ in lines if topic in (None, where)))


def names_shown(measures: list[Measure], *hidden: str, groups: bool = False) -> list[str]:
    return [trec_name(m, groups=groups) for m in measures if m.definition.shown not in hidden]


@pytest.mark.parametrize("output", ["out.test.aq", "out.test.aql", "out.test.meas_params"])
def test_every_name_that_trec_eval_prints_is_read_and_printed_again(outputs: Path, output: str) -> None:
    for name in printed_names(outputs / output):
        assert trec_name(parse(name)) == name


def test_every_name_with_judgment_groups_is_read_and_printed_again(outputs: Path) -> None:
    for name in printed_names(outputs / "out.test.qrels_jg"):
        assert trec_name(parse(name), groups=True) == name


@pytest.mark.parametrize(
    ("nickname", "output"),
    [("official", "out.test"), ("all_trec", "out.test.a"), ("qrels_jg", "out.test.qrels_jg")],
)
def test_nicknames_print_in_the_order_of_trec_eval_whatever_the_order_asked_for(
    outputs: Path, nickname: str, output: str
) -> None:
    asked = reversed(parse_measures([nickname]))
    in_order = trec_order(asked)
    assert names_shown(in_order, "topics", groups=nickname == "qrels_jg") == printed_names(
        outputs / output, "all"
    )


def test_a_topic_prints_what_trec_eval_prints_for_a_topic(outputs: Path) -> None:
    lines = printed_lines(outputs / "out.test.aq")
    first_topic = lines[0][1]
    names = [name for name, topic, _ in lines if topic == first_topic]
    assert names_shown(trec_order(parse_measures(["all_trec"])), "summary") == names


def test_parameters_are_spelled_as_trec_eval_spells_them(outputs: Path) -> None:
    texts = [
        "iprec_at_recall.0.1,.25,0.5,0.75,0.2", "P.5,7,3", "recall.20,2000", "Rprec_mult.0.2,0.35,5.0",
        "utility.2,-1,0,0", "11pt_avg..25,.5,.75", "ndcg.1=3,2=9,4=4.5", "ndcg_cut.10,20,23",
        "success.2,5,20",
    ]  # fmt: skip
    measures = trec_order(parse_measures(texts))
    assert names_shown(measures) == printed_names(outputs / "out.test.meas_params")


def test_counts_print_whole_and_values_with_four_places(outputs: Path) -> None:
    formats = {name: value for name, _, value in printed_lines(outputs / "out.test.aq")}
    for name, value in formats.items():
        kind = trec_format(parse(name))
        if kind == "'%s'":
            assert value.startswith("'")
        elif kind == "%d":
            assert value.isdecimal()
        elif kind == "%6.4f":
            assert len(value.partition(".")[2]) == 4
        else:
            assert kind == "%s"
            assert name == "runid"


@pytest.mark.parametrize(
    "name", ["P(judged_only=True)@5", "AP(norm='b')@10", "ERR@20", "nDCG(gains={1:0})@10", "Judged@10"]
)
def test_what_trec_eval_cannot_compute_keeps_our_name_and_comes_last(name: str) -> None:
    measure = parse(name)
    assert trec_name(measure) == name
    assert trec_order([measure, parse("unj.5"), parse("map")]) == [parse("map"), parse("unj.5"), measure]


def test_a_level_is_no_part_of_trec_evals_names() -> None:
    measure = with_level(parse("map"), 2)
    assert measure == parse("AP(rel=2)")
    assert trec_name(measure, level=2) == "map"
    assert trec_name(measure) == "AP(rel=2)"


def test_a_level_reaches_binary_measures_that_have_none_of_their_own() -> None:
    assert with_level(parse("AP(rel=3)"), 2) == parse("AP(rel=3)")
    assert with_level(parse("num_rel"), 2) == parse("NumRel(rel=2)")
    for graded in ("ndcg", "ndcg_cut.10", "num_ret", "unj.5", "rbp", "NumQ", "RunID"):
        assert with_level(parse(graded), 2) == parse(graded)


def test_a_level_that_is_the_default_changes_nothing() -> None:
    for measure in parse_measures(["all_trec"]):
        assert with_level(measure, 1) == measure


def test_trec_evals_rbp_has_another_persistence_than_ours() -> None:
    assert parse("rbp") == parse("RBP(p=0.9)")
    assert trec_name(parse("rbp")) == "rbp"
    assert trec_name(parse("RBP")) == "rbp_p=0.8"
    assert parse("rbp_p=0.8") == parse("RBP")


def test_every_measure_of_the_table_reads_its_own_defaults() -> None:
    for entry in TREC_MEASURES:
        measures = parse_measures([entry.name])
        assert len(measures) == max(1, len(entry.defaults))
        assert all(entry.name in trec_names_of(measure.name) for measure in measures)


def test_nicknames_hold_only_names_of_the_table() -> None:
    known = {entry.name for entry in TREC_MEASURES}
    assert all(set(names) <= known for names in NICKNAMES.values())


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("map.5", "takes no parameters"),
        ("P.x", "'x' is not a number"),
        ("P.5\x1d,10", r"'5\x1d' is not a number"),
        ("Rndcg.1=1,\x1e2=7", r"'\x1e2' is not a number"),
        ("P.", "'' is not a number"),
        ("P.0", "whole number from 1 to"),
        ("utility.1,2", "takes 4 numbers, not 2"),
        ("ndcg.3", "pairs such as 1=3.5"),
        ("rbp_resid.q=1", "takes p="),
        ("rbp.p=2", "from 0 to below 1"),
        ("iprec_at_recall.1.5", "from 0 to 1"),
        ("map_cut@10", "follow a dot"),
    ],
)
def test_bad_parameters_of_trec_evals_names_say_what_would_be_right(text: str, hint: str) -> None:
    with pytest.raises(DataError, match="measure") as problem:
        parse_measures([text])
    assert hint in str(problem.value)
    assert repr(text) in str(problem.value)


@pytest.mark.parametrize("text", ["Rndcg.{}", "P.{}", "rbp_resid.{}", "nDCG(dcg='{}')@10"])
def test_a_long_parameter_is_cut_in_the_message(text: str) -> None:
    with pytest.raises(DataError) as problem:
        parse_measures([text.format("\0" * 500)])
    assert len(str(problem.value)) < 500


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Rndcg.1=1,2=7", "Rndcg_1=1,2=7"),
        ("ndcg.1=3.50", "ndcg_1=3.50"),
        ("set_F.0.50", "set_F_0.50"),
        ("P.5,10", None),
        ("Rndcg", None),
        ("nDCG@10", None),
    ],
)
def test_parameters_are_printed_as_they_were_typed(text: str, name: str | None) -> None:
    assert typed_name(text) == name
