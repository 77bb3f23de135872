"""`sounding agree` as a person uses it: tables, formats, files, errors; crowd judgments and TREC-8."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path
from typing import get_args

import click
import polars
import pytest
from tests.e2e.calling import Call, caller, check_refused, sampled

from sounding.agree import command as options
from sounding.agree.assessors import SETTLING
from sounding.agree.combining import COMBINATIONS, NONRELEVANT, RELEVANT
from sounding.agree.result import StudyChoices
from sounding.agree.study import agree
from sounding.agree.tables import OF_RUNS, SECTIONS
from sounding.data.finding import find_runs
from sounding.data.formats import read_qrels


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 6 runs and 26 topics, and three assessors by name."""
    sizes = "--topics 26 --groups 3 --systems 2 --documents 400 --length 60"
    folder = sampled(tmp_path_factory.mktemp("agree") / "trial", f"{sizes} --pool-depth 20 --seed 4")
    lines = (folder / "qrels.txt").read_text().splitlines()
    for name, step in (("ann", 5), ("bob", 7)):
        flipped = [
            line if number % step else line[:-1] + str(1 - min(int(line[-1]), 1))
            for number, line in enumerate(lines)
        ]
        (folder / f"{name}.qrels").write_text("\n".join(flipped) + "\n")
    return folder


