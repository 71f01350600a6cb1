"""Retrieval in two steps: many passages found at once, then each read beside the question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from encoders.cross_encoder import CrossEncoder, WindowRead, load_crossencoder
from encoders.windows import Window
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
        self.encoder = load_crossencoder() if encoder is None else encoder
        self._candidates = candidates
        self._first_weight = first_weight

    def search(self, questions: Sequence[str], k: int, before: int | None = None) -> list[list[Hit]]:
        """See ``Retriever.search``."""
        [ordered] = rerank([self.first(questions, k, before)])
        return ordered

    def first(self, questions: Sequence[str], k: int, before: int | None = None) -> First:
        """The first step alone, for ``rerank`` to go on from."""
        check_count(k)
        return First(self, questions, self._first.search(questions, max(k, self._candidates), before), k)

    def windows(self, questions: Sequence[str], found: Sequence[Sequence[Hit]]) -> list[list[Window]]:
        """What of the candidates is to be read beside each question."""
        texts = [
            [self._index.text(hit.passage.start, hit.passage.end) for hit in hits[: self._candidates]]
            for hits in found
        ]
        return self.encoder.windows(list(zip(questions, texts, strict=True)))

    def ordered(
        self, hits: Sequence[Hit], windows: Sequence[Window], reads: Iterator[WindowRead]
    ) -> list[Hit]:
        """One question's hits by what its ``windows`` say, best first."""
        relevance = [-1e3] * min(len(hits), self._candidates)  # a passage of blanks has no window
        for window in windows:
            relevance[window.passage] = max(relevance[window.passage], next(reads).relevance)
        return _reordered(hits, relevance, self._first_weight)


@dataclass(frozen=True, slots=True)
class First:
    """What the first step found in one book for some questions, ``k`` of which are wanted in the end."""

    retriever: RerankRetriever
    questions: Sequence[str]
    found: list[list[Hit]]
    k: int


def rerank(firsts: Sequence[First]) -> list[list[list[Hit]]]:
    """The second step, for many books at once: their passages are read in common batches."""
    cut = [first.retriever.windows(first.questions, first.found) for first in firsts]
    by_encoder: dict[CrossEncoder, list[Window]] = defaultdict(list)
    for first, of_book in zip(firsts, cut, strict=True):
        by_encoder[first.retriever.encoder] += [window for windows in of_book for window in windows]
    reads = {encoder: iter(encoder.read(windows)) for encoder, windows in by_encoder.items()}
    return [
        [
            first.retriever.ordered(hits, windows, reads[first.retriever.encoder])[: first.k]
            for hits, windows in zip(first.found, of_book, strict=True)
        ]
        for first, of_book in zip(firsts, cut, strict=True)
    ]


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
