"""TREC-8 ad hoc: the pool of the 71 pooled runs, and what strategies with a budget would have found."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from sounding.data.formats import read_qrels, read_run
from sounding.data.run_info import read_run_info
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse_measures
from sounding.measures.regrading import JUDGED, read_regrading
from sounding.pool.contributors import choose_contributors
from sounding.pool.foresight import foresee
from sounding.pool.tables import sampled_table
from sounding.render.tables import Table
from sounding.runs.align import prepare
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.strategies import TopicQueues, in_batches, make_strategy, replay
from sounding.statistics.rank_correlation import kendall_tau

DOCS = Path(__file__).parents[2] / "docs"

TENTH = {
    "depth": 0.09, "rank": 0.32, "rrf": 0.43, "move-to-front": 0.49, "global-move-to-front": 0.52,
    "max-mean": 0.57, "hedge": 0.57, "rbp-a": 0.35, "rbp-b": 0.33, "rbp-c": 0.41, "adaptive-depth": 0.32,
}  # fmt: skip


@pytest.fixture(scope="module")
def retrieved(collections: Path) -> Retrieved:
    return read_retrieved(sorted((collections / "trec8" / "runs").glob("input.*.gz")), depth=100, jobs=None)


@pytest.fixture(scope="module")
def pool(retrieved: Retrieved, collections: Path) -> Retrieved:
    info = read_run_info(collections / "trec8" / "info.tsv")
    return choose_contributors(retrieved, info).pool(retrieved, 100)


@pytest.fixture(scope="module")
def qrels(collections: Path) -> Qrels:
    return read_qrels(collections / "trec8" / "qrels.trec8.txt.gz")


@pytest.fixture(scope="module")
def runs(collections: Path) -> list[Run]:
    return [read_run(file) for file in sorted((collections / "trec8" / "runs").glob("input.*.gz"))]


def test_the_pool_of_depth_100_is_exactly_what_was_judged(pool: Retrieved, qrels: Qrels) -> None:
    assert len(pool.runs) == 71
    inside = pool.best_ranks().nonzero()[0]
    topics = [pool.topics[topic] for topic in pool.topic[inside].tolist()]
    ours = set(zip(topics, pool.docs[inside].texts(), strict=True))
    assert len(inside) == len(ours) == 86_830
    assert ours == set(qrels.frame.select("topic", "doc").rows())


@pytest.mark.parametrize("name", TENTH)
def test_relevant_documents_found_at_a_tenth_of_the_pool(pool: Retrieved, qrels: Qrels, name: str) -> None:
    found = replay(make_strategy(name, pool), pool.grades(qrels), budget=8683)
    assert found.relevant == 4728
    assert found.found_at(8683) == pytest.approx(TENTH[name], abs=0.03)


def test_what_is_known_before_judging(retrieved: Retrieved, collections: Path) -> None:
    contributors = choose_contributors(retrieved, read_run_info(collections / "trec8" / "info.tsv"))
    ahead = foresee(retrieved, contributors, 100)
    assert ahead.documents_at(100) == 86_830
    assert ahead.share_of_most(100) == pytest.approx(0.245, abs=0.001)
    assert {retrieved.runs[run] for run in ahead.poor.tolist()} == {
        "surffal2", "isa25t", "isa50t", "UB99T", "UB99SW",
    }  # fmt: skip
    assert ahead.residuals.mean(axis=0)[10] == pytest.approx(0.0783, abs=5e-5)
    assert np.isfinite(ahead.overlap).all()
    page = " ".join((DOCS / "pool.md").read_text().split())
    depth, left = ahead.depth_for_residual(0.03), ahead.residuals.mean(axis=0)[100]
    assert depth is not None
    assert f"depth {depth} ({ahead.documents_at(depth):,} documents)" in page
    assert f"depth 100 leaves {left:.4f}.".replace(" 0.", " .") in page
    near = ahead.to_cover[1]
    assert f"{near} more judgments ({near / 86_830:.0%}, {near * 30 / 3600:.0f} hours)" in page
    shares = sorted(ahead.share_at(10)[ahead.poor].round(2).tolist())
    assert [f"{share:.2f}" for share in (shares[0], shares[1], shares[-1])] == ["0.12", "0.62", "0.70"]
    assert f"(TREC-8: {ahead.share_of_most(100):.0%})" in page


def table_of(page: str, first: str) -> list[list[str]]:
    """The cells of the rows of the table whose header begins with a word, signs of code taken away."""
    lines = (DOCS / page).read_text().splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(f"| {first} |"))
    rows: list[list[str]] = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return rows
        rows.append([cell.strip().replace("`", "") for cell in line.strip("|").split("|")])
    return rows


def test_samples_have_the_errors_that_the_page_of_strategies_tells(
    pool: Retrieved, qrels: Qrels, runs: list[Run]
) -> None:
    truth = evaluate(qrels, runs, ["AP"]).mean()[:, 0]
    judged: Qrels | None = None
    for sample, documents, measure, error, bias, tau in table_of("strategies.md", "sample"):
        if sample:
            name, _, rest = sample.partition(", ")
            given = {"rate": float(rest[5:])} if rest.startswith("rate") else {"strata": rest}
            strategy = make_strategy(name, pool, **given)
            found = replay(strategy, pool.grades(qrels))
            assert f"{len(found.picks):,}" == documents
            judged = qrels_of_sample(sampled_table(pool, found, cast("TopicQueues", strategy)))
        assert judged is not None
        values = evaluate(judged, runs, [measure]).mean()[:, 0]
        errors = values - truth
        told = [f"{np.sqrt((errors**2).mean()):.3f}", f"{abs(errors.mean()):.3f}"]
        assert [f"0{error}", f"0{bias.lstrip('-')}"] == told, sample
        assert bias.startswith("-") == (errors.mean() < -0.0005), sample
        assert f"0{tau}" == f"{kendall_tau(truth, values):.2f}", sample


def qrels_of_sample(table: Table) -> Qrels:
    columns: dict[str, Any] = {column.name: column.cells for column in table.columns}
    extra = {
        field: columns[name]
        for name, field in (("stratum", "strata"), ("probability", "probabilities"))
        if name in columns
    }
    return Qrels.from_columns(columns["topic"], columns["doc"], columns["grade"], **extra)


@pytest.mark.long
@pytest.mark.parametrize("row", table_of("pool.md", "strategy"), ids=lambda row: row[0].split()[0])
def test_replays_find_what_the_page_of_pool_tells(
    pool: Retrieved, qrels: Qrels, runs: list[Run], row: list[str]
) -> None:
    name, *shares, _, tau = row
    size, grades = 86_830, pool.grades(qrels)
    found = replay(make_strategy(name.split()[0], pool), grades)
    assert len(found.picks) == size
    ours = [found.found_at(round(share * size)) for share in (0.02, 0.05, 0.1, 0.2, 0.5)]
    assert [f"{value:.2f}" for value in ours] == [f"0{share}" for share in shares]
    if tau:
        whole = read_regrading(qrels, runs)
        kept = np.zeros(len(pool.docs), np.bool_)
        kept[[pick.document for pick in found.picks[: round(size / 10)]]] = True
        here, there = pool.find(prepare(qrels))
        states = np.zeros(len(qrels.docs), np.int8)
        states[there[kept[here]]] = JUDGED
        by_all, by_some = (
            whole.means(parse_measures(["AP"]), whole.under(state))[:, 0] for state in (whole.full, states)
        )
        assert f"{kendall_tau(by_all, by_some):.2f}" == f"0{tau}"


@pytest.mark.long
def test_batches_find_the_less_the_larger_they_are(pool: Retrieved, qrels: Qrels) -> None:
    page = " ".join((DOCS / "pool.md").read_text().split())
    shares = [
        replay(in_batches("move-to-front", pool, size), pool.grades(qrels), budget=8683).found_at(8683)
        for size in (10, 20, 50, 100)
    ]
    told = [f"{share:.2f}".lstrip("0") for share in shares]
    assert (
        f"{told[0]} with batches of 10, {told[1]} with 20, {told[2]} with 50 and {told[3]} with 100" in page
    )
    seeds = [
        replay(make_strategy("move-to-front", pool, seed=seed), pool.grades(qrels), budget=8683).found_at(
            8683
        )
        for seed in range(8)
    ]
    least, most = (f"{value:.3f}".lstrip("0") for value in (min(seeds), max(seeds)))
    assert f"Over eight seeds move-to-front finds {least} to {most} at a tenth" in page
