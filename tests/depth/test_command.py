"""`sounding depth` as a person uses it, and the figures of TREC-8."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest
from scipy import stats
from tests.e2e.calling import Call, caller, sampled
from tests.measures.regrading_data import draw_qrels, draw_runs

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data import reading as reading_module
from sounding.data.formats import read_qrels, read_run
from sounding.data.run_info import read_run_info
from sounding.depth import over_depth as over_depth_module
from sounding.depth.fewer_judgments import judgment_subsets, pool_depths
from sounding.depth.intervals import Intervals, PairOverDepth
from sounding.depth.result import DepthStudy
from sounding.depth.study import depth, depths_to_look_at
from sounding.depth.tables import pair_tables
from sounding.evaluate.evaluation import evaluate
from sounding.measures import Measure
from sounding.measures.cumulative import values_at
from sounding.measures.regrading import read_regrading
from sounding.runs.pool import cut_pool
from sounding.runs.ranking import Ranking
from sounding.sample.simulation import sample
from sounding.statistics.cases import MEANING
from sounding.statistics.pairwise import Procedure
from sounding.statistics.rank_correlation import coefficients, tau_ap
from sounding.statistics.rank_overlap import rbo_of_values

HEAD = ["measure", "k", "means", "differ", "p", "confirmed", "reversed", "tau", "tau_ap_b", "RBO", "r"]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 8 runs and 30 topics, judged to depth 10."""
    sizes = "--topics 30 --groups 4 --systems 2 --documents 500 --length 100"
    return sampled(
        tmp_path_factory.mktemp("depth") / "trial", f"{sizes} --pool-depth 10 --pooled-runs 1 --seed 4"
    )


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(trial)

    return caller(capsys, "depth")


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


MEASURES = ("AP(norm='b')", "Q", "RBP(p=0.95)", "RR", "ERR", "RBP(p=0.8)", "nDCG")
IN_DOCS = ("AP(norm='b')", "Q", "RBP(p=0.95)", "RR", "ERR", "RBP(p=0.8)")
DOCS = Path(__file__).parents[2] / "docs"
DEPTHS = (1, 4, 10, 40, 100, 400, 1000)


@pytest.fixture(scope="module")
def trec8(pooled: tuple[list[Path], Path, dict[str, object]]) -> DepthStudy:
    runs, qrels, info = pooled
    assert len(runs) == 71
    return depth(
        qrels, runs, MEASURES, depths=DEPTHS, reference=100, info=info,  # type: ignore[arg-type]
        jobs=None,
    )  # fmt: skip


def percentages(found: DepthStudy, name: str, column: str) -> list[float]:
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
        ("RBP(p=0.8)", [54.4, 66.2, 70.1, 70.9, 70.9, 70.9, 70.9], [75.2, 92.2, 98.6, 100, 100, 100, 100]),
    ],
)
def test_trec_8_has_the_pattern_of_table_7a_of_lu(
    trec8: DepthStudy, name: str, discrimination: list[float], covered: list[float]
) -> None:
    assert percentages(trec8, name, "discrimination") == discrimination
    assert percentages(trec8, name, "coverage") == covered
    one = next(one for one in trec8.measures if one.name == name)
    assert not one.inversion[39:].any()  # from k = 40 on, at every k
    if name == "RBP(p=0.8)":
        assert (one.coverage[39:] == 1).all()


def numbers_below(page: str, heading: str) -> dict[str, list[list[float]]]:
    """The rows of the first table below a heading: first cell -> the numbers of each other cell."""
    lines = (DOCS / page).read_text().partition(heading)[2].splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("|"))
    found = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        first, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        found[first] = [[float(word.strip("%").replace(",", "")) for word in cell.split()] for cell in cells]
    return found


def test_the_docs_have_the_figures_of_trec_8(trec8: DepthStudy) -> None:
    table = numbers_below("depth.md", "## TREC-8, beside Table 7(a)")
    assert list(table) == [str(k) for k in DEPTHS]
    for column, name in enumerate(IN_DOCS):
        shown = [row[2 * column] for row in table.values()]
        both = (percentages(trec8, name, "discrimination"), percentages(trec8, name, "coverage"))
        assert shown == [list(pair) for pair in zip(*both, strict=True)], name
    text = " ".join((DOCS / "depth.md").read_text().split())
    begin = {one.name: one.volatility.stable_from() for one in trec8.measures}
    assert (
        f"stable from k = {begin[IN_DOCS[0]]} by AP_b, from {begin['RBP(p=0.95)']} by RBP(.95), from"
        f" {begin['RBP(p=0.8)']} by RBP(.8), and only from {begin['nDCG']} by nDCG. By nDCG,"
        f" {percentages(trec8, 'nDCG', 'inversion')[-1]}% of the differences"
    ) in text


def test_the_pool_of_trec_8_is_found_and_deeper_values_are_an_extended_evaluation(trec8: DepthStudy) -> None:
    assert (int(np.count_nonzero(trec8.pool.contributing)), trec8.pool.depth) == (71, 100)
    told = {finding.guideline: finding for finding in trec8.findings()}
    assert told["extended evaluation"].text.startswith("k = 400 and 1000: deeper than the pool depth of 100")
    assert not told["runs outside the pool"].heed
    assert "READWARE2" in told["runs that lead early"].text


