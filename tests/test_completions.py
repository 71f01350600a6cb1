"""A book as a model: OpenAI's own client asks the service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from chat_server import chatting, refuses
from server import new_key, places, serving, wait_until_ready

from answering.finding import NOTHING_BEFORE
from indexing.store import IndexStore
from service.settings import Settings

openai = pytest.importorskip("openai", reason="these tests need the extra dev")

BOOK, QUESTION = shelf.QUESTIONS[2]
TEXT = shelf.STORIES[BOOK][1]


def settings(store: IndexStore, **more: Any) -> Settings:
    return Settings(store=store.root, retriever="bm25", reader="overlap", **more)


def client_of(http: httpx.Client, key: str = "none") -> Any:
    """OpenAI's client of the service; it asks once, so that a refusal is seen."""
    return openai.OpenAI(base_url=f"{http.base_url}/v1", api_key=key, max_retries=0, http_client=http)


@pytest.fixture(scope="module")
def http(shelf_store: IndexStore) -> Iterator[httpx.Client]:
    with serving(settings(shelf_store)) as http:
        wait_until_ready(http)
        yield http


@pytest.fixture(scope="module")
def client(http: httpx.Client) -> Any:
    return client_of(http)


def ask(client: Any, question: str = QUESTION, book: str = BOOK, **more: Any) -> Any:
    messages = [{"role": "user", "content": question}]
    return client.chat.completions.create(model=book, messages=messages, **more)


