"""Pools as tables and sentences: what to judge, what was found in a replay, what a pool costs and covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sounding.core.errors import DataError
from sounding.core.text import hours, plural, whole_percent
from sounding.data.tables import byte_order
from sounding.pool.foresight import NEAR, POOR, Foresight
from sounding.pool.result import Pooling
from sounding.render.tables import Cell, Column, Table
from sounding.runs.retrieved import Retrieved
from sounding.selection.samples import judged_chances
from sounding.selection.strategies import Pick, Replay, TopicQueues

DEPTHS = (1, 5, 10, 20, 30, 50, 100, 200, 500, 1000)  # pools that people see
COVERED = (10, 100, 1000)  # first documents whose coverage is shown
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)  # of the pool, in a replay
MOST = 20  # rows that people see
NAMED = 5  # runs that a sentence names
LEAST_SHOWN = 0.00005  # with four places
NOT_JUDGED = -1  # the grade of a document that was pooled and not judged

# -- sentences -------------------------------------------------------------------------------------

COME_BACK = "{name} follows the judgments: judge these, and come back with --qrels"
MAKE_QRELS = "when they are judged, this command with --qrels JUDGED --simulate -o FILE.tsv makes the qrels"
FILL_IN = "qrels to fill in: put the grade of each document in place of -1"
FOUND = "Share of the relevant documents of the pool that were found."
ENDED = "A dash: all that the strategy chose was judged before."
IN_POOL = "In the pool: share of the first documents retrieved that would be judged, mean over topics."
FOR_UNJUDGED = "Hours: for what is not judged yet."


def pool_remarks(result: Pooling, seconds: float, judged: int = 0) -> list[str]:
    """How large the pool is, and what it costs to judge what is not judged yet."""
    pool, size, depth = result.pool, result.size, result.depth
    topics = int((pool.lengths.max(axis=0) > 0).sum())
    share = size / max(depth * len(pool.runs) * topics, 1)
    longest = int(pool.lengths.max(initial=0))
    remarks = [
        f"pool: {plural(size, 'document')}, {whole_percent(share)} of {depth} x"
        f" {plural(len(pool.runs), 'run')} x {plural(topics, 'topic')};"
        f" {hours(size - judged, seconds):,.1f} hours at {seconds:g} s a document"
        f"{f', {size - judged:,} left to judge' if judged else ''}"
    ]
    if 0 < longest < depth:
        remarks.append(f"the longest list ends at {longest:,}: a depth of {depth:,} brings no more")
    policies = ", ".join(f"{name} {getattr(result.policies, name)}" for name in POLICIES)
    return [*remarks, f"policies: {policies}"]


def next_remarks(result: Pooling, seconds: float, *, given: bool, blank: bool) -> list[str]:
    """How much there is to judge now, how much is done, and what to do with what is listed.

    `given`: judgments were; `blank`: what is written are qrels to fill in.
    """
    (kind,), picked, judged = result.kinds, len(result.picks), result.judged
    remarks = [f"judged already: {plural(judged, 'document')} of the pool"] if given else []
    if judged or picked < result.size:
        remarks.append(f"to judge now: {plural(picked, 'document')}, {hours(picked, seconds):,.1f} hours")
    remarks += [COME_BACK.format(name=kind.name)] if kind.adaptive and picked else []
    remarks += [MAKE_QRELS] if kind.sampled and judged == 0 else []
    return [*remarks, FILL_IN] if blank else remarks


def unknown_remarks(replays: Mapping[str, Replay]) -> list[str]:
    """How many documents were judged by nobody, and what they count for."""
    lacking, judged = _unknown(replays), max(len(one.picks) for one in replays.values())
    if not lacking:
        return []
    grade = f"; {'it has' if lacking == 1 else 'they have'} grade -1" if len(replays) == 1 else ""
    return [
        f"{lacking:,} of {plural(judged, 'document')} not in the judgments: counted as not relevant{grade}"
    ]


def sample_remarks(sample: Replay, judgments: int) -> list[str]:
    """What a sample and the judgments do not share: judged in vain, or drawn otherwise."""
    size, known = len(sample.picks), len(sample.picks) - sample.unknown
    remarks = []
    if known < size:
        what = (
            "left out, with the chances of the others of their topic lowered to match"
            if any(pick.stratum is None for pick in sample.picks)
            else "counted as not drawn"
        )
        remarks.append(
            f"{size - known:,} of the {plural(size, 'document')} of the sample are unjudged: they are {what};"
            " estimates are right only if chance left them unjudged"
        )
    judged = {
        pick.topic for pick, lacks in zip(sample.picks, np.isnan(sample.grades), strict=True) if not lacks
    }
    if lost := len({pick.topic for pick in sample.picks}) - len(judged):
        remarks.append(
            f"{plural(lost, 'topic')} of the sample without a judgment: no estimate for"
            f" {'them' if lost > 1 else 'it'}"
        )
    if others := judgments - known:
        remarks.append(
            f"{plural(others, 'judged document')} {'are' if others > 1 else 'is'} not of this sample and left"
            " out: another seed, rate, depth or runs? (Right where more than the sample was judged.)"
        )
    return remarks


def _unknown_note(lacking: int) -> list[str]:
    told = f"Not in the judgments, and counted as not relevant: {plural(lacking, 'document')}."
    return [told] if lacking else []


def _coverage_notes(foresight: Foresight, seconds: float) -> list[str]:
    """Which runs are poorly covered, and what it would take."""
    poor = foresight.poor.tolist()
    if not poor:
        return [f"Every run has at least {whole_percent(POOR)} of its first {NEAR} documents in the pool."]
    names = ", ".join(foresight.runs[run] for run in poor[:NAMED])
    names += f" and {len(poor) - NAMED} more" if len(poor) > NAMED else ""
    have = "runs have" if len(poor) > 1 else "run has"
    every, near = foresight.to_cover
    deeper = (
        f"; pooling them down to depth {foresight.depth} adds {every:,} ({hours(every, seconds):,.1f} hours)"
        if foresight.depth > NEAR
        else ""
    )
    return [
        f"{len(poor)} {have} less than {whole_percent(POOR)} of the first {NEAR} documents in the pool:"
        f" {names}.",
        f"Pooling the first {NEAR} of {'each' if len(poor) > 1 else 'it'} as well adds"
        f" {plural(near, 'document')} ({hours(near, seconds):,.1f} hours){deeper}.",
    ]


# -- documents -------------------------------------------------------------------------------------

POLICIES = ("ties", "compat", "duplicates")


def pool_facts(result: Pooling) -> dict[str, Any]:
    """What json holds beside documents and replays."""
    names = [kind.name for kind in result.kinds]
    return {
        "depth": result.depth,
        "contributing": list(result.pool.runs),
        "chosen": result.contributors.how,
        "policies": {name: getattr(result.policies, name) for name in POLICIES},
        "strategy": ",".join(names),
        "parameters": result.parameters if len(names) > 1 else result.parameters[names[0]],
        "seed": result.seed,
    }


def lines(pool: Retrieved, picks: Sequence[Pick]) -> str:
    """`topic doc`, one a line."""
    return _spaced(*(column.cells for column in _documents(pool, picks)))


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
        key=lambda row: (byte_order(str(row[0])), byte_order(str(row[1]))),
    )
    return _spaced(*zip(*((topic, "0", *rest) for topic, *rest in rows), strict=True))


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


def _documents(pool: Retrieved, picks: Iterable[Pick | int]) -> list[Column]:
    """The columns topic and doc of documents, by pick or by number."""
    numbers = np.array([one.document if isinstance(one, Pick) else one for one in picks], np.int64)
    topics = [pool.topics[topic] for topic in pool.topic[numbers].tolist()]
    return [Column("topic", topics), Column("doc", pool.docs[numbers].texts())]


def pick_table(pool: Retrieved, picks: Sequence[Pick], grades: Sequence[Cell] | None = None) -> Table:
    """One row a document, with what the strategy knows of it; with grades, they are judgments."""
    fields = ("order", "pool_rank", "weight", "stratum", "inclusion_probability")
    known = {name: [pick[place] for pick in picks] for place, name in enumerate(fields, 2)}
    return Table(
        [
            *_documents(pool, picks),
            *([] if grades is None else [Column("grade", grades)]),
            *(
                Column(name, cells)
                for name, cells in known.items()
                if name in fields[:2] or any(cell is not None for cell in cells)
            ),
        ]
    )


def blank_table(pool: Retrieved, picks: Sequence[Pick]) -> Table:
    """Judgments to fill in: every document with the grade of what is not judged."""
    return Table([*_documents(pool, picks), Column("grade", [NOT_JUDGED] * len(picks))])


def judged_table(result: Pooling) -> Table:
    """The documents that one strategy had judged with their grades, -1 where the judgments lack one."""
    ((name, found),) = result.replays.items()
    if name in result.samples:
        return sampled_table(result.pool, found, result.samples[name])
    return pick_table(result.pool, found.picks, _grades(found))


def sampled_table(pool: Retrieved, found: Replay, strategy: TopicQueues) -> Table:
    """A judged sample with its design: judgments from which `evaluate` estimates.

    With strata, what was in the pool and not drawn, or not judged, is listed with grade -1: estimates need
    its number. Otherwise the chance of every document of having been drawn and judged stands beside it.
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
    """The judged documents of a sample without strata, by topic and doc id, and the chance of each."""
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
    """Grades, whole ones as whole numbers."""
    grades = np.where(np.isnan(found.grades), NOT_JUDGED, found.grades).tolist()
    return [int(grade) if grade == int(grade) else grade for grade in grades]


