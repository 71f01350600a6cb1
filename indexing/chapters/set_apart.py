"""Headings of texts that mark none otherwise: dates of entries, and titles far below what is before them."""

from __future__ import annotations

import re

from indexing.chapters.headings import (
    CHAPTER,
    EDGE,
    TITLE,
    Heading,
    clean,
    has_page_number,
    is_title,
    lines_alone,
)
from indexing.chapters.titles import far_apart, has_prose
from text.dates import MONTHS

_MONTH = "|".join(rf"{month}|{month.upper()}|{month[:3]}t?\." for month in MONTHS)
_WEEKDAY = "|".join(
    rf"{day}|{day.upper()}"
    for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
)
_DAY = r"(?:the )?[0-3]?\d(?i:st|nd|rd|th|d)?"
_DATE = re.compile(
    rf"{EDGE}(?P<label>(?:(?:{_WEEKDAY}),?(?: the)? )?"
    rf"(?:{_DAY}(?: of)? (?:{_MONTH})|(?:{_MONTH}) {_DAY})(?:,? [12]\d{{3}})?|(?:{_WEEKDAY}))"
    r"(?P<rest>[^\n]*)$",
    re.M,
)
_BEHIND = re.compile(r"[.,:;\u2014\u2013-]+\s*(?P<place>\S.*)")  # a date, where something was written
_FEWEST_WORDS, _FEWEST_USUAL = 10, 50  # of an entry
_APART = re.compile(r"(?:\A|(?<=\n\n\n\n))[^\S\n]*(\S[^\n]{1,79})(?=\n\n)")


def dated_entries(text: str) -> list[Heading]:
    """Lines that are dates, where they part a text into entries: of a diary, or letters."""
    headings = []
    for match in lines_alone(text, _DATE):
        rest = match["rest"].rstrip(" _*=~].,:;-\u2013\u2014")
        place = _BEHIND.fullmatch(rest)
        if text[match.end() : match.end() + 2] == "\n\n" and (
            not rest or (place and is_title(place["place"]))
        ):
            headings.append(Heading(match.start("label"), match.end(), CHAPTER, TITLE, None, clean(match[0])))
    return far_apart(text, headings, _FEWEST_WORDS, _FEWEST_USUAL)


def titles_set_apart(text: str) -> list[Heading]:
    """Titles with three blank lines above and one below, where they part a text into long pieces of prose."""
    headings = [
        Heading(*match.span(1), CHAPTER, TITLE, None, clean(match[1]))
        for match in _APART.finditer(text)
        if is_title(match[1]) and not match[1][0].isdigit() and not has_page_number(match[1])
    ]
    ends = [*(heading.start for heading in headings[1:]), len(text)]
    of_prose = [
        heading
        for heading, end in zip(headings, ends, strict=False)
        if has_prose(text, heading.end, end)  # else it is above a list of contents
    ]
    return far_apart(text, of_prose)
