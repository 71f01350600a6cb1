"""The numbers that headings carry: 12, XII, twelve, the twelfth."""

from __future__ import annotations

import re

_UNITS = (
    ("one", "first"), ("two", "second"), ("three", "third"), ("four", "fourth"), ("five", "fifth"),
    ("six", "sixth"), ("seven", "seventh"), ("eight", "eighth"), ("nine", "ninth"), ("ten", "tenth"),
    ("eleven", "eleventh"), ("twelve", "twelfth"), ("thirteen", "thirteenth"), ("fourteen", "fourteenth"),
    ("fifteen", "fifteenth"), ("sixteen", "sixteenth"), ("seventeen", "seventeenth"),
    ("eighteen", "eighteenth"), ("nineteen", "nineteenth"),
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {word: value for value, pair in enumerate(_UNITS, 1) for word in pair}
_WORDS |= {word: 20 + 10 * at for at, ten in enumerate(_TENS) for word in (ten, f"{ten[:-1]}ieth")}
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_ROMAN_PARTS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
    (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ROMAN_FORM = re.compile(r"(?=[IVXLC])C{0,3}(XC|XL|L?X{0,4})(IX|IV|V?I{0,4})", re.I)

# Longest first, so that "sixteen" is not read as "six".
_ANY = "|".join(sorted(_WORDS, key=len, reverse=True))
_SPELT = rf"(?i:(?:(?:{'|'.join(_TENS)})[-\s]+)?(?:{_ANY}))"
NUMERAL = rf"(?:\d{{1,3}}|[IVXLCivxlc]+|{_SPELT})(?!['\u2019]|[^\W_])"


def numeral(text: str) -> int | None:
    """The value of an arabic or roman numeral or of a number in words below 100; None for anything else."""
    if text.isdecimal():
        return int(text)
    if _ROMAN_FORM.fullmatch(text):
        values = [_ROMAN[letter] for letter in text.upper()]
        pairs = zip(values, [*values[1:], 0], strict=True)
        return sum(-value if value < after else value for value, after in pairs)
    parts = re.split(r"[-\s]+", text.lower())
    values = [_WORDS.get(part, 0) for part in parts]
    if not all(values) or len(parts) > 2 or (len(parts) == 2 and (values[0] < 20 or values[1] > 9)):
        return None
    return sum(values)


def roman(number: int) -> str:
    """The roman numeral of a number from 1 on, in capitals."""
    written = ""
    for value, letters in _ROMAN_PARTS:
        written += letters * (number // value)
        number %= value
    return written
