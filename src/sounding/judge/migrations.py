"""The shape of the database, brought up to date step by step; there is no way back."""

from __future__ import annotations

import time

from sounding.judge import sql
from sounding.judge.database import Database, Statements, StoreError

NEWEST = len(sql.MIGRATIONS)


def migrate(database: Database, until: int = NEWEST) -> int:
    """Bring a database to a version, all steps with their records in one transaction; returns the version.

    One that a newer release has written is refused. Where nothing is to be done nothing is written, so that
    a project on a disk that is full or read-only can still be read.
    """
    if _version_of(database) == until:
        return until
    with database.write() as run:
        return bring_up(database, run, until)


def bring_up(database: Database, run: Statements, until: int = NEWEST) -> int:
    """As `migrate`, in a transaction that is under way."""
    run(sql.CREATE_SCHEMA)
    present = run(sql.SCHEMA_VERSION)[0]["version"] or 0
    if present > NEWEST:
        raise StoreError(
            f"{database.place}: the database has version {present}, and this release knows versions up to"
            f" {NEWEST}; use the release that wrote it, or a newer one"
        )
    for version in range(present + 1, until + 1):
        for statement in sql.MIGRATIONS[version - 1]:
            run(statement.format(**sql.SPELLING[database.dialect]))
        if version == 1:
            for statement in sql.APPEND_ONLY[database.dialect]:
                run(statement)
        run(sql.ADD_MIGRATION, version=version, time=time.time())
    return int(max(present, until))


def _version_of(database: Database) -> int:
    """The version of a database; 0: it has none yet, or does not answer."""
    try:
        with database.read() as run:
            return int(run(sql.SCHEMA_VERSION)[0]["version"] or 0)
    except StoreError:
        return 0
