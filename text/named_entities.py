"""Who and what a text names: its proper names grouped by whom they are of, persons told from places.

Mr. Darcy, Darcy and Fitzwilliam Darcy are one person's names; Mrs. Bennet and Mr. Bennet are two persons.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from text.honorifics import TITLES, Bearer, is_title
from text.name_signs import SAINT
from text.proper_names import PERSONAL, Mention

_PERSON = 0.15  # signs of a person per place, from which on a name is one's
_QUIET_PERSON = 0.05  # the same of names that have neither article nor the signs of a place
_PLACE = 0.3  # signs of a place per place, from which on a name may be one's
_WITH_ARTICLE = 0.5  # share of places behind an article, from which on a name must have more signs
_ARTICLE_PERSON = 0.25
_SHARE_OF_NAME = 0.01  # of all places; a fuller name that is rarer may be a name run into its neighbour
_APART = 3  # places of each of two names, from which on a name of both, said once, is two names
_DOMINANT = 2  # times as often is a whole name said than any other that a part of it could stand for

# What names of places end with, or begin with, whatever stands by them.
_SITES = frozenset(
    re.findall(
        r"\S+",
        """abbey alley arms avenue bay beach bridge brook building cape castle cathedral church city close
        club college common company corner cottage county court cove creek cross district farm
        field fields forest fort fund garden gardens grange green grove hall harbor harbour
        heath hill hills hospital hotel house inn island islands isle lake lane lodge manor
        market memorial mill moor mount mountain mountains office palace park pass place plain
        pond port prison province railway range ranch road river row school sea square station
        street terrace theatre tower town valley village villa wood woods world""",
    )
)
_GENDERED = 0.65  # share of the pronouns behind a name that tell whether it is a man's
_GENDERED_OFFICE = 0.75  # the same of those behind a Captain's, that tell whether it is a woman's
_FEWEST_PRONOUNS = 5
_WEIGHTS = {"title": 2, "verb": 1, "said": 2, "called": 1, "speaks": 2, "in": 2, "at": 1, "to": 0.5}

_Core = tuple[str, ...]
"""The words of a name behind its titles, in lower case."""
_Key = tuple[_Core, Bearer | None]
"""A core, and of whom its title is, where several have the same name: Mr. and Mrs. Bennet."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that a text names at ``places``, in order; ``aliases`` the most frequent first.

    ``personal`` and ``local`` are the signs of a person, and of a place, per place.
    """

    name: str
    aliases: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    personal: float
    local: float
    article: float
    is_site: bool

    @property
    def is_person(self) -> bool:
        """Whether it is somebody."""
        if self.is_site or self.personal <= self.local:
            return False
        if self.article >= _WITH_ARTICLE:
            return self.personal >= _ARTICLE_PERSON
        least = _PERSON if self.local >= _PLACE or self.article >= _PLACE else _QUIET_PERSON
        return self.personal >= least

    @property
    def is_place(self) -> bool:
        """Whether it is somewhere."""
        return self.is_site or (self.local >= _PLACE and self.local > self.personal)


def entities(text: str, mentions: Sequence[Mention]) -> list[Entity]:
    """Whom and what the ``mentions`` name, the most frequent first."""
    parted = _parted(text, mentions)
    keys = _Keys(parted)
    groups: dict[_Key, list[Mention]] = defaultdict(list)
    for one in parted:
        groups[keys.whole(one)].append(one)
    found = [_entity(text, members) for members in groups.values()]
    return sorted(found, key=lambda one: (-len(one.places), one.places[0]))


def _core(words: Sequence[str]) -> _Core:
    """The last word is no title, whatever it is: the Red Queen is not the Red Knight, and Lear a King."""
    first = next((i for i, word in enumerate(words[:-1]) if not is_title(word)), len(words) - 1)
    return tuple(word.lower() for word in words[first:])


def _is_site(core: _Core) -> bool:
    is_somebody = is_title(core[-1]) and core[-1] not in SAINT  # a Station Master, but Church St
    return len(core) > 1 and (core[-1] in _SITES or core[0] in _SITES) and not is_somebody


def _bearer(words: Sequence[str]) -> Bearer | None:
    """Of whom the first title is that tells; an office tells least: Mrs. Captain Crewe."""
    found = [bearer for word in words if is_title(word) and (bearer := TITLES[word.lower()]) != "any"]
    return next((one for one in found if one != "office"), found[0] if found else None)


def _parted(text: str, mentions: Sequence[Mention]) -> list[Mention]:
    """The mentions; one said once that is two frequent names, one behind the other, is both of them."""
    times = Counter(_core(one.words) for one in mentions)
    found = []
    for one in mentions:
        at = next(
            (
                i
                for i in range(1, len(one.words))
                if times[_core(one.words)] == 1
                and times[_core(one.words[:i])] >= _APART
                and times[_core(one.words[i:])] >= _APART
            ),
            None,
        )
        if at is None:
            found.append(one)
            continue
        middle = one.start
        for word in one.words[:at]:
            middle = text.index(word, middle) + len(word)
        start = text.index(one.words[at], middle)
        found += [
            Mention(one.start, middle, one.words[:at], one.signs[:0]),
            Mention(start, one.end, one.words[at:], one.signs),
        ]
    return found


class _Keys:
    """Which names are one entity's."""

    def __init__(self, mentions: Sequence[Mention]) -> None:
        self._bearers: dict[_Core, Counter[Bearer | None]] = defaultdict(Counter)
        self._pronouns: dict[_Core, Counter[str]] = defaultdict(Counter)
        untold: dict[_Core, Counter[str]] = defaultdict(Counter)  # pronouns where no title tells
        for one in mentions:
            core, bearer = _core(one.words), _bearer(one.words)
            called = [sign for sign in one.signs if sign in ("he", "she")]
            self._bearers[core][bearer] += 1
            self._pronouns[core].update(called)
            if bearer in (None, "office"):
                untold[core].update(called)
        self._women = {core for core, called in untold.items() if _is_woman(called)}
        for core, bearers in self._bearers.items():
            if "office" in bearers:
                bearers[self._in_office(core)] += bearers.pop("office")
        self._counts = Counter(self._key(one) for one in mentions)
        self._wholes: dict[_Key, _Key] = {}
        longer: dict[tuple[bool, str], list[_Key]] = defaultdict(list)
        for key in sorted(self._counts, key=lambda one: len(one[0]), reverse=True):
            # A name in full that is said once may be run into its neighbour: it counts where no other does.
            for once in (False, True):
                of_both = longer[once, key[0][0]] + longer[once, key[0][-1]]
                self._wholes[key] = self._whole(key, of_both)
                if self._wholes[key] != key:
                    break
            if len(key[0]) > 1:
                for word in {key[0][0], key[0][-1]}:
                    longer[self._counts[key] < 2, word].append(key)

    def whole(self, one: Mention) -> _Key:
        """The key of the fullest name of whom the mention names."""
        return self._wholes[self._key(one)]

    def _key(self, one: Mention) -> _Key:
        core = _core(one.words)
        several = self._several(core)
        if len(several) < 2:
            return core, None
        bearer = _bearer(one.words)
        if bearer == "office":
            bearer = self._in_office(core)
        if bearer in several:
            return core, bearer
        return core, "man" if "man" in several else several[0]

    def _in_office(self, core: _Core) -> Bearer | None:
        """Of whom the title of an officer, or of a doctor, is: of a man, but where a woman is called so."""
        return None if core in self._women else "man"

    def _several(self, core: _Core) -> list[Bearer]:
        """Of whom the titles of that name are, the most frequent first."""
        return [one for one, count in self._bearers[core].most_common() if one is not None and count >= 2]

    def _whole(self, key: _Key, longer: Sequence[_Key]) -> _Key:
        core, _ = key
        times: Counter[_Key] = Counter()
        for other in dict.fromkeys(longer):
            part = other[0][: len(core)] == core or other[0][-len(core) :] == core
            if len(other[0]) > len(core) and part and not _is_site(other[0]) and self._may_be(key, other[0]):
                weight = 2 if other[0][: len(core)] == core else 1  # first names are said alone more often
                times[self._wholes[other]] += weight * self._counts[other]
        first, *others = [*times.most_common(2), (key, 0)]
        if not times or (others[0][0] != key and first[1] < _DOMINANT * others[0][1]):
            return key
        return first[0]

    def _may_be(self, key: _Key, longer: _Core) -> bool:
        """Whether a name with these titles may be short for the longer one."""
        core, bearer = key
        several = [bearer] if bearer else self._several(core)
        # A first name is that person's alone, but Lady Henry is not Lord Henry.
        if longer[: len(core)] == core:
            return bearer is None or self._gender(longer) != ("she" if bearer == "man" else "he")
        if not several:
            return True
        if several == ["wife"] and "wife" not in self._several(longer):
            first = self._bearers[longer[:1]].total() if longer[:1] in self._bearers else 0
            if "maid" in self._several(longer) or first >= self._counts[key]:
                return False  # who is called Liza is not Mrs. Kemp
            return self._gender(longer) == "she"
        return self._gender(longer) in (None, "he" if several[0] == "man" else "she")

    def _gender(self, core: _Core) -> str | None:
        """By which pronoun somebody is called."""
        pronouns = self._pronouns[core] + self._pronouns[core[:1]]
        for bearer, count in (self._bearers[core] + self._bearers[core[:1]]).items():
            if bearer is not None:
                pronouns["he" if bearer == "man" else "she"] += count
        if pronouns.total() < _FEWEST_PRONOUNS:
            return None
        pronoun, count = pronouns.most_common(1)[0]
        return pronoun if count >= _GENDERED * pronouns.total() else None


