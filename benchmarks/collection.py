"""Simulated runs as real programs print them: one collection, written in every form that slows tools down.

All kinds hold the same documents in the same order with the same ties, so only the form of the text differs.
Scores also differ in single precision, so tools that read them as 32-bit numbers rank the same way.
"""

from __future__ import annotations

import argparse
import gzip
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

SEED = 20261115
TOPICS, DOCS, JUDGED = 50, 1000, 1000  # DOCS and JUDGED of each topic
RETRIEVED_JUDGED = 470  # documents of a topic that a run retrieves and that were judged
TIED = 30  # documents of a topic that share a score with another one
GRADES, GRADE_SHARES = (0, 1, 2), (0.88, 0.09, 0.03)
HIGHEST = 7_900_000  # scores are whole numbers of millionths up to this one
NEWSWIRE = ("FBIS3-{0}", "FBIS4-{0}", "FT941-{0}", "FT934-{0}", "LA0{1}90-00{2}", "FR940{1}-2-00{2}")


class Line(NamedTuple):
    """One retrieved document before it is written."""

    topic: str
    doc: str
    rank: int
    score: int  # millionths
    run: str


class Kind(NamedTuple):
    """A form of run files: what `make bench` calls it, and how its lines are written."""

    title: str
    score: Callable[[int], str]
    separator: str = " "
    end: str = "\n"
    long_ids: bool = False
    shuffled: bool = False
    packed: bool = False

    def line(self, line: Line) -> str:
        """Return the text of one line."""
        fields = (line.topic, "Q0", line.doc, str(line.rank), self.score(line.score), line.run)
        return self.separator.join(fields) + self.end


def six_decimals(millionths: int) -> str:
    """Write a score such as 5.241337."""
    return f"{millionths / 1e6:.6f}"


def four_decimals(millionths: int) -> str:
    """Write a score such as 524.1337."""
    return f"{millionths / 1e4:.4f}"


def all_digits(millionths: int) -> str:
    """Write a score such as 0.7471123333333333 or -0.2528876666666667."""
    return repr(millionths / 3e6 - 1)


def single_in_full(millionths: int) -> str:
    """Write a 32-bit score as Python prints it: 13.917681694030762."""
    return repr(struct.unpack("f", struct.pack("f", millionths / 5e5))[0])


def exponent(millionths: int) -> str:
    """Write a score such as 3.0727999210357666e-05."""
    return repr(millionths / 3e11)


KINDS = {
    "decimals": Kind("four decimals", four_decimals),
    "doubles": Kind("17 digits, both signs", all_digits),
    "singles": Kind("float32 in full", single_in_full),
    "exponents": Kind("17 digits with exponents", exponent),
    "long-ids": Kind("ids of 10 to 60 bytes", six_decimals, long_ids=True),
    "unsorted": Kind("17 digits, lines of a topic shuffled", all_digits, shuffled=True),
    "crlf": Kind("17 digits, CR LF", all_digits, end="\r\n"),
    "tabs": Kind("float32 in full, tabs", single_in_full, separator="\t"),
    "padded": Kind("17 digits, runs of blanks", all_digits, separator="   "),
    "gz": Kind("17 digits, gz", all_digits, packed=True),
}


def newswire_ids(count: int, rng: np.random.Generator) -> list[str]:
    """Return distinct ids as newswire collections have them, 10 to 16 bytes long."""
    names: dict[str, None] = {}
    while len(names) < count:
        source = NEWSWIRE[int(rng.integers(len(NEWSWIRE)))]
        number, month, page = rng.integers((1000, 100, 100), (65000, 1000, 1000)).tolist()
        names.setdefault(source.format(number, month, page))
    return list(names)


def long_id(doc: str) -> str:
    """Return an id of 10 to 60 bytes in place of a shorter one, like those of web pages and passages."""
    width = 8 + sum(doc.encode()) * 7 % 53
    return doc + "-clueweb22-en0042-83-passage-0000-of-0017-section-1"[: max(0, width - len(doc))]


def scores(count: int, rng: np.random.Generator) -> list[int]:
    """Return falling scores in millionths, some of which two documents share."""
    falling = np.sort(rng.choice(HIGHEST, size=count, replace=False))[::-1]
    first = rng.choice(count // 2, size=TIED // 2, replace=False) * 2
    falling[first + 1] = falling[first]
    return falling.tolist()


class Collection:
    """The judged and other documents of each topic, from which runs are drawn."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(SEED)
        self.topics = [str(401 + number) for number in range(TOPICS)]
        self.docs = [newswire_ids(JUDGED + 4 * DOCS, self.rng) for _ in self.topics]
        self.grades = self.rng.choice(GRADES, p=GRADE_SHARES, size=(TOPICS, JUDGED))

    def judgments(self) -> Iterator[tuple[str, str, int]]:
        """Yield topic, document and grade."""
        for topic, docs, grades in zip(self.topics, self.docs, self.grades.tolist(), strict=True):
            for doc, grade in zip(docs, grades, strict=False):
                yield topic, doc, grade

    def run(self, name: str) -> list[list[Line]]:
        """Draw a run: its lines, topic by topic."""
        skill = self.rng.uniform(0.3, 2.0)
        return [self._ranking(number, skill, name) for number in range(TOPICS)]

    def _ranking(self, number: int, skill: float, name: str) -> list[Line]:
        docs, grades = self.docs[number], self.grades[number]
        seen = self.rng.choice(JUDGED, size=RETRIEVED_JUDGED, replace=False)
        unseen = self.rng.choice(np.arange(JUDGED, len(docs)), size=DOCS - len(seen), replace=False)
        # Judged documents were in the top of some run, hence the head start.
        liking = np.concatenate([skill * grades[seen] + 0.7, np.zeros(len(unseen))])
        liking += self.rng.normal(size=DOCS)
        order = np.concatenate([seen, unseen])[np.argsort(-liking)].tolist()
        topic = self.topics[number]
        return [
            Line(topic, docs[doc], rank, score, name)
            for rank, (doc, score) in enumerate(zip(order, scores(DOCS, self.rng), strict=True), 1)
        ]


def write(folder: Path, kinds: list[str], runs: int) -> None:
    """Write `folder`/KIND/qrels.txt and `folder`/KIND/runs/run001.txt, run002.txt, ... of each kind."""
    made = Collection()
    judgments = list(made.judgments())
    for name in kinds:
        (folder / name / "runs").mkdir(parents=True, exist_ok=True)
        rename = long_id if KINDS[name].long_ids else str
        with (folder / name / "qrels.txt").open("w") as file:
            file.writelines(f"{topic} 0 {rename(doc)} {grade}\n" for topic, doc, grade in judgments)
    for number in range(1, runs + 1):
        topics = made.run(f"run{number:03}")
        mixed = [[lines[place] for place in made.rng.permutation(len(lines))] for lines in topics]
        for name in kinds:
            kind = KINDS[name]
            text = "".join(
                kind.line(line._replace(doc=long_id(line.doc)) if kind.long_ids else line)
                for lines in (mixed if kind.shuffled else topics)
                for line in lines
            ).encode()
            path = folder / name / "runs" / f"run{number:03}.txt"
            if kind.packed:
                path.with_suffix(".txt.gz").write_bytes(gzip.compress(text, 6))
            else:
                path.write_bytes(text)


def main() -> None:
    """Write the collection in some kinds."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("runs", type=int)
    parser.add_argument("kinds", nargs="+", choices=KINDS)
    choice = parser.parse_args()
    write(choice.folder, choice.kinds, choice.runs)


if __name__ == "__main__":
    main()
