"""Retrieval in two phases: many passages found at once, then each read beside the question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

from encoders.backbone import MPNET
from encoders.cross_encoder import CrossEncoder, EncodedPassage, load_crossencoder
from encoders.sizes import LARGE
from indexing.index import BookIndex
from retrieval.hits import Hit, Retriever, Search
from retrieval.hybrid import HybridRetriever

CANDIDATES = 10
# Of a first score, in standard deviations, beside the log-odds of relevance, surer where the model is large.
FIRST_WEIGHT, FIRST_WEIGHT_LARGE = 2.0, 0.5
# What is further behind the best first score, in standard deviations, is not read, but for the first few: it
# seldom holds the answer, and where it is read a span of it often wins that is none (docs/performance.md).
NEAR = 1.25
FEWEST = 2


class RerankRetriever(Retriever):
    """Puts the best ``candidates`` of another retriever in the order of a cross-encoder's relevance.

    A passage scores log-odds of its best window (Nogueira and Cho 2019, section 3) + ``first_weight``
    times its first score, by default ``FIRST_WEIGHT`` or, of the large model, ``FIRST_WEIGHT_LARGE``.
    Candidates are as near the best of the first phase as ``near`` says, or of the first ``FEWEST``. What was
    found after them follows them in the order it had.
    """

    second_phase: ClassVar[str | None] = "rerank"
    passages_read: ClassVar[int] = CANDIDATES
    size: ClassVar[str | None] = None  # of the shipped cross-encoder

    def __init__(
        self,
        index: BookIndex,
        first: Retriever | None = None,
        encoder: CrossEncoder | None = None,
        candidates: int = CANDIDATES,
        first_weight: float | None = None,
        near: float = NEAR,
    ) -> None:
        """By default the hybrid retriever and the shipped cross-encoder; raises as they do."""
        self._index = index
        self.start(
            HybridRetriever(index) if first is None else first,
            load_crossencoder(self.size) if encoder is None else encoder,
            candidates,
            first_weight,
            near,
        )

    def start(
        self,
        first: Retriever,
        encoder: CrossEncoder,
        candidates: int = CANDIDATES,
        first_weight: float | None = None,
        near: float = NEAR,
    ) -> None:
        """Be one that orders what ``first`` finds; for those whose passages are not of one book."""
        self._first = first
        self.encoder = encoder
        self._candidates = candidates
        if first_weight is None:
            first_weight = FIRST_WEIGHT_LARGE if encoder.base.name == MPNET.name else FIRST_WEIGHT
        self._first_weight = first_weight
        self._near = near

    def text_of(self, hit: Hit) -> str:
        """The text of a passage found."""
        return self._index.text(hit.passage.start, hit.passage.end)

    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """See ``Retriever.first``."""
        return self._first.search(questions, max(k, self._candidates), before)

    @classmethod
    def finish(cls, searches: Sequence[Search[Self]]) -> list[list[list[Hit]]]:
        """See ``Retriever.finish``: the candidates of all searches are read in common batches."""
        members: dict[CrossEncoder, list[int]] = defaultdict(list)
        for i, search in enumerate(searches):
            members[search.retriever.encoder].append(i)
        ordered: dict[int, list[list[Hit]]] = {}
        for encoder, of_encoder in members.items():
            asked = [searches[i].retriever.candidates(searches[i]) for i in of_encoder]
            encoded = iter(encoder.encode([one for of_search in asked for one in of_search]))
            for i in of_encoder:
                ordered[i] = [
                    searches[i].retriever.ordered(hits, next(encoded))[: searches[i].k]
                    for hits in searches[i].found
                ]
        return [ordered[i] for i in range(len(searches))]

    def candidates(self, search: Search[Self]) -> list[tuple[str, list[str]]]:
        """What is to be read beside each question."""
        return [
            (question, [self.text_of(hit) for hit in hits[: min(self._candidates, self._near_ones(hits))]])
            for question, hits in zip(search.questions, search.found, strict=True)
        ]

    def _near_ones(self, hits: Sequence[Hit]) -> int:
        """How many of the first phase's hits, best first, are near the best."""
        near = sum(hits[0].score - hit.score < self._near for hit in hits)
        return max(near, min(FEWEST, len(hits)))

    def ordered(self, hits: Sequence[Hit], encoded: Sequence[EncodedPassage]) -> list[Hit]:
        """One question's hits with their new scores, best first; ``encoded`` are the first of them."""
        scored = [
            replace(hit, score=one.relevance + self._first_weight * hit.score, encoded=one)
            for hit, one in zip(hits, encoded, strict=False)
        ]
        scored.sort(key=lambda hit: (-hit.score, hit.passage.start))
        rest = hits[len(encoded) :]
        if rest:  # below the candidates, as far apart as they were
            shift = scored[-1].score - hits[len(encoded) - 1].score
            near = self._near_ones(hits)
            scored += [
                replace(hit, score=hit.score + shift, is_near=place < near)
                for place, hit in enumerate(rest, len(encoded))
            ]
        return scored


class LargeRerankRetriever(RerankRetriever):
    """The same with the large cross-encoder, which a large reader need not read the passages with again."""

    size: ClassVar[str | None] = LARGE
