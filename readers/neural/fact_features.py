"""Φ of a memory network: the n-grams of a question, of facts and of words said, by the part that they play.

Weston et al. 2015, appendix A, equation 4: a word has features of its own in the question, in the fact of the
first hop, of the second, .., and in a candidate. A feature is a part and an n-gram; those met in training are
known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import torch

HOPS = 10  # facts at most that an answer rests on, and words that it has
QUESTION, CANDIDATE = 0, HOPS + 1
LONGEST = 3  # words of an n-gram


def hop(number: int) -> int:
    """The part of the fact found by hop ``number``, from 0."""
    return 1 + number


def said(number: int) -> int:
    """The part of the answer's word ``number``, from 0."""
    return CANDIDATE + 1 + number


class FactFeatures:
    """Rows of features, ``(features, 1 + LONGEST)``: a part, then an n-gram's words, -1 after its end.

    ``n`` is the length of the longest n-grams, ``places`` the number of parts of a sentence that are told
    apart by where in it they stand, ``ceil(i places / l)`` of word i of l; 1 where it is a bag.
    """

    def __init__(self, words: Sequence[str], rows: Iterable[Sequence[int]], n: int, places: int = 1) -> None:
        self.words = {word: number for number, word in enumerate(words)}
        self.n, self.places = n, places
        self._rows = {tuple(row): number for number, row in enumerate(rows)}
        self._known: dict[tuple[int, tuple[str, ...]], tuple[tuple[int, int], ...]] = {}

    @classmethod
    def learn(
        cls, words: Sequence[str], met: Iterable[tuple[int, tuple[str, ...]]], n: int, places: int = 1
    ) -> FactFeatures:
        """Those of all sentences ``met`` in training, each with the part it plays, in their order."""
        features = cls(words, (), n, places)
        rows: dict[tuple[int, ...], int] = {}
        for part, sentence in dict.fromkeys(met):
            for row, _ in features._grams(part, sentence):
                rows.setdefault(row, len(rows))
        features._rows = rows
        return features

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self) -> torch.Tensor:
        """All features, int16."""
        return torch.tensor(list(self._rows), dtype=torch.int16).reshape(-1, 1 + LONGEST)

    def of(self, part: int, sentence: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
        """The numbers of the features that are known, each with its place in the sentence."""
        key = (part, sentence)
        if key not in self._known:
            found = ((self._rows.get(row), place) for row, place in self._grams(part, sentence))
            self._known[key] = tuple((row, place) for row, place in found if row is not None)
        return self._known[key]

    def _grams(self, part: int, sentence: tuple[str, ...]) -> list[tuple[tuple[int, ...], int]]:
        ids = [self.words.get(word, -1) for word in sentence]
        length = len(ids)
        return [
            ((part, *ids[i : i + n], *[-1] * (LONGEST - n)), -(-(i + 1) * self.places // length) - 1)
            for n in range(1, self.n + 1)
            for i in range(length - n + 1)
        ]

    def bags(self, sums: Sequence[Sequence[tuple[int, tuple[str, ...]]]]) -> Bags:
        """Each a sum of sentences in their parts, as ``torch.nn.EmbeddingBag`` takes them."""
        lists: list[list[int]] = []
        for parts in sums:
            by_place: list[list[int]] = [[] for _ in range(self.places)]
            for part, sentence in parts:
                for row, place in self.of(part, sentence):
                    by_place[place].append(row)
            lists += by_place
        lengths = torch.tensor([0, *map(len, lists)][:-1] if lists else [], dtype=torch.long)
        return Bags(torch.tensor(list(chain.from_iterable(lists)), dtype=torch.long), lengths.cumsum(0))


class Bags:
    """Numbers of features, flat, and where each bag of them begins."""

    def __init__(self, features: torch.Tensor, offsets: torch.Tensor) -> None:
        self.features, self.offsets = features, offsets
