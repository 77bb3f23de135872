"""Simulated collections: the pool is exact, the truth complete, the seed decides everything."""

from __future__ import annotations

import gzip
from dataclasses import fields
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import spearmanr

from sounding.cli import cli
from sounding.core.errors import DataError
from sounding.data.formats import read_qrels, read_runs
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.sample.command import command
from sounding.sample.parameters import CollectionParameters
from sounding.sample.result import Collection
from sounding.sample.simulation import sample

SMALL: dict[str, Any] = {
    "topics": 8, "groups": 6, "systems": 3, "documents": 300, "prevalence": 0.08, "length": 60,
    "short": 0.2, "ties": 0.5, "pool_depth": 10, "contributors": 4, "manual": 0.34, "seed": 3,
}  # fmt: skip


def variant(**choices: Any) -> Collection:
    """The small collection with other choices."""
    return sample(**(SMALL | choices))


@pytest.fixture(scope="module")
def small() -> Collection:
    return sample(**SMALL)


@pytest.fixture(scope="module")
def usual() -> Collection:
    return sample(seed=7)


def rankings(run: Run) -> dict[str, list[str]]:
    """Doc ids by topic in trec_eval's order, computed the plain way."""
    docs, scores = run.docs.texts(), run.scores.tolist()
    ranked = {}
    for topic, begin, end in zip(run.topics, run.starts[:-1], run.starts[1:], strict=True):
        pairs = [(score, doc.encode()) for score, doc in zip(scores[begin:end], docs[begin:end], strict=True)]
        ranked[topic] = [doc.decode() for _, doc in sorted(pairs, reverse=True)]
    return ranked


def grades(qrels: Qrels) -> dict[str, dict[str, float]]:
    docs, values = qrels.docs.texts(), qrels.grades.tolist()
    return {
        topic: dict(zip(docs[begin:end], values[begin:end], strict=True))
        for topic, begin, end in zip(qrels.topics, qrels.starts[:-1], qrels.starts[1:], strict=True)
    }


def pool_ranks(qrels: Qrels) -> dict[tuple[str, str], int]:
    assert qrels.pool_ranks is not None
    ranks = zip(qrels.pool_ranks.tolist(), qrels.docs.texts(), strict=True)
    topics = np.repeat(np.array(qrels.topics), qrels.sizes).tolist()
    return {(topic, doc): rank for topic, (rank, doc) in zip(topics, ranks, strict=True)}


def naive_pool(collection: Collection) -> dict[tuple[str, str], int]:
    """Best rank of every document among the first pool_depth of a contributing run."""
    best: dict[tuple[str, str], int] = {}
    for run, info in zip(collection.runs, collection.info, strict=True):
        if info.pooled:
            for topic, docs in rankings(run).items():
                for rank, doc in enumerate(docs[: collection.parameters.pool_depth], start=1):
                    best[topic, doc] = min(rank, best.get((topic, doc), rank))
    return best


def content(collection: Collection) -> list[Any]:
    """Everything that a collection holds, as plain values."""
    tables: list[Any] = [
        (run.name, run.topics, run.starts.tolist(), run.docs.texts(), run.scores.tobytes())
        for run in collection.runs
    ]
    for qrels in (collection.qrels, collection.truth):
        tables.append((qrels.topics, grades(qrels), pool_ranks(qrels)))
    return [*tables, collection.info, collection.quality, collection.parameters]


@pytest.mark.parametrize("ties", [0, 0.5, 1])
@pytest.mark.parametrize("depth", [1, 10, 200])
def test_the_judged_set_is_the_union_of_the_first_documents_of_contributing_runs(
    ties: float, depth: int
) -> None:
    collection = variant(ties=ties, pool_depth=depth)
    assert pool_ranks(collection.qrels) == naive_pool(collection)


def test_the_judgments_are_the_truth_about_pooled_documents(small: Collection) -> None:
    truth, ranks = grades(small.truth), pool_ranks(small.truth)
    judged = {
        topic: {doc: g for doc, g in docs.items() if ranks[topic, doc]} for topic, docs in truth.items()
    }
    assert grades(small.qrels) == judged
    assert {pair: rank for pair, rank in ranks.items() if rank} == pool_ranks(small.qrels)


