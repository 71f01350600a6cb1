"""Every error of the HTTP service as problem details for machines and people (RFC 9457)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from answering.ask import BadRequest
from answering.scope import EmptyScope
from encoders.tagging import MissingTagger
from indexing.errors import (
    DiskFull,
    NotWritable,
    Overtaken,
    StoreUnreachable,
    UnknownBook,
    UnknownCharacter,
)
from indexing.ids import BadId
from indexing.shelves import BadShelf, UnknownShelf
from readers.errors import EndpointError
from readers.reading import NeedsReferences
from service.assistants import openai_errors
from service.http_errors import Refused
from service.load.batching import DeadlinePassed
from service.load.cancellation import ClientDisconnected
from service.load.queueing import Overloaded
from text.errors import StoryQAError
from text.output_files import is_full
from text.registry import UnknownName

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
CLIENT_GONE = 499  # as nginx has it
_RETRY_AFTER_S = 2  # where the error does not know better
MOST_CULPRITS = 20  # of the things wrong with a request that are reported
_SCHEMA = "#/components/schemas/Problem"
_NAMELESS = "about:blank"  # the status says it all
_OF_NAMES = ("missing", "extra_forbidden")  # errors of a field that need not be there as it is named
_LONGEST_STEP = 100  # characters of a pointer's, which a client may have made up


class NotReady(StoryQAError):
    """The models are still being loaded, or could not be."""


class BadItem(StoryQAError):
    """One question of a list that cannot be answered; ``item`` counts from 0."""

    def __init__(self, item: int, error: StoryQAError) -> None:
        super().__init__(f"item {item} of the list: {error}")
        self.item = item
        self.error = error


class Culprit(BaseModel):
    """One thing wrong with a request."""

    pointer: str = Field(description="Where: a JSON pointer into the body, or `query/…`, `path/…`.")
    detail: str


class Problem(BaseModel):
    """Problem details, RFC 9457."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "urn:storyqa:problem:unknown-book",
                    "title": "Not Found",
                    "status": 404,
                    "detail": "unknown book 'moby'; did you mean 'moby-dick'?",
                    "near": ["moby-dick"],
                }
            ]
        }
    )

    type: str = Field(description="Names the kind of problem; `about:blank` where the status says it all.")
    title: str
    status: int
    detail: str
    near: list[str] | None = Field(
        default=None, description="Book ids, or names of a book's characters, that look like the unknown one."
    )
    most_bytes: int | None = Field(
        default=None, description="How large the body may be, where it was larger (413)."
    )
    choices: list[str] | None = Field(default=None, description="The names that would have done.")
    errors: list[Culprit] | None = Field(default=None, description="What is wrong where in the request.")


