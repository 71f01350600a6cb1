"""The books of a merged index, or some of them, searched together with others or alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from encoders.bi_encoder import Encoder, load_encoder
from indexing.merged_index import MergedIndex, mismatch
from retrieval.hits import BookHit, Readable
from retrieval.several_books import Occurrences, Similarities

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAREST = 2000  # windows, of those that are nearest to the question, whose passages can be found
SAMPLE = 1000  # passages from which the mean and the deviation of all similarities are taken

Opener = Callable[[str, str], Readable | None]
"""Opens a book as far as it may be read, by its id and build; None where that is not the current one."""


class MergedPart:
    """The books ``limits`` names, of an index over more, each up to its limit: a ``Part``.

    Exact by words. By meaning passages are scored exactly (but for the vectors' 8-bit codes) where they are
    among those nearest to the question or likely by their words; others are taken to be as near as passages
    are on average. Statistics of words are over the whole books, but for those of which nothing may be read.
    """

    def __init__(self, index: MergedIndex, limits: Mapping[str, int | None], open: Opener) -> None:
        import numpy as np

        self._index = index
        self._open = open
        self.encoder_hash = index.manifest.encoder_hash
        ranges = []
        bounds = []
        for book, first, last in zip(index.manifest.books, index.firsts, index.firsts[1:], strict=False):
            if book.id in limits:
                limit = limits[book.id]
                end = last if limit is None else first + index.ends[first:last].searchsorted(limit, "right")
                if end > first:
                    ranges.append(np.arange(first, end))
                    bounds += [first, last]
        # Where each book begins and ends, as the passages of words are kept: or a search would copy these.
        self._bounds = np.array(bounds, dtype="i4")
        self.counted = int(self._bounds[1::2].sum() - self._bounds[::2].sum())
        # What may be read, ascending; a passage's number in this part is its place here.
        self._numbers = np.concatenate([np.zeros(0, dtype="i8"), *ranges])
        self.passages = len(self._numbers)

    @property
    def _is_whole(self) -> bool:
        return self.passages == int(self._index.firsts[-1])

    def encoder(self) -> Encoder:
        """See ``Part.encoder``."""
        encoder = load_encoder(self._index.manifest.encoder)
        if encoder.hash != self.encoder_hash:
            raise mismatch("its books were indexed with other weights of the encoder; index them again")
        return encoder

    def occurrences(self, asked: Sequence[str]) -> Mapping[str, Occurrences]:
        """See ``Part.occurrences``."""
        found = {}
        for word in asked:
            occurrence = self._index.occurrences(word)
            if occurrence is not None:
                passages, weights = occurrence
                holding = len(passages)
                if not self._is_whole:
                    found_until = passages.searchsorted(self._bounds)
                    holding = int(found_until[1::2].sum() - found_until[::2].sum())
                    places = self._places(passages)
                    passages, weights = places[places >= 0].astype("i4"), weights[places >= 0]
                found[word] = Occurrences(passages, weights.astype("f8"), holding)
        return found

    def similarities(self, vector: NDArray[np.float32], likely: NDArray[Any]) -> Similarities:
        """See ``Part.similarities``."""
        import numpy as np

        index = self._index
        sample = self._numbers[np.linspace(0, self.passages - 1, min(SAMPLE, self.passages)).astype("i8")]
        of_sample = index.similarities(vector, sample).astype("f8")
        mean, square = float(of_sample.mean()), float((of_sample * of_sample).mean())
        scores = np.full(self.passages, mean, dtype="f4")
        near, windows = index.nearest(vector, NEAREST, self._readable_windows())
        places = self._places(np.searchsorted(index.begins, windows, side="right") - 1)
        scores[places] = -np.inf
        np.maximum.at(scores, places, near)
        scores[likely] = index.similarities(vector, self._numbers[likely])
        return Similarities(scores, mean, square)

    def hit(self, number: int, score: float) -> BookHit | None:
        """See ``Part.hit``."""
        import numpy as np

        passage = int(self._numbers[number])
        book = int(np.searchsorted(self._index.firsts, passage, side="right")) - 1
        merged = self._index.manifest.books[book]
        readable = self._open(merged.id, merged.build)
        if readable is None:
            return None
        return BookHit(readable.index.passages[passage - int(self._index.firsts[book])], score, book=readable)

    def _places(self, passages: NDArray[Any]) -> NDArray[np.int64]:
        """The numbers in this part of passages of the index; -1 for those that may not be read."""
        import numpy as np

        if self._is_whole:
            return passages.astype("i8")
        places = np.minimum(np.searchsorted(self._numbers, passages), self.passages - 1)
        return np.where(self._numbers[places] == passages, places, -1)

    def _readable_windows(self) -> NDArray[np.bool_] | None:
        import numpy as np

        if self._is_whole:
            return None
        readable = np.zeros(int(self._index.firsts[-1]), dtype=bool)
        readable[self._numbers] = True
        return np.repeat(readable, np.diff(self._index.begins))
