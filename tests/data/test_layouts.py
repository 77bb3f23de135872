"""The JSON of other tools: every layout gives the rows that its documentation describes, and mistakes have a place."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sounding
from sounding.agree.assessors import read_panel
from sounding.check.checking import check
from sounding.convert.converting import convert
from sounding.core.errors import DataError, FormatError
from sounding.data.formats import read_qrels, read_run
from sounding.data.tables import Qrels, Run

RANKING = {"red dress": [("d2", 7.25), ("d1", 0.1), ("d3", 0.1)], "jeans": [("d1", 3.0)]}
GRADES = {"jeans": {"d1": 1, "d2": 0}, "red dress": {"d1": 3, "d2": 0}}


def rank_eval_answer(query: str, docs: list[tuple[str, float]]) -> Any:
    hits = [{"hit": {"_index": "i", "_id": doc, "_score": score}, "rating": None} for doc, score in docs]
    unrated = [{"_index": "i", "_id": doc} for doc, _ in docs]
    return query, {"metric_score": 0.5, "unrated_docs": unrated, "hits": hits, "metric_details": {}}


def solr(query: str, docs: list[tuple[str, float]]) -> Any:
    found = [{"id": doc, "score": score} for doc, score in docs]
    return {
        "responseHeader": {"status": 0, "params": {"q": query}},
        "response": {"numFound": 9, "docs": found},
    }


def vespa(query: str, docs: list[tuple[str, float]]) -> Any:
    hits = [
        {"id": f"index:x/{doc}", "relevance": score, "fields": {"documentid": doc}} for doc, score in docs
    ]
    return {"query": query, "root": {"id": "toplevel", "relevance": 1.0, "children": hits}}


def scored(query: str, docs: list[tuple[str, float]], **names: str) -> Any:
    return {
        "query_id": query,
        "query": "?",
        "results": [{"corpus_id": doc, "score": score} for doc, score in docs],
    }


def langchain(query: str, docs: list[tuple[str, float]]) -> Any:
    found = [{"page_content": "x", "metadata": {"id": doc}, "score": score} for doc, score in docs]
    return {"question": query, "source_documents": found, "answer": "..."}


Ranking = dict[str, list[tuple[str, float]]]


def runs_of(ranking: Ranking) -> dict[str, Any]:
    """A ranking in every layout that holds scores."""

    def each(form: Any) -> list[Any]:
        return [form(query, docs) for query, docs in ranking.items()]

    return {
        "rank_eval": {"metric_score": 0.5, "details": dict(each(rank_eval_answer)), "failures": {}},
        "rank_eval of version 6": {
            "rank_eval": {"quality_level": 1, "details": dict(each(rank_eval_answer))}
        },
        "solr": each(solr),
        "vespa": each(vespa),
        "sentence-transformers": each(scored),
        "langchain": each(langchain),
        "mteb": {
            "mteb_model_meta": {"model_name": "m/e5", "revision": "1"},
            "default": {"test": {query: dict(docs) for query, docs in ranking.items()}},
        },
    }


def orders_of(ranking: Ranking) -> dict[str, Any]:
    """A ranking in every layout that holds an order without scores."""

    def each(form: Any) -> list[Any]:
        return [form(query, docs) for query, docs in ranking.items()]

    return {
        "opensearch": {
            "hits": {"total": {"value": 2}, "hits": [
                {"_id": query, "_source": {
                    "searchConfigurationId": "bm25", "searchText": query, "judgmentIds": ["j"],
                    "documentIds": [doc for doc, _ in docs], "metrics": [{"metric": "NDCG@8", "value": 0.0}],
                }}
                for query, docs in ranking.items()
            ]}
        },
        "ragas": each(lambda query, docs: {
            "user_input": query, "retrieved_contexts": ["text"] * len(docs), "response": "r",
            "retrieved_context_ids": [doc for doc, _ in docs], "reference_context_ids": ["d1", 7],
        }),
        "deepeval": each(lambda query, docs: {
            "input": query, "actual_output": "r", "retrieval_context": [{"id": doc, "text": "t"} for doc, _ in docs],
        }),
        "solr without scores": [
            {**solr(query, docs), "response": {"docs": [{"id": doc} for doc, _ in docs]}} for query, docs in ranking.items()
        ],
    }  # fmt: skip


def judgments_of(grades: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Judgments in every layout."""
    return {
        "rank_eval": {
            "requests": [
                {"id": query, "request": {"query": {"match": {"text": query}}},
                 "ratings": [{"_index": "i", "_id": doc, "rating": grade} for doc, grade in rated.items()]}
                for query, rated in grades.items()
            ],
            "metric": {"precision": {"k": 20}},
        },
        "opensearch": {
            "name": "x", "type": "IMPORT_JUDGMENT",
            "judgmentRatings": [
                {"query": query, "ratings": [{"docId": doc, "rating": f"{grade}.000"} for doc, grade in rated.items()]}
                for query, rated in grades.items()
            ],
        },
        "opensearch, by query": {
            "judgmentRatings": {
                query: [{"docId": doc, "rating": str(grade)} for doc, grade in rated.items()] for query, rated in grades.items()
            }
        },
        "quepid book": {
            "name": "b",
            "query_doc_pairs": [
                {"query_text": query, "doc_id": doc, "position": 1, "document_fields": None,
                 "judgements": [{"rating": float(grade), "unrateable": False, "user_email": "a@x.org"}]}
                for query, rated in grades.items() for doc, grade in rated.items()
            ],
        },
        "quepid case": {"case_name": "c", "queries": [
            {"query_text": query, "options": {}, "ratings": rated} for query, rated in grades.items()
        ]},
        "quepid ratings": {"queries": [{"query": query, "ratings": rated} for query, rated in grades.items()]},
        "quepid import": {"ratings": [
            {"query_text": query, "doc_id": doc, "rating": grade} for query, rated in grades.items() for doc, grade in rated.items()
        ]},
        "label studio": [
            {"id": 1, "data": {"query": query, "doc_id": doc, "text": "..."}, "predictions": [],
             "annotations": [{"completed_by": 10, "was_cancelled": False, "result": [
                 {"from_name": "grade", "to_name": "text", "type": "choices", "value": {"choices": [str(grade)]}}]}]}
            for query, rated in grades.items() for doc, grade in rated.items()
        ],
        "argilla": [
            {"id": "r", "fields": {"text": "..."}, "metadata": {"topic": query, "doc": doc}, "suggestions": {},
             "responses": {"relevance": [{"value": grade, "user_id": "u-1"}]}, "vectors": {}}
            for query, rated in grades.items() for doc, grade in rated.items()
        ],
    }  # fmt: skip


