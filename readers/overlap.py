"""The model-free reader: the sentence most similar to the question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from indexing.errors import ModelError
from indexing.sentences import sentence_spans
from indexing.words import words
from readers.reading import Answer, Reading, Span


@dataclass(frozen=True, slots=True)
class _Sentence:
    span: Span
    text: str
    counts: Mapping[str, int]


class _Weights:
    """Inverse document frequencies over the sentences of one reading; a sentence is a document."""

    def __init__(self, sentences: Sequence[_Sentence]) -> None:
        self._sentences = len(sentences)
        self._holding = Counter(word for sentence in sentences for word in sentence.counts)

    def vector(self, counts: Mapping[str, int]) -> dict[str, float]:
        """The unit-norm vector of a bag of words; empty where it has no word."""
        raw = {
            word: math.sqrt(n) * math.log1p(self._sentences / max(1, self._holding[word]))
            for word, n in counts.items()
        }
        norm = math.sqrt(math.fsum(weight * weight for weight in raw.values()))
        return {word: weight / norm for word, weight in raw.items()} if norm else {}


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """In [0, 1]; 0 where either is empty. fsum: rounding must not decide a tie."""
    cosine = math.fsum(weight * other[word] for word, weight in one.items() if word in other)
    return min(1.0, cosine)


def _sentences(reading: Reading) -> list[_Sentence]:
    """The sentences of all passages, in story order."""
    return [
        _Sentence(Span(number, start, end), passage[start:end], Counter(words(passage[start:end])))
        for number, passage in enumerate(reading.passages)
        for start, end in sentence_spans(passage)
    ]


class OverlapReader:
    """Answers with whole sentences; confidence and score are their cosine similarity to the question."""

    @classmethod
    def load(cls, argument: str | None = None) -> OverlapReader:
        """Raises ``ModelError`` for any argument: there is no model to name."""
        if argument is not None:
            raise ModelError(f"the reader 'overlap' has no model, so {argument!r} means nothing; write overlap")
        return cls()

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """The ``n_best`` most similar sentences, each text once; a tie goes to the earlier sentence."""
        return [self._read(reading, n_best) for reading in readings]

    def _read(self, reading: Reading, n_best: int) -> list[Answer]:
        sentences = _sentences(reading)
        weights = _Weights(sentences)
        question = weights.vector(Counter(words(reading.question)))
        scored = [(_cosine(question, weights.vector(s.counts)), s) for s in sentences]
        scored.sort(key=lambda pair: -pair[0])  # stable: the earlier sentence wins a tie
        answers: dict[str, Answer] = {}
        for similarity, sentence in scored:
            if len(answers) >= n_best:
                break
            # A refrain is one answer however often the story repeats it.
            answers.setdefault(sentence.text, Answer(sentence.text, similarity, similarity, sentence.span))
        return list(answers.values())

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """Per candidate, the best sentence's mean similarity to the question and to the candidate."""
        sentences = _sentences(reading)
        weights = _Weights(sentences)
        question = weights.vector(Counter(words(reading.question)))
        vectors = [weights.vector(sentence.counts) for sentence in sentences]
        relevance = [_cosine(question, vector) for vector in vectors]
        scores = []
        for candidate in candidates:
            wanted = weights.vector(Counter(words(candidate)))
            found = (
                (asked + _cosine(wanted, vector)) / 2
                for asked, vector in zip(relevance, vectors, strict=True)
            )
            scores.append(max(found, default=0.0))
        return scores
