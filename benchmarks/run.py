"""`sounding` beside its peers: seconds, memory and values, all from one go.

Every number is of a fresh process that reads plain-text files, computes AP, nDCG@20, P@10, RR and
Bpref for every topic, and writes the values. The tools take turns; nothing here can fail a test.
"""

from __future__ import annotations

import argparse
import compileall
import csv
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Command, Sample, Timing, interleave, whole
from tests import gallery

import sounding

HERE = Path(__file__).resolve().parent
MEASURES = ("AP", "nDCG@20", "P@10", "RR", "Bpref")
TREC_MEASURES = {"map": "AP", "ndcg_cut_20": "nDCG@20", "P_10": "P@10", "recip_rank": "RR", "bpref": "Bpref"}
ONE, TWO = "sounding, 1 process", "sounding, 2 processes"
PYTREC, IR_MEASURES, TREC_EVAL = "pytrec_eval", "ir_measures", "trec_eval in a loop"
DECISIONS = "129 runs, 5 depths, 2 measures: cases"
DEPTHS = "129 runs, 1,000 depths, 4 measures: stability"
QRELS = "100,003 qrels, 33 systems, 48 topics: ranges, tau, swaps"
MINIMAL = {  # case of benchmarks.mtc -> what it is
    "step-8": "what to judge next, one step: 8 runs, 60 topics",
    "step-8-learnt": "what to judge next, one step, default prior: 8 runs, 60 topics",
    "step-125": "what to judge next, one step: 125 runs, 50 topics",
    "step-125-learnt": "what to judge next, one step, default prior: 125 runs, 50 topics",
    "set-up-125": "what to judge next, set-up: 125 runs, 50 topics",
    "draws-20": "confidence by 200 draws: 20 runs, 50 topics",
}
LEAVE_OUT = "129 runs and 43 groups, 3 measures: leave one out"
IMPORT, HELP = "python, import sounding", "sounding --help"
PLAIN, BOUNDED = "sounding, AP nDCG@20 only", "sounding, AP nDCG@20 with bounds"
WARM = "sounding, 2 processes, warm"
RANX, RANX_WARM, RANX_FIRST = "ranx, cold", "ranx, warm", "ranx, first time ever"

Values = dict[tuple[str, str, str], float]  # run, measure, topic -> value


@dataclass(frozen=True, slots=True)
class Workload:
    """Some runs of one collection."""

    title: str
    qrels: Path
    runs: Sequence[Path]

    @property
    def megabytes(self) -> float:
        """Text to read."""
        return sum(path.stat().st_size for path in (self.qrels, *self.runs)) / 1e6


@dataclass(frozen=True, slots=True)
class Choice:
    """What the person who started it asked for."""

    rounds: int
    quick: bool
    ranx: bool
    folder: Path


def workloads(choice: Choice) -> list[Workload]:
    """One run, a set, four times as many (each holds the one before), scores in full; then gallery shapes."""
    counts, topics = ((1, 4, 16), 20) if choice.quick else ((1, 40, 160), 50)
    runs = written(choice, counts[-1], topics, "decimals")
    sizes = f"x {topics} topics x 1000"
    doubles = written(choice, counts[1], topics, "doubles")
    return [
        *(
            Workload(f"{count} run{'s' * (count > 1)} {sizes}", runs[0].with_name("qrels.txt"), runs[:count])
            for count in counts
        ),
        Workload(f"{counts[1]} runs {sizes}, scores in full", doubles[0].with_name("qrels.txt"), doubles),
        *(
            Workload(f"gallery, {shape.name}", shape.qrels, sorted(shape.runs.iterdir()))
            for shape in (gallery.make(name, choice.folder / "gallery") for name in gallery.LARGE)
        ),
    ]


def written(choice: Choice, count: int, topics: int, scores: str) -> list[Path]:
    """So many runs with scores of this kind; they are kept for the next time."""
    data = choice.folder / f"{count}x{topics}x1000-{scores}"
    if not (data / "complete").exists():
        print(f"writing {count} runs to {data} ...", flush=True)
        # In a process of its own, so that this one stays small.
        subprocess.run(
            [sys.executable, "-m", "benchmarks.collection", str(data), str(count), str(topics), "1000",
             "--scores", scores],
            check=True, cwd=HERE.parent,
        )  # fmt: skip
        (data / "complete").touch()
    return sorted(data.glob("run*.txt"))


