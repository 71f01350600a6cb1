"""Retrieval by meaning: a passage is as near to the question as the nearest of its windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from indexing.index import BookIndex
from retrieval.hits import Hit
from retrieval.ranking import best_hits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class DenseRetriever:
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

    def search(self, questions: Sequence[str], k: int, before: int | None = None) -> list[list[Hit]]:
        """See ``Retriever.search``."""
        passages = self._index.passages
        seen = passages.until(before)
        return [best_hits(passages, row[:seen], k) for row in self.scores(questions)]
