"""The HTTP service, asked over a real socket."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from chat_server import Asked, Handler, chatting, parrot, refuses, says
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import SecretStr
from server import problem, running, serving, wait_until_ready
from starlette.types import Receive, Scope, Send

from answering.book_qa import Ask, BookQA
from indexing.store import IndexStore
from service.head_requests import HeadRequests
from service.schemas import AnswerResponse
from service.settings import Settings

ASKED: list[dict[str, Any]] = [{"book_id": book, "question": question} for book, question in shelf.QUESTIONS]


@pytest.fixture(scope="module")
def client(shelf_store: IndexStore) -> Iterator[httpx.Client]:
    with serving(Settings(store=shelf_store.root, retriever="bm25", reader="overlap")) as client:
        yield client


def test_an_answer_cites_the_place_in_the_book(client: httpx.Client) -> None:
    response = client.post("/answer", json=ASKED[2] | {"k": 2, "n_best": 2})
    assert response.status_code == 200
    answer = response.json()
    assert set(answer) == {
        "answer",
        "confidence",
        "answerable",
        "verdict",
        "evidence",
        "note",
        "candidates",
        "passages",
        "versions",
        "timings_ms",
        "rewritten",
    }
    evidence = answer["evidence"]
    assert set(evidence) >= {"start", "end", "passage", "chapter", "text", "sentence"}
    assert evidence["text"] == shelf.LANTERN[evidence["start"] : evidence["end"]] == answer["answer"]
    assert evidence["text"] in evidence["sentence"]
    assert evidence["chapter"] == "II. The Storm"
    assert len(answer["passages"]) == len(answer["candidates"]) == 2
    assert answer["candidates"][0]["evidence"] == evidence
    assert set(answer["versions"]) == {"index", "retriever", "reader"}
    assert set(answer["timings_ms"]) == {"search", "read", "cite", "total"}


def test_an_answer_below_the_threshold_is_given_and_called_not_answerable(
    client: httpx.Client, shelf_store: IndexStore
) -> None:
    plain = client.post("/answer", json=ASKED[2]).json()
    with serving(
        Settings(store=shelf_store.root, retriever="bm25", reader="overlap", answerable=1.0)
    ) as strict:
        answer = strict.post("/answer", json=ASKED[2]).json()
    assert (plain["answerable"], answer["answerable"]) == (True, False)
    assert answer["answer"]
    assert answer["verdict"] == "none"
    same = {"answerable": True, "verdict": plain["verdict"], "timings_ms": None}
    assert answer | same == plain | {"timings_ms": None}


def test_a_list_of_questions_is_answered_in_its_order(client: httpx.Client) -> None:
    answers = client.post("/answers", json=ASKED).json()
    alone = [client.post("/answer", json=asked).json() for asked in ASKED]
    assert [answer | {"timings_ms": None} for answer in answers] == [
        answer | {"timings_ms": None} for answer in alone
    ]


def test_eight_clients_at_once_get_the_offline_answers(client: httpx.Client, shelf_store: IndexStore) -> None:
    qa = BookQA(shelf_store)
    asked = [
        one | {"k": k, "n_best": n_best, "before": before}
        for one in ASKED
        for k, n_best, before in [(1, 1, None), (3, 2, "60%"), (5, 3, 500), (5, 3, None)]
    ]
    offline = [AnswerResponse.of(qa.answer(Ask(**one, retriever="bm25", reader="overlap"))) for one in asked]

    def post(one: dict[str, Any]) -> dict[str, Any]:
        response = httpx.post(f"{client.base_url}/answer", json=one, timeout=60)
        assert response.status_code == 200, response.text
        return dict(response.json())

    with ThreadPoolExecutor(8) as clients:
        served = list(clients.map(post, asked))
    for one, expected in zip(served, offline, strict=True):
        assert one | {"timings_ms": None} == expected.model_dump() | {"timings_ms": None}


def test_search_gives_passages_best_first_with_their_text(client: httpx.Client) -> None:
    response = client.post("/search", json=ASKED[6] | {"k": 4, "retriever": "tfidf"})
    assert response.status_code == 200
    hits = response.json()["hits"]
    assert len(hits) == 4
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)
    assert all(hit["text"] == shelf.CLOCK[hit["start"] : hit["end"]] for hit in hits)


def test_books_are_listed_and_described(client: httpx.Client) -> None:
    books = client.get("/books").json()
    assert [book["id"] for book in books] == sorted(shelf.STORIES)
    assert client.get("/books", params={"limit": 2}).json() == books[:2]
    assert client.get("/books", params={"limit": 2, "after": books[1]["id"]}).json() == books[2:4]
    assert client.get("/books", params={"after": books[-1]["id"]}).json() == []
    assert client.get("/books", params={"limit": 10**30}).json() == books
    assert client.get("/books", params={"limit": 0}).status_code == 422
    book = client.get("/books/lantern").json()
    assert book["title"] == "The Lamp at Quill Point"
    assert book["characters"] == len(shelf.LANTERN)
    titles = [chapter["title"] for chapter in book["chapters"]]
    assert titles == ["I. The Lamp", "II. The Storm", "III. The Bill"]
    assert book["words_per_passage"] == 30


def test_text_is_counted_in_code_points(client: httpx.Client) -> None:
    at = shelf.LANTERN.index("🜁")
    piece = client.get("/books/lantern/text", params={"start": at, "end": at + 8}).json()
    assert piece == {"start": at, "end": at + 8, "text": "🜁 stands"}
    assert client.get("/books/lantern/text").json()["text"] == shelf.LANTERN


@pytest.mark.parametrize(
    ("start", "end"),
    [(0, 10_000_000), (10_000_000, None), (5, 5), (9, 3), (-1, 3), (0, 0), ("x", 3), (0, "٣x")],
)
def test_bounds_outside_the_book_are_a_problem(client: httpx.Client, start: object, end: object) -> None:
    params = {"start": start} | ({} if end is None else {"end": end})
    content = problem(client.get("/books/lantern/text", params=params), 422)  # type: ignore[arg-type]
    assert content["errors"][0]["pointer"].startswith("query/")


def test_an_unknown_book_is_a_problem_with_near_names(client: httpx.Client) -> None:
    for response in (
        client.post("/answer", json=ASKED[0] | {"book_id": "lantem"}),
        client.post("/search", json=ASKED[0] | {"book_id": "lantem"}),
        client.get("/books/lantem"),
        client.get("/books/lantem/text"),
    ):
        content = problem(response, 404)
        assert content["near"] == ["lantern"]
        assert content["type"] == "urn:storyqa:problem:unknown-book"


@pytest.mark.parametrize(
    "book_id", ["..", "../lantern", "LANTERN", "a\0b", "\ud800", "lantern\n", "", "🜁", "a b"]
)
def test_ids_that_no_book_can_have_are_unknown(client: httpx.Client, book_id: str) -> None:
    body = json.dumps(ASKED[0] | {"book_id": book_id})
    response = client.post("/answer", content=body, headers={"content-type": "application/json"})
    problem(response, 422 if book_id == "\ud800" else 404)  # half a pair is no text


@pytest.mark.parametrize(
    "path", ["/books/..%2F..%2Fetc", "/books/%00", "/books/%ff", "/books/%ED%A0%80", "/books//"]
)
def test_paths_that_lead_nowhere_are_a_problem(client: httpx.Client, path: str) -> None:
    problem(client.get(path), 404)


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [
        ({"question": ""}, "/question"),
        ({"question": " \n\u2003"}, "/question"),
        ({"question": "x" * 2001}, "/question"),
        ({"question": "who is \ud800?"}, "/question"),
        ({"question": None}, "/question"),
        ({"question": 7}, "/question"),
        ({"k": 0}, "/k"),
        ({"k": 101}, "/k"),
        ({"k": "many"}, "/k"),
        ({"k": 1.5}, "/k"),
        ({"n_best": 0}, "/n_best"),
        ({"n_best": 21}, "/n_best"),
        ({"before": "half"}, "/before"),
        ({"before": "101%"}, "/before"),
        ({"before": -5}, "/before"),
        ({"before": True}, "/before"),
        ({"before": ["40%"]}, "/before"),
        ({"question": "the XXXXX and the ____"}, "/question"),
        ({"question": "____?"}, "/question"),
        ({"candidates": ["oil"]}, "/candidates"),
        ({"candidates": ["oil", "oil"]}, "/candidates"),
        ({"candidates": ["oil", " "]}, "/candidates"),
        ({"candidates": ["oil", ""]}, "/candidates/1"),
        ({"candidates": ["oil", "x" * 201]}, "/candidates/1"),
        ({"candidates": ["oil", "\ud800"]}, "/candidates/1"),
        ({"candidates": ["a" * n for n in range(1, 102)]}, "/candidates"),
        ({"candidates": "oil"}, "/candidates"),
        ({"befor": 3}, "/befor"),
        ({"a/b~": 3}, "/a~1b~0"),
        ({"who\ud800": 3}, ""),
        ({"before": 0.4}, "/before"),
        ({"before": {"lantern": []}}, "/before/lantern"),
        ({"book_id": 5}, "/book_id"),
        ({"book_id": ["lantern", 5]}, "/book_id/1"),
        ({"conversation": [{"question": "Who?"}, {"answer": "Ines"}]}, "/conversation/1/question"),
    ],
)
def test_a_request_that_is_wrong_is_a_problem_that_says_where(
    client: httpx.Client, wrong: dict[str, Any], pointer: str
) -> None:
    body = json.dumps(ASKED[0] | wrong)
    response = client.post("/answer", content=body, headers={"content-type": "application/json"})
    pointers = {error["pointer"] for error in problem(response, 422)["errors"]}
    # As a list, or an integer, the whole of it is wrong.
    assert pointer in pointers <= {pointer, pointer.rpartition("/")[0]}


@pytest.mark.parametrize(
    ("path", "unknown", "taken"),
    [
        ("/books/lantern/who?name=Ines&befor=10", "befor", "name, before, k"),
        ("/books/lantern/who?name=Ines&before=90%25&Before=10", "Before", "name, before, k"),
        ("/books/lantern/characters?limit=10", "limit", "before"),
        ("/books/lantern/recap?k=3", "k", "before, sentences"),
        ("/books/lantern/facts?properties=author", "properties", "property, before"),
        ("/books/lantern/text?start=3&before=10", "before", "start, end"),
        ("/books?befor=lantern", "befor", "after, limit"),
        ("/readers?before=10", "before", None),
    ],
)
def test_a_name_in_an_address_that_its_call_does_not_have_is_a_problem_that_says_which_it_has(
    client: httpx.Client, path: str, unknown: str, taken: str | None
) -> None:
    [error] = problem(client.get(path), 422)["errors"]
    assert error["pointer"] == f"query/{unknown}"
    assert f"wanted {taken} alone" in error["detail"] if taken else "takes none" in error["detail"]


def test_a_limit_in_the_address_of_a_question_is_a_problem_for_it_belongs_into_the_body(
    client: httpx.Client,
) -> None:
    for path in ("/answer", "/search"):
        [error] = problem(client.post(path, params={"before": 10}, json=ASKED[0]), 422)["errors"]
        assert error["pointer"] == "query/before"


def test_what_watches_the_service_may_name_what_it_likes(client: httpx.Client) -> None:
    for path in ("/healthz", "/readyz", "/version", "/metrics"):
        assert client.get(path, params={"at": "12:00"}).status_code in (200, 503)


def test_a_blank_is_filled_with_one_of_the_candidates_and_cites_where_the_book_has_it(
    client: httpx.Client,
) -> None:
    asked = {
        "book_id": "lantern",
        "question": "Tobias brought her a jar of ____ from the city",
        "candidates": ["bread", "blue oil"],
        "reader": "overlap",
    }
    answer = client.post("/answer", json=asked).json()
    assert answer["answer"] == "blue oil"
    evidence = answer["evidence"]
    assert shelf.LANTERN[evidence["start"] : evidence["end"]] == evidence["text"] == "blue oil"
    assert [one["text"] for one in answer["candidates"]] == ["blue oil", "bread"]
    free = client.post("/answer", json={k: v for k, v in asked.items() if k != "candidates"}).json()
    assert free["answer"] in shelf.LANTERN


@pytest.mark.parametrize("question", ["\0", "who\0 kept it?", "🜁?", "x" * 2000, "誰が灯台を守ったのか"])
def test_any_text_can_be_asked(client: httpx.Client, question: str) -> None:
    assert client.post("/answer", json=ASKED[0] | {"question": question}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b"", 422, "Field required"),
        (b"{", 422, "the body is not JSON: Expecting property name"),
        (b"[1", 422, "the body is not JSON: Expecting ',' delimiter"),
        (b"\xff\xfe", 422, "the body is not JSON: Expecting value"),
        (b'{"question": "caf\xe9"}', 400, "the body is not JSON: it is not UTF-8"),
        (b'"text"', 422, "wanted a JSON object"),
        (b"null", 422, "wanted a JSON object"),
        (b"[]", 422, "wanted a JSON object"),
        (b'{"k": ' + b"9" * 5000 + b"}", 400, "it has a number of more than 4,300 digits"),
        (b"[" * 50_000, 400, "it is nested too deep"),
    ],
)
def test_a_body_that_is_no_question_is_a_problem(
    client: httpx.Client, body: bytes, status: int, said: str
) -> None:
    for path in ("/answer", "/search"):
        response = client.post(path, content=body, headers={"content-type": "application/json"})
        content = problem(response, status)
        assert said in content["detail"]
        assert [error["pointer"] for error in content.get("errors", [])] == [""] * (status == 422)


def test_a_body_that_is_not_called_json_is_a_problem_that_says_so(client: httpx.Client) -> None:
    response = client.post("/answer", content=json.dumps(ASKED[0]), headers={"content-type": "text/plain"})
    assert "application/json" in problem(response, 422)["detail"]


PUBLIC = [
    *("overlap", "auto", "span", "generate"),
    *("cloze-frequency", "cloze-sliding", "cloze-distance", "memn2n", "memnn"),
]


def test_an_unknown_reader_or_retriever_is_a_problem_with_the_choices(client: httpx.Client) -> None:
    content = problem(client.post("/answer", json=ASKED[0] | {"reader": "overlab"}), 422)
    assert content["choices"] == PUBLIC
    content = problem(client.post("/answer", json=ASKED[0] | {"retriever": "bm52"}), 422)
    assert "bm25" in content["choices"]


def test_clients_cannot_have_models_of_their_own_loaded(client: httpx.Client, tiny_bert: Path) -> None:
    content = problem(client.post("/answer", json=ASKED[0] | {"reader": f"span:{tiny_bert}"}), 422)
    assert content["choices"] == PUBLIC


def test_clients_cannot_have_addresses_of_their_own_called(client: httpx.Client) -> None:
    with chatting(parrot) as outside:
        for name in (f"chat:{outside.url}@model=parrot", f"chat:{outside.url}@model=parrot@chars=9"):
            for path, body in (("/answer", ASKED[0]), ("/search", ASKED[0])):
                problem(client.post(path, json=body | {"reader": name}), 422)
            problem(client.post("/answers", json=[ASKED[0] | {"reader": name}]), 422)
        assert outside.asked == []


def test_an_allowed_chat_reader_is_asked_with_the_servers_key_and_no_other_model_or_address(
    shelf_store: IndexStore,
) -> None:
    with chatting(parrot) as allowed, chatting(parrot) as outside:
        name = f"chat:{allowed.url}@model=parrot"
        settings = Settings(
            store=shelf_store.root,
            retriever="bm25",
            reader="overlap",
            readers=(name,),
            chat_key=SecretStr("sesame"),
        )
        with serving(settings) as client:
            answer = client.post("/answer", json=ASKED[2] | {"reader": name})
            assert answer.status_code == 200, answer.text
            for other in (f"{name}2", f"{name}@chars=90000", name.replace(allowed.url, outside.url)):
                problem(client.post("/answer", json=ASKED[2] | {"reader": other}), 422)
        assert [asked.body["model"] for asked in allowed.asked] == ["parrot"]
        assert allowed.asked[0].headers["authorization"] == "Bearer sesame"
        assert outside.asked == []
    content = answer.json()
    evidence = content["evidence"]
    assert evidence["text"] == content["answer"] == shelf.LANTERN[evidence["start"] : evidence["end"]]
    assert content["versions"]["reader"] == name
    assert "sesame" not in answer.text


def test_what_a_chat_reader_has_to_say_of_its_answer_reaches_the_client(shelf_store: IndexStore) -> None:
    with chatting(says("ANSWER: a whale\nPASSAGE: 99\nQUOTE: It was a whale.")) as endpoint:
        settings = Settings(
            store=shelf_store.root, retriever="bm25", reader=f"chat:{endpoint.url}@model=parrot"
        )
        with serving(settings) as client:
            wait_until_ready(client)
            answer = client.post("/answer", json=ASKED[2]).json()
    assert answer["note"] == "the model cited passage 99, of 5; the citation was dropped"
    assert answer["candidates"][0]["note"] == answer["note"]
    evidence = answer["evidence"]
    assert evidence["text"] == shelf.LANTERN[evidence["start"] : evidence["end"]]


def test_an_endpoint_that_fails_is_a_problem_of_a_gateway_and_spares_other_questions(
    shelf_store: IndexStore,
) -> None:
    def broken(handler: Handler, asked: Asked) -> None:
        handler.wfile.write(b"garbage\r\n\r\n")

    with chatting(parrot) as gone:
        down = f"chat:{gone.url}@model=parrot"
    with chatting(refuses(404)) as wrong, chatting(says("<html>")) as garbage:
        garbage.script = broken
        names = [f"chat:{server.url}@model=parrot" for server in (wrong, garbage)]
        settings = Settings(
            store=shelf_store.root, retriever="bm25", reader=down, readers=(*names, "overlap")
        )
        with serving(settings) as client:
            wait_until_ready(client)  # its own models are loaded; the endpoint may come back at any time
            for name, status in ((down, 503), (names[0], 502), (names[1], 503)):
                content = problem(
                    response := client.post("/answer", json=ASKED[0] | {"reader": name}), status
                )
                assert content["type"] == "urn:storyqa:problem:model-endpoint"
                assert name.removeprefix("chat:").partition("@")[0] in content["detail"]
                assert ("retry-after" in response.headers) == (status == 503)
            assert client.post("/answer", json=ASKED[0] | {"reader": "overlap"}).status_code == 200
        assert len(wrong.asked) == 1


def test_an_endpoint_that_stalls_is_waited_for_once_however_many_questions_wait(
    shelf_store: IndexStore,
) -> None:
    with chatting(lambda handler, asked: handler.server.left.wait(60)) as stalled:  # type: ignore[attr-defined]
        name = f"chat:{stalled.url}@model=parrot"
        settings = Settings(
            store=shelf_store.root, retriever="bm25", reader="overlap", readers=(name,), chat_timeout_s=1.0
        )
        with serving(settings) as client:
            wait_until_ready(client)
            began = time.monotonic()
            problem(client.post("/answers", json=[one | {"reader": name} for one in ASKED]), 503)
            assert time.monotonic() - began < 5.0
            assert client.post("/answer", json=ASKED[0]).status_code == 200


def test_one_wrong_question_of_a_list_is_named(client: httpx.Client) -> None:
    content = problem(client.post("/answers", json=[ASKED[0], ASKED[1] | {"book_id": "lantem"}]), 404)
    assert "item 1" in content["detail"]
    assert content["near"] == ["lantern"]
    content = problem(client.post("/answers", json=[ASKED[0], ASKED[1] | {"before": "101%"}]), 422)
    assert content["errors"][0]["pointer"] == "/1/before"
    content = problem(client.post("/answers", json=[ASKED[0], ASKED[1] | {"k": 0}]), 422)
    assert content["errors"][0]["pointer"] == "/1/k"
    problem(client.post("/answers", json=[]), 422)
    problem(client.post("/answers", json=[ASKED[0]] * 257), 422)


def test_unknown_calls_and_wrong_methods_are_problems(client: httpx.Client) -> None:
    assert problem(client.get("/nothing"), 404)["type"] == "about:blank"
    response = client.get("/answer")
    problem(response, 405)
    assert response.headers["allow"] == "POST"
    problem(client.delete("/books/lantern/text"), 405)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/healthz",
        "/version",
        "/openapi.json",
        "/books",
        "/books/lantern/text",
        "/shelves",
        "/page/sample.json",
        "/page/sample.txt",
        "/page/start.css",
        "/nothing",
        "/books/lantem",
        "/answer",
    ],
)
def test_head_is_answered_as_get_without_the_body(client: httpx.Client, path: str) -> None:
    for headers in ({}, {"If-None-Match": client.get(path).headers.get("etag", "")}):
        asked, told = client.get(path, headers=headers), client.head(path, headers=headers)
        assert told.status_code == asked.status_code
        assert told.content == b""
        ours = {"date", "x-request-id"}  # of each request
        assert {k: v for k, v in told.headers.items() if k not in ours} == {
            k: v for k, v in asked.headers.items() if k not in ours
        }


def test_head_of_a_stream_ends_and_counts_as_its_route() -> None:
    app = FastAPI()
    app.add_middleware(HeadRequests)
    seen = []

    @app.get("/events/{name}")
    async def events() -> StreamingResponse:
        async def endless() -> AsyncIterator[str]:
            while True:
                yield "data: more\n\n"
                await asyncio.sleep(0)

        return StreamingResponse(endless(), media_type="text/event-stream")

    async def outer(scope: Scope, receive: Receive, send: Send) -> None:
        await app(scope, receive, send)
        if scope["type"] == "http":
            seen.append((scope["method"], scope["route"].path))

    with running(outer) as url:
        told = httpx.head(f"{url}/events/mine")
        assert (told.status_code, told.content) == (200, b"")
        assert told.headers["content-type"].startswith("text/event-stream")
    assert seen == [("HEAD", "/events/{name}")]


def test_a_broken_index_is_a_problem_that_names_the_repair_and_spares_the_other_books(tmp_path: Path) -> None:
    shelf.stock(tmp_path)
    [manifest] = (tmp_path / "books" / "clock").glob("*/manifest.json")
    manifest.write_text("{}")
    with serving(Settings(store=tmp_path, retriever="bm25", reader="overlap")) as client:
        assert "storyqa index" in problem(client.post("/answer", json=ASKED[4]), 500)["detail"]
        assert "storyqa index" in problem(client.get("/books/clock"), 500)["detail"]
        assert [book["id"] for book in client.get("/books").json()] == ["lantern", "well"]
        assert client.post("/answer", json=ASKED[0]).status_code == 200
        wait_until_ready(client)


def test_the_service_becomes_ready_and_is_alive_meanwhile(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}
    wait_until_ready(client)


def test_a_service_whose_reader_cannot_be_loaded_lives_and_says_why(shelf_store: IndexStore) -> None:
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="span:no/such/folder")
    with serving(settings) as client:
        deadline = time.monotonic() + 60
        while "no/such/folder" not in (detail := problem(client.get("/readyz"), 503)["detail"]):
            assert time.monotonic() < deadline, detail
            time.sleep(0.05)
        assert client.get("/healthz").status_code == 200
        assert client.post("/answer", json=ASKED[0] | {"reader": "overlap"}).status_code == 200


def test_every_call_is_documented_with_examples_and_its_problems(client: httpx.Client) -> None:
    schema = client.get("/openapi.json").json()
    assert set(schema["paths"]) == {
        "/answer",
        "/answers",
        "/search",
        "/readers",
        "/books",
        "/books/{book_id}",
        "/books/{book_id}/text",
        "/books/{book_id}/cover",
        "/books/{book_id}/characters",
        "/books/{book_id}/recap",
        "/books/{book_id}/facts",
        "/books/{book_id}/who",
        "/shelves",
        "/shelves/{name}",
        "/jobs/{job_id}",
        "/jobs/{job_id}/events",
        "/healthz",
        "/readyz",
        "/version",
        "/v1/models",
        "/v1/models/{model}",
        "/v1/chat/completions",
        "/mcp",
    }
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            for status, response in operation["responses"].items():
                if status in ("202", "204") and (path, method) != ("/books", "post"):
                    assert "content" not in response
                    continue
                contents = dict(response["content"])
                if (path, status) == ("/answer", "200"):
                    assert len(contents.pop("text/event-stream")["schema"]["anyOf"]) == 4
                if path in ("/v1/chat/completions", "/mcp") and status == "200":
                    assert contents.pop("text/event-stream")
                if path.endswith("/cover") and status == "200":
                    assert list(contents) == ["image/jpeg", "image/png", "image/gif", "image/webp"]
                    continue
                [(media_type, content)] = contents.items()
                usual = "text/event-stream" if path.endswith("/events") else "application/json"
                theirs = path.startswith("/v1/") or (path == "/mcp" and status in ("400", "404", "406"))
                is_problem = int(status) >= 400 and not theirs
                wanted = "application/problem+json" if is_problem else usual
                assert media_type == wanted, (method, path, status)
                assert examples(content["schema"], schema), (method, path, status)
            if "requestBody" in operation:
                body = operation["requestBody"]["content"]["application/json"]["schema"]
                assert examples(body, schema), (method, path)
    assert "HTTPValidationError" not in schema["components"]["schemas"]


def examples(of: dict[str, Any], schema: dict[str, Any]) -> list[Any]:
    """The examples that stand in a schema, or in the one it refers to."""
    if "$ref" in of:
        of = schema["components"]["schemas"][of["$ref"].rpartition("/")[2]]
    return list(of.get("examples", [])) or (examples(of["items"], schema) if "items" in of else [])


def test_the_documented_example_questions_are_valid(client: httpx.Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    for path, name in (("/answer", "AnswerRequest"), ("/search", "SearchRequest")):
        [example] = schemas[name]["examples"]
        assert client.post(path, json=example | {"book_id": "lantern"}).status_code == 200
