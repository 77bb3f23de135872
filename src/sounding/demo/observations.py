"""What to notice in the demo's table: sentences that are computed from its values, or left out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.text import whole_percent
from sounding.data.finding import find_runs
from sounding.data.run_info import RunInfo
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import Scores
from sounding.sample.result import Collection

LEADING = "P@10"  # orders the table, and is what the sentences below it speak of
DEEPEST = "AP"  # looks at everything that a run retrieved
MEASURES = (LEADING, "nDCG@10", "RR@10", DEEPEST)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DemoEvidence:
    """What the sentences are computed from: one set of runs by what was judged, and by the truth."""

    by_judgments: Scores
    by_truth: Scores
    info: dict[str, RunInfo]
    pool_depth: int

    def runs(self, *, pooled: bool) -> list[int]:
        """The runs that contributed to the pool, or those that did not."""
        return [row for row, run in enumerate(self.by_judgments.runs) if self.info[run].pooled == pooled]

    def change(self) -> NDArray[np.float64]:
        """(run,): how much the leading measure gains when everything is judged."""
        difference: NDArray[np.float64] = self.by_truth.mean()[:, 0] - self.by_judgments.mean()[:, 0]
        return difference


def gather(collection: Collection, folder: Path) -> DemoEvidence:
    """Evaluate the files of a collection, by what was judged and by the truth."""
    files = find_runs([folder / "runs"])
    return DemoEvidence(
        by_judgments=evaluate(folder / "qrels.txt", files, MEASURES),
        by_truth=evaluate(folder / "truth.txt", files, MEASURES),
        info={info.run: info for info in collection.info},
        pool_depth=collection.parameters.pool_depth,
    )


def observations(evidence: DemoEvidence) -> list[str]:
    """What the table shows, in sentences; one that does not hold for this collection is left out."""
    found = (unjudged_documents(evidence), hidden_worth(evidence), swapped_pair(evidence), depth(evidence))
    return [sentence for sentence in found if sentence is not None]


def unjudged_documents(evidence: DemoEvidence) -> str | None:
    """Who has unjudged documents among the first that the leading measure looks at."""
    new, pooled = evidence.runs(pooled=False), evidence.runs(pooled=True)
    if not new or not pooled:
        return None
    unjudged = 1 - evidence.by_judgments.judged_share()[:, 0]
    ours, theirs = float(unjudged[new].mean()), float(unjudged[pooled].mean())
    if round(100 * ours) <= round(100 * theirs):
        return None
    return (
        f"{_names(evidence, new)} {_do(new)} not come from the groups whose results were pooled for judging."
        f" Nobody has looked at {whole_percent(ours)} of {_their(new)} first ten documents; for the pooled"
        f" runs it is {whole_percent(theirs)}. The columns headed 'judged' say so for every value."
    )


def hidden_worth(evidence: DemoEvidence) -> str | None:
    """How far the new run that gains most would rise if everything were judged."""
    new, pooled = evidence.runs(pooled=False), evidence.runs(pooled=True)
    change = evidence.change()
    if not new or not pooled:
        return None
    most = max(new, key=lambda row: float(change[row]))
    others = float(abs(change[pooled]).max())
    if round(float(change[most]), 3) <= round(others, 3):
        return None
    before, after = evidence.by_judgments.mean()[most, 0], evidence.by_truth.mean()[most, 0]
    steady = "does not change" if round(others, 3) == 0 else f"changes by {others:.3f} at most"
    return (
        f"An unjudged document counts as not relevant, whatever it is. This collection is simulated, so the"
        f" truth is known: with everything judged, {LEADING} of {_names(evidence, [most])} is {after:.3f}"
        f" instead of {before:.3f}, while that of the pooled runs {steady}."
    )


def swapped_pair(evidence: DemoEvidence) -> str | None:
    """The two systems that the judgments put in the wrong order by the widest true margin."""
    judged, true = evidence.by_judgments.mean()[:, 0], evidence.by_truth.mean()[:, 0]
    rows = range(len(judged))
    wrong = [
        (float(true[low] - true[high]), low, high)
        for low in rows
        for high in rows
        if round(judged[low], 3) < round(judged[high], 3) and round(true[low], 3) > round(true[high], 3)
    ]
    if not wrong:
        return None
    _, low, high = max(wrong)
    worse, better = evidence.by_judgments.runs[high], evidence.by_judgments.runs[low]
    return (
        "Judgments that are not complete can put systems in the wrong order:"
        f" by them {worse} is ahead of {better} ({judged[high]:.3f} to {judged[low]:.3f}),"
        f" in truth {better} is ahead ({true[low]:.3f} to {true[high]:.3f})."
        f" Of {math.comb(len(judged), 2)} pairs {len(wrong)} {'is' if len(wrong) == 1 else 'are'} swapped."
    )


def depth(evidence: DemoEvidence) -> str | None:
    """How much less is known deeper than the pool goes."""
    pooled = evidence.runs(pooled=True)
    if not pooled:
        return None
    shares = evidence.by_judgments.judged_share()[pooled].mean(axis=0)
    deep = float(shares[MEASURES.index(DEEPEST)])
    if not round(100 * deep) < round(100 * float(shares[0])):
        return None
    judged = evidence.by_judgments.mean()[:, MEASURES.index(DEEPEST)].mean()
    true = evidence.by_truth.mean()[:, MEASURES.index(DEEPEST)].mean()
    told = ""
    if round(float(judged - true), 3) > 0:
        told = (
            f" Relevant documents that nobody found are missing from the count, so that mean {DEEPEST} over"
            f" all runs looks like {judged:.3f} and is {true:.3f}."
        )
    return (
        f"The pool is {evidence.pool_depth} deep. Measures that look further rest on less: of all that a"
        f" pooled run retrieved, {whole_percent(deep)} was judged.{told}"
    )


def _names(evidence: DemoEvidence, rows: Sequence[int]) -> str:
    names = [evidence.by_judgments.runs[row] for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _do(rows: Sequence[int]) -> str:
    return "does" if len(rows) == 1 else "do"


def _their(rows: Sequence[int]) -> str:
    return "its" if len(rows) == 1 else "their"
