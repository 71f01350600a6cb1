"""A Palm database (PDB): the container of numbered records that Kindle books are in, and its numbers."""

from __future__ import annotations

_HEADER = 78  # bytes before the list of records, which has eight bytes for each
_MOST_BYTES_OF_A_NUMBER = 5


class PalmDatabase:
    """The records of a database; raises ``ValueError`` where they overlap or lie outside of the file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.count = number(data, 76, 2)
        at = range(_HEADER, _HEADER + 8 * self.count, 8)
        self._starts = [*(number(data, start, 4) for start in at), len(data)]
        if not self.count or any(
            after < before for before, after in zip(self._starts, self._starts[1:], strict=False)
        ):
            raise ValueError("its records do not follow one another")

    def record(self, index: int) -> bytes:
        """The record ``index``; nothing for one that it has not."""
        return self._data[self._starts[index] : self._starts[index + 1]] if 0 <= index < self.count else b""


def number(data: bytes, at: int, size: int) -> int:
    """The number of ``size`` bytes at ``at``, the highest first; 0 behind the end."""
    return int.from_bytes(data[at : at + size], "big") if at + size <= len(data) else 0


def long_number(data: bytes, at: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, seven bits each, the last marked; and where it ends."""
    value = 0
    for place, byte in enumerate(data[at : at + _MOST_BYTES_OF_A_NUMBER], at + 1):
        value = (value << 7) | (byte & 0x7F)
        if byte & 0x80:
            return value, place
    raise ValueError("a number in its index does not end")
