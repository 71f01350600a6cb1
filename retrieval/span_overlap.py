"""Chunk selection by overlap (Kočiský et al. 2018, section 5.3): the best span of a passage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from indexing.index import BookIndex
from retrieval.hits import Hit, Retriever, best_hits
from text.similarity import Similarity, bleu1, rouge_l
from text.spans import Spans, TokenText
from text.tokens import tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SPAN_TOKENS = 8  # the longer of the paper's two n-grams

# Per open index, for as long as it is open: reading its tokens takes longer than a search.
_tokens: WeakKeyDictionary[BookIndex, tuple[TokenText, Spans]] = WeakKeyDictionary()


class SpanRetriever(Retriever):
    """Scores a passage by the most similar of its spans of ``SPAN_TOKENS`` tokens."""

    def __init__(self, index: BookIndex, similarity: Similarity) -> None:
        self._index = index
        self._similarity = similarity
        if index not in _tokens:
            text = TokenText([index.text(passage.start, passage.end) for passage in index.passages])
            _tokens[index] = text, text.windows(SPAN_TOKENS)
        self._text, self._spans = _tokens[index]

    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """See ``Retriever.first``; passages that share no token with the question score 0."""
        passages = self._index.passages
        seen = passages.until(before)
        return [best_hits(passages, self._scores(question)[:seen], k) for question in questions]

    def _scores(self, question: str) -> NDArray[np.float64]:
        """The score of every passage, (passages,)."""
        import numpy as np

        scores = np.zeros(len(self._index.passages))
        if len(self._spans):
            query = [token.key for token in tokens(question)]
            of_spans = self._similarity(self._text, self._spans, query)
            passage = self._text.passage_of(self._spans)
            first = np.flatnonzero(np.diff(passage, prepend=-1))
            scores[passage[first]] = np.maximum.reduceat(of_spans, first)
        return scores


class RougeSpanRetriever(SpanRetriever):
    """By ROUGE-L."""

    def __init__(self, index: BookIndex) -> None:
        super().__init__(index, rouge_l)


class BleuSpanRetriever(SpanRetriever):
    """By BLEU-1."""

    def __init__(self, index: BookIndex) -> None:
        super().__init__(index, bleu1)
