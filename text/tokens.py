"""The tokens of a text with their places: words, clitics and punctuation, parted as in NarrativeQA."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_QUOTES = '"“”„«»'
_APOSTROPHES = "'’‘´`"
_STRAIGHT = str.maketrans(dict.fromkeys(_APOSTROPHES, "'"))
# Each stands apart wherever it is; the last ranges are the punctuation of Chinese and Japanese.
_MARKS = r";@#$%&?!()\[\]{}<>…—\u3001-\u303f\uff01-\uff0f\uff1a-\uff20"
_PAIRS = r"--|\.{3}|''|``|[:,](?!\d)"  # apart as well; pairs of apostrophes are quotation marks
_PIECE = re.compile(rf"{_PAIRS}|[{_MARKS}]|(?:\w++|(?!{_PAIRS})[^\s{_QUOTES}{_MARKS}])++")
_AT_END = re.compile(rf"[)\]\s{_QUOTES}{_APOSTROPHES}]*\Z")
_GOES_ON = re.compile(rf"[\s{_QUOTES}{_APOSTROPHES}]*[,;:]")
_CLITIC = re.compile(rf".*\w(n[{_APOSTROPHES}]t|[{_APOSTROPHES}](?:s|m|d|ll|re|ve))", re.I | re.S)
_LONGEST_CLITIC = 3
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "st", "jr", "sr", "messrs", "prof", "u.s", "a.d", "l.a"})
_LONGEST_TITLE = max(map(len, _TITLES))
_FUSED = {"cannot": 3, "gimme": 3, "lemme": 3, "gonna": 3, "wanna": 3, "gotta": 3}


class Token(NamedTuple):
    """``text[start:end]``, in code points, and what of it is compared: lower case, no apostrophe before."""

    key: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """The tokens of ``text`` in order; quotation marks are none.

    They are those of NarrativeQA's own tokenised columns, whose copies have lost the quotation marks
    and the apostrophe of ``'s``: ``Marn's`` is ``marn`` and ``s``, ``couldn't`` is ``could`` and
    ``n't``, ``cannot`` is ``can`` and ``not``, the apostrophe of ``geese'`` stands alone, and ``Mrs.``
    keeps its full stop unless the text ends there. Those columns leave ``time—asking`` whole; here a
    dash of that length parts words as ``--`` does, so that a span can begin behind it.
    """
    for match in _PIECE.finditer(text):
        key, start, end = match[0].lower(), match.start(), match.end()
        if key.isalnum() and key not in _FUSED:
            yield Token(key, start, end)
        elif key not in ("''", "``"):
            yield from _parts(text, start, end)


def _parts(text: str, start: int, end: int) -> Iterator[Token]:
    """The tokens of a run of characters, what stands before and behind the word taken off one by one."""
    if end - start == 1 and text[start] in _APOSTROPHES and not text[start - 1 : start].isspace():
        return  # it closes a quotation; with a space before, copies of the data have a plural's
    while end - start > 1 and text[start] in _APOSTROPHES:
        start += 1
    behind: list[Token] = []
    while end - start > 1:
        if text[end - 1] in _APOSTROPHES:
            if text[end - 2] not in ".!?,":  # behind those it closes a quotation
                behind.append(Token("'", end - 1, end))
            end -= 1
        elif text[end - 1] == "." and _ends_sentence(text, start, end):
            behind.append(Token(".", end - 1, end))
            end -= 1
        elif clitic := _CLITIC.fullmatch(text, max(start, end - _LONGEST_CLITIC - 1), end):
            middle = clitic.start(1)
            behind.append(Token(_key(clitic[1]).removeprefix("'"), middle, end))
            end = middle
        else:
            break
    word = text[start:end].lower()
    if word in _FUSED:
        middle = start + _FUSED[word]
        yield Token(_key(text[start:middle]), start, middle)
        start = middle
    yield Token(_key(text[start:end]), start, end)
    yield from reversed(behind)


def _key(word: str) -> str:
    return word.lower().translate(_STRAIGHT)


def _ends_sentence(text: str, start: int, end: int) -> bool:
    """Whether the full stop at the end of ``text[start:end]`` is one, and no abbreviation's."""
    word = text[max(start, end - _LONGEST_TITLE - 2) : end - 1].lower()
    if not word or word.endswith("."):
        return False
    if _AT_END.match(text, end):
        return True
    abbreviated = word in _TITLES or (len(word) == 1 and word.isalpha())
    return not abbreviated and not _GOES_ON.match(text, end)
