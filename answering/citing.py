"""Where in the book an answer stands: the place, the sentence and the chapter around it."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from indexing.book import Chapter, Passage
from indexing.index import BookIndex
from text.sentences import sentence_spans

# How far around an answer its sentence may reach, in characters.
_REACH = 2000


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place in the book: ``text == book.text[start:end]``, and the same holds for ``sentence``.

    ``passage`` is the number of the passage it was read in, ``chapter`` the title of the chapter
    it stands in (None where the book has none there), and ``percent`` how far into the book it is.
    """

    start: int
    end: int
    passage: int
    chapter: str | None
    percent: float
    text: str
    sentence: str
    sentence_start: int
    sentence_end: int


def cite(index: BookIndex, passage: Passage, start: int, end: int, before: int | None = None) -> Evidence:
    """The evidence for ``book.text[start:end]``, read in ``passage``; nothing from ``before`` on is shown."""
    sentence_start, sentence_end = _sentence_around(index, start, end, before)
    return Evidence(
        start=start,
        end=end,
        passage=passage.number,
        chapter=chapter_at(index.chapters, start),
        percent=round(100 * start / index.characters, 1),
        text=index.text(start, end),
        sentence=index.text(sentence_start, sentence_end),
        sentence_start=sentence_start,
        sentence_end=sentence_end,
    )


def chapter_at(chapters: Sequence[Chapter], at: int) -> str | None:
    """The title of the innermost chapter that holds the character ``at``."""
    last = bisect.bisect_right(chapters, at, key=lambda chapter: chapter.start)
    for chapter in reversed(chapters[:last]):
        if at < chapter.end:
            return chapter.title
    return None


def _sentence_around(index: BookIndex, start: int, end: int, before: int | None) -> tuple[int, int]:
    """The bounds of the sentence, or sentences, that ``[start, end)`` lies in.

    Passages end in the middle of sentences, so it is looked for in the paragraph and not in the
    passage; a sentence that goes on past ``before`` is cut there.
    """
    first = max(0, start - _REACH)
    last = min(index.characters, end + _REACH)
    if before is not None:
        last = max(end, min(last, before))
    text = index.text(first, last)
    blank = text.rfind("\n\n", 0, start - first)
    skipped = 0 if blank < 0 else blank + 2
    blank = text.find("\n\n", end - first)
    paragraph = text[skipped:] if blank < 0 else text[skipped:blank]
    first += skipped
    touched = [
        span for span in sentence_spans(paragraph) if first + span[0] < end and start < first + span[1]
    ]
    if not touched:
        return start, end
    return min(start, first + touched[0][0]), max(end, first + touched[-1][1])
