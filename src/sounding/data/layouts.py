"""Recognize the JSON of other tools: search engines, annotation tools, RAG frameworks and model hubs.

A layout is known by the names of its members. Each is one entry of LAYOUTS, which says what it holds and how
its rankings or judgments become rows; `write_judgments` is the way back. To add one, add an entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from sounding.core.text import quote, quote_list
from sounding.data.columns import (
    NAMES,
    Kind,
    Members,
    NumberText,
    Records,
    describe_value,
    fold_name,
    is_header,
    records_of_items,
)
from sounding.data.problems import Problems
from sounding.data.tables import Qrels

LineOf = Callable[[Members], int | None]  # the line of an object; None: that of the object around it
Written = Literal["rank_eval", "opensearch", "quepid"]
Tasks = Literal["label-studio", "argilla"]

NOBODY = "unnamed"  # the rater of a judgment that names none
_QUERIES = ("user_input", "query", "question", "input")  # members that hold a query as text
_TOPIC_IDS = frozenset(NAMES["topic"]) - {"query"}
_CONTEXT_IDS = ("retrieved_context_ids", "context_ids")
_CONTEXTS = (
    "retrieved_contexts", "retrieval_context", "retrieved_documents", "source_documents", "contexts",
    "documents", "context",
)  # fmt: skip
_DOC_IDS = ("id", "_id", "doc_id", "docid", "docno", "document_id", "corpus_id", "chunk_id")
_MACHINES = {"LLM_JUDGMENT": "a language model", "UBI_JUDGMENT": "clicks"}


class JsonLayout(NamedTuple):
    """The JSON of one tool."""

    title: str  # in messages
    kind: Kind  # its content: run or qrels
    matches: Callable[[Members], bool]
    read: Callable[[Rows, Members], None]
    both: bool = False  # True: it can hold the other kind as well
    raters: bool = False  # True: its judgments name their assessors


class Rows:
    """The rows that layouts find in a file, and what is wrong with them."""

    def __init__(self, kind: Kind, problems: Problems, line_of: LineOf, *, raters: bool) -> None:
        """Start without rows; `raters`: whether to keep who gave a judgment."""
        self.kind = kind
        self._raters = raters
        self.problems = problems
        self._line_of = line_of
        self._line = 1  # of the object that is read
        self._rows: list[tuple[Any, Any, Any, Any]] = []
        self._lines: list[int] = []
        self._tags: dict[str, int] = {}

    def line(self, where: Any) -> int:
        """Return the line of an object, or of the last one whose line is known."""
        if isinstance(where, Members):
            self._line = self._line_of(where) or self._line
        return self._line

    def judge(self, where: Members, topic: Any, doc: Any, grade: Any, rater: Any = NOBODY) -> None:
        """Add a judgment; a grade in quotes counts as a number."""
        grade = NumberText(grade) if type(grade) is str else grade
        self._rows.append((topic, doc, grade, rater))
        self._lines.append(self.line(where))

    def rank(self, where: Members, topic: Any, docs: Sequence[tuple[Members | None, Any, Any]]) -> None:
        """Add the documents of a topic in the order of the source: where it stands, its id, and its score."""
        for place, (own, doc, score) in enumerate(docs, 1):
            self._rows.append((topic, doc, score, place))
            self._lines.append(self.line(where if own is None else own))

    def tag(self, where: Members, name: Any) -> None:
        """Note the name of the run; a second name is a problem, because a file holds one run."""
        if isinstance(name, str) and name not in self._tags:
            if self._tags:
                first = quote(next(iter(self._tags)))
                self.note(
                    where, f"run {quote(name)} after {first}; expected one, because a file holds one run"
                )
            self._tags[name] = self.line(where)

    def note(self, where: Members, problem: str) -> None:
        """Report a problem in the line of an object."""
        self.problems.note(self.line(where), problem)

    def records(self) -> Records | None:
        """Return the rows; documents without scores are ranked by their order."""
        if not self._rows:
            return None
        names = ("topic", "doc", *(("score", "rank") if self.kind == "run" else ("grade", "group")))
        columns = dict(zip(names, map(list, zip(*self._rows, strict=True)), strict=True))
        if self.kind == "run":
            columns.pop("score" if None in columns["score"] else "rank")
        elif not self._raters:
            columns.pop("group")
        records = records_of_items(columns, np.array(self._lines, np.int64), self.problems)
        return records._replace(tag=next(iter(self._tags), None))


def find_layout(record: Any) -> JsonLayout | None:
    """Return the layout of an object; None if it is none of another tool."""
    if not isinstance(record, Members):
        return None
    return next((layout for layout in LAYOUTS if layout.matches(record)), None)


def read_layout(
    layout: JsonLayout, objects: Iterable[Any], kind: Kind, problems: Problems, line_of: LineOf
) -> Records | None:
    """Return the rows of objects in a layout."""
    rows = Rows(kind, problems, line_of, raters=layout.raters)
    wanted: Kind = "run" if kind == "run" else "qrels"
    if layout.kind != wanted and not layout.both:
        holds = "a ranking and no judgments" if wanted == "qrels" else "judgments and no ranking"
        expected = "judgments" if wanted == "qrels" else "a run"
        problems.note(1, f"{layout.title} holds {holds}; expected {expected}")
        return None
    for item in objects:
        line = rows.line(item)
        if isinstance(item, Members) and layout.matches(item):
            layout.read(rows, item)
        else:
            problems.note(line, f"{describe_value(item)} is not {layout.title}, as the first is")
    records = rows.records()
    if records is None and not problems.found:
        problems.note(1, f"{layout.title} without any {'ranked' if kind == 'run' else 'judged'} document")
    return records


# -- what objects hold -----------------------------------------------------------------------------


def _objects(value: Any) -> list[Members]:
    """Return the objects of a list; empty if it is none."""
    if not isinstance(value, list) or isinstance(value, Members):
        return []
    return [item for item in value if isinstance(item, Members)]


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value, Members)


def _required(rows: Rows, record: Members, name: str) -> Any:
    """Return a member; report an object that lacks it."""
    if not record.has(name):
        rows.note(record, f"no {quote(name)} among {quote_list([key for key, _ in record])}")
    return record.get(name)


def _of_role(role: str, *places: Any) -> Any:
    """Return the first member that is named like a column; ids before texts."""
    for place in places:
        if isinstance(place, Members):
            found = {fold_name(name): value for name, value in place if fold_name(name) in NAMES[role]}
            weak = "query" if role == "topic" else "document"
            for name in sorted(found, key=lambda name: (name == weak, NAMES[role].index(name))):
                if found[name] is not None:
                    return found[name]
    return None


def _scored(items: Iterable[Members], doc: str, score: str) -> list[tuple[Members | None, Any, Any]]:
    return [(item, item.get(doc), item.get(score)) for item in items]


# -- search engines --------------------------------------------------------------------------------


def _is_rank_eval_request(record: Members) -> bool:
    requests = _objects(record.get("requests"))
    return bool(requests) and any(request.has("ratings") for request in requests)


def _rank_eval_request(rows: Rows, record: Members) -> None:
    for request in _objects(record.get("requests")):
        topic = _required(rows, request, "id")
        for rating in _objects(request.get("ratings")):
            rows.judge(rating, topic, _required(rows, rating, "_id"), _required(rows, rating, "rating"))


def _answer(record: Members) -> Members:
    """Return an answer of _rank_eval without the wrapper that old versions put around it."""
    inner = record.get("rank_eval")
    return inner if isinstance(inner, Members) else record


def _is_rank_eval_answer(record: Members) -> bool:
    answer = _answer(record)
    metric = answer.has("metric_score") or answer.has("quality_level")
    return metric and isinstance(answer.get("details"), Members)


def _rank_eval_answer(rows: Rows, record: Members) -> None:
    answer = _answer(record)
    failures = answer.get("failures")
    if isinstance(failures, Members) and failures:
        failed = quote_list([name for name, _ in failures])
        rows.note(failures, f"the search failed for {failed}; expected an answer without failures")
    for topic, detail in answer.get("details"):
        hits = _objects(detail.get("hits")) if isinstance(detail, Members) else []
        found = [hit.get("hit") for hit in hits]
        rows.rank(record, topic, _scored((hit for hit in found if isinstance(hit, Members)), "_id", "_score"))


def _is_judgment_list(record: Members) -> bool:
    return record.has("judgmentRatings")


def _judgment_list(rows: Rows, record: Members) -> None:
    machine = _MACHINES.get(str(record.get("type")))
    if machine is not None and rows.kind == "qrels":
        rows.note(
            record,
            f"these judgments come from {machine} ({record.get('type')}); expected judgments by people: use"
            f" `sounding estimate QRELS RUN... --labels {rows.problems.source} --judge NAME`",
        )
        return
    ratings = record.get("judgmentRatings")
    by_query = (
        [(record, query, found) for query, found in ratings]
        if isinstance(ratings, Members)
        else [(one, _required(rows, one, "query"), one.get("ratings")) for one in _objects(ratings)]
    )
    for _, query, found in by_query:
        for rating in _objects(found):
            rows.judge(rating, query, _required(rows, rating, "docId"), _required(rows, rating, "rating"))


def _sources(record: Members) -> list[Members]:
    """Return the documents in the answer of a search in OpenSearch."""
    hits = record.get("hits")
    found = _objects(hits.get("hits")) if isinstance(hits, Members) else []
    return [source for hit in found if isinstance(source := hit.get("_source"), Members)]


def _is_stored(record: Members, name: str) -> bool:
    return any(source.has(name) for source in _sources(record))


def _stored_judgments(rows: Rows, record: Members) -> None:
    for source in _sources(record):
        _judgment_list(rows, source)


def _stored_results(rows: Rows, record: Members) -> None:
    for source in _sources(record):
        _evaluation_result(rows, source)


def _evaluation_result(rows: Rows, record: Members) -> None:
    rows.tag(record, record.get("searchConfigurationId"))
    docs = record.get("documentIds")
    rows.rank(record, record.get("searchText"), [(None, doc, None) for doc in docs] if _is_list(docs) else [])


def _is_solr(record: Members) -> bool:
    response = record.get("response")
    return isinstance(response, Members) and _is_list(response.get("docs"))


def _solr(rows: Rows, record: Members) -> None:
    header = record.get("responseHeader")
    parameters = header.get("params") if isinstance(header, Members) else None
    query = parameters.get("q") if isinstance(parameters, Members) else None
    topic = _of_role("topic", record) or query
    if topic is None:
        rows.note(record, "this answer names no query; ask Solr with echoParams=all, or add a member topic")
        return
    docs = _objects(record.get("response").get("docs"))
    if any(not doc.has("id") for doc in docs):
        rows.note(record, "a document has no member id; ask Solr with fl=id,score")
        return
    rows.rank(record, topic, _scored(docs, "id", "score"))


def _is_vespa(record: Members) -> bool:
    root = record.get("root")
    return isinstance(root, Members) and (root.has("relevance") or root.has("children"))


def _vespa(rows: Rows, record: Members) -> None:
    topic = _of_role("topic", record)
    if topic is None:
        rows.note(record, "an answer of Vespa names no query; add a member topic beside root")
        return
    docs: list[tuple[Members | None, Any, Any]] = []
    for hit in _objects(record.get("root").get("children")):
        fields = hit.get("fields")
        named = fields.get("documentid") if isinstance(fields, Members) else None
        docs.append((hit, hit.get("id") if named is None else named, hit.get("relevance")))
    rows.rank(record, topic, docs)


# -- Quepid ----------------------------------------------------------------------------------------


def _is_book(record: Members) -> bool:
    return _is_list(record.get("query_doc_pairs"))


def _book(rows: Rows, record: Members) -> None:
    for pair in _objects(record.get("query_doc_pairs")):
        topic, doc = _required(rows, pair, "query_text"), _required(rows, pair, "doc_id")
        for judgment in _objects(pair.get("judgements")):
            grade = judgment.get("rating")
            if grade is None or judgment.get("unrateable") is True or judgment.get("judge_later") is True:
                continue
            rows.judge(judgment, topic, doc, grade, judgment.get("user_email") or NOBODY)


def _is_case(record: Members) -> bool:
    queries = _objects(record.get("queries"))
    return bool(queries) and any(query.has("ratings") for query in queries)


def _case(rows: Rows, record: Members) -> None:
    for query in _objects(record.get("queries")):
        topic = query.get("query_text") if query.has("query_text") else _required(rows, query, "query")
        ratings = query.get("ratings")
        for doc, grade in ratings if isinstance(ratings, Members) else ():
            if grade is not None:
                rows.judge(query, topic, doc, grade)


def _is_ratings(record: Members) -> bool:
    ratings = _objects(record.get("ratings"))
    return bool(ratings) and ratings[0].has("query_text") and ratings[0].has("doc_id")


def _ratings(rows: Rows, record: Members) -> None:
    for rating in _objects(record.get("ratings")):
        if rating.get("rating") is not None:
            rows.judge(rating, rating.get("query_text"), rating.get("doc_id"), rating.get("rating"))


# -- annotation tools ------------------------------------------------------------------------------


def _grade_name(rows: Rows, where: Members, names: Sequence[str]) -> str | None:
    """Return which of several answers of an annotator is the grade."""
    if len(names) <= 1:
        return names[0] if names else None
    known = [name for name in names if fold_name(name) in NAMES["grade"]]
    if len(known) != 1:
        rows.note(where, f"answers to {quote_list(names)}; expected one of them to be named grade")
        return None
    return known[0]


def _pair(rows: Rows, where: Members, *places: Any) -> tuple[Any, Any] | None:
    """Return the topic and document of a task; report a task that names none."""
    topic, doc = _of_role("topic", *places), _of_role("doc", *places)
    for role, value in (("topic", topic), ("doc", doc)):
        if value is None:
            rows.note(where, f"the task names no {role}; expected a member {' or '.join(NAMES[role][:2])}")
            return None
    return topic, doc


def _is_task(record: Members) -> bool:
    return isinstance(record.get("data"), Members) and _is_list(record.get("annotations"))


def _choice(result: Members) -> Any:
    """Return what an annotator chose: a number, a rating, or the only choice."""
    value = result.get("value")
    if not isinstance(value, Members):
        return None
    for name in ("number", "rating", "choices"):
        if value.has(name):
            chosen = value.get(name)
            return chosen[0] if _is_list(chosen) and len(chosen) == 1 else chosen
    return None


def _task(rows: Rows, record: Members) -> None:
    pair: tuple[Any, Any] | None = None
    for annotation in _objects(record.get("annotations")):
        found = [
            (str(result.get("from_name")), chosen)
            for result in _objects(annotation.get("result"))
            if (chosen := _choice(result)) is not None
        ]
        if annotation.get("was_cancelled") is True or not found:
            continue
        name = _grade_name(rows, annotation, [name for name, _ in found])
        pair = pair or _pair(rows, record, record.get("data"))
        if name is None or pair is None:
            return
        rows.judge(annotation, *pair, dict(found)[name], _annotator(annotation.get("completed_by")))


def _annotator(who: Any) -> str:
    """Return the name of an annotator: the email or number of an account."""
    if isinstance(who, Members):
        who = who.get("email") or who.get("id")
    return NOBODY if who is None else f"annotator-{who}" if isinstance(who, NumberText) else str(who)


def _is_argilla(record: Members) -> bool:
    return isinstance(record.get("fields"), Members) and isinstance(record.get("responses"), Members)


def _argilla(rows: Rows, record: Members) -> None:
    answers = [(name, _objects(given)) for name, given in record.get("responses") if _objects(given)]
    name = _grade_name(rows, record, [name for name, _ in answers])
    if name is None:
        return
    pair = _pair(rows, record, record.get("metadata"), record.get("fields"))
    for response in dict(answers)[name] if pair else ():
        if (
            pair
            and response.get("value") is not None
            and response.get("status") not in ("discarded", "draft")
        ):
            rows.judge(response, *pair, response.get("value"), _annotator(response.get("user_id")))


# -- RAG frameworks and model hubs -----------------------------------------------------------------


def _is_mteb(record: Members) -> bool:
    return isinstance(record.get("mteb_model_meta"), Members)


def _mteb(rows: Rows, record: Members) -> None:
    rows.tag(record, record.get("mteb_model_meta").get("model_name"))
    found = [
        (f"{subset}/{split}", topics)
        for subset, splits in record
        if subset != "mteb_model_meta" and isinstance(splits, Members)
        for split, topics in splits
        if isinstance(topics, Members)
    ]
    if len(found) != 1:
        held = quote_list([name for name, _ in found])
        rows.note(record, f"predictions for {held}; expected those of one subset and split")
        return
    for topic, docs in found[0][1]:
        if isinstance(docs, Members):
            rows.rank(record, topic, [(None, doc, score) for doc, score in docs])


def _question(record: Members) -> Any:
    """Return the topic of a record: its id, otherwise the text of its query."""
    if any(fold_name(name) in _TOPIC_IDS for name, _ in record):
        return _of_role("topic", record)
    return next((record.get(name) for name in _QUERIES if record.get(name) is not None), None)


def _is_retrieval(record: Members) -> bool:
    has_contexts = any(_is_list(record.get(name)) for name in (*_CONTEXT_IDS, *_CONTEXTS))
    is_row = is_header([name for name, _ in record])
    return has_contexts and not is_row and _question(record) is not None


def _retrieval(rows: Rows, record: Members) -> None:
    topic = _question(record)
    if rows.kind != "run":
        wanted = record.get("reference_context_ids")
        for doc in wanted if _is_list(wanted) else ():
            rows.judge(record, topic, doc, NumberText("1"))
        return
    ids = next((record.get(name) for name in _CONTEXT_IDS if _is_list(record.get(name))), None)
    if ids is not None:
        rows.rank(record, topic, [(None, doc, None) for doc in ids])
        return
    name = next(name for name in _CONTEXTS if _is_list(record.get(name)))
    docs: list[tuple[Members | None, Any, Any]] = []
    for context in record.get(name):
        doc = _id_of_context(context)
        if doc is None:
            rows.note(
                record,
                f"{name} holds a context without an id; add a member retrieved_context_ids with the ids",
            )
            return
        docs.append((context, doc, context.get("score")))
    rows.rank(record, topic, docs)


def _id_of_context(context: Any) -> Any:
    """Return the id of a context: its own, or that in its metadata; None if it is a text alone."""
    if not isinstance(context, Members):
        return None
    metadata = context.get("metadata")
    for place in (context, metadata if isinstance(metadata, Members) else Members()):
        for name in _DOC_IDS:
            if place.get(name) is not None:
                return place.get(name)
    return None


LAYOUTS = (
    JsonLayout(
        "a request of _rank_eval", "qrels", _is_rank_eval_request, _rank_eval_request
    ),
    JsonLayout("an answer of _rank_eval", "run", _is_rank_eval_answer, _rank_eval_answer),
    JsonLayout("a judgment list of OpenSearch", "qrels", _is_judgment_list, _judgment_list),
    JsonLayout(
        "an answer with judgment lists of OpenSearch", "qrels",
        lambda record: _is_stored(record, "judgmentRatings"), _stored_judgments,
    ),
    JsonLayout(
        "an answer with evaluation results of OpenSearch", "run",
        lambda record: _is_stored(record, "documentIds"), _stored_results,
    ),
    JsonLayout(
        "an evaluation result of OpenSearch", "run",
        lambda record: record.has("searchText") and _is_list(record.get("documentIds")), _evaluation_result,
    ),
    JsonLayout("an answer of Solr", "run", _is_solr, _solr),
    JsonLayout("an answer of Vespa", "run", _is_vespa, _vespa),
    JsonLayout(
        "a book of Quepid", "qrels", _is_book, _book, raters=True
    ),
    JsonLayout("a case of Quepid", "qrels", _is_case, _case),
    JsonLayout("a list of ratings for Quepid", "qrels", _is_ratings, _ratings),
    JsonLayout("a task of Label Studio", "qrels", _is_task, _task, raters=True),
    JsonLayout("a record of Argilla", "qrels", _is_argilla, _argilla, raters=True),
    JsonLayout("a file of MTEB predictions", "run", _is_mteb, _mteb),
    JsonLayout("a record with retrieved contexts", "run", _is_retrieval, _retrieval, both=True),
)  # fmt: skip


# -- the way back ----------------------------------------------------------------------------------


def write_judgments(qrels: Qrels, form: Written, name: str) -> str:
    """Return judgments as the JSON that another tool imports; `name` is the index, list or book."""
    topics = [
        topic for topic, size in zip(qrels.topics, qrels.sizes.tolist(), strict=True) for _ in range(size)
    ]
    raters = [None] * len(topics) if qrels.groups is None else qrels.groups.texts()
    grades = [int(grade) if grade == int(grade) else grade for grade in qrels.grades.tolist()]
    judgments: dict[str, list[tuple[str, float, str | None]]] = {}
    for topic, doc, grade, rater in zip(topics, qrels.docs.texts(), grades, raters, strict=True):
        judgments.setdefault(topic, []).append((doc, grade, rater))
    return json.dumps(_WRITERS[form](judgments, name), ensure_ascii=False, indent=1) + "\n"


_Judgments = dict[str, list[tuple[str, float, str | None]]]  # by topic: document, grade, rater


def _as_rank_eval(judgments: _Judgments, name: str) -> Any:
    """Write a request in which one template searches all fields for the topic; adapt it to the index."""
    template = {"query": {"query_string": {"query": "{{query_string}}"}}}
    requests = [
        {
            "id": topic, "template_id": "search", "params": {"query_string": topic},
            "ratings": [{"_index": name, "_id": doc, "rating": grade} for doc, grade, _ in rated],
        }
        for topic, rated in judgments.items()
    ]  # fmt: skip
    return {
        "templates": [{"id": "search", "template": {"source": template}}],
        "requests": requests,
        "metric": {"dcg": {"k": 10, "normalize": True}},
    }


def _as_opensearch(judgments: _Judgments, name: str) -> Any:
    ratings = [
        {"query": topic, "ratings": [{"docId": doc, "rating": str(grade)} for doc, grade, _ in rated]}
        for topic, rated in judgments.items()
    ]
    return {"name": name, "description": "", "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings}


def _as_quepid(judgments: _Judgments, name: str) -> Any:
    pairs = []
    for topic, rated in judgments.items():
        by_doc: dict[str, list[dict[str, Any]]] = {}
        for doc, grade, rater in rated:
            who = {} if rater in (None, NOBODY) else {"user_email": rater}
            by_doc.setdefault(doc, []).append(
                {"rating": grade, "unrateable": False, "judge_later": False, **who}
            )
        pairs += [{"query_text": topic, "doc_id": doc, "judgements": all_} for doc, all_ in by_doc.items()]
    return {"name": name, "show_rank": False, "support_implicit_judgements": False, "query_doc_pairs": pairs}


_WRITERS: dict[Written, Callable[[_Judgments, str], Any]] = {
    "rank_eval": _as_rank_eval, "opensearch": _as_opensearch, "quepid": _as_quepid,
}  # fmt: skip


def write_tasks(
    pairs: Iterable[tuple[str, str]], queries: Mapping[str, str], texts: Mapping[str, str], form: Tasks
) -> str:
    """Return documents to judge as JSON for an annotation tool; a query without a text shows its id."""
    tasks: list[Any] = []
    for topic, doc in pairs:
        ids, shown = {"topic": topic, "doc": doc}, {"query": queries.get(topic, topic), "text": texts[doc]}
        if form == "label-studio":
            tasks.append({"data": {**ids, **shown}})
        else:
            tasks.append({"id": f"{topic} {doc}", "fields": shown, "metadata": ids})
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"
