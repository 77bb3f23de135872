"""Find the address of a server, and write its logs."""

from __future__ import annotations

import hashlib
import ipaddress
import logging
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import Scope

from sounding.core.errors import SoundingError
from sounding.core.files import write_file
from sounding.judge.records import Event, User

FILE = "address.txt"
ANSWER_SECONDS = 2.0  # time for a server on this machine to answer


log = logging.getLogger("sounding.judge")
accesses = logging.getLogger("sounding.judge.api")
_SECRET = re.compile(r"(?<=^/welcome/).*")  # one-time links, which let anybody set a password


def address_of(host: str, port: int) -> str:
    """Return the address for browsers; a server that listens on all addresses gets the machine's name."""
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_unspecified:
            host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def ip_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address of a client; raise ValueError for any other text.

    An IPv6 socket that listens everywhere also accepts IPv4 clients and calls them ::ffff:192.0.2.1.
    """
    found = ipaddress.ip_address(text)
    return (found.ipv4_mapped if found.version == 6 else None) or found


def remember_address(folder: Path, address: str) -> None:
    """Store the address of a project's server in its folder, if the folder is writable."""
    with suppress(SoundingError):
        write_file(folder / FILE, f"{address}\n".encode())


def last_address(folder: Path) -> str | None:
    """Return the address where a project was last served, or None if unknown."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return text if is_address(text) else None


def cookie_of(first: Event) -> str:
    """Return the name of a project's session cookie, from the first event of its log.

    It differs between projects, because servers on one machine share cookies whatever their ports.
    """
    return "sounding_" + hashlib.sha256(first.line().encode()).hexdigest()[:8]


def guest_cookie_of(first: Event) -> str:
    """Return the name of the cookie for visitors who have not signed in."""
    return f"{cookie_of(first)}_guest"


def answering(folder: Path, cookie: str) -> str | None:
    """Return the address where the project was last served, if its server answers there; otherwise None.

    `cookie` is the name of its cookie for guests, which is unique to the project.
    """
    from http.client import HTTPException
    from urllib.request import urlopen

    last = last_address(folder)
    if last is None:
        return None
    with (
        suppress(OSError, HTTPException, ValueError),
        urlopen(f"{last}/sign-in", timeout=ANSWER_SECONDS) as answer,  # noqa: S310 - it is http or https
    ):
        given = answer.headers.get_all("Set-Cookie", [])
        return last if any(one.startswith(f"{cookie}=") for one in given) else None
    return None


def is_address(text: str) -> bool:
    """Return whether a text is the address of a server: http:// or https://, and a name."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # invalid port or unclosed bracket
        return False


@contextmanager
def written_log(*, access_log: bool) -> Iterator[None]:
    """Write the log to standard error with timestamps, and the access log to standard output."""
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

    The typed name is not logged, because it may be a password.
    """
    pseudonym = "nobody" if user is None else user.pseudonym
    log.warning("sign-in failed for %s from %s", pseudonym, _address(address))


def log_access(scope: Scope, status: int, size: int) -> None:
    """Log a response in the common log format of web servers, without queries and secrets of links."""
    if accesses.isEnabledFor(logging.INFO):
        host = _address(scope["client"][0] if scope.get("client") else "")
        asked = scope.get("raw_path", b"").decode("ascii", "replace").partition("?")[0]
        path = _SECRET.sub("-", asked.replace('"', "%22"))
        request = f"{scope['method']} {path} HTTP/{scope['http_version']}"
        when = time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime())
        accesses.info('%s - - [%s] "%s" %d %d', host, when, request, status, size)


def _address(text: str) -> str:
    """Return an address for the log; replace anything else, because a proxy may pass on a client's text."""
    try:
        return str(ip_of(text))
    except ValueError:
        return "unknown"
