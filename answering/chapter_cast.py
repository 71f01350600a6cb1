"""Whom a chapter names, how many persons and which places a book does: counted by the names in all of it."""

from __future__ import annotations

from collections.abc import Sequence

from answering.chapter_references import Part
from answering.of_itself import OfItself
from answering.said import Said, said_at
from text.named_entities import Entity

_MOST_LISTED = 10
_PERSONS, _PLACES = 0.8, 0.6  # that most of what is listed is somebody, or somewhere
_NUMBER = 0.5  # of a count of persons, which depends on who counts
_FIRST_NAMED = 5
_NOBODY = "nobody is named in that chapter"
_NOWHERE = "the book names no places"


def chapter_characters(book: OfItself, part: Part) -> Said:
    """Who is named in a chapter, most often first, as far as it may be read."""
    return _listed(book, book.cast.persons, (part.start, part.end), _PERSONS, _NOBODY)


def character_count(book: OfItself) -> Said | None:
    """How many persons are named more than once, and who most often; None where nobody is."""
    found = [one for one in book.cast.persons if len(one.places) > 1]
    if not found:
        return None
    most = ", ".join(one.name for one in found[:_FIRST_NAMED])
    so_far = "" if book.is_whole else " as far as the book has been read"
    note = f"the persons who are named more than once{so_far}, most often {most}: counted, not read"
    places = [book.evidence(*one.places[0]) for one in found[:_MOST_LISTED]]
    return said_at(str(len(found)), _NUMBER, places, note, guessed=True)


def places_named(book: OfItself) -> Said:
    """The places that are named, most often first, as far as the book may be read."""
    return _listed(book, book.cast.places, (book.opening, book.limit), _PLACES, _NOWHERE)


def _listed(
    book: OfItself, named: Sequence[Entity], part: tuple[int, int], confidence: float, missing: str
) -> Said:
    """One answer: all of them that are named there, each with its first place there."""
    times = {one.name: [place for place in one.places if part[0] <= place[0] < part[1]] for one in named}
    most = sorted(filter(times.get, times), key=lambda name: -len(times[name]))[:_MOST_LISTED]
    if not most:
        return Said((), missing)
    places = [book.evidence(*times[name][0]) for name in most]
    note = "by how often they are named: counted, not read"
    return said_at(", ".join(most), confidence, places, note, guessed=True)
