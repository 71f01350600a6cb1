"""What the calls of the service share: how a question becomes a task, is done in time, or is refused."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from answering.ask import Turn
from answering.book_qa import MOST_WARMED, Ask, BookQA, Searched
from answering.follow_ups import leans_on_others
from indexing.card import BookCard
from indexing.errors import IndexMismatch, UnknownBook
from indexing.shelves import Shelf
from readers import spec_of
from readers.reading import OnWords
from service import problems
from service.load.batching import Batcher
from service.load.caching import AnswerCache
from service.load.cancellation import run_while_connected
from service.load.tasks import ANSWER, SEARCH, BatchKey, Task, make_task
from service.local_models import LocalModels, model_of, unlisted_addresses
from service.observing import observer
from service.observing.metrics import Metrics
from service.observing.tracing import Tracer
from service.overviews import Overviews
from service.schemas import AnswerRequest, AnswerResponse, ReaderOut, SearchRequest
from service.settings import Settings
from text.errors import StoryQAError
from text.registry import UnknownName

log = logging.getLogger(__name__)

Result = TypeVar("Result")
# Two, for what has been read lately is not read again.
_WARMING = ("Who is the first to come into the house?", "Where do they go in the end, and why?")


class Service:
    """What the calls share: the settings, the object that answers, and how far it is with loading."""

    def __init__(self, settings: Settings, shared_metrics: Path | None = None) -> None:
        self.settings = settings
        self.qa = BookQA.of(settings.configuration(keyless=unlisted_addresses(settings)), held=True)
        self.local_models = LocalModels(settings)
        tracer = None if settings.traces is None else Tracer(settings.traces)
        self.observer = observer.Observer(Metrics(shared_metrics), tracer)
        self.batcher = Batcher(
            self.qa,
            wait_s=settings.batch_wait_ms / 1000,
            tokens=settings.batch_tokens,
            most_waiting=settings.most_waiting,
            longest_wait_s=settings.longest_wait_s,
            deadline_s=settings.deadline_s,
            cache=AnswerCache(settings.answer_cache_mb * 2**20),
            hooks=self.observer,
        )
        self._allowed_retrievers = settings.allowed_retrievers()
        self.overviews = Overviews(self.qa, self.batcher, settings)
        self.missing: str | None = "the models are still being loaded"

    @property
    def not_ready(self) -> str | None:
        """Why questions are not answered now, if they are not."""
        return self.missing or self.batcher.trouble

    async def warm(self) -> None:
        """Load the default models in the thread that will run them; then the service is ready."""
        began = time.perf_counter()
        try:
            await self.batcher.run(self.qa.warm, self.settings.retriever, self.settings.reader)
            if spec_of(self.settings.reader).model != "remote":  # which is not asked for nothing
                await self._learn_speed()
        except Exception as error:
            log.exception("the default models cannot be loaded")
            self.missing = f"the default models cannot be loaded: {error}"
        else:
            log.info("ready after %.1f s", time.perf_counter() - began)
            self.missing = None

    async def _learn_speed(self) -> None:
        """Answer about some book, so that it is known from the first question on how many can be answered."""

        def tasks() -> list[Task]:
            for id in self.qa.store.ids(most=MOST_WARMED):
                asked = [SearchRequest(book_id=id, question=one) for one in _WARMING]
                with contextlib.suppress(IndexMismatch, UnknownBook):  # damaged or removed; another will do
                    return [self.task(ANSWER, one) for one in asked]
            return []

        made = await run_in_threadpool(tasks)
        if made:
            await self.batcher.measure(made)

    def ask(self, request: SearchRequest) -> Ask:
        """The request with the server's choices filled in; raises ``UnknownName`` for what is not allowed."""
        given = request.model_dump(exclude_none=True)
        if "candidates" in given:
            given["candidates"] = tuple(given["candidates"])
        if not isinstance(given["book_id"], str):
            given["book_id"] = ",".join(given["book_id"])
        if request.before is not None:
            given["before"] = request.before  # a null for one book is a limit that is none
        given["conversation"] = tuple(Turn(**turn) for turn in given.get("conversation", ()))
        ask = Ask(**{"retriever": self.settings.retriever, "reader": self.settings.reader} | given)
        readers = self.local_models.allowed
        if ask.reader not in readers:
            raise UnknownName("reader", ask.reader, readers)
        if ask.retriever not in self._allowed_retrievers:
            raise UnknownName("retriever", ask.retriever, self._allowed_retrievers)
        if not spec_of(ask.reader).language_model and not leans_on_others(ask.question):
            return replace(ask, conversation=())  # what changes nothing tells no two questions apart
        return ask

    def task(self, work: str, request: SearchRequest) -> Task:
        """What is to be done for ``request``; raises ours for what cannot be answered."""
        ask = self.ask(request)
        return make_task(work, ask, self.qa.check(ask))

    def tasks(self, requests: Sequence[SearchRequest]) -> list[Task]:
        """Answers to a list; raises ``BadItem`` for the first that cannot be given."""
        tasks = []
        for item, request in enumerate(requests):
            try:
                tasks.append(self.task(ANSWER, request))
            except StoryQAError as error:
                raise problems.BadItem(item, error) from error
        return tasks

    async def answers(
        self, request: Request | None, asked: Sequence[AnswerRequest], make: Callable[[], Sequence[Task]]
    ) -> list[AnswerResponse]:
        """The answers to what was ``asked``, in time; see ``in_time``."""
        await self.local_models.look_for([one.reader for one in asked])
        known = len(asked) == 1 and self.ask(asked[0]) in self.batcher.cache
        keys = [] if known else [self._key(ANSWER, one, one.reader) for one in asked]
        answers = await self.in_time(request, keys, make, self.batcher.answer)
        for cited in answers:
            self.observer.metrics.answered(cited.answerable)
        return [AnswerResponse.of(cited) for cited in answers]

    async def answer(
        self,
        request: Request | None,
        asked: AnswerRequest,
        on_found: Callable[[Searched], None] | None = None,
        on_words: OnWords | None = None,
    ) -> AnswerResponse:
        """The answer to what was ``asked``, likewise; ``on_found``, ``on_words``: see ``Task``."""
        [response] = await self.answers(
            request,
            [asked],
            lambda: [replace(self.task(ANSWER, asked), on_found=on_found, on_words=on_words)],
        )
        return response

    async def found(self, request: Request | None, asked: SearchRequest) -> Searched:
        """What is found for what was ``asked``, in time; see ``in_time``."""
        [searched] = await self.in_time(
            request, [self._key(SEARCH, asked)], lambda: [self.task(SEARCH, asked)], self.batcher.search
        )
        return searched

    async def readers(self) -> list[ReaderOut]:
        """The readers that clients may name, as far as they run now where they were found."""
        found = {name: one.name for one in await self.local_models.servers() for name in one.readers}
        return [
            ReaderOut(
                name=name,
                description=spec_of(name).does,
                is_default=name == self.settings.reader,
                any_kind=spec_of(name).any_kind,
                language_model=model_of(name),
                server=found.get(name),
            )
            for name in self.local_models.allowed
            if name in found or name in self.settings.allowed_readers()
        ]

    def cards(self, after: str = "", most: int | None = None) -> list[BookCard]:
        """What a list says of books whose index is whole; the log has the others. See ``Store.page``."""
        read, damaged = self.qa.store.page(after, most)
        for error in damaged:
            log.error("%s", error)
        return read

    def page(self, after: str, limit: int) -> tuple[list[BookCard], bool]:
        """``cards``, and whether there are books after them."""
        cards = self.cards(after, limit + 1)
        return cards[:limit], len(cards) > limit

    def shelves(self) -> list[Shelf]:
        """All shelves, by their names; the log has those that are damaged."""
        read, damaged = self.qa.store.shelves().readable()
        for error in damaged:
            log.error("%s", error)
        return read

    async def in_time(
        self,
        request: Request | None,
        keys: Sequence[BatchKey],
        make: Callable[[], Sequence[Task]],
        do: Callable[[Sequence[Task]], Awaitable[Result]],
    ) -> Result:
        """What ``do`` makes of what ``make`` makes in a thread: while the client waits, before the deadline.

        ``request`` is whose client it is; None where whoever calls is cancelled when it goes. ``keys`` are
        those of the tasks that will need room. Raises ``Overloaded``, ``ClientDisconnected`` and
        ``DeadlinePassed``. The body must have been read.
        """

        async def work() -> Result:
            async with self.batcher.deadline():
                with self.batcher.queue.coming(keys):
                    # Shielded: a thread that opens a book cannot be stopped, but need not be waited for.
                    tasks = await asyncio.shield(run_in_threadpool(make))
                self.note(request, tasks)
                return await do(tasks)

        return await (work() if request is None else run_while_connected(request, work()))

    def _key(self, work: str, asked: SearchRequest, reader: str | None = "") -> BatchKey:
        settings = self.settings
        return BatchKey(
            work, asked.retriever or settings.retriever, settings.reader if reader is None else reader
        )

    def note(self, request: Request | None, tasks: Sequence[Task]) -> None:
        """Have the log tell what was asked, where the settings want it."""
        questions = [one.ask.question for one in tasks]
        if self.settings.log_questions and request is None:
            log.info("asked: %s", "; ".join(questions), extra={"questions": questions})
        elif self.settings.log_questions and request is not None:
            request.state.logged = {"questions": questions}
