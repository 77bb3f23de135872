"""What follows from preferences: grades, contradictions, missing comparisons; each against brute force."""

from __future__ import annotations

import random
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

import sounding
from sounding.check.checking import check
from sounding.convert.converting import convert
from sounding.core.errors import FormatError
from sounding.data.comparisons import opinions, undecided
from sounding.data.formats import parse_preferences, read_qrels
from sounding.data.problems import Problems
from sounding.data.sources import read_content
from sounding.data.tables import Qrels

Row = tuple[str, str, str, str, int]  # topic, group, subgroup, document, level
Order = tuple[int, ...]  # (document,) level


def written(folder: Path, rows: list[Row]) -> Path:
    path = folder / "some.prefs"
    path.write_text("".join(f"{t} {g} {s} {d} {n}\n" for t, g, s, d, n in rows))
    return path


def parsed(path: Path) -> Qrels:
    problems = Problems(str(path))
    found = parse_preferences(read_content(path), problems)
    problems.refuse()
    return found


def weak_orders(documents: int) -> set[Order]:
    """Every way to rank documents with ties."""
    return {
        tuple(sorted(set(levels)).index(level) for level in levels)
        for levels in product(range(documents), repeat=documents)
    }


def drawn(rng: random.Random, *, people: int = 1) -> list[Row]:
    """Comparisons of two or three documents by people who each have one order in mind."""
    rows = []
    for person in range(people):
        truth = [rng.randint(0, 3) for _ in range(4)]
        for part in range(rng.randint(1, 4)):
            for doc in rng.sample(range(4), rng.choice([2, 2, 3])):
                rows.append(("t", f"p{person}", f"s{part}", f"d{doc}", truth[doc]))
    return rows


def test_missing_comparisons_are_those_of_the_best_strategy(tmp_path: Path) -> None:
    """The game of asking: the fewest comparisons after which some document is best in every order left."""
    orders = sorted(weak_orders(4))

    @cache
    def cost(left: frozenset[Order], docs: tuple[int, ...]) -> int:
        if any(all(order[doc] == max(order[d] for d in docs) for order in left) for doc in docs):
            return 0
        costs = []
        for a, b in combinations(docs, 2):
            parts = [
                frozenset(order for order in left if (order[a] > order[b]) - (order[a] < order[b]) == sign)
                for sign in (-1, 0, 1)
            ]
            if sum(map(bool, parts)) > 1:
                costs.append(1 + max(cost(part, docs) for part in parts if part))
        return min(costs)

    seen = set()
    for seed in range(40):
        rows = drawn(random.Random(seed))
        docs = tuple(sorted({int(doc[1]) for *_, doc, _ in rows}))
        [found] = undecided(parsed(written(tmp_path, rows)))
        said = [
            (int(a[3][1]), int(b[3][1]), (a[4] > b[4]) - (a[4] < b[4]))
            for a, b in product(rows, rows)
            if a[2] == b[2]
        ]
        left = frozenset(
            o for o in orders if all((o[a] > o[b]) - (o[a] < o[b]) == sign for a, b, sign in said)
        )
        assert found.missing == cost(left, docs)
        open_pairs = [
            (a, b) for a, b in combinations(docs, 2) if len({(o[a] > o[b]) - (o[a] < o[b]) for o in left}) > 1
        ]
        assert found.uncompared == len(open_pairs)
        seen.add(found.missing)
    assert seen >= {0, 1, 2}


def test_grades_keep_every_preference(tmp_path: Path) -> None:
    for seed in range(60):
        qrels = parsed(written(tmp_path, drawn(random.Random(seed), people=3)))
        for one in opinions(qrels):
            grades = one.grades(qrels.grades[one.rows])
            better, worse = one.preferred.nonzero()
            assert (grades[better] > grades[worse]).all()
            levels = np.full(len(one.docs), -np.inf)
            np.maximum.at(levels, one.doc, qrels.grades[one.rows])
            assert ((grades > 0) == (levels > 0)).all()