# -- replays ---------------------------------------------------------------------------------------


def replay_table(replays: Mapping[str, Replay], size: int) -> Table:
    """The share of the relevant documents that each strategy found by each share of a pool of this size."""
    first, *others = replays.values()
    longest = max(len(one.picks) for one in replays.values())
    judged = list(dict.fromkeys(max(1, round(share * size)) for share in SHARES if size))
    judged = [n for n in judged if n < longest] + [longest]
    columns = [
        Column("judged", judged),
        Column("share of pool", [n / max(size, 1) for n in judged], digits=3),
    ]
    unknown = _unknown_note(_unknown(replays))
    if not others:
        totals = [int(np.count_nonzero(first.grades[:n] >= first.level)) for n in judged]
        shares = [first.found_at(n) for n in judged]
        columns += [Column("relevant found", totals), Column("share of relevant", shares, digits=3)]
        return Table(columns, notes=unknown)
    ended = [ENDED] if any(len(one.picks) < longest for one in replays.values()) else []
    columns += [
        Column(name, [one.found_at(n) if n <= len(one.picks) else None for n in judged], digits=3)
        for name, one in replays.items()
    ]
    return Table(columns, notes=[FOUND, *ended, *unknown], keys=2)


def _unknown(replays: Mapping[str, Replay]) -> int:
    """How many documents are not in the judgments: of the replay that has most of them."""
    return max(one.unknown for one in replays.values())


