"""A story told as it happens, with a question about something recent after every second fact."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from evaluation.worlds.stories import Asked, Story

QUESTIONS = 5
BETWEEN = 2  # facts between two questions
RECENT = 5  # the last so many clauses may be asked about

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class Question:
    """A question that the facts told answer; ``support`` are their numbers, in the order of finding.

    It stays as it is for as long as nothing happens to those that it ``concerns``.
    """

    text: str
    answers: tuple[str, ...]
    support: tuple[int, ...]
    concerns: tuple[str, ...] = ()


class Scene(ABC, Generic[C]):
    """Facts and what they say, a clause each thing that is said: ``clauses`` holds it with its fact's number.

    A subclass lets something happen and tells it, and knows what can be asked about a clause.
    """

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.facts: list[str] = []
        self.clauses: list[tuple[C, int]] = []

    @abstractmethod
    def go_on(self, avoid: Sequence[str]) -> None:
        """Tell at least one more fact, in which nothing happens to those of ``avoid``."""

    @abstractmethod
    def question(self, clause: C) -> Question | None:
        """A question about what a clause says, from all that was told; None where there is none."""

    def tell(self, fact: str, *clauses: C) -> None:
        """Add a fact that says ``clauses``."""
        self.clauses += [(clause, len(self.facts)) for clause in clauses]
        self.facts.append(fact)

    def play(self, distance: int = 0) -> Story:
        """A story of five questions.

        One is asked after every second fact if a recent clause gives one, else after two facts more. It is
        held back until so many facts follow its last supporting fact as ``distance`` says.
        """
        asked: list[Asked] = []
        while len(asked) < QUESTIONS:
            told = len(self.facts)
            while len(self.facts) < told + BETWEEN:
                self.go_on(())
            question = self._recent_question()
            if question is None:
                continue
            while len(self.facts) - 1 - max(question.support) < distance:
                self.go_on(question.concerns)
            asked.append(Asked(question.text, question.answers, question.support, len(self.facts)))
        return Story(tuple(self.facts), tuple(asked))

    def _recent_question(self) -> Question | None:
        recent = self.clauses[-RECENT:]
        for clause, _ in self.rng.sample(recent, len(recent)):
            question = self.question(clause)
            if question is not None:
                return question
        return None


def is_it(truth: str, others: Sequence[str], rng: Random) -> tuple[str, bool]:
    """What a question asks to be confirmed, and whether it is so, which it is every second time."""
    if rng.random() < 0.5:
        return truth, True
    return rng.choice([other for other in others if other != truth]), False


def yes_or_no(true: bool) -> tuple[str, ...]:
    """The answer."""
    return ("yes" if true else "no",)
