"""Who is whose father, who has a trade, where somebody lives: by what is named beside these words.

Few books say in one sentence who is whose father; most say "her father" in many places, and name him there.
"""

from __future__ import annotations

import bisect
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from answering.counted import BESIDE, SHORTEST, Signs, log_he, nearness, told
from answering.of_itself import OfItself
from answering.related_questions import RelatedQuestion, Relation
from answering.said import Said
from text.honorifics import is_title
from text.named_entities import Entity

_NEAR = 300  # characters from a name, in which a word may be about whoever has it
# How often a place counts where a name owns the word (Kate's father), where a pronoun does that may stand for
# the last name, where the story's "my" does, where nothing is known, and where the pronoun is another's.
_NAMED, _CALLED, _MINE, _UNKNOWN, _ANOTHERS = 3.0, 1.5, 1.0, 0.4, 0.2
_TRADE, _OWNED_TRADE = 1.0, 0.3  # of a trade that nobody is asked to have it for; where somebody has
_HIS_SON_NAMED, _HIS_SON = 2.0, 0.5  # times as much counts a son of somebody near whom it is asked for
_PRONOUN_WEIGHT, _NAME_WEIGHT = 0.7, 1.2  # fitted with those of what is counted
_TOLD = 0.7  # log he / she, from where on it tells

_OWN = re.compile(r"(?:\b(his|her|their|my|our|the|an?|your|thy)|(['’]s?))(?:\s+\w+)?\s+\Z", re.I)
_OWN_REACH = 40
_BEFORE_NAME = re.compile(r",?\s+(?:was\s+|is\s+|named\s+|called\s+)?")
_BEHIND_NAME = re.compile(r"\s*,?\s*(?:(?:was|is|who\s+was|and|as)\s+)?")
_OF = re.compile(r"\s+(?:of|to)\s+")
_KIN = frozenset({"dad", "daddy", "papa", "mamma", "mama", "grannie", "granny", "auntie"})

_Mention = tuple[int, int, int]
"""The bounds of a name, and the number of whom it names."""


@dataclass(frozen=True, slots=True)
class _Word:
    """A place of one of a relation's words: ``opens`` is where what owns it begins, ``own`` what that is."""

    start: int
    end: int
    text: str
    opens: int
    own: str


def related(asked: RelatedQuestion, book: OfItself) -> Said | None:
    """Whoever stands in the relation, or wherever it leads, the likeliest first, named beside its words.

    None where nobody is called as is asked, or nothing is named there, and of a short story.
    """
    if len(book.story.rstrip()) < SHORTEST:
        return None
    whom = None if asked.whom is None else book.person(asked.whom)
    if asked.whom is not None and (whom is None or not whom.is_person):
        return None
    word = asked.relation.words[0]
    spoken_of = f"the {word}" if asked.whom is None else f"the {word} of {asked.whom}"
    if asked.relation.is_residence:
        spoken_of = f"the home of {asked.whom}"
    found = _Counting(book, asked.relation, whom).scored()
    return told(found, book, f"named most where {spoken_of} may be spoken of")


