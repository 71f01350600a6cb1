"""Labelled questions for the span reader, and how each is shown to it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

WORD = re.compile(r"\S+")
NEGATIVE_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question, the passages that answer it, and where.

    ``targets`` are ``(passage, start, end)`` in code points; ``others`` are passages of the same
    story or article that do not answer it; ``answers`` are the references.
    """

    question: str
    passages: tuple[str, ...]
    targets: tuple[tuple[int, int, int], ...]
    others: Sequence[str]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """What the model is shown: the question, passages, and the spans that are right in them."""

    question: str
    passages: tuple[str, ...]
    targets: tuple[tuple[int, int, int], ...]


def show(labelled: LabelledQuestion, rng: random.Random) -> Example:
    """The question with its passages, at times with one more that does not answer.

    A tenth of the examples carry such a negative, because scores are normalised over all passages read.
    """
    passages = labelled.passages
    if labelled.others and rng.random() < NEGATIVE_SHARE:
        # As long as what it stands beside: a longer one would only buy padding.
        words = max(len(passage.split()) for passage in passages)
        passages = (*passages, _part(rng.choice(labelled.others), words, rng))
    return Example(labelled.question, passages, labelled.targets)


def _part(text: str, count: int, rng: random.Random) -> str:
    """At most ``count`` words in a row, from a random place."""
    words = [m.span() for m in WORD.finditer(text)]
    first = rng.randint(0, max(0, len(words) - count))
    last = min(len(words), first + count) - 1
    return text[words[first][0] : words[last][1]]
