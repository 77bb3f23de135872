"""`sounding depth` as a person uses it, and the figures of TREC-8."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest
from scipy import stats

from sounding.cli import main
from sounding.compare.procedure import Procedure
from sounding.compare.runs import Reading
from sounding.data.formats import read_qrels
from sounding.data.run_info import read_run_info
from sounding.data.simulation import simulate_collection
from sounding.depth.stability import Stability, depths_to_look_at, stability
from sounding.errors import DataError
from sounding.evaluation import evaluate
from sounding.policies import Policies

Said = tuple[int, str, str]
Call = Callable[..., Said]

HEAD = ["measure", "k", "means", "apart", "p", "cover", "turned", "tau", "tau_ap", "RBO", "r", "RMSE"]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 8 runs and 30 topics, judged to depth 10."""
    folder = tmp_path_factory.mktemp("depth") / "trial"
    sizes = ["--topics", "30", "--groups", "4", "--systems", "2", "--documents", "500", "--length", "100"]
    with pytest.raises(SystemExit):
        main(["sample", str(folder), *sizes, "--pool-depth", "10", "--pooled-runs", "1", "--seed", "4"])
    return folder


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(trial)

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        status = 0
        try:
            main(["depth", *arguments])
        except SystemExit as left:
            status = int(left.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return run


# -- TREC-8 ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pooled(collections: Path) -> tuple[list[Path], Path, dict[str, object]]:
    """The 71 pooled runs of TREC-8, its qrels, and who contributed."""
    folder = collections / "trec8"
    info = read_run_info(folder / "info.tsv")
    names = {name for name, one in info.items() if one.pooled}
    runs = [
        path
        for path in sorted(folder.glob("runs/input.*.gz"))
        if path.name.removeprefix("input.").removesuffix(".gz") in names
    ]
    return runs, folder / "qrels.trec8.txt.gz", dict(info)


MEASURES = ("AP(norm='b')", "RBP(p=0.95)", "RBP(p=0.8)", "nDCG", "RR", "ERR")
DEPTHS = (1, 4, 10, 40, 100, 400, 1000)


@pytest.fixture(scope="module")
def trec8(pooled: tuple[list[Path], Path, dict[str, object]]) -> Stability:
    runs, qrels, info = pooled
    assert len(runs) == 71
    return stability(
        qrels, runs, MEASURES, depths=DEPTHS, reference=100, info=info,  # type: ignore[arg-type]
        reading=Reading(jobs=None),
    )  # fmt: skip


def percentages(found: Stability, name: str, column: str) -> list[float]:
    rows = found.columns()
    return [
        round(100 * value, 1)
        for measure, value in zip(rows["measure"], rows[column], strict=True)
        if measure == name
    ]


@pytest.mark.parametrize(
    ("name", "discrimination", "covered"),
    [
        (
            "AP(norm='b')",
            [54.4, 66.8, 71.4, 74.5, 74.7, 75.9, 76.0],
            [69.8, 85.2, 91.1, 96.3, 100, 97.7, 97.3],
        ),
        ("RBP(p=0.95)", [54.4, 66.5, 70.9, 74.0, 74.9, 74.9, 74.9], [70.7, 85.9, 93.0, 98.5, 100, 100, 100]),
        ("RBP", [54.4, 66.2, 70.1, 70.9, 70.9, 70.9, 70.9], [75.2, 92.2, 98.6, 100, 100, 100, 100]),
    ],
)
def test_trec_8_has_the_pattern_of_table_7a_of_lu(
    trec8: Stability, name: str, discrimination: list[float], covered: list[float]
) -> None:
    assert percentages(trec8, name, "discrimination") == discrimination
    assert percentages(trec8, name, "coverage") == covered
    one = next(one for one in trec8.measures if one.name == name)
    assert not one.inversion[39:].any()  # from k = 40 on, at every k
    if name == "RBP":
        assert (one.coverage[39:] == 1).all()


def test_the_pool_of_trec_8_is_found_and_deeper_values_are_an_extended_evaluation(trec8: Stability) -> None:
    assert (int(np.count_nonzero(trec8.pool.contributing)), trec8.pool.depth) == (71, 100)
    told = {finding.guideline: finding for finding in trec8.findings()}
    assert told["extended evaluation"].text.startswith("k = 400 and 1000: below the pool depth 100")
    assert not told["runs outside the pool"].heed
    assert "READWARE2" in told["early leaders"].text


def test_values_at_every_depth_are_those_of_an_evaluation(
    trec8: Stability, pooled: tuple[list[Path], Path, dict[str, object]]
) -> None:
    runs, qrels, _ = pooled
    few = runs[::10]
    measures = [f"{name}@{k}" for name in MEASURES for k in (3, 77, 1000)]
    scores = evaluate(qrels, few, measures)
    places = [trec8.runs.index(name) for name in scores.runs]
    for number, measure in enumerate(scores.measures):
        own = next(one for one in trec8.measures if one.measure == measure.replace(k=1))
        found = own.means[trec8.place(measure.k or 0), places]
        np.testing.assert_allclose(found, scores.mean()[:, number], rtol=0, atol=1e-12)


def test_a_shallow_pool_makes_deep_evaluation_turn_what_the_pool_depth_separates(
    pooled: tuple[list[Path], Path, dict[str, object]],
) -> None:
    runs, qrels, info = pooled
    found = stability(
        qrels, runs, MEASURES[:3], depths=(10, 100, 1000), pool_depth=10, info=info,  # type: ignore[arg-type]
        reading=Reading(jobs=None),
    )  # fmt: skip
    assert found.pool.depth == 10
    assert [str(one.reference) for one in found.measures] == ["AP(norm='b')@10", "RBP(p=0.95)@10", "RBP@10"]
    assert found.notes[0] == (
        "Pool cut to depth 10 (of 71 contributing runs, listed): 10134 of 86830 judgments kept."
    )
    ap, rbp = (percentages(found, name, "coverage") for name in ("AP(norm='b')", "RBP"))
    assert ap[0] == rbp[0] == 100
    assert ap[2] < rbp[2]


# -- tables ----------------------------------------------------------------------------------------


def test_the_table_fits_a_screen_and_says_what_to_heed(call: Call) -> None:
    status, out, err = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "RBP", "--depths", "5,10,50", "--info", "info.tsv"
    )
    assert (status, err) == (0, "")
    head, _, *rows = out.splitlines()
    assert head.split() == [*HEAD, "open", "A_p"]
    assert max(map(len, out.splitlines())) <= 112
    assert [row.split()[0] for row in rows[:6]] == ["AP", "10", "50", "RBP", "10", "50"]
    assert "100.0%    0.0%  1.000   1.000  1.000  1.000  0.000" in rows[1]  # the reference itself
    for text in (
        "8 runs, 28 pairs, 30 topics.", "Against the reference (AP@10, RBP@10)", "Stable: AP from",
        "Test: paired t test on the mean difference, correction none, alpha 0.05. Policies: ties trec",
        "3 of 8 runs contributed to the pool (as listed)", "To heed, after the closing guidelines",
        "Depths fixed beforehand: no plan file", "Exact form: AP@k divides by all known relevant documents",
        "sounding depth qrels.txt runs -m AP -m RBP --depths 5,10,50 --info info.tsv",
        "Extended evaluation: k = 50: below the pool depth 10", "Runs outside the pool: 5 of 8 runs",
        "Standard depths: k = 50", "utility beside recall",
    ):  # fmt: skip
        assert text in " ".join(out.split()), text


