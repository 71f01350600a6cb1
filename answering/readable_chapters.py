"""A book's chapters as far as it has been read: none has a title before its heading is read to its end."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence

from indexing.book import Chapter
from indexing.index import BookIndex

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


def heading_end(index: BookIndex, chapter: Chapter) -> int:
    """The offset in the book where the heading ends that a title was made of, from which on it may be told.

    A title is one line, without marks and behind those of the parts that the chapter is in; the heading may
    have several lines, and those parts may stand far above it. So as many of its last words as follow one
    another are looked for, the chapter's own at least; where they are not there, it is as long as its title.
    """
    said = re.findall(r"[^\W_]+", chapter.title)
    own = re.findall(r"[^\W_]+", chapter.title.rpartition(", ")[2])
    text = index.text(chapter.start, chapter.start + _FARTHEST)
    for first in range(len(said) - len(own) + 1) if own else ():
        heading = r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, said[first:]))
        if found := re.search(heading, text, re.IGNORECASE):
            return chapter.start + found.end()
    return min(chapter.start + min(len(chapter.title), _FARTHEST), index.characters)
