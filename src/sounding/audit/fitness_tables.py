"""Tables and sentences about the fitness of a machine's labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from sounding.audit.fitness import Fidelity, Fitness, JudgeFitness
from sounding.core.text import first_few, format_p, plural, quote
from sounding.render.tables import Column, Table
from sounding.statistics.assessor_agreement import Estimate

DIGITS = 3
NAMED = 3  # runs in a sentence
SHOWN = 5  # runs in a table


# -- sentences ---------------------------------------------------------------------------------------


def favored(fitness: Fitness, one: JudgeFitness) -> list[str]:
    """Return the runs that the judge significantly favors, the most favored first."""
    if one.favor is None:
        return []
    order = np.argsort(-one.favor.means, kind="stable").tolist()
    return [fitness.runs[run] for run in order if one.favor.p_adjusted[run] <= fitness.alpha]


def verdict(fitness: Fitness, one: JudgeFitness) -> str:
    """Say in one sentence what the labels of a judge are fit for."""
    name, first = f"Labels by {one.labels.judge}", one.fidelity[0]
    if not one.kappa.low > 0:
        return f"{name} are not fit for use: they agree with people no better than chance would."
    reasons = []
    if first.pairs and first.false > fitness.alpha * max(first.significant, 1):
        reasons.append(
            f"{first.false:,} of {plural(first.significant, 'significant pair')} by {first.measure}"
            f" {'is' if first.false == 1 else 'are'} false"
        )
    if runs := favored(fitness, one):
        reasons.append(f"they favor {first_few(runs, NAMED)}")
    values = (
        f"their {first.measure} values are off by {first.offset:+.{DIGITS}f} on average"
        if first.inside < (1 - fitness.alpha) * first.runs
        else ""
    )
    if reasons:
        listed = [*([values] if values else []), *reasons]
        return f"{name} are not fit to stand alone: {'; '.join(listed)}."
    if values:
        return (
            f"{name} are fit to rank these runs as far as {plural(one.documents, 'judgment')} can tell, but"
            f" {values}."
        )
    return f"Nothing speaks against labels by {one.labels.judge} on these topics."


def headline(fitness: Fitness) -> str:
    """Return the verdict on each judge."""
    return " ".join(verdict(fitness, one) for one in fitness.judges)


def notes(fitness: Fitness) -> list[str]:
    """Return what a reader should know, the most important first."""
    made = list(fitness.remarks)
    if fitness.sampled:
        made.append(
            "People judged a sample, so tau compares labels with estimates, whose errors lower it; false and"
            " lost pairs need topics that are judged whole."
        )
    made.append(
        "A run is favored if its documents get better labels than documents of other runs with the same"
        f" grade by people ({fitness.measure}; adjusted p: for all runs together). Runs whose documents are"
        " better than their grades can show look favored too: look at the documents."
    )
    made.append(
        "false: significant by labels, but not by people, or reversed; lost: significant by people only;"
        " inside: runs whose value by people is in the 95% interval computed from labels."
    )
    if any(one.favor is None for one in fitness.judges):
        made.append("Favor needs at least two runs and six topics.")
    return made


# -- tables for people -------------------------------------------------------------------------------


def fitness_tables(fitness: Fitness, top: int | None) -> list[Table]:
    """Return the tables of every judge."""
    made = []
    for one in fitness.judges:
        made += [_agreement(fitness, one), _confusion(one), _fidelity(one)]
        if one.favor is not None:
            made += [_favor(fitness, one, top or SHOWN), _checks(fitness, one)]
    return made


def _agreement(fitness: Fitness, one: JudgeFitness) -> Table:
    rows = {
        f"kappa (relevant: {fitness.level:g} and up)": one.kappa,
        "kappa of grades, squared weights": one.weighted,
        "same relevance": one.agreement,
        "mean label minus mean grade": one.bias,
    }
    return Table(
        [
            Column("agreement", list(rows)),
            Column("value", [own.value for own in rows.values()], digits=DIGITS),
            Column("95% over topics", [_interval(own.low, own.high) for own in rows.values()], right=True),
        ],
        title=f"{one.labels.described}: {plural(one.documents, 'judged document')}",
    )


def _interval(low: float, high: float) -> str:
    return "–" if np.isnan(low) else f"{low:.{DIGITS}f} to {high:.{DIGITS}f}"


def _confusion(one: JudgeFitness) -> Table:
    rows = one.confusion / np.maximum(one.confusion.sum(axis=1, keepdims=True), 1e-300)
    columns = [Column("people", [f"{grade:g}" for grade in one.scale], right=True)]
    columns += [
        Column(f"label {label:g}", rows[:, place].tolist(), percent=True)
        for place, label in enumerate(one.levels)
    ]
    counts = one.confusion.sum(axis=1)
    counted = np.isclose(counts.sum(), one.documents)  # otherwise a sample stands for more documents
    columns.append(
        Column("documents" if counted else "documents (estimate)", np.rint(counts).astype(int).tolist())
    )
    return Table(columns, title=f"How {one.labels.judge} labels documents of each grade")


def _fidelity(one: JudgeFitness) -> Table:
    rows = one.fidelity
    columns = [
        Column("measure", [str(row.measure) for row in rows]),
        Column("tau", [row.tau for row in rows], digits=DIGITS),
        Column("tau_ap", [row.tau_ap for row in rows], digits=DIGITS),
        Column("tau of best 10", [row.tau_best for row in rows], digits=DIGITS),
        Column("values off by", [f"{row.offset:+.{DIGITS}f}" for row in rows], right=True),
        Column("inside", [f"{row.inside} of {row.runs}" for row in rows], right=True),
    ]
    if any(row.pairs for row in rows):
        columns += [
            Column("significant", [row.significant for row in rows]),
            Column("false", [row.false for row in rows]),
            Column("reversed", [row.reversed for row in rows], optional=1),
            Column("lost", [row.lost for row in rows]),
        ]
    return Table(columns, title="The ranking by labels beside that by people")


def _favor(fitness: Fitness, one: JudgeFitness, top: int) -> Table:
    favor = one.favor
    if favor is None:  # pragma: no cover - the caller checked
        raise AssertionError
    order = np.lexsort((-favor.means, favor.p))[:top].tolist()
    return Table(
        [
            Column("run", [fitness.runs[run] for run in order]),
            Column("favored by", [f"{favor.means[run]:+.{DIGITS}f}" for run in order], right=True),
            Column(
                "95% over topics", [_interval(favor.low[run], favor.high[run]) for run in order], right=True
            ),
            Column("p", [format_p(float(favor.p[run])) for run in order], right=True),
            Column("adjusted p", [format_p(float(favor.p_adjusted[run])) for run in order], right=True),
        ],
        title=f"Runs that may be favored, by {fitness.measure}",
    )


def _checks(fitness: Fitness, one: JudgeFitness) -> Table:
    rows, run = one.checks, quote(fitness.runs[one.suspect])
    judged = any(not np.isnan(row.grade) for row in rows)
    columns = [
        Column("topic", [row.topic for row in rows]),
        Column("doc", [row.doc for row in rows]),
        Column("label", [f"{row.label:g}" for row in rows], right=True),
    ]
    if judged:
        columns.append(Column("people", [f"{row.grade:g}" for row in rows], right=True))
    what = "have judged again" if judged else "judge"
    return Table(columns, title=f"Documents to {what} next, to be sure about {run}")


# -- for programs ------------------------------------------------------------------------------------


def tidy(fitness: Fitness) -> Table:
    """Return one row for each judge and run, with everything else as facts."""
    cells: dict[str, list[Any]] = {
        name: [] for name in ("judge", "run", "favored", "low", "high", "p", "p_adjusted")
    }
    for one in fitness.judges:
        for number, run in enumerate(fitness.runs):
            own = one.favor
            cells["judge"].append(one.labels.judge)
            cells["run"].append(run)
            for name, column in (
                ("favored", None if own is None else own.means), ("low", None if own is None else own.low),
                ("high", None if own is None else own.high), ("p", None if own is None else own.p),
                ("p_adjusted", None if own is None else own.p_adjusted),
            ):  # fmt: skip
                cells[name].append(np.nan if column is None else float(column[number]))
    return Table([Column(name, own) for name, own in cells.items()], facts=facts(fitness), keys=2)


def facts(fitness: Fitness) -> dict[str, Any]:
    """Return what JSON holds beside the runs."""
    return {
        "collection": fitness.collection,
        "measures": [str(row.measure) for row in fitness.judges[0].fidelity],
        "policies": fitness.policies.changed(), "remarks": list(fitness.remarks),
        "topics": len(fitness.topics), "sampled": fitness.sampled, "measure": str(fitness.measure),
        "level": fitness.level, "alpha": fitness.alpha,
        "fitness": [_judge_facts(fitness, one) for one in fitness.judges],
    }  # fmt: skip


def _judge_facts(fitness: Fitness, one: JudgeFitness) -> dict[str, Any]:
    return {
        "judge": one.labels.judge, "described": one.labels.described, "verdict": verdict(fitness, one),
        "documents": one.documents, "kappa": _numbers(one.kappa), "weighted_kappa": _numbers(one.weighted),
        "agreement": _numbers(one.agreement), "bias": _numbers(one.bias),
        "grades": one.scale.tolist(), "labels": one.levels.tolist(), "confusion": one.confusion.tolist(),
        "favored": favored(fitness, one), "ranking": [_fidelity_facts(row) for row in one.fidelity],
        "check": [{"topic": row.topic, "doc": row.doc, "label": row.label} for row in one.checks],
    }  # fmt: skip


def _numbers(own: Estimate) -> dict[str, float | None]:
    return {
        name: None if np.isnan(value) else float(value)
        for name, value in (("value", own.value), ("low", own.low), ("high", own.high))
    }


def _fidelity_facts(row: Fidelity) -> dict[str, Any]:
    numbers: dict[str, Any] = {"measure": str(row.measure)}
    for name in ("tau", "tau_ap", "tau_best", "offset"):
        value = float(getattr(row, name))
        numbers[name] = None if np.isnan(value) else value
    names = ("inside", "runs", "pairs", "significant", "false", "reversed", "lost", "by_people")
    return {**numbers, **{name: getattr(row, name) for name in names}}
