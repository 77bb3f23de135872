"""What pages tell besides: to those who settle differences, of topics and people, and of changed instructions."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from tests.judge.web import Browser, add_person, json_line, signed_in

from sounding.judge import organizing as organizing
from sounding.judge.project import Project, create_project
from sounding.judge.settings import Settings, parse_scale


def test_who_settles_a_difference_sees_what_the_topic_asks_for_and_what_was_said(
    olga: Browser, project: Project
) -> None:
    for who, grade, said in (("assessor-1", 0, "only <b>ships</b>"), ("assessor-2", 2, "")):
        project.engine.judge(who, "MB001", "d05", grade, key=f"key-{who}-long", comment=said)
    text = unescape(re.sub(r"<[^>]*>", "", olga.get("/organize/differences").text))
    topic = project.store.topic("MB001")
    assert topic is not None
    assert topic.narrative
    for wanted in (
        f"MB001 {topic.title}",
        topic.description,
        topic.narrative,
        "ann: 0 not relevantonly <b>ships</b>",
    ):
        assert wanted in text
    assert "only &lt;b&gt;ships&lt;/b&gt;" in olga.get("/organize/differences").text
    bob = signed_in(project, "bob")
    assert bob.get("/organize/differences").status_code == 403
    for path in ("/judge?topic=MB001&doc=d05", "/api/document?topic=MB001&doc=d05", "/history?topic=MB001"):
        answer = bob.get(path)
        assert answer.status_code == 200
        assert "only" not in answer.text


def test_the_page_of_topics_tells_what_is_to_be_judged_again(olga: Browser, project: Project) -> None:
    assert "Again" not in olga.get("/organize/topics").text
    organizing.change_settings(project, overlap=2)
    for doc in ("d05", "d06", "d07"):
        project.engine.judge("assessor-1", "MB001", doc, 1, key=f"key-{doc}-long")
    project.engine.judge("assessor-2", "MB001", "d07", 1, key="key-d07-by-two")
    text = olga.get("/organize/topics").text
    [row] = [one for one in re.split(r"<tr\b[^>]*>", text) if 'value="MB001"' in one]
    assert re.findall(r"(?:judged|again)</span> (\d+)<", row) == ["3", "2"]  # judged, again
    assert text.index(">Left<") < text.index(">Again<")
    assert "2 each" in text


def test_the_page_of_people_counts_topics_and_judgments(olga: Browser, project: Project) -> None:
    project.store.assign("303", "assessor-2")
    for doc in ("d05", "d06", "d07"):
        project.engine.judge("assessor-2", "MB001", doc, 1, key=f"key-{doc}-long")
    page = re.sub(r'<span class="narrow-only[^>]*>[^<]*</span>', "", olga.get("/organize/people").text)
    rows = [re.findall(r'class="number">\s*([0-9,]+)\s*<', one) for one in page.split("<tr>")[2:]]
    assert [row[:2] for row in rows] == [["1", "0"], ["2", "3"], ["0", "0"]]  # ann, bob, olga


def test_answers_tell_when_what_assessors_read_has_changed(olga: Browser, project: Project) -> None:
    ann = signed_in(project, "ann")

    def guide() -> str:
        answer = ann.client.get("/api/next", params={"topic": "MB001"}).json()
        page = ann.get("/judge?topic=MB001").text
        assert f'data-guide="{answer["guide"]}"' in page
        return str(answer["guide"])

    seen = [guide(), guide()]
    assert seen[0] == seen[1]
    project.engine.judge("assessor-2", "MB001", "d05", 1, key="key-d05-long")
    assert guide() == seen[0]  # what others do says nothing
    organizing.set_instructions(project, "Read twice.")
    seen.append(guide())
    organizing.change_settings(project, title="Sea stories")
    seen.append(guide())
    project.store.save_topic("MB001", title="whales", author=None)
    given = {"topic": "MB001", "doc": "d06", "grade": 1, "key": "key-d06-long"}
    seen.append(ann.send("/api/judge", given).json()["guide"])
    assert len(set(seen)) == 4
    assert guide() == seen[-1]


def test_a_document_without_a_title_is_found_under_its_id_and_no_line_stands_twice(tmp_path: Path) -> None:
    lines = [json_line("w1", "whales hear ships\nfrom afar"), json_line("w2", "Of ships\n\nand whales")]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    corpus, settings = [str(tmp_path / "corpus.jsonl")], Settings(scale=parse_scale("0,1"))
    with create_project(tmp_path / "p", corpus=corpus, topics=None, runs=[], settings=settings) as project:
        add_person(project, "ann")
        ann = signed_in(project, "ann")
        ann.post("/develop", title="whales")
        text = ann.get("/develop/topic?id=N001&query=whales+ships").text
        found = [
            unescape(" ".join(re.sub(r"<[^>]*>", "", one.split("</li>")[0]).split()))
            for one in text[text.index('<ol class="found"') :].split("<li>")[1:]
        ]
        assert sorted(found) == ["Of ships w2 and whales", "w1 whales hear ships from afar"]
        hits = ann.client.get("/api/search", params={"topic": "N001", "query": "hear"}).json()["found"]
        assert hits == [{"doc": "w1", "title": "", "snippet": "whales hear ships from afar"}]
