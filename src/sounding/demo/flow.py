"""Run `sounding demo` without --judge: simulate a collection, evaluate it, and compare with the truth."""

from __future__ import annotations

import math
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from sounding.compare.comparison import compare
from sounding.compare.result import Comparison
from sounding.core.arrays import NDArray
from sounding.core.errors import MissingPartError
from sounding.core.files import write_file
from sounding.core.text import fill_paragraph, join_names, whole_percent
from sounding.data.finding import find_runs
from sounding.data.run_info import RunInfo, read_run_info
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import Scores
from sounding.evaluate.tables import Layout, wide_table
from sounding.render.tables import Column, Table
from sounding.report.gather import report
from sounding.report.page import render_report
from sounding.report.result import MissingPart, Report
from sounding.sample.result import Collection
from sounding.sample.simulation import sample
from sounding.simulate.study import simulate
from sounding.simulate.trial import Checkpoint
from sounding.terminal.options import PARAGRAPH_WIDTH, write_tables

LEADING = "P@10"  # orders the table and is the subject of the sentences below it
DEEPEST = "AP"  # uses whole lists
MEASURES = (LEADING, "nDCG@10", "RR@10", DEEPEST)
JUDGED_DEPTH = 10  # documents of a list that are judged again
LOOKS = (64, 128, 256, 512)  # numbers of judgments after which the demo reports progress
REPORTED = (LEADING, "nDCG@10", DEEPEST)


def report_demo(folder: Path, seed: int) -> None:
    """Write a collection and its report, and print what to notice."""
    collection = small_collection(seed)
    collection.write(folder, force=True)
    evidence = gather(collection, folder)
    click.echo(fill_paragraph(headline(evidence), PARAGRAPH_WIDTH) + "\n")
    click.echo(fill_paragraph(_opening(collection, folder), PARAGRAPH_WIDTH) + "\n")
    write_tables([wide_table(evidence.by_judgments, Layout())], "table", None)
    click.echo("\nWhat the missing judgments hide\n")
    for sentence in observations(evidence):
        click.echo(fill_paragraph(sentence, PARAGRAPH_WIDTH, "- ", "  "))
    click.echo("\nHow many judgments are needed\n")
    rows = judged_anew(folder)
    click.echo(fill_paragraph(anew_sentence(rows), PARAGRAPH_WIDTH) + "\n")
    write_tables([anew_table(rows)], "table", None)
    click.echo("\nWhat to try next\n")
    if activation := activate_first():
        click.echo(f"  # put the command sounding on the shell's path\n  {activation}")
    for purpose, line in next_commands(evidence, folder):
        click.echo(f"  # {purpose}\n  {line}")
    found, by_truth = examined(folder)
    written = write_report(found, folder)
    click.echo()
    for line in last_lines(found, by_truth, written, folder):
        click.echo(line)


def small_collection(seed: int) -> Collection:
    """Return a collection small enough to inspect: six groups of two systems, two of them unpooled."""
    return sample(
        topics=30, groups=6, systems=2, documents=1000, prevalence=0.04, grades=2, length=100, short=0,
        pool_depth=10, contributors=4, manual=0.17, seed=seed,
    )  # fmt: skip


def headline(evidence: DemoEvidence) -> str:
    """Say which run leads by the judgments, and which by the truth."""
    runs = evidence.by_judgments.runs
    judged, true = evidence.by_judgments.mean()[:, 0], evidence.by_truth.mean()[:, 0]
    first, best = evidence.by_judgments.order()[0], evidence.by_truth.order()[0]
    leads = f"{runs[first]} leads by {LEADING} ({judged[first]:.3f}) on today's judgments"
    if first == best:
        return f"{leads}, and would still lead ({true[best]:.3f}) if every document were judged."
    return f"{leads}, but {runs[best]} would lead ({true[best]:.3f}) if every document were judged."


