"""Times as Wikidata and ISO 8601 write them, and as WikiReading says them: ``4 July 1776``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from text.dates import MONTHS

# Wikidata's precisions: https://www.wikidata.org/wiki/Help:Dates
CENTURY, DECADE, YEAR, MONTH, DAY = 7, 8, 9, 10, 11
_TIME = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d{4,})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?"
    r"(?:/(?P<precision>\d\d?))?"
)
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def readable(value: str, precision: int | None = None) -> str:
    """A time as it is said, to the precision that it has; any other value as it is.

    ``+1776-07-04T00:00:00Z``, ``1776-07-04`` and ``+1776-07-04T00:00:00Z/11`` are ``4 July 1776``. The
    precision is Wikidata's number, after a slash or given; without one, it is what is not 00.
    """
    match = _TIME.fullmatch(value)
    if match is None:
        return value
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"] or 0)
    if year == 0 or month > 12 or day > 31:
        return value
    wanted = int(match["precision"] or (DAY if precision is None else precision))
    if wanted < CENTURY:
        return value
    era = " BC" if match["sign"] == "-" else ""
    if wanted == CENTURY:
        number = (year + 99) // 100
        ending = "th" if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, "th")
        return f"{number}{ending} century{era}"
    if wanted == DECADE:
        return f"{year // 10}0s{era}"
    parts = [f"{day}"] if day and month and wanted >= DAY else []
    parts += [MONTHS[month - 1]] if month and wanted >= MONTH else []
    return " ".join([*parts, f"{year}{era}"])


def readable_object(value: Mapping[str, Any]) -> str | None:
    """The time of Wikidata's ``{"time": .., "precision": ..}``; None where the object is none."""
    time, precision = value.get("time"), value.get("precision")
    if not isinstance(time, str) or not isinstance(precision, int | None):
        return None
    return readable(time, precision)
