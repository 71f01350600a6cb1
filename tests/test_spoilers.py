"""Nothing that takes ``before`` tells what lies behind it, and all that takes it is looked at.

Without a limit every row of ``spoiler_table`` tells one of the secrets, so that each would notice a leak.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import httpx
import openapi_copy
import pytest
import shelf
import typer
from chat_server import ChatServer, chatting, parrot
from server import serving, wait_until_ready
from spoiler_table import ELSEWHERE, HEADING, ID, IN_HEADING, LIMIT, ROWS, SECRETS, TEXT, WORDS, World

from indexing.book import Book, Chapter
from indexing.build import BuildSettings, build_book
from service.cli import COMMANDS, app
from service.client import Client
from service.local_library import Library
from service.settings import Settings

pytestmark = pytest.mark.shipped


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book and two others, on a shelf."""
    made = shelf.stock(tmp_path_factory.mktemp("shelf"))
    ends = (LIMIT, len(TEXT))
    chapters = (Chapter("I. The Mill", 0, ends[0]), Chapter(HEADING, *ends))
    build_book(Book(ID, "The Mill", TEXT, "mill.txt", chapters), BuildSettings(words=WORDS), made)
    made.shelves().put("river", [ID, "well"], "By the river")
    return made.root


@pytest.fixture(scope="module")
def served(store: Path) -> Iterator[tuple[httpx.Client, ChatServer]]:
    with chatting(parrot) as model:
        readers = ("overlap", f"chat:{model.url}@model=parrot")
        settings = Settings(store=store, retriever="bm25", reader="overlap", readers=readers)
        with serving(settings) as http:
            wait_until_ready(http)
            yield http, model


@pytest.fixture
def world(
    served: tuple[httpx.Client, ChatServer],
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> World:
    monkeypatch.setenv("STORYQA_RETRIEVER", "bm25")
    monkeypatch.setenv("STORYQA_READER", "overlap")
    http, model = served
    model.asked.clear()
    return World(http, store, model, capsys)


@pytest.mark.parametrize("name", ROWS)
def test_nothing_behind_the_limit_is_told_and_without_one_it_is(world: World, name: str) -> None:
    tell = ROWS[name]
    for limit in (LIMIT, IN_HEADING):
        told = tell(world, limit)
        assert [secret for secret in SECRETS if secret.lower() in told.lower()] == [], told
    world.model.asked.clear()
    assert [secret for secret in SECRETS if secret.lower() in tell(world, None).lower()]


@pytest.mark.parametrize("name", [name for name in ROWS if name.endswith((": *", "]"))])
def test_a_limit_by_id_keeps_as_much_back(world: World, name: str) -> None:
    told = ROWS[name](world, {ID: LIMIT, "*": "100%"})
    assert [secret for secret in SECRETS if secret in told] == []


def of(kind: str) -> set[str]:
    """The rows whose names begin so, without what tells them apart."""
    return {name.partition(":")[0] for name in [*ROWS, *ELSEWHERE] if name.startswith(kind)}


def test_every_call_of_the_openapi_that_takes_a_limit_is_in_the_table() -> None:
    schema = openapi_copy.current()
    taking = set()
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            body = json.dumps(operation.get("requestBody", {}))
            sent = [
                one for name, one in schema["components"]["schemas"].items() if f'schemas/{name}"' in body
            ]
            named = {one["name"] for one in operation.get("parameters", [])}
            if "before" in named.union(*(one.get("properties", {}) for one in sent)) or "before" in body:
                taking.add(f"{method.upper()} {path}")
    assert taking == of("GET ") | of("POST ")


def test_every_tool_that_takes_a_limit_is_in_the_table(world: World) -> None:
    pytest.importorskip("mcp", reason="this test needs the extra mcp")
    from mcp import Client as Assistant

    async def look() -> set[str]:
        async with Assistant(f"{world.url}/mcp") as assistant:
            tools = (await assistant.list_tools()).tools
            templates = (await assistant.list_resource_templates()).resource_templates
        return {f"tool {one.name}" for one in tools if "before" in one.input_schema["properties"]} | {
            f"resource {one.name}" for one in templates if "before" in one.uri_template
        }

    assert asyncio.run(look()) == of("tool ") | of("resource ")


def test_every_command_that_takes_a_limit_is_in_the_table() -> None:
    commands = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    for name, place in COMMANDS.items():
        module, _, attribute = place.partition(":")
        commands[name] = typer.main.get_command(getattr(import_module(module), attribute))
    taking = set()
    for name, one in commands.items():
        for path, leaf in [
            (name, one),
            *((f"{name} {k}", v) for k, v in getattr(one, "commands", {}).items()),
        ]:
            if any("--before" in parameter.opts for parameter in leaf.params):
                taking.add(f"storyqa {path}")
    assert taking == of("storyqa ")


def test_every_method_and_retriever_that_takes_a_limit_is_in_the_table() -> None:
    taking = {
        f"{kind.__name__}.{name}"
        for kind in (Library, Client)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if "before" in inspect.signature(method).parameters
    }
    assert taking == of("Library.") | of("Client.")
    assert {name.replace("Client.", "AsyncClient.") for name in of("Client.")} == of("AsyncClient.")
    frameworks = Path(__file__).parents[1] / "service" / "frameworks"
    assert {path.stem for path in frameworks.glob("*_retriever.py")} == {
        name for name in ROWS if name.endswith("_retriever")
    }
