"""The words that a neural reader knows, learnt on what it is trained on, and the entity markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from readers.neural.entities import MARKERS, marker

UNKNOWN, BEGIN, END, SEPARATOR = range(4)  # any other word, around an answer, and between two passages
END_KEY, SEPARATOR_KEY = "<end>", "<separator>"
_SPECIAL = ("<unknown>", "<begin>", END_KEY, SEPARATOR_KEY)
FIRST_MARKER = len(_SPECIAL)


class Vocabulary:
    """Ids of token keys: four of no word, the entity markers, then ``words``."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._keys = (*_SPECIAL, *map(marker, range(MARKERS)), *self.words)
        self._ids = {key: id for id, key in enumerate(self._keys)}

    @classmethod
    def learn(cls, keys: Iterable[str], most: int) -> Vocabulary:
        """The ``most`` frequent of the keys, more frequent ones first and equals by the alphabet."""
        counts = Counter(keys)
        return cls(sorted(counts, key=lambda key: (-counts[key], key))[:most])

    def __len__(self) -> int:
        return len(self._keys)

    def ids(self, keys: Iterable[str]) -> list[int]:
        """The id of each key, ``UNKNOWN`` for those that are not known."""
        return [self._ids.get(key, UNKNOWN) for key in keys]

    def key(self, id: int) -> str:
        """The key that has this id."""
        return self._keys[id]