def test_the_truth_covers_whatever_a_run_can_retrieve(small: Collection) -> None:
    truth = grades(small.truth)
    assert all(len(docs) == SMALL["documents"] for docs in truth.values())
    for run in small.runs:
        for topic, docs in rankings(run).items():
            assert set(docs) <= set(truth[topic])


def test_topics_of_judgments_are_in_byte_order_and_those_of_runs_in_the_order_of_their_numbers() -> None:
    collection = variant(topics=60)
    numbers = [str(number) for number in range(51, 111)]
    assert collection.truth.topics == collection.qrels.topics == tuple(sorted(numbers)) != tuple(numbers)
    assert all(run.topics == tuple(numbers) for run in collection.runs)


def test_no_topic_is_without_a_relevant_document_nor_a_run_without_a_retrieved_one() -> None:
    collection = variant(topics=40, prevalence=0.001, length=4, short=1)
    assert all(max(docs.values()) > 0 for docs in grades(collection.truth).values())
    assert all(run.sizes.min() >= 1 for run in collection.runs)


def test_no_run_lists_a_document_twice(small: Collection) -> None:
    for run in small.runs:
        for docs in rankings(run).values():
            assert len(set(docs)) == len(docs)


def test_one_seed_gives_the_same_collection_twice(small: Collection) -> None:
    assert content(sample(**SMALL)) == content(small)


def test_another_seed_gives_another_collection(small: Collection) -> None:
    other = variant(seed=4)
    for mine, theirs in zip(content(small), content(other), strict=True):
        assert mine != theirs


def test_more_topics_leave_the_others_as_they_are(small: Collection) -> None:
    longer = variant(topics=12)
    for run, same in zip(small.runs, longer.runs, strict=True):
        assert rankings(run).items() <= rankings(same).items()
    assert grades(small.truth).items() <= grades(longer.truth).items()


def test_quality_orders_automatic_systems_by_their_true_mean_average_precision(usual: Collection) -> None:
    full = [
        run
        for run, info in zip(usual.runs, usual.info, strict=True)
        if info.kind == "automatic" and run.sizes.min() == usual.parameters.length
    ]
    values = evaluate(usual.truth, full, ["AP"]).mean()[:, 0]
    assert len(full) > 40
    assert spearmanr([usual.quality[run.name] for run in full], values).statistic > 0.9


def test_the_default_collection_resembles_trec_8(usual: Collection) -> None:
    # TREC-8: automatic runs have MAP .003 to .330 with median .255, manual ones up to .469, and of the
    # documents of pooled runs 47% were judged (median).
    scores = evaluate(usual.qrels, usual.runs, ["AP"])
    means = scores.mean()[:, 0]
    automatic = np.array([info.kind == "automatic" for info in usual.info])
    full = np.array([info.pooled for info in usual.info]) & np.array(
        [run.sizes.min() == usual.parameters.length for run in usual.runs]
    )
    assert np.median(means[automatic]) == pytest.approx(0.255, abs=0.05)
    assert means[automatic].min() < 0.1
    assert means[automatic].max() < means.max() < 0.6
    assert np.median(scores.judged_share()[full, 0]) == pytest.approx(0.47, abs=0.05)


def test_runs_of_one_group_retrieve_alike(usual: Collection) -> None:
    shared: dict[bool, list[float]] = {True: [], False: []}
    chosen = list(zip(usual.runs[:12], usual.info[:12], strict=True))
    ranked = [(info.group, rankings(run)["51"][:100]) for run, info in chosen if run.sizes.min() >= 100]
    for number, (group, docs) in enumerate(ranked):
        for other_group, other in ranked[:number]:
            shared[group == other_group].append(len(set(docs) & set(other)) / 100)
    assert np.mean(shared[True]) > np.mean(shared[False]) + 0.1


def test_manual_groups_find_most_relevant_documents_that_nobody_else_finds(usual: Collection) -> None:
    truth = grades(usual.truth)
    finders: dict[tuple[str, str], set[RunInfo]] = {}
    for run, info in zip(usual.runs, usual.info, strict=True):
        if info.pooled:
            for topic, docs in rankings(run).items():
                for doc in docs[: usual.parameters.pool_depth]:
                    if truth[topic][doc] > 0:
                        finders.setdefault((topic, doc), set()).add(info)
    alone = [next(iter(infos)) for infos in finders.values() if len({info.group for info in infos}) == 1]
    assert len(alone) > 100
    assert np.mean([info.kind == "manual" for info in alone]) > 0.7


