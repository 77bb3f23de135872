"""First table: reading and scoring every kind of file, beside the other tools.

Every number is of a fresh process that reads the files, computes AP, nDCG@20, P@10, RR and Bpref for every
topic, and writes the values. The tools take turns.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.collection import KINDS
from benchmarks.timing import Command, Timing, first, interleave, program, second, table, whole
from tests import gallery

HERE = Path(__file__).resolve().parent
MEASURES = ("AP", "nDCG@20", "P@10", "RR", "Bpref")
TREC_MEASURES = {"map": "AP", "ndcg_cut_20": "nDCG@20", "P_10": "P@10", "recip_rank": "RR", "bpref": "Bpref"}
ONE, TWO, WARM, BOUNDS, PLAIN = "1 process", "2 processes", "warm", "bounds", "without bounds"
PYTREC, IR_MEASURES, TREC_EVAL = "pytrec_eval", "ir_measures", "trec_eval"
RANX, RANX_WARM = "ranx", "ranx, warm"
RUNS = 42  # of a kind: 80 MB and more
ENOUGH_FOR_TWO = 80e6  # bytes from which a second process has to pay

Values = dict[tuple[str, str, str], float]  # run, measure, topic -> value


class Work(NamedTuple):
    """Some runs of one collection, as files of one kind."""

    name: str
    title: str
    qrels: Path
    runs: Sequence[Path]

    @property
    def size(self) -> int:
        """Bytes to read."""
        return sum(path.stat().st_size for path in (self.qrels, *self.runs))

    @property
    def packed(self) -> bool:
        """Whether the runs are compressed: zlib then decides, and there is no target."""
        return self.runs[0].suffix == ".gz"


class Target(NamedTuple):
    """A ratio that must be reached."""

    column: str
    ratio: float | None
    least: float

    @property
    def missed(self) -> str:
        """What is missing, in words; empty if the target is met or was not measured."""
        if self.ratio is None or self.ratio >= self.least:
            return ""
        return f"{self.column} {self.ratio:.1f} < {self.least:g}"


def works(folder: Path, real: Path | None, names: Sequence[str]) -> list[Work]:
    """Return the kinds of files: real collections where they are at hand, gallery shapes, simulated runs."""
    found = [] if real is None else list(real_works(folder, real))
    shapes = (gallery.make(name, folder / "gallery") for name in gallery.LARGE)
    found += [
        Work(shape.name, f"gallery: {shape.name}", shape.qrels, sorted(shape.runs.glob("[!b]*")))
        for shape in shapes
    ]
    kinds = folder / f"{RUNS}-runs"
    missing = [name for name in KINDS if not (kinds / name / "complete").exists()]
    if missing:
        print(f"writing {len(missing)} kinds of runs to {kinds} ...", flush=True)
        # In a process of its own, so that this one stays small.
        command = [sys.executable, "-m", "benchmarks.collection", str(kinds), str(RUNS), *missing]
        subprocess.run(command, check=True, cwd=HERE.parent)
        for name in missing:
            (kinds / name / "complete").touch()
    for name, kind in KINDS.items():
        runs = sorted((kinds / name / "runs").iterdir())
        found.append(Work(name, f"{kind.title}", kinds / name / "qrels.txt", runs))
    return [work for work in found if not names or work.name in names]


def real_works(folder: Path, real: Path) -> Iterator[Work]:
    """Yield the real collections, unpacked, and TREC-8 as it is as well."""
    for name, title in (("trec8", "TREC-8"), ("robust03", "Robust 2003"), ("dl21-machine", "DL 2021")):
        (qrels,) = sorted((real / name).glob("qrels.*.txt.gz"))[:1]
        packed = sorted((real / name / "runs").glob("*.gz"))
        place = folder / name
        if not (place / "complete").exists():
            (place / "runs").mkdir(parents=True, exist_ok=True)
            for source, to in [
                (qrels, place / "qrels.txt"),
                *((run, place / "runs" / run.stem) for run in packed),
            ]:
                with gzip.open(source) as text, to.open("wb") as file:
                    shutil.copyfileobj(text, file)
            (place / "complete").touch()
        yield Work(name, title, place / "qrels.txt", sorted((place / "runs").iterdir()))
        if name == "trec8":
            yield Work("trec8-gz", "TREC-8, gz", qrels, packed)


def contenders(work: Work, scratch: Path, *, ranx: bool) -> Iterator[Command]:
    """Yield the tools that are installed, on one kind of files."""
    scratch.mkdir(parents=True)
    files = [str(work.qrels), *map(str, work.runs)]
    asked = [part for measure in MEASURES for part in ("-m", measure)]
    ours = [program(), "evaluate", *files, "--per-topic", "--format", "csv", "--jobs"]
    for jobs, label in ((1, ONE), (2, TWO)):
        output = scratch / f"sounding-{jobs}.csv"
        yield Command(
            arguments=[*ours, str(jobs), *asked], parts={label: whole}, stdout=output, values=output
        )
    yield peer(PYTREC, files, scratch)
    if importlib.util.find_spec(IR_MEASURES):
        yield peer(IR_MEASURES, files, scratch, rounds=1)
    if trec_eval := shutil.which(TREC_EVAL):
        yield trec_eval_loop(trec_eval, files, scratch)
    if ranx and importlib.util.find_spec(RANX):
        for tool, parts in (("sounding", {WARM: second}), (RANX, {RANX: first, RANX_WARM: second})):
            twice = peer(tool, files, scratch, "--twice", rounds=1)
            twice.parts = parts
            yield twice


def peer(tool: str, files: Sequence[str], scratch: Path, *more: str, rounds: int | None = None) -> Command:
    """Return the program that calls a tool's Python API."""
    values = scratch / f"{tool}.csv"
    return Command(
        arguments=[sys.executable, str(HERE / "peers.py"), tool, str(values), *more, *files],
        parts={tool: whole}, stdout=scratch / f"{tool}.txt", values=values, rounds=rounds,
        environment={"NUMBA_CACHE_DIR": str(HERE / "data" / "numba")},
    )  # fmt: skip


