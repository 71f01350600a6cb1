"""Questions about entities: each one that a bullet point or a sentence names becomes a placeholder in turn.

Hermann et al. 2015, section 2: left out are contexts of more than 2,000 tokens and answers that the context
does not name. Which names are one entity's is decided by the names alone (``text.names``); pronouns stay.
The question and the book hold the original text, and ``Names`` where in them each entity is named. So a
citation is a place of the original; a reader that wants markers draws them anew each time that it loads a
question (``readers.cloze.anonymise``); and no other reader sees anything that their permutation could change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.benchmarks.benchmark import Names, Place
from indexing.tagged_book import Name
from text.cloze import blanks
from text.names import entities

LONGEST = 2_000  # tokens of a context
PLACEHOLDER = "@placeholder"


@dataclass(frozen=True, slots=True)
class BlankedEntity:
    """A question whose answer is the first of its sentence's names of one entity, at ``answer`` of ``text``.

    ``text`` is where the sentence is from: the book, or the bullet point.
    """

    question: str
    answer: Place
    right: str
    candidates: tuple[str, ...]
    names: Names


class Context:
    """A text with the places of its names, and how a sentence about it is asked."""

    def __init__(self, text: str, names: Sequence[Name]) -> None:
        self._text, self._names = text, names
        self._places = tuple((name.start, name.end) for name in names)

    def ask(self, text: str, sentence: Place, names: Sequence[Name]) -> list[BlankedEntity]:
        """The questions that a sentence of ``text`` makes by its ``names``; none where it has a blank."""
        if blanks(text[slice(*sentence)]) or not names:
            return []
        numbers = entities([(name.key, name.type) for name in (*self._names, *names)])
        here, asked = numbers[: len(self._names)], numbers[len(self._names) :]
        spelled: dict[int, str] = {}
        for name, number in zip(self._names, here, strict=True):
            words = _line(self._text[name.start : name.end])
            if len(words) > len(spelled.get(number, "")):
                spelled[number] = words  # the longest spelling, the first of equals
        candidates = tuple(spelled[number] for number in sorted(spelled))
        found = []
        for number in dict.fromkeys(asked):
            if number >= len(candidates):
                continue  # the context does not name it
            first = asked.index(number)
            question, places = _blanked(text, sentence, names, first)
            kept = [i for i in range(len(names)) if i != first]
            found.append(
                BlankedEntity(
                    question,
                    (names[first].start, names[first].end),
                    candidates[number],
                    candidates,
                    Names(
                        self._places,
                        tuple(here),
                        tuple(places[i] for i in kept),
                        tuple(asked[i] for i in kept),
                    ),
                )
            )
        return found


def _blanked(text: str, sentence: Place, names: Sequence[Name], blank: int) -> tuple[str, list[Place]]:
    """The sentence on one line with the placeholder for one name, and where in it every name then stands."""
    line, at = "", sentence[0]
    places = []
    for i, name in enumerate(names):
        line += _between(text[at : name.start], line)
        words = PLACEHOLDER if i == blank else _line(text[name.start : name.end])
        if i == blank and line and not line.endswith(" "):
            line += " "
        places.append((len(line), len(line) + len(words)))
        line += words
        at = name.end
        if i == blank and text[at : at + 1].isalnum():
            line += " "
    return line + _between(text[at : sentence[1]], line).rstrip(), places


def _between(text: str, before: str) -> str:
    """What stands between two names, on one line, the spaces at its ends kept."""
    line = _line(text)
    if not line:
        return " " if text and before else ""
    return " " * (text[0].isspace() and bool(before)) + line + " " * text[-1].isspace()


def _line(text: str) -> str:
    return " ".join(text.split())
