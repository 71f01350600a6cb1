"""Word vectors from a file in GloVe's format, and the cosine of bags of them."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING
from weakref import WeakKeyDictionary

from encoders.errors import ModelError
from text.spans import Spans, TokenText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_OPENERS: dict[str, Callable[..., IO[str]]] = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
# Vectors are whole multiples of 1 / _UNIT, because sums of integers do not depend on their order.
_UNIT = 1 << 20
_DOT_UNIT = 1 << 30


class WordVectors:
    """Pre-trained vectors: ``words`` numbers the rows of ``units``, (words, width), in ``1 / 2**20``."""

    def __init__(self, words: dict[str, int], vectors: NDArray[np.float32]) -> None:
        import numpy as np

        self.words = words
        self.units = np.rint(vectors.astype(np.float64) * _UNIT).astype(np.int64)

    @classmethod
    def load(cls, path: Path) -> WordVectors:
        """The vectors of a file with a word and its numbers per line, as GloVe is published.

        It may be compressed (.xz, .gz, .bz2), and begin with a line of two counts, as word2vec's
        do. Raises ``ModelError`` for a file that is missing or holds anything else.
        """
        import numpy as np

        words: dict[str, int] = {}
        rows: list[NDArray[np.float32]] = []
        opener = _OPENERS.get(path.suffix, open)
        try:
            with opener(path, "rt", encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    # From the right: some of the published words have spaces in them.
                    word, *numbers = line.rstrip("\n").rsplit(" ", len(rows[0]) if rows else -1)
                    if number == 1 and len(numbers) == 1:
                        continue  # word2vec's counts
                    row = np.array(numbers, np.float32)
                    if not len(row) or (rows and len(row) != len(rows[0])) or not np.isfinite(row).all():
                        raise ValueError(f"line {number} is {line[:40]!r}")
                    if word not in words:
                        words[word] = len(rows)
                        rows.append(row)
        except (OSError, EOFError, lzma.LZMAError, ValueError) as error:
            raise ModelError(
                f"{path} holds no word vectors ({error}); wanted a file in GloVe's format, "
                "a word and its numbers per line"
            ) from error
        if not rows:
            raise ModelError(f"{path} is empty; wanted word vectors in GloVe's format")
        return cls(words, np.stack(rows))

    def rows(self, keys: Sequence[str]) -> NDArray[np.int64]:
        """The number of each key's vector, -1 for words without one; (keys,)."""
        import numpy as np

        return np.array([self.words.get(key, -1) for key in keys], np.int64)


class Cosine:
    """The cosine of the sum of a span's word vectors and that of the query's; see ``Similarity``.

    Words without a vector count for nothing. Norms are kept for as long as their spans are.
    """

    def __init__(self, vectors: WordVectors) -> None:
        self._vectors = vectors
        self._norms: WeakKeyDictionary[Spans, NDArray[np.float64]] = WeakKeyDictionary()

    def __call__(self, text: TokenText, spans: Spans, query: Sequence[str]) -> NDArray[np.float64]:
        """See ``Similarity``; in [-1, 1]."""
        import numpy as np

        known = self._vectors.rows(query)
        wanted = self._vectors.units[known[known >= 0]].sum(axis=0).astype(np.float64)  # (width,)
        size = float(np.sqrt(wanted @ wanted))
        if size == 0:
            return np.zeros(len(spans))
        rows = self._vectors.rows(list(text.vocabulary))
        dots = (self._vectors.units[rows].astype(np.float64) / _UNIT) @ (wanted / size)  # (vocabulary,)
        units = np.where(rows >= 0, np.rint(dots * _DOT_UNIT), 0.0).astype(np.int64)
        before = np.concatenate([[0], np.cumsum(units[text.ids])])
        found = (before[spans.end] - before[spans.begin]) / _DOT_UNIT
        norms = self._span_norms(text, spans, rows)
        cosines: NDArray[np.float64] = np.divide(found, norms, out=np.zeros(len(spans)), where=norms > 0)
        return cosines

    def _span_norms(self, text: TokenText, spans: Spans, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The length of the sum of each span's vectors, (spans,)."""
        import numpy as np

        kept = self._norms.get(spans)
        if kept is not None:
            return kept
        squares = np.zeros(len(spans))
        for column in self._vectors.units.T:  # one at a time: all of them would not fit for a long book
            units = np.where(rows >= 0, column[rows], 0)
            before = np.concatenate([[0], np.cumsum(units[text.ids])])
            squares += ((before[spans.end] - before[spans.begin]) / _UNIT) ** 2
        norms: NDArray[np.float64] = np.sqrt(squares)
        self._norms[spans] = norms
        return norms
