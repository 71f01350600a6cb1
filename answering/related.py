"""Who is whose father, who has a trade, where somebody lives: by what is named beside these words.

Few books say in one sentence who is whose father; most say "her father" in many places, and name him there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from answering.counted import BESIDE, Signs, counted_person, is_counted, nearness, told
from answering.of_itself import OfItself
from answering.owners import CALLED, NEAR, Mention, Owners, Word, between
from answering.quotes import sentences_at
from answering.related_questions import LIVES, MARRIED, RELATIONS, RelatedQuestion, Relation
from answering.relation_patterns import stated
from answering.said import Said
from text.honorifics import is_title
from text.named_entities import Entity

# What may be somebody else's (docs/facts.md).
_NEAR_NOBODY, _OF_ANOTHER = 0.5, 3.0
_IN_SO_MANY_WORDS = 3.0  # times as much counts "Kate married Odo"
_HIS_SON_NAMED, _HIS_SON = 2.0, 0.5  # times as much counts a son of somebody near whom it is asked for
_IS_OTHER = 1.0  # log he / she, from where on somebody is no brother, or no sister, as by a title
_PRONOUN_WEIGHT, _NAME_WEIGHT = 0.7, 1.2  # fitted with those of what is counted
_BEFORE_NAME = re.compile(r",?\s+(?:was\s+|is\s+|named\s+|called\s+)?")
_BEHIND_NAME = re.compile(r"\s*,?\s*(?:(?:was|is|who\s+was|and|as)\s+)?")
# "His daughter Kate and his son Odo", "his children, Kate and Odo"; not "his daughter Kate and Odo".
_CHILDREN = re.compile(r"(?<![\w-])(?:(?P<several>sons|daughters|children)|son|daughter|child),?\s+\Z")
_AND_CHILD = re.compile(
    r",?\s+and\s+(?:(?:his|her|their|my|our|an?|the)\s+)?(?P<child>(?:\w+\s+)?(?:son|daughter),?\s+)?"
)
_SIBLINGS = frozenset({"brother", "sister"})
_OF_ORDERS = frozenset({"brother", "sister", "father", "mother"})  # of monks, nuns and old women, too
_KIN = frozenset({"dad", "daddy", "papa", "mamma", "mama", "grannie", "granny", "auntie"})


def related(asked: RelatedQuestion, book: OfItself) -> Said | None:
    """Whoever stands in the relation, or wherever it leads, the likeliest first, named beside its words.

    None where nobody is called as is asked, or nothing is named there, and of a short story.
    """
    counting = _counting(asked, book)
    return None if counting is None else counting.told()


def told_if_any(asked: RelatedQuestion, book: OfItself) -> Said | None:
    """As ``related`` has it; nobody where nothing in the story says that somebody stands in that relation.

    Homes are told only of places that a sentence about a home names beside whoever is asked about; None where
    there is no such sentence.
    """
    counting = _counting(asked, book)
    if counting is None or asked.relation is LIVES:
        return None if counting is None else counting.told_together()
    if not counting.is_of_others():
        return counting.told()
    part = "the book" if book.is_whole else "what has been read of the book"
    noun = asked.relation.words[0]
    who = f"whom {asked.whom} marries" if asked.relation is MARRIED else f"who {asked.whom}’s {noun} is"
    return Said((), f"{part} does not say {who}", guessed=True)


def _counting(asked: RelatedQuestion, book: OfItself) -> _Counting | None:
    whom = None if asked.whom is None else counted_person(asked.whom, book)
    if whom is None and (asked.whom is not None or not is_counted(book)):
        return None
    word = asked.relation.words[0]
    spoken_of = f"the {word}" if asked.whom is None else f"the {word} of {asked.whom}"
    if asked.relation.is_residence:
        spoken_of = f"the home of {asked.whom}"
    elif asked.relation is MARRIED:
        spoken_of = f"the marriage of {asked.whom}"
    return _Counting(book, asked.relation, whom, f"named most where {spoken_of} may be spoken of")


class _Counting:
    """Counts who, or where, is named by the words of a relation to ``whom``, or of a trade that somebody has.

    ``near`` is the sum over these places of how much each is of ``whom``, times exp(-d / 40) at d characters
    from the word; ``stated`` counts names next to it ("her father, Odo"), and ``inverse`` those to whom
    ``whom`` is what the other word says ("Odo's daughter").
    """

    def __init__(self, book: OfItself, relation: Relation, whom: Entity | None, about: str) -> None:
        self._book, self._about = book, about
        self._story, self._relation = book.story, relation
        self._owners = Owners(book, whom)
        self._whom, self._he = self._owners.whom, self._owners.he
        self._named = self._owners.persons
        self._sought = range(len(self._named) if self._whom is None else self._whom)
        if relation.is_residence:
            self._named = [*self._named, *book.cast.places]
            self._sought = range(len(self._owners.persons), len(self._named))
        self._mentions = sorted((*place, i) for i, one in enumerate(self._named) for place in one.places)
        self._wanted = self._wanted_pronoun()
        self._signs: dict[int, Signs] = defaultdict(Signs)
        self._unowned: dict[int, Signs] = defaultdict(Signs)  # by words of which nobody is said to have them
        self._said: set[int] = set()  # of whom the story says it in so many words
        self._is_owned = False  # whether a word of the relation is said to be of whom it is asked for

    def told(self) -> Said | None:
        """Those for whom something speaks, the likeliest first."""
        return self._told(self._scored)

    def told_together(self) -> Said | None:
        """Those that are named in one sentence with ``whom`` and a word of the relation."""
        return self._told([one for one in self._scored if self._is_told_together(one[0])])

    def is_of_others(self) -> bool:
        """Whether only what is somebody else's speaks for the first, who is not of the family, either.

        Of whom somebody marries, no sentence speaks that names both.
        """
        if not self._scored or self._is_owned or self._whom is None:
            return False
        i, _, first = max(self._scored, key=lambda one: one[1])
        if self._relation is MARRIED:
            return i not in self._said and not self._is_told_together(i)
        if self._relation.words[0] not in RELATIONS:
            return False
        free = self._unowned[i]
        if self._is_namesake(i) or free.stated or i in self._said:
            return False
        return free.near < _NEAR_NOBODY and first.inverse < _OF_ANOTHER

    def _told(self, scored: Sequence[tuple[int, float, Signs]]) -> Said | None:
        named = [(self._named[i].name, score, signs) for i, score, signs in scored]
        return told(named, self._book, self._about)

    @cached_property
    def _scored(self) -> list[tuple[int, float, Signs]]:
        """Those for whom something speaks, with their scores."""
        for word in self._owners.words({*self._relation.words, *self._relation.inverse}):
            self._count(word)
        if self._relation is MARRIED and self._whom is not None:
            self._count_statements(self._named[self._whom])
        if self._relation.words[0] in _SIBLINGS and self._whom is not None:
            self._count_siblings()
        return [
            (i, self._score(i, signs), signs)
            for i, signs in self._signs.items()
            if i in self._sought and signs.places and self._may_be(i)
        ]

    def _count_statements(self, whom: Entity) -> None:
        """Whoever is said to have married ``whom``, or to be married by them, in so many words."""
        names = self._book.cast.own_names(whom)
        for start, end in stated(self._story, "spouse", names, whom.places):
            for first, last, i in between(start, end, self._mentions):
                if i != self._whom:
                    self._signs[i].add((first, last), near=0.0, stated=_IN_SO_MANY_WORDS)
                    self._said.add(i)

    def _count_siblings(self) -> None:
        """Whoever is named beside ``whom`` as a child of the same parents."""
        for (start, end, i), (first, last, other) in pairwise(self._mentions):
            if (i == self._whom) == (other == self._whom):
                continue
            before = _CHILDREN.search(self._story, max(0, start - BESIDE), start)
            behind = _AND_CHILD.fullmatch(self._story, end, first) if before else None
            if before and behind and (before["several"] or behind["child"]):
                sibling, place = (other, (first, last)) if i == self._whom else (i, (start, end))
                self._signs[sibling].add(place, near=0.0, stated=_IN_SO_MANY_WORDS)
                self._signs[sibling].inverse += _HIS_SON_NAMED  # which is told of either
                self._said.add(sibling)

    def _is_told_together(self, i: int) -> bool:
        """Whether a sentence with a word of the relation names both ``whom`` and somebody, or somewhere."""
        places = [start for start, _ in self._named[i].places]
        return any(start <= place < end for start, end in self._of_whom for place in places)

    @cached_property
    def _of_whom(self) -> list[tuple[int, int]]:
        """The sentences with a word of the relation that name ``whom``."""
        words = [
            word.start for word in self._owners.words(self._relation.words) if self._owners.is_near(word)
        ]
        return [
            (start, end)
            for start, end in sentences_at(self._story, words)
            if any(i == self._owners.whom for _, _, i in between(start, end, self._owners.mentions))
        ]

    def _may_be(self, i: int) -> bool:
        """Whether somebody has a name, and is not clearly called as whoever stands in the relation is not."""
        is_other = self._wanted and self._wanted * self._he(i) <= -_IS_OTHER
        return not is_other and not self._is_no_name(self._named[i])

    def _score(self, i: int, signs: Signs) -> float:
        called = self._wanted and self._wanted * self._he(i)
        return signs.score + _PRONOUN_WEIGHT * called + _NAME_WEIGHT * self._is_namesake(i)

    def _wanted_pronoun(self) -> int:
        """1 where whoever stands in the relation is called he, -1 for she, and 0 where that is not told."""
        if self._relation.pronoun != "other":
            return {"he": 1, "she": -1, None: 0}[self._relation.pronoun]
        he = 0.0 if self._whom is None else self._he(self._whom)
        return 0 if abs(he) < CALLED else -1 if he > 0 else 1

    def _is_no_name(self, person: Entity) -> bool:
        return all(is_title(word.rstrip(".")) or word.lower() in _KIN for word in person.name.split())

    def _is_namesake(self, i: int) -> bool:
        """Whether somebody has the last name of ``whom``, in a relation within a family."""
        if self._whom is None or not self._relation.one_family:
            return False
        return bool(_last_names(self._named[i]) & _last_names(self._named[self._whom]))

    def _count(self, word: Word) -> None:
        if word.text in _OF_ORDERS and self._is_title(word):
            return
        around = between(word.start - NEAR, word.end + BESIDE, self._mentions)
        owner, sure = self._owners.owner(word)
        if word.text in self._relation.words:
            self._is_owned |= owner is not None and owner == self._whom
            weight = self._owners.weight(word, owner, sure)
            self._count_named(word, around, weight, self._signs)
            if owner is None:
                self._count_named(word, around, weight, self._unowned)
        if owner is None or owner == self._whom:
            return
        if word.text in self._relation.inverse and self._owners.is_near(word):
            self._count_inverse(word, around, owner, sure)

    def _is_title(self, word: Word) -> bool:
        """Whether a name begins with the word: Brother Ivo."""
        named = between(word.start, word.start + 1, self._mentions)
        return self._story[word.start].isupper() and any(end > word.end for _, end, _ in named)

    def _count_named(
        self, word: Word, around: Sequence[Mention], weight: float, signs: dict[int, Signs]
    ) -> None:
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
            signs[i].add((start, end), near, weight if is_stated else 0.0)

    def _count_inverse(self, word: Word, around: Sequence[Mention], owner: int, sure: float) -> None:
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
