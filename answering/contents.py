"""A book as it is printed: its chapters, its first and its last sentence, how long it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Set
from itertools import pairwise
from operator import itemgetter
from typing import Literal

from answering.chapter_references import NO_CHAPTERS, NO_PAGES, NOT_READ, Part
from answering.citing import Candidate
from answering.of_itself import OfItself
from answering.said import Said, said_at
from indexing.book import Chapter
from text.sentences import sentence_spans
from text.words import words

_NO_SENTENCE = "the book has no sentence there"
_LISTED = 0.9  # that a book has the chapters that were found
_EXACT = 1.0
# Of 55 books so many have what is taken for their first and their last sentence (docs/facts.md).
_OPENS, _CLOSES = 0.78, 0.84
WORDS_A_MINUTE = 260  # fiction, read silently: Brysbaert 2019, How many words do we read per minute?
_AFTER = 0.2  # of a text, behind whose end notes may stand
_CLOSED = re.compile(r"[.!?…:;—-][\"'”’»)\]_*]*\Z|[”\"]\Z")
_NOTE = re.compile(r"\W*(?:\{\d|\[|\|)|\W*(?:footnotes?|page \d+|transcriber|notes?:)", re.I)
_END = re.compile(r"\W*(?:the end|end|finis|fin|finis coronat opus|the end of .{1,80})\W*", re.I)


def chapter_count(book: OfItself) -> Said:
    """How many chapters begin before the limit, by their numbers where most have one: a preface has none.

    Where the numbers only rise, the last of them says how many, even if one was not found.
    """
    counted = book.numbered_chapters
    if not counted:
        return Said((), NO_CHAPTERS)
    numbers = [number for number in book.numbers if number]
    rising = len(numbers) == len(counted) and all(one < following for one, following in pairwise(numbers))
    count = numbers[-1] if rising else len(counted)
    return Said((Candidate(str(count), _LISTED, book.heading(counted[-1]), _so_far(book)),))


def chapter_titles(book: OfItself) -> Said:
    """The titles of the chapters that begin before the limit, in one answer, with the place of each."""
    if not book.chapters:
        return Said((), NO_CHAPTERS)
    text = "; ".join(" ".join(one.title.split()) for one in book.chapters)
    return said_at(text, _LISTED, [*map(book.heading, book.chapters)], _so_far(book))


def chapter_title(book: OfItself, part: Part) -> Said:
    """The title of a chapter, where it may be read."""
    found = next((one for one in book.chapters if (one.start, one.end) == (part.start, part.end)), None)
    if found is None:
        return Said((), part.missing)
    return Said((Candidate(" ".join(found.title.split()), _LISTED, book.heading(found)),))


def chapter_length(book: OfItself, part: Part) -> Said:
    """How many words a chapter has, all of which may be read."""
    count = _words_of(book, part.start, part.end)
    return Said((Candidate(f"{count:,} words", _LISTED, None, _reading_time(count)),))


def chapter_by_length(book: OfItself, choose: Callable[..., tuple[int, Chapter]]) -> Said:
    """The longest or the shortest chapter, as ``choose`` is max or min, of all that were read."""
    chapters = book.numbered_chapters
    innermost = [one for one, other in pairwise(chapters) if other.start >= one.end] + chapters[-1:]
    read = [(_words_of(book, one.start, one.end), one) for one in innermost if one.end <= book.limit]
    if not read:
        return Said((), NOT_READ if book.index.chapters else NO_CHAPTERS)
    count, found = choose(read, key=itemgetter(0))
    note = "; ".join(filter(None, [f"{count:,} words", _so_far(book)]))
    return Said((Candidate(" ".join(found.title.split()), _LISTED, book.heading(found), note),))


def first_sentence(book: OfItself) -> Said:
    """The sentence that the story begins with, behind title pages, prefaces and headings."""
    titles = {word for one in book.numbered_chapters[:2] for word in words(one.title)}
    return _sentence(book, _paragraphs(book.story, book.opening), 0, _OPENS, titles)


def last_sentence(book: OfItself) -> Said:
    """The sentence that the story ends with, where all of it may be read."""
    if not book.is_whole:
        return Said((), NOT_READ)
    paragraphs = _paragraphs(book.story, round((1 - _AFTER) * len(book.story)))
    ends = [at for at, place in enumerate(paragraphs) if _END.fullmatch(book.story, *place)]
    return _sentence(book, reversed(paragraphs[: ends[-1]] if ends else paragraphs), -1, _CLOSES)


def chapter_opening(book: OfItself, part: Part) -> Said:
    """The sentence that a chapter begins with, behind its heading."""
    titles = {word for one in book.chapters if one.start == part.start for word in words(one.title)}
    return _sentence(book, _paragraphs(book.story, part.start, part.end), 0, _OPENS, titles)


def chapter_closing(book: OfItself, part: Part) -> Said:
    """The sentence that a chapter ends with, all of which may be read; the book's, of the last one."""
    if part.end >= book.index.chapters[-1].end:
        return last_sentence(book)
    return _sentence(book, reversed(_paragraphs(book.story, part.start, part.end)), -1, _CLOSES)


def length(book: OfItself) -> Said:
    """How many words the book has, and how long it takes to read them."""
    count = book.index.manifest.counts.words
    return Said((Candidate(f"{count:,} words", _EXACT, None, _reading_time(count)),))


def reading_time(book: OfItself) -> Said:
    """How long it takes to read the book."""
    count = book.index.manifest.counts.words
    return Said((Candidate(_time(count), _EXACT, None, _reading_time(count)),))


def page_count(book: OfItself) -> Said:
    """The number that is printed on the last page."""
    pages = book.index.manifest.pages
    if not pages:
        return Said((), f"{NO_PAGES}: it has {book.index.manifest.counts.words:,} words")
    note = None if pages[-1].label == str(len(pages)) else f"the last of them is numbered {pages[-1].label}"
    return Said((Candidate(str(len(pages)), _EXACT, None, note),))


def _so_far(book: OfItself) -> str | None:
    return None if book.is_whole else "as far as the book has been read"


def _sentence(
    book: OfItself,
    paragraphs: Iterable[tuple[int, int]],
    at: Literal[0, -1],
    confidence: float,
    titles: Set[str] = frozenset(),
) -> Said:
    """The first (0) or the last (-1) sentence of the first paragraph that is of the story."""
    for first, last in paragraphs:
        if _is_told(book.story[first:last], titles):
            begins, ends = sentence_spans(book.story[first:last])[at]
            place = book.evidence(first + begins, first + ends)
            return Said((Candidate(place.text, confidence, place),))
    return Said((), _NO_SENTENCE)


def _words_of(book: OfItself, start: int, end: int) -> int:
    return len(book.index.text(start, end).split())


def _paragraphs(text: str, start: int, end: int | None = None) -> list[tuple[int, int]]:
    """The bounds of the paragraphs of ``text[start:end]``, which blank lines part."""
    found = re.finditer(r"\S(?:.|\n(?!\s*\n))*", text[start:end])
    return [(start + one.start(), start + one.end()) for one in found]


def _is_told(paragraph: str, titles: Set[str]) -> bool:
    """Whether a paragraph is of the story: no heading, of whose titles these are the words, and no note."""
    said = words(paragraph)
    if not said or titles >= {*said} or _NOTE.match(paragraph):
        return False
    return _CLOSED.search(paragraph) is not None


def _reading_time(count: int) -> str:
    return f"{count:,} words, at {WORDS_A_MINUTE} a minute {_time(count)}"


def _time(count: int) -> str:
    minutes = max(1, round(count / WORDS_A_MINUTE))
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
