"""The documentation as a site: complete, strict, without a network; pages by method have their four parts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import require
from tests.docs_examples import run_page

import sounding

yaml = require("yaml")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PARTS = ("Formula", "Source", "What it assumes", "When it misleads")
METHODS = (
    "assessment", "bounds", "expected", "sampled-judgments", "settled", "holds", "rank-agreement", "pool-quality", "ties",
    "strategies", "mtc", "design", "tests",
)  # fmt: skip
EXAMPLES = (
    "intents", "preferences",
    "tutorial", "organizers", "settled", "pool-quality", "python", "bounds", "charts", "evaluate", "sample",
    "sampled-judgments",
)  # fmt: skip


def settings() -> dict[str, Any]:
    """The site's settings."""
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    return loaded


def pages(entry: Any) -> list[str]:
    """The pages of the navigation, in its order."""
    if isinstance(entry, str):
        return [entry]
    inner = entry.values() if isinstance(entry, dict) else entry
    return [page for one in inner for page in pages(one)]


def test_every_page_is_in_the_navigation_once() -> None:
    named = pages(settings()["nav"])
    assert sorted(named) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_the_site_is_built_strictly_and_asks_nothing_of_a_network(tmp_path: Path) -> None:
    require("material")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, env={"PATH": "", "NO_MKDOCS_2_WARNING": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fetched = re.compile(
        r"""<(?:script|img|iframe)[^>]+src=["']?https?:|<link[^>]+stylesheet[^>]+https?:|@import"""
    )
    for page in tmp_path.glob("*.html"):
        assert not fetched.search(page.read_text("utf-8")), page.name
    python = (tmp_path / "python.html").read_text("utf-8")
    assert [name for name in sounding.__all__ if f"<code>{name}</code>" not in python] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_page_do_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(DOCS / f"{name}.md")


@pytest.mark.parametrize("name", ["expected", "rank-agreement"])
def test_examples_that_speak_of_the_readers_own_files_run_on_a_small_collection(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = sounding.sample(topics=6, groups=3, systems=2, documents=80, length=20, pool_depth=8, seed=3)
    small.write(tmp_path / "trial")
    for part in ("qrels.txt", "runs"):
        (tmp_path / "trial" / part).rename(tmp_path / part)
    pooled = [tmp_path / "runs" / f"{one.run}.txt" for one in small.info if one.pooled]
    means = np.random.default_rng(1).random((4, 6))
    (tmp_path / "run.txt").write_bytes(pooled[0].read_bytes())
    run_page(
        DOCS / f"{name}.md",
        {
            "means_at_10": means[0], "means_at_100": means[1], "means": means, "ks": [1, 2, 5, 10],
            "runs": sorted((tmp_path / "runs").iterdir()), "pooled_runs": pooled,
        },
    )  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_a_page_of_a_method_has_formula_source_assumptions_and_warnings(name: str) -> None:
    headings = re.findall(r"^## (.+)$", (DOCS / f"{name}.md").read_text("utf-8"), re.MULTILINE)
    assert [part for part in PARTS if part not in headings] == []


def test_the_overview_of_methods_links_every_one() -> None:
    text = (DOCS / "methods.md").read_text("utf-8")
    assert [name for name in METHODS if f"({name}.md)" not in text] == []


def test_pictures_are_small_and_described() -> None:
    for page in (*DOCS.glob("*.md"), ROOT / "README.md"):
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text("utf-8")):
            assert len(words) > 20, f"{page.name}: {target} has no words for those who do not see it"
            assert (page.parent / target).stat().st_size < 200_000


# -- coming from other tools -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Names of the page's Python, run where its collection was made."""
    for package in ("ir_measures", "pytrec_eval"):
        require(package)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("side-by-side"))
        return run_page(DOCS / "coming-from.md")