def _is_woman(called: Counter[str]) -> bool:
    """Whether the pronouns behind an officer's name say so; behind some men's are more of their daughters."""
    return called["she"] >= max(_FEWEST_PRONOUNS, _GENDERED_OFFICE * called.total())


def _entity(text: str, members: Sequence[Mention]) -> Entity:
    names = [_spelled(text, one) for one in members]
    spelled = Counter(names)
    signs = Counter(sign for one in members for sign in one.signs)

    def per_place(*counted: str) -> float:
        return sum(_WEIGHTS.get(sign, 1) * signs[sign] for sign in counted) / len(members)

    usual = spelled.most_common(1)[0][0]
    found = Entity(
        usual,
        tuple(other for other, _ in spelled.most_common() if other != usual),
        tuple((one.start, one.end) for one in members),
        per_place(*PERSONAL),
        per_place("in", "at", "to"),
        per_place("the"),
        _is_site(_core(usual.split())),
    )
    if not found.is_person:  # North Riverboro is another place, and London Society none
        return found
    wholly = {name: len(_core(one.words)) for name, one in zip(names, members, strict=True)}
    least = max(2.0, _SHARE_OF_NAME * len(members))
    full = max(
        (name for name in spelled if spelled[name] >= least or name == usual),
        key=lambda name: (wholly[name], spelled[name]),
    )
    others = tuple(other for other, _ in spelled.most_common() if other != full)
    return replace(found, name=full, aliases=others)


def _spelled(text: str, one: Mention) -> str:
    """The name on one line; a speaker's, who may stand there in capitals, as names are written."""
    name = " ".join(text[one.start : one.end].split())
    return " ".join(one.words) if "speaks" in one.signs else name
