"""Who takes part: users, their sign-ins, and the one-time links with which they set a password.

Names and sign-ins can be forgotten; the pseudonym under which somebody judged stays.
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
# What the log calls people and imports: as anybody's name, it would be taken for somebody else.
_PSEUDONYM = re.compile(r"assessor-\d+|import-.*", re.DOTALL)


class PeopleTables(Tables):
    """The part of a store that knows people by name."""

    def add_user(self, name: str, role: Role, password_hash: str | None = None) -> User:
        """A new user, with a pseudonym; a name that is taken, in whatever case, is a ConflictError."""
        name = _possible_name(name.strip())
        if _PSEUDONYM.fullmatch(name.casefold()):
            raise ConflictError(f"{name!r} is what the log may call somebody else; give another name")
        with self._database.write() as run:
            if run(sql.USER_BY_NAME, folded=name.casefold()):
                raise ConflictError(f"there is a user {name!r} already; give another name")
            number = run(sql.NEXT_USER)[0]["id"]
            user = User(
                id=number, name=name, role=role, pseudonym=f"assessor-{number}", password_hash=password_hash,
                active=True, created=time.time(),
            )  # fmt: skip
            run(sql.ADD_USER, **asdict(user) | {"active": 1, "folded": name.casefold()})
        return user

    def user(self, id: int) -> User | None:  # noqa: A002
        """The user with this number."""
        return self._first_user(sql.USER_BY_ID, id=id)

    def user_by_name(self, name: str) -> User | None:
        """The user with this name, in whatever case."""
        return self._first_user(sql.USER_BY_NAME, folded=readable(name.strip()).casefold())

    def users(self) -> list[User]:
        """All users, in the order in which they came."""
        return [user_of(row) for row in self._rows(sql.USERS)]

    def names(self) -> dict[str, str]:
        """Pseudonym -> name of everybody who has an account."""
        return {user.pseudonym: user.name for user in self.users()}

    def set_password(self, id: int, password_hash: str | None) -> None:  # noqa: A002
        """Give a user another password (None: none yet); every sign-in ends and every open link is void."""
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
        """Let a user sign in, or not any longer: then sign-ins end and leases are given back.

        The last organizer can always sign in.
        """
        with self._database.write() as run:
            user = _find_remembered(run, id)
            if not active:
                _keep_an_organizer(run, user)
            run(sql.SET_ACTIVE, id=id, active=int(active))
            if not active:
                _shut_out(run, user)

    def erase_user(self, id: int) -> User:  # noqa: A002
        """Forget who a user was: the pseudonym and the log stay, name, password and sign-ins go.

        The last organizer is not forgotten. `holds_erased` says whether a file still tells who it was.
        """
        with self._database.erase() as run:
            user = _find_user(run, id)
            _keep_an_organizer(run, user)
            _shut_out(run, user)
            run(sql.ERASE_USER, id=id)
            return _find_user(run, id)

    def holds_erased(self) -> bool:
        """Whether a file may still hold who somebody was: it is done once nobody else reads the database."""
        return self._database.holds_erased()

    def add_token(self, id: int, kind: TokenKind, digest: str, expires: float) -> None:  # noqa: A002
        """Note a one-time link by the hash of its secret; earlier links of the user are void."""
        with self._database.write() as run:
            _find_remembered(run, id)
            run(sql.DROP_TOKENS, id=id)
            run(sql.ADD_TOKEN, digest=digest, account=id, kind=kind, expires=expires)

    def token(self, digest: str) -> tuple[TokenKind, User] | None:
        """What a one-time link is for and whose it is, without using it up; None: void."""
        rows = self._rows(sql.TOKEN, digest=digest, now=time.time())
        return (rows[0]["kind"], user_of(rows[0])) if rows else None

    def take_token(self, digest: str, password_hash: str) -> User | None:
        """Use a one-time link up: its user has this password from now on; None: it was void."""
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
        """Note a sign-in by the hash of its cookie; those that have expired are forgotten."""
        now = time.time()
        with self._database.write() as run:
            run(sql.DROP_OLD_SIGN_INS, now=now)
            run(sql.ADD_SIGN_IN, digest=digest, account=id, created=now, expires=expires, note=readable(note))

    def sign_in(self, digest: str) -> SignIn | None:
        """The sign-in of a cookie; None: unknown, expired or ended, or its user may not sign in."""
        rows = self._rows(sql.SIGN_IN, digest=digest, now=time.time())
        return _sign_in_of(rows[0]) if rows else None

    def sign_ins(self, id: int) -> list[SignIn]:  # noqa: A002
        """Where a user is signed in."""
        return [_sign_in_of(row) for row in self._rows(sql.SIGN_INS, id=id, now=time.time())]

    def end_sign_in(self, digest: str) -> None:
        """End one sign-in; `release` gives the leases of its user back."""
        with self._database.write() as run:
            run(sql.END_SIGN_IN, digest=digest)

    def end_sign_ins(self, id: int) -> None:  # noqa: A002
        """End every sign-in of a user, whose leases are given back."""
        with self._database.write() as run:
            user = _find_user(run, id)
            run(sql.END_SIGN_INS, id=id)
            run(sql.RELEASE[""], assessor=user.pseudonym)

    def _first_user(self, statement: str, **given: Any) -> User | None:
        rows = self._rows(statement, **given)
        return user_of(rows[0]) if rows else None


def _possible_name(name: str) -> str:
    """A name as it is; one that no table or page can show in a line is refused."""
    storable(name, "the name of a user")
    if control := CONTROLS.search(name):
        raise DataError(
            f"the name {quote(name)} has the control character {control[0]!a} in it; give one without any"
        )
    if len(name) > MOST_NAME:
        raise DataError(f"the name {quote(name)} is too long; give one of at most {MOST_NAME} characters")
    return name


def _find_user(run: Statements, id: int) -> User:  # noqa: A002
    """The user with this number; there must be one."""
    rows = run(sql.USER_BY_ID, id=id)
    if not rows:
        raise DataError(f"there is no user with the number {id}")
    return user_of(rows[0])


def _find_remembered(run: Statements, id: int) -> User:  # noqa: A002
    """The user with this number, who is not forgotten."""
    user = _find_user(run, id)
    if user.erased:
        raise ConflictError(f"{user.pseudonym} is forgotten for good; add whoever it is as a new user")
    return user


def _keep_an_organizer(run: Statements, user: User) -> None:
    """Refuse to lose the last organizer who can sign in."""
    ready = [one for one in map(user_of, run(sql.USERS)) if one.role == "organizer" and one.active]
    if [one.id for one in ready] == [user.id]:
        raise ConflictError(f"{user.name} is the last organizer; make somebody else one first")


def _shut_out(run: Statements, user: User) -> None:
    run(sql.END_SIGN_INS, id=user.id)
    run(sql.DROP_TOKENS, id=user.id)
    run(sql.RELEASE[""], assessor=user.pseudonym)


def _sign_in_of(row: Any) -> SignIn:
    return SignIn(
        digest=row["digest"], user=user_of(row), created=row["begun"], expires=row["expires"],
        note=row["note"],
    )  # fmt: skip
