"""Questions in other words: some of theirs replaced by near ones, for a teacher alone to answer."""

from __future__ import annotations

import random
import re
from functools import lru_cache

import numpy as np

from encoders.backbone import MINILM, base_arrays, load_tokenizer
from text.stop_words import STOP_WORDS

REPLACED = 0.4  # of the words that may be
NEAREST = 8
NEAR = 0.4  # cosine
_WORD = re.compile(r"\b[a-z]{3,}\b")
_EMBEDDINGS = "embeddings.word_embeddings.weight"


class Rewording:
    """Replaces words by near ones, by what the backbone makes of each word alone.

    Who finds an answer by the words that question and passage share then finds fewer (Jiao et al. 2020,
    algorithm 1, whose words are a language model's and GloVe's). Some mean something else, such as the
    opposite: nobody knows what answers the question then, unless a teacher says so.
    """

    def __init__(self) -> None:
        vocabulary = load_tokenizer(MINILM).get_vocab()
        words = sorted(word for word in vocabulary if _WORD.fullmatch(word))
        rows = base_arrays(MINILM)[_EMBEDDINGS].astype(np.float32)
        vectors = rows[[vocabulary[word] for word in words]] - rows.mean(0)
        self._words = words
        self._row = {word: row for row, word in enumerate(words)}
        self._vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        self.near = lru_cache(maxsize=None)(self._near)

    def __call__(self, question: str, rng: random.Random) -> str:
        """The question with about ``REPLACED`` of its words replaced, no names and none that say little."""
        return _WORD.sub(lambda match: self._instead_of(match.group(), rng), question)

    def _instead_of(self, word: str, rng: random.Random) -> str:
        if word in STOP_WORDS or rng.random() >= REPLACED:
            return word
        return rng.choice(self.near(word) or (word,))

    def _near(self, word: str) -> tuple[str, ...]:
        """The words nearest to this one, none for one that the backbone does not know whole."""
        if word not in self._row:
            return ()
        cosines = self._vectors @ self._vectors[self._row[word]]
        best = np.argsort(-cosines, kind="stable")[1 : NEAREST + 1]
        return tuple(self._words[row] for row in best if cosines[row] >= NEAR)
