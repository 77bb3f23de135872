"""What `sounding demo` does without --judge: from nothing to a report, and what the truth says of it."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

import click

from sounding.compare.comparison import compare
from sounding.compare.result import Comparison
from sounding.core.errors import MissingPartError
from sounding.core.files import write_whole
from sounding.core.text import filled, whole_percent
from sounding.data.finding import find_runs
from sounding.data.run_info import read_run_info
from sounding.demo.observations import DEEPEST, LEADING, DemoEvidence, gather, observations
from sounding.evaluate.tables import Layout, wide_table
from sounding.render.tables import Column, Table
from sounding.report.gather import report
from sounding.report.page import render_report
from sounding.report.result import MissingPart, Report
from sounding.sample.result import Collection
from sounding.sample.simulation import sample
from sounding.simulate.simulation import simulate
from sounding.simulate.trial import Checkpoint
from sounding.terminal.options import PARAGRAPH_WIDTH, write_tables

JUDGED_DEPTH = 10  # documents of a list that are judged anew
LOOKS = (64, 128, 256, 512)  # judgments after which the demo looks at what is known
REPORTED = (LEADING, "nDCG@10", DEEPEST)


def report_demo(folder: Path, seed: int) -> None:
    """From nothing to a report."""
    collection = small_collection(seed)
    collection.write(folder, force=True)
    evidence = gather(collection, folder)
    click.echo(filled(_opening(collection, folder), PARAGRAPH_WIDTH) + "\n")
    write_tables([wide_table(evidence.by_judgments, Layout())], "table", None)
    click.echo("\nWhat to notice\n")
    for sentence in observations(evidence):
        click.echo(filled(sentence, PARAGRAPH_WIDTH, "- ", "  "))
    click.echo("\nJudged anew\n")
    rows = judged_anew(folder)
    write_tables([anew_table(rows)], "table", None)
    click.echo("\n" + filled(anew_sentence(rows), PARAGRAPH_WIDTH))
    click.echo("\nWhat to try next\n")
    if activation := activate_first():
        click.echo(f"  # first, so that the shell finds the command sounding\n  {activation}")
    for purpose, line in next_commands(evidence, folder):
        click.echo(f"  # {purpose}\n  {line}")
    found, by_truth = examined(folder)
    written = write_report(found, folder)
    click.echo()
    for line in last_lines(found, by_truth, written, folder):
        click.echo(line)


def small_collection(seed: int) -> Collection:
    """Six groups with two systems each, two of the groups new: small enough to look through."""
    return sample(
        topics=30, groups=6, systems=2, documents=1000, prevalence=0.04, grades=2, length=100, short=0,
        pool_depth=10, contributors=4, manual=0.17, seed=seed,
    )  # fmt: skip


def _opening(collection: Collection, folder: Path) -> str:
    return (
        f"{folder} now holds a simulated test collection: {len(collection.runs)} systems, each with a ranking"
        f" of documents for {collection.parameters.topics} topics, and {len(collection.qrels.docs):,}"
        " judgments. Every value is a mean over the topics, and 1 is perfect. P@10 is the share of the first"
        " ten documents that is relevant; nDCG@10 also asks for the best ones at the top; RR@10 is 1 divided"
        " by the rank of the first relevant one; AP asks for all relevant documents, early. Beside each"
        " stands the share of the documents it looks at that somebody judged. Best first;"
        " * marks the best value."
    )


def judged_anew(folder: Path) -> dict[str, list[Checkpoint]]:
    """The runs judged again from nothing with the truth for answers, by either choice of documents."""
    found = simulate(
        folder / "truth.txt", folder / "runs", measure=DEEPEST, depth=JUDGED_DEPTH, at=LOOKS,
        judgments=LOOKS[-1],
    )  # fmt: skip
    return {trial.strategy: trial.checkpoints for trial in found.trials}


def anew_table(rows: dict[str, list[Checkpoint]]) -> Table:
    """By judgments: the share of pairs claimed with 95% confidence, and of these claims the share right."""
    mtc, rank = rows["mtc"], rows["rank"]
    return Table(
        [
            Column("judgments", [row.judgments for row in mtc]),
            Column("chosen to tell: claimed", [row.claimed for row in mtc], percent=True),
            Column("right", [row.right for row in mtc], percent=True, joined=True),
            Column("by rank: claimed", [row.claimed for row in rank], percent=True),
            Column("right", [row.right for row in rank], percent=True, joined=True),
        ]
    )


def anew_sentence(rows: dict[str, list[Checkpoint]]) -> str:
    """What the table shows, in words."""
    last = rows["mtc"][-1]
    whole = round(last.judgments / last.cost)
    return (
        "The same systems judged from nothing, with the truth for answers: documents are either chosen"
        f" because they tell most about the order of the systems by {DEEPEST} (minimal test collections), or"
        " taken rank by rank. Claimed are pairs whose order is said to be 95% sure; 'right' shows how far to"
        f" believe it. The first {JUDGED_DEPTH} of all lists are {whole:,} documents; after"
        f" {last.judgments:,} of them the first way has {whole_percent(last.accuracy)} of the pairs in the"
        f" right order, the second {whole_percent(rows['rank'][-1].accuracy)}."
    )


def next_commands(evidence: DemoEvidence, folder: Path) -> list[tuple[str, str]]:
    """Commands that work on the files just written, each with what it is good for."""
    order = [evidence.by_judgments.runs[place] for place in evidence.by_judgments.order()]
    best, second = order[:2]
    qrels, truth, runs, one = (
        shlex.quote(str(folder / part)) for part in ("qrels.txt", "truth.txt", "runs", f"runs/{best}.txt")
    )
    return [
        ("the same runs by the complete truth", f"sounding evaluate {truth} {runs} -m {LEADING} -m AP"),
        (
            "the least and the most that each value can be, whatever the unjudged documents are",
            f"sounding evaluate {qrels} {runs} -m {LEADING} -m AP --unjudged bounds",
        ),
        (
            f"is {best} better than {second}, and can this collection tell?",
            f"sounding compare {qrels} {runs} -m {LEADING} --pair {best} {second}",
        ),
        (f"every topic of {best}, for a spreadsheet", f"sounding evaluate {qrels} {one} -q --format csv"),
        (
            "what to judge next, and how sure the order of the systems is",
            f"sounding plan {qrels} {runs} --depth {JUDGED_DEPTH}",
        ),
        ("all problems of a file at once", f"sounding check {one}"),
        ("a larger collection of the same kind", "sounding sample larger --groups 10 --length 200"),
    ]


def activate_first() -> str | None:
    """The line that puts `sounding` on the path of the shell, where it is not and there is one."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("sounding") or not script.exists():
        return None
    here = Path.cwd()
    return f". {shlex.quote(str(script.relative_to(here) if script.is_relative_to(here) else script))}"


