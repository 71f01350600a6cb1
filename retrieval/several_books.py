"""Several books searched as one: words are weighed, and scores z-scored, over all their passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from encoders.bi_encoder import Encoder
from encoders.cross_encoder import load_crossencoder
from encoders.sizes import LARGE
from indexing.errors import IndexMismatch
from retrieval.hits import BookHit, Hit, Readable, Retriever
from retrieval.hybrid import dense_weight
from retrieval.rerank import RerankRetriever
from text.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIKELY = 1000  # passages of a part, best by their words, whose meaning is looked at in any case


class Occurrences(NamedTuple):
    """A word in a part: the passages that may be read, BM25's weights there but for idf, and of how many."""

    passages: NDArray[np.int32]
    weights: NDArray[np.float64]
    holding: int


@dataclass(frozen=True, slots=True)
class Similarities:
    """A question beside a part's passages, (passages,), and their mean and mean square over all of them."""

    scores: NDArray[np.float32]
    mean: float
    square: float


class Part(Protocol):
    """Passages of one book or more, of which ``passages`` may be read; statistics are over ``counted``."""

    passages: int
    counted: int
    encoder_hash: str

    def encoder(self) -> Encoder:
        """What the vectors were made with; raises IndexMismatch."""
        ...

    def occurrences(self, asked: Sequence[str]) -> Mapping[str, Occurrences]:
        """Where the words that are there occur."""
        ...

    def similarities(self, vector: NDArray[np.float32], likely: NDArray[Any]) -> Similarities:
        """How near passages are to a question's vector (1, width), those numbered ``likely`` in any case."""
        ...

    def hit(self, number: int, score: float) -> BookHit | None:
        """The passage of that number; None where its book has been replaced since."""
        ...


class BookPart:
    """One book as far as it may be read."""

    def __init__(self, book: Readable) -> None:
        self._book = book
        self._index = book.index
        self.passages = book.index.passages.until(book.before)
        self.counted = len(book.index.passages)
        self.encoder_hash = book.index.manifest.encoder_hash

    def encoder(self) -> Encoder:
        """See ``Part.encoder``."""
        return self._index.encoder()

    def occurrences(self, asked: Sequence[str]) -> Mapping[str, Occurrences]:
        """See ``Part.occurrences``."""
        found = {}
        for word, (numbers, weights) in self._index.sparse.saturated(" ".join(asked)).items():
            read = int(numbers.searchsorted(self.passages))
            found[word] = Occurrences(numbers[:read], weights[:read], len(numbers))
        return found

    def similarities(self, vector: NDArray[np.float32], likely: NDArray[Any]) -> Similarities:
        """See ``Part.similarities``."""
        import numpy as np

        scores = self._index.dense.scores(vector)[0, : self.passages]
        return Similarities(scores, float(scores.mean()), float(np.square(scores, dtype="f8").mean()))

    def hit(self, number: int, score: float) -> BookHit:
        """See ``Part.hit``."""
        return BookHit(self._index.passages[number], score, book=self._book)