def test_defaults_show_a_recall_and_a_utility_measure_down_to_the_deepest_list(call: Call) -> None:
    status, out, _ = call("qrels.txt", "runs")
    rows = [line.split() for line in out.splitlines()[2:10]]
    assert status == 0
    assert [row[0] for row in rows] == ["AP", "10", "30", "100", "RBP(p=0.95)", "10", "30", "100"]
    assert "guessed from what is judged" in out


def test_tidy_rows_have_every_figure_and_remarks_go_beside(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "depth.csv"
    status, _, err = call(
        "qrels.txt", "runs", "-m", "AP", "--depths", "5,20", "--reference", "P@10", "-o", str(path)
    )
    frame = polars.read_csv(path)
    assert status == 0
    assert frame.columns == [
        "measure", "k", "reference", "mean", "lowest", "highest", "discrimination", "median_p", "coverage",
        "inversion", "tau", "tau_ap", "rbo", "pearson", "rmse", "residual_unjudged", "residual_tail",
        "assessment",
    ]  # fmt: skip
    assert frame["reference"].unique().to_list() == ["P@10"]
    assert frame["residual_tail"].null_count() == 2
    assert "Utility beside recall: AP alone" in err
    assert "policies: ties trec" in err


def test_each_depth_gives_a_row_for_every_k(call: Call) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "P", "--depths", "20", "--each-depth", "--format", "jsonl"
    )
    rows = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [row["k"] for row in rows] == [*range(1, 21)] * 2