RUNS, ORDERS, JUDGMENTS = runs_of(RANKING), orders_of(RANKING), judgments_of(GRADES)


def write(folder: Path, name: str, value: Any) -> Path:
    (folder / name).write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
    return folder / name


def rows(table: Run | Qrels) -> dict[str, list[tuple[str, float]]]:
    values = (table.scores if isinstance(table, Run) else table.grades).tolist()
    pairs = list(zip(table.docs.texts(), values, strict=True))
    starts = table.starts.tolist()
    return {topic: pairs[starts[place] : starts[place + 1]] for place, topic in enumerate(table.topics)}


def in_lines(value: Any) -> str:
    """The objects of a list as JSON lines."""
    return "".join(json.dumps(item) + "\n" for item in (value if isinstance(value, list) else [value]))


@pytest.mark.parametrize("name", RUNS)
def test_a_ranking_is_read_from_json_and_json_lines(name: str, tmp_path: Path) -> None:
    run = read_run(write(tmp_path, "answer.json", RUNS[name]))
    assert rows(run) == RANKING
    assert run.tag == ("m/e5" if name == "mteb" else "answer")
    again = read_run(write(tmp_path, "lines.jsonl", in_lines(RUNS[name])))
    assert rows(again) == RANKING
    assert check(tmp_path / "answer.json").kind == "run"


@pytest.mark.parametrize("name", ORDERS)
def test_documents_without_scores_keep_their_order(name: str, tmp_path: Path) -> None:
    run = read_run(write(tmp_path, "answer.json", ORDERS[name]))
    assert rows(run) == {
        query: [(doc, -place) for place, (doc, _) in enumerate(docs, 1)] for query, docs in RANKING.items()
    }
    assert run.tag == ("bm25" if name == "opensearch" else "answer")


