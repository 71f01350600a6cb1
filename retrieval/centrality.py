"""How central each sentence of a text is: LexRank over what sentences have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_array  # type: ignore[import-untyped]

DAMPING = 0.15
_ROUNDS = 100
_CLOSE = 1e-8


def tfidf(bags: Sequence[Sequence[str]]) -> csr_array:
    """Unit rows (sentences, words) of tf x log(1 + n / df), counted over these sentences alone."""
    import numpy as np
    from scipy.sparse import csr_array

    counts = [Counter(bag) for bag in bags]
    holding = Counter(word for bag in counts for word in bag)
    number = {word: i for i, word in enumerate(sorted(holding))}
    rows, columns, values = [], [], []
    for row, bag in enumerate(counts):
        weights = {word: count * np.log1p(len(bags) / holding[word]) for word, count in sorted(bag.items())}
        norm = sum(weight**2 for weight in weights.values()) ** 0.5
        rows += [row] * len(weights)
        columns += [number[word] for word in weights]
        values += [weight / norm for weight in weights.values()]
    return csr_array((values, (rows, columns)), shape=(len(bags), len(number)))


def lexrank(vectors: csr_array) -> NDArray[np.float64]:
    """The share of time that a walk from sentence to like sentence spends at each, (sentences,); sums to 1.

    p = d / n + (1 - d) B^T p, where B are the cosines of the unit ``vectors`` (sentences, words) with rows
    that sum to 1 and d is ``DAMPING``: continuous LexRank, Erkan and Radev 2004, section 3.3. The cosines
    are never written out: B^T p takes time in proportion to the words.
    """
    import numpy as np

    n = vectors.shape[0]
    if n == 0:
        return np.zeros(0)
    degree = vectors @ (vectors.T @ np.ones(n))
    alone = degree <= 0  # a sentence without a word leads everywhere
    rank = np.full(n, 1 / n)
    for _ in range(_ROUNDS):
        onward = vectors @ (vectors.T @ np.where(alone, 0.0, rank / np.where(alone, 1.0, degree)))
        new = DAMPING / n + (1 - DAMPING) * (onward + rank[alone].sum() / n)
        if np.abs(new - rank).sum() < _CLOSE:
            return np.asarray(new)
        rank = new
    return np.asarray(rank)