def test_numbers_of_relevant_documents_vary_as_log_normal_ones_do() -> None:
    collection = sample(topics=400, groups=1, systems=1, documents=2000, prevalence=0.03, length=1, seed=1)
    counts = np.array([sum(g > 0 for g in docs.values()) for docs in grades(collection.truth).values()])
    assert counts.mean() == pytest.approx(60, rel=0.2)
    assert 0.8 < np.log(counts).std() < 1.1
    assert counts.min() < 10


@pytest.mark.parametrize("best", [1, 2, 3, 5])
def test_every_grade_of_the_scale_occurs_and_better_ones_are_rarer(best: int) -> None:
    collection = sample(topics=30, groups=1, systems=1, prevalence=0.1, grades=best, seed=2)
    counted = np.bincount(collection.truth.grades.astype(np.int64), minlength=best + 1)
    assert len(counted) == best + 1
    assert np.all(np.diff(counted) < 0)


def test_better_grades_are_ranked_higher() -> None:
    collection = sample(topics=30, groups=3, systems=1, manual=1, grades=3, seed=2)
    truth = grades(collection.truth)
    found = np.zeros(4)
    for run in collection.runs:
        for topic, docs in rankings(run).items():
            for doc in docs[:100]:
                found[int(truth[topic][doc])] += 1
    share = found / np.bincount(collection.truth.grades.astype(np.int64))
    assert np.all(np.diff(share) > 0)


def test_ties_concern_the_asked_share_of_runs_and_no_other() -> None:
    collection = variant(ties=0.5, length=300, short=0)
    tied = 0
    for run in collection.runs:
        per_topic = np.split(run.scores.astype(np.float32), run.starts[1:-1])
        distinct = [len(np.unique(scores)) == len(scores) for scores in per_topic]
        tied += not all(distinct)
    assert tied == len(collection.runs) // 2


def test_scores_never_rise_down_a_run_and_are_short_decimals(small: Collection) -> None:
    for run in small.runs:
        for scores in np.split(run.scores, run.starts[1:-1]):
            assert np.all(np.diff(scores) <= 0)
        assert all(len(repr(score).partition(".")[2]) <= 4 for score in run.scores.tolist())


def test_a_share_of_the_runs_is_short(small: Collection) -> None:
    usual_length = [run.sizes.min() == run.sizes.max() == SMALL["length"] for run in small.runs]
    assert usual_length.count(False) == round(SMALL["short"] * len(small.runs))
    assert (
        max(run.sizes.max() for run, whole in zip(small.runs, usual_length, strict=True) if not whole) <= 12
    )


def test_the_first_runs_of_contributing_groups_are_pooled_and_no_others(small: Collection) -> None:
    contributing = {info.group for info in small.info if info.pooled}
    assert len(contributing) == SMALL["contributors"]
    for info in small.info:
        assert info.pooled == (info.group in contributing and info.priority <= 2)
    for group in {info.group for info in small.info}:
        assert sorted(info.priority for info in small.info if info.group == group) == [1, 2, 3]


def test_runs_information_and_qualities_name_the_same_runs(small: Collection) -> None:
    names = [run.name for run in small.runs]
    assert names == [info.run for info in small.info] == list(small.quality)
    assert len(set(names)) == len(names) == 18
    assert sum(info.kind == "manual" for info in small.info) == 2 * 3


def test_many_groups_still_have_names_of_their_own() -> None:
    collection = variant(groups=90, systems=1, topics=1)
    assert len({info.group for info in collection.info}) == 90


def test_document_ids_have_unequal_lengths_and_no_blanks(small: Collection) -> None:
    ids = set(small.truth.docs.texts())
    assert len({len(doc) for doc in ids}) > 3
    assert not any(set(doc) & set(" \t\n#") for doc in ids)


def test_document_ids_tell_neither_relevance_nor_rank(usual: Collection) -> None:
    everything = np.array(usual.truth.docs.texts())
    place = np.unique(everything, return_inverse=True)[1]
    relevant = usual.truth.grades > 0
    assert abs(np.mean(place[relevant]) / np.mean(place) - 1) < 0.03
    assert abs(np.corrcoef(place, usual.truth.pool_ranks)[0, 1]) < 0.01
    length = np.strings.str_len(everything)
    assert abs(np.mean(length[relevant]) - np.mean(length)) < 0.05


