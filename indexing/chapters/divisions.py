"""Headings that count: volumes, parts, books, acts, chapters and scenes of a plain text."""

from __future__ import annotations

import re
from dataclasses import replace

from indexing.chapters.front_matter import NAMED, SLUG_LINE
from indexing.chapters.headings import (
    ACT,
    CHAPTER,
    CHAPTERS_ELSEWHERE,
    EDGE,
    PART,
    PARTS_ELSEWHERE,
    SCENE,
    Heading,
    clean,
    in_order,
    is_title,
    lines_alone,
    lines_below,
    paragraph_end,
    without_footnote,
)
from indexing.chapters.numerals import NUMERAL, numeral
from indexing.chapters.ordinals import MOST_WORDS, ORDINAL_JOIN, ORDINAL_WORD, ordinal_elsewhere
from indexing.chapters.series import long_series

_LEVELS = {
    **dict.fromkeys(("volume", "vol", "part", "book"), PART),
    "act": ACT,
    **dict.fromkeys(
        ("chapter", "chap", "canto", "letter", "stave", "section", "episode", "adventure"), CHAPTER
    ),
    **dict.fromkeys(
        ("phase", "day", "night", "fytte", "fit", "tale", "story", "narrative", "epoch"), CHAPTER
    ),
    **dict.fromkeys(("scene", "tableau"), SCENE),
    **dict.fromkeys(CHAPTERS_ELSEWHERE, CHAPTER),
    **dict.fromkeys(PARTS_ELSEWHERE, PART),
}
_ALIASES = {"vol": "volume", "chap": "chapter"}
_KEYWORD = "|".join(f"{word.capitalize()}|{word.upper()}" for word in _LEVELS)
_LAST = "last"
_NUMBER = rf"(?P<number>{NUMERAL}|(?<=(?i:chapter the ))(?i:{_LAST})\b|(?i:{_LAST})(?= (?i:chapter)\b))"
# Before its number, which behind these three may stand on the next line: others are words of verses.
_BETWEEN = r"(?:[ -]*|(?:(?<=(?i:chapter))|(?<=(?i:part))|(?<=(?i:book)))[^\S\n]*\n[^\S\n]*)"
_UNCOUNTED = -1  # the number of the last chapter, which says none, until the one before it is known
_NUMBERED = re.compile(
    rf"^{EDGE}(?:(?:THE|The) )?"
    rf"(?P<label>(?P<kind>{_KEYWORD})\b\.?{_BETWEEN}(?:(?:THE|the|The|NO\.|No\.) )?{_NUMBER})"
    r"(?P<rest>[^\n]*)$",
    re.M,
)
_NUMBER_FIRST = re.compile(
    rf"^{EDGE}(?:(?:THE|The) )?(?P<label>{_NUMBER} (?P<kind>{_KEYWORD}))\b(?P<rest>[^\n]*)$", re.M
)
_KIND_ELSEWHERE = rf"(?P<kind>(?i:{'|'.join((*CHAPTERS_ELSEWHERE, *PARTS_ELSEWHERE))}))"
_ARTICLE = r"(?:(?i:das|der|het|le|la|el|il|o|a) )?"
_ORDINAL_FIRST = re.compile(
    rf"^{EDGE}{_ARTICLE}(?P<label>(?P<number>(?:\d{{1,3}}|[IVXLC]+)\."
    rf"|{ORDINAL_WORD}(?:{ORDINAL_JOIN}{ORDINAL_WORD}){{0,{MOST_WORDS - 1}}}) {_KIND_ELSEWHERE})\b"
    r"(?P<rest>[^\n]*)$",
    re.M,
)
_ORDINAL_BEHIND = [  # of as many words as are one; what follows may be a title
    re.compile(
        rf"^{EDGE}(?P<label>(?=[^\W\d_])(?![a-z]){_KIND_ELSEWHERE} "
        rf"(?P<number>{ORDINAL_WORD}(?:{ORDINAL_JOIN}{ORDINAL_WORD}){{{more}}}))\b(?P<rest>[^\n]*)$",
        re.M,
    )
    for more in reversed(range(MOST_WORDS))
]
_COUNTING = (_NUMBERED, _NUMBER_FIRST, _ORDINAL_FIRST, *_ORDINAL_BEHIND)
# A number in words, without a stop: "Two." may be what somebody says.
_ALONE = rf"(?![ivxlc]+\b){NUMERAL}(?=[^\S\n]*$)"
_BARE = re.compile(
    rf"^[^\S\n]*+_{{0,2}}(?P<label>(?P<number>\d{{1,3}}|[IVXLC]+|{_ALONE}))"
    r"(?P<rest>(?:[.:)\u2014_-]|(?=\s))[^\n]*|)$",
    re.M,
)
_BARE_KIND = "numeral"
_NOT_A_TITLE = re.compile(r"(?:argument|scene|contents|dedicated|to (?:[^,]*, )?my)\b", re.I)
_ENTRANCE = re.compile(r"(?:re-?)?enter\b", re.I)
_PRONOUN = re.compile(r"_?I [^\W\d_]")
_LONGEST_TITLE = 250


def divisions(text: str) -> list[Heading]:
    """Headings of a word and a number (``CHAPTER XII``, ``Book the First``, ``SECOND ACT``), in order."""
    headings = []
    for pattern in _COUNTING:
        for first in lines_alone(text, pattern):
            match: re.Match[str] | None = first
            while match:
                number = _number(match)
                kind = match["kind"].lower()
                heading = number and _with_title(text, match, _LEVELS[kind], _ALIASES.get(kind, kind), number)
                headings += [heading] if heading else []
                # ACT II may have SCENE I on the line below it.
                match = (
                    pattern.match(text, match.end() + 1) if heading and heading.end == match.end() else None
                )
    return _counted(in_order(headings))


