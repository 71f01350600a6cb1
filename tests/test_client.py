"""The Python client, against a real server."""

from __future__ import annotations

import asyncio
import email.utils
import http.server
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import shelf
from chat_server import chatting, held, refuses
from server import new_key, running

from answering.book_qa import Ask, BookQA
from indexing.store import IndexStore
from service.app import create_app
from service.async_client import AsyncClient
from service.client import Client
from service.client_events import AnswerEvent
from service.client_requests import JobFailed, JobStatus, Patience, ServiceBusy, ServiceError, retry_after
from service.local_library import Library
from service.schemas import AnswerResponse, SearchResponse, WordsOut
from service.settings import Settings

BOOK, QUESTION = shelf.QUESTIONS[2]
IMPATIENT = Patience(tries=1, longest_gone_s=0)


def settings(store: IndexStore, **more: Any) -> Settings:
    return Settings(store=store.root, retriever="bm25", reader="overlap", **more)


@pytest.fixture(scope="module")
def url(shelf_store: IndexStore) -> Iterator[str]:
    with running(create_app(settings(shelf_store))) as url:
        yield url


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        yield client


@pytest.fixture(scope="module")
def offline(shelf_store: IndexStore) -> AnswerResponse:
    """What the service must answer to the question."""
    ask = Ask(BOOK, QUESTION, k=3, n_best=2, before="90%", retriever="bm25", reader="overlap")
    return AnswerResponse.of(BookQA(shelf_store).answer(ask))


def same(one: AnswerResponse, other: AnswerResponse) -> bool:
    """Whether two answers are the same but for the time they took."""
    return one.model_copy(update={"timings_ms": {}}) == other.model_copy(update={"timings_ms": {}})


def test_the_client_gets_the_offline_answer(client: Client, offline: AnswerResponse) -> None:
    answer = client.answer(BOOK, QUESTION, k=3, n_best=2, before="90%")
    assert same(answer, offline)
    assert answer.evidence is not None
    start, end = answer.evidence.start, answer.evidence.end
    assert client.text(BOOK, start, end) == answer.evidence.text == shelf.LANTERN[start:end]


def test_many_questions_are_answered_in_order(client: Client) -> None:
    asked = [{"book_id": book, "question": question} for book, question in shelf.QUESTIONS]
    answers = client.answers(asked)
    assert [answer.answer for answer in answers] == [client.answer(*one).answer for one in shelf.QUESTIONS]


def test_books_are_listed_described_read_and_searched(client: Client) -> None:
    assert [book.id for book in client.books()] == sorted(shelf.STORIES)
    first, second = sorted(shelf.STORIES)[:2]
    assert [book.id for book in client.books(after=first, limit=1)] == [second]
    assert len(client.book("lantern").chapters) == 3
    assert client.text("lantern") == shelf.LANTERN
    hits = client.search(BOOK, QUESTION, k=2, retriever="tfidf").hits
    assert [shelf.LANTERN[hit.start : hit.end] for hit in hits] == [hit.text for hit in hits]


def test_async_questions_are_asked_at_once(url: str, offline: AnswerResponse) -> None:
    async def ask_all() -> list[AnswerResponse]:
        async with AsyncClient(url) as client:
            assert [book.id for book in await client.books()] == sorted(shelf.STORIES)
            assert await client.text("well") == shelf.WELL
            return await asyncio.gather(
                *(client.answer(BOOK, QUESTION, k=3, n_best=2, before="90%") for _ in range(8))
            )

    assert all(same(answer, offline) for answer in asyncio.run(ask_all()))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda client: client.answer("lantern", "\ud800"), "surrogates not allowed"),
        (lambda client: client.answer("lantern", "Who?", k=float("nan")), "not JSON compliant"),
        (lambda client: client.answer("lantern", "Who?", candidates={"a", "b"}), "not JSON serializable"),
        (lambda client: client.add_book("/nonexistent"), "No such file or directory: '/nonexistent'"),
    ],
)
def test_what_cannot_be_sent_is_an_error_that_says_why(
    url: str, client: Client, call: Callable[[Any], Any], said: str
) -> None:
    async def awaited() -> None:
        async with AsyncClient(url) as client:
            await call(client)

    with pytest.raises(ServiceError, match=f"the request cannot be sent: .*{said}"):
        call(client)
    with pytest.raises(ServiceError, match=f"the request cannot be sent: .*{said}"):
        asyncio.run(awaited())


