"""The calls about questions, books and the state of the service."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from fastapi.responses import Response

from answering import profiles, recaps
from answering.ask import BadRequest
from answering.facts import MOST_PROPERTIES
from indexing.formats.pictures import TYPES, picture_type
from indexing.ids import LONGEST
from service import answer_events, problems
from service.answering_service import Service
from service.book_schemas import BookDetails, BookOut, CharacterOut, TextOut
from service.http_errors import Refused
from service.json_bodies import JsonRoute
from service.observing.metrics import MEDIA_TYPE as METRICS_TYPE
from service.overview_schemas import FactsOut, ProfileOut, RecapOut
from service.query_names import check_query_names
from service.schemas import (
    MOST_QUESTIONS,
    AnswerRequest,
    AnswerResponse,
    Health,
    ReaderOut,
    SearchRequest,
    SearchResponse,
    Version,
)
from service.version import running_version

router = APIRouter(route_class=JsonRoute, dependencies=[Depends(check_query_names)])
state_router = APIRouter(tags=["state"])  # in its addresses watchers may have names of their own


def _service(request: Request) -> Service:
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


TheService = Annotated[Service, Depends(_service)]
BookInPath = Annotated[str, Path(examples=["the-bell"])]
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
    `words` as a language model writes them, which are a draft, then `answer`, or `problem` where it fails
    from there on.
    """
    if answer_events.MEDIA_TYPE in request.headers.get("accept", ""):
        events = answer_events.AnswerEvents(answer_events.NamedEvents())
        return await events.response(service.answer(request, asked, events.on_found, events.on_words))
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


@router.get("/readers", responses=problems.responses(422, 500), tags=["questions"])
async def readers(service: TheService) -> list[ReaderOut]:
    """The readers that a question may name: those listed, and language models found on this machine."""
    return await service.readers()


@router.get("/books", responses=problems.responses(422, 500), tags=["books"])
def books(
    service: TheService,
    after: Annotated[
        str, Query(max_length=LONGEST, description="Only books whose ids come after it.", examples=["emma"])
    ] = "",
    limit: Annotated[int | None, Query(ge=1, description="At most so many; all if left out.")] = None,
) -> list[BookOut]:
    """Every book in the store whose index is whole, in the order of their ids.

    A page of them with `limit`, and the next one with the last id of it as `after`.
    """
    return [BookOut.of(card) for card in service.cards(after, limit)]


@router.get("/books/{book_id}", responses=problems.responses(404, 422, 500), tags=["books"])
def book(book_id: BookInPath, service: TheService) -> BookDetails:
    """One book: its chapters, and how it was indexed."""
    return BookDetails.of_all(service.qa.text(book_id))


@router.get("/books/{book_id}/text", responses=problems.responses(404, 422, 500), tags=["books"])
def text(
    book_id: BookInPath,
    service: TheService,
    start: Annotated[int, Query(ge=0, description="The first character.", examples=[10412])] = 0,
    end: Annotated[
        int | None,
        Query(ge=1, description="One past the last; the book's end if left out.", examples=[10427]),
    ] = None,
) -> TextOut:
    """A stretch of the book's text; offsets are Unicode code points."""
    book = service.qa.text(book_id)
    end = book.characters if end is None else end
    if not start < end <= book.characters:
        raise BadRequest(
            "query/end" if start < book.characters else "query/start",
            f"start {start} and end {end} do not bound a piece of {book_id!r}; "
            f"wanted 0 <= start < end <= {book.characters}",
        )
    return TextOut(start=start, end=end, text=book.text(start, end))


class NoCover(Refused):
    """A book whose file named no picture."""

    status = 404
    kind = "no-cover"


