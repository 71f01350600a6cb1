"""What the first record of a Kindle book says of it: the MOBI header and the EXTH records behind it."""

from __future__ import annotations

import locale
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from indexing.formats.palm_database import PalmDatabase, number

# Types of EXTH records.
AUTHOR, SECOND_BOOK, COVER, TITLE, LANGUAGE = 100, 121, 201, 503, 524
_NOWHERE = 0xFFFFFFFF
_KF8 = 8
_UTF_8 = 65001  # the number of its code page; all others are written as Windows-1252
_MOST_STATED = 1000
_LENGTHS = range(228, 501)  # of headers that say what stands behind the text; old ones hold anything there


@dataclass(frozen=True, slots=True)
class Header:
    """The header in the record ``first``; ``data`` are all bytes of that record."""

    first: int
    data: bytes
    encoding: str
    stated: Mapping[int, Sequence[bytes]]  # EXTH

    @property
    def has_markup(self) -> bool:
        """Whether it is a Mobipocket book and not plain text, as PalmDOC's are."""
        return self.data[16:20] == b"MOBI"

    @property
    def is_kf8(self) -> bool:
        """Whether it is of the later kind, made of EPUB's documents: AZW3."""
        return self.has_markup and number(self.data, 36, 4) == _KF8

    @property
    def is_protected(self) -> bool:
        return number(self.data, 12, 2) != 0

    @property
    def trailing(self) -> int:
        """What stands behind the text in its records, as bits."""
        stated = self.has_markup and number(self.data, 20, 4) in _LENGTHS
        return number(self.data, 242, 2) if stated else 0

    @property
    def title(self) -> str | None:
        """The title that is stated, else the book's whole name."""
        at, length = number(self.data, 84, 4), number(self.data, 88, 4)
        return next(filter(None, self.texts(TITLE)), None) or self.text(self.data[at : at + length]) or None

    @property
    def language(self) -> str | None:
        """The tag that is stated, else the language that the number of a locale of Windows is of."""
        code = number(self.data, 92, 4) & 0xFFFF
        named = locale.windows_locale.get(code) or locale.windows_locale.get(0x400 | code & 0xFF, "")[:2]
        return next(filter(None, self.texts(LANGUAGE)), None) or named or None

    @property
    def first_picture(self) -> int:
        """The record from which pictures are counted."""
        return number(self.data, 108, 4)

    def text(self, data: bytes) -> str:
        """Bytes of the header or of an index as text on one line."""
        return " ".join(data.decode(self.encoding, "replace").split())

    def texts(self, type: int) -> list[str]:
        """What is stated under an EXTH type."""
        return list(map(self.text, self.stated.get(type, ())))

    def number(self, type: int) -> int | None:
        """The number that is stated under an EXTH type; None where there is none."""
        stated = self.stated.get(type, (b"",))[0]
        found = number(stated, 0, 4)
        return found if len(stated) == 4 and found != _NOWHERE else None

    def record_at(self, at: int) -> int:
        """The number of the record that the header names at ``at``; one below 0 where it names none."""
        found = number(self.data, at, 4)
        within = at + 4 <= 16 + number(self.data, 20, 4)
        return self.first + found if within and found != _NOWHERE else -1


def read_header(database: PalmDatabase, first: int) -> Header:
    """The header in the record ``first``."""
    data = database.record(first)
    encoding = "utf-8" if number(data, 28, 4) == _UTF_8 else "cp1252"
    stated: dict[int, list[bytes]] = {}
    at = 16 + number(data, 20, 4)
    if data[16:20] == b"MOBI" and data[at : at + 4] == b"EXTH":
        count = min(number(data, at + 8, 4), _MOST_STATED)
        at += 12
        for _ in range(count):
            type, length = number(data, at, 4), number(data, at + 4, 4)
            stated.setdefault(type, []).append(data[at + 8 : at + max(length, 8)])
            at += max(length, 8)
    return Header(first, data, encoding, stated)
