"""Headings that neither a number nor a fixed phrase marks: listed titles, and lines in capitals."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from indexing.chapters.headings import CHAPTER, TITLE, Heading, is_title

_CONTENTS = re.compile(r"^[^\S\n]*_?(?:table of )?contents_?[.:]?_?$", re.M | re.I)
# Two long lines, or one where each paragraph is one.
_PROSE = re.compile(r"^(?:\S[^\n]{54,}[^\d\n]\n\S[^\n]{49,}[^\d\n]|[^\n]{300,})$", re.M)
_NUMBER = re.compile(r"^(?:chapter\s+)?(?:\d{1,3}|[ivxlc]+)(?:[.:)]+\s*|\s{2,})", re.I)
_PAGE = re.compile(r"(?<![\s.])(?=\.*+\s)[\s.]++\d+$")
_PART = re.compile(r"(?:part|book|volume|vol\.?|act)\s+\d+", re.I)  # its number is no page
_ALONE = re.compile(r"(?:\A|(?<=\n\n))[^\S\n]*(\S[^\n]{0,99})(?=\n\n|\Z)")
_ALONE_AND_APART = re.compile(r"(?:\A|(?<=\n\n\n))[^\S\n]*(\S[^\n]{1,79})(?=\n\n)")
_LONGEST_LIST = 60_000  # characters
_FEWEST_WORDS = 100
_TYPICAL_WORDS = 300


@dataclass(frozen=True, slots=True)
class ContentsList:
    """A book's list of contents: ``text[start:end]``, and the words of each of its lines."""

    start: int
    end: int
    entries: tuple[str, ...]


def find_contents(text: str) -> ContentsList | None:
    """The list under the word ``Contents`` near the beginning of a text, up to where prose begins."""
    head = _CONTENTS.search(text, 0, len(text) // 4 + 2000)
    if head is None:
        return None
    stop = min(len(text), head.end() + _LONGEST_LIST)
    prose = _PROSE.search(text, head.end(), stop)
    end = prose.start() if prose else stop
    entries: list[str] = []
    for line in re.finditer(r"[^\n]+", text[head.end() : end]):
        entry = _words(line[0])
        if entries and entry == entries[0]:  # the first title once more: the first chapter
            end = head.end() + line.start()
            break
        if entry and entry not in ("chapter", "page", "chapter page"):
            entries.append(entry)
    return ContentsList(head.start(), end, tuple(entries))


def is_contents(page: str) -> bool:
    """Whether a page is nothing but the word ``Contents``."""
    return _CONTENTS.fullmatch(page) is not None


def has_prose(text: str, start: int, end: int) -> bool:
    """Whether lines of a part of the text are as long as those of prose, and no entries of a list."""
    return _PROSE.search(text, start, end) is not None


def listed_titles(text: str, contents: ContentsList, known: list[Heading]) -> list[Heading]:
    """Lines that stand alone and are, word for word and in the same order, lines of the list of contents.

    ``known`` are the headings found already, in order; lines inside them are left alone.
    """
    wanted = Counter(contents.entries)
    lines: dict[str, list[tuple[int, int]]] = {}
    for line in _ALONE.finditer(text, contents.end):
        words = _words(line[1])
        if words in wanted:
            lines.setdefault(words, []).append(line.span(1))
    headings: list[Heading] = []
    starts = [heading.start for heading in known]
    found = {_words(heading.title) for heading in known if heading.number is not None}
    at = contents.end
    for entry in contents.entries:
        places = [] if entry in found else lines.get(entry, [])
        which = bisect_left(places, (at, 0))
        if which == len(places):
            continue
        start, at = places[which]
        before = bisect_left(starts, at)
        if not before or known[before - 1].end <= start:
            headings.append(_heading(text, start, at))
    return headings if len(headings) >= 2 and 2 * len(headings) >= len(wanted) - len(known) else []


def lines_in_capitals(text: str) -> list[Heading]:
    """Lines in capitals with two blank lines above and one below, where they part a text into long pieces."""
    headings = [
        _heading(text, *match.span(1))
        for match in _ALONE_AND_APART.finditer(text)
        if match[1].isupper() and is_title(match[1])
    ]
    return far_apart(text, headings)


def far_apart(
    text: str, headings: list[Heading], fewest: int = _FEWEST_WORDS, typical: int = _TYPICAL_WORDS
) -> list[Heading]:
    """The headings with ``fewest`` words and more up to the next, where three have, half ``typical``."""
    words = [len(text[before.end : after.start].split()) for before, after in pairwise(headings)]
    long = [heading for heading, count in zip(headings, [*words, fewest], strict=False) if count >= fewest]
    return long if len(long) >= 3 and median(words) >= typical else []


def _heading(text: str, start: int, end: int) -> Heading:
    title = re.sub(r"\s+", " ", text[start:end]).strip(' _*.;\u201c\u201d"')
    return Heading(start, end, CHAPTER, TITLE, None, title)


def _words(line: str) -> str:
    """The words of a title without its number, its page, its case and its punctuation."""
    line = line.strip()
    line = line.lower() if _PART.fullmatch(line) else _NUMBER.sub("", _PAGE.sub("", line)).lower()
    return " ".join(re.findall(r"[^\W_]+", re.sub("['\u2019]", "", line)))
