"""Whose something is that a story speaks of, Kate's father or her blue eyes, by names and pronouns."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from answering.counted import BESIDE, log_he
from answering.of_itself import OfItself
from text.named_entities import Entity

NEAR = 300  # characters from a name, in which a word may be about whoever has it
CALLED = 0.7  # log he / she, from where on it tells by which pronoun somebody is called
# How often a place counts where a name owns the word (Kate's father), where a pronoun does that may stand for
# the last name, where the story's "my" does, where nothing is known, and where the pronoun is another's.
_NAMED, _CALLED_SO, _MINE, _UNKNOWN, _ANOTHERS = 3.0, 1.5, 1.0, 0.4, 0.2
_TRADE, _OWNED_TRADE = 1.0, 0.3  # of a trade that nobody is asked to have it for; where somebody has
_OWN = r"(?:his|her|their|my|our|the|an?|your|thy)"
_OF = re.compile(r"\s+(?:of|to)\s+")

Mention = tuple[int, int, int]
"""The bounds of a name, and the number of whom it names."""


@dataclass(frozen=True, slots=True)
class Word:
    """A place of a word: ``opens`` is where what owns it begins, ``own`` what that is ("her", "'s")."""

    start: int
    end: int
    text: str
    opens: int
    own: str


class Owners:
    """Whose words of a ``book`` are, and how far they are those of ``whom``, or of a trade that somebody has.

    ``persons`` are all whom the book names, ``whom`` the last of them, and ``mentions`` their names in order.
    """

    def __init__(self, book: OfItself, whom: Entity | None) -> None:
        self._book, self._story = book, book.story
        self.persons = [one for one in book.cast.persons if whom is None or one.name != whom.name]
        self.whom: int | None = None
        if whom is not None:
            self.whom = len(self.persons)
            self.persons.append(whom)
        self.mentions = sorted((*place, i) for i, one in enumerate(self.persons) for place in one.places)
        self._of_whom = [place for place in self.mentions if place[2] == self.whom]
        self.he: Callable[[int], float] = cache(lambda i: log_he(self._story, self.persons[i]))

    @cached_property
    def _teller(self) -> int | None:
        """Who says "my", where the story is told by somebody who is called by name."""
        teller = self._book.narrator
        if teller is None or teller.person is None:
            return None
        named = (i for i, one in enumerate(self.persons) if one.name == teller.person.name)
        return next(named, None)  # who gives a name may be named nowhere else, and counts as nobody

    def words(self, every: Iterable[str], adjectives: int = 1) -> Iterator[Word]:
        """The places of these words, in either number; so many ``adjectives`` may stand before one."""
        ordered = sorted(every, key=len, reverse=True)
        pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, ordered))})s?(?![\w-])", re.I)
        owned = re.compile(
            rf"(?:\b(?P<own>{_OWN})|['’]s?)(?:,?\s+(?!{_OWN}\b)[\w-]+){{0,{adjectives}}}\s+\Z", re.I
        )
        reach = 20 * (adjectives + 1)
        for match in pattern.finditer(self._story):
            before = self._story[max(0, match.start() - reach) : match.start()]
            own = owned.search(before)
            opens = match.start() - (0 if own is None else len(before) - own.start())
            said = "" if own is None else (own["own"] or "'s").lower()
            yield Word(match.start(), match.end(), match[1].lower(), opens, said)

    def is_near(self, word: Word) -> bool:
        """Whether a word may be about whom it is asked for."""
        return bool(between(word.start - NEAR, word.start + NEAR, self._of_whom))

    def is_another(self, word: Word) -> bool:
        """Whether a word is said to be hers where whom it is asked for is clearly called he, or so."""
        if self.whom is None or word.own not in {"his", "her"}:
            return False
        return (1 if word.own == "his" else -1) * self.he(self.whom) <= -CALLED

    def owner(self, word: Word) -> tuple[int | None, float]:
        """Whose a word is, if that is told, and how much it counts then."""
        around = between(word.start - NEAR, word.end + BESIDE, self.mentions)
        before = [one for one in around if one[1] <= word.opens + len("'s")]
        if word.own == "'s":
            if before and before[-1][1] >= word.opens - 1:
                return before[-1][2], _NAMED
            return None, 0.0
        if word.own in {"his", "her"}:
            he = 1 if word.own == "his" else -1
            last = next((one for one in reversed(before) if he * self.he(one[2]) > -CALLED), None)
            return (None, 0.0) if last is None else (last[2], _CALLED_SO)
        if word.own in {"my", "our"} and self._teller is not None:
            return self._teller, _MINE
        behind = _OF.match(self._story, word.end)
        if behind is not None:
            named = next((one for one in around if one[0] == behind.end()), None)
            if named is not None:
                return named[2], _NAMED
        return None, 0.0

    def weight(self, word: Word, owner: int | None, sure: float) -> float:
        """How much a word counts as that of whom it is asked for."""
        if self.whom is None:
            return _OWNED_TRADE if word.own in {"'s", "his", "her", "my"} else _TRADE
        if owner == self.whom:
            return sure
        if not self.is_near(word) or word.own == "'s":
            return 0.0
        return _UNKNOWN if owner is None else _ANOTHERS


def between(start: int, end: int, mentions: Sequence[Mention]) -> Sequence[Mention]:
    """Those in order that begin there."""
    return mentions[bisect.bisect_left(mentions, (start,)) : bisect.bisect_left(mentions, (end,))]