@pytest.mark.parametrize("name", JUDGMENTS)
def test_judgments_are_read_from_json_and_json_lines(name: str, tmp_path: Path) -> None:
    expected = {topic: list(rated.items()) for topic, rated in GRADES.items()}
    assert rows(read_qrels(write(tmp_path, "judged.json", JUDGMENTS[name]))) == expected
    assert rows(read_qrels(write(tmp_path, "lines.jsonl", in_lines(JUDGMENTS[name])))) == expected
    checked = check(tmp_path / "judged.json")
    assert (checked.kind, checked.total) == ("qrels", 0)


def test_reference_contexts_are_judgments(tmp_path: Path) -> None:
    qrels = read_qrels(write(tmp_path, "ragas.json", ORDERS["ragas"]))
    assert rows(qrels) == {"jeans": [("d1", 1), ("7", 1)], "red dress": [("d1", 1), ("7", 1)]}


def test_values_are_those_of_the_same_ranking_as_text(tmp_path: Path) -> None:
    """Whatever the layout, evaluate computes the same bits; with ties=file, in the order that the engine returned."""
    draw = random.Random(3)
    queries = [f"q{number}" for number in range(12)]
    ranking = {
        q: sorted(
            ((f"d{n}", draw.choice([draw.random(), 0.5])) for n in draw.sample(range(40), 25)),
            key=lambda pair: -pair[1],
        )
        for q in queries
    }
    lines = "".join(f"{q} Q0 {doc} 1 {score!r} x\n" for q, docs in ranking.items() for doc, score in docs)
    text = write(tmp_path, "text.txt", lines)
    judged = "".join(f"{q} 0 d{n} {draw.choice([0, 1, 3])}\n" for q in queries for n in range(0, 40, 2))
    qrels = write(tmp_path, "qrels.txt", judged)
    answer = {
        "metric_score": 1,
        "details": dict(rank_eval_answer(q, docs) for q, docs in ranking.items()),
        "failures": {},
    }
    others = [
        write(tmp_path, "answer.json", answer),
        write(tmp_path, "solr.json", [solr(q, docs) for q, docs in ranking.items()]),
    ]
    convert(qrels, tmp_path / "request.json", to="rank_eval")
    for policies in (sounding.Policies(), sounding.Policies(ties="file")):
        for request in (qrels, tmp_path / "request.json"):
            found = sounding.evaluate(
                request,
                [text, *others],
                ["AP", "nDCG@10", "P@5", "RR"],
                policies=policies,
            )
            assert (found.values[0] == found.values[1]).all()
            assert (found.values[0] == found.values[2]).all()
    by_order = sounding.evaluate(qrels, others[0], ["P@5"], policies=sounding.Policies(ties="file")).values[0]
    grades = {tuple(line.split()[::2]): int(line.split()[3]) for line in judged.splitlines()}
    by_hand = [sum(grades.get((q, doc), 0) > 0 for doc, _ in ranking[q][:5]) / 5 for q in sorted(queries)]
    np.testing.assert_array_equal(np.ravel(by_order), by_hand)


def test_several_raters_are_kept_apart(tmp_path: Path) -> None:
    pairs = [
        {"query_text": "red dress", "doc_id": doc, "judgements": [
            {"rating": first, "user_email": "ann@x.org"}, {"rating": second, "user_email": "bob@x.org"},
            {"rating": None, "unrateable": True, "user_email": "eve@x.org"},
            {"rating": 1, "judge_later": True, "user_email": "eve@x.org"},
        ]}
        for doc, first, second in (("d1", 3.0, 2.0), ("d2", 0.0, 0.0))
    ]  # fmt: skip
    book = write(tmp_path, "book.json", {"name": "b", "query_doc_pairs": pairs})
    panel = read_panel(book)
    assert panel.assessors == ("ann@x.org", "bob@x.org")
    assert panel.grades.tolist() == [[3, 2], [0, 0]]
    with pytest.raises(
        FormatError, match=r"book.json:13: .* judged by another person; combine them with `sounding agree"
    ):
        read_qrels(book)
    convert(book, tmp_path / "again.json", to="quepid")
    assert read_panel(tmp_path / "again.json").grades.tolist() == panel.grades.tolist()
    convert(book, tmp_path / "book.parquet")
    assert read_panel(tmp_path / "book.parquet").assessors == panel.assessors


