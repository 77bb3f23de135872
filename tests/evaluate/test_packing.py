"""What is kept of a run comes back as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding import Policies, evaluate
from sounding.data.tables import Qrels, Run
from sounding.evaluate.packing import CHUNK, PackedRanking, PackedRankings, Shelf
from sounding.runs.align import align, prepare

GRADES = st.one_of(st.integers(0, 3), st.sampled_from([0.25, 255, 256, 70_000]))
TOPICS = st.sampled_from(["1", "2", "3"])
DOCS = st.integers(0, 400).map(str)


@given(
    st.dictionaries(TOPICS, st.dictionaries(DOCS, GRADES, min_size=1), min_size=1),
    st.dictionaries(TOPICS, st.dictionaries(DOCS, st.integers(-5, 5), min_size=1, max_size=300)),
)
def test_a_ranking_comes_back_as_it_was(
    grades: dict[str, dict[str, float]], scores: dict[str, dict[str, float]]
) -> None:
    judged = prepare(Qrels.from_dict(grades))
    ranking = align(Run.from_dict(scores, name="run"), judged)
    shelf = Shelf()
    again = PackedRankings([PackedRanking.of(ranking, shelf)] * 2, judged.judgments)
    assert len(again) == 2
    for name in ("topic", "rank", "grade", "retrieved", "missing"):
        for one in (again[0], again[:1][0]):
            was, now = getattr(ranking, name), getattr(one, name)
            assert was.dtype == now.dtype
            assert was.tolist() == now.tolist()
    assert again[1].judgments is judged.judgments


def test_ranks_and_grades_take_three_bytes_a_document() -> None:
    docs = {str(number): number % 4 for number in range(1000)}
    ranking = align(Run.from_dict({"1": docs}, name="run"), prepare(Qrels.from_dict({"1": docs})))
    packed = PackedRanking.of(ranking, Shelf())
    assert packed.rank.nbytes + packed.grade.nbytes == 3 * 1000


def test_what_stands_on_a_shelf_is_a_copy_and_none_writes_into_another() -> None:
    shelf = Shelf()
    arrays = [
        np.arange(number, dtype=kind) for number in (3, 0, 5) for kind in (np.uint8, np.float64, np.uint64)
    ]
    kept = [shelf.keep(array) for array in arrays]
    for array, copy in zip(arrays, kept, strict=True):
        assert copy.dtype == array.dtype
        assert copy.tolist() == array.tolist()
    kept[0][:] = 7
    assert arrays[0].tolist() == [0, 1, 2]
    assert all(copy.tolist() == array.tolist() for array, copy in zip(arrays[1:], kept[1:], strict=True))


def test_an_array_that_is_larger_than_a_shelf_gets_one_of_its_own() -> None:
    shelf = Shelf()
    small, large = shelf.keep(np.array([1, 2])), shelf.keep(np.full(CHUNK + 1, 5, np.uint8))
    assert small.tolist() == [1, 2]
    assert len(large) == CHUNK + 1
    assert large.min() == 5


@pytest.mark.parametrize("unjudged", ["bounds", "expected"])
def test_values_beside_the_unjudged_do_not_depend_on_how_many_processes_kept_them(unjudged: str) -> None:
    rng = np.random.default_rng(5)
    grades = {t: {str(d): int(rng.integers(0, 3)) for d in range(0, 60, 2)} for t in "123"}
    runs = {
        name: {t: {str(d): float(rng.integers(0, 9)) for d in rng.permutation(60)[:40]} for t in "123"}
        for name in ("a", "b", "c")
    }
    policies = Policies(unjudged=unjudged, draws=20)  # type: ignore[arg-type]
    one, two = (evaluate(grades, runs, ["AP", "nDCG@5"], policies=policies, jobs=jobs) for jobs in (1, 2))
    for name in one.beside():
        np.testing.assert_array_equal(one.beside()[name], two.beside()[name])
