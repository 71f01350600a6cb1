"""Which names are one entity's: the same but for title, article and 's, or part of just one longer name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from text.honorifics import is_title

Key = tuple[str, ...]
"""A name's words in lower case, without what plays no part in whom it names."""

ARTICLES = frozenset({"the", "a", "an"})
_EPITHETS = frozenset({"old", "little"})
_POSSESSIVES = frozenset({"'s", "’s", "'", "’"})


def name_key(words: Sequence[str]) -> Key:
    """What a name is compared by; () where it has no letter. A title alone (the King) is a name."""
    start, end = bounds(words)
    lower = tuple(word.lower().replace("’", "'") for word in words[start:end])
    if not any(character.isalpha() for word in lower for character in word):
        return ()
    untitled = lower
    while len(untitled) > 1 and (is_title(untitled[0].rstrip(".")) or untitled[0] in _EPITHETS):
        untitled = untitled[1:]
    return untitled


def bounds(words: Sequence[str]) -> tuple[int, int]:
    """The first of a name's words and the one after the last, article and possessive 's left out."""
    start, end = 0, len(words)
    while start < end and words[start].lower() in ARTICLES:
        start += 1
    while start < end and words[end - 1].lower() in _POSSESSIVES:
        end -= 1
    return start, end


def entities(names: Sequence[tuple[Key, str]]) -> list[int]:
    """The number of the entity that each name names, in the order of their first names, from 0.

    A name is its key and its type, such as PERSON. One that is part of longer names of its type, all of them
    the same entity's, names that entity; one that could be part of several names its own. A key has the type
    that it has most often.
    """
    types: dict[Key, Counter[str]] = defaultdict(Counter)
    for key, type in names:
        types[key][type] += 1
    type_of = {key: counts.most_common(1)[0][0] for key, counts in types.items()}
    having: dict[str, list[Key]] = defaultdict(list)
    whole: dict[Key, Key] = {}  # the longest name of the same entity
    for key in sorted(type_of, key=len, reverse=True):
        longer = {
            whole[other]
            for other in having[key[0]]
            if len(other) > len(key) and type_of[other] == type_of[key] and is_part(key, other)
        }
        whole[key] = longer.pop() if len(longer) == 1 else key
        for word in set(key):
            having[word].append(key)
    numbers: dict[Key, int] = {}
    return [numbers.setdefault(whole[key], len(numbers)) for key, _ in names]


def is_part(part: Key, whole: Key) -> bool:
    """Whether the words of one name stand in another, one behind the other."""
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))
