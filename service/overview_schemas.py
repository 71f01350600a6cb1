"""What goes over HTTP, and what ``--json`` prints, of what can be told without a question."""

from __future__ import annotations

from pydantic import BaseModel, Field

from service.schemas import EVIDENCE, EvidenceOut, example

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


_VALUE = {
    "text": "ringer",
    "confidence": 0.71,
    "answerable": True,
    "evidence": EVIDENCE,
    "source": "answer",
    "aliases": [],
    "mentions": None,
}
_FACT = {"property": "occupation", "of": "Lisbet Corrow", "values": [_VALUE]}


class FactValueOut(BaseModel):
    """A value of a property."""

    model_config = example(_VALUE)

    text: str
    confidence: float
    answerable: bool = Field(description="Whether it is taken for one; false for the best guess.")
    evidence: EvidenceOut | None = Field(description="Null where the book's file states it alone.")
    source: str = Field(description="`title page`, `file`, `names`, `statement`, `answer` or `extractor`.")
    aliases: list[str] = Field(description="Of a character, other names, the most frequent first.")
    mentions: int | None = Field(description="Of a character or a place, how many places name it.")


class FactOut(BaseModel):
    """A property of the book, or of somebody in it."""

    model_config = example(_FACT)

    property: str
    of: str | None = Field(description="Whose it is; null where it is the book's.")
    values: list[FactValueOut] = Field(description="The surest first; none where nothing was found.")


class FactsOut(BaseModel):
    """The facts of a book, each with its place."""

    model_config = example(
        {"book_id": "the-bell", "version": "4f9d2c1b7a60", "facts": [_FACT], "not_said": ["genre"]}
    )

    book_id: str
    version: str = Field(description="That of the index.")
    facts: list[FactOut]
    not_said: list[str] = Field(description="The properties that the book does not say.")
