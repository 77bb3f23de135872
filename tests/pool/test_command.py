"""`sounding pool` as a person uses it: lines, files, replays, summaries and errors."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars
import pytest
from tests.conftest import require
from tests.docs_examples import run_commands
from tests.e2e.calling import Call, caller, check_refused, next_command, sampled

import sounding
from sounding.data.formats import read_qrels
from sounding.evaluate.evaluation import evaluate
from sounding.selection.strategies import STRATEGIES

ROOT = Path(__file__).parents[2]
HEAD = ("runs", "--info", "info.tsv", "--depth", "10")


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 12 runs and 6 topics, judged to depth 10."""
    sizes = "--topics 6 --groups 6 --systems 2 --documents 400 --length 60"
    folder = sampled(
        tmp_path_factory.mktemp("pool") / "trial", f"{sizes} --pool-depth 10 --contributors 4 --seed 4"
    )
    (folder / "other.txt").write_text("nobody 0 knows 1\n")
    return folder


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `sounding pool` in the folder of the collection."""
    monkeypatch.chdir(trial)
    return caller(capsys, "pool")


def rows_of(out: str, first: str) -> list[list[str]]:
    """The header and the rows of the table whose first column has this name."""
    lines = out.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.split()[:1] == [first])
    end = lines.index("", begin)
    return [re.split(r"\s{2,}", line.strip()) for line in [lines[begin], *lines[begin + 2 : end]]]


def judged(path: str = "qrels.txt") -> list[str]:
    """The `topic doc` lines of judgments, in byte order."""
    return sorted(f"{row[0]} {row[2]}" for row in map(str.split, Path(path).read_text().splitlines()))


def table(path: str) -> list[dict[str, str]]:
    with Path(path).open() as stream:
        return list(csv.DictReader(stream, delimiter="\t" if path.endswith("tsv") else ","))


def test_lines_are_the_judged_pool_topic_by_topic_in_the_order_of_doc_ids(call: Call) -> None:
    status, out, err = call(*HEAD)
    assert status == 0
    lines = out.splitlines()
    assert sorted(lines) == judged()
    assert lines == sorted(lines, key=lambda line: [part.encode() for part in line.split()])
    size = len(lines)
    headline, following = err.splitlines()
    assert headline.startswith(f"{size:,} documents to judge for 6 topics (depth 10, 8 of 12 runs): ")
    assert f" {size / 120:,.1f} hours at 30 s each" in headline
    assert call(*HEAD, "--quiet")[2] == ""
    _, out, err = call(*HEAD, "--notes")
    assert out.splitlines() == lines
    assert following in err
    assert f"{size:,} documents, {size / 480:.0%} of depth x runs x topics (480)" in err
    assert "8 of 12 runs contribute (as listed)" in err
    assert "ties trec, compat trec_eval-10, duplicates error" in err


def test_only_policies_that_are_not_the_defaults_are_named(call: Call) -> None:
    assert "ties" not in call(*HEAD)[2]
    assert "Policies: ties score-file." in call(*HEAD, "--policy", "ties=score-file")[2]


@pytest.mark.parametrize(
    "more",
    [
        (), ("--budget", "5", "--qrels", "so-far.txt"), ("--batches", "2", "--seed", "3"), ("--summary",),
        ("--strategy", "rbp-a", "-p", "0.9"), ("--strategy", "uniform-sample", "--rate", "0.3"),
        ("--format", "json"), ("--summary", "--qrels", "so-far.txt", "--format", "json"),
        ("--qrels", "qrels.txt", "--simulate", "--strategy", "rank,mtf"), ("-o", "blank.qrels"),
        ("--strategy", "mtf", "-o", "blank.qrels"),
    ],
)  # fmt: skip
def test_the_next_command_runs_as_it_is_printed(
    trial: Path, tmp_path: Path, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name in ("runs", "qrels.txt", "info.tsv"):
        (tmp_path / name).symlink_to(trial / name)
    Path("so-far.txt").write_text("".join(Path("qrels.txt").read_text().splitlines(keepends=True)[:20]))
    sounding = caller(capsys)
    status, out, err = sounding("pool", *HEAD, *more)
    assert status == 0
    if "json" in more:
        out = f"Next: {json.loads(out)['next']}"
    words = next_command(out + err)
    status, _, err = sounding(*words)
    assert status == 0, err
    if words[-1] == "to-judge.qrels":
        assert Path("to-judge.qrels").stat().st_size > 0


def test_a_residual_suggests_the_pool_that_reaches_it(call: Call, tmp_path: Path) -> None:
    _, out, _ = call("runs", "--info", "info.tsv", "--max-residual", "0.2")
    words = next_command(out)
    assert words[-2:] == ["-o", "to-judge.qrels"]
    depth = words[words.index("--depth") + 1]
    assert f"depth {depth} " in out.splitlines()[0]
    path = tmp_path / "pool.qrels"
    assert call(*words[1:-1], str(path))[0] == 0
    assert len(path.read_text().splitlines()) == int(rows_of(out, "residual")[1][3])


def test_a_budget_goes_below_the_default_depth_where_all_above_is_judged(call: Call, tmp_path: Path) -> None:
    """200 new judgments are 200 documents that nobody judged, as long as the runs have some."""
    (tmp_path / "runs").mkdir()
    for name in ("a", "b"):
        rows = [f"1 Q0 {name}{rank} {rank} {-rank} {name}\n" for rank in range(1, 151)]
        (tmp_path / "runs" / f"{name}.txt").write_text("".join(rows))
    rows = [f"1 0 {name}{rank} 0\n" for name in "ab" for rank in range(1, 101)]
    (tmp_path / "qrels.txt").write_text("".join(rows))
    asked = (str(tmp_path / "runs"), "--qrels", str(tmp_path / "qrels.txt"), "--budget", "8")
    path = tmp_path / "next.qrels"
    status, _, err = call(*asked, "-o", str(path))
    assert status == 0
    assert judged(str(path)) == sorted(f"1 {name}{rank}" for name in "ab" for rank in range(101, 105))
    assert "depth 104" in err
    assert call(*asked, "--depth", "100")[0] == 1  # whoever names a depth gets that depth
    assert len(call(*asked[:-1], "1000")[1].splitlines()) == 100


def test_at_most_so_many_runs_of_a_group_contribute(call: Call) -> None:
    _, out, err = call(*HEAD, "--runs-per-group", "1", "--notes")
    assert "6 of 12 runs contribute (at most 1 a group, by priority)" in err
    assert len(out.splitlines()) > 0


def test_without_info_every_run_contributes_and_it_is_said(call: Call) -> None:
    _, out, err = call("runs", "--depth", "10", "--notes")
    assert "(depth 10, 12 runs)" in err
    assert "12 of 12 runs contribute (no info: every run, each a group of its own)" in err
    assert set(judged()) < set(out.splitlines())


def test_one_run_and_one_document_are_counted_as_such(call: Call, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("1 Q0 a 1 5 x\n")
    _, out, err = call(str(tmp_path / "run.txt"), "--depth", "5")
    assert out == "1 a\n"
    assert "1 document to judge for 1 topic (depth 5, 1 run): about 1 minute at" in err
    assert call(str(tmp_path / "run.txt"), "--summary")[0] == 0
    assert "1 run, 1 topic)" in call(str(tmp_path / "run.txt"), "--max-residual", "0.5")[1]


def test_what_does_not_fit_together_is_said_in_a_line_each(call: Call, tmp_path: Path) -> None:
    rows = Path("info.tsv").read_text().splitlines()
    named = next(row for row in rows[1:] if row.endswith("yes"))
    run, _, rest = named.split("\t", 2)
    missing = rows[-1] if rows[-1] != named else rows[-2]
    kept = [row for row in rows if row not in (named, missing)]
    (tmp_path / "info.tsv").write_text(
        "\n".join([*kept, f"{run}\t\t{rest}", "ghost\tg\tmanual\t1\tyes"]) + "\n"
    )
    _, _, err = call("runs", "--info", str(tmp_path / "info.tsv"), "--depth", "5")
    assert err.splitlines()[1:4] == [
        f"1 run ({missing.split(chr(9))[0]}) not in the info file: treated as not pooled.",
        f"1 run ({run}) without a group in the info file: each is treated as its own group.",
        "1 run (ghost) of the info file was not given, 1 of them pooled.",
    ]


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_can_be_used_from_the_command_line(call: Call, name: str) -> None:
    status, out, _ = call(*HEAD, "--strategy", name)
    assert status == 0
    assert set(out.splitlines()) <= set(judged())
    assert out
    assert call(*HEAD, "--strategy", name, "--qrels", "qrels.txt")[1] == ""


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_files_hold_what_the_strategy_knows(call: Call, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pool.{suffix}"
    status, out, _ = call(*HEAD, "--strategy", "rrf", "--budget", "30", "-o", str(path))
    assert (status, out) == (0, "")
    read = {
        "csv": polars.read_csv, "tsv": lambda file: polars.read_csv(file, separator="\t"),
        "jsonl": polars.read_ndjson, "parquet": polars.read_parquet,
    }  # fmt: skip
    frame = read[suffix](path)
    assert frame.columns == ["topic", "doc", "order", "pool_rank", "weight"]
    assert sorted(frame["order"].to_list()) == list(range(1, 31))
    for _, rows in frame.sort("order").group_by("topic", maintain_order=True):
        weights = rows["weight"].to_list()
        assert weights == sorted(weights, reverse=True)


def test_ids_with_blanks_need_a_table(call: Call, tmp_path: Path) -> None:
    (tmp_path / "run.csv").write_text('topic,doc,score\n1,"a b",2\n1,"say ""c""",1\n')
    status, out, err = call(str(tmp_path / "run.csv"))
    assert (status, out) == (1, "")
    assert "id 'a b' has a blank, which lines cannot hold; write a table with -o FILE.csv" in err
    for suffix in ("csv", "tsv"):
        path = tmp_path / f"pool.{suffix}"
        assert call(str(tmp_path / "run.csv"), "-o", str(path))[0] == 0
        assert [row["doc"] for row in table(str(path))] == ["a b", 'say "c"']


