"""TF-IDF and BM25 weights of a book's passages, stored by term: a question costs only its own words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from math import log, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from indexing.errors import IndexMismatch
from indexing.term_table import TermTable, term_arrays
from text.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What one occurrence of a term in a passage weighs, by either measure.
POSTING = [("passage", "<i4"), ("bm25", "<f4"), ("tfidf", "<f4")]


def sparse_arrays(texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays ``vocabulary``, ``terms`` and ``postings`` of the passages' texts.

    - ``vocabulary`` and ``terms``: the distinct words, as ``term_arrays`` has them;
    - ``postings``: POSTING records, by term and then by passage.

    TF-IDF weights are scikit-learn's (sublinear tf, smoothed idf, rows of length 1); BM25 weights
    are those of ``rank_bm25.BM25Okapi``, its floor under negative idfs included.
    """
    import numpy as np

    tokens = [words(text) for text in texts]
    vocabulary = sorted(word.encode() for word in set(chain.from_iterable(tokens)))
    if not vocabulary:
        return {**term_arrays([], [0]), "postings": np.zeros(0, dtype=POSTING)}
    names = [word.decode() for word in vocabulary]
    counts = _counts(tokens, names)
    postings = np.zeros(len(counts.passage), dtype=POSTING)
    postings["passage"] = counts.passage
    postings["bm25"] = _bm25(counts, tokens, names)
    postings["tfidf"] = _tfidf(counts, len(tokens))
    return {**term_arrays(vocabulary, [0, *np.cumsum(counts.holding)]), "postings": postings}


class _Counts(NamedTuple):
    """How often passages have terms, by term and then by passage.

    ``term``, ``passage`` and ``times`` have shape (postings,); ``holding``, of how many passages have a term,
    has shape (terms,).
    """

    term: NDArray[np.int64]
    passage: NDArray[np.int64]
    times: NDArray[np.int64]
    holding: NDArray[np.int64]


def _counts(tokens: Sequence[Sequence[str]], names: Sequence[str]) -> _Counts:
    import numpy as np

    number = {name: term for term, name in enumerate(names)}
    terms = np.fromiter(map(number.__getitem__, chain.from_iterable(tokens)), dtype="i8")
    passages = np.repeat(np.arange(len(tokens)), [len(passage) for passage in tokens])
    places, times = np.unique(terms * len(tokens) + passages, return_counts=True)
    term, passage = np.divmod(places, len(tokens))
    return _Counts(term, passage, times, np.bincount(term))


def _tfidf(counts: _Counts, passages: int) -> NDArray[np.float64]:
    """(1 + log f) idf(t) of each count f, idf(t) = log((1 + n) / (1 + df)) + 1; a passage's have length 1.

    These are scikit-learn's, which takes a second to import.
    """
    import numpy as np

    idf = np.log((1 + passages) / (1.0 + counts.holding)) + 1
    weights: NDArray[np.float64] = (np.log(counts.times.astype("f8")) + 1) * idf[counts.term]
    return weights / np.sqrt(np.bincount(counts.passage, weights * weights))[counts.passage]


def _bm25(counts: _Counts, tokens: Sequence[Sequence[str]], names: Sequence[str]) -> NDArray[np.float64]:
    """idf(t) f (k1 + 1) / (f + k1 (1 - b + b |d| / avgdl)) of each count f, with BM25Okapi's statistics."""
    import numpy as np
    from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

    okapi = BM25Okapi(tokens)
    idf = np.array([okapi.idf[name] for name in names])[counts.term]
    length = np.asarray(okapi.doc_len)[counts.passage]
    f = counts.times
    weights: NDArray[np.float64] = (
        idf * f * (okapi.k1 + 1) / (f + okapi.k1 * (1 - okapi.b + okapi.b * length / okapi.avgdl))
    )
    return weights


