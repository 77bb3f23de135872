"""Plan files: what is written reads back, what is wrong is named with its line, deviations are found."""

from __future__ import annotations

import hashlib
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.core.errors import DataError, FormatError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.statistics.pairwise import TESTS
from sounding.statistics.testing import CORRECTION_NAMES
from sounding.terminal.plan_file import KEYS, Plan, PlanChoices, read_plan, write_plan

PAGE = Path(__file__).parents[2] / "docs" / "preregistration.md"

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
measures = st.sampled_from(["AP", "P", "map", "nDCG@10", "RBP(p=0.9)", "R", "A_p@10", "ndcg_cut.5", "recall"])
choices = st.builds(
    PlanChoices,
    measures=st.none() | st.lists(measures, min_size=1, max_size=3).map(tuple),
    depths=st.none() | st.lists(st.integers(1, 10**9), min_size=1, max_size=4).map(tuple),
    test=st.none() | st.sampled_from(sorted(TESTS)),
    correction=st.none() | st.sampled_from(CORRECTION_NAMES),
    alpha=st.none() | st.floats(0, 1, exclude_min=True, exclude_max=True),
    margin=st.none() | st.floats(0, exclude_min=True, allow_infinity=False),
    judgments=st.none() | st.integers(1, 10**9),
    baseline=st.none() | st.lists(names, min_size=1, max_size=3).map(tuple),
    policies=st.fixed_dictionaries(
        {},
        optional={
            "ties": st.sampled_from(["trec", "score-file", "file", "rank"]),
            "unjudged": st.sampled_from(["nonrelevant", "condensed", "bounds", "expected"]),
            "depth": st.none() | st.integers(1, 5000),
            "at_most": st.none() | st.sampled_from(["10", "2x", "growth"]),
            "prior": st.sampled_from(["0.5", "rate", "rank", "chances of relevance.txt", 'é"\\']),
            "seed": st.integers(0, 2**60),
        },
    ),
)


def plan_of(text: str | bytes, folder: Path) -> Plan:
    path = folder / "plan.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_plan(path)


def planned(**chosen: object) -> Plan:
    return Plan(choices=PlanChoices(**chosen), source="plan.toml", sha256="0" * 64)  # type: ignore[arg-type]


# -- files ------------------------------------------------------------------------------------------


