"""track(): keep the values of runs at a commit, and return the whole history."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, FormatError, SoundingError
from sounding.core.lazy import polars
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.workers import Progress
from sounding.data.fast.tokens import refuse_stray_bytes
from sounding.data.formats import read_qrels
from sounding.data.tables import Qrels
from sounding.evaluate.evaluation import DEFAULT_MEASURES, evaluate
from sounding.evaluate.result import Scores
from sounding.measures import Measure, parse_measures
from sounding.measures.paired import pairwise
from sounding.measures.registry import needs_intents
from sounding.measures.summaries import check_comparable
from sounding.track.commits import Commit, identify
from sounding.track.history import COLUMNS, EXPECTED, add_rows, check_name, read_rows
from sounding.track.result import ABSENT, History

DIGITS = 16  # of the digest of judgments: enough for no two to be equal by chance


def track(
    history: str | Path,
    qrels: Any = None,
    runs: Any = None,
    measures: Any = None,
    *,
    commit: str | None = None,
    time: str | None = None,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> History:
    """Evaluate runs, keep their values under a commit in a history file, and return the history.

    The history is a Parquet or SQLite file, which is made if it does not exist. Qrels, runs and measures are
    what `evaluate` takes. Without qrels and runs nothing is added. `commit` names the state of the software;
    None: the commit that git has checked out in the current folder. `time` is an ISO 8601 time, by which
    commits are ordered; None: that of the commit, or now. Values of the same commit, run and measure are
    replaced. With `measures`, the history is returned for these only. Several processes may write to one
    history.
    """
    path = Path(history)
    check_name(path)
    wanted = None if measures is None else parse_measures(measures)
    if (qrels is None) != (runs is None):
        raise DataError("give qrels and runs to add values, or neither to read the history")
    if qrels is None:
        rows = read_rows(path)
    else:
        asked = parse_measures(DEFAULT_MEASURES) if wanted is None else wanted
        check_comparable(asked, policies)
        if direct := pairwise(asked):
            raise DataError(
                f"{direct[0]} depends on the other runs, so it tracks no single one; leave it out"
            )
        at = identify(commit, time, path)
        judgments = read_qrels(
            qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional,
            intents=needs_intents(asked),
        )  # fmt: skip
        scores = evaluate(
            judgments, runs, asked, policies=policies, run_format=run_format, jobs=jobs, progress=progress
        )
        rows = add_rows(path, _rows_of(scores, at, judgments))
    whole = _history_of(rows, str(path))
    return whole if wanted is None else whole.of_measures(_known(wanted, whole))


def _known(wanted: Sequence[Measure], history: History) -> list[Measure]:
    """Return the measures that the history has; raise an error for another."""
    for measure in wanted:
        if measure not in history.measures:
            known = ", ".join(map(str, history.measures)) or "none"
            raise DataError(f"{history.source}: no values of {measure}; this history has {known}")
    return list(wanted)


def _rows_of(scores: Scores, at: Commit, qrels: Qrels) -> polars.DataFrame:
    """Return the values of an evaluation as rows of a history."""
    frame = scores.frame.select("run", "measure", "topic", polars.col("value").fill_nan(None))
    refuse_stray_bytes([at.name], "commit")
    texts = {
        "commit": at.name, "time": at.time, "qrels": _digest(qrels), "policies": scores.policies.changed()
    }  # fmt: skip
    named = {name: polars.lit(text) for name, text in texts.items()}
    judged = polars.Series(scores.judged.ravel()).fill_nan(None)
    return frame.with_columns(**named, judged=judged).select(COLUMNS)


def _digest(qrels: Qrels) -> str:
    """Return a text that changes with the judgments, but not with their order."""
    keys = qrels.pair_keys()
    order = np.lexsort((qrels.grades, keys))
    content = keys[order].astype("<u8").tobytes() + qrels.grades[order].astype("<f8").tobytes()
    return hashlib.blake2b(content).hexdigest()[:DIGITS]


def _history_of(rows: polars.DataFrame, source: str) -> History:
    """Return rows as arrays; commits are in the order of their times, and then of their last rows."""
    if rows.is_empty():
        raise FormatError(source, None, f"no rows; {EXPECTED}")
    last = rows.with_row_index("row").group_by("commit").agg(polars.col("time", "row").max())
    commits = tuple(Commit(*row) for row in last.sort("time", "row").select("commit", "time").rows())
    measure_names = list(rows["measure"].unique(maintain_order=True))
    runs, topics = (sorted(rows[name].unique()) for name in ("run", "topic"))
    places = (
        _places(rows, "run", runs),
        _places(rows, "measure", measure_names),
        _places(rows, "commit", [commit.name for commit in commits]),
        _places(rows, "topic", topics),
    )
    shape = (len(runs), len(measure_names), len(commits), len(topics))
    values, judged = np.full(shape, np.nan), np.full(shape, np.nan)
    values[places] = rows["value"].to_numpy()
    judged[places] = rows["judged"].to_numpy()
    settings = np.full(shape[:3], ABSENT, np.int64)
    setting = rows.select(setting=polars.concat_str("qrels", "policies", separator="\n"))
    settings[places[:3]] = _places(setting, "setting", list(setting["setting"].unique()))
    return History(
        source=source, runs=tuple(runs), measures=_parsed(measure_names, source), commits=commits,
        topics=tuple(topics), values=values, judged=judged, settings=settings,
    )  # fmt: skip


def _places(rows: polars.DataFrame, column: str, names: Sequence[str]) -> NDArray[np.intp]:
    """(row,): Return the place of each row's text among the names."""
    codes = rows[column].replace_strict(names, range(len(names)), return_dtype=polars.Int64)
    return codes.to_numpy().astype(np.intp)


def _parsed(names: Sequence[str], source: str) -> tuple[Measure, ...]:
    try:
        return parse_measures(names)
    except SoundingError as error:
        raise FormatError(source, None, f"{error}; another version may have written this history") from error
