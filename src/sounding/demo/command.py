"""`sounding demo`: a complete example from nothing to a report, or a judging server with work to do."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sounding.core.text import filled, whole_percent
from sounding.demo.judging import judging_demo
from sounding.demo.observations import DEEPEST, LEADING, DemoEvidence, gather, observations
from sounding.demo.report import examined, last_lines, write_report
from sounding.terminal.options import PARAGRAPH_WIDTH, write_tables

if TYPE_CHECKING:
    from sounding.render.tables import Table
    from sounding.sample.result import Collection
    from sounding.simulate.simulation import Row

DEFAULT_SEED = 1
JUDGED_DEPTH = 10  # documents of a list that are judged anew
LOOKS = (64, 128, 256, 512)  # judgments after which the demo looks at what is known


@click.command("demo", short_help="A complete example on a small simulated collection.")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--seed", type=click.IntRange(0),
              help=f"Another seed gives another collection.  [default: {DEFAULT_SEED}]")  # fmt: skip
@click.option("--judge", is_flag=True, help="A judging server with documents, topics, runs and people.")
@click.option("--port", type=click.IntRange(0, 65535),
              help="Where the judging server listens.  [default: 8000, or a free one]")  # fmt: skip
def command(folder: Path | None, seed: int | None, judge: bool, port: int | None) -> None:
    """Write a small simulated collection into DIR (default: demo), and a report on it: DIR/report.html.

    The truth about the collection is known: the end says which conclusions it confirms. A collection that
    an earlier demo left in DIR is replaced.

    With --judge: a judging project in DIR (default: demo-judging) over the documentation of Python's standard
    library, which is served until it is stopped. Nothing is downloaded; what was judged there before stays.
    """
    if judge and seed is not None:
        raise click.UsageError("--seed is for the simulated collection; leave it out, or leave out --judge")
    if judge:
        judging_demo(folder or Path("demo-judging"), port)
    elif port is not None:
        raise click.UsageError("--port is for the judging server; give --judge as well")
    else:
        report_demo(folder or Path("demo"), DEFAULT_SEED if seed is None else seed)


def report_demo(folder: Path, seed: int) -> None:
    """From nothing to a report."""
    from sounding.evaluate.tables import Layout, wide_table

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
    from sounding.sample.simulation import sample

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


def judged_anew(folder: Path) -> dict[str, list[Row]]:
    """The runs judged again from nothing with the truth for answers, by either choice of documents."""
    from sounding.data.finding import find_runs
    from sounding.data.formats import read_qrels
    from sounding.runs.retrieved import read_retrieved
    from sounding.selection.mtc import Session
    from sounding.selection.strategies import make_strategy
    from sounding.simulate.simulation import Truth, simulate

    truth = read_qrels(folder / "truth.txt")
    retrieved = read_retrieved(find_runs([folder / "runs"]), depth=JUDGED_DEPTH, topics=truth.topics)
    rows = {}
    for name, strategy in {"mtc": None, "rank": make_strategy("rank", retrieved)}.items():
        session = Session(retrieved, measure=DEEPEST, depth=JUDGED_DEPTH)
        answers = Truth.of(retrieved, truth, session.form)
        rows[name] = simulate(session, answers, LOOKS, name=name, strategy=strategy)
    return rows


def anew_table(rows: dict[str, list[Row]]) -> Table:
    """By judgments: the share of pairs claimed with 95% confidence, and of these claims the share right."""
    from sounding.render.tables import Column, Table

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


def anew_sentence(rows: dict[str, list[Row]]) -> str:
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
