"""The names in a question, and those of them that a text never mentions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from text.name_signs import POSSESSIVE
from text.question_kinds import opens_question
from text.tokens import tokens

_WORD = re.compile(r"\w[\w'’-]*\w|\w")
NEAR = 0.8  # of the letters of a name that is misspelt: Heathclif, Katherine for Catherine
SHORTEST_MISSPELT = 5
_TITLES = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "doctor", "captain", "lord", "lady", "sir", "king", "queen", "prince"}
    | {"princess", "uncle", "aunt", "saint", "st", "old", "mother", "father", "i", "god", "professor"}
)


def names_in(question: str) -> list[str]:
    """The words of the question with a capital that are no beginning of it, each once, in order.

    None in a question of capitals alone. Titles and initials are left out, and so are possessives.
    """
    if not any(character.islower() for character in question):
        return []
    found = []
    for number, token in enumerate(tokens(question)):
        word = POSSESSIVE.sub("", question[token.start : token.end]).rstrip(".")
        capital = word[:1].isupper() and len(word) > 1 and word.lower() not in _TITLES
        if capital and (number > 0 or _first_is_name(question, token.key, token.end)):
            found.append(word)
    return list(dict.fromkeys(found))


def _first_is_name(question: str, key: str, end: int) -> bool:
    """Whether the first word is a name: it does not ask, and a capital or a possessive follows it."""
    rest = question[end:].lstrip()
    return not opens_question(key) and (rest[:1].isupper() or rest[:2] in {"'s", "’s"})


def unmentioned(names: list[str], text: str) -> list[str]:
    """The names of which the text has nothing: not in any case, in parts, or nearly so spelled."""
    spelled: set[str] = set()
    missing = []
    for name in names:
        parts = [part for part in re.split(r"[-'’]", name) if len(part) > 1] or [name]
        if any(_mentions(text, part) for part in parts):
            continue
        spelled = spelled or set(_capitalised(text))
        near = difflib.get_close_matches(name.lower(), spelled, n=1, cutoff=NEAR)
        if not near or len(name) < SHORTEST_MISSPELT:
            missing.append(name)
    return missing


def _mentions(text: str, word: str) -> bool:
    """Whether the text has the word, a plural of it or what it is a plural of."""
    stem = word.lower().removesuffix("s") if len(word) > 3 else word.lower()
    return re.search(rf"(?<!\w){re.escape(stem)}(?:e?s)?(?!\w)", text, re.IGNORECASE) is not None


def _capitalised(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        if match[0][0].isupper():
            yield match[0].lower()
