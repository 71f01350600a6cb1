"""The clients have a method for every call of the OpenAPI, and both the same ones."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_type_hints

import openapi_copy
import pytest
import shelf
from server import running
from test_covers import GULL, epub

from indexing.build import BuildSettings, build_book
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source
from indexing.store import IndexStore
from service import calls
from service.app import create_app
from service.async_client import AsyncClient
from service.client import Client
from service.client_requests import JobFailed, JobStatus, Patience, ServiceError
from service.settings import Settings

# What a method is called with; `wait`, which waits for a job by asking for it, and `close` are no calls.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "answer": ("lantern", "Who?"),
    "stream_answer": ("lantern", "Who?"),
    "answers": ([{"book_id": "lantern", "question": "Who?"}],),
    "search": ("lantern", "Who?"),
    "books": (),
    "book": ("lantern",),
    "text": ("lantern",),
    "cover": ("lantern",),
    "characters": ("lantern",),
    "who": ("lantern", "Ines"),
    "recap": ("lantern",),
    "facts": ("lantern", ["author"]),
    "add_book": (b"A book.",),
    "remove_book": ("lantern",),
    "job": ("1",),
    "cancel": ("1",),
    "shelves": (),
    "shelf": ("sea",),
    "put_shelf": ("sea", ["lantern"]),
    "delete_shelf": ("sea",),
    "readers": (),
    "version": (),
    "ready": (),
}
ELSEWHERE = {
    "GET /jobs/{}/events": "`wait` asks for the job instead",
    "GET /healthz": "for what restarts the service; `ready` says more",
    "GET /v1/models": "OpenAI's client has it",
    "GET /v1/models/{}": "OpenAI's client has it",
    "POST /v1/chat/completions": "OpenAI's client has it",
    "POST /mcp": "the clients of the Model Context Protocol have it",
}
ONCE = Patience(tries=1)


def methods(client: type) -> dict[str, inspect.Signature]:
    functions = inspect.getmembers(client, inspect.isfunction)
    return {name: inspect.signature(one) for name, one in functions if not name.startswith("_")}


@contextmanager
def noting() -> Iterator[tuple[str, list[str]]]:
    """A server that has nothing, and the calls that it was sent, with ids as ``{}``."""
    sent: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def note(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            path = re.sub(r"(?<=/)(lantern|sea|1)(?=/|$)", "{}", self.path.partition("?")[0])
            sent.append(f"{self.command} {path}")
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):  # do_GET and the like, one for each method of HTTP
                return self.note
            raise AttributeError(name)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", sent
        finally:
            server.shutdown()
            thread.join()


def first(called: Any) -> Any:
    """What was called, or the first of a stream, for which nothing is sent before that is asked for."""
    if inspect.isgenerator(called):
        return next(called)
    return anext(called) if inspect.isasyncgen(called) else called


async def try_all(url: str) -> None:
    async with AsyncClient(url, patience=ONCE) as client:
        for name, arguments in ARGUMENTS.items():
            with pytest.raises(ServiceError):
                await first(getattr(client, name)(*arguments))


def test_every_call_of_the_openapi_has_a_method_or_a_reason_why_not() -> None:
    calls = {
        f"{method.upper()} {re.sub(r'{[^}]+}', '{}', path)}"
        for path, operations in openapi_copy.current()["paths"].items()
        for method in operations
    }
    assert set(ELSEWHERE) <= calls
    with noting() as (url, sent):
        with Client(url, patience=ONCE) as client:
            for name, arguments in ARGUMENTS.items():
                with pytest.raises(ServiceError):
                    first(getattr(client, name)(*arguments))
        by_threads = [*sent]
        sent.clear()
        asyncio.run(try_all(url))
    assert by_threads == sent
    assert sorted([*{*sent, "GET /readyz"}, "POST /answer"]) == sorted(sent)  # as a whole and as a stream
    assert set(sent) == calls - set(ELSEWHERE)


def test_both_clients_have_the_same_methods_and_all_of_them_are_tried_here() -> None:
    threads, awaited = methods(Client), methods(AsyncClient)
    assert set(threads) == set(awaited) == {*ARGUMENTS, "wait", "close"}
    for name in set(threads) - {"answer", "answers", "search"}:  # which pass on what they are given
        assert [*threads[name].parameters.values()] == [*awaited[name].parameters.values()], name


@pytest.mark.parametrize(
    ("name", "options"), [("answer", calls.AnswerOptions), ("search", calls.SearchOptions)]
)
def test_an_async_question_takes_the_options_that_the_other_client_takes(name: str, options: type) -> None:
    taken = methods(Client)[name].parameters.values()
    hints = get_type_hints(getattr(Client, name))
    wanted = {one.name: hints[one.name] for one in taken if one.kind == inspect.Parameter.KEYWORD_ONLY}
    assert get_type_hints(options) == wanted


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with the books of the shelf and ``gull``, which has a cover."""
    store = shelf.stock(tmp_path_factory.mktemp("shelf"))
    book = read_book(Source("gull.epub", "gull", lambda: Fetched(epub())))
    build_book(book, BuildSettings(), store)
    with running(create_app(Settings(store=store.root, retriever="bm25", reader="overlap"))) as url:
        yield url


def test_a_cover_is_the_picture_itself(url: str) -> None:
    async def awaited() -> bytes:
        async with AsyncClient(url) as client:
            return await client.cover("gull")

    with Client(url) as client:
        assert [book.id for book in client.books() if book.has_cover] == ["gull"]
        assert client.cover("gull") == asyncio.run(awaited()) == GULL
        with pytest.raises(ServiceError) as caught:
            client.cover("lantern")
    assert caught.value.status == 404


def test_a_shelf_readers_and_the_version_are_told(url: str) -> None:
    with Client(url) as client:
        client.put_shelf("sea", ["lantern", "well"], title="The sea")
        assert client.shelf("sea").books == ["lantern", "well"]
        assert "overlap" in {reader.name for reader in client.readers()}
        assert (client.version().retriever, client.version().reader) == ("bm25", "overlap")
        assert len(client.who("lantern", "Ines", k=1).sentences) == 1
        client.delete_shelf("sea")


@pytest.mark.processes
def test_an_async_client_sends_follows_and_removes_a_book(tmp_path: Path) -> None:
    async def run(url: str) -> tuple[JobStatus, list[str]]:
        async with AsyncClient(url) as client:
            done = await client.wait(await client.add_book(b"The mill had a door of oak.", id="mill"))
            with pytest.raises(JobFailed, match="is empty"):
                await client.wait(await client.add_book(b"\n", name="bad.txt"))
            there = [book.id for book in await client.books()]
            await client.remove_book("mill")
            # So long that it is not indexed before it is given up.
            waiting = await client.add_book(b"The weir was high. " * 50_000, id="weir")
            await client.cancel(waiting.id)
            return done, there

    with running(create_app(Settings(store=tmp_path, retriever="bm25", reader="overlap"))) as url:
        done, there = asyncio.run(run(url))
        with Client(url) as client:
            assert client.books() == []
    assert (done.status, there) == ("done", ["mill"])
    assert IndexStore(tmp_path).ids() == []
