"""What a book says of itself, by its file, its first pages and the names in it, each with its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from answering.chapter_references import (
    NO_CHAPTER_BEGUN,
    NO_CHAPTERS,
    NO_SUCH_CHAPTER,
    NOT_READ,
    SEVERAL_CHAPTERS,
    Part,
    last_chapter,
    names_this_chapter,
    numbered_chapters,
    numbers_of,
    this_chapter,
)
from answering.citing import Evidence, cite, passage_at
from answering.main_characters import Cast
from answering.narrator import Narrator, narrator
from answering.quotes import SHORTEST_LEAD, story_text
from answering.readable_chapters import chapters_until
from answering.title_page import FIRST_PAGES, Stated, TitlePage
from indexing.book import Chapter
from indexing.character_lookup import find_character
from indexing.characters import named
from indexing.errors import UnknownCharacter
from indexing.index import BookIndex
from text.named_entities import Entity

TITLE, AUTHOR, FIRST_PUBLISHED, GENRE = "title", "author", "first published", "genre"
CHARACTERS, LOCATION = "main characters", "narrative location"

Source = Literal["title page", "file", "names"]

_IN_FILE = 0.9  # the confidence of what a file states of itself
_COUNTED = 0.9  # that a person named often is a main character
_SETTINGS = (0.55, 0.1, 0.1)  # of 44 books 24, 3 and 5 are right (docs/facts.md)


@dataclass(frozen=True, slots=True)
class Told:
    """A value, how sure it is, and where the book has it; None where only the file does.

    Of persons and places there are their ``aliases`` and how often they are mentioned.
    """

    text: str
    confidence: float
    evidence: Evidence | None
    source: Source
    aliases: tuple[str, ...] = ()
    mentions: int | None = None


class OfItself:
    """What a book says of itself before the character ``limit``; ``cache`` keeps the names it has."""

    def __init__(self, index: BookIndex, limit: int, cache: Path | None = None) -> None:
        self.index, self.limit, self._cache = index, limit, cache
        self._called: dict[str, Entity | None] = {}

    @cached_property
    def cast(self) -> Cast:
        """Whom and what the book names."""
        return Cast(self._named, len(self.story), self.index.title)

    @cached_property
    def _named(self) -> Sequence[Entity]:
        return named(self.story, self._cache)

    @cached_property
    def story(self) -> str:
        """Its text, as far as it may be read, without what is no part of the story."""
        return story_text(self.index, self.limit)

    @property
    def opening(self) -> int:
        """The character that the story begins at: its first chapter, where little stands before it.

        That is the first with a number where most have one: a preface has none.
        """
        counted = self.numbered_chapters
        start = counted[0].start if counted else 0
        return 0 if start > SHORTEST_LEAD and counted == self.chapters else start

    @property
    def has_first_pages(self) -> bool:
        """Whether its first pages may be read, all of them."""
        return self.limit >= min(FIRST_PAGES, self.index.characters)

    @property
    def is_whole(self) -> bool:
        """Whether all of the book may be read."""
        return self.limit >= self.index.characters

    @cached_property
    def chapters(self) -> list[Chapter]:
        """Those whose titles may be read."""
        return chapters_until(self.index, self.limit)

    @cached_property
    def numbers(self) -> list[int | None]:
        """The number of each of them, None for one that has none."""
        return numbers_of(self.chapters, self.index.chapters)

    @property
    def numbered_chapters(self) -> list[Chapter]:
        """Those that have a number, where most of them have one, else all."""
        numbered = [one for one, number in zip(self.chapters, self.numbers, strict=True) if number]
        return numbered or self.chapters

    def chapter(self, question: str, *, whole: bool = False) -> Part:
        """The chapter that a question names by its number, as this one or the last.

        An empty part, which says why, where there is none, several have that number, or it begins behind the
        limit, or, where the ``whole`` of it is wanted, ends there.
        """
        if not self.index.chapters:
            return Part(0, 0, NO_CHAPTERS)
        bounds = this_chapter(question, self.chapters)
        if bounds is None:
            numbered = numbered_chapters(question, self.chapters, self.index.chapters)
            if numbered is None:
                bounds = last_chapter(question, self.index.chapters)
            elif len(numbered) > 1:
                return Part(0, 0, SEVERAL_CHAPTERS)
            elif numbered:
                bounds = numbered[0].start, numbered[0].end
        if bounds is None or not bounds[1]:
            return Part(0, 0, NO_CHAPTER_BEGUN if names_this_chapter(question) else NO_SUCH_CHAPTER)
        unread = bounds[1] > self.limit if whole else bounds[0] >= self.limit
        return Part(0, 0, NOT_READ) if unread else Part(*bounds)

    def told(self, name: str) -> tuple[Told, ...]:
        """The values of one of the six properties above, the surest first; none of any other.

        Title and author, as the file states them, are on the cover: they need no page to be read.
        """
        if not self.limit and name not in (TITLE, AUTHOR):
            return ()
        page = self._page
        if name == TITLE:
            return self._stated(self.index.title, page.title())
        if name == AUTHOR:
            return self._stated(self.index.manifest.author, page.author())
        if name == FIRST_PUBLISHED:
            return self._stated(None, page.first_published())
        if name == GENRE:
            return self._stated(None, page.genre())
        if name == CHARACTERS:
            return tuple(self.named(one, _COUNTED) for one in self.cast.main())
        if name == LOCATION:
            places = zip(self.cast.settings(), _SETTINGS, strict=False)
            return tuple(self.named(one, confidence) for one, confidence in places)
        return ()

    @cached_property
    def _page(self) -> TitlePage:
        return TitlePage(self.index.text(0, self.limit), self.chapters)

    def _stated(self, in_file: str | None, on_page: Stated | None) -> tuple[Told, ...]:
        """What the file states, at its place where the first pages have it; else what they state."""
        if in_file:
            place = self._page.place_of(in_file)
            if place is not None:
                return (Told(in_file, 1.0, self.evidence(*place), "title page"),)
            if on_page is None or in_file != self.index.id:
                return (Told(in_file, _IN_FILE, None, "file"),)
        if on_page is None:
            return ()
        return (
            Told(on_page.value, on_page.confidence, self.evidence(on_page.start, on_page.end), "title page"),
        )

    def named(self, one: Entity, confidence: float) -> Told:
        """Somebody, or somewhere, at the first place that has the whole name."""
        whole = (place for place in one.places if self.index.text(*place) == one.name)
        place = next(whole, one.places[0])
        return Told(one.name, confidence, self.evidence(*place), "names", one.aliases, len(one.places))

    @cached_property
    def narrator(self) -> Narrator | None:
        """Who tells the story; None where that cannot be told."""
        return narrator(self.story, self._named)

    def person(self, name: str) -> Entity | None:
        """Who is called so, with all places; None where nobody is, or several are."""
        if name not in self._called:
            try:
                self._called[name] = find_character(self.story, self._named, name)
            except UnknownCharacter:
                self._called[name] = None
        return self._called[name]

    def heading(self, chapter: Chapter) -> Evidence:
        """The line that a chapter begins with."""
        lines = self.index.text(chapter.start, min(chapter.end, self.limit)).lstrip().splitlines()
        start = chapter.start
        return self.evidence(start, start + max(1, len(lines[0].rstrip()) if lines else 1))

    def evidence(self, start: int, end: int) -> Evidence:
        """``book.text[start:end]`` with its place."""
        return cite(self.index, passage_at(self.index, start, end), start, end, self.limit)
