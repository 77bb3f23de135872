"""Who is asking: passwords, cookies, and tokens that show that a request comes from one of our pages.

The token of a page is a keyed hash of the visitor's cookie. It depends on neither the name of the host nor
the port, so a proxy in front of the server cannot break it, and other sites, which cannot read the cookie,
cannot make it.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import threading
import time
from dataclasses import dataclass
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from sounding.errors import SoundingError
from sounding.judging.limits import RateLimit
from sounding.judging.project import digest_of
from sounding.judging.store import Role, Store, User
from sounding.wording import plural

SIGN_IN_SECONDS = 7 * 86400.0  # that a browser stays signed in
LEAST_PASSWORD = 10  # characters
MOST_PASSWORD = 200
AT_ONCE = 2  # passwords that are hashed at the same time: each takes 64 MiB

_hashing = threading.BoundedSemaphore(AT_ONCE)
_hasher = PasswordHasher()


class RefusedError(SoundingError):
    """A request that is answered with a status other than success."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who is asking; `secret` is that of the cookie, of a sign-in or of a guest."""

    secret: str
    user: User | None
    known: bool  # the browser has the cookie already

    @property
    def token(self) -> str:
        """What shows that a request comes from a page that this visitor was given."""
        return hmac.new(self.secret.encode(), b"sounding page", hashlib.sha256).hexdigest()

    def is_token(self, given: str) -> bool:
        """Whether a token is this visitor's."""
        return hmac.compare_digest(self.token.encode(), given.encode())

    def signed_in(self) -> User:
        """The user; a guest is refused."""
        if self.user is None:
            raise RefusedError(401, "you are not signed in, or no longer; sign in to go on")
        return self.user

    def having(self, role: Role) -> User:
        """The user, if of this role."""
        user = self.signed_in()
        if user.role != role:
            raise RefusedError(403, f"this is for {role}s, and you are signed in as an {user.role}")
        return user


def visitor_of(store: Store, session: str | None, guest: str | None) -> Visitor:
    """The visitor with these cookies; one without any is a new guest."""
    if session:
        found = store.sign_in(digest_of(session))
        if found is not None:
            return Visitor(secret=session, user=found.user, known=True)
    if guest and len(guest) >= 32:
        return Visitor(secret=guest, user=None, known=True)
    return Visitor(secret=secrets.token_urlsafe(32), user=None, known=False)


def too_soon(why: str, wait: float) -> RefusedError:
    """The refusal of what may be tried again after some seconds."""
    return RefusedError(429, f"{why}; try again in {plural(math.ceil(wait), 'second')}", wait)


def hash_password(password: str) -> str:
    """What is kept of a password; one that is too short or too long is refused."""
    if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
        raise RefusedError(
            400,
            f"a password of {plural(len(password), 'character')};"
            f" expected {LEAST_PASSWORD} to {MOST_PASSWORD}",
        )
    with _hashing:
        return _hasher.hash(password.encode("utf-8", "replace"))


def is_password(password_hash: str | None, password: str) -> bool:
    """Whether a password is the right one; takes as long where there is none to compare with."""
    given = password[: MOST_PASSWORD + 1].encode("utf-8", "replace")
    with _hashing:
        try:
            _hasher.verify(password_hash or _nobodys_hash(), given)
        except (VerificationError, InvalidHashError):
            return False
    return password_hash is not None


@cache
def _nobodys_hash() -> str:
    return _hasher.hash(secrets.token_bytes(16))


class Door:
    """Signing in, at a rate that makes guessing hopeless and locks nobody else out."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_both = RateLimit(10, 300)
        self._by_address = RateLimit(100, 300)
        self._by_name = RateLimit(200, 3600)

    def confirm(self, user: User, password: str, address: str) -> None:
        """Have a user who is signed in say the password again; a wrong one is refused, at the same rate."""
        waits = [self._by_both.wait((user.id, address)), self._by_name.wait(user.id)]
        if max(waits) > 0:
            raise too_soon("too many attempts", max(waits))
        if not is_password(user.password_hash, password):
            raise RefusedError(400, "the present password is wrong")
        self._by_both.forgive((user.id, address))

    def sign_in(self, name: str, password: str, address: str, browser: str) -> tuple[User, str]:
        """The user with this name and password, and the secret of a new cookie."""
        folded = name.strip().casefold()[:200]
        waits = [
            self._by_both.wait((folded, address)), self._by_address.wait(address), self._by_name.wait(folded)
        ]  # fmt: skip
        if max(waits) > 0:
            raise too_soon("too many attempts to sign in", max(waits))
        user = self._store.user_by_name(name)
        if not is_password(None if user is None else user.password_hash, password) or user is None:
            raise RefusedError(401, "name or password is wrong")
        if not user.active:
            raise RefusedError(403, "this account is closed; ask an organiser")
        self._by_both.forgive((folded, address))
        return user, begin_session(self._store, user, address, browser)


def begin_session(store: Store, user: User, address: str, browser: str) -> str:
    """The secret of a new cookie for a user."""
    secret = secrets.token_urlsafe(32)
    note = f"{browser[:250]} from {address}"
    store.add_sign_in(user.id, digest_of(secret), time.time() + SIGN_IN_SECONDS, note)
    return secret
