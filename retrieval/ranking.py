"""Scores of all passages in, the best of them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from indexing.book import Passage
from retrieval.hits import Hit

if TYPE_CHECKING:
    from numpy.typing import NDArray


def check_count(k: int) -> None:
    """Raises ValueError for less than one passage."""
    if k < 1:
        raise ValueError(f"{k} passages asked for; wanted 1 or more")


def best_hits(passages: Sequence[Passage], scores: NDArray[Any], k: int) -> list[Hit]:
    """The ``k`` passages that score most, or all if there are fewer; ties go to the earlier passage.

    ``scores`` has shape (n,) for the first n passages; the others are left out.
    """
    import numpy as np

    check_count(k)
    if k < len(scores):
        least = np.partition(scores, -k)[-k]
        candidates = np.flatnonzero(scores >= least)
    else:
        candidates = np.arange(len(scores))
    # Stable: the candidates are in story order, and the earlier one must win a tie.
    order = candidates[np.argsort(-scores[candidates], kind="stable")[:k]]
    return [
        Hit(passages[number], score)
        for number, score in zip(order.tolist(), scores[order].tolist(), strict=True)
    ]
