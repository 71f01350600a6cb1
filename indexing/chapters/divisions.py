"""Headings that count: volumes, parts, books, acts, chapters and scenes of a plain text."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import chain

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
    is_rule,
    is_title,
    lines_alone,
    lines_below,
    paragraph_end,
    without_footnote,
)
from indexing.chapters.numerals import NUMERAL, numeral
from indexing.chapters.ordinals import MOST_WORDS, ORDINAL_JOIN, ORDINAL_WORD, ordinal_elsewhere
from indexing.chapters.series import long_series
from indexing.chapters.titles import far_apart

_LEVELS = {
    **dict.fromkeys(("volume", "vol", "part", "book", "arc", "season"), PART),
    "act": ACT,
    **dict.fromkeys(
        ("chapter", "chap", "ch", "canto", "letter", "stave", "section", "episode", "adventure"), CHAPTER
    ),
    **dict.fromkeys(
        ("phase", "day", "night", "fytte", "fit", "tale", "story", "narrative", "epoch"), CHAPTER
    ),
    **dict.fromkeys(("scene", "tableau"), SCENE),
    **dict.fromkeys(CHAPTERS_ELSEWHERE, CHAPTER),
    **dict.fromkeys(PARTS_ELSEWHERE, PART),
}
_ALIASES = {"vol": "volume", "chap": "chapter", "ch": "chapter"}
_KEYWORD = "|".join(f"{word.capitalize()}|{word.upper()}" for word in _LEVELS)
_LAST = "last"
_NUMBER = rf"(?P<number>{NUMERAL}|(?<=(?i:chapter the ))(?i:{_LAST})\b|(?i:{_LAST})(?= (?i:chapter)\b))"
# Before its number, which behind these three may stand behind a mark or on the next line: others are words of
# verses and of sentences.
_OF_THREE = r"(?:(?<=(?i:chapter))|(?<=(?i:part))|(?<=(?i:book)))"
_BETWEEN = rf"(?:[ -]*|{_OF_THREE}[^\S\n]*(?:\n|[:#\u2013\u2014]|(?i:number)\b)[^\S\n]*)"
# Web novels have chapters 12.5 and 1.2, which are one chapter's.
_FRACTION = r"(?:(?<=\d)\.\d{1,2}(?!\.?\d|[^\W_]))?"
_LARGEST_PART = 999
_UNCOUNTED = -1  # the number of the last chapter, which says none, until the one before it is known
_NUMBERED = re.compile(
    rf"{EDGE}(?:(?:THE|The) )?"
    rf"(?P<label>(?P<kind>{_KEYWORD})\b\.?{_BETWEEN}(?:(?:THE|the|The|NO\.|No\.) )?{_NUMBER}{_FRACTION})"
    r"(?P<rest>[^\n]*)$",
    re.M,
)
_NUMBER_FIRST = re.compile(
    rf"{EDGE}(?:(?:THE|The) )?(?P<label>{_NUMBER} (?P<kind>{_KEYWORD}))\b(?P<rest>[^\n]*)$", re.M
)
_KIND_ELSEWHERE = rf"(?P<kind>(?i:{'|'.join((*CHAPTERS_ELSEWHERE, *PARTS_ELSEWHERE))}))"
_ARTICLE = r"(?:(?i:das|der|het|le|la|el|il|o|a) )?"
_ORDINAL_FIRST = re.compile(
    rf"{EDGE}{_ARTICLE}(?P<label>(?P<number>(?:\d{{1,3}}|[IVXLC]+)\."
    rf"|{ORDINAL_WORD}(?:{ORDINAL_JOIN}{ORDINAL_WORD}){{0,{MOST_WORDS - 1}}}) {_KIND_ELSEWHERE})\b"
    r"(?P<rest>[^\n]*)$",
    re.M,
)
_ORDINAL_BEHIND = [  # of as many words as are one; what follows may be a title
    re.compile(
        rf"{EDGE}(?P<label>(?=[^\W\d_])(?![a-z]){_KIND_ELSEWHERE} "
        rf"(?P<number>{ORDINAL_WORD}(?:{ORDINAL_JOIN}{ORDINAL_WORD}){{{more}}}))\b(?P<rest>[^\n]*)$",
        re.M,
    )
    for more in reversed(range(MOST_WORDS))
]
_COUNTING = (_NUMBERED, _NUMBER_FIRST, _ORDINAL_FIRST, *_ORDINAL_BEHIND)
_WORDS = r"(?P<kind>[^\W\d_a-z][^\W\d_]+(?:[ -][^\W\d_a-z][^\W\d_]+)?)"  # any, with capitals
_ANY_WORD = re.compile(
    rf"{EDGE}(?:The |THE )?(?P<label>{_WORDS}(?: No\.?| #|[.:])? (?P<number>{NUMERAL}))(?P<rest>[^\n]*)$",
    re.M,
)
# A number in words, without a stop: "Two." may be what somebody says.
_ALONE = rf"(?!\d|[ivxlc]+\b){NUMERAL}(?=[^\S\n]*$)"
_BARE = re.compile(
    rf"^[^\S\n]*+_{{0,2}}(?P<label>(?P<number>\d{{1,3}}|[IVXLC]+|{_ALONE}))"
    r"(?P<rest>(?:[.:)\u2014_-]|(?=\s))[^\n]*|)$",
    re.M,
)
# The same between marks, or behind one: "- 1 -", "~ II ~", "\xa7 3", "(4)".
_SET_OFF = re.compile(
    rf"^[^\S\n]*+(?:[-\u2013\u2014*~=]{{1,3}}|[\xa7#(])[^\S\n]*"
    rf"(?P<label>(?P<number>\d{{1,3}}|[IVXLC]+|(?!\d|[ivxlc]+\b){NUMERAL}))(?P<rest>)[^\S\n]*"
    r"(?:[-\u2013\u2014*~=]{1,3}|\))?[^\S\n]*$",
    re.M,
)
_BARE_KIND = "numeral"
_NOT_A_TITLE = re.compile(r"(?:argument|scene|contents|dedicated|to (?:[^,]*, )?my)\b", re.I)
_ENTRANCE = re.compile(r"(?:re-?)?enter\b", re.I)
_PRONOUN = re.compile(r"_?I [^\W\d_]")
_LONGEST_TITLE = 250
_FEWEST_WORDS, _TYPICAL_WORDS = 20, 100  # between headings of any word and a number
_BEFORE_TITLE = " \t.:,;)]_|~\u2014\u2013-"
_MARKS = ".:-\u2014\u2013)_|~"  # those that tell a title from the words of a sentence
_PICTURE = re.compile(r"[^\S\n]*\[Illustration\b[^\]]{0,300}\]?(?=\n\n)")  # between a number and its title
_DASH_BEHIND = re.compile(r"(?:(?<=\s)|^)[-\u2013\u2014]+$")


def divisions(text: str) -> list[Heading]:
    """Headings of a word and a number (``CHAPTER XII``, ``Book the First``, ``SECOND ACT``), in order."""
    headings = []
    for pattern in _COUNTING:
        for first in lines_alone(text, pattern):
            match: re.Match[str] | None = first
            while match:
                heading = _heading(text, match)
                within = _heading_behind(text, match)
                headings += [*within] if within else [heading] if heading else []
                # ACT II may have SCENE I on the line below it.
                match = (
                    pattern.match(text, match.end() + 1) if heading and heading.end == match.end() else None
                )
    return _counted(in_order(_with_lines_whole(text, headings)))


def _heading(text: str, match: re.Match[str]) -> Heading | None:
    """The heading that a match of a word and a number is, None where it is none."""
    number = _number(match)
    kind = match["kind"].lower()
    return _with_title(text, match, _LEVELS[kind], _ALIASES.get(kind, kind), number) if number else None


def _heading_behind(text: str, match: re.Match[str]) -> tuple[Heading, Heading] | None:
    """A part or an act and the chapter or scene that is on its line: ``Part 2, Chapter 9: The Fair``."""
    number = _number(match)
    kind = match["kind"].lower()
    rest = match["rest"]
    at = match.start("rest") + len(rest) - len(rest.lstrip(_BEFORE_TITLE))
    if not number or _LEVELS[kind] not in (PART, ACT) or at == match.start("rest"):
        return None
    for pattern in _COUNTING:
        inner = pattern.match(text, at)
        if inner is None or _LEVELS[inner["kind"].lower()] <= _LEVELS[kind]:
            continue
        if (heading := _heading(text, inner)) is not None:
            end = match.end("label")
            label = clean(re.sub(r"\s+", " ", match["label"]))
            outer = Heading(match.start("label"), end, _LEVELS[kind], _ALIASES.get(kind, kind), number, label)
            return outer, heading
    return None


def _with_lines_whole(text: str, headings: list[Heading]) -> list[Heading]:
    """The headings, where a part that is the only one of its kind is a word of its line's chapter alone."""
    numbers: dict[str, set[int | None]] = {}
    for heading in headings:
        numbers.setdefault(heading.kind, set()).add(heading.number)
    whole: list[Heading] = []
    for heading in headings:
        before = whole[-1] if whole else None
        is_only = before is not None and before.level == PART and len(numbers[before.kind]) == 1
        if before and is_only and _are_on_one_line(text, before, heading):
            whole[-1] = replace(heading, start=before.start)
        else:
            whole.append(heading)
    return whole


