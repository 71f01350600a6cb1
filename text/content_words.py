"""The words that tell what a question is about, and whether a text has them."""

from __future__ import annotations

from text.question_kinds import TELLING_NOTHING
from text.question_names import names_in
from text.words import words

SHORTEST = 3  # letters of a word that tells something
FEWEST = 2  # words, without which a text may still answer
# By these a question says what it asks for, or where in the book, in words that the book need not have.
_ASKED_FOR = frozenset(
    {"feel", "feels", "feeling", "felt", "describe", "described", "reason", "name", "names", "called", "full"}
    | {"kind", "sort", "type", "color", "colour", "year", "age", "number", "example", "relationship"}
    | {"job", "occupation", "profession", "author", "narrator", "reader", "protagonist", "character"}
    | {"characters", "book", "novel", "story", "tale", "title", "chapter", "scene", "plot", "beginning"}
    | {"ending"}
)
_STEM = 4  # letters of a longer word that all its forms begin with
_ENDING = 3  # letters that another form of it may have otherwise: married, marry


def strange_words(question: str, text: str) -> list[str]:
    """Words of what a question is about, but names, of which the text has no form: half, at least ``FEWEST``.

    None where it lacks fewer: a question may well ask in other words than the text's, but seldom in so many.
    """
    names = {word for name in names_in(question) for word in words(name)}
    about = [
        word
        for word in dict.fromkeys(words(question))
        if len(word) >= SHORTEST
        and word.isalpha()
        and word not in TELLING_NOTHING
        and word not in _ASKED_FOR
        and word not in names
    ]
    lower = text.lower()
    missing = [word for word in about if not _has(lower, word[: max(_STEM, len(word) - _ENDING)])]
    return missing if len(missing) >= FEWEST and 2 * len(missing) >= len(about) else []


def _has(text: str, beginning: str) -> bool:
    """Whether a word of the text, which is in lower case, begins so."""
    at = text.find(beginning)
    while at > 0 and text[at - 1].isalnum():
        at = text.find(beginning, at + 1)
    return at >= 0
