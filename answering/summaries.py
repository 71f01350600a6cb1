"""All passages of what a language model is asked to summarise: a chapter, or all that has been read."""

from __future__ import annotations

import re
from dataclasses import replace

from answering.chapter_references import last_chapter, numbered_chapter, this_chapter, titled_chapter
from answering.readable_chapters import chapters_until
from indexing.book import Passage
from retrieval.hits import Readable
from text.question_kinds import Kind, question_kind

_WHOLE = re.compile(
    r"\b(?:so far|(?:the|this) (?:whole |entire )?(?:book|story|novel|tale|play)|everything|recap|plot|"
    r"overview|synopsis|gist|events|it up|tl;?\s?dr)\b",
    re.IGNORECASE,
)


def passages_to_summarise(question: str, book: Readable) -> list[Passage] | None:
    """All passages of what a summary is asked of, cut at its bounds and at the book's limit, in story order.

    Empty where a chapter of a number is asked of that does not begin before the limit, and None where the
    question asks of no such part: then passages are to be searched for.
    """
    if question_kind(question) != Kind.SUMMARISE:
        return None
    bounds = _bounds(question, book)
    if bounds is None:
        return None
    start, end = bounds[0], min(bounds[1], book.end)
    return [
        replace(one, start=max(start, one.start), end=min(end, one.end))
        for one in book.index.passages
        if max(start, one.start) < min(end, one.end)
    ]


def _bounds(question: str, book: Readable) -> tuple[int, int] | None:
    chapters = chapters_until(book.index, book.end)
    return (
        numbered_chapter(question, chapters, book.index.chapters)
        or last_chapter(question, book.index.chapters)
        or titled_chapter(question, chapters)
        or this_chapter(question, chapters)
        or ((0, book.end) if _WHOLE.search(question) else None)
    )
