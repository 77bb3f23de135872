"""Effect of one more run in the pool on the judged share of every run (reinforcement).

Baillie, Azzopardi and Ruthven (2008) fear that runs of one kind reinforce each other, and that a fused run
looks better because it mimics a pool. Both can be tried without a new judgment, because the judged share
does not ask what is relevant.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from sounding.audit.judged_runs import Flags, JudgedRuns
from sounding.audit.pseudo import assessed_at
from sounding.core.arrays import NDArray, spread
from sounding.core.lazy import polars
from sounding.measures.summaries import mean_over_topics
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE, Numbers, Retrieved
from sounding.runs.topic_lists import topic_lists

FUSION = "fusion"  # of the pooled runs: its name, and its answer to whether it was pooled
C = 60  # of reciprocal-rank fusion (Cormack, Clarke and Buettcher 2009)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OneMorePooled:
    """For each run: A_p of every run with it in the pool, minus A_p without it; the fusion comes last.

    A pooled run is in the pool as it is, and what only it contributed is taken away; another run would bring
    what nobody has judged yet.
    """

    runs: tuple[str, ...]  # (run,)
    groups: tuple[str, ...]  # (run,)
    pooled: tuple[str, ...]  # (run,) yes, no, new or FUSION
    depth: int  # to which a run is pooled
    ks: tuple[int, ...]  # where A_p is looked at
    documents: Values  # (run,) that are judged only because of it, or would be, for each topic
    assessment: Values  # (k, run) A_p with the judgments as they are
    rise: Values  # (k, added run, run)
    chosen: Flags  # (run,) added runs that are reported

    def raised(self) -> NDArray[np.float64]:
        """(k, added run, 3): the mean rise of the run itself, its group's others, and other groups' runs."""
        groups = np.array(self.groups, object)
        same = groups[:, np.newaxis] == groups
        real = np.array([own != FUSION for own in self.pooled], np.bool_)
        itself = np.eye(len(groups), dtype=np.bool_)
        parts = np.array([itself, same & ~itself, ~same & real])
        return np.moveaxis(mean_over_topics(np.where(parts[:, np.newaxis], self.rise, np.nan)), 0, -1)

    def most_raised(self) -> tuple[Counts, Values]:
        """(k, added run) twice: the run of another group that gains most, and its rise; NaN: none gains."""
        groups = np.array(self.groups, object)
        outside = np.where(groups[:, np.newaxis] != groups, self.rise, 0.0)[:, :, :-1]
        most = outside.max(axis=2, initial=0.0)
        return outside.argmax(axis=2), np.where(most > 0, most, np.nan)

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per added run and k: documents, A_p, mean rises, who of other groups gains most."""
        raised, (who_most, most) = self.raised(), self.most_raised()
        rows = self.chosen.nonzero()[0]
        who = {
            name: np.array(getattr(self, name), object)[rows].tolist()
            for name in ("runs", "groups", "pooled")
        }
        parts = [
            polars.DataFrame(
                {
                    "run": who["runs"], "group": who["groups"], "pooled": who["pooled"],
                    "k": [k] * len(rows), "documents": self.documents[rows],
                    "assessment": self.assessment[place, rows], "own": raised[place, rows, 0],
                    "same_group": raised[place, rows, 1], "other_groups": raised[place, rows, 2],
                    "most_raised": [
                        self.runs[who_most[place, row]] if most[place, row] > 0 else None
                        for row in rows.tolist()
                    ],
                    "most": most[place, rows],
                },
                schema_overrides=dict.fromkeys(("run", "group", "pooled", "most_raised"), polars.String),
            )
            for place, k in enumerate(self.ks)
        ]  # fmt: skip
        return polars.concat(parts).fill_nan(None)

    def of_runs(self, kept: Collection[str]) -> OneMorePooled:
        """Return the same with some runs added; whose judged share rises is still asked of all."""
        chosen = np.array([run in kept for run in self.runs[:-1]] + [True], np.bool_)
        return replace(self, chosen=chosen)


def added_runs(runs: JudgedRuns) -> OneMorePooled:
    """Put each run into the pool of the others, as deep as they were pooled, and see whose A_p rises."""
    judged = np.append(np.isfinite(runs.grades()), True)  # NONE refers to the last place
    lists = np.concatenate([runs.retrieved.lists, fusion(runs.retrieved.pick(runs.contributing))[np.newaxis]])
    holders = np.append(runs.contributions().holders(), 0)
    contributing = np.append(runs.contributing, False)
    new = []
    for top, own in zip(lists[:, :, : runs.reach], contributing.tolist(), strict=True):
        flags = judged[top] & (holders[top] == 1) & (top != NONE) if own else ~judged[top]
        new.append(top[flags])
    added = np.repeat(np.arange(len(lists)), [len(documents) for documents in new])
    document, topics = np.concatenate(new), max(len(runs.topics), 1)
    known = judged & (np.arange(len(judged)) < len(judged) - 1)
    ks = tuple(dict.fromkeys(min(k, runs.retrieved.depth) for k in (runs.reach, assessed_at(runs))))
    pooled = (_pooled(own, fresh) for own, fresh in zip(runs.contributing, runs.new, strict=True))
    return OneMorePooled(
        runs=(*runs.runs, FUSION), groups=(*runs.groups, ""), pooled=(*pooled, FUSION),
        depth=runs.reach, ks=ks, documents=np.bincount(added, minlength=len(lists)) / topics,
        assessment=np.array([known[lists[:, :, :k]].sum(axis=(1, 2)) / (k * topics) for k in ks]),
        rise=np.array([_held(lists[:, :, :k], added, document) / (k * topics) for k in ks]),
        chosen=np.ones(len(lists), np.bool_),
    )  # fmt: skip


def _pooled(own: bool, fresh: bool) -> str:
    return "new" if fresh else "yes" if own else "no"


def fusion(retrieved: Retrieved) -> Numbers:
    """(topic, rank): Return the reciprocal-rank fusion of all runs, as long as their lists are."""
    fused = np.full(retrieved.lists.shape[1:], NONE, np.int32)
    weights = 1 / (C + 1 + np.arange(retrieved.depth))
    for number, topic in enumerate(topic_lists(retrieved)):
        best = topic.documents[np.argsort(-topic.sums(weights), kind="stable")[: retrieved.depth]]
        fused[number, : len(best)] = best
    return fused


def _held(lists: Numbers, added: Counts, document: Counts) -> Counts:
    """(added run, run): Count the documents of each added run that a run has in its list."""
    wanted = np.zeros(int(max(lists.max(initial=0), document.max(initial=0))) + 2, np.bool_)
    wanted[document] = True  # the last place stays empty, for NONE
    hits = wanted[lists]
    holder, held = hits.nonzero()[0], lists[hits]
    order = np.argsort(held, kind="stable")
    holder, held = holder[order], held[order]
    begin, end = np.searchsorted(held, document), np.searchsorted(held, document, "right")
    owner, place = spread(begin, end - begin)
    cells = added[owner] * len(lists) + holder[place]
    return np.bincount(cells, minlength=len(lists) ** 2).reshape(len(lists), len(lists))
