"""How like a query each span of a text is: BLEU-1, ROUGE-L, and the cosine of bags of word vectors.

Every similarity is exact and takes all spans together; equal spans have equal similarities to the
last bit, so that a tie is a tie.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from text.spans import Spans, TokenText

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BETA = 1.2  # as pycocoevalcap weighs recall against precision
_LIMB = 64  # bits


class Similarity(Protocol):
    """Compares spans with a query."""

    def __call__(self, text: TokenText, spans: Spans, query: Sequence[str]) -> NDArray[np.float64]:
        """One number per span, larger is more alike; 0 where either has no token. ``query``: token keys."""
        ...


def bleu1(text: TokenText, spans: Spans, query: Sequence[str]) -> NDArray[np.float64]:
    """BLEU-1 of each span against the query: clipped precision times the brevity penalty.

    Papineni et al. 2002, section 2.3, for one sentence; (spans,).
    """
    import numpy as np

    numbers = text.numbers(query)[text.ids]
    matched = np.zeros(len(spans), np.int64)
    for key, most in Counter(query).items():
        hits = numbers == query.index(key)
        if hits.any():
            before = np.concatenate([[0], np.cumsum(hits)])
            matched += np.minimum(before[spans.end] - before[spans.begin], most)
    lengths = np.maximum(spans.lengths, 1)
    brevity = np.exp(np.minimum(0.0, 1 - len(query) / lengths))
    return np.asarray(brevity * matched / lengths)


def rouge_l(text: TokenText, spans: Spans, query: Sequence[str]) -> NDArray[np.float64]:
    """ROUGE-L of each span against the query, ``BETA`` 1.2; Lin 2004, section 3. (spans,)."""
    import numpy as np

    common = longest_common(text, spans, query)
    precision = common / np.maximum(spans.lengths, 1)
    recall = common / max(len(query), 1)
    bottom = recall + BETA**2 * precision
    return np.divide((1 + BETA**2) * precision * recall, bottom, out=np.zeros(len(spans)), where=bottom > 0)


def longest_common(text: TokenText, spans: Spans, query: Sequence[str]) -> NDArray[np.int64]:
    """The length of the longest common subsequence of the query and each span; (spans,).

    Bit-parallel over the query's tokens (Hyyrö 2004) and over the spans: step j reads token j of
    every span that has one.
    """
    import numpy as np

    limbs = -(-len(query) // _LIMB)
    # Bit i of masks[m] says that query[i] is the token whose first position is m; the last row is no token.
    masks = np.zeros((len(query) + 1, limbs), np.uint64)
    first = {key: query.index(key) for key in set(query)}
    for i, key in enumerate(query):
        masks[first[key], i // _LIMB] |= np.uint64(1 << i % _LIMB)
    numbers = text.numbers(query)[text.ids]
    order = spans.longest_first
    begin, lengths = spans.begin[order], spans.lengths[order]
    v = np.full((limbs, len(spans)), ~np.uint64(0))
    for j in range(int(lengths[0]) if len(lengths) else 0):
        active = int(np.searchsorted(-lengths, -j, side="left"))  # those longer than j
        which = numbers[begin[:active] + j]
        carry = np.zeros(active, np.uint64)
        for limb in range(limbs):
            row = v[limb, :active]
            u = row & masks[which, limb]
            partial = row + u
            total = partial + carry
            carry = ((partial < row) | (total < partial)).astype(np.uint64)
            row[:] = total | (row - u)  # V' = (V + (V & M)) | (V & ~M)
    common = np.zeros(len(spans), np.int64)
    for limb in range(limbs):
        used = np.uint64((1 << min(_LIMB, len(query) - _LIMB * limb)) - 1)
        common[order] += np.bitwise_count(~v[limb] & used)
    return common