@given(chosen=choices)
def test_what_is_written_reads_back(chosen: PlanChoices, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "written.toml"
    written = write_plan(chosen, path)
    assert read_plan(path) == written
    assert written.choices == chosen
    assert written.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert written.check(chosen) == []


def test_a_file_by_hand_is_read(tmp_path: Path) -> None:
    text = (
        "\ufeff# our plan\r\nmeasures = [\r\n  'AP',\r\n  \"P@10\", # the usual\r\n]\r\n"
        'depths = [10, 1_000]\r\nmargin = 1\r\nbaseline = "bm25"\r\npolicies.ties = "file"\r\n'
    )
    assert plan_of(text, tmp_path).choices == PlanChoices(
        measures=("AP", "P@10"), depths=(10, 1000), margin=1, baseline=("bm25",), policies={"ties": "file"}
    )
    assert plan_of("", tmp_path).choices == PlanChoices()


def test_a_name_that_is_not_utf_8_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="of a name is not UTF-8; a plan is TOML, which is UTF-8"):
        write_plan(PlanChoices(baseline=("\udce4",)), tmp_path / "plan.toml")
    assert not (tmp_path / "plan.toml").exists()


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('\nmesures = ["AP"]', 2, "mesures: unknown key 'mesures'; did you mean measures?"),
        ("[polices]\nties = 'trec'", 1, "polices: unknown key 'polices'; did you mean policies?"),
        ("alpha = 0.05\nties = 'trec'", 2, "ties: belongs in the table [policies]"),
        ("[policies]\nties = 'trec'\nalpha = 0.05", 3, "alpha: belongs before the table [policies]"),
        ("[policies]\ntie = 'trec'", 2, "tie: unknown key 'tie'; did you mean ties"),
        ("policies = 3", 1, "policies: 3 is no table; expected [policies] on a line of its own"),
        ('alpha = "0.05"', 1, 'alpha: found "0.05"; expected a number between 0 and 1, such as 0.05'),
        ("alpha = true", 1, "alpha: found true; expected a number"),
        ("alpha = 1", 1, "alpha: found 1; expected a number between 0 and 1"),
        ("alpha = nan", 1, "alpha: found nan; expected a number"),
        ("margin = 0.0", 1, "margin: found 0.0; expected a number above 0, such as 0.01"),
        ("margin = true", 1, "margin: found true; expected a number above 0"),
        ("judgments = 0", 1, "judgments: found 0; expected a whole number from 1, such as 500"),
        ("margin = inf", 1, "margin: found inf; expected a number above 0"),
        ("depths = 10", 1, "depths: found 10; expected a list of whole numbers from 1, such as [10, 100]"),
        ("depths = [10, 0]", 1, "depths: found [10, 0]; expected a list of whole numbers from 1"),
        ("depths = [true]", 1, "depths: found [true]; expected a list of whole numbers"),
        ('depths = ["10"]', 1, 'depths: found ["10"]; expected a list of whole numbers'),
        ("measures = []", 1, 'measures: found []; expected a list of measures such as ["AP", "P@10"]'),
        ('measures = "AP"', 1, 'measures: found "AP"; expected a list of measures'),
        ('alpha = 0.05\nmeasures = [\n"nDGC@10"]', 2, "measures: unknown measure"),
        ('test = "randomisaton"', 1, "test: unknown test 'randomisaton'; did you mean randomization"),
        ("test = 3", 1, "test: found 3; expected the name of a test"),
        ('correction = "hölm"', 1, "correction: unknown correction 'hölm'; did you mean holm?"),
        ("baseline = 1999-01-01", 1, "baseline: found 1999-01-01; expected a run or a list of runs"),
        (
            "[policies]\n\nties = 'tred'",
            3,
            "ties: unknown value of the policy ties: 'tred'; did you mean trec?",
        ),
        ("policies.ties = 3", 1, "ties: found 3; expected text in quotation marks"),
        ("policies = {depth = 2.5}", 1, "depth: found 2.5; expected a whole number"),
        ("[policies]\ndepth = 0", 2, "depth: depth is 0; give a whole number from 1"),
        (
            "alpha = 0.05\n[policies]\nties = 'average'\ndepth = 10",
            2,
            "policies: ties average needs the whole ranking",
        ),
        ("alpha = \n", 1, "not TOML at column 9: Invalid value"),
        ("alpha = 0.05\nalpha = 0.01\n", 2, "not TOML at column 13: Cannot overwrite a value"),
        ("measures = ['AP'", 1, "not TOML at the end of the file: Unclosed array"),
        (b"alpha = 0.05\n# \xe4", 2, "byte 0xe4 is not UTF-8"),
    ],
)
def test_a_problem_is_named_with_its_line(text: str | bytes, line: int, problem: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as raised:
        plan_of(text, tmp_path)
    assert raised.value.line == line
    assert raised.value.problem.startswith(problem)
    assert raised.value.more == 0


def test_of_several_problems_the_first_is_shown_and_the_others_are_counted(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"plan.toml:1: alfa: unknown key .* \(and 3 more problems\)"):
        plan_of("alfa = 1\ndepths = 3\nalpha = 3\n[policies]\nties = 1", tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none.toml: cannot be read: .*; expected a plan in TOML"):
        read_plan(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"alpha": 2}, "alpha: found 2; expected a number between 0 and 1"),
        ({"measures": ("APP",)}, "measures: unknown measure 'APP'"),
        ({"measures": "AP"}, 'measures: found "AP"; expected a list of measures'),
        ({"policies": {"ties": "tred"}}, "ties: unknown value of the policy"),
        ({"policies": {"tie": "trec"}}, "tie: unknown key 'tie'"),
    ],
)
def test_choices_that_cannot_be_made_are_refused(chosen: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        PlanChoices(**chosen)  # type: ignore[arg-type]


# -- deviations -------------------------------------------------------------------------------------


def test_every_deviation_is_named() -> None:
    plan = planned(
        measures=("AP", "P"), depths=(10, 100), test="randomization", correction="holm", alpha=0.05,
        margin=0.01, baseline=("bm25",), policies={"ties": "trec", "depth": 100},
    )  # fmt: skip
    used = PlanChoices(
        measures=("AP", "nDCG@10"), depths=(100, 1000), test="t", correction="bh", alpha=0.1,
        baseline=("bm25", "dense"), policies=asdict(Policies(ties="file")),
    )  # fmt: skip
    assert plan.check(used) == [
        "measures: P is in the plan and not used",
        "measures: nDCG@10 is used and not in the plan",
        "depths: 10 is in the plan and not used",
        "depths: 1000 is used and not in the plan",
        "test: the plan says randomization, used is t",
        "correction: the plan says holm, used is bh",
        "alpha: the plan says 0.05, used is 0.1",
        "margin: the plan says 0.01, used is none",
        "baseline: dense is used and not in the plan",
        "ties: the plan says trec, used is file",
        "depth: the plan says 100, used is none",
    ]


def test_what_a_plan_leaves_open_may_be_anything() -> None:
    used = PlanChoices(measures=("AP",), test="t", margin=0.1, policies=asdict(DEFAULT_POLICIES))
    assert planned().check(used) == []
    assert planned(alpha=0.05).check(used) == ["alpha: the plan says 0.05, used is none"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("map", "AP"),
        ("P", "Precision"),
        ("recall", "R"),
        ("ndcg", "nDCG"),
        ("rbp", "RBP(p=0.9)"),
        ("P.10", "P@10"),
    ],
)
def test_spellings_of_one_measure_do_not_deviate(one: str, other: str) -> None:
    assert planned(measures=(one,)).check(PlanChoices(measures=(other,))) == []
    assert planned(measures=(other,)).check(PlanChoices(measures=(one,))) == []


