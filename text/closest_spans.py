"""The oracle's spans: of all spans of a text, those with the best ROUGE-L with an answer, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from text.similarity import BETA, rouge_l
from text.spans import Spans, TokenText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Best:
    """The spans of tokens ``begin[i]`` to ``end[i]``, half-open, the earliest first, and their ROUGE-L."""

    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    rouge_l: float


def best_spans(text: TokenText, answer: Sequence[str], passages: Sequence[int] | None = None) -> Best:
    """The spans that share the best ROUGE-L with the token keys ``answer``; none where nothing is shared.

    No span crosses from a passage into another; ``passages`` says which to look in, all by default. A
    span of c tokens in common with n of the answer and L of its own has F = (1 + b^2) c / (L + b^2 n),
    which bounds how long one as good as the best so far can be: all others need not be looked at.
    """
    import numpy as np

    n = len(answer)
    longest = int(np.diff(text.first).max(initial=0))
    nothing = np.zeros(0, np.int64)
    if not n or not longest:
        return Best(nothing, nothing, 0.0)
    begin, end, scores = _scored(text, answer, passages, range(1, min(2 * n, longest) + 1))
    best = float(scores.max(initial=0.0))
    if best == 0.0:
        return Best(nothing, nothing, 0.0)
    bound = min(longest, int((1 + BETA**2) * n / best - BETA**2 * n))
    if bound > 2 * n:
        more = _scored(text, answer, passages, range(2 * n + 1, bound + 1))
        begin, end, scores = (np.concatenate(pair) for pair in zip((begin, end, scores), more, strict=True))
        best = float(scores.max())
    found = np.flatnonzero(scores >= best * (1 - 1e-12))
    found = found[np.lexsort((end[found], begin[found]))]
    return Best(begin[found], end[found], best)


def _scored(
    text: TokenText, answer: Sequence[str], passages: Sequence[int] | None, lengths: range
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
    return begin, end, rouge_l(text, Spans(begin.astype(np.int32), end.astype(np.int32)), answer)
