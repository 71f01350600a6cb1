"""The text of a Kindle book unpacked from its records: PalmDOC's compression and Mobipocket's HUFF/CDIC."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from indexing.formats.palm_database import PalmDatabase, number

MOST_TEXT = 64 * 2**20  # bytes unpacked; the longest novels are under 10 MB
_LONGEST_RECORD = 2**16  # bytes unpacked; writers cut the text into records of 4 KB
_DEEPEST = 32  # phrases of a dictionary that are made of others
_STORED, _PALMDOC, _HUFF = 1, 2, 17480
_LITERALS = re.compile(rb"[\0\x09-\x7f]+")


def unpacked_text(database: PalmDatabase, first: int, trailing: int) -> bytes:
    """The text of the book whose header is the record ``first``.

    ``trailing`` says what stands behind the text in each record: a bit for each entry of stated size and,
    the lowest, one for the rest of a character that a record's end parts. Raises ``ValueError`` for what is
    damaged or too large.
    """
    header = database.record(first)
    unpack = _unpacker(database, first, number(header, 0, 2))
    pieces: list[bytes] = []
    left = MOST_TEXT
    for index in range(first + 1, first + 1 + number(header, 8, 2)):
        if not (record := database.record(index)):
            raise ValueError("records of its text are missing")
        piece = unpack(_without_trailing(record, trailing))
        left -= len(piece)
        if left < 0:
            raise ValueError(f"its text unpacks to more than {MOST_TEXT // 2**20} MB")
        pieces.append(piece)
    return b"".join(pieces)


def _unpacker(database: PalmDatabase, first: int, compression: int) -> Callable[[bytes], bytes]:
    if compression == _STORED:
        return bytes
    if compression == _PALMDOC:
        return palmdoc
    if compression == _HUFF:
        header = database.record(first)
        at, count = first + number(header, 112, 4), number(header, 116, 4)
        return partial(_Huffman.unpack, _Huffman([*map(database.record, range(at, at + min(count, 1000)))]))
    raise ValueError(f"its compression is of a kind ({compression}) that nobody describes")


def _without_trailing(record: bytes, trailing: int) -> bytes:
    for _ in range((trailing >> 1).bit_count()):
        # The size, itself included, seven bits a byte, is read from the end.
        size = shift = 0
        for byte in reversed(record[-4:]):
            size |= (byte & 0x7F) << shift
            shift += 7
            if byte & 0x80:
                break
        record = record[: max(0, len(record) - size)]
    return record[: -((record[-1] & 3) + 1)] if trailing & 1 and record else record


def palmdoc(data: bytes) -> bytes:
    """A record unpacked: literals, runs of them, spaces before letters, and copies of what came before."""
    out = bytearray()
    at = 0
    while at < len(data):
        byte = data[at]
        if 1 <= byte <= 8:
            out += data[at + 1 : at + 1 + byte]
            at += 1 + byte
        elif byte >= 0xC0:
            out += bytes((0x20, byte ^ 0x80))
            at += 1
        elif match := _LITERALS.match(data, at):
            out += match[0]
            at = match.end()
        else:
            pair = number(data, at, 2)
            at += 2
            distance, length = (pair >> 3) & 0x7FF, (pair & 7) + 3
            if not 0 < distance <= len(out):
                raise ValueError("its text cannot be unpacked")
            copied = out[len(out) - distance :][:length]
            while len(copied) < length:  # it reaches into what it makes itself
                copied += copied[: length - len(copied)]
            out += copied
    return bytes(out)


class _Huffman:
    """Mobipocket's dictionary: codes of 1 to 32 bits for phrases, which may be made of codes in turn."""

    def __init__(self, records: list[bytes]) -> None:
        huff, dictionaries = (records or [b""])[0], records[1:]
        if not huff.startswith(b"HUFF"):
            raise ValueError("the dictionary of its compression is missing")
        by_byte, by_length = number(huff, 8, 4), number(huff, 12, 4)
        self._by_byte = [number(huff, by_byte + 4 * byte, 4) for byte in range(256)]
        bounds = [number(huff, by_length + 4 * at, 4) for at in range(64)]
        self._least = [0, *(low << (32 - length) for length, low in enumerate(bounds[::2], 1))]
        self._most = [0, *(((high + 1) << (32 - length)) - 1 for length, high in enumerate(bounds[1::2], 1))]
        # Where each phrase is, and not the phrases: a hostile file has many that overlap.
        self._places: list[tuple[bytes, int]] = []
        for record in dictionaries:
            stated, bits = number(record, 8, 4), min(number(record, 12, 4), 16)
            for at in range(min(1 << bits, stated - len(self._places), len(record) // 2)):
                self._places.append((record, 16 + number(record, 16 + 2 * at, 2)))
        self._unpacked: dict[int, bytes] = {}
        self._left = MOST_TEXT  # of phrases that are unpacked

    def unpack(self, data: bytes, depth: int = 0) -> bytes:
        """The bytes that the codes in ``data`` stand for."""
        pieces: list[bytes] = []
        size = 0
        window, loaded, at, used = 0, 0, 0, 0  # bits read ahead, and how many are used in all
        while True:
            while loaded < 32:
                window = (window << 8 | (data[at] if at < len(data) else 0)) & 0xFFFFFFFFFF
                loaded, at = loaded + 8, at + 1
            code = (window >> (loaded - 32)) & 0xFFFFFFFF
            length, most = self._code(code)
            loaded, used = loaded - length, used + length
            if used > 8 * len(data):
                return b"".join(pieces)
            index = (most - code) >> (32 - length)
            if not 0 <= index < len(self._places):
                raise ValueError("its text cannot be unpacked")
            phrase = self._phrase(index, depth)
            size += len(phrase)
            if size > _LONGEST_RECORD:
                raise ValueError("its text unpacks to more than it should")
            pieces.append(phrase)

    def _code(self, code: int) -> tuple[int, int]:
        """How many of the 32 bits are the next code, and the greatest of its length."""
        entry = self._by_byte[code >> 24]
        length, high = entry & 0x1F, entry >> 8
        if length and entry & 0x80:
            return length, ((high + 1) << (32 - length)) - 1
        length = max(length, 1)
        while length < 32 and code < self._least[length]:
            length += 1
        return length, self._most[length]

    def _phrase(self, index: int, depth: int) -> bytes:
        """A phrase of the dictionary, which its length marks where it is not made of codes."""
        record, start = self._places[index]
        length = number(record, start, 2)
        if length & 0x8000:
            return record[start + 2 : start + 2 + (length & 0x7FFF)]
        if index not in self._unpacked:
            if depth > _DEEPEST:
                raise ValueError("the dictionary of its compression goes round in a circle")
            phrase = self.unpack(record[start + 2 : start + 2 + length], depth + 1)
            self._left -= len(phrase)
            if self._left < 0:
                raise ValueError("the dictionary of its compression is too large")
            self._unpacked[index] = phrase
        return self._unpacked[index]
