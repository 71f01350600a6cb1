"""A client of the HTTP service for Python programs; it may be shared between threads."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import httpx
from tenacity import Retrying

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
    Limits,
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


class Client:
    """A connection to the service at ``url``; safe to share between threads, to be closed after use.

    ``key`` is the API key, where the service wants one. Every method raises ``ServiceError`` for what
    the service refuses; a service that is busy (429, 503) or being started again is asked again with
    ``patience``. ``timeout_s`` bounds each try.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        key: str | None = None,
        timeout_s: float = TIMEOUT_S,
        patience: Patience | None = None,
    ) -> None:
        self._http = httpx.Client(base_url=address(url), headers=headers(key), timeout=timeout_s)
        self._patience = patience or Patience()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the connections go."""
        self._http.close()

    def answer(
        self,
        book_id: str | Sequence[str],
        question: str,
        *,
        k: int | None = None,
        n_best: int | None = None,
        candidates: Sequence[str] | None = None,
        conversation: Sequence[Mapping[str, str]] | None = None,
        before: Limits = None,
        retriever: str | None = None,
        reader: str | None = None,
    ) -> AnswerResponse:
        """The answer to one question, one of ``candidates``; what is left out is the service's choice.

        ``book_id`` may be a list of ids, ``shelf:NAME`` or ``*``, and ``before`` then limits by id.
        ``conversation`` is what was asked and answered before, ``{"question": .., "answer": ..}`` each.
        """
        return self._send(
            calls.answer(
                calls.question(
                    book_id,
                    question,
                    k=k,
                    n_best=n_best,
                    candidates=candidates,
                    conversation=conversation,
                    before=before,
                    retriever=retriever,
                    reader=reader,
                )
            )
        )

    def stream_answer(
        self, book_id: str | Sequence[str], question: str, **options: Unpack[calls.AnswerOptions]
    ) -> Iterator[AnswerEvent]:
        """The answer to one question as it comes about, one event after another; ``options`` as ``answer``.

        First the passages found, unless the answer is known already, then its words as a language model
        writes them, which are a draft, and at last the answer. Who stops early has the service stop, too.
        """
        call = calls.answer(calls.question(book_id, question, **options))
        response = Retrying(**self._patience.retrying())(self._stream, call)
        try:
            told = AnswerStream(response)
            for line in response.iter_lines():
                event = told.read(line)
                if event is not None:
                    yield event
            told.end()
        except httpx.RequestError as error:
            raise unreachable(self._http.base_url, error) from error
        finally:
            response.close()

    def answers(self, questions: Sequence[Mapping[str, Any]]) -> list[AnswerResponse]:
        """The answers to many, in order; each is what ``POST /answer`` takes."""
        return self._send(calls.answers(questions))

    def search(
        self,
        book_id: str | Sequence[str],
        question: str,
        *,
        k: int | None = None,
        before: Limits = None,
        retriever: str | None = None,
    ) -> SearchResponse:
        """The passages that fit a question, best first."""
        return self._send(
            calls.search(calls.question(book_id, question, k=k, before=before, retriever=retriever))
        )

    def books(self, *, after: str | None = None, limit: int | None = None) -> list[BookOut]:
        """All books, sorted by their ids; of those ``after`` an id, at most ``limit``."""
        return self._send(calls.books(after, limit))

    def book(self, book_id: str) -> BookDetails:
        """One book, with its chapters."""
        return self._send(calls.book(book_id))

    def cover(self, book_id: str) -> bytes:
        """The picture on its cover, where the book has one: see ``has_cover`` of a book."""
        return self._send(calls.cover(book_id))

    def characters(self, book_id: str, *, before: int | str | None = None) -> list[CharacterOut]:
        """Who is in a book, the most frequent first."""
        return self._send(calls.characters(book_id, before))

    def shelves(self) -> list[ShelfOut]:
        """All shelves."""
        return self._send(calls.shelves())

    def shelf(self, name: str) -> ShelfOut:
        """One shelf."""
        return self._send(calls.shelf(name))

    def put_shelf(self, name: str, books: Sequence[str], *, title: str | None = None) -> ShelfOut:
        """Make a shelf, or have it hold these books alone."""
        return self._send(calls.put_shelf(name, books, title))

    def delete_shelf(self, name: str) -> None:
        """Forget a shelf; its books stay."""
        self._send(calls.delete_shelf(name))

    def who(
        self, book_id: str, name: str, *, before: int | str | None = None, k: int | None = None
    ) -> ProfileOut:
        """Who somebody in a book is, so far, in ``k`` sentences at most."""
        return self._send(calls.who(book_id, name, before, k))

    def recap(
        self, book_id: str, *, before: int | str | None = None, sentences: int | None = None
    ) -> RecapOut:
        """What has happened so far, chapter by chapter, in so many sentences each."""
        return self._send(calls.recap(book_id, before, sentences))

    def facts(
        self, book_id: str, properties: Sequence[str] = (), *, before: int | str | None = None
    ) -> FactsOut:
        """The facts of a book, each with its place; all, or those ``properties`` alone."""
        return self._send(calls.facts(book_id, properties, before))

    def text(self, book_id: str, start: int = 0, end: int | None = None) -> str:
        """``book.text[start:end]``, which has to be a piece of the book."""
        return self._send(calls.text(book_id, start, end)).text

    def add_book(
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
        return self._send(calls.add_book(content, name, id=id, title=title))

    def job(self, job_id: str) -> JobStatus:
        """How far a job is."""
        return self._send(calls.job(job_id))

    def wait(self, job: JobStatus, *, timeout_s: float = 3600.0) -> JobStatus:
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
            time.sleep(min(pause_s, left_s))
            try:
                job, pause_s = self.job(job.id), POLL_S
                heard = time.monotonic()
            except ServiceError as error:  # which may be no reason to give up what takes an hour
                pause_s = again_in_s(error, job, time.monotonic() - heard, self._patience)
        return done(job)

    def cancel(self, job_id: str) -> None:
        """Give a job up, whether it waits or runs."""
        self._send(calls.cancel(job_id))

    def remove_book(self, book_id: str) -> None:
        """Take a book out of the store."""
        self._send(calls.remove_book(book_id))

    def readers(self) -> list[ReaderOut]:
        """The readers that a question may name."""
        return self._send(calls.readers())

    def version(self) -> Version:
        """Which storyqa answers, and what it answers with."""
        return self._send(calls.version())

    def ready(self) -> bool:
        """Whether the models are loaded."""
        try:
            return self._send(calls.ready(), Patience(tries=1)).status == "ready"
        except ServiceError as error:
            if error.status == 503:
                return False
            raise

    def _send(self, call: Call[Result], patience: Patience | None = None) -> Result:
        result: Result = Retrying(**(patience or self._patience).retrying())(self._try, call)
        return result

    def _try(self, call: Call[Result]) -> Result:
        return call.result(self._answered(call))

    def _stream(self, call: Call[Any]) -> httpx.Response:
        response = self._answered(call, stream=True, headers={"Accept": MEDIA_TYPE})
        if not response.is_success:
            raise error_in(response)
        return response

    def _answered(
        self, call: Call[Any], *, stream: bool = False, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """The response, read to its end but where it is a ``stream`` and no refusal."""
        try:
            with parts(call) as sent:
                request = self._http.build_request(call.method, call.path, headers=headers, **sent)
                response = self._http.send(request, stream=stream)
                if not response.is_success:
                    response.read()
                return response
        except httpx.RequestError as error:
            raise unreachable(self._http.base_url, error) from error
        except UNSENDABLE as error:
            raise ServiceError(f"the request cannot be sent: {error}") from error