class BooksRetriever(Retriever):
    """(1 - w) z(BM25) + w z(dense) over all passages of all parts, w being ``weight``.

    BM25 with the idf log(1 + (N - n + 1/2) / (n + 1/2)), which is never negative, N and n counted over all
    parts, and passages' lengths beside the mean of their own books. Ties go to the earlier part. ``before``
    is each book's own and not given here.
    """

    def __init__(self, parts: Sequence[Part], weight: float | None = None) -> None:
        """``weight`` is by default ``dense_weight`` of their encoder; raises IndexMismatch for several."""
        self._parts = [part for part in parts if part.passages]
        if weight != 0 and len({part.encoder_hash for part in self._parts}) > 1:
            raise IndexMismatch(
                "these books were indexed with different encoders, and cannot be searched together by "
                "meaning; index them again, or name the retriever bm25"
            )
        if weight is None:
            weight = dense_weight(self._parts[0].encoder().name) if self._parts else 0.0
        self._weight = weight

    def first(self, questions: Sequence[str], k: int, before: int | None) -> list[list[Hit]]:
        """See ``Retriever.first``."""
        assert before is None, "each book has its own limit"
        return [self._search(question, k) for question in questions]

    def _search(self, question: str, k: int) -> list[Hit]:

        if not self._parts:
            return []
        by_words = self._bm25(question)
        scores = (1 - self._weight) * _z_scored(
            by_words, [(one.mean(), (one * one).mean()) for one in by_words]
        )
        if self._weight:
            vector = self._parts[0].encoder().encode([question])
            near = [
                part.similarities(vector, _most(one, LIKELY))
                for part, one in zip(self._parts, by_words, strict=True)
            ]
            moments = [(one.mean, one.square) for one in near]
            scores += self._weight * _z_scored([one.scores for one in near], moments)
        return self._best(scores, k)

    def _bm25(self, question: str) -> list[NDArray[np.float64]]:
        """BM25 of the passages of each part."""
        import numpy as np

        asked = Counter(words(question))
        found = [part.occurrences([*asked]) for part in self._parts]
        counted = sum(part.counted for part in self._parts)
        scores = [np.zeros(part.passages) for part in self._parts]
        for word, times in asked.items():
            holding = sum(of_part[word].holding for of_part in found if word in of_part)
            idf = log(1 + (counted - holding + 0.5) / (holding + 0.5))
            for of_part, into in zip(found, scores, strict=True):
                if word in of_part:
                    into[of_part[word].passages] += times * idf * of_part[word].weights
        return scores

    def _best(self, scores: NDArray[np.float64], k: int) -> list[Hit]:
        import numpy as np

        begins = np.cumsum([0, *(part.passages for part in self._parts)])
        hits: list[Hit] = []
        least = np.partition(scores, -k)[-k] if k < len(scores) else -np.inf
        candidates = np.flatnonzero(scores >= least)
        # Stable: the earlier passage must win a tie.
        for number in candidates[np.argsort(-scores[candidates], kind="stable")[:k]].tolist():
            part = int(np.searchsorted(begins, number, side="right")) - 1
            hit = self._parts[part].hit(number - int(begins[part]), float(scores[number]))
            if hit is not None:
                hits.append(hit)
        return hits


def _most(scores: NDArray[np.float64], count: int) -> NDArray[Any]:
    """The numbers of the ``count`` that score most, in any order."""
    import numpy as np

    if count >= len(scores):
        return np.arange(len(scores))
    found: NDArray[Any] = np.argpartition(-scores, count)[:count]
    return found


def _z_scored(parts: Sequence[NDArray[Any]], moments: Sequence[tuple[float, float]]) -> NDArray[np.float64]:
    """The scores of all parts in a row, mean 0 and deviation 1 over them all; 0 where all are the same.

    ``moments`` are the mean and the mean square of each part.
    """
    import numpy as np

    shares = np.array([len(part) for part in parts]) / sum(len(part) for part in parts)
    mean, square = (float(shares @ one) for one in np.array(moments, dtype="f8").T)
    scores = np.concatenate(parts).astype("f8") - mean
    deviation = np.sqrt(max(0.0, square - mean * mean))
    return scores / deviation if deviation > 1e-9 else np.zeros(len(scores))


class BooksReranker(RerankRetriever):
    """What ``BooksRetriever`` finds, in the order of a cross-encoder's relevance."""

    def __init__(self, first: BooksRetriever, size: str | None = None) -> None:
        """``size`` is that of the shipped cross-encoder."""
        self.start(first, load_crossencoder(size))

    def text_of(self, hit: Hit) -> str:
        """See ``RerankRetriever.text_of``."""
        assert isinstance(hit, BookHit)
        return hit.book.index.text(hit.passage.start, hit.passage.end)


def bm25(parts: Sequence[Part]) -> Retriever:
    """By words alone."""
    return BooksRetriever(parts, 0.0)


def dense(parts: Sequence[Part]) -> Retriever:
    """By meaning alone."""
    return BooksRetriever(parts, 1.0)


def hybrid(parts: Sequence[Part]) -> Retriever:
    """By both."""
    return BooksRetriever(parts)


def rerank(parts: Sequence[Part]) -> Retriever:
    """By both, and the best of them read beside the question."""
    return BooksReranker(BooksRetriever(parts))


def rerank_large(parts: Sequence[Part]) -> Retriever:
    """The same with the large cross-encoder."""
    return BooksReranker(BooksRetriever(parts), LARGE)
