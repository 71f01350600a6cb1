"""An answer as it comes about, as server-sent events: the passages found, words of it, then the answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import Any, Protocol

from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from answering.book_qa import Searched
from service.problems import Problem, problem_of, unexpected
from service.schemas import AnswerResponse, SearchResponse, WordsOut
from text.errors import StoryQAError

log = logging.getLogger(__name__)

MEDIA_TYPE = "text/event-stream"
_KEEP_ALIVE_S = 15.0
_HEADERS = {"X-Accel-Buffering": "no"}  # nginx would keep the first event until the last has come


class EventForm(Protocol):
    """How the steps of an answer are written as server-sent events, each as none, one or several."""

    def found(self, searched: Searched) -> str:
        """The passages that will be read."""
        ...

    def words(self, text: str) -> str:
        """Some more words of the answer, as a language model writes them: a draft."""
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

    def words(self, text: str) -> str:
        """See ``EventForm``."""
        return _event("words", WordsOut(text=text))

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
        self._words: asyncio.Queue[str] = asyncio.Queue()

    def on_found(self, searched: Searched) -> None:
        """What was found, from any thread; what comes after the first is dropped."""
        self._loop.call_soon_threadsafe(self._note, searched)

    def on_words(self, text: str) -> None:
        """Some more words, from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody hears them
            self._loop.call_soon_threadsafe(self._words.put_nowait, text)

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
            async with contextlib.aclosing(self._heard(working)) as heard:
                async for text in heard:
                    # Where nothing is heard: by which proxies know that we live.
                    yield ": still at it\n\n" if text is None else self._form.words(text)
            try:
                answer = working.result()
            except StoryQAError as error:
                yield self._form.problem(problem_of(error))
            except Exception as error:  # the status has gone out: nothing else would tell the client
                log.exception("an unexpected %s", type(error).__name__)
                yield self._form.problem(unexpected(error))
            else:
                yield self._form.answer(answer)
        finally:
            working.cancel()

    async def _heard(self, working: asyncio.Future[AnswerResponse]) -> AsyncGenerator[str | None]:
        """The words as they come, until the work is done; None where there are none for long."""
        while not working.done() or not self._words.empty():
            listening = asyncio.ensure_future(self._words.get())
            try:
                either: tuple[asyncio.Future[Any], ...] = (listening, working)
                await asyncio.wait(either, timeout=_KEEP_ALIVE_S, return_when=asyncio.FIRST_COMPLETED)
                if listening.done():
                    yield listening.result()
                elif not working.done():
                    yield None
            finally:
                listening.cancel()


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def documented() -> dict[str, Any]:
    """The media type as the OpenAPI has it."""
    return {MEDIA_TYPE: {"schema": {"anyOf": [_schema(*event) for event in _EVENTS.items()]}}}


_EVENTS = {
    "found": _reference("SearchResponse"),
    "words": WordsOut.model_json_schema(),
    "answer": _reference("AnswerResponse"),
    "problem": _reference("Problem"),
}


def _schema(event: str, content: dict[str, Any]) -> dict[str, Any]:
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": content,
    }
    return {
        "type": "object",
        "required": ["event", "data"],
        "properties": {"event": {"type": "string", "const": event}, "data": data},
    }


def _event(name: str, content: BaseModel) -> str:
    # ASCII: a problem may quote half a surrogate pair, which has no UTF-8.
    return f"event: {name}\ndata: {json.dumps(content.model_dump(exclude_none=name == 'problem'))}\n\n"