def _opening(collection: Collection, folder: Path) -> str:
    return (
        f"{folder} holds a simulated test collection: {len(collection.runs)} runs,"
        f" {collection.parameters.topics} topics and {len(collection.qrels.docs):,} judgments. Every value is"
        " a mean over the topics; * marks the best. Beside each value is the share of its documents that was"
        " judged."
    )


# ---- what to notice in the table: sentences that are computed from its values, or left out


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DemoEvidence:
    """The runs' scores by the judgments and by the truth, from which the sentences are computed."""

    by_judgments: Scores
    by_truth: Scores
    info: dict[str, RunInfo]
    pool_depth: int

    def runs(self, *, pooled: bool) -> list[int]:
        """The runs that contributed to the pool, or those that did not."""
        return [row for row, run in enumerate(self.by_judgments.runs) if self.info[run].pooled == pooled]

    def change(self) -> NDArray[np.float64]:
        """(run,): Return how much the leading measure gains if everything is judged."""
        difference: NDArray[np.float64] = self.by_truth.mean()[:, 0] - self.by_judgments.mean()[:, 0]
        return difference


def gather(collection: Collection, folder: Path) -> DemoEvidence:
    """Evaluate the files of a collection, by what was judged and by the truth."""
    files = find_runs([folder / "runs"])
    return DemoEvidence(
        by_judgments=evaluate(folder / "qrels.txt", files, MEASURES),
        by_truth=evaluate(folder / "truth.txt", files, MEASURES),
        info={info.run: info for info in collection.info},
        pool_depth=collection.parameters.pool_depth,
    )


def observations(evidence: DemoEvidence) -> list[str]:
    """Return sentences about the table that are true of this collection."""
    found = (unjudged_documents(evidence), hidden_worth(evidence), swapped_pair(evidence), depth(evidence))
    return [sentence for sentence in found if sentence is not None]


def unjudged_documents(evidence: DemoEvidence) -> str | None:
    """Say which share of the top documents of unpooled runs is unjudged."""
    new, pooled = evidence.runs(pooled=False), evidence.runs(pooled=True)
    if not new or not pooled:
        return None
    unjudged = 1 - evidence.by_judgments.judged_share()[:, 0]
    ours, theirs = float(unjudged[new].mean()), float(unjudged[pooled].mean())
    if round(100 * ours) <= round(100 * theirs):
        return None
    return (
        f"{_names(evidence, new)} {_were(new)} not pooled for judging: {whole_percent(ours)} of {_their(new)}"
        f" first ten documents are unjudged, against {whole_percent(theirs)} for the pooled runs."
    )


def hidden_worth(evidence: DemoEvidence) -> str | None:
    """Say how much the unpooled run that gains most would gain if everything were judged."""
    new, pooled = evidence.runs(pooled=False), evidence.runs(pooled=True)
    change = evidence.change()
    if not new or not pooled:
        return None
    most = max(new, key=lambda row: float(change[row]))
    others = float(abs(change[pooled]).max())
    if round(float(change[most]), 3) <= round(others, 3):
        return None
    before, after = evidence.by_judgments.mean()[most, 0], evidence.by_truth.mean()[most, 0]
    steady = "would not change" if round(others, 3) == 0 else f"would change by at most {others:.3f}"
    return (
        f"Unjudged documents count as not relevant. If everything were judged, {LEADING} of"
        f" {_names(evidence, [most])} would be {after:.3f} instead of {before:.3f}, while {LEADING} of the"
        f" pooled runs {steady}."
    )


def swapped_pair(evidence: DemoEvidence) -> str | None:
    """Name the pair in the wrong order with the widest true margin, and count such pairs."""
    judged, true = evidence.by_judgments.mean()[:, 0], evidence.by_truth.mean()[:, 0]
    rows = range(len(judged))
    wrong = [
        (float(true[low] - true[high]), low, high)
        for low in rows
        for high in rows
        if round(judged[low], 3) < round(judged[high], 3) and round(true[low], 3) > round(true[high], 3)
    ]
    if not wrong:
        return None
    _, low, high = max(wrong)
    worse, better = evidence.by_judgments.runs[high], evidence.by_judgments.runs[low]
    return (
        f"So {len(wrong)} of {math.comb(len(judged), 2)} pairs of runs"
        f" {'is' if len(wrong) == 1 else 'are'} in the wrong order. For example, {worse} is ahead of {better}"
        f" ({judged[high]:.3f} against {judged[low]:.3f}), but {better} is better"
        f" ({true[low]:.3f} against {true[high]:.3f})."
    )


