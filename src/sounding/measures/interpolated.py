"""Interpolated precision: the best precision at a given recall or any higher one."""

from __future__ import annotations

import numpy as np

from sounding.measures.registry import measure
from sounding.runs.ranking import Hits, Ranking, Values

ELEVEN_POINTS = "0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1"


@measure("IPrec", basis="recall", monotone=False, at="recall")
def interpolated_precision(run: Ranking, *, recall: float, rel: float = 1) -> Values:
    """Best precision at any rank where at least this share of the relevant documents was found.

    The share is rounded to a number of documents: to the nearest (trec_eval 10), or up unless it is less than
    0.1 above a whole number (trec_eval 9).
    """
    return _best_precision(run, run.hits(rel), recall, rel)


@measure("IAP", basis="recall", monotone=False)
def interpolated_average_precision(run: Ranking, *, rel: float = 1, points: str = ELEVEN_POINTS) -> Values:
    """Mean of the interpolated precision at levels of recall, by default 0, 0.1, ... 1."""
    hit = run.hits(rel)
    recalls = [float(point) for point in points.split(",")]
    # Summed from the highest recall down, in trec_eval's order.
    best = [_best_precision(run, hit, recall, rel) for recall in reversed(recalls)]
    return np.add.accumulate(best, axis=0)[-1] / len(best)


def _best_precision(run: Ranking, hit: Hits, recall: float, rel: float) -> Values:
    wanted = recall * run.relevant(rel)
    # Halves are rounded up; NumPy's rint would round them to even.
    needed = np.floor(wanted + 0.9) if run.old_recall_points else np.floor(wanted) + (wanted % 1 >= 0.5)
    enough = hit.nth >= needed[hit.topic]
    best = np.zeros(len(run.topics))
    np.maximum.at(best, hit.topic[enough], hit.nth[enough] / hit.rank[enough])
    return best
