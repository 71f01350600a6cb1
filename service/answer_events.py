"""An answer as it comes about, as server-sent events: the passages found, then the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Protocol

from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from answering.book_qa import Searched
from service.problems import Problem, problem_of
from service.schemas import AnswerResponse, SearchResponse
from text.errors import StoryQAError

MEDIA_TYPE = "text/event-stream"
_KEEP_ALIVE_S = 15.0
_HEADERS = {"X-Accel-Buffering": "no"}  # nginx would keep the first event until the last has come


class EventForm(Protocol):
    """How the steps of an answer are written as server-sent events, each as none, one or several."""

    def found(self, searched: Searched) -> str:
        """The passages that will be read."""
        ...

    def answer(self, answer: AnswerResponse) -> str:
        """The answer, with which the stream ends."""
        ...

    def problem(self, problem: Problem) -> str:
        """Why there is none, with which the stream ends."""
        ...


class NamedEvents:
    """One event a step, named by it, with what the call that gives the same alone would answer."""

    def found(self, searched: Searched) -> str:
        """See ``EventForm``."""
        return _event("found", SearchResponse.of(searched))

    def answer(self, answer: AnswerResponse) -> str:
        """See ``EventForm``."""
        return _event("answer", answer)

    def problem(self, problem: Problem) -> str:
        """See ``EventForm``."""
        return _event("problem", problem)


class AnswerEvents:
    """The events of one question in a ``form``; lives in the event loop that made it."""

    def __init__(self, form: EventForm) -> None:
        self._form = form
        self._loop = asyncio.get_running_loop()
        self._found: asyncio.Future[Searched] = self._loop.create_future()

    def on_found(self, searched: Searched) -> None:
        """What was found, from any thread; what comes after the first is dropped."""
        self._loop.call_soon_threadsafe(self._note, searched)

    def _note(self, searched: Searched) -> None:
        if not self._found.done():
            self._found.set_result(searched)

    async def response(self, answering: Coroutine[Any, Any, AnswerResponse]) -> StreamingResponse:
        """The stream, begun once there is something to tell; raises what ``answering`` raises before."""
        working = asyncio.ensure_future(answering)
        try:
            either: tuple[asyncio.Future[Any], ...] = (working, self._found)
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            working.cancel()
            raise
        if working.done():
            working.result()
        return StreamingResponse(self._events(working), media_type=MEDIA_TYPE, headers=_HEADERS)

    async def _events(self, working: asyncio.Future[AnswerResponse]) -> AsyncIterator[str]:
        try:
            if self._found.done():
                yield self._form.found(self._found.result())
            while not (await asyncio.wait([working], timeout=_KEEP_ALIVE_S))[0]:
                yield ": still at it\n\n"  # by which proxies know that we live
            try:
                answer = working.result()
            except StoryQAError as error:
                yield self._form.problem(problem_of(error))
            else:
                yield self._form.answer(answer)
        finally:
            working.cancel()


def documented() -> dict[str, Any]:
    """The media type as the OpenAPI has it."""
    return {MEDIA_TYPE: {"schema": {"anyOf": [_schema(event, kind) for event, kind in _EVENTS.items()]}}}


_EVENTS = {"found": "SearchResponse", "answer": "AnswerResponse", "problem": "Problem"}


def _schema(event: str, kind: str) -> dict[str, Any]:
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": f"#/components/schemas/{kind}"},
    }
    return {
        "type": "object",
        "required": ["event", "data"],
        "properties": {"event": {"type": "string", "const": event}, "data": data},
    }


def _event(name: str, content: BaseModel) -> str:
    # ASCII: a problem may quote half a surrogate pair, which has no UTF-8.
    return f"event: {name}\ndata: {json.dumps(content.model_dump(exclude_none=name == 'problem'))}\n\n"