def test_a_level_of_0_takes_everything_for_relevant(call: Call) -> None:
    asked = (*HEAD, "--qrels", "qrels.txt", "--simulate", "--level", "0")
    last = rows_of(call(*asked)[1] + "\n", "judged")[-1]
    assert last == [str(len(judged())), "1.000", str(len(judged())), "1.000"]


def test_json_says_how_the_pool_was_made(call: Call) -> None:
    _, out, _ = call(*HEAD, "--strategy", "rbp-c", "-p", "0.9", "--format", "json")
    body = json.loads(out)
    assert body["strategy"] == "rbp-c"
    assert body["parameters"] == {"p": 0.9, "level": 1.0}
    assert (body["seed"], body["depth"], len(body["contributing"])) == (0, 10, 8)
    assert body["policies"]["ties"] == "trec"
    assert len(body["rows"]) == 60


def test_ties_are_broken_as_the_policy_says(call: Call, tmp_path: Path) -> None:
    (tmp_path / "run.txt").write_text("1 Q0 a 1 5 x\n1 Q0 b 2 5 x\n1 Q0 c 3 5 x\n")
    asked = (str(tmp_path / "run.txt"), "--depth", "1")
    assert call(*asked)[1] == "1 c\n"
    assert call(*asked, "--policy", "ties=file")[1] == "1 a\n"


