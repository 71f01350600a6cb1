"""Connections that only cost: half-sent headers, bodies in drops, answers nobody takes, too many of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from server import problem, running, wait_until_ready
from starlette.types import Message, Receive, Scope, Send

from indexing.store import IndexStore
from service.access.middleware import BodyLimit
from service.app import create_app
from service.settings import Settings

ROOT = Path(__file__).parents[1]
HALF_SENT = b"POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\nX-Half: "
LARGE = 20_000_000


class App:
    """Answers /healthz at once, /wait when ``gate`` is open, /large with many bytes."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.waiting = threading.Semaphore(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/wait":
            self.waiting.release()
            while not self.gate.is_set():
                await asyncio.sleep(0.01)
        body = b"x" * (LARGE if scope["path"] == "/large" else 2)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture
def app() -> Iterator[App]:
    app = App()
    yield app
    app.gate.set()


@contextlib.contextmanager
def connections(url: str, count: int, first: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections, each of which has sent ``first``."""
    address = urlsplit(url)
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            one = stack.enter_context(socket.socket())
            # Little on the way, so that the service sees what its client takes.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            one.settimeout(30)
            one.connect((address.hostname, address.port))
            one.sendall(first)
            opened.append(one)
        yield opened


def ended(one: socket.socket) -> bool:
    """Wait until the service has closed the connection, and not answered."""
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("first", [b"", b"GET /hea", HALF_SENT])
def test_headers_that_do_not_come_close_the_connection(app: App, first: bytes) -> None:
    with running(app, headers_s=0.4) as url, connections(url, 3, first) as opened:
        assert all(ended(one) for one in opened)
        assert httpx.get(f"{url}/healthz").status_code == 200


def test_headers_in_drops_close_the_connection_all_the_same(app: App) -> None:
    def send_in_drops() -> None:
        for _ in range(1000):
            one.sendall(b"G")
            time.sleep(0.02)

    first = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    with running(app, headers_s=0.4) as url, connections(url, 1, first) as [one]:
        one.recv(1000)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            send_in_drops()


def test_a_request_may_take_longer_than_its_headers(app: App) -> None:
    with running(app, headers_s=0.2) as url, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(httpx.get, f"{url}/wait", timeout=30)
        assert app.waiting.acquire(timeout=30)
        time.sleep(0.6)
        app.gate.set()
        assert waiting.result().status_code == 200


def test_an_answer_that_nobody_takes_is_given_up_and_one_that_is_taken_slowly_is_not(app: App) -> None:
    def taken(pause_s: float, pauses: int) -> int:
        with connections(url, 1, b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") as [one]:
            count = 0
            with contextlib.suppress(ConnectionResetError):
                for pause in range(10**6):
                    if pause < pauses:
                        time.sleep(pause_s)
                    got = len(one.recv(50_000))
                    if not got:
                        break
                    count += got
            return count

    with running(app, take_s=0.4) as url:
        assert taken(pause_s=1.0, pauses=1) < LARGE
        assert taken(pause_s=0.05, pauses=16) > LARGE


def test_beyond_the_most_connections_those_that_idle_make_room(app: App) -> None:
    with running(app, most=8) as url, connections(url, 30, HALF_SENT) as opened:
        assert httpx.get(f"{url}/healthz").status_code == 200
        assert all(ended(one) for one in opened[:20])  # those that had waited longest


def test_where_all_connections_wait_for_answers_one_more_is_told_to_come_again(app: App) -> None:
    with running(app, most=4) as url, ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(httpx.get, f"{url}/wait", timeout=30) for _ in range(4)]
        for _ in waiting:
            assert app.waiting.acquire(timeout=30)
        refused = httpx.post(f"{url}/answer", json={"question": "x" * 10_000})
        assert problem(refused, 503)["type"] == "urn:storyqa:problem:overloaded"
        assert int(refused.headers["retry-after"]) >= 1
        app.gate.set()
        assert [one.result().status_code for one in waiting] == [200] * 4
        assert httpx.get(f"{url}/healthz").status_code == 200


def test_a_body_in_drops_is_refused_however_steadily_it_comes() -> None:
    async def send_drops() -> list[Message]:
        async def drop() -> Message:
            await asyncio.sleep(0.05)
            return {"type": "http.request", "body": b"x", "more_body": True}

        async def read(scope: Scope, receive: Receive, send: Send) -> None:
            while (await receive()).get("more_body", False):
                pass

        async def keep(message: Message) -> None:
            sent.append(message)

        sent: list[Message] = []
        limit = BodyLimit(read, largest=10**6, timeout_s=0.3)
        scope = {"type": "http", "path": "/answer", "method": "POST", "headers": []}
        with pytest.raises(Exception, match="Request Timeout") as refused:
            await limit(scope, drop, keep)
        assert "without a pause" in str(refused.value.__cause__)
        return sent

    assert asyncio.run(asyncio.wait_for(send_drops(), 30)) == []


@pytest.mark.processes
def test_half_sent_headers_beyond_the_open_files_neither_stop_healthz_nor_fill_the_log(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); "
        "from service.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "serve", "--port", "0", "--json", "--store", str(shelf_store.root)]
    most, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(most, 2000), hard), hard))
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log) as server,
    ):
        try:
            assert server.stdout is not None
            url = json.loads(b"".join(iter(server.stdout.readline, b"}\n")) + b"}")["url"]
            with httpx.Client(base_url=url, timeout=60) as client:
                wait_until_ready(client)
            with connections(url, 600, HALF_SENT):
                for _ in range(10):
                    assert httpx.get(f"{url}/healthz", timeout=10).status_code == 200
        finally:
            server.terminate()
    assert len((tmp_path / "log").read_text("utf-8").splitlines()) < 200


def test_the_service_itself_answers_through_such_connections(shelf_store: IndexStore) -> None:
    app = create_app(Settings(store=shelf_store.root, retriever="bm25", reader="overlap"))
    with running(app, most=16) as url, connections(url, 100, HALF_SENT), httpx.Client(base_url=url) as client:
        wait_until_ready(client)
        assert client.get("/books").status_code == 200