def trec_eval_loop(trec_eval: str, files: Sequence[str], scratch: Path) -> Command:
    """Return a shell loop, because trec_eval knows one run at a time."""
    asked = " ".join(f"-m {name}" for name in ("map", "ndcg_cut.20", "P.10", "recip_rank", "bpref"))
    script = (
        f'qrels="$1"; shift; for run; do echo "# $run"; "{trec_eval}" -q -c {asked} "$qrels" "$run"; done'
    )
    output = scratch / "trec_eval.txt"
    arguments = ["sh", "-ec", script, "sh", *files]
    return Command(arguments=arguments, parts={TREC_EVAL: whole}, stdout=output, values=output)


def with_and_without_bounds(work: Work, scratch: Path) -> list[Command]:
    """Return what the exact bounds of two recall measures cost beside the values themselves."""
    files = [str(work.qrels), *map(str, work.runs)]
    asked = ["-m", "AP", "-m", "nDCG@20", "--per-topic", "--format", "csv", "--jobs", "1"]
    return [
        Command(
            arguments=[program(), "evaluate", *files, *asked, *more], parts={label: whole},
            stdout=scratch / f"{label}.csv",
        )
        for label, more in ((PLAIN, ()), (BOUNDS, ("--unjudged", "bounds")))
    ]  # fmt: skip


def measure_files(todo: Sequence[Work], scratch: Path, rounds: int, *, ranx: bool) -> str:
    """Return the table of all kinds of files, and what the bounds cost on the largest of them."""
    rows = [[
        "kind of files", "MB", "1 process", "2", "pytrec_eval", "x 1", "x 2", "CPU x 1", "2 / 1", "ir_m x 1",
        "trec_eval x 2", "ranx x warm", "differs by", "targets",
    ]]  # fmt: skip
    for work in todo:
        print(f"  {work.title} ...", flush=True)
        commands = list(contenders(work, scratch / work.name, ranx=ranx))
        for command in commands:
            if command.rounds is None:
                command.run()  # fills the page cache, and compiles what is compiled once
                command.timings.clear()
        interleave(commands, rounds)
        rows.append(row(work, commands))
    costs = [
        bounds_row(work, scratch, rounds) for work in todo if work.name in ("campaign", "trec8", "long-ids")
    ]
    header = ["AP and nDCG@20", "CPU s", "with bounds", "times (at most 1.2)", ""]
    return f"{table(rows)}\n\n{table([header, *costs])}"


