"""Work that is given up: when its client goes away, and when the server is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from starlette.requests import Request

from text.errors import StoryQAError

Result = TypeVar("Result")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class ClientDisconnected(StoryQAError):
    """The client closed the connection before it had its answer."""


async def run_while_connected(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """What ``work`` returns or raises; cancelled, with ``ClientDisconnected``, where the client goes first.

    The request's body must have been read.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnected("the client closed the connection")
        return working.result()
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


@contextlib.contextmanager
def on_stop_signal(end: Callable[[], None]) -> Iterator[None]:
    """Have ``end`` called as soon as a signal tells this process to stop, before what stands for it now.

    uvicorn waits for open responses before it ends the app's lifespan, so the lifespan's end would be
    too late to end them. A server in a thread gets no signals, and nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def on_signal(number: int, frame: FrameType | None) -> None:
        end()
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    for number in _SIGNALS:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
