"""What was asked for: which runs, which pairs, and whether they can be compared at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.pairs import Pairs, all_pairs, baseline_pairs
from sounding.data.sources import plain_name, run_names
from sounding.data.tags import quick_tag
from sounding.errors import DataError, UnknownNameError
from sounding.measures import Measure
from sounding.policies import Policies
from sounding.scores import FEW_TOPICS, Scores
from sounding.wording import plural


def comparable(measures: Sequence[Measure]) -> tuple[tuple[Measure, ...], tuple[Measure, ...]]:
    """The measures that runs can be compared by, those with a mean over topics, and the others."""
    kept = tuple(measure for measure in measures if measure.definition.aggregate == "mean")
    return kept, tuple(measure for measure in measures if measure not in kept)


def check_choices(measures: Sequence[Measure], policies: Policies) -> None:
    """An error where runs cannot be compared by these measures, or under these policies."""
    if not measures:
        raise DataError("nothing to compare by: give at least one measure that is no count and no text")
    for measure in measures:
        if measure.definition.aggregate == "text":
            raise DataError(f"{measure} gives text, and runs are compared by numbers; leave it out")
        if measure.definition.aggregate == "geometric":
            raise DataError(
                f"{measure} is a geometric mean over topics, and tests compare arithmetic means of the"
                f" topics' values; use {measure.name.removeprefix('GM')}"
            )
        if measure.definition.aggregate != "mean":
            raise DataError(
                f"{measure} is a sum over topics, and tests compare means of the topics' values;"
                " use a measure that has a mean, such as AP or P@10"
            )
    if policies.unjudged == "expected":
        raise DataError(
            "unjudged expected: runs are compared by their values, not by what is expected of them;"
            " use unjudged nonrelevant, condensed or bounds"
        )


def check_request(scores: Scores, measures: Sequence[Measure]) -> None:
    """An error where there is too little to compare: runs, topics, numbers."""
    check_choices(measures, scores.policies)
    if len(scores.runs) < 2:
        raise DataError(f"one run, {scores.runs[0]!r}, and nothing to compare it with; give at least two")
    topics = len(scores.topics)
    if topics < 2:
        named = f", {scores.topics[0]!r}" if topics else ""
        raise DataError(
            f"{plural(topics, 'judged topic')}{named}: a comparison needs at least 2 topics,"
            f" and {FEW_TOPICS} to mean much"
        )


def chosen_pairs(
    scores: Scores,
    measures: Sequence[Measure],
    baselines: Sequence[str],
    pair: tuple[str, str] | None,
    sources: Sequence[Any] = (),
) -> Pairs:
    """One pair as it is named; runs against baselines, which stand second; or all, better runs first.

    `sources` are the runs as they were given, in the order of the scores: files may be named as well.
    """
    if pair is not None:
        if baselines:
            raise DataError("one pair, and baselines as well: give one of the two")
        a, b = (find_run(scores, name, sources) for name in pair)
        if a == b:
            raise DataError(f"run {pair[0]!r} against itself: name two different runs")
        return np.array([[a, b]], np.intp)
    order = scores.order([scores.measures.index(measures[0])])
    if baselines:
        # Measured from the best run down, so that rows come in that order.
        places = [order.index(find_run(scores, name, sources)) for name in baselines]
        if len(set(places)) == len(order):
            raise DataError(
                "every run is a baseline, and baselines are not compared with each other;"
                " give other runs as well, or --pair A B"
            )
        return np.array(order, np.intp)[baseline_pairs(len(order), places)]
    return np.array(order, np.intp)[all_pairs(len(order))]


def find_run(scores: Scores, name: str, sources: Sequence[Any] = ()) -> int:
    """The place of a run, by its name, by a tag that only it has, or by its file with or without folders."""
    return _place(name, scores.runs, scores.tags, sources)


def check_names(names: Sequence[str], sources: Sequence[Any], run_format: str | None = None) -> None:
    """An error for a run that is not there, before any is evaluated.

    Where only reading the runs shows what they are called, it waits until then.
    """
    tags = [quick_tag(source, run_format) for source in sources] if names else []
    known = [tag for tag in tags if tag is not None]
    if len(known) == len(tags):
        runs = run_names(sources, known)
        for name in names:
            _place(name, runs, known, sources)


def _place(name: str, runs: Sequence[str], tags: Sequence[str], sources: Sequence[Any]) -> int:
    if name in runs:
        return runs.index(name)
    if tags.count(name) == 1:
        return tags.index(name)
    files = [place for place, source in enumerate(sources) if name in _file_names(source)]
    if len(files) == 1 and len(sources) == len(runs):
        return files[0]
    raise UnknownNameError("run", name, runs)


def _file_names(source: Any) -> tuple[str, ...]:
    """What a file may be called: its path, its name, and its name without extension."""
    return (str(source), Path(source).name, plain_name(source)) if isinstance(source, str | Path) else ()


def without_common_topics(scores: Scores, pairs: Pairs) -> NDArray[np.bool_]:
    """(pair,): no judged topic is in both runs; zeros on both sides would look like knowledge."""
    present = ~scores.missing
    both = present[pairs[:, 0]] & present[pairs[:, 1]]
    return np.count_nonzero(both, axis=1) == 0
