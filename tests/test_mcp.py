"""The Model Context Protocol: the SDK's own client asks the service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
import shelf
from server import places, serving, wait_until_ready

from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from service.assistants.book_tools import LONGEST_READ, MOST_LISTED
from service.settings import Settings

pytest.importorskip("mcp", reason="these tests need the extra mcp")

from mcp import Client, MCPError

Result = TypeVar("Result")

BOOK, QUESTION = shelf.QUESTIONS[2]
TEXT = shelf.STORIES[BOOK][1]
TOOLS = ("books", "chapters", "search", "ask", "read", "who", "recap", "facts")


def settings(store: IndexStore, **more: Any) -> Settings:
    return Settings(store=store.root, retriever="bm25", reader="overlap", **more)


@pytest.fixture(scope="module")
def http(shelf_store: IndexStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with serving(settings(shelf_store, cache=tmp_path_factory.mktemp("cache"))) as http:
        wait_until_ready(http)
        yield http


def connected(url: Any, do: Callable[[Client], Awaitable[Result]], mode: Any = "auto") -> Result:
    """What ``do`` returns that is given a client of the server at ``url``."""

    async def run() -> Result:
        async with Client(url, mode=mode) as client:
            return await do(client)

    return asyncio.run(run())


def call(http: httpx.Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of one call, which must be what its text says."""
    result = connected(f"{http.base_url}/mcp", lambda client: client.call_tool(tool, arguments))
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content  # type: ignore[union-attr]
    return dict(result.structured_content)


def refusal(http: httpx.Client, tool: str, **arguments: Any) -> str:
    """What is said to one call, which must fail."""
    result = connected(f"{http.base_url}/mcp", lambda client: client.call_tool(tool, arguments))
    assert result.is_error
    assert result.structured_content is None
    return str(result.content[0].text)  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_new_and_old_clients_find_the_tools_and_how_to_use_them(http: httpx.Client, mode: str) -> None:
    listed = connected(f"{http.base_url}/mcp", lambda client: client.list_tools(), mode).tools
    assert tuple(tool.name for tool in listed) == TOOLS
    for tool in listed:
        assert tool.description
        assert tool.output_schema is not None
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert ("before" in tool.input_schema["properties"]) is (tool.name != "books")
        assert tool.input_schema["additionalProperties"] is False


def test_the_tools_say_what_the_calls_say(http: httpx.Client) -> None:
    asked = {"book_id": BOOK, "question": QUESTION, "k": 2, "before": "90%"}
    for tool, path in (("search", "/search"), ("ask", "/answer")):
        by_tool = call(http, tool, **asked)
        by_call = http.post(path, json=asked).json()
        assert by_tool | {"timings_ms": 0} == by_call | {"timings_ms": 0}
    overviews: dict[str, dict[str, Any]] = {"who": {"name": "Thorne"}, "recap": {"sentences": 1}}
    overviews["facts"] = {"property": ["author", "keeper of the lighthouse"]}
    for tool, more in overviews.items():
        shown = more | {"before": "90%"}
        assert (
            call(http, tool, book_id=BOOK, **shown) == http.get(f"/books/{BOOK}/{tool}", params=shown).json()
        )
    assert call(http, "books") == {"books": http.get("/books").json(), "next_after": None}
    assert call(http, "chapters", book_id=BOOK)["chapters"] == http.get(f"/books/{BOOK}").json()["chapters"]


