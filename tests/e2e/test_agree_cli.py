"""`sounding agree` as a person uses it: tables, formats, files, errors; crowd judgments and TREC-8."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from sounding.cli import main
from sounding.data.formats import read_qrels
from sounding.report.agreement_tables import OF_RUNS, SECTIONS

Said = tuple[int, str, str]
Call = Callable[..., Said]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A simulated collection of 6 runs and 26 topics, and three assessors by name."""
    folder = tmp_path_factory.mktemp("agree") / "trial"
    sizes = ["--topics", "26", "--groups", "3", "--systems", "2", "--documents", "400", "--length", "60"]
    with pytest.raises(SystemExit):
        main(["sample", str(folder), *sizes, "--pool-depth", "20", "--seed", "4"])
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

    def run(*arguments: str) -> Said:
        capsys.readouterr()
        status = 0
        try:
            main(["agree", *arguments])
        except SystemExit as left:
            status = int(left.code or 0)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def flat(text: str) -> str:
    """The words of a text, wherever its lines were broken."""
    return " ".join(text.split())


THREE = ("qrels.txt", "ann.qrels", "bob.qrels")
QUICK = ("--resamples", "50", "--samples", "300")


def test_people_see_agreement_and_topics_to_talk_about(call: Call) -> None:
    status, out, err = call(*THREE, *QUICK)
    assert (status, err) == (0, "")
    assert out.startswith("how far the assessors agree\n")
    assert "qrels & ann" in out
    assert "all 3" in out
    assert "topics to talk about first" in out
    assert "3 assessors, 26 topics" in flat(out)
    assert "Intervals: 95%, bootstrap over topics (50 resamples, seed 0)." in flat(out)
    assert "Outside common:" in flat(out)
    assert "Policies: ties trec" in flat(out)
    assert "nan" not in out.lower()


def test_runs_may_be_a_folder_or_words_as_a_shell_spells_them(call: Call, trial: Path) -> None:
    files = sorted(str(path.relative_to(trial)) for path in (trial / "runs").iterdir())
    status, folder, _ = call(*THREE, "--runs", "runs", *QUICK)
    assert status == 0
    assert call(*THREE, "--runs", *files, *QUICK) == (0, folder, "")
    assert "rankings compared by tau_b" in flat(folder)
    assert "303 qrels that pick an assessor for every topic, over 24 topics and 6 systems" in flat(folder)
    assert "AP: left out, as an assessor found nothing relevant, 2 topics (55 (qrels), 66 (qrels))." in flat(
        folder
    )
    assert "AP: the intersection has no relevant document for 6 topics (51, 56, 58, 61, 62, 76)." in flat(
        folder
    )
    assert "what each assessor does to the best systems" in flat(folder)


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
    _, out, _ = call(*THREE, *QUICK, "--format", "json")
    assert not set(OF_RUNS) & json.loads(out).keys()


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_is_a_table_for_people_and_rows_for_programs(call: Call, section: str) -> None:
    asked = (*THREE, "--runs", "runs", *QUICK, "--section", section)
    status, people, _ = call(*asked)
    assert status == 0
    assert people.count("──\n") >= 1
    _, rows, said = call(*asked, "--format", "csv")
    header, *lines = rows.splitlines()
    assert "Policies: " in said
    assert len({line.count(",") for line in [header, *lines]}) == 1
    _, lines_of_json, _ = call(*asked, "--format", "jsonl")
    assert list(json.loads(lines_of_json.splitlines()[0])) == header.split(",")


def test_parquet_and_latex_and_markdown_are_written(call: Call, trial: Path) -> None:
    for name in ("out.parquet", "out.tex", "out.md"):
        assert call(*THREE, *QUICK, "--quiet", "-o", name) == (0, "", "")
    assert polars.read_parquet(trial / "out.parquet").height == 4
    assert "\\begin{tabular}" in (trial / "out.tex").read_text()
    assert "**how far the assessors agree**" in (trial / "out.md").read_text()


def test_all_shows_every_table(call: Call) -> None:
    _, out, _ = call(*THREE, "--runs", "runs", *QUICK, "--all")
    for title in (
        "how far the assessors agree", "agreement by grade", "rejected by all others",
        "grades that an assessor favours", "topics to talk about first", "rankings compared by",
        "AP of each system over 303 qrels", "pairs of systems that swap most often",
        "what each assessor does to the best systems",
    ):  # fmt: skip
        assert title in out