def depth(evidence: DemoEvidence) -> str | None:
    """Say how little was judged below the pool, and how that affects values."""
    pooled = evidence.runs(pooled=True)
    if not pooled:
        return None
    shares = evidence.by_judgments.judged_share()[pooled].mean(axis=0)
    deep = float(shares[MEASURES.index(DEEPEST)])
    if not round(100 * deep) < round(100 * float(shares[0])):
        return None
    judged = evidence.by_judgments.mean()[:, MEASURES.index(DEEPEST)].mean()
    true = evidence.by_truth.mean()[:, MEASURES.index(DEEPEST)].mean()
    also = ""
    if round(float(judged - true), 3) > 0:
        also = (
            f" Relevant documents that nobody judged are missing, so mean {DEEPEST} over all runs seems to be"
            f" {judged:.3f}, but is {true:.3f}."
        )
    return (
        f"The pool contains the top {evidence.pool_depth} of each pooled run. {DEEPEST} counts deeper"
        f" documents, and only {whole_percent(deep)} of what a pooled run retrieved was judged.{also}"
    )


def _names(evidence: DemoEvidence, rows: Sequence[int]) -> str:
    return join_names([evidence.by_judgments.runs[row] for row in rows])


def _were(rows: Sequence[int]) -> str:
    return "was" if len(rows) == 1 else "were"


def _their(rows: Sequence[int]) -> str:
    return "its" if len(rows) == 1 else "their"


# ---- judging again from the start


def judged_anew(folder: Path) -> dict[str, list[Checkpoint]]:
    """Replay judging from the start, with the truth as the assessor, by each choice of documents."""
    found = simulate(
        folder / "truth.txt", folder / "runs", measure=DEEPEST, depth=JUDGED_DEPTH, at=LOOKS,
        judgments=LOOKS[-1],
    )  # fmt: skip
    return {trial.strategy: trial.checkpoints for trial in found.trials}


def anew_table(rows: dict[str, list[Checkpoint]]) -> Table:
    """Return the share of pairs decided after each number of judgments, and how many of these are correct."""
    mtc, rank = rows["mtc"], rows["rank"]
    return Table(
        [
            Column("judgments", [row.judgments for row in mtc]),
            Column("most informative first: decided", [row.claimed for row in mtc], percent=True),
            Column("correct", [row.right for row in mtc], percent=True, joined=True),
            Column("in rank order: decided", [row.claimed for row in rank], percent=True),
            Column("correct", [row.right for row in rank], percent=True, joined=True),
        ]
    )


def anew_sentence(rows: dict[str, list[Checkpoint]]) -> str:
    """Return what the table shows, in words."""
    last = rows["mtc"][-1]
    whole = round(last.judgments / last.cost)
    return (
        f"The top {JUDGED_DEPTH} of all runs contain {whole:,} documents. Suppose judging started again,"
        f" either with the documents that say most about the order of the runs by {DEEPEST} (minimal test"
        f" collections) or in rank order. After {last.judgments:,} judgments the first way has"
        f" {whole_percent(last.accuracy)} of the pairs in the right order, the second"
        f" {whole_percent(rows['rank'][-1].accuracy)}. The table shows how many pairs sounding calls decided"
        " (95% sure), and how many of these are correct."
    )


# ---- what to try next, and the report


