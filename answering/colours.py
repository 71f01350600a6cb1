"""What colour are NAME's eyes?: told by the colours that stand beside the word where it may be theirs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from answering.counted import Signs, counted_person, nearness, told
from answering.mention_questions import is_name
from answering.of_itself import OfItself
from answering.owners import Owners, Word
from answering.said import Said
from text.bare_questions import bare_question
from text.book_words import THE_BOOK

_OF_EYES = "black grey gray blue green brown hazel dark violet amber golden tawny"  # red ones have wept
_OF_HAIR = """black brown red golden gold yellow auburn chestnut fair dark blond blonde flaxen grey gray white
silver silvery sandy ginger raven copper tawny"""
_HAIR = ("hair", "haired", "curl", "lock", "tress", "tresses", "ringlet")
_BEARD = ("beard", "bearded", "moustache", "mustache", "whisker")
_FEATURES: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("eye", "eyes"), (("eye", "eyed"), _OF_EYES)),
    "hair": (_HAIR, _OF_HAIR),
    **dict.fromkeys(("beard", "moustache", "mustache", "whiskers"), (_BEARD, _OF_HAIR)),
}
_ALIKE = {"gray": "grey", "gold": "golden", "blonde": "blond", "silvery": "silver"}
_FEATURE = rf"(?P<feature>{'|'.join(_FEATURES)})"
_IN = rf"(?: (?:in|of) {THE_BOOK})?"
_ASKED = [
    re.compile(rf"what {form}{_IN}", re.I)
    for form in (
        rf"colou?r(?:ed)? (?:is|are|was|were) (?P<whom>.+?)['’]s? {_FEATURE}",
        rf"colou?r(?:ed)? (?:is|are|was|were) the {_FEATURE} of (?P<whom>.+?)",
        rf"colou?r(?:ed)? {_FEATURE} (?:does|did|has|had) (?P<whom>.+?)(?: have)?",
        rf"(?:is|was) the colou?r of (?P<whom>.+?)['’]s? {_FEATURE}",
        r"(?:is|was) (?P<whom>.+?)['’]s? (?P<feature>eye|hair) colou?r",
    )
]
_SHADE = r"(?:(?:dark|light|pale|deep|bright|reddish)[ -])?"  # dark brown is brown
_ADJECTIVES = 3  # between whose eyes they are and the word: her large, dark blue eyes
# What is no part of "her blue, laughing eyes": blue circles about her eyes.
_ELSEWHERE = (
    r"(?:about|above|an?|at|behind|below|beneath|beside|by|for|from|he|her|his|in|into|its|my|of|on|over"
    r"|round|she|the|their|there|to|under|upon|were|was|while|with|your)"
)
_BEFORE = re.compile(rf"(?:,?\s+(?!{_ELSEWHERE}\b)[\w’'-]+)*\s+|-")
_BEHIND = re.compile(r"\s+(?:(?:is|are|was|were|of|as|so|very|an?|that|which|had|been|deep)\s+)+")
_REACH, _FALL = 30, 15  # characters from the colour to the word, and in which it falls to 1/e of its worth


@dataclass(frozen=True, slots=True)
class ColourQuestion:
    """The colour of whose eyes, hair or beard, ``feature``, is asked for."""

    feature: str
    whom: str


def colour_asked(question: str) -> ColourQuestion | None:
    """Whose colour of eyes, hair or beard a question asks for; None of other questions."""
    bare = bare_question(question)
    found = next(filter(None, (pattern.fullmatch(bare) for pattern in _ASKED)), None)
    if found is None or not is_name(found["whom"]):
        return None
    return ColourQuestion(found["feature"].lower(), found["whom"])


def colour_of(asked: ColourQuestion, book: OfItself) -> Said | None:
    """The colours that are said of somebody's eyes, hair or beard, the likeliest first.

    None where nobody is called as is asked, or none is said, and of a short story.
    """
    person = counted_person(asked.whom, book)
    if person is None:
        return None
    words, colours = _FEATURES[asked.feature]
    pattern = re.compile(rf"(?<![\w-]){_SHADE}(?:\w+-)?({'|'.join(colours.split())})(?!\w)")
    owners = Owners(book, person)
    found: dict[str, Signs] = defaultdict(Signs)
    for word in owners.words(words, _ADJECTIVES):
        if owners.is_another(word) or word.own in {"a", "an"}:  # "a black eye" is no colour of one
            continue
        weight = owners.weight(word, *owners.owner(word))
        for match, distance in _beside(book.story, word, pattern) if weight else ():
            colour = _ALIKE.get(match[1], match[1])
            found[colour].add(match.span(), near=weight * nearness(distance, _FALL), stated=0.0)
    scored = [(colour, signs.score, signs) for colour, signs in found.items()]
    return told(scored, book, f"the colour named most where {asked.whom}'s {asked.feature} may be spoken of")


def _beside(story: str, word: Word, colours: re.Pattern[str]) -> Iterator[tuple[re.Match[str], float]]:
    """The colours of what a word names, each with its distance: before it, or behind "were" and such."""
    for match in colours.finditer(story, max(0, word.start - 2 * _REACH), word.start):
        between = story[match.end() : word.start]
        if len(between) <= _REACH and _BEFORE.fullmatch(between):
            yield match, len(between)
    behind = _BEHIND.match(story, word.end)
    followed = colours.match(story, behind.end()) if behind else None
    if behind is not None and followed is not None:
        yield followed, len(behind[0]) / 2
