"""A book as a model of ``llm``, which sends no fields but OpenAI's: the model's name has the limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import serving, wait_until_ready

from indexing.store import IndexStore
from service.settings import Settings

BOOK, QUESTION = shelf.QUESTIONS[2]
TEXT = shelf.STORIES[BOOK][1]
SOFAR = len(TEXT) * 40 // 100


@pytest.fixture(scope="module")
def http(shelf_store: IndexStore) -> Iterator[httpx.Client]:
    with serving(Settings(store=shelf_store.root, retriever="bm25", reader="overlap")) as http:
        wait_until_ready(http)
        yield http


@pytest.fixture(scope="module")
def folder(http: httpx.Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``llm``'s own folder, with two models in it: the book, and the book up to where it has been read."""
    folder = tmp_path_factory.mktemp("llm")
    models = [
        {"model_id": "lantern", "model_name": BOOK, "api_base": f"{http.base_url}/v1"},
        {"model_id": "lantern-so-far", "model_name": f"{BOOK}@before=40%", "api_base": f"{http.base_url}/v1"},
    ]
    # JSON is YAML, too.
    (folder / "extra-openai-models.yaml").write_text(json.dumps(models), "utf-8")
    return folder


def llm(folder: Path, *arguments: str) -> str:
    """What the command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "llm", *arguments],
        env=os.environ | {"LLM_USER_PATH": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip("\n")


def answered(http: httpx.Client, **more: Any) -> dict[str, Any]:
    return dict(http.post("/answer", json={"book_id": BOOK, "question": QUESTION, **more}).json())


@pytest.mark.processes
@pytest.mark.skipif(find_spec("llm") is None, reason="llm is not installed: pip install '.[dev]'")
def test_llm_prints_the_books_answer_streamed_or_whole_up_to_the_limit(
    http: httpx.Client, folder: Path
) -> None:
    whole, so_far = answered(http)["answer"], answered(http, before="40%")["answer"]
    assert whole != so_far
    assert llm(folder, "-m", "lantern", QUESTION) == whole
    assert llm(folder, "-m", "lantern-so-far", "--no-stream", QUESTION) == so_far
    kept = json.loads(llm(folder, "logs", "--json", "--count", "0"))
    assert [one["response"] for one in kept] == [whole, so_far]
    assert [one["response_json"]["object"] for one in kept] == ["chat.completion.chunk", "chat.completion"]
    assert [one["input_tokens"] for one in kept] == [0, 0]


def completed(http: httpx.Client, model: str, **more: Any) -> httpx.Response:
    messages = [{"role": "user", "content": QUESTION}]
    return http.post("/v1/chat/completions", json={"model": model, "messages": messages, **more})


@pytest.mark.parametrize(
    ("name", "before"),
    [
        (BOOK, None),
        (f"{BOOK}@before=40%", "40%"),
        (f"{BOOK}@before={SOFAR}", SOFAR),
        (f"{BOOK}@before={BOOK}=40%,*=0", "40%"),
        (f"{BOOK}@before=0", 0),
    ],
)
def test_a_models_name_says_the_limit_as_the_field_does(http: httpx.Client, name: str, before: Any) -> None:
    said = completed(http, name).json()
    assert said["model"] == name
    assert said["storyqa"] | {"timings_ms": 0} == answered(http, before=before) | {"timings_ms": 0}
    assert http.get(f"/v1/models/{name}").json()["id"] == BOOK


@pytest.mark.parametrize(
    ("name", "more"),
    [
        (f"{BOOK}@before=", {}),
        (f"{BOOK}@before=half", {}),
        (f"{BOOK}@before={BOOK}=", {}),
        (f"{BOOK}@before=lantem=40%", {}),
        (f"{BOOK}@before={'x' * 1000}=40%", {}),
        (f"{BOOK}@before=40%", {"before": "90%"}),
    ],
)
def test_a_limit_in_a_models_name_that_is_none_is_refused(
    http: httpx.Client, name: str, more: dict[str, Any]
) -> None:
    refused = completed(http, name, **more)
    assert refused.status_code == 422, refused.text
    assert refused.json()["error"]["param"] == "before"


def test_a_stream_says_what_was_used_where_that_is_asked_for(http: httpx.Client) -> None:
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert completed(http, BOOK).json()["usage"] == nothing
    for wanted in (True, False):
        text = completed(http, BOOK, stream=True, stream_options={"include_usage": wanted}).text
        chunks = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
        assert [one["usage"] for one in chunks if "usage" in one] == ([nothing] if wanted else [])
        assert [one["choices"] for one in chunks if not one["choices"]] == ([[]] if wanted else [])
        assert text.endswith("data: [DONE]\n\n")
