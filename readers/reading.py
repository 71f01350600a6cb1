"""What a reader is given, what it returns, and what it promises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from text.errors import StoryQAError


class NeedsReferences(StoryQAError):
    """An oracle asked where nobody knows the right answers."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A question and the passages to answer it from, in story order.

    ``references`` are the right answers, for oracles alone, which measure what the best possible answer
    is worth; only evaluation knows them. ``candidates`` are the answers to choose from where the question
    has some (cloze, multiple choice); a reader may make use of them.
    """

    question: str
    passages: tuple[str, ...]
    references: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a reading: ``passages[passage][start:end]``, in code points."""

    passage: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.passage < 0 or not 0 <= self.start < self.end:
            place = f"[{self.start}, {self.end}) of passage {self.passage}"
            raise ValueError(f"span {place}; wanted 0 <= passage and 0 <= start < end")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; ``span`` is None for generated text, and ``support`` then the place it rests on.

    ``score`` orders the answers of one reading; ``confidence`` in [0, 1] compares across readings.
    The support is the sentence or passage that most of the text was copied from or attended to, or
    the one that the model cited; None where ``span`` says it, or where nobody can. ``note`` is what
    whoever reads the answer must be told of it, a sentence without its full stop.
    """

    text: str
    score: float
    confidence: float
    span: Span | None
    support: Span | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"confidence {self.confidence} of {self.text!r} is outside [0, 1]")


class Reader(Protocol):
    """Answers questions from passages; sees strings, never a book or an index.

    Readings have references only for a reader whose attribute ``oracle`` is true.
    """

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """At most ``n_best`` answers per reading, best first; none where there is nothing to read.

        Where an answer has a span, its text is exactly ``passages[span.passage][span.start:span.end]``,
        and no two spans of one reading overlap. A support lies inside its passage too.
        """
        ...


class Ranker(Protocol):
    """A reader that can also rank given candidates (used for MRR)."""

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """One score per candidate, larger is better: log-probability or similarity."""
        ...
