"""A web server on loopback for tests, with books on its shelves; it notes who asked for what and when."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Reply:
    """An answer of the shop; ``first`` are statuses that come before it, with a ``Retry-After``."""

    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    status: int = 200
    location: str | None = None
    first: list[int] = field(default_factory=list)
    retry_after: str = "0"


@dataclass
class Request:
    """A request that the shop had: its path, its ``User-Agent``, and when it came and was answered."""

    path: str
    agent: str
    begun_s: float
    ended_s: float = 0.0


@dataclass
class Shop:
    """What is on the shelves, by path, and who came."""

    address: str
    shelves: dict[str, Reply]
    requests: list[Request] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]


@contextmanager
def open_shop() -> Iterator[Shop]:
    """A shop that serves until the block ends."""

    class Counter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            request = Request(self.path, self.headers["User-Agent"], time.monotonic())
            shop.requests.append(request)
            reply = shop.shelves.get(self.path, Reply(b"<html>no such book</html>", "text/html", 404))
            status = reply.first.pop(0) if reply.first else reply.status
            time.sleep(0.02)  # long enough that two requests at once would be seen
            self.send_response(status)
            if status != reply.status:
                self.send_header("Retry-After", reply.retry_after)
            if reply.location:
                self.send_header("Location", reply.location)
            body = reply.body if status == reply.status else b""
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(body)))
            request.ended_s = time.monotonic()  # before the last byte, after which the next may come
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Counter) as server:
        shop = Shop(f"http://127.0.0.1:{server.server_port}", {})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield shop
        finally:
            server.shutdown()
            thread.join()
