"""Which part of a book a question names: a chapter by number or title, this one, the last, the end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from answering.quotes import chapters_until, paragraph_around
from indexing.book import Chapter
from indexing.chapters.numerals import NUMERAL, numeral
from retrieval.hits import Hit, Readable
from text.book_words import THE_BOOK
from text.question_kinds import TELLING_NOTHING, Kind, needs_conversation, question_kind
from text.quotations import place_once, quotation
from text.words import words

NO_CHAPTERS = "the book has no chapters that are marked as such"
NO_PAGES = "the book's file has no page numbers"
NO_SUCH_CHAPTER = "no chapter of that number begins in what has been read"
NOT_READ = "the question is about a part of the book that has not been read"

_ACT = r"(?<=\b(?:in|of|is) )act"  # a play's, and nothing that is done
_NUMBERED = re.compile(
    rf"(?:\bchapter|\bcanto|{_ACT})\s+(?:the\s+)?({NUMERAL})|\b({NUMERAL})\s+chapter\b", re.IGNORECASE
)
_ABOVE = "book|part|volume"  # of chapters, in some books; in others they are what a chapter is
_UNIT = "chapter|canto|stave|letter|act|adventure|story|tale|sketch|section|number|no\\."
_BEHIND = rf"\b(?!\s+(?:{_ABOVE}))[\s.:,;)—–-]*"
_HEADING = re.compile(rf"\s*(?:(?:{_UNIT}|{_ABOVE})\s+)?(?:the\s+)?({NUMERAL}){_BEHIND}", re.I)
_NUMBER = re.compile(rf"\s*(?:(?:{_UNIT})\s+)?(?:the\s+)?({NUMERAL}){_BEHIND}", re.I)
_THE = r"(?:(?:the|an?)\s+)?"
_ADVENTURE = re.compile(rf"{_THE}(?:(?:adventure|story|tale)\s+of\s+{_THE})?", re.I)
_IN = re.compile(
    rf"\b(?:in|from|of)\s+the\s+(?:chapter|story|tale|adventure)\s+(?:of\s+|called\s+)?\W*{_THE}", re.I
)
_THIS = re.compile(r"\b(?:this|the current) chapter\b", re.IGNORECASE)
_CHAPTER = (
    rf"(?:in|during|of)\s+(?:(?:this|the\s+current|the\s+(?:last|final|closing))\s+chapter\b"
    rf"|(?:the\s+)?(?:(?:chapter|canto|act)\s+(?:{NUMERAL})|(?:{NUMERAL})\s+chapter\b))"
)
_OPENING = re.compile(rf"\s*{_CHAPTER}[\s,:]*", re.IGNORECASE)
_CLOSING = re.compile(rf"[\s,]+{_CHAPTER}(?=[\s?.!]*\Z)", re.IGNORECASE)
_LAST = re.compile(r"\b(?:last|final|closing) chapter\b", re.IGNORECASE)
_ENDS = re.compile(rf"\bhow (?:does|did) (?:it|{THE_BOOK}) (?:all )?(?:end|finish|conclude)\b", re.IGNORECASE)
_END = 0.1  # of a book's characters
_SMALL = 0.2  # of a passage's
_SHORTEST_TITLE = 4
_AROUND = 400  # characters


@dataclass(frozen=True, slots=True)
class Part:
    """``book.text[start:end]``, in which alone the answer is to be searched.

    ``missing`` says why nothing is found where there is no such part, or it may not be read.
    """

    start: int
    end: int
    missing: str = NOT_READ

    def of(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits in this part, cut at its bounds; no small rest of a passage where there are others."""
        found: list[Hit] = []
        rests: list[Hit] = []
        for hit in hits:
            start, end = max(hit.passage.start, self.start), min(hit.passage.end, self.end)
            if start < end:
                small = end - start < _SMALL * (hit.passage.end - hit.passage.start)
                cut = replace(hit, passage=replace(hit.passage, start=start, end=end))
                (rests if small else found).append(cut)
        return found or rests


def part_asked(question: str, book: Readable) -> Part | None:
    """The part that a question is about, None where it names none.

    That is a chapter by its number, by its title where the question says that it is one, the last, or this
    one, where the limit is; the last tenth of a book for how it ends; and what stands around a quotation that
    is in one place of the book.
    """
    index, end = book.index, book.end
    chapters = chapters_until(index, end)
    bounds = this_chapter(question, chapters, end)
    if index.chapters:  # of a book that has none marked, any passage may be of a third chapter
        bounds = bounds or numbered_chapter(question, chapters)
    if bounds is not None:
        return Part(*bounds, missing=NO_SUCH_CHAPTER)
    if (last := last_chapter(question, index.chapters)) is not None:
        return Part(*last)
    if _ENDS.search(question):
        return Part(round((1 - _END) * index.characters), index.characters)
    said = [_words(question[match.end() :]) for match in _IN.finditer(question)]
    titled = next((one for one in chapters if any(_begins(words, one.title) for words in said)), None)
    return _around_quotation(question, book) if titled is None else Part(titled.start, titled.end)