def test_qrels_survive_a_round_trip(tmp_path: Path) -> None:
    source = tmp_path / "qrels.txt"
    source.write_text("1 ann b 2\n1 ann a 0\n1 ben a 3\n2 ann c 1\n2 ann d -1\n")
    convert(source, tmp_path / "p.txt", to="prefs")
    assert check(tmp_path / "p.txt").kind == "preferences"
    done = convert(tmp_path / "p.txt", tmp_path / "again.txt", to="trec")
    assert "grades" in done.notes[0]
    assert sorted((tmp_path / "again.txt").read_text().splitlines()) == sorted(
        source.read_text().splitlines()
    )
    run = {"1": ["a", "b"], "2": ["d", "c"]}
    names = ["Prefs", "Prefs(mean='group')", "NumPrefsRight(docs='retrieved')", "Prefs(docs='one')"]
    as_qrels, as_prefs = (sounding.evaluate(tmp_path / name, run, names) for name in ("qrels.txt", "p.txt"))
    assert as_qrels.values.tolist() == as_prefs.values.tolist()


def test_preferences_as_written_come_back(tmp_path: Path) -> None:
    path = written(tmp_path, drawn(random.Random(3), people=2))
    convert(path, tmp_path / "same.txt", to="prefs")
    convert(path, tmp_path / "same.prefs")  # the suffix says it
    for name in ("same.txt", "same.prefs"):
        assert sorted((tmp_path / name).read_text().split("\n")) == sorted(path.read_text().split("\n"))


def test_grades_of_preferences_that_order_more_pairs_are_counted(tmp_path: Path) -> None:
    rows: list[Row] = [("1", "ann", "x", "a", 2), ("1", "ann", "x", "b", 1), ("1", "ann", "y", "c", 5),
                       ("1", "ann", "y", "d", 0)]  # fmt: skip
    done = convert(written(tmp_path, rows), tmp_path / "q.txt", to="trec")
    assert "3 pairs" in done.notes[0]  # a > c, a > d and b > d
    assert sorted((tmp_path / "q.txt").read_text().splitlines()) == [
        "1 ann a 2", "1 ann b 1", "1 ann c 1", "1 ann d 0",
    ]  # fmt: skip


@pytest.mark.parametrize("circle", [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]])
def test_a_contradiction_names_topic_person_and_circle(tmp_path: Path, circle: list[str]) -> None:
    rows: list[Row] = [("301", "bob", "0", "x", 2), ("301", "bob", "0", "a", 1)]
    for number, (better, worse) in enumerate(zip(circle, [*circle[1:], circle[0]], strict=True)):
        rows += [("301", "ann", f"c{number}", better, 2), ("301", "ann", f"c{number}", worse, 1)]
    with pytest.raises(FormatError) as caught:
        read_qrels(written(tmp_path, rows))
    text = str(caught.value)
    assert "301" in text
    assert "'ann'" in text
    assert ":3:" in text
    assert text.count(">") == len(circle)
    [problem] = check(tmp_path / "some.prefs").problems
    assert "'ann'" in problem.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.prefs", "301 ann c1 a 1\n301 ann c1 b\n301 ann c2 b x\n301 ann c2 a 1\n"),
        ("x.prefs", "301 ann c1 a\n301 ann c1 b\n301 ann c2 a\n"),
        ("x.qrels", "301 cat a 1\n301 car a none\n"),
    ],
)
def test_levels_that_are_no_numbers_are_refused_without_a_warning(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError):
        read_qrels(tmp_path / name, intents=True)


def test_numeric_ids_are_recognized(tmp_path: Path) -> None:
    rows: list[Row] = [("301", "1", "1", "101", 2), ("301", "1", "1", "102", 1), ("301", "1", "2", "103", 0)]
    named = [(t, g, s, f"d{d}", n) for t, g, s, d, n in rows]
    run = {"301": ["102", "101"]}
    scores = sounding.evaluate(written(tmp_path, rows), run, ["Prefs", "NumPrefs"])
    again = sounding.evaluate(written(tmp_path, named), {"301": ["d102", "d101"]}, ["Prefs", "NumPrefs"])
    assert scores.values.tolist() == again.values.tolist() == [[[0.0], [1.0]]]


@pytest.mark.parametrize("text", ["1 0 7 1 -1\n1 0 8 1 -1\n1 0 9 2 0\n", "1 11 1 2 0.5\n1 12 0 2 0.25\n",
                                  "1 11 1 2 1\n1 12 0 2 1\n"])  # fmt: skip
def test_samples_with_numeric_ids_are_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sample.txt"
    path.write_text(text)
    assert check(path).kind == "qrels"
    found = read_qrels(path)
    assert found.strata is not None or found.probabilities is not None


