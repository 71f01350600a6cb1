"""An answer as a client hears it come about: the passages found, words of it, then the answer."""

from __future__ import annotations

import json

import httpx

from service.client_requests import ServiceError, error_of, no_answer_of_storyqa
from service.schemas import AnswerResponse, SearchResponse, WordsOut

MEDIA_TYPE = "text/event-stream"
AnswerEvent = SearchResponse | WordsOut | AnswerResponse
_RECORDS: dict[str, type[SearchResponse | WordsOut | AnswerResponse]] = {
    "found": SearchResponse,
    "words": WordsOut,
    "answer": AnswerResponse,
}


class AnswerStream:
    """What the lines of a ``response`` in server-sent events tell, one after another.

    Raises ``ServiceError`` for a response that is none, and for a problem that is told in it.
    """

    def __init__(self, response: httpx.Response) -> None:
        if not response.headers.get("Content-Type", "").startswith(MEDIA_TYPE):
            raise no_answer_of_storyqa(response, response.headers.get("Content-Type", "no type"))
        self._response = response
        self._event = ""
        self._has_ended = False

    def read(self, line: str) -> AnswerEvent | None:
        """The event that ends with the line; None where none does, or one that this client does not know."""
        field, _, value = line.partition(":")
        if field == "event":
            self._event = value.strip()
        if field != "data":
            return None
        try:
            if self._event == "problem":
                problem = json.loads(value)
                raise error_of(self._response, int(problem["status"]), problem, str(problem["detail"]))
            if self._event not in _RECORDS:
                return None
            self._has_ended = self._event == "answer"
            return _RECORDS[self._event].model_validate_json(value, extra="ignore")
        except (ValueError, TypeError, KeyError) as error:
            raise no_answer_of_storyqa(self._response, value) from error

    def end(self) -> None:
        """The stream is over; raises ``ServiceError`` where its answer has not come."""
        if not self._has_ended:
            raise ServiceError(f"{self._response.url} broke off its answer; ask again, or see its log")
