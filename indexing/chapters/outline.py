"""Chapters made of headings: lists of contents left out, divisions nested, bounds set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from indexing.book import Chapter
from indexing.chapters.divisions import bare_numerals, counted_otherwise, divisions
from indexing.chapters.front_matter import named_headings, scene_headings
from indexing.chapters.headings import ACT, CHAPTER, FRONT, NOTES, PART, SHOT, STORY, TITLE, Heading, in_order
from indexing.chapters.set_apart import dated_entries, titles_set_apart
from indexing.chapters.titles import ContentsList, find_contents, lines_in_capitals, listed_titles

_LONGEST_ENTRY = 12  # words between two lines of a list of contents
_LONGEST_END = 100  # words behind a list of contents that is the last of a book
_LONGEST_LEAD = 60  # words (an epigraph, a place and a time) that a part may have before its first chapter


def find_chapters(text: str) -> tuple[Chapter, ...]:
    """The chapters marked in a normalised text; none where nothing marks them.

    They do not overlap. What stands before the first (a title page, a list of contents) is in none,
    and the last reaches to the end. A chapter inside a part, an act or a story of a collection is
    named with it: ``BOOK II, CHAPTER IV: The Fair``.
    """
    contents = find_contents(text)
    headings = in_order([*divisions(text), *named_headings(text), *scene_headings(text)])
    headings = in_order(headings + bare_numerals(text, headings))
    headings = drop_contents(text, headings, contents)
    if contents:
        headings = in_order(headings + listed_titles(text, contents, headings))
    for find in (lines_in_capitals, counted_otherwise, dated_entries, titles_set_apart):
        if sum(heading.level >= ACT and heading.kind != FRONT for heading in headings) < 2:
            headings = _without_repeats(in_order(headings + find(text)))
    return nested(text, headings)


def nested(text: str, headings: list[Heading]) -> tuple[Chapter, ...]:
    """Headings in order made into chapters that follow each other without overlap.

    A heading with hardly any text of its own before a deeper one, or none before any, has no chapter of its
    own: the chapter below begins with it. Front matter that nothing follows, and notes that the story
    follows, would claim what is not theirs and are left out.
    """
    chapters: list[Chapter] = []
    above: list[Heading] = []
    pending: int | None = None
    for heading, after in _with_next(_order_parts(_contain(_with_known_end(headings)))):
        while above and above[-1].level >= heading.level:
            above.pop()
        start = heading.start if pending is None else pending
        limit = len(text) if after is None else after.start
        deeper = after is not None and after.level > heading.level
        if limit == heading.start or (deeper and len(text[heading.end : limit].split()) <= _LONGEST_LEAD):
            pending = start
        else:
            pending = None
            title = ", ".join(part.title for part in (*above, heading))
            chapters.append(Chapter(title, start, start + len(text[start:limit].rstrip())))
        if heading.number is not None or heading.level == STORY:
            above.append(heading)
    return tuple(chapters)


def drop_contents(text: str, headings: list[Heading], contents: ContentsList | None = None) -> list[Heading]:
    """The headings without those that are lines of a list of contents.

    Such lines follow one another with a few words between them at most, or stand in ``contents``,
    and what they name comes again; a volume, a part and a chapter that begin together also follow
    one another, but each is of another kind.
    """
    listed = range(contents.start, contents.end) if contents else range(0)
    runs: list[list[Heading]] = []
    for before, heading in zip([None, *headings], headings, strict=False):
        within = before is not None and before.start in listed and heading.start in listed
        if before is not None and (within or _follows_at_once(text, before, heading)):
            runs[-1].append(heading)
        else:
            runs.append([heading])
    later = Counter(heading.key for heading in headings)
    kept: list[Heading] = []
    for run in runs:
        later.subtract(heading.key for heading in run)
        run = _without_repeats(run)
        kinds = Counter(kind for kind, _, _ in {heading.key for heading in run})
        if len(run) == 2 == kinds[run[0].kind] and all(each.number and later[each.key] for each in run):
            continue  # the end of a list whose other lines are no headings of their own
        if len(run) < 3 or max(kinds.values()) < 2:
            kept += [each for each in run if each.number or each.start not in listed or not later[each.key]]
            continue
        told = {heading.key for heading in kept}
        if all(each.key in told for each in run) and len(text[run[-1].end :].split()) <= _LONGEST_END:
            continue  # a list at the end
        # The run may end with the first headings of the book itself.
        last = len(run) - 1
        if later[run[last].key] and run[last].number != 1:
            continue
        first = last
        while first and run[first - 1].level < run[first].level:
            if later[run[first - 1].key] and run[first - 1].number != 1:
                break
            first -= 1
        kept += run[first:]
    return kept


def _follows_at_once(text: str, before: Heading, after: Heading) -> bool:
    between = text[before.end : after.start].strip()
    if before.kind == SHOT or len(between) > 1000 or len(between.split()) > _LONGEST_ENTRY:
        return False
    return not re.search(r"[.!?][\"'\u201d\u2019]?$", between)


def _without_repeats(run: list[Heading]) -> list[Heading]:
    """A run of headings without one that the next but repeats (``BOOK ONE: A FAIR``, ``BOOK ONE``)."""
    return [heading for heading, after in _with_next(run) if after is None or heading.key != after.key]


def _contain(headings: list[Heading]) -> list[Heading]:
    """Where titles of a list of contents begin counts of chapters anew, they are stories and hold them."""
    begins = sum(heading.number == 1 and heading.level == CHAPTER for heading in headings)
    holds = any(
        heading.kind == TITLE and after is not None and after.number == 1 and after.level == CHAPTER
        for heading, after in _with_next(headings)
    )
    if begins < 2 or not holds:
        return headings
    return [replace(heading, level=STORY) if heading.kind == TITLE else heading for heading in headings]


def _order_parts(headings: list[Heading]) -> list[Heading]:
    """Of volumes, parts and books, the kind that comes first holds the others, as books differ in this.

    A kind that only one of is named (the third volume of somebody's works) divides nothing and is left out.
    """
    numbers: dict[str, set[int | None]] = {}
    for heading in headings:
        if heading.level == PART:
            numbers.setdefault(heading.kind, set()).add(heading.number)
    kinds = [kind for kind, each in numbers.items() if len(each) > 1]
    return [
        replace(heading, level=kinds.index(heading.kind) - len(kinds)) if heading.level == PART else heading
        for heading in headings
        if heading.level != PART or heading.kind in kinds
    ]


def _with_known_end(headings: list[Heading]) -> list[Heading]:
    last = max((at for at, heading in enumerate(headings) if heading.number is not None), default=-1)
    kept = [heading for at, heading in enumerate(headings) if heading.kind != NOTES or at > last]
    while last < 0 and kept and kept[-1].kind == FRONT:
        kept.pop()
    return kept


def _with_next(headings: list[Heading]) -> Iterator[tuple[Heading, Heading | None]]:
    return zip_longest(headings, headings[1:])
