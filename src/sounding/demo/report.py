"""What the demo's report found, and which of its conclusions the truth confirms."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from sounding.demo.observations import DEEPEST, LEADING

if TYPE_CHECKING:
    from sounding.compare.result import Comparison
    from sounding.report.gather import Found

REPORTED = (LEADING, "nDCG@10", DEEPEST)


def examined(folder: Path) -> tuple[Found, Comparison]:
    """All that a report says of the collection, and the same comparison by the truth."""
    from contextlib import nullcontext

    from sounding.compare.comparison import compare
    from sounding.data.finding import find_runs
    from sounding.data.run_info import read_run_info
    from sounding.measures import parse_measures
    from sounding.report.gather import Request
    from sounding.report.gather import gather as gather_report

    qrels, info, runs = (str(folder / name) for name in ("qrels.txt", "info.tsv", "runs"))
    files, measures = find_runs([runs]), parse_measures(REPORTED)
    options = [word for measure in REPORTED for word in ("-m", measure)]
    words = ["sounding", "report", qrels, runs, *options, "--info", info, "-o", str(folder / "report.html")]
    request = Request(
        qrels=qrels, runs=tuple(files), measures=measures, info_files=(info,), info=read_run_info(info),
        command=shlex.join(words),
    )  # fmt: skip
    found = gather_report(request, lambda total, label: nullcontext())
    return found, compare(folder / "truth.txt", files, measures, settled=False)


def write_report(found: Found, folder: Path) -> bool:
    """Write the page; False where the packages that it needs are not installed."""
    from sounding.core.errors import MissingPartError
    from sounding.core.files import write_whole
    from sounding.report.page import render_report
    from sounding.report.parts import report_of

    try:
        page = render_report(report_of(found), "html")
    except MissingPartError:
        return False
    write_whole(folder / "report.html", page.encode("utf-8", "replace"))
    return True


def last_lines(found: Found, by_truth: Comparison, written: bool, folder: Path) -> list[str]:
    """Five lines: the report, what was found, what the truth says of it, and the same with other files."""
    from sounding.report.gather import Missing

    page = folder / "report.html"
    comparison, scores = found.comparison, found.scores
    best = scores.runs[scores.order()[0]]
    first = f"Report: {page} (open it in a browser)"
    if not written:
        first = "No report.html: its charts need more packages; pip install 'sounding[charts]'"
    if isinstance(comparison, Missing):
        told = [f"Found: by {LEADING} {best} is best. {comparison.reason}", ""]
    else:
        counts = comparison.counts()[0].tolist()
        told = [
            f"Found: by {LEADING} {best} is best; {counts[2] + counts[3]} of {sum(counts)} pairs differ,"
            f" {counts[2]} of these strongly.",
            against_truth(comparison, by_truth),
        ]
    return [
        first,
        *told,
        "Your own files: sounding report QRELS RUN... --info INFO -o report.html",
        "Without an info file leave --info out; sounding report --help says more.",
    ]


def against_truth(comparison: Comparison, by_truth: Comparison) -> str:
    """How many weak and how many strong conclusions by the first measure the truth contradicts."""
    ours, theirs = conclusions(comparison), conclusions(by_truth)
    wrong = [theirs[pair] != better for pair, better in ours.items()]
    strong = comparison.strong[0].tolist()
    both = list(zip(wrong, strong, strict=True))
    shown = [comparison.names(pair) for pair, found in enumerate(both) if found == (True, False)]
    example = f" (on {shown[0][0]}, {shown[0][1]})" if shown else ""
    return (
        f"Truth: {len(shown)} of {strong.count(False)} weak conclusions are wrong{example},"
        f" {both.count((True, True))} of {strong.count(True)} strong."
    )


def conclusions(comparison: Comparison) -> dict[frozenset[str], str | None]:
    """Pair -> the run that is significantly better by the first measure; None: neither is."""
    tests = comparison.performance_tests[0]
    return {
        frozenset(names := comparison.names(pair)): names[difference < 0] if significant else None
        for pair, (significant, difference) in enumerate(
            zip(tests.significant.tolist(), tests.difference.tolist(), strict=True)
        )
    }
