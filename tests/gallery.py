"""The gallery: small collections of every shape that users bring, made on the fly from fixed seeds.

End-to-end tests, browser tests and `make bench` share it. Each shape is a folder with `qrels.txt`, `runs/`
and, where groups matter, `info.tsv`. `python -m tests.gallery FOLDER` writes all of them to look at.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

LARGE = ("campaign", "log", "neural")  # shapes on which the slowest commands only run in `make test-long`
CONSENSUS = 0.6  # the standard deviation of the error that all runs of a shape share; their own has 1


@dataclass(frozen=True, slots=True)
class Shape:
    """A collection of the gallery on disk."""

    name: str
    folder: Path

    @property
    def qrels(self) -> Path:
        """The judgments."""
        return self.folder / "qrels.txt"

    @property
    def runs(self) -> Path:
        """The folder of the runs."""
        return self.folder / "runs"

    @property
    def info(self) -> Path | None:
        """Groups and pooled runs, where the shape has them."""
        path = self.folder / "info.tsv"
        return path if path.exists() else None


@dataclass(frozen=True, slots=True)
class Ranked:
    """What simulated systems retrieved: arrays (run, topic, rank)."""

    grades: Places  # (topic, document) the truth
    docs: Places
    scores: Floats


def rank(
    seed: int, grades: Places, quality: Sequence[float], length: int, consensus: float = CONSENSUS
) -> Ranked:
    """Rank each topic's documents by quality x grade plus noise, the best `length` of them."""
    rng = np.random.default_rng(seed)
    topics, documents = grades.shape
    shared = consensus * rng.standard_normal((topics, documents))
    docs = np.empty((len(quality), topics, length), np.int64)
    scores = np.empty((len(quality), topics, length))
    for run, strength in enumerate(quality):
        seen = strength * grades + shared + rng.standard_normal((topics, documents))
        docs[run] = np.argsort(-seen, axis=1)[:, :length]
        scores[run] = np.take_along_axis(seen, docs[run], axis=1)
    return Ranked(grades, docs, scores)


def truth(seed: int, topics: int, documents: int, shares: Sequence[float]) -> Places:
    """(topic, document): random grades; `shares` has the share of each grade from 1 up, on average."""
    rng = np.random.default_rng(seed)
    ease = np.exp(rng.normal(0, 0.6, (topics, 1)))  # some topics have many relevant documents, some few
    drawn = rng.random((topics, documents)) / ease
    grades = np.zeros((topics, documents), np.int64)
    for grade in range(1, len(shares) + 1):
        grades[drawn < sum(shares[grade - 1 :])] = grade
    grades[:, 0] = np.maximum(grades[:, 0], 1)  # every topic has a relevant document
    return grades


def pool(ranked: Ranked, runs: Iterable[int], depth: int) -> NDArray[np.bool_]:
    """(topic, document): whether one of these runs has the document among its first `depth`."""
    judged = np.zeros(ranked.grades.shape, np.bool_)
    for run in runs:
        np.put_along_axis(judged, ranked.docs[run, :, :depth], True, axis=1)
    return judged


def write_qrels(path: Path, grades: Places, judged: NDArray[np.bool_], topic: str, doc: str) -> None:
    """Write the judged documents, with ids made by the two patterns."""
    with path.open("w") as file:
        for t, d in np.argwhere(judged).tolist():
            file.write(f"{topic.format(t + 1)} 0 {doc.format(t + 1, d)} {grades[t, d]}\n")


def write_run(
    path: Path, ranked: Ranked, run: int, topic: str, doc: str, score: Callable[[float], str], tag: str = ""
) -> None:
    """Write one run in TREC's six columns; its tag is its file's name unless given."""
    tag = tag or path.name.split(".")[0]
    with path.open("w") as file:
        rows = zip(ranked.docs[run].tolist(), ranked.scores[run].tolist(), strict=True)
        for t, (docs, scores) in enumerate(rows, 1):
            topic_id = topic.format(t)
            file.writelines(
                f"{topic_id} Q0 {doc.format(t, d)} {place} {score(value)} {tag}\n"
                for place, (d, value) in enumerate(zip(docs, scores, strict=True), 1)
            )


def four_decimals(value: float) -> str:
    """A score as most research systems print it."""
    return f"{value:.4f}"


def single(value: float) -> str:
    """A 32-bit score printed in full, as a neural ranker in Python prints it."""
    return repr(float(np.float32(value)))


