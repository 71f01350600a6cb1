"""``/mcp``: the Model Context Protocol over streamable HTTP, behind the same keys as every call."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from service import problems
from service.answering_service import Service
from service.assistants.mcp_server import MissingMcp, server_of

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

router = APIRouter(tags=["assistants"])

_PASSAGE = "storyqa://books/the-bell/passages/0?before=40%25"


def _message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _call(tool: str, **arguments: Any) -> dict[str, Any]:
    return _message("tools/call", name=tool, arguments=arguments)


_MESSAGES = [
    _call("ask", book_id="the-bell", question="Where was the key hidden?", before="40%"),
    _call("search", book_id="*", question="Who keeps a key?", before={"the-bell": "40%", "*": 0}),
    _call("books"),
    _call("chapters", book_id="the-bell", before="40%"),
    _call("read", book_id="the-bell", start=0, end=500, before="40%"),
    _call("who", book_id="the-bell", name="Lisbet", before="40%"),
    _call("recap", book_id="the-bell", before="40%", sentences=2),
    _call("facts", book_id="the-bell", property=["author"], before="40%"),
    _message("tools/list"),
    _message("resources/list"),
    _message("resources/read", uri=_PASSAGE),
]
_MESSAGE = {
    "type": "object",
    "required": ["jsonrpc"],
    "properties": {
        "jsonrpc": {"type": "string", "const": "2.0"},
        "id": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "method": {"type": "string"},
        "params": {"type": "object"},
    },
}
_REPLY = {"type": "object", "examples": [{"jsonrpc": "2.0", "id": 1, "result": {}}]}
_EVENTS = {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}


def _failure(status: int) -> dict[str, Any]:
    return {
        "description": f"{HTTPStatus(status).phrase}: an error as JSON-RPC has it.",
        "content": {"application/json": {"schema": _REPLY}},
    }


class _Passed(Response):
    """What the protocol's server answers, which reads the body itself."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the protocol's server answer."""
        await self._manager.handle_request(scope, receive, send)


@router.post(
    "/mcp",
    response_class=Response,
    responses={
        200: {"content": {"application/json": {"schema": _REPLY}, "text/event-stream": {"schema": _EVENTS}}},
        202: {"description": "A notification, which has no answer."},
        400: _failure(400),
        404: _failure(404),
        406: _failure(406),
        **problems.responses(415, 500, 501),
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _MESSAGE | {"examples": _MESSAGES}}},
        }
    },
)
async def mcp(request: Request) -> Response:
    """A message of the Model Context Protocol (streamable HTTP, without sessions).

    Assistants find the tools by themselves: `books`, `chapters`, `search`, `ask`, `read`, `who`, `recap` and
    `facts`.
    """
    manager = request.app.state.mcp
    if isinstance(manager, MissingMcp):
        raise manager
    given = request.headers.get("content-type", "")
    if not given.lower().startswith("application/json"):
        raise HTTPException(415, f"the content type is {given[:100]!r}; wanted application/json")
    return _Passed(manager)


def install(app: FastAPI, service: Service) -> None:
    """Have ``app`` answer at ``/mcp``: with why not, where the extra ``mcp`` is not installed."""
    app.include_router(router)
    try:
        server = server_of(service)
    except MissingMcp as missing:
        app.state.mcp = missing
        return
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    # Without sessions, for the next message may reach another process. Hosts and origins are looked at by
    # service.access already.
    app.state.mcp = StreamableHTTPSessionManager(server, stateless=True)


@contextlib.asynccontextmanager
async def running(app: FastAPI) -> AsyncIterator[None]:
    """Messages can be answered meanwhile; once per ``app``."""
    if isinstance(app.state.mcp, MissingMcp):
        yield
        return
    async with app.state.mcp.run():
        yield
