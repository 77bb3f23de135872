"""docs/tests.md names everything there is, and its numbers are the program's."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sounding import evaluate
from sounding.runs.pairs import all_pairs
from sounding.statistics.pairwise import TESTS, pairwise_tests
from sounding.statistics.testing import CORRECTION_NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "tests.md").read_text()
MEASURES = ("P@10", "P@1000", "AP@10", "AP@1000")
COLUMNS: tuple[tuple[str, str | None], ...] = (
    ("anova", None), ("anova2", None), ("tukey", None), ("randomized-tukey", None), ("t", "holm"),
    ("wilcoxon", "holm"), ("sign", "holm"), ("randomization", "max-t"), ("t", "none"),
)  # fmt: skip
SLOW = ("tukey", "randomized-tukey", "randomization")


def rows(heading: str) -> list[list[str]]:
    """The cells of the table that follows a line, without its head."""
    text = PAGE[PAGE.index(heading) :]
    lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert lines is not None
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[0].splitlines()[2:]]


def example() -> dict[str, Any]:
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    exec(compile(code[1], "tests.md", "exec"), names)
    return names


def test_the_example_runs() -> None:
    assert example()["result"].topics.tolist() == [10, 10, 10]


def test_the_table_of_the_example_is_what_every_test_gives() -> None:
    table = rows("The first pair")
    assert {row[0] for row in table} == set(TESTS)
    names = example()
    for test, *cells in table:
        result = pairwise_tests(names["values"], names["pairs"], test=test, rng=np.random.default_rng(1))
        ours = (result.difference, result.ci_low, result.ci_high, result.p, result.p_adjusted)
        assert cells == [f"{column[0]:.4f}" for column in ours], test


def test_the_equivalence_of_the_example() -> None:
    names = example()
    found = pairwise_tests(
        names["values"], names["pairs"], test="t", margin=0.05, rng=np.random.default_rng(1)
    ).equivalence
    assert found is not None
    assert (
        f"equivalence p = {found.p[0]:.4f} and non-inferiority p = {found.noninferior_p[0]:.4f}"
        in " ".join(PAGE.split())
    )


def test_every_test_and_correction_is_explained() -> None:
    assert [row[0] for row in rows("## The tests\n")] == [row[0] for row in rows("The first pair")]
    assert tuple(row[0] for row in rows("## Corrections")) == CORRECTION_NAMES


@pytest.fixture(scope="module")
def trec8(collections: Path) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(run, measure, topic) of all runs."""
    folder = collections / "trec8"
    runs = sorted(folder.glob("runs/input.*.gz"))
    return evaluate(folder / "qrels.trec8.txt.gz", runs, MEASURES, jobs=None).values


def shares(values: np.ndarray[Any, np.dtype[np.float64]], test: str, correction: str | None) -> list[str]:
    found = []
    for number in range(len(MEASURES)):
        result = pairwise_tests(
            values[:, number], all_pairs(len(values)), test=test, correction=correction,
            rng=np.random.default_rng(1),
        )  # fmt: skip
        found.append(f"{result.significant.mean():.2f}")
    return found


@pytest.mark.parametrize(
    ("place", "test", "correction"),
    [
        pytest.param(place, test, correction, marks=[pytest.mark.long] if test in SLOW else [])
        for place, (test, correction) in enumerate(COLUMNS)
    ],
)
def test_the_table_of_trec_8_is_what_the_tests_find(
    trec8: np.ndarray[Any, np.dtype[np.float64]], place: int, test: str, correction: str | None
) -> None:
    table = rows("## What the choice means")
    assert [row[0] for row in table] == list(MEASURES)
    assert shares(trec8, test, correction) == [row[1 + place] for row in table]


def test_the_papers_procedure_finds_what_theory_expects_of_trec_8(
    trec8: np.ndarray[Any, np.dtype[np.float64]],
) -> None:
    # Cases 3 and 4 of the decision matrix, recomputed for 129 runs by other means.
    assert trec8.shape == (129, 4, 50)
    assert shares(trec8, "anova", None) == ["0.24", "0.08", "0.02", "0.21"]
