"""What a question quotes of a text, and where the text has it."""

from __future__ import annotations

import re

from text.quote_matching import find_quote
from text.words import words

QUOTATION = (
    r"(?:[\"“”«](?P<double>[^\"“”«»]{4,300})[\"“”»]"
    r"|(?<!\w)['‘](?P<single>(?:[^'‘’]|(?<=\w)['’](?=\w)){4,300})['’](?!\w))"
)
_QUOTATION = re.compile(QUOTATION)
_SHORTEST = 3  # words; fewer are a name or a title oftener than they are quoted


def quotation(question: str) -> str | None:
    """What a question quotes; None of a word or two."""
    match = _QUOTATION.search(question)
    quoted = "" if match is None else match["double"] or match["single"]
    return quoted if len(words(quoted)) >= _SHORTEST else None


def place_once(quoted: str, text: str) -> tuple[int, int] | None:
    """Where ``text`` has what is quoted, if it has it in one place alone."""
    place = find_quote(text, quoted)
    return place if place is not None and find_quote(text, quoted, place[1]) is None else None
