"""Whom a reader means: the person of a book that has the name asked for, and where the book has it."""

from __future__ import annotations

import bisect
import difflib
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from indexing.errors import UnknownCharacter
from text.named_entities import Entity
from text.names import Key, is_part, name_key

MOST_NEAR = 5
_NEAR = 0.75  # of the letters of a name that is misspelt
_IN_WORD = re.compile(r"\w")
_Place = tuple[int, int]


def find_character(text: str, named: Sequence[Entity], asked: str) -> Entity:
    """The one whom ``text`` calls ``asked``; ``named`` are all whom and what it names.

    All places where a name of theirs stands, and none of somebody else, are theirs. A name that was never
    taken for one is looked for as it is written. Raises ``UnknownCharacter`` where nobody has the name, or
    several have.
    """
    found = sorted(named, key=lambda one: not one.is_person)  # somebody before something
    key = name_key(asked.split())
    meant = _called(found, asked) or _meant(found, key)
    if len(meant) > 1:
        others = " and ".join(repr(one.name) for one in meant[:MOST_NEAR])
        raise UnknownCharacter(
            f"{asked!r} may be {others}; ask for one of them", tuple(one.name for one in meant[:MOST_NEAR])
        )
    if meant:
        return _with_all_places(text, meant[0], found)
    written = _written(text, " ".join(asked.split())) if asked.strip()[:1].isupper() else []
    if written:
        return Entity(" ".join(asked.split()), (), tuple(written), 0.0, 0.0, 0.0, is_site=False)
    near = near_names(found, asked)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise UnknownCharacter(f"nobody is called {asked[:100]!r} so far{hint}", near)


def _called(found: Sequence[Entity], asked: str) -> list[Entity]:
    """The only one who is called so, title and all: Mrs. Bennet is not Mr. Bennet."""
    spelled = " ".join(asked.split()).casefold()
    if len(spelled.split()) < 2:  # a single name may be anybody's
        return []
    having = [one for one in found if any(spelled == name.casefold() for name in (one.name, *one.aliases))]
    return having if len(having) == 1 else []


def _keys(one: Entity) -> set[Key]:
    """Their names, as ``text.names`` compares them."""
    return {name_key(name.split()) for name in (one.name, *one.aliases)}


def _meant(found: Sequence[Entity], key: Key) -> list[Entity]:
    """Who has the name, if no other has it as part of a more frequent one; else all who have it so."""
    if not key:
        return []
    keys = [_keys(one) for one in found]
    partly = [
        one
        for one, own in zip(found, keys, strict=True)
        if key not in own and any(is_part(key, other) for other in own)
    ]
    for one, own in zip(found, keys, strict=True):
        if key in own and all(len(one.places) >= len(other.places) for other in partly):
            return [one]
    return partly


def near_names(found: Sequence[Entity], asked: str) -> tuple[str, ...]:
    """Names that look like the one asked for, or share a word with it, the nearest first."""
    called = {
        spelled.lower(): one.name for one in reversed(found) for spelled in chain((one.name,), one.aliases)
    }
    nearest = difflib.get_close_matches(asked.strip().lower(), called, MOST_NEAR, _NEAR)
    key = name_key(asked.split())
    sharing = [one.name for one in found if any(set(key) & set(other) for other in _keys(one))]
    return tuple(dict.fromkeys([*(called[one] for one in nearest), *sharing]))[:MOST_NEAR]


def _with_all_places(text: str, one: Entity, found: Sequence[Entity]) -> Entity:
    others = sorted(place for other in found if other is not one for place in other.places)
    spelled = {*one.places}
    for name in (one.name, *one.aliases):
        spelled.update(place for place in _written(text, name) if not _overlaps(place, others))
    places: list[_Place] = []
    for place in sorted(spelled, key=lambda place: (place[0], -place[1])):
        if not places or place[0] >= places[-1][1]:  # Turner within Mary Turner is one place
            places.append(place)
    return replace(one, places=tuple(places))


def _written(text: str, name: str) -> list[_Place]:
    pattern = r"\s+".join(re.escape(word) for word in name.split())
    # That no word goes on before it is looked at behind: a pattern that begins with a name is found faster.
    found = (match.span() for match in re.finditer(rf"{pattern}(?!\w)", text))
    return [(start, end) for start, end in found if not start or not _IN_WORD.match(text, start - 1)]


def _overlaps(place: _Place, others: Sequence[_Place]) -> bool:
    at = bisect.bisect_left(others, (place[1], 0))
    return at > 0 and others[at - 1][1] > place[0]
