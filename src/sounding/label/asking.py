"""Ask a chat-completions endpoint: concurrently, within a budget, and again when a request fails."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib import import_module
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sounding.core.errors import DataError, MissingPartError
from sounding.core.text import plural, shorten
from sounding.core.workers import Progress
from sounding.label.answers import AnswerLog, LoggedAnswer
from sounding.label.budget import Budget, Spent, most_tokens
from sounding.label.prompts import REFUSAL, UNPARSABLE, Prompt

OWN_KEY = "SOUNDING_API_KEY"
OPENAI_KEY = "OPENAI_API_KEY"
ATTEMPTS = 6  # at one question
BACKOFF = 1.0  # seconds before the second attempt; doubled each time
MOST_BACKOFF = 60.0
MOST_PATIENCE = 900.0  # seconds that an endpoint may ask us to wait
MOST_FAILURES = 5  # questions in a row that bring no answer; then the endpoint is down
LONGEST_ANSWER = 4_000  # characters that the log keeps

_AGAIN = frozenset({408, 409, 425, 429})  # and all from 500 up
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PATH = "/chat/completions"


class LabelRequest(NamedTuple):
    """A request that has not been answered yet."""

    key: str
    topic: str
    doc: str
    make_body: Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Address of the endpoint, and timeouts and retries of requests."""

    url: str
    key: str = field(default="", repr=False)  # never shown or stored
    concurrency: int = 8
    timeout: float = 120.0  # seconds for one request
    attempts: int = ATTEMPTS
    backoff: float = BACKOFF

    def without_key(self, text: str) -> str:
        """Return one line of text of the other side, without the key, which an endpoint may repeat."""
        return self.hide_key(" ".join(text.split()))

    def hide_key(self, text: str) -> str:
        """Replace the key in a text."""
        return text.replace(self.key, "***") if self.key else text


def make_endpoint(address: str, environment: Mapping[str, str] = os.environ, **settings: Any) -> Endpoint:
    """Return the endpoint of an address, with the key from the environment.

    OPENAI_API_KEY goes to OpenAI and to this machine only: it is set for good on many machines, and
    another provider should not learn it.
    """
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataError(f"endpoint: {shorten(address)!r} is no address; expected one such as https://HOST/v1")
    if parts.username or parts.password:
        raise DataError(f"endpoint: an address may hold no password; set {OWN_KEY} in the environment")
    path = parts.path.rstrip("/")
    url = parts._replace(path=path if path.endswith(_PATH) else path + _PATH, fragment="").geturl()
    here = parts.hostname in _LOOPBACK
    openai = parts.hostname == "openai.com" or parts.hostname.endswith(".openai.com")
    key = environment.get(OWN_KEY, "").strip()
    name = OWN_KEY
    if not key and (openai or here):
        key, name = environment.get(OPENAI_KEY, "").strip(), OPENAI_KEY
    if not (key.isascii() and key.isprintable()):
        raise DataError(f"{name} holds characters that no key has; copy the key again")
    if key and parts.scheme == "http" and not here:
        raise DataError(f"{name} would be sent unencrypted to {parts.hostname}; use https://")
    return Endpoint(url=url, key=key, **settings)


@dataclass(slots=True)
class Asked:
    """Outcome of a series of questions; the answers are in the log."""

    failures: Counter[str] = field(default_factory=Counter)  # questions without an answer, by reason
    stopped: str = ""  # why asking ended early
    broken: bool = False  # True: the endpoint ended it, not the budget
    attempts: int = 0
    blocked: Spent = field(default_factory=Spent)  # the most that the request can use that the budget stopped

    def give_up(self, reason: str) -> None:
        """Ask nothing more, for a reason that lies with the endpoint."""
        if not self.stopped:
            self.stopped, self.broken = reason, True


def ask_all(
    questions: Iterator[LabelRequest],
    endpoint: Endpoint,
    budget: Budget,
    log: AnswerLog,
    prompt: Prompt,
    progress: Progress | None = None,
) -> Asked:
    """Ask all questions and log the answers; a stop loses only the requests in flight."""
    asker = _Asker(questions, endpoint, budget, log, prompt, progress)
    _run(asker.run())
    return asker.asked


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine here, or in a thread if this one runs an event loop already, as notebooks do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.wait([task])))
    thread.start()
    try:
        thread.join()
    except BaseException:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    finally:
        loop.close()
    task.result()


class _Reply(NamedTuple):
    """Outcome of one attempt."""

    actual: Spent
    answer: dict[str, Any] | None = None  # the completion
    problem: str = ""
    again: bool = False  # True: another attempt may help
    wait: float = 0.0  # seconds that the endpoint asks us to wait
    fatal: bool = False  # True: no question can be answered


