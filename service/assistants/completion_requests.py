"""What OpenAI's calls are sent: a book is a model, the last message of the user the question."""

from __future__ import annotations

import contextlib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, ValidationInfo, field_validator

from answering.ask import (
    MOST_PASSAGES,
    MOST_TURNS,
    BadRequest,
    Turn,
    check_conversation,
    check_question,
)
from service.book_arguments import limits
from service.request_body import RequestBody
from service.schemas import AnswerRequest, Limits, TurnIn

_MESSAGE: dict[str, JsonValue] = {"role": "user", "content": "Where was the key hidden?"}
# Where a model's name says how far the reader has got, for programs that send no fields of their own.
BEFORE = "@before="


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


class StreamOptions(BaseModel):
    """What a stream has beside the answer."""

    include_usage: bool = Field(default=False, description="Send `usage`, too, in a chunk before the end.")


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
            description="A book or a shelf, as `GET /v1/models` lists them, ids with commas between, or `*`; "
            "then, for programs that cannot send `before`, `@before=40%` and the like, or of several books "
            "`@before=the-bell=40%,*=0`.",
        ),
    ]
    messages: list[ChatMessage] = Field(
        min_length=1,
        description="The last of the user's is the question; those before it are read where a language model "
        "answers, to understand a question that follows others.",
    )
    stream: bool = Field(default=False, description="Send the answer word by word in server-sent events.")
    stream_options: StreamOptions | None = None
    before: Limits = None
    k: StrictInt = Field(default=5, ge=1, le=MOST_PASSAGES, description="How many passages at most.")
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

    @field_validator("before")
    @classmethod
    def _says_the_limit_once(cls, before: Limits, asked: ValidationInfo) -> Limits:
        if before is not None and BEFORE in asked.data.get("model", ""):
            raise ValueError("the model's name has a limit, too; wanted one of the two")
        return before

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to say what was used."""
        return self.stream_options is not None and self.stream_options.include_usage

    def asked(self) -> AnswerRequest:
        """The same as `POST /answer` takes it; raises `BadRequest` for a limit that is none."""
        books, named, before = self.model.partition(BEFORE)
        return AnswerRequest(
            book_id=books,
            question=_question(self.messages),
            k=self.k,
            retriever=self.retriever,
            reader=self.reader,
            before=limits(before) if named else self.before,
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
