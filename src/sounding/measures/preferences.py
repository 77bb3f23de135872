"""Measures of preferences: how many of the pairs in which one document was preferred are in the right order.

The measures of trec_eval's `-R prefs` and `-R qrels_prefs`. A judgment group is one person at one time; a
document is preferred to those of a lower level in its group. In preference files a group can have subgroups;
then only documents of one subgroup are compared, and one preference follows from others: a > b and b > c give
a > c. If documents have equal scores, trec_eval ranks them by ascending id here, and by descending id for all
other measures; so do these under the policy ties=trec.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.data.comparisons import closed
from sounding.measures.intents import intents_of
from sounding.measures.registry import measure
from sounding.measures.totals import share
from sounding.runs.ranking import Counts, Judgments, Ranking, Values

Mean = Literal["preference", "pair", "group", "balanced"]
Docs = Literal["all", "retrieved", "one"]
Flags = NDArray[np.bool_]


class _PreferenceCounts(NamedTuple):
    """Preferences by judgment group: in the right order, and all; by how many of the two were retrieved."""

    topic: Counts  # (group,)
    both_right: Values  # both retrieved
    both: Values
    one_right: Values  # only one retrieved: right if that is the preferred one
    one: Values
    none: Values  # neither retrieved
    relevant: Values  # documents of a level above 0
    relevant_found: Values
    others: Values  # documents of level 0
    others_found: Values


class _PartialGroup(NamedTuple):
    """One judgment group with subgroups: its documents, and which is preferred to which."""

    group: int
    judgment: Counts  # (document,)
    preferred: Flags  # (document, document) the first is preferred to the second
    relevant: Flags  # (document,)


@measure("Prefs", basis="recall", monotone=False)
def preference_share(run: Ranking, *, mean: Mean = "preference", docs: Docs = "all") -> Values:
    """Share of the preferences between two documents that the ranking has in the right order.

    A preference is right if the preferred document ranks higher, or alone was retrieved, and wrong if neither
    was. `docs` says which pairs count: 'all'; 'retrieved', only those with both retrieved; 'one', those with
    at least one. With `mean` 'preference' every preference counts alike (trec_eval's prefs_simp); with 'pair'
    every pair of documents, for which the share of the groups is taken (prefs_pair); with 'group' the result
    is the mean over judgment groups (prefs_avgjg). 'balanced' is that mean if each group has as many
    documents of level 0 as of other levels (prefs_avgjg_Rnonrel): the lowest in the ranking are left out, or
    some are added below all others.
    """
    if mean == "balanced":
        if docs == "one":
            raise DataError("Prefs: mean='balanced' goes with docs 'all' or 'retrieved'")
        return _balanced(run, docs)
    if mean == "pair":
        return _by_pair(run, docs)
    tally = _tally(run)
    right, possible = _counted(tally, docs)
    if mean == "preference":
        return share(run.total(tally.topic, right), run.total(tally.topic, possible))
    return share(run.total(tally.topic, share(right, possible)), _groups_by_topic(run.judgments))


@measure("NumPrefs", basis="count", monotone=False, bounds=(0.0, np.inf), aggregate="sum")
def count_preferences(run: Ranking) -> Values:
    """Number of preferences between two documents of the topic, retrieved or not."""
    tally = _tally(run)
    return run.total(tally.topic, _counted(tally, "all")[1])


@measure("NumPrefsRight", basis="count", monotone=False, bounds=(0.0, np.inf), aggregate="sum")
def count_right_preferences(run: Ranking, *, docs: Docs = "all") -> Values:
    """Number of preferences that the ranking has in the right order; see Prefs for `docs`."""
    tally = _tally(run)
    return run.total(tally.topic, _counted(tally, docs)[0])


def _counted(tally: _PreferenceCounts, docs: Docs) -> tuple[Values, Values]:
    """Return the preferences of each group that are right, and those that count."""
    if docs == "retrieved":
        return tally.both_right, tally.both
    known = tally.both + tally.one
    return tally.both_right + tally.one_right, known if docs == "one" else known + tally.none


# -- groups ----------------------------------------------------------------------------------------


def _entries(judgments: Judgments) -> tuple[Counts, Counts, Values]:
    """Return the judgment, the group and the level of each entry of a group without subgroups."""
    known = intents_of(judgments)
    judgment = np.repeat(np.arange(len(judgments.grades)), np.diff(known.starts))
    plain = known.grade >= 0
    if known.part is not None:
        several = _has_parts(known.intent, known.part)
        plain &= ~several[known.intent]
    return judgment[plain], known.intent[plain], known.grade[plain]


def _has_parts(group: Counts, part: Counts) -> Flags:
    """(group,): Return whether the group has several subgroups."""
    size = int(group.max(initial=-1)) + 1
    lowest, highest = np.full(size, len(part)), np.full(size, -1)
    np.minimum.at(lowest, group, part)
    np.maximum.at(highest, group, part)
    return highest > lowest


def _group_topics(judgments: Judgments) -> Counts:
    """(group,): Return the topic of each judgment group."""
    known = intents_of(judgments)
    topic = np.zeros(int(known.intent.max(initial=-1)) + 1, np.int64)
    topic[known.intent] = np.repeat(judgments.topic, np.diff(known.starts))
    return topic


def _groups_by_topic(judgments: Judgments) -> Counts:
    """(topic,): Return the number of judgment groups that judged something."""
    judged = np.unique(intents_of(judgments).intent)
    return np.bincount(_group_topics(judgments)[judged], minlength=len(judgments.topics))


def _partial_groups(judgments: Judgments) -> list[_PartialGroup]:
    """Return the groups with subgroups, with every preference that follows from theirs."""
    known = intents_of(judgments)

    def find() -> list[_PartialGroup]:
        if known.part is None:
            return []
        judgment = np.repeat(np.arange(len(judgments.grades)), np.diff(known.starts))
        found = []
        for group in _has_parts(known.intent, known.part).nonzero()[0].tolist():
            rows = ((known.intent == group) & (known.grade >= 0)).nonzero()[0]
            docs, doc = np.unique(judgment[rows], return_inverse=True)
            grade, part = known.grade[rows], known.part[rows]
            preferred = np.zeros((len(docs), len(docs)), np.bool_)
            first, second = ((part[:, None] == part) & (grade[:, None] > grade)).nonzero()
            preferred[doc[first], doc[second]] = True
            relevant = np.zeros(len(docs), np.bool_)
            relevant[doc[grade > 0]] = True
            preferred = closed(preferred)
            if preferred.diagonal().any():
                raise DataError("preferences: those of one group contradict each other")
            found.append(_PartialGroup(group, docs, preferred, relevant))
        return found

    found: list[_PartialGroup] = judgments.remember("partial groups", find)
    return found


# -- counting --------------------------------------------------------------------------------------


def _places(run: Ranking) -> Counts:
    """(judgment,): Return the rank of each judged document; below all, by id, those not retrieved."""
    judgments = run.judgments
    known = intents_of(judgments)
    place = np.full(len(judgments.grades), 1 << 40) - known.order
    place[np.asarray(run.judgment)] = run.rank
    return place


def _tally(run: Ranking) -> _PreferenceCounts:
    """Count the preferences of each group."""
    judgments = run.judgments
    topic = _group_topics(judgments)
    place = _places(run)
    tally = _tally_of_levels(judgments, place, topic, len(topic))
    for one in _partial_groups(judgments):
        _put(tally, one.group, one.preferred, one.relevant, place[one.judgment])
    return tally


def _tally_of_levels(judgments: Judgments, place: Counts, topic: Counts, groups: int) -> _PreferenceCounts:
    """Count the preferences of groups in which all documents of different levels are compared."""
    judgment, group, grade = _entries(judgments)
    order = np.lexsort((place[judgment], group))
    group, grade, place = group[order], grade[order], place[judgment][order]
    found = place < 1 << 30
    levels, code = np.unique(grade, return_inverse=True)
    table = np.zeros((groups, len(levels), 2))
    np.add.at(table, (group, code, found.astype(np.int64)), 1)
    above = np.cumsum(table[:, ::-1], axis=1)[:, ::-1] - table  # documents of higher levels
    here = found.astype(np.float64)
    right = np.zeros(groups)
    starts = np.searchsorted(group, np.arange(groups))
    for level in range(len(levels)):
        # Retrieved documents of higher levels that rank above each document of this one.
        higher = np.concatenate([[0.0], np.cumsum(here * (code > level))])
        mine = (found & (code == level)).nonzero()[0]
        right += np.bincount(group[mine], higher[mine] - higher[starts[group[mine]]], groups)
    missed, seen = table[:, :, 0], table[:, :, 1]
    one_right = (missed * above[:, :, 1]).sum(axis=1)
    zero = levels <= 0
    return _PreferenceCounts(
        topic=topic, both_right=right, both=(seen * above[:, :, 1]).sum(axis=1), one_right=one_right,
        one=one_right + (seen * above[:, :, 0]).sum(axis=1), none=(missed * above[:, :, 0]).sum(axis=1),
        relevant=table[:, ~zero].sum(axis=(1, 2)), relevant_found=seen[:, ~zero].sum(axis=1),
        others=table[:, zero].sum(axis=(1, 2)), others_found=seen[:, zero].sum(axis=1),
    )  # fmt: skip


def _put(tally: _PreferenceCounts, group: int, preferred: Flags, relevant: Flags, place: Counts) -> None:
    """Write the counts of one group with subgroups into the table."""
    found = place < 1 << 30
    better, worse = preferred.nonzero()
    both = found[better] & found[worse]
    one = found[better] ^ found[worse]
    tally.both_right[group] = (both & (place[better] < place[worse])).sum()
    tally.both[group] = both.sum()
    tally.one_right[group] = (one & found[better]).sum()
    tally.one[group] = one.sum()
    tally.none[group] = len(better) - both.sum() - one.sum()
    tally.relevant[group], tally.relevant_found[group] = relevant.sum(), (relevant & found).sum()
    tally.others[group], tally.others_found[group] = (~relevant).sum(), (~relevant & found).sum()


def _by_pair(run: Ranking, docs: Docs) -> Values:
    """Return the mean over pairs of documents of the share of their preferences that are right."""
    judgments, place = run.judgments, _places(run)
    topic = _group_topics(judgments)
    result = preference_share(run, docs=docs)
    several = (_groups_by_topic(judgments) > 1).nonzero()[0]
    judgment, group, grade = _entries(judgments)
    partial = _partial_groups(judgments)
    for number in several.tolist():
        first, end = judgments.starts[number], judgments.starts[number + 1]
        times = np.zeros((end - first, end - first))
        for one in (topic == number).nonzero()[0].tolist():
            rows = group == one
            inside, level = judgment[rows] - first, grade[rows]
            times[np.ix_(inside, inside)] += level[:, None] > level
        for whole in partial:
            if topic[whole.group] == number:
                inside = whole.judgment - first
                times[np.ix_(inside, inside)] += whole.preferred
        result[number] = _mean_over_pairs(times, place[first:end], docs)
    return result


def _mean_over_pairs(times: Values, place: Counts, docs: Docs) -> float:
    """Return the mean over the pairs of one topic, given how often each document was preferred."""
    order = np.argsort(place, kind="stable")
    times, found = times[np.ix_(order, order)], place[order] < 1 << 30
    upper, lower = np.triu_indices(len(order), 1)
    right, all_times = times[upper, lower], times[upper, lower] + times[lower, upper]
    counts = all_times > 0
    if docs != "all":
        counts &= found[upper] & found[lower] if docs == "retrieved" else found[upper] | found[lower]
    if not counts.any():
        return 0.0
    return float((np.where(found[upper], right, 0.0)[counts] / all_times[counts]).mean())


def _balanced(run: Ranking, docs: Docs) -> Values:
    """Return the mean over groups with as many documents of level 0 as of other levels, like trec_eval.

    Where trec_eval leaves some of level 0 out, it compares those that stay with all of that level too, as if
    these were preferred; so does this.
    """
    judgments, tally, place = run.judgments, _tally(run), _places(run)
    every = docs == "all"
    right, possible = _counted(tally, docs)
    relevant = tally.relevant if every else tally.relevant_found
    surplus = relevant - (tally.others if every else tally.others_found)
    right = right + np.maximum(surplus, 0) * tally.relevant_found
    possible = possible + np.maximum(surplus, 0) * tally.relevant
    judgment, group, grade = _entries(judgments)
    partial = {one.group: one for one in _partial_groups(judgments)}
    for number in (surplus < 0).nonzero()[0].tolist():
        if number in partial:
            one = partial[number]
            most = int(tally.relevant[number])
            right[number], possible[number] = _cut(one, place[one.judgment], most, every=every)
        else:
            rows = group == number
            kept = int(relevant[number])
            right[number], possible[number] = _first_of_zero(
                grade[rows], place[judgment[rows]], kept, every=every
            )
    judged = np.unique(
        intents_of(judgments).intent
    )  # trec_eval divides 0 by 0: a topic of such a group has 0
    with np.errstate(invalid="ignore"):
        values = run.total(tally.topic[judged], right[judged] / possible[judged])
    return np.nan_to_num(share(np.nan_to_num(values, nan=0.0), _groups_by_topic(judgments)))


def _first_of_zero(grade: Values, place: Counts, kept: int, *, every: bool) -> tuple[float, float]:
    """Count the preferences of a group if only the first documents of its lowest level count."""
    order = np.argsort(place, kind="stable")
    grade, found = grade[order], place[order] < 1 << 30
    if not every:
        grade, found = grade[found], found[found]
    lowest = grade == grade.min(initial=0)
    first = lowest & (np.cumsum(lowest) <= kept)
    above = np.arange(len(grade))[:, None] < np.arange(len(grade))
    pairs = (grade[:, None] > grade) & ~lowest[None, :] & ~lowest[:, None]
    pairs |= first[None, :]
    return float((pairs & above & found[:, None]).sum()), float(pairs.sum())


def _cut(one: _PartialGroup, place: Counts, most: int, *, every: bool) -> tuple[float, float]:
    """Count the preferences of a group with subgroups, without documents of level 0 after the first."""
    found = place < 1 << 30
    kept = found | every
    rank = np.argsort(np.argsort(place, kind="stable"))
    order = np.argsort(place, kind="stable")
    nth = np.empty(len(place), np.int64)
    nth[order] = np.cumsum(~one.relevant[order])
    kept &= one.relevant | (nth <= most)
    pairs = one.preferred & kept[:, None] & kept[None, :]
    return float((pairs & (rank[:, None] < rank) & found[:, None]).sum()), float(pairs.sum())
