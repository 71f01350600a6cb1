"""Cloze questions: where the blank is, and the tokens of a text with nothing but spaces left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from text.errors import StoryQAError
from text.tokens import Token, tokens

BLANK = "xxxxx"
"""The key of a blank among the tokens of a question, however it is written there."""

_LINE = re.compile(r"(?<![\w_])_{3,}(?![\w_])")
_BLANK = re.compile(rf"(?<!\w)X{{5}}(?!\w)|@placeholder\b|{_LINE.pattern}")
_MARKED = re.compile(rf"@entity\d+\b|{_BLANK.pattern}")
_QUOTES = re.compile(r"``|''|\S")
_CLITICS = frozenset({"s", "m", "d", "ll", "re", "ve"})
_APOSTROPHES = "'’"
_SAME = {"“": "``", "„": "``", "«": "``", "”": "''", "»": "''", "‘": "'", "’": "'", "`": "'"}


class NotACloze(StoryQAError):
    """A question that has no blank, or several."""


def blanks(question: str) -> list[tuple[int, int]]:
    """Where the question has blanks: ``XXXXX``, ``@placeholder`` or ``___``; code points, half-open."""
    return [match.span() for match in _BLANK.finditer(question)]


def find_blank(question: str) -> tuple[int, int] | None:
    """The place of the one blank, None where there is none; raises ``NotACloze`` for more."""
    found = blanks(question)
    if len(found) > 1:
        raise NotACloze(f"the question has {len(found)} blanks; wanted one XXXXX, @placeholder or ____")
    return found[0] if found else None


def shorten_lines(question: str) -> str:
    """The question with lines ("Lady ____") too short to be blanks, where its own is written otherwise."""
    return _LINE.sub("__", question)


def cloze_tokens(text: str) -> Iterator[Token]:
    """The tokens of a text (``text.tokens``) and its quotation marks; a blank and ``@entity7`` are one.

    Every character but spaces is in exactly one of them, or in none where it is an apostrophe that begins a
    clitic. Quotation marks have the Penn Treebank's keys. Text that the Treebank's rules have parted by
    spaces is parted in the same way again, its clitics without their apostrophes.
    """
    end = 0
    for match in _MARKED.finditer(text):
        yield from _tokens(text, end, match.start())
        key = BLANK if _BLANK.fullmatch(match[0]) else match[0]
        yield Token(key, *match.span())
        end = match.end()
    yield from _tokens(text, end, len(text))


def occurrences(keys: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    """Where among ``keys`` the ``wanted`` ones stand side by side; nowhere for none."""
    for first in range(len(keys) - len(wanted) + 1 if wanted else 0):
        if all(keys[first + n] == key for n, key in enumerate(wanted)):
            yield first


def _tokens(text: str, start: int, end: int) -> Iterator[Token]:
    piece = text[start:end] if (start, end) != (0, len(text)) else text
    covered = 0
    for key, first, last in tokens(piece):
        apostrophe = key in _CLITICS and first > covered and piece[first - 1] in _APOSTROPHES
        yield from _marks(piece, covered, first - apostrophe, start)
        yield Token(key, start + first, start + last)
        covered = last
    yield from _marks(piece, covered, len(piece), start)


def _marks(text: str, first: int, last: int, start: int) -> Iterator[Token]:
    """What ``text.tokens`` leaves out between two tokens: quotation marks."""
    for match in _QUOTES.finditer(text, first, last):
        mark, at = match[0], match.start()
        if mark == '"':
            opens = at == 0 or text[at - 1].isspace()
            mark = "``" if opens else "''"
        yield Token(_SAME.get(mark, mark), start + at, start + match.end())
