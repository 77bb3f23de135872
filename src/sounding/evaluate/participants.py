"""A file for each participant: the values of its runs by topic, beside best, median and worst of all runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.files import write_file
from sounding.core.text import natural_places
from sounding.data.run_info import RunInfo, groups_of, listed_rows
from sounding.evaluate.result import Scores

COLUMNS = ("run", "measure", "topic", "value", "best", "median", "worst")
ALL = "all"  # the topic of the summary, as trec_eval calls it


def write_participant_files(scores: Scores, folder: Path, info: Mapping[str, RunInfo] | None) -> list[Path]:
    """Write a table of tab-separated values for each group, or for each run where no groups are known."""
    groups = groups_of(scores.runs, listed_rows(scores.runs, scores.tags, info or {}))
    members: dict[str, list[int]] = {}
    for run, group in enumerate(groups):
        members.setdefault(group, []).append(run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"--participant-files {folder}: {error.strerror or error}") from error
    rows = _rows_by_run(scores)
    paths = [folder / f"{name}.tsv" for name in _file_names(list(members))]
    for path, runs in zip(paths, members.values(), strict=True):
        lines = ["\t".join(COLUMNS), *(line for run in runs for line in rows[run])]
        write_file(path, ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    return paths


def _rows_by_run(scores: Scores) -> list[list[str]]:
    """Return the lines of each run: every measure that gives numbers, topic by topic, then its summary."""
    order = natural_places(scores.topics)
    topics = [*(scores.topics[place] for place in order), ALL]
    means = scores.mean()
    rows: list[list[str]] = [[] for _ in scores.runs]
    for number, measure in enumerate(scores.measures):
        if measure.definition.aggregate == "text":
            continue
        table = np.column_stack([scores.values[:, number][:, order], means[:, number]])
        others = [_column(found) for found in _spread(table)]
        for run, name in enumerate(scores.runs):
            own = _column(table[run])
            rows[run] += map("\t".join, zip([name] * len(topics), [str(measure)] * len(topics), topics, own,
                                            *others, strict=True))  # fmt: skip
    return rows


def _spread(table: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the best, median and worst value of each column; NaN where no run has one."""
    known = ~np.isnan(table).all(axis=0)
    spread = np.full((3, table.shape[1]), np.nan)
    table = table[:, known]
    spread[:, known] = np.nanmax(table, axis=0), np.nanmedian(table, axis=0), np.nanmin(table, axis=0)
    return list(spread)


def _column(values: NDArray[np.float64]) -> list[str]:
    return ["" if value != value else f"{value:.4f}" for value in values.tolist()]


def _file_names(names: Sequence[str]) -> list[str]:
    """Return a name for the file of each participant, no two alike on any system."""
    made: list[str] = []
    seen: set[str] = set()
    for name in names:
        plain = re.sub(r"[^\w.+-]+", "_", name).lstrip(".") or "_"
        number, chosen = 1, plain
        while chosen.lower() in seen:
            number += 1
            chosen = f"{plain}-{number}"
        seen.add(chosen.lower())
        made.append(chosen)
    return made
