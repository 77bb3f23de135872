"""Move a project to another database: copy everything, compare, replay, and only then use the copy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sounding.core.errors import DataError
from sounding.core.files import write_file
from sounding.judge.database import POSTGRESQL, StoreError, shown_url
from sounding.judge.project import DATABASE, FILE, open_project, place_of_database
from sounding.judge.records import DamagedError
from sounding.judge.serving import answering, guest_cookie_of
from sounding.judge.store import Store, copy_tables, differing_table, new_store, open_store
from sounding.judge.verify import replay_log, snapshot

HERE = "sqlite"  # the name of a SQLite file in the folder, as a target


class MovedProject(NamedTuple):
    """A moved project, with its old and new place."""

    events: int
    rows: int  # of all tables; 0: they had been copied before
    before: str
    after: str


def move_project(folder: Path, target: str) -> MovedProject:
    """Copy a project's database to an address of PostgreSQL, or to `sqlite` in its folder, and use the copy.

    Nobody can write meanwhile. The copy is compared row by row, and its log is replayed. Then the old
    database refuses all changes, so that a server which still runs on it cannot accept a judgment that would
    be lost. If anything fails before, everything stays as it was.
    """
    place = _place_of(folder, target)
    if place_of_database(folder) == place:
        raise DataError(f"--database {shown_url(target)}: the project is there already; give another one")
    with open_project(folder) as project:
        source = project.store
        _refuse_running(folder, source)
        if _is_there(place):
            return _finish(folder, source, place)
        with _removed_if_it_fails(place), source.together():
            with new_store(place) as copy:
                rows = copy_tables(source, copy)
                until = source.last_sequence()
                here, there = (snapshot(one, replay_log(one, until), until) for one in (source, copy))
                if wrong := [name for name in here if here[name] != there.get(name)]:
                    raise StoreError(f"{copy.place}: the copy differs in {wrong[0]}; nothing was moved")
                after = copy.place
            source.retire()
        _use(folder, place)
        return MovedProject(until, rows, source.place, after)


def _place_of(folder: Path, target: str) -> str | Path:
    """Return where the copy goes; refuse a target that cannot be."""
    if urlsplit(target).scheme in POSTGRESQL:
        if target.split() != [target]:  # PostgreSQL's own error shows the password
            raise DataError(f"--database {shown_url(target)}: the address contains blanks; write them as %20")
        return target
    if target != HERE:
        raise DataError(
            f"--database {shown_url(target)}: expected an address such as postgresql://user@host/name, or"
            f" {HERE} for a file in {folder}"
        )
    return folder / DATABASE


def _is_there(place: str | Path) -> bool:
    """Return whether a place already holds a project."""
    if isinstance(place, Path):
        return place.exists()
    try:
        open_store(place, made=True).close()
    except DamagedError:
        return False
    return True


def _finish(folder: Path, source: Store, place: str | Path) -> MovedProject:
    """Use a database with the same rows, left by an interrupted move or an earlier one; refuse any other."""
    with open_store(place, made=True) as copy, source.together():
        if differing_table(source, copy):
            raise DataError(
                f"{copy.place}: there is another project, or an older state of this one; give an empty"
                " database, or rename the file"
            )
        until, after = source.last_sequence(), copy.place
        copy.revive()  # the project may have been here before
        source.retire()
    _use(folder, place)
    return MovedProject(until, 0, source.place, after)


def _refuse_running(folder: Path, store: Store) -> None:
    running = answering(folder, guest_cookie_of(next(store.events(until=1))))
    if running is not None:
        raise DataError(f"the server at {running} uses this project; stop it, then move the project")


@contextmanager
def _removed_if_it_fails(place: str | Path) -> Iterator[None]:
    """Remove an unfinished SQLite file; an unfinished transaction of PostgreSQL leaves nothing."""
    try:
        yield
    except BaseException:
        if isinstance(place, Path):
            for end in ("", "-wal", "-shm", "-journal"):
                Path(f"{place}{end}").unlink(missing_ok=True)
        raise


def _use(folder: Path, place: str | Path) -> None:
    """Name the new database in the project file."""
    record = json.loads((folder / FILE).read_text(encoding="utf-8"))
    record["database"] = place if isinstance(place, str) else place.name
    write_file(folder / FILE, json.dumps(record, indent=1).encode() + b"\n")
    (folder / FILE).chmod(0o600)  # an address may hold a password