def _around_quotation(question: str, book: Readable) -> Part | None:
    """The paragraph of a quotation and what is next to it, where a question quotes what is said only once."""
    quoted = quotation(question)
    if quoted is None:  # of most questions: the text is not read for them
        return None
    text = book.read_so_far()
    place = place_once(quoted, text)
    if place is None:
        return None
    start, end = paragraph_around(text, place[0])
    return Part(max(0, start - _AROUND), min(len(text), end + _AROUND))


def apart_from_chapter(question: str) -> str:
    """The question without the chapter before or behind it, which no passage of the chapter names.

    It stays where it would ask nothing without: "What happens in chapter 3?"
    """
    opening = _OPENING.match(question)
    bare = question[opening.end() :] if opening else _CLOSING.sub("", question)
    kind = question_kind(bare)
    tells = any(word not in TELLING_NOTHING for word in words(bare))
    asks = kind == Kind.YES_NO or not (kind == Kind.OTHER or needs_conversation(bare))
    whole = tells and asks and question_kind(question) != Kind.SUMMARISE
    return bare[:1].upper() + bare[1:] if whole else question


def of_whole_book(question: str) -> str | None:
    """What a question asks of a chapter, asked of the book; None where none stands at its end."""
    closing = _CLOSING.search(question)
    return None if closing is None else f"{question[: closing.start()]} in the book?"


def numbered_chapter(question: str, chapters: Sequence[Chapter]) -> tuple[int, int] | None:
    """The bounds of the chapter that a question asks for by number, (0, 0) where no such one is there."""
    match = _NUMBERED.search(question)
    if match is None:
        return None
    found = _numbered(chapters, numeral(match[1] or match[2]))
    return (0, 0) if found is None else (found.start, found.end)


def last_chapter(question: str, chapters: Sequence[Chapter]) -> tuple[int, int] | None:
    """The bounds of the last of a book's chapters, read or not, where a question asks for it."""
    return (chapters[-1].start, chapters[-1].end) if chapters and _LAST.search(question) else None


def titled_chapter(question: str, chapters: Sequence[Chapter]) -> tuple[int, int] | None:
    """The bounds of the chapter whose title is in a question."""
    named = [one for one in chapters if _is_named(one.title, question)]
    if not named:
        return None
    longest = max(named, key=lambda chapter: len(chapter.title))
    return longest.start, longest.end


def this_chapter(question: str, chapters: Sequence[Chapter], limit: int) -> tuple[int, int] | None:
    """The bounds of the chapter that holds the limit, where a question says "this chapter"."""
    around = [one for one in chapters if one.start < limit <= one.end] if _THIS.search(question) else []
    return (around[-1].start, around[-1].end) if around else None


def heading_number(title: str) -> int | None:
    """The number that a chapter's title begins with: 12 of "Chapter XII. The Bell", or of "Part I, XII"."""
    found = [_NUMBER.match(piece) for piece in title.split(", ")]
    match = next(filter(None, reversed(found)), None) or _HEADING.match(title)
    return numeral(match[1]) if match else None


def _numbered(chapters: Sequence[Chapter], number: int | None) -> Chapter | None:
    """The first chapter with that number in its title; the one at its place where no title has any."""
    numbers = [heading_number(one.title) for one in chapters]
    if not any(numbers):
        numbers = [*range(1, len(chapters) + 1)]
    return next((one for one, its in zip(chapters, numbers, strict=True) if its == number), None)


def _is_named(title: str, question: str) -> bool:
    """Whether the question has the words of a title, its number aside."""
    its = _words(_HEADING.sub("", title, count=1))
    return len(its) >= _SHORTEST_TITLE and f" {its} " in f" {_words(question)} "


def _begins(said: str, title: str) -> bool:
    """Whether what is said begins with the words of a title, its number and "The Adventure of" aside."""
    bare = _HEADING.sub("", title, count=1)
    its = _words(bare[match.end() :] if (match := _ADVENTURE.match(bare)) else bare)
    return bool(its) and f"{said} ".startswith(f"{its} ")


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
