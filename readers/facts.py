"""Facts as the readers of bAbI take them: the sentences that were told, the question, and what they infer.

Weston et al. 2015: a story is a list of short sentences, and an answer is a word, or several, that follow
from some of these.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache

from readers.reading import Answer, Reader, Reading, Span
from text.sentences import sentence_spans
from text.words import words


@dataclass(frozen=True, slots=True)
class Fact:
    """A sentence by its lower-cased words, and its place in the reading."""

    words: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Told:
    """A reading by its words: the question's, and those of the facts, in the order of telling."""

    question: tuple[str, ...]
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Inferred:
    """The words of an answer, with what they rest on: numbers of facts, in the order of finding."""

    answers: tuple[str, ...]
    confidence: float
    chain: tuple[int, ...] = ()


class FactReader(Reader):
    """Answers from facts of which every word is known; a subclass says in ``infer`` what follows from them.

    Sentences with a word that it has never met say nothing to it, and to a question with one it has no
    answer.
    """

    @property
    @abstractmethod
    def known(self) -> Container[str]:
        """The words that it knows."""

    @abstractmethod
    def infer(self, told: Sequence[Told]) -> list[Inferred]:
        """What it infers from each; all of them have facts."""

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; an answer of several words has them joined by commas."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        answers: list[list[Answer]] = [[] for _ in readings]
        told = {}
        for i, reading in enumerate(readings):
            one = self._told(reading)
            if one.facts and one.question and self._knows(one.question):
                told[i] = one
        for (i, one), inferred in zip(told.items(), self.infer(list(told.values())), strict=True):
            if inferred.answers:
                answers[i] = [_answer(readings[i], one, inferred)]
        return answers

    def _told(self, reading: Reading) -> Told:
        told = told_in(reading)
        return Told(told.question, tuple(fact for fact in told.facts if self._knows(fact.words)))

    def _knows(self, found: Sequence[str]) -> bool:
        return all(word in self.known for word in found)


def told_in(reading: Reading) -> Told:
    """The question and the facts of a reading."""
    facts = [
        Fact(found, Span(number, start, end))
        for number, passage in enumerate(reading.passages)
        for found, start, end in _sentences(passage)
    ]
    return Told(tuple(words(reading.question)), tuple(facts))


@lru_cache(maxsize=16_384)  # the same sentences are told again and again
def _sentences(passage: str) -> tuple[tuple[tuple[str, ...], int, int], ...]:
    found = ((tuple(words(passage[start:end])), start, end) for start, end in sentence_spans(passage))
    return tuple(one for one in found if one[0])


def _answer(reading: Reading, told: Told, inferred: Inferred) -> Answer:
    """The answer, at its place where a fact that it rests on spells it, the one found last first."""
    chain = tuple(told.facts[i].span for i in inferred.chain)
    text = ",".join(inferred.answers)
    for fact in reversed(chain):
        sentence = reading.passages[fact.passage][fact.start : fact.end]
        at = f" {sentence[:-1]} ".find(f" {text} ")
        if at >= 0:
            start = fact.start + at
            span = Span(fact.passage, start, start + len(text))
            return Answer(text, inferred.confidence, inferred.confidence, span, chain=chain)
    support = chain[-1] if chain else None
    return Answer(text, inferred.confidence, inferred.confidence, None, support, chain=chain)