class _Counting:
    """Counts who, or where, is named by the words of a relation to ``whom``, or of a trade that somebody has.

    ``near`` is the sum over these places of how much each is of ``whom``, times exp(-d / 40) at d characters
    from the word; ``stated`` counts names next to it ("her father, Odo"), and ``inverse`` those to whom
    ``whom`` is what the other word says ("Odo's daughter").
    """

    def __init__(self, book: OfItself, relation: Relation, whom: Entity | None) -> None:
        self._book, self._story, self._relation = book, book.story, relation
        self._named = [one for one in book.cast.persons if whom is None or one.name != whom.name]
        self._sought = range(len(self._named))
        self._whom: int | None = None
        if whom is not None:
            self._whom = len(self._named)
            self._named.append(whom)
        self._persons = len(self._named)  # so many of them are persons
        if relation.is_residence:
            self._sought = range(len(self._named), len(self._named) + len(book.cast.places))
            self._named += book.cast.places
        self._mentions = sorted((*place, i) for i, one in enumerate(self._named) for place in one.places)
        self._of_whom = [place for place in self._mentions if place[2] == self._whom]
        self._he = cache(lambda i: log_he(self._story, self._named[i]))
        self._wanted = self._wanted_pronoun()
        self._signs: dict[int, Signs] = defaultdict(Signs)

    @cached_property
    def _teller(self) -> int | None:
        """Who says "my", where the story is told by somebody who is called by name."""
        teller = self._book.narrator
        if teller is None or teller.person is None:
            return None
        return next(i for i, one in enumerate(self._named) if one.name == teller.person.name)

    def scored(self) -> list[tuple[str, float, Signs]]:
        """The names of those for whom something speaks, with their scores."""
        for word in self._words():
            self._count(word)
        return [
            (self._named[i].name, self._score(i, signs), signs)
            for i, signs in self._signs.items()
            if i in self._sought and signs.places and not self._is_no_name(self._named[i])
        ]

    def _score(self, i: int, signs: Signs) -> float:
        called = self._wanted and self._wanted * self._he(i)
        return signs.score + _PRONOUN_WEIGHT * called + _NAME_WEIGHT * self._is_namesake(i)

    def _wanted_pronoun(self) -> int:
        """1 where whoever stands in the relation is called he, -1 for she, and 0 where that is not told."""
        if self._relation.pronoun != "other":
            return {"he": 1, "she": -1, None: 0}[self._relation.pronoun]
        he = 0.0 if self._whom is None else self._he(self._whom)
        return 0 if abs(he) < _TOLD else -1 if he > 0 else 1

    def _is_no_name(self, person: Entity) -> bool:
        return all(is_title(word.rstrip(".")) or word.lower() in _KIN for word in person.name.split())

    def _is_namesake(self, i: int) -> bool:
        """Whether somebody has the last name of ``whom``, in a relation within a family."""
        if self._whom is None or not self._relation.one_family:
            return False
        return bool(_last_names(self._named[i]) & _last_names(self._named[self._whom]))

    def _words(self) -> Iterator[_Word]:
        every = sorted({*self._relation.words, *self._relation.inverse}, key=len, reverse=True)
        pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, every))})s?(?![\w-])", re.I)
        for match in pattern.finditer(self._story):
            before = self._story[max(0, match.start() - _OWN_REACH) : match.start()]
            own = _OWN.search(before)
            opens = match.start() - (0 if own is None else len(before) - own.start())
            said = "" if own is None else (own[1] or "'s").lower()
            yield _Word(match.start(), match.end(), match[1].lower(), opens, said)

    def _between(self, start: int, end: int, of: Sequence[_Mention]) -> Sequence[_Mention]:
        return of[bisect.bisect_left(of, (start,)) : bisect.bisect_left(of, (end,))]

    def _count(self, word: _Word) -> None:
        around = self._between(word.start - _NEAR, word.end + BESIDE, self._mentions)
        owner, sure = self._owner(word, around)
        is_near = bool(self._between(word.start - _NEAR, word.start + _NEAR, self._of_whom))
        if word.text in self._relation.words:
            self._count_named(word, around, self._weight(word, owner, sure, is_near))
        if word.text in self._relation.inverse and is_near and owner is not None and owner != self._whom:
            self._count_inverse(word, around, owner, sure)

    def _owner(self, word: _Word, around: Sequence[_Mention]) -> tuple[int | None, float]:
        """Whose relation a word says, if that is told, and how much it counts then."""
        before = [one for one in around if one[1] <= word.opens + len("'s") and one[2] < self._persons]
        if word.own == "'s":
            if before and before[-1][1] >= word.opens - 1:
                return before[-1][2], _NAMED
            return None, 0.0
        if word.own in {"his", "her"}:
            he = 1 if word.own == "his" else -1
            last = next((one for one in reversed(before) if he * self._he(one[2]) > -_TOLD), None)
            return (None, 0.0) if last is None else (last[2], _CALLED)
        if word.own in {"my", "our"} and self._teller is not None:
            return self._teller, _MINE
        behind = _OF.match(self._story, word.end)
        if behind is not None:
            named = next((one for one in around if one[0] == behind.end()), None)
            if named is not None:
                return named[2], _NAMED
        return None, 0.0

    def _weight(self, word: _Word, owner: int | None, sure: float, is_near: bool) -> float:
        """How much a word counts for the relation to whom it is asked for."""
        if self._whom is None:
            return _OWNED_TRADE if word.own in {"'s", "his", "her", "my"} else _TRADE
        if owner == self._whom:
            return sure
        if not is_near or word.own == "'s":
            return 0.0
        return _UNKNOWN if owner is None else _ANOTHERS

    def _count_named(self, word: _Word, around: Sequence[_Mention], weight: float) -> None:
        if not weight:
            return
        for start, end, i in around:
            if end < word.start - BESIDE:
                continue
            near = weight * nearness(min(abs(word.start - end), abs(start - word.end)))
            follows = start > word.end and _BEFORE_NAME.fullmatch(self._story, word.end, start)
            is_stated = follows or (
                end <= word.opens and _BEHIND_NAME.fullmatch(self._story, end, word.opens)
            )
            self._signs[i].add((start, end), near, weight if is_stated else 0.0)

    def _count_inverse(self, word: _Word, around: Sequence[_Mention], owner: int, sure: float) -> None:
        """Odo's daughter, and more of his daughter Kate, for whose father Odo may be asked."""
        follows = any(0 < start - word.end <= len(", ") + 1 for start, _, i in around if i == self._whom)
        signs = self._signs[owner]
        signs.inverse += sure * (_HIS_SON_NAMED if follows else _HIS_SON)
        for start, end, i in around:
            if i == owner:
                signs.places.setdefault((start, end), sure)


def _last_names(person: Entity) -> set[str]:
    names = [name.split() for name in (person.name, *person.aliases)]
    return {words[-1] for words in names if len(words) > 1}
