"""A pytest plugin: `assert_no_regression` fails a test if a run may be worse than a baseline by a margin.

Numbers go to the terminal's summary and, as properties, to JUnit XML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, Literal

import pytest

from sounding.core.policies import DEFAULT_POLICIES, Policies

Unsure = Literal["fail", "warn"]

PREFIX = "sounding"  # of the properties: sounding/nDCG@10/difference
COLUMNS = ("baseline", "run", "difference", "topics", "verdict")
_running: ContextVar[pytest.Item | None] = ContextVar("running", default=None)


class UnsureWarning(UserWarning):
    """The topics are too few to tell whether a run is worse than the baseline."""


def assert_no_regression(
    qrels: Any,
    baseline: Any,
    run: Any,
    measures: Any = "nDCG@10",
    *,
    margin: float = 0.02,
    alpha: float = 0.05,
    unsure: Unsure = "fail",
    policies: Policies = DEFAULT_POLICIES,
) -> None:
    """Fail unless the run is shown to be less than `margin` worse than the baseline, by every measure.

    Qrels and runs are what `evaluate` takes. This is the gate `--fail-on worse --margin` of `sounding
    compare`. If the run's mean is less than the margin below the baseline's, but the topics are too few to be
    sure, the message says how many are needed; with unsure="warn" that is a warning and the test passes.
    """
    __tracebackhide__ = True
    # Every start of pytest loads this plugin; these would make it 0.15 s slower.
    from sounding.compare.comparison import compare
    from sounding.compare.gate import gate_comparison
    from sounding.statistics.pairwise import Procedure

    names = ("baseline", "run")
    procedure = Procedure(margin=margin, alpha=alpha, seed=policies.seed)
    comparison = compare(
        qrels, dict(zip(names, (baseline, run), strict=True)), measures, baselines="baseline",
        procedure=procedure, settled=False, policies=policies,
    )  # fmt: skip
    columns = comparison.columns(comparison.by_rank())
    verdict = gate_comparison(comparison, ["worse"])
    lost: list[str] = []
    unclear: list[str] = []
    why = {failure.row.measure: failure for failure in verdict.failures}
    for place, measure in enumerate(columns["measure"]):
        difference, failure = columns["difference"][place], why.get(measure)
        found = "passed" if failure is None else "worse" if difference < -margin else "unsure"
        values = (columns["mean_b"][place], columns["mean_a"][place], difference, columns["topics"][place])
        _record(measure, (*values, found))
        if failure is not None:
            (lost if found == "worse" else unclear).append(failure.sentence)
    if unclear and unsure == "warn":
        item = _running.get()
        message = UnsureWarning("\n".join(unclear))
        if item is not None:
            item.warn(message)
        unclear = []
    if lost or unclear:
        raise AssertionError("\n".join([*lost, *unclear]))


def _record(measure: str, values: Sequence[object]) -> None:
    """Keep the numbers of a comparison with the test that is running."""
    item = _running.get()
    if item is not None:
        named = zip(COLUMNS, values, strict=True)
        item.user_properties += [(f"{PREFIX}/{measure}/{name}", value) for name, value in named]


@pytest.fixture
def no_regression(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Return `assert_no_regression` with the keywords of the test's marks; the closest mark wins."""
    marked: dict[str, Any] = {}
    for mark in request.node.iter_markers(PREFIX):
        marked = {**mark.kwargs, **marked}
    return partial(assert_no_regression, **marked)


def pytest_configure(config: pytest.Config) -> None:
    """Announce the mark."""
    config.addinivalue_line(
        "markers", "sounding(**keywords): arguments of the fixture no_regression, such as qrels and baseline"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Remember which test is running."""
    token = _running.set(item)
    try:
        return (yield)
    finally:
        _running.reset(token)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print one row for each measure of each comparison."""
    rows = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            rows += _rows(report) if getattr(report, "when", None) == "call" else []
    if not rows:
        return
    terminalreporter.section("sounding: runs against baselines")
    header = ("test", "measure", *COLUMNS)
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    for row in [header, *rows]:
        cells = zip(row, widths, strict=True)
        terminalreporter.write_line("  ".join(cell.ljust(width) for cell, width in cells).rstrip())


def _rows(report: Any) -> list[tuple[str, ...]]:
    """Return the rows of a test, from the properties that its report carries."""
    values = [value for name, value in report.user_properties if name.startswith(f"{PREFIX}/")]
    names = [name.split("/")[1] for name, _ in report.user_properties if name.endswith(f"/{COLUMNS[0]}")]
    test = report.nodeid.split("::", 1)[-1]
    size = len(COLUMNS)
    return [
        (test, name, *map(_spelled, values[size * place : size * place + size]))
        for place, name in enumerate(names)
    ]


def _spelled(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
