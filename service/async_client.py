"""The client for ``async`` programs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx
from tenacity import AsyncRetrying

from service import calls
from service.book_schemas import BookDetails, BookOut, CharacterOut
from service.client_events import MEDIA_TYPE, AnswerEvent, AnswerStream
from service.client_requests import (
    POLL_S,
    TIMEOUT_S,
    UNSENDABLE,
    URL,
    Call,
    JobStatus,
    Patience,
    ServiceError,
    address,
    again_in_s,
    done,
    error_in,
    headers,
    parts,
    unreachable,
)
from service.overview_schemas import FactsOut, ProfileOut, RecapOut
from service.schemas import AnswerResponse, ReaderOut, SearchResponse, ShelfOut, Version

Result = TypeVar("Result")


class AsyncClient:
    """``Client`` for ``async`` programs: the same calls, awaited, all of them in one event loop."""

    def __init__(
        self,
        url: str = URL,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        patience: Patience | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(base_url=address(url), headers=headers(key), timeout=timeout_s)
        self._patience = patience or Patience()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let the connections go."""
        await self._http.aclose()

    async def answer(
        self, book_id: str | Sequence[str], question: str, **options: Unpack[calls.AnswerOptions]
    ) -> AnswerResponse:
        """The answer to one question; ``options`` are those of ``Client.answer``."""
        return await self._send(calls.answer(calls.question(book_id, question, **options)))

    async def stream_answer(
        self, book_id: str | Sequence[str], question: str, **options: Unpack[calls.AnswerOptions]
    ) -> AsyncIterator[AnswerEvent]:
        """The answer to one question as it comes about, one event after another; ``options`` as ``answer``.

        First the passages found, unless the answer is known already, then its words as a language model
        writes them, which are a draft, and at last the answer. Who stops early has the service stop, too.
        """
        call = calls.answer(calls.question(book_id, question, **options))
        retrying = AsyncRetrying(**self._patience.retrying())
        response: httpx.Response = await retrying(self._stream, call)
        try:
            told = AnswerStream(response)
            async for line in response.aiter_lines():
                event = told.read(line)
                if event is not None:
                    yield event
            told.end()
        except httpx.RequestError as error:
            raise unreachable(self._http.base_url, error) from error
        finally:
            await response.aclose()

    async def answers(self, questions: Iterable[Mapping[str, Any]]) -> list[AnswerResponse]:
        """The answers to many, in order; each is what ``POST /answer`` takes."""
        return await self._send(calls.answers([*questions]))

    async def search(
        self, book_id: str | Sequence[str], question: str, **options: Unpack[calls.SearchOptions]
    ) -> SearchResponse:
        """The passages that fit a question, best first; ``options`` are those of ``Client.search``."""
        return await self._send(calls.search(calls.question(book_id, question, **options)))

    async def books(self, *, after: str | None = None, limit: int | None = None) -> list[BookOut]:
        """All books, sorted by their ids; of those ``after`` an id, at most ``limit``."""
        return await self._send(calls.books(after, limit))

    async def book(self, book_id: str) -> BookDetails:
        """One book, with its chapters."""
        return await self._send(calls.book(book_id))

    async def cover(self, book_id: str) -> bytes:
        """The picture on its cover, where the book has one: see ``has_cover`` of a book."""
        return await self._send(calls.cover(book_id))

    async def characters(self, book_id: str, *, before: int | str | None = None) -> list[CharacterOut]:
        """Who is in a book, the most frequent first."""
        return await self._send(calls.characters(book_id, before))

    async def shelves(self) -> list[ShelfOut]:
        """All shelves."""
        return await self._send(calls.shelves())

    async def shelf(self, name: str) -> ShelfOut:
        """One shelf."""
        return await self._send(calls.shelf(name))

    async def put_shelf(self, name: str, books: Sequence[str], *, title: str | None = None) -> ShelfOut:
        """Make a shelf, or have it hold these books alone."""
        return await self._send(calls.put_shelf(name, books, title))

    async def delete_shelf(self, name: str) -> None:
        """Forget a shelf; its books stay."""
        await self._send(calls.delete_shelf(name))

    async def who(
        self, book_id: str, name: str, *, before: int | str | None = None, k: int | None = None
    ) -> ProfileOut:
        """Who somebody in a book is, so far, in ``k`` sentences at most."""
        return await self._send(calls.who(book_id, name, before, k))

    async def recap(
        self, book_id: str, *, before: int | str | None = None, sentences: int | None = None
    ) -> RecapOut:
        """What has happened so far, chapter by chapter, in so many sentences each."""
        return await self._send(calls.recap(book_id, before, sentences))

    async def facts(
        self, book_id: str, properties: Sequence[str] = (), *, before: int | str | None = None
    ) -> FactsOut:
        """The facts of a book, each with its place; all, or those ``properties`` alone."""
        return await self._send(calls.facts(book_id, properties, before))

    async def text(self, book_id: str, start: int = 0, end: int | None = None) -> str:
        """``book.text[start:end]``, which has to be a piece of the book."""
        return (await self._send(calls.text(book_id, start, end))).text

    async def add_book(
        self,
        source: Path | str | bytes,
        *,
        id: str | None = None,
        title: str | None = None,
        name: str = "book.txt",
    ) -> JobStatus:
        """Send a book and return its job at once; ``wait`` waits for it.

        A path is a file in any format that the service reads; bytes are its content, in the format that
        ``name`` ends with.
        """
        content = source if isinstance(source, bytes) else Path(source)
        name = name if isinstance(content, bytes) else content.name
        return await self._send(calls.add_book(content, name, id=id, title=title))

    async def job(self, job_id: str) -> JobStatus:
        """How far a job is."""
        return await self._send(calls.job(job_id))

    async def wait(self, job: JobStatus, *, timeout_s: float = 3600.0) -> JobStatus:
        """The job when it is done; raises ``JobFailed``, and ``TimeoutError`` when it takes longer.

        A service that is being started again is waited for: ``longest_gone_s`` of the client's ``Patience``.
        """
        heard = time.monotonic()
        deadline = heard + timeout_s
        pause_s = POLL_S
        while not job.ended:
            left_s = deadline - time.monotonic()
            if left_s < 0:
                raise TimeoutError(f"job {job.id} is {job.status} after {timeout_s:g} s; wait longer for it")
            await asyncio.sleep(min(pause_s, left_s))
            try:
                job, pause_s = await self.job(job.id), POLL_S
                heard = time.monotonic()
            except ServiceError as error:  # which may be no reason to give up what takes an hour
                pause_s = again_in_s(error, job, time.monotonic() - heard, self._patience)
        return done(job)

    async def cancel(self, job_id: str) -> None:
        """Give a job up, whether it waits or runs."""
        await self._send(calls.cancel(job_id))

    async def remove_book(self, book_id: str) -> None:
        """Take a book out of the store."""
        await self._send(calls.remove_book(book_id))

    async def readers(self) -> list[ReaderOut]:
        """The readers that a question may name."""
        return await self._send(calls.readers())

    async def version(self) -> Version:
        """Which storyqa answers, and what it answers with."""
        return await self._send(calls.version())

    async def ready(self) -> bool:
        """Whether the models are loaded."""
        try:
            return (await self._send(calls.ready(), Patience(tries=1))).status == "ready"
        except ServiceError as error:
            if error.status == 503:
                return False
            raise

    async def _send(self, call: Call[Result], patience: Patience | None = None) -> Result:
        return await AsyncRetrying(**(patience or self._patience).retrying())(self._try, call)

    async def _try(self, call: Call[Result]) -> Result:
        return call.result(await self._answered(call))

    async def _stream(self, call: Call[Any]) -> httpx.Response:
        response = await self._answered(call, stream=True, headers={"Accept": MEDIA_TYPE})
        if not response.is_success:
            raise error_in(response)
        return response

    async def _answered(
        self, call: Call[Any], *, stream: bool = False, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """The response, read to its end but where it is a ``stream`` and no refusal."""
        try:
            with parts(call) as sent:
                request = self._http.build_request(call.method, call.path, headers=headers, **sent)
                response = await self._http.send(request, stream=stream)
                if not response.is_success:
                    await response.aread()
                return response
        except httpx.RequestError as error:
            raise unreachable(self._http.base_url, error) from error
        except UNSENDABLE as error:
            raise ServiceError(f"the request cannot be sent: {error}") from error