def test_books_are_listed_a_page_at_a_time(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = http.get("/books").json()
    assert call(http, "books", limit=2) == {"books": [first, second], "next_after": second["id"]}
    assert call(http, "books", limit=2, after=second["id"]) == {"books": [third], "next_after": None}
    assert call(http, "books", limit=3)["next_after"] is None
    assert "limit" in refusal(http, "books", limit=MOST_LISTED + 1)
    monkeypatch.setattr("service.assistants.mcp_server.PAGE", 2)

    async def resources(client: Client) -> list[Any]:
        page = await client.list_resources()
        last = await client.list_resources(cursor=page.next_cursor)
        assert last.next_cursor is None
        with pytest.raises(MCPError, match="cursor"):
            await client.list_resources(cursor="x" * 1000)
        return [[one.name for one in found.resources] for found in (page, last)]

    pages = connected(f"{http.base_url}/mcp", resources)
    assert pages == [[first["id"], second["id"]], [third["id"]]]


@pytest.mark.parametrize("book_id", ["*", ["lantern", "well", "clock"]])
def test_several_books_are_asked_at_once_each_up_to_its_limit(http: httpx.Client, book_id: Any) -> None:
    before = {"lantern": 300, "clock": "50%", "well": 0}
    limits = {"lantern": 300, "clock": len(shelf.CLOCK) // 2, "well": 0}
    for tool in ("search", "ask"):
        told = call(http, tool, book_id=book_id, question=QUESTION, before=before, k=20)
        found = [place for place in places(told) if "book_id" in place]
        assert {place["book_id"] for place in found} <= {"lantern", "clock"}
        assert found
        for place in found:
            assert place["end"] <= limits[place["book_id"]]
            assert place.get("sentence", "") in shelf.STORIES[place["book_id"]][1][: limits[place["book_id"]]]
    said = refusal(http, "ask", book_id=book_id, question=QUESTION, before={"lantem": 0})
    assert "'lantem', which is not asked" in said


def test_a_chapter_or_a_stretch_is_read_exactly(http: httpx.Client) -> None:
    storm = call(http, "chapters", book_id=BOOK)["chapters"][1]
    read = call(http, "read", book_id=BOOK, chapter="ii. the  storm")
    assert (read["start"], read["end"]) == (storm["start"], storm["end"])
    assert read["text"] == TEXT[storm["start"] : storm["end"]]
    assert read["chapter"] == "II. The Storm"
    assert read["next_start"] is None
    alchemy = TEXT.index("\U0001f701")
    assert call(http, "read", book_id=BOOK, start=alchemy, end=alchemy + 1)["text"] == "\U0001f701"
    assert call(http, "read", book_id=BOOK)["text"] == TEXT


def test_what_is_too_long_for_one_call_is_read_in_several(tmp_path: Path) -> None:
    text = " ".join(4567 * letter for letter in "abcdefghij")
    store = IndexStore(tmp_path)
    build_book(Book("long", "Long", text, "long.txt"), BuildSettings(), store)
    with serving(settings(store)) as http:
        pieces, start = [], 0
        while start is not None:
            read = call(http, "read", book_id="long", start=start)
            assert len(read["text"]) <= LONGEST_READ
            pieces.append(read["text"])
            start = read["next_start"]
    assert len(pieces) == -(-len(text) // LONGEST_READ)
    assert "".join(pieces) == text


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask", {"book_id": "lantem", "question": QUESTION}, "did you mean lantern"),
        ("ask", {"book_id": BOOK, "question": QUESTION, "reader": "nobody"}, "unknown reader 'nobody'"),
        ("ask", {"book_id": BOOK}, "question: Field required"),
        ("ask", {"book_id": BOOK, "question": " "}, "the question is empty"),
        ("search", {"book_id": BOOK, "question": QUESTION, "before": "half"}, "wanted a character offset"),
        ("search", {"book_id": BOOK, "question": QUESTION, "k": 1000}, "k: "),
        ("read", {"book_id": BOOK, "start": 10**6}, "bound nothing"),
        ("read", {"book_id": BOOK, "start": 1, "chapter": "I. The Lamp"}, "not both"),
        ("read", {"book_id": BOOK, "chapter": "IV"}, "no chapter"),
        ("who", {"book_id": BOOK, "name": "Abel Thorn"}, "did you mean 'Mr. Abel Thorne'"),
        ("who", {"book_id": BOOK, "name": ""}, "name: "),
        ("recap", {"book_id": BOOK, "before": "half"}, "wanted a character offset"),
        ("facts", {"book_id": BOOK, "property": [" "]}, "the property is empty"),
        ("write", {}, "there is no tool 'write'; choose from books"),
    ],
)
def test_what_cannot_be_done_is_said_to_the_assistant(
    http: httpx.Client, tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert said in refusal(http, tool, **arguments)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("misnamed", ["Before", "up_to"])
def test_a_limit_by_another_name_is_refused_by_every_tool(
    http: httpx.Client, tool: str, misnamed: str
) -> None:
    asked = {"ask": {"question": QUESTION}, "search": {"question": QUESTION}, "who": {"name": "Thorne"}}
    book = {} if tool == "books" else {"book_id": BOOK}
    assert f"{misnamed}: Extra inputs" in refusal(http, tool, **book, **asked.get(tool, {}), **{misnamed: 10})


def test_a_passage_is_a_resource_with_its_place(http: httpx.Client) -> None:
    hit = call(http, "search", book_id=BOOK, question=QUESTION, k=1)["hits"][0]

    async def read(client: Client) -> Any:
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "storyqa://books/{id}/passages/{number}{?before}"
        listed = (await client.list_resources()).resources
        assert [one.uri for one in listed] == [f"storyqa://books/{book}" for book in sorted(shelf.STORIES)]
        card = await client.read_resource(f"storyqa://books/{BOOK}")
        assert json.loads(card.contents[0].text)["title"] == shelf.STORIES[BOOK][0]  # type: ignore[union-attr]
        return await client.read_resource(f"storyqa://books/{BOOK}/passages/{hit['number']}")

    [content] = connected(f"{http.base_url}/mcp", read).contents
    assert content.text == hit["text"] == TEXT[hit["start"] : hit["end"]]
    assert content.meta == {name: hit[name] for name in ("start", "end", "chapter")}  # and no page


@pytest.mark.parametrize(
    "uri",
    [
        "storyqa://books/lantem",
        f"storyqa://books/{BOOK}/passages/1000",
        f"storyqa://books/{BOOK}/passages/0?before=half",
        f"storyqa://books/{BOOK}/passages/0?before=",
        f"storyqa://books/{BOOK}/chapters/1",
        "file:///etc/passwd",
        "storyqa://books/..%2F..%2Fetc",
    ],
)
def test_a_resource_that_is_not_there_is_an_error_of_the_protocol(http: httpx.Client, uri: str) -> None:
    async def read(client: Client) -> int:
        with pytest.raises(MCPError) as raised:
            await client.read_resource(uri)
        return raised.value.code

    assert connected(f"{http.base_url}/mcp", read) == -32602


@pytest.mark.parametrize(
    ("book", "before"),
    [
        ("lantern", 0),
        ("lantern", 5),
        ("lantern", 300),
        ("lantern", "40%"),
        ("lantern", "100%"),
        ("clock", "60%"),
        ("well", 250),
    ],
)
def test_nothing_behind_the_limit_is_told_by_any_tool_or_resource(
    http: httpx.Client, book: str, before: int | str
) -> None:
    text = shelf.STORIES[book][1]
    limit = limit_of(book, before)
    told = connected(f"{http.base_url}/mcp", lambda client: everything(client, book, before))
    readable = " ".join(text[:limit].split())
    for place in places(told):
        assert place["end"] <= limit
        assert place.get("text") in (None, text[place["start"] : place["end"]])
        titled = ("title",) if "book_id" not in place else ()  # a chapter's; a book's is no secret
        for name in (*titled, "chapter", "sentence"):
            assert " ".join((place.get(name) or "").split()) in readable
    assert "".join(one["text"] for one in told if "next_start" in one) == text[:limit]


def limit_of(book: str, before: int | str) -> int:
    """``before`` in characters."""
    return before if isinstance(before, int) else len(shelf.STORIES[book][1]) * int(before[:-1]) // 100


async def everything(client: Client, book: str, before: int | str) -> list[dict[str, Any]]:
    """All that the tools and resources tell of a book whose reader has got as far as ``before``."""
    calls: list[tuple[str, dict[str, Any]]] = [("chapters", {}), ("read", {})]
    calls += [("read", {"chapter": title}) for title in ("I. The Lamp", "II. The Storm", "III. The Bill")]
    calls += [("read", {"start": 5000}), ("read", {"start": 299, "end": 301})]
    questions = [question for asked, question in shelf.QUESTIONS if asked == book]
    calls += [(tool, {"question": question}) for question in questions[:2] for tool in ("search", "ask")]
    names = ("Abel Thorne", "Tobias", "Ines", "Marigold", "Ruta", "Pim", "Odo", "Hale", "Gallus")
    calls += [("recap", {"sentences": 10}), ("facts", {"property": questions[:1]})]
    calls += [("who", {"name": name, "k": 10}) for name in names]
    told = []
    for i, (tool, arguments) in enumerate(calls):
        result = await client.call_tool(tool, {"book_id": book, "before": before} | arguments)
        if result.is_error:
            assert tool != "who" or arguments["name"] not in shelf.STORIES[book][1][: limit_of(book, before)]
        else:
            content = dict(result.structured_content)
            if i != 1:  # the one that reads all there is
                content.pop("next_start", None)
            told.append(content)
    for number in range(9):
        try:
            uri = f"storyqa://books/{book}/passages/{number}?before={str(before).replace('%', '%25')}"
            [passage] = (await client.read_resource(uri)).contents
        except MCPError:
            continue
        assert passage.meta is not None
        told.append({"text": passage.text} | passage.meta)  # type: ignore[union-attr]
    return told
