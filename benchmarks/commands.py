"""Second table: what every command costs on TREC-8, in units; and how commands grow.

A unit is the CPU time that pytrec_eval needs in one process to read the 129 compressed runs and to score them
with map and P_10. It is measured in the same run, so the ratios compare between machines.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.timing import Command, interleave, program, second, table, whole

HERE = Path(__file__).resolve().parent
LIMIT = 60.0  # seconds after which a command is stopped: any that take so long miss their targets
MOST_MB = 2000  # of a process
LINEAR = 1.3  # times as long for each topic is still called linear
AP, AP_AND_P = ("-m", "AP"), ("-m", "AP", "-m", "P@10")
SIMULATE = ("simulate", "--judgments", "500")


class Case(NamedTuple):
    """A command on TREC-8, and the units that it may cost."""

    command: str
    words: Sequence[str]  # those after qrels and runs
    units: float | None = None


CASES = (
    Case("evaluate", AP_AND_P),
    Case("compare", AP_AND_P, 0.75),
    Case("compare", (*AP, "--pair", "READWARE2", "orcl99man"), 0.25),
    Case("plan", (), 1.2),
    Case("audit", (), 0.5),
    Case("depth", AP, 0.35),
    Case("simulate", ("--judgments", "2000"), 1.5),
    Case("report", ("-o", "{folder}/report.html"), 2.4),
    Case("report", ("--sections", "summary", "-o", "{folder}/summary.html"), 1),
    Case("calibrate", (), 5),
    Case("agree", ("--simulated", "correlated", "--runs", "{runs}"), 0.5),
)
STEPS = {  # case of benchmarks.mtc -> what it is, and the most milliseconds
    "step-8": ("a judgment with 8 runs, 60 topics", 0.5),
    "step-125": ("a judgment with 125 runs, 50 topics", 5.0),
}


def measure_commands(real: Path, scratch: Path) -> str:
    """Return the table of commands in units."""
    (qrels,) = (real / "trec8").glob("qrels.*.gz")
    runs = real / "trec8" / "runs"
    unit = Command(
        arguments=[sys.executable, str(HERE / "peers.py"), "unit", str(scratch / "unit.csv"), str(qrels),
                   *map(str, sorted(runs.iterdir()))],
        parts={"unit": whole}, stdout=scratch / "unit.txt",
    )  # fmt: skip
    interleave([unit], 2)
    if unit.failure:
        return f"no unit, so no table of commands: {unit.failure}"
    one = unit.timings["unit"].cpu
    rows = [["on TREC-8 (129 runs, 50 topics, gz)", "units", "target", "CPU s", "s", "MB", ""]]
    for case in CASES:
        words = [word.format(folder=scratch, runs=runs) for word in case.words]
        sources = [str(qrels)] if case.command == "agree" else [str(qrels), str(runs)]
        shown = " ".join(
            [case.command, *(word for word in case.words if "{folder}" not in word and word != "-o")]
        )
        command = run_once(shown.replace("{runs}", "RUNS"), [case.command, *sources, *words], scratch)
        rows.append(row(command, one, case.units))
    return f"a unit is {one:.2f} s of CPU time here\n\n{table(rows)}\n\n{table(list(steps(scratch)))}"


def run_once(label: str, words: Sequence[str], scratch: Path, limit: float = LIMIT) -> Command:
    """Run a command of sounding once, with a limit of time."""
    print(f"  {label} ...", flush=True)
    command = Command(
        arguments=[program(), *words], parts={label: whole}, stdout=scratch / "out.txt", limit=limit
    )
    command.run()
    return command


def row(command: Command, unit: float, most: float | None) -> list[str]:
    """Return a line of the table, with MISS if the command costs too much."""
    (label,) = command.parts
    if command.failure:
        return [label, "", "" if most is None else f"{most:g}", "", "", "", f"MISS: {command.failure[:60]}"]
    timing = command.timings[label]
    units = timing.cpu / unit
    verdict = "" if most is None else "pass" if units <= most else "MISS"
    return [
        label, f"{units:.2f}", "" if most is None else f"{most:g}", f"{timing.cpu:.1f}", f"{timing.best:.1f}",
        f"{timing.peak_mb:.0f}",
        verdict,
    ]  # fmt: skip


def steps(scratch: Path) -> Iterator[list[str]]:
    """Yield what a judgment costs where documents are chosen one by one, and many resampled qrels."""
    yield ["by the clock of the process", "measured", "at most", ""]
    modules = [(f"benchmarks.mtc {case}", title, 1000, most, "ms") for case, (title, most) in STEPS.items()]
    title = "estimates of six measures, 63 runs, 27 topics (CPU)"
    modules.append(("benchmarks.estimates --time", title, 1, 3.0, "s"))
    modules.append(("benchmarks.assessors", "100,003 resampled qrels over 33 systems", 1, 5.0, "s"))
    for module, title, factor, most, sign in modules:
        command = Command(
            arguments=[sys.executable, "-m", *module.split()], parts={title: second},
            stdout=scratch / "steps.txt", environment={"OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        interleave([command], 2)
        if command.failure:
            yield [title, "", f"{most:g} {sign}", f"MISS: {command.failure[:60]}"]
            continue
        found = factor * command.timings[title].best
        yield [title, f"{found:.2f} {sign}", f"{most:g} {sign}", "pass" if found <= most else "MISS"]


def growth(folder: Path, scratch: Path) -> str:
    """Return how commands grow with the number of runs, and with the number of topics."""
    place = sample(folder, "500-runs", "--topics 50 --groups 100 --systems 5 --length 200")
    report: tuple[str, ...] = ("report", "-o", str(scratch / "growth.html"))
    runs = sorted(map(str, (place / "runs").iterdir()))
    sources = [[str(place / "qrels.txt"), *runs[:count]] for count in (129, 500)]
    rows = [["50 topics: CPU s", "129 runs", "500 runs", "times", "at most", "MB", ""]]
    most_work: list[tuple[str, ...]] = [("evaluate", *AP), ("compare", *AP), report]
    for words in most_work:
        rows.append(grown(words, sources, 10, scratch, 2 * LIMIT))
    shape = "--groups 5 --systems 2 --documents 60 --prevalence 0.1 --length 20 --pool-depth 10"
    places = [sample(folder, f"{count}-topics", f"--topics {count} {shape}") for count in (2500, 10000)]
    sources = [[str(place / "qrels.txt"), str(place / "runs")] for place in places]
    topics = [["10 runs: CPU s", "2,500 topics", "10,000", "times", "at most", "MB", ""]]
    for words in (*most_work, ("audit",), ("depth", *AP), ("plan",), SIMULATE):
        topics.append(grown(words, sources, 4 * LINEAR, scratch, LIMIT))
    return f"{table(rows)}\n\n{table(topics)}"


def grown(
    words: Sequence[str], sources: Sequence[Sequence[str]], most: float, scratch: Path, limit: float
) -> list[str]:
    """Return the cost of a command on little and on much, and how many times as much that is."""
    name, *options = words
    costs = []
    for files in sources:
        command = run_once(name, [name, *files, *options], scratch, limit)
        if command.failure:
            return [name, "", "", "", f"{most:g}", "", f"MISS: {command.failure[:60]}"]
        costs.append(command.timings[name])
    little, much = costs
    times = much.cpu / little.cpu
    verdict = "pass" if times <= most and much.peak_mb <= MOST_MB else "MISS"
    peak = f"{much.peak_mb:.0f}"
    return [name, f"{little.cpu:.1f}", f"{much.cpu:.1f}", f"{times:.1f}", f"{most:g}", peak, verdict]


def sample(folder: Path, name: str, options: str) -> Path:
    """Return a simulated collection, which is kept for the next time."""
    place = folder / name
    if not (place / "qrels.txt").exists():
        print(f"writing {place} ...", flush=True)
        command = [program(), "sample", str(place), *options.split(), "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return place


def real_collections() -> Path | None:
    """Return the folder of real collections, or None if there is none."""
    folder = Path(os.environ.get("SOUNDING_DATA", HERE.parent.parent / "shared" / "data"))
    return folder if (folder / "trec8").is_dir() else None
