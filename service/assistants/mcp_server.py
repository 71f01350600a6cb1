"""The books for assistants, over the Model Context Protocol: the tools, and passages as resources."""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from fastapi.concurrency import run_in_threadpool
from pydantic import ValidationError

from indexing.ids import LONGEST
from service.answering_service import Service
from service.assistants.book_tools import PAGE, BookRequest, BooksRequest, BookTools, tools_of
from service.book_schemas import BookOut
from service.http_errors import Refused
from service.version import installed_version
from text.errors import StoryQAError

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.lowlevel import Server

log = logging.getLogger(__name__)

_INSTRUCTIONS = (
    "Answers questions about whole books and cites the exact place: `start` and `end` are Unicode code "
    "points of the book's text, half-open. Where the person has not finished a book, pass how far they are "
    "as `before`, an offset or a share such as 40%, to every tool: nothing behind it is told. `search` and "
    "`ask` take several books as well, with a limit for each. A passage of a "
    "result is the resource storyqa://books/BOOK_ID/passages/NUMBER, without what `ask` may have read on of "
    "a sentence; `read` with `start` and `end` gives exactly what is cited."
)
_INVALID_PARAMS = -32602  # JSON-RPC's
_MOST_SAID = 5  # of the things wrong with a call
_URI = re.compile(
    r"storyqa://books/(?P<book>[^/?]+)(?:/passages/(?P<number>[0-9]{1,9}))?(?:\?before=(?P<before>[^&]*))?"
)


class MissingMcp(Refused):
    """The extra ``mcp`` is not installed."""

    status = 501
    kind = "missing-extra"


class UnknownResource(StoryQAError):
    """An address of none of the resources."""


def server_of(service: Service) -> Server[Any]:
    """The server over the books of ``service``, without a transport; raises ``MissingMcp``."""
    try:
        import mcp_types as types
        from mcp.server.lowlevel import Server
    except ImportError as error:
        raise MissingMcp(
            f"the Model Context Protocol needs a package that is missing ({error.name}); "
            "install it: pip install 'storyqa[mcp]'"
        ) from None

    tools = tools_of(service)
    offered = [
        types.Tool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.asks.model_json_schema(),
            output_schema=tool.returns.model_json_schema(mode="serialization"),
            annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        for tool in tools.values()
    ]

    async def list_tools(context: Any, asked: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=offered)

    async def call_tool(context: Any, asked: types.CallToolRequestParams) -> types.CallToolResult:
        tool = tools.get(asked.name)
        if tool is None:
            return _failed(f"there is no tool {asked.name!r}; choose from {', '.join(tools)}")
        try:
            result = await tool.run(tool.asks.model_validate(asked.arguments or {}))
        except ValidationError as error:
            return _failed(_said(error))
        except StoryQAError as error:
            return _failed(_advice(error))
        except Exception as error:
            log.exception("an unexpected %s", type(error).__name__)
            return _failed(f"an unexpected {type(error).__name__}; the server's log has more")
        content = result.model_dump(mode="json")
        text = types.TextContent(type="text", text=json.dumps(content, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=content)

    async def list_resources(
        context: Any, asked: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = (asked and asked.cursor) or ""
        if len(cursor) > LONGEST:
            raise _invalid(f"{cursor[:50]!r}.. is no cursor; wanted one that resources/list gave")
        listed = await BookTools(service).books(BooksRequest(after=cursor, limit=PAGE))
        return types.ListResourcesResult(
            next_cursor=listed.next_after,
            resources=[
                types.Resource(
                    uri=f"storyqa://books/{quote(book.id, safe='')}",
                    name=book.id,
                    title=book.title,
                    mime_type="application/json",
                )
                for book in listed.books
            ],
        )

    async def list_templates(context: Any, asked: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template="storyqa://books/{id}/passages/{number}{?before}",
                    name="passage",
                    description="A passage of a book, as results number them; its place is in `_meta`.",
                    mime_type="text/plain",
                )
            ]
        )

    async def read_resource(context: Any, asked: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            content = await _resource(service, str(asked.uri))
        except (StoryQAError, ValidationError) as error:
            said = _said(error) if isinstance(error, ValidationError) else _advice(error)
            raise _invalid(said, {"uri": _sendable(str(asked.uri))}) from None
        return types.ReadResourceResult(contents=[content])

    return Server(
        "storyqa",
        version=installed_version(),
        title="storyqa",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


async def _resource(service: Service, uri: str) -> types.TextResourceContents:
    """The card of a book, or a passage; raises ours, and ``ValidationError``, for what is not there."""
    import mcp_types as types

    match = _URI.fullmatch(uri)
    if match is None:
        raise UnknownResource(f"{uri[:200]!r} is no resource; wanted storyqa://books/ID/passages/NUMBER")
    before = match["before"] and unquote(match["before"])
    asked = BookRequest(book_id=unquote(match["book"]), before=before)
    if match["number"] is None:
        card = BookOut.of(await run_in_threadpool(service.qa.store.manifest, asked.book_id))
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=card.model_dump_json())
    passage = await BookTools(service).passage(asked, int(match["number"]))
    place = passage.model_dump(include={"start", "end", "chapter", "page"})
    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=passage.text, _meta=place)


def _invalid(said: str, data: object = None) -> Exception:
    """The protocol's error for what was asked with parameters that will not do."""
    from mcp.shared.exceptions import MCPError

    return MCPError(_INVALID_PARAMS, _sendable(said), data)


def _failed(said: str) -> types.CallToolResult:
    """A failure as the assistant is told of it, which may then ask better."""
    import mcp_types as types

    content = types.TextContent(type="text", text=_sendable(said))
    return types.CallToolResult(content=[content], is_error=True)


def _advice(error: StoryQAError) -> str:
    seconds = getattr(error, "retry_after_s", None)
    return str(error) if seconds is None else f"{error} (ask again in {seconds} s)"


def _said(error: ValidationError) -> str:
    """What is wrong with which argument."""
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:_MOST_SAID])


def _sendable(text: str) -> str:
    # It may quote half a surrogate pair, which has no UTF-8.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
