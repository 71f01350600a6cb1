"""What has to end before a server that was told to stop can: streams that would go on for long."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def told_to_stop(end: Callable[[], None]) -> Iterator[None]:
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
