"""Authenticate visitors: passwords, cookies, rate limits, and the tokens of pages.

The token of a page is a keyed hash of the visitor's cookie. It does not depend on the host name or the port,
so it works behind any proxy. Other sites cannot read the cookie, so they cannot forge the token. Checking a
password is slow on purpose. A small pool of threads does it; every requester has a queue of their own, and
queues take turns, so a flood from one address delays nobody else for long.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import os
import secrets
import sys
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from ipaddress import ip_network
from typing import Any, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from fastapi.concurrency import run_in_threadpool

from sounding.core.errors import SoundingError
from sounding.judge.language import gettext, marked, ngettext
from sounding.judge.project import digest_of
from sounding.judge.records import Role, User
from sounding.judge.serving import ip_of, log_failure
from sounding.judge.store import Store

MOST_KEYS = 10_000  # remembered keys; beyond that, the least recently used are dropped


Result = TypeVar("Result")
THREADS = 2 if (os.cpu_count() or 1) >= 4 else 1  # each uses a core and 64 MiB while it hashes
MOST_WAITING = 100  # with one thread, the last one waits about 15 s
NICENESS = 5  # added to that of the process, so that other threads go first
SIGN_IN_SECONDS = 7 * 86400.0  # duration of a session
DEVICE_SECONDS = 180 * 86400.0  # time for which a browser is recognized after signing in
LEAST_PASSWORD = 10  # characters
MOST_PASSWORD = 200
BUSY_SECONDS = 10.0  # wait before the next attempt if the queue is full
_hasher = PasswordHasher(parallelism=1)  # one core; the others stay free for judging


class RateLimit:
    """Allow each key `burst` actions at once, and `burst` more every `seconds`."""

    def __init__(self, burst: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst = burst
        self._rate = burst / seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()  # key -> actions left, time

    def delay(self, key: Hashable) -> float:
        """Return the seconds until a key may act, 0 if it may act now; count nothing."""
        with self._lock:
            left = self._now(key, self._clock())
        return 0.0 if left >= 1 else (1 - left) / self._rate

    def wait(self, key: Hashable) -> float:
        """Count one action of a key; return 0 if it is allowed, else the seconds to wait."""
        now = self._clock()
        with self._lock:
            left = self._now(key, now)
            allowed = left >= 1
            self._left[key] = (left - 1 if allowed else left, now)
            self._left.move_to_end(key)
            while len(self._left) > MOST_KEYS:
                self._left.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate

    def give_back(self, key: Hashable) -> None:
        """Remove one action of a key from the count, because it was legitimate."""
        now = self._clock()
        with self._lock:
            self._left[key] = (min(float(self._burst), self._now(key, now) + 1), now)

    def forgive(self, key: Hashable) -> None:
        """Forget all actions of a key, because it turned out to be legitimate."""
        with self._lock:
            self._left.pop(key, None)

    def _now(self, key: Hashable, now: float) -> float:
        left, then = self._left.get(key, (float(self._burst), now))
        return min(float(self._burst), left + (now - then) * self._rate)


class BusyError(SoundingError):
    """Raised for a job that was refused because the queue is full."""


@dataclass
class _Queue:
    """The jobs of one requester, oldest first."""

    known: bool
    jobs: deque[_Job] = field(default_factory=deque)


@dataclass
class _Job:
    work: Callable[[], Any]
    future: Future[Any]

    def run(self) -> None:
        if self.future.set_running_or_notify_cancel():
            try:
                self.future.set_result(self.work())
            except BaseException as error:
                self.future.set_exception(error)

    def refuse(self) -> None:
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(BusyError(marked("too many people are signing in right now")))


class HashingPool:
    """Run jobs in a few threads that exist only while there are jobs.

    At most `most` jobs wait. One more makes the pool refuse the newest job of the longest queue; among
    queues of equal length, unknown requesters lose first. If that queue is the newcomer's own, the newcomer
    is refused. So a flood from one place hits only that place.
    """

    def __init__(self, threads: int = THREADS, most: int = MOST_WAITING) -> None:
        self._threads = threads
        self._most = most
        self._lock = threading.Lock()
        self._lines: OrderedDict[Hashable, _Queue] = OrderedDict()  # in the order of their turns
        self.waiting = 0  # jobs
        self._running = 0  # threads

    async def run(self, who: Hashable, work: Callable[[], Result], *, known: bool = False) -> Result:
        """Return the result of a job of `who` after its turn; BusyError if too many others wait."""
        return await asyncio.wrap_future(self.submit(who, work, known=known))

    def submit(self, who: Hashable, work: Callable[[], Result], *, known: bool = False) -> Future[Result]:
        """Queue a job of `who` and return its future."""
        job = _Job(work, Future())
        with self._lock:
            refused = self._enter(who, known, job)
            if self._running < self._threads and self._lines:
                threading.Thread(target=self._work, name="hashing of passwords", daemon=True).start()
                self._running += 1
        if refused is not None:
            refused.refuse()
        return job.future

    def _enter(self, who: Hashable, known: bool, job: _Job) -> _Job | None:
        """Queue a job; return the job that is refused to make room, if any."""
        line = self._lines.get(who) or _Queue(known)
        refused = None
        if self.waiting >= self._most:
            longest = max(self._lines, key=lambda one: _precedence(self._lines[one]))
            if _precedence(self._lines[longest]) <= (len(line.jobs) + 1, not known):
                return job
            refused = self._lines[longest].jobs.pop()
            self.waiting -= 1
            if not self._lines[longest].jobs:
                del self._lines[longest]
        line.jobs.append(job)
        self._lines[who] = line
        self.waiting += 1
        return refused

    def _work(self) -> None:
        _step_back()
        while (job := self._next()) is not None:
            job.run()

    def _next(self) -> _Job | None:
        """Take the oldest job of the queue whose turn it is; None ends the thread."""
        with self._lock:
            if not self._lines:
                self._running -= 1
                return None
            who, line = self._lines.popitem(last=False)
            job = line.jobs.popleft()
            if line.jobs:
                self._lines[who] = line  # behind the others
            self.waiting -= 1
            return job


def _precedence(line: _Queue) -> tuple[int, bool]:
    """Rank queues by who makes room first: the longest, then unknown requesters."""
    return len(line.jobs), not line.known


def _step_back() -> None:
    """Lower the priority of this thread; only Linux has a niceness per thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            number = threading.get_native_id()
            os.setpriority(os.PRIO_PROCESS, number, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)