class _Asker:
    def __init__(
        self, questions: Iterator[LabelRequest], endpoint: Endpoint, budget: Budget, log: AnswerLog,
        prompt: Prompt, progress: Progress | None,
    ) -> None:  # fmt: skip
        try:
            self._http = import_module("httpx2")
        except ModuleNotFoundError as error:
            raise MissingPartError("httpx2", "asking a model", "machine") from error
        self.asked = Asked()
        self._questions, self._endpoint, self._budget = questions, endpoint, budget
        self._log, self._prompt, self._progress = log, prompt, progress
        self._in_a_row = 0  # questions without an answer since the last answer
        self._any_answer = False
        self._not_before = 0.0  # by the clock of the loop: when the endpoint accepts requests again
        self._client: Any = None

    async def run(self) -> None:
        """Ask with as many workers as requests may be in flight."""
        endpoint = self._endpoint
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        headers |= {"Content-Type": "application/json", "Accept": "application/json"}
        limits = self._http.Limits(max_connections=endpoint.concurrency)
        here = urlsplit(endpoint.url).hostname in _LOOPBACK  # no proxy stands between
        client = self._http.AsyncClient(
            headers=headers, timeout=endpoint.timeout, limits=limits, trust_env=not here
        )
        async with client as self._client:
            try:
                async with asyncio.TaskGroup() as group:
                    for _ in range(endpoint.concurrency):
                        group.create_task(self._work())
            except BaseExceptionGroup as several:
                raise several.exceptions[0] from None

    async def _work(self) -> None:
        for question in self._questions:
            await self._ask(question)
            if self.asked.stopped:
                return

    async def _ask(self, question: LabelRequest) -> None:
        """Ask one question until there is an answer, no more attempt helps, or the budget is used up."""
        body = question.make_body()
        most = most_tokens(body, body["messages"])
        data = json.dumps(body).encode()
        failed = ""
        for attempt in range(self._endpoint.attempts):
            await self._pause(attempt)
            if self.asked.stopped:
                return
            if not await self._budget.reserve(most):
                why = "is used up" if self._budget.spent.requests else "is less than one question can take"
                self.asked.stopped = f"the budget of {self._budget.reached} {why}{failed}"
                self.asked.blocked = most
                return
            if self.asked.stopped:  # while this one waited for the budget
                self._budget.settle(most, Spent())
                return
            number = self._log.send(most)
            self.asked.attempts += 1
            try:
                reply = await self._post(data, most)
            except asyncio.CancelledError:  # the reservation counts: nobody knows what was billed
                self._budget.settle(most, most)
                raise
            if reply.answer is not None:
                # What was used is logged before others can reserve what is left.
                self._log.add(number, reply.actual, self._answer(question, reply.answer))
            else:
                self._log.fail(number, reply.actual, reply.problem)
                failed = f" (the last request failed: {reply.problem})"
            self._budget.settle(most, reply.actual)
            if reply.answer is not None:
                self._in_a_row, self._any_answer = 0, True
                if self._progress is not None:
                    self._progress(1)
                return
            if reply.fatal or reply.wait > MOST_PATIENCE:
                self.asked.give_up(reply.problem)
                return
            if not reply.again:
                break
            if reply.wait:
                now = asyncio.get_running_loop().time()
                self._not_before = max(self._not_before, now + reply.wait)
        self.asked.failures[reply.problem] += 1
        self._in_a_row += 1
        if self._progress is not None:
            self._progress(1)
        # That the endpoint refuses one question, such as a text that is too long, says nothing of others.
        if self._in_a_row >= MOST_FAILURES and (reply.again or not self._any_answer):
            failed = plural(self._in_a_row, "question")
            self.asked.give_up(f"{failed} in a row brought no answer, the last with: {reply.problem}")

    async def _pause(self, attempt: int) -> None:
        """Wait before an attempt: as the endpoint asks, and longer each time, with jitter."""
        if attempt:
            longest = min(MOST_BACKOFF, self._endpoint.backoff * 2 ** (attempt - 1))
            await asyncio.sleep(longest * random.uniform(0.5, 1))
        while (left := self._not_before - asyncio.get_running_loop().time()) > 0:
            await asyncio.sleep(left)

    async def _post(self, data: bytes, most: Spent) -> _Reply:
        http = self._http
        nothing = Spent(1)
        try:
            async with asyncio.timeout(self._endpoint.timeout):  # a trickle of bytes must not take forever
                response = await self._client.post(self._endpoint.url, content=data)
        except (http.ConnectError, http.ConnectTimeout, http.UnsupportedProtocol) as error:
            return _Reply(nothing, problem=self._clean(f"no connection ({error})"), again=True)
        except (TimeoutError, http.TimeoutException):
            return _Reply(most, problem=f"no answer within {self._endpoint.timeout:g} s", again=True)
        except http.HTTPError as error:
            return _Reply(most, problem=self._clean(f"the connection broke ({error})"), again=True)
        if response.status_code == 200:
            return self._completion(response, most)
        return self._error(response, nothing)

    def _clean(self, text: str) -> str:
        return shorten(self._endpoint.without_key(text), 200)

    def _completion(self, response: Any, most: Spent) -> _Reply:
        try:
            found = json.loads(response.content)
        except (ValueError, RecursionError):
            return _Reply(most, problem="the answer is not JSON", again=True)
        if message_of(found) is None:
            return _Reply(used_by(found, most), problem="the answer is no chat completion", again=True)
        return _Reply(used_by(found, most), answer=found)

    def _error(self, response: Any, nothing: Spent) -> _Reply:
        """Return what an error status means."""
        status = response.status_code
        text = f"HTTP {status}"
        code = ""
        try:
            error = json.loads(response.content)["error"]
            code = str(error.get("code") or "")
            text += f": {error.get('message') or code}"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
        text = self._clean(text)
        if 300 <= status < 400:
            return _Reply(
                nothing, problem=f"{text}: the endpoint has moved; give its new address", fatal=True
            )
        if status in (401, 403):
            missing = f"set {OWN_KEY}" if not self._endpoint.key else "check the key"
            return _Reply(nothing, problem=f"{text} ({missing})", fatal=True)
        if status in (402, 404, 405) or code in ("insufficient_quota", "model_not_found"):
            return _Reply(nothing, problem=text, fatal=True)
        if code == "content_filter":
            return _Reply(nothing, answer=_refused())
        if status in _AGAIN or status >= 500:
            wait = seconds_to_wait(response.headers.get("retry-after", ""))
            if wait > MOST_PATIENCE:
                text = f"{text}; the endpoint asks to wait {wait / 60:,.0f} minutes"
            return _Reply(nothing, problem=text, again=True, wait=wait)
        return _Reply(nothing, problem=text)

    def _answer(self, question: LabelRequest, found: dict[str, Any]) -> LoggedAnswer:
        return logged(question, found, self._prompt, self._endpoint.hide_key)


