"""A story in a language that nobody knows, as in the publishers' ``shuffled`` files.

Every letter stands for another. One permutation of the alphabet holds for the whole language: a word is the
same wherever it stands, and what can be learnt is what a story says, not what its words mean elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

from evaluation.worlds.stories import Story

_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_PERMUTED = "vaegzsjxodhqnlpcrbyfwutkim"
_LETTERS = str.maketrans(_ALPHABET + _ALPHABET.upper(), _PERMUTED + _PERMUTED.upper())


def shuffled(story: Story) -> Story:
    """The story in that language; capitals, stops and support stay where they are."""
    asked = (
        replace(
            one,
            text=one.text.translate(_LETTERS),
            answers=tuple(word.translate(_LETTERS) for word in one.answers),
        )
        for one in story.asked
    )
    return Story(tuple(fact.translate(_LETTERS) for fact in story.facts), tuple(asked))
