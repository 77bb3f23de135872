"""What `sounding pool` lists and replays: the documents to judge, and judging that is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import click

from sounding.core.errors import DataError
from sounding.core.text import plural, whole_percent
from sounding.pool.asking import LINES, QRELS
from sounding.terminal.options import (
    PEOPLE,
    Options,
    progress_bar,
    remark,
    taken_judgments,
    write_tables,
    write_text,
)

if TYPE_CHECKING:
    from sounding.pool.depth_pool import Contributors
    from sounding.render.tables import Table
    from sounding.runs.ranking import Values
    from sounding.runs.retrieved import Retrieved
    from sounding.selection.strategies import Kind, Replay, SampleStrategy, Strategy

BATCH = 10  # documents of each topic in the first batch, where nobody says how many


def choose(pool: Retrieved, kind: Kind, options: Options) -> None:
    """Print what is to be judged."""
    import numpy as np

    from sounding.selection.strategies import in_batches, make_strategy

    given = _given(kind, options)
    options["facts"] |= {
        "strategy": kind.name, "parameters": {**kind.parameters, **given}, "seed": options["seed"],
    }  # fmt: skip
    grades = grades_of(pool, options)
    known = {document: float(grades[document]) for document in (~np.isnan(grades)).nonzero()[0].tolist()}
    say_pool(pool, options, len(known))
    if options["batches"]:
        strategy = in_batches(
            kind.name, pool, options["batches"], seed=options["seed"], before=known, **given
        )
    else:
        strategy = make_strategy(kind.name, pool, seed=options["seed"], **given)
        for document, grade in known.items():
            strategy.judge(document, grade)
    _list(pool, strategy, kind, len(known), options)


def _given(kind: Kind, options: Options) -> dict[str, Any]:
    """The parameters of a strategy that were given."""
    return {name: options[name] for name in kind.parameters if options.get(name) is not None}


def say_contributors(contributors: Contributors, options: Options) -> None:
    """Who contributes, and what does not fit together."""
    for text in contributors.remarks:
        remark(text, quiet=options["quiet"])
    count, every = int(contributors.contributing.sum()), len(contributors.contributing)
    remark(f"{count} of {every} runs contribute ({contributors.how})", quiet=options["quiet"])


def say_pool(pool: Retrieved, options: Options, judged: int = 0) -> None:
    """How large the pool is, and what it costs to judge what is not judged yet."""
    from sounding.pool.tables import hours

    topics = int((pool.lengths.max(axis=0) > 0).sum())
    size, depth, runs = int((pool.best_ranks() > 0).sum()), options["depth"], len(pool.runs)
    share = size / max(depth * runs * topics, 1)
    remark(
        f"pool: {plural(size, 'document')}, {whole_percent(share)} of {depth} x {plural(runs, 'run')}"
        f" x {plural(topics, 'topic')};"
        f" {hours(size - judged, options['seconds']):,.1f} hours at {options['seconds']:g} s a document"
        f"{f', {size - judged:,} left to judge' if judged else ''}",
        quiet=options["quiet"],
    )
    longest = int(pool.lengths.max(initial=0))
    if 0 < longest < depth:
        remark(
            f"the longest list ends at {longest:,}: a depth of {depth:,} brings no more",
            quiet=options["quiet"],
        )
    policies = ", ".join(f"{name} {options[name]}" for name in ("ties", "compat", "duplicates"))
    remark(f"policies: {policies}", quiet=options["quiet"])


def grades_of(pool: Retrieved, options: Options) -> Values:
    """(document,): its grade; NaN where it is not judged, or not in the pool."""
    import numpy as np

    from sounding.data.formats import read_qrels

    if options["qrels"] is None:
        return np.full(len(pool.docs), np.nan)
    policies = replace(options["policies"], fractional="accept")
    # Cut by the runs that made the judgments, as deep as those go: not by the pool that is asked for.
    whole, told, _ = taken_judgments(options["qrels"], options["files"], options, policies, options["listed"])
    if told is not None:
        remark(told, quiet=options["quiet"])
    qrels = read_qrels(
        whole, format=options["qrels_format"], duplicates=options["duplicates"], fractional="accept"
    )
    options["judged"] = int(np.count_nonzero(qrels.grades >= 0))
    grades = pool.grades(qrels)
    grades[pool.best_ranks() == 0] = np.nan
    return grades


def _list(pool: Retrieved, strategy: Strategy, kind: Kind, judged: int, options: Options) -> None:
    """The next documents: all of them, or one batch where the order follows the judgments."""
    from sounding.pool import tables as pool_tables

    count = options["budget"] or len(pool.docs)
    if options["batches"]:
        count = min(count, options["batches"] * len(pool.topics))
    elif kind.adaptive and not options["budget"]:
        count = BATCH * len(pool.topics)
    picks = strategy.next(count=count)
    if not picks and judged:
        raise DataError(
            f"nothing is left to judge: {options['qrels']} holds all {plural(judged, 'document')} of the"
            " pool; a greater --depth or more runs add documents, and --simulate replays the judgments"
        )
    if not options["batches"]:
        picks.sort(key=lambda pick: pick.document)  # by topic and doc id
    for text in _about_next(pool, kind, len(picks), judged, options):
        remark(text, quiet=options["quiet"])
    if options["format_name"] == LINES:
        write_text(pool_tables.lines(pool, picks), options["output"])
    elif options["format_name"] == QRELS:
        write_text(pool_tables.trec_lines(pool_tables.blank_table(pool, picks)), options["output"])
    else:
        write(pool_tables.pick_table(pool, picks), options)


def _about_next(pool: Retrieved, kind: Kind, picked: int, judged: int, options: Options) -> Iterator[str]:
    """How much there is to judge now, how much is done, and what to do with what is listed."""
    from sounding.pool.tables import hours

    size = int((pool.best_ranks() > 0).sum())
    if options["qrels"] is not None:
        yield f"judged already: {plural(judged, 'document')} of the pool"
    if judged or picked < size:
        yield f"to judge now: {plural(picked, 'document')}, {hours(picked, options['seconds']):,.1f} hours"
    if kind.adaptive and picked:
        yield f"{kind.name} follows the judgments: judge these, and come back with --qrels"
    if kind.sampled and judged == 0:
        yield "when they are judged, this command with --qrels JUDGED --simulate -o FILE.tsv makes the qrels"
    if options["format_name"] == QRELS:
        yield "qrels to fill in: put the grade of each document in place of -1"


def simulate(pool: Retrieved, kinds: Sequence[Kind], options: Options) -> None:
    """What strategies would have found: a table for people, the documents of one for programs."""
    import numpy as np

    if len(kinds) > 1 and options["format_name"] == QRELS:
        raise click.UsageError("qrels hold what one strategy had judged; name one, or write a table")
    say_pool(pool, options)
    grades = grades_of(pool, options)
    if np.isnan(grades).all():
        raise DataError(f"{options['qrels']}: no document of the pool is judged; nothing to replay")
    steps = int((pool.best_ranks() > 0).sum())
    made = {kind.name: _made(kind, pool, options) for kind in kinds}
    found = {name: _replayed(strategy, name, grades, steps, options) for name, strategy in made.items()}
    parameters = {kind.name: {**kind.parameters, **_given(kind, options)} for kind in kinds}
    options["facts"] |= {
        "strategy": ",".join(found), "seed": options["seed"],
        "parameters": parameters if len(kinds) > 1 else parameters[kinds[0].name],
    }  # fmt: skip
    if len(kinds) == 1 and kinds[0].sampled:
        _say_sample(found[kinds[0].name], options)
    elif options["format_name"] not in PEOPLE:  # tables for people have it in a note
        _say_unknown(found, options)
    if len(kinds) == 1 and options["format_name"] not in PEOPLE:
        _write_judged(pool, kinds[0], made[kinds[0].name], found[kinds[0].name], options)
    else:
        _write_found(found, steps, options)
    if options["chart"] is not None:
        from sounding.pool.charts import relevant_by_judgments
        from sounding.pool.tables import found_frame
        from sounding.render.save import save

        save(relevant_by_judgments(found_frame(found)), options["chart"])
        remark(f"chart: {options['chart']}", quiet=options["quiet"])


def _made(kind: Kind, pool: Retrieved, options: Options) -> Strategy:
    """The strategy, in batches where they are asked for."""
    from sounding.selection.strategies import in_batches, make_strategy

    given = _given(kind, options)
    if options["batches"]:
        return in_batches(kind.name, pool, options["batches"], seed=options["seed"], **given)
    return make_strategy(kind.name, pool, seed=options["seed"], **given)


def _write_judged(pool: Retrieved, kind: Kind, strategy: Strategy, found: Replay, options: Options) -> None:
    """For programs: the documents that one strategy had judged."""
    from sounding.pool import tables as pool_tables

    table = (
        pool_tables.sampled_table(pool, found, cast("SampleStrategy", strategy))
        if kind.sampled
        else pool_tables.judged_table(pool, found)
    )
    if options["format_name"] == QRELS:
        write_text(pool_tables.trec_lines(table), options["output"])
    else:
        write(table, options)


def _write_found(found: Mapping[str, Replay], steps: int, options: Options) -> None:
    """How much one strategy found after how many judgments, or several side by side."""
    from sounding.pool.tables import comparison_table, replay_table

    first, *others = found.values()
    write(comparison_table(found, steps) if others else replay_table(first, steps), options)


def _replayed(strategy: Strategy, name: str, grades: Values, steps: int, options: Options) -> Replay:
    """The replay of one strategy."""
    from sounding.selection.strategies import replay

    with progress_bar(
        min(steps, options["budget"] or steps), quiet=options["quiet"], label=f"judging by {name}"
    ) as progress:
        return replay(
            strategy, grades, budget=options["budget"], progress=progress,
            level=1.0 if options["level"] is None else options["level"],
        )  # fmt: skip


def _say_unknown(found: Mapping[str, Replay], options: Options) -> None:
    """How many documents were judged by nobody, and what they count for."""
    from sounding.pool.tables import unknown

    lacking, judged = unknown(found), max(len(one.picks) for one in found.values())
    if lacking:
        grade = f"; {'it has' if lacking == 1 else 'they have'} grade -1" if len(found) == 1 else ""
        remark(
            f"{lacking:,} of {plural(judged, 'document')} not in the judgments: counted as not"
            f" relevant{grade}",
            quiet=options["quiet"],
        )


def _say_sample(found: Replay, options: Options) -> None:
    """What a sample and the judgments do not share: judged in vain, or drawn otherwise."""
    import numpy as np

    size, known = len(found.picks), int(np.count_nonzero(~np.isnan(found.grades)))
    if known < size:
        weighted = any(pick.stratum is None for pick in found.picks)
        what = (
            "left out, with the chances of the others of their topic lowered to match"
            if weighted
            else "counted as not drawn"
        )
        remark(
            f"{size - known:,} of the {plural(size, 'document')} of the sample are unjudged: they are {what};"
            " estimates are right only if chance left them unjudged",
            quiet=options["quiet"],
        )
    lost = len({pick.topic for pick in found.picks}) - len(
        {pick.topic for pick, grade in zip(found.picks, found.grades, strict=True) if not np.isnan(grade)}
    )
    if lost:
        remark(
            f"{plural(lost, 'topic')} of the sample without a judgment: no estimate for"
            f" {'them' if lost > 1 else 'it'}",
            quiet=options["quiet"],
        )
    others = options["judged"] - known
    if others:
        remark(
            f"{plural(others, 'judged document')} {'are' if others > 1 else 'is'} not of this sample and left"
            " out: another seed, rate, depth or runs? (Right where more than the sample was judged.)",
            quiet=options["quiet"],
        )


def write(table: Table, options: Options) -> None:
    """Print a table or write it to a file; json says how it was made."""
    table = replace(table, facts={**options.get("facts", {}), **table.facts})
    if options["format_name"] == "tsv":
        from sounding.pool.tables import tab_separated

        write_text(tab_separated(table), options["output"])
    else:
        write_tables([table], options["format_name"], options["output"])
