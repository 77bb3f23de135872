"""Store users, their sessions, and their one-time links to set a password.

Names and sessions can be erased; the pseudonym under which a person judged stays.
"""

from __future__ import annotations

import re
import time
from dataclasses import asdict
from typing import Any

from sounding.core.errors import DataError
from sounding.core.text import quote
from sounding.judge import sql
from sounding.judge.database import Statements, Tables, readable, storable
from sounding.judge.ids import CONTROLS
from sounding.judge.records import ConflictError, Role, SignIn, TokenKind, User, user_of

MOST_NAME = 100  # characters
# Pseudonyms and names of imports: nobody may choose one as a name, because the log uses them for others.
_PSEUDONYM = re.compile(r"assessor-\d+|import-.*", re.DOTALL)


class PeopleTables(Tables):
    """The part of a store that holds users."""

    def add_user(self, name: str, role: Role, password_hash: str | None = None) -> User:
        """Add a user with a new pseudonym; raise ConflictError if the name is taken, in any case."""
        name = _possible_name(name.strip())
        if _PSEUDONYM.fullmatch(name.casefold()):
            raise ConflictError(f"{name!r} could be another person's pseudonym; choose another name")
        with self._database.write() as run:
            if run(sql.USER_BY_NAME, folded=name.casefold()):
                raise ConflictError(f"the name {name!r} is taken; choose another")
            number = run(sql.NEXT_USER)[0]["id"]
            user = User(
                id=number, name=name, role=role, pseudonym=f"assessor-{number}", password_hash=password_hash,
                active=True, created=time.time(),
            )  # fmt: skip
            run(sql.ADD_USER, **asdict(user) | {"active": 1, "folded": name.casefold()})
        return user

    def user(self, id: int) -> User | None:  # noqa: A002
        """Return the user with this number, or None."""
        return self._first_user(sql.USER_BY_ID, id=id)

    def user_by_name(self, name: str) -> User | None:
        """Return the user with this name, in any case, or None."""
        return self._first_user(sql.USER_BY_NAME, folded=readable(name.strip()).casefold())

    def users(self) -> list[User]:
        """Return all users, oldest first."""
        return [user_of(row) for row in self._rows(sql.USERS)]

    def names(self) -> dict[str, str]:
        """Map the pseudonyms of all users to their names."""
        return {user.pseudonym: user.name for user in self.users()}

    def set_password(self, id: int, password_hash: str | None) -> None:  # noqa: A002
        """Set a user's password (None: no password); end all sessions and invalidate all links."""
        with self._database.write() as run:
            _find_remembered(run, id)
            run(sql.SET_PASSWORD, id=id, password_hash=password_hash)
            run(sql.END_SIGN_INS, id=id)
            run(sql.DROP_TOKENS, id=id)

    def set_role(self, id: int, role: Role) -> None:  # noqa: A002
        """Make a user an assessor or an organizer; the last organizer stays one."""
        with self._database.write() as run:
            user = _find_remembered(run, id)
            if role != "organizer":
                _keep_an_organizer(run, user)
            run(sql.SET_ROLE, id=id, role=role)

    def set_active(self, id: int, active: bool) -> None:  # noqa: A002
        """Enable or disable a user; disabling ends all sessions and releases all leases.

        The last organizer cannot be disabled.
        """
        with self._database.write() as run:
            user = _find_remembered(run, id)
            if not active:
                _keep_an_organizer(run, user)
            run(sql.SET_ACTIVE, id=id, active=int(active))
            if not active:
                _shut_out(run, user)

    def erase_user(self, id: int) -> User:  # noqa: A002
        """Erase a user's name, password and sessions; the pseudonym and the log stay.

        The last organizer cannot be erased. `holds_erased` says whether a file still contains the name.
        """
        with self._database.erase() as run:
            user = _find_user(run, id)
            _keep_an_organizer(run, user)
            _shut_out(run, user)
            run(sql.ERASE_USER, id=id)
            return _find_user(run, id)

    def holds_erased(self) -> bool:
        """Return whether a file may still contain an erased name, because another program is reading it."""
        return self._database.holds_erased()

    def add_token(self, id: int, kind: TokenKind, digest: str, expires: float) -> None:  # noqa: A002
        """Store a one-time link by the hash of its secret; invalidate earlier links of the user."""
        with self._database.write() as run:
            _find_remembered(run, id)
            run(sql.DROP_TOKENS, id=id)
            run(sql.ADD_TOKEN, digest=digest, account=id, kind=kind, expires=expires)

    def token(self, digest: str) -> tuple[TokenKind, User] | None:
        """Return the purpose and the user of a one-time link without using it; None if invalid."""
        rows = self._rows(sql.TOKEN, digest=digest, now=time.time())
        return (rows[0]["kind"], user_of(rows[0])) if rows else None

    def take_token(self, digest: str, password_hash: str) -> User | None:
        """Use a one-time link to set the password of its user; return None if the link is invalid."""
        with self._database.write() as run:
            rows = run(sql.TOKEN, digest=digest, now=time.time())
            if not rows:
                return None
            number = rows[0]["id"]
            run(sql.DROP_TOKENS, id=number)
            run(sql.SET_PASSWORD, id=number, password_hash=password_hash)
            run(sql.END_SIGN_INS, id=number)
            return _find_user(run, number)

    def add_sign_in(self, id: int, digest: str, expires: float, note: str = "") -> None:  # noqa: A002
        """Store a session by the hash of its cookie; delete expired sessions."""
        now = time.time()
        with self._database.write() as run:
            run(sql.DROP_OLD_SIGN_INS, now=now)
            run(sql.ADD_SIGN_IN, digest=digest, account=id, created=now, expires=expires, note=readable(note))

    def sign_in(self, digest: str) -> SignIn | None:
        """Return the session of a cookie; None if it is unknown, expired, ended, or its user is disabled."""
        rows = self._rows(sql.SIGN_IN, digest=digest, now=time.time())
        return _sign_in_of(rows[0]) if rows else None

    def sign_ins(self, id: int) -> list[SignIn]:  # noqa: A002
        """Return the sessions of a user."""
        return [_sign_in_of(row) for row in self._rows(sql.SIGN_INS, id=id, now=time.time())]

    def end_sign_in(self, digest: str) -> None:
        """End one session; call `release` to give the user's leases back."""
        with self._database.write() as run:
            run(sql.END_SIGN_IN, digest=digest)

    def end_sign_ins(self, id: int) -> None:  # noqa: A002
        """End every session of a user and release the leases."""
        with self._database.write() as run:
            user = _find_user(run, id)
            run(sql.END_SIGN_INS, id=id)
            run(sql.RELEASE[""], assessor=user.pseudonym)

    def _first_user(self, statement: str, **given: Any) -> User | None:
        rows = self._rows(statement, **given)
        return user_of(rows[0]) if rows else None


