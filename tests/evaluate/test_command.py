"""What `sounding evaluate` writes beside the table: marks against a baseline, files for participants, a chart."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import lacking, require
from tests.e2e.calling import Call, caller, check_refused, sampled

from sounding import compare, evaluate
from sounding.evaluate.charts import MOST_RUNS, chart_of
from sounding.evaluate.sentences import HIGHER, LOWER

SIZES = (
    "--topics 30 --groups 6 --systems 2 --documents 1000 --prevalence 0.04 --length 100 --short 0"
    " --pool-depth 10 --contributors 4 --seed 1"
)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    sampled(Path("trial"), SIZES)
    return caller(capsys, "evaluate", "trial/qrels.txt", "trial/runs", "-m", "AP", "-m", "P@10")


def marked(out: str) -> dict[str, list[str]]:
    """The marks behind AP and P@10 of each run of a table."""
    rows = [line.split() for line in out.splitlines() if re.match(r"\w+-\d ", line)]
    return {
        row[0]: ["".join(re.findall(f"[{HIGHER}{LOWER}]", cell)) for cell in row if "0." in cell]
        for row in rows
    }


def test_marks_are_those_of_a_comparison_with_the_baseline(call: Call) -> None:
    status, out, _ = call("--baseline", "auk-1")
    assert status == 0
    found = compare("trial/qrels.txt", "trial/runs", ["AP", "P@10"], baselines="auk-1")
    expected = {name: ["", ""] for name in found.runs}
    for number in range(2):
        tests = found.performance_tests[number]
        for pair, (a, _) in enumerate(found.pairs.tolist()):
            if tests.p_adjusted[pair] <= 0.05:
                expected[found.runs[a]][number] = HIGHER if tests.difference[pair] > 0 else LOWER
    assert marked(out) == expected
    assert LOWER in {mark for marks in expected.values() for mark in marks}
    worse = sum(marks[0] == LOWER for marks in expected.values())
    assert f"{worse} {'is' if worse == 1 else 'are'} significantly worse" in " ".join(out.split())
    _, out, _ = call("--baseline", "auk-1", "--format", "json")
    body = json.loads(out)
    assert body["baseline"] == {
        "run": "auk-1", "test": "randomization", "correction": "max-t", "alpha": 0.05, "comparisons": 11,
    }  # fmt: skip
    p = {(row["run"], row["measure"]): row["p_adjusted"] for row in body["rows"]}
    a, b = found.pairs[3].tolist()
    assert p[found.runs[a], "AP"] == pytest.approx(found.performance_tests[0].p_adjusted[3], abs=1e-15)
    assert p[found.runs[b], "AP"] is None


def test_the_baseline_is_shown_however_few_runs_are(call: Call) -> None:
    order = evaluate("trial/qrels.txt", "trial/runs", ["AP"])
    last = order.runs[order.order()[-1]]
    _, out, _ = call("--baseline", last, "--top", "1")
    assert list(marked(out)) == [order.runs[order.order()[0]], last]
    assert marked(out)[last] == ["", ""]


def test_a_test_that_cannot_succeed_says_so(call: Call) -> None:
    Path("few.txt").write_text("".join(Path("trial/qrels.txt").read_text().splitlines(keepends=True)[:3]))
    topics = {line.split()[0] for line in Path("few.txt").read_text().splitlines()}
    lines = Path("trial/qrels.txt").read_text().splitlines(keepends=True)
    others = [topic for topic in dict.fromkeys(line.split()[0] for line in lines) if topic not in topics]
    kept = {*topics, *others[:2]}
    Path("trial/qrels.txt").write_text("".join(line for line in lines if line.split()[0] in kept))
    _, out, _ = call("--baseline", "auk-1")
    assert out.startswith("No run can differ significantly from auk-1 by AP")
    assert not {mark for marks in marked(out).values() for mark in marks if mark}


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (("--baseline", "nobody"), 2, "'nobody'"),
        (("--baseline", "auk-1", "--by", "x.tsv"), 2, "--by and --baseline"),
        (("--baseline", "auk-1", "--stats"), 2, "--stats and --baseline"),
        (("--baseline", "auk-1", "--format", "trec"), 2, "--baseline has no place"),
        (("--chart", "chart.doc"), 2, "chart.doc"),
        (("--info", "trial/info.tsv"), 2, "--participant-files"),
    ],
)
def test_options_that_cannot_be_are_refused(
    call: Call, options: tuple[str, ...], status: int, message: str
) -> None:
    check_refused(call(*options), status, message)


def test_the_table_of_a_paper_compiles(call: Call) -> None:
    status, out, _ = call("--baseline", "auk_1.run", "--format", "latex", "-o", "table.tex")
    assert status == 2  # names are not guessed
    Path("trial/runs/auk-1.txt").rename("trial/runs/auk_1%&.txt")
    status, out, _ = call("--baseline", "auk_1%&", "--format", "latex", "-o", "table.tex")
    assert (status, out) == (0, "")
    text = Path("table.tex").read_text()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == text.count(r"\caption{") == 1
    caption = next(line for line in text.splitlines() if line.startswith(r"\caption"))
    for fact in ("30 topics", "randomization", "max-t", "11 comparisons", "0.05", r"auk\_1\%\&"):
        assert fact in caption
    if shutil.which("pdflatex") is None:
        lacking("pdflatex is not installed")
    rules = "\\let\\toprule\\hline\\let\\midrule\\hline\\let\\bottomrule\\hline"  # where LaTeX came without the package
    preamble = (
        f"\\documentclass{{article}}\n\\IfFileExists{{booktabs.sty}}{{\\usepackage{{booktabs}}}}{{{rules}}}"
    )
    Path("paper.tex").write_text(f"{preamble}\n\\begin{{document}}\n\\input{{table}}\n\\end{{document}}\n")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Missing character" not in Path("paper.log").read_text(errors="replace")


def test_markdown_has_marks_and_the_caption(call: Call) -> None:
    _, out, _ = call("--baseline", "auk-1", "--format", "md")
    assert re.search(rf"\| 0\.\d+{LOWER} \|", out)
    assert "11 comparisons per measure" in out
    assert " **" not in out.replace("| **", "")  # no blank ends a bold value


def test_participants_get_their_values_beside_those_of_all_runs(call: Call) -> None:
    status, _, err = call("--participant-files", "parts", "--info", "trial/info.tsv")
    assert status == 0
    assert "6 participant files in parts" in err
    scores = evaluate("trial/qrels.txt", "trial/runs", ["AP", "P@10"])
    files = sorted(Path("parts").iterdir())
    assert len(files) == 6
    rows = [line.split("\t") for file in files for line in file.read_text().splitlines()[1:]]
    assert len(rows) == 12 * 2 * 31
    for run, measure, topic, *numbers in rows:
        place, number = scores.runs.index(run), ("AP", "P@10").index(measure)
        table = scores.mean()[:, number] if topic == "all" else (
            scores.values[:, number, scores.topics.index(topic)]
        )  # fmt: skip
        expected = [table[place], table.max(), np.median(table), table.min()]
        assert numbers == [f"{value:.4f}" for value in expected], (run, measure, topic)
    assert {row[0] for row in rows} == set(scores.runs)
    assert all(len({line.split("-")[0] for line in file.read_text().splitlines()[1:]}) == 1 for file in files)


def test_without_groups_each_run_has_a_file_whatever_its_name(call: Call) -> None:
    Path("trial/runs/auk-1.txt").rename("trial/runs/A b.txt")
    Path("trial/runs/auk-2.txt").rename("trial/runs/a_B.txt")
    assert call("--participant-files", "parts", "--quiet")[0] == 0
    names = sorted(path.name for path in Path("parts").iterdir())
    assert len({name.lower() for name in names}) == len(names) == 12


def test_the_chart_has_every_run_with_its_interval_and_judged_share(call: Call) -> None:
    require("altair")
    require("vl_convert")
    assert call("--chart", "chart.svg")[0] == 0
    scores = evaluate("trial/qrels.txt", "trial/runs", ["AP", "P@10"])
    drawing = Path("chart.svg").read_text()
    assert all(f">{name}<" in drawing for name in scores.runs)
    specification = chart_of(scores).to_dict()
    data = specification["datasets"][specification["data"]["name"]].splitlines()
    assert data[0] == "run,value,lower,upper,judged"
    first = data[1].split(",")
    best = scores.order()[0]
    values = scores.values[best, 0]
    half = 2.045230 * values.std(ddof=1) / 30**0.5  # t of 29 degrees of freedom
    mean, share = values.mean(), scores.judged_share()[best, 0]
    assert first[0] == scores.runs[best]
    assert [float(cell) for cell in first[1:]] == pytest.approx(
        [mean, max(0, mean - half), min(1, mean + half), share], rel=1e-4
    )


def test_of_many_runs_the_chart_shows_the_best_and_the_baseline() -> None:
    require("altair")
    qrels = {str(topic): {"a": 1, "b": 0} for topic in range(6)}
    runs = {
        f"run{number:03}": {
            str(topic): {"a": 1.0, **{f"u{rank}": 2.0 for rank in range(number)}} for topic in range(6)
        }
        for number in range(MOST_RUNS + 10)
    }
    scores = evaluate(qrels, runs, ["RR"])
    specification = chart_of(scores, "run049").to_dict()
    names = [
        line.split(",")[0]
        for line in specification["datasets"][specification["data"]["name"]].splitlines()[1:]
    ]
    assert names == [f"run{number:03}" for number in range(MOST_RUNS - 1)] + ["run049"]
    assert f"{MOST_RUNS} of {MOST_RUNS + 10} runs" in specification["title"]["text"]


def test_notes_are_about_all_runs_whatever_is_shown(call: Call) -> None:
    path = Path("trial/runs/auk-1.txt")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if line.split()[0] != lines[0].split()[0]))
    for form in ("table", "trec", "csv"):
        _, out, err = call("--top", "1", "--format", form, "-m", "NumRet")
        assert "auk-1: 1" in " ".join((out + err).split()), form
