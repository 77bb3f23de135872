"""Sentences of `sounding calibrate`: what was done, how to read it, and what to beware of."""

from __future__ import annotations

from collections.abc import Iterator

from sounding.calibrate.claims import CLAIMS
from sounding.calibrate.result import Calibration
from sounding.statistics.forecasts import SURE

BY_T = ("holds", "draws", "margin")  # claims that are about the paired t test
FEWEST = 5  # pairs of a bin that is drawn

HOW_TO_READ = (
    f"Sure of: share of the pairs with a chance of {SURE:g} or more, or with the label. Right: the share"
    " of these for which it came true; of all: the same of all pairs. AUC: how well a claim tells those"
    " for which it did from the others. ECE and Brier: how far chances are from what came true."
    " Intervals, 95%, resample runs. Unpooled: pairs with a run that did not contribute to the judgments"
    " that are left."
)


def notes(calibration: Calibration) -> list[str]:
    """What was done, and what the columns are."""
    asked = _claims(calibration)
    return [
        _truth(calibration),
        HOW_TO_READ,
        *_too_deep(calibration),
        *calibration.notes,
        *_other_test(calibration),
        *(f"{claim.name}: {claim.title}." for claim in CLAIMS.values() if claim.name in asked),
        f"{calibration.draws} draws, seed {calibration.seed}.",
    ]


def warnings(calibration: Calibration) -> list[str]:
    """What a reader of a format without notes should know."""
    return [_truth(calibration), *_too_deep(calibration), *_other_test(calibration)]


def _claims(calibration: Calibration) -> set[str]:
    return {score.claim for score in calibration.scores}


def _truth(calibration: Calibration) -> str:
    """What claims are held against, and what full judging means."""
    procedure = calibration.procedure
    how = "guessed from the judgments" if calibration.guessed else "as listed"
    return (
        f"Truth: all {calibration.judgments:,} judgments of {len(calibration.topics)} topics. Conclusions:"
        f" better, worse or not distinguished by the test {procedure.test} at {procedure.alpha:g}, each pair"
        f" by itself. Full judging, which holds and sign are about: {calibration.until.describe()}"
        f" ({calibration.contributing} of {len(calibration.runs)} runs contribute, {how})."
    )


def _too_deep(calibration: Calibration) -> Iterator[str]:
    """A warning where full judging means documents that the truth knows nothing of."""
    if calibration.never_judged:
        yield (
            f"Beware: of the {calibration.considered:,} documents that full judging means here,"
            f" {calibration.never_judged:,} were never judged and count as not relevant in the truth, so that"
            " holds and sign expect more than comes; make --until no deeper than the pool was."
        )


def _other_test(calibration: Calibration) -> Iterator[str]:
    """A warning where chances are those of another test than the one behind conclusions."""
    asked, test = _claims(calibration), calibration.procedure.test
    named = [name for name in BY_T if name in asked]
    if named and test != "t":
        yield (
            f"Beware: {', '.join(named)} go by the t of a paired t test; held against conclusions of the test"
            f" {test} they also err where the two tests differ."
        )


def table_title(measure: str, scenario: str, repeats: int, budget: str, judgments: int) -> str:
    """What was hidden how often, and how many judgments are left of all."""
    times = f", {repeats} times" if repeats > 1 else ""
    return f"{measure}, {scenario}{times}: {budget} of {judgments:,} judgments"


def chart_note(chart: object) -> str:
    """Where the chart is, and what it leaves out."""
    return f"chart: {chart} (bins of fewer than {FEWEST} pairs are left out)"