def error_of(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    [(name, error)] = response.json().items()
    assert name == "error"
    assert set(error) == {"message", "type", "param", "code"}
    return dict(error)


def test_every_book_is_a_model(client: Any) -> None:
    listed = list(client.models.list())
    assert [model.id for model in listed] == sorted(shelf.STORIES)
    assert {(model.object, model.owned_by) for model in listed} == {("model", "storyqa")}
    assert client.models.retrieve(BOOK) == next(model for model in listed if model.id == BOOK)


def test_the_message_is_the_answer_and_its_annotations_are_the_exact_places(
    client: Any, http: httpx.Client
) -> None:
    completion = ask(client, extra_body={"k": 2})
    answer = http.post("/answer", json={"book_id": BOOK, "question": QUESTION, "k": 2}).json()
    [choice] = completion.choices
    assert (completion.model, completion.object) == (BOOK, "chat.completion")
    assert (choice.finish_reason, choice.message.role) == ("stop", "assistant")
    assert answer["verdict"] != "none"
    assert choice.message.content == answer["answer"]
    assert completion.storyqa | {"timings_ms": 0} == answer | {"timings_ms": 0}
    citation = choice.message.annotations[0].url_citation
    assert choice.message.annotations[0].type == "url_citation"
    assert choice.message.content[citation.start_index : citation.end_index] == answer["answer"]
    assert citation.quote == TEXT[citation.start : citation.end] == answer["evidence"]["text"]
    assert (citation.chapter, citation.passage) == ("II. The Storm", answer["evidence"]["passage"])
    assert citation.title == f"{shelf.STORIES[BOOK][0]}: II. The Storm"
    assert httpx.get(citation.url).json()["text"] == citation.quote


def test_the_last_message_of_the_user_is_the_question(client: Any) -> None:
    messages = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": shelf.QUESTIONS[0][1]},
        {"role": "assistant", "content": None},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    said = client.chat.completions.create(model=BOOK, messages=messages, temperature=0.3, max_tokens=9)
    assert said.choices == ask(client).choices


def test_a_stream_has_the_words_then_the_annotations_then_the_end(client: Any) -> None:
    whole = ask(client)
    chunks = list(ask(client, stream=True))
    assert {(one.id, one.object, one.model) for one in chunks} == {
        (chunks[0].id, "chat.completion.chunk", BOOK)
    }
    deltas = [one.choices[0].delta for one in chunks]
    words = [delta.content for delta in deltas if delta.content]
    assert len(words) == len(whole.choices[0].message.content.split())
    assert "".join(words) == whole.choices[0].message.content
    annotated = [i for i, delta in enumerate(deltas) if getattr(delta, "annotations", None)]
    assert annotated == [len(chunks) - 2]
    assert deltas[-2].annotations == [one.model_dump() for one in whole.choices[0].message.annotations]
    assert [one.choices[0].finish_reason for one in chunks] == [None] * (len(chunks) - 1) + ["stop"]


def test_a_stream_ends_as_openais_do(http: httpx.Client) -> None:
    body = {"model": BOOK, "messages": [{"role": "user", "content": QUESTION}], "stream": True}
    response = http.post("/v1/chat/completions", json=body)
    assert response.headers["content-type"].startswith("text/event-stream")
    assert response.text.endswith("data: [DONE]\n\n")


def test_that_the_book_may_not_say_is_said_in_words(shelf_store: IndexStore) -> None:
    with serving(settings(shelf_store, answerable=1.0)) as http:
        completion = ask(client_of(http))
    message = completion.choices[0].message
    guess = completion.storyqa["answer"]
    assert message.content == f"The book may not say. The best guess is: {guess}"
    citation = message.annotations[0].url_citation
    assert message.content[citation.start_index : citation.end_index] == guess


def test_where_nothing_was_read_that_is_said_and_nothing_cited(client: Any) -> None:
    message = ask(client, extra_body={"before": 0}).choices[0].message
    assert message.content == f"The book may not say: {NOTHING_BEFORE}."
    assert message.annotations == []


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("before", [300, "40%"])
def test_nothing_behind_the_limit_is_in_any_answer(
    http: httpx.Client, before: int | str, stream: bool
) -> None:
    seen = 0
    for book, question in shelf.QUESTIONS:
        text = shelf.STORIES[book][1]
        limit = before if isinstance(before, int) else len(text) * 40 // 100
        body = {
            "model": book,
            "messages": [{"role": "user", "content": question}],
            "before": before,
            "stream": stream,
        }
        response = http.post("/v1/chat/completions", json=body)
        assert response.status_code == 200
        data = response.text if stream else f"data: {response.text}"
        for content in (line[6:] for line in data.splitlines() if line.startswith("data: {")):
            for place in places(json.loads(content)):
                assert place["end"] <= limit
                quoted = place.get("quote", place.get("text"))
                assert quoted is None or quoted == text[place["start"] : place["end"]]
                if "sentence" in place:
                    assert place["sentence"] in text[:limit]
                assert (place.get("chapter") or "") in text[:limit]
                seen += 1
    assert seen > len(shelf.QUESTIONS)


@pytest.mark.parametrize(
    ("wrong", "status", "code", "param"),
    [
        ({"model": "lantem"}, 404, "model_not_found", "model"),
        ({"reader": "nobody"}, 422, "unknown_name", None),
        ({"retriever": "nobody"}, 422, "unknown_name", None),
        ({"k": 0}, 422, "invalid_request", "k"),
        ({"before": "half"}, 422, "invalid_request", "before"),
        ({"messages": []}, 422, "invalid_request", "messages"),
        ({"messages": [{"role": "system", "content": "Who?"}]}, 422, "invalid_request", "messages"),
        ({"messages": [{"role": "user", "content": "x" * 2001}]}, 422, "invalid_request", "messages"),
        ({"messages": [{"role": "user", "content": " "}]}, 422, "invalid_request", "messages"),
        ({"messages": [{"role": "user", "content": "\ud800?"}]}, 422, "invalid_request", "messages"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_what_cannot_be_answered_is_an_error_in_openais_form(
    http: httpx.Client, wrong: dict[str, Any], status: int, code: str, param: str | None, stream: bool
) -> None:
    body = {"model": BOOK, "messages": [{"role": "user", "content": QUESTION}], "stream": stream} | wrong
    content = json.dumps(body).encode("ascii")
    headers = {"Content-Type": "application/json"}
    error = error_of(http.post("/v1/chat/completions", content=content, headers=headers), status)
    assert (error["code"], error["param"]) == (code, param)
    assert error["type"] == "invalid_request_error"


def test_openais_client_raises_what_it_raises_for_openai(client: Any) -> None:
    with pytest.raises(openai.NotFoundError, match="did you mean lantern") as raised:
        ask(client, book="lantem")
    assert raised.value.code == "model_not_found"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("lantem")
    with pytest.raises(openai.UnprocessableEntityError):
        ask(client, extra_body={"k": 1000})


def test_keys_and_their_rates_hold_here_too(shelf_store: IndexStore, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys.json", "chatting", "read", per_minute=2)
    with serving(settings(shelf_store, state=tmp_path)) as http:
        with pytest.raises(openai.AuthenticationError) as unknown:
            ask(client_of(http, "sk-unknown"))
        assert unknown.value.code == "invalid_api_key"
        assert ask(client_of(http, key)).choices
        assert list(client_of(http, key).models.list())
        with pytest.raises(openai.RateLimitError) as often:
            ask(client_of(http, key))
        assert often.value.code == "rate_limit_exceeded"
        assert int(often.value.response.headers["retry-after"]) > 0
        error_of(http.get("/v1/models"), 401)


def test_a_service_that_cannot_answer_in_time_says_when_to_come_again(shelf_store: IndexStore) -> None:
    with serving(settings(shelf_store, deadline_s=1e-6)) as http, pytest.raises(openai.APIError) as raised:
        ask(client_of(http))
    assert (raised.value.status_code, raised.value.code) == (504, "deadline_passed")
    assert raised.value.body["type"] == "server_error"
    assert int(raised.value.response.headers["retry-after"]) > 0


def test_what_fails_in_the_middle_of_a_stream_is_raised_by_openais_client(shelf_store: IndexStore) -> None:
    with chatting(refuses(404)) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with serving(settings(shelf_store, readers=(reader,))) as http:
            wait_until_ready(http)
            with (
                ask(client_of(http), stream=True, extra_body={"reader": reader}) as stream,
                pytest.raises(openai.APIError) as raised,
            ):
                list(stream)
    assert raised.value.code == "model_endpoint"


def test_what_is_not_there_and_bodies_that_are_too_large_are_refused_in_openais_form(
    http: httpx.Client,
) -> None:
    assert error_of(http.get("/v1/embeddings"), 404)["code"] == "not_found"
    assert error_of(http.get("/v1/chat/completions"), 405)["code"] == "method_not_allowed"
    large = {"model": BOOK, "messages": [{"role": "user", "content": "x" * 2**19}]}
    assert error_of(http.post("/v1/chat/completions", json=large), 413)["code"] == "too_large"
