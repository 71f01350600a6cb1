"""Who is NAME's father? Whom does NAME marry? Where does NAME live?: questions for somebody's relations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from answering.fact_questions import TRADES
from answering.mention_questions import is_name
from text.bare_questions import bare_question
from text.book_words import THE_BOOK
from text.coreference import Pronoun


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation by its ``words``, and by what the other one is called, if there are words for that.

    ``pronoun`` is that of whoever stands in it, where it tells: "other" where it is the one that whoever is
    asked about is not called by. ``one_family`` where they may share a name, ``is_residence`` where it is to
    a place.
    """

    words: tuple[str, ...]
    inverse: tuple[str, ...] = ()
    pronoun: Pronoun | Literal["other"] | None = None
    one_family: bool = False
    is_residence: bool = False


@dataclass(frozen=True, slots=True)
class RelativesQuestion:
    """Who are all those that stand in one of ``relations`` to ``whom``; ``one_each`` of parents."""

    relations: tuple[Relation, ...]
    whom: str
    one_each: bool = False


@dataclass(frozen=True, slots=True)
class RelatedQuestion:
    """Who is ``relation`` to ``whom``; of a trade, or where it is but said that there is one, to nobody."""

    relation: Relation
    whom: str | None


def _kin(words: str, inverse: str, pronoun: Pronoun | None) -> Relation:
    return Relation(tuple(words.split()), tuple(inverse.split()), pronoun, one_family=True)


def _close(words: str, inverse: str = "", pronoun: Pronoun | Literal["other"] | None = None) -> Relation:
    return Relation(tuple(words.split()), tuple(inverse.split()), pronoun)


_CHILD, _PARENT, _SIBLING = "son daughter child", "father mother", "brother sister twin"
_WED = "married marry wedding marriage"
_OTHERS = """assistant boss cat employer enemy horse landlady landlord neighbor neighbour partner pony pupil
rival baron baroness chief coroner count countess duchess duke emperor empress giant
hangman keeper king pope prince princess queen rajah sheik sultan witch wizard"""
_FRIEND = _close("friend chum companion", "friend")
_LOVER = _close("lover love loved sweetheart", "love loved lover", "other")
MARRIED = _close(f"{_WED} marries husband wife bride", "", "other")
_HOMES = "live lived lives living dwelt dwell resided home house lodgings lodging rooms cottage"
LIVES = Relation(tuple(_HOMES.split()), is_residence=True)
_BETROTHED = _close(
    "betrothed fiancé fiancée fiance fiancee bride bridegroom engaged", "betrothed engaged", "other"
)
RELATIONS = {
    "father": _kin("father papa dad daddy", _CHILD, "he"),
    "mother": _kin("mother mamma mama mammy", _CHILD, "she"),
    "husband": _kin("husband", f"wife {_WED}", "he"),
    "wife": _kin("wife", f"husband {_WED}", "she"),
    "son": _kin("son boy", _PARENT, "he"),
    "daughter": _kin("daughter girl", _PARENT, "she"),
    "brother": _kin("brother", _SIBLING, "he"),
    "sister": _kin("sister", _SIBLING, "she"),
    "uncle": _kin("uncle", "nephew niece", "he"),
    "aunt": _kin("aunt auntie", "nephew niece", "she"),
    "nephew": _kin("nephew", "uncle aunt", "he"),
    "niece": _kin("niece", "uncle aunt", "she"),
    "cousin": _kin("cousin", "cousin", None),
    "grandfather": _kin("grandfather", "grandson granddaughter", "he"),
    "grandmother": _kin("grandmother", "grandson granddaughter", "she"),
    "grandson": _kin("grandson", "grandfather grandmother", "he"),
    "granddaughter": _kin("granddaughter", "grandfather grandmother", "she"),
    "godfather": _close("godfather", "godson goddaughter", "he"),
    "godmother": _close("godmother", "godson goddaughter", "she"),
    "stepmother": _close("stepmother", "stepson stepdaughter", "she"),
    "stepfather": _close("stepfather", "stepson stepdaughter", "he"),
    **dict.fromkeys(("friend", "companion"), _FRIEND),
    "chum": _close("chum friend", "chum"),
    **dict.fromkeys(("lover", "sweetheart"), _LOVER),
    **dict.fromkeys(("betrothed", "fiancé", "fiancée", "fiance", "fiancee"), _BETROTHED),
    "nurse": _close("nurse"),
    "servant": _close("servant valet man maid butler", "master mistress"),
    "maid": _close("maid servant", "mistress", "she"),
    "slave": _close("slave servant", "master"),
    "master": _close("master", "servant", "he"),
    "mistress": _close("mistress", "servant maid", "she"),
    "guardian": _close("guardian", "ward"),
    "ward": _close("ward", "guardian"),
    "teacher": _close("teacher schoolmistress schoolmaster", "pupil"),
    "lawyer": _close("lawyer solicitor attorney"),
    "dog": _close("dog hound"),
    **{one: _close(one) for one in _OTHERS.split()},
}


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "sh", "ch")) else f"{noun}s"


