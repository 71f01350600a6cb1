"""What a book says of somebody in so many words: ``NAME, the architect``, ``NAME married``, ``son of NAME``.

Hearst 1992's way: few are found, and most of these are right.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from answering.fact_questions import TRADES

STATED = 0.75  # of 33 values stated of the main characters of 55 books, 26 are right
_MOST = 20  # names that are looked for
_REACH = 120  # characters
_SPACE = r"(?:[^\S\n]+|[^\S\n]*\n[^\S\n]*)"  # without a blank line
_SOMEBODY = (
    r"(?P<value>(?:(?:Mrs?|Miss|Dr|Lady|Lord|Sir)\.?\s)?[^\W\d_a-z][\w'’-]+(?:\s[^\W\d_a-z][\w’'-]+){0,2})"
)
_SOMEWHERE = r"(?P<value>(?:the\s)?[^\W\d_a-z][\w’'-]+(?:\s(?:of\s)?[^\W\d_a-z][\w’'-]+){0,2})"
_TRADE = rf"(?P<value>(?:[a-z-]+\s){{0,2}}{TRADES})\b"
_PATTERNS: dict[str, tuple[str, ...]] = {
    "occupation": (
        rf"{{name}},\s(?:an?|the)\s{_TRADE}(?=\s?[,.;:)!?—-])",
        rf"{{name}}\s(?:was|is|had\sbeen)\san?\s{_TRADE}",
        rf"\b(?:the|an?|our|my|his|her|old|young)\s(?:[a-z]+\s)?(?P<value>{TRADES})\s{{name}}",
    ),
    "spouse": (
        rf"{{name}}['’]s\s(?:wife|husband),?\s{_SOMEBODY}",
        rf"{_SOMEBODY},\s(?:the\s)?(?:wife|husband)\sof\s{{name}}",
        rf"{{name}}(?:,\swho)?\s(?:(?:had|was|is)\s)?married\s(?:to\s)?{_SOMEBODY}",
        rf"{_SOMEBODY}\s(?:had\s)?married\s{{name}}",
        rf"{{name}}['’]s\smarriage\s(?:to|with)\s{_SOMEBODY}",
    ),
    "parents": (
        rf"{{name}}['’]s\s(?:father|mother),?\s{_SOMEBODY}",
        rf"{_SOMEBODY},\s(?:the\s)?(?:father|mother)\sof\s{{name}}",
        rf"{{name}},\s(?:the\s)?(?:\w+\s)?(?:son|daughter|child)\sof\s{_SOMEBODY}",
    ),
    "residence": (
        rf"{{name}}\s(?:\w+\s)?(?:lived|lives|dwelt|resided|lodged|was\sliving)\s(?:\w+\s)?(?:in|at|near)\s{_SOMEWHERE}",
    ),
}


def stated(
    text: str, property: str, names: Iterable[str], places: Sequence[tuple[int, int]]
) -> list[tuple[int, int]]:
    """The places of what is stated to be a property of whoever has one of the ``names``, most often first.

    They are looked for around the ``places`` that name them.
    """
    longest = sorted(names, key=len, reverse=True)[:_MOST]
    if not longest:
        return []
    name = "|".join("\\s".join(map(re.escape, one.split())) for one in longest)
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for pattern in _PATTERNS[property]:
        whole = pattern.replace("{name}", rf"(?<![\w-])(?:{name})(?![\w-])").replace(r"\s", _SPACE)
        wanted = re.compile(whole)
        for start, end in _around(places):
            for match in wanted.finditer(text, start, end):
                found[" ".join(match["value"].lower().split())].append(match.span("value"))
    ranked = sorted(found.values(), key=lambda one: (-len(one), min(one)))
    return [min(one) for one in ranked]


def _around(places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches of text around the places, those that overlap as one."""
    first = last = 0
    for start, end in places:
        if start - _REACH > last:
            if last:
                yield first, last
            first = max(0, start - _REACH)
        last = end + _REACH
    if last:
        yield first, last