def test_values_at_every_depth_are_those_of_an_evaluation(
    trec8: DepthStudy, pooled: tuple[list[Path], Path, dict[str, object]]
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


def test_a_pool_of_depth_10_has_the_figures_of_the_docs(
    pooled: tuple[list[Path], Path, dict[str, object]],
) -> None:
    runs, qrels, info = pooled

    def cut(measures: tuple[str, ...], depths: tuple[int, ...], policies: Policies) -> DepthStudy:
        return depth(
            qrels, runs, measures, depths=depths, pool_depth=10, info=info,  # type: ignore[arg-type]
            policies=policies, jobs=None,
        )  # fmt: skip

    found = cut(MEASURES[:-1], DEPTHS, Policies())
    assert found.pool.depth == 10
    assert [one.reference_name for one in found.measures] == [f"{name}@10" for name in IN_DOCS]
    assert found.notes[0] == (
        "Pool cut to depth 10 (of 71 contributing runs, listed): 10,134 of 86,830 judgments kept."
    )
    table = numbers_below("depth.md", "The next table is for the pool cut to depth 10")
    for column, name in enumerate(IN_DOCS):
        figures = (percentages(found, name, part) for part in ("discrimination", "coverage", "inversion"))
        assert [row[column] for row in table.values()] == [list(row) for row in zip(*figures, strict=True)], (
            name
        )
    condensed = cut(("AP(norm='b')", "RBP(p=0.95)"), (10, 1000), Policies(unjudged="condensed"))
    ap, rbp = (percentages(condensed, one.name, "coverage")[-1] for one in condensed.measures)
    text = " ".join((DOCS / "depth.md").read_text().split())
    assert (
        f"confirms {percentages(found, IN_DOCS[0], 'coverage')[-1]}% of the differences at k = 1,000" in text
    )
    assert f"{ap}% by AP_b, {rbp}% by RBP(.95)" in text


def test_pools_and_parts_of_the_129_runs_have_the_figures_of_the_docs(collections: Path) -> None:
    folder = collections / "trec8"
    info = read_run_info(folder / "info.tsv")
    regrading = read_regrading(folder / "qrels.trec8.txt.gz", folder / "runs", jobs=None)
    made = np.array([info[run].pooled for run in regrading.retrieved.tags])
    contributors = regrading.retrieved.pick(made)
    pools = pool_depths(regrading, ["AP"], [1, 5, 10, 20, 50], contributors=contributors).frame.head(5)
    shown = pools.select(
        "pool_depth", "judgments", polars.col("tau_b", "tau_ap_b").round(3), "most_places", "reversed",
        "claims_reversed", "claims_lost", "claims_missed",
    )  # fmt: skip
    table = numbers_below("rank-agreement.md", "TREC-8, AP of 129 runs")
    assert [[float(first), *(cell[0] for cell in row)] for first, row in table.items()] == [
        list(map(float, row)) for row in shown.rows()
    ]
    parts = judgment_subsets(
        regrading, ["AP", "bpref", "P@10"], shares=[0.5, 0.2, 0.1, 0.05, 0.01], jobs=None
    )
    table = numbers_below("rank-agreement.md", "TREC-8, 129 runs, tau-b with the full ordering")
    means = np.round(parts.agreement[0].mean(axis=1), 3)
    assert [[cell[0] for cell in row] for row in table.values()] == means.tolist()


# -- tables ----------------------------------------------------------------------------------------


def test_the_table_fits_a_screen_and_says_what_to_heed(call: Call) -> None:
    status, out, err = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "RBP", "--depths", "5,10,50", "--info", "info.tsv", "--notes"
    )
    assert (status, err) == (0, "")
    head, _, *rows = out[out.index("measure ") :].splitlines()
    assert head.split() == [*HEAD, "open", "A_p"]
    assert max(map(len, out.splitlines())) <= 115
    assert [row.split()[0] for row in rows[:6]] == ["AP", "10", "50", "RBP", "10", "50"]
    assert rows[1].split()[4:10] == ["100%", "0%", "1.000", "1.000", "1.000", "1.000"]  # the reference itself
    for text in (
        "The order of the 8 runs is stable from k = ", "30 topics", "differ significantly at the reference (AP@10, RBP@10)",
        "Test: paired t test on the mean difference, correction none, alpha 0.05.", "Policies: ties trec",
        "3 of 8 runs contributed to the pool (as listed)",
        "Depths fixed beforehand: no, because there is no plan file", "Exact form: AP@k divides by all known relevant documents",
        "sounding depth qrels.txt runs -m AP -m RBP --depths 5,10,50 --info info.tsv --notes",
        "Extended evaluation: k = 50: deeper than the pool depth of 10", "Runs outside the pool: 5 of 8 runs",
        "Standard depths: others do not report k = 50", "utility measures beside recall-based ones",
    ):  # fmt: skip
        assert text in " ".join(out.split()), text


@pytest.mark.parametrize("options", [(), ("--threshold", "1"), ("--threshold", "1", "--volatility")])
def test_the_next_command_runs_as_printed(
    call: Call, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "--depths", "5,10", "--info", "info.tsv", *options)
    program, verb, *words = shlex.split(out.rpartition("Next: ")[2])
    assert program == "sounding"
    assert caller(capsys, verb)(*words)[0] == 0


def test_the_headline_names_the_depth_that_json_gives(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "-m", "P", "--depths", "5,20", "--format", "json")
    body = json.loads(out)
    for name, begin in body["stable_from"].items():
        assert (f"from k = {begin} on by {name}" in body["headline"]) == (begin is not None)
    assert "8 runs" in body["headline"]
    assert body["schema"].startswith("sounding/depth/")


def test_defaults_show_a_recall_and_a_utility_measure_down_to_the_deepest_list(call: Call) -> None:
    status, out, _ = call("qrels.txt", "runs", "--notes")
    rows = [line.split() for line in out[out.index("measure ") :].splitlines()[2:10]]
    assert status == 0
    assert [row[0] for row in rows] == ["AP", "10", "30", "100", "RBP(p=0.95)", "10", "30", "100"]
    assert "guessed from the judgments" in out