def test_combined_judgments_and_the_list_for_adjudication_are_written(call: Call, trial: Path) -> None:
    status, _, err = call(
        *THREE, *QUICK, "--combine", "union", "u.qrels", "--combine", "majority", "m.qrels",
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
    assert f"differ.tsv: {len(rest) + 1:,} documents on which assessors differ" in err


def test_a_secondary_pool_needs_one_assessor_and_shows_no_grades(call: Call, trial: Path) -> None:
    asked = ("qrels.txt", "--secondary-pool", "second.tsv", "--pool-relevant", "2", "--pool-nonrelevant", "3")
    status, out, err = call(*asked)
    assert (status, out) == (0, "")
    header, *lines = (trial / "second.tsv").read_text().splitlines()
    assert header == "topic\tdoc"
    assert f"second.tsv: {len(lines)} documents of 26 topics to judge" in err
    assert lines == sorted(lines)


def test_simulated_assessors_join_one(call: Call) -> None:
    status, out, _ = call("qrels.txt", "--simulate", "correlated", *QUICK)
    assert status == 0
    assert "secondary-A & secondary-B" in out
    _, near, _ = call(
        "qrels.txt", "--simulate", "independent", "--overlaps", "0.9", *QUICK, "--format", "json"
    )
    (pair,) = json.loads(near)["pairs"]
    assert pair["overlap"] == pytest.approx(0.9, abs=0.05)


def test_charts_are_written(call: Call, trial: Path) -> None:
    status, _, _ = call(*THREE, "--runs", "runs", *QUICK, "--chart", "chart.svg")
    assert status == 0
    assert (trial / "chart.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("qrels.txt",), "one assessor (qrels); give the judgments of another"),
        ((*THREE, "-m", "AP"), "--measure changes nothing without --runs"),
        ((*THREE, "--chart", "a.png"), "give --runs as well"),
        ((*THREE, "--section", "taus"), "--section taus is about systems; give --runs as well"),
        ((*THREE, "--combine", "onion", "x"), "--combine 'onion'; expected one of union,"),
        ((*THREE, "--priority", "ann"), "--priority changes nothing without --combine priority FILE"),
        ((*THREE, "--all", "--section", "pairs"), "--all and --section do not go together"),
        ((*THREE, "--all", "--format", "csv"), "csv holds one table; give one --section, or use json"),
        ((*THREE, "--simulate", "correlated"), "--simulate adds to one assessor"),
        ((*THREE, "--overlaps", "0.5"), "--overlaps changes nothing without --simulate"),
        ((*THREE, "--label", "relevant"), "expected a word and its grade, as relevant=1"),
        (
            ("qrels.txt", "--simulate", "correlated", "--overlaps", "much"),
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
        ((*THREE, "--primary", "an"), "unknown assessor 'an'; did you mean ann?"),
        ((*THREE, "--tau", "tau_c"), "unknown coefficient 'tau_c'; did you mean"),
        ((*THREE, "--runs", "runs", "--unjudged", "bounds"), "unjudged bounds gives no single value"),
        ((*THREE, "--runs", "runs", "--chart", "a.doc"), "no chart format has the suffix '.doc'"),
        (("qrels.txt", "nobody.qrels"), "nobody.qrels: no such file"),
        (("qrels.txt", "ann.qrels", "--runs", "runs", "--level", "9"), "no topic has a relevant document by every"),
    ],
)  # fmt: skip
def test_bad_input_gets_one_line(call: Call, arguments: tuple[str, ...], told: str) -> None:
    status, out, err = call(*arguments)
    assert (status, out) == (1, "")
    assert told in err
    assert err.count("\n") == 1


def test_nothing_is_left_unexplained_where_assessors_share_little(call: Call, trial: Path) -> None:
    (trial / "one.qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 c 1\n3 0 x 0\n3 0 y 0\n4 0 p 1\n")
    (trial / "two.qrels").write_text("1 0 a 1\n1 0 b 1\n2 0 e 1\n3 0 x 0\n3 0 y 0\n")
    _, out, _ = call("one.qrels", "two.qrels", "--resamples", "20")
    assert "nan" not in out.lower()
    assert "No overlap for 1 topic (2): no document that all judged." in flat(out)
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
    assert sum(topic["reason"].startswith("not judged by nist") for topic in found["topics"]) == 200


def test_reviewers_with_words_for_grades_are_read(call: Call, collections: Path) -> None:
    file = str(collections / "crowd-core17" / "reviewers-3x120.tsv")
    words = ("not_relevant=0", "relevant=1", "highly_relevant=2")
    status, out, _ = call(file, *(part for word in words for part in ("--label", word)), "--format", "json")
    found = json.loads(out)
    assert status == 0
    assert found["assessors"] == ["R1", "R2", "R3"]
    assert [pair["documents"] for pair in found["pairs"]] == [120] * 4
    assert found["pairs"][-1]["alpha_ordinal"] == pytest.approx(0.665, abs=0.001)
