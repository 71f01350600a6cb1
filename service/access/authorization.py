"""Who may make a call: which key, for what, how often; without keys, this machine alone."""

from __future__ import annotations

import ipaddress
import logging
from typing import ClassVar

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from service import problems
from service.access.api_keys import Keyring
from service.access.api_keys import Scope as KeyScope
from service.access.rate_limits import RateLimits
from service.http_errors import Refused

log = logging.getLogger(__name__)

# Whoever can reach the service may see that it lives, and the page that asks for the key.
PUBLIC_PATHS = frozenset({"/", "/healthz", "/readyz", "/version", "/docs", "/openapi.json", "/favicon.ico"})
PUBLIC_FOLDERS = ("/page/",)
_SAFE = ("GET", "HEAD", "OPTIONS")
# What is asked with POST because questions are long; everything else that is no GET changes something.
_READING_POSTS = frozenset({"/answer", "/answers", "/search", "/v1/chat/completions", "/mcp"})


class Unauthorized(Refused):
    """No key was sent, or none that is in force."""

    status: ClassVar[int] = 401
    kind = "key"


class Forbidden(Refused):
    """The caller, with or without a key, may not do this."""

    status: ClassVar[int] = 403
    kind = "not-allowed"


class TooManyRequests(Refused):
    """A key that was used more often than it may be."""

    status: ClassVar[int] = 429
    kind = "too-often"


def scope_of(method: str, path: str) -> KeyScope | None:
    """What a call needs: ``admin`` for what changes the store, None for what is open to all."""
    if method in _SAFE:
        return None if path in PUBLIC_PATHS or path.startswith(PUBLIC_FOLDERS) else "read"
    return "read" if path in _READING_POSTS else "admin"


class AuthorizationMiddleware:
    """Lets a request through to ``app``, or answers it with the problem that keeps it out.

    It stands before the body is read. Where there are keys, one must be sent (``Authorization: Bearer
    KEY``) and is counted. Where there are none, callers must be on this machine and call it by
    a name of this machine, which keeps out pages that a browser was lured into (DNS rebinding);
    ``insecure`` lets everyone in. ``scope["state"]["key"]`` is the key's name from here on.
    """

    def __init__(
        self, app: ASGIApp, *, ring: Keyring, rates: RateLimits, insecure: bool, origins: tuple[str, ...] = ()
    ) -> None:
        self._app = app
        self._ring = ring
        self._rates = rates
        self._insecure = insecure
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                await self._admit(scope)
            except Refused as refused:
                response = problems.ProblemResponse(problems.problem_of(refused), refused.headers)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope) -> None:
        """Raise ``Refused`` for whoever may not make this call."""
        headers = Headers(scope=scope)
        needed = scope_of(scope["method"], scope["path"])
        if needed is None:
            return
        if self._ring.is_required:
            await self._check_key(scope, headers, needed)
            return
        self._check_origin(scope["method"], headers)
        if not self._insecure:
            _check_local(scope, headers)

    def _check_origin(self, method: str, headers: Headers) -> None:
        """A page elsewhere can make a browser post here without asking; where no key is needed, it could."""
        origin = headers.get("origin")
        if method in _SAFE or origin is None or origin in self._origins or "*" in self._origins:
            return
        if origin.partition("://")[2].lower() != headers.get("host", "").lower():
            raise Forbidden(
                f"a page at {origin[:100]} asked for this, and STORYQA_CORS_ORIGINS does not name it"
            )

    async def _check_key(self, scope: Scope, headers: Headers, needed: KeyScope) -> None:
        kind, _, presented = headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not presented:
            raise Unauthorized(
                "this service wants a key: send the header Authorization: Bearer KEY",
                {"WWW-Authenticate": 'Bearer realm="storyqa"'},
            )
        key = self._ring.find(presented.strip())
        if key is None:
            raise Unauthorized(
                "this key is unknown or was revoked; ask whoever runs the service for another",
                {"WWW-Authenticate": 'Bearer realm="storyqa", error="invalid_token"'},
            )
        scope.setdefault("state", {})["key"] = key.name
        wait_s = await self._rates.wait_s(key.id, key.per_minute)
        if wait_s:
            raise TooManyRequests(
                f"the key {key.name!r} was used too often; wait {wait_s} s", {"Retry-After": str(wait_s)}
            )
        if not key.allows(needed):
            raise Forbidden(
                f"the key {key.name!r} may read; this call needs a key with the scope {needed}",
                {"WWW-Authenticate": f'Bearer realm="storyqa", error="insufficient_scope", scope="{needed}"'},
            )


def is_loopback(host: str) -> bool:
    """Whether an address or name, as a URL has it, is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or (mapped is not None and mapped.is_loopback)


def _check_local(scope: Scope, headers: Headers) -> None:
    client = scope.get("client")
    host = headers.get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if client is not None and not is_loopback(client[0]):
        who = f"calls from {client[0]}"
    elif not is_loopback(name):
        who = f"calls to the name {name[:100]!r}"
    else:
        return
    raise Forbidden(f"{who} need a key, and this service has none; make one with: storyqa keys create NAME")
