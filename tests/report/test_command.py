"""`sounding report` as a person uses it: files, formats, sections and errors."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import require
from tests.e2e.calling import Call, Said, caller, sampled

from sounding.cli import main
from sounding.report.result import SECTIONS

require("altair")
require("vl_convert")

PAGE = Path(__file__).parents[2] / "docs" / "report.md"


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 6 runs and 8 topics; two of three groups were pooled to depth 5."""
    sizes = "--topics 8 --groups 3 --systems 2 --documents 120 --length 30"
    return sampled(
        tmp_path_factory.mktemp("report") / "trial", f"{sizes} --pool-depth 5 --contributors 2 --seed 4"
    )


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `sounding report` on the collection."""
    monkeypatch.chdir(trial)

    run_command = caller(capsys, "report")

    def run(*arguments: str, runs: str = "runs") -> Said:
        return run_command("qrels.txt", runs, "--draws", "2", *arguments)

    return run


def test_a_page_is_written_and_progress_is_told(call: Call, trial: Path) -> None:
    status, out, err = call("--info", "info.tsv", "-o", "page.html")
    assert (status, out) == (0, "")
    told = err.splitlines()
    assert told[0] == "reading 6 runs"
    assert "comparing 15 pairs" in told
    assert re.fullmatch(r"page\.html: \d\.\d MB", told[-1])
    page = (trial / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "<code>sounding report qrels.txt runs --info info.tsv --draws 2 -o page.html</code>" in page
    (trial / "page.html").unlink()


def test_quiet_says_nothing(call: Call) -> None:
    status, out, err = call("--sections", "measures", "--format", "md", "--quiet")
    assert (status, err) == (0, "")
    assert out.startswith("# 6 runs on 8 topics\n\n## All measures\n")


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.md", "# 6 runs"), ("r.tex", "% 6 runs"), ("r.json", "{\n"), ("r.HTML", "<!DOCTYPE html>")],
)
def test_the_suffix_names_the_format(call: Call, trial: Path, name: str, start: str) -> None:
    status, _, _ = call("--sections", "measures", "-o", name)
    assert status == 0
    assert (trial / name).read_text().startswith(start)
    (trial / name).unlink()


def test_only_the_chosen_sections_are_there_and_computed(call: Call) -> None:
    status, out, err = call("--sections", "measures,topics", "--format", "json")
    assert status == 0
    assert list(json.loads(out)["sections"]) == ["topics", "measures"]
    assert "comparing" not in err


def test_a_shallower_pool_is_said_and_everything_goes_by_it(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = call("--info", "info.tsv", "--pool-depth", "2", "--format", "md", "--quiet")
    assert status == 0
    told = r"Pool cut to depth 2 \(of 4 contributing runs, listed\): \d+ of \d+ judgments kept"
    assert len(re.findall(told, out)) >= 2  # beside the values, and in the audit
    assert "Compare pooled runs down to rank 2" in out
    with pytest.raises(SystemExit):
        main(["evaluate", "qrels.txt", "runs", "--info", "info.tsv", "--pool-depth", "2", "-m", "AP", "--format",
              "json"])  # fmt: skip
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(f"{row['value']:.4f}" in out for row in rows)


def test_the_command_in_a_report_gives_the_same_report_again(call: Call, trial: Path) -> None:
    _, _, _ = call("--sections", "measures,pairs", "-m", "RBP(p=0.8)", "-o", "a.json")
    first = (trial / "a.json").read_text()
    typed = json.loads(first)["command"]
    with pytest.raises(SystemExit):
        main(shlex.split(typed)[1:])
    assert (trial / "a.json").read_text() == first
    (trial / "a.json").unlink()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--sections", "pair"], "unknown section 'pair'; did you mean pairs?"),
        (["-m", "nDGC"], "unknown measure 'nDGC'"),
        (["--baseline", "nobody"], "unknown run 'nobody'"),
        (["--alpha", "2"], "alpha"),
        (["--test", "tt"], "unknown test 'tt'"),
    ],
)
def test_a_wrong_option_is_one_line(call: Call, arguments: list[str], said: str) -> None:
    status, out, err = call(*arguments, "--format", "md", "--quiet")
    assert (status, out) == (2, "")
    (line,) = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert said in line


def test_a_file_that_is_no_run_is_one_line_with_its_place(call: Call, trial: Path) -> None:
    (trial / "bad.txt").write_text("1 Q0 d1 1 high tag\n")
    status, out, err = call("--format", "md", "--quiet", runs="bad.txt")
    assert (status, out) == (1, "")
    assert err.startswith("Error: bad.txt:1: ")
    assert err.count("\n") == 1
    (trial / "bad.txt").unlink()


@pytest.mark.parametrize("package", ["altair", "vl_convert", "jinja2"])
def test_without_the_packages_for_charts_one_line_says_how_to_get_them_before_any_work(
    call: Call, trial: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    real = importlib.import_module

    def lacking(name: str, *more: Any) -> Any:
        if name == package:
            raise ModuleNotFoundError(name)
        return real(name, *more)

    monkeypatch.setattr("sounding.render.style.importlib.import_module", lacking)
    status, _, err = call("-o", "never.html")
    assert status == 1
    assert err == (
        f"Error: writing a report needs the package {package!r}; install it with: pip install 'sounding[charts]'\n"
    )
    assert not (trial / "never.html").exists()
    monkeypatch.undo()


def test_the_page_of_the_command_names_every_section() -> None:
    text = PAGE.read_text()
    for name in SECTIONS:
        assert f"| `{name}` |" in text, name


@pytest.mark.long
def test_129_runs_of_trec8_make_a_page_of_less_than_3_megabytes(collections: Path, tmp_path: Path) -> None:
    folder, page = collections / "trec8", tmp_path / "trec8.html"
    files = [str(folder / "qrels.trec8.txt.gz"), str(folder / "runs"), "--info", str(folder / "info.tsv")]
    with pytest.raises(SystemExit) as left:
        main(["report", *files, "--test", "t", "--draws", "2", "--quiet", "-o", str(page)])
    assert not left.value.code
    assert page.stat().st_size < 3_000_000
    assert "24,768 rows: a pair and a measure each" in page.read_text()


def test_what_could_not_be_written_or_found_is_refused_before_the_work(call: Call) -> None:
    status, _, err = call("-o", "x.pdf")
    assert status == 2
    assert "-o x.pdf: no format has the suffix '.pdf'; use .html, .htm, .md, .tex, .json, or give" in err
    status, _, err = call("-o", "nowhere/x.html")
    assert (status, err) == (1, "Error: nowhere/x.html cannot be written: there is no folder 'nowhere'\n")
    status, _, err = call("--baseline", "nobody", "-o", "x.md")
    assert status == 2
    assert "unknown run 'nobody'" in err
    assert "evaluating" not in err


def test_swapped_files_are_told_from_each_other(
    trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(trial)
    run = sorted(path.name for path in Path("runs").iterdir())[0]
    with pytest.raises(SystemExit) as left:
        main(["report", f"runs/{run}", "qrels.txt", "-o", "x.md"])
    assert left.value.code == 1
    assert "the order is sounding report QRELS RUN..." in capsys.readouterr().err