def tiny(value: float) -> str:
    """A positive score far below 1, in scientific notation."""
    return repr(float(np.exp(3 * value - 20)))


def negative(value: float) -> str:
    """A log-likelihood in full precision."""
    return repr(value - 30)


def whole(value: float) -> str:
    """A whole number; many documents tie."""
    return str(round(4 * value))


def _write(
    folder: Path, ranked: Ranked, names: Sequence[str], judged: NDArray[np.bool_], *,
    topic: str = "{0}", doc: str = "D{0}-{1}", scores: Sequence[Callable[[float], str]] = (four_decimals,),
) -> None:  # fmt: skip
    """Write a whole shape; the runs take turns with the ways to print a score."""
    (folder / "runs").mkdir(parents=True)
    write_qrels(folder / "qrels.txt", ranked.grades, judged, topic, doc)
    for run, name in enumerate(names):
        write_run(folder / "runs" / f"{name}.txt", ranked, run, topic, doc, scores[run % len(scores)])


def _pair(folder: Path) -> None:
    """Two runs, three topics: too few for any test to reach .05."""
    ranked = rank(1, truth(1, 3, 60, [0.1]), [1.0, 1.8], 20)
    _write(folder, ranked, ["bm25", "dense"], pool(ranked, [0], 5))


def _team(folder: Path) -> None:
    """Three runs of nearly equal quality, 40 topics, some four labels a topic, on the team's own run."""
    ranked = rank(2, truth(2, 40, 200, [0.03]), [1.5, 1.55, 1.6], 50)
    sparse = np.random.default_rng(2).random(ranked.grades.shape) < 0.6
    _write(folder, ranked, ["bm25", "dense", "hybrid"], pool(ranked, [0], 6) & sparse, scores=[single])


def _campaign(folder: Path) -> None:
    """150 runs of 50 groups, 30 topics, two grades, every other run unpooled; one run scores 0."""
    quality = np.random.default_rng(3).gamma(4, 0.3, 150)
    ranked = rank(3, truth(3, 30, 300, [0.04, 0.02]), quality.tolist(), 60)
    for t in range(30):  # the last run finds nothing: every document that it lists is not relevant
        ranked.docs[-1, t] = np.flatnonzero(ranked.grades[t] == 0)[:60]
    names = [f"group{1 + run // 3:02}-{1 + run % 3}" for run in range(149)] + ["broken"]
    judged = pool(ranked, range(0, 150, 2), 8)
    _write(folder, ranked, names, judged, scores=[four_decimals, repr, single, negative, whole])
    rows = [
        f"{name}\t{name.partition('-')[0]}\t{'manual' if run % 10 == 4 else 'automatic'}\t{1 + run % 3}\t"
        f"{'yes' if run % 2 == 0 else 'no'}\n"
        for run, name in enumerate(names)
    ]
    (folder / "info.tsv").write_text("run\tgroup\tkind\tpriority\tpooled\n" + "".join(rows))


def _log(folder: Path) -> None:
    """Five runs, 10,000 topics as in a query log, lists of 10, some three judgments a topic."""
    ranked = rank(4, truth(4, 10_000, 25, [0.08]), [1.0, 1.1, 1.2, 1.2, 1.3], 10)
    sparse = np.random.default_rng(4).random(ranked.grades.shape) < 0.5
    names = ["prod", "candidate-a", "candidate-b", "candidate-c", "candidate-d"]
    _write(folder, ranked, names, pool(ranked, [0], 6) & sparse, topic="q{0:06}", doc="sku{0}{1:02}")


def _neural(folder: Path) -> None:
    """60 runs of nearly equal quality, lists of 100, scores in full precision, ids of passages."""
    quality = np.random.default_rng(5).normal(1.6, 0.05, 60)
    ranked = rank(5, truth(5, 40, 250, [0.04, 0.03, 0.02]), quality.tolist(), 100)
    names = [f"neural-{run:02}" for run in range(60)]
    _write(
        folder, ranked, names, pool(ranked, range(0, 60, 3), 10),
        topic="20{0:05}", doc="msmarco_passage_{0:02}_{1:09}", scores=[repr, single, negative, tiny],
    )  # fmt: skip


def _one_label(folder: Path) -> None:
    """One relevant document a topic and no other label, as in large training sets."""
    grades = np.zeros((200, 80), np.int64)
    grades[:, 0] = 1
    ranked = rank(6, grades, [1.0, 1.6, 1.7, 2.4, 2.5], 20)
    _write(folder, ranked, ["bm25", "dpr", "ance", "splade", "colbert"], grades > 0, scores=[single])


