"""An answer in server-sent events: the passages as soon as they are found, then the answer."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import shelf
from chat_server import Asked, Handler, chatting, held, parrot, refuses
from server import problem, serving, wait_until_ready

from answering.book_qa import Ask, BookQA, Searched
from indexing.store import IndexStore
from service.answer_events import AnswerEvents, EventForm, NamedEvents
from service.assistants.completion_form import CompletionForm
from service.schemas import AnswerResponse
from service.settings import Settings

ASKED: list[dict[str, Any]] = [{"book_id": book, "question": question} for book, question in shelf.QUESTIONS]
EVENTS = {"Accept": "text/event-stream"}


def settings(store: IndexStore, **more: Any) -> Settings:
    return Settings(store=store.root, retriever="bm25", reader="overlap", **more)


def events(response: httpx.Response) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and content of each event, as it comes."""
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    name = ""
    for line in response.iter_lines():
        field, _, value = line.partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def asked(client: httpx.Client, body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    with client.stream("POST", "/answer", json=body, headers=EVENTS) as response:
        return list(events(response))


def timeless(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if name != "timings_ms"}


def test_the_events_are_what_search_and_answer_say(shelf_store: IndexStore) -> None:
    with serving(settings(shelf_store, answer_cache_mb=0)) as client:
        for body in (ASKED[0], ASKED[7] | {"k": 2, "before": "60%"}):
            [(first, found), (second, answer)] = asked(client, body)
            assert (first, second) == ("found", "answer")
            assert timeless(found) == timeless(client.post("/search", json=body).json())
            assert timeless(answer) == timeless(client.post("/answer", json=body).json())


def test_the_passages_come_before_the_answer_is_read(shelf_store: IndexStore) -> None:
    gate = threading.Event()
    with chatting(held(gate)) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with serving(settings(shelf_store, readers=(reader,))) as client:
            try:
                body = ASKED[0] | {"reader": reader}
                with client.stream("POST", "/answer", json=body, headers=EVENTS) as response:
                    coming = events(response)
                    name, found = next(coming)
                    assert name == "found"
                    assert len(found["hits"]) == 5
                    gate.set()  # not before: else the answer could have been meant
                    *words, (last, answer) = coming
                    assert {name for name, _ in words} == {"words"}
                    assert last == "answer"
                    assert "".join(one["text"] for _, one in words) == answer["answer"]
                    assert answer["versions"]["prompt"] == "answer 1"
            finally:
                gate.set()


def test_an_answer_that_is_known_comes_alone(shelf_store: IndexStore) -> None:
    with serving(settings(shelf_store)) as client:
        assert [name for name, _ in asked(client, ASKED[0])] == ["found", "answer"]
        assert [name for name, _ in asked(client, ASKED[0])] == ["answer"]


@pytest.mark.parametrize(
    ("wrong", "status"), [({"book_id": "lantem"}, 404), ({"reader": "nobody"}, 422), ({"k": 0}, 422)]
)
def test_what_cannot_be_begun_is_a_problem_with_its_status(
    shelf_store: IndexStore, wrong: dict[str, Any], status: int
) -> None:
    with serving(settings(shelf_store)) as client:
        problem(client.post("/answer", json=ASKED[0] | wrong, headers=EVENTS), status)


def test_what_fails_after_the_passages_were_found_is_a_problem_among_the_events(
    shelf_store: IndexStore,
) -> None:
    with chatting(refuses(404)) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with serving(settings(shelf_store, readers=(reader,))) as client:
            wait_until_ready(client)
            [(first, _), (second, content)] = asked(client, ASKED[0] | {"reader": reader})
    assert (first, second) == ("found", "problem")
    assert content["status"] == 502
    assert content["type"] == "urn:storyqa:problem:model-endpoint"
    assert set(content) == {"type", "title", "status", "detail"}


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [(MemoryError(), 500, "unexpected MemoryError"), (OSError(errno.ENOSPC, "full"), 507, "disk is full")],
)
def test_what_nobody_thought_of_is_a_problem_among_the_events_and_in_the_log(
    shelf_store: IndexStore, caplog: pytest.LogCaptureFixture, error: Exception, status: int, said: str
) -> None:
    book, question = shelf.QUESTIONS[0]
    [searched] = BookQA(shelf_store).search_many([Ask(book, question, retriever="bm25")])

    async def heard(form: EventForm) -> list[str]:
        events = AnswerEvents(form)

        async def answering() -> AnswerResponse:
            events.on_found(searched)
            await asyncio.sleep(0.01)
            raise error

        return [str(event) async for event in (await events.response(answering())).body_iterator]

    found, problem = asyncio.run(heard(NamedEvents()))
    assert found.startswith("event: found\n")
    assert problem.startswith("event: problem\n")
    assert json.loads(problem.partition("data: ")[2])["status"] == status
    assert said in problem
    chunk = asyncio.run(heard(CompletionForm("lantern", "http://localhost")))[-1]
    assert said in json.loads(chunk.removeprefix("data: "))["error"]["message"]
    assert f"an unexpected {type(error).__name__}" in caplog.text


