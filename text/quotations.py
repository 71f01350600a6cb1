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


def quoted_once(question: str, text: str) -> tuple[int, int] | None:
    """Where ``text`` has what a question quotes, if in one place alone; None of a word or two."""
    match = _QUOTATION.search(question)
    quoted = "" if match is None else match["double"] or match["single"]
    if len(words(quoted)) < _SHORTEST:
        return None
    place = find_quote(text, quoted)
    return place if place is not None and find_quote(text, quoted, place[1]) is None else None
