"""trec_eval 10's own test outputs, reproduced byte for byte by `sounding evaluate --format trec`.

Lines of rbp and rbp_resid are left out on both sides: there trec_eval 10 reads memory that it never
set, so that what it prints changes with the measures asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from sounding.cli import cli

MEASURE_PARAMETERS = (
    "iprec_at_recall..10,.20,.25,.75,.50", "P.5,7,3", "recall.20,2000", "Rprec_mult.5.0,0.2,0.35",
    "utility.2,-1,0,0", "11pt_avg..25,.5,.75", "ndcg.1=3,2=9,4=4.5", "ndcg_cut.10,20,23.0", "success.2,5,20",
)  # fmt: skip

PREFERENCES = ("-m", "all_prefs", "--per-topic")
GROUPS = ("-m", "qrels_jg", "--per-topic", "--judgment-groups")

# expected output, qrels, run, options
CASES: tuple[tuple[str, str, str, Sequence[str]], ...] = (
    ("out.test", "qrels.test", "results.test", ()),
    ("out.test", "qrels.test.with-comments", "results.test", ()),
    ("out.comment.test", "qrels.comment.test.gz", "results.comment.test.gz", ()),
    ("out.test.a", "qrels.test", "results.test", ("-m", "all_trec")),
    ("out.test.aq", "qrels.test", "results.test", ("-m", "all_trec", "--per-topic")),
    ("out.test.aqc", "qrels.test", "results.trunc", ("-m", "all_trec", "--per-topic")),
    ("out.test.aqcM", "qrels.test", "results.trunc", ("-m", "all_trec", "--per-topic", "--depth", "100")),
    (
        "out.test.aql", "qrels.rel_level", "results.test",
        ("-m", "all_trec", "-m", "relstring.20", "--per-topic", "--level", "2"),
    ),
    (
        "out.test.aqZ", "qrels.test", "results.test",
        ("-m", "all_trec", "--per-topic", "--z-scores", "zscores_file"),
    ),
    (
        "out.test.meas_params", "qrels.test", "results.test",
        (*(part for name in MEASURE_PARAMETERS for part in ("-m", name)), "--per-topic"),
    ),
    ("out.test.qrels_jg", "qrels.123", "results.test", GROUPS),
    ("out.test.qrels_jg", "qrels.comments.123", "results.test", GROUPS),
    ("out.test.prefs", "prefs.test", "prefs.results.test", PREFERENCES),
    ("out.test.prefs", "prefs.comment.test", "prefs.results.test", PREFERENCES),
    ("out.test.qrels_prefs", "qrels.test", "results.test", PREFERENCES),
)  # fmt: skip


def without_rbp(text: str) -> list[str]:
    return [line for line in text.splitlines(keepends=True) if not line.startswith(("rbp", "Zrbp"))]


@pytest.mark.parametrize(
    ("expected", "qrels", "run", "options"), CASES, ids=[f"{case[0]}-{case[1]}" for case in CASES]
)
def test_trec_evals_own_output_is_reproduced(
    collections: Path, expected: str, qrels: str, run: str, options: Sequence[str]
) -> None:
    folder = collections / "trec_eval-test"
    files = [str(folder / option) if option == "zscores_file" else option for option in options]
    if "-m" not in options:
        files += ["-m", "official"]
    outcome = CliRunner().invoke(
        cli, ["evaluate", str(folder / qrels), str(folder / run), *files, "--format", "trec"]
    )
    assert outcome.exit_code == 0, outcome.stderr
    assert without_rbp(outcome.stdout) == without_rbp((folder / expected).read_text())


def test_the_default_measures_in_trec_layout_are_the_official_ones(collections: Path) -> None:
    folder = collections / "trec_eval-test"
    arguments = ["evaluate", str(folder / "qrels.test"), str(folder / "results.test"), "--format", "trec"]
    outcome = CliRunner().invoke(cli, arguments)
    assert outcome.stdout == (folder / "out.test").read_text()