def _number(match: re.Match[str]) -> int | None:
    """What a matched label counts to, -1 where it says the last; None where its words are no number."""
    said = match["number"].rstrip(".")
    return _UNCOUNTED if said.lower() == _LAST else numeral(said) or ordinal_elsewhere(said)


def _is_counted(line: str) -> bool:
    """Whether a line is a heading of a word and a number."""
    return any((match := pattern.match(line)) and _number(match) for pattern in _COUNTING)


def _counted(headings: list[Heading]) -> list[Heading]:
    """The headings in order, where the last chapter has the number behind that of the one before it."""
    numbers: dict[str, int] = {}
    counted = []
    for heading in headings:
        if heading.number == _UNCOUNTED:
            heading = replace(heading, number=numbers.get(heading.kind, 0) + 1)
        numbers[heading.kind] = heading.number or 0
        counted.append(heading)
    return counted


def bare_numerals(text: str, known: list[Heading]) -> list[Heading]:
    """Numerals that stand alone, with or without a title, where they count the book's chapters.

    They go on a series among the ``known`` headings, or they are series of their own that are much of the
    book. Stanzas and lists are neither.
    """
    candidates = []
    for match in lines_alone(text, _BARE):
        number = numeral(match["number"])
        heading = number and _with_title(text, match, CHAPTER, _BARE_KIND, number)
        candidates += [heading] if heading else []
    candidates = in_order(candidates)  # a title below a numeral may itself begin with "I"
    chapters = [heading for heading in known if heading.level == CHAPTER and heading.number]
    if len(chapters) >= 2 or any(heading.level in (ACT, SCENE) for heading in known):
        return _missing_numbers(candidates, chapters)
    # One numbered chapter may begin a series that titled numerals go on (ADVENTURE I, then II, III).
    series = _missing_numbers([each for each in candidates if _has_title(each)], chapters)
    return series if len(series) >= 2 else long_series(text, candidates)


def _missing_numbers(candidates: list[Heading], chapters: list[Heading]) -> list[Heading]:
    """The candidates that are the next number of a series of chapters, and that no chapter claims."""
    missing: list[Heading] = []
    both = sorted(candidates + chapters, key=lambda heading: heading.start)
    claims: list[int | None] = []  # the number of the next chapter behind each, from the last to the first
    claimed = None
    for heading in reversed(both):
        claims.append(claimed)
        claimed = claimed if heading.kind == _BARE_KIND else heading.number
    count = 0
    for heading, claimed in zip(both, reversed(claims), strict=True):
        if heading.kind != _BARE_KIND:
            count = heading.number or 0
        elif count and heading.number == count + 1 and claimed != heading.number:
            missing.append(heading)
            count += 1
    return missing


def _with_title(text: str, match: re.Match[str], level: int, kind: str, number: int) -> Heading | None:
    """The heading of a matched label, with what of the text beside and below it is its title."""
    rest = without_footnote(match["rest"].rstrip()).rstrip(" _*=~]")
    title = rest.lstrip(" \t.:,;)]_\u2014\u2013-")
    marked = any(mark in ".:-\u2014\u2013)_" for mark in rest[: len(rest) - len(title)])
    end = match.end()
    below, end_below = lines_below(text, end, 3)
    if title and not is_title(title) and not (marked or kind == _BARE_KIND):
        return None
    if title and below and "\n" in match["label"]:
        return None  # a list of contents, and what its column of numbers is called
    if title[:1].islower() and (below or not rest.lstrip().startswith(":")):
        return None  # "Chapter 2 of it"; a title in small letters stands behind a colon and alone
    if kind == _BARE_KIND and (below or (title and not is_title(title.rstrip(".?!")))):
        return None
    if below and not _is_counted(below[0]):
        if len(below) <= 2 and all(map(is_title, below)):
            title = " ".join([title, *map(str.strip, below)]).strip()
            end = end_below
        elif title:
            if kind not in ("chapter", "letter") or not marked:
                return None
            title, end = "", match.end("label")  # a chapter whose text runs on from its number
    elif not below and not title:
        title, end = _title_below(text, end, kind == _BARE_KIND)
        if level in (ACT, SCENE) and _ENTRANCE.match(title):
            title, end = "", match.end()
    label = re.sub(r"\s+", " ", match["label"])
    full = clean(f"{label}{'.' if kind == _BARE_KIND else ':'} {title}" if title else label)
    return Heading(match.start("label"), end, level, kind, number, full[:_LONGEST_TITLE])


def _title_below(text: str, end: int, bare: bool) -> tuple[str, int]:
    """The title that is a paragraph of its own under a heading that ends at ``end``, and its end."""
    start = end
    while start < len(text) and text[start] == "\n":
        start += 1
    stop = paragraph_end(text, start)
    lines = text[start : min(stop, start + _LONGEST_TITLE + 1)].split("\n")
    title = " ".join(map(str.strip, lines))
    if len(lines) > 2 or start - end > 6 or not is_title(title) or _NOT_A_TITLE.match(title):
        return "", end
    others = (_BARE, NAMED, SLUG_LINE)
    # A title may begin with the pronoun below a numeral; "I The Weir" below CHAPTER ONE is its section.
    lines = lines[1:] if bare and _PRONOUN.match(lines[0]) else lines
    others_there = any(_is_counted(line) or any(other.match(line) for other in others) for line in lines)
    return ("", end) if others_there else (title, stop)


def _has_title(heading: Heading) -> bool:
    return re.search(r"[^\W\d_]{2,}.*[^\W\d_]{2,}", heading.title) is not None
