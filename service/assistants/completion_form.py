"""An answer as the message of an assistant: what is said, what it cites, and the same piece by piece."""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import Any
from urllib.parse import quote

from answering.book_qa import Searched
from service.assistants.completion_schemas import (
    Annotation,
    AssistantMessage,
    Choice,
    Citation,
    Completion,
    Usage,
)
from service.assistants.openai_errors import as_json
from service.problems import Problem, openai_error_of
from service.schemas import AnswerResponse, EvidenceOut

_WORD = re.compile(r"\s*\S+\s*")
_MAY_NOT_SAY = "The book may not say"
_NOTHING_READ = "there was nothing to read"


class CompletionForm:
    """The answer to one question as a completion, whole or as the events of a stream (``EventForm``).

    ``model`` is what was asked, ``origin`` the address of the service, to which the citations lead;
    with ``usage`` a stream has the chunk that says what was used.
    """

    def __init__(self, model: str, origin: str, usage: bool = False) -> None:
        self._model = model
        self._origin = origin
        self._usage = usage
        self._id = f"chatcmpl-{uuid.uuid4().hex}"
        self._created = int(time.time())

    def completion(self, answer: AnswerResponse) -> Completion:
        """The whole completion."""
        message = self._message(answer)
        return Completion(
            id=self._id,
            created=self._created,
            model=self._model,
            choices=[Choice(message=message)],
            storyqa=answer,
        )

    def found(self, searched: Searched) -> str:
        """A comment: OpenAI has no event for it, but a client that hears nothing may give up."""
        return f": {len(searched.found.hits)} passages found\n\n"

    def words(self, text: str) -> str:
        """A comment: a draft could not be taken back, and citations count the characters of the answer."""
        return ": writing\n\n"

    def answer(self, answer: AnswerResponse) -> str:
        """The words, the annotations, the end."""
        message = self._message(answer)
        annotations = [one.model_dump() for one in message.annotations]
        return "".join(
            [
                self._chunk({"role": "assistant", "content": ""}),
                *(self._chunk({"content": word}) for word in _WORD.findall(message.content)),
                self._chunk({"annotations": annotations}),
                self._chunk({}, finish_reason="stop", storyqa=answer.model_dump()),
                *([self._event([], usage=Usage().model_dump())] if self._usage else []),
                "data: [DONE]\n\n",
            ]
        )

    def problem(self, problem: Problem) -> str:
        """The error, as OpenAI's clients raise it from within a stream."""
        return f"data: {as_json(openai_error_of(problem))}\n\n"

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        return self._event([choice], **more)

    def _event(self, choices: list[dict[str, Any]], **more: Any) -> str:
        content = {
            "id": self._id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._model,
            "choices": choices,
        }
        return f"data: {json.dumps(content | more)}\n\n"

    def _message(self, answer: AnswerResponse) -> AssistantMessage:
        said = said_of(answer)
        first = said.rfind(answer.answer)
        words = (first, first + len(answer.answer))
        best = answer.candidates[0] if answer.candidates else None
        places = [] if best is None else [*filter(None, [best.evidence]), *best.also, *best.chain]
        annotations = [
            Annotation(url_citation=Citation.of(place, words, self._url(place))) for place in places
        ]
        return AssistantMessage(content=said, annotations=annotations)

    def _url(self, place: EvidenceOut) -> str:
        book = quote(place.book_id, safe="")
        return f"{self._origin}/books/{book}/text?start={place.start}&end={place.end}"


def said_of(answer: AnswerResponse) -> str:
    """The answer in words, never none: where the verdict is that the book may not say, that is said."""
    if not answer.answer:
        return f"{_MAY_NOT_SAY}: {answer.note or _NOTHING_READ}."
    if answer.verdict == "none":
        return f"{_MAY_NOT_SAY}. The best guess is: {answer.answer}"
    return answer.answer
