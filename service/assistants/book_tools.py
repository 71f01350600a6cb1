"""What assistants can do with the books: tools, each a sentence, what it takes and what it gives back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from answering import profiles, recaps
from answering.ask import BadRequest
from answering.citing import page_at
from answering.facts import MOST_PROPERTIES
from answering.readable_chapters import chapter_at, chapters_until
from indexing.ids import LONGEST
from indexing.index import BookIndex
from service.answering_service import Service
from service.book_schemas import BookOut, ChapterOut, TextOut
from service.overview_schemas import FactsOut, ProfileOut, RecapOut
from service.request_body import RequestBody
from service.schemas import AnswerRequest, AnswerResponse, Before, BookId, SearchRequest, SearchResponse

LONGEST_READ = 20_000  # characters: an assistant has to hold them all
PAGE = 100  # books, for the same reason
MOST_LISTED = 1_000


class BooksRequest(RequestBody):
    """A page of the list of books."""

    model_config = ConfigDict(extra="forbid")

    after: str = Field(default="", max_length=LONGEST, description="Only books whose ids come after it.")
    limit: int = Field(default=PAGE, ge=1, le=MOST_LISTED, description="At most so many.")


class BookRequest(RequestBody):
    """A book, as far as it has been read."""

    model_config = ConfigDict(extra="forbid")  # a limit by another name would show the whole book

    book_id: BookId
    before: Before = None


class ReadRequest(BookRequest):
    """A stretch of a book, or a chapter."""

    chapter: str | None = Field(
        default=None, max_length=1000, description="A chapter's title, in place of start and end."
    )
    start: StrictInt | None = Field(
        default=None, ge=0, description="The first character; the book's first if left out."
    )
    end: StrictInt | None = Field(default=None, ge=1, description="One past the last.")


class WhoRequest(BookRequest):
    """A person of a book."""

    name: str = Field(min_length=1, max_length=200, description="Any name that the book has for them.")
    k: int = Field(
        default=profiles.SENTENCES, ge=1, le=profiles.MOST_SENTENCES, description="At most so many sentences."
    )


class RecapRequest(BookRequest):
    """What has happened in a book."""

    sentences: int = Field(
        default=recaps.SENTENCES,
        ge=1,
        le=recaps.MOST_SENTENCES,
        description="At most so many of each chapter.",
    )


class FactsRequest(BookRequest):
    """The facts of a book."""

    property: list[str] = Field(
        default_factory=list,
        max_length=MOST_PROPERTIES,
        description="Only these, such as author, main characters, spouse of NAME, or any words; all if left "
        "out.",
    )


class BookList(BaseModel):
    """Books that can be asked, in the order of their ids."""

    books: list[BookOut]
    next_after: str | None = Field(description="What `after` is for the next page; null on the last.")


class ChapterList(BaseModel):
    """The chapters of a book; the last may go on behind the limit."""

    chapters: list[ChapterOut]


class ReadOut(TextOut):
    """A stretch of a book."""

    chapter: str | None = Field(description="The chapter it begins in; null where none is marked.")
    page: str | None = Field(None, description="The printed number of the page it begins on.")
    next_start: int | None = Field(description="Where to read on; null at the end of what was asked for.")


@dataclass(frozen=True, slots=True)
class Tool:
    """One thing that can be done: ``run`` is given a valid ``asks`` and gives a ``returns``."""

    name: str
    description: str
    asks: type[RequestBody]
    returns: type[BaseModel]
    run: Callable[[Any], Awaitable[BaseModel]]


def tools_of(service: Service) -> dict[str, Tool]:
    """The tools over the books of ``service``, by their names; they raise ours for what cannot be done."""
    tools = BookTools(service)
    limit = "Nothing that stands behind `before` is used or told."
    return {
        tool.name: tool
        for tool in (
            Tool(
                "books",
                "List the books that can be asked, a page at a time; those not on it can be asked, too.",
                BooksRequest,
                BookList,
                tools.books,
            ),
            Tool("chapters", f"List a book's chapters. {limit}", BookRequest, ChapterList, tools.chapters),
            Tool(
                "search",
                f"Find the passages of a book that fit a question, best first, with their places. {limit}",
                SearchRequest,
                SearchResponse,
                tools.search,
            ),
            Tool(
                "ask",
                "Answer a question from a book and cite the exact place. The verdict `none` means that the "
                f"book may not say. {limit}",
                AnswerRequest,
                AnswerResponse,
                tools.ask,
            ),
            Tool(
                "read",
                f"Read a chapter or a stretch of a book, at most {LONGEST_READ:,} characters a call. {limit}",
                ReadRequest,
                ReadOut,
                tools.read,
            ),
            Tool(
                "who",
                "Tell who somebody is, so far: the book's sentences that introduce and describe them, with "
                f"their places. A name that nobody has, or several have, is refused. {limit}",
                WhoRequest,
                ProfileOut,
                tools.who,
            ),
            Tool(
                "recap",
                "Tell what has happened, so far: the most telling sentences of each chapter, with their "
                f"places. {limit}",
                RecapRequest,
                RecapOut,
                tools.recap,
            ),
            Tool(
                "facts",
                "Tell the facts of a book, so far, each with its place: author, year, genre, main "
                "characters, setting, any property asked; and what the book does not say. "
                f"{limit}",
                FactsRequest,
                FactsOut,
                tools.facts,
            ),
        )
    }


class BookTools:
    """The tools' work; questions wait their turn among those of everyone else."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def books(self, asked: BooksRequest) -> BookList:
        """A page of ``GET /books``, and where the next one begins."""
        cards, has_more = await run_in_threadpool(self._service.page, asked.after, asked.limit)
        return BookList(
            books=[BookOut.of(card) for card in cards], next_after=cards[-1].id if has_more else None
        )

    async def chapters(self, asked: BookRequest) -> ChapterList:
        """Those whose headings lie before the limit."""
        index, limit = await self._service.overviews.opened(asked.book_id, asked.before, "before")

        def listed() -> list[ChapterOut]:
            return [ChapterOut.of(one, index, limit) for one in chapters_until(index, limit)]

        return ChapterList(chapters=await run_in_threadpool(listed))

    async def search(self, asked: SearchRequest) -> SearchResponse:
        """As ``POST /search``."""
        return SearchResponse.of(await self._service.found(None, asked))

    async def ask(self, asked: AnswerRequest) -> AnswerResponse:
        """As ``POST /answer``."""
        return await self._service.answer(None, asked)

    async def read(self, asked: ReadRequest) -> ReadOut:
        """The text up to the limit, however far more was asked for."""
        index, limit = await self._service.overviews.opened(asked.book_id, asked.before, "before")
        start, end = _bounds(asked, index, limit)
        last = min(end, limit, start + LONGEST_READ)
        return ReadOut(
            start=start,
            end=last,
            text=index.text(start, last),
            chapter=chapter_at(chapters_until(index, limit), start),
            page=page_at(index.manifest.pages, start),
            next_start=last if last < min(end, limit) else None,
        )

    async def who(self, asked: WhoRequest) -> ProfileOut:
        """As ``GET /books/{id}/who``."""
        return await self._service.overviews.who(asked.book_id, asked.name, asked.before, asked.k, "before")

    async def recap(self, asked: RecapRequest) -> RecapOut:
        """As ``GET /books/{id}/recap``."""
        return await self._service.overviews.recap(asked.book_id, asked.before, asked.sentences, "before")

    async def facts(self, asked: FactsRequest) -> FactsOut:
        """As ``GET /books/{id}/facts``."""
        return await self._service.overviews.facts(asked.book_id, asked.property, asked.before, "")

    async def passage(self, asked: BookRequest, number: int) -> ReadOut:
        """The whole passage of that number, where it lies before the limit."""
        index, limit = await self._service.overviews.opened(asked.book_id, asked.before, "before")
        readable = [one for one in index.passages if one.end <= limit]
        if not 0 <= number < len(readable):
            raise BadRequest(
                "passage",
                f"{asked.book_id!r} has no passage {number} up to there; wanted 0 to {len(readable) - 1}",
            )
        passage = readable[number]
        return ReadOut(
            start=passage.start,
            end=passage.end,
            text=index.text(passage.start, passage.end),
            chapter=chapter_at(chapters_until(index, limit), passage.start),
            page=page_at(index.manifest.pages, passage.start),
            next_start=None,
        )


def _bounds(asked: ReadRequest, index: BookIndex, limit: int) -> tuple[int, int]:
    """What is to be read, whether or not all of it may be told."""
    if asked.chapter is None:
        start = asked.start or 0
        end = index.characters if asked.end is None else min(asked.end, index.characters)
        if not start < min(end, limit):
            raise BadRequest(
                "start", f"start {start} and end {end} bound nothing up to {limit}, as far as may be read"
            )
        return start, end
    if asked.start is not None or asked.end is not None:
        raise BadRequest("chapter", "give a chapter, or start and end, not both")
    named = " ".join(asked.chapter.split()).casefold()
    readable = chapters_until(index, limit)
    for chapter in readable:
        if " ".join(chapter.title.split()).casefold() == named:
            return chapter.start, chapter.end
    raise BadRequest(
        "chapter",
        f"no chapter that begins up to there is called {asked.chapter[:100]!r}; the tool chapters lists "
        f"{len(readable)}",
    )