@pytest.fixture
def call(trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `sounding agree` in the collection's folder."""
    monkeypatch.chdir(trial)
    return caller(capsys, "agree")


def flat(text: str) -> str:
    """The words of a text, wherever its lines were broken."""
    return " ".join(text.split())


THREE = ("qrels.txt", "ann.qrels", "bob.qrels")
FEW = ("--resamples", "50")
QUICK = (*FEW, "--samples", "300")  # with runs


def test_people_see_agreement_and_topics_to_talk_about(call: Call) -> None:
    status, out, err = call(*THREE, *FEW)
    assert (status, err) == (0, "")
    assert out.startswith("All 3 assessors agree on ")
    assert (
        flat(out).count("Next: sounding agree qrels.txt ann.qrels bob.qrels --adjudicate disagreements.tsv")
        == 1
    )
    assert "qrels & ann" in out
    assert "all 3" in out
    assert "Topics to discuss first" in out
    assert "Policies" not in out
    _, noted, _ = call(*THREE, *FEW, "--notes")
    assert "3 assessors judged" in flat(noted)
    assert "The intervals are 95% bootstrap intervals over topics (50 resamples, seed 0)." in flat(noted)
    assert "Policies: negative trec, fractional refuse." in flat(noted)  # there are no runs
    assert "nan" not in out.lower()


@pytest.mark.parametrize("files", [THREE, ("qrels.txt", "--simulated", "correlated")])
def test_the_next_command_runs_as_printed(call: Call, files: tuple[str, ...]) -> None:
    _, out, _ = call(*files, *FEW, "--level", "1")
    program, verb, *words = shlex.split(out.rpartition("Next: ")[2])
    assert (program, verb) == ("sounding", "agree")
    status, _, err = call(*words)
    assert status == 0
    assert words[-1] in err  # the file that it writes


def test_the_headline_has_the_numbers_of_the_tables(call: Call) -> None:
    _, out, _ = call(*THREE, "--runs", "runs", "-m", "AP", "-m", "P@10", *QUICK, "--format", "json")
    found = json.loads(out)
    headline, *pairs, whole = (found["headline"], *(row["overlap"] for row in found["pairs"]))
    assert f"agree on {100 * whole:.0f}% of the relevant documents" in headline
    assert f"pairs of them on {100 * min(pairs):.0f}% to {100 * max(pairs):.0f}%" in headline
    taus = {row["measure"]: row["mean"] for row in found["taus"] if row["rankings"] == "all with qrels"}
    assert all(f"{tau:.2f} by {measure}" in headline for measure, tau in taus.items())
    assert ("barely changes" in headline) == any(tau >= 0.9 for tau in taus.values())
    assert found["next"].endswith("--adjudicate disagreements.tsv")
    assert found["schema"].startswith("sounding/agree/")


def test_few_systems_get_no_verdict_by_tau(call: Call, trial: Path) -> None:
    runs = sorted(str(path) for path in (trial / "runs").iterdir())[:2]
    _, out, _ = call(*THREE, "--runs", *runs, *QUICK)
    assert "2 systems are too few for a rank correlation" in flat(out)
    assert "barely" not in out


def test_few_topics_are_warned_of(call: Call, trial: Path, tmp_path: Path) -> None:
    lines = (trial / "qrels.txt").read_text().splitlines(keepends=True)
    kept = sorted({line.split()[0] for line in lines})[:24]
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("".join(line for line in lines if line.split()[0] in kept))
    _, out, _ = call(str(tmp_path / "one.txt"), str(tmp_path / "two.txt"), *FEW, "--notes")
    assert "Only 24 topics, fewer than 25" in flat(out)
    assert "fewer than 25" not in call(*THREE, *FEW, "--notes")[1]


def test_people_see_at_most_three_notes(call: Call) -> None:
    _, out, _ = call(*THREE, "--runs", "runs", *QUICK)
    notes = out.rpartition("\n\nNext: ")[0].rpartition("\n\n")[2]
    assert re.search(r"^\d+ more notes with --notes\.$", notes, re.MULTILINE)


def test_relevance_and_grades_stand_in_tables_of_their_own(call: Call, trial: Path) -> None:
    assert "Agreement on grades" not in call(*THREE, *FEW)[1]
    (trial / "g1.qrels").write_text("1 0 a 2\n1 0 b 1\n1 0 c 0\n2 0 d 0\n2 0 e 2\n")
    (trial / "g2.qrels").write_text("1 0 a 1\n1 0 b 1\n1 0 c 0\n2 0 d 1\n2 0 e 2\n")
    _, out, _ = call("g1.qrels", "g2.qrels", *FEW, "--section", "pairs", "--section", "confusions")
    first, second = out.split("Agreement on grades")
    # relevance: 4 of 5 agree; chance 3/5 * 4/5 + 2/5 * 1/5 = .56; (.8 - .56) / .44 = .545
    assert "0.545" in first
    # grades: 3 of 5 agree; chance (2*1 + 1*3 + 2*1) / 25 = .28; (.6 - .28) / .72 = .444
    assert "0.444" in second
    assert "kappa, weighted" in second
    assert " 2 0 1 1 The table counts the documents that both" in flat(out)


def test_runs_may_be_a_folder_or_words_as_a_shell_spells_them(call: Call, trial: Path) -> None:
    files = sorted(str(path.relative_to(trial)) for path in (trial / "runs").iterdir())
    status, folder, _ = call(*THREE, "--runs", "runs", *QUICK)
    assert status == 0
    assert call(*THREE, "--runs", *files, *QUICK) == (0, folder, "")
    assert "Rankings compared by tau_b" in flat(folder)
    assert "303 qrels, each with a random assessor per topic (24 topics, 6 systems)" in flat(folder)
    assert "AP leaves out 2 topics (55 (qrels), 66 (qrels))" in flat(folder)
    assert "AP: the intersection has no relevant document for 6 topics (51, 56, 58, 61, 62, 76)." in flat(
        folder
    )


def test_json_holds_all_of_it_by_name(call: Call) -> None:
    _, out, err = call(*THREE, "--runs", "runs", "-m", "AP", "-m", "P@10", *QUICK, "--format", "json")
    found = json.loads(out)
    assert err == ""
    assert found["assessors"] == ["qrels", "ann", "bob"]
    assert set(SECTIONS) <= found.keys()
    assert len(found["topics"]) == 26
    assert len(found["pairs"]) == 4
    assert set(found["by_topic"]) == {row["assessors"] for row in found["pairs"]}
    assert len(found["by_topic"]["qrels & ann"]["kappa"]) == 26
    assert {effect["measure"] for effect in found["effects"]} == {"AP", "P@10"}
    effect = found["effects"][0]
    assert len(effect["swap_share"]) == len(effect["correlation"]) == 6
    assert effect["swap_share"][0][0] is None
    assert set(effect["swap_difference"]) == {"50%", "95%", "99%", "100%"}
    taus = {row["rankings"]: row["mean"] for row in found["taus"] if row["measure"] == "AP"}
    assert set(taus) == {
        "all with qrels", "every two of 303", "ann with qrels", "bob with qrels", "union with qrels",
        "intersection with qrels",
    }  # fmt: skip
    assert found["rows"] == found["pairs"]
    assert found["choices"]["samples"] == 300


def test_without_runs_json_has_no_systems(call: Call) -> None:
    _, out, _ = call(*THREE, *FEW, "--format", "json")
    assert not set(OF_RUNS) & json.loads(out).keys()


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_a_table_for_people_and_rows_for_programs(call: Call, section: str) -> None:
    asked = (*THREE, "--runs", "runs", *QUICK, "--section", section)
    status, people, _ = call(*asked)
    assert status == 0
    assert people.count("──\n") >= 1
    _, rows, said = call(*asked, "--format", "csv")
    header, *lines = rows.splitlines()
    assert said.startswith("All 3 assessors agree on ")
    assert len({line.count(",") for line in [header, *lines]}) == 1
    _, lines_of_json, _ = call(*asked, "--format", "jsonl")
    assert list(json.loads(lines_of_json.splitlines()[0])) == header.split(",")


def test_parquet_and_latex_and_markdown_are_written(call: Call, trial: Path) -> None:
    for name in ("out.parquet", "out.tex", "out.md"):
        assert call(*THREE, *FEW, "--quiet", "-o", name) == (0, "", "")
    assert polars.read_parquet(trial / "out.parquet").height == 4
    assert "\\begin{tabular}" in (trial / "out.tex").read_text()
    assert "**Agreement on relevance**" in (trial / "out.md").read_text()


def test_all_shows_every_table(call: Call) -> None:
    _, out, _ = call(*THREE, "--runs", "runs", *QUICK, "--all")
    for title in (
        "Agreement on relevance", "Agreement by grade", "rejected by all others",
        "Bias by grade", "Topics to discuss first", "Rankings compared by",
        "AP of each system over 303 qrels", "pairs of systems that swap most often",
        "How each assessor changes the best systems",
    ):  # fmt: skip
        assert title in out


def test_combined_judgments_and_the_list_for_adjudication_are_written(call: Call, trial: Path) -> None:
    status, _, err = call(
        *THREE, *FEW, "--combine", "union", "u.qrels", "--combine", "majority", "m.qrels",
        "--combine", "priority", "p.qrels", "--priority", "bob", "--adjudicate", "differ.tsv",
    )  # fmt: skip
    assert status == 0
    assert "u.qrels: union of 3 assessors" in err
    union, majority, priority = (read_qrels(trial / f"{name}.qrels") for name in "ump")
    bob = read_qrels(trial / "bob.qrels")
    assert union.grades.sum() > majority.grades.sum()
    assert sorted(priority.grades.tolist()) == sorted(bob.grades.tolist())
    header, first, *rest = (trial / "differ.tsv").read_text().splitlines()
    assert header.split("\t") == ["topic", "doc", "qrels", "ann", "bob", "gap", "differ_on"]
    assert first.split("\t")[-1] == "relevance"
    assert f"differ.tsv: {len(rest) + 1:,} documents on which assessors disagree" in err


def test_a_secondary_pool_needs_one_assessor_and_shows_no_grades(call: Call, trial: Path) -> None:
    asked = ("qrels.txt", "--secondary-pool", "second.tsv", "--pool-relevant", "2", "--pool-nonrelevant", "3")
    status, out, err = call(*asked)
    assert (status, out) == (0, "")
    header, *lines = (trial / "second.tsv").read_text().splitlines()
    assert header == "topic\tdoc"
    assert f"second.tsv: {len(lines)} documents of 26 topics for a second assessor to judge" in err
    assert lines == sorted(lines)


def test_simulated_assessors_join_one(call: Call) -> None:
    status, out, _ = call("qrels.txt", "--simulated", "correlated", *FEW)
    assert status == 0
    assert "secondary-A & secondary-B" in out
    _, near, _ = call(
        "qrels.txt", "--simulated", "independent", "--overlaps", "0.9", *FEW, "--format", "json"
    )
    (pair,) = json.loads(near)["pairs"]
    assert pair["overlap"] == pytest.approx(0.9, abs=0.05)


def test_charts_hold_the_assessors_and_where_there_are_runs_the_systems(call: Call, trial: Path) -> None:
    assert call(*THREE, *FEW, "--chart", "few.svg")[0] == 0
    assert call(*THREE, "--runs", "runs", *QUICK, "--all", "--chart", "all.svg")[0] == 0
    few, whole = ((trial / name).read_text() for name in ("few.svg", "all.svg"))
    for words in ("Agreement of the assessors", "qrels &amp; ann"):
        assert words in few
        assert words in whole
    assert "Overlap by topic" in whole
    assert "Overlap by topic" not in few  # one figure by default
    for words in ("AP of 6 systems over 303 qrels", "302 rankings compared with the original",
                  "How often qrels reverse two systems by AP"):  # fmt: skip
        assert words in whole
        assert words not in few
    names = {path.name.removesuffix(".txt") for path in (trial / "runs").iterdir()}
    assert all(f">{name}<" in whole for name in names)


def test_names_that_the_command_knows_are_those_of_the_library() -> None:
    assert (*SECTIONS, *options.OF_PREFERENCES) == options.SECTIONS
    assert tuple(SETTLING) == get_args(options.Repeated)
    helps = {one.name: one.help for one in options.command.params if isinstance(one, click.Option)}
    assert set(COMBINATIONS) <= set(re.findall(r"\w+", str(helps["combinations"])))
    defaults = {parameter.name: parameter.default for parameter in options.command.params}
    choices = StudyChoices()
    assert (defaults["samples"], defaults["tau"]) == (choices.samples, choices.coefficient)
    assert (defaults["resamples"], defaults["alpha"]) == (choices.resamples, choices.alpha)
    assert (defaults["pool_relevant"], defaults["pool_nonrelevant"]) == (RELEVANT, NONRELEVANT)


def test_only_kendalls_tau_stands_for_swaps(call: Call) -> None:
    asked = (*THREE, "--runs", "runs", *QUICK, "--section", "taus")
    _, kendall, _ = call(*asked)
    assert "swaps of neighbors" in kendall
    _, errors, _ = call(*asked, "--tau", "rmse")
    assert "Rankings compared by rmse" in errors
    assert "swaps" not in errors
    assert "(" not in errors.partition("Rankings compared")[2].partition("AP: 303 qrels")[0]
    _, rows, _ = call(*asked, "--tau", "rmse", "--format", "csv")
    first = polars.read_csv(io.StringIO(rows)).row(0, named=True)
    assert (first["coefficient"], first["swaps_mean"]) == ("rmse", None)
    assert 0 < first["mean"] < 1


def test_figures_are_those_of_the_library(call: Call, trial: Path) -> None:
    _, rows, _ = call(*THREE, "--runs", "runs", *QUICK, "--section", "taus", "--format", "csv")
    files = [trial / name for name in THREE]
    study = agree(files, find_runs(trial / "runs"), resamples=50, samples=300)
    (effect,) = study.effects
    table = polars.read_csv(io.StringIO(rows))
    spread = effect.with_original
    assert table.row(0)[3:6] == pytest.approx((spread.mean, spread.least, spread.most))
    assert table["swaps_mean"][0] == pytest.approx((1 - spread.mean) / 2 * 15)
    assert table["mean"].to_list()[2:] == pytest.approx([one.value for one in effect.single[1:]])
    _, pairs, _ = call(*THREE, *FEW, "--format", "csv")
    kappa = [group.estimates["kappa"].value for group in study.agreements.groups]
    assert polars.read_csv(io.StringIO(pairs))["kappa"].to_list() == pytest.approx(kappa)


def test_swaps_lie_at_or_below_a_difference_and_every_possible_qrels_is_named_as_such(
    call: Call, trial: Path
) -> None:
    lines = [
        line for line in (trial / "qrels.txt").read_text().splitlines() if line.split()[0] in ("51", "52")
    ]
    (trial / "two.qrels").write_text("\n".join(lines) + "\n")
    other = [
        line for line in (trial / "ann.qrels").read_text().splitlines() if line.split()[0] in ("51", "52")
    ]
    (trial / "other.qrels").write_text("\n".join(other) + "\n")
    _, out, _ = call("two.qrels", "other.qrels", "--runs", "runs", *QUICK)
    assert "AP: all 4 possible qrels (2 topics, 6 systems)." in flat(out)
    _, swaps, _ = call("two.qrels", "other.qrels", "--runs", "runs", *QUICK, "--section", "swaps")
    assert "of 15 pairs" in flat(swaps)
    assert "50% at most" in flat(swaps)


def test_a_level_that_a_measure_names_is_kept(call: Call, trial: Path) -> None:
    (trial / "l1.qrels").write_text("1 0 a 2\n1 0 b 1\n")
    (trial / "l2.qrels").write_text("1 0 a 2\n1 0 b 0\n")
    for name, order in (("x", "ab"), ("y", "ba")):
        lines = [f"1 Q0 {doc} {rank} {5 - rank} {name}\n" for rank, doc in enumerate(order, 1)]
        (trial / f"{name}.run").write_text("".join(lines))
    asked = (
        "l1.qrels",
        "l2.qrels",
        "--level",
        "2",
        "--runs",
        "x.run",
        "y.run",
        "-m",
        "RR",
        "-m",
        "RR(rel=1)",
    )
    _, rows, _ = call(*asked, "--section", "systems", "--format", "csv")
    table = polars.read_csv(io.StringIO(rows))
    # y has b first: relevant to the first assessor from grade 1, to nobody from grade 2
    values = {(row["measure"], row["system"]): row["original"] for row in table.iter_rows(named=True)}
    assert values == {("RR(rel=2)", "x"): 1, ("RR(rel=2)", "y"): 0.5, ("RR", "x"): 1, ("RR", "y"): 1}
    _, tied, _ = call(*asked[:-3], "RR(rel=1)", "--section", "taus", "--section", "top")
    assert "RR all with l1: 1 of 1 have no value: all systems tie by the original qrels." in flat(tied)
    assert "RR l1: all systems tie by l1. RR l2: all systems tie by the others." in flat(tied)


def test_one_best_system_says_why_it_has_no_tau(call: Call) -> None:
    _, out, _ = call(*THREE, "--runs", "runs", *QUICK, "--top", "1", "--section", "top")
    assert "AP qrels, AP ann, AP bob: one system cannot be ranked." in flat(out)
    assert "The best system, ranked under each assessor" in flat(out)


def test_the_log_of_judging_is_read_and_what_it_leaves_out_is_told(call: Call, trial: Path) -> None:
    rows = [
        ("judge", "a", "X", 1), ("judge", "a", "Y", 0), ("judge", "b", "X", 0), ("judge", "b", "Y", None),
        ("skip", "c", "X", None), ("judge", "d", "Y", 0), ("judge", "d", "X", 1), ("judge", "d", "X", 0),
    ]  # fmt: skip
    names = ("kind", "doc", "assessor", "grade")
    lines = [
        json.dumps({"sequence": place, "topic": "1", **dict(zip(names, row, strict=True))})
        for place, row in enumerate(rows, 1)
    ]
    (trial / "log.jsonl").write_text("\n".join(lines) + "\n")
    status, out, _ = call("log.jsonl", "--section", "confusions", "--section", "pairs")
    assert status == 0
    told = "log.jsonl: 5 judgments used. Left out: 1 that could not be judged, 1 skipped, 0 withdrawn, 1 changed later"
    assert told in flat(out)
    _, rows_of_pairs, said = call("log.jsonl", "--format", "jsonl")
    assert json.loads(rows_of_pairs)["documents"] == 2
    assert told in flat(said)
    _, everything, _ = call("log.jsonl", "--format", "json")
    (log,) = json.loads(everything)["logs"]
    assert (log["standing"], log["cannot"], log["skipped"], log["changed"]) == (5, 1, 1, 1)


def test_means_of_votes_say_what_relevant_means(call: Call, trial: Path) -> None:
    (trial / "votes.csv").write_text("topic,doc,assessor,grade\n1,a,X,1\n1,a,X,0\n1,a,Y,1\n")
    _, out, _ = call("votes.csv", "--repeated", "mean")
    assert "relevant if its mean grade reaches 1" in flat(out)
    assert "X gave 1 document different grades; --repeated mean decides" in flat(out)


def test_where_nothing_is_contested_that_is_said(call: Call, trial: Path) -> None:
    (trial / "same.qrels").write_text((trial / "qrels.txt").read_text())
    _, out, _ = call("qrels.txt", "same.qrels", *FEW)
    assert "The assessors never disagree about relevance." in flat(out)
    _, alone, _ = call("qrels.txt", "same.qrels", *FEW, "--section", "topics")
    assert "nobody found a relevant document" in alone  # two topics have none


def test_no_file_that_is_read_is_written_over(call: Call, trial: Path) -> None:
    before = (trial / "ann.qrels").read_text()
    for asked in (
        ("--combine", "union", "ann.qrels"),
        ("-o", "./ann.qrels", "--format", "csv"),
        ("--adjudicate", "ann.qrels"),
    ):
        status, _, err = call(*THREE, *FEW, *asked)
        assert status == 2
        assert "ann.qrels would overwrite an input file; name another file" in err
    (run, *_) = sorted(path.name for path in (trial / "runs").iterdir())
    assert call(*THREE, "--runs", "runs", "--combine", "union", f"runs/{run}")[0] == 2
    assert (trial / "ann.qrels").read_text() == before
    status, _, err = call(*THREE, *FEW, "-o", "out.txt", "--combine", "union", "out.txt")
    assert status == 2
    assert "--combine union and --output both write out.txt; name two files" in err


def test_help_lists_no_option_that_is_always_refused(call: Call) -> None:
    status, out, _ = call("--help-all")
    assert status == 0
    for option in (
        "--universe",
        "--at-most",
        "--prior ",
        "moments",
        "--draws",
        "bounds",
        "expected",
        "skip",
    ):
        assert option not in out
    for option in ("--unjudged", "--policy", "missing", "--depth"):
        assert option in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("qrels.txt",), "only one assessor (qrels); add the judgments of another"),
        ((*THREE, "-m", "AP"), "--measure changes nothing without --runs"),
        ((*THREE, "--tau", "tau_a"), "--tau changes nothing without --runs"),
        ((*THREE, "--samples", "100"), "--samples changes nothing without --runs"),
        ((*THREE, "--policy", "missing=error"), "--policy missing changes nothing without --runs"),
        ((*THREE, "--unjudged", "condensed"), "--unjudged changes nothing without --runs"),
        ((*THREE, "--runs", "runs", "--unjudged", "bounds"), "'bounds' is not one of 'nonrelevant'"),
        (
            (*THREE, "--runs", "runs", "--policy", "missing=skip"),
            "'missing=skip'; write missing=zero or missing=error",
        ),
        ((*THREE, "--runs", "runs", "--draws", "9"), "No such option '--draws'"),
        ((*THREE, "--pool-relevant", "3"), "--pool-relevant changes nothing without --secondary-pool"),
        ((*THREE, "--runs"), "--runs without runs; name files, folders or globs behind it"),
        ((*THREE, "--runs", "--quiet"), "--runs without runs; name files, folders or globs behind it"),
        ((*THREE, "--runs", "runs", "--runs"), "--runs without runs; name files, folders or globs behind it"),
        (
            ("--runs", "runs", "qrels.txt"),
            "no QRELS: --runs took all words behind it; give QRELS before --runs",
        ),
        (("--quiet",), "Missing argument 'QRELS...'"),
        (("qrels.txt", "--secondary-pool", "s.tsv", "--combine", "union", "u"), "one assessor (qrels)"),
        ((*THREE, "--section", "taus"), "--section taus is about systems; add --runs"),
        ((*THREE, "--combine", "onion", "x"), "--combine 'onion'; expected one of union,"),
        ((*THREE, "--priority", "ann"), "--priority changes nothing without --combine priority FILE"),
        ((*THREE, "--all", "--section", "pairs"), "--all already shows every section"),
        ((*THREE, "--all", "--format", "csv"), "csv holds one table; give one --section, or use json"),
        ((*THREE, "--simulated", "correlated"), "--simulated needs the judgments of exactly one assessor"),
        ((*THREE, "--overlaps", "0.5"), "--overlaps changes nothing without --simulated"),
        ((*THREE, "--word", "relevant"), "expected a word and its grade, such as relevant=1"),
        (
            ("qrels.txt", "--simulated", "correlated", "--overlaps", "much"),
            "expected numbers, such as 0.421,0.494",
        ),
    ],
)
def test_what_cannot_be_is_said_as_a_matter_of_usage(
    call: Call, arguments: tuple[str, ...], told: str
) -> None:
    status, _, err = call(*arguments)
    assert status == 2
    assert told in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("qrels.txt", "./qrels.txt"), "./qrels.txt: given twice; expected the judgments of different"),
        (("qrels.txt", "nobody.qrels"), "nobody.qrels: no such file"),
        (("qrels.txt", "ann.qrels", "--runs", "runs", "--level", "9"), "no topic has a relevant document by every"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(call: Call, arguments: tuple[str, ...], told: str) -> None:
    status, out, err = call(*arguments)
    assert (status, out) == (1, "")
    assert told in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*THREE, "--primary", "an"), "unknown assessor 'an'; did you mean ann?"),
        ((*THREE, "--runs", "runs", "--tau", "tau_c"), "unknown coefficient 'tau_c'; did you mean"),
        ((*THREE, "--runs", "runs", "--chart", "a.doc"), "no chart format has the suffix '.doc'"),
    ],
)  # fmt: skip
def test_a_name_that_does_not_exist_is_wrong_usage(call: Call, arguments: tuple[str, ...], told: str) -> None:
    check_refused(call(*arguments), 2, told)


