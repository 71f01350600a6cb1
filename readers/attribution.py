"""Where generated text is most nearly said: the sentence that supports it where no reader points at one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from text.sentences import sentence_spans
from text.words import words


def nearest_sentence(passages: Sequence[str], answer: str, question: str) -> tuple[int, int, int] | None:
    """The sentence that says most of what ``answer`` says: ``(passage, start, end)`` inside ``passages``.

    It is the one that holds the largest share of the answer's words, then of the question's, each
    word weighed by how rare it is among the sentences; the earlier wins a tie. None where no
    sentence shares a word with either, for then nothing supports the answer.
    """
    places = [
        (number, start, end)
        for number, passage in enumerate(passages)
        for start, end in sentence_spans(passage)
    ]
    held = [set(words(passages[number][start:end])) for number, start, end in places]
    holding = Counter(word for sentence in held for word in sentence)
    wanted, asked = set(words(answer)), set(words(question))

    def weight(found: set[str]) -> float:
        # fsum: the order of a set must not decide a tie
        return math.fsum(math.log1p(len(places) / holding[word]) for word in found)

    scores = [(weight(wanted & sentence), weight(asked & sentence)) for sentence in held]
    best = max(range(len(places)), key=lambda i: (scores[i], -i), default=None)
    return None if best is None or scores[best] == (0.0, 0.0) else places[best]