def bounds_row(work: Work, scratch: Path, rounds: int) -> list[str]:
    """Return the cost of the exact bounds on many small, real and large files."""
    commands = with_and_without_bounds(work, scratch)
    interleave(commands, rounds)
    plain, bounded = (
        command.timings[label].cpu for command, label in zip(commands, (PLAIN, BOUNDS), strict=True)
    )
    verdict = "pass" if bounded <= 1.2 * plain else "MISS"
    return [work.title, f"{plain:.2f}", f"{bounded:.2f}", f"{bounded / plain:.2f}", verdict]


def row(work: Work, commands: Sequence[Command]) -> list[str]:
    """Return a line of the table: seconds, ratios, and the targets that were missed."""
    timings = {label: timing for command in commands for label, timing in command.timings.items()}
    failed = [f"{next(iter(command.parts))}: {command.failure}" for command in commands if command.failure]

    def times(theirs: str, ours: str) -> float | None:
        return timings[theirs].best / timings[ours].best if theirs in timings and ours in timings else None

    cpu = timings[PYTREC].cpu / timings[ONE].cpu if PYTREC in timings and ONE in timings else None
    targets = [] if work.packed else [
        Target("x 1", times(PYTREC, ONE), 4),
        Target("x 2", times(PYTREC, TWO), 6.4),
        Target("2 / 1", times(ONE, TWO) if work.size >= ENOUGH_FOR_TWO else None, 1.6),
        Target("trec_eval", times(TREC_EVAL, TWO), 8 if work.name == "decimals" else 6),
        Target("ranx", times(RANX_WARM, WARM), 15),
    ]  # fmt: skip
    missed = [target.missed for target in targets if target.missed]
    verdict = "; ".join(missed + failed)
    return [
        work.title, f"{work.size / 1e6:.0f}", *(seconds(timings.get(name)) for name in (ONE, TWO, PYTREC)),
        ratio(times(PYTREC, ONE)), ratio(times(PYTREC, TWO)), ratio(cpu), ratio(times(ONE, TWO)),
        ratio(times(IR_MEASURES, ONE)), ratio(times(TREC_EVAL, TWO)), ratio(times(RANX_WARM, WARM)),
        largest_difference(commands), f"MISS: {verdict}" if verdict else "" if work.packed else "pass",
    ]  # fmt: skip


def seconds(timing: Timing | None) -> str:
    """Write the best round of a timing."""
    return "" if timing is None else f"{timing.best:.2f}"


def ratio(value: float | None) -> str:
    """Write a ratio, or nothing if it is unknown."""
    return "" if value is None else f"{value:.1f}"


def largest_difference(commands: Sequence[Command]) -> str:
    """Return the largest difference between a value of ours and that of pytrec_eval or trec_eval."""
    ours = next(
        (read_values(command) for command in commands if ONE in command.parts and not command.failure), {}
    )
    worst = 0.0
    for command in commands:
        # ranx breaks ties in an order of its own
        if not command.failure and {PYTREC, TREC_EVAL} & set(command.parts):
            theirs = read_values(command)
            worst = max([worst, *(abs(value - ours[key]) for key, value in theirs.items() if key in ours)])
    return f"{worst:.0e}"


def read_values(command: Command) -> Values:
    """Return what a tool computed for each run, measure and topic."""
    if command.values is None:
        return {}
    if TREC_EVAL in command.parts:
        return read_trec_values(command.values)
    with command.values.open(newline="") as file:
        return {
            (run_name(row["run"]), row["measure"], row["topic"]): float(row["value"])
            for row in csv.DictReader(file)
            if row["topic"]
        }


def read_trec_values(path: Path) -> Values:
    """Return the printed lines of trec_eval, four decimals each, run after run."""
    values: Values = {}
    run = ""
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            run = run_name(Path(line[2:]).name)
            continue
        name, topic, value = line.split()
        if topic != "all" and name in TREC_MEASURES:
            values[run, TREC_MEASURES[name], topic] = float(value)
    return values


def run_name(name: str) -> str:
    """Return a run's name without what files add to it."""
    return name.removesuffix(".gz").removesuffix(".txt").removeprefix("input.")
