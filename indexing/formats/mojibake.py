"""Letters of a text that was decoded by another encoding than its own and written anew, as they were."""

from __future__ import annotations

import re

_UNDEFINED = (0x81, 0x8D, 0x8F, 0x90, 0x9D)
# What Windows-1252 has where Unicode has control characters: quotation marks and dashes of texts that were
# taken for Latin-1 once.
_OF_WINDOWS = {code: bytes([code]).decode("cp1252") for code in range(0x80, 0xA0) if code not in _UNDEFINED}
_ELLIPSIS = 0x85  # also a line's end
_CONTROLS = re.compile(f"[{''.join(map(chr, _OF_WINDOWS.keys() - {_ELLIPSIS}))}]")
_NEXT = f"[{re.escape(''.join((*map(chr, range(0x80, 0xC0)), *_OF_WINDOWS.values())))}]"
# UTF-8 that was taken for Windows-1252 or Latin-1: a first byte and those that go on, as their letters. Of a
# closing quotation mark the last byte is no letter, and may be gone.
_QUOTE = "\xe2\u20ac"
_UTF8 = re.compile(f"[\xc2-\xdf]{_NEXT}|[\xe0-\xef]{_NEXT}{{2}}|[\xf0-\xf4]{_NEXT}{{3}}|{_QUOTE}")
_FEWEST = 3
_MOST_OTHERS = 0.2  # times as many characters outside ASCII


def without_controls(text: str) -> str:
    """The text with the marks that Windows-1252 has for its control characters, if there are such."""
    return text.translate(_OF_WINDOWS) if _CONTROLS.search(text) else text


def utf8_again(text: str) -> str:
    """The text with the characters whose UTF-8 it spells letter by letter.

    Only where three or more are spelt so, and hardly any outside ASCII are not.
    """
    spelt = [] if text.isascii() else _UTF8.findall(text)
    others = sum(not letter.isascii() for letter in text) - sum(map(len, spelt)) if spelt else 0
    if len(spelt) < _FEWEST or others > _MOST_OTHERS * len(spelt):
        return text
    return _UTF8.sub(lambda match: _bytes_of(match[0]).decode("utf-8", "replace"), text)


def _bytes_of(letters: str) -> bytes:
    spelt = f"{letters}\x9d" if letters == _QUOTE else letters
    return b"".join(letter.encode("latin-1" if letter < "\u0100" else "cp1252") for letter in spelt)