@pytest.mark.parametrize("address", ["http://127.0.0.1:port", "http://127.0.0.1\n", None])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_that_is_none_is_an_error_at_once(kind: type[Client | AsyncClient], address: Any) -> None:
    with pytest.raises(ServiceError, match=r"is no address of a service .* wanted one such as http://"):
        kind(address)


def test_a_client_that_is_closed_says_so(url: str) -> None:
    async def awaited() -> None:
        async with AsyncClient(url) as client:
            pass
        await client.books()

    with Client(url) as client:
        pass
    with pytest.raises(ServiceError, match="the client has been closed"):
        client.books()
    with pytest.raises(ServiceError, match="the client has been closed"):
        asyncio.run(awaited())


def test_a_question_that_follows_others_is_asked_by_both_clients(url: str, client: Client) -> None:
    before = [MappingProxyType({"question": "Who is Ines?", "answer": "the keeper"})]

    async def awaited() -> str | None:
        async with AsyncClient(url) as client:
            return (await client.answer("lantern", "Where did she go?", conversation=before)).rewritten

    rewritten = client.answer("lantern", "Where did she go?", conversation=before).rewritten
    assert rewritten == asyncio.run(awaited()) == "Where did Ines go?"


def test_keys_and_ids_that_are_none_are_errors_and_limits_may_be_any_mapping(client: Client) -> None:
    with pytest.raises(ServiceError, match="the key has a character that no key has"):
        Client(key="ключ")
    with pytest.raises(ServiceError, match="unknown book"):
        client.book("\ud800")
    limited = client.answer("lantern", "Who?", before=MappingProxyType({"lantern": 0}))
    assert limited.passages == []


def test_a_problem_is_an_error_that_says_what_the_service_said(client: Client) -> None:
    with pytest.raises(ServiceError, match="did you mean lantern") as caught:
        client.answer("lantem", QUESTION)
    assert (caught.value.status, caught.value.problem["near"]) == (404, ["lantern"])
    with pytest.raises(ServiceError, match="unknown book '\\.\\./x'"):
        client.answer("../x", QUESTION)
    with pytest.raises(ServiceError, match=r"nothing is at /books/\.\./healthz"):
        client.book("../healthz")


def test_a_service_that_is_not_there_is_an_error_that_names_its_address() -> None:
    with (
        Client("http://127.0.0.1:9", patience=IMPATIENT) as client,
        pytest.raises(ServiceError, match=r"http://127.0.0.1:9.* is storyqa serve running") as caught,
    ):
        client.books()
    assert caught.value.status is None


def test_what_is_no_storyqa_service_is_said_to_be_none() -> None:
    with (
        answering([(200, {}, b"<html>")]) as (url, _),
        Client(url) as client,
        pytest.raises(ServiceError, match="is the address that of a storyqa service"),
    ):
        client.books()


def test_an_answer_that_cannot_be_unpacked_is_an_error_that_says_so() -> None:
    with (
        answering([(200, {"Content-Encoding": "gzip"}, b"no gzip")]) as (url, _),
        Client(url) as client,
        pytest.raises(ServiceError, match="DecodingError"),
    ):
        client.books()


def heard(url: str, *asked: str, **options: Any) -> list[AnswerEvent]:
    """The events of an answer, as both clients hear them."""

    async def awaited() -> list[AnswerEvent]:
        async with AsyncClient(url, patience=IMPATIENT) as client:
            return [event async for event in client.stream_answer(*asked, **options)]

    with Client(url, patience=IMPATIENT) as client:
        events = [*client.stream_answer(*asked, **options)]
    assert [type(one) for one in asyncio.run(awaited())] == [type(one) for one in events]
    return events


def test_an_answer_is_heard_as_a_language_model_writes_it(shelf_store: IndexStore) -> None:
    gate = threading.Event()
    with chatting(held(gate)) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with running(create_app(settings(shelf_store, readers=(reader,)))) as url, Client(url) as client:
            coming = client.stream_answer(BOOK, QUESTION, k=2, reader=reader)
            first = next(coming)
            assert isinstance(first, SearchResponse)
            assert len(first.hits) == 2
            gate.set()  # not before: what is found has come before anything is read
            *words, answer = coming
            assert isinstance(answer, AnswerResponse)
            assert "".join(one.text for one in words if isinstance(one, WordsOut)) == answer.answer
            assert len(heard(url, BOOK, QUESTION, k=2, reader=reader)) == len(words) + 2
            words_of_library: list[str] = []
            library = Library(shelf_store.root, retriever="bm25", reader=reader)
            told = library.ask(BOOK, QUESTION, k=2, on_words=words_of_library.append)
            assert "".join(words_of_library) == told.answer == answer.answer