def sounding_program() -> str:
    """The program as pip installed it beside this interpreter."""
    found = shutil.which("sounding", path=str(Path(sys.executable).parent)) or shutil.which("sounding")
    if found is None:
        sys.exit("the program sounding is not installed: pip install -e '.[bench]'")
    return found


def contenders(work: Workload, choice: Choice, scratch: Path) -> Iterator[Command]:
    """All tools that are installed, on one workload; those that are not are named."""
    scratch.mkdir(parents=True)
    files = [str(work.qrels), *map(str, work.runs)]
    asked = [part for measure in MEASURES for part in ("-m", measure)]
    for label, jobs in ((ONE, 1), (TWO, 2)):
        if len(work.runs) >= jobs:
            output = scratch / f"sounding-{jobs}.csv"
            arguments = [sounding_program(), "evaluate", *files, *asked, "--per-topic", "--format", "csv"]
            yield Command(
                arguments=[*arguments, "--jobs", str(jobs)],
                parts={label: whole},
                stdout=output,
                values=output,
            )
    if len(work.runs) > 1:
        warm = peer("sounding", ["--twice", *files], scratch)
        warm.parts = {WARM: told}
        yield warm
        yield from with_and_without_bounds(files, scratch)
    for tool in (PYTREC, IR_MEASURES):
        if importlib.util.find_spec(tool):
            yield peer(tool, files, scratch)
    trec_eval = shutil.which("trec_eval")
    if trec_eval:
        yield trec_eval_loop(trec_eval, files, scratch)
    if choice.ranx and importlib.util.find_spec("ranx"):
        yield from ranx_twice(files, choice, scratch)


def with_and_without_bounds(files: Sequence[str], scratch: Path) -> Iterator[Command]:
    """What the exact bounds of two recall measures cost beside the values themselves."""
    for number, (label, more) in enumerate(((PLAIN, ()), (BOUNDED, ("--unjudged", "bounds")))):
        asked = ["-m", "AP", "-m", "nDCG@20", "--per-topic", "--format", "csv", "--jobs", "1", *more]
        yield Command(
            arguments=[sounding_program(), "evaluate", *files, *asked],
            parts={label: whole},
            stdout=scratch / f"bounds-{number}.csv",
        )


def absent(choice: Choice) -> list[str]:
    """Tools that this machine lacks, or that were not wanted."""
    names = [tool for tool in (PYTREC, IR_MEASURES) if not importlib.util.find_spec(tool)]
    if not shutil.which("trec_eval"):
        names.append("trec_eval (not on the PATH)")
    if not choice.ranx:
        names.append("ranx (left out by --no-ranx)")
    elif not importlib.util.find_spec("ranx"):
        names.append("ranx")
    return names


def peer(tool: str, files: Sequence[str], scratch: Path) -> Command:
    """A peer with a Python API."""
    values = scratch / f"{tool}.csv"
    arguments = [sys.executable, str(HERE / "peers.py"), tool, str(values), *files]
    return Command(arguments=arguments, parts={tool: whole}, stdout=scratch / f"{tool}.txt", values=values)


def trec_eval_loop(program: str, files: Sequence[str], scratch: Path) -> Command:
    """trec_eval knows one run at a time: a shell calls it for each."""
    asked = " ".join(f"-m {name}" for name in ("map", "ndcg_cut.20", "P.10", "recip_rank", "bpref"))
    script = f'qrels="$1"; shift; for run; do echo "# $run"; "{program}" -q -c {asked} "$qrels" "$run"; done'
    output = scratch / "trec_eval.txt"
    return Command(
        arguments=["sh", "-ec", script, "sh", *files], parts={TREC_EVAL: whole}, stdout=output, values=output
    )


def told(sample: Sample, stdout: Path) -> Sample:
    """The part that a process timed by its own clock, and printed last."""
    return Sample(float(stdout.read_text().split()[-1]), None, sample.peak_mb)