def test_tidy_rows_have_every_figure_and_remarks_go_beside(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "depth.csv"
    status, _, err = call(
        "qrels.txt", "runs", "-m", "AP", "--depths", "5,20", "--reference", "P@10", "--notes", "-o", str(path)
    )
    frame = polars.read_csv(path)
    assert status == 0
    assert frame.columns == [
        "measure", "k", "reference", "mean", "lowest", "highest", "discrimination", "median_p", "coverage",
        "inversion", "tau", "tau_ap_b", "rbo", "pearson", "rmse", "residual_unjudged", "residual_tail",
        "assessment",
    ]  # fmt: skip
    assert frame["reference"].unique().to_list() == ["P@10"]
    assert frame["residual_tail"].null_count() == 2
    assert "Utility measures beside recall-based ones: no, only recall-based measures are used (AP)" in err
    assert "Policies: ties trec" in err
    assert err.startswith("The order of the 8 runs")


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
        "utility measures beside recall-based ones", "runs outside the pool", "runs that lead early",
    ]  # fmt: skip
    assert len(body["unpooled"]) == 5
    assert body["rows"][0]["residual_tail"] is None


def test_a_pair_over_depth_has_error_bars_and_cases(call: Call, trial: Path) -> None:
    a, b = sorted(path.stem for path in (trial / "runs").iterdir())[:2]
    status, out, _ = call("qrels.txt", "runs", "-m", "AP", "--depths", "5,50", "--pair", a, b)
    assert status == 0
    assert f"AP: {a} and {b} over depth" in out
    text = " ".join(out.split())
    assert "depths from 1 to 50 were checked" in text
    _, rows, _ = call(
        "qrels.txt", "runs", "-m", "AP", "--depths", "5,50", "--pair", a, b, "--format", "csv", "--quiet"
    )
    assert polars.read_csv(rows.encode())["k"].to_list() == [5, 50]  # as the table
    _, csv, _ = call(
        "qrels.txt", "runs", "-m", "AP", "--pair", a, b, "--format", "csv", "--quiet", "--each-depth"
    )
    frame = polars.read_csv(csv.encode())
    assert {"mean_a", "mean_b", "half_width", "p", "assessment_a", "case"} <= set(frame.columns)
    assert frame["case"].is_in([1, 2, 3, 4]).all()
    assert len(frame) > 10


def test_the_cases_between_which_a_pair_changes_are_all_explained() -> None:
    pair = PairOverDepth(
        runs=("a", "b"), measure="AP", p=np.ones(3), assessment_p=np.ones(3), cases=np.array([1, 2, 1], np.int8),
        performance=bars(1, 5, 9), assessment=bars(1, 5, 9),
    )  # fmt: skip
    (table,) = pair_tables([pair], [1, 9])
    notes = " ".join(table.notes)
    assert (
        "3 depths from 1 to 9 were checked. The case of the pair changes from 1 to 2 between 1 and 5,"
        in notes
    )
    assert f"2: {MEANING[2]}" in notes
    assert "too few common topics" not in notes


def bars(*depths: int) -> Intervals:
    nothing = np.zeros(len(depths))
    return Intervals(depths=depths, means=np.zeros((len(depths), 2)), half_width=nothing, f_p=nothing)


def test_runs_volatility_pools_and_subsets_are_tables_of_their_own(call: Call) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "P", "--depths", "5,20", "--each-run", "--volatility",
        "--pools", "3,5", "--subsets", "--info", "info.tsv",
    )  # fmt: skip
    assert status == 0
    titles = (
        "AP: mean and judged share of each run", "tau_b between the rankings by AP at two depths",
        "by AP (rows) and P (columns) at two depths", "Shallower pools compared with the whole pool",
        "Random subsets of the judgments",
    )  # fmt: skip
    places = [out.find(title) for title in titles]
    assert -1 not in places
    assert places == sorted(places)


def csv(call: Call, *arguments: str) -> polars.DataFrame:
    """The table that programs get of AP and P at 5 and 20."""
    base = ("qrels.txt", "runs", "-m", "AP", "-m", "P", "--depths", "5,20", "--format", "csv", "--quiet")
    status, out, err = call(*base, *arguments)
    assert (status, err) == (0, "")
    return polars.read_csv(out.encode(), infer_schema_length=None)


@pytest.fixture(scope="module")
def known(trial: Path) -> DepthStudy:
    """What the library finds of the same runs, by AP and P at 5 and 20."""
    info = read_run_info(trial / "info.tsv")
    return depth(trial / "qrels.txt", trial / "runs", ["AP", "P"], depths=[5, 20], info=info)


def test_programs_get_the_means_of_every_run_with_their_intervals(call: Call, known: DepthStudy) -> None:
    frame = csv(call, "--each-run", "--info", "info.tsv")
    assert frame.columns == ["run", "measure", "k", "mean", "lower", "upper"]
    assert frame.rows() == known.interval_frame.rows()


def test_programs_get_every_run_at_every_k_in_both_forms(call: Call, trial: Path) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "RBP", "--depths", "20", "--each-run", "--each-depth", "--format",
        "csv", "--quiet",
    )  # fmt: skip
    frame = polars.read_csv(out.encode(), infer_schema_length=None)
    assert status == 0
    assert frame.columns == [
        "run", "measure", "k", "plain", "condensed", "residual_unjudged", "residual_tail", "assessment",
    ]  # fmt: skip
    assert len(frame) == 8 * 2 * 20
    ks = (1, 7, 20)
    files = (trial / "qrels.txt", trial / "runs")
    measures = [f"{name}@{k}" for k in ks for name in ("AP", "RBP", "P(assessed=True)")]
    residuals = [f"RBPResidual(part='{part}')@{k}" for k in ks for part in ("unjudged", "tail")]
    plain, condensed = (
        evaluate(*files, [*measures, *residuals], policies=Policies(unjudged=how))
        for how in ("nonrelevant", "condensed")
    )
    names = [str(measure) for measure in plain.measures]
    for row in frame.filter(polars.col("k").is_in(ks)).to_dicts():
        place, at = plain.runs.index(row["run"]), f"@{row['k']}"
        column = names.index(f"{row['measure']}{at}")
        assert row["plain"] == pytest.approx(plain.mean()[place, column])
        assert row["condensed"] == pytest.approx(condensed.mean()[place, column])
        judged = next(n for n, m in enumerate(plain.measures) if m.get("assessed") and m.k == row["k"])
        assert row["assessment"] == pytest.approx(plain.mean()[place, judged])
        parts = [n for n, m in enumerate(plain.measures) if m.name == "RBPResidual" and m.k == row["k"]]
        expected = [None, None] if row["measure"] == "AP" else plain.mean()[place, parts].tolist()
        assert [row["residual_unjudged"], row["residual_tail"]] == pytest.approx(expected)
    assert (frame["plain"] != frame["condensed"]).any()


