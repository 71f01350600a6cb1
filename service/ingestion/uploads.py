"""What ``POST /books`` brings: a file in a form, written to disk as it comes, or a text in JSON."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Annotated

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from multipart import (  # type: ignore[import-untyped]
    MultipartError,
    MultipartSegment,
    PushMultipartParser,
    parse_options_header,
)
from pydantic import ConfigDict, Field, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from answering.ask import BadRequest
from indexing.ids import BadId, check_id, slug
from service.http_errors import Refused
from service.ingestion.incoming import IncomingFile, writing
from service.request_body import RequestBody

LONGEST_TITLE = 300
_LONGEST_FIELD = 4 * LONGEST_TITLE  # bytes
_LONGEST_NAME = 200
_FIELDS = ("file", "id", "title")

BookId = Annotated[
    str, Field(max_length=128, description="A slug; made from the file's name or the title where left out.")
]
Title = Annotated[
    str, Field(min_length=1, max_length=LONGEST_TITLE, description="The one the book gives where left out.")
]


class UnsupportedMediaType(Refused):
    """A body of a kind that is no book."""

    status = 415
    kind = "media-type"


class BookText(RequestBody):
    """A book as plain text."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"text": "Once there was a bell…", "id": "the-bell", "title": "The Bell"}]
        },
    )

    text: str = Field(min_length=1)
    id: BookId | None = None
    title: Title | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """What came: the file's ``name``, and the id and title that were asked for, if any were."""

    name: str
    id: str | None
    title: str | None

    def book_id(self) -> str:
        """The id that was asked for, or one made from the name."""
        return slug(self.name.rpartition(".")[0] or self.name) if self.id is None else self.id


async def read_upload(request: Request, incoming: IncomingFile) -> Upload:
    """Write the book of ``request`` to ``incoming``; raises ``Refused``, ``BadRequest`` and HTTPException."""
    content_type = request.headers.get("content-type", "")
    kind, options = parse_options_header(content_type)
    if kind == "application/json":
        return await _read_json(request, incoming)
    if kind == "multipart/form-data" and options.get("boundary"):
        return await _read_form(request, incoming, options["boundary"])
    raise UnsupportedMediaType(
        f"the body is {content_type[:100]!r}; wanted multipart/form-data with the field file, "
        'or application/json such as {"text": "Once…", "title": "The Bell"}'
    )


async def _read_json(request: Request, incoming: IncomingFile) -> Upload:
    try:
        body = await request.body()
    except ClientDisconnect:
        raise HTTPException(400, "the text breaks off: its sender went away") from None
    try:
        book = await run_in_threadpool(BookText.model_validate_json, body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise HTTPException(400, f"the body is not JSON: {first['ctx']['error']}") from None
        raise BadRequest("/".join(map(str, first["loc"])), str(first["msg"])) from None
    upload = _checked(book.id, book.title, None)
    with writing(incoming.path):
        await run_in_threadpool(incoming.file.write, book.text.encode(errors="replace"))
    return upload


async def _read_form(request: Request, incoming: IncomingFile, boundary: str) -> Upload:
    form = _Form(incoming, boundary)
    try:
        async for piece in request.stream():
            if piece:
                await run_in_threadpool(form.feed, piece)
        form.end()
    except MultipartError as error:
        raise HTTPException(400, f"the form cannot be read: {error}") from None
    except ClientDisconnect:
        raise HTTPException(400, "the form breaks off: its sender went away") from None
    if "file" not in form.seen:
        raise BadRequest("file", "the form has no field file; wanted the book's file there")
    return _checked(form.text("id"), form.text("title"), form.file_name)


def _checked(id: str | None, title: str | None, file_name: str | None) -> Upload:
    """The upload with its names checked; raises ``BadRequest``. Empty fields of a form are left out."""
    if id:
        try:
            check_id(id)
        except BadId as error:
            raise BadRequest("id", str(error)) from None
    if title:
        title = " ".join(plain(title).split())
        if len(title) > LONGEST_TITLE:
            raise BadRequest("title", f"the title is longer than {LONGEST_TITLE} characters")
    if file_name is None:
        file_name = f"{slug(title or id or 'text')}.txt"
    return Upload(safe_name(file_name), id or None, title or None)


def safe_name(name: str) -> str:
    """The last part of what a client calls its file, fit to be shown; no file is ever opened by it."""
    last = plain(re.split(r"[\\/]", name)[-1]).strip()
    stem, dot, suffix = last.rpartition(".")
    if dot and len(suffix) <= 10:
        return f"{stem[:_LONGEST_NAME] or 'book'}.{suffix}"
    return last[:_LONGEST_NAME] or "book"


def plain(text: str) -> str:
    """The text without control characters, marks of direction and halves of surrogate pairs."""
    return "".join(c for c in text if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))


class _Form:
    """A form read piece by piece: the file goes to disk, the two short fields stay here."""

    def __init__(self, incoming: IncomingFile, boundary: str) -> None:
        self.seen: set[str] = set()
        self.file_name: str | None = None
        self._texts: dict[str, bytearray] = {}
        self._incoming = incoming
        self._field = ""
        # Headers are read as Latin-1, which refuses nothing; names are decoded below.
        self._parser = PushMultipartParser(boundary.encode("latin-1"), header_charset="latin-1")

    def feed(self, piece: bytes) -> None:
        """The next piece of the body; raises MultipartError, ``BadRequest`` and ``NoRoom``."""
        with writing(self._incoming.path):
            for event in self._parser.parse(piece):
                if isinstance(event, MultipartSegment):
                    self._begin_field(_utf8(event.name), _utf8(event.filename))
                elif event is not None:
                    self._add(event)

    def end(self) -> None:
        """The body has ended; raises MultipartError where the form has not."""
        try:
            self._parser.close()
        except MultipartError:
            raise MultipartError("it breaks off before its last boundary") from None

    def text(self, field: str) -> str | None:
        """A short field, or None; raises ``BadRequest`` where it is not UTF-8."""
        if field not in self._texts:
            return None
        try:
            return self._texts[field].decode()
        except UnicodeDecodeError:
            raise BadRequest(field, f"the field {field} is not UTF-8") from None

    def _begin_field(self, name: str, file_name: str) -> None:
        if name not in _FIELDS:
            raise BadRequest(
                plain(name)[:50], f"unknown field {plain(name)[:50]!r}; wanted {', '.join(_FIELDS)}"
            )
        if name in self.seen:
            raise BadRequest(name, f"the field {name} comes twice; wanted one book at a time")
        self.seen.add(name)
        self._field = name
        if name == "file":
            self.file_name = file_name
        else:
            self._texts[name] = bytearray()

    def _add(self, data: bytes) -> None:
        if self._field == "file":
            self._incoming.file.write(data)
            return
        text = self._texts[self._field]
        text += data
        if len(text) > _LONGEST_FIELD:
            raise BadRequest(self._field, f"the field {self._field} is longer than {_LONGEST_FIELD} bytes")


def _utf8(name: str | None) -> str:
    return (name or "").encode("latin-1").decode("utf-8", "replace")
