"""What every request passes before it reaches a route: access, limits of the body, headers for browsers."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from indexing.shelves import MOST_BOOKS
from service import problems
from service.access.api_keys import KeyFile, Keyring, keys_in_environment
from service.access.authorization import AuthorizationMiddleware, scope_of
from service.access.rate_limits import RateLimits
from service.http_errors import Refused
from service.settings import Settings

MAX_QUESTION_BYTES = 256 * 2**10  # 256 questions of a thousand bytes each
MAX_TEXT_BYTES = 8 * 2**20  # of a book sent as JSON
MAX_SHELF_BYTES = 3 * 2**20  # ten thousand ids of two hundred characters each
# Between two pieces of a body, and for all of it beside what it takes at the slowest that is put up with;
# whoever sends slower than that holds a place that others need.
_BODY_TIMEOUT_S = 60.0
_LEAST_BYTES_PER_S = 10_000
_CLOSE = {"Connection": "close"}  # or the rest of the body would have to be read all the same
# How long what still comes of a refused body is read and dropped, and how long between two pieces of it.
# To close at once would reset the connection, and a client that sends before it reads would never see why.
_LINGER_S, _LINGER_BETWEEN_S = 30.0, 2.0
_FIXED_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
# An answer is data: as a page it may load nothing. Pages say for themselves what they may.
_DEFAULT_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


def install(app: FastAPI, settings: Settings) -> None:
    """Put the middleware that refuses requests around ``app``, the outermost last.

    Raises ``StoryQAError`` for bad keys and rates.
    """
    app.add_middleware(BodyLimit, largest=settings.largest_upload_mb * 2**20)
    app.add_middleware(
        AuthorizationMiddleware,
        ring=keyring_of(settings),
        rates=RateLimits(settings.rate, settings.rate_storage),
        insecure=settings.insecure,
        origins=settings.cors_origins,
    )
    if settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors_origins,
            allow_methods=["GET", "HEAD", "POST", "PUT", "DELETE"],
            allow_headers=["*"],  # the clients of MCP, and OpenAI's, send some of their own
            expose_headers=["Location", "Retry-After", "X-Request-ID"],
        )


def keyring_of(settings: Settings) -> Keyring:
    """The keys that ``settings`` lead to; raises ``BadKeys``."""
    secret = settings.keys.get_secret_value() if settings.keys is not None else ""
    return Keyring(KeyFile(settings.key_file), keys_in_environment(secret))


def describe(schema: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI ``schema`` with the key and the problems that this middleware answers, changed in place."""
    components = schema.setdefault("components", {})
    components["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key, where the service wants one; storyqa keys create makes it.",
        }
    }
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            needed = scope_of(method.upper(), path)
            statuses = [403] if method.upper() != "GET" else []
            if needed is not None:
                operation["security"] = [{"key": []}, {}]
                operation["description"] = f"{operation.get('description', '')} Scope: {needed}.".strip()
                statuses = [401, 403, 429, 503]
            if "requestBody" in operation:
                statuses += [408, 413]
            for status in statuses:
                operation["responses"].setdefault(str(status), problems.documented(status))
            operation["responses"] = dict(sorted(operation["responses"].items()))
    return schema


class BodyTooLarge(Refused):
    """A body beyond the limit."""

    status = 413
    kind = "too-large"

    def __init__(self, most_bytes: int, advice: str) -> None:
        most = f"{most_bytes / 2**20:.3g} MB" if most_bytes >= 2**20 else f"{most_bytes // 2**10} kB"
        super().__init__(f"the body is larger than {most}, the most that is taken here{advice}", _CLOSE)
        self.most_bytes = most_bytes


class BodyTooSlow(Refused):
    """A body of which nothing came for too long, or little all the time."""

    status = 408
    kind = "too-slow"


class BodyLimit:
    """Passes on at most ``MAX_QUESTION_BYTES`` of a body; to ``/books`` ``MAX_TEXT_BYTES``, or ``largest``.

    To a shelf it passes on ``MAX_SHELF_BYTES``. What a request claims is looked at before anything is read,
    what it sends is counted as it comes. A refusal is sent at once; the connection is closed when the client
    has sent the rest or gone, or has been waited for long enough (RFC 9112, section 9.6).
    """

    def __init__(self, app: ASGIApp, *, largest: int, timeout_s: float = _BODY_TIMEOUT_S) -> None:
        self._app = app
        self._largest = largest
        self._timeout_s = timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        now = asyncio.get_running_loop().time
        began = now()
        headers = Headers(scope=scope)
        is_upload = headers.get("content-type", "").lower().startswith("multipart/form-data")
        limit, advice = MAX_QUESTION_BYTES, "; send fewer questions at a time"
        if scope["path"] == "/books":
            limit, advice = (
                MAX_TEXT_BYTES,
                "; send a long book as a file (multipart/form-data, the field file)",
            )
            if is_upload:
                limit, advice = self._largest, ""
        elif scope["path"].startswith("/shelves/"):
            limit, advice = MAX_SHELF_BYTES, f"; send at most {MOST_BOOKS:,} ids"
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
            refusal = BodyTooLarge(limit, advice)
            answer = problems.ProblemResponse(problems.problem_of(refusal), refusal.headers)
            await answer(scope, receive, send_and_linger)
            return

        async def receive_counted() -> Message:
            nonlocal counted, whole, refused
            if whole:  # what comes now is the end of the connection, whenever that is
                return await receive()
            left_s = began + self._timeout_s + counted / _LEAST_BYTES_PER_S - now()
            try:
                message = await asyncio.wait_for(receive(), min(self._timeout_s, left_s))
            except TimeoutError:
                raise HTTPException(408) from BodyTooSlow(
                    f"nothing came for {self._timeout_s:g} s, or less than {_LEAST_BYTES_PER_S // 1000} kB a "
                    "second; send the body without a pause",
                    _CLOSE,
                )
            if message["type"] == "http.request":
                counted += len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if counted > limit:
                    refused = not whole
                    # An HTTPException, for FastAPI makes a 400 of everything else that reading raises.
                    raise HTTPException(413) from BodyTooLarge(limit, advice)
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


class SecurityHeaders:
    """Adds the headers to every answer of ``app``."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _FIXED_HEADERS.items():
                    headers[name] = value
                for name, value in _DEFAULT_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
