"""Bodies that are too large for their call, or too slow in coming, are refused."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service import problems
from service.http_errors import Refused

# 256 questions of 2,000 characters, each written as JSON's longest escape, and room for the rest.
LARGEST_JSON = 8 * 2**20
# Between two pieces of a body; whoever sends slower than that holds a place that others need.
_PATIENCE_S = 60.0
_CLOSE = {"Connection": "close"}  # or the rest of the body would have to be read all the same
# How long what still comes of a refused body is read and dropped, and how long between two pieces of it.
# To close at once would reset the connection, and a client that sends before it reads would never see why.
_LINGER_S, _LINGER_BETWEEN_S = 30.0, 2.0


class TooLarge(Refused):
    """A body beyond the limit."""

    status = 413
    kind = "too-large"


class TooSlow(Refused):
    """A body of which nothing came for too long."""

    status = 408
    kind = "too-slow"


class Bodies:
    """Passes on to ``app`` at most ``LARGEST_JSON`` bytes of a body, of an upload to ``/books`` ``largest``.

    What a request claims is looked at before anything is read, what it sends is counted as it comes. A
    refusal is sent at once; the connection is closed when the client has sent the rest or gone, or has been
    waited for long enough (RFC 9112, section 9.6).
    """

    def __init__(self, app: ASGIApp, *, largest: int) -> None:
        self._app = app
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        is_upload = headers.get("content-type", "").lower().startswith("multipart/form-data")
        limit = self._largest if scope["path"] == "/books" and is_upload else LARGEST_JSON
        advice = "" if is_upload else "; send a long book as a file (multipart/form-data, the field file)"
        refusal = TooLarge(
            f"the body is larger than {limit / 2**20:.3g} MB, the most that is taken here{advice}",
            _CLOSE,
        )
        counted = 0
        whole = refused = False

        async def send_and_linger(message: Message) -> None:
            if refused and message["type"] == "http.response.body" and not message.get("more_body", False):
                await send({**message, "more_body": True})
                await _drop_the_rest(receive)
                message = {"type": "http.response.body", "body": b""}
            await send(message)

        claimed = headers.get("content-length", "0")
        if claimed.isdecimal() and int(claimed) > limit:
            refused = True
            answer = problems.ProblemResponse(problems.problem_of(refusal), refusal.headers)
            await answer(scope, receive, send_and_linger)
            return

        async def receive_counted() -> Message:
            nonlocal counted, whole, refused
            if whole:  # what comes now is the end of the connection, whenever that is
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), _PATIENCE_S)
            except TimeoutError:
                raise HTTPException(408) from TooSlow(
                    f"nothing came for {_PATIENCE_S:.0f} s; send the body without a pause", _CLOSE
                )
            if message["type"] == "http.request":
                counted += len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if counted > limit:
                    refused = not whole
                    # An HTTPException, for FastAPI makes a 400 of everything else that reading raises.
                    raise HTTPException(413) from refusal
            return message

        await self._app(scope, receive_counted, send_and_linger)


async def _drop_the_rest(receive: Receive) -> None:
    """Read a body to its end, to the client's, or to that of our patience."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LINGER_S):
            more = True
            while more:
                message = await asyncio.wait_for(receive(), _LINGER_BETWEEN_S)
                more = message["type"] == "http.request" and message.get("more_body", False)
