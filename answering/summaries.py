"""Which part of a book a summary is asked of: a chapter, or all that has been read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from answering.quotes import chapters_until
from indexing.book import Chapter, Passage
from indexing.chapters.numerals import NUMERAL, numeral
from retrieval.hits import Readable
from text.question_kinds import Kind, question_kind

NO_SUCH_CHAPTER = "no chapter of that number begins in what has been read"

_NUMBERED = re.compile(rf"\bchapter\s+(?:the\s+)?({NUMERAL})|\b({NUMERAL})\s+chapter\b", re.IGNORECASE)
_HEADING = re.compile(
    rf"\s*(?:(?:chapter|book|part|canto|stave|letter)\s+)?(?:the\s+)?({NUMERAL})\b[\s.:,;)—–-]*", re.I
)
_THIS = re.compile(r"\b(?:this|the current) chapter\b", re.IGNORECASE)
_WHOLE = re.compile(
    r"\b(?:so far|(?:the|this) (?:whole |entire )?(?:book|story|novel|tale|play)|everything|recap|plot)\b",
    re.IGNORECASE,
)
_SHORTEST_TITLE = 4


def passages_to_summarise(question: str, book: Readable) -> list[Passage] | None:
    """All passages of what a summary is asked of, cut at its bounds and at the book's limit, in story order.

    Empty where a chapter of a number is asked of that does not begin before the limit, and None where the
    question asks of no such part: then passages are to be searched for.
    """
    if question_kind(question) != Kind.SUMMARISE:
        return None
    bounds = _bounds(question, chapters_until(book.index, book.end), book.end)
    if bounds is None:
        return None
    start, end = bounds[0], min(bounds[1], book.end)
    return [
        replace(one, start=max(start, one.start), end=min(end, one.end))
        for one in book.index.passages
        if max(start, one.start) < min(end, one.end)
    ]


def _bounds(question: str, chapters: Sequence[Chapter], limit: int) -> tuple[int, int] | None:
    if match := _NUMBERED.search(question):
        number = numeral(match[1] or match[2])
        found = _numbered(chapters, number)
        return (0, 0) if found is None else (found.start, found.end)
    named = [one for one in chapters if _is_named(one.title, question)]
    if named:
        longest = max(named, key=lambda chapter: len(chapter.title))
        return longest.start, longest.end
    if _THIS.search(question):
        around = [one for one in chapters if one.start < limit <= one.end]
        return (around[-1].start, around[-1].end) if around else None
    return (0, limit) if _WHOLE.search(question) else None


def _numbered(chapters: Sequence[Chapter], number: int | None) -> Chapter | None:
    """The first chapter with that number in its title; the one at its place where no title has any."""
    numbers = [numeral(match[1]) if (match := _HEADING.match(one.title)) else None for one in chapters]
    if not any(numbers):
        numbers = [*range(1, len(chapters) + 1)]
    return next((one for one, its in zip(chapters, numbers, strict=True) if its == number), None)


def _is_named(title: str, question: str) -> bool:
    """Whether the question has the words of a title, its number aside."""
    words = _words(_HEADING.sub("", title, count=1))
    return len(words) >= _SHORTEST_TITLE and f" {words} " in f" {_words(question)} "


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
