"""Answers of a book itself: who wrote and who tells it, whom it is about, its chapters, what it mentions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from answering.book_questions import (
    CHAPTER_CHARACTERS,
    CHAPTER_CLOSING,
    CHAPTER_LENGTH,
    CHAPTER_OPENING,
    CHAPTER_TITLE,
    CHAPTER_TITLES,
    CHAPTERS,
    CHARACTER_COUNT,
    FIRST_SENTENCE,
    LAST_SENTENCE,
    LENGTH,
    LONGEST_CHAPTER,
    MAIN_CHARACTER,
    NARRATOR,
    PAGES,
    PLACES,
    POINT_OF_VIEW,
    READING_TIME,
    SHORTEST_CHAPTER,
    asked_of_book,
)
from answering.chapter_cast import chapter_characters, character_count, places_named
from answering.chapter_references import Part
from answering.citing import Candidate
from answering.colours import colour_asked, colour_of
from answering.contents import (
    chapter_by_length,
    chapter_closing,
    chapter_count,
    chapter_length,
    chapter_opening,
    chapter_title,
    chapter_titles,
    first_sentence,
    last_sentence,
    length,
    page_count,
    reading_time,
)
from answering.finding import Found
from answering.full_name import name_asked, name_of
from answering.mention_questions import mentions_asked, mentions_of_chapter
from answering.mentions import said_of_mentions
from answering.occupations import occupation, occupation_asked
from answering.of_itself import AUTHOR, CHARACTERS, FIRST_PUBLISHED, GENRE, LOCATION, TITLE, OfItself, Told
from answering.quoted_speech import said_by
from answering.related import told_if_any
from answering.related_questions import related_asked, relatives_asked
from answering.relatives import relatives
from answering.said import Said
from answering.which_chapter import asks_page, chapters_of, looked_for
from answering.who_is import described, description_asked, each_described, several_asked
from readers import spec_of
from text.cloze import find_blank

_Tell = Callable[[OfItself, Part], Said | None]
"""What is told of a chapter."""
_UNSAID = {
    AUTHOR: "who wrote it",
    GENRE: "what kind of book it is",
    TITLE: "what it is called",
    FIRST_PUBLISHED: "when it was first published",
}
_FIRST_PAGES, _FIRST_PAGES_READ = "its first pages", "those of its first pages that have been read"
# Of all places where one of the five most named is named, the share that are of the first among them says how
# likely the first is the main character: a line through what 55 books have (docs/facts.md).
_FIRST, _FIRST_OF_SHARE, _FIRST_AT_MOST = 0.2, 0.9, 0.8
_ALL_OF_THEM = 0.67  # of a summary's three most frequent names, those that are among the five
_FEWEST = 5  # places of all five
_BY_NAME = 0.8  # of 55 books six have one who is called by name, and those six are found
_ADDRESSED = "the story says I, and whoever tells it is addressed so"
_SAYS_SO = "the story says I, and whoever tells it gives this name"
_NAMELESS = "the story says I, and does not tell clearly by what name that person is called"
_OUTSIDE = "the story is told in the third person, by nobody in it"
_INSIDE = "the story says I where nobody speaks"
_PERSON = 0.9  # that I is said of who tells it, or of nobody


def said_of_itself(found: Found) -> Said | None:
    """The answers to what is asked of a book and not of its story, before its limit.

    That is of the one book that is asked; the chapter of something may be of any. Where title, author, year,
    genre or chapters are asked for and it has none, no other reader may answer: passages would tell of other
    books. What it does not say, or not for certain, a language model may find in them. None for a question of
    any other kind, and where names do not tell.
    """
    ask, book = found.ask, found.alone
    if ask.candidates or find_blank(ask.question):
        return None
    said = None if book is None else _said(ask.question, OfItself(book.index, book.end))
    if said is None and (what := looked_for(ask.question)) is not None:
        said = chapters_of(what, found.hits, by_page=asks_page(ask.question))
    if said is None or (spec_of(ask.reader).language_model and (said.guessed or not said.candidates)):
        return None
    return replace(said, candidates=said.candidates[: ask.n_best])


def _said(question: str, book: OfItself) -> Said | None:
    asked = asked_of_book(question)
    if asked in _OF_CHAPTER:
        return _of_chapter(book, question, _OF_CHAPTER[asked], whole=asked in _OF_WHOLE_CHAPTER)
    if asked is not None:
        return _ANSWERS[asked](book)
    if (mentions := mentions_of_chapter(question)) is not None:
        return _of_chapter(book, question, partial(said_of_mentions, asked=mentions))
    if (mentions := mentions_asked(question)) is not None:
        return said_of_mentions(book, None, mentions)
    if names := several_asked(question):
        return each_described(names, book)
    if (name := description_asked(question)) is not None:
        return described(name, book)
    if (named := name_asked(question)) is not None:
        return name_of(named, book)
    if (asked_for := related_asked(question)) is not None:
        return told_if_any(asked_for, book)
    if (several := relatives_asked(question)) is not None:
        return relatives(several, book)
    if (worker := occupation_asked(question)) is not None:
        return occupation(worker, book)
    if (coloured := colour_asked(question)) is not None:
        return colour_of(coloured, book)
    return said_by(question, book)


def _of_chapter(book: OfItself, question: str, tell: _Tell, *, whole: bool = False) -> Said | None:
    """What is told of the chapter that a question names, or why it cannot be."""
    part = book.chapter(question, whole=whole)
    return tell(book, part) if part.end else Said((), part.missing)


def _told(book: OfItself, name: str) -> Said | None:
    candidates = tuple(map(_answer, book.told(name)))
    return Said(candidates, guessed=True) if candidates else None


def _stated(book: OfItself, name: str) -> Said:
    candidates = tuple(map(_answer, book.told(name)))
    pages = _FIRST_PAGES if book.has_first_pages else _FIRST_PAGES_READ
    return Said(
        candidates, None if candidates else f"neither the book's file nor {pages} say {_UNSAID[name]}"
    )


def _named_most(book: OfItself) -> tuple[Told, ...]:
    """Those named most; nobody where hardly anybody is named."""
    found = book.told(CHARACTERS)
    return found if sum(one.mentions or 0 for one in found) >= _FEWEST else ()


def _main_character(book: OfItself) -> Said | None:
    """Those named most; how likely each is the main character goes by how often they are named."""
    found = _named_most(book)
    if not found:
        return None
    times = [one.mentions or 0 for one in found]
    first = min(_FIRST + _FIRST_OF_SHARE * times[0] / sum(times), _FIRST_AT_MOST)
    others = max(1, sum(times[1:]))
    chances = [first, *(min(first, (1 - first) * its / others) for its in times[1:])]
    candidates = (
        _answer(replace(one, confidence=chance)) for one, chance in zip(found, chances, strict=True)
    )
    return Said(tuple(candidates), guessed=True)


def _main_characters(book: OfItself) -> Said | None:
    """One answer: all who are named most, each with a place."""
    found = _named_most(book)
    if not found:
        return None
    first, *others = [one.evidence for one in found if one.evidence is not None]
    text = ", ".join(one.text for one in found)
    also = tuple(sorted(others, key=lambda place: place.start))
    note = "whom the book names most often: counted, not read"
    return Said((Candidate(text, _ALL_OF_THEM, first, note, also),), guessed=True)


def _narrator(book: OfItself) -> Said | None:
    """Somebody in the story who gives a name or is addressed; nobody where it is told from outside."""
    found = book.narrator
    if found is None:
        return None
    if found.person is None:
        return Said((), _NAMELESS if found.somebody else _OUTSIDE, guessed=True)
    who = book.named(found.person, _BY_NAME)
    note = _SAYS_SO if found.says_so else _ADDRESSED
    return Said((Candidate(who.text, who.confidence, who.evidence, note),), guessed=True)


def _point_of_view(book: OfItself) -> Said | None:
    """The first person, or the third; None where how often "I" is said does not tell."""
    found = book.narrator
    if found is None:
        return None
    text, note = ("first person", _INSIDE) if found.somebody else ("third person", _OUTSIDE)
    return Said((Candidate(text, _PERSON, None, note),), guessed=True)


_OF_CHAPTER: dict[str | None, _Tell] = {
    CHAPTER_TITLE: chapter_title,
    CHAPTER_CHARACTERS: chapter_characters,
    CHAPTER_OPENING: chapter_opening,
    CHAPTER_CLOSING: chapter_closing,
    CHAPTER_LENGTH: chapter_length,
}
_OF_WHOLE_CHAPTER = frozenset({CHAPTER_CLOSING, CHAPTER_LENGTH})
_ANSWERS: dict[str, Callable[[OfItself], Said | None]] = {
    **{name: partial(_stated, name=name) for name in (TITLE, AUTHOR, FIRST_PUBLISHED, GENRE)},
    MAIN_CHARACTER: _main_character,
    CHARACTERS: _main_characters,
    CHARACTER_COUNT: character_count,
    LOCATION: partial(_told, name=LOCATION),
    NARRATOR: _narrator,
    POINT_OF_VIEW: _point_of_view,
    LONGEST_CHAPTER: partial(chapter_by_length, choose=max),
    SHORTEST_CHAPTER: partial(chapter_by_length, choose=min),
    CHAPTERS: chapter_count,
    CHAPTER_TITLES: chapter_titles,
    FIRST_SENTENCE: first_sentence,
    LAST_SENTENCE: last_sentence,
    LENGTH: length,
    PAGES: page_count,
    PLACES: places_named,
    READING_TIME: reading_time,
}


def _answer(told: Told) -> Candidate:
    counted = told.mentions and f"the book names {told.text} {told.mentions:,} times: counted, not read"
    return Candidate(told.text, told.confidence, told.evidence, counted or None)
