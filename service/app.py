"""The HTTP service: questions in, cited answers out, every error a problem document."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, FastAPI, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.openapi.utils import get_openapi

from indexing.errors import StoryQAError
from indexing.tables import UnknownName
from service import problems
from service.answering import Ask, book_qa
from service.asking import BadRequest
from service.batching import Batcher
from service.opening import manifests
from service.schemas import (
    MOST_QUESTIONS,
    AnswerRequest,
    AnswerResponse,
    BookDetails,
    BookOut,
    Health,
    SearchRequest,
    SearchResponse,
    TextOut,
)
from service.settings import Settings
from service.version import installed_version

log = logging.getLogger(__name__)

router = APIRouter()


class Service:
    """What the calls share: the settings, the object that answers, and how far it is with loading."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.qa = book_qa(settings)
        self.batcher = Batcher(
            self.qa,
            wait_s=settings.batch_wait_ms / 1000,
            largest=settings.batch_size,
            most_waiting=settings.most_waiting,
        )
        self.missing: str | None = "the models are still being loaded"

    async def warm(self) -> None:
        """Load the default models in the thread that will run them; then the service is ready."""
        began = time.perf_counter()
        try:
            await self.batcher.run(self.qa.warm, self.settings.retriever, self.settings.reader)
        except Exception as error:
            log.exception("the default models cannot be loaded")
            self.missing = f"the default models cannot be loaded: {error}"
        else:
            log.info("ready after %.1f s", time.perf_counter() - began)
            self.missing = None

    def ask(self, request: SearchRequest) -> Ask:
        """The request with the server's choices filled in; raises ours for what cannot be answered."""
        given = request.model_dump(exclude_none=True)
        ask = Ask(**{"retriever": self.settings.retriever, "reader": self.settings.reader} | given)
        allowed = self.settings.allowed_readers()
        if ask.reader not in allowed:
            raise UnknownName("reader", ask.reader, allowed)
        self.qa.check(ask)
        return ask

    def asks(self, requests: Sequence[SearchRequest]) -> list[Ask]:
        """The same for a list; raises ``BadItem`` for the first that cannot be answered."""
        asks = []
        for item, request in enumerate(requests):
            try:
                asks.append(self.ask(request))
            except StoryQAError as error:
                raise problems.BadItem(item, error) from error
        return asks


def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


TheService = Annotated[Service, Depends(_service)]


@router.post("/answer", responses=problems.responses(400, 404, 422, 500, 502, 503), tags=["questions"])
async def answer(request: AnswerRequest, service: TheService) -> AnswerResponse:
    """Answer one question and cite the place in the book."""
    [cited] = await service.batcher.answer([await run_in_threadpool(service.ask, request)])
    return AnswerResponse.of(cited)


@router.post("/answers", responses=problems.responses(400, 404, 422, 500, 502, 503), tags=["questions"])
async def answers(
    requests: Annotated[list[AnswerRequest], Body(min_length=1, max_length=MOST_QUESTIONS)],
    service: TheService,
) -> list[AnswerResponse]:
    """Answer a list of questions, in order; none is answered where one of them cannot be."""
    asks = await run_in_threadpool(service.asks, requests)
    return [AnswerResponse.of(cited) for cited in await service.batcher.answer(asks)]


@router.post("/search", responses=problems.responses(400, 404, 422, 500, 503), tags=["questions"])
async def search(request: SearchRequest, service: TheService) -> SearchResponse:
    """The passages of a book that fit a question, best first."""
    ask = await run_in_threadpool(service.ask, request)
    began = time.perf_counter()
    [found] = await service.batcher.run(service.qa.find, [ask])
    return SearchResponse.of(found, time.perf_counter() - began)


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


@router.get("/healthz", tags=["state"])
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok")


@router.get("/readyz", responses=problems.responses(503), tags=["state"])
async def readyz(service: TheService) -> Health:
    """The default models are loaded: questions are answered without delay."""
    if service.missing is not None:
        raise problems.NotReady(service.missing)
    return Health(status="ready")


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service = app.state.service
    service.batcher.start()
    warming = asyncio.create_task(service.warm())  # meanwhile /healthz answers
    try:
        yield
    finally:
        await service.batcher.close()
        warming.cancel()


def create_app(settings: Settings) -> FastAPI:
    """The service over the store that ``settings`` names."""
    app = FastAPI(
        title="storyqa",
        summary="Answers questions about whole books and cites the exact place.",
        version=installed_version(),
        lifespan=_lifespan,
        redirect_slashes=False,
    )
    app.state.service = Service(settings)
    app.include_router(router)
    problems.install(app)

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, summary=app.summary, routes=app.routes, tags=None
            )
            app.openapi_schema = problems.document_media_type(schema)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
    return app
