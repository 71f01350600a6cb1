"""How right answers are by the length of what was read (Hermann et al. 2015, appendix B, figures 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PARTS = 10


@dataclass(frozen=True, slots=True)
class LengthPart:
    """The questions with contexts of ``shortest`` to ``longest`` words: how many, and the share right.

    ``right_up_to`` is the share right of these and of all with shorter contexts.
    """

    shortest: int
    longest: int
    questions: int
    right: float
    right_up_to: float


def by_length(words: Sequence[int], right: Sequence[bool]) -> list[LengthPart]:
    """The questions in ``PARTS`` parts of equally many, from the shortest context to the longest.

    ``words`` are the lengths of the contexts. Questions whose contexts are equally long each bring their
    common share of right answers, so that the order of the questions changes nothing; of fewer questions
    than parts each is one.
    """
    import numpy as np

    if not words:
        return []
    lengths = np.asarray(words)
    shares = _mean_of_equals(lengths, np.asarray(right, np.float64))
    order = np.argsort(lengths, kind="stable")
    up_to = np.cumsum(shares[order]) / np.arange(1, len(order) + 1)
    found, done = [], 0
    for part in np.array_split(order, min(PARTS, len(order))):
        done += len(part)
        found.append(
            LengthPart(
                int(lengths[part[0]]),
                int(lengths[part[-1]]),
                len(part),
                float(shares[part].mean()),
                float(up_to[done - 1]),
            )
        )
    return found


def _mean_of_equals(lengths: NDArray[np.int64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    _, level = np.unique(lengths, return_inverse=True)
    means: NDArray[np.float64] = np.bincount(level, weights=right) / np.bincount(level)
    return means[level]
