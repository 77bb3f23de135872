"""Priors: what each says of unjudged documents, and how that stands beside the judgments of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.core.policies import Policies
from sounding.data.tables import Qrels, Run
from sounding.relevance.priors import Chances, Likelihood, Outside, chances, parse_prior, read_probabilities
from sounding.runs.align import Judged, align, prepare

QRELS = Qrels.from_dict(
    {
        "1": {"a": 1, "b": 0, "c": 2, "z": 1, "p": -1},
        "2": {"a": 0, "b": 0},
        "3": {"x": 1},
    }
)
RUN = Run.from_dict(
    {
        "2": {"u": 3.0, "a": 2.0},
        "1": {"v": 1.0, "a": 5.0, "u": 4.0, "p": 3.0, "c": 2.0},
        "9": {"nobody": 1.0},
    },
    name="run",
)


def fitted(prior: str, level: float = 1) -> tuple[Judged, Likelihood]:
    judged = prepare(QRELS)
    return judged, parse_prior(prior).fitted(judged, [align(RUN, judged)], level)


def chances_of(
    prior: str, *, level: float = 1, outside: list[int] | None = None, policies: Policies | None = None
) -> Chances:
    judged, likelihood = fitted(prior, level)
    policies = policies or Policies()
    counts = None if outside is None else np.array(outside)
    return chances(RUN, align(RUN, judged, policies), likelihood, outside=counts, policies=policies)


def outside_of(found: Chances) -> list[tuple[int, float, int]]:
    outside = found.outside
    return sorted(
        zip(outside.topic.tolist(), outside.probability.tolist(), outside.count.tolist(), strict=True)
    )


def test_every_retrieved_document_has_a_row_in_rank_order_and_judgments_are_certain() -> None:
    found = chances_of("0.3")
    # topic 1: a (1), u, p (pooled and not judged), c (2), v; topic 2: u, a (0); topic 3 has no documents
    assert found.topic.tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert found.rank.tolist() == [1, 2, 3, 4, 5, 1, 2]
    np.testing.assert_array_equal(found.grade, [1, np.nan, np.nan, 2, np.nan, np.nan, 0])
    assert found.probability.tolist() == [1, 0.3, 0.3, 1, 0.3, 0.3, 0]
    assert found.elsewhere.tolist() == [1, 0, 1]
    assert (found.prior, found.level) == ("0.3", 1)


def test_the_level_decides_which_judged_documents_are_relevant() -> None:
    found = chances_of("0.3", level=2)
    assert found.probability.tolist() == [0, 0.3, 0.3, 1, 0.3, 0.3, 0]
    assert found.elsewhere.tolist() == [0, 0, 0]


def test_outside_documents_are_as_many_as_is_said_and_as_likely_as_the_topic() -> None:
    found = chances_of("0.25", outside=[4, 0, 7])
    assert outside_of(found) == [(0, 0.25, 4), (2, 0.25, 7)]


def test_below_the_depth_nothing_was_retrieved() -> None:
    found = chances_of("0.5", policies=Policies(depth=1), outside=[2, 0, 0])
    assert found.rank.tolist() == [1, 1]
    assert found.elsewhere.tolist() == [2, 0, 1]
    assert outside_of(found) == [(0, 0.5, 2)]


@pytest.mark.parametrize("text", ["1.5", "-0.1", "nan", "inf"])
def test_a_constant_prior_is_a_probability(text: str) -> None:
    with pytest.raises(DataError, match=f"prior {text} is not a probability"):
        parse_prior(text)


def test_rates_are_drawn_towards_the_common_one() -> None:
    _, likelihood = fitted("rate")
    found = chances_of("rate", outside=[0, 0, 1])
    common = (4 + 0.5) / (7 + 1)  # relevant: a c z of topic 1, x of topic 3; judged: 4 + 2 + 1
    assert likelihood.name == "rate"
    assert found.probability[1] == pytest.approx((3 + 10 * common) / (4 + 10))
    assert found.probability[5] == pytest.approx((0 + 10 * common) / (2 + 10))
    assert outside_of(found)[0] == pytest.approx((2, (1 + 10 * common) / (1 + 10), 1))


def test_where_nothing_is_relevant_a_rate_is_not_0() -> None:
    judged = prepare(Qrels.from_dict({"1": {"a": 0, "b": 0}}))
    run = Run.from_dict({"1": {"u": 1.0}}, name="run")
    found = chances(run, align(run, judged), parse_prior("rate").fitted(judged, []))
    assert 0 < found.probability[0] < 0.2


def many_ranks() -> tuple[Run, Judged]:
    """Ranks 1 to 40 of 30 topics: to rank 24 two of three are judged, and one in `rank` is relevant."""
    ranking = {str(t): {f"d{r}": 100.0 - r for r in range(1, 41)} for t in range(30)}
    grades = {
        t: {doc: int(int(t) % rank == 0) for rank, doc in enumerate(docs, 1) if rank <= 24 and rank % 3}
        for t, docs in ranking.items()
    }
    return Run.from_dict(ranking, name="run"), prepare(Qrels.from_dict(grades))


def test_the_rate_at_a_rank_is_that_of_judged_documents_around_it() -> None:
    run, judged = many_ranks()
    ranking = align(run, judged)
    found = chances(run, ranking, parse_prior("rank").fitted(judged, [ranking]), outside=np.full(30, 2))
    seen, relevant = len(ranking.grade), (ranking.grade >= 1).sum()
    common = (relevant + 0.5) / (seen + 1)
    inside = (ranking.rank >= 5) & (ranking.rank <= 8)
    wanted = ((ranking.grade[inside] >= 1).sum() + 10 * common) / (inside.sum() + 10)
    assert found.probability[found.unjudged & (found.rank == 6)] == pytest.approx(wanted)
    # Rank 40 is deeper than any judged document, and an outside document deeper still.
    deepest = found.probability[found.unjudged & (found.rank == 24)][0]
    assert found.probability[found.rank == 40] == pytest.approx(deepest)
    assert outside_of(found)[0] == pytest.approx((0, deepest, 2))


def test_the_rate_never_rises_with_rank() -> None:
    run, judged = many_ranks()
    # Relevance turned upside down: the deeper the likelier.
    upside_down = Run.from_dict({t: {f"d{r}": float(r) for r in range(1, 41)} for t in run.topics}, name="x")
    for rankings in ([align(run, judged)], [align(upside_down, judged)], [align(run, judged)] * 2):
        found = chances(run, align(run, judged), parse_prior("rank").fitted(judged, rankings))
        first = found.topic == 0
        rates = found.probability[first & found.unjudged]
        assert (np.diff(rates) <= 1e-15).all()
        assert ((rates > 0) & (rates < 1)).all()
    assert len(np.unique(rates)) > 2


def test_rising_neighbors_have_their_common_rate() -> None:
    # ranks 1 and 2 of 40 topics: relevant never and always, so both have the rate of all
    names = [str(n) for n in range(40)]
    judged = prepare(Qrels.from_dict({t: {"a": 0, "b": 1} for t in names}))
    run = Run.from_dict({t: {"a": 2.0, "b": 1.0, "c": 0.0} for t in names}, name="run")
    ranking = align(run, judged)
    found = chances(run, ranking, parse_prior("rank").fitted(judged, [ranking]))
    assert found.probability[found.unjudged] == pytest.approx(0.5)


def test_a_prior_by_rank_needs_judged_documents_in_the_runs() -> None:
    judged = prepare(QRELS)
    with pytest.raises(DataError, match="needs judged documents in the runs, but no run has any"):
        parse_prior("rank").fitted(judged, [])


@pytest.mark.parametrize("prior", ["0.5", "rate", "rank"])
def test_a_level_of_0_leaves_nothing_to_expect(prior: str) -> None:
    with pytest.raises(DataError, match="level 0 makes every judged document relevant"):
        fitted(prior, level=0)


def listed(folder: Path, text: str) -> str:
    path = folder / "probabilities.tsv"
    path.write_text(text)
    return str(path)


def test_a_file_gives_documents_their_own_probabilities(tmp_path: Path) -> None:
    name = listed(
        tmp_path,
        "1 u 0.125\n1\tp\t1\n1 v 0\n2 u 0.5\n1 far 0.75\n3 other 1e-3\n1 b 0.9\n9 nobody 0.3\n2 z 0.625\n",
    )
    found = chances_of(name, outside=[100, 100, 100])
    assert found.probability.tolist() == [1, 0.125, 1, 1, 0, 0.5, 0]
    # b is judged; topic 9 is not
    assert outside_of(found) == [(0, 0.75, 1), (1, 0.625, 1), (2, 0.001, 1)]
    assert found.prior == name


def test_below_the_depth_a_listed_document_is_outside(tmp_path: Path) -> None:
    name = listed(tmp_path, "1 u 0.125\n1 p 0.25\n1 v 0.375\n2 u 0.5\n")
    found = chances_of(name, policies=Policies(depth=2))
    assert found.probability.tolist() == [1, 0.125, 0.5, 0]
    assert outside_of(found) == [(0, 0.25, 1), (0, 0.375, 1)]


def test_order_of_ties_is_that_of_the_policy(tmp_path: Path) -> None:
    name = listed(tmp_path, "1 a 0.1\n1 b 0.2\n1 c 0.3\n")
    run = Run.from_dict({"1": {"b": 1.0, "c": 1.0, "a": 1.0}}, name="run")
    judged = prepare(Qrels.from_dict({"1": {"x": 1}}))
    by_policy = {}
    for policies in (Policies(ties="trec"), Policies(ties="file")):
        likelihood = parse_prior(name).fitted(judged, [])
        found = chances(run, align(run, judged, policies), likelihood, policies=policies)
        by_policy[policies.ties] = found.probability.tolist()
    assert by_policy == {"trec": [0.3, 0.2, 0.1], "file": [0.2, 0.3, 0.1]}


def test_a_star_stands_for_what_is_not_listed(tmp_path: Path) -> None:
    # lines in any order: the topic's own line counts before that of all topics
    found = chances_of(listed(tmp_path, "1 * 0.25\n* * 0.125\n1 u 0.5\n"))
    assert found.probability.tolist() == [1, 0.5, 0.25, 1, 0.25, 0.125, 0]
    assert outside_of(found) == []


def test_a_retrieved_document_that_a_file_leaves_out_is_an_error(tmp_path: Path) -> None:
    name = listed(tmp_path, "1 u 0.5\n2 u 0.5\n")
    with pytest.raises(
        DataError,
        match=r"no probability for document 'p' of topic 1, which run retrieved.*2 such documents.*'\* \* 0",
    ):
        chances_of(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 u 0.5\n1 v 1.25\n", r"tsv:2: probability '1.25'; expected a number from 0 to 1"),
        ("1 u -0.5\n1 v 0.5\n1 w -1\n", r"tsv:1: probability '-0.5'; expected .* \(and 1 more problem\)"),
        ("1 u 0.5\n1 v x\n", r"tsv:2: probability 'x' is not a number"),
        ("1 u\n", r"tsv:1: 2 fields; expected 3: topic doc probability"),
        ("1 u 0.5\n2 u 0.5\n1 u 0.5\n", r"tsv:3: topic 1 lists document 'u' already in line 1"),
    ],
)
def test_problems_of_a_file_have_their_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_probabilities(listed(tmp_path, text))


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no probabilities; expected lines such as 'topic doc probability'"):
        read_probabilities(listed(tmp_path, "# nothing\n"))


def test_a_prior_nobody_knows_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown prior 'rates'; did you mean rate"):
        parse_prior("rates")
    assert [parse_prior(text).name for text in ("0.50", "rate", "rank")] == ["0.5", "rate", "rank"]


def test_alike_outside_documents_are_merged() -> None:
    merged = Outside(np.array([1, 0, 1, 1]), np.array([0.5, 0.5, 0.25, 0.5]), np.array([2, 1, 4, 3])).merged()
    assert merged.topic.tolist() == [0, 1, 1]
    assert merged.probability.tolist() == [0.5, 0.25, 0.5]
    assert merged.count.tolist() == [1, 4, 5]
