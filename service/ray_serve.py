"""The HTTP service as an application of Ray Serve: ``serve run storyqa.serve:app``.

Ray's proxies hand every request to a router, which reads the book from it; the replica whose place on a ring
of hashes is the book's answers, as ``storyqa serve`` would. Ray is imported when the application is made.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging.config
from collections.abc import AsyncGenerator
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send
from uvicorn.lifespan.on import LifespanOn

from service import problems
from service.access.middleware import BodyLimit, SecurityHeaders
from service.answering_service import Service
from service.app import create_app
from service.http_errors import Refused
from service.load.batching import DeadlinePassed
from service.load.book_routing import changes, routing_key
from service.load.workers import GRACE_S, CannotStart
from service.observing.logs import log_config
from service.settings import Settings, read_settings, warn_of_unknown
from text.errors import StoryQAError

log = logging.getLogger(__name__)

REPLICAS, ROUTER = "replicas", "router"
# The bound of load: so many requests are at one replica at once; the next go to its neighbour on the ring.
_IN_HAND = 64
# So many wait at a router where that one, too, has as many; what comes beyond is refused.
_MOST_WAITING = 256
_MOST_CONNECTIONS = 2048  # of a router
_FALLBACKS = 1
_RETRY_AFTER_S = 2
# A router waits longer than a replica, which answers by its own deadline whatever it is at.
_LONGER_S = 10.0
# What of a request's scope goes to a replica: the rest is of the process that took the request.
_CARRIED = (
    *("type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string"),
    *("root_path", "headers", "client", "server"),
)


class ReplicaLost(Refused):
    """The replica that was at a request is gone, and it was not, or could not be, asked of another."""

    status = 502
    kind = "replica-lost"


class TooManyWaiting(Refused):
    """More requests than may wait for a replica."""

    status = 503
    kind = "overloaded"


class Arguments(BaseModel):
    """What ``serve run storyqa.serve:app NAME=VALUE`` takes."""

    model_config = ConfigDict(extra="forbid")

    replicas: int = Field(default=1, ge=1)


class Replica:
    """The whole service in a process of Ray's, with the settings of that process's environment.

    Raises ``StoryQAError`` where it cannot start.
    """

    async def __init__(self) -> None:  # type: ignore[misc]  # Ray awaits it
        settings = read_settings()
        logging.config.dictConfig(log_config(settings.log_format))
        warn_of_unknown()
        self._app = create_app(settings, listens_warm=True)
        self._service: Service = self._app.state.service
        self._lifespan = LifespanOn(uvicorn.Config(self._app, lifespan="on", log_config=None))
        await self._lifespan.startup()
        if self._lifespan.should_exit:
            raise CannotStart("the service could not start; the log of the replica says why")

    def check_health(self) -> None:
        """Raise where ``/readyz`` would say no: Ray then starts another in this one's place."""
        if self._service.not_ready is not None:
            raise problems.NotReady(self._service.not_ready)

    async def respond(self, scope: Scope, body: bytes) -> AsyncGenerator[Message, None]:
        """The messages of ASGI by which the service answers a request, as they come."""
        sent: asyncio.Queue[Message | None] = asyncio.Queue()
        coming: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            if not coming:  # a client that goes cancels this whole call
                await asyncio.get_running_loop().create_future()
            return coming.pop()

        working = asyncio.create_task(self._app(scope, receive, sent.put))
        working.add_done_callback(lambda _: sent.put_nowait(None))
        try:
            while (message := await sent.get()) is not None:
                yield message
            await working
        finally:
            working.cancel()

    async def __del__(self) -> None:
        """End the service as ``storyqa serve`` does when it is stopped; Ray calls and awaits this."""
        if hasattr(self, "_lifespan"):
            await self._lifespan.shutdown()


