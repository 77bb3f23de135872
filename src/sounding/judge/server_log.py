"""What a server writes while it runs: its log, failed sign-ins among it, and on request an access log."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import Scope

from sounding.judge.address import ip_of
from sounding.judge.records import User

log = logging.getLogger("sounding.judge")
accesses = logging.getLogger("sounding.judge.access")

_SECRET = re.compile(r"(?<=^/welcome/).*")  # whoever has a one-time link can set a password


@contextmanager
def written_log(*, access_log: bool) -> Iterator[None]:
    """Write the log to standard error, each line with its time, and the access log to standard output."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    access = logging.StreamHandler(sys.stdout) if access_log else logging.NullHandler()
    log.addHandler(handler)
    accesses.addHandler(access)
    accesses.propagate = False
    accesses.setLevel(logging.INFO if access_log else logging.WARNING)
    try:
        yield
    finally:
        log.removeHandler(handler)
        accesses.removeHandler(access)
        accesses.propagate = True
        accesses.setLevel(logging.NOTSET)


def log_failure(user: User | None, address: str) -> None:
    """Log a wrong password in one line; docs/judging-security.md has a filter of fail2ban that reads it.

    What was typed as a name is not logged: it may be a password.
    """
    pseudonym = "nobody" if user is None else user.pseudonym
    log.warning("sign-in failed for %s from %s", pseudonym, _address(address))


def log_access(scope: Scope, status: int, size: int) -> None:
    """Log an answer in the common log format of web servers, without queries and without secrets of links."""
    if accesses.isEnabledFor(logging.INFO):
        host = _address(scope["client"][0] if scope.get("client") else "")
        asked = scope.get("raw_path", b"").decode("ascii", "replace").partition("?")[0]
        path = _SECRET.sub("-", asked.replace('"', "%22"))
        request = f"{scope['method']} {path} HTTP/{scope['http_version']}"
        when = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime())
        accesses.info('%s - - [%s] "%s" %d %d', host, when, request, status, size)


def _address(text: str) -> str:
    """Return an address; what is none, as a proxy may pass on whatever a client says, is not logged."""
    try:
        return str(ip_of(text))
    except ValueError:
        return "unknown"
