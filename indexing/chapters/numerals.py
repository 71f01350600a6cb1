"""The numbers that headings carry: 12, XII, twelve, the twelfth, 12th, three hundred and two."""

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
_DIGITS = [cardinal for cardinal, _ in _UNITS[:9]]
_WORDS = {word: value for value, pair in enumerate(_UNITS, 1) for word in pair}
_WORDS |= {word: 20 + 10 * at for at, ten in enumerate(_TENS) for word in (ten, f"{ten[:-1]}ieth")}
_WORDS |= {"hundred": 100, "hundredth": 100}
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_ROMAN_PARTS = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
    (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ROMAN_FORM = re.compile(r"(?=[IVXLC])C{0,3}(XC|XL|L?X{0,4})(IX|IV|V?I{0,4})", re.I)

# Longest first, so that "sixteen" is not read as "six".
_ANY = "|".join(sorted(_WORDS, key=len, reverse=True))
_JOIN = r"(?:-|[ \t\xa0]+)"  # no dash and no end of a line: behind them a title may begin with a number
_SPELT = (
    rf"(?:(a|{'|'.join(_DIGITS)}){_JOIN}(?=hundred))?(hundred{_JOIN}(?:and{_JOIN})?)?"
    rf"(?:({'|'.join(_TENS)}){_JOIN})?({_ANY})"
)
_SPELT_FORM = re.compile(_SPELT, re.I)
_DIGITS_FORM = re.compile(r"(\d+)(?:st|nd|rd|th|d)?", re.I)
# Without groups, to be a piece of other patterns.
NUMERAL = (
    r"(?:\d{1,4}(?i:st|nd|rd|th|d)?|[IVXLCivxlc]+|(?i:"
    + re.sub(r"\((?!\?)", "(?:", _SPELT)
    + r"))(?!['\u2019]|[^\W_])"
)


def numeral(text: str) -> int | None:
    """The value of an arabic or roman numeral or of a number in words below 1,000; None for anything else."""
    if digits := _DIGITS_FORM.fullmatch(text):
        return int(digits[1])
    if _ROMAN_FORM.fullmatch(text):
        values = [_ROMAN[letter] for letter in text.upper()]
        pairs = zip(values, [*values[1:], 0], strict=True)
        return sum(-value if value < after else value for value, after in pairs)
    match = _SPELT_FORM.fullmatch(text)
    if match is None:
        return None
    times, hundred, ten, last = match.groups()
    value = _WORDS[last.lower()]
    if value >= (10 if ten else 100 if hundred else 101):
        return None
    hundreds = 100 * _WORDS.get((times or "a").lower(), 1)
    if value == 100:
        return hundreds
    return (hundreds if hundred else 0) + (_WORDS[ten.lower()] if ten else 0) + value


def roman(number: int) -> str:
    """The roman numeral of a number from 1 on, in capitals."""
    written = ""
    for value, letters in _ROMAN_PARTS:
        written += letters * (number // value)
        number %= value
    return written
