"""What a written answer may say next: no word broken off or put together of pieces, nothing said twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer


@dataclass(frozen=True, slots=True, eq=False)
class Continuations:
    """The tokens that go on with the word of the one before: their ids, and as a mask (vocabulary,).

    The mask is an array or a tensor, as the decoder's probabilities are.
    """

    ids: frozenset[int]
    mask: Any

    @classmethod
    def of(cls, tokenizer: Tokenizer, as_mask: Callable[[NDArray[np.bool_]], Any]) -> Continuations:
        """Those of a WordPiece tokenizer; ``as_mask`` makes of an array what the decoder's runtime has."""
        vocabulary = tokenizer.get_vocab()
        ids = frozenset(id for piece, id in vocabulary.items() if piece.startswith("##"))
        mask = np.zeros(len(vocabulary), dtype=np.bool_)
        mask[list(ids)] = True
        return cls(ids, as_mask(mask))


class Wording:
    """Forbids a decoder's next tokens, given what it has written of an answer.

    No word follows itself, and no two tokens in a row come twice (repeated n-grams: Paulus et al. 2018,
    section 2.5, of three there). A word of several pieces is one of those read, whole: a small decoder that
    puts pieces together writes names that nobody has. Words of one piece are free.
    """

    def __init__(self, read: Iterable[int], continuations: Continuations) -> None:
        """``read`` are the tokens of the question and the passages, in order."""
        self._continuations = continuations
        # By the pieces of a word so far those that may follow, None among them where it may end.
        self._following: dict[tuple[int, ...], set[int | None]] = defaultdict(set)
        word: list[int] = []
        for token in read:
            if token not in continuations.ids:
                self._learn(word)
                word = []
            word.append(token)
        self._learn(word)

    def _learn(self, word: Sequence[int]) -> None:
        for length in range(1, len(word)):
            self._following[tuple(word[:length])].add(word[length])
        if len(word) > 1:
            self._following[tuple(word)].add(None)

    def forbid(self, written: Sequence[int], log_p: Any) -> None:
        """Set what may not follow ``written`` to minus infinity in ``log_p`` (vocabulary,).

        That is an array or a tensor, as the mask of the continuations is.
        """
        following = self._following.get(self._last_word(written), set())
        pieces = [token for token in following if token is not None]
        kept = log_p[pieces]  # a copy
        if written and written[-1] in self._continuations.ids and None not in following:
            log_p[:] = -np.inf
        else:
            log_p[self._continuations.mask] = -np.inf
            if written:
                last = written[-1]
                said = [b for a, b in pairwise(written) if a == last]
                log_p[[last, *said]] = -np.inf
        log_p[pieces] = kept  # a word that is read may have the same piece twice

    def _last_word(self, written: Sequence[int]) -> tuple[int, ...]:
        starts = (i for i in reversed(range(len(written))) if written[i] not in self._continuations.ids)
        return tuple(written[next(starts, 0) :])