def test_ir_measures_gives_the_same(side_by_side: dict[str, Any]) -> None:
    theirs = {str(measure): value for measure, value in side_by_side["theirs"].items()}
    ours = side_by_side["ours"]
    assert list(map(str, ours.measures)) == ["AP", "nDCG@10", "P(rel=2)@5", "RR"]
    for measure, value in zip(map(str, ours.measures), ours.mean()[0].tolist(), strict=True):
        assert value == pytest.approx(theirs[measure], abs=1e-9), measure
    assert ours.mean().min() > 0


def test_pytrec_eval_gives_the_same(side_by_side: dict[str, Any]) -> None:
    theirs, ours = side_by_side["theirs_by_topic"]["1"], side_by_side["ours_by_topic"]
    np.testing.assert_allclose(
        ours.values[0, :, 0], [theirs["map"], theirs["ndcg_cut_10"], theirs["P_5"]], rtol=1e-9
    )


def test_names_of_ranx_are_read_as_ranx_means_them(side_by_side: dict[str, Any]) -> None:
    found = side_by_side["by_ranx_names"]
    assert list(map(str, found.measures)) == ["AP@10", "nDCG@10", "P@5", "RR"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*unsafe cast.*")  # in the code that ranx compiles
def test_ranx_gives_the_same() -> None:
    ranx = pytest.importorskip("ranx")
    collection = sounding.sample(
        topics=8, groups=2, systems=1, ties=0, grades=2, seed=4, documents=300, length=50
    )
    grades = {t: dict(zip(part["doc"], part["grade"].cast(int), strict=True))
              for (t,), part in collection.qrels.frame.group_by("topic")}  # fmt: skip
    scores = {t: dict(zip(part["doc"], part["score"], strict=True))
              for (t,), part in collection.runs[0].frame.group_by("topic")}  # fmt: skip
    names = ["map@10", "ndcg@10", "precision@5", "mrr"]
    theirs = ranx.evaluate(ranx.Qrels(grades), ranx.Run(scores), names, make_comparable=True)
    ours = sounding.evaluate(grades, {"one": scores}, names).mean()[0]
    np.testing.assert_allclose(ours, [theirs[name] for name in names], rtol=1e-9)


TREC_EVAL = {  # the options of a row -> qrels, run and expected output of trec_eval's own tests
    "": ("qrels.test", "results.test", "out.test"),
    "-m all_trec": ("qrels.test", "results.test", "out.test.a"),
    "-q -m all_trec": ("qrels.test", "results.test", "out.test.aq"),
    "-q -c -M100 -m all_trec": ("qrels.test", "results.trunc", "out.test.aqcM"),
    "-q -l2 -m all_trec -m relstring.20": ("qrels.rel_level", "results.test", "out.test.aql"),
    "-q -Z ZSCORES -m all_trec": ("qrels.test", "results.test", "out.test.aqZ"),
}


def trec_eval_rows() -> dict[str, str]:
    """Options of trec_eval -> our command line, of every row of the page."""
    text = (DOCS / "coming-from.md").read_text("utf-8")
    rows = re.findall(r"^\| `trec_eval ?(.*?) ?QRELS RUN` \| `sounding (.*?)` \|$", text, re.MULTILINE)
    return dict(rows)


@pytest.mark.parametrize("options", TREC_EVAL)
def test_a_command_of_trec_eval_and_its_twin_print_the_same(options: str, collections: Path) -> None:
    from click.testing import CliRunner

    from sounding.cli import cli

    folder = collections / "trec_eval-test"
    qrels, run, expected = TREC_EVAL[options]
    files = {"QRELS": qrels, "RUN": run, "ZSCORES": "zscores_file"}
    words = [
        str(folder / files[word]) if word in files else word for word in trec_eval_rows()[options].split()
    ]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.stderr

    def plain(text: str) -> list[str]:
        # trec_eval 10 reads memory for rbp that it never set.
        return [line for line in text.splitlines() if not line.startswith(("rbp", "Zrbp"))]

    assert plain(done.stdout) == plain((folder / expected).read_text())


def test_every_row_of_trec_eval_is_held_against_it() -> None:
    assert set(trec_eval_rows()) - set(TREC_EVAL) == {"-m P.5,7,3 -m ndcg_cut.10,20,23"}  # the tests of names
