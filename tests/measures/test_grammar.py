"""One grammar for the names of ir_measures, trec_eval and ranx; what it prints it reads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from inspect import Parameter
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tests.properties.strategies import ranking_of

from sounding.core.errors import DataError, SoundingError, UnknownNameError
from sounding.measures import Measure, definitions, parse, parse_measures
from sounding.measures.grammar import ALIASES, RANX
from sounding.measures.registry import SHARED, check_value
from sounding.measures.trec import TREC_NAMES

DEFINITIONS = list(definitions())


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("nDCG(dcg='exp-log2')@20", "nDCG(dcg='exp-log2')@20"),
        ('nDCG(dcg="exp-log2")@20', "nDCG(dcg='exp-log2')@20"),
        ("nDCG(dcg='log2')@20", "nDCG@20"),
        ("AP(rel=2)@100", "AP(rel=2)@100"),
        (" AP ( rel = 2 , ) @ 100 ", "AP(rel=2)@100"),
        ("AP(rel=1)", "AP"),
        ("AP()", "AP"),
        ("AP(cutoff=10)", "AP@10"),
        ("AP(k=10,rel=2)", "AP(rel=2)@10"),
        ("RBP(p=0.8)", "RBP"),
        ("RBP(p=.5)", "RBP(p=0.5)"),
        ("nDCG(gains={1:0,2:1})@10", "nDCG(gains={1:0,2:1})@10"),
        ("nDCG(gains={2.0: 4.0, 1: 1.0, 0: 0})@10", "nDCG(gains={2:4})@10"),
        ("RBP(gains={1:1,2:0.5})", "RBP(gains={1:1,2:0.5})"),
        ("nDCG(gains={1:-1.5})@10", "nDCG(gains={1:-1.5})@10"),
        ("SetF(beta=2)", "SetF(beta=2)"),
        ("SetF(beta=2.0)", "SetF(beta=2)"),
        ("P@10.0", "P@10"),
        ("IPrec@0.1", "IPrec@0.1"),
        ("IPrec(recall=1)", "IPrec@1"),
        ("P(judged_only=True)@5", "P(judged_only=True)@5"),
        ("MAP@10", "AP@10"),
        ("Precision@5", "P@5"),
        ("Recall(rel=2)@5", "R(rel=2)@5"),
        ("MRR", "RR"),
        ("RPrec", "Rprec"),
        ("NDCG@5", "nDCG@5"),
        ("BPref", "Bpref"),
    ],
)
def test_names_of_ir_measures_are_read_and_printed_in_their_canonical_form(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("map", "AP"),
        ("map_cut.10,100", "AP@10 AP@100"),
        ("map_cut_10", "AP@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("ndcg.1=3.5,2=9", "nDCG(gains={1:3.5,2:9})"),
        ("P.10,5,5", "P@5 P@10"),
        ("P_10", "P@10"),
        ("recall.5", "R@5"),
        ("recip_rank", "RR"),
        ("iprec_at_recall.0.1,0.2", "IPrec@0.1 IPrec@0.2"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("11pt_avg", "IAP"),
        ("Rprec_mult_0.20", "RprecMult@0.2"),
        ("success", "Success@1 Success@5 Success@10"),
        ("set_F.0.5", "SetF(beta=0.5)"),
        ("utility.1,-1,0,0", "Utility"),
        ("rbp.p=0.9", "RBP(p=0.9)"),
        ("unj", "Unjudged@5 Unjudged@10 Unjudged@20"),
        ("gm_map", "GMAP"),
        ("num_nonrel_judged_ret", "NumNonrelRet"),
        ("relstring.20", "RelString@20"),
        ("dcg", "DCG"),
        ("ideal_dcg", "IDCG"),
    ],
)
def test_names_of_trec_eval_are_read(text: str, printed: str) -> None:
    assert " ".join(map(str, parse_measures([text]))) == printed


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ndcg@10", "nDCG@10"),
        ("map@100-l2", "AP(rel=2)@100"),
        ("map-l2", "AP(rel=2)"),
        ("precision@5", "P@5"),
        ("precision", "SetP"),
        ("mrr", "RR"),
        ("mrr@10", "RR@10"),
        ("hit_rate@10", "Success@10"),
        ("ndcg_burges@10", "nDCG(dcg='exp-log2')@10"),
        ("recall@100", "R@100"),
        ("f1", "SetF"),
        ("f1@10", "F@10"),
        ("f1@10-l2", "F(rel=2)@10"),
        ("hits", "NumRelRet"),
        ("hits@5", "NumRelRet@5"),
        ("hit_rate", "Success"),
        ("hit_rate-l2", "Success(rel=2)"),
        ("r-precision", "Rprec"),
        ("bpref-l2", "Bpref(rel=2)"),
        ("rbp.95", "RBP(p=0.95)"),
        ("rbp@9", "RBP(p=0.9)"),
        ("rbp.95-l2", "RBP(p=0.95,gains={1:0})"),
        ("ndcg@10-l3", "nDCG(gains={1:0,2:0})@10"),
    ],
)
def test_names_of_ranx_are_read(text: str, printed: str) -> None:
    assert str(parse(text)) == printed


def test_where_vocabularies_clash_the_whole_name_decides() -> None:
    assert len(parse_measures(["P"])) == 9  # trec_eval's
    assert len(parse_measures(["recall"])) == 9  # trec_eval's, not ranx's
    assert parse("recall-l2") == parse("SetR(rel=2)")  # ranx's: trec_eval has no such ending
    assert parse("rbp") == parse("RBP(p=0.9)")  # trec_eval's
    assert parse("bpref") == parse("Bpref")
    for same in ("G", "Rprec", "infAP"):
        assert str(parse(same)) == same
    with pytest.raises(DataError, match="R needs a value after @"):
        parse("Recall")


def test_assessment_measures_have_the_names_of_the_papers() -> None:
    assert parse("A_p@10") == parse("P(assessed=True)@10")
    assert parse("A_r@100") == parse("R(assessed=True)@100")
    assert parse("AA@100") == parse("AP(assessed=True)@100")
    with pytest.raises(UnknownNameError):
        parse("Ap@10")


def test_many_texts_give_each_measure_once_in_the_order_of_the_texts() -> None:
    measures = parse_measures(["P.20,5", "AP", "map", parse("P@5"), "P@1"])
    assert " ".join(map(str, measures)) == "P@5 P@20 AP P@1"


def test_one_text_is_not_taken_for_a_list_of_letters() -> None:
    assert parse_measures("AP") == (parse("AP"),)


def test_a_name_of_many_measures_is_not_one_measure() -> None:
    with pytest.raises(DataError, match=r"'P' means 9 measures; name one of them, such as P@1000"):
        parse("P")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("ndgc@10", "nDCG"),
        ("nDGC@10", "nDCG"),
        ("Maap", "map"),
        ("precison@5", "precision"),
        ("ndgc_cut.10", "ndcg_cut"),
        ("recip_rnk", "recip_rank"),
        ("hit_rat@5", "hit_rate"),
        ("sucess@5", "Success"),
        ("Ap@10", "AP"),
    ],
)
def test_unknown_names_suggest_near_ones_of_any_vocabulary(text: str, near: str) -> None:
    with pytest.raises(UnknownNameError) as problem:
        parse(text)
    assert near in problem.value.suggestions


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "starts with its name"),
        ("@10", "starts with its name"),
        ("map@", "@ and a whole number"),
        ("P@", "expected a value after @, found nothing"),
        ("P@0", "k is a whole number from 1 to 10,000,000, not 0"),
        ("P@-5", "k is a whole number from 1 to 10,000,000, not -5"),
        ("P@2.5", "k is a whole number from 1 to 10,000,000, not 2.5"),
        ("P@'5'", "k is a whole number from 1 to 10,000,000, not '5'"),
        ("P@True", "k is a whole number from 1 to 10,000,000, not True"),
        ("P@1e300", "k is a whole number from 1 to 10,000,000, not 1e+300"),
        ("P@99999999999999999999", "from 1 to 10,000,000, not 99999999999999999999"),
        ("AP(rel=1e300)", "no larger than 2**53"),
        ("P@5@6", "expected one measure, found '@6' after 'P@5'"),
        ("P@5 AP", "expected one measure, found 'AP' after 'P@5'"),
        ("AP(rel=)", "expected a value after rel=, found ')'"),
        ("AP(rel=2", "expected a comma or ), found nothing"),
        ("AP(2)", "expected a parameter such as k="),
        ("AP(rel 2)", "expected = after rel, found '2'"),
        ("AP(rel=2,rel=3)", "rel is given twice"),
        ("AP(cutoff=5)@5", "k is given twice"),
        ("A_p(assessed=True)@5", "assessed is given twice"),
        ("AP(rel='2')", "rel is a number from 0, not '2'"),
        ("AP(rel=2.x)", "cannot read '2.x)'"),
        ("AP(judged_only=1)", "judged_only is True or False, not 1"),
        ("RBP(p=2)", "p is a number from 0 to below 1, not 2"),
        ("RBP(p=1)", "p is a number from 0 to below 1, not 1"),
        ("nDCG(dcg='log3')@5", "dcg is 'log2'"),
        ("nDCG(gains=3)@5", "a table of grades and gains"),
        ("nDCG(gains={1})@5", "expected a colon"),
        ("nDCG(gains={1:'a'})@5", "a table of grades and gains"),
        ("IAP(points='a')", "a text that lists levels of recall"),
        ("nDCG(gains={1:0},rel=2)@5", "give one of them"),
        ("utility.1,-1,0,1", "give the size of the collection"),
        ("bpref@10", "takes no cut-off"),
        ("AP,P@10", "expected one measure, found ',P@10' after 'AP'"),
        ("AP P@10", "expected one measure, found 'P@10' after 'AP'"),
        ("map P@10", "expected one measure, found 'P@10' after 'map'"),
        ("nDCG@10, AP", "expected one measure, found ', AP' after 'nDCG@10'"),
        ("AP;P@10", "expected one measure, found ';P@10' after 'AP'"),
        ("official,rbp", "expected one measure, found ',rbp' after 'official'"),
        ("ndcg@10,map", "expected one measure, found ',map' after 'ndcg@10'"),
        ("nDCG@\r\n1,", r"found ',' after 'nDCG@\r\n1'"),
    ],
)
def test_wrong_forms_are_refused_in_one_line_that_says_what_would_be_right(text: str, hint: str) -> None:
    with pytest.raises(DataError) as problem:
        parse(text)
    assert hint in str(problem.value)
    assert repr(text) in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("value", [3, None, [3], ["AP", None], [b"AP"], 1.5])
def test_what_is_no_text_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(DataError, match="is no measure; expected a text such as nDCG@10"):
        parse_measures(value)
    with pytest.raises(DataError, match="is no measure; expected a text such as nDCG@10"):
        parse(value)


def test_an_unknown_parameter_suggests_the_ones_there_are() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown parameter of AP: 'reel'; did you mean rel\?"):
        parse("AP(reel=2)")


def test_values_are_checked_for_measures_built_in_python_too() -> None:
    with pytest.raises(DataError, match="P: k is a whole number from 1 to 10,000,000, not 0"):
        Measure.of("P", k=0)
    with pytest.raises(DataError, match="not nan"):
        Measure.of("AP", rel=float("nan"))


def test_no_name_is_read_by_two_spellings_of_our_own() -> None:
    ours = {known.name for known in DEFINITIONS}
    assert not ours & set(ALIASES)
    assert not ours & set(RANX)


NUMBERS = st.one_of(
    st.integers(1, 5), st.integers(-3, 2000), st.floats(0, 1), st.floats(-1e9, 1e9), st.floats(0, 3).map(abs)
)


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    origin = get_origin(hint)
    if origin is Literal:
        return st.sampled_from(get_args(hint))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(NUMBERS, NUMBERS, max_size=4)
    if origin is not None:
        return st.one_of([values_of(part) for part in get_args(hint)])
    if hint is NoneType:
        return st.none()
    if hint is bool:
        return st.booleans()
    if hint is str:
        return st.lists(st.sampled_from(["0", "1", ".25", "0.5", "1e-1"]), min_size=1).map(",".join)
    return NUMBERS


@st.composite
def measures(draw: st.DrawFn) -> Measure:
    known = draw(st.sampled_from(DEFINITIONS))
    hints = {name: one.annotation for name, one in known.parameters.items()} | dict.fromkeys(SHARED, bool)
    chosen: dict[str, Any] = {}
    for key in [*known.parameters, *SHARED]:
        needed = key in known.parameters and known.parameters[key].default is Parameter.empty
        if needed or draw(st.booleans()):
            chosen[key] = draw(values_of(hints[key]).filter(partial(fits, known.name, key, hints[key])))
    measure = Measure.of(known.name, **chosen)
    try:
        measure(ranking_of([], highest=1000))
    except DataError:  # parameters that exclude each other, each of them right alone
        reject()
    return measure


def fits(name: str, key: str, hint: Any, value: Any) -> bool:
    try:
        check_value(name, key, value, hint)
    except DataError:
        return False
    return True


@given(measures())
def test_what_a_measure_prints_reads_back_to_the_same_measure(measure: Measure) -> None:
    again = parse(str(measure))
    assert again == measure
    assert hash(again) == hash(measure)
    assert str(again) == str(measure)


PIECES = st.one_of(
    st.sampled_from([*(known.name for known in DEFINITIONS), *ALIASES, *RANX, *TREC_NAMES, "rbp"]),
    st.sampled_from(
        [*"@(){}=:,.'\"-_ ", "k=", "rel=", "p=", "gains={", "True", "None", "10", "0.5", "-l2", "1e999"]
    ),
    st.text(max_size=3),
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=8).map("".join)))
def test_any_text_is_a_measure_or_one_clear_line(text: str) -> None:
    try:
        found = parse_measures([text])
    except SoundingError as error:
        found, problem = (), str(error)
        assert problem.isprintable()
    assert all(parse(str(measure)) == measure for measure in found)


def test_a_trec_name_with_parameters_replaces_the_one_within_a_nickname() -> None:
    both = [str(measure) for measure in parse_measures(["official", "P.5"])]
    assert [name for name in both if name.startswith("P@")] == ["P@5"]
    assert both.index("P@5") == len(both) - 1
    assert [str(m) for m in parse_measures(["all_trec", "relstring.20"]) if m.name == "RelString"] == [
        "RelString@20"
    ]
    assert len([m for m in parse_measures(["official", "P@5"]) if m.name == "P"]) == 9
