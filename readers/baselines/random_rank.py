"""Random rank (table 5): what a ranking by chance is worth."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from encoders.errors import ModelError
from readers.reading import Answer, Ranker, Reading, Span
from text.sentences import sentence_spans


class RandomReader(Ranker):
    """Ranks candidates, and answers with sentences, in an order that only their text and the question decide.

    The same is asked, the same is said; the scores are spread evenly over [0, 1).
    """

    @classmethod
    def load(cls, argument: str | None = None) -> RandomReader:
        """Raises ``ModelError`` for any argument: there is no model to name."""
        if argument is not None:
            raise ModelError(
                f"the reader 'random-rank' has no model, so {argument!r} means nothing; write random-rank"
            )
        return cls()

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """The ``n_best`` sentences that chance prefers, each text once."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        return [_read(reading)[:n_best] for reading in readings]

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """A number by chance per candidate, the same for the same text."""
        return [_chance(reading.question, candidate) for candidate in candidates]


def _read(reading: Reading) -> list[Answer]:
    answers: dict[str, Answer] = {}
    for number, passage in enumerate(reading.passages):
        for start, end in sentence_spans(passage):
            text = passage[start:end]
            if text not in answers:
                score = _chance(reading.question, text)
                answers[text] = Answer(text, score, score, Span(number, start, end))
    return sorted(answers.values(), key=lambda answer: -answer.score)


def _chance(question: str, text: str) -> float:
    key = question.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7, key=key[:64])
    digest.update(key[64:])
    return int.from_bytes(digest.digest()) / 2**56