def test_volatility_is_within_each_measure_and_between_any_two(call: Call, known: DepthStudy) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "P", "-m", "nDCG", "--depths", "5,20", "--volatility",
        "--coefficient", "spearman", "--format", "csv", "--quiet",
    )  # fmt: skip
    frame = polars.read_csv(out.encode(), infer_schema_length=None)
    pairs = list(frame.select("measure", "other_measure").unique(maintain_order=True).iter_rows())
    assert status == 0
    assert pairs == [("AP", "AP"), ("P", "P"), ("nDCG", "nDCG"), ("AP", "P"), ("AP", "nDCG"), ("P", "nDCG")]
    between = frame.filter((polars.col("measure") == "AP") & (polars.col("other_measure") == "P"))
    ap, p = known.measures
    expected = [
        stats.spearmanr(ap.means[one - 1], p.means[other - 1]).statistic
        for one in (5, 20)
        for other in (5, 20)
    ]
    assert between["agreement"].to_list() == pytest.approx(expected)


def test_a_coefficient_and_a_threshold_decide_what_is_stable(call: Call, known: DepthStudy) -> None:
    ap = known.measures[0].means
    for name, threshold in (("pearson", 0.98), ("tau_b", 0.5)):
        _, out, _ = call(
            "qrels.txt", "runs", "-m", "AP", "--depths", "5,20", "--coefficient", name, "--threshold",
            str(threshold), "--format", "json",
        )  # fmt: skip
        matrix = np.asarray(np.corrcoef(ap) if name == "pearson" else taus(ap))
        begin = next(k for k in range(1, 21) if (matrix[k - 1 :, k - 1 :] >= threshold).all())
        body = json.loads(out)
        assert body["stable_from"] == {"AP": begin}
        assert body["agreement"] == {"coefficient": name, "p": 0.9, "threshold": threshold}
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "--coefficient", "rmse")
    assert "rmse cannot show from which depth the order is stable" in out


def taus(rows: np.ndarray) -> np.ndarray:
    return np.array([[stats.kendalltau(one, other).statistic for one in rows] for other in rows])


def test_orderings_are_held_against_reference_tie_rule_and_other_measures(
    call: Call, known: DepthStudy
) -> None:
    frame = csv(call, "--agreement", "--rbo-p", "0.8", "--info", "info.tsv")
    assert frame.select("measure", "k", "against").rows() == [
        ("AP", 5, "AP@10"), ("AP", 5, "ties file"), ("AP", 20, "AP@10"), ("AP", 20, "ties file"),
        ("P", 5, "P@10"), ("P", 5, "ties file"), ("P", 5, "AP@5"),
        ("P", 20, "P@10"), ("P", 20, "ties file"), ("P", 20, "AP@20"),
    ]  # fmt: skip
    assert {one.name for one in coefficients()} < set(frame.columns)
    ap, p = known.measures
    for row, ours, others in ((0, ap.means[4], ap.means[9]), (9, p.means[19], ap.means[19])):
        found = frame.row(row, named=True)
        assert found["tau_b"] == pytest.approx(stats.kendalltau(ours, others).statistic)
        assert found["spearman"] == pytest.approx(stats.spearmanr(ours, others).statistic)
        assert found["tau_ap"] == pytest.approx(tau_ap(others, ours))
        overlap = rbo_of_values(others, ours, p=0.8)
        assert found["rbo"] == pytest.approx(overlap.extrapolated)
        assert found["rbo_minimum"] == pytest.approx(overlap.minimum)
        assert found["rbo_maximum"] == pytest.approx(overlap.maximum)
        steps = np.abs(stats.rankdata(-ours) - stats.rankdata(-others))
        assert found["most_places"] == steps.max()
        moved = found["moved_run"]
        assert steps.max() == (0 if moved is None else steps[known.runs.index(moved)])
    assert frame["moved_run"].null_count() < len(frame)
    status, out, _ = call("qrels.txt", "runs", "-m", "AP", "--depths", "5", "--agreement")
    assert status == 0
    assert "Agreement of rankings" in out


def test_weights_of_ranks_are_a_table(call: Call) -> None:
    status, out, _ = call(
        "qrels.txt", "runs", "-m", "P", "-m", "RBP", "-m", "AP", "--depths", "2,20", "--weights"
    )
    table = out[out.index("Weight of each rank") :].splitlines()
    assert status == 0
    assert [line.split() for line in table[4:8]] == [
        ["P", "2", "0.500", "0.500", "–", "–", "–", "–", "–", "–", "–", "–", "0.000"],
        ["P", "20", *["0.050"] * 10, "0.500"],
        ["RBP", "2", "0.200", "0.160", "–", "–", "–", "–", "–", "–", "–", "–", "0.000"],
        ["RBP", "20", "0.200", "0.160", "0.128", "0.102", "0.082", "0.066", "0.052", "0.042", "0.034", "0.027", "0.096"],
    ]  # fmt: skip
    assert "AP: ranks have no fixed weights." in out
    frame = csv(call, "--weights")
    assert frame.rows() == [("P", k, rank, 1 / k) for k in (5, 20) for rank in range(1, k + 1)]


