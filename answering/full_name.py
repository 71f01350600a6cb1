"""What somebody's first, last or whole name is, by the longest name that the book has for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from answering.mention_questions import is_name
from answering.of_itself import OfItself
from answering.said import Said, said_at
from text.honorifics import is_title

Part = Literal["first", "last", "whole"]

_SURE = 0.8  # of 111 persons of 38 novels, by eye, 93 are right (docs/facts.md)
_PARTS: dict[str, Part] = {
    **dict.fromkeys(("first name", "given name", "christian name", "forename"), "first"),
    **dict.fromkeys(("last name", "family name", "surname"), "last"),
    **dict.fromkeys(("full name", "whole name", "complete name"), "whole"),
}
_IS, _PART = r"what(?:['’]s| is| was)", "|".join(_PARTS)
_WHOSE = re.compile(rf"{_IS} (?P<whom>.+?)['’]s? (?P<part>{_PART})[?!.\s]*", re.I)
_OF = re.compile(rf"{_IS} the (?P<part>{_PART}) of (?P<whom>.+?)[?!.\s]*", re.I)
_NO_FIRST = frozenset({"van", "von", "de", "du", "da", "di", "la", "le", "st", "san"})
_EPITHET = frozenset({"the", "of", "and"})  # Peter the Great has no last name
_BY_HUSBAND = frozenset({"mrs", "mme", "madame", "frau"})  # Mrs. John Dashwood is called by his


@dataclass(frozen=True, slots=True)
class NameQuestion:
    """Which ``part`` is asked for of the name of ``whom``."""

    whom: str
    part: Part


def name_asked(question: str) -> NameQuestion | None:
    """The name that a question asks for; None of other questions."""
    bare = " ".join(question.split())
    match = _WHOSE.fullmatch(bare) or _OF.fullmatch(bare)
    if match is None or not is_name(match["whom"]):
        return None
    return NameQuestion(match["whom"], _PARTS[match["part"].lower()])


def name_of(asked: NameQuestion, book: OfItself) -> Said | None:
    """The part of somebody's name, at the first place of the whole; None where the book has no more of it."""
    person = book.person(asked.whom)
    if person is None or not person.is_person:
        return None
    called = max((person.name, *person.aliases), key=lambda name: len(_untitled(name)))
    words = _untitled(called)
    if len(words) < 2 or _EPITHET & set(map(str.lower, words)) or len(words[-1]) < 2:
        return None
    if asked.part == "first" and (words[0].lower() in _NO_FIRST or len(words[0].rstrip(".")) < 2):
        return None
    if asked.part == "whole" and words == _untitled(asked.whom):
        return None
    text = {"first": words[0], "last": words[-1], "whole": " ".join(words)}[asked.part]
    places = [place for place in person.places if book.index.text(*place).split() == called.split()]
    note = f"the longest name that the book has for {asked.whom}: {called}"
    return said_at(text, _SURE, [book.evidence(*places[0])], note, guessed=True) if places else None


def _untitled(name: str) -> list[str]:
    """The words of a name behind its titles; none where it is a husband's."""
    words = name.split()
    if words[0].lower().rstrip(".") in _BY_HUSBAND:
        return []
    start = next((i for i, word in enumerate(words) if not is_title(word.rstrip("."))), len(words))
    return words[start:]
