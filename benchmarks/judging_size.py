"""A judging project of full size: seconds and peak memory of `init`, of `status`, and of the server's start.

python -m benchmarks.judging_size              # 1,000,000 documents x 10,000 topics, 4 runs of depth 100
python -m benchmarks.judging_size --share 0.1  # a tenth of both
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import urlopen

import numpy as np
from benchmarks.timing import Sample, measure, program, table

DOCUMENTS, TOPICS, RUNS, DEPTH, WORDS = 1_000_000, 10_000, 4, 100, 40
LEAST_DOCUMENTS = 1000
TARGETS = {"init": (120.0, 1000.0), "start": (5.0, None)}  # seconds, MB
PATIENCE = 600  # seconds


def write_collection(folder: Path, share: float) -> None:
    """Write corpus, topics and runs: each topic has its own documents, and the runs share most of them."""
    rng = np.random.default_rng(3)
    words = np.array([f"word{number}" for number in range(20_000)])
    documents, topics = max(LEAST_DOCUMENTS, int(DOCUMENTS * share)), max(1, int(TOPICS * share))
    with (folder / "corpus.jsonl").open("w") as corpus:
        for first in range(0, documents, 10_000):
            for doc in range(first, min(first + 10_000, documents)):
                text = " ".join(words[rng.integers(0, len(words), WORDS)])
                corpus.write(f'{{"id": "D{doc:07}", "text": "{text}"}}\n')
    (folder / "topics.tsv").write_text(
        "".join(f"{topic}\t{' '.join(words[rng.integers(0, len(words), 3)])}\n" for topic in range(topics))
    )
    pools = [rng.choice(documents, 2 * DEPTH, replace=False) for _ in range(topics)]
    for run in range(RUNS):
        with (folder / f"run{run}.txt").open("w") as file:
            for topic, pool in enumerate(pools):
                docs = pool[np.argsort(np.arange(2 * DEPTH) + rng.normal(scale=40, size=2 * DEPTH))[:DEPTH]]
                file.writelines(
                    f"{topic} Q0 D{doc:07} {rank} {DEPTH - rank}.5 run{run}\n"
                    for rank, doc in enumerate(docs.tolist(), 1)
                )


def start_seconds(project: Path) -> float:
    """Return the seconds from the command to the first answer of the server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    begun = time.monotonic()
    server = subprocess.Popen(
        [program(), "judge", "serve", str(project), "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while time.monotonic() - begun < PATIENCE:
            try:
                with urlopen(f"http://127.0.0.1:{port}/sign-in", timeout=PATIENCE):
                    return time.monotonic() - begun
            except OSError:
                time.sleep(0.05)
    finally:
        server.terminate()
        server.wait()
    return float("nan")


def rows_of(share: float, scratch: Path) -> list[tuple[str, ...]]:
    """Measure everything once; return the rows of a table."""
    folder = scratch / "judging"
    folder.mkdir()
    call = f"b.write_collection(pathlib.Path({str(folder)!r}), {share})"
    write = f"import pathlib, benchmarks.judging_size as b; {call}"
    subprocess.run([sys.executable, "-c", write], check=True, cwd=Path(__file__).parents[1])
    project = folder / "project"
    init = [
        program(), "judge", "init", str(project), "--corpus", str(folder / "corpus.jsonl"), "--topics",
        str(folder / "topics.tsv"), "--runs", str(folder / "run*.txt"), "--quiet",
    ]  # fmt: skip
    rows: list[tuple[str, ...]] = [("work", "documents", "topics", "seconds", "CPU s", "peak MB", "target")]
    size = (f"{int(DOCUMENTS * share):,}", f"{int(TOPICS * share):,}")
    for name, arguments in (("init", init), ("status", [program(), "judge", "status", str(project)])):
        sample, failure = measure(arguments, folder / "out.txt", {})
        if failure:
            sys.exit(f"{name}: {failure}")
        rows.append((name, *size, *_cells(sample), _target(name)))
    seconds = start_seconds(project)
    rows.append(("start", *size, f"{seconds:.1f}", "", "", _target("start")))
    shutil.rmtree(folder)
    return rows


def _cells(sample: Sample) -> tuple[str, str, str]:
    return f"{sample.seconds:.1f}", f"{sample.cpu:.1f}", f"{sample.peak_mb:,.0f}"


def _target(name: str) -> str:
    seconds, megabytes = TARGETS.get(name, (None, None))
    parts = [f"{seconds:.0f} s" if seconds else "", f"{megabytes:,.0f} MB" if megabytes else ""]
    return ", ".join(filter(None, parts))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the full size")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        print(table(rows_of(given.share, Path(name))))


if __name__ == "__main__":
    main()
