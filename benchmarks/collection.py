"""The simulated collection that all tools are timed on: plain-text runs and qrels, from one seed.

Scores have six decimals and stay below 8, or are doubles between -1 and 2 with all their digits, as
Python prints them. Either way two of them differ in single precision too: tools that read scores as
32-bit numbers rank the same way as the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HIGHEST_SCORE = 7.9
SOURCES = ("FBIS3-{0}", "FBIS4-{0}", "FT941-{0}", "FT934-{0}", "LA0{1}90-00{2}", "FR940{1}-2-00{2}")


@dataclass(frozen=True, slots=True)
class Size:
    """How large a collection is."""

    runs: int
    topics: int
    docs: int  # retrieved for each topic
    judged: int = 1000  # for each topic

    @property
    def label(self) -> str:
        """The folder that holds it."""
        return f"{self.runs}x{self.topics}x{self.docs}"


JUDGED_SHARE = 0.47  # of the lines of a run
TIED_SHARE = 0.03
GRADES = (0, 1, 2)
GRADE_SHARES = (0.88, 0.09, 0.03)


def doc_names(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct ids as newswire collections have them, 10 to 16 characters long."""
    names: dict[str, None] = {}
    while len(names) < count:
        source = SOURCES[int(rng.integers(len(SOURCES)))]
        number, month, page = rng.integers((1000, 100, 100), (65000, 1000, 1000)).tolist()
        names.setdefault(source.format(number, month, page))
    return list(names)


def scores(count: int, rng: np.random.Generator) -> list[int]:
    """Falling scores in millionths, of which about 3% are shared by two lines."""
    distinct = rng.choice(int(HIGHEST_SCORE * 1e6), size=count, replace=False)
    falling = np.sort(distinct)[::-1]
    first = rng.choice(count // 2, size=round(count * TIED_SHARE / 2), replace=False) * 2
    falling[first + 1] = falling[first]
    return falling.tolist()


def six_decimals(millionths: int) -> str:
    """A score below 8, such as 5.241337."""
    return f"{millionths / 1e6:.6f}"


def all_digits(millionths: int) -> str:
    """A score such as 0.7471123333333333 or -0.2528876666666667, in the same order."""
    return repr(millionths / 3e6 - 1)


SCORES: dict[str, Callable[[int], str]] = {"decimals": six_decimals, "doubles": all_digits}


def write(folder: Path, size: Size, seed: int, written: Callable[[int], str] = six_decimals) -> None:
    """Write `qrels.txt` and `run001.txt`, `run002.txt`, ... into the folder."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    topics = [str(401 + number) for number in range(size.topics)]
    retrieved_judged = round(size.docs * JUDGED_SHARE)
    pools = [doc_names(size.judged + 4 * size.docs, rng) for _ in topics]
    grades = rng.choice(GRADES, p=GRADE_SHARES, size=(size.topics, size.judged))
    with (folder / "qrels.txt").open("w") as file:
        for topic, pool, row in zip(topics, pools, grades.tolist(), strict=True):
            file.writelines(f"{topic} 0 {doc} {grade}\n" for doc, grade in zip(pool, row, strict=False))
    for number in range(1, size.runs + 1):
        name = f"run{number:03}"
        skill = rng.uniform(0.3, 2.0)
        lines: list[str] = []
        for topic, pool, row in zip(topics, pools, grades, strict=True):
            seen = rng.choice(size.judged, size=retrieved_judged, replace=False)
            unseen = rng.choice(
                np.arange(size.judged, len(pool)), size=size.docs - retrieved_judged, replace=False
            )
            # Judged documents were in the top of some run, hence the head start.
            liking = np.concatenate([skill * row[seen] + 0.7, np.zeros(len(unseen))])
            liking += rng.normal(size=size.docs)
            docs = np.concatenate([seen, unseen])[np.argsort(-liking)].tolist()
            for rank, (doc, score) in enumerate(zip(docs, scores(size.docs, rng), strict=True), 1):
                lines.append(f"{topic} Q0 {pool[doc]} {rank} {written(score)} {name}\n")
        (folder / f"{name}.txt").write_text("".join(lines))


def main() -> None:
    """Write one collection."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("runs", type=int)
    parser.add_argument("topics", type=int)
    parser.add_argument("docs", type=int)
    parser.add_argument("--seed", type=int, default=20261115)
    parser.add_argument("--scores", choices=SCORES, default="decimals", help="how scores are printed")
    choice = parser.parse_args()
    write(choice.folder, Size(choice.runs, choice.topics, choice.docs), choice.seed, SCORES[choice.scores])


if __name__ == "__main__":
    main()
