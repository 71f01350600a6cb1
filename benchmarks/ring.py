"""The proxy's ring of hashes as ``deploy/haproxy`` sets it up: which replica a question goes to.

Places are drawn by another hash than HAProxy's, so that shares are as even as its, but not the same.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

PLACES = 256  # of a replica, which is what weight 16 gives it
BALANCE = 150  # hash-balance-factor


class Ring:
    """The order in which ``replicas``, numbered from 0, are tried for a book, by its number."""

    def __init__(self, replicas: int, seed: int = 0) -> None:
        places = sorted(
            (_hash(f"{seed} replica {replica} {place}"), replica)
            for replica in range(replicas)
            for place in range(PLACES)
        )
        self._at = [at for at, _ in places]
        self._replica = [replica for _, replica in places]
        self._count = replicas
        self._seed = seed

    def order(self, book: int) -> Sequence[int]:
        """All replicas, the book's own first."""
        first = bisect_right(self._at, _hash(f"{self._seed} book {book}"))
        found: dict[int, None] = {}
        for step in range(len(self._replica)):
            found.setdefault(self._replica[(first + step) % len(self._replica)])
            if len(found) == self._count:
                break
        return [*found]


class FixedRing:
    """A ring whose first replicas are known, such as from a proxy's log; the others follow by number."""

    def __init__(self, replicas: int, homes: Mapping[int, int]) -> None:
        self._count = replicas
        self._homes = homes

    def order(self, book: int) -> Sequence[int]:
        """See ``Ring.order``."""
        return [(self._homes[book] + step) % self._count for step in range(self._count)]


def chosen(order: Sequence[int], up: Collection[int], serving: Sequence[int]) -> int | None:
    """The first of ``order`` that is ``up`` and has room; None where none is up.

    ``serving`` is how many requests each has. Of one and a half times all of them, and the one that comes,
    each may have its share, rounded as HAProxy does (``chash_server_is_eligible``), and one at least.
    """
    there = sorted(up)
    total = -(-(sum(serving[one] for one in there) + 1) * BALANCE // 100)
    for replica in order:
        if replica in up:
            rank = there.index(replica)
            room = total * (rank + 1) // len(there) - total * rank // len(there)
            if serving[replica] < max(1, room):
                return replica
    return next((replica for replica in order if replica in up), None)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