def test_what_keeps_an_answer_from_being_heard_is_an_error(shelf_store: IndexStore, url: str) -> None:
    with pytest.raises(ServiceError, match="unknown book 'lantem'"):
        heard(url, "lantem", QUESTION)
    with chatting(refuses(404)) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with (
            running(create_app(settings(shelf_store, readers=(reader,)))) as chatty,
            pytest.raises(ServiceError, match="answered 502: ") as caught,
        ):
            heard(chatty, BOOK, QUESTION, reader=reader)
    assert caught.value.problem["type"] == "urn:storyqa:problem:model-endpoint"


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("text/html", b"<html>", "is the address that of a storyqa service"),
        ("text/event-stream", b"event: answer\ndata: {}\n\n", "is the address that of a storyqa service"),
        ("text/event-stream", b'event: words\ndata: {"text": "the"}\n\n', "broke off its answer"),
        ("text/event-stream", b"event: mood\ndata: good\n\n", "broke off its answer"),
    ],
)
def test_a_stream_that_is_no_whole_answer_is_an_error(kind: str, body: bytes, said: str) -> None:
    with (
        answering([(200, {"Content-Type": kind}, body)] * 2) as (url, _),
        pytest.raises(ServiceError, match=said),
    ):
        heard(url, BOOK, QUESTION)


@contextmanager
def answering(script: list[tuple[int, dict[str, str], bytes]]) -> Iterator[tuple[str, list[float]]]:
    """A server that gives the answers of ``script`` in order, of status 0 none, and when it was asked."""
    asked: list[float] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(time.monotonic())
            status, headers, body = script[len(asked) - 1]
            if not status:  # as if it were ended with a question in hand
                return
            self.send_response(status)
            for name, value in headers.items() | {("Content-Length", str(len(body)))}:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


BUSY = b'{"detail": "busy"}'


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_service_is_asked_again_after_as_long_as_it_says(status: int) -> None:
    with answering([(status, {"Retry-After": "1"}, BUSY), (200, {}, b"[]")]) as (url, asked):
        with Client(url) as client:
            assert client.books() == []
        assert asked[1] - asked[0] >= 1.0


def test_patience_ends() -> None:
    with answering([(503, {"Retry-After": "0"}, BUSY)] * 3) as (url, asked):
        with Client(url, patience=Patience(tries=3)) as client, pytest.raises(ServiceError, match="busy"):
            client.books()
        assert len(asked) == 3
    with answering([(503, {"Retry-After": "3600"}, BUSY)]) as (url, asked):
        with Client(url) as client, pytest.raises(ServiceError) as caught:
            client.books()
        assert (len(asked), caught.value.status) == (1, 503)


def test_who_waits_for_a_job_asks_again_where_it_was_asked_for_too_often_and_not_where_nobody_is() -> None:
    queued = JobStatus(id="7", status="queued", progress=0, book_id=None, error=None)
    done = queued.model_copy(update={"status": "done"}).model_dump_json().encode()

    async def awaited(url: str) -> JobStatus:
        async with AsyncClient(url, patience=IMPATIENT) as client:
            return await client.wait(queued)

    with answering([(429, {"Retry-After": "0"}, BUSY), (503, {}, BUSY), (200, {}, done)] * 2) as (url, asked):
        with Client(url, patience=IMPATIENT) as client:
            assert client.wait(queued).status == "done"
        assert asyncio.run(awaited(url)).status == "done"
        assert len(asked) == 6
    with Client("http://127.0.0.1:9", patience=IMPATIENT) as client, pytest.raises(ServiceBusy):
        client.wait(queued)