# -- before judging --------------------------------------------------------------------------------


def summary_tables(foresight: Foresight, seconds: float) -> list[Table]:
    """Sizes by depth, groups, runs: for people."""
    near = foresight.share_at(NEAR)
    order = sorted(range(len(foresight.runs)), key=lambda run: (near[run], foresight.runs[run]))
    shown = []
    for column in run_table(foresight).columns:
        cells = [column.cells[run] for run in order[:MOST]]
        if column.name.endswith("residual"):
            cells = [None if cell is None else _residual(float(cell)) for cell in cells]
            shown.append(Column(column.name, cells, right=True))
        else:
            shown.append(Column(column.name, cells, digits=column.digits))
    rest = f"{MOST} of {len(order)} runs, the least covered first; csv has all. " if len(order) > MOST else ""
    about = Table(shown, title="runs", notes=[rest + IN_POOL, *_coverage_notes(foresight, seconds)])
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
            Column("of depth x runs x topics", [foresight.share_of_most(d) for d in depths], percent=True),
            Column("a topic", topics.mean(axis=0).tolist(), digits=0),
            Column("least", topics.min(axis=0).tolist()),
            Column("most", topics.max(axis=0).tolist()),
            *known,
            Column("hours", [hours(size, seconds) for size in left], digits=1),
            Column("mean RBP residual", residuals, right=True),
        ],
        title=f"pools by depth, {seconds:g} s a document; residual of {plural(len(foresight.runs), 'run')},"
        f" p = {foresight.p:g}",
        notes=[FOR_UNJUDGED] if known else [],
    )  # fmt: skip