def _are_on_one_line(text: str, before: Heading, heading: Heading) -> bool:
    return before.end < heading.start and "\n" not in text[before.end : heading.start]


def _number(match: re.Match[str]) -> int | None:
    """What a matched label counts to, -1 where it says the last; None where its words are no number.

    A part of a thousand and more is of a year.
    """
    said = match["number"].rstrip(".")
    if said.lower() == _LAST:
        return _UNCOUNTED
    number = numeral(said) or ordinal_elsewhere(said)
    return None if number and number > _LARGEST_PART and _LEVELS[match["kind"].lower()] <= ACT else number


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
    for match in chain(lines_alone(text, _BARE), lines_alone(text, _SET_OFF)):
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


def counted_otherwise(text: str) -> list[Heading]:
    """Headings of any word and a number (``Log 3``, ``Journal Entry V``) that count from 1, far apart.

    Three at least of a word; for texts that have no other headings.
    """
    found: dict[str, list[Heading]] = {}
    for match in lines_alone(text, _ANY_WORD):
        number, kind = numeral(match["number"]), match["kind"].lower()
        series = found.setdefault(kind, [])
        if number == len(series) + 1 and (heading := _with_title(text, match, CHAPTER, kind, number)):
            series.append(heading)
    far = (far_apart(text, series, _FEWEST_WORDS, _TYPICAL_WORDS) for series in found.values())
    return max(far, key=len, default=[])


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
    rest = _DASH_BEHIND.sub("", without_footnote(match["rest"].rstrip()).rstrip(" _*=~]#+>")).rstrip()
    title = rest.lstrip(_BEFORE_TITLE)
    marked = any(mark in _MARKS for mark in rest[: len(rest) - len(title)])
    end = match.end()
    below, end_below = lines_below(text, end, 3)
    if below and is_rule(below[0]):
        end += 1 + len(below[0])
        below = []
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
    label = re.sub(r"\s*[:#\u2013\u2014]\s*|\s+", " ", match["label"])
    full = clean(f"{label}{'.' if kind == _BARE_KIND else ':'} {title}" if title else label)
    return Heading(match.start("label"), end, level, kind, number, full[:_LONGEST_TITLE])


def _title_below(text: str, end: int, bare: bool) -> tuple[str, int]:
    """The title that is a paragraph of its own under a heading that ends at ``end``, and its end."""
    start = _behind_blank(text, end)
    picture = _PICTURE.match(text, start)
    above = picture.end() if picture else end
    start = _behind_blank(text, above)
    stop = paragraph_end(text, start)
    lines = text[start : min(stop, start + _LONGEST_TITLE + 1)].split("\n")
    title = " ".join(map(str.strip, lines))
    if len(lines) > 2 or start - above > 6 or not is_title(title) or _NOT_A_TITLE.match(title):
        return "", end
    others = (_BARE, NAMED, SLUG_LINE)
    # A title may begin with the pronoun below a numeral; "I The Weir" below CHAPTER ONE is its section.
    lines = lines[1:] if bare and _PRONOUN.match(lines[0]) else lines
    others_there = any(_is_counted(line) or any(other.match(line) for other in others) for line in lines)
    return ("", end) if others_there else (title, stop)


def _behind_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] == "\n":
        at += 1
    return at


def _has_title(heading: Heading) -> bool:
    return re.search(r"[^\W\d_]{2,}.*[^\W\d_]{2,}", heading.title) is not None
