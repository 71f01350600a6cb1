"""A book's chapters as far as it has been read: none has a title before its heading is read to its end."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from itertools import islice

from indexing.book import Chapter
from indexing.index import BookIndex, BookText

_NEAREST = 300
_WORD = re.compile(r"[^\W_]+")
_FARTHEST = 3000  # characters from a chapter's start to the end of its heading: a part's motto may be between


def chapters_until(index: BookIndex, limit: int | None) -> list[Chapter]:
    """The chapters whose headings end at ``limit`` or before; all of a book that is read to its end."""
    if limit is None or limit >= index.characters:
        return list(index.chapters)
    return [
        one
        for one in index.chapters
        if one.start + _FARTHEST <= limit or (one.start < limit and heading_end(index, one) <= limit)
    ]


def chapter_at(chapters: Sequence[Chapter], at: int) -> str | None:
    """The title of the innermost of some chapters (``chapters_until``) that holds the character ``at``."""
    chapter = innermost_chapter(chapters, at)
    return None if chapter is None else chapter.title


def innermost_chapter(chapters: Sequence[Chapter], at: int) -> Chapter | None:
    """The last to begin of the chapters that hold the character ``at``."""
    last = bisect.bisect_right(chapters, at, key=lambda chapter: chapter.start)
    return next((one for one in reversed(chapters[:last]) if at < one.end), None)


def heading_end(book: BookText, chapter: Chapter) -> int:
    """The offset in the book where the heading ends that a title was made of, from which on it may be told.

    A title is one line, without marks and behind those of the parts that the chapter is in; the heading may
    have several lines, and those parts may stand far above it. So as many of its last words as follow one
    another are looked for, the chapter's own at least; where they are not there, it is as long as its title.
    """
    said = [word.lower() for word in _WORD.findall(chapter.title)]
    own = _WORD.findall(chapter.title.rpartition(", ")[2])
    # Most headings are near, whole: the rest of the text is looked at for others alone.
    for reach, ways in ((_NEAREST, 1), (_FARTHEST, len(said) - len(own) + 1)) if own else ():
        text = book.text(chapter.start, chapter.start + reach)
        there = "".join(f" {word.lower()}" for word in _WORD.findall(text))
        for first in range(ways):
            at = there.find(f" {' '.join(said[first:])}")  # a long title may be cut within a word
            if at >= 0:
                last = there.count(" ", 0, at) + len(said) - first - 1
                return chapter.start + next(islice(_WORD.finditer(text), last, None)).start() + len(said[-1])
    return min(chapter.start + min(len(chapter.title), _FARTHEST), book.characters)
