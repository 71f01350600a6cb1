"""JSON bodies of questions: parsed and checked in a thread, so that nobody else waits for a large one."""

from __future__ import annotations

import json
import sys
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
            content = _loaded(body)
            _, errors = field.validate(content, {}, loc=("body",))
            if errors:
                # An HTTPException, for FastAPI makes a 400 of everything else that reading raises.
                raise HTTPException(422) from RequestValidationError(errors, body=content)
            return content

        class ParsedRequest(Request):
            async def json(self) -> Any:
                return await run_in_threadpool(parse, await self.body())

        async def handle_parsed(request: Request) -> Response:
            return await handle(ParsedRequest(request.scope, request.receive))

        return handle_parsed


def _loaded(body: bytes) -> Any:
    """The JSON; raises JSONDecodeError, which FastAPI knows, and HTTPException for what else is none."""
    try:
        return json.loads(body)
    except json.JSONDecodeError:
        raise
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except RecursionError:
        problem = "it is nested too deep"
    except ValueError:  # Python reads no number that is longer
        problem = f"it has a number of more than {sys.get_int_max_str_digits():,} digits"
    raise HTTPException(400, f"the body is not JSON: {problem}")
