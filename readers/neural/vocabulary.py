"""The words that the neural readers know, learnt on what they are trained on, and the entity markers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from readers.neural.entities import MARKERS, marker

UNKNOWN, BEGIN, END, APART = range(4)  # any other word, around an answer, and between two passages
_SPECIAL = ("<unknown>", "<begin>", "<end>", "<apart>")


class Vocabulary:
    """Numbers for token keys: four of no word, the entity markers, then ``words``."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._known = (*_SPECIAL, *map(marker, range(MARKERS)), *self.words)
        self._numbers = {key: number for number, key in enumerate(self._known)}

    @classmethod
    def learn(cls, keys: Iterable[str], most: int) -> Vocabulary:
        """The ``most`` frequent of the keys, more frequent ones first and equals by the alphabet."""
        counts = Counter(keys)
        return cls(sorted(counts, key=lambda key: (-counts[key], key))[:most])

    def __len__(self) -> int:
        return len(self._known)

    def numbers(self, keys: Iterable[str]) -> list[int]:
        """The number of each key, ``UNKNOWN`` for those that are not known."""
        return [self._numbers.get(key, UNKNOWN) for key in keys]

    def key(self, number: int) -> str:
        """The key that has this number."""
        return self._known[number]
