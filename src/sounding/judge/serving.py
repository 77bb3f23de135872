"""Where a server is reached, and what it writes while it runs."""

from __future__ import annotations

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
from sounding.judge.records import User

FILE = "address.txt"
ANSWER_SECONDS = 2.0  # that a server of this machine may take to answer


log = logging.getLogger("sounding.judge")
accesses = logging.getLogger("sounding.judge.api")
_SECRET = re.compile(r"(?<=^/welcome/).*")  # whoever has a one-time link can set a password


def address_of(host: str, port: int) -> str:
    """The address for browsers; a server that listens everywhere is called by the name of its machine."""
    with suppress(ValueError):
        if ipaddress.ip_address(host).is_unspecified:
            host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def ip_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address of a client; a ValueError where the text is none.

    A socket of IPv6 that listens everywhere also takes IPv4, and names its clients ::ffff:192.0.2.1.
    """
    found = ipaddress.ip_address(text)
    return (found.ipv4_mapped if found.version == 6 else None) or found


def remember_address(folder: Path, address: str) -> None:
    """Note where a project is served; a folder that cannot be written to is served all the same."""
    with suppress(SoundingError):
        write_file(folder / FILE, f"{address}\n".encode())


def last_address(folder: Path) -> str | None:
    """Return where a project was served last; None: nowhere yet, or nobody knows."""
    try:
        text = (folder / FILE).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return text if is_address(text) else None


def answering(folder: Path, cookie: str) -> str | None:
    """The address where a project was served last, if a server of it answers there; None: none does.

    `cookie` is the name of the one that it gives to guests, which no other project has.
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
    except ValueError:  # no port, or brackets that do not close
        return False


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
