"""How much of each passage fits where not all of them do."""

from __future__ import annotations

from collections.abc import Sequence


def fair_shares(wanted: Sequence[int], total: int) -> list[int]:
    """``total`` divided max-min fairly: the small wishes whole, the large ones share what is left.

    No share exceeds its wish, and a share that falls short is within one of the largest share.
    """
    shares = [0] * len(wanted)
    smallest_first = sorted(range(len(wanted)), key=lambda i: wanted[i])
    for done, i in enumerate(smallest_first):
        shares[i] = min(wanted[i], max(0, total) // (len(wanted) - done))
        total -= shares[i]
    return shares
