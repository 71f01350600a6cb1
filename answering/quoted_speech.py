"""Who says what a question quotes, where the story says so beside it: “...,” said Odo."""

from __future__ import annotations

import re

from answering.citing import Candidate
from answering.of_itself import OfItself
from answering.quotes import paragraph_around
from answering.said import Said
from text.book_words import THE_BOOK
from text.quotations import QUOTATION, place_once, quotation
from text.speech import speaker

_STATED = 0.9  # that whoever is named beside a speech has made it
_SAYS = (
    r"(?:says?|said|speaks?|spoke|asks?|asked|cries|cried|exclaims?|exclaimed|replies|replied|answers?|answered"
    r"|shouts?|shouted|whispers?|whispered|utters?|uttered|remarks?|remarked|speaking|saying|talking)"
)
_ASKED = re.compile(
    rf"(?:who|which character)(?: is| was)?(?: (?:it|the one) (?:that|who))? {_SAYS}"
    rf"(?: that)?(?: (?:the|these|this) (?:words|lines?|sentences?))?[:,]? ?{QUOTATION}"
    rf"(?: (?:in|of) {THE_BOOK})?[\s?!.]*",
    re.I,
)


def said_by(question: str, book: OfItself) -> Said | None:
    """Who says what a question quotes, if the book has it once and names them beside it, before its limit."""
    quoted = quotation(question) if _ASKED.fullmatch(question.strip()) else None
    place = None if quoted is None else place_once(quoted, book.story)
    if place is None:
        return None
    first, last = paragraph_around(book.story, place[0])
    found = speaker(book.story[first:last], place[0] - first, min(last, place[1]) - first)
    if found is None:
        return None
    who = book.evidence(first + found[0], first + found[1])
    return Said((Candidate(who.text, _STATED, who),))
