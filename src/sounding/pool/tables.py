"""Tables and lines about a pool: what to judge, what replays found, what it costs and covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sounding.core.errors import DataError
from sounding.core.text import hours
from sounding.data.tables import byte_order
from sounding.data.writing import NOT_JUDGED, spaced_lines
from sounding.pool import sentences
from sounding.pool.foresight import NEAR, Foresight
from sounding.pool.result import Pooling
from sounding.render.tables import Cell, Column, Table
from sounding.runs.retrieved import Retrieved
from sounding.selection.samples import judged_chances
from sounding.selection.strategies import Pick, Replay, TopicQueues

DEPTHS = (1, 5, 10, 20, 30, 50, 100, 200, 500, 1000)  # pools in the table for people
COVERED = (10, 100, 1000)  # depths at which the coverage of runs is shown
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)  # of the pool: the rows of a replay
MOST = 20  # rows of a table for people
LEAST_SHOWN = 0.00005  # with four decimals

# -- documents -------------------------------------------------------------------------------------


def pool_facts(result: Pooling) -> dict[str, Any]:
    """Return what JSON holds beside documents and replays."""
    names = [kind.name for kind in result.kinds]
    return {
        "depth": result.depth,
        "contributing": list(result.pool.runs),
        "chosen": result.contributors.how,
        "policies": {name: getattr(result.policies, name) for name in sentences.POLICIES},
        "strategy": ",".join(names),
        "parameters": result.parameters if len(names) > 1 else result.parameters[names[0]],
        "seed": result.seed,
    }


def lines(pool: Retrieved, picks: Sequence[Pick]) -> str:
    """Return the documents as lines `topic doc`."""
    return spaced_lines(*(column.cells for column in _documents(pool, picks)))


def trec_lines(table: Table) -> str:
    """Return judgments as TREC qrels: `topic 0 doc grade`, or `topic 0 doc stratum grade` with strata.

    Lines are sorted by topic and doc id.
    """
    columns = {column.name: column.cells for column in table.columns}
    if "probability" in columns:
        raise DataError("qrels have no place for the probabilities of a weighted sample; write -o FILE.tsv")
    names = ["topic", "doc", *(["stratum"] if "stratum" in columns else []), "grade"]
    rows = sorted(
        zip(*(columns[name] for name in names), strict=True),
        key=lambda row: (byte_order(str(row[0])), byte_order(str(row[1]))),
    )
    return spaced_lines(*zip(*((topic, "0", *rest) for topic, *rest in rows), strict=True))


def tab_separated(table: Table) -> str:
    """Return a table as tab-separated text with a header."""
    cells = [[_plain(cell) for cell in column.cells] for column in table.columns]
    rows = ["\t".join(row) for row in zip(*cells, strict=True)]
    return "\n".join(["\t".join(column.name for column in table.columns), *rows]) + "\n"


def _plain(cell: Cell) -> str:
    if cell is None:
        return ""
    text = str(cell)
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in '"\t\r\n') else text


def _documents(pool: Retrieved, picks: Iterable[Pick | int]) -> list[Column]:
    """Return the columns topic and doc of some documents."""
    numbers = np.array([one.document if isinstance(one, Pick) else one for one in picks], np.int64)
    topics = [pool.topics[topic] for topic in pool.topic[numbers].tolist()]
    return [Column("topic", topics), Column("doc", pool.docs[numbers].texts())]


def pick_table(pool: Retrieved, picks: Sequence[Pick], grades: Sequence[Cell] | None = None) -> Table:
    """Return one row per document with what the strategy recorded, and its grade where grades are given."""
    columns = _documents(pool, picks) + ([] if grades is None else [Column("grade", grades)])
    for place, name in enumerate(("order", "pool_rank", "weight", "stratum", "inclusion_probability"), 2):
        cells = [pick[place] for pick in picks]
        if name in ("order", "pool_rank") or any(cell is not None for cell in cells):
            columns.append(Column(name, cells))
    return Table(columns)


def judged_table(result: Pooling) -> Table:
    """Return the documents that one strategy had judged, with their grades; -1: not in the judgments."""
    ((name, found),) = result.replays.items()
    if name in result.samples:
        return sampled_table(result.pool, found, result.samples[name])
    return pick_table(result.pool, found.picks, _grades(found))


def sampled_table(pool: Retrieved, found: Replay, strategy: TopicQueues) -> Table:
    """Return a judged sample with its design, as `evaluate` needs it for its estimates.

    With strata, documents that were not drawn or not judged have grade -1, because estimates need their
    number. Otherwise each document has the probability that it was drawn and judged.
    """
    if all(pick.stratum is None for pick in found.picks):
        return _weighted_table(pool, found)
    grades = dict(zip((pick.document for pick in found.picks), _grades(found), strict=True))
    best = pool.best_ranks()
    documents = best.nonzero()[0].tolist()
    return Table(
        [
            *_documents(pool, documents),
            Column("grade", [grades.get(document, NOT_JUDGED) for document in documents]),
            Column("pool_rank", best[documents].tolist()),
            Column("stratum", [strategy.design(document)[0] for document in documents]),
        ]
    )


def _weighted_table(pool: Retrieved, found: Replay) -> Table:
    """Return the judged documents of a sample without strata, each with its probability."""
    judged = ~np.isnan(found.grades)
    drawn = np.array([pick.probability for pick in found.picks], np.float64)
    topic = np.array([pick.topic for pick in found.picks], np.int64)
    chances = judged_chances(drawn, topic, judged).tolist()
    rows = sorted(
        row
        for row, known in zip(zip(found.picks, _grades(found), chances, strict=True), judged, strict=True)
        if known
    )
    picks = [pick for pick, _, _ in rows]
    return Table(
        [
            *_documents(pool, picks),
            Column("grade", [grade for _, grade, _ in rows]),
            Column("pool_rank", [pick.pool_rank for pick in picks]),
            Column("probability", [chance for _, _, chance in rows]),
        ]
    )


def _grades(found: Replay) -> list[Cell]:
    """Return the grades, whole ones as integers."""
    grades = np.where(np.isnan(found.grades), NOT_JUDGED, found.grades).tolist()
    return [int(grade) if grade == int(grade) else grade for grade in grades]


# -- replays ---------------------------------------------------------------------------------------


def replay_table(replays: Mapping[str, Replay], size: int) -> Table:
    """Return the share of the relevant documents that each strategy found after some judgments."""
    first, *others = replays.values()
    longest = max(len(one.picks) for one in replays.values())
    judged = list(dict.fromkeys(max(1, round(share * size)) for share in SHARES if size))
    judged = [n for n in judged if n < longest] + [longest]
    columns = [
        Column("judged", judged),
        Column("share of pool", [n / max(size, 1) for n in judged], digits=3),
    ]
    if not others:
        totals = [int(np.count_nonzero(first.grades[:n] >= first.level)) for n in judged]
        shares = [first.found_at(n) for n in judged]
        columns += [Column("relevant found", totals), Column("share of relevant", shares, digits=3)]
        return Table(columns)
    ended = [sentences.ENDED] if any(len(one.picks) < longest for one in replays.values()) else []
    columns += [
        Column(name, [one.found_at(n) if n <= len(one.picks) else None for n in judged], digits=3)
        for name, one in replays.items()
    ]
    return Table(columns, notes=[sentences.FOUND, *ended], keys=2)


# -- before judging --------------------------------------------------------------------------------


def summary_tables(foresight: Foresight, seconds: float) -> list[Table]:
    """Return the tables for people: pools by depth, groups, runs."""
    near = foresight.share_at(NEAR)
    order = sorted(range(len(foresight.runs)), key=lambda run: (near[run], foresight.runs[run]))
    shown = []
    for column in run_table(foresight).columns:
        cells = [column.cells[run] for run in order[:MOST]]
        if column.name.endswith("residual"):
            cells = [None if cell is None else _residual(float(cell)) for cell in cells]
            shown.append(Column(column.name, cells, right=True))
        else:
            shown.append(replace(column, cells=cells, optional=int(column.name in ("group", "kind"))))
    rest = f"The {MOST} least covered of {len(order)} runs; csv has all." if len(order) > MOST else ""
    about = Table(shown, title="Runs", notes=[sentences.IN_POOL, sentences.WOULD_ADD], summary=rest)
    return [_size_table(foresight, seconds), _group_table(foresight), about]


def _size_table(foresight: Foresight, seconds: float) -> Table:
    depths = sorted({depth for depth in DEPTHS if depth < foresight.depth} | {foresight.depth})
    sizes = [foresight.documents_at(depth) for depth in depths]
    topics = foresight.sizes[:, [depth - 1 for depth in depths]]
    topics = topics[topics[:, -1] > 0]
    left = [size - (foresight.judged_at(depth) or 0) for depth, size in zip(depths, sizes, strict=True)]
    known = [] if foresight.judged is None else [
        Column("judged", [foresight.judged_at(depth) for depth in depths]), Column("to judge", left),
    ]  # fmt: skip
    residuals = [_residual(foresight.mean_residual(depth)) for depth in depths]
    return Table(
        [
            Column("depth", depths),
            Column("documents", sizes),
            Column("of depth x runs x topics", [foresight.share_of_most(d) for d in depths], percent=True,
                   optional=1),
            Column("per topic", topics.mean(axis=0).tolist(), digits=0, optional=1),
            Column("min", topics.min(axis=0).tolist(), optional=2),
            Column("max", topics.max(axis=0).tolist(), optional=2),
            *known,
            Column("hours", [hours(size, seconds) for size in left], digits=1),
            Column("mean RBP residual", residuals, right=True),
        ],
        title="Pools by depth",
        notes=[sentences.FOR_UNJUDGED] if known else [],
    )  # fmt: skip


def _group_table(foresight: Foresight) -> Table:
    ordered = sorted(foresight.group_documents.items(), key=lambda item: -item[1][1])
    contributors = foresight.contributors
    owners = [group for group, own in zip(contributors.groups, contributors.contributing, strict=True) if own]
    shown = ordered[:MOST]
    note = sentences.overlap_note(foresight, len(shown), len(ordered))
    size = foresight.documents_at(foresight.depth)
    return Table(
        [
            Column("group", [group for group, _ in shown]),
            Column("runs", [owners.count(group) for group, _ in shown]),
            Column("documents", [documents for _, (documents, _) in shown]),
            Column("only from it", [alone for _, (_, alone) in shown]),
            Column("of the pool", [alone / max(size, 1) for _, (_, alone) in shown], percent=True),
        ],
        title="Groups: documents that each brings to the pool",
        notes=[note] if note else [],
    )


def residual_table(foresight: Foresight, most: float, seconds: float) -> Table:
    """Return the least pool depth with a mean RBP residual of at most `most`, and what that pool costs."""
    depth = foresight.depth_for_residual(most)
    size = None if depth is None else foresight.documents_at(depth)
    reached = None if depth is None else foresight.mean_residual(depth)
    return Table(
        [
            Column("residual wanted", [most], digits=_digits(most)),
            Column("depth", [depth]),
            Column("mean residual", [reached], digits=4 if reached is None else _digits(reached)),
            Column("documents", [size]),
            Column("hours", [None if size is None else hours(size, seconds)], digits=1),
        ],
        facts={
            "p": foresight.p,
            "runs": len(foresight.runs),
            "topics": foresight.topics,
            "least_residual": sentences.least_residual(foresight),
        },
    )


def _digits(value: float) -> int:
    """Return how many decimals show two significant digits of the value; at least 4."""
    return max(4, 1 - int(np.floor(np.log10(value)))) if value > 0 else 4


def _residual(value: float) -> str:
    """Return a residual with four decimals, or as 2.0e-10 where these would be zeros."""
    return f"{value:.4f}" if value == 0 or value >= LEAST_SHOWN else f"{value:.1e}"


def run_table(foresight: Foresight) -> Table:
    """Return one row per run: how far the pool covers it, and what pooling it would add."""
    contributors, places = foresight.contributors, foresight.places.tolist()
    longest = max(foresight.shares.shape[1], COVERED[0])
    depths = [k for k in sorted({*COVERED, foresight.depth}) if k <= longest]
    residual = foresight.residuals[:, min(foresight.depth, foresight.residuals.shape[1] - 1)]
    return Table(
        [
            Column("run", list(foresight.runs)),
            Column("group", [contributors.groups[place] for place in places]),
            Column("kind", [contributors.kinds[place] or None for place in places]),
            Column("pooled", ["yes" if contributors.contributing[place] else "no" for place in places]),
            *(Column(f"in pool@{k}", foresight.share_at(k).tolist(), digits=3) for k in depths),
            Column(f"RBP(p={foresight.p:g}) residual", residual.tolist(), digits=4),
            Column("would add", foresight.to_add.tolist()),
        ],
        facts=_summary_facts(foresight),
    )


def _summary_facts(foresight: Foresight) -> dict[str, Any]:
    """Return what JSON holds beside the runs."""
    within, between = (None if np.isnan(value) else value for value in foresight.pair_overlap())
    return {
        "depth": foresight.depth,
        "topics": foresight.topics,
        "contributing": int(np.count_nonzero(foresight.contributors.contributing)),
        "chosen": foresight.contributors.how,
        "remarks": list(foresight.contributors.remarks),
        "p": foresight.p,
        "pools": [
            {
                "depth": depth, "documents": foresight.documents_at(depth),
                "share_of_most": foresight.share_of_most(depth),
                "mean_residual": foresight.mean_residual(depth),
                **({} if foresight.judged is None else {"judged": foresight.judged_at(depth)}),
            }
            for depth in range(1, foresight.depth + 1)
        ],
        "groups": [
            {"group": group, "documents": documents, "alone": alone}
            for group, (documents, alone) in foresight.group_documents.items()
        ],
        "overlap": {"one_group": within, "different_groups": between},
    }  # fmt: skip
