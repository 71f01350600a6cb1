"""Whom a reader means: the person of a book that has the name asked for, and where the book has it."""

from __future__ import annotations

import bisect
import difflib
import re
from collections.abc import Sequence
from itertools import chain

from indexing.characters import Character, everyone
from indexing.errors import UnknownCharacter
from indexing.tagged_book import Name, Place
from text.names import Key, name_key

MOST_NEAR = 5
_NEAR = 0.75  # of the letters of a name that is misspelt


def find_character(text: str, names: Sequence[Name], asked: str) -> Character:
    """The one whom ``text``, whose ``names`` these are, calls ``asked``.

    The tagger overlooks some places, so all where a name of theirs stands, and none of somebody else, are
    theirs. A name that the tagger never took for one is looked for as it is written. Raises
    ``UnknownCharacter`` where nobody has the name, or several have.
    """
    found = everyone(text, names)
    key = name_key(asked.split())
    meant = _meant(found, key)
    if len(meant) > 1:
        others = " and ".join(repr(one.name) for one in meant[:MOST_NEAR])
        raise UnknownCharacter(
            f"{asked!r} may be {others}; ask for one of them", tuple(one.name for one in meant[:MOST_NEAR])
        )
    if meant:
        return _with_all_places(text, meant[0], found)
    written = _written(text, " ".join(asked.split())) if asked.strip()[:1].isupper() else []
    if written:
        return Character(" ".join(asked.split()), (), tuple(written), frozenset([key]))
    near = near_names(found, asked)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise UnknownCharacter(f"nobody is called {asked[:100]!r} up to there{hint}", near)


def _meant(found: Sequence[Character], key: Key) -> list[Character]:
    """Who has the name, if no other has it as part of a more frequent one; else all who have it so."""
    if not key:
        return []
    partly = [one for one in found if key not in one.keys and any(_is_part(key, other) for other in one.keys)]
    for one in found:
        if key in one.keys and all(len(one.places) >= len(other.places) for other in partly):
            return [one]
    return partly


def near_names(found: Sequence[Character], asked: str) -> tuple[str, ...]:
    """Names that look like the one asked for, or share a word with it, the nearest first."""
    called = {
        spelled.lower(): one.name for one in reversed(found) for spelled in chain((one.name,), one.aliases)
    }
    nearest = difflib.get_close_matches(asked.strip().lower(), called, MOST_NEAR, _NEAR)
    key = name_key(asked.split())
    sharing = [one.name for one in found if any(set(key) & set(other) for other in one.keys)]
    return tuple(dict.fromkeys([*(called[one] for one in nearest), *sharing]))[:MOST_NEAR]


def _is_part(part: Key, whole: Key) -> bool:
    return any(whole[i : i + len(part)] == part for i in range(len(whole) - len(part) + 1))


def _with_all_places(text: str, one: Character, found: Sequence[Character]) -> Character:
    others = sorted(place for other in found if other is not one for place in other.places)
    spelled = {*one.places}
    for name in (one.name, *one.aliases):
        spelled.update(place for place in _written(text, name) if not _overlaps(place, others))
    places: list[Place] = []
    for place in sorted(spelled, key=lambda place: (place[0], -place[1])):
        if not places or place[0] >= places[-1][1]:  # Turner within Mary Turner is one place
            places.append(place)
    return Character(one.name, one.aliases, tuple(places), one.keys)


def _written(text: str, name: str) -> list[Place]:
    pattern = r"\s+".join(re.escape(word) for word in name.split())
    return [match.span() for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text)]


def _overlaps(place: Place, others: Sequence[Place]) -> bool:
    at = bisect.bisect_left(others, (place[1], 0))
    return at > 0 and others[at - 1][1] > place[0]
