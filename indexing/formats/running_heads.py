"""Running heads and feet of pages, and the page numbers that are printed in them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from indexing.chapters.numerals import numeral, roman
from indexing.formats.page_layout import Line

_EDGE_LINES = 2  # at the head and at the foot of a page
_SAME_HEIGHT = 3.0  # points
_FEWEST_HEADS = 3  # pages on which a running head is
_FEWEST_NUMBERS = 2  # pages whose numbers count on
_LEAST_HEADS = 0.2  # of the pages
_LEAST_COUNTING = 0.7  # of the pages with a number, whose numbers count on
_LONGEST_HEAD = 200
_NUMBER = re.compile(
    r"(?:(?<=\s)|^)\W*(\d{1,4}|[ivxlc]{1,8}|[IVXLC]{1,8})\W*$|^\W*(\d{1,4}|[ivxlc]{1,8})(?=\W)"
)


class _Count(NamedTuple):
    """How pages are numbered: with ``style`` (1, i or I), the number less the page's place in the file."""

    style: str
    offset: int

    def label(self, page: int) -> str:
        """What is printed on a page that is numbered so; empty before the first."""
        number = page + self.offset
        if number < 1 or self.style == "1":
            return str(number) if number > 0 else ""
        return roman(number) if self.style == "I" else roman(number).lower()


def running_heads(pages: Sequence[Sequence[Line]]) -> list[Line]:
    """Running heads and feet, and page numbers.

    These are the lines at the edges of pages that stand where, on a fifth of the pages, lines repeat or
    hold numbers that count on with the pages.
    """
    edges = [line for page in pages for line in _edge_lines(page)]
    alike: dict[str, list[Line]] = defaultdict(list)
    for line in edges:
        alike[_key(line)].append(line)
    heights: Counter[int] = Counter()
    for key, lines in alike.items():
        middle = median(line.bottom for line in lines)
        there = {line.page for line in lines if abs(line.bottom - middle) <= _SAME_HEIGHT}
        if len(there) >= (_FEWEST_NUMBERS if "#" in key else _FEWEST_HEADS):
            heights[round(middle)] += len(there)
    least = max(_FEWEST_NUMBERS, _LEAST_HEADS * sum(1 for page in pages if page))
    usual = {
        height for height in heights if sum(heights[near] for near in range(height - 1, height + 2)) >= least
    }
    return [line for line in edges if usual & {round(line.bottom) + off for off in (-1, 0, 1)}]


def without_heads(pages: Sequence[Sequence[Line]], heads: Sequence[Line]) -> list[list[Line]]:
    """The pages without their running ``heads``."""
    those = {id(line) for line in heads}
    return [[line for line in page if id(line) not in those] for page in pages]


def printed_labels(pages: int, heads: Sequence[Line]) -> list[str | None] | None:
    """The number of each of the ``pages`` as their ``heads`` print it; None where none count on.

    A page without a number, or with one that does not count on, counts from the one before it, up to the next
    number; where the next page is numbered otherwise, from that. So pictures that are not counted have the
    number of the page before them. Pages before have None. No two pages print the same arabic
    number: where these begin again, only the count that most pages are numbered by is followed.
    """
    found: dict[int, list[_Count]] = defaultdict(list)
    for line in heads:
        number = _number(line)
        if number:
            found[line.page].append(number[1])
    often = Counter(count for counts in found.values() for count in counts)
    numbered = sorted(found)
    counts = [max(found[page], key=lambda count: often[count]) for page in numbered]
    padded = [None, *counts, None]
    counting = {
        page: count
        for at, (page, count) in enumerate(zip(numbered, counts, strict=True))
        if count in (padded[at], padded[at + 2])
    }
    arabic = [(page + count.offset, count) for page, count in counting.items() if count.style == "1"]
    if any(number >= following for (number, _), (following, _) in pairwise(arabic)):
        [(usual, _)] = Counter(count for _, count in arabic).most_common(1)
        counting = {page: count for page, count in counting.items() if count.style != "1" or count == usual}
    if not counting or len(counting) < _LEAST_COUNTING * len(numbered):
        return None
    labels: list[str | None] = []
    current: _Count | None = None
    for page in range(pages):
        current = counting.get(page, current)
        following = None if page in counting else counting.get(page + 1)
        label = (following and following.label(page)) or (current and current.label(page))
        labels.append(label or None)
    return _without_repeats(labels, counting)


def _without_repeats(labels: Sequence[str | None], counting: Container[int]) -> list[str | None]:
    """The labels, none of a page that is not ``counting`` greater than that of the next one that is."""
    kept: list[str | None] = []
    least: int | None = None  # arabic number of the pages behind
    for page, label in reversed([*enumerate(labels)]):
        number = int(label) if label and label.isdigit() else None
        if page in counting:
            least = number
        elif number and least and number >= least:
            label = str(least - 1) if least > 1 else None
        kept.append(label)
    return kept[::-1]


def _edge_lines(page: Sequence[Line]) -> list[Line]:
    ordered = sorted(page, key=lambda line: -line.bottom)
    return ordered[:_EDGE_LINES] + ordered[_EDGE_LINES:][-_EDGE_LINES:]


def _key(line: Line) -> str:
    """Equal for lines that are the same but for numbers that count on with the pages."""
    number = _number(line)
    if number is None:
        return line.text.lower().replace("#", "")
    rest, count = number
    return f"{rest.lower().replace('#', '').strip()}#{count.offset}"


def _number(line: Line) -> tuple[str, _Count] | None:
    """A line without the number at its end or beginning, and how it counts; None where it has none."""
    match = _NUMBER.search(line.text) if len(line.text) <= _LONGEST_HEAD else None
    found = match and (match[1] or match[2])
    number = numeral(found.upper() if found and not found.isdigit() else found) if found else None
    if match is None or not found or number is None:
        return None
    style = "1" if found.isdigit() else "I" if found.isupper() else "i"
    return line.text[: match.start()] + line.text[match.end() :], _Count(style, number - line.page)