def test_json_holds_findings_and_where_the_ordering_is_stable(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "--format", "json", "--info", "info.tsv")
    body = json.loads(out)
    assert body["pool"]["depth"] == 10
    assert body["test"] == {"name": "t", "correction": "none", "alpha": 0.05}
    assert set(body["stable_from"]) == {"AP"}
    assert [finding["guideline"] for finding in body["findings"]] == [
        "standard depths", "depths fixed beforehand", "exact form", "tie rule", "extended evaluation",
        "utility beside recall", "runs outside the pool", "early leaders",
    ]  # fmt: skip
    assert len(body["unpooled"]) == 5
    assert body["rows"][0]["residual_tail"] is None


def test_a_pair_over_depth_has_error_bars_and_cases(call: Call, trial: Path) -> None:
    a, b = sorted(path.stem for path in (trial / "runs").iterdir())[:2]
    status, out, _ = call("qrels.txt", "runs", "-m", "AP", "--depths", "5,50", "--pair", a, b)
    assert status == 0
    assert f"AP: {a} and {b} over depth" in out
    assert "The case" in out
    _, csv, _ = call("qrels.txt", "runs", "-m", "AP", "--pair", a, b, "--format", "csv", "--quiet")
    frame = polars.read_csv(csv.encode())
    assert {"mean_a", "mean_b", "half_width", "p", "assessment_a", "case"} <= set(frame.columns)
    assert frame["case"].is_in([1, 2, 3, 4]).all()


def test_runs_volatility_pools_and_subsets_are_tables_of_their_own(call: Call) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "P", "--depths", "5,20", "--each-run", "--volatility",
        "--pools", "3,5", "--subsets", "--info", "info.tsv",
    )  # fmt: skip
    assert status == 0
    for title in (
        "AP: performance and assessment of every run", "volatility: tau_b of the orderings by AP at two depths",
        "by AP (rows) and P (columns) at two depths", "shallower pools against the whole one",
        "random parts of the judgments",
    ):  # fmt: skip
        assert title in out, title


@pytest.mark.parametrize(
    ("view", "columns"),
    [
        (("--each-run",), {"run", "measure", "k", "mean", "lower", "upper"}),
        (("--volatility", "--coefficient", "rbo"), {"measure", "k", "other_k", "coefficient", "agreement"}),
        (("--pools", "3"), {"pool_depth", "measure", "tau_b", "claims_reversed"}),
        (("--subsets",), {"share", "draw", "measure", "tau_b"}),
    ],
)
def test_programs_get_one_table(call: Call, view: tuple[str, ...], columns: set[str]) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", "-m", "AP", "--depths", "5,20", *view, "--format", "csv", "--quiet"
    )
    assert status == 0
    assert columns <= set(polars.read_csv(out.encode()).columns)


def test_condensed_runs_have_no_residual_and_their_lengths_are_told(call: Call) -> None:
    status, out, _ = call("qrels.txt", "runs", "-m", "RBP", "--unjudged", "condensed")
    assert status == 0
    assert out.splitlines()[0].split() == [*HEAD, "A_p"]
    assert "Condensed lists have" in out


