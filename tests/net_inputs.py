"""The files that the net's command lines read: the gallery, 20 runs of TREC-8, and small files for single options.

Nothing here imports `sounding`: the inputs must stay the same while the package changes.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from tests import gallery

DATA = Path(os.environ.get("SOUNDING_DATA", Path(__file__).parents[2] / "shared" / "data")).resolve()
GRADED_POOL = 6  # the gallery pools the first six runs of `graded`
JUDGED_TOPICS = ("qtest.1", "qtest.2", "qtest.3", "qtest.4")  # topics of the judging projects
JUDGED_RUNS = ("web-1", "web-2", "web-3", "web-4", "web-5", "web-6")

PLAN = """measures = ["AP", "P@10"]
test = "t"
correction = "holm"
alpha = 0.05
baseline = ["web-0"]

[policies]
ties = "trec"
unjudged = "nonrelevant"
"""
SMALL_FILES = {
    "plan.toml": PLAN,
    "depths.toml": 'measures = ["AP", "P"]\ndepths = [5, 10]\nalpha = 0.01\n',
    "bad-plan.toml": PLAN.replace("alpha = 0.05", 'alpha = "0.05"'),
    "unknown-key.toml": PLAN.replace("alpha", "alfa"),
    "prior.txt": "qtest.1 * 0.3\n* * 0.1\n",
    "slices.tsv": "".join(f"qtest.{topic}\t{'odd' if topic % 2 else 'even'}\n" for topic in range(1, 41)),
    "priorless.txt": "qtest.1 D1-1 0.3\n",
    "rag.jsonl": '{"id": "a1", "question": "q", "answer": "x", "contexts": ["y", {"id": "p1", "text": "z"}]}\n',
    "rag.tsv": "T1\tq\n",
    "rag.run": "T1 Q0 a1 1 1 r\n",
    "rag-labels.tsv": "topic\tdoc\tlabel\tjudge\nT1\ta1\t2\tm\n",
    "nuggets.tsv": "topic\ttext\timportance\nT1\tx is y\tvital\n",
    "instructions.txt": "Judge what the document says, not where it comes from.\n",
    "strata.txt": "1 0 a 1 1\n1 0 b 1 0\n1 0 c 2 1\n1 0 d 2 -1\n2 0 a 1 0\n2 0 b 1 2\n2 0 e 2 -1\n2 0 f 2 1\n",
    "prels.txt": "1 a 1 1 0.5\n1 b 0 1 0.25\n1 c 1 2 0.5\n2 a 0 1 1\n2 b 1 1 0.5\n2 f 1 2 0.25\n",
    "sampled.run": "".join(f"{t} Q0 {d} {r} {9 - r} s\n" for t in "12" for r, d in enumerate("adbcfe", 1)),
    "fractional.txt": "1 0 a 0.5\n1 0 b 1.5\n2 0 a 0\n2 0 c 2\n",
    "groups.txt": "1 x a 1\n1 x b 0\n1 y a 0\n1 y c 1\n2 x b 1\n2 y b 1\n2 y d 1\n",
    "tied.run": "".join(f"{t} Q0 {d} {r} {9 - r // 2} t\n" for t in "12" for r, d in enumerate("acbdef", 1)),
    "run.json": '{"1": {"a": 3, "b": 2.5, "d": 1}, "2": {"c": 2, "a": 1}}\n',
    "run.csv": "topic,doc,score\n1,a,3\n1,b,2.5\n1,d,1\n2,c,2\n2,a,1\n",
    "run.jsonl": '{"topic": "1", "docs": {"a": 3, "b": 2.5}}\n{"topic": "2", "docs": {"c": 2}}\n',
    "qrels.tsv": "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n2\tc\t2\n",
    "small.qrels": "1 0 a 1\n1 0 b 0\n2 0 c 1\n2 0 d 0\n",
    "subtopics.tsv": "topic\tsubtopic\ttext\nqtest.1\t1\tone side\nqtest.1\t2\tthe other\n",
    "small.prefs": "1 ann 1 a 2\n1 ann 1 b 1\n1 ann 2 b 2\n1 ann 2 c 1\n1 ann 3 c 2\n1 ann 3 a 1\n1 bob 1 a 3\n1 bob 1 b 2\n1 bob 1 c 1\n",
    "texts.jsonl": "".join(f'{{"id": "{d}", "text": "five words on whales {d}"}}\n' for d in "abc"),
    "ask.txt": "name: asked\nlabels: 0 1\nanswer: number\n---\nIs {document} on {topic}?\n",
    "answers.jsonl": '{"custom_id": "of another batch", "response": {"status_code": 200, "body": {}}}\n',
    "labels.tsv": "topic\tdoc\tlabel\n1\ta\t1\n1\tb\t0\n2\ta\t2\n",
    "votes.csv": "topic,assessor,doc,label\n"
    + "".join(f"{t},{who},d{d},{(d * t + n) % 3 % 2}\n" for t in (1, 2, 3) for n, who in enumerate("xyz") for d in range(6))
    + "1,x,d0,1\n1,x,d1,0\n",
    "words.csv": "topic,assessor,doc,label\n1,x,a,yes\n1,y,a,no\n1,x,b,no\n1,y,b,no\n2,x,a,yes\n2,y,a,yes\n",
    "topics.txt": "<top>\n<num> Number: 1\n<title> whales and ships\n</top>\n<top>\n<num> Number: 2\n<title> harbours\n</top>\n",
    # Files with something wrong in them.
    "five-fields.run": "1 Q0 a 1 2.5 x\n1 Q0 b 2 2.0\n",
    "no-number.run": "1 Q0 a 1 2.5 x\n1 Q0 b 2 high x\n",
    "not-finite.run": "1 Q0 a 1 nan x\n",
    "repeated.run": "1 Q0 a 1 2.5 x\n1 Q0 b 2 2.0 x\n1 Q0 a 3 1.5 x\n",
    "joined.run": "1 Q0 a 1 2.5 x1 Q0 b 2 2.0 x\n2 Q0 a 1 1 x\n",
    "broken.json": '{"1": {"a": 3, "b": }}\n',
    "quoted.json": '{"1": {"a": "3"}}\n',
    "no-score.csv": "topic,document\n1,a\n",
    "grade.qrels": "1 0 a yes\n",
    "repeated.qrels": "1 0 a 1\n1 0 a 0\n",
    "three-fields.qrels": "1 0 a\n",
    "wrong-info.tsv": "run\tgroup\nweb-0\n",
}  # fmt: skip


def make(folder: Path) -> None:
    """Write the inputs into the folder; collections that are there already are kept."""
    for shape in gallery.SHAPES:
        gallery.make(shape, folder)
    if not (folder / "trec8").exists():
        _link_trec8(folder / "trec8")
    shutil.rmtree(folder / "files", ignore_errors=True)
    (folder / "files").mkdir()
    _write_files(folder / "files", folder)


def _link_trec8(folder: Path) -> None:
    """Link 20 runs of TREC-8, every seventh pooled and every fifth other one by name, and its judgments."""
    source = DATA / "trec8"
    lines = (source / "info.tsv").read_text().splitlines()
    rows = sorted(line.split("\t") for line in lines[1:])
    pooled, other = ([row[0] for row in rows if row[4] == word] for word in ("yes", "no"))
    chosen = {*pooled[::7][:10], *other[::5][:10]}
    (folder / "runs").mkdir(parents=True)
    for name in chosen:
        (folder / "runs" / f"input.{name}.gz").symlink_to(source / "runs" / f"input.{name}.gz")
    (folder / "qrels.txt").symlink_to(source / "qrels.trec8.txt.gz")
    (folder / "info.tsv").write_text(
        "\n".join([lines[0], *("\t".join(row) for row in rows if row[0] in chosen)]) + "\n"
    )


def _write_files(folder: Path, inputs: Path) -> None:
    """Write the small files: second and third assessors of each shape, and what single options read."""
    for shape in (*gallery.SHAPES, "trec8"):
        if shape not in (*gallery.LARGE, "trec8"):
            _write_assessors(folder, shape, (inputs / shape / "qrels.txt").read_text().splitlines())
    judgments = [line.split() for line in (inputs / "graded" / "qrels.txt").read_text().splitlines()]
    topics = sorted({row[0] for row in judgments})
    runs = sorted(path.stem for path in (inputs / "graded" / "runs").iterdir())
    texts = {
        "graded-info.tsv": "run\tgroup\tkind\tpriority\tpooled\n"
        + "".join(
            f"{run}\tgroup{place // 2}\t{'manual' if place == 3 else 'automatic'}\t{1 + place % 2}\t"
            f"{'yes' if place < GRADED_POOL else 'no'}\n"
            for place, run in enumerate(runs)
        ),
        "kinds.tsv": "".join(
            f"{topic}\t{'odd' if place % 2 else 'even'}\n" for place, topic in enumerate(topics)
        ),
        "z-scores.txt": "".join(f"{topic} AP 0.{place + 20} 0.1\n" for place, topic in enumerate(topics[1:])),
        "earlier.qrels": "".join(" ".join(row) + "\n" for row in judgments[::4]),
        "parts.tsv": "".join(f"{doc}\tpart{len(doc)}\n" for doc in sorted({row[2] for row in judgments})),
    }
    texts |= _judging_files(inputs / "graded", judgments)
    for name, text in {**SMALL_FILES, **texts}.items():
        (folder / name).write_text(text)
    (folder / "latin-1.run").write_bytes(b"1 Q0 caf\xe9 1 2.5 x\n1 Q0 b 2 2.0 x\n")


def _write_assessors(folder: Path, shape: str, lines: list[str]) -> None:
    """Write two more assessors of a shape, who disagree with the first on every fifth or seventh document."""
    for name, every in (("second", 5), ("third", 7)):
        changed = [
            f"{line.rpartition(' ')[0]} {0 if int(line.split()[3]) > 0 else 1}"
            if place % every == 0
            else line
            for place, line in enumerate(lines)
        ]
        (folder / f"{shape}-{name}.txt").write_text("\n".join(changed) + "\n")


def _judging_files(shape: Path, judgments: list[list[str]]) -> dict[str, str]:
    """Return corpus, topics, runs and judgments of a judging project over some topics of `graded`."""
    lines = {
        run: [
            line
            for line in (shape / "runs" / f"{run}.txt").read_text().splitlines()
            if line.split()[0] in JUDGED_TOPICS
        ]
        for run in (*JUDGED_RUNS, "web-7")
    }
    found = sorted({line.split()[2] for rows in lines.values() for line in rows})
    grades = [
        (topic, doc, min(max(int(grade), 0), 2))
        for topic, _, doc, grade in judgments
        if topic in JUDGED_TOPICS
    ]
    second = [
        (topic, doc, (grade + (place % 6 == 3)) % 3)
        for place, (topic, doc, grade) in enumerate(grades)
        if place % 2
    ]
    differing = [(topic, doc) for topic, doc, grade in second if (topic, doc, grade) not in grades]
    return {
        "docs.jsonl": "".join(
            json.dumps({"id": doc, "title": f"Document {doc}", "text": f"Text number {place} on {doc}."})
            + "\n"
            for place, doc in enumerate(found[2:])  # two documents of the runs are not in the corpus
        ),
        "judged-topics.tsv": "".join(f"{topic}\tTitle of {topic}\n" for topic in JUDGED_TOPICS),
        "changed-topics.tsv": f"{JUDGED_TOPICS[0]}\tAnother title\nqtest.5\tOne more\n",
        "late.run": "\n".join(lines["web-7"]) + "\n",
        "people.csv": "name,role,topics\nann,,all\ndora,organizer,\neve,assessor,qtest.1 qtest.2\n",
        "first.qrels": "".join(f"{topic} 0 {doc} {grade}\n" for topic, doc, grade in grades),
        "second.qrels": "".join(f"{topic} 0 {doc} {grade}\n" for topic, doc, grade in second),
        "settled.txt": "".join(f"{topic} 0 {doc} 1\n" for topic, doc in differing[:3]),
        **{f"judged-{run}.run": "\n".join(lines[run]) + "\n" for run in JUDGED_RUNS},
    }