class BookRouter:
    """Has the replica of a request's book answer it; where that one is gone, once more another.

    ``replicas`` is Ray's handle of them. What may change the store is not asked twice, nor is anything of
    whose answer a part was sent already.
    """

    def __init__(self, replicas: Any, deadline_s: float) -> None:
        self._replicas = replicas
        self._deadline_s = deadline_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        body = await _whole(receive)
        carried = {name: scope[name] for name in _CARRIED if name in scope}
        key = routing_key(scope["method"], scope["path"], body)
        again = 0 if changes(scope["method"], scope["path"]) else _FALLBACKS
        async with contextlib.aclosing(self._answered(key, carried, body, again)) as messages:
            async for message in messages:
                await send(message)

    async def _answered(
        self, key: str, scope: Scope, body: bytes, again: int
    ) -> AsyncGenerator[Message, None]:
        """The answer's messages; raises ``Refused`` and ``DeadlinePassed`` before the first of them."""
        from ray.exceptions import RayActorError
        from ray.serve.exceptions import BackPressureError

        started = False
        try:
            async with contextlib.aclosing(self._asked(key, scope, body)) as messages:
                async for message in messages:
                    started = True
                    yield message
            return
        except RayActorError as error:
            if started:
                raise  # half of it has gone out: all that is left is to cut the connection
            log.warning("the replica of %r is gone: %s", key, str(error).splitlines()[0])
            if not again:
                raise ReplicaLost(
                    "the replica that was at it is gone; ask again", {"Retry-After": str(_RETRY_AFTER_S)}
                ) from error
        except BackPressureError as error:
            raise TooManyWaiting(
                f"too many requests wait for a replica; ask again in {_RETRY_AFTER_S} s",
                {"Retry-After": str(_RETRY_AFTER_S)},
            ) from error
        async for message in self._answered(key, scope, body, again - 1):
            yield message

    async def _asked(self, key: str, scope: Scope, body: bytes) -> AsyncGenerator[Message, None]:
        """The messages of one replica, the first two before the deadline: the status and a part of the body.

        The status is kept until then, for with it the answer could no longer be another replica's.
        """
        answer = self._replicas.options(stream=True, session_id=key).respond.remote(scope, body)
        messages = aiter(answer)
        try:
            async with asyncio.timeout(self._deadline_s):
                start, first = await anext(messages), await anext(messages)
        except TimeoutError:
            raise DeadlinePassed(
                f"no replica answered within {self._deadline_s:g} s; ask again later", _RETRY_AFTER_S
            ) from None
        else:
            yield _without_id(start)
            yield first
            async for message in messages:
                yield message
        finally:
            answer.cancel()


async def _whole(receive: Receive) -> bytes:
    """A request's body, which ``BodyLimit`` bounds."""
    parts = []
    more = True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def _without_id(start: Message) -> Message:
    """The answer's beginning without ``X-Request-ID``, which Ray's proxy adds to it as well."""
    headers = MutableHeaders(scope=start)
    del headers["X-Request-ID"]
    return start


def router_app() -> FastAPI:
    """What a router serves; called in the process of one."""
    from ray import serve

    settings = read_settings()
    logging.config.dictConfig(log_config(settings.log_format))
    return front(serve.get_deployment_handle(REPLICAS), settings)


def front(replicas: Any, settings: Settings) -> FastAPI:
    """A router before ``replicas``, Ray's handle of them, with problems for what goes wrong on the way."""
    router = BookRouter(replicas, settings.deadline_s + _LONGER_S)
    front = FastAPI(openapi_url=None, redirect_slashes=False, routes=[Route("/{path:path}", router)])
    problems.install(front)
    front.add_exception_handler(Exception, _on_unexpected)
    front.add_middleware(BodyLimit, largest=settings.largest_upload_mb * 2**20)
    front.add_middleware(SecurityHeaders)
    return front


async def _on_unexpected(request: Request, error: Exception) -> Response:
    return problems.ProblemResponse(problems.unexpected(error))


def app(arguments: dict[str, Any]) -> Any:
    """The application; ``arguments`` are those of ``Arguments``.

    Raises ``StoryQAError`` where the extra is missing, ``ValidationError`` for other arguments.
    """
    try:
        from ray import serve
        from ray.serve.config import RequestRouterConfig
        from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter
    except ImportError as error:
        raise StoryQAError(
            f"Ray Serve is not installed ({error}): pip install 'storyqa[ray-serve]'"
        ) from error
    given = Arguments.model_validate(arguments)
    shared = {
        "graceful_shutdown_timeout_s": GRACE_S,
        "logging_config": {"enable_access_log": False},  # a replica's own line has the status and the time
    }
    ring = RequestRouterConfig(
        request_router_class=ConsistentHashRouter, request_router_kwargs={"num_fallback_replicas": _FALLBACKS}
    )
    replicas = serve.deployment(
        Replica,
        name=REPLICAS,
        num_replicas=given.replicas,
        max_ongoing_requests=_IN_HAND,
        max_queued_requests=_MOST_WAITING,
        request_router_config=ring,
        **shared,
    )
    router = serve.deployment(
        serve.ingress(router_app)(),
        name=ROUTER,
        max_ongoing_requests=_MOST_CONNECTIONS,
        ray_actor_options={"num_cpus": 0},
        **shared,
    )
    return router.bind(replicas.bind())