def test_words_are_not_heard_twice_where_another_question_of_the_batch_fails(shelf_store: IndexStore) -> None:
    heard = threading.Event()

    def picky(handler: Handler, asked: Asked) -> None:
        if asked.question == ASKED[1]["question"]:
            assert heard.wait(30)
            refuses(404)(handler, asked)
        else:
            parrot(handler, asked)

    with chatting(picky) as endpoint, ThreadPoolExecutor(2) as pool:
        reader = f"chat:{endpoint.url}@model=parrot"
        with serving(settings(shelf_store, readers=(reader,), batch_wait_ms=500)) as client:
            wait_until_ready(client)

            def listen(body: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
                found = []
                with client.stream(
                    "POST", "/answer", json=body | {"reader": reader}, headers=EVENTS
                ) as response:
                    for event in events(response):
                        found.append(event)
                        if event[0] == "words":
                            heard.set()
                return found

            fine, failed = pool.map(listen, ASKED[:2])
    assert failed[-1][0] == "problem"
    words = "".join(content["text"] for name, content in fine if name == "words")
    assert words
    assert fine[-1][1]["answer"].startswith(words)


def test_what_is_found_is_told_before_it_is_read_and_in_the_order_of_the_questions(
    shelf_store: IndexStore,
) -> None:
    qa = BookQA(shelf_store)
    asks = [Ask(book, question, retriever="bm25", reader="overlap") for book, question in shelf.QUESTIONS]
    found: list[Searched] = []
    answers = qa.answer_many(asks, found.extend)
    assert [one.found.ask for one in found] == asks
    assert [one.found.hits for one in found] == [one.found.hits for one in qa.search_many(asks)]
    assert len(answers) == len(asks)
    assert all("read" not in one.timings_ms for one in found)


def test_a_client_that_goes_away_is_let_go_before_and_after_the_passages(
    shelf_store: IndexStore, caplog: pytest.LogCaptureFixture
) -> None:
    gate, busy = threading.Event(), threading.Event()
    with chatting(held(gate, busy)) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with serving(settings(shelf_store, readers=(reader,))) as client:
            try:
                with client.stream(
                    "POST", "/answer", json=ASKED[0] | {"reader": reader}, headers=EVENTS
                ) as response:
                    assert next(events(response))[0] == "found"
                    assert busy.wait(30)
                # The models are at work for the one that went; this one goes before its turn.
                with pytest.raises(httpx.ReadTimeout):
                    client.post("/answer", json=ASKED[1], headers=EVENTS, timeout=0.3)
                left = 'storyqa_requests_total{route="/answer",status="499"} 1'
                while left not in client.get("/metrics").text:
                    time.sleep(0.02)
            finally:
                gate.set()
            assert [name for name, _ in asked(client, ASKED[2])] == ["found", "answer"]
    gc.collect()
    assert "never retrieved" not in caplog.text
