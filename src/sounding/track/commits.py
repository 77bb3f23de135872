"""The commits of a history: their names, their times, and what git says about the one that is checked out."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from sounding.core.errors import DataError, UnknownNameError

SHOWN = 10  # characters of a hash that people see
DIRTY = "-dirty"  # ends the name of a commit whose files were changed
_HASH = re.compile(rf"([0-9a-f]{{{SHOWN}}})[0-9a-f]{{30}}([0-9a-f]{{24}})?({DIRTY})?")


class Commit(NamedTuple):
    """A state of the software whose results are kept."""

    name: str
    time: str  # ISO 8601, in UTC

    @property
    def short(self) -> str:
        """Return the name as people see it: the beginning of a hash."""
        found = _HASH.fullmatch(self.name)
        return f"{found[1]}{found[3] or ''}" if found else self.name


def find_commit(commits: tuple[Commit, ...], name: str) -> int:
    """Return the place of the commit of that name, or of the only one whose name begins with it."""
    names = [commit.name for commit in commits]
    found = [place for place, known in enumerate(names) if known == name]
    found = found or [place for place, known in enumerate(names) if name and known.startswith(name)]
    if len(found) > 1:  # a commit before the same one with changed files
        found = [place for place in found if not names[place].endswith(DIRTY)] or found
    if len(found) != 1:
        raise UnknownNameError("commit", name, [commit.short for commit in commits])
    return found[0]


def identify(name: str | None, time: str | None, history: Path) -> Commit:
    """Return the commit to keep results for: the one named, or the one that is checked out.

    Its time is that of git, if git knows it, or else now. Changes of the history itself do not make a
    checked-out commit dirty.
    """
    if name is not None and not name.strip():
        raise DataError("the name of the commit is empty; give one, such as v1.2")
    if name is None:
        name, known = _checked_out(history)
    else:
        known = None if time else _git("log", "-1", "--format=%cI", "--end-of-options", name)
    return Commit(name, _in_utc(time or known or datetime.now(UTC).isoformat()))


def _checked_out(history: Path) -> tuple[str, str | None]:
    """Return the name of the commit in the current folder, and its time unless files were changed."""
    name = _git("rev-parse", "--verify", "HEAD")
    if name is None:
        raise DataError("this folder is no git repository with a commit; name the commit with --commit")
    status = ("status", "--porcelain", "--untracked-files=no")
    changed = _git(*status, "--", ":/", f":(exclude){history.resolve()}")
    if changed is None:  # git refuses to exclude a file outside of the repository
        changed = _git(*status)
    return (name + DIRTY, None) if changed else (name, _git("log", "-1", "--format=%cI"))


def _git(*words: str) -> str | None:
    """Return what git prints; None if there is no git or it fails."""
    command = ["git", *words]
    try:
        done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - git, without a shell
    except OSError:
        return None
    return None if done.returncode else done.stdout.decode("utf-8", "replace").strip()


def _in_utc(time: str) -> str:
    """Return a time as texts sort by it; without a zone it is UTC."""
    try:
        read = datetime.fromisoformat(time)
    except ValueError as error:
        raise DataError(f"time {time!r}: expected a date and time such as 2026-03-01T12:00:00Z") from error
    zoned = read if read.tzinfo else read.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="seconds")
