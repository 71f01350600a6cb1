"""Where in a passage a quotation stands that was copied with other quotes, spaces, dashes or capitals."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

_QUOTES = (
    "\"'`\u00b4\u00ab\u00bb\u02bc\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2032\u2033\u2039\u203a"
)
_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_EMPHASIS = "*_"
_ENDS = ".,;:!?\u2026"


def find_quote(text: str, quote: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
    """The first place in ``text[start:end]`` where ``quote`` stands, as offsets into ``text``.

    It must begin and end where words do, and stand there exactly or else but for spaces, capitals,
    kinds of quotation marks and dashes, marks of emphasis, invisible characters and Unicode forms.
    Quotation marks or a full stop of its own around the quote are given up where they keep it from
    being found. None where it does not stand there, or has no letter, digit or symbol to go by.
    """
    end = len(text) if end is None else end
    quote = quote.strip()
    if not _says_something(quote):
        return None
    at = text.find(quote, start, end)
    while at >= 0:
        if _between_words(text, at, at + len(quote)):
            return at, at + len(quote)
        at = text.find(quote, at + 1, end)
    plain, places = _plain(text[start:end])
    for variant in _variants(quote):
        wanted, _ = _plain(variant)
        at = plain.find(wanted) if _says_something(wanted) else -1
        while at >= 0:
            if _cuts_no_character(places, at, at + len(wanted)):
                first, last = start + places[at][0], start + places[at + len(wanted) - 1][1]
                first, last = _trimmed(text, first, last)
                if _between_words(text, first, last):
                    return first, last
            at = plain.find(wanted, at + 1)
    return None


def _variants(quote: str) -> Iterator[str]:
    """The quote as it is, then with ever fewer marks of its own around it."""
    yield quote
    yield quote.strip(_ENDS + " ")
    bare = quote.strip(_QUOTES + _EMPHASIS)
    yield bare
    yield bare.strip(_ENDS + " ").strip(_QUOTES)


def _plain(text: str) -> tuple[str, list[tuple[int, int]]]:
    """``text`` without what copying may change, and where in it each character comes from."""
    plain: list[str] = []
    places: list[tuple[int, int]] = []
    for at, character in enumerate(text):
        for one in _plain_character(character):
            if one == "-" and plain and plain[-1] == " ":
                plain.pop()
                places.pop()
            if plain and ((one in (" ", "'", "-") and plain[-1] == one) or (one == " " and plain[-1] == "-")):
                places[-1] = (places[-1][0], at + 1)  # a run of them counts as one
            else:
                plain.append(one)
                places.append((at, at + 1))
    return "".join(plain), places


@lru_cache(maxsize=4096)
def _plain_character(character: str) -> str:
    """What stands for the character in the plain text: nothing, or one or more characters."""
    if character.isspace():
        return " "
    if character in _QUOTES:
        return "'"
    if character in _DASHES:
        return "-"
    if character in _EMPHASIS or _is_invisible(character):
        return ""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())


def _is_invisible(character: str) -> bool:
    """Joiners, marks of direction, control characters, and what only chooses another's looks."""
    return unicodedata.category(character) in ("Cf", "Cc") or "\ufe00" <= character <= "\ufe0f"


def _says_something(text: str) -> bool:
    return any(unicodedata.category(c)[0] in "LN" or unicodedata.category(c) == "So" for c in text)


def _cuts_no_character(places: list[tuple[int, int]], first: int, last: int) -> bool:
    """Whether ``[first, last)`` holds all or nothing of what one character was written out as."""
    return not (first > 0 and places[first - 1] == places[first]) and not (
        last < len(places) and places[last - 1] == places[last]
    )


def _trimmed(text: str, first: int, last: int) -> tuple[int, int]:
    """Without space around it, and with the invisible characters that belong to its last one."""
    while text[first].isspace():
        first += 1
    while text[last - 1].isspace():
        last -= 1
    while last < len(text) and not text[last].isspace() and _is_invisible(text[last]):
        last += 1
    return first, last


def _between_words(text: str, first: int, last: int) -> bool:
    """Whether no word is cut at either end of ``text[first:last]``."""
    return not (first > 0 and _joined(text[first - 1], text[first])) and not (
        last < len(text) and _joined(text[last - 1], text[last])
    )


def _joined(left: str, right: str) -> bool:
    """Whether two neighbours belong to one word, or to one letter."""
    if unicodedata.category(right)[0] == "M":
        return True
    # Chinese and Japanese set no space between words.
    spaced = all(unicodedata.east_asian_width(c) not in "WF" for c in (left, right))
    return spaced and left.isalnum() and right.isalnum()
