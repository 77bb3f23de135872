"""Sentences about a calibration, beside the numbers that fill them."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

from sounding.calibrate.claims import CLAIMS
from sounding.calibrate.result import Calibration, ClaimScore
from sounding.core.text import plural, whole_percent
from sounding.statistics.forecasts import SURE

BY_T = ("holds", "draws", "margin")  # claims that are about the paired t test
FEW_REPEATS, ENOUGH_REPEATS = 20, 100  # of a drawn sample; every interval of a repeat errs with it
FEWEST = 5  # pairs of a bin that is drawn

HOW_TO_READ = (
    f"sure of: the share of pairs with a chance of {SURE:g} or more, or with the label. right: the share of"
    " these that came true. of all: the share of all pairs that came true. AUC: how well a claim separates"
    " right from wrong. ECE and Brier: the distance of the chances from the outcomes. 95% intervals resample"
    " runs. unpooled: pairs with a run that did not contribute to the remaining judgments."
)


def headline(calibration: Calibration) -> str:
    """Say how often statements of 95% were right, over all scenarios and measures."""
    stated = {name: _claimed(calibration, name) for name in (*STATED, *sorted(_claims(calibration)))}
    name, (count, right) = next(
        ((name, figures) for name, figures in stated.items() if figures[0]), ("", (0.0, 0.0))
    )
    if not name:
        return f"No claim was {100 * SURE:g}% certain of any pair, so nothing can be checked."
    scenarios = plural(len(calibration.repeats), "scenario")
    worst = min(
        (score for score in _scores(calibration, name)),
        key=lambda score: score.figures["share_right"].value,
    )
    frame = f"{round(count):,} statements of {name}, {scenarios}, {plural(len(calibration.runs), 'run')}"
    text = f"Statements of {100 * SURE:g}% were right {whole_percent(right / count)} of the time ({frame})."
    fewest = min(calibration.repeats[score.scenario] for score in _scores(calibration, name))
    if name.startswith("estimate") and fewest < FEW_REPEATS:
        return (
            f"{text} {plural(fewest, 'repeat')} {'proves' if fewest == 1 else 'prove'} nothing, because all"
            f" intervals of a repeat rest on one sample: use --repeats {ENOUGH_REPEATS}."
        )
    if len(_scores(calibration, name)) > 1:
        low = whole_percent(worst.figures["share_right"].value)
        text += f" Worst: {low} by {worst.measure} with {worst.scenario}."
    return text


STATED = ("holds", "sign", "mtc")  # claims that other commands print, the most prominent first


def _scores(calibration: Calibration, name: str) -> list[ClaimScore]:
    """Return the scores of a claim over all pairs that it was certain of some pairs in."""
    return [
        score
        for score in calibration.scores
        if (score.claim, score.part) == (name, "all")
        and score.figures["share_claimed"].value > 0
        and not isnan(score.figures["share_right"].value)
    ]


def _claimed(calibration: Calibration, name: str) -> tuple[float, float]:
    """Return how many pairs a claim was certain of, and of how many rightly."""
    counts = [
        (score.pairs * score.figures["share_claimed"].value, score.figures["share_right"].value)
        for score in _scores(calibration, name)
    ]
    return sum(count for count, _ in counts), sum(count * share for count, share in counts)


def notes(calibration: Calibration) -> list[str]:
    """Say what misleads, what the truth is, and what each claim says."""
    asked = _claims(calibration)
    return [
        *_too_deep(calibration),
        *calibration.notes,
        *_other_test(calibration),
        _truth(calibration),
        HOW_TO_READ,
        *(f"{claim.name}: {claim.title}." for claim in CLAIMS.values() if claim.name in asked),
        f"{calibration.draws} draws, seed {calibration.seed}.",
    ]


def _claims(calibration: Calibration) -> set[str]:
    return {score.claim for score in calibration.scores}


def _truth(calibration: Calibration) -> str:
    """Say what claims are compared with, and what full judging means."""
    if not _about_full_judging(calibration):
        return (
            f"Truth: all {calibration.judgments:,} judgments of {len(calibration.topics)} topics; other"
            " documents count as not relevant."
        )
    procedure = calibration.procedure
    how = "guessed from the judgments" if calibration.guessed else "as listed"
    return (
        f"Truth: all {calibration.judgments:,} judgments of {len(calibration.topics)} topics. Conclusions:"
        f" better, worse or not distinguished by the test {procedure.test} at {procedure.alpha:g}, each pair"
        f" by itself. Full judging, for holds and sign, means {calibration.until.describe()}"
        f" ({calibration.contributing} of {len(calibration.runs)} runs contribute, {how})."
    )


def _about_full_judging(calibration: Calibration) -> bool:
    """Return whether any claim is about more than the judgments at hand."""
    return bool({name for name in _claims(calibration) if not name.startswith("estimate")})


def _too_deep(calibration: Calibration) -> Iterator[str]:
    """Warn if full judging includes documents that nobody judged."""
    if calibration.never_judged and _about_full_judging(calibration):
        yield (
            f"Beware: {calibration.never_judged:,} of the {calibration.considered:,} documents of full"
            " judging were never judged and count as not relevant, so holds and sign expect too much. Make"
            " --until no deeper than the pool."
        )


def _other_test(calibration: Calibration) -> Iterator[str]:
    """Warn if the chances are those of another test than the conclusions."""
    asked, test = _claims(calibration), calibration.procedure.test
    named = [name for name in BY_T if name in asked]
    if named and test != "t":
        yield (
            f"Beware: {', '.join(named)} predict a paired t test; compared with the test {test} they also err"
            " where the two tests differ."
        )


def table_title(measure: str, scenario: str, repeats: int, budget: str, judgments: int) -> str:
    """Say what was hidden, how often, and how many judgments remain."""
    times = f", {repeats} times" if repeats > 1 else ""
    return f"{measure}, {scenario}{times}: {budget} of {judgments:,} judgments"


def chart_note(chart: object) -> str:
    """Say where the chart is, and what it leaves out."""
    return f"chart: {chart} (bins of fewer than {FEWEST} pairs are left out)"
