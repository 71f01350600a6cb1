"""Retrieval by words: TF-IDF cosine and Okapi BM25, from weights computed when the book was indexed."""

from __future__ import annotations

from collections.abc import Sequence

from indexing.index import BookIndex
from retrieval.hits import Hit, Retriever, best_hits


class TfidfRetriever(Retriever):
    """Cosine of TF-IDF vectors, sublinear in term frequency."""

    def __init__(self, index: BookIndex) -> None:
        self._index = index

    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """See ``Retriever.first``; passages that share no word with the question score 0."""
        passages, sparse = self._index.passages, self._index.sparse
        seen = passages.until(before)
        return [best_hits(passages, sparse.tfidf(question)[:seen], k) for question in questions]


class Bm25Retriever(Retriever):
    """Okapi BM25 as ``rank_bm25.BM25Okapi`` scores it, word statistics taken from the whole book."""

    def __init__(self, index: BookIndex) -> None:
        self._index = index

    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """See ``Retriever.first``; passages that share no word with the question score 0."""
        passages, sparse = self._index.passages, self._index.sparse
        seen = passages.until(before)
        return [best_hits(passages, sparse.bm25(question)[:seen], k) for question in questions]