def test_a_plan_is_taken_and_checked(call: Call, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('measures = ["AP", "RBP"]\ndepths = [5, 20]\ntest = "t"\nalpha = 0.01\n')
    _, out, _ = call("qrels.txt", "runs", "--plan", str(plan))
    assert "alpha 0.01" in out
    assert "Kept: standard depths, depths fixed beforehand" in out
    _, out, _ = call("qrels.txt", "runs", "--plan", str(plan), "--depths", "7")
    text = " ".join(out.split())
    assert f"Depths fixed beforehand: by plan {plan}; deviates: depths: " in text
    assert "7 is used and not in the plan" in text


def test_charts_are_written(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    path = tmp_path / "depth.svg"
    a, b = sorted(path.stem for path in Path("runs").iterdir())[:2]
    status, _, err = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "RBP", "--depths", "5,20", "--pair", a, b, "--pools", "3,5",
        "--subsets", "--chart", str(path), "--format", "md",
    )  # fmt: skip
    assert status == 0
    assert err == f"chart: {path}\n"
    assert path.read_text().startswith("<svg")


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("-m", "AP@10"), 2, "AP@10: depths are put to measures without a cut-off; give AP and --depths"),
        (("-m", "Bpref"), 2, "Bpref has no cut-off"),
        (("--depths", "0,5"), 2, "--depths '0,5': expected whole numbers from 1"),
        (("--pools", "x"), 2, "--pools 'x': expected whole numbers from 1"),
        (("--pools", "5", "--pool-depth", "5"), 2, "--pools cuts the pool itself"),
        (("--reference", "AP"), 2, "reference AP: expected a depth from 1"),
        (("--reference", "0"), 2, "reference 0: expected a depth from 1"),
        (("--each-depth",), 2, "--each-depth is for programs"),
        (("--volatility", "--subsets", "--format", "csv"), 2, "csv holds one table"),
        (("--chart", "x.bmp"), 2, "no chart format has the suffix '.bmp'"),
        (("--ties", "average"), 2, "need one order of the documents"),
        (("--unjudged", "bounds"), 2, "residuals stand beside the values anyway"),
        (("--unjudged", "expected"), 2, "unjudged expected"),
        (("--pair", "a", "b"), 2, "unknown run 'a'"),
        (("--test", "tt"), 2, "unknown test 'tt'"),
        (("--volatility", "--coefficient", "tau"), 2, "unknown coefficient 'tau'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    call: Call, arguments: tuple[str, ...], status: int, told: str
) -> None:
    measures = () if "-m" in arguments else ("-m", "AP")
    left, out, err = call("qrels.txt", "runs", *measures, *arguments)
    assert (left, out) == (status, "")
    assert told in err
    assert "Traceback" not in err


def test_one_topic_has_values_and_no_tests(call: Call, trial: Path, tmp_path: Path) -> None:
    lines = (trial / "qrels.txt").read_text().splitlines(keepends=True)
    one = tmp_path / "one.txt"
    one.write_text("".join(line for line in lines if line.split()[0] == lines[0].split()[0]))
    status, out, _ = call(str(one), "runs", "-m", "AP", "--each-run", "--volatility")
    text = " ".join(out.split())
    assert status == 0
    for told in (
        "28 pairs, 1 topic.", "No pair could be tested", "AP: the reference separates no pair",
        "Only 1 topic, fewer than 25",
    ):  # fmt: skip
        assert told in text, told


def test_one_run_is_not_enough(call: Call, trial: Path) -> None:
    run = sorted((trial / "runs").iterdir())[0]
    status, _, err = call("qrels.txt", str(run))
    assert status == 1
    assert "is asked of at least two" in err


# -- the function ----------------------------------------------------------------------------------


