"""Preference measures: pair by pair in a slow reference; trec_eval's outputs are in tests/e2e."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

import sounding
from sounding.core.errors import DataError, FormatError
from sounding.measures import parse_measures
from sounding.measures.trec import trec_name

Row = tuple[str, str, str, str, int]  # topic, group, subgroup, document, level
Pairs = set[tuple[str, str]]  # the first is preferred to the second


def evaluated(
    folder: Path, rows: list[Row], rankings: dict[str, list[str]], names: list[str]
) -> list[list[float]]:
    """The values of each measure, topic by topic."""
    (folder / "prefs.txt").write_text("".join(f"{t} {g} {s} {d} {n}\n" for t, g, s, d, n in rows))
    lines = [f"{t} Q0 {d} {n} {-n} run\n" for t, docs in rankings.items() for n, d in enumerate(docs, 1)]
    (folder / "run.txt").write_text("".join(lines))
    return sounding.evaluate(folder / "prefs.txt", folder / "run.txt", names).values[0].T.tolist()


def preferences(rows: list[Row]) -> dict[str, Pairs]:
    """All preferences of each group of one topic, with those that follow from others."""
    found: dict[str, Pairs] = {}
    for (_, group, part, doc, level), (_, group_2, part_2, doc_2, level_2) in product(rows, rows):
        pairs = found.setdefault(group, set())
        if (group, part) == (group_2, part_2) and level > level_2:
            pairs.add((doc, doc_2))
    for pairs in found.values():
        while True:
            more = {(a, d) for (a, b), (c, d) in product(pairs, pairs) if b == c} - pairs
            if not more:
                break
            pairs |= more
    return found


def slow(rows: list[Row], ranking: list[str]) -> dict[str, float]:
    """The measures of one topic, preference by preference."""
    place = {doc: n for n, doc in enumerate(ranking)}
    groups = preferences(rows)
    values: dict[str, float] = {}
    for docs, least in (("all", 0), ("one", 1), ("retrieved", 2)):
        right, every = {}, {}
        for group, pairs in groups.items():
            counted = {(a, b) for a, b in pairs if (a in place) + (b in place) >= least}
            every[group] = counted
            right[group] = {(a, b) for a, b in counted if a in place and place[a] < place.get(b, 10**6)}
        total = sum(map(len, every.values()))
        inside = "" if docs == "all" else f"docs='{docs}'"
        values[f"Prefs({inside})"] = sum(map(len, right.values())) / total if total else 0.0
        means = [len(right[g]) / len(every[g]) if every[g] else 0.0 for g in groups]
        comma = "," if inside else ""
        values[f"Prefs(mean='group'{comma}{inside})"] = sum(means) / len(groups)
        compared = {frozenset(pair) for pairs in every.values() for pair in pairs}
        ratios = []
        for pair in compared:
            times = sum(
                (a, b) in pairs for pairs in every.values() for a, b in (tuple(pair), tuple(pair)[::-1])
            )
            hits = sum(
                (a, b) in pairs for pairs in right.values() for a, b in (tuple(pair), tuple(pair)[::-1])
            )
            ratios.append(hits / times)
        values[f"Prefs(mean='pair'{comma}{inside})"] = sum(ratios) / len(ratios) if ratios else 0.0
        values[f"NumPrefsRight({inside})"] = sum(map(len, right.values()))
    values["NumPrefs"] = sum(map(len, groups.values()))
    return values


def drawn(rng: random.Random, topic: str) -> tuple[list[Row], list[str]]:
    """Groups that contradict each other, each consistent in itself, with and without subgroups."""
    docs = [f"d{n}" for n in range(rng.randint(2, 9))]
    rows = []
    for group in range(rng.randint(1, 4)):
        level = {doc: rng.randint(0, 3) for doc in docs}
        for part in range(rng.choice([1, 1, 3])):
            some = rng.sample(docs, rng.randint(1, len(docs)))
            rows += [(topic, f"g{group}", f"s{part}", doc, level[doc]) for doc in some]
    rng.shuffle(rows)
    others = [*docs, "x", "y"]
    return rows, rng.sample(others, rng.randint(1, len(others)))


@pytest.mark.parametrize("seed", range(20))
def test_a_slow_reference_agrees(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    topics = {f"t{n}": drawn(rng, f"t{n}") for n in range(10)}
    names = list(slow(*topics["t0"]))
    rows = [row for own, _ in topics.values() for row in own]
    found = evaluated(tmp_path, rows, {topic: ranking for topic, (_, ranking) in topics.items()}, names)
    for (own, ranking), values in zip(topics.values(), found, strict=True):
        expected = slow(own, ranking)
        assert values == pytest.approx([expected[name] for name in names], abs=1e-12)


def test_the_example_of_trec_evals_format(tmp_path: Path) -> None:
    """Preferences follow from others within a group: a > b > c and b > d are five, not four."""
    rows: list[Row] = [
        ("q", "u", "1", "a", 3), ("q", "u", "1", "b", 2), ("q", "u", "1", "c", 1), ("q", "u", "2", "b", 5),
        ("q", "u", "2", "d", 4),
    ]  # fmt: skip
    [[number, share]] = evaluated(tmp_path, rows, {"q": ["d", "a", "c", "b"]}, ["NumPrefs", "Prefs"])
    assert (number, share) == (5, 2 / 5)  # a > b, a > c


def test_preferences_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    rows: list[Row] = [
        ("q", "u", "1", "a", 2), ("q", "u", "1", "b", 1), ("q", "u", "2", "b", 2), ("q", "u", "2", "a", 1),
    ]  # fmt: skip
    with pytest.raises(FormatError, match="contradict"):
        evaluated(tmp_path, rows, {"q": ["a"]}, ["Prefs"])


def test_tied_documents_follow_in_ascending_order_of_ids(tmp_path: Path) -> None:
    """As in trec_eval, whose other measures take them in descending order."""
    qrels = {"1": {"a": 1, "b": 0}}
    scores = sounding.evaluate(qrels, {"1": {"a": 1.0, "b": 1.0}}, ["Prefs", "RR"])
    assert scores.values[0, :, 0].tolist() == [1, 0.5]


def test_other_measures_take_grades_that_follow_from_the_preferences(tmp_path: Path) -> None:
    """y > x, and both are relevant to somebody: 2 and 1, whatever the level of x in a comparison of its own."""
    rows: list[Row] = [("q", "u", "a", "x", 0), ("q", "u", "a", "y", 1), ("q", "v", "a", "x", 2)]
    assert evaluated(tmp_path, rows, {"q": ["x", "z"]}, ["P@2", "nDCG@1", "NumRel"]) == [[0.5, 0.5, 2]]


def test_names_of_trec_eval_go_both_ways() -> None:
    found = parse_measures(["all_prefs"])
    assert [trec_name(measure) for measure in found][:7] == [
        "runid", "num_q", "prefs_num_prefs_poss", "prefs_num_prefs_ful", "prefs_num_prefs_ful_ret", "prefs_simp", "prefs_pair",
    ]  # fmt: skip
    assert len({trec_name(measure) for measure in found}) == len(found) == 16
    assert str(parse_measures(["prefs_avgjg_Rnonrel_ret"])[0]) == "Prefs(mean='balanced',docs='retrieved')"


def test_balanced_goes_with_groups() -> None:
    with pytest.raises(DataError, match="goes with"):
        sounding.evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["Prefs(mean='balanced',docs='one')"])
