"""Minimal test collections: one step of judging, the set-up, and confidence by draws, in seconds.

Runs are drawn so that they share documents about as those of TREC-8 do. A step is the choice of a document,
its judgment, and the normal approximation of the confidence of all pairs. Seconds are those of the processor:
all of it happens in one thread, and what else the machine does is no part of it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sounding.data.fast.tokens import Tokens
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.session import Session

DEPTH, DOCUMENTS, STEPS = 100, 3000, 400
PAPER: dict[str, Any] = {"prior": "0.5", "selection": "faithful", "confidence": "normal"}
LEARNT: dict[str, Any] = {"confidence": "normal", "refits": "asked"}  # the default prior and selection


def draw_retrieved(runs: int, topics: int) -> tuple[Retrieved, NDArray[np.float64]]:
    """Runs that find relevant documents more or less well, and the grade of every document."""
    rng = np.random.default_rng(1)
    lists = np.zeros((runs, topics, DEPTH), np.int32)
    relevant = rng.random((topics, DOCUMENTS)) < rng.uniform(0.005, 0.08, (topics, 1))
    for topic in range(topics):
        shared = rng.normal(size=DOCUMENTS) + 1.5 * relevant[topic]
        for run in range(runs):
            own = rng.normal(size=DOCUMENTS) * rng.uniform(0.3, 1.5)
            lists[run, topic] = np.argsort(-(shared + own))[:DEPTH] + topic * DOCUMENTS
    count = topics * DOCUMENTS
    docs = Tokens(np.zeros(64, np.uint8), np.zeros(count, np.int64), np.zeros(count, np.int64))
    retrieved = Retrieved(
        runs=tuple(f"run{run}" for run in range(runs)), tags=("",) * runs,
        topics=tuple(f"{topic:03}" for topic in range(topics)),
        starts=np.arange(0, count + 1, DOCUMENTS), docs=docs, lists=lists,
    )  # fmt: skip
    return retrieved, relevant.ravel().astype(np.float64)


def step(runs: int, topics: int, way: dict[str, Any] = PAPER) -> float:
    """The mean over many steps."""
    retrieved, grades = draw_retrieved(runs, topics)
    session = Session(retrieved, **way)
    session.confidence()  # SciPy is loaded
    begin = time.process_time()
    for _ in range(STEPS):
        document = session.next()[0].document
        session.judge(document, float(grades[document]))
        session.confidence()
    return (time.process_time() - begin) / STEPS


def set_up(runs: int, topics: int) -> float:
    """A session with all that a step needs, from what the runs retrieved."""
    retrieved, _ = draw_retrieved(runs, topics)
    begin = time.process_time()
    session = Session(retrieved, **PAPER)
    session.next()
    session.confidence()
    return time.process_time() - begin


def replay(runs: int, topics: int, judgments: int) -> float:
    """So many judgments with the default prior, its fits included, and the confidence in the end."""
    retrieved, grades = draw_retrieved(runs, topics)
    begin = time.process_time()
    session = Session(retrieved)
    for _ in range(judgments):
        document = session.next()[0].document
        session.judge(document, float(grades[document]))
    session.confidence()
    return time.process_time() - begin


def adopting(runs: int, topics: int) -> float:
    """A new fit put in force, and the next document of one topic."""
    retrieved, grades = draw_retrieved(runs, topics)
    session = Session(retrieved, refits="asked")
    for _ in range(64):
        document = session.next()[0].document
        session.judge(document, float(grades[document]))
    fit = session.fitting()()
    begin = time.process_time()
    session.adopt(fit)
    session.next(topics=[3])
    return time.process_time() - begin


def by_draws(runs: int, topics: int) -> float:
    """Confidence by 200 draws after a refit, when nothing of before can be used."""
    retrieved, grades = draw_retrieved(runs, topics)
    session = Session(retrieved, refits="asked")
    for _ in range(256):
        document = session.next()[0].document
        session.judge(document, float(grades[document]))
    session.adopt(session.fitting()())
    begin = time.process_time()
    session.confidence()
    return time.process_time() - begin


CASES: dict[str, Callable[[], float]] = {
    "step-8": lambda: step(8, 60),
    "step-125": lambda: step(125, 50),
    "step-8-learnt": lambda: step(8, 60, LEARNT),
    "step-125-learnt": lambda: step(125, 50, LEARNT),
    "replay-8": lambda: replay(8, 60, 16_000),
    "adopt-60": lambda: adopting(60, 50),
    "set-up-125": lambda: set_up(125, 50),
    "draws-20": lambda: by_draws(20, 50),
}


def main(case: str) -> None:
    """Print how long the case took."""
    print(f"{case}: {CASES[case]():.6f}")


if __name__ == "__main__":
    main(sys.argv[1])
