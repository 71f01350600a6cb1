"""Language models that run on this machine: found, offered to whom they may be, and never shown the key."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import shelf
from chat_server import Asked, ChatServer, Handler, chatting, listing, parrot
from pydantic import SecretStr
from server import new_key, problem, serving

from indexing.store import IndexStore
from readers.external.discovery import find_local_servers
from service.settings import BadSetting, Settings, load_settings

ASKED: dict[str, Any] = {"book_id": "lantern", "question": "Where had Ines hidden the good oil?"}


@contextmanager
def served(store: IndexStore, servers: list[ChatServer], **more: Any) -> Iterator[httpx.Client]:
    """The service, looking for language models where ``servers`` listen."""
    addresses = tuple(server.url for server in servers)
    more = {"retriever": "bm25", "reader": "overlap", "model_servers": addresses} | more
    with serving(Settings(store=store.root, **more)) as client:
        yield client


def garbage(handler: Handler, asked: Asked) -> None:
    handler.wfile.write(b"garbage\r\n\r\n")


def found(client: httpx.Client, **headers: str) -> dict[str, dict[str, Any]]:
    """The language models that may be chosen, by the reader's name."""
    readers = client.get("/readers", headers=headers).json()
    return {one["name"]: one for one in readers if one["language_model"] is not None}


def test_what_servers_list_is_found_and_told_by_whom_it_is_served() -> None:
    lists = [
        listing("qwen3:8b", "nomic-embed-text"),
        listing("gemma", owner="llamacpp"),
        listing("x", owner="me"),
    ]
    with (
        chatting(parrot, lists[0]) as one,
        chatting(parrot, lists[1]) as two,
        chatting(parrot, lists[2]) as three,
    ):
        servers = asyncio.run(find_local_servers([two.url, one.url, three.url]))
    assert [(server.name, server.models) for server in servers] == [
        ("llama.cpp", ("gemma",)),
        ("Ollama", ("qwen3:8b",)),
        (three.url.split("/")[2], ("x",)),
    ]
    assert servers[1].readers == (f"chat:{one.url}@model=qwen3:8b",)


@pytest.mark.parametrize(
    "models",
    [
        None,
        b"",
        b"<html>",
        b"[]",
        b'{"data": 3}',
        b'{"data": [3, {"id": 4}, {"id": ""}, {"id": "a\\u0007b"}, {"id": "m@chars=9"}]}',
        b'{"data": [{"id": "%s"}]}' % (b"x" * 300_000),
        b"[" * 200_000,
        listing("the-bell", owner="storyqa"),
        listing("text-embedding-nomic"),
    ],
)
def test_what_is_no_language_model_is_passed_over(models: bytes | None) -> None:
    with chatting(parrot, models) as server:
        assert asyncio.run(find_local_servers([server.url])) == []


def test_who_does_not_answer_is_not_waited_for() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        socket.create_server(("127.0.0.1", 0)) as closed,
        chatting(parrot, listing("qwen3")) as server,
    ):
        urls = [f"http://127.0.0.1:{one.getsockname()[1]}/v1" for one in (silent, closed)]
        closed.close()
        servers = asyncio.run(find_local_servers([*urls, server.url]))
    assert [one.url for one in servers] == [server.url]


def test_a_model_that_was_found_answers_who_chooses_it_and_is_not_shown_the_key(
    shelf_store: IndexStore,
) -> None:
    with (
        chatting(parrot, listing("qwen3")) as server,
        served(shelf_store, [server], chat_key=SecretStr("sesame")) as client,
    ):
        [(name, told)] = found(client).items()
        assert name == f"chat:{server.url}@model=qwen3"
        assert (told["language_model"], told["server"], told["is_default"]) == ("qwen3", "Ollama", False)
        answer = client.post("/answer", json=ASKED | {"reader": name}).json()
        place = answer["evidence"]
        assert shelf.LANTERN[place["start"] : place["end"]] == place["text"]
        assert [asked.body["model"] for asked in server.asked] == ["qwen3"]
        for headers in (*server.looked, *(asked.headers for asked in server.asked)):
            assert "authorization" not in headers
        for other in (f"{name}2", f"{name}@chars=90000"):
            problem(client.post("/answer", json=ASKED | {"reader": other}), 422)