@router.get(
    "/books/{book_id}/cover",
    response_class=Response,
    responses=problems.responses(404, 422, 500)
    | {200: {"content": {type: {"schema": {"type": "string", "format": "binary"}} for type in TYPES}}},
    tags=["books"],
)
def cover(book_id: BookInPath, service: TheService) -> Response:
    """The picture on the book's cover, where its file has one: `has_cover` of the book."""
    picture = service.qa.open(book_id).cover
    media_type = None if picture is None else picture_type(picture)
    if media_type is None:
        raise NoCover(f"{book_id!r} has no cover; has_cover of a book says whether it has one")
    return Response(picture, media_type=media_type)


Read = Annotated[
    str | None,
    Query(
        alias="before",
        max_length=40,
        description="Only what stands before it: a character offset or a share.",
        examples=["40%"],
    ),
]


@router.get("/books/{book_id}/characters", responses=problems.responses(404, 422, 500), tags=["books"])
async def characters(book_id: BookInPath, service: TheService, before: Read = None) -> list[CharacterOut]:
    """Who is in the book, the most frequent first. The first call for a book reads all of it, for seconds."""
    return await service.overviews.characters(book_id, before)


@router.get("/books/{book_id}/who", responses=problems.responses(404, 422, 500, 504), tags=["books"])
async def who(
    book_id: BookInPath,
    service: TheService,
    name: Annotated[
        str, Query(min_length=1, max_length=200, description="Any of their names.", examples=["Lisbet"])
    ],
    before: Read = None,
    k: Annotated[
        int, Query(ge=1, le=profiles.MOST_SENTENCES, description="At most so many sentences.")
    ] = profiles.SENTENCES,
) -> ProfileOut:
    """Who somebody is, so far: the sentences that introduce and describe them, each with its place.

    A name that nobody has, or several have, is 404 with the names `near` it.
    """
    return await service.overviews.who(book_id, name, before, k)


@router.get("/books/{book_id}/recap", responses=problems.responses(404, 422, 500), tags=["books"])
async def recap(
    book_id: BookInPath,
    service: TheService,
    before: Read = None,
    sentences: Annotated[
        int, Query(ge=1, le=recaps.MOST_SENTENCES, description="At most so many of each chapter.")
    ] = recaps.SENTENCES,
) -> RecapOut:
    """What has happened so far: the most telling sentences of each chapter, each with its place."""
    return await service.overviews.recap(book_id, before, sentences)


@router.get("/books/{book_id}/facts", responses=problems.responses(404, 422, 500, 504), tags=["books"])
async def facts(
    book_id: BookInPath,
    service: TheService,
    property: Annotated[
        list[str] | None,
        Query(
            max_length=MOST_PROPERTIES,
            description="Only these: `title`, `author`, `first published`, `genre`, `main characters`, "
            "`narrative location`; `occupation`, `spouse`, `parents` or `residence`, of each main character "
            "or `of NAME`; or any words.",
            examples=[["author", "occupation of Lisbet"]],
        ),
    ] = None,
    before: Read = None,
) -> FactsOut:
    """The facts of a book, each with its place, and what it does not say; the first call takes seconds."""
    return await service.overviews.facts(book_id, property or (), before)


@state_router.get("/healthz", response_model_exclude_none=True)
async def healthz() -> Health:
    """The process is alive."""
    return Health(status="ok")


@state_router.get("/readyz", responses=problems.responses(503), response_model_exclude_none=True)
async def readyz(request: Request, service: TheService) -> Health:
    """The default models are loaded and questions are answered; `indexing` says why uploads must wait."""
    if service.not_ready is not None:
        raise problems.NotReady(service.not_ready)
    return Health(status="ready", indexing=request.app.state.ingester.indexer.trouble)


@state_router.get("/version")
def version(service: TheService) -> Version:
    """Which storyqa this is, and what it answers with where a question does not say."""
    return running_version(service.settings)


@state_router.get("/metrics", include_in_schema=False)
def metrics(service: TheService) -> Response:
    """What Prometheus wants to know."""
    return Response(service.observer.metrics.exposition(), media_type=METRICS_TYPE)