def test_a_run_may_retrieve_all_documents() -> None:
    collection = variant(length=300, short=0)
    assert all(set(run.sizes.tolist()) == {300} for run in collection.runs)


def test_the_smallest_collection_has_one_of_each() -> None:
    collection = sample(topics=1, groups=1, systems=1, documents=1, length=1, seed=0)
    assert grades(collection.qrels) == grades(collection.truth)
    assert collection.qrels.grades.tolist() == [1]


def test_the_default_pool_leaves_a_fifth_of_the_groups_out(usual: Collection) -> None:
    assert len({info.group for info in usual.info if info.pooled}) == 16
    assert len({info.group for info in usual.info}) == 20


def test_every_choice_is_a_parameter() -> None:
    assert set(signature(sample).parameters) == {field.name for field in fields(CollectionParameters)}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"topics": 0}, "^topics is 0; give a whole number from 1$"),
        ({"groups": -1}, "^groups is -1; give a whole number from 1$"),
        ({"systems": 2.5}, "^systems is 2.5; give a whole number from 1$"),
        ({"documents": 0}, "^documents is 0; give a whole number from 1$"),
        ({"grades": 0}, "^grades is 0; give a whole number from 1$"),
        ({"length": 0}, "^length is 0; give a whole number from 1$"),
        ({"pool_depth": True}, "^pool_depth is True; give a whole number from 1$"),
        ({"pooled_runs": 0}, "^pooled_runs is 0; give a whole number from 1$"),
        ({"seed": -1}, "^seed is -1; give a whole number from 0$"),
        ({"short": 1.01}, "^short is 1.01; give a share from 0 to 1$"),
        ({"ties": -0.1}, "^ties is -0.1; give a share from 0 to 1$"),
        ({"ties": "x"}, "^ties is 'x'; give a share from 0 to 1$"),
        ({"short": None}, "^short is None; give a share from 0 to 1$"),
        ({"prevalence": "0.1"}, "^prevalence is '0.1'; give a share above 0 and below 1$"),
        ({"manual": float("nan")}, "^manual is nan; give a share from 0 to 1$"),
        ({"prevalence": 0}, "^prevalence is 0; give a share above 0 and below 1$"),
        ({"prevalence": 1.0}, "^prevalence is 1.0; give a share above 0 and below 1$"),
        ({"length": 200, "documents": 100}, "^length is 200 and a topic has 100 documents; give a length up"),
        ({"contributors": 0}, "^contributors is 0; give a whole number from 1 to 20, the number of groups$"),
        ({"contributors": 21}, "^contributors is 21; give a whole number from 1 to 20"),
        ({"contributors": 1.5}, "^contributors is 1.5; give a whole number from 1 to 20"),
    ],
)  # fmt: skip
def test_a_choice_out_of_range_is_refused_in_one_line(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        sample(**choices)
    assert "\n" not in str(caught.value)


# -- the files of `sounding sample` ---------------------------------------------------------------

TINY = ["--topics", "3", "--groups", "3", "--documents", "50", "--length", "10", "--prevalence", "0.1"]


def write_sample(folder: Path, *options: str) -> str:
    done = CliRunner().invoke(cli, ["sample", str(folder), *TINY, *options], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_the_files_hold_the_collection(tmp_path: Path) -> None:
    collection = sample(topics=3, groups=3, documents=50, length=10, prevalence=0.1, grades=2, seed=4)
    write_sample(tmp_path / "s", "--grades", "2", "--seed", "4")
    assert grades(read_qrels(tmp_path / "s" / "qrels.txt")) == grades(collection.qrels)
    assert grades(read_qrels(tmp_path / "s" / "truth.txt")) == grades(collection.truth)
    assert pool_ranks(read_qrels(tmp_path / "s" / "qrels.pool.tsv")) == pool_ranks(collection.qrels)
    read = {run.name: run for run in read_runs(tmp_path / "s" / "runs")}
    assert sorted(read) == sorted(run.name for run in collection.runs)
    for run in collection.runs:
        assert (tmp_path / "s" / "runs" / f"{run.name}.txt").is_file()
        assert read[run.name].topics == run.topics
        assert read[run.name].docs.texts() == run.docs.texts()
        assert read[run.name].scores.tolist() == run.scores.tolist()


def test_the_information_file_has_the_columns_of_a_real_one(tmp_path: Path) -> None:
    write_sample(tmp_path / "s", "--seed", "4")
    collection = sample(topics=3, groups=3, documents=50, length=10, prevalence=0.1, seed=4)
    lines = (tmp_path / "s" / "info.tsv").read_text().splitlines()
    assert lines[0] == "run\tgroup\tkind\tpriority\tpooled"
    assert [tuple(line.split("\t")) for line in lines[1:]] == [
        (row.run, row.group, row.kind, str(row.priority), "yes" if row.pooled else "no")
        for row in collection.info
    ]
    quality = (tmp_path / "s" / "quality.tsv").read_text().splitlines()[1:]
    assert {line.split("\t")[0]: float(line.split("\t")[1]) for line in quality} == pytest.approx(
        dict(collection.quality), abs=1e-6
    )


@pytest.mark.parametrize("options", [(), ("--seed", "9", "--ties", "1", "--contributors", "1", "--gzip")])
def test_the_command_in_the_readme_gives_the_same_files(options: tuple[str, ...], tmp_path: Path) -> None:
    write_sample(tmp_path / "first", *options)
    text = (tmp_path / "first" / "README.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith("    sounding sample DIR "))
    arguments = line.split()[1:]
    arguments[1] = str(tmp_path / "second")
    assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
    assert files(tmp_path / "first") == files(tmp_path / "second")
    assert all(
        f"`{name}`" in text for name in files(tmp_path / "first") if "/" not in name and name != "README.md"
    )


def test_compressed_runs_hold_the_same_lines_and_have_the_same_bytes_twice(tmp_path: Path) -> None:
    for folder, options in (("plain", []), ("gz", ["--gzip"]), ("again", ["--gzip"])):
        write_sample(tmp_path / folder, *options)
    plain, compressed = files(tmp_path / "plain"), files(tmp_path / "gz")
    for name, data in plain.items():
        if name.startswith("runs/"):
            assert gzip.decompress(compressed[f"{name}.gz"]) == data
    assert compressed == files(tmp_path / "again")


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DataError, match="not empty; give another folder, or --force"):
        write_sample(tmp_path)
    with pytest.raises(DataError, match=r"holds 'notes.txt', which is no part of a simulated collection"):
        write_sample(tmp_path, "--force")
    assert files(tmp_path) == {"notes.txt": b"mine"}


def test_force_never_takes_a_foreign_run_away(tmp_path: Path) -> None:
    write_sample(tmp_path / "s")
    (tmp_path / "s" / "runs" / "bm25.txt").write_text("1 Q0 d 1 1 bm25\n")
    with pytest.raises(DataError, match=r"holds 'runs/bm25.txt'"):
        write_sample(tmp_path / "s", "--force")


def test_force_replaces_a_collection_and_leaves_no_run_of_it(tmp_path: Path) -> None:
    write_sample(tmp_path / "s", "--groups", "5")
    write_sample(tmp_path / "s", "--groups", "2", "--gzip", "--force")
    write_sample(tmp_path / "fresh", "--groups", "2", "--gzip")
    assert files(tmp_path / "s") == files(tmp_path / "fresh")


def test_an_empty_folder_is_filled_and_a_missing_one_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    write_sample(tmp_path / "empty")
    write_sample(tmp_path / "not" / "yet" / "there")
    assert files(tmp_path / "empty") == files(tmp_path / "not" / "yet" / "there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "not"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise DataError("disk full")

    write_sample(tmp_path / "s")
    before = files(tmp_path)
    monkeypatch.setattr("sounding.sample.result.write_qrels", fail)
    for folder in ("s", "t"):
        with pytest.raises(DataError, match="disk full"):
            write_sample(tmp_path / folder, "--seed", "1", "--force")
    assert files(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_quiet_says_nothing_and_otherwise_one_line_says_what_there_is(tmp_path: Path) -> None:
    assert write_sample(tmp_path / "a", "--quiet") == ""
    said = write_sample(tmp_path / "b")
    assert said.count("\n") == 1
    assert "9 runs, 3 topics, " in said


def test_every_parameter_has_an_option_with_its_default() -> None:
    given = {option.name: option.default for option in command.params}
    for field in fields(CollectionParameters):
        assert given[field.name] == field.default
