"""Runs larger than memory: seconds and peak memory for 1, 10 and 100 million lines, from text and Parquet.

    python -m benchmarks.scale 1 10          # millions of lines; 1 and 10 unless told
    python -m benchmarks.scale 100           # 4.6 GB of text: some minutes

Every number is of a fresh process. What is written goes to benchmarks/data and is removed at the end
unless --keep is given.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Sample, measure, program, table

HERE = Path(__file__).resolve().parent
DOCUMENTS = 1000  # of every topic
JUDGED = 20
CAP_MB = 4096  # what one process may take at most, by the design
MEASURES = ("AP", "nDCG@10", "P@10", "RR", "R@1000")


@dataclass(frozen=True, slots=True)
class Case:
    """One command, and how many lines it works on."""

    title: str
    lines: int
    arguments: Sequence[str]


def write_collection(folder: Path, topics: int) -> None:
    """A run of `topics` x 1000 lines in one file, and judgments for all topics; the same ones every time."""
    import numpy as np

    rng = np.random.default_rng(12)
    folder.mkdir(parents=True, exist_ok=True)

    def digits(numbers: np.ndarray, width: int) -> np.ndarray:
        return (numbers[:, None] // 10 ** np.arange(width - 1, -1, -1) % 10 + ord("0")).astype(np.uint8)

    def text(constant: bytes, rows: int) -> np.ndarray:
        return np.broadcast_to(np.frombuffer(constant, np.uint8), (rows, len(constant)))

    with (folder / "run.txt").open("wb") as run, (folder / "qrels.txt").open("wb") as qrels:
        for first in range(0, topics, 1000):
            count = min(1000, topics - first)
            rows = count * DOCUMENTS
            topic = np.repeat(np.arange(first, first + count) + 1_000_000, DOCUMENTS)
            # A walk through the collection with random steps: no document twice in a topic.
            doc = np.cumsum(rng.integers(1, 8000, (count, DOCUMENTS)), axis=1).ravel()
            score = -np.sort(-rng.integers(0, 30_000_000, (count, DOCUMENTS)), axis=1).ravel()
            rank = np.tile(np.arange(1, DOCUMENTS + 1), count)
            parts = (
                digits(topic, 7), text(b" Q0 D", rows), digits(doc, 8), text(b" ", rows), digits(rank, 4),
                text(b" ", rows), digits(score // 1_000_000, 2), text(b".", rows),
                digits(score % 1_000_000, 6), text(b" bm25-tuned\n", rows),
            )  # fmt: skip
            run.write(np.hstack(parts).tobytes())
            chosen = np.sort(
                rng.permuted(np.tile(np.arange(DOCUMENTS), (count, 1)), axis=1)[:, :JUDGED], axis=1
            )
            where = (chosen + np.arange(count)[:, None] * DOCUMENTS).ravel()
            grade = rng.choice(4, len(where), p=[0.6, 0.2, 0.15, 0.05])
            judged = (
                digits(topic[where], 7), text(b" 0 D", len(where)), digits(doc[where], 8),
                text(b" ", len(where)), digits(grade, 1), text(b"\n", len(where)),
            )  # fmt: skip
            qrels.write(np.hstack(judged).tobytes())


def cases(folder: Path, millions: int) -> Iterator[Case]:
    """Conversion, then evaluation of text and Parquet on one process and on two."""
    ours, qrels = program(), str(folder / "qrels.txt")
    text, parquet = str(folder / "run.txt"), str(folder / "run.parquet")
    asked = [part for name in MEASURES for part in ("-m", name)]
    lines = millions * 1_000_000
    yield Case("convert to Parquet", lines, [ours, "convert", text, "-o", parquet, "--quiet"])
    for source, label in ((text, "text"), (parquet, "Parquet")):
        for jobs in (1, 2):
            yield Case(
                f"evaluate, {label}, {jobs} process{'es' * (jobs > 1)}", lines,
                [ours, "evaluate", qrels, source, *asked, "--format", "csv", "--jobs", str(jobs)],
            )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("millions", nargs="*", type=int, default=[1, 10], help="of lines")
    parser.add_argument("--data", type=Path, default=HERE / "data" / "scale")
    parser.add_argument("--keep", action="store_true", help="leave the files where they are")
    choice = parser.parse_args()
    rows: list[tuple[str, ...]] = [
        ("work", "million lines", "MB", "seconds", "CPU s", "lines/s", "peak MB", "values")
    ]
    for millions in choice.millions:
        folder = choice.data / f"{millions}M"
        if not (folder / "complete").exists():
            write_in_a_process_of_its_own(folder, millions * 1000)
        values = ""
        for case in cases(folder, millions):
            sample, failure = measure(case.arguments, folder / "out.csv", {})
            if failure:
                sys.exit(f"{case.title}: {failure}")
            found = (folder / "out.csv").read_text()
            values = values or found
            rows.append(row(case, sample, folder, "the same" if found in (values, "") else "DIFFERENT"))
            print("  ".join(rows[-1]), flush=True)
        if not choice.keep:
            shutil.rmtree(folder)
    print("\n" + table(rows))
    print(f"\ncap on memory: {CAP_MB} MB a process")


def write_in_a_process_of_its_own(folder: Path, topics: int) -> None:
    """Make the data without making this process, from which children are measured, large."""
    import subprocess

    program = (
        f"import benchmarks.scale as s, pathlib; s.write_collection(pathlib.Path({str(folder)!r}), {topics})"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=HERE.parent)
    (folder / "complete").touch()


def row(case: Case, sample: Sample, folder: Path, values: str) -> tuple[str, ...]:
    """One line of the table."""
    file = folder / ("run.parquet" if "Parquet" in case.title and "convert" not in case.title else "run.txt")
    return (
        case.title, f"{case.lines / 1e6:.0f}", f"{file.stat().st_size / 1e6:,.0f}", f"{sample.seconds:.2f}",
        f"{sample.cpu:.2f}",
        f"{case.lines / sample.seconds:,.0f}", f"{sample.peak_mb:,.0f}", values,
    )  # fmt: skip


if __name__ == "__main__":
    main()
