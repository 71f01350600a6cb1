"""Where the proxy before several replicas sends what: by the book, and changes of the store to the shelf."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml  # type: ignore[import-untyped]
from ring import NOWHERE, RULES, Ring, proxy
from server import running
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from service.app import create_app
from service.settings import Settings

pytestmark = pytest.mark.processes

ASK = {"method": "tools/call", "params": {"name": "ask", "arguments": {"book_id": "whale"}}}
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "Who?"}]}
BODIES: list[tuple[str, object, str]] = [
    ("/answer", {"book_id": "whale", "question": "Who?"}, "whale"),
    ("/search", {"question": "Who? " * 10_000, "book_id": "whale"}, "whale"),
    ("/search", {"question": "Who?", "book_id": "w\u0068ale"}, "whale"),
    ("/answer", {"book_id": ["whale", "bell"], "question": "Who?"}, "whale"),
    ("/answer", {"book_id": "whale,bell", "question": "Who?"}, "whale"),
    ("/answer", {"book_id": "shelf:sea", "question": "Who?"}, "shelf:sea"),
    ("/answers", [{"book_id": "whale", "question": "Who?"}], "whale"),
    ("/v1/chat/completions", CHAT | {"model": "whale"}, "whale"),
    ("/v1/chat/completions", CHAT | {"model": "whale@before=40%"}, "whale"),
    ("/mcp", ASK, "whale"),
    ("/mcp", {"method": "tools/list"}, ""),
    ("/answer", {"question": "Who?"}, ""),
    ("/answer", ["no question"], ""),
]
CALLS = [
    ("GET", "/books", "readers", ""),
    ("GET", "/books/whale", "readers", "whale"),
    ("GET", "/books/whale/who?name=Ahab", "readers", "whale"),
    ("GET", "/shelves/sea", "readers", ""),
    ("GET", "/jobs-of-mine", "readers", ""),
    ("POST", "/books", "shelf", ""),
    ("DELETE", "/books/whale", "shelf", "whale"),
    ("GET", "/jobs/0123/events", "shelf", ""),
    ("DELETE", "/jobs/0123", "shelf", ""),
    ("PUT", "/shelves/sea", "shelf", ""),
    ("DELETE", "/shelves/sea", "shelf", ""),
]


@pytest.fixture(scope="module")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ring]:
    """The proxy without a replica that answers, whose log says what it makes of requests."""
    with proxy(tmp_path_factory.mktemp("ring"), {1: NOWHERE}) as ring:
        yield ring


def asked(ring: Ring, method: str, path: str, body: object = None) -> tuple[str, str]:
    """The backend that a request would go to, and its book."""
    before = len(ring.passed())
    response = httpx.request(method, f"{ring.url}{path}", json=body)
    assert response.status_code == 503
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["status"] == 503
    ring.until(lambda: len(ring.passed()) > before)
    [one] = ring.passed()[before:]
    return one.backend, one.book


@pytest.mark.parametrize(("path", "body", "book"), BODIES)
def test_the_book_of_a_body_is_found(nobody: Ring, path: str, body: object, book: str) -> None:
    assert asked(nobody, "POST", path, body) == ("readers", book)


def test_a_question_to_every_book_goes_by_the_question(nobody: Ring) -> None:
    questions = [{"book_id": "*", "question": one} for one in ("Who?", "Where?", "Who?")]
    found = [asked(nobody, "POST", "/answer", one) for one in questions]
    assert found[0] == found[2] != found[1]
    assert all(book not in ("", "*") for _, book in found)


@pytest.mark.parametrize(("method", "path", "backend", "book"), CALLS)
def test_what_changes_the_store_goes_to_the_shelf(
    nobody: Ring, method: str, path: str, backend: str, book: str
) -> None:
    assert asked(nobody, method, path) == (backend, book)


def test_the_proxy_sends_to_the_shelf_what_the_gateway_does(nobody: Ring) -> None:
    route = yaml.safe_load((RULES.parent / "kubernetes" / "route.yaml").read_text("utf-8"))
    to_shelf, rest = route["spec"]["rules"]
    assert to_shelf["backendRefs"] == [{"name": "storyqa-shelf", "port": 80}]
    assert rest["backendRefs"] == [{"name": "storyqa-proxy", "port": 80}]
    for match in to_shelf["matches"]:
        below = "" if match["path"]["type"] == "Exact" else "/whale"
        backend, _ = asked(nobody, match.get("method", "GET"), match["path"]["value"] + below)
        assert backend == "shelf"


def replica(status: int) -> Starlette:
    """A replica that is ready and answers every question with ``status``."""

    def answer(request: Request) -> Response:
        return Response(status_code=status, headers={"Retry-After": "7"})

    def ready(request: Request) -> Response:
        return Response()

    return Starlette(routes=[Route("/answer", answer, methods=["POST"]), Route("/readyz", ready)])


def test_a_question_that_a_full_replica_refuses_is_asked_once_more_of_another(tmp_path: Path) -> None:
    with running(replica(503)) as full, running(replica(200)) as free:
        addresses = [url.removeprefix("http://") for url in (full, free)]
        with proxy(tmp_path, {1: addresses[0], 2: addresses[1]}) as ring:
            for number in range(20):
                assert httpx.post(f"{ring.url}/answer", json={"book_id": f"b-{number}"}).status_code == 200
            ring.until(lambda: len(ring.passed()) == 20)
            assert {(one.replica, one.retries) for one in ring.passed()} == {("reader-2", 0), ("reader-2", 1)}
        with proxy(tmp_path, {1: addresses[0], 2: addresses[0]}) as ring:
            refused = httpx.post(f"{ring.url}/answer", json={"book_id": "whale"})
            assert (refused.status_code, refused.headers["Retry-After"]) == (503, "7")
            ring.until(lambda: len(ring.passed()) == 1)
            assert ring.passed()[0].retries == 1


def test_the_largest_book_passes_and_events_come_before_the_last_of_them(tmp_path: Path) -> None:
    store = tmp_path / "store"
    app = create_app(Settings(store=store, retriever="bm25", reader="overlap"))
    form = {"file": ("tale.txt", b"Once there was a bell. " * (99 * 2**20 // 23))}
    with (
        running(app) as url,
        proxy(tmp_path, {1: NOWHERE}, shelf=url.removeprefix("http://")) as ring,
        httpx.Client(base_url=ring.url, timeout=60) as client,
    ):
        sent = client.post("/books", files=form)
        assert sent.status_code == 202, sent.text
        location = sent.headers["location"]
        with client.stream("GET", f"{location}/events") as events:
            lines = (line for line in events.iter_lines() if line)
            first = json.loads(next(lines).removeprefix("data: "))
            assert first["status"] in ("queued", "running")
            # Had the events been kept until the last, the book would have been refused for its length by now.
            assert httpx.delete(f"{ring.url}{location}").status_code == 204
            *_, last = (json.loads(line.removeprefix("data: ")) for line in lines)
        assert (last["status"], last["error"]) == ("failed", "the job was cancelled")
        assert {one.backend for one in ring.passed()} <= {"shelf"}
