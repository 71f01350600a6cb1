"""The calls of the service as a client makes them: what is sent, what comes back, when to try again."""

from __future__ import annotations

import email.utils
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, TypeAdapter, ValidationError
from tenacity import RetryCallState, retry_if_exception_type

from service.book_schemas import BookDetails, BookOut, CharacterOut, TextOut
from service.overview_schemas import ProfileOut, RecapOut
from service.schemas import AnswerResponse, Health, SearchResponse, ShelfOut
from text.errors import StoryQAError

Result = TypeVar("Result")

_BUSY = frozenset({429, 503})


class ServiceError(StoryQAError):
    """What the service answered instead of a result; ``problem`` is its problem document.

    ``status`` is the HTTP status, and None where the service was not reached at all.
    """

    def __init__(self, message: str, status: int | None = None, problem: Mapping[str, Any] | None = None):
        super().__init__(message)
        self.status = status
        self.problem = dict(problem or {})


class ServiceBusy(ServiceError):
    """Nothing was done: the service was too busy, this client too eager, or neither was reached.

    ``retry_after_s`` is when to ask again, where the service says it.
    """

    retry_after_s: float | None = None


class JobFailed(StoryQAError):
    """A book that could not be indexed; ``job`` says why."""

    def __init__(self, job: JobStatus) -> None:
        super().__init__(f"job {job.id} failed: {job.error or 'no reason was given'}")
        self.job = job


class JobStatus(BaseModel):
    """The indexing of one book, as far as it is; ``progress`` is 0 to 1."""

    id: str
    status: Literal["queued", "running", "done", "failed"]
    progress: float
    book_id: str | None
    error: str | None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("done", "failed")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a busy service is asked again, and for how long at most.

    It is asked after as long as its ``Retry-After`` says; where there is none, after about 0.5 s, 1 s, 2 s
    and so on. A wait longer than ``longest_wait_s`` is not begun.
    """

    tries: int = 4
    longest_wait_s: float = 30.0

    def retrying(self) -> dict[str, Any]:
        """The arguments of tenacity's ``Retrying``, and of ``AsyncRetrying``.

        Not httpx-retries, which cuts a long ``Retry-After`` where we give up; nor stamina, which logs and
        counts every wait in the loggers and metrics of the program that uses us.
        """
        return {
            "retry": retry_if_exception_type(ServiceBusy),
            "wait": _pause_s,
            "stop": self._gives_up,
            "reraise": True,
        }

    def _gives_up(self, state: RetryCallState) -> bool:
        return state.attempt_number >= self.tries or state.upcoming_sleep > self.longest_wait_s


def _pause_s(state: RetryCallState) -> float:
    """Seconds until the next try."""
    busy = state.outcome.exception() if state.outcome is not None else None
    assert isinstance(busy, ServiceBusy)
    if busy.retry_after_s is not None:
        return busy.retry_after_s
    # Spread out: clients that were turned away together must not come back together.
    return 0.5 * 2.0 ** (state.attempt_number - 1) * random.uniform(0.75, 1.25)


def retry_after(value: str | None) -> float | None:
    """The header in seconds from now, whichever of its two forms it has; None where it says nothing."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())


@dataclass(frozen=True, slots=True)
class Call(Generic[Result]):
    """One request, and the type of what it is answered with."""

    method: str
    path: str
    returns: TypeAdapter[Result] | None
    json: Any = None
    params: Mapping[str, str | int] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    file: tuple[str, Path | bytes] | None = None

    def result(self, response: httpx.Response) -> Result:
        """What the response holds; raises ``ServiceError``."""
        if not response.is_success:
            raise error_in(response)
        if self.returns is None:
            return None  # type: ignore[return-value]
        try:
            # A newer service may say more than this client knows of.
            return self.returns.validate_json(response.content, extra="ignore")
        except ValidationError as error:
            raise ServiceError(
                f"{response.url} answered {response.text[:80]!r}, which is no answer of storyqa; "
                "is the address that of a storyqa service?",
                response.status_code,
            ) from error


def error_in(response: httpx.Response) -> ServiceError:
    """The problem that the response is."""
    try:
        problem = response.json()
        detail = str(problem["detail"])
    except (ValueError, TypeError, KeyError):
        problem, detail = {}, f"no reason was given ({response.text[:80]!r})"
    said = f"{response.url} answered {response.status_code}: {detail}"
    if response.status_code not in _BUSY:
        return ServiceError(said, response.status_code, problem)
    busy = ServiceBusy(said, response.status_code, problem)
    busy.retry_after_s = retry_after(response.headers.get("retry-after"))
    return busy