def _possible_name(name: str) -> str:
    """Return a name unchanged; refuse one that does not fit on a line of a table or page."""
    storable(name, "the name of a user")
    if control := CONTROLS.search(name):
        raise DataError(
            f"the name {quote(name)} contains the control character {control[0]!a}; choose one without any"
        )
    if len(name) > MOST_NAME:
        raise DataError(f"the name {quote(name)} is too long; choose one of at most {MOST_NAME} characters")
    return name


def _find_user(run: Statements, id: int) -> User:  # noqa: A002
    """Return the user with this number; refuse an unknown number."""
    rows = run(sql.USER_BY_ID, id=id)
    if not rows:
        raise DataError(f"no user has the number {id}; reload the page")
    return user_of(rows[0])


def _find_remembered(run: Statements, id: int) -> User:  # noqa: A002
    """Return the user with this number; refuse an erased user."""
    user = _find_user(run, id)
    if user.erased:
        raise ConflictError(f"{user.pseudonym} was erased for good; add the person as a new user")
    return user


def _keep_an_organizer(run: Statements, user: User) -> None:
    """Refuse to lose the last organizer who can sign in."""
    ready = [one for one in map(user_of, run(sql.USERS)) if one.role == "organizer" and one.active]
    if [one.id for one in ready] == [user.id]:
        raise ConflictError(f"{user.name} is the last organizer; make somebody else an organizer first")


def _shut_out(run: Statements, user: User) -> None:
    run(sql.END_SIGN_INS, id=user.id)
    run(sql.DROP_TOKENS, id=user.id)
    run(sql.RELEASE[""], assessor=user.pseudonym)


def _sign_in_of(row: Any) -> SignIn:
    return SignIn(
        digest=row["digest"], user=user_of(row), created=row["begun"], expires=row["expires"],
        note=row["note"],
    )  # fmt: skip
