"""A reading as the neural models see it: token keys, delimiters between passages, markers for names."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from readers.neural.entities import Entities, find_entities
from readers.reading import Reading
from text.spans import TokenText
from text.tokens import tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

END_KEY, APART_KEY = "<end>", "<apart>"


@dataclass(frozen=True)
class Example:
    """``question`` ends with ``END_KEY``, so that it is never empty; ``context`` has all passages."""

    text: TokenText
    entities: Entities
    question: list[str]
    context: list[str]

    @cached_property
    def token_of(self) -> NDArray[np.int64]:
        """Per position of the context its token in ``text``, -1 for a delimiter; (context,)."""
        import numpy as np

        found = np.full(len(self.context), -1, np.int64)
        found[self.position_of] = np.arange(len(self.text.ids))
        return found

    @cached_property
    def position_of(self) -> NDArray[np.int64]:
        """Per token of ``text`` its position in the context; (tokens,)."""
        import numpy as np

        passages = np.arange(len(self.text.first) - 1)
        return np.arange(len(self.text.ids)) + np.repeat(passages, np.diff(self.text.first))


def see(question: str, text: TokenText, rng: random.Random) -> Example:
    """The example of a question about a text, its markers drawn anew."""
    entities = find_entities(text.passages, rng)
    names = [entities.of(key) for key in text.vocabulary]
    context: list[str] = []
    for number in range(len(text.passages)):
        if number:
            context.append(APART_KEY)
        low, high = text.first[number : number + 2].tolist()
        context += [names[id] for id in text.ids[low:high].tolist()]
    return Example(text, entities, [*entities.mark(question), END_KEY], context)


def see_reading(reading: Reading, text: TokenText) -> Example:
    """The example of a reading, of which ``text`` has the passages: always the same one."""
    return see(reading.question, text, random.Random(repr((reading.question, reading.passages))))


def keys_of(text: str, entities: Entities) -> list[str]:
    """The keys of an answer, names as their markers."""
    return [entities.of(token.key) for token in tokens(text)]


def texts(passages: Sequence[Sequence[str]]) -> list[TokenText]:
    """The tokens of several readings' passages, equal ones made once."""
    made = {one: TokenText(one) for one in dict.fromkeys(map(tuple, passages))}
    return [made[tuple(one)] for one in passages]
