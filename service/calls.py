"""The calls of the service as a client makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import quote

from pydantic import TypeAdapter

from service.book_schemas import BookDetails, BookOut, CharacterOut, TextOut
from service.client_requests import Call, JobStatus, Limits
from service.overview_schemas import FactsOut, ProfileOut, RecapOut
from service.schemas import AnswerResponse, Health, ReaderOut, SearchResponse, ShelfOut, Version


class SearchOptions(TypedDict, total=False):
    """What ``POST /search`` takes beside a question; what is left out, or None, is the service's choice."""

    k: int | None
    before: Limits
    retriever: str | None


class AnswerOptions(SearchOptions, total=False):
    """What ``POST /answer`` takes beside a question."""

    n_best: int | None
    candidates: Sequence[str] | None
    conversation: Sequence[Mapping[str, str]] | None
    reader: str | None


def question(book_id: str | Sequence[str], text: str, **options: Any) -> dict[str, Any]:
    """The body of a question; options that are None are left to the service."""
    books = book_id if isinstance(book_id, str) else [*book_id]
    given = {name: _plain(value) for name, value in options.items() if value is not None}
    return {"book_id": books, "question": text} | given


def answer(body: Mapping[str, Any]) -> Call[AnswerResponse]:
    """POST /answer."""
    return Call("POST", "/answer", TypeAdapter(AnswerResponse), json=dict(body))


def answers(bodies: Sequence[Mapping[str, Any]]) -> Call[list[AnswerResponse]]:
    """POST /answers."""
    return Call("POST", "/answers", TypeAdapter(list[AnswerResponse]), json=[dict(body) for body in bodies])


def search(body: Mapping[str, Any]) -> Call[SearchResponse]:
    """POST /search."""
    return Call("POST", "/search", TypeAdapter(SearchResponse), json=dict(body))


def books(after: str | None, limit: int | None) -> Call[list[BookOut]]:
    """GET /books."""
    params = {name: value for name, value in (("after", after), ("limit", limit)) if value is not None}
    return Call("GET", "/books", TypeAdapter(list[BookOut]), params=params)


def book(book_id: str) -> Call[BookDetails]:
    """GET /books/{id}."""
    return Call("GET", _book(book_id), TypeAdapter(BookDetails))


def cover(book_id: str) -> Call[bytes]:
    """GET /books/{id}/cover."""
    return Call("GET", f"{_book(book_id)}/cover", bytes)


def characters(book_id: str, before: int | str | None) -> Call[list[CharacterOut]]:
    """GET /books/{id}/characters."""
    params = {} if before is None else {"before": before}
    return Call("GET", f"{_book(book_id)}/characters", TypeAdapter(list[CharacterOut]), params=params)


def shelves() -> Call[list[ShelfOut]]:
    """GET /shelves."""
    return Call("GET", "/shelves", TypeAdapter(list[ShelfOut]))


def shelf(name: str) -> Call[ShelfOut]:
    """GET /shelves/{name}."""
    return Call("GET", _shelf(name), TypeAdapter(ShelfOut))


def put_shelf(name: str, books: Sequence[str], title: str | None) -> Call[ShelfOut]:
    """PUT /shelves/{name}."""
    body = {"books": [*books]} | ({} if title is None else {"title": title})
    return Call("PUT", _shelf(name), TypeAdapter(ShelfOut), json=body)


def delete_shelf(name: str) -> Call[None]:
    """DELETE /shelves/{name}."""
    return Call("DELETE", _shelf(name), None)


def who(book_id: str, name: str, before: int | str | None, k: int | None) -> Call[ProfileOut]:
    """GET /books/{id}/who."""
    given = {"name": name, "before": before, "k": k}
    params = {key: value for key, value in given.items() if value is not None}
    return Call("GET", f"{_book(book_id)}/who", TypeAdapter(ProfileOut), params=params)


def recap(book_id: str, before: int | str | None, sentences: int | None) -> Call[RecapOut]:
    """GET /books/{id}/recap."""
    given = {"before": before, "sentences": sentences}
    params = {key: value for key, value in given.items() if value is not None}
    return Call("GET", f"{_book(book_id)}/recap", TypeAdapter(RecapOut), params=params)


def facts(book_id: str, properties: Sequence[str], before: int | str | None) -> Call[FactsOut]:
    """GET /books/{id}/facts."""
    params: dict[str, Any] = {} if before is None else {"before": before}
    asked = [properties] if isinstance(properties, str) else [*properties]
    if asked:
        params["property"] = asked
    return Call("GET", f"{_book(book_id)}/facts", TypeAdapter(FactsOut), params=params)


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
    return Call("GET", _job(job_id), TypeAdapter(JobStatus))


def cancel(job_id: str) -> Call[None]:
    """DELETE /jobs/{id}."""
    return Call("DELETE", _job(job_id), None)


def readers() -> Call[list[ReaderOut]]:
    """GET /readers."""
    return Call("GET", "/readers", TypeAdapter(list[ReaderOut]))


def version() -> Call[Version]:
    """GET /version."""
    return Call("GET", "/version", TypeAdapter(Version))


def ready() -> Call[Health]:
    """GET /readyz."""
    return Call("GET", "/readyz", TypeAdapter(Health))


def _plain(value: Any) -> Any:
    """The value with any mapping as JSON has it."""
    if isinstance(value, Mapping):
        return dict(value)
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _book(book_id: str) -> str:
    return f"/books/{_step(book_id)}"


def _job(job_id: str) -> str:
    return f"/jobs/{_step(job_id)}"


def _shelf(name: str) -> str:
    return f"/shelves/{_step(name)}"


def _step(name: str) -> str:
    """The name as one step of a path, whatever it holds; half a surrogate pair is in no name."""
    return quote(name, safe="", errors="replace")
