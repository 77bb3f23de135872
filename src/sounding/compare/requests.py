"""Select the requested runs and pairs, and refuse those that cannot be compared."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import ChoiceError, DataError, expect
from sounding.core.text import plural
from sounding.data.finding import RunIndex, run_name, run_names
from sounding.data.formats import Place, quick_tag
from sounding.data.sources import STDIN
from sounding.data.tables import Run
from sounding.evaluate.result import FEW_TOPICS, Scores
from sounding.measures import Measure
from sounding.measures.summaries import check_comparable
from sounding.runs.pairs import Pairs, all_pairs, baseline_pairs


def check_request(scores: Scores, measures: Sequence[Measure]) -> None:
    """An error where there is too little to compare: runs, topics, numbers."""
    check_comparable(measures, scores.policies)
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
    *,
    focus: str | None = None,
    against: Sequence[str] = (),
) -> Pairs:
    """Return the pairs to compare, as (run_a, run_b).

    One pair as it is named; the run `focus` first, with each of `against` or all others; other runs first,
    with baselines second; or all pairs, better runs first. `sources` are the runs as they were given, in the
    order of the scores: files may be named as well.
    """
    check_named(baselines, pair)
    if focus is not None:
        return _focus_pairs(scores, measures, focus, against, sources)
    if pair is not None:
        if baselines:
            raise DataError("a pair and baselines do not go together: give one of the two")
        a, b = (find_run(scores, name, sources) for name in pair)
        if a == b:
            raise ChoiceError(f"run {pair[0]!r} against itself: name two different runs")
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


def _focus_pairs(
    scores: Scores, measures: Sequence[Measure], focus: str, against: Sequence[str], sources: Sequence[Any]
) -> Pairs:
    """Return the pairs of one run and others, the best of these first."""
    own = find_run(scores, focus, sources)
    order = scores.order([scores.measures.index(measures[0])])
    wanted = {find_run(scores, name, sources) for name in against} or set(order) - {own}
    if own in wanted:
        raise ChoiceError(f"run {focus!r} against itself: name other runs")
    return np.array([(own, other) for other in order if other in wanted], np.intp)


def check_named(baselines: Sequence[str], pair: tuple[str, str] | None) -> None:
    """Refuse names of runs that are no texts, and a pair that is none."""
    expect(baselines, (list, tuple), "baselines", "a list of names of runs")
    for name in baselines:
        expect(name, str, "baselines", "names of runs")
    if pair is not None:
        expect(pair, (list, tuple), "pair", "the names of two runs")
        if len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise DataError(f"pair {pair!r}: expected the names of two runs")


def find_run(scores: Scores, name: str, sources: Sequence[Any] = ()) -> int:
    """Return the place of a run: by its name, its tag or its file, with or without folders and extension."""
    return RunIndex(scores.runs, scores.tags, sources if len(sources) == len(scores.runs) else ()).place(name)


def check_names(names: Sequence[str], places: Sequence[Place], run_format: str | None = None) -> None:
    """Raise an error for a run that is not there, before any is evaluated.

    Where only reading the runs shows what they are called, it waits until then.
    """
    if not names or any(_unnamed(place) for place in places):
        return
    sources = [source for source, _ in places]
    runs = run_names([str(source) for source in sources], [_own_name(place) for place in places])
    unknown = [name for name in names if RunIndex(runs, (), sources).find(name) is None]
    tags = [quick_tag(source, run_format) for source in sources] if unknown else []
    if None not in tags:
        for name in unknown:
            RunIndex(runs, [tag or "" for tag in tags], sources).place(name)


def _unnamed(place: Place) -> bool:
    """Return whether a run must be read to know what it is called."""
    source, name = place
    return name is None and not (
        isinstance(source, Run) or (isinstance(source, str | Path) and str(source) != STDIN)
    )


def _own_name(place: Place) -> str:
    source, name = place
    return name or (source.name if isinstance(source, Run) else run_name(source))


def without_common_topics(scores: Scores, pairs: Pairs) -> NDArray[np.bool_]:
    """(pair,): no judged topic is in both runs; zeros on both sides would look like knowledge."""
    present = ~scores.missing
    both = present[pairs[:, 0]] & present[pairs[:, 1]]
    return np.count_nonzero(both, axis=1) == 0
