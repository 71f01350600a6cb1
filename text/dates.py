"""Days that a text names: where they stand, which they are, and how WikiReading writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
# By the first three letters, with or without the rest or a full stop.
_MONTH = "|".join(rf"{month[:3]}(?:{month[3:]}|t?\.?)" if month != "May" else "May" for month in MONTHS)
_DAY = r"(?P<{0}>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<{0}>[12]\d{{3}}|[1-9]\d{{2}})"
_APART = r"(?:\s*,\s*|\s+)"
_DATE = re.compile(
    rf"\b(?:{_DAY.format('d1')}\s*(?:of\s+)?(?P<m1>{_MONTH}){_APART}{_YEAR.format('y1')}"
    rf"|(?P<m2>{_MONTH})\s*{_DAY.format('d2')}{_APART}{_YEAR.format('y2')})\b"
)
_LONGEST = {month: 31 - (month in (4, 6, 9, 11)) - 2 * (month == 2) for month in range(1, 13)}


class Day(NamedTuple):
    """A day of a calendar, which is compared by what it is and not by how it is written."""

    year: int
    month: int
    day: int

    def __str__(self) -> str:
        """As WikiReading writes a time: ``4 July 1776`` (Hewlett et al. 2016, section 2)."""
        return f"{self.day} {MONTHS[self.month - 1]} {self.year}"


class FoundDay(NamedTuple):
    """``text[start:end]``, in code points, and the day that it names."""

    start: int
    end: int
    day: Day


def find_days(text: str) -> Iterator[FoundDay]:
    """The days of ``text`` in order that are written with the name of their month, in either order."""
    for match in _DATE.finditer(text):
        one = "1" if match["y1"] else "2"
        year, month, day = int(match[f"y{one}"]), _month(match[f"m{one}"]), int(match[f"d{one}"])
        if 1 <= day <= _LONGEST[month]:
            yield FoundDay(match.start(), match.end(), Day(year, month, day))


def parse_day(text: str) -> Day | None:
    """The day that all of ``text`` names, None where it names none or says more."""
    found = next(find_days(text.strip()), None)
    return found.day if found is not None and (found.start, found.end) == (0, len(text.strip())) else None


def _month(name: str) -> int:
    return next(number for number, month in enumerate(MONTHS, 1) if month[:3] == name[:3])