def test_programs_get_the_pools_and_subsets_of_the_library(
    call: Call, trial: Path, known: DepthStudy
) -> None:
    qrels = read_qrels(trial / "qrels.txt")
    regrading = read_regrading(qrels, trial / "runs")
    contributors = regrading.retrieved.pick(known.pool.contributing)
    pools = pool_depths(regrading, ["AP@10", "P@10"], [3, 5], contributors=contributors).frame
    found = csv(call, "--pools", "3,5", "--info", "info.tsv")
    assert found.columns == pools.columns
    assert found.rows() == pools.rows()
    assert 0 < found["judgments"][0] < found["judgments"][2] < found["judgments"][4] == len(qrels.docs)
    parts = judgment_subsets(regrading, ["AP@10", "P@10", "AP", "bpref"]).frame
    found = csv(call, "--subsets", "--info", "info.tsv")
    assert found.sort("share", "draw", "measure").rows() == parts.sort("share", "draw", "measure").rows()
    assert found["tau_b"].min() < 0.9  # type: ignore[operator]


def test_subsets_are_drawn_from_the_pool_that_was_cut(call: Call, trial: Path, known: DepthStudy) -> None:
    qrels = read_qrels(trial / "qrels.txt")
    regrading = read_regrading(qrels, trial / "runs")
    cut = cut_pool(qrels, regrading.retrieved.pick(known.pool.contributing), 3)
    assert 0 < len(cut.docs) < len(qrels.docs)
    found = csv(call, "--pool-depth", "3", "--reference", "10", "--subsets", "--info", "info.tsv")
    measures = ["AP@10", "P@10", "AP", "bpref"]
    parts = judgment_subsets(read_regrading(cut, trial / "runs"), measures).frame
    whole = found.filter(polars.col("share") == 1)
    assert set(whole["judgments"]) == {np.count_nonzero(cut.grades >= 0)}
    assert found.sort("share", "draw", "measure").rows() == parts.sort("share", "draw", "measure").rows()


