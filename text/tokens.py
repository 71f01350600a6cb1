"""The tokens of a text with their places: words, clitics and punctuation, as the Penn Treebank parts them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MARKS = "\u0300-\u036f"  # combining: part of the letter they stand on
_QUOTES = "\"'`\u00b4\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
_TITLES = "mr|mrs|ms|dr|st|jr|sr|messrs|prof"
_TOKEN = re.compile(
    rf"\b(?:{_TITLES})\.|\b(?-i:[A-Z])\.(?=\s+\w)|\b(?:[^\W\d_]\.){{2,}}"
    rf"|\w[\w{_MARKS}]*(?:(?:[.'\u2019/]|-)(?=\w)\w[\w{_MARKS}]*|[:,](?=\d)\d+)*"
    rf"|\.\.\.|--|[^\w\s{_QUOTES}]",
    re.I,
)
_CLITIC = re.compile(r"(.+?)(n['\u2019]t|['\u2019](?:s|m|d|ll|re|ve))", re.I)


class Token(NamedTuple):
    """``text[start:end]``, in code points, and what of it is compared: lower case, no apostrophe before."""

    key: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """The tokens of ``text`` in order; quotation marks are none.

    They are those of NarrativeQA's own tokenised columns, whose copies have lost the quotation marks
    and the apostrophe of ``'s``: ``Marn's`` is ``marn`` and ``s``, ``couldn't`` is ``could`` and
    ``n't``, and ``Mrs.`` keeps its full stop.
    """
    for match in _TOKEN.finditer(text):
        word, start, end = match[0], match.start(), match.end()
        parts = _CLITIC.fullmatch(word) if "'" in word or "\u2019" in word else None
        if parts is None:
            yield Token(word.lower(), start, end)
        else:
            middle = start + len(parts[1])
            clitic = parts[2].lower().replace("\u2019", "'").removeprefix("'")
            yield Token(parts[1].lower(), start, middle)
            yield Token(clitic, middle, end)
