"""One program for each Python API: read the files, compute the five measures per topic, write CSV.

    python benchmarks/peers.py TOOL OUTPUT QRELS RUN...

Each does what its own documentation shows, in the fastest way that its API allows, and loads only
itself, so that a fresh process costs what a user of that tool pays.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TextIO

Row = tuple[str, str, str, float]  # run, measure, topic, value

TREC_NAMES = {
    "map": "AP", "ndcg_cut_20": "nDCG@20", "P_10": "P@10", "recip_rank": "RR", "bpref": "Bpref",
}  # fmt: skip


def opened(path: str) -> TextIO:
    """Open a text file, compressed or not."""
    return gzip.open(path, "rt") if path.endswith(".gz") else Path(path).open()


def pytrec_eval(qrels: str, runs: list[str]) -> Iterator[Row]:
    """Its evaluator, fed by a reader that is a little faster than its own `parse_run`."""
    import pytrec_eval

    with opened(qrels) as file:
        judgments = pytrec_eval.parse_qrel(file)
    evaluator = pytrec_eval.RelevanceEvaluator(judgments, _PYTREC_MEASURES)
    for run in runs:
        for topic, values in evaluator.evaluate(_ranking(run)).items():
            for name, value in values.items():
                yield run, TREC_NAMES[name], topic, value


_PYTREC_MEASURES = {"map", "ndcg_cut.20", "P.10", "recip_rank", "bpref"}


def _ranking(run: str) -> dict[str, dict[str, float]]:
    ranking: dict[str, dict[str, float]] = {}
    current = ""
    scores: dict[str, float] = {}
    with opened(run) as file:
        for line in file:
            topic, _, doc, _, score, _ = line.split()
            if topic != current:
                current, scores = topic, ranking.setdefault(topic, {})
            scores[doc] = float(score)
    return ranking


def ir_measures(qrels: str, runs: list[str]) -> Iterator[Row]:
    """One evaluator for all runs."""
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in TREC_NAMES.values()]
    judgments = ir_measures.read_trec_qrels(qrels)  # type: ignore[no-untyped-call]
    evaluator = ir_measures.evaluator(measures, judgments)
    names = {measure: str(measure) for measure in measures}
    for run in runs:
        ranking = ir_measures.read_trec_run(run)  # type: ignore[no-untyped-call]
        for value in evaluator.iter_calc(ranking):
            yield run, names[value.measure], value.query_id, value.value


def ranx(qrels: str, runs: list[str]) -> Iterator[Row]:
    """Values per topic stay in the run after `evaluate`."""
    import ranx

    names = {"map": "AP", "ndcg@20": "nDCG@20", "precision@10": "P@10", "mrr": "RR", "bpref": "Bpref"}
    judgments = ranx.Qrels.from_file(qrels, kind="trec")
    for path in runs:
        run = ranx.Run.from_file(path, kind="trec")
        ranx.evaluate(judgments, run, list(names), return_mean=False, save_results_in_run=True)
        for metric, name in names.items():
            for topic, value in run.scores[metric].items():
                yield path, name, topic, float(value)


def unit(qrels: str, runs: list[str]) -> Iterator[Row]:
    """pytrec_eval with two measures: its CPU time is the unit in which commands are measured."""
    import pytrec_eval

    with opened(qrels) as file:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {"map", "P.10"})
    for run in runs:
        for topic, values in evaluator.evaluate(_ranking(run)).items():
            for name, value in values.items():
                yield run, TREC_NAMES[name], topic, value


def sounding(qrels: str, runs: list[str]) -> Iterator[Row]:
    """Two processes, as the command has them where it is not told."""
    import sounding

    scores = sounding.evaluate(qrels, runs, TREC_NAMES.values(), jobs=2)
    names = [str(measure) for measure in scores.measures]
    for run, of_run in zip(runs, scores.values.tolist(), strict=True):
        for name, of_measure in zip(names, of_run, strict=True):
            for topic, value in zip(scores.topics, of_measure, strict=True):
                yield run, name, topic, value


TOOLS: dict[str, Callable[[str, list[str]], Iterator[Row]]] = {
    "pytrec_eval": pytrec_eval,
    "ir_measures": ir_measures,
    "ranx": ranx,
    "sounding": sounding,
    "unit": unit,
}


def write(output: str, rows: Iterable[Row]) -> None:
    """The layout of `sounding evaluate --format csv`."""
    stem = cache(lambda run: Path(run).name.removesuffix(".gz"))
    with Path(output).open("w") as file:
        file.write("run,measure,topic,value\n")
        file.writelines(f"{stem(run)},{name},{topic},{value!r}\n" for run, name, topic, value in rows)


def main() -> None:
    """Evaluate once, or twice with `--twice`: then print how long the second time took."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--twice"]
    tool, output, qrels, *runs = arguments
    write(output, TOOLS[tool](qrels, runs))
    if "--twice" in sys.argv:
        start = perf_counter()
        write(output, TOOLS[tool](qrels, runs))
        print(f"{perf_counter() - start:.6f}")


if __name__ == "__main__":
    main()
