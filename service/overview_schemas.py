"""What goes over HTTP, and what ``--json`` prints, of what can be told without a question."""

from __future__ import annotations

from pydantic import BaseModel, Field

from service.schemas import example

_QUOTE = {
    "start": 2805,
    "end": 2871,
    "passage": 2,
    "chapter": "I. The Bell",
    "page": "9",
    "percent": 5.8,
    "text": "Lisbet Corrow, the ringer's daughter, kept the key of the tower.",
    "score": 4.1,
}


class QuoteOut(BaseModel):
    """A sentence of the book and its place; offsets are Unicode code points, half-open."""

    model_config = example(_QUOTE)

    start: int
    end: int
    passage: int = Field(description="The number of the passage it begins in.")
    chapter: str | None = Field(description="Null where no chapter is marked.")
    page: str | None = Field(description="Its printed number; null where the file had no pages.")
    percent: float = Field(description="How far into the book it is, 0 to 100.")
    text: str = Field(description="Exactly the book's text from `start` to `end`.")
    score: float = Field(description="Comparable within one answer only.")


class ProfileOut(BaseModel):
    """A person of a book, by what it has said of them so far."""

    model_config = example(
        {"name": "Lisbet Corrow", "aliases": ["Lisbet", "Miss Corrow"], "count": 23, "sentences": [_QUOTE]}
    )

    name: str
    aliases: list[str] = Field(description="Their other names, the most frequent first.")
    count: int = Field(description="How many places name them.")
    sentences: list[QuoteOut] = Field(description="Those that tell most of them, in story order.")


class ChapterRecapOut(BaseModel):
    """A chapter, or a part of a long one, in its most telling sentences."""

    model_config = example({"chapter": "I. The Bell", "start": 2790, "end": 9102, "sentences": [_QUOTE]})

    chapter: str | None = Field(description="Null where no chapter is marked.")
    start: int
    end: int
    sentences: list[QuoteOut] = Field(description="In story order.")


class RecapOut(BaseModel):
    """What has happened so far, in the book's own sentences."""

    model_config = example(
        {"chapters": [{"chapter": "I. The Bell", "start": 2790, "end": 9102, "sentences": [_QUOTE]}]}
    )

    chapters: list[ChapterRecapOut]
