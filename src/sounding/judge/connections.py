"""Limit connections: how many there are, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from uvicorn.protocols.http.auto import AutoHTTPProtocol

if TYPE_CHECKING:
    Protocol = asyncio.Protocol
else:
    Protocol = AutoHTTPProtocol  # httptools, or h11 where it is missing

log = logging.getLogger("sounding.judge")

HEAD_SECONDS = 10.0  # for the first line and the headers of a request
MOST_HEAD = 65_536  # bytes of them
MOST_DROPPED = 1_000_000  # bytes of a body that was refused unread
BODY_SECONDS = 30.0  # for a body that is sent slower than SLOWEST
SLOWEST = 10_000  # bytes a second
UNREAD_SECONDS = 60.0  # for a client to make room for more of a response
MOST_CONNECTIONS = 4000
OWN_FILES = 128  # files that the server needs for itself: databases, logs, libraries
BUSY = 0.9  # share of the connections in use from which the log says so
BETWEEN_REMARKS = 60.0  # seconds


def body_deadline(begun: float, received: int) -> float:
    """Return when a body that began to arrive at a time must be complete."""
    return begun + BODY_SECONDS + received / SLOWEST


def available_connections() -> int:
    """Allow this process as many files as the system lets it, and return how many connections fit."""
    try:
        import resource  # there is none on Windows
    except ImportError:
        return 400
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + OWN_FILES
    files = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(MOST_CONNECTIONS, max(files - OWN_FILES, files // 4))


class OpenConnections:
    """The open connections of a server, and which of them wait for a request."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.open: set[Connection] = set()
        self.waiting: dict[Connection, None] = {}  # the one that has waited longest comes first
        self._quiet_until = 0.0

    def admit(self, new: Connection) -> bool:
        """Add a connection; if there are too many, close the one that has waited longest."""
        self._remark()
        while len(self.open) >= self.most and self.waiting:
            self.remove(oldest := next(iter(self.waiting)))
            oldest.transport.abort()
        if len(self.open) >= self.most:
            return False
        self.open.add(new)
        return True

    def remove(self, one: Connection) -> None:
        """Remove a connection that ends."""
        self.open.discard(one)
        self.waiting.pop(one, None)

    def _remark(self) -> None:
        """Warn in the log, at most once a minute, when hardly any connection is left."""
        now = time.monotonic()
        if len(self.open) + 1 < BUSY * self.most or now < self._quiet_until:
            return
        self._quiet_until = now + BETWEEN_REMARKS
        log.warning(
            "%d of %d connections are in use, %d of them without a request; at the limit, the one that has"
            " waited longest is closed. To raise the limit, raise that of open files (ulimit -n).",
            len(self.open) + 1, self.most, len(self.waiting),
        )  # fmt: skip


class Connection(Protocol):
    """A connection that ends if its client sends a request, or reads a response, too slowly."""

    room: ClassVar[OpenConnections]
    transport: asyncio.Transport
    cycle: Any  # the last request, with its response; uvicorn's

    _head: asyncio.TimerHandle | None = None  # ends the wait for a request
    _unread: asyncio.TimerHandle | None = None  # ends the wait for a client to read
    _received = 0  # bytes of a request whose headers are incomplete

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Accept a connection, or refuse it if there are too many."""
        super().connection_made(transport)
        if not self.room.admit(self):
            self._refuse(b"503 Service Unavailable", b"too many connections; try again in a few seconds")
            return
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request, and start or stop the clock for its headers."""
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete:
            self._received += len(data)
            if self._head is None:
                self._await_head()
            dropping = self.cycle is not None and self.cycle.more_body
            if self._received > (MOST_DROPPED if dropping else MOST_HEAD):
                self._refuse(b"431 Request Header Fields Too Large", b"the headers are too long")
        elif self._head is not None or self in self.room.waiting:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()  # type: ignore[misc]  # uvicorn's
        if self.cycle.response_complete and not self.transport.is_closing():
            self.room.waiting[self] = None

    def pause_writing(self) -> None:
        """Give the client a time to read what is sent."""
        super().pause_writing()
        loop = asyncio.get_running_loop()
        self._unread = loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop that clock."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that has ended."""
        super().connection_lost(exc)
        self._stop_waiting()
        self.room.remove(self)
        if self._unread is not None:
            self._unread.cancel()

    def _await_head(self) -> None:
        self.room.waiting[self] = None
        self._head = asyncio.get_running_loop().call_later(HEAD_SECONDS, self._late)

    def _stop_waiting(self) -> None:
        self.room.waiting.pop(self, None)
        self._received = 0
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _late(self) -> None:
        if self._received and (self.cycle is None or not self.cycle.more_body):
            self._refuse(b"408 Request Timeout", b"the request took too long to arrive; send it again")
        else:
            self.transport.close()

    def _refuse(self, status: bytes, text: bytes) -> None:
        """Answer without a request, and close the connection."""
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 %b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
                b"Connection: close\r\n\r\n%b" % (status, len(text), text)
            )
            self.transport.close()


def limited(most: int) -> type[Connection]:
    """Return the class of a server's connections, of which there are never more than `most`."""

    class Limited(Connection):
        room = OpenConnections(most)

    return Limited