def test_truncations_by_pools_find_the_pool_ranks_by_themselves() -> None:
    collection = simulate_collection(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    plain = replace(collection.qrels, pool_ranks=None)
    found = stability(plain, collection.runs, ["AP(norm='c')"], depths=[5, 10])
    known = stability(collection.qrels, collection.runs, ["AP(norm='c')"], depths=[5, 10])
    np.testing.assert_allclose(found.measures[0].means, known.measures[0].means)


def test_topics_that_a_run_lacks_can_be_skipped() -> None:
    collection = simulate_collection(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    runs = {run.name: as_dict(run) for run in collection.runs}
    for topic in collection.qrels.topics[:3]:
        del runs[collection.runs[1].name][topic]
    found = stability(collection.qrels, runs, ["AP"], depths=[5, 10], policies=Policies(missing="skip"))
    scores = evaluate(collection.qrels, runs, ["AP@10"], policies=Policies(missing="skip"))
    np.testing.assert_allclose(found.measures[0].means[9], scores.mean()[:, 0])
    with pytest.raises(DataError, match="no documents for"):
        stability(collection.qrels, runs, ["AP"], policies=Policies(missing="error"))


def as_dict(run: object) -> dict[str, dict[str, float]]:
    frame = run.frame  # type: ignore[attr-defined]
    found: dict[str, dict[str, float]] = {}
    for topic, doc, score in frame.iter_rows():
        found.setdefault(topic, {})[doc] = score
    return found


def test_other_tests_are_made_at_the_chosen_depths_only() -> None:
    collection = simulate_collection(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    procedure = Procedure(test="anova", correction="bonferroni")
    found = stability(collection.qrels, collection.runs, ["AP"], depths=[5, 10], procedure=procedure)
    assert found.measures[0].separation.ks == (5, 10)
    assert "The test anova was made at the chosen depths only." in found.notes


def test_every_k_is_looked_at_to_a_thousand_and_fewer_beyond() -> None:
    assert depths_to_look_at(7, [3, 9]).tolist() == [1, 2, 3, 4, 5, 6, 7, 9]
    deep = depths_to_look_at(100_000, [5000])
    assert deep[:1000].tolist() == list(range(1, 1001))
    assert 1080 < len(deep) <= 1101
    assert 5000 in deep
    assert deep[-1] == 100_000


def test_values_held_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = simulate_collection(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    whole = stability(collection.qrels, collection.runs, ["AP"], depths=[50])
    monkeypatch.setattr("sounding.depth.stability.AT_ONCE", 500)
    parts = stability(collection.qrels, collection.runs, ["AP"], depths=[50])
    assert whole.frame.equals(parts.frame)


def test_qrels_that_are_read_already_are_taken_as_they_are(trial: Path) -> None:
    qrels = read_qrels(trial / "qrels.txt")
    found = stability(qrels, trial / "runs", ["AP"], depths=[10])
    assert found.runs == stability(trial / "qrels.txt", trial / "runs", ["AP"], depths=[10]).runs


# -- what stands beside the ratios, against evaluations of its own ---------------------------------


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stability, Path]:
    """A simulated collection whose runs have many ties, with two runs in three outside the pool."""
    folder = tmp_path_factory.mktemp("tied") / "tied"
    sizes = ["--topics", "26", "--groups", "4", "--systems", "3", "--documents", "400", "--length", "60"]
    with pytest.raises(SystemExit):
        main(["sample", str(folder), *sizes, "--pool-depth", "10", "--pooled-runs", "1", "--seed", "8"])
    for place, path in enumerate(sorted((folder / "runs").iterdir())):
        rows = [line.split() for line in path.read_text().splitlines()]
        # Equal scores over stretches that are the longer the later the run.
        lines = [" ".join([*row[:4], str(-(int(row[3]) // (1 + place))), row[5]]) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    found = stability(
        folder / "qrels.txt", folder / "runs", ["AP", "RBP(p=0.9)"], depths=[5, 20, 40], reference=20,
        info=read_run_info(folder / "info.tsv"),
    )  # fmt: skip
    return found, folder


def test_residuals_and_assessment_are_those_of_evaluate(tied: tuple[Stability, Path]) -> None:
    found, folder = tied
    parts = ["RBPResidual(p=0.9,part='unjudged')@20", "RBPResidual(p=0.9,part='tail')@20"]
    means = evaluate(folder / "qrels.txt", folder / "runs", [*parts, "P(assessed=True)@20"]).mean()
    rbp = found.measures[1]
    assert found.measures[0].residual_tail is None
    assert rbp.residual_unjudged is not None
    assert rbp.residual_tail is not None
    np.testing.assert_allclose(rbp.residual_unjudged[19], means[:, 0])
    np.testing.assert_allclose(rbp.residual_tail[19], means[:, 1])
    np.testing.assert_allclose(found.assessment[19], means[:, 2])
    np.testing.assert_allclose(found.assessment_intervals.means[1], means[:, 2])


def test_unjudged_documents_of_runs_outside_the_pool_are_counted_at_their_ranks(
    tied: tuple[Stability, Path],
) -> None:
    found, folder = tied
    scores = evaluate(folder / "qrels.txt", folder / "runs", ["Unjudged@20", "FirstUnjudged", "NumRet"])
    outside = ~found.pool.contributing
    assert [one.run for one in found.unpooled] == [
        run for run, out in zip(scores.runs, outside.tolist(), strict=True) if out
    ]
    numbers = np.rint(20 * scores.values[outside, 0].sum(axis=1)).tolist()
    assert [one.number for one in found.unpooled] == numbers
    first = np.where(scores.values[outside, 1] <= 20, scores.values[outside, 1], np.nan)
    assert [one.first for one in found.unpooled] == np.nanmedian(first, axis=1).tolist()
    listed = np.minimum(scores.values[outside, 2], 20).sum(axis=1)  # some lists end before 20
    assert [one.share for one in found.unpooled] == (np.array(numbers) / listed).tolist()


def test_the_tie_rule_is_held_against_the_lines_of_the_runs(tied: tuple[Stability, Path]) -> None:
    found, folder = tied
    by_id, by_line = (
        evaluate(folder / "qrels.txt", folder / "runs", ["AP@20"], policies=Policies(ties=ties)).mean()[:, 0]
        for ties in ("trec", "file")
    )
    tau, moved = found.tie_moves["AP@20"]
    assert tau == pytest.approx(stats.kendalltau(by_id, by_line).statistic)
    steps = np.abs(stats.rankdata(-by_id) - stats.rankdata(-by_line))
    assert moved.places == steps.max() > 0
    assert next(one for one in found.findings() if one.guideline == "tie rule").heed


def test_the_order_of_the_runs_is_that_of_ap_at_10(tied: tuple[Stability, Path]) -> None:
    found, folder = tied
    scores = evaluate(folder / "qrels.txt", folder / "runs", ["AP@10"])
    assert list(found.order) == scores.order()


def test_agreement_is_with_the_ordering_of_the_reference(tied: tuple[Stability, Path]) -> None:
    found, _ = tied
    for one in found.measures:
        for k in (1, 7, 40):
            pair = one.means[19], one.means[k - 1]
            assert one.agreement["tau"][k - 1] == pytest.approx(stats.kendalltau(*pair).statistic)
            assert one.agreement["pearson"][k - 1] == pytest.approx(stats.pearsonr(*pair).statistic)
            assert one.agreement["rmse"][k - 1] == pytest.approx(np.sqrt(np.mean((pair[0] - pair[1]) ** 2)))
        assert {name: values[19] for name, values in one.agreement.items()} == pytest.approx(
            {"tau": 1, "tau_ap": 1, "rbo": 1, "pearson": 1, "rmse": 0}
        )


def test_a_pair_is_the_two_runs_of_that_name(tied: tuple[Stability, Path]) -> None:
    found, folder = tied
    names = (found.runs[4], found.runs[1])
    ap, rbp = found.pair(names)
    scores = evaluate(folder / "qrels.txt", folder / "runs", ["AP@20", "P(assessed=True)@20"]).mean()
    place = ap.performance.depths.index(20)
    np.testing.assert_allclose(ap.performance.means[place], scores[[4, 1], 0])
    np.testing.assert_allclose(ap.assessment.means[place], scores[[4, 1], 1])
    assert (ap.measure, rbp.measure, ap.runs) == ("AP", "RBP(p=0.9)", names)
    with pytest.raises(DataError, match="against itself"):
        found.pair((names[0], names[0]))