def ranx_twice(files: Sequence[str], choice: Choice, scratch: Path) -> Iterator[Command]:
    """ranx in a process that evaluates everything twice: cold is the first time, warm the second.

    What numba compiles is kept for later processes. Compiling costs the same for any number of
    runs and most of a minute, so it is timed once, with one run.
    """

    def cold(sample: Sample, stdout: Path) -> Sample:
        return Sample(sample.seconds - told(sample, stdout).seconds, None, sample.peak_mb)

    if len(files) == 2:
        first = peer("ranx", files, scratch)
        first.parts, first.rounds = {RANX_FIRST: whole}, 1
        first.environment = {"NUMBA_CACHE_DIR": str(scratch / "numba")}
        yield first
    command = peer("ranx", ["--twice", *files], scratch)
    command.parts = {RANX: cold, RANX_WARM: told}
    command.rounds = max(1, choice.rounds // 3)
    command.environment = {"NUMBA_CACHE_DIR": str(choice.folder / "numba")}
    yield command


def start_up(scratch: Path) -> list[Command]:
    """What a process costs before it does anything; and the decisions about all pairs of runs."""
    scratch.mkdir(parents=True)
    python = sys.executable
    commands = {
        "python": [python, "-c", "pass"],
        "python, import numpy": [python, "-c", "import numpy"],
        IMPORT: [python, "-c", "import sounding"],
        HELP: [sounding_program(), "--help"],
    }
    starts = [
        Command(arguments=arguments, parts={label: whole}, stdout=scratch / f"{number}.txt")
        for number, (label, arguments) in enumerate(commands.items())
    ]
    return [*starts, *decisions(scratch)]


def decisions(scratch: Path) -> Iterator[Command]:
    """Decisions about all pairs of 129 runs, and stability over depth, by the clock of the process itself."""

    for test in ("anova", "t"):
        yield Command(
            arguments=[sys.executable, "-m", "benchmarks.decisions", test],
            parts={f"{DECISIONS}, {test}": told},
            stdout=scratch / f"decisions-{test}.txt",
            rounds=3,
        )
    yield Command(
        arguments=[sys.executable, "-m", "benchmarks.depth"],
        parts={DEPTHS: told},
        stdout=scratch / "depth.txt",
        rounds=1,
    )
    yield Command(
        arguments=[sys.executable, "-m", "benchmarks.audit"],
        parts={LEAVE_OUT: told},
        stdout=scratch / "audit.txt",
        rounds=1,
    )
    yield Command(
        arguments=[sys.executable, "-m", "benchmarks.assessors"],
        parts={QRELS: told},
        stdout=scratch / "assessors.txt",
        environment={"OPENBLAS_NUM_THREADS": "1"},  # as the command has it
        rounds=3,
    )
    for case, label in MINIMAL.items():
        yield Command(
            arguments=[sys.executable, "-m", "benchmarks.mtc", case],
            parts={label: told},
            stdout=scratch / f"mtc-{case}.txt",
            environment={"OPENBLAS_NUM_THREADS": "1"},
            rounds=3,
        )


def read_values(command: Command) -> Values:
    """What a tool computed for each run, measure and topic."""
    if command.values is None:
        return {}
    if TREC_EVAL in command.parts:
        return read_trec_values(command.values)
    with command.values.open(newline="") as file:
        return {
            (Path(row["run"]).stem, row["measure"], row["topic"]): float(row["value"])
            for row in csv.DictReader(file)
            if row["topic"]
        }


def read_trec_values(path: Path) -> Values:
    """The printed lines of trec_eval, four decimals each, run after run."""
    values: Values = {}
    run = ""
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            run = Path(line[2:]).stem
            continue
        name, topic, value = line.split()
        if topic != "all":
            values[run, TREC_MEASURES[name], topic] = float(value)
    return values


def agreement(ours: Values, theirs: Values) -> str:
    """The largest difference between two tools, or what one of them lacks."""
    if ours.keys() != theirs.keys():
        return f"{len(ours)} values against {len(theirs)}"
    return f"{max(abs(value - theirs[key]) for key, value in ours.items()):.1e}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Aligned columns: the first to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if not number else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def workload_rows(commands: Sequence[Command]) -> list[list[str]]:
    """One row for each thing that was timed, against ours in one process and in two."""
    timings = {label: timing for command in commands for label, timing in command.timings.items()}
    ours = next((read_values(command) for command in commands if ONE in command.timings), {})
    rows = [
        ["tool", "best s", "median s", "CPU s", "rounds", "/ ours", "/ ours (2)", "peak MB", "max difference"]
    ]
    for command in commands:
        compared = ONE not in command.parts and not command.failure and command.values is not None
        difference = agreement(ours, read_values(command)) if compared else ""
        for label in command.parts:
            if command.failure:
                rows.append([label, "failed", "", "", "", "", "", "", command.failure[:60]])
                continue
            timing = timings[label]
            rows.append(
                [label, f"{timing.best:.3f}", f"{timing.median:.3f}",
                 "" if timing.cpu is None else f"{timing.cpu:.3f}", str(len(timing.samples)),
                 ratio(timing, timings.get(ONE)), ratio(timing, timings.get(TWO)),
                 f"{timing.peak_mb:.0f}", difference]
            )  # fmt: skip
    return rows


def ratio(timing: Timing, ours: Timing | None) -> str:
    """How many times as long as ours, by the best rounds."""
    return f"{timing.best / ours.best:.2f}" if ours else ""


@dataclass(frozen=True, slots=True)
class Target:
    """One line of "What it must cost" with what was measured."""

    text: str
    measured: float | None
    at_least: float | None = None
    at_most: float | None = None

    def row(self) -> list[str]:
        """Text, number and verdict."""
        if self.measured is None:
            return [self.text, "-", "not measured"]
        met = (self.at_least is None or self.measured >= self.at_least) and (
            self.at_most is None or self.measured <= self.at_most
        )
        return [self.text, f"{self.measured:.3g}", "pass" if met else "MISS"]


def targets(
    one_run: dict[str, Timing],
    standard: dict[str, Timing],
    large: dict[str, Timing],
    doubles: dict[str, Timing],
    begin: dict[str, Timing],
) -> list[Target]:
    """The costs that DESIGN.md sets, for the standard set unless a line says otherwise."""

    def best(timings: dict[str, Timing], label: str) -> float | None:
        return timings[label].best if label in timings else None

    def times(timings: dict[str, Timing], label: str, ours: str) -> float | None:
        theirs, own = best(timings, label), best(timings, ours)
        return theirs / own if theirs and own else None

    def peak(timings: dict[str, Timing], label: str) -> float | None:
        return timings[label].peak_mb if label in timings else None

    def thousandths(timings: dict[str, Timing], label: str) -> float | None:
        seconds = best(timings, label)
        return None if seconds is None else 1000 * seconds

    fastest_peer = min(
        (timing.best for label, timing in one_run.items() if label in (PYTREC, IR_MEASURES, RANX)),
        default=None,
    )
    own_run = best(one_run, ONE)
    return [
        Target("x faster than pytrec_eval, 1 process: 4", times(standard, PYTREC, ONE), 4),
        Target("x faster than pytrec_eval, 2 processes: 8 (aim)", times(standard, PYTREC, TWO), 8),
        Target("x faster than trec_eval, 1 process: 4", times(standard, TREC_EVAL, ONE), 4),
        Target("x faster than trec_eval, 2 processes: 8 (aim)", times(standard, TREC_EVAL, TWO), 8),
        Target("x faster than pytrec_eval, in full, 1 process: 4", times(doubles, PYTREC, ONE), 4),
        Target("x faster than pytrec_eval, in full, 2 processes: 6.4", times(doubles, PYTREC, TWO), 6.4),
        Target("x faster than trec_eval, in full, 2 processes: 6", times(doubles, TREC_EVAL, TWO), 6),
        Target("x faster than ranx, both cold, 2 processes: 15", times(standard, RANX, TWO), 15),
        Target("x faster than ranx, both warm, 2 processes: 15", times(standard, RANX_WARM, WARM), 15),
        Target("x faster than ranx warm when cold, 2 processes: 15", times(standard, RANX_WARM, TWO), 15),
        Target("MB of a process: 100 or less", peak(standard, ONE), at_most=100),
        Target("MB of a process, four times the runs: 100 or less", peak(large, ONE), at_most=100),
        Target("four times the runs, times as long: 4.4 or less", times_more(standard, large), at_most=4.4),
        Target("AP nDCG@20 with bounds, x as long: 1.2 or less", times(standard, BOUNDED, PLAIN), None, 1.2),
        Target("seconds for one run: 0.2 or less", own_run, at_most=0.2),
        Target(
            "fastest Python peer / ours, one run: 1 or more",
            fastest_peer / own_run if fastest_peer and own_run else None, 1,
        ),
        Target("seconds for `import sounding`: 0.1 or less", best(begin, IMPORT), at_most=0.1),
        Target("seconds for `sounding --help`: 0.15 or less", best(begin, HELP), at_most=0.15),
        Target("seconds for all cases, 129 runs: 2 or less", best(begin, f"{DECISIONS}, anova"), at_most=2),
        Target("seconds for 1,000 depths, 129 runs: 30 or less", best(begin, DEPTHS), at_most=30),
        Target("MB for 1,000 depths, 129 runs: 1,000 or less", peak(begin, DEPTHS), at_most=1000),
        Target("seconds to leave out 129 runs, 43 groups: 60 or less", best(begin, LEAVE_OUT), at_most=60),
        Target("seconds for 100,003 qrels, 33 systems: 5 or less", best(begin, QRELS), at_most=5),
        Target("ms a step, 8 runs: 0.5 or less", thousandths(begin, MINIMAL["step-8"]), at_most=0.5),
        Target("ms a step, 125 runs: 5 or less", thousandths(begin, MINIMAL["step-125"]), at_most=5),
        Target("seconds of set-up, 125 runs: 5 or less", best(begin, MINIMAL["set-up-125"]), at_most=5),
        Target("seconds for 200 draws, 20 runs: 0.3 or less", best(begin, MINIMAL["draws-20"]), at_most=0.3),
    ]  # fmt: skip


def gallery_targets(shapes: dict[str, dict[str, Timing]]) -> Iterator[Target]:
    """Being faster than pytrec_eval on every large shape of the gallery."""
    for name, timings in shapes.items():
        for label, least in ((ONE, 4.0), (TWO, 6.4)):
            measured = timings[PYTREC].best / timings[label].best if PYTREC in timings else None
            yield Target(f"x faster than pytrec_eval, {name}, {label[10:]}: {least:g}", measured, least)


def times_more(standard: dict[str, Timing], large: dict[str, Timing]) -> float | None:
    """How much longer four times the work takes in one process."""
    if ONE not in standard or ONE not in large:
        return None
    return large[ONE].best / standard[ONE].best


def ask(arguments: Sequence[str] | None) -> Choice:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="4 and 16 runs of 20 topics, 2 rounds, no ranx")
    parser.add_argument("--rounds", type=int, help="times that every tool is run (7; with --quick 2)")
    parser.add_argument(
        "--ranx",
        action=argparse.BooleanOptionalAction,
        help="ranx needs a minute to compile (on; --quick: off)",
    )
    parser.add_argument("--data", type=Path, default=HERE / "data", help="where the collection is kept")
    chosen = parser.parse_args(arguments)
    return Choice(
        rounds=chosen.rounds or (2 if chosen.quick else 7),
        quick=chosen.quick,
        ranx=not chosen.quick if chosen.ranx is None else chosen.ranx,
        folder=chosen.data,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Time everything, then check the values, then print."""
    choice = ask(arguments)
    # An installed package has its bytecode, as those of the peers do; an edited working copy may not.
    compileall.compile_dir(Path(sounding.__file__).parent, quiet=1)
    works = workloads(choice)
    timings: list[dict[str, Timing]] = []
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        begin = start_up(scratch / "start")
        print("timing the start of a process ...", flush=True)
        interleave(begin, 3 * choice.rounds)
        contests: list[list[Command]] = []
        for number, work in enumerate(works):
            commands = list(contenders(work, choice, scratch / str(number)))
            rounds = max(1, choice.rounds // 2) if number == 2 else choice.rounds  # the large one
            print(f"timing {work.title}: {rounds} rounds of {len(commands)} tools ...", flush=True)
            # A round that does not count fills the page cache and compiles what is compiled once.
            if not number:
                interleave([command for command in commands if RANX_FIRST not in command.parts], 1)
                for command in commands:
                    command.timings.clear()
            interleave(commands, rounds)
            contests.append(commands)
        print(
            f"\n{os.cpu_count()} processors, Python {sys.version.split()[0]}; best of n rounds, tools in turn"
        )
        for work, commands in zip(works, contests, strict=True):
            print(f"\n{work.title} ({work.megabytes:.0f} MB): {' '.join(MEASURES)} per topic\n")
            print(table(workload_rows(commands)))
            timings.append(
                {label: timing for command in commands for label, timing in command.timings.items()}
            )
    start = {label: timing for command in begin for label, timing in command.timings.items()}
    print("\nstart of a process\n")
    rows = [["command", "best s", "median s", "peak MB"]]
    rows += [[label, f"{t.best:.3f}", f"{t.median:.3f}", f"{t.peak_mb:.0f}"] for label, t in start.items()]
    rows += [[next(iter(c.parts)), "failed", c.failure[:60], ""] for c in begin if c.failure]
    print(table(rows))
    smaller = " (they are set for 40 runs of 50 topics: this was the quick version)" if choice.quick else ""
    print(f"\ntargets{smaller}\n")
    one_run, standard, large, doubles, *shapes = timings
    found = [
        *targets(one_run, standard, large, doubles, start),
        *gallery_targets(dict(zip(gallery.LARGE, shapes, strict=True))),
    ]
    verdicts = [target.row() for target in found]
    print(table([["what", "measured", "verdict"], *verdicts]))
    if missing := absent(choice):
        print(f"\nabsent: {', '.join(missing)}")


if __name__ == "__main__":
    main()
