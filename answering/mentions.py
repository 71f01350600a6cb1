"""Where and how often a book has words, or names somebody: counted in all of it, no model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from answering.chapter_references import NO_CHAPTERS, NO_PAGES, Part
from answering.citing import Candidate, Evidence, page_at, whereabouts
from answering.mention_questions import By, MentionQuestion, is_name
from answering.of_itself import OfItself
from answering.readable_chapters import innermost_chapter
from answering.said import Said, said_at
from text.named_entities import Entity

_CERTAIN = 0.9  # that all places are found, and none of something else
_Place = tuple[int, int]
_MOST_PLACES = 10  # that are cited of a count


def said_of_mentions(book: OfItself, part: Part | None, asked: MentionQuestion) -> Said | None:
    """How often, where or whether the book, or a ``part`` of it, has what is asked for, before its limit.

    None where somebody is asked for without a name, such as the murderer, and where the question may be
    of what the book tells: when the calendar was introduced.
    """
    by_name = not asked.as_words and (asked.in_person or asked.what != asked.what.lower())
    found = book.person(asked.what) if by_name else None
    person = found if found is not None and found.is_person else None
    if person is None and not asked.as_words and asked.in_person and not is_name(asked.what):
        return None
    if person is None:
        asked, places = _mentioned(book.story, part, asked)
    else:
        places = _within(part, person.places)
    if not places:
        return _never(book, asked, part)
    may_be_told = person is None and not asked.as_words and (asked.in_person or not book.chapters)
    if asked.asks == "where" and asked.by == "place" and may_be_told:
        return None
    # A table of contents is passed over, where the story has it, too.
    places = [one for one in places if one[0] >= book.opening] or [*places]
    if asked.asks in {"where", "how many"}:
        return _where(book, places, asked, person)
    text = "Yes" if asked.asks == "whether" else f"{len(places):,}"
    cited = [book.evidence(*place) for place in places[:_MOST_PLACES]]
    first = f"; the first {_MOST_PLACES} places are cited" if len(places) > _MOST_PLACES else ""
    return said_at(text, _CERTAIN, cited, f"{_counted(places, asked, person)}{first}")


def _where(book: OfItself, places: Sequence[_Place], asked: MentionQuestion, person: Entity | None) -> Said:
    """The chapters or pages of mentions, or how far into the book they are where it has no chapters."""
    if asked.by == "chapter" and not book.chapters:
        return Said((), NO_CHAPTERS)
    if asked.by == "page" and not book.index.manifest.pages:
        return Said((), NO_PAGES)
    told = _page if asked.by == "page" else whereabouts
    if asked.which == "all":
        found = [book.evidence(*place) for place in _firsts(book, places, asked.by)]
        listed = "; ".join(map(told, found))
        counted = _counted(places, asked, person)
        if asked.asks == "where":
            return said_at(listed, _CERTAIN, found, counted)
        return said_at(str(len(found)), _CERTAIN, found, f"{listed} ({counted})")
    place = book.evidence(*places[-1 if asked.which == "last" else 0])
    so_far = "" if book.is_whole else ", as far as the book has been read"
    return said_at(told(place), _CERTAIN, [place], f"the {asked.which} place that has {place.text!r}{so_far}")


def _firsts(book: OfItself, places: Sequence[_Place], by: By) -> Sequence[_Place]:
    """The first place of each chapter or page; of a book without chapters the first places of all."""
    if by != "page" and not book.chapters:
        return places[:_MOST_PLACES]
    pages, chapters = book.index.manifest.pages, book.index.chapters
    firsts = {
        page_at(pages, place[0]) if by == "page" else innermost_chapter(chapters, place[0]): place
        for place in reversed(places)
    }
    return sorted(firsts.values())


def _page(place: Evidence) -> str:
    """As a page is cited; what stands before the first has none."""
    return whereabouts(place) if place.page is None else f"page {place.page}"


def _never(book: OfItself, asked: MentionQuestion, part: Part | None) -> Said:
    whole = part.end <= book.limit if part else book.is_whole
    where = "that chapter" if part else "the book"
    never = f"{where if whole else f'what has been read of {where}'} never mentions {asked.what!r}"
    if asked.asks == "where":
        return Said((), never)
    return Said((Candidate("No" if asked.asks == "whether" else "0", _CERTAIN, None, never),))


def _counted(places: Sequence[_Place], asked: MentionQuestion, person: Entity | None) -> str:
    if person is None:
        how = f"{asked.what!r}, as it is written"
    else:
        how = " or ".join(repr(name) for name in (person.name, *person.aliases))
    times = "once" if len(places) == 1 else f"{len(places):,} times"
    return f"{times}: {how}"


def _mentioned(
    text: str, part: Part | None, asked: MentionQuestion
) -> tuple[MentionQuestion, Sequence[_Place]]:
    """Where a text has what is asked for; in the other number where it has it in this one nowhere."""
    is_noun = not asked.as_words and asked.what == asked.what.lower()
    for what in (asked.what, *(_other_numbers(asked.what) if is_noun else ())):
        if places := _within(part, _written(text, what)):
            return replace(asked, what=what), places
    return asked, []


def _within(part: Part | None, places: Sequence[_Place]) -> Sequence[_Place]:
    return places if part is None else [one for one in places if part.start <= one[0] < part.end]


def _other_numbers(noun: str) -> list[str]:
    """The singulars or plurals that a noun may have: dog of dogs, wolves of wolf."""
    found = [f"{noun}s", f"{noun}es"]
    for ending, others in (("y", ["ies"]), ("fe", ["ves"]), ("f", ["ves"])):
        if noun.endswith(ending):
            found += [noun.removesuffix(ending) + other for other in others]
    for ending, others in (("ies", ["y"]), ("ves", ["f", "fe"]), ("es", [""]), ("s", [""])):
        if noun.endswith(ending) and len(noun) > len(ending) + 2:
            found += [noun.removesuffix(ending) + other for other in others]
    return found


def _written(text: str, what: str) -> list[_Place]:
    """Where a text has the words: with the capitals they are written with, or else in any case."""
    words = r"\s+".join(re.sub("['’]", "['’]", re.escape(word)) for word in what.split())
    for flags in [0] * (what != what.lower()) + [re.IGNORECASE]:
        pattern = re.compile(rf"(?<!\w){words}(?!\w)", flags)
        if found := [match.span() for match in pattern.finditer(text)]:
            return found
    return []
