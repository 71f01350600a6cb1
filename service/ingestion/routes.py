"""The calls that change the store: a book in, a book out, and how far a job is."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from service import problems
from service.endpoints import BookInPath
from service.ingestion.ingester import Ingester
from service.ingestion.jobs import UploadJob
from service.ingestion.uploads import BookId, BookText, Title, read_upload

_POLL_S = 0.25
_KEEP_ALIVE_S = 15.0
_STREAM = {"X-Accel-Buffering": "no"}  # nginx would keep the events until there are many
_JOB: dict[str, JsonValue] = {
    "id": "5f0c3a91d2b75f0c3a91d2b75f0c3a91",
    "status": "running",
    "progress": 0.42,
    "book_id": "the-bell",
    "error": None,
}

_EVENT = {
    "type": "object",
    "required": ["data"],
    "properties": {
        "data": {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": {"$ref": "#/components/schemas/JobOut"},
        },
        "event": {"type": "string", "const": "message"},
    },
    "examples": [{"data": json.dumps(_JOB), "event": "message"}],
}

router = APIRouter(tags=["books"])


class JobOut(BaseModel):
    """A book on its way to the shelf."""

    model_config = ConfigDict(extra="forbid", from_attributes=True, json_schema_extra={"examples": [_JOB]})

    id: str
    status: Literal["queued", "running", "done", "failed"]
    progress: float = Field(description="0 to 1.")
    book_id: str = Field(description="Where the book will be: `GET /books/{book_id}`.")
    error: str | None = Field(description="Why it failed; else null.")


def _ingester(request: Request) -> Ingester:
    ingester = request.app.state.ingester
    assert isinstance(ingester, Ingester)
    return ingester


TheIngester = Annotated[Ingester, Depends(_ingester)]

_FORM = {
    "type": "object",
    "required": ["file"],
    "additionalProperties": False,
    "properties": {
        "file": {
            "type": "string",
            "format": "binary",
            "description": "EPUB, PDF, DOCX, ODT, RTF, FB2, MOBI/AZW3, Markdown, HTML or text.",
        },
        "id": TypeAdapter(BookId).json_schema(),
        "title": TypeAdapter(Title).json_schema(),
    },
}


@router.post(
    "/books",
    status_code=202,
    responses=problems.responses(400, 409, 415, 422, 500, 503, 507)
    | {202: {"headers": {"Location": {"schema": {"type": "string"}, "description": "The job."}}}},
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {"schema": _FORM},
                "application/json": {"schema": BookText.model_json_schema()},
            },
        }
    },
)
async def add_book(request: Request, response: Response, ingester: TheIngester) -> JobOut:
    """Upload a book as a file or as text in JSON; it is indexed beside the answering.

    Files may be EPUB, PDF, DOCX, ODT, RTF, FB2, MOBI/AZW3, Markdown, HTML or text.

    With an `id` that stands for a book, that book is replaced in one step when the new one is ready; without,
    a book is never replaced.
    """
    incoming = await run_in_threadpool(ingester.jobs.reserve, ingester.most)
    try:
        upload = await read_upload(request, incoming)
        job = await run_in_threadpool(ingester.add, upload, incoming)
    finally:
        incoming.close()
    response.headers["Location"] = f"/jobs/{job.id}"
    return JobOut.model_validate(job)


@router.delete(
    "/books/{book_id}", status_code=204, responses=problems.responses(404, 409, 422, 500, 503, 507)
)
def remove_book(book_id: BookInPath, ingester: TheIngester) -> None:
    """Take a book off the shelf, even one being indexed; questions being answered from it still are."""
    ingester.remove(book_id)


@router.get("/jobs/{job_id}", responses=problems.responses(404, 422, 500, 503, 507))
def job(job_id: str, ingester: TheIngester) -> JobOut:
    """How far a book is on its way to the shelf."""
    return JobOut.model_validate(ingester.jobs.get(job_id))


@router.delete("/jobs/{job_id}", status_code=204, responses=problems.responses(404, 422, 500, 503, 507))
def cancel_job(job_id: str, ingester: TheIngester) -> None:
    """Give up a job, whether it waits or runs; the book that it was to replace stays."""
    ingester.cancel(job_id)


@router.get(
    "/jobs/{job_id}/events",
    response_class=StreamingResponse,
    responses=problems.responses(404, 422, 500, 503, 507)
    | {
        200: {
            "description": "Server-sent events; the data of each is what `GET /jobs/{job_id}` answers.",
            "content": {"text/event-stream": {"schema": _EVENT}},
        }
    },
)
async def job_events(job_id: str, ingester: TheIngester) -> StreamingResponse:
    """The same as it changes, as server-sent events, until the job is done or has failed."""
    job = await run_in_threadpool(ingester.jobs.get, job_id)
    return StreamingResponse(_events(ingester, job), media_type="text/event-stream", headers=_STREAM)


async def _events(ingester: Ingester, job: UploadJob) -> AsyncIterator[str]:
    """An event per change, and a comment now and then, by which proxies know that we live."""
    yield f"data: {JobOut.model_validate(job).model_dump_json()}\n\n"
    said = time.monotonic()
    while not job.finished and not ingester.closing:
        await asyncio.sleep(_POLL_S)
        now = await run_in_threadpool(ingester.jobs.get, job.id)
        if now != job:
            job = now
            yield f"data: {JobOut.model_validate(job).model_dump_json()}\n\n"
            said = time.monotonic()
        elif time.monotonic() - said > _KEEP_ALIVE_S:
            yield ": still at it\n\n"
            said = time.monotonic()
