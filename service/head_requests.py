"""HEAD wherever there is GET: the same answer without its body (RFC 9110, section 9.3.2)."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class HeadRequests:
    """Has ``app`` answer HEAD as it answers GET, and sends no body on.

    It stands innermost: whoever lets requests in, counts or logs them sees the HEAD that it is.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        as_get = {**scope, "method": "GET"}

        async def send_head(message: Message) -> None:
            if message["type"] != "http.response.body":
                await send(message)
                return
            await send({"type": "http.response.body", "body": b""})
            if message.get("more_body", False):
                raise _HeadSent  # or a stream would go on for as long as it has something to say

        try:
            await self._app(as_get, receive, send_head)
        except _HeadSent:
            pass
        finally:
            scope.update(as_get, method="HEAD")  # with the route that was found


class _HeadSent(Exception):
    """There is nothing more to be sent."""
