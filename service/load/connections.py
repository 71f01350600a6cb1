"""Connections: bounded in number, and closed where their clients keep the service waiting."""

from __future__ import annotations

import asyncio
import enum
import functools
import json
import logging
import socket
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from service.open_files import raise_open_files

log = logging.getLogger(__name__)

# From a connection's first moment, or a later request's first byte, until all its headers are there.
HEADERS_S = 10.0
# Between two requests of one connection: longer than proxies keep theirs, or one would send as we close.
KEEP_ALIVE_S = 75
# How long a client may take nothing of an answer, or as good as nothing.
TAKE_S = 60.0
_LEAST_TAKEN_PER_S = 1000
# The system's own can be megabytes, behind which nobody sees what a client takes.
_SEND_BUFFER = 2**17
_RETRY_AFTER_S = 2
# So many are told that they are refused, each for a moment; what comes beyond is closed without a word.
_MOST_REFUSED = 64
_REFUSED_S = 1.0


class Phase(enum.IntEnum):
    """What a connection is waiting for; of those that wait for their clients, the first go first."""

    HEADERS = 0
    NEXT_REQUEST = 1
    BODY = 2
    ANSWER = 3
    CLOSE = 4


class BoundedProtocol(H11Protocol):
    """uvicorn's, with at most ``most`` connections in this process.

    Where there are as many, a new one takes the place of the one that has waited longest for its client: for
    headers, for the next request, for a body. Where all wait for answers the new one gets a 503.
    A connection is closed when its headers are not there within ``headers_s``, and when its client takes less
    than 1 kB per second of an answer for ``take_s``. Bodies have a limit of their own, in ``BodyLimit``.
    """

    def __init__(
        self,
        *args: Any,
        most: int,
        headers_s: float = HEADERS_S,
        take_s: float = TAKE_S,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._most = most
        self._headers_s = headers_s
        self._take_s = take_s
        self._check_s = min(2.0, headers_s / 4, take_s / 4)
        self._phase = Phase.HEADERS
        self._since = self._taken_at = self.loop.time()
        self._unsent = 0
        self._checking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or refuse it where there is no room to be made."""
        super().connection_made(transport)
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        self._checking = self.loop.call_later(self._check_s, self._check)
        if len(self.connections) > self._most and not self._make_room():
            self._refuse()

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of it, whoever ended it."""
        if self._checking is not None:
            self._checking.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._phase != Phase.CLOSE:
            super().data_received(data)
            self._note_phase()

    def on_response_complete(self) -> None:
        """An answer is complete; the next request may have come already."""
        super().on_response_complete()
        self._note_phase()

    def resume_writing(self) -> None:
        """Most of what was to be sent has been taken."""
        self._taken_at = self.loop.time()
        super().resume_writing()

    def _note_phase(self) -> None:
        phase = self._phase
        if self.cycle is not None and not self.cycle.response_complete:
            self._phase = Phase.BODY if self.cycle.more_body else Phase.ANSWER
        else:
            self._phase = Phase.HEADERS if self.timeout_keep_alive_task is None else Phase.NEXT_REQUEST
        if self._phase != phase:
            self._since = self.loop.time()

    def _check(self) -> None:
        """Close what has waited too long for its client; else look again in a while."""
        now = self.loop.time()
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        if not self._unsent or self._unsent <= before - _LEAST_TAKEN_PER_S * self._check_s:
            self._taken_at = now
        no_headers = self._phase == Phase.HEADERS and now - self._since > self._headers_s
        if no_headers or now - self._taken_at > self._take_s:
            self.transport.abort()
        else:
            self._checking = self.loop.call_later(self._check_s, self._check)

    def _make_room(self) -> bool:
        """Close the connection that has waited longest for its client; False where there is none."""
        waiting = [
            one
            for one in self.connections
            if isinstance(one, BoundedProtocol)
            and one is not self
            and one._phase <= Phase.BODY
            and not one.transport.is_closing()
        ]
        log.warning("there are %d connections, as many as there may be: idle ones are closed", self._most)
        if not waiting:
            return False
        min(waiting, key=lambda one: (one._phase, one._since)).transport.abort()
        return True

    def _refuse(self) -> None:
        self._phase = Phase.CLOSE
        if len(self.connections) > self._most + _MOST_REFUSED:
            self.transport.abort()
            return
        self.transport.write(_REFUSAL)
        # Not at once: what the client sends meanwhile would reset the connection, and its answer with it.
        self.loop.call_later(_REFUSED_S, self.transport.abort)


def connection_options(most: int, **limits: float) -> dict[str, Any]:
    """The arguments of ``uvicorn.Config`` for ``most`` connections; ``limits`` are those of the protocol."""
    return {
        "http": functools.partial(BoundedProtocol, most=most, **limits),
        "ws": "none",
        "timeout_keep_alive": KEEP_ALIVE_S,
        "backlog": max(16, most // 2),  # so many are accepted in a row, before room is made for them
    }


def most_connections(wanted: int) -> int:
    """``wanted``, or what the system's limit of open files allows, which is raised as far as it may be.

    Half of the files are left to books, uploads and jobs.
    """
    files = raise_open_files(2 * wanted)
    if files < 2 * wanted:
        log.warning(
            "at most %d connections, for no more than %d files may be open (ulimit -n)", files // 2, files
        )
    return files // 2


def _refusal() -> bytes:
    """The answer to a connection beyond the most, without a request's being read."""
    problem = {
        "type": "urn:storyqa:problem:overloaded",
        "title": "Service Unavailable",
        "status": 503,
        "detail": f"there are too many connections; ask again in {_RETRY_AFTER_S} s",
    }
    body = json.dumps(problem)
    head = (
        "HTTP/1.1 503 Service Unavailable",
        "Content-Type: application/problem+json",
        f"Content-Length: {len(body)}",
        f"Retry-After: {_RETRY_AFTER_S}",
        "Connection: close",
    )
    return "\r\n".join([*head, "", body]).encode("ascii")


_REFUSAL = _refusal()
