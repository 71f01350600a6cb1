"""Series of numerals that stand alone: those that count a text's chapters, not the lines of a list."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from statistics import median

from indexing.chapters.headings import Heading, in_order

_FEWEST_WORDS = 100  # between two numerals, as a rule
_LEAST_COVERED = 0.3  # of the text
_MOST_OPEN = 8  # series that wait for the same number
# The end of a line of prose that no sentence ends with, above a numeral and what marks that.
_AMID = re.compile(r"(?:[^\s*]+[^\S\n]+){3,}[^\s]*[^\W_][,;]?\n[\s_*~=\xa7#(\u2013\u2014-]*\Z")
_BEFORE = 100  # characters
_Style = tuple[bool, str, bool]  # whether a numeral is in digits, what is behind it, whether a title is
_UNMARKED: _Style = (False, " ", True)


@dataclass(slots=True, eq=False)
class _Series:
    """Numerals that count from 1, as the last is written, with the words of the pieces between them."""

    style: _Style
    numerals: list[Heading] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    words: int = 0  # of the text, up to the end of the last numeral

    def likeness(self, style: _Style, words: int) -> tuple[bool, bool, bool, int]:
        """How well a numeral with so many words of the text before it goes on; of equals, the latest."""
        is_close = words - self.words < _FEWEST_WORDS
        is_spaced_so = not self.lengths or (self.lengths[-1] < _FEWEST_WORDS) == is_close
        return style[0] == self.style[0], is_spaced_so, style == self.style, self.words


def long_series(text: str, numerals: list[Heading]) -> list[Heading]:
    """The numerals in series from 1 of 100 words and more each, as a rule, where these are much of the text.

    A chapter may hold a series of its own (a list, a poem), so that a number goes on whichever waits for it:
    the one most like it, of the latest few.
    """
    found: list[_Series] = []
    waiting: dict[int, deque[_Series]] = defaultdict(partial(deque, maxlen=_MOST_OPEN))
    words = end = 0
    for heading, style in _without_pronouns([(heading, _style(text, heading)) for heading in numerals]):
        before = words + len(text[end : heading.start].split())
        words, end = before + len(text[heading.start : heading.end].split()), heading.end
        number = heading.number or 0
        if open_series := waiting[number]:
            series = max(open_series, key=partial(_Series.likeness, style=style, words=before))
            open_series.remove(series)
            series.lengths.append(before - series.words)
        elif number == 1:
            series = _Series(style)
            found.append(series)
        else:
            continue
        series.style, series.words = style, words
        series.numerals.append(heading)
        waiting[number + 1].append(series)
    long = [
        series
        for series in found
        if series.lengths and median(series.lengths) >= _FEWEST_WORDS and not _are_pages(text, series)
    ]
    kept = in_order([heading for series in long for heading in series.numerals])
    covered = sum(after.start - before.start for before, after in pairwise(kept))
    return kept if covered > _LEAST_COVERED * len(text) else []


def _are_pages(text: str, series: _Series) -> bool:
    """Whether numerals are of pages, most of which end amid a sentence."""
    before = (text[max(0, heading.start - _BEFORE) : heading.start] for heading in series.numerals)
    return 2 * sum(_AMID.search(each) is not None for each in before) > len(series.numerals)


def _style(text: str, heading: Heading) -> _Style:
    line = text[heading.start : heading.end].partition("\n")[0]
    label = heading.title.partition(".")[0]
    return label.isdigit(), line[len(label) : len(label) + 1], len(line.strip(" _.:)")) > len(label)


def _without_pronouns(styled: list[tuple[Heading, _Style]]) -> list[tuple[Heading, _Style]]:
    """Numerals without lines such as ``I Go to the Fair``, unless ``II The Fair`` is written so, too."""
    if any(heading.number == 2 and style == _UNMARKED for heading, style in styled):
        return styled
    return [(heading, style) for heading, style in styled if heading.number != 1 or style != _UNMARKED]
