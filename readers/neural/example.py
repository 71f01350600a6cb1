"""A reading as the neural models take it: token keys, separators between passages, markers for names."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from readers.neural.entities import Entities, find_entities
from readers.neural.vocabulary import END_KEY, SEPARATOR_KEY
from readers.reading import Reading
from text.spans import TokenText
from text.tokens import tokens


@dataclass(frozen=True)
class Example:
    """``question`` ends with ``END_KEY``, so that it is never empty; ``context`` has all passages."""

    text: TokenText
    entities: Entities
    question: list[str]
    context: list[str]

    @cached_property
    def token_of(self) -> NDArray[np.int64]:
        """Per position of the context its token in ``text``, -1 for a separator; (context,)."""
        found = np.full(len(self.context), -1, np.int64)
        found[self.position_of] = np.arange(len(self.text.ids))
        return found

    @cached_property
    def position_of(self) -> NDArray[np.int64]:
        """Per token of ``text`` its position in the context; (tokens,)."""
        passages = np.arange(len(self.text.first) - 1)
        return np.arange(len(self.text.ids)) + np.repeat(passages, np.diff(self.text.first))


def encode_example(question: str, text: TokenText, rng: random.Random) -> Example:
    """The example of a question about a text, its entity markers drawn anew."""
    entities = find_entities(text.passages, rng)
    keys = [entities.of(key) for key in text.vocabulary]
    context: list[str] = []
    for number in range(len(text.passages)):
        if number:
            context.append(SEPARATOR_KEY)
        low, high = text.first[number : number + 2].tolist()
        context += [keys[id] for id in text.ids[low:high].tolist()]
    return Example(text, entities, [*entities.mark(question), END_KEY], context)


def encode_reading(reading: Reading, text: TokenText) -> Example:
    """The example of a reading, of which ``text`` has the passages: always the same one."""
    return encode_example(reading.question, text, random.Random(repr((reading.question, reading.passages))))


def encode_answer(answer: str, entities: Entities) -> list[str]:
    """The keys of an answer's tokens, names as their markers."""
    return [entities.of(token.key) for token in tokens(answer)]