def test_annotators_answer_in_words_or_numbers_and_may_skip(tmp_path: Path) -> None:
    def annotation(who: Any, *answers: tuple[str, Any], cancelled: bool = False) -> Any:
        result = [{"from_name": name, "value": value} for name, value in answers]
        return {"completed_by": who, "was_cancelled": cancelled, "result": result}

    tasks = [
        {"data": {"topic": "1", "doc": "a"}, "annotations": [
            annotation(10, ("relevance", {"choices": ["yes"]}), ("comment", {"text": ["?"]})),
            annotation({"id": 3, "email": "x@y.z"}, ("sure", {"rating": 4}), ("relevance", {"choices": ["no"]})),
            annotation(11, ("relevance", {"choices": ["yes"]}), cancelled=True),
        ]},
        {"data": {"topic": "1", "doc": "b"}, "annotations": []},
    ]  # fmt: skip
    path = write(tmp_path, "tasks.json", tasks)
    panel = read_panel(path, labels={"yes": 1, "no": 0})
    assert panel.assessors == ("annotator-10", "x@y.z")
    assert panel.grades.tolist() == [[1, 0]]
    with pytest.raises(
        FormatError, match=r"tasks.json:\d+: the grade 'yes' is a word; give each of 2 its grade"
    ):
        read_panel(path)


@pytest.mark.parametrize("to", ["parquet", "trec", "rank_eval", "opensearch", "quepid"])
def test_judgments_come_back_the_same_from_every_target(to: Any, tmp_path: Path) -> None:
    source = write(tmp_path, "judged.json", JUDGMENTS["quepid case"])
    assert convert(source, tmp_path / "shop.json", to=to).kind == "qrels"
    target = tmp_path / "shop.json"
    form = None if to not in ("parquet", "trec") else "parquet" if to == "parquet" else "tsv"
    assert rows(read_qrels(target, format=form)) == rows(read_qrels(source))
    if form is None:
        assert '"shop"' in target.read_text()  # the name of the index, list or book


