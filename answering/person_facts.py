"""Somebody's occupation, spouse, parents and home, counted in a whole book, where it is borne out.

Who asks for somebody's husband says that there is one; who lists what a book tells of people does not. So
whoever is named most beside a word is taken for a value only where it is told the other way round as well.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from answering.citing import Candidate
from answering.counted import is_counted, log_he
from answering.fact_values import FactValue
from answering.occupations import likeliest, trades_beside
from answering.of_itself import OfItself
from answering.related import related
from answering.related_questions import LIVES, RELATIONS, RelatedQuestion, Relation
from text.named_entities import Entity

# The least confidence of a spouse either way and in sum, of a parent and that this is their child, of a home
# and of an occupation, and how much must state it: chosen with the rules below on the characters of 55 books.
_WED, _BOTH_WED, _PARENT, _CHILD, _HOME, _WORKS, _STATED = 0.5, 1.2, 0.65, 0.6, 0.54, 0.5, 1.4
_TOLD = 0.7  # log he / she, from where on somebody is a husband, or a wife
_NOT_SO = 0.3  # from where on somebody is no mother, or no father
_GUESSED = 0.3  # of the confidence, of what is not borne out: 10 of 64 are right that would have .45
# How many of those values are right, by hand (docs/facts.md).
_RIGHT = {"spouse": 0.85, "parents": 0.75, "residence": 0.85, "occupation": 0.85}


class PersonFacts:
    """What is counted of the persons of a ``book``."""

    def __init__(self, book: OfItself) -> None:
        self._book = book
        self._related = cache(self._all_related)
        self._he = cache(self._log_he)
        self._values: dict[str, Callable[[Entity], list[tuple[Candidate, bool]]]] = {
            "occupation": self._occupation,
            "spouse": self._spouse,
            "parents": self._parents,
            "residence": self._residence,
        }

    def values(self, property: str, of: str) -> tuple[FactValue, ...] | None:
        """The values of one of ``CHARACTER_PROPERTIES``; else the best guess, which is not answerable.

        None of a short story, and of whom the book does not name: passages are read for these.
        """
        person = self._book.cast.by_name.get(of) or self._book.cast.person(of)
        if person is None or not is_counted(self._book):
            return None
        found = self._values[property](person)
        sure = tuple(_value(one, _RIGHT[property], True) for one, is_sure in found if is_sure)
        return sure or tuple(_value(one, _GUESSED * one.confidence, False) for one, _ in found[:1])

    def _occupation(self, person: Entity) -> list[tuple[Candidate, bool]]:
        """What they do, where it is said of them and they are the first among all that have such a trade."""
        trades = trades_beside(person, self._book)
        said = likeliest(trades, self._book, person.name)
        if said is None:
            return []
        first = said.candidates[0]
        bearers = self._related(Relation((first.text,)), None)
        is_first = bool(bearers) and bearers[0].text == person.name
        is_stated = trades[first.text].stated >= _STATED
        return [(first, first.confidence >= _WORKS and is_first and is_stated)]

    def _spouse(self, person: Entity) -> list[tuple[Candidate, bool]]:
        """Whom they are the wife, or husband, of in turn, and who is not called as they are."""
        he = self._he(person.name)
        if abs(he) < _TOLD:
            return []
        noun, inverse = ("wife", "husband") if he > 0 else ("husband", "wife")
        found = self._related(RELATIONS[noun], person.name)
        if not found:
            return []
        first = found[0]
        back = next(iter(self._related(RELATIONS[inverse], first.text)), None)
        if back is None or back.text != person.name:
            return [(first, False)]
        parents = (self._confidence(one, person.name, first.text) for one in ("father", "mother"))
        is_sure = (
            min(first.confidence, back.confidence) >= _WED
            and first.confidence + back.confidence >= _BOTH_WED
            and self._he(first.text) * he < _NOT_SO
            and all(parent < first.confidence for parent in parents)
        )
        return [(first, is_sure)]

    def _parents(self, person: Entity) -> list[tuple[Candidate, bool]]:
        """The first father and the first mother, whose child they are in turn, rather than the parent."""
        firsts = []
        for noun, sign in (("father", 1), ("mother", -1)):
            for first in self._related(RELATIONS[noun], person.name)[:1]:
                is_sure = (
                    first.confidence >= _PARENT
                    and sign * self._he(first.text) > -_NOT_SO
                    and self._confidence(noun, first.text, person.name) < first.confidence
                    and self._is_child(person.name, first.text)
                )
                firsts.append((first, is_sure))
        return sorted(firsts, key=lambda one: -one[0].confidence)

    def _residence(self, person: Entity) -> list[tuple[Candidate, bool]]:
        return [(one, one.confidence >= _HOME) for one in self._related(LIVES, person.name)[:1]]

    def _is_child(self, who: str, of: str) -> bool:
        return any(self._confidence(noun, of, who) >= _CHILD for noun in ("son", "daughter"))

    def _confidence(self, noun: str, whom: str, who: str) -> float:
        """That ``who`` is ``whom``'s father, say."""
        found = self._related(RELATIONS[noun], whom)
        return next((one.confidence for one in found if one.text == who), 0.0)

    def _all_related(self, relation: Relation, whom: str | None) -> tuple[Candidate, ...]:
        said = related(RelatedQuestion(relation, whom), self._book)
        return () if said is None else said.candidates

    def _log_he(self, name: str) -> float:
        return log_he(self._book.story, self._book.cast.by_name[name])


def _value(one: Candidate, confidence: float, is_answerable: bool) -> FactValue:
    return FactValue(one.text, confidence, is_answerable, one.evidence, "names")
