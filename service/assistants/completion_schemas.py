"""What goes over OpenAI's calls: a book is a model, the last message of the user the question."""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, field_validator

from answering.ask import (
    MOST_PASSAGES,
    MOST_TURNS,
    BadRequest,
    Turn,
    check_conversation,
    check_question,
)
from answering.scope import SHELF
from indexing.card import BookCard
from indexing.manifest import Manifest
from indexing.shelves import Shelf
from service.request_body import RequestBody
from service.schemas import ANSWERED, AnswerRequest, AnswerResponse, EvidenceOut, Limits, TurnIn, example

_MESSAGE: dict[str, JsonValue] = {"role": "user", "content": "Where was the key hidden?"}
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
    "storyqa": ANSWERED,
}


class ContentPart(BaseModel):
    """A part of a message; those that are no text are passed over."""

    type: str = Field(max_length=100)
    text: str | None = None


class ChatMessage(BaseModel):
    """A message of the conversation."""

    role: str = Field(max_length=100)
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        """What the message says."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type == "text" and part.text)
        return self.content or ""


class CompletionRequest(RequestBody):
    """A conversation whose last question is to be answered from a book.

    What else OpenAI's call takes, such as `temperature`, is taken and changes nothing.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"model": "the-bell", "messages": [_MESSAGE], "before": "40%"}]}
    )

    model: Annotated[
        str,
        Field(
            max_length=2000,
            description="A book or a shelf, as `GET /v1/models` lists them, ids with commas between, or `*`.",
        ),
    ]
    messages: list[ChatMessage] = Field(
        min_length=1,
        description="The last of the user's is the question; those before it are read where a language model "
        "answers, to understand a question that follows others.",
    )
    stream: bool = Field(default=False, description="Send the answer word by word in server-sent events.")
    before: Limits = None
    k: StrictInt = Field(default=5, ge=1, le=MOST_PASSAGES, description="How many passages.")
    retriever: str | None = Field(
        default=None, max_length=200, description="The server's own choice where left out."
    )
    reader: str | None = Field(
        default=None, max_length=200, description="The server's own choice where left out."
    )

    @field_validator("messages")
    @classmethod
    def _ends_in_a_question(cls, messages: list[ChatMessage]) -> list[ChatMessage]:
        try:
            check_question(_question(messages))
        except BadRequest as error:
            raise ValueError(f"the last message of the user is the question: {error}") from error
        return messages

    def asked(self) -> AnswerRequest:
        """The same as `POST /answer` takes it."""
        return AnswerRequest(
            book_id=self.model,
            question=_question(self.messages),
            k=self.k,
            retriever=self.retriever,
            reader=self.reader,
            before=self.before,
            conversation=_turns(self.messages),
        )


def _turns(messages: list[ChatMessage]) -> list[TurnIn]:
    """What was asked before the question, and answered; what is no text that a turn may have is left out."""
    turns: list[TurnIn] = []
    last = max(i for i, one in enumerate(messages) if one.role == "user")
    for one in messages[:last]:
        with contextlib.suppress(BadRequest):
            if one.role == "user":
                turns.append(TurnIn(question=check_question(one.text)))
            elif one.role == "assistant" and turns:
                turn = Turn(turns[-1].question, one.text)
                check_conversation([turn])
                turns[-1] = TurnIn(question=turn.question, answer=turn.answer)
    return turns[-MOST_TURNS:]


def _question(messages: list[ChatMessage]) -> str:
    return next((one.text for one in reversed(messages) if one.role == "user"), "")


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


class Completion(BaseModel):
    """An answer in OpenAI's form. There is no `usage`: a book is read, and nothing is billed by tokens."""

    model_config = example(_COMPLETION)

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
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
    """All books and shelves as models."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"object": "list", "data": [_MODEL]}]})

    object: Literal["list"] = "list"
    data: list[ModelOut]
