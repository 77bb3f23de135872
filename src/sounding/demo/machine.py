"""Run `sounding demo --machine`: labels by a simulated machine, a sample judged by people, and estimates."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import numpy as np

from sounding.audit.fitness import audit_labels
from sounding.audit.fitness_tables import headline as fitness_headline
from sounding.core.arrays import NDArray
from sounding.core.files import write_file
from sounding.core.text import fill_paragraph, plural
from sounding.data.finding import find_runs
from sounding.estimate.estimating import estimate
from sounding.estimate.result import Estimation
from sounding.estimate.tables import run_tables
from sounding.evaluate.evaluation import evaluate
from sounding.pool.aimed_tables import sample_table
from sounding.pool.pooling import pool
from sounding.render.tables import Column, Table
from sounding.sample.result import Collection
from sounding.sample.simulation import sample
from sounding.terminal.options import PARAGRAPH_WIDTH, write_tables

MEASURE = "P@10"
DEPTH = 10  # documents of each list that the machine labels
BUDGET = 300
JUDGE = "simulated-llm"
GENEROUS = 0.2  # grades that the machine adds on average
TOPIC_ERROR, DOCUMENT_ERROR = 0.3, 0.6  # standard deviations, in grades
FAVOR = 1.0  # grades that it adds to documents of the run it favors


def machine_demo(folder: Path, seed: int) -> None:
    """Write a collection with labels and a judged sample, estimate from them, and compare with the truth."""
    collection = sample(
        topics=40, groups=6, systems=2, documents=500, prevalence=0.05, grades=2, length=50, short=0,
        pool_depth=DEPTH, contributors=6, manual=0, seed=seed,
    )  # fmt: skip
    collection.write(folder, force=True)
    labels = label_like_a_machine(collection, seed)
    write_table(labels, folder / "labels.tsv")
    runs = find_runs([folder / "runs"])
    drawn = sample_table(
        pool(runs, strategy="for-estimate", budget=BUDGET, labels=folder / "labels.tsv", measures=[MEASURE])
    )  # fmt: skip
    write_table(drawn, folder / "sample.tsv")
    write_table(judged_by(collection, drawn), folder / "judged.tsv")
    estimation = estimate(folder / "judged.tsv", runs, [MEASURE], labels=folder / "labels.tsv")
    truth = evaluate(folder / "truth.txt", runs, [MEASURE]).mean()[:, 0]
    fitness = audit_labels(folder / "judged.tsv", runs, folder / "labels.tsv", [MEASURE])
    for text in (opening(collection, folder, labels.height, estimation), against_truth(estimation, truth)):
        click.echo(fill_paragraph(text, PARAGRAPH_WIDTH) + "\n")
    write_tables(run_tables(estimation), "table", None)
    click.echo("\n" + fill_paragraph(fitness_headline(fitness), PARAGRAPH_WIDTH))
    click.echo("\nWhat to try next\n")
    for purpose, line in next_commands(folder):
        click.echo(f"  # {purpose}\n  {line}")


def label_like_a_machine(collection: Collection, seed: int) -> Table:
    """Label the first documents of every run with generous errors that differ by topic, favoring one run."""
    truth = dict(zip(pairs_of(collection), collection.truth.grades.tolist(), strict=True))
    first: dict[tuple[str, str], None] = {}
    favored: set[tuple[str, str]] = set()
    for number, run in enumerate(collection.runs):
        for topic, begin, end in zip(run.topics, run.starts[:-1], run.starts[1:], strict=True):
            rows = [(float(run.scores[row]), run.docs.text(row)) for row in range(begin, end)]
            found = [(topic, doc) for _, doc in sorted(rows, reverse=True)[:DEPTH]]
            first |= dict.fromkeys(found)
            favored |= set(found) if number == len(collection.runs) // 2 else set()
    rng = np.random.default_rng([seed, 1])
    shift = {topic: rng.normal(GENEROUS, TOPIC_ERROR) for topic in collection.truth.topics}
    wanted = sorted(first)
    latent = np.array([truth.get(pair, 0) + shift[pair[0]] + FAVOR * (pair in favored) for pair in wanted])
    said = np.clip(np.rint(latent + rng.normal(0, DOCUMENT_ERROR, len(wanted))), 0, 2).astype(int)
    return Table(
        [
            Column("topic", [topic for topic, _ in wanted]),
            Column("doc", [doc for _, doc in wanted]),
            Column("label", said.tolist()),
            Column("judge", [JUDGE] * len(wanted)),
        ]
    )


def pairs_of(collection: Collection) -> list[tuple[str, str]]:
    """Return topic and document of every row of the truth."""
    topics = np.repeat(np.array(collection.truth.topics, object), collection.truth.sizes).tolist()
    return list(zip(topics, collection.truth.docs.texts(), strict=True))


def judged_by(collection: Collection, drawn: Table) -> Table:
    """Return the sample with the grades that people give: the truth."""
    truth = dict(zip(pairs_of(collection), collection.truth.grades.astype(int).tolist(), strict=True))
    topics, docs = drawn.columns[0].cells, drawn.columns[1].cells
    grades = [truth.get((str(topic), str(doc)), 0) for topic, doc in zip(topics, docs, strict=True)]
    return Table([Column("grade", grades) if one.name == "grade" else one for one in drawn.columns])


def write_table(table: Table, path: Path) -> None:
    """Write a table as tab-separated text."""
    rows = [[one.name for one in table.columns], *zip(*(one.cells for one in table.columns), strict=True)]
    write_file(path, "".join("\t".join(map(str, row)) + "\n" for row in rows).encode())


def opening(collection: Collection, folder: Path, labeled: int, estimation: Estimation) -> str:
    """Say what the folder holds."""
    return (
        f"{folder} holds {plural(len(collection.runs), 'run')} on {collection.parameters.topics} queries. A"
        f" simulated language model labeled the first {DEPTH} documents of each ({plural(labeled, 'label')});"
        f" people judged a random sample of {estimation.judged} of them, about"
        f" {estimation.judged * 30 / 3600:.1f} hours at 30 s each."
    )


def against_truth(estimation: Estimation, truth: NDArray[np.float64]) -> str:
    """Say how the labels alone and the estimates compare with the truth, which is known here."""
    one = estimation.estimates[0]
    inside = int(((one.low <= truth) & (truth <= one.high)).sum())
    return (
        f"The labels alone overstate {MEASURE} by {np.mean(one.machine - truth):.3f} on average. The"
        f" estimates are off by {np.abs(one.means - truth).mean():.3f}, and their 95% intervals contain the"
        f" true value of {inside} of {plural(len(truth), 'run')}. The labels are worth"
        f" {plural(max(0, round(one.worth)), 'judgment')}."
    )


def next_commands(folder: Path) -> list[tuple[str, str]]:
    """Return commands that work on the files just written, each with its purpose."""
    judged, drawn, labels, runs = (
        shlex.quote(str(folder / name)) for name in ("judged.tsv", "sample.tsv", "labels.tsv", "runs")
    )
    report = shlex.quote(str(folder / "report.html"))
    return [
        (
            "draw a sample for people to judge (here, judged.tsv has their grades)",
            f"sounding pool {runs} --strategy for-estimate --budget {BUDGET} --labels {labels} -m {MEASURE}"
            f" -o {drawn}",
        ),
        (
            "which pairs differ",
            f"sounding estimate {judged} {runs} --labels {labels} -m {MEASURE} --all-pairs",
        ),
        ("whom the machine favors", f"sounding audit {judged} {runs} --labels {labels} -m {MEASURE}"),
        ("one page", f"sounding report {judged} {runs} --labels {labels} -m {MEASURE} -o {report}"),
    ]
