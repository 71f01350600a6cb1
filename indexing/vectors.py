"""Vectors of overlapping windows inside each passage, searched exhaustively with FAISS."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from indexing.book import Passage
from indexing.errors import IndexMismatch
from indexing.manifest import WINDOW_STEP, WINDOW_WORDS
from indexing.passages import split

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# FAISS multiplies 20 questions or more through BLAS, whose sums differ in the last bits from those of a
# question alone; below that the scores of a question do not depend on what else is asked.
_BLOCK = 16


def faiss_module() -> Any:
    """FAISS, imported late; its SWIG types draw DeprecationWarnings from Python 3.12 on."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Ss]wig.*", category=DeprecationWarning)
        import faiss
    return faiss


def windows(text: str, passages: Sequence[Passage]) -> tuple[list[str], NDArray[np.int32]]:
    """The windows of all passages, and where each passage's begin: int32 (passages + 1,).

    A window is 80 words, each begins 60 words after the one before, and the last one of a passage
    may be shorter: an encoder that reads 256 tokens would not see the end of a 200-word passage.
    """
    import numpy as np

    texts: list[str] = []
    begins = np.zeros(len(passages) + 1, dtype="<i4")
    for number, passage in enumerate(passages):
        inside = text[passage.start : passage.end]
        pieces = split(inside, WINDOW_WORDS, WINDOW_WORDS - WINDOW_STEP)
        texts += [inside[piece.start : piece.end] for piece in pieces]
        begins[number + 1] = len(texts)
    return texts, begins


def flat_index(vectors: NDArray[np.float32]) -> Any:
    """A FAISS index of the vectors (windows, width) by inner product.

    Flat, as float32: scoring all windows of a book (which z-scores need) takes a fifth of the time
    that 16-bit codes take, is exact, and 400,000 words come to 9 MB.
    """
    index = faiss_module().IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    return index


class DenseIndex:
    """The vectors of one book's windows, read from mapped memory.

    ``file`` is the mapped FAISS file, uint8; ``begins`` is what ``windows`` returned.
    """

    def __init__(
        self,
        file: NDArray[np.uint8],
        begins: NDArray[np.int32],
        width: int,
        mismatch: Callable[[str], IndexMismatch],
    ) -> None:
        faiss = faiss_module()
        self._file = file  # FAISS points into it, without a copy
        self._begins = begins[:-1]
        self._width = width
        self._mismatch = mismatch
        self._windows = int(begins[-1])
        try:
            self._reader = faiss.ZeroCopyIOReader(faiss.swig_ptr(file), file.size)
            self._index = faiss.read_index(self._reader)
        except RuntimeError as error:
            raise mismatch(f"its vectors cannot be read ({error})") from error
        if (self._index.ntotal, self._index.d) != (self._windows, width):
            raise mismatch(f"it has {self._index.ntotal} vectors of {self._index.d}")

    def vectors(self) -> NDArray[np.float32]:
        """The vectors of all windows, (windows, width)."""
        vectors: NDArray[np.float32] = self._index.reconstruct_n(0, self._windows)
        return vectors

    def scores(self, questions: NDArray[np.float32]) -> NDArray[np.float32]:
        """For questions (n, width), the best window of every passage by inner product: (n, passages)."""
        import numpy as np

        best = np.empty((len(questions), len(self._begins)), dtype=np.float32)
        everything = float(np.finfo(np.float32).min)
        for first in range(0, len(questions), _BLOCK):
            block = np.ascontiguousarray(questions[first : first + _BLOCK], dtype=np.float32)
            # A range search without a bound gives all windows in order, with no heap to keep.
            _, products, numbers = self._index.range_search(block, everything)
            if len(numbers) != len(block) * self._windows:
                raise self._mismatch("some of its vectors are not numbers")
            of_windows = products.reshape(len(block), self._windows)
            try:
                best[first : first + _BLOCK] = np.maximum.reduceat(of_windows, self._begins, axis=1)
            except IndexError as error:
                raise self._mismatch(f"its windows are damaged ({error})") from error
        return best
