"""What goes over HTTP, and what ``--json`` prints, of books."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel, Field

from answering.citing import page_at
from answering.readable_chapters import chapter_at, chapters_until, heading_end
from indexing.book import Chapter
from indexing.card import BookCard
from indexing.index import BookIndex, BookText
from indexing.manifest import Manifest
from service.schemas import example
from text.named_entities import Entity

_BOOK = {
    "id": "the-bell",
    "title": "The Bell",
    "source": "the-bell.txt",
    "version": "5f0c3a91d2b7",
    "characters": 48650,
    "words": 8912,
    "passages": 45,
}
_CHAPTER = {"title": "III. The Bell Rope", "start": 9102, "end": 15877, "heading_end": 9120}
_PLACE = {"start": 2805, "end": 2811, "chapter": "I. The Bell", "page": "9", "percent": 5.8}


class ChapterOut(BaseModel):
    """A marked chapter, its heading included."""

    model_config = example(_CHAPTER)

    title: str
    start: int
    end: int
    heading_end: int = Field(
        description="Where its heading ends; nobody who has read less of the book should be told its title."
    )

    @classmethod
    def of(cls, chapter: Chapter, book: BookText, limit: int) -> ChapterOut:
        """A chapter of the book, which has been read up to ``limit``."""
        return cls(
            title=chapter.title,
            start=chapter.start,
            end=min(chapter.end, limit),
            heading_end=heading_end(book, chapter),
        )


class LeftOutOut(BaseModel):
    """A part around the story, such as a licence, reviews or a list of contents."""

    model_config = example({"start": 0, "end": 1204})

    start: int
    end: int


class BookOut(BaseModel):
    """A book in the store."""

    model_config = example(_BOOK)

    id: str
    title: str
    author: str | None = Field(None, description="Null where the file names nobody.")
    language: str | None = Field(None, description="As the file states it, such as `en-GB`; else null.")
    source: str = Field(description="The name of its file, or the address that it was read from.")
    version: str = Field(description="Changes exactly when the text or the way it is indexed does.")
    characters: int = Field(description="The length of its text in Unicode code points.")
    words: int
    passages: int
    has_cover: bool = Field(False, description="Whether `GET /books/{book_id}/cover` answers with a picture.")

    @classmethod
    def of(cls, book: Manifest | BookCard) -> BookOut:
        """What a list says of one build."""
        return cls(**_fields(book))


class BookDetails(BookOut):
    """A book in the store, its chapters, and how it was indexed."""

    model_config = example(
        _BOOK
        | {
            "chapters": [_CHAPTER],
            "words_per_passage": 200,
            "overlap": 0,
            "encoder": "story",
            "terms": 1890,
            "windows": 180,
            "bytes": 402118,
            "built_at": "2026-01-31T12:00:00+00:00",
        }
    )

    chapters: list[ChapterOut]
    left_out: list[LeftOutOut] = Field([], description="What can be read but is not searched, in order.")
    words_per_passage: int
    overlap: int = Field(description="Words that neighbouring passages share.")
    encoder: str
    terms: int = Field(description="Distinct words in the sparse index.")
    windows: int = Field(description="Vectors in the dense index.")
    bytes: int = Field(description="What the index takes on disk.")
    built_at: str

    @classmethod
    def of_all(cls, book: BookText) -> BookDetails:
        """All that a user can use of what one build says of itself."""
        manifest = book.manifest
        return cls(
            **_fields(manifest),
            chapters=[ChapterOut.of(chapter, book, book.characters) for chapter in book.chapters],
            left_out=[LeftOutOut(start=one.start, end=one.end) for one in manifest.left_out],
            words_per_passage=manifest.settings.words,
            overlap=manifest.settings.overlap,
            encoder=manifest.settings.encoder,
            terms=manifest.counts.terms,
            windows=manifest.counts.windows,
            bytes=manifest.bytes,
            built_at=manifest.built_at,
        )


def _fields(book: Manifest | BookCard) -> dict[str, Any]:
    fields = asdict(book if isinstance(book, BookCard) else BookCard.of(book))
    del fields["built_at"]  # which BookDetails has
    if "://" not in fields["source"]:  # where a file lies on the server is not for clients
        fields["source"] = PurePath(fields["source"]).name
    return fields


class PlaceOut(BaseModel):
    """A place of the book; offsets are Unicode code points, half-open."""

    model_config = example(_PLACE)

    start: int
    end: int
    chapter: str | None
    page: str | None = Field(None, description="Its printed number; null where the file had no pages.")
    percent: float = Field(description="How far into the book it is.")

    @classmethod
    def of(cls, start: int, end: int, index: BookIndex, limit: int) -> PlaceOut:
        """The place in the book that the index is of, which has been read up to ``limit``."""
        return cls(
            start=start,
            end=end,
            chapter=chapter_at(chapters_until(index, limit), start),
            page=page_at(index.manifest.pages, start),
            percent=round(100 * start / index.characters, 1),
        )


class CharacterOut(PlaceOut):
    """A person of a book; `start` and `end` bound the first place that names them."""

    model_config = example(
        {
            "name": "Lisbet Corrow",
            "aliases": ["Lisbet", "Miss Corrow"],
            "count": 3,
            **_PLACE,
            "last": _PLACE | {"start": 9310, "end": 9316, "page": "31", "percent": 19.1},
            "places": [[2805, 2811], [2970, 2976], [9310, 9316]],
        }
    )

    name: str
    aliases: list[str] = Field(description="Their other names, the most frequent first.")
    count: int = Field(description="How many places name them.")
    last: PlaceOut = Field(description="The last place that names them.")
    places: list[tuple[int, int]] = Field(description="The bounds of each place, in story order.")

    @classmethod
    def named(cls, character: Entity, index: BookIndex, limit: int) -> CharacterOut:
        """A character of the book that the index is of, which has been read up to ``limit``."""
        first = PlaceOut.of(*character.places[0], index, limit)
        return cls(
            name=character.name,
            aliases=list(character.aliases),
            count=len(character.places),
            **first.model_dump(),
            last=PlaceOut.of(*character.places[-1], index, limit),
            places=list(character.places),
        )


class TextOut(BaseModel):
    """A stretch of a book: `text` is `book.text[start:end]`."""

    model_config = example({"start": 10412, "end": 10427, "text": "under the stone"})

    start: int
    end: int
    text: str