def test_rows_of_quepid_without_a_rating_are_topics_without_judgments(tmp_path: Path) -> None:
    table = write(
        tmp_path, "case_1_judgements.csv", "query,docid,rating\nred dress,d1,3.0\njeans,,\nred dress,d2,0.0\n"
    )
    assert rows(read_qrels(table)) == {"red dress": [("d1", 3), ("d2", 0)]}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ('{"requests": [{"id": "a",\n"ratings": [\n{"_id": "d"}]}]}', "x:3: no 'rating' among '_id'"),
        ('{"details": {}, "metric_score": 1,\n"failures": {\n"q1": {}}}', "x:3: the search failed for 'q1'"),
        ({"judgmentRatings": [], "type": "LLM_JUDGMENT"}, "x:2: these judgments come from a language model"),
        ('{"judgmentRatings": [{"query": "a", "ratings": [\n{"docId": "d", "rating": "good"}]}]}', "x:2: grade 'good' is not a"),
        ({"response": {"docs": []}}, "x:2: this answer names no query; ask Solr with echoParams=all"),
        ({"query": "a", "response": {"docs": [{"title": "x"}]}}, "x:2: a document has no member id"),
        ({"root": {"relevance": 1}}, "x:2: an answer of Vespa names no query"),
        ('[{"input": "a",\n"retrieval_context": ["text"]}]', "x:1: retrieval_context holds a context without an id"),
        ({"mteb_model_meta": {}, "en": {"test": {}, "dev": {}}}, "x:2: predictions for 'en/test', 'en/dev'; expected"),
        ({"query_doc_pairs": []}, "x:1: a book of Quepid without any judged document"),
        ('[{"query": "a", "retrieved_context_ids": ["d"]},\n{"query": "b"}]', "x:2: an object is not a record with"),
        ('[{"data": {"topic": "1"}, "annotations": [{"result": [{"value": {"rating": 1}}]}]}]', "x:1: the task names no doc"),
        ('[{"fields": {}, "responses": {"a": [{"value": 1}], "b": [{"value": 1}]}}]', "x:1: answers to 'a', 'b'; expected one"),
        ('[{"topic": "1", "doc": "a", "score": 1},\n7]', "x:1: the number 7 in a list of objects"),
        ('[{"topic": "1", "doc": "a"}]', "x:1: no column for the (score|grade) among"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(value: Any, problem: str, tmp_path: Path) -> None:
    path = write(tmp_path, "x", value)
    errors = []
    for read in (read_run, read_qrels):
        try:
            read(path, format="json")
        except FormatError as error:
            errors.append(str(error).replace(str(path), "x"))
    assert any(re.match(problem, error) for error in errors), errors


def test_the_other_kind_is_refused_by_name(tmp_path: Path) -> None:
    answer, request = (
        write(tmp_path, "a.json", RUNS["rank_eval"]),
        write(tmp_path, "r.json", JUDGMENTS["rank_eval"]),
    )
    with pytest.raises(FormatError, match="an answer of _rank_eval holds a ranking and no judgments"):
        read_qrels(answer)
    with pytest.raises(FormatError, match="a request of _rank_eval holds judgments and no ranking"):
        read_run(request)
    with pytest.raises(DataError, match=r"a\.json: a run; quepid is a format of judgments"):
        convert(answer, tmp_path / "x.json", to="quepid")


@pytest.mark.parametrize("to", ["label-studio", "argilla"])
def test_a_pool_becomes_tasks_that_come_back_as_judgments(to: Any, tmp_path: Path) -> None:
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    write(
        beir,
        "corpus.jsonl",
        in_lines([{"_id": doc, "title": "", "text": f"text {doc}"} for doc in ("a", "b", "c")]),
    )
    write(beir, "queries.jsonl", in_lines([{"_id": "1", "text": "red dress"}]))
    pool = write(tmp_path, "pool.qrels", "1 0 a -1\n1 0 b 2\n2 0 a -1\n")
    convert(pool, tmp_path / "tasks.json", to=to, topics=beir, corpus=beir)
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    shown = [task["fields"] if to == "argilla" else task["data"] for task in tasks]
    assert [(one["query"], one["text"]) for one in shown] == [("red dress", "text a"), ("2", "text a")]
    for grade, task in enumerate(tasks):
        answer = {"from_name": "grade", "value": {"rating": grade}}
        task["annotations"] = [{"completed_by": 1, "result": [answer]}]
        task["responses"] = {"grade": [{"value": grade, "user_id": "u"}]}
        task.pop("data" if to == "argilla" else "fields", None)
    assert rows(read_qrels(write(tmp_path, "export.json", tasks))) == {"1": [("a", 0)], "2": [("a", 1)]}
    with pytest.raises(
        DataError, match=r"tasks for .* show the documents; name the files of their texts with --corpus"
    ):
        convert(pool, tmp_path / "x.json", to=to)
    with pytest.raises(DataError, match="every document is judged; expected some with grade -1"):
        convert(write(tmp_path, "all.qrels", "1 0 a 1\n"), tmp_path / "x.json", to=to, corpus=beir)
    with pytest.raises(DataError, match="1 document without a text in the corpus, first 'z'"):
        convert(write(tmp_path, "z.qrels", "1 0 z -1\n"), tmp_path / "x.json", to=to, corpus=beir)


def test_a_folder_of_beir_is_one_argument(tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    write(tmp_path / "qrels", "dev.tsv", "query-id\tcorpus-id\tscore\n1\ta\t1\n")
    assert rows(read_qrels(tmp_path)) == {"1": [("a", 1)]}  # the only split
    write(tmp_path / "qrels", "train.tsv", "query-id\tcorpus-id\tscore\n1\tb\t1\n")
    with pytest.raises(
        DataError, match=r"no qrels/test.tsv in this collection; name its qrels \(.*dev.tsv, .*train.tsv\)"
    ):
        read_qrels(tmp_path)
    write(tmp_path / "qrels", "test.tsv", "query-id\tcorpus-id\tscore\n1\tc\t2\n")
    assert rows(read_qrels(str(tmp_path))) == {"1": [("c", 2)]}
    found = sounding.evaluate(tmp_path, {"x": {"1": {"c": 1.0}}}, "AP")
    assert found.mean().tolist() == [[1.0]]
    write(tmp_path, "queries.jsonl", in_lines([{"_id": "1", "text": "red dress"}]))
    assert sounding.read_topics(tmp_path).titles == ("red dress",)
