"""Retrieval by words and by meaning at once: a weighted sum of z-scored BM25 and dense scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from indexing.index import BookIndex
from retrieval.dense import DenseRetriever
from retrieval.hits import Hit
from retrieval.ranking import best_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DENSE_WEIGHT = 0.5


class HybridRetriever:
    """(1 - w) z(BM25) + w z(dense), with w = ``DENSE_WEIGHT``.

    z subtracts the mean over the passages that may be read and divides by the standard deviation,
    so that one question's two kinds of scores can be added.
    """

    def __init__(self, index: BookIndex, dense_weight: float = DENSE_WEIGHT) -> None:
        """Raises as ``DenseRetriever`` does."""
        self._index = index
        self._dense = DenseRetriever(index)
        self._weight = dense_weight

    def search(self, questions: Sequence[str], k: int, before: int | None = None) -> list[list[Hit]]:
        """See ``Retriever.search``."""
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
