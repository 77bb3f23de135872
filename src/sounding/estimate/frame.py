"""The frame of an estimation: its documents, their labels, and how the judged ones were drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.core.text import plural
from sounding.data.labels import Labels
from sounding.data.tables import Qrels, Run
from sounding.estimate.calibration import Floats, Places
from sounding.estimate.estimators import Lists, Sample
from sounding.runs.align import align, apply_negative_policy, prepare

GREEDY = 0  # method in prels: chosen only by MTC, with a placeholder as probability
DRAW_A_SAMPLE = (
    "draw a sample with known probabilities (sounding pool --strategy for-estimate --budget N), or judge some"
    " topics whole"
)
FAR = 4.0  # warn if the sample implies a number of documents that is off by more standard deviations


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Frame:
    """All documents that have a label or could have been drawn."""

    table: Qrels  # row i is document i; its grade is i
    labels: Floats  # (judge, document); NaN: no label
    listed: NDArray[np.bool_]  # (document,) False: others like it may exist that were not drawn
    sample: Sample
    grades: Floats  # (judged,)
    judgments: Qrels  # people's judgments of the sample
    remarks: tuple[str, ...]
    # Topics that people judged whole, and all labeled topics (numbers); None: documents were sampled
    whole: tuple[Places, Places] | None = None

    @property
    def size(self) -> int:
        """The number of documents."""
        return len(self.table.docs)


def build_frame(qrels: Qrels, labels: Sequence[Labels], policies: Policies) -> Frame:
    """Match judgments with labels, and find the probability with which each judged document was drawn."""
    remarks: list[str] = []
    grades = apply_negative_policy(qrels.grades, policies.negative)
    usable = np.ones(len(grades), np.bool_)
    if qrels.methods is not None and qrels.probabilities is not None:
        greedy = (qrels.methods == GREEDY) & (grades >= 0)
        if greedy.any():
            remarks.append(
                f"{plural(int(greedy.sum()), 'judgment')} chosen greedily (method 0 of prels) cannot be used:"
                " their probability of being chosen is unknown."
            )
        usable = ~greedy
    drawn = (grades >= 0) & usable
    if not (grades >= 0).any():
        raise DataError(
            f"{qrels.source}: no document has a grade yet; replace the -1 of the judged documents with grades"
        )
    if not drawn.any():
        raise DataError(
            f"{qrels.source}: every judgment was chosen greedily (by MTC or the like), so no probability of"
            f" being chosen is known; {DRAW_A_SAMPLE}"
        )
    topics = np.repeat(np.array(qrels.topics, object), qrels.sizes).tolist()
    own = list(zip(topics, qrels.docs.texts(), strict=True))
    tables = [pairs_of(one.table) for one in labels]
    place: dict[tuple[str, str], int] = {}
    for pair in [*own, *(pair for table in tables for pair in table)]:
        place.setdefault(pair, len(place))
    pairs = list(place)
    table = Qrels.from_columns(
        [topic for topic, _ in pairs], [doc for _, doc in pairs], np.arange(len(pairs)), source=qrels.source
    )
    row = np.empty(len(pairs), np.int64)  # table row of each pair
    row[table.grades.astype(np.int64)] = np.arange(len(pairs))
    said = np.full((len(labels), len(pairs)), np.nan)
    for number, (one, listed) in enumerate(zip(labels, tables, strict=True)):
        said[number, row[[place[pair] for pair in listed]]] = one.table.grades
    doc = row[[place[pair] for pair in own]]
    whole = None
    if qrels.probabilities is None and qrels.strata is None:
        known = ~np.isnan(said).all(axis=0) if len(said) else np.ones(len(pairs), np.bool_)
        whole = _whole_topics(qrels.source, table, doc[drawn], known, remarks)
        drawn[drawn] = np.isin(np.repeat(np.arange(len(table.topics)), table.sizes)[doc[drawn]], whole[0])
    chance, stratum = _chances(qrels, grades, drawn, whole, remarks)
    order = np.argsort(doc[drawn])
    sample = Sample(
        doc=doc[drawn][order], chance=chance[order], stratum=None if stratum is None else stratum[order]
    )
    # Files with probabilities list what was drawn, with strata the whole pool.
    complete = qrels.probabilities is None
    return Frame(
        listed=np.full(len(pairs), True) if complete else ~np.isnan(said).all(axis=0),
        table=replace(table, grades=np.arange(len(pairs), dtype=np.float64)), labels=said, sample=sample,
        grades=grades[drawn][order], judgments=qrels.keep(drawn), remarks=tuple(remarks),
        whole=whole,
    )  # fmt: skip


def pairs_of(table: Qrels) -> list[tuple[str, str]]:
    """Return topic and doc id of each row."""
    topics = np.repeat(np.array(table.topics, object), table.sizes).tolist()
    return list(zip(topics, table.docs.texts(), strict=True))


def _whole_topics(
    source: str, table: Qrels, judged: Places, known: NDArray[np.bool_], remarks: list[str]
) -> tuple[Places, Places]:
    """Return the topics of which every document was judged, and the topics they were drawn from.

    `known` marks labeled documents. Topics that are judged in part are refused: nobody knows why the judged
    documents were chosen.
    """
    topic = np.repeat(np.arange(len(table.topics)), table.sizes)
    count = np.bincount(topic[judged], minlength=len(table.topics))
    labeled = np.bincount(topic[known], minlength=len(table.topics)) > 0
    whole = count == table.sizes
    if whole.all():
        return whole.nonzero()[0], whole.nonzero()[0]
    part = (count > 0) & ~whole
    if part.any() or not (whole & labeled).any():
        missing = int((table.sizes - count).sum())
        problem = (
            f"{source}: the judgments do not say with which probability each document was chosen, and"
            f" {plural(missing, 'labeled document')} of {len(table.docs):,} were not judged"
        )
        if whole.any() and part.any():
            first = int(part.nonzero()[0][0])
            raise DataError(
                f"{problem}; {plural(int(whole.sum()), 'topic')} {'is' if whole.sum() == 1 else 'are'} judged"
                f" whole and {int(part.sum()):,} in part (topic {table.topics[first]}: {count[first]:,} of"
                f" {table.sizes[first]:,} documents): judge the rest of these, or leave them out"
            )
        raise DataError(f"{problem}; {DRAW_A_SAMPLE}")
    if (whole & ~labeled).any():
        remarks.append(
            f"{plural(int((whole & ~labeled).sum()), 'judged topic')} without labels cannot be used."
        )
    return (whole & labeled).nonzero()[0], labeled.nonzero()[0]


def _chances(
    qrels: Qrels,
    grades: Floats,
    drawn: NDArray[np.bool_],
    whole: tuple[Places, Places] | None,
    remarks: list[str],
) -> tuple[Floats, NDArray[np.int64] | None]:
    """Return the probability of each judged document, and its stratum if sizes were fixed."""
    if qrels.probabilities is not None:
        chance = qrels.probabilities[drawn]
        left = int(np.count_nonzero(grades < 0))
        if left:
            chance = chance * (len(chance) / (len(chance) + left))
            remarks.append(
                f"{plural(left, 'sampled document')} {'is' if left == 1 else 'are'} not judged. The estimates"
                " are valid only if chance decided which: judge the rest of the sample to be sure."
            )
        return chance, None
    if qrels.strata is not None:
        topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
        _, number = np.unique(np.stack([topic, qrels.strata]), axis=1, return_inverse=True)
        sizes = np.bincount(number)
        own = number[drawn]
        _, compact = np.unique(own, return_inverse=True)
        return np.bincount(own, minlength=len(sizes))[own] / sizes[own], compact
    if whole is None:  # pragma: no cover - without probabilities or strata, topics are whole
        raise AssertionError
    return np.full(np.count_nonzero(drawn), len(whole[0]) / len(whole[1])), None


def remark_on_coverage(measure: object, documents: NDArray[np.int64], frame: Frame) -> str:
    """Warn if the sample seems not to come from all labeled documents on which a measure depends."""
    counted = np.zeros(frame.size, np.bool_)
    counted[documents] = True
    chance = frame.sample.chance[counted[frame.sample.doc] & frame.listed[frame.sample.doc]]
    total, deviation = (1 / chance).sum(), np.sqrt(((1 - chance) / chance**2).sum())
    size = int(np.count_nonzero(counted & frame.listed))
    if frame.sample.stratum is not None or abs(total - size) <= FAR * deviation + 0.5:
        return ""
    return (
        f"The judged sample represents about {total:,.0f} of the {size:,} labeled documents on which"
        f" {measure} depends: its estimates are valid only if each of them could be drawn."
    )


def lists_of(runs: Sequence[Run], frame: Frame, policies: Policies) -> tuple[Lists, Floats]:
    """Return the runs' documents in the frame, and (run,) the share of their first ten outside it."""
    prepared = prepare(frame.table, replace(policies, negative="trec"))
    parts = [align(run, prepared, policies) for run in runs]
    run = np.concatenate([np.full(len(part.rank), number) for number, part in enumerate(parts)])
    lists = Lists(
        runs=len(runs), topics=len(frame.table.topics), run=run,
        topic=np.concatenate([part.topic for part in parts]),
        rank=np.concatenate([part.rank for part in parts]),
        doc=np.concatenate([part.grade for part in parts]).astype(np.int64),
    )  # fmt: skip
    inside = np.array([np.count_nonzero(part.rank <= 10) for part in parts])
    looked = np.array([np.minimum(part.retrieved, 10).sum() for part in parts])
    return lists, 1 - inside / np.maximum(looked, 1)