def test_lists_are_read_once_for_pools_parts_and_pool_ranks(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    original = read_run

    def counted(source: object, **options: object) -> object:
        read.append(str(source))
        return original(source, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(reading_module, "read_run", counted)
    status, _, _ = call(
        "qrels.txt", "runs", "-m", "AP(norm='c')", "--depths", "5", "--pools", "3", "--subsets", "--info",
        "info.tsv",
    )  # fmt: skip
    assert status == 0
    assert len(read) == len(set(read)) == 8


def test_condensed_runs_have_no_residual_and_their_lengths_are_told(call: Call) -> None:
    status, out, _ = call("qrels.txt", "runs", "-m", "RBP", "--unjudged", "condensed")
    assert status == 0
    assert out[out.index("measure ") :].splitlines()[0].split() == [*HEAD, "A_p"]
    assert "Condensed runs have" in out


def test_a_plan_is_taken_and_checked(call: Call, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('measures = ["AP", "RBP"]\ndepths = [5, 20]\ntest = "t"\nalpha = 0.01\n')
    _, out, _ = call("qrels.txt", "runs", "--preregistered", str(plan), "--notes")
    assert "alpha 0.01" in out
    assert "standard depths, depths fixed beforehand" in " ".join(out.split())
    _, out, _ = call("qrels.txt", "runs", "--preregistered", str(plan), "--depths", "7", "--notes")
    text = "".join(out.split())  # a long path is broken at its hyphens
    assert f"Depthsfixedbeforehand:plan{plan}fixesthem,andthisevaluationdiffers:depths:" in text
    assert "7isusedandnotintheplan" in text


def test_charts_are_written(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    path = tmp_path / "depth.svg"
    a, b = sorted(path.stem for path in Path("runs").iterdir())[:2]
    status, _, err = call(
        "qrels.txt", "runs", "-m", "AP", "-m", "RBP", "--depths", "5,20", "--pair", a, b, "--pools", "3,5",
        "--subsets", "--volatility", "--each-run", "--chart", str(path), "--format", "md", "--coefficient", "spearman", "--threshold", "0.95",
    )  # fmt: skip
    assert status == 0
    assert err == f"chart: {path}\n"
    drawn = path.read_text()
    assert drawn.startswith("<svg")
    for title in (
        "Agreement of the orders of runs at two depths (spearman)", "0.95 or more",
        f"{a} and {b} as evaluation goes deeper", "Means of 8 runs with comparison intervals",
        "Agreement with the order by the full pool as the pool deepens",
        "Agreement with the order by all judgments as fewer are kept",
    ):  # fmt: skip
        assert title in drawn, title


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("-m", "AP@10"), 2, "give AP and --depths"),
        (("-m", "Bpref"), 2, "Bpref has no cut-off"),
        (("--depths", "0,5"), 2, "--depths '0,5': expected whole numbers from 1"),
        (("--pools", "x"), 2, "--pools 'x': expected whole numbers from 1"),
        (("--pools", "5", "--pool-depth", "5"), 2, "--pools cuts the pool itself"),
        (("--reference", "AP"), 2, "reference AP: expected a depth from 1"),
        (("--reference", "0"), 2, "reference 0: expected a depth from 1"),
        (("--each-depth",), 2, "--each-depth is for programs"),
        (("--volatility", "--subsets", "--format", "csv"), 2, "csv holds one table"),
        (("--chart", "x.bmp"), 2, "no chart format has the suffix '.bmp'"),
        (("--policy", "ties=average"), 2, "need one order of the documents"),
        (("--unjudged", "bounds"), 2, "depth shows residuals instead"),
        (
            ("--unjudged", "expected"),
            2,
            "unjudged expected: depth shows residuals instead; use unjudged nonrelevant or condensed",
        ),
        (("--pair", "a", "b"), 2, "unknown run 'a'"),
        (("--test", "tt"), 2, "unknown test 'tt'"),
        (("--volatility", "--coefficient", "tau"), 2, "unknown coefficient 'tau'"),
        (("--rbo-p", "1"), 2, "p of RBO is 1.0; expected a number above 0 and below 1"),
        (("--threshold", "2"), 2, "threshold 2: expected a number from -1 to 1, such as 0.9"),
        (("--each-depth", "--weights", "--format", "csv"), 2, "csv holds one table"),
        (
            ("--coefficient", "rbo", "--format", "csv"),
            2,
            "changes nothing in csv without --volatility or --chart",
        ),
        (
            ("--threshold", "0.8", "--volatility", "--format", "csv"),
            2,
            "changes nothing in csv without --chart",
        ),
        (("--pools", "5,100"), 1, "--pools 100: the pool of these runs is 10 deep; cut it to at most that"),
        (("--draws", "5"), 2, "No such option '--draws'"),
        (("--weights", "--format", "csv"), 1, "AP: ranks have no fixed weights"),
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
        "1 topic)", "No pair could be tested", "AP: no pair differs significantly at the reference",
        "With only 1 topic (fewer than 25)",
    ):  # fmt: skip
        assert told in text, told


def test_measures_keep_the_parameters_that_were_typed(call: Call) -> None:
    base = (
        "qrels.txt",
        "runs",
        "-m",
        "RBP(p=0.8)",
        "-m",
        "map",
        "--depths",
        "5",
        "--quiet",
        "--format",
        "csv",
    )
    frame = polars.read_csv(call(*base)[1].encode())
    assert frame["measure"].to_list() == ["RBP(p=0.8)", "AP"]
    assert frame["reference"].to_list() == ["RBP(p=0.8)@10", "AP@10"]
    pools = polars.read_csv(call(*base, "--pools", "5")[1].encode())
    assert set(pools["measure"]) == {"RBP(p=0.8)@10", "AP@10"}
    parts = polars.read_csv(call(*base, "--subsets")[1].encode(), infer_schema_length=None)
    assert "RBP(p=0.8)@10" in set(parts["measure"])
    _, out, _ = call(*base[:-2], "--pools", "5", "--subsets", "--reference", "RBP@10")
    assert "differ significantly at the reference (RBP(p=0.8)@10, RBP@10)" in " ".join(out.split())
    _, out, _ = call("qrels.txt", "runs", "-m", "RBP(p=0.8)", "-m", "RBP( p=0.95)", "--notes")
    text = " ".join(out.split())
    assert "RBP(p=0.8) has p = 0.8" in text
    assert "by RBP(p=0.8) and from" in text
    assert "RBP(p=0.95) has" in text


def test_help_has_no_option_that_is_always_refused(call: Call) -> None:
    status, out, _ = call("--help-all")
    assert status == 0
    assert "missing" in out
    for name in ("--universe", "--at-most", "--prior", "moments", "--draws"):
        assert name not in out, name


def test_a_distance_is_of_the_means_and_its_volatility_is_not_drawn(call: Call, tmp_path: Path) -> None:
    pytest.importorskip("altair")
    path = tmp_path / "depth.html"
    _, out, err = call(
        "qrels.txt", "runs", "-m", "P", "--depths", "5", "--volatility", "--coefficient", "rmse", "--chart", str(path)
    )  # fmt: skip
    assert "rmse between the means by P at two depths" in out
    assert "no figure of volatility by rmse" in err
    assert "ranking depend on the depth" in path.read_text()
    _, out, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5", "--volatility")
    assert "tau_b between the rankings by P at two depths" in out


def test_a_quiet_table_leaves_out_what_to_heed(call: Call) -> None:
    asked = ("qrels.txt", "runs", "-m", "AP", "--depths", "5")
    loud, quiet = (call(*asked, "--notes", *more)[1] for more in ((), ("--quiet",)))
    assert "Utility measures beside recall-based ones" in loud or "Depths fixed beforehand" in loud
    assert "Depths fixed beforehand" not in quiet
    assert quiet.splitlines()[0] == loud.splitlines()[0]


def test_json_takes_several_tables_each_under_its_name(call: Call) -> None:
    base = ("qrels.txt", "runs", "-m", "AP", "--depths", "5,20", "--format", "json")
    body = json.loads(call(*base, "--volatility", "--each-run")[1])
    assert [row["k"] for row in body["rows"]] == [5, 20]
    assert body["volatility"] == json.loads(call(*base, "--volatility")[1])["rows"]
    assert body["each_run"] == json.loads(call(*base, "--each-run")[1])["rows"]


def test_depths_that_no_list_reaches_are_named(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5,2000", "--reference", "5000")
    assert "No run is as deep as k = 2,000, reference P@5000; the longest has 100 documents." in out
    _, out, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5,100", "--reference", "100")
    assert "No run is as deep" not in out


def test_a_long_name_strands_no_column(call: Call) -> None:
    def heads(name: str) -> list[list[str]]:
        _, out, _ = call("qrels.txt", "runs", "-m", name, "-m", "RBP", "--depths", "5,100")
        return [line.split() for line in out.splitlines() if line.startswith("measure ")]

    assert heads("AP(norm='b')") == [[*HEAD, "open", "A_p"]]
    assert heads("AP(norm='b',rel=1,assessed=True)") == [[*HEAD, "open", "A_p"]]  # no row is folded


def two_constants(folder: Path, topics: int = 30) -> tuple[str, ...]:
    """Qrels and two runs: by AP and P one has 1 on every topic, the other 0."""
    lines: dict[str, list[str]] = {"qrels.txt": [], "good.txt": [], "bad.txt": []}
    for topic in range(1, topics + 1):
        lines["qrels.txt"] += [f"{topic} 0 yes 1", f"{topic} 0 no 0"]
        lines["good.txt"] += [f"{topic} Q0 yes 1 1 good"]
        lines["bad.txt"] += [f"{topic} Q0 no 1 1 bad"]
    for name, rows in lines.items():
        (folder / name).write_text("\n".join(rows) + "\n")
    return tuple(str(folder / name) for name in lines)


def test_a_constant_difference_is_not_tested_and_that_is_said(call: Call, tmp_path: Path) -> None:
    files = two_constants(tmp_path)
    status, out, _ = call(*files, "-m", "AP", "--depths", "1", "--pair", "good", "bad")
    text = " ".join(out.split())
    assert status == 0
    first = out[out.index("measure ") :].splitlines()[2]
    assert first.split()[3:7] == ["–", "–", "–", "–"]  # differ, p, confirmed, reversed
    for told in (
        "2 runs are too few", "AP: the t test cannot test a difference that is equal on all topics",
        "of 1 pairs, 1 at 1", "Use --test randomization", "A dash marks pairs with too few common topics",
    ):  # fmt: skip
        assert told in text, told
    assert "at least 2 topics in common" not in text
    _, out, _ = call(*files, "-m", "AP", "--depths", "1", "--test", "randomization", "--correction", "none")
    assert out[out.index("measure ") :].splitlines()[2].split()[3:5] == ["100%", "<0.001"]


def test_where_all_runs_have_one_mean_it_is_said_why_there_is_no_tau(call: Call, tmp_path: Path) -> None:
    qrels, good, _ = two_constants(tmp_path)
    other = tmp_path / "other.txt"
    other.write_text(Path(good).read_text().replace("good", "other"))
    _, out, _ = call(qrels, good, str(other), "-m", "P", "--depths", "1")
    assert "No tau for P@1: all runs have the same mean there" in " ".join(out.split())
    _, out, _ = call("qrels.txt", "runs", "-m", "P", "--depths", "5")
    assert "No tau" not in out


def test_one_run_is_not_enough(call: Call, trial: Path) -> None:
    run = sorted((trial / "runs").iterdir())[0]
    status, _, err = call("qrels.txt", str(run))
    assert status == 1
    assert "needs at least two" in err


# -- the function ----------------------------------------------------------------------------------


def test_truncations_by_pools_find_the_pool_ranks_by_themselves() -> None:
    collection = sample(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    plain = replace(collection.qrels, pool_ranks=None)
    found = depth(plain, collection.runs, ["AP(norm='c')"], depths=[5, 10])
    known = depth(collection.qrels, collection.runs, ["AP(norm='c')"], depths=[5, 10])
    np.testing.assert_allclose(found.measures[0].means, known.measures[0].means)


def test_topics_that_a_run_lacks_can_be_skipped() -> None:
    collection = sample(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    runs = {run.name: as_dict(run) for run in collection.runs}
    for topic in collection.qrels.topics[:3]:
        del runs[collection.runs[1].name][topic]
    found = depth(collection.qrels, runs, ["AP"], depths=[5, 10], policies=Policies(missing="skip"))
    scores = evaluate(collection.qrels, runs, ["AP@10"], policies=Policies(missing="skip"))
    np.testing.assert_allclose(found.measures[0].means[9], scores.mean()[:, 0])
    with pytest.raises(DataError, match="no documents for"):
        depth(collection.qrels, runs, ["AP"], policies=Policies(missing="error"))


def test_the_tie_rule_is_looked_at_without_the_topics_that_are_skipped() -> None:
    qrels, runs = draw_qrels(0, topics=6), draw_runs(50, topics=6)  # many ties; one run lacks a topic
    taus, steps = [], []
    for missing in ("skip", "zero"):
        means = [
            evaluate(qrels, runs, ["AP@10"], policies=Policies(missing=missing, ties=ties)).mean()[:, 0]
            for ties in ("trec", "file")
        ]
        taus.append(stats.kendalltau(*means).statistic)
        steps.append(np.abs(stats.rankdata(-means[0]) - stats.rankdata(-means[1])).max())
    assert taus[0] != taus[1]  # counting the topic as 0 would be seen
    found = depth(qrels, runs, ["AP"], depths=[10], reference=10, policies=Policies(missing="skip"))
    tau, moved = found.tie_moves["AP@10"]
    assert tau == pytest.approx(taus[0])
    assert moved.places == steps[0]


def test_a_reference_may_need_pool_ranks_that_the_measures_do_not() -> None:
    collection = sample(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    plain = replace(collection.qrels, pool_ranks=None)
    target = "AP(norm='c')@5"
    found = depth(plain, collection.runs, ["AP"], depths=[5], reference=target)
    expected = evaluate(collection.qrels, collection.runs, [target]).mean()[:, 0]
    np.testing.assert_allclose(found.measures[0].reference_means, expected)


def test_where_the_f_test_does_not_reject_there_are_no_intervals_and_that_is_said(call: Call) -> None:
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "--depths", "5,20", "--each-run", "--alpha", "1e-30")
    text = " ".join(out.split())
    assert "AP: – at 5, – at 20" in text
    assert "AP at 5, 20: no interval, because the F test finds no difference among the runs." in text
    _, out, _ = call("qrels.txt", "runs", "-m", "AP", "--depths", "5,20", "--each-run")
    assert "no interval" not in out


def test_each_curve_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = sample(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    asked: list[tuple[str, str]] = []
    original = values_at

    def counted(measure: Measure, ranking: Ranking, ks: np.ndarray) -> np.ndarray:
        if len(ks) > 1:
            asked.append((str(measure), ranking.run))
        return original(measure, ranking, ks)

    monkeypatch.setattr(over_depth_module, "values_at", counted)
    depth(collection.qrels, collection.runs, ["AP", "RBP"], depths=[5, 50], reference=10)
    assert len(asked) == len(set(asked)) == 3 * 6  # AP, RBP and assessment of six runs


def as_dict(run: object) -> dict[str, dict[str, float]]:
    frame = run.frame  # type: ignore[attr-defined]
    found: dict[str, dict[str, float]] = {}
    for topic, doc, score in frame.iter_rows():
        found.setdefault(topic, {})[doc] = score
    return found


def test_other_tests_are_made_at_the_chosen_depths_only() -> None:
    collection = sample(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    procedure = Procedure(test="anova", correction="bonferroni")
    found = depth(collection.qrels, collection.runs, ["AP"], depths=[5, 10], procedure=procedure)
    assert found.measures[0].separation.ks == (5, 10)
    assert "The anova test covers only the chosen depths." in found.notes


def test_every_k_is_looked_at_to_a_thousand_and_fewer_beyond() -> None:
    assert depths_to_look_at(7, [3, 9]).tolist() == [1, 2, 3, 4, 5, 6, 7, 9]
    deep = depths_to_look_at(100_000, [5000])
    assert deep[:1000].tolist() == list(range(1, 1001))
    assert 1080 < len(deep) <= 1101
    assert 5000 in deep
    assert deep[-1] == 100_000


def test_values_held_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    collection = sample(topics=12, groups=3, systems=2, pool_depth=10, seed=3)
    whole = depth(collection.qrels, collection.runs, ["AP"], depths=[50])
    monkeypatch.setattr("sounding.depth.over_depth.AT_ONCE", 500)
    parts = depth(collection.qrels, collection.runs, ["AP"], depths=[50])
    assert whole.frame.equals(parts.frame)


def test_qrels_that_are_read_already_are_taken_as_they_are(trial: Path) -> None:
    qrels = read_qrels(trial / "qrels.txt")
    found = depth(qrels, trial / "runs", ["AP"], depths=[10])
    assert found.runs == depth(trial / "qrels.txt", trial / "runs", ["AP"], depths=[10]).runs


# -- what stands beside the ratios, against evaluations of its own ---------------------------------


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> tuple[DepthStudy, Path]:
    """A simulated collection whose runs have many ties, with two runs in three outside the pool."""
    sizes = "--topics 26 --groups 4 --systems 3 --documents 400 --length 60"
    folder = sampled(
        tmp_path_factory.mktemp("tied") / "tied", f"{sizes} --pool-depth 10 --pooled-runs 1 --seed 8"
    )
    for place, path in enumerate(sorted((folder / "runs").iterdir())):
        rows = [line.split() for line in path.read_text().splitlines()]
        # Equal scores over stretches that are the longer the later the run.
        lines = [" ".join([*row[:4], str(-(int(row[3]) // (1 + place))), row[5]]) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    found = depth(
        folder / "qrels.txt", folder / "runs", ["AP", "RBP(p=0.9)"], depths=[5, 20, 40], reference=20,
        info=read_run_info(folder / "info.tsv"),
    )  # fmt: skip
    return found, folder


def test_residuals_and_assessment_are_those_of_evaluate(tied: tuple[DepthStudy, Path]) -> None:
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
    tied: tuple[DepthStudy, Path],
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


def test_the_tie_rule_is_held_against_the_lines_of_the_runs(tied: tuple[DepthStudy, Path]) -> None:
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


def test_the_order_of_the_runs_is_that_of_ap_at_10(tied: tuple[DepthStudy, Path]) -> None:
    found, folder = tied
    scores = evaluate(folder / "qrels.txt", folder / "runs", ["AP@10"])
    assert list(found.order) == scores.order()


def test_agreement_is_with_the_ordering_of_the_reference(tied: tuple[DepthStudy, Path]) -> None:
    found, _ = tied
    for one in found.measures:
        for k in (1, 7, 40):
            pair = one.means[19], one.means[k - 1]
            assert one.agreement["tau"][k - 1] == pytest.approx(stats.kendalltau(*pair).statistic)
            assert one.agreement["pearson"][k - 1] == pytest.approx(stats.pearsonr(*pair).statistic)
            assert one.agreement["rmse"][k - 1] == pytest.approx(np.sqrt(np.mean((pair[0] - pair[1]) ** 2)))
        assert {name: values[19] for name, values in one.agreement.items()} == pytest.approx(
            {"tau": 1, "tau_ap_b": 1, "rbo": 1, "pearson": 1, "rmse": 0}
        )
        assert one.agreement["tau_ap_b"][19] == 1  # an ordering and itself, to the last digit


def test_a_pair_is_the_two_runs_of_that_name(tied: tuple[DepthStudy, Path]) -> None:
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


def test_volatility_at_every_depth_is_written_as_rows(call: Call) -> None:
    words = ("qrels.txt", "runs", "-m", "P", "--depths", "5,20", "--volatility", "--format", "csv")
    _, text, _ = call(*words)
    _, every, _ = call(*words, "--each-depth")
    few, whole = (polars.read_csv(one.encode()) for one in (text, every))
    depths = whole["k"].n_unique()
    assert whole.height == depths**2 == 400
    joined = few.join(whole, on=["k", "other_k"])
    assert joined["agreement"].to_list() == joined["agreement_right"].to_list()


def test_several_collections_are_studied_side_by_side(call: Call, tmp_path: Path) -> None:
    words = ("qrels.txt", "runs", "-m", "P", "--depths", "5,20", "--info", "info.tsv")
    other = ("--collection", "again", "qrels.txt", "runs", "--collection-info", "again", "info.tsv")
    _, text, _ = call(*words, "--format", "csv")
    _, both, _ = call(*words, *other, "--format", "csv", "--chart", str(tmp_path / "both.svg"))
    alone, joined = (polars.read_csv(one.encode()) for one in (text, both))
    for name in ("qrels", "again"):
        assert joined.filter(collection=name).drop("collection").equals(alone)
    drawn = (tmp_path / "both.svg").read_text()
    assert ">again<" in drawn
    assert "P@10 in qrels, P@10 in again" in drawn
    _, out, _ = call(*words, *other)
    assert out.index("qrels\n") < out.index("again\n")
    assert (
        "two collections are called 'qrels'" in call(*words, "--collection", "qrels", "qrels.txt", "runs")[2]
    )