def test_a_server_that_was_started_later_is_found_and_one_that_ended_is_said_to_be_down(
    shelf_store: IndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.local_models._AGAIN_S", 0.0)
    with chatting(parrot, None) as server, served(shelf_store, [server]) as client:
        name = f"chat:{server.url}@model=qwen3"
        problem(client.post("/answer", json=ASKED | {"reader": name}), 422)
        assert found(client) == {}
        server.models = listing("qwen3")
        assert client.post("/answer", json=ASKED | {"reader": name}).status_code == 200
        server.models = None
        assert found(client) == {}
        server.script = garbage
        content = problem(client.post("/answer", json=ASKED | {"reader": name}), 503)
        assert content["type"] == "urn:storyqa:problem:model-endpoint"


def test_a_list_of_readers_is_the_whole_of_it(shelf_store: IndexStore) -> None:
    with chatting(parrot, listing("qwen3", "gemma")) as server:
        listed = f"chat:{server.url}@model=gemma"
        with served(shelf_store, [server], readers=(listed,), chat_key=SecretStr("sesame")) as client:
            assert [(name, one["server"]) for name, one in found(client).items()] == [(listed, "Ollama")]
            other = f"chat:{server.url}@model=qwen3"
            problem(client.post("/answer", json=ASKED | {"reader": other}), 422)
            assert client.post("/answer", json=ASKED | {"reader": listed}).status_code == 200
        assert server.asked[0].headers["authorization"] == "Bearer sesame"  # the operator named that address


@pytest.mark.parametrize("open_to", ["keys", "anyone"])
def test_where_others_can_ask_nothing_is_offered_that_nobody_listed(
    shelf_store: IndexStore, tmp_path: Any, open_to: str
) -> None:
    more: dict[str, Any] = {"state": tmp_path} if open_to == "keys" else {"insecure": True}
    headers = {}
    if open_to == "keys":
        headers = {"Authorization": f"Bearer {new_key(tmp_path / 'keys.json', 'someone', 'read')}"}
    with chatting(parrot, listing("qwen3")) as server, served(shelf_store, [server], **more) as client:
        assert found(client, **headers) == {}
        name = f"chat:{server.url}@model=qwen3"
        problem(client.post("/answer", json=ASKED | {"reader": name}, headers=headers), 422)
        assert server.asked == []


def test_readers_are_told_with_what_they_can_do(shelf_store: IndexStore) -> None:
    with served(shelf_store, []) as client:
        readers = {one["name"]: one for one in client.get("/readers").json()}
    assert [name for name, one in readers.items() if one["is_default"]] == ["overlap"]
    assert {"auto", "span", "memnn"} <= set(readers)
    assert readers["memnn"]["any_kind"]
    assert not readers["span"]["any_kind"]


@pytest.mark.parametrize(
    "address", ["http://example.org/v1", "ftp://127.0.0.1/", "127.0.0.1:11434", "http://[::"]
)
def test_models_are_looked_for_on_this_machine_alone(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("STORYQA_MODEL_SERVERS", address)
    with pytest.raises(BadSetting, match="no address on this machine"):
        load_settings()


def test_models_need_not_be_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORYQA_MODEL_SERVERS", "none")
    assert load_settings().model_servers == ()
    monkeypatch.setenv("STORYQA_MODEL_SERVERS", "http://localhost:9/v1/, http://127.0.0.1:8/v1")
    assert load_settings().model_servers == ("http://localhost:9/v1", "http://127.0.0.1:8/v1")


def test_a_silent_server_does_not_keep_the_service_from_starting(shelf_store: IndexStore) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap", model_servers=(url,))
        with serving(settings) as client:
            assert client.get("/healthz").status_code == 200
            assert client.post("/answer", json=ASKED).status_code == 200
            assert found(client) == {}