def test_nothing_is_left_unexplained_where_assessors_share_little(call: Call, trial: Path) -> None:
    (trial / "one.qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 c 1\n3 0 x 0\n3 0 y 0\n4 0 p 1\n")
    (trial / "two.qrels").write_text("1 0 a 1\n1 0 b 1\n2 0 e 1\n3 0 x 0\n3 0 y 0\n")
    _, out, _ = call("one.qrels", "two.qrels", "--resamples", "20", "--notes")
    assert "nan" not in out.lower()
    assert "No overlap for 1 topic (2): no document was judged by all of them." in flat(out)
    assert "No overlap for 1 topic (3): nobody found a relevant document." in flat(out)
    assert "No overlap for 1 topic (4): not judged by two." in flat(out)


# -- real judgments --------------------------------------------------------------------------------


def test_crowd_votes_are_told_settled_and_held_against_nist(call: Call, collections: Path) -> None:
    folder = collections / "crowd-core17"
    files = (str(folder / "nist.qrels.core17.txt.gz"), str(folder / "qrels_mv_binary_all_topics.csv.gz"))
    status, _, err = call(*files)
    assert status == 1
    assert "(20,338 such documents); choose what counts with --repeated majority" in err
    status, out, _ = call(*files, "--repeated", "majority", "--format", "json")
    found = json.loads(out)
    (repeats,) = found["repeats"]
    assert (repeats["pairs"], repeats["rows"], repeats["contradictory"]) == (23_554, 141_326, 20_338)
    (pair,) = found["pairs"]
    assert (pair["topics"], pair["documents"]) == (50, 5947)
    for name in ("overlap", "agreement", "kappa", "alpha"):
        assert pair[f"{name}_low"] < pair[name] < pair[f"{name}_high"]
    assert pair["overlap"] == pytest.approx(0.262, abs=0.001)
    assert pair["kappa"] == pytest.approx(0.127, abs=0.001)
    said = [
        f"{pair[name]:.3f} [{pair[f'{name}_low']:.3f}, {pair[f'{name}_high']:.3f}]"
        for name in ("overlap", "kappa")
    ]
    page = (Path(__file__).parents[2] / "docs" / "agree.md").read_text()
    assert "the overlap is {} and kappa is {}.".format(*said).replace("0.", ".") in flat(page)
    assert sum(topic["reason"].startswith("not judged by nist") for topic in found["topics"]) == 200


def test_reviewers_with_words_for_grades_are_read(call: Call, collections: Path) -> None:
    file = str(collections / "crowd-core17" / "reviewers-3x120.tsv")
    words = ("not_relevant=0", "relevant=1", "highly_relevant=2")
    status, out, _ = call(file, *(part for word in words for part in ("--word", word)), "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert found["assessors"] == ["R1", "R2", "R3"]
    assert [pair["documents"] for pair in found["pairs"]] == [120] * 4
    assert found["pairs"][-1]["alpha_ordinal"] == pytest.approx(0.665, abs=0.001)