def _refused() -> dict[str, Any]:
    """Return a completion for a question that the provider's filter rejected."""
    return {"choices": [{"message": {"content": "", "refusal": "content filter"}}]}


def message_of(found: Any) -> dict[str, Any] | None:
    """Return the first choice of a completion, with its message; None if this is no completion."""
    try:
        choice = found["choices"][0]
        content = choice["message"].get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    return choice if content is None or isinstance(content, str) else None


def used_by(found: Any, most: Spent) -> Spent:
    """Return the tokens that a completion says it used; without such figures, the most it can have used."""
    usage = found.get("usage") if isinstance(found, dict) else None
    if isinstance(usage, dict):
        tokens_in, tokens_out = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if type(tokens_in) is int and type(tokens_out) is int and min(tokens_in, tokens_out) >= 0:
            return Spent(1, tokens_in, tokens_out)
    return most


def logged(
    question: LabelRequest, found: dict[str, Any], prompt: Prompt, hide_key: Callable[[str], str] = str
) -> LoggedAnswer:
    """Read the label of a completion."""
    choice = message_of(found) or {}
    message = choice.get("message", {})
    text = hide_key(message.get("content") or "")
    label, problem = None, ""
    if message.get("refusal") or choice.get("finish_reason") == "content_filter":
        problem = REFUSAL
    elif choice.get("finish_reason") == "length":  # the last line may be half a line
        problem = UNPARSABLE
    else:
        label, problem = prompt.read(text)
    model = found.get("model")
    return LoggedAnswer(
        key=question.key, topic=question.topic, doc=question.doc, label=label, problem=problem,
        answer=text[-LONGEST_ANSWER:], model=hide_key(model) if isinstance(model, str) else "",
        date=datetime.now(UTC).date().isoformat(),
    )  # fmt: skip


def seconds_to_wait(text: str) -> float:
    """Return the seconds that a Retry-After header asks for: a number, or a date; 0 if it is neither."""
    text = text.strip()
    if re.fullmatch(r"\d{1,9}(\.\d+)?", text):
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return 0.0
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