def test_batches_with_qrels_begin_after_what_was_judged(call: Call, tmp_path: Path) -> None:
    lines = Path("qrels.txt").read_text().splitlines(keepends=True)
    (tmp_path / "so-far.txt").write_text("".join(lines[::2]))
    asked = (*HEAD, "--strategy", "rank", "--qrels", str(tmp_path / "so-far.txt"))
    plain = call(*asked, "--format", "csv")[1].splitlines()[1:]
    batched = call(*asked, "--batches", "4")[1].splitlines()
    first: dict[str, list[str]] = {}
    for row in sorted(plain, key=lambda row: int(row.split(",")[2])):
        topic, doc, *_ = row.split(",")
        first.setdefault(topic, []).append(f"{topic} {doc}")
    assert sorted(batched) == sorted(line for own in first.values() for line in own[:4])


def test_a_sample_records_stratum_and_inclusion_probability(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "pool.csv"
    call(*HEAD, "--strategy", "stratified-sample", "--strata", "3:1,10:0.3", "-o", str(path))
    rows = table(str(path))
    assert {row["stratum"] for row in rows} == {"1", "2"}
    assert {row["inclusion_probability"] for row in rows if row["stratum"] == "1"} == {"1.0"}
    assert all(0.2 < float(row["inclusion_probability"]) < 0.5 for row in rows if row["stratum"] == "2")


@pytest.mark.parametrize("strategy", [None, "rank", "rrf", "mtf"])
def test_the_budget_is_what_to_judge_next_beside_what_was_judged(
    call: Call, tmp_path: Path, strategy: str | None
) -> None:
    some = tmp_path / "so-far.txt"
    some.write_text("".join(Path("qrels.txt").read_text().splitlines(keepends=True)[:20]))
    left = len(judged()) - 20
    for budget in (5, 20, left - 1, left, left + 7):
        options = () if strategy is None else ("--strategy", strategy)
        status, out, err = call(*HEAD, *options, "--qrels", str(some), "--budget", str(budget))
        lines = out.splitlines()
        assert (status, len(lines)) == (0, min(budget, left))
        assert not set(lines) & set(judged(str(some)))
        assert set(lines) <= set(judged())
        assert "; 20 are judged already" in err
        assert err.startswith(f"{min(budget, left)} of the {left} documents" if budget < left else f"{left} ")


@pytest.mark.parametrize("options", [(), ("--budget", "200"), ("--batches", "3"), ("--strategy", "mtf")])
def test_where_all_is_judged_it_says_so_and_fails(
    call: Call, options: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "next.txt"
    status, out, err = call(*HEAD, *options, "--qrels", "qrels.txt", "-o", str(path))
    assert (status, out, path.exists()) == (1, "", False)
    assert "nothing is left to judge" in err.splitlines()[-1]
    assert "--simulate" in err.splitlines()[-1]


def test_a_budget_or_batches_without_a_strategy_begin_with_the_best_ranks(call: Call) -> None:
    for option in ("--budget", "--batches"):
        _, out, err = call(*HEAD, option, "4")
        assert "strategy rank)" in err
        assert out == call(*HEAD, option, "4", "--strategy", "rank")[1]


def test_judgments_can_be_cut_to_a_shallower_pool(call: Call) -> None:
    _, out, err = call(*HEAD, "--qrels", "qrels.txt", "--pool-depth", "4")
    near = set(call("runs", "--info", "info.tsv", "--depth", "4")[1].splitlines())
    assert set(out.splitlines()) == set(judged()) - near
    told = f"{len(near):,} of {len(judged()):,} judgments kept"
    assert f"ool cut to depth 4 (of 8 contributing runs, listed): {told}" in err


@pytest.mark.parametrize("more", [(), ("--summary",), ("--simulate",)])
def test_the_cut_is_that_of_the_judged_pool_however_shallow_the_one_asked_for(
    call: Call, more: tuple[str, ...]
) -> None:
    near = call("runs", "--info", "info.tsv", "--depth", "4")[1].splitlines()
    asked = ("runs", "--info", "info.tsv", "--depth", "2", "--qrels", "qrels.txt", *more)
    told = f"{len(near):,} of {len(judged()):,} judgments kept"
    assert told in " ".join("".join(call(*asked, "--pool-depth", "4")[1:]).split())
    status, _, err = call(*asked, "--pool-depth", "11")
    assert status == 1
    assert "Error: the pool of these runs is 10 deep, not 11" in err


def test_pool_ranks_of_the_judgments_say_what_a_shallower_pool_had(call: Call, tmp_path: Path) -> None:
    rows = Path("qrels.pool.tsv").read_text().splitlines()
    ranked = tmp_path / "ranked.tsv"  # ranks of their own, which the runs know nothing of
    ranked.write_text("\n".join([rows[0], *(line.rsplit("\t", 1)[0] + f"\t{n % 5 + 1}"
                                              for n, line in enumerate(rows[1:]))]))  # fmt: skip
    _, out, err = call(*HEAD, "--qrels", str(ranked), "--pool-depth", "2")
    assert "ool cut to depth 2 (by the pool ranks of the qrels)" in err
    kept = sum(n % 5 < 2 for n in range(len(rows) - 1))
    assert f": {kept} of {len(rows) - 1} judgments kept" in err
    assert len(out.splitlines()) == len(judged()) - kept
    status, _, err = call(*HEAD, "--qrels", str(ranked), "--pool-depth", "6")
    assert status == 1
    assert err.splitlines()[-1].endswith("end at 5, not at 6; give at most 5")


def test_a_weighted_sample_that_was_judged_in_part_says_so_and_lowers_its_chances(
    call: Call, tmp_path: Path
) -> None:
    base = [*HEAD, "--strategy", "weighted-sample", "--rate", "0.5"]
    drawn = call(*base)[1].splitlines()
    lines = [line for line in Path("qrels.txt").read_text().splitlines()
             if f"{line.split()[0]} {line.split()[2]}" in set(drawn[::2])]  # fmt: skip
    part = tmp_path / "part.txt"
    part.write_text("\n".join(lines))
    out = tmp_path / "sampled.tsv"
    _, _, err = call(*base, "--qrels", str(part), "--simulate", "-o", str(out))
    lost = len(drawn) - len(lines)
    assert f"{lost} of the {len(drawn)} documents in the sample are unjudged: they are left out" in err
    whole = tmp_path / "whole.tsv"
    call(*base, "--qrels", "qrels.txt", "--simulate", "-o", str(whole))
    some, every = (polars.read_csv(file, separator="\t", schema_overrides={"topic": polars.String})
                   for file in (out, whole))  # fmt: skip
    assert (some["grade"] >= 0).all()
    both = some.join(every, on=["topic", "doc"], suffix="_whole")
    counts = every.group_by("topic").len().join(some.group_by("topic").len(), on="topic", suffix="_some")
    shares = {row["topic"]: row["len_some"] / row["len"] for row in counts.iter_rows(named=True)}
    for row in both.iter_rows(named=True):
        expected = row["probability_whole"] * shares[row["topic"]]
        assert row["probability"] == pytest.approx(expected)


def test_an_adaptive_strategy_gives_a_batch_and_learns_from_the_qrels(call: Call, tmp_path: Path) -> None:
    _, out, err = call(*HEAD, "--strategy", "move-to-front")
    assert len(out.splitlines()) == 60
    assert f"60 of the {len(judged())} documents left to judge" in err
    assert "move-to-front learns from judgments" in err
    assert "--qrels" in err
    first = set(out.splitlines())
    so_far = tmp_path / "so-far.txt"
    so_far.write_text(
        "".join(
            line for line in Path("qrels.txt").read_text().splitlines(keepends=True)
            if " ".join(line.split()[::2]) in first
        )
    )  # fmt: skip
    _, out, _ = call(*HEAD, "--strategy", "move-to-front", "--qrels", str(so_far))
    assert 0 < len(out.splitlines()) <= 60
    assert not set(out.splitlines()) & first


def test_batches_are_shuffled_and_the_seed_says_how(call: Call) -> None:
    batch = (*HEAD, "--strategy", "rank", "--batches", "8")
    _, out, _ = call(*batch)
    lines = out.splitlines()
    assert len(lines) == 48
    assert lines != sorted(lines)
    assert [line.split()[0] for line in lines] == [
        t for t in sorted({x.split()[0] for x in lines}) for _ in range(8)
    ]
    assert call(*batch)[1] == out
    other = call(*batch, "--seed", "1")[1]
    assert other != out
    assert sorted(other.splitlines()) == sorted(lines)


def test_a_replay_shows_how_many_relevant_documents_are_found(call: Call) -> None:
    status, out, _ = call(*HEAD, "--strategy", "move-to-front", "--qrels", "qrels.txt", "--simulate")
    assert status == 0
    head, *rows = rows_of(out, "judged")
    assert head == ["judged", "share of pool", "relevant found", "share of relevant"]
    relevant = sum(line.split()[3] != "0" for line in Path("qrels.txt").read_text().splitlines())
    assert rows[-1] == [str(len(judged())), "1.000", str(relevant), "1.000"]


def test_the_headline_of_a_replay_has_the_judgments_that_find_nine_tenths(call: Call, tmp_path: Path) -> None:
    asked = (*HEAD, "--qrels", "qrels.txt", "--simulate", "--strategy")
    headline = " ".join(call(*asked, "rank,mtf")[1].split("\n\n")[0].split())
    relevant = sum(line.split()[3] != "0" for line in Path("qrels.txt").read_text().splitlines())
    needed = {}
    for name in ("rank", "move-to-front"):
        path = tmp_path / f"{name}.csv"
        assert call(*asked, name, "-o", str(path))[0] == 0
        found = 0
        for place, row in enumerate(table(str(path)), 1):
            found += int(row["grade"]) > 0
            if found >= 0.9 * relevant:
                needed[name] = place
                break
    first, second = sorted(needed, key=lambda name: needed[name])
    assert needed[first] < needed[second]
    assert headline == (
        f"{first} finds 90% of the {relevant} relevant documents after {needed[first]} of"
        f" {len(judged())} judgments; {second} after {needed[second]}."
    )
    assert call(*asked, "rank", "--budget", "9")[1].startswith("rank finds ")
    assert " with 9 judgments " in call(*asked, "rank", "--budget", "9")[1]


def test_a_replay_with_an_output_gives_judgments(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "found.tsv"
    call(
        *HEAD, "--strategy", "rbp-c", "--qrels", "qrels.txt", "--simulate", "--budget", "40", "-o", str(path)
    )
    rows = table(str(path))
    assert [row["order"] for row in rows] == [str(place) for place in range(1, 41)]
    found, every = read_qrels(path), read_qrels("qrels.txt")
    truth = {(topic, doc): grade for topic, doc, grade in every.frame.select("topic", "doc", "grade").rows()}
    assert all(
        truth[topic, doc] == grade for topic, doc, grade in found.frame.select("topic", "doc", "grade").rows()
    )
    assert found.pool_ranks is not None


@pytest.mark.parametrize(
    ("strategy", "measures"),
    [
        ("uniform-sample", ("infAP", "xinfAP", "statAP")),
        ("stratified-sample", ("xinfAP", "statAP", "infNDCG")),
        ("weighted-sample", ("statAP", "EstNumRel")),
    ],
)
def test_a_judged_sample_becomes_qrels_that_evaluate_reads(
    call: Call, tmp_path: Path, strategy: str, measures: tuple[str, ...]
) -> None:
    options = {"stratified-sample": ("--strata", "5:1,10:0.5")}.get(strategy, ("--rate", "0.5"))
    asked = (*HEAD, "--strategy", strategy, "--seed", "3", *options)
    _, out, err = call(*asked)
    assert "add --qrels JUDGED --simulate -o FILE.tsv to this command" in err
    drawn = set(out.splitlines())
    assert drawn < set(judged())
    mine = tmp_path / "judged.txt"
    mine.write_text(
        "".join(
            line for line in Path("qrels.txt").read_text().splitlines(keepends=True)
            if " ".join(line.split()[::2]) in drawn
        )
    )  # fmt: skip
    path = tmp_path / "sampled.tsv"
    call(*asked, "--qrels", str(mine), "--simulate", "-o", str(path))
    qrels = read_qrels(path)
    assert int((qrels.grades >= 0).sum()) == len(drawn)
    scores = evaluate(qrels, sorted(Path("runs").iterdir()), measures)
    assert scores.sampling_error() is not None
    assert (scores.mean() > 0).all()
    if strategy != "weighted-sample":
        assert len(qrels.docs) == len(judged())  # what was not drawn is there, with grade -1


@pytest.mark.parametrize("suffix", ["qrels", "txt"])
def test_a_replay_writes_trec_qrels(call: Call, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"found.{suffix}"
    asked = (*HEAD, "--strategy", "mtf", "--qrels", "qrels.txt", "--simulate", "--budget", "40")
    assert call(*asked, "-o", str(path))[0] == 0
    lines = path.read_text().splitlines()
    assert len(lines) == 40
    assert set(lines) <= set(Path("qrels.txt").read_text().splitlines())
    assert lines == sorted(lines, key=lambda line: [part.encode() for part in line.split()[::2]])


def test_what_is_to_be_judged_can_be_had_as_qrels_to_fill_in(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "blank.qrels"
    _, _, err = call(*HEAD, "-o", str(path))
    assert "replace each -1 with a grade" in err
    lines = path.read_text().splitlines()
    assert {(line.split()[1], line.split()[3]) for line in lines} == {("0", "-1")}
    assert judged(str(path)) == judged()
    filled = [line.removesuffix("-1") + "1" for line in lines[:7]]
    path.write_text("\n".join([*filled, *lines[7:]]) + "\n")
    assert "; 7 are judged already" in call(*HEAD, "--qrels", str(path))[2]


def test_a_suffix_that_nobody_knows_is_told(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "pool.xyz"
    told = f"{path}: no format has the suffix .xyz; written as"
    assert f"{told} lines of topic and doc\n" in call(*HEAD, "-o", str(path))[2]
    assert sorted(path.read_text().splitlines()) == judged()
    assert "suffix" not in call(*HEAD, "-o", str(tmp_path / "pool.txt"))[2]
    replay = (*HEAD, "--qrels", "qrels.txt", "--simulate", "-o", str(path))
    assert f"{told} TREC qrels\n" in call(*replay)[2]
    assert f"{told} a table\n" in call(*HEAD, "--summary", "-o", str(path))[2]


def test_a_dash_is_standard_output(call: Call) -> None:
    assert call(*HEAD, "-o", "-")[:2] == call(*HEAD)[:2]
    assert not Path("-").exists()


def test_a_depth_below_the_end_of_all_lists_is_told(call: Call) -> None:
    assert "ends at rank 60: a depth of 61 adds nothing" in call("runs", "--depth", "61")[2]
    assert "adds nothing" not in call("runs", "--depth", "60")[2]


def test_several_strategies_stand_side_by_side(call: Call) -> None:
    asked = (*HEAD, "--qrels", "qrels.txt", "--simulate", "--format", "json", "--strategy")
    body = json.loads(call(*asked, "depth,rank,mtf,uniform")[1])
    assert body["strategy"] == "depth,rank,move-to-front,uniform-sample"
    out = call(*HEAD, "--qrels", "qrels.txt", "--simulate", "--strategy", "rank")[1]
    for row, cells in zip(body["rows"], rows_of(out, "judged")[1:], strict=True):
        assert (str(row["judged"]), f"{row['rank']:.3f}") == (cells[0], cells[-1])
    assert body["rows"][-1]["move-to-front"] == 1
    assert body["rows"][-1]["uniform-sample"] is None


def test_a_sample_of_another_seed_or_half_judged_is_told(call: Call, tmp_path: Path) -> None:
    def sample(seed: str) -> tuple[str, ...]:
        return (*HEAD, "--strategy", "uniform-sample", "--rate", "0.3", "--seed", seed)

    drawn = call(*sample("3"))[1].splitlines()
    path = tmp_path / "judged.txt"
    rows = {" ".join(line.split()[::2]): line for line in Path("qrels.txt").read_text().splitlines()}
    replayed = ("--qrels", str(path), "--simulate", "-o", str(tmp_path / "sampled.tsv"))
    path.write_text("".join(rows[line] + "\n" for line in drawn))
    err = call(*sample("3"), *replayed)[2]
    assert "in the sample" not in err
    assert "not in this sample" not in err
    path.write_text("".join(rows[line] + "\n" for line in drawn[2:]))
    assert f"2 of the {len(drawn)} documents in the sample are unjudged" in call(*sample("3"), *replayed)[2]
    path.write_text("".join(rows[line] + "\n" for line in drawn))
    err = call(*sample("4"), *replayed)[2]
    both = len(set(drawn) & set(call(*sample("4"))[1].splitlines()))
    assert f"{len(drawn) - both} judged documents are not in this sample and left out" in err


def test_a_stratified_sample_as_trec_qrels_reads_back_the_same(call: Call, tmp_path: Path) -> None:
    asked = (
        *HEAD,
        "--strategy",
        "stratified",
        "--strata",
        "3:1,10:0.3",
        "--qrels",
        "qrels.txt",
        "--simulate",
    )
    for suffix in ("qrels", "tsv"):
        call(*asked, "-o", str(tmp_path / f"s.{suffix}"))
    ours, table_ = (read_qrels(tmp_path / f"s.{suffix}") for suffix in ("qrels", "tsv"))
    columns = ["topic", "doc", "grade", "stratum"]
    assert ours.frame.select(columns).equals(table_.frame.select(columns))
    weighted = (*HEAD, "--strategy", "weighted-sample", "--qrels", "qrels.txt", "--simulate")
    status, _, err = call(*weighted, "-o", str(tmp_path / "w.qrels"))
    assert status == 1
    assert "no place for the probabilities of a weighted sample; write -o FILE.tsv" in err


def test_documents_that_a_replay_does_not_know_are_counted(call: Call, tmp_path: Path) -> None:
    lines = Path("qrels.txt").read_text().splitlines(keepends=True)
    (tmp_path / "part.txt").write_text("".join(lines[10:]))
    asked = (*HEAD, "--strategy", "rank", "--qrels", str(tmp_path / "part.txt"), "--simulate")
    told = f"10 of {len(judged())} documents have no judgment: they count as not relevant"
    assert f"{told}." in call(*asked)[1]
    assert call(*asked)[2] == ""
    assert f"{told}, and are listed with grade -1.\n" in call(*asked, "-o", str(tmp_path / "found.csv"))[2]
    several = [word if word != "rank" else "rank,rrf" for word in asked]
    assert f"{told}.\n" in call(*several, "--format", "csv")[2]
    assert sum(row["grade"] == "-1" for row in table(str(tmp_path / "found.csv"))) == 10


# -- before judging --------------------------------------------------------------------------------


def test_the_summary_has_sizes_groups_and_runs(call: Call) -> None:
    status, out, _ = call(*HEAD, "--summary")
    assert status == 0
    size = len(judged())
    assert re.search(rf"^ +10 +{size} +{size / 480:.0%} ", out, re.MULTILINE)
    assert f"{size} documents to judge for 6 topics (depth 10, 8 of 12 runs)" in out.splitlines()[0]
    assert re.search(r"^group +runs +documents +only from it +of the pool$", out, re.MULTILINE)
    assert re.search(
        r"two runs of one group share \d+% of their documents, and two runs of different groups share \d+%",
        " ".join(out.split()),
    )
    assert re.search(
        r"^run +group +kind +pooled +in pool@10 +RBP\(p=0.8\) residual +would add$", out, re.MULTILINE
    )
    assert re.search(r"\d of 12 runs \w+ less than 80% of the top 10 in the pool", " ".join(out.split()))


def test_programs_get_the_runs_and_json_all_of_it(call: Call) -> None:
    _, out, _ = call(*HEAD, "--summary", "--format", "csv")
    assert len(out.splitlines()) == 13
    _, out, _ = call(*HEAD, "--summary", "--format", "json", "-p", "0.5")
    body = json.loads(out)
    assert body["p"] == 0.5
    assert body["pools"][-1]["documents"] == len(judged())
    assert len(body["groups"]) == 4
    assert len(body["rows"]) == 12


def test_the_summary_tells_what_is_judged_and_what_more_would_cost(call: Call) -> None:
    _, out, _ = call("runs", "--info", "info.tsv", "--depth", "20", "--summary", "--qrels", "qrels.txt")
    head, rows = next(
        (re.split(r"\s{2,}", line.strip()), out.splitlines()[place + 2 :])
        for place, line in enumerate(out.splitlines())
        if line.startswith("depth")
    )
    cells = {row.split()[0]: dict(zip(head, row.split(), strict=True)) for row in rows[:4]}
    assert (cells["10"]["judged"], cells["10"]["to judge"]) == (str(len(judged())), "0")
    more = int(cells["20"]["documents"]) - len(judged())
    assert (cells["20"]["judged"], cells["20"]["to judge"]) == (str(len(judged())), str(more))
    assert cells["20"]["hours"] == f"{more / 120:.1f}"


def test_the_summary_counts_judgments_of_lists_that_are_shorter_than_the_depth(call: Call) -> None:
    shown = ("runs", "--summary", "--qrels", "qrels.txt")
    status, out, err = call(*shown, "--depth", "100")  # the lists have 60 documents

    assert status == 0
    assert rows_of(out, "depth") == rows_of(call(*shown, "--depth", "60")[1], "depth")
    left = len(call("runs", "--depth", "60")[1].splitlines()) - len(judged())
    assert out.startswith(f"{left:,} documents to judge")
    assert err == ""


@pytest.mark.parametrize("options", [("--summary",), (), ("--budget", "7")])
def test_the_hours_of_a_pool_are_those_of_the_documents_left_to_judge(
    call: Call, tmp_path: Path, options: tuple[str, ...]
) -> None:
    some = tmp_path / "so-far.txt"
    some.write_text("".join(Path("qrels.txt").read_text().splitlines(keepends=True)[:20]))
    left = len(judged()) - 20
    _, out, err = call(*HEAD, *options, "--qrels", str(some))
    headline = " ".join((out if "--summary" in options else err).split())
    time = "4 minutes" if "--budget" in options else f"{left / 120:,.1f} hours"
    assert f": about {time} at 30 s each; 20 are judged already." in headline
    assert f"{left:,} documents" in headline


def test_a_shallow_pool_is_told_what_the_first_ten_of_all_would_add(call: Call) -> None:
    shallow, deep = (len(call("runs", "--depth", depth)[1].splitlines()) for depth in ("1", "10"))
    _, out, _ = call("runs", "--depth", "1", "--summary")
    said = " ".join(out.split())
    assert f"Pooling the top 10 of them too adds {deep - shallow} documents" in said
    assert "12 of 12 runs have less than 80%" in said
    assert " and 7 more." in said
    assert "...." not in said


def test_charts_of_a_summary_and_of_a_replay(call: Call, tmp_path: Path) -> None:
    require("altair")
    require("vl_convert")
    for more in (("--summary",), ("--qrels", "qrels.txt", "--simulate", "--strategy", "rank,mtf")):
        path = tmp_path / f"{len(more)}.svg"
        assert call(*HEAD, *more, "--chart", str(path))[0] == 0
        assert path.read_text().startswith("<svg")
    assert "move-to-front" in (tmp_path / "5.svg").read_text()
    assert len(list(tmp_path.iterdir())) == 2  # one figure each


def test_an_info_file_needs_run_group_and_pooled_alone(call: Call, tmp_path: Path) -> None:
    rows = [row.split("\t") for row in Path("info.tsv").read_text().splitlines()]
    (tmp_path / "info.tsv").write_text("".join(f"{r[0]}\t{r[1]}\t{r[4]}\n" for r in rows))
    assert call("runs", "--info", str(tmp_path / "info.tsv"), "--depth", "10")[1] == call(*HEAD)[1]


def test_the_depth_for_a_residual(call: Call) -> None:
    _, out, _ = call("runs", "--info", "info.tsv", "--max-residual", "0.2", "--format", "json")
    row = json.loads(out)["rows"][0]
    assert row["mean residual"] <= 0.2
    deeper = ("runs", "--info", "info.tsv", "--depth", str(row["depth"]))
    assert len(call(*deeper)[1].splitlines()) == row["documents"]
    _, out, _ = call("runs", "--info", "info.tsv", "--max-residual", "0.0000001")
    assert "0.0000001" in out
    assert out.startswith("No pool depth brings the mean residual down to 1e-07")
    assert "--summary" in next_command(out)


def full_lists(folder: Path) -> str:
    """A folder with two runs that have 30 documents for each of two topics."""
    for run in ("a", "b"):
        (folder / f"{run}.txt").write_text(
            "".join(
                f"{topic} Q0 {run}{rank} {rank} {-rank} {run}\n" for topic in (1, 2) for rank in range(1, 31)
            )
        )
    return str(folder)


def test_a_small_residual_keeps_its_figures(call: Call, tmp_path: Path) -> None:
    runs = full_lists(tmp_path)
    _, out, _ = call(runs, "--max-residual", "0.00002", "-p", "0.2")
    assert rows_of(out, "residual")[1][1:3] == ["7", "0.000013"]  # 0.2 ** 7 is 1.28e-05
    _, out, _ = call(runs, "--depth", "7", "-p", "0.2", "--summary")
    assert re.search(r"^ +7 .* 1\.3e-05$", out, re.MULTILINE)
    assert re.search(r"^ +5 .* 0\.0003$", out, re.MULTILINE)
    assert "0.0000 " not in out
    _, out, _ = call(runs, "--depth", "7", "-p", "0.2", "--summary", "--format", "json")
    assert json.loads(out)["rows"][0]["RBP(p=0.2) residual"] == pytest.approx(0.2**7)


# -- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("runs", "--strategy", "mtc2"), 2, "unknown strategy 'mtc2'"),
        (("runs", "--rate", "0.1"), 2, "--rate changes nothing with the strategy depth"),
        (("runs", "-p", "0.9"), 2, "-p changes nothing with the strategy depth"),
        (("runs", "--level", "2"), 2, "--level changes nothing with the strategy depth"),
        (("runs", "--strategy", "rrf", "--strata", "1:1"), 2, "--strata changes nothing"),
        (("runs", "--simulate"), 2, "--simulate replays judgments: add --qrels FILE"),
        (("runs", "--summary", "--max-residual", "0.1"), 2, "do not go together"),
        (("runs", "--summary", "--strategy", "rrf"), 2, "--strategy changes nothing with --summary"),
        (("runs", "--summary", "--budget", "9"), 2, "--budget changes nothing with --summary"),
        (("runs", "--summary", "--format", "lines"), 2, "only documents to judge can be printed as lines"),
        (("runs", "--strategy", "uniform-sample", "--budget", "9"), 2, "a sample is judged as a whole"),
        (("runs", "--strategy", "uniform-sample", "--batches", "9"), 2, "judged as a whole"),
        (("runs", "--strategy", "uniform-sample", "--rate", "2"), 2, "a sampling rate of 2.0"),
        (("nowhere", "--strategy", "uniform-sample", "--rate", "2"), 2, "a sampling rate of 2.0"),
        (("nowhere", "--strategy", "stratified-sample", "--strata", "5"), 2, "strata '5'"),
        (("nowhere", "--strategy", "rbp-a", "-p", "1"), 2, "-p 1: expected a number between 0 and 1"),
        (("nowhere", "--max-residual", "2"), 2, "--max-residual 2: expected a number between 0 and 1"),
        (("runs", "--max-residual", "0.1", "--depth", "9"), 2, "--max-residual finds the depth; leave --depth out"),
        (("runs", "--seed", "3"), 2, "--seed changes nothing with the strategy depth: nothing is drawn"),
        (("runs", "--summary", "--seed", "3"), 2, "--seed changes nothing with --summary"),
        (("runs", "--strategy", "depth", "--budget", "9"), 2, "use --strategy rank, rrf or move-to-front"),
        (("runs", "--strategy", "depth", "--batches", "9"), 2, "the strategy depth sorts them by doc id"),
        (("runs", "--strategy", "rank,rrf"), 2, "several strategies can only be compared by replaying"),
        (("runs", "--pool-depth", "9"), 2, "--pool-depth is about judgments: add --qrels FILE"),
        (("runs", "--chart", "x.svg"), 2, "--chart draws what --summary or --simulate shows"),
        (("nowhere", "--summary", "--chart", "x.doc"), 2, "no chart format has the suffix '.doc'"),
        (("runs", "--summary", "--format", "qrels"), 2, "qrels list documents"),
        (("runs", "--max-residual", "0.1", "--qrels", "qrels.txt"), 2, "--qrels changes nothing with --max-residual"),
        (("runs", "--summary", "-p", "1"), 2, "-p 1: expected a number between 0 and 1"),
        (("runs", "--seconds", "0"), 2, "--seconds 0: expected more than 0"),
        (("runs", "--runs-per-group", "1"), 1, "--runs-per-group needs to know the groups"),
        (("runs", "--depth", "50", "--strategy", "stratified-sample", "--strata", "5:1"), 1, "end at rank 5"),
        (("nowhere",), 1, "nowhere"),
        (("runs", "--qrels", "other.txt", "--simulate"), 1, "other.txt: no document of the pool is judged"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_one_line(
    call: Call, arguments: tuple[str, ...], status: int, message: str
) -> None:
    check_refused(call(*arguments), status, message)


def test_the_help_names_every_strategy(call: Call) -> None:
    _, out, _ = call("--help")
    for kind in STRATEGIES.values():
        assert kind.name in out
        assert " ".join(kind.title.split()[:3]) in out


# -- pages -----------------------------------------------------------------------------------------


def test_the_commands_on_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_commands(ROOT / "docs" / "pool.md") >= 6


@pytest.mark.parametrize(
    "block", re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "strategies.md").read_text(), re.DOTALL)
)
def test_the_python_on_the_page_of_strategies_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "strategies.md", "exec"), {"__name__": "page"})


def test_every_strategy_and_parameter_is_on_its_page() -> None:
    page = (ROOT / "docs" / "strategies.md").read_text()
    rows = {match[1]: match[0] for match in re.finditer(r"^\| `([\w-]+)` \|.*$", page, re.MULTILINE)}
    assert set(rows) >= set(STRATEGIES)
    for kind in STRATEGIES.values():
        for parameter, default in kind.parameters.items():
            if parameter != "level":
                assert f"`{parameter}` ({default})" in rows[kind.name].replace(".0)", ")"), kind.name


def test_a_sample_for_estimate_is_filled_in_and_read_by_estimate(call: Call, tmp_path: Path) -> None:
    labels = tmp_path / "labels.tsv"
    rows = [line.split() for line in Path("qrels.txt").read_text().splitlines()]
    labels.write_text("topic\tdoc\tlabel\n" + "".join(f"{row[0]}\t{row[2]}\t{row[3]}\n" for row in rows))
    out = tmp_path / "sample.tsv"
    base = [*HEAD, "--strategy", "for-estimate", "--labels", str(labels), "-m", "P@5"]
    status, _, err = call(*base, "--budget", "60", "-o", str(out))
    assert status == 0
    assert "A sample of" in err
    assert all(row["grade"] == "-1" and 0 < float(row["probability"]) <= 1 for row in table(str(out)))
    call(*base, "--budget", "60", "--qrels", "qrels.txt", "-o", str(out))
    grades = {(row[0], row[2]): row[3] for row in rows}
    assert [row["grade"] for row in table(str(out))] == [
        grades[row["topic"], row["doc"]] for row in table(str(out))
    ]
    own = sounding.estimate(out, "runs", ["P@5"], labels=labels)
    assert own.judged == len(table(str(out)))
    forecast = json.loads(call(*base, "--budget", "60", "--summary", "--format", "json")[1])["rows"]
    assert [row["judgments"] for row in forecast] == [30, 60, 120]
    widths = [row["pair +-"] for row in forecast]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--strategy", "for-estimate"), "add --budget"),
        (("--strategy", "for-estimate", "--budget", "50", "--batches", "2"), "--batches does not go with"),
        (("--strategy", "for-estimate", "--budget", "50", "-o", "x.qrels"), "no place for the probabilities"),
        (("--strategy", "for-estimate", "--budget", "50", "--judge", "m"), "add the file"),
        (("--strategy", "for-estimate", "--budget", "50", "--rate", "0.2"), "--rate changes nothing"),
        (("--strategy", "rank", "--pair", "a", "b"), "--pair changes nothing with the strategy rank"),
    ],
)
def test_options_that_do_not_go_with_a_sample_for_estimate(
    call: Call, words: tuple[str, ...], message: str
) -> None:
    status, _, err = call("runs", *words)
    assert status == 2
    assert message in err