def unreachable(url: httpx.URL, error: httpx.TransportError) -> ServiceError:
    """The error for a service that gave no answer at all."""
    # Where there was a connection it may have been done: once more could be once too often.
    kind = ServiceBusy if isinstance(error, httpx.ConnectError) else ServiceError
    return kind(f"{url} gave no answer ({type(error).__name__}: {error}); is storyqa serve running?")


def question(book_id: str | Sequence[str], text: str, **options: Any) -> dict[str, Any]:
    """The body of a question; options that are None are left to the service."""
    books = book_id if isinstance(book_id, str) else [*book_id]
    return {"book_id": books, "question": text} | {k: v for k, v in options.items() if v is not None}


def answer(body: Mapping[str, Any]) -> Call[AnswerResponse]:
    """POST /answer."""
    return Call("POST", "/answer", TypeAdapter(AnswerResponse), json=dict(body))


def answers(bodies: Sequence[Mapping[str, Any]]) -> Call[list[AnswerResponse]]:
    """POST /answers."""
    return Call("POST", "/answers", TypeAdapter(list[AnswerResponse]), json=[dict(body) for body in bodies])


def search(body: Mapping[str, Any]) -> Call[SearchResponse]:
    """POST /search."""
    return Call("POST", "/search", TypeAdapter(SearchResponse), json=dict(body))


def books() -> Call[list[BookOut]]:
    """GET /books."""
    return Call("GET", "/books", TypeAdapter(list[BookOut]))


def book(book_id: str) -> Call[BookDetails]:
    """GET /books/{id}."""
    return Call("GET", _book(book_id), TypeAdapter(BookDetails))


def characters(book_id: str, before: int | str | None) -> Call[list[CharacterOut]]:
    """GET /books/{id}/characters."""
    params = {} if before is None else {"before": before}
    return Call("GET", f"{_book(book_id)}/characters", TypeAdapter(list[CharacterOut]), params=params)


def shelves() -> Call[list[ShelfOut]]:
    """GET /shelves."""
    return Call("GET", "/shelves", TypeAdapter(list[ShelfOut]))


def put_shelf(name: str, books: Sequence[str], title: str | None) -> Call[ShelfOut]:
    """PUT /shelves/{name}."""
    body = {"books": [*books]} | ({} if title is None else {"title": title})
    return Call("PUT", _shelf(name), TypeAdapter(ShelfOut), json=body)


def delete_shelf(name: str) -> Call[None]:
    """DELETE /shelves/{name}."""
    return Call("DELETE", _shelf(name), None)


def who(book_id: str, name: str, before: int | str | None) -> Call[ProfileOut]:
    """GET /books/{id}/who."""
    params = {"name": name} | ({} if before is None else {"before": before})
    return Call("GET", f"{_book(book_id)}/who", TypeAdapter(ProfileOut), params=params)


def recap(book_id: str, before: int | str | None, sentences: int | None) -> Call[RecapOut]:
    """GET /books/{id}/recap."""
    given = {"before": before, "sentences": sentences}
    params = {key: value for key, value in given.items() if value is not None}
    return Call("GET", f"{_book(book_id)}/recap", TypeAdapter(RecapOut), params=params)


def text(book_id: str, start: int, end: int | None) -> Call[TextOut]:
    """GET /books/{id}/text."""
    params = {"start": start} | ({} if end is None else {"end": end})
    return Call("GET", f"{_book(book_id)}/text", TypeAdapter(TextOut), params=params)


def add_book(source: Path | bytes, name: str, **fields: str | None) -> Call[JobStatus]:
    """POST /books, multipart."""
    given = {key: value for key, value in fields.items() if value is not None}
    return Call("POST", "/books", TypeAdapter(JobStatus), data=given, file=(name, source))


def remove_book(book_id: str) -> Call[None]:
    """DELETE /books/{id}."""
    return Call("DELETE", _book(book_id), None)


def job(job_id: str) -> Call[JobStatus]:
    """GET /jobs/{id}."""
    return Call("GET", f"/jobs/{quote(job_id, safe='')}", TypeAdapter(JobStatus))


def ready() -> Call[Health]:
    """GET /readyz."""
    return Call("GET", "/readyz", TypeAdapter(Health))


def _book(book_id: str) -> str:
    # As one step of the path, whatever it holds.
    return f"/books/{quote(book_id, safe='')}"


def _shelf(name: str) -> str:
    return f"/shelves/{quote(name, safe='')}"
