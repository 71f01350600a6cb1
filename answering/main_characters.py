"""Who a book is mostly about, and where it is set, by the names that it has: counted, no model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indexing.characters import persons
from text.honorifics import is_title
from text.named_entities import Entity
from text.words import words

MAIN_CHARACTERS = 5
_STRETCHES = 50  # parts of a text, in how many of which somebody is named
_PLACES = 3
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_TITLE = 2  # times as much is a place of the title worth


class Cast:
    """The persons and the places among all that a text of so many ``characters`` names."""

    def __init__(self, named: Sequence[Entity], characters: int, title: str) -> None:
        """``named`` has the most frequent first."""
        self._characters = max(1, characters)
        self._title = f" {' '.join(words(title))} "
        self.persons = persons(named)
        self.by_name = {one.name: one for one in self.persons}
        self.places = [one for one in named if one.is_place]

    def main(self) -> list[Entity]:
        """The persons named most often, first of them who is named throughout.

        Who is in every chapter is what a book is about, however often another is called by name in some.
        """
        often = self.persons[:MAIN_CHARACTERS]
        return sorted(often, key=self._spread, reverse=True)

    def settings(self) -> list[Entity]:
        """Where it takes place: the places that are named throughout; the title's count twice."""

        def weight(one: Entity) -> tuple[int, int]:
            parts, times = self._spread(one)
            return parts * (_TITLE if self._is_in_title(one.name) else 1), times

        return sorted(self.places, key=weight, reverse=True)[:_PLACES]

    def person(self, name: str) -> Entity | None:
        """Whom a name is of, or part of, the most frequent of several."""
        asked = words_in(name)
        for one in self.persons:
            if any(words_in(called) == asked for called in (one.name, *one.aliases)):
                return one
        return next((one for one in self.persons if asked and asked <= _words_of(one)), None)

    def person_in(self, text: str) -> Entity | None:
        """Whom the words of a text that have a capital name."""
        return self.person(" ".join(word for word in _WORD.findall(text) if word[0].isupper()))

    def own_words(self, person: Entity) -> set[str]:
        """The words of somebody's names that are in nobody else's, or all where there are none."""
        shared = {word for one in self.persons if one is not person for word in _words_of(one)}
        return _words_of(person) - shared or _words_of(person)

    def own_names(self, person: Entity) -> list[str]:
        """The names of somebody that have a word which is in nobody else's."""
        own = self.own_words(person)
        return [name for name in (person.name, *person.aliases) if words_in(name) & own]

    def _is_in_title(self, name: str) -> bool:
        return f" {' '.join(words(name))} " in self._title

    def _spread(self, one: Entity) -> tuple[int, int]:
        stretches = {start * _STRETCHES // self._characters for start, _ in one.places}
        return len(stretches), len(one.places)


def words_in(name: str) -> set[str]:
    """The words of a name without titles and initials, in lower case."""
    return {word.casefold() for word in _WORD.findall(name) if len(word) > 1 and not is_title(word)}


def _words_of(one: Entity) -> set[str]:
    return {word for name in (one.name, *one.aliases) for word in words_in(name)}
