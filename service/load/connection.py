"""Work for a request, given up when its client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from text.errors import StoryQAError

Result = TypeVar("Result")


class ClientGone(StoryQAError):
    """The client closed the connection before it had its answer."""


async def while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """What ``work`` returns or raises; ``ClientGone``, and it is cancelled, where the client goes first.

    The request's body must have been read.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone("the client closed the connection")
        return working.result()
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
