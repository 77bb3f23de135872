"""Sentences of `sounding track`, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sounding.core.text import first_few, p_phrase, percent, plural
from sounding.track.result import ABSENT, Change, History

MOST_LISTED = 5  # commits or runs that a note names


def headline(history: History, changes: Sequence[Change], alpha: float) -> str:
    """Answer whether quality declined."""
    tested = [change for change in changes if not np.isnan(change.p_adjusted)]
    if not tested:
        return f"{_only_one(history, changes)}: there is no change to test."
    limits = {change.limit for change in tested}
    if all(limits):
        return f"No change could be significant: {next(iter(limits))}."
    moved = [change for change in tested if change.p_adjusted <= alpha]
    fallen = sorted((change for change in moved if change.fell), key=lambda change: change.difference)
    risen = len(moved) - len(fallen)
    rose = f" {plural(risen, 'mean')} rose significantly." if risen else ""
    if not fallen:
        return f"No decline is significant ({_means(tested)}).{rose}"
    worst = fallen[0]
    which = f"{worst.measure} of {worst.run}"
    which = f"{len(fallen)} of {_means(tested)}" if len(tested) > 1 else which
    most = f" significantly, most of all {worst.measure} of {worst.run}" if len(tested) > 1 else ""
    return (
        f"{which} declined{most} by {-worst.difference:.4f} since {worst.first.short} (adjusted p"
        f" {p_phrase(worst.p_adjusted)}){_how(worst, alpha)}.{rose}"
    )


def _only_one(history: History, changes: Sequence[Change]) -> str:
    if len(history.commits) == 1:
        return f"{history.source} holds one commit, {history.commits[0].short}"
    if all(change.commits == 1 for change in changes):
        return f"Only one of {plural(len(history.commits), 'commit')} can be compared"
    return "No two commits have two topics in common"


def _means(changes: Sequence[Change]) -> str:
    """Count means, and the commits that they go back."""
    most = max(change.commits for change in changes)
    return f"{plural(len(changes), 'mean')} over {plural(most, 'commit')}"


def _how(change: Change, alpha: float) -> str:
    """Say whether the decline was one step or a slow one."""
    step = change.step
    if step is None or change.commits == 2:
        return ""
    if step.p <= alpha:
        return f", with the largest step at {step.commit.short} ({step.difference:+.4f})"
    return "; no single commit changed it significantly"


def notes(history: History, changes: Sequence[Change], alpha: float) -> list[str]:
    """Return what a reader should know, the most important first."""
    return list(_notes(history, changes, alpha))


def _notes(history: History, changes: Sequence[Change], alpha: float) -> Iterator[str]:
    for change in changes:
        less_judged = change.judged_p <= alpha and change.judged_last < change.judged_first
        if change.p_adjusted <= alpha and change.fell and less_judged:
            yield (
                f"Missing judgments may explain the decline of {change.run} by {change.measure}: its"
                f" judged share fell from {percent(change.judged_first)} to {percent(change.judged_last)}."
            )
    broken = breaks(history)
    if broken:
        listed = first_few([history.commits[place].short for place in broken], MOST_LISTED)
        yield (
            f"The judgments or the policies changed at {listed}. Earlier values are not compared; evaluate"
            " those commits again, each with its own runs, to include them."
        )
    last = (history.settings[..., -1] != ABSENT).any(axis=1)
    gone = [run for run, there in zip(history.runs, last, strict=True) if not there]
    if gone:
        listed = first_few(gone, MOST_LISTED)
        yield f"Not evaluated at the last commit, {history.commits[-1].short}: {listed}."
    limits = {change.limit for change in changes if change.limit}
    if limits and not all(change.limit for change in changes):
        yield f"Some changes could not be significant: {next(iter(limits))}."


def breaks(history: History) -> list[int]:
    """Return the places of the commits at which some run's judgments or policies differ from those before."""
    found: set[int] = set()
    for settings in history.settings.reshape(-1, len(history.commits)):
        present = np.flatnonzero(settings != ABSENT)
        found |= set(present[1:][settings[present[1:]] != settings[present[:-1]]].tolist())
    return sorted(found)
