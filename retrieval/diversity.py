"""Choosing a few that are relevant and unlike each other: maximal marginal relevance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRADE_OFF = 0.7


def maximal_marginal_relevance(
    relevance: Sequence[float], similarity: NDArray[np.float64], k: int, trade_off: float = TRADE_OFF
) -> list[int]:
    """The ``k`` chosen one after another: arg max_i l r_i - (1 - l) max_j s_ij, with j those chosen before.

    ``relevance`` r is scaled to 0 to 1, ``similarity`` s of shape (n, n) should be; l is ``trade_off``. The
    first of equals wins. Carbonell and Goldstein 1998, section 2.
    """
    import numpy as np

    if len(relevance) == 0:
        return []
    worth = np.asarray(relevance, dtype=np.float64)
    spread = worth.max() - worth.min()
    worth = (worth - worth.min()) / spread if spread > 0 else np.ones(len(worth))
    chosen: list[int] = []
    redundancy = np.zeros(len(worth))
    for _ in range(min(k, len(worth))):
        marginal = trade_off * worth - (1 - trade_off) * redundancy
        marginal[chosen] = -np.inf
        best = int(np.argmax(marginal))
        chosen.append(best)
        redundancy = np.maximum(redundancy, similarity[best])
    return chosen


def word_similarity(bags: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """The cosine of every two sets of words, (n, n); 0 where either is empty."""
    import numpy as np

    sets = [frozenset(bag) for bag in bags]
    similar = np.zeros((len(sets), len(sets)))
    for i, one in enumerate(sets):
        for j, other in enumerate(sets[: i + 1]):
            both = len(one & other)
            if both:
                similar[i, j] = similar[j, i] = both / (len(one) * len(other)) ** 0.5
    return similar
