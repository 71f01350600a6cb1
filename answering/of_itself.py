"""What a book says of itself, by its file and its first pages: as facts, and to whom asks who wrote it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from answering.ask import Ask
from answering.citing import Candidate, Evidence, cite, passage_at
from answering.quotes import chapters_until
from answering.title_page import Stated, TitlePage
from indexing.index import BookIndex
from retrieval.hits import Readable
from text.cloze import find_blank

TITLE, AUTHOR, FIRST_PUBLISHED, GENRE = "title", "author", "first published", "genre"
_IN_FILE = 0.9  # the confidence of what a file states of itself

_WORK = r"(?:this|the|that) (?:book|novel|novella)"
_THIS = rf"(?:{_WORK}|this(?: (?:story|tale|play|text|one))?)"
_ASKED = {
    AUTHOR: rf"who(?:['’]?s| is| was) the (?:author|writer) of {_THIS}|who(?:['’]?s| is) the author"
    rf"|who (?:wrote|authored) {_THIS}"
    rf"|by whom (?:is|was) {_THIS}(?: written)?|who (?:is|was) {_THIS} (?:written )?by"
    rf"|what(?:['’]?s| is| was) the (?:author['’]?s name|name of the (?:author|writer))(?: of {_THIS})?",
    TITLE: rf"what(?:['’]?s| is) the (?:title|name) of {_THIS}|what(?:['’]?s| is) {_THIS} called"
    r"|(?:which|what) (?:book|novel|story|play) is this",
    FIRST_PUBLISHED: rf"(?:when|(?:in )?(?:what|which) year) was {_THIS} (?:first )?published",
}
_PATTERNS = {name: re.compile(pattern, re.I) for name, pattern in _ASKED.items()}
_SAYS = {
    AUTHOR: "who wrote it",
    TITLE: "what it is called",
    FIRST_PUBLISHED: "when it was first published",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A value, how sure it is, and where the first pages have it; None where only the file does."""

    text: str
    confidence: float
    evidence: Evidence | None


class OfItself:
    """What a book says of itself before the character ``limit``."""

    def __init__(self, index: BookIndex, limit: int) -> None:
        self._index, self._limit = index, limit
        self._page = TitlePage(index.text(0, limit), chapters_until(index, limit))

    def told(self, name: str) -> Told | None:
        """``TITLE``, ``AUTHOR``, ``GENRE`` or when it was ``FIRST_PUBLISHED``; None where it is not said."""
        if not self._limit:
            return None
        if name == TITLE:
            return self._stated(self._index.title, self._page.title())
        if name == AUTHOR:
            return self._stated(self._index.manifest.author, self._page.author())
        if name == FIRST_PUBLISHED:
            return self._stated(None, self._page.first_published())
        if name == GENRE:
            return self._stated(None, self._page.genre())
        return None

    def _stated(self, in_file: str | None, on_page: Stated | None) -> Told | None:
        """What the file states, at its place where the first pages have it; else what they state."""
        if in_file:
            place = self._page.place_of(in_file)
            if place is not None:
                return Told(in_file, 1.0, self._evidence(*place))
            if on_page is None or in_file != self._index.id:
                return Told(in_file, _IN_FILE, None)
        if on_page is None:
            return None
        return Told(on_page.value, on_page.confidence, self._evidence(on_page.start, on_page.end))

    def _evidence(self, start: int, end: int) -> Evidence:
        return cite(self._index, passage_at(self._index, start, end), start, end, self._limit)


def answer_of_itself(ask: Ask, book: Readable) -> Candidate | None:
    """The answer to a plain question for title, author or year of the book itself.

    Without a text, and with a note, where the book does not say it: its passages would tell of other books.
    None for a question of any other kind.
    """
    if ask.candidates or find_blank(ask.question):
        return None
    bare = " ".join(ask.question.split()).rstrip("?!. ")
    asked = next((name for name, pattern in _PATTERNS.items() if pattern.fullmatch(bare)), None)
    if asked is None:
        return None
    told = OfItself(book.index, book.end).told(asked)
    if told is None:
        return Candidate("", 0.0, None, f"neither the book's file nor its first pages say {_SAYS[asked]}")
    return Candidate(told.text, told.confidence, told.evidence)
