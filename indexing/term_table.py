"""The words of an index, sorted, and where each one's postings are: found by bisection in mapped memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from indexing.errors import IndexMismatch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PREFIX = 8  # bytes of a term that fit the uint64 by which it is found


def term_arrays(terms: Sequence[bytes], begins: Sequence[int] | NDArray[Any]) -> dict[str, NDArray[Any]]:
    """The arrays ``vocabulary`` and ``terms`` of sorted terms whose postings begin at ``begins``.

    - ``vocabulary``: uint8, the words in UTF-8, sorted by their bytes, end to end;
    - ``terms``: uint64 (3, terms + 1), for each word its first eight bytes as a number, where its
      text begins in ``vocabulary`` and where its postings begin (one column more says where the last ends).
    """
    import numpy as np

    table = np.zeros((3, len(terms) + 1), dtype="<u8")
    table[0, :-1] = [_prefix(term) for term in terms]
    table[1, 1:] = np.cumsum([len(term) for term in terms])
    table[2, :] = begins
    return {"vocabulary": np.frombuffer(b"".join(terms), dtype="u1"), "terms": table}


def _prefix(word: bytes) -> int:
    return int.from_bytes(word[:_PREFIX].ljust(_PREFIX, b"\0"), "big")


class TermTable:
    """What ``term_arrays`` made; ``postings`` is how many there are.

    ``mismatch`` makes the error for arrays that contradict themselves.
    """

    def __init__(
        self,
        vocabulary: NDArray[np.uint8],
        terms: NDArray[np.uint64],
        postings: int,
        mismatch: Callable[[str], IndexMismatch],
    ) -> None:
        self._vocabulary = vocabulary
        self._prefixes = terms[0, :-1]
        self._texts = memoryview(terms[1])
        self._postings_at = memoryview(terms[2])
        self._postings = postings
        self._mismatch = mismatch

    @property
    def begins(self) -> NDArray[np.uint64]:
        """Where the postings of each term begin, and where the last one's end: (terms + 1,)."""
        import numpy as np

        return np.asarray(self._postings_at)

    def __iter__(self) -> Iterator[bytes]:
        content = self._vocabulary.tobytes()
        return (content[start:end] for start, end in pairwise(self._texts))

    def find(self, asked: Sequence[str]) -> list[tuple[int, int]]:
        """Where the postings of each word ``asked`` are, in order; words that are not there are left out."""
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
                if not start < stop <= self._postings:
                    raise self._mismatch(f"the postings of {word.decode()!r} are damaged")
                found.append((start, stop))
        return found

    def _term(self, term: int) -> bytes:
        return self._vocabulary[self._texts[term] : self._texts[term + 1]].tobytes()
