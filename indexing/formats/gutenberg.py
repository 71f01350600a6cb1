"""What Project Gutenberg adds to a book, found so that it can be cut off: header, licence, credits."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from indexing.chapters.divisions import divisions
from indexing.chapters.front_matter import SLUG_LINE, named_headings
from indexing.chapters.numerals import numeral

_START = re.compile(
    r"^\*{2,3} ?START OF (?:THE|THIS) PROJECT GUTENBERG[^\n]*(?:\n[^\n]+?\*\*\*)?$"
    r"|^\*END[* ]*THE SMALL PRINT[^\n]*$"
    r"|^(?>[^\n]*?<<THIS ELECTRONIC VERSION)[^>]{0,2000}+>>$",
    re.M | re.I,
)
_CUT_START = re.compile(r"\A[^\n*]{1,80}\*\*\*\n")  # the second line of a marker, left by another tool
_END = re.compile(
    r"^[^\S\n]*+(?:\*{2,3} ?END OF (?:THE|THIS) PROJECT GUTENBERG"
    r"|(?:This is the |The )?End of (?:the |this )?Project Gutenberg)[^\n]*$",
    re.M | re.I,
)
_CREDITS = re.compile(
    r"(?:Produced by|E-?text (?:prepared|produced|scanned)|Transcribed (?:from|by)"
    r"|This (?:e-?text|eBook|file) was|HTML version by|Proofread by|Scanned by"
    r"|Note: (?:Project Gutenberg|Images of))\b[^\n]*(?:\n[^\n]+)*\n*",
    re.I,
)
_TITLE = re.compile(r"^Title:[^\S\n]*([^\n]+(?:\n[^\S\n]+[^\n]+)*)", re.M)
_AUTHOR = re.compile(r"^Author:[^\S\n]*([^\n]+(?:\n[^\S\n]+[^\n]+)*)", re.M)
_HEADER = re.compile(r"Title:[^\n]+(?:\n[^\n]+){0,3}\n{1,2}Author:")  # as other libraries have it, too
_BETWEEN_AUTHORS = re.compile(r"(?<!,)(?<!&)(?<!\band)\n\s*")  # the lines of their names
_LANGUAGE = re.compile(r"^Language:[^\S\n]*(\w+)", re.M)
_LANGUAGES = {
    **{"english": "en", "french": "fr", "german": "de", "spanish": "es", "italian": "it", "dutch": "nl"},
    **{"portuguese": "pt", "finnish": "fi", "swedish": "sv", "danish": "da", "latin": "la", "greek": "el"},
    **{
        "hungarian": "hu",
        "polish": "pl",
        "czech": "cs",
        "norwegian": "no",
        "icelandic": "is",
        "russian": "ru",
    },
    **{"chinese": "zh", "japanese": "ja", "esperanto": "eo", "catalan": "ca", "tagalog": "tl", "welsh": "cy"},
}
_ENCODING = re.compile(rb"^Character set encoding:\s*(\S+)", re.M | re.I)
_HEAD = 40_000  # characters in which a header ends
_WRITTEN = r"^[^\S\n]*_?(?i:(?:written|told|a (?:novel|romance|tale|story|play))\s+)?_?"
_BY_LINE = re.compile(rf"{_WRITTEN}by(?![^\W_])_?[.:]?[^\S\n]*[^\n]{{0,60}}$", re.M | re.I)
# Capitalised words and initials, with what stands before surnames and between two names; behind them letters
# (M.A.), another name or years in brackets, and what else they wrote.
_BY_NAME = re.compile(
    rf"{_WRITTEN}(?:by|BY|By)(?![^\W_])_?[.:]?\s+"
    r"((?:[^\W\d_a-z][\w.'\u2019-]*(?:[^\S\n]+(?:(?:de|von|van|der|la|le|du|and)\b|&))*[^\S\n]*){1,6})"
    r"(?:,(?:[^\S\n]*(?:[A-Z][A-Za-z]{0,3}\.){1,4},?){1,4}|,?[^\S\n]*(?i:author) (?i:of)\b[^\n]*)?[^\S\n]*"
    r"(?:\[[^\]\n]*\]|\([^)\n]*\))?[\s_.]*$",
    re.M,
)
_AND = re.compile(r"\s+(?:and|AND|&)\s+")
# What a page of Project Gutenberg's is called.
_PAGE_TITLE = re.compile(
    r"(?:(?:The )?Project Gutenberg(?:['\u2019]s)?(?: e-?(?:book|text)(?: of)?)?,? )?(?P<title>.+?)"
    r"(?:,? by (?P<author>[^|]+?))?"
    r"(?:\s*(?:\||[-\u2013\u2014]+)\s*(?:A )?Project Gutenberg(?: e-?(?:book|text))?)?\.?",
    re.I,
)
_FIRST_PAGE = 1500  # characters
_RUNNING = re.compile(r"\b[^\W\d_A-Z]{4}")  # no word of a title that has capitals where titles have them
_LENGTH = re.compile(r"(?:(?:about|approx\w*\.?|word count:?) )?[\d,]+ words\b", re.I)
_DONE_TO_IT = 3  # semicolons
_BESIDE_THE_TITLE = ("[", "Transcriber", "TRANSCRIBER", "Note:", "+--")
_LONGEST_TITLE = 100
_LONGEST_PAGE_TITLE = 300


def body_span(text: str) -> tuple[int, int]:
    """``(start, end)`` of the book itself in a normalised text; all of it where Gutenberg added nothing."""
    start, end = 0, len(text)
    for match in _START.finditer(text, 0, _HEAD):
        if start and _END.search(text, start, match.start()):
            break  # the next book of several
        start = match.end()
    if cut := _CUT_START.match(text):
        start = cut.end()
    # The licence stands last, and a "small print" in old files first: only the second half can end the book.
    last = max((stop for _, stop in _between_books(text, start)), default=0)
    if licence := _END.search(text, max(start, (last + len(text)) // 2)):
        end = licence.start()
    start = _without_credits(text, start, end)
    return start, start + len(text[start:end].rstrip())


def licences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The licences and headers between the books of ``text[start:end]``, where a file holds several."""
    return [(stop, _without_credits(text, begin, end)) for stop, begin in _between_books(text, start)]


