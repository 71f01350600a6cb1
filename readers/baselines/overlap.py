"""The model-free reader: the sentence most similar to the question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from encoders.errors import ModelError
from readers.reading import Answer, Ranker, Reading, Span
from text.sentences import sentence_spans
from text.words import words


@dataclass(frozen=True, slots=True)
class _Sentence:
    span: Span
    text: str
    words: frozenset[str]


class _Weights:
    """What a word counts for: its squared idf over the sentences of one reading.

    A sentence is a document and a bag of words a vector of idfs, so sums of weights are dot
    products. ``math.fsum`` keeps them independent of the order of a set, which changes from one
    process to the next.
    """

    def __init__(self, sentences: Sequence[_Sentence]) -> None:
        self._sentences = len(sentences)
        self._holding = Counter(word for sentence in sentences for word in sentence.words)

    def sum(self, bag: frozenset[str]) -> float:
        """The squared norm of the vector of a bag of words."""
        return math.fsum(math.log1p(self._sentences / max(1, self._holding[word])) ** 2 for word in bag)

    def covered(self, bag: frozenset[str], sentence: frozenset[str]) -> float:
        """In [0, 1]: the share of the bag that stands in the sentence (its squared projection)."""
        whole = self.sum(bag)
        return self.sum(bag & sentence) / whole if whole else 0.0

    def cosine(self, bag: frozenset[str], sentence: frozenset[str]) -> float:
        """In [0, 1]: the cosine between the two bags."""
        norms = math.sqrt(self.sum(bag) * self.sum(sentence))
        return min(1.0, self.sum(bag & sentence) / norms) if norms else 0.0


def _sentences(reading: Reading) -> list[_Sentence]:
    """The sentences of all passages, in story order."""
    return [
        _Sentence(Span(number, start, end), passage[start:end], frozenset(words(passage[start:end])))
        for number, passage in enumerate(reading.passages)
        for start, end in sentence_spans(passage)
    ]


class OverlapReader(Ranker):
    """Answers with whole sentences.

    Score and confidence are the idf-weighted share of the question's words that the sentence
    holds. On FairytaleQA train that found better sentences than the cosine (ROUGE-L .172 against
    .151 over whole stories), which prefers the shortest sentence with one word in common.
    """

    @classmethod
    def load(cls, argument: str | None = None) -> OverlapReader:
        """Raises ``ModelError`` for any argument: there is no model to name."""
        if argument is not None:
            raise ModelError(
                f"the reader 'overlap' has no model, so {argument!r} means nothing; write overlap"
            )
        return cls()

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """The ``n_best`` most similar sentences, each text once; a tie goes to the earlier sentence."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        return [self._read(reading, n_best) for reading in readings]

    def _read(self, reading: Reading, n_best: int) -> list[Answer]:
        sentences = _sentences(reading)
        weights = _Weights(sentences)
        question = frozenset(words(reading.question))
        scored = [(weights.covered(question, sentence.words), sentence) for sentence in sentences]
        scored.sort(key=lambda pair: -pair[0])  # stable: the earlier sentence wins a tie
        answers: dict[str, Answer] = {}
        for similarity, sentence in scored:
            if len(answers) >= n_best:
                break
            # A refrain is one answer however often the story repeats it.
            answers.setdefault(sentence.text, Answer(sentence.text, similarity, similarity, sentence.span))
        return list(answers.values())

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """Per candidate, the best sentence's similarity to the question times that to the candidate."""
        sentences = _sentences(reading)
        weights = _Weights(sentences)
        question = frozenset(words(reading.question))
        relevance = [weights.covered(question, sentence.words) for sentence in sentences]
        scores = []
        for candidate in candidates:
            wanted = frozenset(words(candidate))
            found = (
                asked * weights.cosine(wanted, sentence.words)
                for asked, sentence in zip(relevance, sentences, strict=True)
                if asked
            )
            scores.append(max(found, default=0.0))
        return scores
