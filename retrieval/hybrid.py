"""Retrieval by meaning, alone and beside words: a weighted sum of z-scored BM25 and dense scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from encoders.sizes import LARGE
from indexing.index import BookIndex
from retrieval.hits import Hit, Retriever, best_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DENSE_WEIGHT, DENSE_WEIGHT_LARGE = 0.6, 0.7


def dense_weight(encoder: str) -> float:
    """How much the vectors of the encoder of that name count beside words."""
    return DENSE_WEIGHT_LARGE if encoder == LARGE else DENSE_WEIGHT


class DenseRetriever(Retriever):
    """Inner product of unit vectors, best over the overlapping windows of each passage."""

    def __init__(self, index: BookIndex) -> None:
        """Loads the encoder; raises IndexMismatch unless its weights are those the index was built with."""
        self._index = index
        self._encoder = index.encoder()

    def scores(self, questions: Sequence[str]) -> NDArray[np.float32]:
        """The similarity of every passage to every question: (questions, passages)."""
        import numpy as np

        # One by one: in a batch, padding and int8 rounding let each question change the vectors of the
        # others, and what is found must not depend on who else asks at that moment.
        vectors = [self._encoder.encode([question]) for question in questions]
        width = self._index.manifest.width
        return self._index.dense.scores(np.concatenate([np.zeros((0, width), dtype=np.float32), *vectors]))

    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """See ``Retriever.first``."""
        passages = self._index.passages
        seen = passages.until(before)
        return [best_hits(passages, row[:seen], k) for row in self.scores(questions)]


class HybridRetriever(Retriever):
    """(1 - w) z(BM25) + w z(dense), with w = ``dense_weight`` of the index's encoder.

    z subtracts the mean over the passages that may be read and divides by the standard deviation,
    so that one question's two kinds of scores can be added. BM25 itself counts in how many passages of the
    whole book a word is.
    """

    def __init__(self, index: BookIndex, weight: float | None = None) -> None:
        """Raises as ``DenseRetriever`` does."""
        self._index = index
        self._dense = DenseRetriever(index)
        self._weight = dense_weight(index.manifest.settings.encoder) if weight is None else weight

    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """See ``Retriever.first``."""
        passages, sparse = self._index.passages, self._index.sparse
        seen = passages.until(before)
        found = []
        for question, dense in zip(questions, self._dense.scores(questions), strict=True):
            fused = (1 - self._weight) * z_scores(sparse.bm25(question)[:seen])
            fused += self._weight * z_scores(dense[:seen])
            found.append(best_hits(passages, fused, k))
        return found


def z_scores(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Scores (n,) shifted and scaled to mean 0 and standard deviation 1; all 0 where all are the same."""
    import numpy as np

    if not len(scores):
        return np.zeros(0)
    centred = scores.astype(np.float64) - scores.mean(dtype=np.float64)
    deviation = centred.std()
    return centred / deviation if deviation > 0 else np.zeros(len(scores))