_SEVERAL: dict[str, tuple[str, ...]] = {
    **{_plural(noun): (noun,) for noun in RELATIONS},
    "wives": ("wife",),
    "parents": ("father", "mother"),
    **dict.fromkeys(("children", "kids"), ("son", "daughter")),
    "siblings": ("brother", "sister"),
    "grandparents": ("grandfather", "grandmother"),
    "grandchildren": ("grandson", "granddaughter"),
}
_PLOTTED = frozenset({"thief", "spy", "author", "writer"})  # whom a story hides, or who is not in it
# These tell no two relatives apart, as "younger" does, and "twin", and "real": what is counted has not that.
_KIND = r"(?:best|closest|dear|old|only|faithful|true)"
_NOUN = rf"(?:{_KIND} )?(?P<noun>{'|'.join(sorted(RELATIONS, key=len, reverse=True))}|{TRADES})"
_OWNED = rf"(?P<whom>.+?)['’]s? {_NOUN}"
_OF = rf"the {_NOUN} (?:of|to) (?P<whom>.+?)"
_THE = rf"the {_NOUN}"
_IN = rf"(?: (?:in|of) {THE_BOOK})?"
_IS = r"(?:['’]s| is| was)"
_FORMS: tuple[tuple[Relation | None, tuple[str, ...]], ...] = (
    *(
        (
            None,
            (
                rf"(?:who{_IS}|what{_IS} the name of) {one}",
                rf"what{_IS} {one}(?:['’]s name| called| named)",
            ),
        )
        for one in (_OWNED, _OF, _THE)
    ),
    (
        MARRIED,
        (
            r"whom? (?:does|did|will) (?P<whom>.+?) (?:finally |eventually )?(?:marry|get married to)"
            r"(?: in the end)?",
            r"whom? (?:is|was|gets|got) (?P<whom>.+?) married to",
            r"(?:to )?whom (?:is|was|does|did) (?P<whom>.+?) (?:get )?(?:married|marry)",
            r"who (?:marries|married|weds) (?P<whom>.+?)",
            r"whom? (?P<whom>.+?) (?:marries|married|weds|is married to|was married to)",
        ),
    ),
    (
        LIVES,
        (
            r"where (?:does|did|do) (?P<whom>.+?) (?:live|reside|dwell)(?: now)?",
            r"where (?P<whom>.+?) (?:lives|lived|resides|resided|dwells|dwelt)",
            r"where (?:is|was) (?P<whom>.+?) living",
            r"where (?:is|was) (?P<whom>.+?)['’]s? (?:house|home)",
            r"what(?:['’]s| is| was) (?P<whom>.+?)['’]s? address",
        ),
    ),
)
_SEVERAL_NOUN = rf"(?:{_KIND} )?(?P<noun>{'|'.join(sorted(_SEVERAL, key=len, reverse=True))})"
_THEY = r"(?:who are|who were|what are the names of|what were the names of|name|list)"
_SEVERAL_PATTERNS = [
    re.compile(rf"{_THEY} (?:all )?{of}{_IN}", re.I)
    for of in (rf"(?P<whom>.+?)['’]s? {_SEVERAL_NOUN}", rf"(?:the )?{_SEVERAL_NOUN} of (?P<whom>.+?)")
]
_PATTERNS = [(re.compile(rf"{form}{_IN}", re.I), relation) for relation, forms in _FORMS for form in forms]


def related_asked(question: str) -> RelatedQuestion | None:
    """Whom a question asks for by a relation or a trade; None of other questions."""
    bare = bare_question(question)
    for pattern, relation in _PATTERNS:
        match = pattern.fullmatch(bare)
        if match is None:
            continue
        found = match.groupdict()
        noun, whom = (found.get("noun") or "").lower(), found.get("whom")
        if noun in _PLOTTED or (whom is not None and not is_name(whom)):
            return None
        return RelatedQuestion(relation or RELATIONS.get(noun) or Relation((noun,)), whom)
    return None


def relatives_asked(question: str) -> RelativesQuestion | None:
    """Whom a question asks for by a relation that several may stand in; None of other questions."""
    bare = bare_question(question)
    found = next(filter(None, (pattern.fullmatch(bare) for pattern in _SEVERAL_PATTERNS)), None)
    if found is None or not is_name(found["whom"]):
        return None
    several = found["noun"].lower()
    relations = tuple(RELATIONS[noun] for noun in _SEVERAL[several])
    return RelativesQuestion(relations, found["whom"], one_each=several == "parents")
