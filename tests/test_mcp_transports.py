"""How assistants reach the service: over HTTP with its keys, and over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from server import new_key, problem, serving, wait_until_ready
from test_mcp import BOOK, QUESTION, TEXT, TOOLS, connected, settings

from indexing.store import IndexStore
from service.cli import run

pytest.importorskip("mcp", reason="these tests need the extra mcp")

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).parents[1]
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "books", "arguments": {}}}
TAKES = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def http(shelf_store: IndexStore) -> Iterator[httpx.Client]:
    with serving(settings(shelf_store)) as http:
        wait_until_ready(http)
        yield http


def test_the_same_keys_are_wanted_and_a_reading_one_is_enough(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    key = {"Authorization": f"Bearer {new_key(tmp_path / 'keys.json', 'assistant', 'read', per_minute=2)}"}
    with serving(settings(shelf_store, state=tmp_path)) as http:
        problem(http.post("/mcp", json=CALL, headers=TAKES), 401)
        assert http.post("/mcp", json=CALL, headers=TAKES | key).status_code == 200
        assert http.post("/mcp", json=CALL, headers=TAKES | key).status_code == 200
        assert int(problem(http.post("/mcp", json=CALL, headers=TAKES | key), 429)["status"]) == 429


def test_pages_elsewhere_and_names_of_other_machines_are_kept_out(http: httpx.Client) -> None:
    problem(http.post("/mcp", json=CALL, headers=TAKES | {"Origin": "http://elsewhere.example"}), 403)
    problem(http.post("/mcp", json=CALL, headers=TAKES | {"Host": "elsewhere.example"}), 403)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"jsonrpc": "2.0"}', b"[" * 5000])
def test_what_is_no_message_is_refused(http: httpx.Client, body: bytes) -> None:
    headers = TAKES | {"Content-Type": "application/json"}
    assert http.post("/mcp", content=body, headers=headers).status_code == 400
    problem(http.post("/mcp", content=body, headers=TAKES), 415)
    problem(http.get("/mcp"), 405)


def test_half_a_surrogate_pair_in_a_call_is_no_failure_of_the_service(http: httpx.Client) -> None:
    for book, question in (("\ud800", "Who?"), (BOOK, "Who is \ud800?")):
        call = json.dumps(
            CALL | {"params": {"name": "ask", "arguments": {"book_id": book, "question": question}}}
        )
        response = http.post(
            "/mcp", content=call.encode("ascii"), headers=TAKES | {"Content-Type": "application/json"}
        )
        assert response.status_code == 400


def test_a_message_that_is_too_large_is_refused(http: httpx.Client) -> None:
    large = CALL | {"params": {"name": "ask", "arguments": {"book_id": BOOK, "question": "x" * 2**19}}}
    problem(http.post("/mcp", json=large, headers=TAKES), 413)


@pytest.mark.processes
def test_an_assistant_starts_the_command_and_asks_over_standard_input_and_output(
    http: httpx.Client, shelf_store: IndexStore, tmp_path: Path
) -> None:
    async def ask(client: Client) -> tuple[Any, Any, Any]:
        assert tuple(tool.name for tool in (await client.list_tools()).tools) == TOOLS
        asked = {"book_id": BOOK, "question": QUESTION, "before": "60%"}
        answer = await client.call_tool("ask", asked)
        read = await client.call_tool("read", {"book_id": BOOK, "before": "60%"})
        wrong = await client.call_tool("ask", asked | {"book_id": "lantem"})
        return answer.structured_content, read.structured_content, wrong

    answer, read, wrong = connected(command(shelf_store), ask)
    by_call = http.post("/answer", json={"book_id": BOOK, "question": QUESTION, "before": "60%"}).json()
    assert answer | {"timings_ms": 0} == by_call | {"timings_ms": 0}
    assert read["text"] == TEXT[: len(TEXT) * 60 // 100]
    assert wrong.is_error


def command(store: IndexStore) -> StdioServerParameters:
    """``storyqa mcp`` over ``store``, as an assistant starts it."""
    return StdioServerParameters(
        command=sys.executable,
        args=["-c", "from service.cli import main; main()", "mcp", "--store", str(store.root)],
        cwd=ROOT,
        env={"STORYQA_RETRIEVER": "bm25", "STORYQA_READER": "overlap", "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.processes
def test_a_served_process_answers_assistants_that_have_its_key(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    key = new_key(tmp_path / "keys.json", "assistant", "read")
    environment = os.environ | {
        "STORYQA_RETRIEVER": "bm25",
        "STORYQA_READER": "overlap",
        "STORYQA_STATE": str(tmp_path),
    }
    code = "from service.cli import main; main()"
    arguments = ["serve", "--port", "0", "--json", "--workers", "2", "--store", str(shelf_store.root)]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            begun = b""
            while not begun.endswith(b"}\n"):
                begun += process.stdout.readline()
            url = json.loads(begun)["url"]
            with httpx.Client(base_url=url, timeout=60) as http:
                wait_until_ready(http)
            answer = asyncio.run(asked_with_key(f"{url}/mcp", key))
        finally:
            process.terminate()
    assert answer["evidence"]["text"] == TEXT[answer["evidence"]["start"] : answer["evidence"]["end"]]


async def asked_with_key(url: str, key: str) -> dict[str, Any]:
    """The answer to a question, after a few other calls that may reach other workers."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        for _ in range(5):
            await client.list_tools()
            answer = await client.call_tool("ask", {"book_id": BOOK, "question": QUESTION})
        return dict(answer.structured_content)


def test_without_the_extra_one_line_says_how_to_install_it(
    shelf_store: IndexStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    assert run(["mcp", "--store", str(shelf_store.root)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "pip install 'storyqa[mcp]'" in line
    with serving(settings(shelf_store)) as http:
        refused = problem(http.post("/mcp", json=CALL, headers=TAKES), 501)
        assert "pip install 'storyqa[mcp]'" in refused["detail"]
        assert refused["type"] == "urn:storyqa:problem:missing-extra"
        assert http.get("/books").status_code == 200


def test_an_assistant_is_told_when_to_ask_a_service_again_that_has_no_time(shelf_store: IndexStore) -> None:
    with serving(settings(shelf_store, deadline_s=1e-6)) as http:
        asked = {"book_id": BOOK, "question": QUESTION}
        refused = connected(f"{http.base_url}/mcp", lambda client: client.call_tool("ask", asked))
    assert refused.is_error
    assert re.search(r"\(ask again in [0-9]+ s\)$", refused.content[0].text)  # type: ignore[union-attr]
