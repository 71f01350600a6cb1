"""Texts grouped by length, so that a batch holds little padding."""

from __future__ import annotations

from collections.abc import Sequence


def batches(lengths: Sequence[int], tokens: int, counts: Sequence[int] | None = None) -> list[list[int]]:
    """Positions in batches of at most ``tokens`` padded tokens (one item at least), longest first.

    An item is ``counts[i]`` texts (one by default) of at most ``lengths[i]`` tokens.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    result: list[list[int]] = []
    texts = 0
    for i in order:
        count = 1 if counts is None else counts[i]
        # Longest first: the first item of a batch sets its padded width.
        if not result or (texts + count) * lengths[result[-1][0]] > tokens:
            result.append([])
            texts = 0
        result[-1].append(i)
        texts += count
    return result
