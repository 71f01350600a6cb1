"""Retrieval in two steps: many passages found at once, then each read beside the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from indexing.crossencoder import CrossEncoder, load_crossencoder
from indexing.index import BookIndex
from retrieval.hits import Hit, Retriever
from retrieval.hybrid import HybridRetriever
from retrieval.ranking import check_count

CANDIDATES = 10
FIRST_WEIGHT = 2.0  # of a first score, in standard deviations, beside the log-odds of relevance


class RerankRetriever:
    """Puts the best ``candidates`` of another retriever in the order of a cross-encoder's relevance.

    A passage scores log-odds of its best window (Nogueira and Cho 2019, section 3) + ``FIRST_WEIGHT``
    times its first score. What was found after the candidates follows them in the order it had.
    """

    def __init__(
        self,
        index: BookIndex,
        first: Retriever | None = None,
        encoder: CrossEncoder | None = None,
        candidates: int = CANDIDATES,
        first_weight: float = FIRST_WEIGHT,
    ) -> None:
        """By default the hybrid retriever and the shipped cross-encoder; raises as they do."""
        self._index = index
        self._first = HybridRetriever(index) if first is None else first
        self._encoder = load_crossencoder() if encoder is None else encoder
        self._candidates = candidates
        self._first_weight = first_weight

    def search(self, questions: Sequence[str], k: int, before: int | None = None) -> list[list[Hit]]:
        """See ``Retriever.search``."""
        check_count(k)
        found = self._first.search(questions, max(k, self._candidates), before)
        texts = [
            [self._index.text(hit.passage.start, hit.passage.end) for hit in hits[: self._candidates]]
            for hits in found
        ]
        cut = self._encoder.windows(list(zip(questions, texts, strict=True)))
        reads = iter(self._encoder.read([window for windows in cut for window in windows]))
        results = []
        for hits, windows in zip(found, cut, strict=True):
            relevance = [-1e3] * min(len(hits), self._candidates)  # a passage of blanks has no window
            for window in windows:
                relevance[window.passage] = max(relevance[window.passage], next(reads).relevance)
            results.append(_reordered(hits, relevance, self._first_weight)[:k])
        return results


def _reordered(hits: Sequence[Hit], relevance: Sequence[float], first_weight: float) -> list[Hit]:
    """The hits with their new scores, best first; ``relevance`` is that of the first of them."""
    scored = [
        replace(hit, score=score + first_weight * hit.score)
        for hit, score in zip(hits, relevance, strict=False)
    ]
    scored.sort(key=lambda hit: (-hit.score, hit.passage.start))
    rest = hits[len(relevance) :]
    if rest:  # below the candidates, as far apart as they were
        shift = scored[-1].score - hits[len(relevance) - 1].score
        scored += [replace(hit, score=hit.score + shift) for hit in rest]
    return scored