def test_measures_that_look_alike_do_deviate() -> None:
    for one, other in (("P", "P@10"), ("rbp", "RBP"), ("AP", "P(assessed=True)"), ("R", "P")):
        assert len(planned(measures=(one,)).check(PlanChoices(measures=(other,)))) == 2


def test_the_order_of_lists_does_not_matter() -> None:
    assert planned(depths=(10, 100)).check(PlanChoices(depths=(100, 10, 10))) == []


@given(choices, choices)
def test_a_plan_is_followed_exactly_where_its_own_choices_are_made(
    plan: PlanChoices, used: PlanChoices
) -> None:
    found = Plan(choices=plan, source="plan.toml", sha256="0" * 64).check(used)
    fixed = plan.made()
    both = PlanChoices(
        **{name: fixed.get(name, getattr(used, name)) for name in KEYS},
        policies=dict(plan.policies),
    )
    assert Plan(choices=plan, source="plan.toml", sha256="0" * 64).check(both) == []
    plain = {name for name, value in fixed.items() if not isinstance(value, tuple)}
    assert {line.split(":")[0] for line in found} & plain == {
        name for name in plain if used.made().get(name) != fixed[name]
    }


def test_the_line_for_outputs_names_file_hash_what_is_fixed_and_what_is_open(tmp_path: Path) -> None:
    plan = plan_of("measures = ['AP', 'P@10']\nalpha = 0.05\n[policies]\nat_most = '2x'\n", tmp_path)
    assert plan.describe() == (
        f"plan {tmp_path / 'plan.toml'} (sha256 {plan.sha256[:12]}): measures AP, P@10; alpha 0.05;"
        " at most 2x; left open: depths, test, correction, margin, baseline, judgments, other policies"
    )
    everything = planned(
        measures=("AP",), depths=(10,), test="t", correction="holm", alpha=0.05, margin=0.01, baseline=("a",),
        judgments=500, policies=asdict(Policies(depth=10, at_most="2x")),
    )  # fmt: skip
    assert "left open" not in everything.describe()
    nothing = plan_of("", tmp_path).describe()
    assert ": nothing is fixed; left open: measures, depths, test, correction, alpha, margin" in nothing
    assert nothing.endswith("baseline, judgments, policies")


# -- the page ---------------------------------------------------------------------------------------


def test_the_pages_plan_is_one_and_every_key_is_on_the_page(tmp_path: Path) -> None:
    text = PAGE.read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert set(plan_of(block, tmp_path).choices.made()) == {*KEYS, "ties", "unjudged"} - {
        "margin",
        "judgments",
    }
    for name in KEYS:
        assert f"`{name}`" in text


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
def test_the_pages_python_prints_what_it_says(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, PAGE.name, "exec"), {})
    said = [line.removeprefix("# ") for line in block.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == said
    assert said