def _clicks(folder: Path) -> None:
    """Only relevant documents are listed, and no unjudged document is relevant."""
    ranked = rank(7, truth(7, 60, 100, [0.05]), [0.8, 1.2, 1.3, 1.9, 2.0, 2.4], 30)
    names = [f"ranker-{letter}" for letter in "abcdef"]
    _write(folder, ranked, names, ranked.grades > 0, doc="product-{0}-{1}", scores=[repr])


def _graded(folder: Path) -> None:
    """Grades from -2 to 4, eight runs, 25 topics, whole-number scores among them."""
    ranked = rank(8, truth(8, 25, 150, [0.05, 0.03, 0.02, 0.01]), np.linspace(0.3, 1.2, 8).tolist(), 50)
    judged = pool(ranked, range(6), 10)
    spam = np.random.default_rng(8).random(ranked.grades.shape)
    ranked.grades[judged & (ranked.grades == 0) & (spam < 0.05)] = -2
    ranked.grades[judged & (ranked.grades == 0) & (spam > 0.97)] = -1
    names = [f"web-{run}" for run in range(8)]
    _write(folder, ranked, names, judged, topic="qtest.{0}", scores=[four_decimals, whole])


def _dirty(folder: Path) -> None:
    """CRLF, tabs, blanks, a mark of byte order, duplicates, missing topics, unsorted lines, shared tags."""
    ranked = rank(9, truth(9, 12, 80, [0.08]), [1.0, 1.3, 1.6, 1.9], 30)
    _write(folder, ranked, ["a", "b", "c", "d"], pool(ranked, [0, 1], 8))
    runs = folder / "runs"
    for path in sorted(runs.iterdir()):  # every file carries one tag
        path.write_text(path.read_text().replace(f" {path.stem}\n", " submission final\n"))
    windows = (runs / "a.txt").read_bytes().replace(b"\n", b"\r\n")
    (runs / "a.txt").write_bytes(b"\xef\xbb\xbf" + windows)
    lines = (runs / "b.txt").read_text().splitlines(keepends=True)
    np.random.default_rng(9).shuffle(lines)
    (runs / "b.txt").write_text("".join(lines).replace(" ", "\t"))
    rows = (runs / "c.txt").read_text().splitlines(keepends=True)
    kept = [row.replace(" ", "   ") for row in rows if not row.startswith(("3 ", "11 "))]
    (runs / "c.txt").write_text("\n".join(kept) + "99 Q0 D99-1 1 3.5 submission final\n")
    rows = (runs / "d.txt").read_text().splitlines(keepends=True)
    again = rows[4].replace(" 5 ", " 31 ").split(" ")
    again[4] = "-99.0"
    (runs / "d.txt").write_text("".join([*rows, " ".join(again)]))  # topic 1 lists one document twice


def _empty(folder: Path) -> None:
    """Files with nothing in them, or nothing that can be used, beside two good runs."""
    ranked = rank(10, truth(10, 4, 30, [0.1]), [1.0, 1.2], 10)
    _write(folder, ranked, ["good", "other"], pool(ranked, [0], 5))
    good = (folder / "qrels.txt").read_text()
    (folder / "nothing.txt").write_text("")
    (folder / "blank.txt").write_text("\n  \n\t\n")
    (folder / "none-relevant.txt").write_text("".join(f"{line[:-1]}0\n" for line in good.splitlines()))
    (folder / "other-topics.txt").write_text("".join(f"x{line}\n" for line in good.splitlines()))
    (folder / "zeros.txt").write_bytes(bytes(4096))


SHAPES: dict[str, Callable[[Path], None]] = {
    "pair": _pair, "team": _team, "campaign": _campaign, "log": _log, "neural": _neural,
    "one-label": _one_label, "clicks": _clicks, "graded": _graded, "dirty": _dirty, "empty": _empty,
}  # fmt: skip


def make(name: str, parent: Path) -> Shape:
    """Return the shape of this name, written below the folder unless it is there already."""
    shape = Shape(name, parent / name)
    if not shape.folder.exists():
        unfinished = parent / f"{name}.part"
        SHAPES[name](unfinished)
        unfinished.rename(shape.folder)
    return shape


if __name__ == "__main__":
    for each in SHAPES:
        make(each, Path(sys.argv[1]))