def next_commands(evidence: DemoEvidence, folder: Path) -> list[tuple[str, str]]:
    """Return commands that work on the files just written, each with its purpose."""
    order = [evidence.by_judgments.runs[place] for place in evidence.by_judgments.order()]
    best, second = order[:2]
    qrels, truth, runs = (shlex.quote(str(folder / part)) for part in ("qrels.txt", "truth.txt", "runs"))
    return [
        ("evaluate the runs by the truth", f"sounding evaluate {truth} {runs} -m {LEADING} -m AP"),
        (
            "show the lowest and highest possible values, whatever the unjudged documents are",
            f"sounding evaluate {qrels} {runs} -m {LEADING} -m AP --unjudged bounds",
        ),
        (
            f"ask whether {best} is better than {second}, and what would settle it",
            f"sounding compare {qrels} {runs} -m {LEADING} --pair {best} {second}",
        ),
        (
            "choose what to judge next",
            f"sounding plan {qrels} {runs} --depth {JUDGED_DEPTH}",
        ),
    ]


def activate_first() -> str | None:
    """Return the command that puts `sounding` on the shell's path; None if it is there or unknown."""
    script = Path(sys.prefix) / "bin" / "activate"
    if shutil.which("sounding") or not script.exists():
        return None
    here = Path.cwd()
    return f". {shlex.quote(str(script.relative_to(here) if script.is_relative_to(here) else script))}"


def examined(folder: Path) -> tuple[Report, Comparison]:
    """Return the report on the collection, and the same comparison by the truth."""
    qrels, info, runs = (str(folder / name) for name in ("qrels.txt", "info.tsv", "runs"))
    files = find_runs([runs])
    options = [word for measure in REPORTED for word in ("-m", measure)]
    words = ["sounding", "report", qrels, runs, *options, "--info", info, "-o", str(folder / "report.html")]
    made = report(
        qrels, files, REPORTED, info_files=[info], info=read_run_info(info), command=shlex.join(words)
    )
    return made, compare(folder / "truth.txt", files, REPORTED, settled=False)


def write_report(made: Report, folder: Path) -> bool:
    """Write the page; return False if the packages that it needs are not installed."""
    try:
        page = render_report(made, "html")
    except MissingPartError:
        return False
    write_file(folder / "report.html", page.encode("utf-8", "replace"))
    return True


def last_lines(made: Report, by_truth: Comparison, written: bool, folder: Path) -> list[str]:
    """Return the last lines: the report's conclusion, whether it is true, and what to do next."""
    page = folder / "report.html"
    comparison, scores = made.comparison, made.scores
    best = scores.runs[scores.order()[0]]
    first = f"Report: {page} (open it in a browser)"
    if not written:
        first = "No report.html: its charts need more packages; pip install 'sounding[charts]'"
    if isinstance(comparison, MissingPart):
        lines_above = [f"It concludes: {best} is best by {LEADING}. {comparison.reason}", ""]
    else:
        counts = comparison.counts()[0].tolist()
        lines_above = [
            f"It concludes: {best} is best by {LEADING}; {counts[2] + counts[3]} of {sum(counts)} pairs"
            " differ significantly.",
            against_truth(comparison, by_truth),
        ]
    return [
        first,
        *lines_above,
        "With your own files: sounding report QRELS RUN... -o report.html",
    ]


def against_truth(comparison: Comparison, by_truth: Comparison) -> str:
    """Return how many weak and strong conclusions by the first measure the truth contradicts."""
    ours, theirs = conclusions(comparison), conclusions(by_truth)
    wrong = [theirs[pair] != better for pair, better in ours.items()]
    strong = comparison.strong[0].tolist()
    both = list(zip(wrong, strong, strict=True))
    return (
        f"The truth contradicts {both.count((True, True))} of {strong.count(True)} strong conclusions and"
        f" {both.count((True, False))} of {strong.count(False)} weak ones."
    )


def conclusions(comparison: Comparison) -> dict[frozenset[str], str | None]:
    """Return, for each pair, the run that is significantly better by the first measure, or None."""
    tests = comparison.performance_tests[0]
    return {
        frozenset(names := comparison.names(pair)): names[difference < 0] if significant else None
        for pair, (significant, difference) in enumerate(
            zip(tests.significant.tolist(), tests.difference.tolist(), strict=True)
        )
    }
