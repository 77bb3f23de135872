"""A chat-completions endpoint on this machine that answers as told, and misbehaves as told."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = Callable[["Asked"], "Answer"]


@dataclass
class Asked:
    """A request as the endpoint saw it."""

    number: int  # from 1
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])


@dataclass
class Answer:
    """What the endpoint does: a status with a body, after a while, or a connection that is cut."""

    content: str | None = '{"label": 2}'
    status: int = 200
    raw: bytes | None = None  # in place of a completion
    headers: dict[str, str] = field(default_factory=dict)
    usage: tuple[int, int] | None = (50, 5)
    message: dict[str, Any] = field(default_factory=dict)
    finish: str = "stop"
    wait: float = 0.0
    cut: bool = False
    model: str = "served-1"

    def data(self) -> bytes:
        if self.raw is not None:
            return self.raw
        message = {"role": "assistant", "content": self.content, **self.message}
        found: dict[str, Any] = {
            "model": self.model,
            "choices": [{"message": message, "finish_reason": self.finish}],
        }
        if self.usage is not None:
            found["usage"] = dict(zip(("prompt_tokens", "completion_tokens"), self.usage, strict=True))
        return json.dumps(found).encode()


class FakeEndpoint:
    """Its address, and the requests that it received; `reply` decides what each gets."""

    def __init__(self, reply: Reply) -> None:
        self.asked: list[Asked] = []
        self.at_once = 0  # the most requests in flight
        self._open = 0
        self._lock = threading.Lock()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with fake._lock:
                    asked = Asked(len(fake.asked) + 1, self.path, dict(self.headers), json.loads(body))
                    fake.asked.append(asked)
                    fake._open += 1
                    fake.at_once = max(fake.at_once, fake._open)
                try:
                    answer = reply(asked)
                    time.sleep(answer.wait)
                finally:
                    with fake._lock:
                        fake._open -= 1
                if answer.cut:
                    linger = struct.pack("ii", 1, 0)  # close with a reset
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    self.close_connection = True
                    self.connection.close()
                    return
                data = answer.data()
                self.send_response(answer.status)
                for name, value in {**answer.headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: Any) -> None:  # a client that was killed
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def endpoint(reply: Reply = lambda asked: Answer()) -> Iterator[FakeEndpoint]:
    fake = FakeEndpoint(reply)
    fake.start()
    try:
        yield fake
    finally:
        fake.stop()


if (
    __name__ == "__main__"
):  # for trying the docs: grades by the number of words that search and document share

    def overlap(asked: Asked) -> Answer:
        search, _, document = asked.text.partition("Document, between")
        shared = set(search.rpartition("Search:")[2].lower().split()) & set(document.lower().split())
        return Answer(json.dumps({"label": min(3, len(shared) // 3)}), wait=0.01)

    fake = FakeEndpoint(overlap)
    sys.stdout.write(f"{fake.address}\n")
    sys.stdout.flush()
    try:
        fake._server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)
