"""Words written as text: what stands close to the word before it, and what apart."""

from __future__ import annotations

from collections.abc import Sequence

_CLOSING = frozenset(".,;:!?')]}\u2019%")
_OPENING = frozenset("([{\u2018-")
_CLITICS = {"s": "'s", "m": "'m", "d": "'d", "ll": "'ll", "re": "'re", "ve": "'ve", "n't": "n't"}


def appended(text: str, word: str) -> str:
    """``text`` with one more word, a space before it unless it is a mark that closes."""
    glued = not text or word in _CLOSING or text[-1] in _OPENING
    return text + (word if glued else f" {word}")


def joined(keys: Sequence[str]) -> str:
    """The keys of tokens (``text.tokens``) as text; clitics that lost their apostrophe get it again."""
    text = ""
    for key in keys:
        text = text + _CLITICS[key] if text and key in _CLITICS else appended(text, key)
    return text