def _between_books(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where a book ends in the half of its text before the mark that begins the next, and where that ends."""
    licences_at = [licence.start() for licence in _END.finditer(text, start)]
    for mark in _START.finditer(text, start):
        at = bisect_left(licences_at, (start + mark.start()) // 2)
        if at < len(licences_at) and licences_at[at] < mark.start():
            yield licences_at[at], mark.end()
            start = mark.end()


def stated_title(text: str) -> str | None:
    """The title that the header of a normalised Gutenberg text states, or of one that begins with it."""
    found = _stated(_TITLE, text)
    return found and " ".join(found.split())


def stated_author(text: str) -> str | None:
    """The authors that the header of a normalised Gutenberg text states, on one line."""
    found = _stated(_AUTHOR, text)
    return found and " ".join(_BETWEEN_AUTHORS.sub(", ", found).split())


def stated_language(text: str) -> str | None:
    """The language that the header of a normalised Gutenberg text states, as a tag (BCP 47)."""
    return _LANGUAGES.get((_stated(_LANGUAGE, text) or "").lower())


def _stated(line: re.Pattern[str], text: str) -> str | None:
    is_headed = _HEADER.match(text) or "project gutenberg" in text[:_HEAD].lower()
    match = line.search(text, 0, _HEAD) if is_headed else None
    return match[1].strip() if match else None


def stated_encoding(data: bytes) -> str | None:
    """The encoding that the header of a Gutenberg file states; it may be none that Python knows."""
    match = _ENCODING.search(data[:_HEAD])
    return match[1].decode("ascii", "replace") if match else None


def title_page(text: str) -> str | None:
    """The title on the first page of a book: what stands first, if it is in capitals or above ``by NAME``."""
    by = _BY_LINE.search(text, 0, _FIRST_PAGE)
    author = author_on_title_page(text)
    paragraphs = re.split(r"\n\n+", text[: by.start()] if by else text[:_FIRST_PAGE])
    for paragraph in paragraphs:
        title = re.sub(r"\s+", " ", re.split(r",? by ", paragraph, maxsplit=1, flags=re.I)[0]).strip(
            " _*.,:;"
        )
        if paragraph.strip().startswith(_BESIDE_THE_TITLE) or not re.search(r"\w", title):
            continue
        # Above the title of a manuscript are its author's name and address, and how long it is; above that of
        # an old file what was done to it.
        if by and ((author and author in title) or _LENGTH.match(title) or title.count(";") >= _DONE_TO_IT):
            continue
        if (
            (numeral(title) and not by)
            or divisions(paragraph)
            or named_headings(paragraph)
            or SLUG_LINE.match(paragraph)
        ):
            return None  # where the story begins
        return title if len(title) <= _LONGEST_TITLE and (by or title.isupper()) else None
    return None


def author_on_title_page(text: str) -> str | None:
    """The author on the first page of a book: the name of the first line ``by NAME``."""
    by = _BY_NAME.search(text[:_FIRST_PAGE])
    return ", ".join(_AND.split(" ".join(by[1].split()).strip("_ "))) or None if by else None


def title_and_author(page_title: str | None) -> tuple[str | None, str | None]:
    """The title and the author in what a page of Project Gutenberg's is called; any other's is its title."""
    if page_title is None or "project gutenberg" not in page_title.lower():
        return page_title, None
    match = _PAGE_TITLE.fullmatch(page_title[:_LONGEST_PAGE_TITLE])
    return (match["title"], match["author"]) if match else (page_title, None)


def signed(text: str) -> int | None:
    """Where the line ends with which a text's first page says who wrote it; None where no such line stands
    by itself, below a blank line or a title in capitals."""
    by = _BY_NAME.search(text[:_FIRST_PAGE])
    if by is None:
        return None
    above = text[: by.start()].rstrip(" \t")
    apart = not above or above.endswith("\n\n") or not _RUNNING.search(above)
    return len(text[: by.end()].rstrip()) if apart else None


def _without_credits(text: str, start: int, end: int) -> int:
    while (credit := _CREDITS.match(text, _skip_space(text, start, end))) is not None and credit.end() < end:
        start = credit.end()
    return _skip_space(text, start, end)


def _skip_space(text: str, at: int, end: int) -> int:
    while at < end and text[at].isspace():
        at += 1
    return at
