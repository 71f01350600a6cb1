"""The HTTP service: questions in, cited answers out, every error a problem document."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Body, Depends, FastAPI, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response

from answering.ask import BadRequest
from answering.book_qa import Ask, BookQA, Searched
from answering.open_books import manifests
from indexing.errors import IndexMismatch, UnknownBook
from readers import spec_of
from service import answer_events, page, problems
from service.access import middleware as access
from service.book_schemas import BookDetails, BookOut, TextOut
from service.ingestion import routes as ingestion
from service.ingestion.ingester import Ingester
from service.json_bodies import JsonRoute
from service.load.batching import Batcher
from service.load.caching import AnswerCache
from service.load.cancellation import on_stop_signal, run_while_connected
from service.load.tasks import ANSWER, SEARCH, BatchKey, Task, make_task
from service.observing import observer
from service.observing.metrics import MEDIA_TYPE as METRICS_TYPE
from service.observing.metrics import Metrics
from service.observing.tracing import Tracer
from service.schemas import (
    MOST_QUESTIONS,
    AnswerRequest,
    AnswerResponse,
    Health,
    SearchRequest,
    SearchResponse,
    Version,
)
from service.settings import Settings
from service.version import installed_version
from text.errors import StoryQAError
from text.registry import UnknownName

log = logging.getLogger(__name__)

router = APIRouter(route_class=JsonRoute)

Result = TypeVar("Result")
# Two, for what has been read lately is not read again.
_WARMING = ("Who is the first to come into the house?", "Where do they go in the end, and why?")


class Service:
    """What the calls share: the settings, the object that answers, and how far it is with loading."""

    def __init__(self, settings: Settings, shared_metrics: Path | None = None) -> None:
        self.settings = settings
        self.qa = BookQA.of(settings.configuration(), held=True)
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
        self._allowed_readers = settings.allowed_readers()
        self._allowed_retrievers = settings.allowed_retrievers()
        self.missing: str | None = "the models are still being loaded"

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
            for manifest in manifests(self.qa.store)[0]:
                asked = [SearchRequest(book_id=manifest.id, question=one) for one in _WARMING]
                with contextlib.suppress(IndexMismatch, UnknownBook):  # damaged or removed; another will do
                    return [self.task(ANSWER, one) for one in asked]
            return []

        made = await run_in_threadpool(tasks)
        if made:
            await self.batcher.measure(made)

    def ask(self, request: SearchRequest) -> Ask:
        """The request with the server's choices filled in; raises ``UnknownName`` for what is not allowed."""
        given = request.model_dump(exclude_none=True)
        ask = Ask(**{"retriever": self.settings.retriever, "reader": self.settings.reader} | given)
        if ask.reader not in self._allowed_readers:
            raise UnknownName("reader", ask.reader, self._allowed_readers)
        if ask.retriever not in self._allowed_retrievers:
            raise UnknownName("retriever", ask.retriever, self._allowed_retrievers)
        return ask

    def task(self, work: str, request: SearchRequest) -> Task:
        """What is to be done for ``request``; raises ours for what cannot be answered."""
        ask = self.ask(request)
        self.qa.check(ask)
        return make_task(work, ask, self.qa.open(ask.book_id).manifest)

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
        self, request: Request, asked: Sequence[AnswerRequest], make: Callable[[], Sequence[Task]]
    ) -> list[AnswerResponse]:
        """The answers to what was ``asked``, in time; see ``in_time``."""
        known = len(asked) == 1 and self.ask(asked[0]) in self.batcher.cache
        keys = [] if known else [self._key(ANSWER, one, one.reader) for one in asked]
        answers = await self.in_time(request, keys, make, self.batcher.answer)
        for cited in answers:
            self.observer.metrics.answered(cited.answerable)
        return [AnswerResponse.of(cited) for cited in answers]

    async def answer(
        self, request: Request, asked: AnswerRequest, on_found: Callable[[Searched], None] | None = None
    ) -> AnswerResponse:
        """The answer to what was ``asked``, likewise; ``on_found`` as a ``Task`` has it."""
        [response] = await self.answers(
            request, [asked], lambda: [replace(self.task(ANSWER, asked), on_found=on_found)]
        )
        return response

    async def found(self, request: Request, asked: SearchRequest) -> Searched:
        """What is found for what was ``asked``, in time; see ``in_time``."""
        [searched] = await self.in_time(
            request, [self._key(SEARCH, asked)], lambda: [self.task(SEARCH, asked)], self.batcher.search
        )
        return searched

    async def in_time(
        self,
        request: Request,
        keys: Sequence[BatchKey],
        make: Callable[[], Sequence[Task]],
        do: Callable[[Sequence[Task]], Awaitable[Result]],
    ) -> Result:
        """What ``do`` makes of what ``make`` makes in a thread: while the client waits, before the deadline.

        ``keys`` are those of the tasks that will need room. Raises ``Overloaded``, ``ClientDisconnected`` and
        ``DeadlinePassed``. The body must have been read.
        """

        async def work() -> Result:
            async with self.batcher.deadline():
                with self.batcher.queue.coming(keys):
                    # Shielded: a thread that opens a book cannot be stopped, but need not be waited for.
                    tasks = await asyncio.shield(run_in_threadpool(make))
                self.note(request, tasks)
                return await do(tasks)

        return await run_while_connected(request, work())

    def _key(self, work: str, asked: SearchRequest, reader: str | None = "") -> BatchKey:
        settings = self.settings
        return BatchKey(
            work, asked.retriever or settings.retriever, settings.reader if reader is None else reader
        )

    def note(self, request: Request, tasks: Sequence[Task]) -> None:
        """Have the log tell what was asked, where the settings want it."""
        if self.settings.log_questions:
            request.state.logged = {"questions": [one.ask.question for one in tasks]}


