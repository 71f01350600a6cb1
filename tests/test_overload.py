"""The service when there is too much to do: what is refused, given up, finished."""

from __future__ import annotations

import asyncio
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from chat_server import chatting, held
from server import problem, serving, wait_until_ready

from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from service.answering_service import Service
from service.load.tasks import ANSWER
from service.schemas import SearchRequest
from service.settings import Settings

ASKED = [{"book_id": book, "question": question} for book, question in shelf.QUESTIONS]


@dataclass
class Slow:
    """A service whose chat endpoint thinks until ``gate`` is open; ``busy`` once it has begun to."""

    client: httpx.Client
    reader: str
    gate: threading.Event
    busy: threading.Event
    pool: ThreadPoolExecutor

    def ask(self, number: int, **more: Any) -> Future[httpx.Response]:
        """Ask the slow reader, and do not wait for the answer."""
        body = ASKED[number] | {"reader": self.reader} | more
        return self.pool.submit(httpx.post, f"{self.client.base_url}/answer", json=body, timeout=60)

    def metric(self, name: str) -> float:
        """The value of one line of /metrics; 0 where there is none."""
        for line in self.client.get("/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return float(line.rpartition(" ")[2])
        return 0.0

    def until(self, name: str, value: float) -> None:
        """Wait until the metric has that value."""
        deadline = time.monotonic() + 30
        while (now := self.metric(name)) != value:
            assert time.monotonic() < deadline, f"{name} is {now}, wanted {value}"
            time.sleep(0.02)


@contextmanager
def slow(store: IndexStore, **settings: Any) -> Iterator[Slow]:
    gate, busy = threading.Event(), threading.Event()
    with chatting(held(gate, busy)) as endpoint, ThreadPoolExecutor(8) as pool:
        reader = f"chat:{endpoint.url}@model=parrot"
        chosen = Settings(store=store.root, retriever="bm25", reader="overlap", readers=(reader,), **settings)
        with serving(chosen) as client:
            wait_until_ready(client)
            try:
                yield Slow(client, reader, gate, busy, pool)
            finally:
                gate.set()


def test_where_the_queue_is_full_a_question_is_refused_and_told_when_to_come_again(
    shelf_store: IndexStore,
) -> None:
    with slow(shelf_store, most_waiting=2) as service:
        asked = [service.ask(0)]
        assert service.busy.wait(30)
        asked += [service.ask(1), service.ask(2)]
        service.until("storyqa_queue_depth", 2)
        for path, body in (("/answer", ASKED[3]), ("/search", ASKED[3]), ("/answers", [ASKED[3]])):
            response = service.client.post(path, json=body)
            assert problem(response, 503)["type"] == "urn:storyqa:problem:overloaded"
            assert int(response.headers["retry-after"]) >= 1
        messages = [{"role": "user", "content": ASKED[4]["question"]}]
        chat = {"model": "clock", "messages": messages}
        response = service.client.post("/v1/chat/completions", json=chat)
        assert (response.status_code, response.json()["error"]["code"]) == (503, "overloaded")
        assert int(response.headers["retry-after"]) >= 1
        service.gate.set()
        assert [one.result().status_code for one in asked] == [200, 200, 200]
        assert service.client.post("/answer", json=ASKED[3]).status_code == 200


def test_a_question_that_takes_too_long_ends_at_the_deadline(shelf_store: IndexStore) -> None:
    with slow(shelf_store, deadline_s=1.5) as service:
        begun = service.ask(0)
        assert service.busy.wait(30)
        waiting = service.ask(1)
        for one in (begun, waiting):
            assert problem(one.result(), 504)["type"] == "urn:storyqa:problem:deadline-passed"
            assert int(one.result().headers["retry-after"]) >= 1
        assert service.metric("storyqa_queue_depth") == 0
        service.gate.set()
        service.until("storyqa_batch_size_count", 1)  # the one that was begun; the other was dropped
        assert service.client.post("/answer", json=ASKED[3]).status_code == 200
        service.until("storyqa_batch_size_count", 2)


def test_a_question_whose_client_goes_away_is_dropped(shelf_store: IndexStore) -> None:
    with slow(shelf_store) as service:
        begun = service.ask(0)
        assert service.busy.wait(30)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{service.client.base_url}/answer", json=ASKED[1], timeout=0.3)
        service.until('storyqa_requests_total{route="/answer",status="499"}', 1)
        assert service.metric("storyqa_queue_depth") == 0
        service.gate.set()
        assert begun.result().status_code == 200
        assert service.metric("storyqa_batch_size_count") == 1


def test_a_service_that_is_told_to_stop_finishes_what_it_took(shelf_store: IndexStore) -> None:
    with slow(shelf_store) as service:
        asked = [service.ask(0)]
        assert service.busy.wait(30)
        asked += [service.ask(number) for number in (1, 2, 3)]
        service.until("storyqa_queue_depth", 3)
        opening = threading.Timer(0.5, service.gate.set)
        opening.start()
    # The server has stopped by now; what it had taken was answered all the same.
    assert [one.result().status_code for one in asked] == [200] * 4
    opening.join()


def test_the_same_question_is_answered_from_the_cache_until_its_book_is_indexed_anew(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    shutil.copytree(shelf_store.root, tmp_path, dirs_exist_ok=True)
    store = IndexStore(tmp_path)
    with slow(store) as service:
        first = service.client.post("/answer", json=ASKED[0]).json()
        assert service.client.post("/answer", json=ASKED[0]).json() == first
        assert service.client.post("/answers", json=ASKED[:2]).json()[0] == first
        assert service.metric("storyqa_cache_hits_total") == 2
        assert service.metric("storyqa_cache_misses_total") == 2
        build_book(shelf.story(ASKED[0]["book_id"]), BuildSettings(words=60), store)
        after = service.client.post("/answer", json=ASKED[0]).json()
        assert after["versions"]["index"] != first["versions"]["index"]
        assert service.metric("storyqa_cache_misses_total") == 3


def test_cheap_searches_leave_room_for_dear_ones(shelf_store: IndexStore) -> None:
    with serving(Settings(store=shelf_store.root, retriever="bm25", reader="overlap")) as client:
        wait_until_ready(client)
        with ThreadPoolExecutor(12) as pool:

            def search(number: int, retriever: str) -> httpx.Response:
                body = ASKED[number % len(ASKED)] | {"retriever": retriever}
                return httpx.post(f"{client.base_url}/search", json=body, timeout=60)

            assert search(0, "rerank").status_code == 200
            for number in range(10):
                assert search(number, "bm25").status_code == 200
            dear = [pool.submit(search, number, "rerank") for number in range(12)]
            assert [one.result().status_code for one in dear] == [200] * 12


def test_from_the_first_question_on_it_is_known_how_many_can_be_answered_in_time(
    shelf_store: IndexStore,
) -> None:
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap")
    service = Service(settings)

    async def expected_s() -> tuple[float, float]:
        service.batcher.start()
        task = service.task(ANSWER, SearchRequest.model_validate(ASKED[0]))
        before = service.batcher.queue.expected_s([task])
        await service.warm()
        after = service.batcher.queue.expected_s([task])
        await service.batcher.close()
        return before, after

    before, after = asyncio.run(expected_s())
    assert before == 0 < after
    assert service.missing is None


@pytest.mark.parametrize("retriever", ["lda", "rouge-span", "bleu-span"])
def test_a_slow_retriever_may_be_named_where_the_settings_name_it(
    shelf_store: IndexStore, retriever: str
) -> None:
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap")
    asked = ASKED[0] | {"retriever": retriever}
    with serving(settings) as client:
        for path in ("/search", "/answer"):
            refused = problem(client.post(path, json=asked), 422)
            assert refused["type"] == "urn:storyqa:problem:unknown-name"
            assert refused["choices"] == ["bm25", "tfidf", "dense", "hybrid", "rerank"]
    with serving(settings.model_copy(update={"retrievers": (retriever,)})) as client:
        wait_until_ready(client)
        assert client.post("/search", json=asked).json()["versions"]["retriever"] == retriever
        assert problem(client.post("/search", json=asked | {"retriever": "tfidf"}), 422)
