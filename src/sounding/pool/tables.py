"""Pools as tables: what to judge, what was found in a replay, what a pool will cost and cover."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sounding.core.errors import DataError
from sounding.core.text import plural, whole_percent
from sounding.pool.foresight import NEAR, POOR, Foresight
from sounding.render.tables import Cell, Column, Table
from sounding.runs.retrieved import Retrieved
from sounding.selection.samples import judged_chances
from sounding.selection.strategies import Pick, Replay, SampleStrategy

if TYPE_CHECKING:
    import polars

DEPTHS = (1, 5, 10, 20, 30, 50, 100, 200, 500, 1000)  # pools that people see
COVERED = (10, 100, 1000)  # first documents whose coverage is shown
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)  # of the pool, in a replay
MOST = 20  # rows that people see
LEAST_SHOWN = 0.00005  # with four places
NOT_JUDGED = -1.0  # the grade of a document that was pooled and not judged


def hours(documents: int, seconds: float) -> float:
    """How long it takes to judge so many documents."""
    return documents * seconds / 3600


def lines(pool: Retrieved, picks: Sequence[Pick]) -> str:
    """`topic doc`, one a line."""
    topics, docs = (column.cells for column in blank_table(pool, picks).columns[:2])
    return _spaced(topics, docs)


def trec_lines(table: Table) -> str:
    """A table of judgments as TREC's qrels: `topic 0 doc grade`, or with strata `topic 0 doc stratum grade`.

    Lines stand by topic and doc id, whatever the order of the table.
    """
    columns = {column.name: column.cells for column in table.columns}
    if "probability" in columns:
        raise DataError("TREC's qrels have no place for the chances of a weighted sample; write -o FILE.tsv")
    names = ["topic", "doc", *(["stratum"] if "stratum" in columns else []), "grade"]
    rows = sorted(
        zip(*(columns[name] for name in names), strict=True),
        key=lambda row: (str(row[0]).encode("utf-8", "surrogateescape"),
                         str(row[1]).encode("utf-8", "surrogateescape")),
    )  # fmt: skip
    if not rows:
        return ""
    topics, docs, *rest = zip(*rows, strict=True)
    return _spaced(topics, ["0"] * len(rows), docs, *rest)


def _spaced(*columns: Sequence[Cell]) -> str:
    """Columns parted by blanks, which none of the cells may have."""
    for text in dict.fromkeys(cell for column in columns for cell in column if isinstance(cell, str)):
        if len(text.split()) != 1:
            raise DataError(
                f"id {text!r} has a blank, which lines cannot hold; write a table with -o FILE.csv"
            )
    return "".join(" ".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


def tab_separated(table: Table) -> str:
    """A table with a header, columns parted by tabs."""
    cells = [[_plain(cell) for cell in column.cells] for column in table.columns]
    rows = ["\t".join(row) for row in zip(*cells, strict=True)]
    return "\n".join(["\t".join(column.name for column in table.columns), *rows]) + "\n"


def _plain(cell: Cell) -> str:
    if cell is None:
        return ""
    text = str(cell)
    return '"' + text.replace('"', '""') + '"' if any(sign in text for sign in '"\t\r\n') else text


def pick_table(pool: Retrieved, picks: Sequence[Pick]) -> Table:
    """One row a document, with what the strategy knows of it."""
    known: list[tuple[str, list[Cell]]] = [
        ("weight", [pick.weight for pick in picks]),
        ("stratum", [pick.stratum for pick in picks]),
        ("inclusion_probability", [pick.probability for pick in picks]),
    ]
    return Table(
        [
            *_named(pool, [pick.document for pick in picks], [pick.topic for pick in picks]),
            Column("order", [pick.order for pick in picks]),
            Column("pool_rank", [pick.pool_rank for pick in picks]),
            *(Column(name, cells) for name, cells in known if any(cell is not None for cell in cells)),
        ]
    )


def blank_table(pool: Retrieved, picks: Sequence[Pick]) -> Table:
    """Judgments to fill in: every document with the grade of what is not judged."""
    return Table(
        [
            *_named(pool, [pick.document for pick in picks], [pick.topic for pick in picks]),
            Column("grade", [int(NOT_JUDGED)] * len(picks)),
        ]
    )


def judged_table(pool: Retrieved, found: Replay) -> Table:
    """The documents of a replay with their grades: judgments that `evaluate` reads.

    Grade -1: the judgments that were replayed do not have the document.
    """
    picks = found.picks
    return Table(
        [
            *_named(pool, [pick.document for pick in picks], [pick.topic for pick in picks]),
            Column("grade", _grades(found)),
            *pick_table(pool, picks).columns[2:],
        ]
    )


def sampled_table(pool: Retrieved, found: Replay, strategy: SampleStrategy) -> Table:
    """A judged sample with its design: judgments from which `evaluate` estimates.

    With strata, what was in the pool and not drawn, or not judged, is listed with grade -1: estimates need
    its number. Otherwise the chance of every document of having been drawn and judged stands beside it.
    """
    if all(pick.stratum is None for pick in found.picks):
        return _weighted_table(pool, found)
    grades = dict(zip((pick.document for pick in found.picks), _grades(found), strict=True))
    best = pool.best_ranks()
    documents = best.nonzero()[0]
    return Table(
        [
            *_named(pool, documents.tolist(), pool.topic[documents].tolist()),
            Column("grade", [grades.get(document, int(NOT_JUDGED)) for document in documents.tolist()]),
            Column("pool_rank", best[documents].tolist()),
            Column("stratum", [strategy.design(document)[0] for document in documents.tolist()]),
        ]
    )


def _weighted_table(pool: Retrieved, found: Replay) -> Table:
    """The judged documents of a sample without strata, by topic and doc id, and the chance of each."""
    judged = ~np.isnan(found.grades)
    drawn = np.array([pick.probability for pick in found.picks], np.float64)
    topic = np.array([pick.topic for pick in found.picks], np.int64)
    chances = judged_chances(drawn, topic, judged)
    cells = [
        (pick, grade, float(chance))
        for pick, grade, chance, known in zip(found.picks, _grades(found), chances, judged, strict=True)
        if known
    ]
    cells.sort(key=lambda cell: cell[0].document)
    picks = [pick for pick, _, _ in cells]
    return Table(
        [
            *_named(pool, [pick.document for pick in picks], [pick.topic for pick in picks]),
            Column("grade", [grade for _, grade, _ in cells]),
            Column("pool_rank", [pick.pool_rank for pick in picks]),
            Column("probability", [chance for _, _, chance in cells]),
        ]
    )


def _named(pool: Retrieved, documents: Sequence[int], topics: Sequence[int]) -> list[Column]:
    docs = pool.docs[np.array(documents, np.int64)].texts()
    return [Column("topic", [pool.topics[topic] for topic in topics]), Column("doc", docs)]


def _grades(found: Replay) -> list[Cell]:
    """Grades, whole ones as whole numbers."""
    grades = np.where(np.isnan(found.grades), NOT_JUDGED, found.grades).tolist()
    return [int(grade) if grade == int(grade) else grade for grade in grades]


def replay_table(found: Replay, size: int) -> Table:
    """How many relevant documents were found by each share of the pool."""
    judged = list(dict.fromkeys(max(1, round(share * size)) for share in SHARES if size))
    judged = [n for n in judged if n < len(found.picks)] + [len(found.picks)]
    totals = [int(np.count_nonzero(found.grades[:n] >= found.level)) for n in judged]
    lacking = unknown({"": found})
    told = f"Not in the judgments, and counted as not relevant: {plural(lacking, 'document')}."
    return Table(
        [
            Column("judged", judged),
            Column("share of pool", [n / max(size, 1) for n in judged], digits=3),
            Column("relevant found", totals),
            Column("share of relevant", [found.found_at(n) for n in judged], digits=3),
        ],
        notes=[told] if lacking else [],
    )


def unknown(found: Mapping[str, Replay]) -> int:
    """How many documents of the replays are not in the judgments: of the one that has most of them."""
    return max(int(np.count_nonzero(np.isnan(one.grades))) for one in found.values())


def comparison_table(found: Mapping[str, Replay], size: int) -> Table:
    """Share of the relevant documents that each strategy found by each share of the pool."""
    longest = max(len(one.picks) for one in found.values())
    judged = list(dict.fromkeys(max(1, round(share * size)) for share in SHARES if size))
    judged = [n for n in judged if n < longest] + [longest]
    lacking = unknown(found)
    notes = ["Share of the relevant documents of the pool that were found."]
    if any(len(one.picks) < longest for one in found.values()):
        notes.append("A dash: all that the strategy chose was judged before.")
    if lacking:
        notes.append(f"Not in the judgments, and counted as not relevant: {plural(lacking, 'document')}.")
    return Table(
        [
            Column("judged", judged),
            Column("share of pool", [n / max(size, 1) for n in judged], digits=3),
            *(
                Column(name, [one.found_at(n) if n <= len(one.picks) else None for n in judged], digits=3)
                for name, one in found.items()
            ),
        ],
        notes=notes,
        keys=2,
    )


def found_frame(found: Mapping[str, Replay]) -> polars.DataFrame:
    """Columns strategy, judgments, found (share of the relevant documents), for a chart."""
    import polars

    frames = [
        polars.DataFrame(
            {
                "judgments": np.arange(1, len(one.picks) + 1),
                "found": one.found / one.relevant if one.relevant else np.full(len(one.picks), np.nan),
            }
        ).select(polars.lit(name).alias("strategy"), polars.all())
        for name, one in found.items()
    ]
    return polars.concat(frames)


# -- before judging --------------------------------------------------------------------------------


def size_frame(found: Foresight) -> polars.DataFrame:
    """Columns depth, size, share (of depth x runs x topics), for a chart."""
    import polars

    depths = range(1, found.depth + 1)
    sizes, shares = zip(*((found.documents_at(d), found.share_of_most(d)) for d in depths), strict=True)
    return polars.DataFrame({"depth": list(depths), "size": sizes, "share": shares})


def overlap_frame(found: Foresight) -> polars.DataFrame:
    """Columns group, other, overlap: of what the first brings to the pool, the share of the other."""
    import polars

    groups = list(found.group_documents)
    return polars.DataFrame(
        {
            "group": [group for group in groups for _ in groups],
            "other": groups * len(groups),
            "overlap": found.group_overlap.ravel(),
        }
    )


def summary_tables(found: Foresight, seconds: float, p: float) -> list[Table]:
    """Sizes by depth, groups, runs: for people."""
    runs = run_table(found, p)
    order = sorted(range(len(found.runs)), key=lambda run: (found.share_at(NEAR)[run], found.runs[run]))
    shown = [
        Column(column.name, [column.cells[run] for run in order[:MOST]], digits=column.digits)
        for column in runs.columns
    ]
    residual = next(place for place, column in enumerate(shown) if column.name.endswith("residual"))
    told = [None if cell is None else _residual(float(cell)) for cell in shown[residual].cells]
    shown[residual] = Column(shown[residual].name, told, right=True)
    rest = f"{min(MOST, len(order))} of {len(order)} runs, the least covered first; csv has all. "
    rule = "In the pool: share of the first documents retrieved that would be judged, mean over topics."
    about = Table(
        shown, title="runs", notes=[(rest if len(order) > MOST else "") + rule, *_advice(found, seconds)]
    )
    return [_size_table(found, seconds, p), _group_table(found), about]


def _size_table(found: Foresight, seconds: float, p: float) -> Table:
    depths = sorted({depth for depth in DEPTHS if depth < found.depth} | {found.depth})
    sizes = [found.documents_at(depth) for depth in depths]
    of_runs = plural(len(found.runs), "run")
    means = found.residuals.mean(axis=0)
    topics = found.sizes[:, [depth - 1 for depth in depths]]
    topics = topics[topics[:, -1] > 0]
    left = [size - (found.judged_at(depth) or 0) for depth, size in zip(depths, sizes, strict=True)]
    known = [] if found.judged is None else [
        Column("judged", [found.judged_at(depth) for depth in depths]), Column("to judge", left),
    ]  # fmt: skip
    residuals = [float(means[min(d, len(means) - 1)]) for d in depths]
    return Table(
        [
            Column("depth", depths),
            Column("documents", sizes),
            Column("of depth x runs x topics", [found.share_of_most(d) for d in depths], percent=True),
            Column("a topic", topics.mean(axis=0).tolist(), digits=0),
            Column("least", topics.min(axis=0).tolist()),
            Column("most", topics.max(axis=0).tolist()),
            *known,
            Column("hours", [hours(size, seconds) for size in left], digits=1),
            Column("mean RBP residual", [_residual(value) for value in residuals], right=True),
        ],
        title=f"pools by depth, {seconds:g} s a document; residual of {of_runs}, p = {p:g}",
        notes=["Hours: for what is not judged yet."] if known else [],
    )  # fmt: skip


def _group_table(found: Foresight) -> Table:
    ordered = sorted(found.group_documents.items(), key=lambda item: -item[1][1])
    counts: dict[str, int] = {}
    for group, own in zip(found.contributors.groups, found.contributors.contributing.tolist(), strict=True):
        counts[group] = counts.get(group, 0) + own
    within, between = found.pair_overlap()
    shown = ordered[:MOST]
    rest = f"{len(shown)} of {len(ordered)} groups. " if len(shown) < len(ordered) else ""
    told = [
        f"{whole_percent(value)} {where}"
        for value, where in ((within, "in one group"), (between, "between groups"))
        if not np.isnan(value)
    ]
    overlap = f"Documents that two runs share, median pair: {', '.join(told)}." if told else ""
    size = found.documents_at(found.depth)
    return Table(
        [
            Column("group", [group for group, _ in shown]),
            Column("runs", [counts[group] for group, _ in shown]),
            Column("documents", [documents for _, (documents, _) in shown]),
            Column("only from it", [alone for _, (_, alone) in shown]),
            Column("of the pool", [alone / max(size, 1) for _, (_, alone) in shown], percent=True),
        ],
        title="what each group brings to the pool",
        notes=[text for text in (rest + overlap,) if text],
    )


def residual_table(found: Foresight, most: float, seconds: float, p: float) -> Table:
    """The least pool depth that brings the mean RBP residual to `most`, and what that pool costs."""
    depth = found.depth_for_residual(most)
    means = found.residuals.mean(axis=0)
    size = None if depth is None else found.documents_at(depth)
    reached = None if depth is None else float(means[depth])
    notes = [f"Mean over {plural(len(found.runs), 'run')} and {plural(found.topics, 'topic')}, p = {p:g}."]
    if depth is None:
        notes.append(f"No depth is enough: with all that these runs retrieved judged it is {means[-1]:.3g}.")
    return Table(
        [
            Column("residual wanted", [most], digits=_digits(most)),
            Column("depth", [depth]),
            Column("mean residual", [reached], digits=4 if reached is None else _digits(reached)),
            Column("documents", [size]),
            Column("hours", [None if size is None else hours(size, seconds)], digits=1),
        ],
        notes=notes,
        facts={"p": p, "runs": len(found.runs), "topics": found.topics, "least_residual": float(means[-1])},
    )


def _digits(value: float) -> int:
    """Decimal places, 4 or more, such that two figures of the value are seen."""
    return max(4, 1 - int(np.floor(np.log10(value)))) if value > 0 else 4


def _residual(value: float) -> str:
    """A residual as people read it: four places, or as 2.0e-10 where these would show nothing."""
    return f"{value:.4f}" if value == 0 or value >= LEAST_SHOWN else f"{value:.1e}"


def run_table(found: Foresight, p: float) -> Table:
    """One row a run: how far the pool covers it, and what pooling it would add."""
    contributors = found.contributors
    depths = [k for k in sorted({*COVERED, found.depth}) if k <= max(found.shares.shape[1], COVERED[0])]
    residual = found.residuals[:, min(found.depth, found.residuals.shape[1] - 1)].tolist()
    return Table(
        [
            Column("run", list(found.runs)),
            Column("group", list(contributors.groups)),
            Column("kind", [kind or None for kind in contributors.kinds]),
            Column("pooled", ["yes" if own else "no" for own in contributors.contributing.tolist()]),
            *(Column(f"in pool@{k}", found.share_at(k).tolist(), digits=3) for k in depths),
            Column(f"RBP(p={p:g}) residual", residual, digits=4),
            Column("would add", found.to_add.tolist()),
        ],
        facts=summary_facts(found, p),
    )


def _advice(found: Foresight, seconds: float) -> list[str]:
    """Which runs are poorly covered, and what it would take."""
    poor = found.poor.tolist()
    if not poor:
        return [f"Every run has at least {whole_percent(POOR)} of its first {NEAR} documents in the pool."]
    names = ", ".join(found.runs[run] for run in poor[:5])
    names += f" and {len(poor) - 5} more" if len(poor) > 5 else ""
    have = "runs have" if len(poor) > 1 else "run has"
    every, near = found.to_cover
    deeper = (
        f"; pooling them down to depth {found.depth} adds {every:,} ({hours(every, seconds):,.1f} hours)"
        if found.depth > NEAR
        else ""
    )
    return [
        f"{len(poor)} {have} less than {whole_percent(POOR)} of the first {NEAR} documents in the pool:"
        f" {names}.",
        f"Pooling the first {NEAR} of {'each' if len(poor) > 1 else 'it'} as well adds"
        f" {plural(near, 'document')} ({hours(near, seconds):,.1f} hours){deeper}.",
    ]


def summary_facts(found: Foresight, p: float) -> dict[str, Any]:
    """What json holds beside the runs."""
    within, between = found.pair_overlap()
    means = found.residuals.mean(axis=0)
    return {
        "depth": found.depth,
        "topics": found.topics,
        "contributing": int(np.count_nonzero(found.contributors.contributing)),
        "chosen": found.contributors.how,
        "remarks": list(found.contributors.remarks),
        "p": p,
        "pools": [
            {
                "depth": depth, "documents": found.documents_at(depth),
                "share_of_most": found.share_of_most(depth),
                "mean_residual": float(means[min(depth, len(means) - 1)]),
                **({} if found.judged is None else {"judged": found.judged_at(depth)}),
            }
            for depth in range(1, found.depth + 1)
        ],
        "groups": [
            {"group": group, "documents": documents, "alone": alone}
            for group, (documents, alone) in found.group_documents.items()
        ],
        "overlap": {
            "one_group": None if np.isnan(within) else within,
            "different_groups": None if np.isnan(between) else between,
        },
    }  # fmt: skip
