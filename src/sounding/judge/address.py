"""Where a project was served last, so that links made by hand lead there."""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from sounding.core.errors import SoundingError
from sounding.core.files import write_whole

FILE = "address.txt"
ANSWER_SECONDS = 2.0  # that a server of this machine may take to answer


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
        write_whole(folder / FILE, f"{address}\n".encode())


def last_address(folder: Path) -> str | None:
    """Where a project was served last; None: nowhere yet, or nobody knows."""
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
    """Whether a text is the address of a server: http:// or https://, and a name."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # no port, or brackets that do not close
        return False
