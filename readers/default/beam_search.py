"""Beam search: the likeliest answers, token by token, of a pointer-generator or any other decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

LENGTH_PENALTY = 0.6  # answers are compared by log P / tokens ** this (Wu et al. 2016, section 7, simplified)


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as tokens, end token left out, and its log-probability, end token included."""

    tokens: tuple[int, ...]
    log_probability: float

    @property
    def score(self) -> float:
        """What beams are ordered by."""
        return by_length(self.log_probability, len(self.tokens) + 1)


def likeliest(written: Sequence[Written]) -> list[Written]:
    """The same answers by their log-probability alone, short ones not held back."""
    return sorted(written, key=lambda one: -one.log_probability)


def by_length(log_probability: float, tokens: int) -> float:
    """A log-probability as answers of different lengths are compared by it."""
    return float(log_probability / tokens**LENGTH_PENALTY)


class Growing(Protocol):
    """The decoder of a search: answers that grow, as many to each reading, those to a reading in a row."""

    def next(
        self, tokens: Sequence[int], never: Sequence[int], most: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """After one more token each, log P and number of each answer's ``most`` likeliest next ones.

        Both have shape (answers, at most ``most``), in any order. Tokens of ``never`` have log P minus
        infinity.
        """
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these answers, in this order."""
        ...


def grow(
    growing: Growing, readings: int, begin: int, end: int, beams: int, longest: int
) -> list[list[Written]]:
    """At most ``beams`` answers per reading, best first, none of them empty, of ``longest`` tokens at most.

    ``begin`` and ``end`` are the tokens around an answer, which are in none.
    """
    answers: list[tuple[int, ...]] = [()] * (readings * beams)
    last = [begin] * (readings * beams)
    scores = np.full((readings, beams), -np.inf)
    scores[:, 0] = 0.0
    finished: list[list[Written]] = [[] for _ in range(readings)]
    for length in range(1, longest + 1):
        log_p, numbers = growing.next(last, [begin, end] if length == 1 else [begin], 2 * beams)
        with np.errstate(invalid="ignore"):
            total = (scores.reshape(-1, 1) + log_p).reshape(readings, -1)
        best = np.argsort(-total, axis=1, kind="stable")[:, : 2 * beams]
        each = log_p.shape[1]
        rows, answers_before = [], answers
        answers, last = [], []
        for r in range(readings):
            alive: list[tuple[int, int, float]] = []
            for place in best[r].tolist():
                value, before = float(total[r, place]), r * beams + place // each
                token = int(numbers[before, place % each])
                if value == -np.inf:
                    break
                if token == end or length == longest:
                    ids = answers_before[before] + ((token,) if token != end else ())
                    finished[r].append(Written(ids, value))
                elif len(alive) < beams:
                    alive.append((before, token, value))
            while len(alive) < beams:  # all but a few ended: fill up with what can never win
                alive.append((r * beams, end, -np.inf))
            rows += [before for before, _, _ in alive]
            answers += [(*answers_before[before], token) for before, token, _ in alive]
            last += [token for _, token, _ in alive]
            scores[r] = [score for _, _, score in alive]
        growing.keep(rows)
        if all(_settled(done, float(scores[r].max()), length, beams) for r, done in enumerate(finished)):
            break
    return [sorted(done, key=lambda written: -written.score)[:beams] for done in finished]


def _settled(done: list[Written], alive: float, length: int, beams: int) -> bool:
    """Whether ``beams`` answers ended that are better than every growing one is so far.

    A growing one could still overtake them, for length is rewarded, but hardly ever does.
    """
    if len(done) < beams:
        return alive == -np.inf
    least = sorted((written.score for written in done), reverse=True)[beams - 1]
    return by_length(alive, length + 1) <= least
