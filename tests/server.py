"""A real server on a free port of loopback, and what tests expect of its answers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from service.app import create_app
from service.settings import Settings


def serving(settings: Settings) -> AbstractContextManager[httpx.Client]:
    """A client of the service."""
    return running(create_app(settings))


@contextmanager
def running(app: FastAPI) -> Iterator[httpx.Client]:
    """A client of a server of ``app`` that runs in a thread of its own, on a free port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_config=None))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server ended before it was ready"
                time.sleep(0.01)
            with httpx.Client(
                base_url=f"http://127.0.0.1:{listening.getsockname()[1]}", timeout=60
            ) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive(), "the server did not stop"


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
