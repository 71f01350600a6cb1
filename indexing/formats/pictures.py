"""Pictures of books' covers: what is one, and how large it may be."""

from __future__ import annotations

import re

MOST_BYTES = 5 * 2**20  # of a cover; those of shops have a tenth of it
# What every browser shows and cannot hold a script, by its first bytes: never SVG.
_BEGINNINGS = {
    "image/jpeg": re.compile(rb"\xff\xd8\xff"),
    "image/png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "image/gif": re.compile(rb"GIF8[79]a"),
    "image/webp": re.compile(rb"RIFF.{4}WEBP", re.S),
}
TYPES = tuple(_BEGINNINGS)


def picture_type(data: bytes) -> str | None:
    """The media type, one of ``TYPES``, that the first bytes of a file tell; None for any other."""
    return next((type for type, begins in _BEGINNINGS.items() if begins.match(data)), None)


def is_cover(data: bytes | None) -> bool:
    """Whether it is a picture that may be kept as a book's cover."""
    return data is not None and len(data) <= MOST_BYTES and picture_type(data) is not None
