"""Define which measures can be estimated from sampled documents, and how they depend on gains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from sounding.core.errors import DataError
from sounding.core.text import plural
from sounding.estimate.calibration import Floats, Places
from sounding.measures import Measure
from sounding.measures.graded import DcgForm
from sounding.measures.utility import err_chance, rbp_gain, rbp_weight
from sounding.runs.ranking import Judgments

LINEAR = ("P", "RBP", "DCG", "SDCG")
MULTILINEAR = ("ERR",)
# Measures that the first documents decide have nearly normal means after 8 topics. Others depend on the
# number of relevant documents, which differs much between topics.
EARLY = ("P", "RBP", "DCG", "SDCG", "nDCG", "ERR", "RR", "Success")
EARLY_DEPTH = 20
FEW_TOPICS, MANY_TOPICS = 8, 20


class GainForm(NamedTuple):
    """A measure as weights of ranks and gains of grades."""

    kind: Literal["linear", "cascade"]
    depth: int | None  # documents below it do not count
    weight: Callable[[Places], Floats]  # of ranks from 1
    gain: Callable[[Floats], Floats]  # of grades


def fewest_topics(measure: Measure) -> tuple[int, int]:
    """Return how many topics must be judged whole for a valid interval, and how many must be left.

    The second matters if not all are judged: what is not known is the mean of the topics that are left.
    """
    early = measure.name in EARLY and (
        measure.name in ("RBP", "ERR", "RR") or (measure.k or 1000) <= EARLY_DEPTH
    )
    return (FEW_TOPICS, 1) if early else (MANY_TOPICS, MANY_TOPICS)


def topics_to_judge(measure: Measure, topics: int) -> int:
    """Return how many of these topics must be judged whole for a valid interval."""
    least, others = fewest_topics(measure)
    return least if least + others <= topics else topics


def has_form(measure: Measure) -> bool:
    """Return whether a measure can be estimated from a sample of documents."""
    asked = measure.get("judged_only") or measure.get("assessed")
    return measure.name in (*LINEAR, *MULTILINEAR) and not asked


def form_of(measure: Measure, judgments: Judgments, labeled: tuple[int, int] | None = None) -> GainForm:
    """Return the form of a measure; raise an error if no valid interval is known for it.

    `labeled` are the numbers of labeled topics and documents, from which the error says how many judgments
    another way takes.
    """
    k = measure.k
    get = measure.get
    if not has_form(measure):
        whole = f"at least {fewest_topics(measure)[0]} topics whole"
        if labeled is not None:
            topics = topics_to_judge(measure, labeled[0])
            which = f"all {labeled[0]} topics" if topics == labeled[0] else f"{topics} randomly chosen topics"
            whole = f"{which} whole (about {plural(round(labeled[1] / labeled[0] * topics), 'judgment')})"
        raise DataError(
            f"{measure}: no interval from sampled documents is known to be valid for this measure; use"
            f" {', '.join(LINEAR)} or {', '.join(MULTILINEAR)}, or judge {whole}"
        )
    if get("scale") == "topic":
        raise DataError(f"{measure}: scale='topic' depends on judgments not made; use scale='judgments'")
    if measure.name == "P":
        rel = get("rel")
        return GainForm(
            "linear", k, lambda rank: np.full(len(rank), 1 / (k or 1)), lambda g: 1.0 * (g >= rel)
        )
    arguments = measure.arguments
    if measure.name == "RBP":
        p = arguments["p"]
        kinds = arguments["rel"], arguments["gain"], arguments["gains"]
        return GainForm(
            "linear", k, lambda rank: rbp_weight(rank, p), lambda g: rbp_gain(judgments, g, *kinds)
        )
    if measure.name == "DCG":
        form = DcgForm(arguments["dcg"], arguments["gains"], arguments["rel"])
        return GainForm("linear", k, form.discount, form.gain)
    if measure.name == "SDCG":
        discount = DcgForm(arguments["dcg"]).discount
        total = discount(np.arange(1, (k or 1) + 1)).sum()
        least = arguments["min_rel"]
        best = judgments.highest if arguments["max_rel"] is None else arguments["max_rel"]
        return GainForm(
            "linear", k, lambda rank: discount(rank) / total,
            lambda g: (np.clip(g, least, best) - least) / (best - least),
        )  # fmt: skip
    chance = arguments["max_rel"], arguments["rel"], arguments["gain"], arguments["scale"]
    none = np.empty(0, np.int64)
    return GainForm("cascade", k, lambda rank: 1 / rank, lambda g: err_chance(judgments, none, g, *chance))
