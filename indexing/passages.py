"""A text cut into passages of so many words, by exact offsets."""

from __future__ import annotations

import re

from indexing.book import Passage

# Characters: no novel has a longer one, and without a bound a passage could be the whole book.
LONGEST_WORD = 100
_USUAL_WORD = 10  # characters, the space behind it and some more
_SPACE = re.compile(r"\s")
_WORD = re.compile(rf"\S{{1,{LONGEST_WORD}}}")
# Chinese and Japanese have no spaces: two characters are about a word, with the stops behind them.
_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_STOPS = "\u3001-\u3003\u3008-\u301f\uff01-\uff65"
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_UNSPACED_WORD = re.compile(
    rf"[{_UNSPACED}]{{1,2}}[{_STOPS}]{{0,{LONGEST_WORD - 2}}}|[^\s{_UNSPACED}]{{1,{LONGEST_WORD}}}"
)


def split(text: str, words: int = 200, overlap: int = 0) -> list[Passage]:
    """Passages of ``words`` words, each beginning ``words - overlap`` words after the one before.

    A word is a run of at most ``LONGEST_WORD`` characters that are not spaces, of two in Chinese and
    Japanese. A passage reaches from the first character of its first word to the last of its last, so with
    ``overlap=0`` every non-space character lies in exactly one passage. The last passage may be shorter, and
    is never a part of the one before it. A text without words has no passages.
    """
    if words < 1:
        raise ValueError(f"passages of {words} words; wanted 1 or more")
    if not 0 <= overlap < words:
        raise ValueError(
            f"passages of {words} words cannot overlap by {overlap}; wanted 0 <= overlap < words"
        )
    spans = _words(text)
    passages: list[Passage] = []
    for first in range(0, len(spans), words - overlap):
        last = min(first + words, len(spans)) - 1
        passages.append(Passage(len(passages), spans[first][0], spans[last][1]))
        if last == len(spans) - 1:
            break
    return passages


def last_words(text: str, words: int) -> str:
    """The last ``words`` words of ``text``, as ``split`` counts them; all where there are no more."""
    reach = words * _USUAL_WORD
    while words:
        # Words begin anew behind a space: what stands long before the last ones need not be looked at.
        first = _SPACE.search(text, len(text) - reach) if reach < len(text) else None
        start = 0 if first is None else first.start()
        spans = _words(text[start:])[-words:]
        if start == 0 or len(spans) == words:
            return text[start + spans[0][0] :] if spans else ""
        reach *= 2
    return ""


def _words(text: str) -> list[tuple[int, int]]:
    word = _UNSPACED_WORD if _IS_UNSPACED.search(text) else _WORD
    return [match.span() for match in word.finditer(text)]