ONLY: dict[Role, str] = {
    "assessor": marked("only assessors can open this page; you are signed in as an organizer"),
    "organizer": marked("only organizers can open this page; you are signed in as an assessor"),
}


class RefusedError(SoundingError):
    """Raised for a request that is refused with an HTTP status."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(message)

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers of the response."""
        return {} if self.retry_after is None else {"Retry-After": f"{max(1, math.ceil(self.retry_after))}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """The person who sent a request; `secret` is the content of the session or guest cookie."""

    secret: str
    user: User | None
    known: bool  # True: the browser already has the cookie

    @property
    def token(self) -> str:
        """Return the token that proves that a request comes from a page of this visitor."""
        return hmac.new(self.secret.encode(), b"sounding page", hashlib.sha256).hexdigest()

    def is_token(self, given: str) -> bool:
        """Return whether a token is this visitor's."""
        return hmac.compare_digest(self.token.encode(), given.encode())

    def signed_in(self) -> User:
        """Return the user; refuse a guest."""
        if self.user is None:
            raise RefusedError(
                401, marked("you are not signed in, or your session has expired; sign in to continue")
            )
        return self.user

    def having(self, role: Role) -> User:
        """Return the user; refuse another role."""
        user = self.signed_in()
        if user.role != role:
            raise RefusedError(403, ONLY[role])
        return user


def visitor_of(store: Store, session: str | None, guest: str | None) -> Visitor:
    """Return the visitor with these cookies; without cookies, a new guest."""
    if session:
        found = store.sign_in(digest_of(session))
        if found is not None:
            return Visitor(secret=session, user=found.user, known=True)
    if guest and len(guest) >= 32:
        return Visitor(secret=guest, user=None, known=True)
    return Visitor(secret=secrets.token_urlsafe(32), user=None, known=False)


def too_soon(why: str, wait: float, *, status: int = 429) -> RefusedError:
    """Return the refusal of a request that may be repeated after some seconds."""
    again = ngettext("try again in {n} second", "try again in {n} seconds", math.ceil(wait))
    return RefusedError(status, f"{why}; {again}", wait)


def possible_password(password: str) -> str:
    """Return a password unchanged; refuse one that is too short or too long."""
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        message = ngettext(
            "the password has {n} character; choose one with {least} to {most}",
            "the password has {n} characters; choose one with {least} to {most}",
            len(password), least=LEAST_PASSWORD, most=MOST_PASSWORD,
        )  # fmt: skip
        raise RefusedError(400, message)
    return password


def hash_password(password: str) -> str:
    """Return the hash of a password; refuse one that is too short or too long."""
    return _hasher.hash(possible_password(password).encode("utf-8", "replace"))


def is_password(password_hash: str | None, password: str) -> bool:
    """Return whether a password is right; takes as long if there is no hash to compare with."""
    given = password[: MOST_PASSWORD + 1].encode("utf-8", "replace")
    try:
        _hasher.verify(password_hash or _nobodys_hash(), given)
    except (VerificationError, InvalidHashError):
        return False
    return password_hash is not None


@cache
def _nobodys_hash() -> str:
    return _hasher.hash(secrets.token_bytes(16))


class Door:
    """Sign users in, at a rate that makes guessing hopeless without locking anybody out.

    Only passwords that were checked and wrong count. Whether an address is refused depends only on its own
    wrong passwords: attacks on a name from elsewhere only lower the number that each address may try.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = HashingPool()
        self._by_both = RateLimit(10, 300)  # per name and address, known browser, or session
        self._by_address = RateLimit(100, 300)
        self._by_name = RateLimit(200, 3600)
        self._by_both_if_attacked = RateLimit(2, 3600)

    async def sign_in(
        self, name: str, password: str, address: str, browser: str, device: str | None = None
    ) -> tuple[User, str]:
        """Return the user with this name and password, and the secret of a new session cookie.

        `device` is the cookie of a browser that has signed in before. Its wrong passwords have a count of
        their own, so that others at its address cannot lock it out.
        """
        user = await run_in_threadpool(self._store.user_by_name, name)
        nonce, folded, place = device_of(user, device), name.strip().casefold()[:200], network_of(address)
        both = (folded, place)

        def delay() -> float:
            if nonce is not None:
                return self._by_both.delay((folded, nonce))
            delays = [self._by_both.delay(both), self._by_address.delay(place)]
            if self._by_name.delay(folded):
                delays.append(self._by_both_if_attacked.delay(both))
            return max(delays)

        def count() -> None:
            if nonce is not None:
                self._by_both.wait((folded, nonce))
                return
            self._by_both.wait(both)
            self._by_address.wait(place)
            self._by_name.wait(folded)
            self._by_both_if_attacked.wait(both)

        kept = None if user is None else user.password_hash
        who = place if nonce is None or user is None else user.id
        right = await self._check(who, kept, password, delay, count, known=nonce is not None)
        if not right or user is None:
            log_failure(user, address)
            raise RefusedError(
                401, marked("wrong name or password; try again, or ask an organizer for a new link")
            )
        if not user.active:
            raise RefusedError(403, marked("this account is closed; ask an organizer to open it"))
        for limit in (self._by_both, self._by_both_if_attacked):
            limit.forgive((folded, nonce) if nonce is not None else both)
        return user, await run_in_threadpool(begin_session, self._store, user, address, browser)

    async def confirm(self, user: User, password: str, session: str, address: str) -> None:
        """Check the password of a signed-in user again, with a rate limit per session."""
        key = (user.id, session)
        delay, count = partial(self._by_both.delay, key), partial(self._by_both.wait, key)
        if not await self._check(user.id, user.password_hash, password, delay, count, known=True):
            log_failure(user, address)
            raise RefusedError(400, marked("the current password is wrong; type it again"))
        self._by_both.forgive(key)

    async def hash(self, user: User, password: str) -> str:
        """Return the hash of a user's new password."""
        return await self._in_turn(user.id, partial(hash_password, password), known=True)

    async def _check(
        self,
        who: Hashable,
        kept: str | None,
        password: str,
        delay: Callable[[], float],
        count: Callable[[], object],
        *,
        known: bool,
    ) -> bool:
        """Return whether a password is right; `count` counts a wrong one.

        The limit is checked again when the job runs, because others may have failed while it waited.
        """

        def check() -> bool:
            refuse_until(delay())
            right = is_password(kept, password)
            if not right:
                count()
            return right

        refuse_until(delay())
        return await self._in_turn(who, check, known=known)

    async def _in_turn(self, who: Hashable, work: Callable[[], Result], *, known: bool) -> Result:
        try:
            return await self._pool.run(who, work, known=known)
        except BusyError as error:
            raise too_soon(gettext(str(error)), BUSY_SECONDS, status=503) from error


def refuse_until(wait: float) -> None:
    """Refuse an attempt that comes too soon."""
    if wait > 0:
        raise too_soon(gettext("too many failed attempts to sign in"), wait)


def network_of(address: str) -> str:
    """Return what counts as one address: for IPv6 the /64 network, which belongs to one customer."""
    try:
        known = ip_of(address)
    except ValueError:
        return address
    alone = known.version == 4 or known.is_loopback
    return str(known if alone else ip_network((known, 64), strict=False))


def new_device(user: User) -> str:
    """Return the cookie that identifies a browser which has signed in; it does not sign anybody in.

    It is derived from the password hash, so a new password invalidates all of them.
    """
    nonce = secrets.token_urlsafe(16)
    return f"{nonce}.{_device_mark(user, nonce)}"


def device_of(user: User | None, given: str | None) -> str | None:
    """Return the id of a browser from its cookie; None if it has not signed in as this user before."""
    if user is None or user.password_hash is None or given is None:
        return None
    nonce, _, mark = given.partition(".")
    return nonce if hmac.compare_digest(_device_mark(user, nonce).encode(), mark.encode()) else None


def _device_mark(user: User, nonce: str) -> str:
    key = (user.password_hash or "").encode()
    return hmac.new(key, f"sounding device {user.id} {nonce}".encode(), hashlib.sha256).hexdigest()


def begin_session(store: Store, user: User, address: str, browser: str) -> str:
    """Start a session for a user; return the secret of its cookie."""
    secret = secrets.token_urlsafe(32)
    note = f"{browser[:250]} from {address}"
    store.add_sign_in(user.id, digest_of(secret), time.time() + SIGN_IN_SECONDS, note)
    return secret
