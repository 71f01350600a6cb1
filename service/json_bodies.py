"""JSON bodies of questions: parsed and checked in a thread, so that nobody else waits for a large one."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException


class JsonRoute(APIRoute):
    """A route whose JSON body is parsed and checked in a thread; FastAPI would do so in the event loop."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        field = self.body_field
        if field is None:
            return handle

        def parse(body: bytes) -> Any:
            content = json.loads(body)
            _, errors = field.validate(content, {}, loc=("body",))
            if errors:
                # An HTTPException, for FastAPI makes a 400 of everything else that reading raises.
                raise HTTPException(422) from RequestValidationError(errors)
            return content

        class ParsedRequest(Request):
            async def json(self) -> Any:
                return await run_in_threadpool(parse, await self.body())

        async def handle_parsed(request: Request) -> Response:
            return await handle(ParsedRequest(request.scope, request.receive))

        return handle_parsed
