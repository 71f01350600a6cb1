"""Of all spans of a text those that come closest to an answer, by ROUGE-L and exactly."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from text.similarity import BETA, rouge_l
from text.spans import Spans, TokenText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Best:
    """The spans of tokens ``begin[i]`` to ``end[i]``, half-open, the earliest first, and their ROUGE-L.

    All three have shape (spans,).
    """

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    scores: NDArray[np.float64]

    @property
    def rouge_l(self) -> float:
        """The best score; 0 where there is no span."""
        return float(self.scores.max(initial=0.0))


def best_spans(
    text: TokenText,
    answer: Sequence[str],
    passages: Sequence[int] | None = None,
    *,
    near: float = 1.0,
    least: float = 0.0,
    longest: int | None = None,
    holding: Collection[str] | None = None,
) -> Best:
    """The spans whose ROUGE-L with the token keys ``answer`` is ``near`` times the best one or more.

    None where nothing is shared. The best one counts as ``least`` where it is lower. No span crosses from a
    passage into another; ``passages`` says which to look in, all by default. Spans are at most
    ``longest`` tokens long and hold one of the keys ``holding``; any length and any key by default.

    A span of c tokens in common with n of the answer and L of its own has F = (1 + b^2) c / (L + b^2 n),
    which bounds how long one as good as the best so far can be: all others need not be looked at.
    """
    import numpy as np

    n = len(answer)
    most = int(np.diff(text.first).max(initial=0))
    most = most if longest is None else min(most, longest)
    nothing = np.zeros(0, np.int64)
    if not n or not most:
        return Best(nothing, nothing, np.zeros(0))
    first = min(2 * n, most)
    begin, end, scores = _scored(text, answer, passages, range(1, first + 1), holding)
    best = max(least, float(scores.max(initial=0.0)))
    if best == 0.0:
        return Best(nothing, nothing, np.zeros(0))
    bound = min(most, int((1 + BETA**2) * n / (near * best) - BETA**2 * n))
    if bound > first:
        more = _scored(text, answer, passages, range(first + 1, bound + 1), holding)
        begin, end, scores = (np.concatenate(pair) for pair in zip((begin, end, scores), more, strict=True))
        best = max(least, float(scores.max(initial=0.0)))
    found = np.flatnonzero(scores >= near * best * (1 - 1e-12))
    found = found[np.lexsort((end[found], begin[found]))]
    return Best(begin[found], end[found], scores[found])


def _scored(
    text: TokenText,
    answer: Sequence[str],
    passages: Sequence[int] | None,
    lengths: range,
    holding: Collection[str] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Every span of these lengths that begins and ends with a token of the answer, and its ROUGE-L.

    Any other span has a shorter one in it that is better.
    """
    import numpy as np

    shared = text.numbers(answer)[text.ids] >= 0
    passage = np.repeat(np.arange(len(text.first) - 1), np.diff(text.first))
    starts = shared if passages is None else shared & np.isin(passage, passages)
    begin = np.repeat(np.flatnonzero(starts), len(lengths))
    end = begin + np.tile(np.array(lengths, np.int64), int(starts.sum()))
    kept = end <= len(text.ids)
    begin, end = begin[kept], end[kept]
    kept = shared[end - 1] & (passage[end - 1] == passage[begin])
    begin, end = begin[kept], end[kept]
    if holding is not None:
        held = np.isin(text.ids, [text.vocabulary[key] for key in holding if key in text.vocabulary])
        before = np.concatenate([[0], np.cumsum(held)])
        kept = before[end] > before[begin]
        begin, end = begin[kept], end[kept]
    return begin, end, rouge_l(text, Spans(begin.astype(np.int32), end.astype(np.int32)), answer)
