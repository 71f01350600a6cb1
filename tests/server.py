"""A real server on a free port of loopback, and what tests expect of its answers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from starlette.types import ASGIApp

from service.access.api_keys import KeyFile, Scope, make_key
from service.app import create_app
from service.load.connections import connection_options
from service.settings import Settings


@contextmanager
def serving(settings: Settings) -> Iterator[httpx.Client]:
    """A client of the service."""
    with running(create_app(settings)) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client


@contextmanager
def running(app: ASGIApp, most: int = 2048, **limits: float) -> Iterator[str]:
    """The address, such as ``http://127.0.0.1:40001``, at which ``app`` answers meanwhile.

    ``most`` connections, with ``limits`` as ``connection_options`` has them.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, **connection_options(most, **limits)))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server ended before it was ready"
                time.sleep(0.01)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive(), "the server did not stop"


def new_key(file: Path, name: str, scope: Scope, per_minute: int | None = None) -> str:
    """A new key, added to those in ``file``, as a caller shows it."""
    secret, key = make_key(name, scope, per_minute)
    KeyFile(file).add(key)
    return secret


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document that the response must be."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    content = response.json()
    assert content["status"] == status
    assert set(content) >= {"type", "title", "status", "detail"}
    assert "Traceback" not in response.text
    return dict(content)


def wait_until_ready(client: httpx.Client) -> None:
    """Return once the service is ready; until then it must say so with a problem."""
    deadline = time.monotonic() + 60
    while (response := client.get("/readyz")).status_code == 503:
        problem(response, 503)
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert response.json() == {"status": "ready"}


def places(content: Any) -> Iterator[dict[str, Any]]:
    """Every object with bounds, however deep."""
    if isinstance(content, dict):
        if "start" in content and "end" in content:
            yield content
        content = list(content.values())
    for one in content if isinstance(content, list) else ():
        yield from places(one)
