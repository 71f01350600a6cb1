"""Every request seen from outside: its id, a line in the log, counts and times, a trace."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from typing import Any
from urllib.parse import quote

from asgi_correlation_id import CorrelationIdMiddleware
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from service import problems
from service.load.batching import Batch, BatchingHooks
from service.observing.metrics import Metrics
from service.observing.tracing import Tracer

log = logging.getLogger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,128}")


class Observer(BatchingHooks):
    """Passes what happens on to the metrics, and to the traces where they are wanted."""

    def __init__(self, metrics: Metrics, tracer: Tracer | None = None) -> None:
        self.metrics = metrics
        self.tracer = tracer

    def context(self) -> object:
        """See ``BatchingHooks.context``."""
        return None if self.tracer is None else self.tracer.context()

    def queued(self, count: int) -> None:
        """See ``BatchingHooks.queued``."""
        self.metrics.queued(count)

    def cached(self, hit: bool) -> None:
        """See ``BatchingHooks.cached``."""
        self.metrics.cached(hit)

    def batch(self, batch: Batch) -> None:
        """See ``BatchingHooks.batch``."""
        self.metrics.batch(batch)
        if self.tracer is not None:
            self.tracer.batch(batch)

    def close(self) -> None:
        """Send what has not been sent."""
        if self.tracer is not None:
            self.tracer.close()


def install(app: Starlette, observer: Observer) -> None:
    """Have ``observer`` record all requests to ``app``.

    A request's id is what its ``X-Request-ID`` says, where that is fit for a log, else a new one; the
    response has it too.
    """
    app.add_middleware(ObservingMiddleware, observer=observer)
    app.add_middleware(CorrelationIdMiddleware, validator=_fits_a_log)


def _fits_a_log(request_id: str) -> bool:
    return _REQUEST_ID.fullmatch(request_id) is not None


class ObservingMiddleware:
    """Counts, times and logs every request; what nothing else has caught becomes a problem document."""

    def __init__(self, app: ASGIApp, observer: Observer) -> None:
        self._app = app
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status: int | None = None

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._span(scope) as span:
            try:
                await self._app(scope, receive, send_and_note)
            except Exception as error:
                log.exception("an unexpected %s", type(error).__name__)
                if status is not None:
                    raise  # half of it has gone out: all that is left is to cut the connection
                await problems.ProblemResponse(problems.unexpected(error))(scope, receive, send_and_note)
            finally:
                self._record(scope, status or 500, time.perf_counter() - began, span)

    def _span(self, scope: Scope) -> contextlib.AbstractContextManager[Any]:
        tracer = self._observer.tracer
        if tracer is None:
            return contextlib.nullcontext()
        return tracer.request(scope["method"], Headers(scope=scope))

    def _record(self, scope: Scope, status: int, seconds: float, span: Any) -> None:
        route = route_of(scope)
        self._observer.metrics.request(route, status, seconds)
        if span is not None:
            span.update_name(f"{scope['method']} {route}")
            span.set_attribute("http.route", route)
            span.set_attribute("http.response.status_code", status)
        client = scope.get("client")
        extra = {
            "method": scope["method"],
            "route": route,
            "path": quote(scope["path"], errors="backslashreplace"),
            "status": status,
            "duration_ms": round(1000 * seconds, 1),
            "client": client[0] if client else None,
        } | scope.get("state", {}).get("logged", {})
        log.info(
            "%s %s %d in %.1f ms", extra["method"], extra["path"], status, extra["duration_ms"], extra=extra
        )


def route_of(scope: Scope) -> str:
    """The route's pattern, such as ``/books/{book_id}``: ids would make a metric of their own each."""
    path = getattr(scope.get("route"), "path", None)
    if path is not None:
        return str(path)
    return "unmatched" if scope.get("endpoint") is None else "other"