def test_compatibility_with_the_order_of_the_preferences(tmp_path: Path) -> None:
    """Levels hold within a comparison: a > b > c makes three grades, though each level is 2 or 1."""
    rows: list[Row] = [("1", "ann", "x", "a", 2), ("1", "ann", "x", "b", 1), ("1", "ann", "y", "b", 2),
                       ("1", "ann", "y", "c", 1)]  # fmt: skip
    qrels = {"1": {"a": 3, "b": 2, "c": 1}}
    for order in (["a", "b", "c"], ["b", "a", "c"], ["c", "x", "b"]):
        found = sounding.evaluate(written(tmp_path, rows), {"1": order}, ["Compat", "nDCG", "AP"])
        assert (
            found.values.tolist()
            == sounding.evaluate(qrels, {"1": order}, ["Compat", "nDCG", "AP"]).values.tolist()
        )


def test_the_majority_orders_documents_and_circles_tie(tmp_path: Path) -> None:
    def comparison(person: str, part: str, *docs: str) -> list[Row]:
        return [("1", person, part, doc, len(docs) - n) for n, doc in enumerate(docs)]

    rows = [*comparison("p", "1", "a", "b"), *comparison("q", "1", "a", "b"), *comparison("r", "1", "b", "a")]
    assert dict(zip("ab", read_qrels(written(tmp_path, rows)).grades.tolist(), strict=True)) == {
        "a": 2,
        "b": 1,
    }
    rows = [*comparison("p", "1", "a", "b"), *comparison("q", "1", "b", "c"), *comparison("r", "1", "c", "a")]
    assert read_qrels(written(tmp_path, rows)).grades.tolist() == [1, 1, 1]


def test_qrels_by_intent_are_usable(tmp_path: Path) -> None:
    path = tmp_path / "div.qrels"
    path.write_text("1 1 a 1\n1 2 a 1\n1 2 b 0\n")
    found = check(path)
    assert not found.problems
    assert found.by_intent
    with pytest.raises(FormatError, match="intent"):
        sounding.evaluate(path, {"1": ["a"]}, "AP")
    path.write_text("1 1 a 1\n1 1 a 1\n")
    assert check(path).problems


SUBTOPICS = "1 1 a 1\n1 2 a 1\n1 2 b 0\n2 1 c 1\n"


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_tables_of_subtopics_are_checked_like_trec_text(tmp_path: Path, name: str) -> None:
    source, table = tmp_path / "x.qrels", tmp_path / name
    source.write_text(SUBTOPICS)
    rows = [line.split() for line in SUBTOPICS.splitlines()]
    if name == "x.csv":
        table.write_text("topic,subtopic,doc,grade\n" + "".join(",".join(row) + "\n" for row in rows))
    elif name == "x.jsonl":
        table.write_text(
            "".join(
                f'{{"topic": "{t}", "subtopic": "{s}", "doc": "{d}", "grade": {g}}}\n' for t, s, d, g in rows
            )
        )
    else:
        convert(source, table)
    for found in (check(table), check(table, kind="qrels")):
        assert found.by_intent
        assert (found.kind, found.summary, found.problems) == ("qrels", check(source).summary, ())
    assert "2 topics with 3 intents" in found.summary
    with pytest.raises(FormatError, match="judged by another person" if name == "x.parquet" else "intent"):
        sounding.evaluate(table, {"1": ["a"]}, "AP")


@pytest.mark.parametrize(
    ("text", "by_intent"),
    [
        ("jaguar cat a 1\njaguar car b 1\njava island c 1\n", True),
        ("jaguar ann a 1\njaguar bob b 1\njava ann c 1\n", False),  # people judge several topics
        ("1 0.5 a 1\n1 1 b 1\n2 2 c 1\n", False),  # rounds of judging
        ("1 Q0 a 1\n1 Q0 b 1\n2 0 c 1\n", False),
        ("topic,intent,doc,grade\n1,1,a,1\n1,2,b,1\n2,1,c,1\n", True),
        ("topic,intent,doc,grade\n1,1,a,1\n1,1,b,1\n2,2,c,1\n", False),  # one in each topic
    ],
)
def test_intents_are_seen_although_no_document_is_judged_for_two(
    tmp_path: Path, text: str, by_intent: bool
) -> None:
    path = tmp_path / "some.qrels"
    path.write_text(text)
    found = check(path)
    assert (found.kind, found.by_intent, found.problems) == ("qrels", by_intent, ())