class ProblemResponse(Response):
    """A problem as a response; where the callers expect OpenAI's errors, it is sent as one of those."""

    media_type = MEDIA_TYPE

    def __init__(self, problem: Problem, headers: dict[str, str] | None = None) -> None:
        # ASCII: a detail may quote half a surrogate pair, which has no UTF-8.
        content = json.dumps(problem.model_dump(exclude_none=True)).encode("ascii")
        super().__init__(content, problem.status, headers)
        self._openai = openai_errors.response(openai_error_of(problem), problem.status, headers or {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        if openai_errors.is_expected(scope["path"]):
            await self._openai(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def openai_error_of(problem: Problem) -> openai_errors.OpenAIError:
    """The same in OpenAI's form."""
    pointer = problem.errors[0].pointer if problem.errors else ""
    kind = (
        problem.type.rpartition(":")[2]
        if problem.type != _NAMELESS
        else problem.title.lower().replace(" ", "-")
    )
    return openai_errors.error_of(problem.status, kind, problem.detail, pointer)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route that can fail with ``statuses``, for its OpenAPI."""
    return {status: {"model": Problem, "description": HTTPStatus(status).phrase} for status in statuses}


def documented(status: int) -> dict[str, Any]:
    """One such response as the finished OpenAPI has it."""
    content = {MEDIA_TYPE: {"schema": {"$ref": _SCHEMA}}}
    return {"description": HTTPStatus(status).phrase, "content": content}


def document_media_type(schema: dict[str, Any]) -> dict[str, Any]:
    """The OpenAPI ``schema`` with the media type that problems really have, changed in place."""
    ours = {"schema": {"$ref": _SCHEMA}}
    for path in schema.get("paths", {}).values():
        for operation in path.values():
            for response in operation["responses"].values():
                content = response.get("content", {})
                if content.get("application/json") == ours:
                    content[MEDIA_TYPE] = content.pop("application/json")
    return schema


def install(app: FastAPI) -> None:
    """Answer every error that ``app`` knows with a problem; for others there is ``unexpected``."""
    app.add_exception_handler(StoryQAError, _on_our_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_error)


def _problem(status: int, detail: str, kind: str | None = None, **more: Any) -> Problem:
    name = f"urn:storyqa:problem:{kind}" if kind else _NAMELESS
    return Problem(type=name, title=HTTPStatus(status).phrase, status=status, detail=detail, **more)


def _no_room() -> Problem:
    return _problem(507, "the server's disk is full; make room and ask again", "no-room")


def problem_of(error: StoryQAError) -> Problem:
    """What one of our own errors means over HTTP."""
    detail = str(error)
    match error:
        case UnknownBook():
            return _problem(404, detail, "unknown-book", near=list(error.near))
        case UnknownShelf():
            return _problem(404, detail, "unknown-shelf", near=list(error.near))
        case EmptyScope():
            return _problem(404, detail, "no-book")
        case BadShelf() | BadId():
            return _problem(422, detail, "invalid-request")
        case UnknownCharacter():
            return _problem(404, detail, "unknown-character", near=list(error.near))
        case UnknownName():
            return _problem(422, detail, "unknown-name", choices=list(error.choices))
        case NeedsReferences():
            return _problem(422, detail, "needs-references")
        case BadRequest():
            in_body = error.field and not error.field.startswith("query/")
            culprit = Culprit(pointer=f"/{error.field}" if in_body else error.field, detail=detail)
            return _problem(422, detail, "invalid-request", errors=[culprit])
        case Refused():
            return _problem(error.status, detail, error.kind, most_bytes=error.most_bytes)
        case BadItem():
            problem = problem_of(error.error)
            culprits = [
                Culprit(pointer=f"/{error.item}{culprit.pointer}", detail=culprit.detail)
                for culprit in problem.errors or ()
            ]
            return problem.model_copy(update={"detail": detail, "errors": culprits or None})
        case MissingTagger():
            return _problem(501, detail, "missing-extra")
        case DeadlinePassed():
            return _problem(504, detail, "deadline-passed")
        case Overloaded() | NotReady():
            return _problem(503, detail, "not-ready" if isinstance(error, NotReady) else "overloaded")
        case StoreUnreachable():
            log.error("%s", detail)  # which names what clients need not know of
            return _problem(
                503, "the store of the books does not answer; the server's log has more", "store-unreachable"
            )
        case DiskFull():
            log.error("%s", detail)  # where the disk is
            return _no_room()
        case NotWritable():
            log.error("%s", detail)  # which names the place
            return _problem(503, "the server may not write to its store; its log has more", "no-state")
        case Overtaken():
            return _problem(409, detail, "overtaken")
        case EndpointError():
            log.warning("%s", detail)
            return _problem(503 if error.passing else 502, detail, "model-endpoint")
        case _:
            log.error("%s", detail)
            return _problem(500, detail, "broken-index-or-model")


async def _on_our_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, StoryQAError)
    if isinstance(error, ClientDisconnected):
        return Response(status_code=CLIENT_GONE)  # nobody reads it; the log and the metrics tell it apart
    problem = problem_of(error)
    retry_after_s = getattr(error, "retry_after_s", _RETRY_AFTER_S)
    headers = {"Retry-After": str(retry_after_s)} if problem.status in (503, 504) else {}
    return ProblemResponse(problem, headers | (error.headers if isinstance(error, Refused) else {}))


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    errors = error.errors()
    culprits = [
        Culprit(pointer=_pointer(one, error.body), detail=_detail(one)) for one in errors[:MOST_CULPRITS]
    ]
    detail = "; ".join(f"{culprit.pointer or 'body'}: {culprit.detail}" for culprit in culprits[:5])
    if len(errors) > MOST_CULPRITS:
        detail += f"; and {len(errors) - 5:,} more, of which {MOST_CULPRITS - 5} are listed"
    return ProblemResponse(_problem(422, detail, "invalid-request", errors=culprits))


def _pointer(error: dict[str, Any], body: Any) -> str:
    """For ``("body", 0, "k")`` the JSON pointer ``/0/k``; query and path parameters by their place."""
    place, *steps = error["loc"]
    if place == "body":
        place, steps = "", list(_steps_within(body, steps, error["type"]))
    return "/".join([place, *(_cut(str(step)).replace("~", "~0").replace("/", "~1") for step in steps)])


def _steps_within(body: Any, steps: Sequence[str | int], kind: str) -> Iterator[str | int]:
    """The steps that lead on in ``body``; pydantic has others between them, the kinds of a union for one."""
    for number, step in enumerate(steps, 1):
        inside = range(len(body)) if isinstance(body, list) else body if isinstance(body, dict) else ()
        if step in inside:
            body = body[step]
            yield step
        elif kind in _OF_NAMES and number == len(steps):
            yield step


def _cut(step: str) -> str:
    return step if len(step) <= _LONGEST_STEP else f"{step[: _LONGEST_STEP - 1]}…"


def _detail(error: dict[str, Any]) -> str:
    if error["type"] == "json_invalid":
        return f"the body is not JSON: {error['ctx']['error']}"
    if error["type"] in ("model_attributes_type", "model_type"):
        return "wanted a JSON object (and the header Content-Type: application/json)"
    return str(error["msg"])


async def _on_http_error(request: Request, error: Exception) -> Response:
    """Unknown routes, wrong methods, bodies that cannot be read."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, Refused):  # which only thus gets past what FastAPI catches
        return await _on_our_error(request, error.__cause__)
    if isinstance(error.__cause__, RequestValidationError):
        return await _on_invalid_request(request, error.__cause__)
    detail = {
        404: f"nothing is at {request.url.path}; the calls are listed at /docs",
        405: f"{request.url.path} does not take {request.method}; the calls are listed at /docs",
    }.get(error.status_code, str(error.detail))
    return ProblemResponse(_problem(error.status_code, detail), dict(error.headers or {}))


def unexpected(error: Exception) -> Problem:
    """The problem where something failed that nobody thought of; whoever asks for it logs the whole."""
    if is_full(error):
        return _no_room()
    detail = f"an unexpected {type(error).__name__}; the server's log has more under this X-Request-ID"
    return _problem(500, detail)
