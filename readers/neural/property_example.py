"""A document and a property as the readers of WikiReading take them: words, with their places.

Hewlett et al. 2016, section 4.1: the first 300 words of a document, and the first ten of a property.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from readers.neural.vocabulary import SEPARATOR, Vocabulary
from text.dates import find_days, parse_day
from text.tokens import tokens

DOCUMENT_WORDS, PROPERTY_WORDS = 300, 10


@dataclass(frozen=True, slots=True)
class PropertyExample:
    """The ``words`` of ``document`` as spelled, from ``starts`` to ``ends`` of it, and the property's."""

    document: str
    property: tuple[str, ...]
    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def text(self, first: int, last: int) -> str:
        """The document from its word ``first`` to its word ``last``, both of them there."""
        return self.document[self.starts[first] : self.ends[last]]

    def place_of(self, words: Sequence[str]) -> tuple[int, int] | None:
        """The first and the last of the document's words, where these stand there one after another."""
        count = len(words)
        for first in range(len(self.words) - count + 1) if count else ():
            if self.words[first : first + count] == tuple(words):
                return first, first + count - 1
        return None


def spelled(text: str) -> list[str]:
    """The words of a text as they are spelled."""
    return [text[token.start : token.end] for token in tokens(text)]


def encode_property(property: str, document: str) -> PropertyExample:
    """The example of a property of a document."""
    found = [token for token, _ in zip(tokens(document), range(DOCUMENT_WORDS), strict=False)]
    return PropertyExample(
        document,
        tuple(spelled(property)[:PROPERTY_WORDS]),
        tuple(document[token.start : token.end] for token in found),
        tuple(token.start for token in found),
        tuple(token.end for token in found),
    )


def sequence(example: PropertyExample, vocabulary: Vocabulary) -> tuple[list[int], int]:
    """The ids of property, separator and document, one after another, and where the document begins."""
    ids = [*vocabulary.ids(example.property), SEPARATOR, *vocabulary.ids(example.words)]
    return ids, len(example.property) + 1


def places(example: PropertyExample, answers: Sequence[str]) -> list[tuple[int, int]]:
    """All places where any answer stands whole, as first and last word; days are the same however written."""
    found = set()
    days = {parse_day(answer) for answer in answers} - {None}
    for place in find_days(example.document) if days else ():
        if place.day in days:
            inside = [i for i, start in enumerate(example.starts) if place.start <= start < place.end]
            if inside:
                found.add((inside[0], inside[-1]))
    for answer in answers:
        words = tuple(spelled(answer))
        for first in range(len(example.words) - len(words) + 1) if words else ():
            if example.words[first : first + len(words)] == words:
                found.add((first, first + len(words) - 1))
    return sorted(found)