def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


TheService = Annotated[Service, Depends(_service)]
_FAILURES = (400, 404, 422, 500, 502, 503, 504)


@router.post(
    "/answer",
    response_model=AnswerResponse,
    responses=problems.responses(*_FAILURES) | {200: {"content": answer_events.documented()}},
    tags=["questions"],
)
async def answer(asked: AnswerRequest, request: Request, service: TheService) -> AnswerResponse | Response:
    """Answer one question and cite the place in the book.

    With `Accept: text/event-stream` the answer comes in server-sent events: `found`, what `POST /search`
    would answer, as soon as there are passages to read (left out where the answer is known already),
    then `answer`, or `problem` where it fails from there on.
    """
    if answer_events.MEDIA_TYPE in request.headers.get("accept", ""):
        events = answer_events.AnswerEvents()
        return await events.response(service.answer(request, asked, events.on_found))
    return await service.answer(request, asked)


@router.post("/answers", responses=problems.responses(*_FAILURES), tags=["questions"])
async def answers(
    asked: Annotated[list[AnswerRequest], Body(min_length=1, max_length=MOST_QUESTIONS)],
    request: Request,
    service: TheService,
) -> list[AnswerResponse]:
    """Answer a list of questions, in order; none is answered where one of them cannot be."""
    return await service.answers(request, asked, lambda: service.tasks(asked))


@router.post("/search", responses=problems.responses(400, 404, 422, 500, 503, 504), tags=["questions"])
async def search(asked: SearchRequest, request: Request, service: TheService) -> SearchResponse:
    """The passages of a book that fit a question, best first."""
    return SearchResponse.of(await service.found(request, asked))


@router.get("/books", responses=problems.responses(500), tags=["books"])
def books(service: TheService) -> list[BookOut]:
    """Every book in the store whose index is whole."""
    read, damaged = manifests(service.qa.store)
    for error in damaged:
        log.error("%s", error)
    return [BookOut.of(manifest) for manifest in read]


@router.get("/books/{book_id}", responses=problems.responses(404, 422, 500), tags=["books"])
def book(book_id: str, service: TheService) -> BookDetails:
    """One book: its chapters, and how it was indexed."""
    return BookDetails.of(service.qa.store.manifest(book_id))


@router.get("/books/{book_id}/text", responses=problems.responses(404, 422, 500), tags=["books"])
def text(
    book_id: str,
    service: TheService,
    start: Annotated[int, Query(ge=0, description="The first character.", examples=[10412])] = 0,
    end: Annotated[
        int | None,
        Query(ge=1, description="One past the last; the book's end if left out.", examples=[10427]),
    ] = None,
) -> TextOut:
    """A stretch of the book's text; offsets are Unicode code points."""
    index = service.qa.open(book_id)
    end = index.characters if end is None else end
    if not start < end <= index.characters:
        raise BadRequest(
            "query/end" if start < index.characters else "query/start",
            f"start {start} and end {end} do not bound a piece of {book_id!r}; "
            f"wanted 0 <= start < end <= {index.characters}",
        )
    return TextOut(start=start, end=end, text=index.text(start, end))


@router.get("/healthz", response_model_exclude_none=True, tags=["state"])
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok")


@router.get("/readyz", responses=problems.responses(503), response_model_exclude_none=True, tags=["state"])
async def readyz(request: Request, service: TheService) -> Health:
    """The default models are loaded and questions are answered; `indexing` says why uploads must wait."""
    not_ready = service.missing or service.batcher.trouble
    if not_ready is not None:
        raise problems.NotReady(not_ready)
    return Health(status="ready", indexing=request.app.state.ingester.indexer.trouble)


@router.get("/version", tags=["state"])
async def version(service: TheService) -> Version:
    """Which storyqa this is, and what it answers with where a question does not say."""
    settings = service.settings
    return Version(version=installed_version(), retriever=settings.retriever, reader=settings.reader)


@router.get("/metrics", include_in_schema=False)
def metrics(service: TheService) -> Response:
    """What Prometheus wants to know."""
    return Response(service.observer.metrics.exposition(), media_type=METRICS_TYPE)


@contextlib.asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    ingester: Ingester = app.state.ingester
    service.batcher.start()
    ingester.indexer.start()
    warming = asyncio.create_task(service.warm())  # meanwhile /healthz answers
    if app.state.listens_warm:
        await warming
    try:
        with on_stop_signal(ingester.close):
            yield
    finally:
        ingester.close()
        await asyncio.to_thread(ingester.indexer.close)
        await service.batcher.close()
        warming.cancel()
        await asyncio.to_thread(service.observer.close)


def create_app(
    settings: Settings, *, shared_metrics: Path | None = None, listens_warm: bool = False
) -> FastAPI:
    """The service over the store that ``settings`` names.

    Processes that answer at one socket count together in the folder ``shared_metrics``, and each
    ``listens_warm``: it takes no request before its models are loaded, for the others can.
    """
    app = FastAPI(
        title="storyqa",
        summary="Answers questions about whole books and cites the exact place.",
        version=installed_version(),
        lifespan=_lifespan,
        redirect_slashes=False,
        docs_url=None,  # FastAPI's own loads from elsewhere; the page has it
        redoc_url=None,
    )
    service = app.state.service = Service(settings, shared_metrics)
    app.state.ingester = Ingester(settings, service.qa.store)
    app.state.listens_warm = listens_warm
    app.include_router(router)
    app.include_router(ingestion.router)
    page.install(app)
    problems.install(app)
    access.install(app, settings)
    observer.install(app, service.observer)
    app.add_middleware(access.SecurityHeaders)  # last: the outermost

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes, tags=None
            )
            app.openapi_schema = access.describe(problems.document_media_type(schema))
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
    return app