def _group_table(foresight: Foresight) -> Table:
    ordered = sorted(foresight.group_documents.items(), key=lambda item: -item[1][1])
    contributors = foresight.contributors
    owners = [group for group, own in zip(contributors.groups, contributors.contributing, strict=True) if own]
    shown = ordered[:MOST]
    rest = f"{len(shown)} of {len(ordered)} groups. " if len(shown) < len(ordered) else ""
    told = [
        f"{whole_percent(value)} {where}"
        for value, where in zip(foresight.pair_overlap(), ("in one group", "between groups"), strict=True)
        if not np.isnan(value)
    ]
    overlap = f"Documents that two runs share, median pair: {', '.join(told)}." if told else ""
    size = foresight.documents_at(foresight.depth)
    return Table(
        [
            Column("group", [group for group, _ in shown]),
            Column("runs", [owners.count(group) for group, _ in shown]),
            Column("documents", [documents for _, (documents, _) in shown]),
            Column("only from it", [alone for _, (_, alone) in shown]),
            Column("of the pool", [alone / max(size, 1) for _, (_, alone) in shown], percent=True),
        ],
        title="what each group brings to the pool",
        notes=[text for text in (rest + overlap,) if text],
    )


def residual_table(foresight: Foresight, most: float, seconds: float) -> Table:
    """The least pool depth that brings the mean RBP residual to `most`, and what that pool costs."""
    depth, p = foresight.depth_for_residual(most), foresight.p
    least = float(foresight.residuals.mean(axis=0)[-1])
    size = None if depth is None else foresight.documents_at(depth)
    reached = None if depth is None else foresight.mean_residual(depth)
    runs, topics = len(foresight.runs), foresight.topics
    notes = [f"Mean over {plural(runs, 'run')} and {plural(topics, 'topic')}, p = {p:g}."]
    if depth is None:
        notes.append(f"No depth is enough: with all that these runs retrieved judged it is {least:.3g}.")
    return Table(
        [
            Column("residual wanted", [most], digits=_digits(most)),
            Column("depth", [depth]),
            Column("mean residual", [reached], digits=4 if reached is None else _digits(reached)),
            Column("documents", [size]),
            Column("hours", [None if size is None else hours(size, seconds)], digits=1),
        ],
        notes=notes,
        facts={"p": p, "runs": runs, "topics": topics, "least_residual": least},
    )


def _digits(value: float) -> int:
    """Decimal places, 4 or more, such that two figures of the value are seen."""
    return max(4, 1 - int(np.floor(np.log10(value)))) if value > 0 else 4


def _residual(value: float) -> str:
    """A residual as people read it: four places, or as 2.0e-10 where these would show nothing."""
    return f"{value:.4f}" if value == 0 or value >= LEAST_SHOWN else f"{value:.1e}"


def run_table(foresight: Foresight) -> Table:
    """One row a run: how far the pool covers it, and what pooling it would add."""
    contributors = foresight.contributors
    longest = max(foresight.shares.shape[1], COVERED[0])
    depths = [k for k in sorted({*COVERED, foresight.depth}) if k <= longest]
    residual = foresight.residuals[:, min(foresight.depth, foresight.residuals.shape[1] - 1)]
    return Table(
        [
            Column("run", list(foresight.runs)),
            Column("group", list(contributors.groups)),
            Column("kind", [kind or None for kind in contributors.kinds]),
            Column("pooled", ["yes" if own else "no" for own in contributors.contributing.tolist()]),
            *(Column(f"in pool@{k}", foresight.share_at(k).tolist(), digits=3) for k in depths),
            Column(f"RBP(p={foresight.p:g}) residual", residual.tolist(), digits=4),
            Column("would add", foresight.to_add.tolist()),
        ],
        facts=_summary_facts(foresight),
    )


def _summary_facts(foresight: Foresight) -> dict[str, Any]:
    """What json holds beside the runs."""
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
