"""TF-IDF and BM25 weights of a book's passages, stored by term: a question costs only its own words."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from math import log, sqrt
from typing import TYPE_CHECKING, Any

from indexing.errors import IndexMismatch
from text.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What one occurrence of a term in a passage weighs, by either measure.
POSTING = [("passage", "<i4"), ("bm25", "<f4"), ("tfidf", "<f4")]
_PREFIX = 8  # bytes of a term that fit the uint64 by which it is found


def sparse_arrays(texts: Sequence[str]) -> dict[str, NDArray[Any]]:
    """The arrays ``vocabulary``, ``terms`` and ``postings`` of the passages' texts.

    - ``vocabulary``: uint8, the distinct words in UTF-8, sorted by their bytes, end to end;
    - ``terms``: uint64 (3, terms + 1), for each word its first eight bytes as a number, where its
      text begins in ``vocabulary`` and where its postings begin (one column more says where the last ends);
    - ``postings``: POSTING records, by term and then by passage.

    TF-IDF weights are scikit-learn's (sublinear tf, smoothed idf, rows of length 1); BM25 weights
    are those of ``rank_bm25.BM25Okapi``, its floor under negative idfs included.
    """
    import numpy as np

    tokens = [words(text) for text in texts]
    vocabulary = sorted({word.encode() for passage in tokens for word in passage})
    terms = np.zeros((3, len(vocabulary) + 1), dtype="<u8")
    if not vocabulary:
        return {
            "vocabulary": np.zeros(0, dtype="u1"),
            "terms": terms,
            "postings": np.zeros(0, dtype=POSTING),
        }
    names = [word.decode() for word in vocabulary]
    counts = _counts(tokens, names)
    terms[0, :-1] = [_prefix(word) for word in vocabulary]
    terms[1, 1:] = np.cumsum([len(word) for word in vocabulary])
    terms[2, :] = counts.indptr
    postings = np.zeros(counts.nnz, dtype=POSTING)
    postings["passage"] = counts.indices
    postings["bm25"] = _bm25(counts, tokens, names)
    postings["tfidf"] = _tfidf(counts)
    return {
        "vocabulary": np.frombuffer(b"".join(vocabulary), dtype="u1"),
        "terms": terms,
        "postings": postings,
    }


def _prefix(word: bytes) -> int:
    return int.from_bytes(word[:_PREFIX].ljust(_PREFIX, b"\0"), "big")


def _counts(tokens: Sequence[Sequence[str]], names: Sequence[str]) -> Any:
    """How often each passage has each word: scipy CSC (passages, terms), passages ascending in a column."""
    from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]

    counts = CountVectorizer(analyzer=list, vocabulary=names, lowercase=False).transform(tokens).tocsc()
    counts.sort_indices()
    return counts


def _tfidf(counts: Any) -> NDArray[np.float64]:
    """The weights of TfidfVectorizer(sublinear_tf=True), in the order of the counts."""
    from sklearn.feature_extraction.text import TfidfTransformer

    weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts.tocsr()).tocsc()
    weights.sort_indices()
    found: NDArray[np.float64] = weights.data
    return found


def _bm25(counts: Any, tokens: Sequence[Sequence[str]], names: Sequence[str]) -> NDArray[np.float64]:
    """idf(t) f (k1 + 1) / (f + k1 (1 - b + b |d| / avgdl)) of each count f, with BM25Okapi's statistics."""
    import numpy as np
    from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

    okapi = BM25Okapi(tokens)
    idf = np.repeat([okapi.idf[name] for name in names], np.diff(counts.indptr))
    length = np.asarray(okapi.doc_len)[counts.indices]
    f = counts.data
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
        self._vocabulary = vocabulary
        self._prefixes = terms[0, :-1]
        self._texts = memoryview(terms[1])
        self._postings_at = memoryview(terms[2])
        self._passage = postings["passage"]
        self._bm25 = postings["bm25"]
        self._tfidf = postings["tfidf"]
        self.passages = passages
        self._mismatch = mismatch

    def bm25(self, question: str) -> NDArray[np.float64]:
        """BM25 of every passage, (passages,); a word asked twice counts twice, an unknown one not at all."""
        return self._sum(self._bm25, [(place, 1.0) for place in self._find(words(question))])

    def tfidf(self, question: str) -> NDArray[np.float64]:
        """Cosine of the question and every passage, (passages,); unknown words are as if not asked."""
        weighted = []
        for (start, stop), occurrences in Counter(self._find(words(question))).items():
            idf = log((1 + self.passages) / (1 + stop - start)) + 1
            weighted.append(((start, stop), (1 + log(occurrences)) * idf))
        length = sqrt(sum(weight * weight for _, weight in weighted))
        return self._sum(self._tfidf, [(place, weight / length) for place, weight in weighted])

    def saturated(self, question: str) -> dict[str, tuple[NDArray[np.int32], NDArray[np.float64]]]:
        """Of each word of the question that is there the passages, and BM25's weights in them but for idf.

        These are f (k1 + 1) / (f + k1 (1 - b + b |d| / avgdl)), which do not depend on how many passages hold
        the word, so that books can be searched together by idfs of them all.
        """
        found = {}
        for word in dict.fromkeys(words(question)):
            for start, stop in self._find([word]):
                idf = self._idf(stop - start)
                weights = self._bm25[start:stop].astype("f8")
                # Where the idf is 0 the frequencies are lost: one occurrence in a passage of mean length.
                found[word] = self._passage[start:stop], weights / idf if idf else weights + 1
        return found

    def _idf(self, holding: int) -> float:
        """What ``rank_bm25.BM25Okapi`` weighs a word by that so many passages hold, its floor included."""
        idf = log(self.passages - holding + 0.5) - log(holding + 0.5)
        return self._floor if idf < 0 else idf

    @cached_property
    def _floor(self) -> float:
        import numpy as np

        holding = np.diff(np.asarray(self._postings_at)).astype("f8")
        return 0.25 * float((np.log(self.passages - holding + 0.5) - np.log(holding + 0.5)).mean())

    def _find(self, asked: Sequence[str]) -> list[tuple[int, int]]:
        """Where the postings of each word ``asked`` are, in order; words not in the book are left out."""
        import numpy as np

        encoded = [word.encode() for word in asked]
        prefixes = np.array([_prefix(word) for word in encoded], dtype="<u8")
        first = np.searchsorted(self._prefixes, prefixes, side="left").tolist()
        last = np.searchsorted(self._prefixes, prefixes, side="right").tolist()
        found = []
        for word, low, high in zip(encoded, first, last, strict=True):
            term = low if high - low < 2 else bisect_left(range(high), word, lo=low, key=self._term)
            if term < high and self._term(term) == word:
                start, stop = self._postings_at[term], self._postings_at[term + 1]
                if not start < stop <= len(self._passage):
                    raise self._mismatch(f"the postings of {word.decode()!r} are damaged")
                found.append((start, stop))
        return found

    def _term(self, term: int) -> bytes:
        return self._vocabulary[self._texts[term] : self._texts[term + 1]].tobytes()

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