class SparseIndex:
    """The weights of one book's passages, read where a question's words need them.

    ``mismatch`` makes the error for arrays that contradict themselves.
    """

    def __init__(
        self,
        vocabulary: NDArray[np.uint8],
        terms: NDArray[np.uint64],
        postings: NDArray[np.void],
        passages: int,
        mismatch: Callable[[str], IndexMismatch],
    ) -> None:
        self._table = TermTable(vocabulary, terms, len(postings), mismatch)
        self._passage = postings["passage"]
        self._bm25 = postings["bm25"]
        self._tfidf = postings["tfidf"]
        self.passages = passages
        self._mismatch = mismatch

    def bm25(self, question: str) -> NDArray[np.float64]:
        """BM25 of every passage, (passages,); a word asked twice counts twice, an unknown one not at all."""
        return self._sum(self._bm25, [(place, 1.0) for place in self._table.find(words(question))])

    def tfidf(self, question: str) -> NDArray[np.float64]:
        """Cosine of the question and every passage, (passages,); unknown words are as if not asked."""
        weighted = []
        for (start, stop), occurrences in Counter(self._table.find(words(question))).items():
            idf = log((1 + self.passages) / (1 + stop - start)) + 1
            weighted.append(((start, stop), (1 + log(occurrences)) * idf))
        length = sqrt(sum(weight * weight for _, weight in weighted))
        return self._sum(self._tfidf, [(place, weight / length) for place, weight in weighted])

    def saturated(self, question: str) -> dict[str, tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """Of each word of the question that is there the passages, and BM25's weights in them but for idf.

        These are f (k1 + 1) / (f + k1 (1 - b + b |d| / avgdl)), which do not depend on how many passages hold
        the word, so that books can be searched together by idfs of them all.
        """
        import numpy as np

        found = {}
        for word in dict.fromkeys(words(question)):
            for start, stop in self._table.find([word]):
                weights = self._without_idf(self._bm25[start:stop], np.array([stop - start]))
                found[word] = self._passage[start:stop], weights
        return found

    def columns(self) -> tuple[list[bytes], NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]:
        """All terms, of how many passages each, these passages by term, and the weights of ``saturated``."""
        import numpy as np

        holding = np.diff(self._table.begins).astype("i8")
        if holding.sum() != len(self._passage) or (len(holding) and holding.min() < 1):
            raise self._mismatch("its postings are damaged")
        return [*self._table], holding, self._passage, self._without_idf(self._bm25, holding)

    def _without_idf(self, weights: NDArray[Any], holding: NDArray[np.int64]) -> NDArray[np.float64]:
        """The weights of terms, each held by so many passages, divided by BM25Okapi's idf."""
        import numpy as np

        idf = np.log(self.passages - holding + 0.5) - np.log(holding + 0.5)
        idf[idf < 0] = self._floor
        each = np.repeat(idf, holding)
        # Where the idf is 0 the frequencies are lost: one occurrence in a passage of mean length.
        found: NDArray[np.float64] = np.divide(weights, each, out=np.ones(len(each)), where=each != 0)
        return found

    @cached_property
    def _floor(self) -> float:
        """What ``rank_bm25.BM25Okapi`` has in place of an idf below 0."""
        import numpy as np

        holding = np.diff(self._table.begins).astype("f8")
        return 0.25 * float((np.log(self.passages - holding + 0.5) - np.log(holding + 0.5)).mean())

    def _sum(
        self, weights: NDArray[Any], weighted: Sequence[tuple[tuple[int, int], float]]
    ) -> NDArray[np.float64]:
        """sum over ((start, stop), factor) of factor * weights[start:stop], for every passage."""
        import numpy as np

        if not weighted:
            return np.zeros(self.passages)
        numbers = np.concatenate([self._passage[start:stop] for (start, stop), _ in weighted])
        if numbers.view("<u4").max() >= self.passages:
            raise self._mismatch("its postings name passages that it does not have")
        parts: list[NDArray[Any]] = [
            weights[start:stop] if factor == 1 else weights[start:stop] * factor
            for (start, stop), factor in weighted
        ]
        sums: NDArray[np.float64] = np.bincount(numbers, np.concatenate(parts), self.passages).astype(
            np.float64, copy=False
        )
        return sums
