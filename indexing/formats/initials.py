"""Initials of two lines' height or more (drop caps) joined to the words that they begin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from indexing.formats.markup import BEFORE_INITIAL, WORDS_OF_ONE_LETTER
from indexing.formats.page_layout import Line

_INITIAL = re.compile(rf"{BEFORE_INITIAL}([^\W\d_]{{1,2}})")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_TALLER = 1.5  # times the line beside it
_MOST_INITIALS = 20  # on a page, that are looked at


def with_initials(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The pages with each initial at the head of the highest line beside it.

    That line has the text's height and the initial's left edge, as those below it have that are beside it,
    too. A letter that stands alone, or beside a word that begins with a capital, is a heading and stays.
    """
    joined = [list(page) for page in pages]
    words: Counter[str] | None = None  # of the book; of most, nobody needs to know
    for lines in joined:
        for initial in [*islice(filter(_may_be_initial, lines), _MOST_INITIALS)]:
            if initial not in lines:  # it was beside another
                continue
            beside = [at for at, line in enumerate(lines) if _is_beside(line, initial)]
            first = max(beside, key=lambda at: lines[at].bottom, default=None)
            if first is None or not _goes_on(lines[first].text):
                continue
            if words is None:
                words = Counter(
                    word.lower() for page in pages for line in page for word in _WORD.findall(line.text)
                )
            text = _joined(initial.text, lines[first].text, words)
            for at in beside:
                lines[at] = replace(
                    lines[at], left=initial.left, text=text if at == first else lines[at].text
                )
            lines.remove(initial)
    return joined


def _may_be_initial(line: Line) -> bool:
    return _INITIAL.fullmatch(line.text) is not None


def _is_beside(line: Line, initial: Line) -> bool:
    middle = (line.top + line.bottom) / 2
    return (
        initial.height >= _TALLER * line.height
        and initial.bottom < middle < initial.top
        and (initial.left + initial.right) / 2 < line.left <= initial.right + line.height
    )


def _goes_on(text: str) -> bool:
    """Whether a text may be the rest of a word: no word with a capital, which stands beside numerals."""
    rest = text.lstrip("'\u2019")
    return rest[:1].isalpha() and not (rest[0].isupper() and rest[1:2].islower())


def _joined(initial: str, text: str, words: Counter[str]) -> str:
    """The initial and the text: two words where the book has the second more often than both as one."""
    found, rest = _INITIAL.fullmatch(initial), _WORD.match(text)
    if found and rest and found[1].upper() in WORDS_OF_ONE_LETTER:
        second = rest[0].lower()
        if words[second] - 1 > words[found[1].lower() + second]:  # it is counted itself, too
            return f"{initial} {text}"
    return initial + text
