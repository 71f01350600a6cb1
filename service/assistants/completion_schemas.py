"""What OpenAI's calls answer: a book is a model, and an answer the message of an assistant."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from answering.scope import SHELF
from indexing.card import BookCard
from indexing.manifest import Manifest
from indexing.shelves import Shelf
from service.schemas import ANSWERED, AnswerResponse, EvidenceOut, example

_MODEL: dict[str, JsonValue] = {
    "id": "the-bell",
    "object": "model",
    "created": 1769860800,
    "owned_by": "storyqa",
    "title": "The Bell",
}
_CITATION = {
    "start_index": 0,
    "end_index": 15,
    "title": "The Bell: III. The Bell Rope",
    "url": "http://127.0.0.1:8000/books/the-bell/text?start=10412&end=10427",
    "book_id": "the-bell",
    "start": 10412,
    "end": 10427,
    "quote": "under the stone",
    "sentence": "She had hidden the key under the stone by the well.",
    "chapter": "III. The Bell Rope",
    "passage": 9,
    "percent": 21.4,
}
_COMPLETION = {
    "id": "chatcmpl-0e1c",
    "object": "chat.completion",
    "created": 1769860800,
    "model": "the-bell",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "under the stone",
                "refusal": None,
                "annotations": [{"type": "url_citation", "url_citation": _CITATION}],
            },
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    "storyqa": ANSWERED,
}


class Citation(BaseModel):
    """A place in the book that the answer rests on; its offsets are Unicode code points, half-open."""

    start_index: int = Field(description="Where in the message the cited words begin.")
    end_index: int = Field(description="One past where they end.")
    title: str = Field(description="The book's title, and the chapter where one is marked.")
    url: str = Field(description="Where this service has the cited text.")
    book_id: str
    start: int = Field(description="Where in the book the quoted text begins.")
    end: int
    quote: str = Field(description="Exactly the book's text from `start` to `end`.")
    sentence: str = Field(description="The sentence it stands in, exactly as in the book.")
    chapter: str | None
    passage: int
    percent: float = Field(description="How far into the book it is, 0 to 100.")

    @classmethod
    def of(cls, place: EvidenceOut, words: tuple[int, int], url: str) -> Citation:
        """The citation of ``place`` for the characters ``words`` of the message."""
        return cls(
            start_index=words[0],
            end_index=words[1],
            title=place.title if place.chapter is None else f"{place.title}: {place.chapter}",
            url=url,
            book_id=place.book_id,
            start=place.start,
            end=place.end,
            quote=place.text,
            sentence=place.sentence,
            chapter=place.chapter,
            passage=place.passage,
            percent=place.percent,
        )


class Annotation(BaseModel):
    """A citation in OpenAI's form."""

    type: Literal["url_citation"] = "url_citation"
    url_citation: Citation


class AssistantMessage(BaseModel):
    """The answer, and the places that it rests on."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None
    annotations: list[Annotation]


class Choice(BaseModel):
    """The one answer."""

    index: int = 0
    message: AssistantMessage
    finish_reason: Literal["stop"] = "stop"
    logprobs: None = None


class Usage(BaseModel):
    """What programs that count tokens look for. A book is read, and nothing is billed: all are 0."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0


class Completion(BaseModel):
    """An answer in OpenAI's form."""

    model_config = example(_COMPLETION)

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage = Usage()
    storyqa: AnswerResponse = Field(description="What `POST /answer` would answer.")


class ModelOut(BaseModel):
    """A book or a shelf as a model."""

    model_config = example(_MODEL)

    id: str
    object: Literal["model"] = "model"
    created: int = Field(description="When it was indexed, or the shelf made, in seconds since 1970.")
    owned_by: Literal["storyqa"] = "storyqa"
    title: str = Field(description="The book's title, or the shelf's.")

    @classmethod
    def of_shelf(cls, shelf: Shelf) -> ModelOut:
        """The model that one shelf is."""
        created = round(datetime.fromisoformat(shelf.created_at).timestamp())
        return cls(id=f"{SHELF}{shelf.name}", created=created, title=shelf.title)

    @classmethod
    def of(cls, book: Manifest | BookCard) -> ModelOut:
        """The model that one build is."""
        return cls(
            id=book.id,
            created=round(datetime.fromisoformat(book.built_at).timestamp()),
            title=book.title,
        )


class ModelList(BaseModel):
    """Books and shelves as models."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"object": "list", "data": [_MODEL], "last_id": "the-bell", "has_more": False}]
        }
    )

    object: Literal["list"] = "list"
    data: list[ModelOut]
    last_id: str | None = Field(description="The last book's; null where there is none.")
    has_more: bool = Field(description="Whether there are books after it.")
