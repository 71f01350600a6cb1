"""Labelled questions for the span reader, and how each is shown to it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

WORD = re.compile(r"\S+")
CROPPED_WORDS = 80
NEGATIVE_SHARE = 0.2


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


def show(labelled: LabelledQuestion, crop: float, rng: random.Random) -> Example:
    """The question with its passages, cropped with probability ``crop``, at times with a negative.

    A crop is ``CROPPED_WORDS`` words around one target: early in training it buys more questions
    for the same work. A fifth of the examples carry a passage that does not answer, because
    scores are normalised over all passages read.
    """
    passages, targets = labelled.passages, labelled.targets
    if rng.random() < crop:
        p, start, end = rng.choice(targets)
        low, high = _around(passages[p], start, end, CROPPED_WORDS, rng)
        targets = tuple((0, s - low, e - low) for q, s, e in targets if q == p and low <= s and e <= high)
        passages = (passages[p][low:high],)
    if labelled.others and rng.random() < NEGATIVE_SHARE:
        other = rng.choice(labelled.others)
        # As long as what it stands beside: a shorter one would only buy padding.
        words = max(len(passage.split()) for passage in passages)
        low, high = _around(other, len(other) // 2, len(other) // 2 + 1, words, rng)
        passages = (*passages, other[low:high])
    return Example(labelled.question, passages, targets)


def _around(text: str, start: int, end: int, count: int, rng: random.Random) -> tuple[int, int]:
    """Bounds of about ``count`` words that contain ``text[start:end]``."""
    words = [m.span() for m in WORD.finditer(text)]
    if len(words) <= count:
        return 0, len(text)
    first = next(i for i, (_, e) in enumerate(words) if e > start)
    last = max(first, sum(s < end for s, _ in words) - 1)
    spare = max(0, count - (last - first + 1))
    low = min(max(0, first - rng.randint(0, spare)), max(0, len(words) - count))
    high = max(last, min(len(words), low + count) - 1)
    return min(words[low][0], start), max(words[high][1], end)