def test_who_waits_for_a_job_waits_for_a_service_that_is_started_again() -> None:
    queued = JobStatus(id="7", status="queued", progress=0, book_id=None, error=None)
    done = queued.model_copy(update={"status": "done"}).model_dump_json().encode()
    gone: list[tuple[int, dict[str, str], bytes]] = [(0, {}, b""), (502, {}, b"no upstream")]

    async def awaited(url: str, patience: Patience) -> JobStatus:
        async with AsyncClient(url, patience=patience) as client:
            return await client.wait(queued)

    with answering([*gone, (200, {}, done)] * 2) as (url, asked):
        with Client(url) as client:
            assert client.wait(queued).status == "done"
        assert asyncio.run(awaited(url, Patience())).status == "done"
        assert len(asked) == 6
    with answering(gone) as (url, asked):
        with Client(url, patience=IMPATIENT) as client, pytest.raises(ServiceError, match="job 7 was queued"):
            client.wait(queued)
        with pytest.raises(ServiceError, match=r"job 7 was queued when last heard of, .*no upstream"):
            asyncio.run(awaited(url, IMPATIENT))
        assert len(asked) == 2


def test_an_async_client_has_the_same_patience() -> None:
    async def ask(url: str) -> int:
        async with AsyncClient(url) as client:
            return len(await client.books())

    with answering([(429, {"Retry-After": "0"}, BUSY), (200, {}, b"[]")]) as (url, asked):
        assert asyncio.run(ask(url)) == 0
        assert len(asked) == 2


def test_a_failure_that_will_not_pass_is_not_tried_again() -> None:
    with answering([(500, {}, b"oh")]) as (url, asked), Client(url) as client:
        with pytest.raises(ServiceError, match="answered 500: no reason was given"):
            client.books()
        assert len(asked) == 1
    with Client(url) as client, pytest.raises(ServiceError):
        client.ready()


def test_retry_after_is_understood_in_both_its_forms() -> None:
    assert retry_after("7") == 7.0
    soon = retry_after(email.utils.formatdate(time.time() + 100, usegmt=True))
    assert soon is not None
    assert 90 < soon < 101
    assert [retry_after(value) for value in (None, "", "soon", "-3")] == [None] * 4


def test_fields_that_a_newer_service_adds_are_no_error() -> None:
    with answering([(200, {}, b'{"status": "ready", "since": 3}')]) as (url, _), Client(url) as client:
        assert client.ready()


def test_a_service_that_is_still_loading_is_not_ready() -> None:
    with answering([(503, {"Retry-After": "2"}, BUSY)]) as (url, asked), Client(url) as client:
        assert not client.ready()
        assert len(asked) == 1


def test_the_key_is_shown_with_every_call(shelf_store: IndexStore, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys.json", "program", "read")
    with running(create_app(settings(shelf_store, state=tmp_path))) as url:
        with Client(url) as stranger, pytest.raises(ServiceError) as caught:
            stranger.books()
        assert caught.value.status == 401
        with Client(url, key=key) as client:
            assert len(client.books()) == 3
            assert client.answer(BOOK, QUESTION).answer
            with pytest.raises(ServiceError, match="scope admin"):
                client.remove_book(BOOK)


@pytest.mark.processes
def test_a_book_is_sent_followed_asked_and_removed(tmp_path: Path) -> None:
    store = shelf.stock(tmp_path / "store")
    story = tmp_path / "mill.txt"
    story.write_text("The mill stood by the river. Its door was oak.")
    with running(create_app(settings(store))) as url, Client(url) as client:
        job = client.add_book(story)
        assert (job.status, job.book_id) == ("queued", "mill")
        with pytest.raises(TimeoutError, match="after 0 s"):
            client.wait(job, timeout_s=0)
        assert client.wait(job).status == "done"
        assert "oak" in client.answer("mill", "What was the door?").answer
        with pytest.raises(JobFailed, match="is empty"):
            client.wait(client.add_book(b"\n", name="bad.txt"))
        client.remove_book("mill")
        assert [book.id for book in client.books()] == sorted(shelf.STORIES)


@pytest.mark.processes
def test_the_example_of_the_readme_works_the_second_time_as_it_did_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    [example] = re.findall(r"```python\n(.*?Client.*?)```", readme, re.S)
    (tmp_path / "story.txt").write_text(shelf.LANTERN, "utf-8")
    monkeypatch.chdir(tmp_path)
    with running(create_app(settings(IndexStore(tmp_path / "store")))) as url:
        program = example.replace("http://127.0.0.1:8000", url).replace("story.epub", "story.txt")
        for _ in range(2):
            exec(compile(program, "README.md", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
