"""A table of everything that takes ``before``, each row asked for what lies behind it.

The book's second half is full of two names that its first half lacks, and no question has them: wherever one
comes up, something was told.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from chat_server import ChatServer

from service.async_client import AsyncClient
from service.cli import run
from service.client import Client
from service.local_library import Library

ID = "mill"
READ = """I. The Mill

Maud kept the mill by the weir. Maud hid the brass key under the third stone of the wall.

Old Hale the ferryman came on Sunday. Hale was a tall man with a wooden hand. Maud gave Hale some tea. Hale
asked Maud for the brass key. Maud said that there was no key. Hale rowed home in the rain.

"""
SECRETS = ("Zanzimir", "Quorn")
HEADING = "II. In which Hale the ferryman comes upon Zanzimir of Quorn"
UNREAD = f"""{HEADING}

Zanzimir the thief came out of the fog from Quorn. Hale was a brother of Zanzimir. Maud gave Zanzimir the
brass key, and Zanzimir drowned in the weir with the brass key. Hale was a thief of Quorn, said Zanzimir.

Maud kept the mill for Zanzimir of Quorn. Zanzimir said that Maud was a thief.
"""
TEXT = READ + UNREAD
QUESTION = "Who drowned in the weir with the brass key?"
LIMIT = len(READ)
IN_HEADING = LIMIT + HEADING.index(" Zanzimir")
READS = {"Accept": "text/event-stream"}


@dataclass(frozen=True)
class World:
    """A service over the book and others, the same as a library, and a language model that is asked."""

    http: httpx.Client
    store: Path
    model: ChatServer
    say: pytest.CaptureFixture[str]

    @property
    def url(self) -> str:
        """Where the service is."""
        return str(self.http.base_url)


Row = Callable[[World, Any], str]


def limit(before: Any) -> dict[str, Any]:
    return {} if before is None else {"before": before}


def posted(path: str, book: Any = ID, many: bool = False, headers: dict[str, str] | None = None) -> Row:
    """A call of a question."""

    def tell(world: World, before: Any) -> str:
        body = {"book_id": book, "question": QUESTION, "k": 20, **limit(before)}
        response = world.http.post(path, json=[body] if many else body, headers=headers)
        return response.raise_for_status().text

    return tell


def got(part: str, **params: Any) -> Row:
    """A call about one book."""
    return lambda world, before: (
        world.http.get(f"/books/{ID}/{part}", params=params | limit(before)).raise_for_status().text
    )


def completed(stream: bool, named: bool) -> Row:
    """OpenAI's call, the limit a field or in the model's name."""

    def tell(world: World, before: Any) -> str:
        in_name = "" if before is None or not named else f"@before={before}"
        body = {"model": f"{ID}{in_name}", "messages": [{"role": "user", "content": QUESTION}], "k": 20}
        body |= {"stream": stream} | ({} if named else limit(before))
        return world.http.post("/v1/chat/completions", json=body).raise_for_status().text

    return tell


def tool(which: str, **arguments: Any) -> Row:
    """A tool of assistants."""

    def tell(world: World, before: Any) -> str:
        pytest.importorskip("mcp", reason="this row needs the extra mcp")
        from mcp import Client as Assistant

        async def ask() -> str:
            async with Assistant(f"{world.url}/mcp") as assistant:
                result = await assistant.call_tool(which, {"book_id": ID, **arguments, **limit(before)})
                assert not result.is_error, result.content
                return json.dumps(result.structured_content)

        return asyncio.run(ask())

    return tell


def command(*words: str) -> Row:
    """A command line."""

    def tell(world: World, before: Any) -> str:
        limited = [] if before is None else ["--before", str(before)]
        assert run([*words, *limited, "--store", str(world.store)]) == 0
        return world.say.readouterr().out

    return tell


def asked(of: Callable[[World], Any], name: str, *arguments: Any) -> Row:
    """A method of ``Library`` or of a client."""

    def tell(world: World, before: Any) -> str:
        source = of(world)
        told = getattr(source, name)(*arguments, **limit(before))
        if inspect.iscoroutine(told):
            told = asyncio.run(_closing(source, told))
        elif isinstance(source, Client):
            source.close()
        return str(told)

    return tell


async def _closing(client: AsyncClient, told: Any) -> Any:
    async with client:
        return await told


def shown(world: World, before: Any) -> str:
    """What a language model is shown, and says, of a question and of a summary."""
    reader, told = f"chat:{world.model.url}@model=parrot", ""
    for question in (QUESTION, "Summarise the story so far."):
        body = {"book_id": ID, "question": question, "k": 20, "reader": reader, **limit(before)}
        told += world.http.post("/answer", json=body, headers=READS).raise_for_status().text
    return told + json.dumps([one.body for one in world.model.asked])


def langchain(world: World, before: Any) -> str:
    pytest.importorskip("langchain_core")
    from storyqa.langchain import StoryQARetriever

    return str(StoryQARetriever(source=Library(world.store), book=ID, k=20, **limit(before)).invoke(QUESTION))


def llama_index(world: World, before: Any) -> str:
    pytest.importorskip("llama_index.core")
    from storyqa.llama_index import StoryQARetriever

    return str(StoryQARetriever(Library(world.store), ID, k=20, **limit(before)).retrieve(QUESTION))


def haystack(world: World, before: Any) -> str:
    pytest.importorskip("haystack")
    from storyqa.haystack import StoryQARetriever

    retriever = StoryQARetriever(ID, library=str(world.store), top_k=20, **limit(before))
    return str(retriever.run(QUESTION))


def passages(world: World, before: Any) -> str:
    """Every passage of the book that an assistant is let read."""
    pytest.importorskip("mcp", reason="this row needs the extra mcp")
    from mcp import Client as Assistant
    from mcp import MCPError

    async def read() -> list[str]:
        until = "" if before is None else f"?before={str(before).replace('%', '%25')}"
        told = []
        async with Assistant(f"{world.url}/mcp") as assistant:
            for number in range(len(TEXT.split()) // WORDS + 1):
                try:
                    address = f"storyqa://books/{ID}/passages/{number}{until}"
                    told.append(str(await assistant.read_resource(address)))
                except MCPError as error:
                    told.append(str(error))
        return told

    return "\n".join(asyncio.run(read()))


SEVERAL: tuple[Any, ...] = ([ID, "well"], "shelf:river", "*")
WORDS = 5  # of a passage: some begin in the heading and end before its secrets


def library_of(world: World) -> Library:
    return Library(world.store, retriever="bm25", reader="overlap")


# Before the colon: what the tests of completeness find.
ROWS: dict[str, Row] = {
    "POST /answer": posted("/answer"),
    "POST /answer: events": posted("/answer", headers=READS),
    "POST /answer: a language model": shown,
    "POST /answers": posted("/answers", many=True),
    "POST /search": posted("/search"),
    **{f"POST /answer: {one}": posted("/answer", one) for one in SEVERAL},
    **{f"POST /search: {one}": posted("/search", one) for one in SEVERAL},
    "GET /books/{book_id}/characters": got("characters"),
    "GET /books/{book_id}/who": got("who", name="Hale", k=10),
    "GET /books/{book_id}/recap": got("recap", sentences=10),
    "GET /books/{book_id}/facts": got("facts"),
    "GET /books/{book_id}/facts: asked": got("facts", property=["thief", "parents of Hale", QUESTION]),
    "POST /v1/chat/completions": completed(stream=False, named=False),
    "POST /v1/chat/completions: stream": completed(stream=True, named=False),
    "POST /v1/chat/completions: named": completed(stream=False, named=True),
    "tool chapters": tool("chapters"),
    "tool search": tool("search", question=QUESTION, k=20),
    "tool ask": tool("ask", question=QUESTION, k=20),
    "tool ask: several": tool("ask", book_id="*", question=QUESTION, k=20),
    "tool read": tool("read"),
    "tool who": tool("who", name="Hale", k=10),
    "tool recap": tool("recap", sentences=10),
    "tool facts": tool("facts"),
    "resource passage": passages,
    "storyqa search": command("search", ID, QUESTION, "-k", "20"),
    "storyqa search: several": command("search", "*", QUESTION, "-k", "20"),
    "storyqa ask": command("ask", ID, QUESTION, "-k", "20"),
    "storyqa ask: several": command("ask", "*", QUESTION, "-k", "20", "--json"),
    "storyqa characters": command("characters", ID),
    "storyqa who": command("who", ID, "Hale"),
    "storyqa recap": command("recap", ID, "--sentences", "10"),
    "storyqa facts": command("facts", ID, "--property", QUESTION, "--property", "main characters", "--json"),
    "Library.facts": asked(library_of, "facts", ID, ("main characters", "spouse of Maud", QUESTION)),
    "Library.ask": asked(library_of, "ask", ID, QUESTION),
    "Library.search": asked(library_of, "search", "*", QUESTION),
    "Library.characters": asked(library_of, "characters", ID),
    "Library.who": asked(library_of, "who", ID, "Hale"),
    "Library.recap": asked(library_of, "recap", ID),
    **{
        f"{client}.{name}": asked(of, name, ID, *arguments)
        for client, of in (
            ("Client", lambda world: Client(world.url)),
            ("AsyncClient", lambda world: AsyncClient(world.url)),
        )
        for name, arguments in {
            "answer": (QUESTION,),
            "search": (QUESTION,),
            "characters": (),
            "who": ("Hale",),
            "recap": (),
            "facts": (),
        }.items()
    },
    "langchain_retriever": langchain,
    "llama_index_retriever": llama_index,
    "haystack_retriever": haystack,
}
ELSEWHERE = {
    "storyqa cloze": "makes questions of long books alone: test_own_books",
    "storyqa evaluate cloze": "scores answers to such questions and tells none",
    "POST /mcp": "its tools are rows of their own",
}
