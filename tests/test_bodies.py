"""JSON bodies of any size and shape: refused in a few words, and parsed where nobody waits for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import ClassVar

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, field_validator
from server import problem, running, serving

from indexing.store import IndexStore
from service.access.middleware import MAX_QUESTION_BYTES
from service.json_bodies import JsonRoute
from service.problems import MOST_CULPRITS
from service.settings import Settings

ASKED = {"book_id": "lighthouse", "question": "Who kept the lamp?"}
MOST_BYTES = 10_000  # of a refusal


@pytest.fixture(scope="module")
def client(shelf_store: IndexStore) -> Iterator[httpx.Client]:
    with serving(Settings(store=shelf_store.root, retriever="bm25", reader="overlap")) as client:
        yield client


@pytest.mark.parametrize("path", ["/answer", "/answers", "/search"])
def test_questions_take_at_most_256_kb(client: httpx.Client, path: str) -> None:
    body = json.dumps(ASKED | {"question": "x" * MAX_QUESTION_BYTES}).encode()
    said = problem(client.post(path, content=body, headers={"content-type": "application/json"}), 413)
    assert "256 kB" in said["detail"]


def of_many_fields(count: int) -> dict[str, int]:
    return {f"a{number}": 1 for number in range(count)}


@pytest.mark.parametrize("path", ["/answer", "/search", "/books"])
def test_an_object_of_many_fields_is_one_problem(client: httpx.Client, path: str) -> None:
    response = client.post(path, json=of_many_fields(20_000))
    [error] = problem(response, 422)["errors"]
    assert "20,000 fields" in error["detail"]
    assert len(response.content) < MOST_BYTES


def test_of_many_problems_the_first_are_listed_and_the_others_counted(client: httpx.Client) -> None:
    response = client.post("/answers", json=[of_many_fields(30)] * 256)
    said = problem(response, 422)
    assert len(said["errors"]) == MOST_CULPRITS
    assert f"{256 * 32 - 5:,} more" in said["detail"]  # in each, the two fields that are wanted are missing
    assert len(response.content) < MOST_BYTES


def test_names_that_the_client_made_up_are_not_repeated_at_length(client: httpx.Client) -> None:
    response = client.post("/answer", json=ASKED | {"x" * 200_000: 1})
    problem(response, 422)
    assert len(response.content) < MOST_BYTES


class Asked(BaseModel):
    question: str
    threads: ClassVar[list[str]] = []  # in which questions were checked

    @field_validator("question", mode="before")
    @classmethod
    def _note(cls, question: object) -> object:
        cls.threads.append(threading.current_thread().name)
        return question


async def asked_in(asked: Asked) -> str:
    return threading.current_thread().name


def test_a_body_is_parsed_and_first_checked_in_another_thread_than_the_event_loops() -> None:
    router = APIRouter(route_class=JsonRoute)
    router.add_api_route("/ask", asked_in, methods=["POST"])
    app = FastAPI()
    app.include_router(router)
    with running(app) as url:
        loop = httpx.post(f"{url}/ask", json={"question": "x"}).json()
        assert Asked.threads[0] != loop
        Asked.threads.clear()
        assert httpx.post(f"{url}/ask", json={"question": 7}).status_code == 422
        assert loop not in Asked.threads
