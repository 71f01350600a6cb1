"""Whole sentences of a book with their places, as far as a reader has got."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from answering.citing import page_at
from answering.readable_chapters import chapter_at, chapters_until
from indexing.index import BookIndex
from text.sentences import sentence_spans

REACH = 2000  # characters: so far around a place its paragraph is looked at
SHORTEST_LEAD = 3_000  # characters: what stands before the first chapter is a title page, or a chapter itself
_CLOSING = "\"'”’»)]}_*"
_ENDS = ".!?…"
_MORE = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of the book: ``text == book.text[start:end]``.

    ``passage``, ``chapter``, ``page`` and ``percent`` are those of its first character, as ``Evidence`` has
    them. ``score`` is comparable among the quotes of one answer alone.
    """

    start: int
    end: int
    passage: int
    chapter: str | None
    page: str | None
    percent: float
    text: str
    score: float


def quote(index: BookIndex, start: int, end: int, limit: int, score: float) -> Quote:
    """``book.text[start:end]`` with its place; no chapter's title is told that reaches behind ``limit``."""
    passage = bisect.bisect_right(index.passages, start, key=lambda one: one.start) - 1
    return Quote(
        start=start,
        end=end,
        passage=max(0, passage),
        chapter=chapter_at(chapters_until(index, limit), start),
        page=page_at(index.manifest.pages, start),
        percent=round(100 * start / index.characters, 1),
        text=index.text(start, end),
        score=round(score, 4),
    )


def story_text(index: BookIndex, limit: int) -> str:
    """``book.text[:limit]``, every offset as in the book, with nothing where it is left out of search."""
    text = index.text(0, limit)
    for one in index.manifest.left_out:
        if one.start < limit:
            blank = "\n" * (min(one.end, limit) - one.start)
            text = text[: one.start] + blank + text[one.end :]
    return text


def paragraph_around(text: str, at: int) -> tuple[int, int]:
    """The bounds of the paragraph that holds the character ``at``, at most ``REACH`` to either side."""
    first, last = max(0, at - REACH), min(len(text), at + REACH)
    blank = text.rfind("\n\n", first, at)
    end = text.find("\n\n", at, last)
    return (first if blank < 0 else blank + 2), (last if end < 0 else end)


def sentences_at(text: str, places: Sequence[int]) -> list[tuple[int, int]]:
    """The sentences of ``text`` that hold any of the ``places``, in order, without one cut off at its end."""
    found: dict[tuple[int, int], None] = {}
    reached = 0
    for at in sorted(places):
        if at < reached:  # in a sentence that has been found
            continue
        first, last = paragraph_around(text, at)
        for start, end in sentence_spans(text[first:last]):
            if first + start <= at < first + end:
                found[first + start, first + end] = None
                reached = first + end
    return [span for span in found if is_whole(text, *span)]


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether the sentence ``text[start:end]`` is one to its end, where ``text`` may be cut off."""
    return text[start:end].rstrip(_CLOSING).endswith(tuple(_ENDS)) or _MORE.search(text, end) is not None