def examined(folder: Path) -> tuple[Report, Comparison]:
    """All that a report says of the collection, and the same comparison by the truth."""
    qrels, info, runs = (str(folder / name) for name in ("qrels.txt", "info.tsv", "runs"))
    files = find_runs([runs])
    options = [word for measure in REPORTED for word in ("-m", measure)]
    words = ["sounding", "report", qrels, runs, *options, "--info", info, "-o", str(folder / "report.html")]
    made = report(
        qrels, files, REPORTED, info_files=[info], info=read_run_info(info), command=shlex.join(words)
    )
    return made, compare(folder / "truth.txt", files, REPORTED, settled=False)


def write_report(made: Report, folder: Path) -> bool:
    """Write the page; False where the packages that it needs are not installed."""
    try:
        page = render_report(made, "html")
    except MissingPartError:
        return False
    write_whole(folder / "report.html", page.encode("utf-8", "replace"))
    return True


def last_lines(made: Report, by_truth: Comparison, written: bool, folder: Path) -> list[str]:
    """Five lines: the report, what was found, what the truth says of it, and the same with other files."""
    page = folder / "report.html"
    comparison, scores = made.comparison, made.scores
    best = scores.runs[scores.order()[0]]
    first = f"Report: {page} (open it in a browser)"
    if not written:
        first = "No report.html: its charts need more packages; pip install 'sounding[charts]'"
    if isinstance(comparison, MissingPart):
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
