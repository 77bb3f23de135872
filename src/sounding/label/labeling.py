"""Label documents: gather their texts, ask what the log does not know, and count what comes back."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sounding.core.errors import DataError
from sounding.core.limits import check_count, check_finite, most
from sounding.core.text import quote
from sounding.core.workers import Bars, no_bars
from sounding.data.corpus import read_corpus
from sounding.data.topics import Topics, read_topics
from sounding.data.wanted import Documents, read_wanted
from sounding.label.answers import AnswerLog, open_log
from sounding.label.asking import BACKOFF, Asked, Endpoint, LabelRequest, ask_all, make_endpoint
from sounding.label.batches import BatchRead, read_batch, write_batch
from sounding.label.budget import Budget, BudgetLimits, Prices, Spent
from sounding.label.prompts import Prompt, TopicText, body_of, read_prompt
from sounding.label.result import Labeling, LabelRow

LOG = "labels.log.jsonl"
MOST_WORDS = 4000
CONCURRENCY = 8
TIMEOUT = 120.0
OWN_PARAMETERS = ("model", "messages", "temperature", "stream", "n")  # parameters that --parameter cannot set
NO_TEXT, NOT_ASKED, FAILED = "no text", "not asked", "failed"  # beside refusal and unparsable

_KEY_LENGTH = 40  # characters; a batch accepts ids of 64
_WORD = re.compile(r"\S+")


class _Texts(NamedTuple):
    """Texts of the topics and documents to label."""

    topics: Mapping[str, TopicText]
    documents: Mapping[str, str]
    cut: frozenset[str]


class _Item(NamedTuple):
    """A document and a repeat, with the key of its question; None: a text is missing."""

    topic: str
    doc: str
    repeat: int
    key: str | None


def label(
    documents: Any,
    *,
    corpus: Any,
    topics: Any,
    model: str,
    endpoint: str | None = None,
    prompt: str | Path | None = None,
    temperature: float | None = 0,
    repeat: int = 1,
    judge: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    max_requests: int | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    prices: tuple[float, float] | None = None,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    most_words: int = MOST_WORDS,
    log: str | Path = LOG,
    batch_out: str | Path | None = None,
    batch_in: str | Path | Sequence[str | Path] = (),
    backoff: float = BACKOFF,
    bars: Bars = no_bars,
    watch: Callable[[Budget], None] | None = None,
) -> Labeling:
    """Ask a model for labels of documents, and return those it gave with what they cost.

    `documents` lists topics and documents: qrels, a file that `pool` wrote, or rows. The corpus is one file
    or folder, several, or {doc: text}; topics are a file or {topic: text}. The key for the endpoint comes
    from the environment. What the log knows is not asked again; the budget covers all calls with one log.
    A temperature of None leaves it to the provider. `watch` receives the budget before the first request.
    """
    _check(temperature, repeat, parameters or {}, concurrency, timeout, most_words)
    if endpoint is None and batch_out is None and not batch_in:
        raise DataError("label needs an endpoint, a batch file to write, or one to read")
    if not model:
        raise DataError("label needs the name of a model")
    limits = BudgetLimits(
        requests=max_requests, tokens=max_tokens, cost=max_cost,
        prices=None if prices is None else Prices(*prices),
    )  # fmt: skip
    place = None
    if endpoint is not None:
        place = make_endpoint(endpoint, concurrency=concurrency, timeout=timeout, backoff=backoff)
    chosen = read_prompt(prompt)
    wanted = read_wanted(documents)
    texts = _gather(wanted, corpus, topics, most_words, bars)
    setting = {
        "model": model, "prompt": chosen.hash, "temperature": temperature,
        "parameters": dict(parameters or {}),
    }  # fmt: skip
    items = [
        _Item(topic, doc, number, _key(setting, texts, topic, doc, number))
        for topic, doc in wanted
        for number in range(1, repeat + 1)
    ]

    def question(item: _Item) -> LabelRequest:
        return LabelRequest(
            str(item.key), item.topic, item.doc,
            lambda: body_of(
                chosen, texts.topics[item.topic], texts.documents[item.doc], model=model,
                temperature=temperature, parameters=dict(parameters or {}),
            ),
        )  # fmt: skip

    with open_log(Path(log)) as answers:
        open_items = {item.key: item for item in items if item.key is not None}
        cached = sum(key in answers.answers for key in open_items)
        read = _take_batches(
            batch_in, {key: question(item) for key, item in open_items.items()}, answers, chosen
        )
        # Questions by key: documents with the same text are asked about once.
        left = [item for key, item in open_items.items() if key not in answers.answers]
        written = None
        if batch_out is not None:
            written = write_batch(Path(batch_out), map(question, left), limits, answers.spent)
            left = []
        asked, spent = Asked(), answers.spent
        if place is not None and left:
            asked, spent = _ask(place, map(question, left), len(left), limits, answers, chosen, bars, watch)
        rows, problems = _rows(items, answers, judge or model, model, chosen.id, temperature)
    failed = min(sum(asked.failures.values()), problems[NOT_ASKED])
    problems[FAILED] = failed
    problems[NOT_ASKED] -= failed
    return Labeling(
        judge=judge or model, prompt=chosen.id, scale=chosen.labels, repeat=repeat, rows=tuple(rows),
        documents=len(wanted), problems=+problems, failures=asked.failures, asked=asked.attempts,
        unknown_topics=tuple(dict.fromkeys(topic for topic, _ in wanted if topic not in texts.topics)),
        unknown_docs=tuple(dict.fromkeys(doc for _, doc in wanted if doc not in texts.documents)),
        cached=cached, cut=len(texts.cut), stopped=asked.stopped, broken=asked.broken,
        blocked=asked.blocked, spent=spent, limits=limits, log=Path(log), written=written, read=read,
    )  # fmt: skip


def _check(
    temperature: float | None,
    repeat: int,
    parameters: Mapping[str, Any],
    concurrency: int,
    timeout: float,
    words: int,
) -> None:
    if temperature is not None:
        check_finite("temperature", temperature)
        if temperature < 0:
            raise DataError(f"temperature is {temperature:g}; expected 0 or more")
    for name, value in (("repeat", repeat), ("concurrency", concurrency), ("most_words", words)):
        check_count(name, value, 1)
    if not 0 < timeout <= most("timeout"):
        raise DataError(f"timeout is {timeout:g}; expected seconds above 0, at most a day")
    for name in parameters:
        if name in OWN_PARAMETERS:
            raise DataError(f"parameter {name}: sounding sets it; leave it out")


def _key(setting: Mapping[str, Any], texts: _Texts, topic: str, doc: str, repeat: int) -> str | None:
    """Return what identifies a question: model, prompt, temperature, parameters, texts and repeat."""
    if topic not in texts.topics or doc not in texts.documents:
        return None
    whole = {**setting, "topic": texts.topics[topic], "document": texts.documents[doc], "repeat": repeat}
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()[:_KEY_LENGTH]


def _gather(wanted: Documents, corpus: Any, topics: Any, most_words: int, bars: Bars) -> _Texts:
    """Read the texts of the topics and documents that are to be labeled."""
    asked = _topic_texts(topics)
    known = {topic: asked[topic] for topic, _ in wanted if topic in asked}
    if not known:
        raise DataError(
            f"no topic of the documents is among the topics: {quote(wanted[0][0])} is not, for one; expected"
            " the same ids in both"
        )
    docs = {doc for _, doc in wanted}
    texts: dict[str, str] = {}
    cut = set()
    with bars(len(docs), "reading documents") as progress:
        for doc, text in _documents(corpus, docs):
            if doc in texts or doc not in docs:
                continue
            short, whole = _begin(_clean(text), most_words)
            if not short.strip():
                continue
            texts[doc] = short
            cut |= set() if whole else {doc}
            if progress is not None:
                progress(1)
            if len(texts) == len(docs):
                break
    if not texts:
        raise DataError(
            f"no document is in the corpus: {quote(wanted[0][1])} is not, for one; expected the same ids"
        )
    return _Texts(known, texts, frozenset(cut))


def _topic_texts(topics: Any) -> dict[str, TopicText]:
    if isinstance(topics, Mapping):
        return {str(topic): TopicText(_clean(str(text))) for topic, text in topics.items()}
    found = topics if isinstance(topics, Topics) else read_topics(topics)
    columns = (found.titles, found.descriptions, found.narratives)
    return {
        topic: TopicText(*map(_clean, texts))
        for topic, *texts in zip(found.ids, *columns, strict=True)
        if any(texts)
    }


def _documents(corpus: Any, docs: set[str]) -> Iterator[tuple[str, str]]:
    if isinstance(corpus, Mapping):
        yield from ((str(doc), str(text)) for doc, text in corpus.items())
        return
    sources: Iterable[str | Path] = [corpus] if isinstance(corpus, str | Path) else corpus
    yield from ((document.doc, document.text) for document in read_corpus(sources, docs))


def _clean(text: str) -> str:
    """Return a text without half characters, which JSON cannot carry."""
    return text.encode("utf-8", "replace").decode().strip()


def _begin(text: str, most_words: int) -> tuple[str, bool]:
    """Return the first words of a text, and whether that is all of it."""
    for number, word in enumerate(_WORD.finditer(text), 1):
        if number == most_words and _WORD.search(text, word.end()):
            return text[: word.end()], False
    return text, True


def _take_batches(
    files: str | Path | Sequence[str | Path],
    questions: Mapping[str, LabelRequest],
    log: AnswerLog,
    prompt: Prompt,
) -> BatchRead | None:
    names = [files] if isinstance(files, str | Path) else list(files)
    if not names:
        return None
    total = BatchRead()
    for name in names:
        read = read_batch(str(name), questions, log, prompt)
        total.answers += read.answers
        total.known += read.known
        total.foreign += read.foreign
        total.failures += read.failures
        log.spent = log.spent.plus(read.used)
    return total


def _ask(
    place: Endpoint, questions: Iterator[LabelRequest], count: int, limits: BudgetLimits, log: AnswerLog,
    prompt: Prompt, bars: Bars, watch: Callable[[Budget], None] | None,
) -> tuple[Asked, Spent]:  # fmt: skip
    budget = Budget(limits, log.spent)
    if watch is not None:
        watch(budget)
    with bars(count, "labeling") as progress:
        asked = ask_all(questions, place, budget, log, prompt, progress)
    return asked, budget.spent


def _rows(
    items: Sequence[_Item], log: AnswerLog, judge: str, model: str, prompt: str, temperature: float | None
) -> tuple[list[LabelRow], Counter[str]]:
    rows = []
    problems: Counter[str] = Counter()
    for item in items:
        found = None if item.key is None else log.answers.get(item.key)
        if found is None:
            problems[NO_TEXT if item.key is None else NOT_ASKED] += 1
        elif found.label is None:
            problems[found.problem] += 1
        else:
            rows.append(
                LabelRow(
                    item.topic, item.doc, found.label, judge, found.model or model, prompt, temperature,
                    found.date, item.repeat,
                )
            )  # fmt: skip
    return rows, problems
